//! The device that most tests share. Every scheme is compiled once for each type of device, which
//! takes longer than all else in this program: a test that can do with this type should.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use flash::{Chip, Full};
use ftl::{Moment, Nanos, Task, Timed, Timing, Untimed};

/// A chip whose pages hold a number, with whatever prices.
pub(crate) type TestDevice = Timed<Chip<Full<u32>>, Prices>;

/// Timing behind one type, so that tests build one type of device.
pub(crate) struct Prices(Box<dyn Timing>);

impl Timing for Prices {
    ftl::known_ends! { is_traced is_buffered trace wait_beside take_command hand_over slowest_page programmed_at_once end_background }

    fn perform(&mut self, task: Task, after: Moment) -> Moment {
        self.0.perform(task, after)
    }

    fn join(&mut self, one: Moment, other: Moment) -> Moment {
        self.0.join(one, other)
    }

    fn delay(&mut self, after: Moment, time: Nanos) -> Moment {
        self.0.delay(after, time)
    }

    fn is_over(&self, moment: Moment) -> bool {
        self.0.is_over(moment)
    }

    fn estimate(&self, task: Task, from: Moment) -> Nanos {
        self.0.estimate(task, from)
    }

    fn busy(&self, channel: u32, from: Moment) -> Nanos {
        self.0.busy(channel, from)
    }

    fn now(&self) -> Nanos {
        self.0.now()
    }

    fn pass_until(&mut self, at: Nanos) {
        self.0.pass_until(at);
    }

    fn wait(&mut self, moment: Moment) -> Nanos {
        self.0.wait(moment)
    }

    fn reset(&mut self) {
        self.0.reset();
    }
}

/// Dies that promise each operation its time at once, in the order of issue; there is no bus.
#[derive(Clone, Default)]
pub(crate) struct PromisingDies(Rc<RefCell<Promises>>);

#[derive(Default)]
struct Promises {
    /// What reads, programs and erases take, in nanoseconds.
    takes: [u64; 3],
    now: Nanos,
    free_at: HashMap<u32, u64>,
    performed: Vec<(Task, Nanos)>,
}

impl PromisingDies {
    pub(crate) fn new(takes_us: [u64; 3]) -> Self {
        let takes = takes_us.map(|us| 1000 * us);
        Self(Rc::new(RefCell::new(Promises { takes, ..Promises::default() })))
    }

    /// What was performed since this was last asked, and when each ends.
    pub(crate) fn take_performed(&self) -> Vec<(Task, Nanos)> {
        std::mem::take(&mut self.0.borrow_mut().performed)
    }
}

impl Timing for PromisingDies {
    ftl::known_ends! { is_traced is_buffered trace join wait_beside delay take_command hand_over slowest_page programmed_at_once end_background }

    fn perform(&mut self, task: Task, after: Moment) -> Moment {
        let Promises { takes, free_at, performed, .. } = &mut *self.0.borrow_mut();
        let free_at = free_at.entry(task.die).or_default();
        *free_at = after.earliest.0.max(*free_at) + takes[task.op as usize];
        performed.push((task, Nanos(*free_at)));
        Moment::at(Nanos(*free_at))
    }

    fn is_over(&self, moment: Moment) -> bool {
        moment.earliest <= self.now()
    }

    fn estimate(&self, task: Task, from: Moment) -> Nanos {
        let Promises { takes, free_at, .. } = &*self.0.borrow();
        let free_at = free_at.get(&task.die).copied().unwrap_or_default();
        Nanos(free_at.saturating_sub(from.earliest.0) + takes[task.op as usize])
    }

    fn busy(&self, _channel: u32, _from: Moment) -> Nanos {
        Nanos::ZERO
    }

    fn now(&self) -> Nanos {
        self.0.borrow().now
    }

    fn pass_until(&mut self, at: Nanos) {
        self.0.borrow_mut().now = at;
    }

    fn wait(&mut self, moment: Moment) -> Nanos {
        self.pass_until(moment.earliest);
        moment.earliest
    }

    fn reset(&mut self) {
        let mut promises = self.0.borrow_mut();
        (promises.now, promises.free_at) = (Nanos::ZERO, HashMap::new());
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
