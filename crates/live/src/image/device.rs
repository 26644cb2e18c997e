//! The device that an image is: its chip, with a plan of faults, and what keeps its time.

use flash::FaultyChip;
use ftl::{FlashOp, Moment, Nanos, Task, Timed, Timing, Untimed};
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
    fn perform(&mut self, task: Task, after: Moment) -> Moment {
        ask!(self, perform(task, after))
    }

    fn join(&mut self, one: Moment, other: Moment) -> Moment {
        ask!(self, join(one, other))
    }

    fn wait_beside(&mut self, own: Moment, other: Moment) -> Moment {
        ask!(self, wait_beside(own, other))
    }

    fn delay(&mut self, after: Moment, time: Nanos) -> Moment {
        ask!(self, delay(after, time))
    }

    fn is_over(&self, moment: Moment) -> bool {
        ask!(self, is_over(moment))
    }

    fn estimate(&self, task: Task, from: Moment) -> Nanos {
        ask!(self, estimate(task, from))
    }

    fn slowest_page(&self, op: FlashOp) -> u32 {
        ask!(self, slowest_page(op))
    }

    fn programmed_at_once(&self) -> u32 {
        ask!(self, programmed_at_once())
    }

    fn busy(&self, channel: u32, from: Moment) -> Nanos {
        ask!(self, busy(channel, from))
    }

    fn now(&self) -> Nanos {
        ask!(self, now())
    }

    fn end_background(&mut self, chain: u32) {
        ask!(self, end_background(chain));
    }

    fn pass_until(&mut self, at: Nanos) {
        ask!(self, pass_until(at));
    }

    fn wait(&mut self, moment: Moment) -> Nanos {
        ask!(self, wait(moment))
    }

    fn reset(&mut self) {
        ask!(self, reset());
    }
}
