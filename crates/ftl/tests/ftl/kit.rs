//! The device that most tests share. Every scheme is compiled once for each type of device, which
//! takes longer than all else in this program: a test that can do with this type should.

use flash::{Chip, Full};
use ftl::{Nanos, Span, Task, Timed, Timing, Untimed};

/// A chip whose pages hold a number, with whatever prices.
pub(crate) type TestDevice = Timed<Chip<Full<u32>>, Prices>;

/// Timing behind one type, so that tests build one type of device.
pub(crate) struct Prices(Box<dyn Timing>);

impl Timing for Prices {
    fn perform(&mut self, task: Task, at: Nanos) -> Span {
        self.0.perform(task, at)
    }

    fn would_end(&mut self, task: Task, at: Nanos) -> Nanos {
        self.0.would_end(task, at)
    }

    fn channel_idle_from(&self, channel: u32, at: Nanos) -> Nanos {
        self.0.channel_idle_from(channel, at)
    }

    fn begin(&mut self, at: Nanos) {
        self.0.begin(at);
    }

    fn reset(&mut self) {
        self.0.reset();
    }
}

/// A device on which all takes no time.
pub(crate) fn untimed(chip: Chip<Full<u32>>) -> TestDevice {
    priced(chip, Untimed)
}

/// A device with prices.
pub(crate) fn priced(chip: Chip<Full<u32>>, prices: impl Timing + 'static) -> TestDevice {
    Timed { chip, timing: Prices(Box::new(prices)) }
}
