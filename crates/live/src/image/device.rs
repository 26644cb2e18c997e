//! The device that an image is: its chip, with a plan of faults, and what keeps its time.

use flash::FaultyChip;
use ftl::{Timed, Timing, Untimed};
use sim::EventTiming;

use super::store::FileStore;

/// The chip of an image.
pub type LiveChip = FaultyChip<FileStore>;
/// The chip of an image, with what keeps its time.
pub type LiveDevice = Timed<LiveChip, LiveTiming>;

/// Whether operations take time.
pub enum LiveTiming {
    /// They take none beyond what the host's file takes.
    None(Untimed),
    /// That of the device that the image was made for.
    Modelled(Box<EventTiming>),
}

impl LiveTiming {
    /// The modelled device, if there is one.
    pub(crate) fn modelled(&self) -> Option<&EventTiming> {
        match self {
            Self::None(_) => None,
            Self::Modelled(timing) => Some(timing),
        }
    }

    /// The modelled device, if there is one.
    pub(crate) fn modelled_mut(&mut self) -> Option<&mut EventTiming> {
        match self {
            Self::None(_) => None,
            Self::Modelled(timing) => Some(timing),
        }
    }
}

/// Asks whichever timing there is.
macro_rules! ask {
    ($timing:expr, $call:ident($($argument:expr),*)) => {
        match $timing {
            LiveTiming::None(timing) => timing.$call($($argument),*),
            LiveTiming::Modelled(timing) => timing.$call($($argument),*),
        }
    };
}

impl Timing for LiveTiming {
    ftl::pass_on_timing!(ask);
}
