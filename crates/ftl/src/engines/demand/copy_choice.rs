//! Which of several copies of a translation page is read.

use flash::Ppn;

use crate::api::parameter::{Kind, Parameter, Values};
use crate::engines::page_map::space::PageSpace;
use crate::port::flash_port::FlashPort;
use crate::port::timing::{Device, Nanos};

/// By what the copy to read is chosen.
pub const PARAMETER: Parameter = Parameter {
    name: "copy_choice",
    kind: Kind::Choice { of: &["first_done", "idle_channel"] },
    default: "first_done",
    meaning: "Which copy a miss reads: the one whose read would be done first, by die and bus; or one whose channel is idle, bus and all dies, \
              else the one whose channel is idle first.",
    source: "ftlkit; RFTL alg. 1 (idle_channel)",
};

/// How the copy to read is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CopyChoice {
    /// The one whose read would be done first.
    #[default]
    FirstDone,
    /// The one whose channel is idle, or will be first.
    IdleChannel,
}

impl CopyChoice {
    /// What [`PARAMETER`] asks for.
    pub fn from_values(values: &Values) -> Self {
        if values.word(PARAMETER.name) == "idle_channel" { Self::IdleChannel } else { Self::FirstDone }
    }

    /// How long a copy keeps a miss waiting, by this choice: the copy with the least is read.
    pub fn delay<D: Device>(self, flash: &mut FlashPort<D>, space: &PageSpace, copy: Ppn) -> Nanos {
        match self {
            Self::FirstDone => flash.estimate_read(copy),
            Self::IdleChannel => flash.busy(space.channel_of(copy)),
        }
    }
}
