//! The device below a live translation layer: the image's chip, with a plan of faults, priced or
//! not.

use flash::{Chip, FaultPlan, FaultyChip, Geometry};
use ftl::{Nanos, Span, Task, Timed, Timing, Untimed};
use sim::Pricing;

use crate::LiveError;
use crate::image::{Description, FileStore, Findings, Image, Loaded};

/// The chip of an image.
pub type LiveChip = FaultyChip<FileStore>;
/// The chip of an image, with prices.
pub type LiveDevice = Timed<LiveChip, Prices>;

/// Whether operations take time.
pub enum Prices {
    /// They take none beyond what the host's file takes.
    None(Untimed),
    /// Those of the device that the image was made for.
    Modelled(Box<Pricing>),
}

impl Timing for Prices {
    fn perform(&mut self, task: Task, at: Nanos) -> Span {
        match self {
            Self::None(prices) => prices.perform(task, at),
            Self::Modelled(prices) => prices.perform(task, at),
        }
    }

    fn would_end(&mut self, task: Task, at: Nanos) -> Nanos {
        match self {
            Self::None(prices) => prices.would_end(task, at),
            Self::Modelled(prices) => prices.would_end(task, at),
        }
    }

    fn channel_idle_from(&self, channel: u32, at: Nanos) -> Nanos {
        match self {
            Self::None(prices) => prices.channel_idle_from(channel, at),
            Self::Modelled(prices) => prices.channel_idle_from(channel, at),
        }
    }

    fn begin(&mut self, at: Nanos) {
        match self {
            Self::None(prices) => prices.begin(at),
            Self::Modelled(prices) => prices.begin(at),
        }
    }

    fn reset(&mut self) {
        match self {
            Self::None(prices) => prices.reset(),
            Self::Modelled(prices) => prices.reset(),
        }
    }
}

/// A device that is switched on, before its translation layer is.
pub(crate) struct SwitchedOn {
    pub(crate) device: LiveDevice,
    pub(crate) description: Description,
    pub(crate) geometry: Geometry,
    pub(crate) findings: Findings,
    /// Whether nothing was ever written to it.
    pub(crate) is_new: bool,
}

/// Switches an image's device on.
pub(crate) fn switch_on(
    image: Image,
    accept_damage: bool,
    plan: FaultPlan,
    modelled: bool,
) -> Result<SwitchedOn, LiveError> {
    let (Loaded { mut store, blocks, findings, .. }, description, geometry) = image.load(accept_damage)?;
    let is_new = store.is_untouched();
    store.switched_on();
    let chip = FaultyChip::new(Chip::resume(geometry, &description.chip_options(), store, blocks), plan);
    let timing = if modelled { Prices::Modelled(Box::new(description.pricing())) } else { Prices::None(Untimed) };
    Ok(SwitchedOn { device: Timed { chip, timing }, description, geometry, findings, is_new })
}
