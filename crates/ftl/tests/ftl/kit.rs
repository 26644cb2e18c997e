//! The devices that most tests share. Every scheme is compiled once for each type of device, which
//! takes longer than all else in this program, and for `AnyDevice` in crate ftl itself: a test that
//! can do with that should.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use flash::{Chip, Full, PageData};
use ftl::{AnyDevice, AnyTiming, Moment, Nanos, Task, Timing, Untimed};

/// Dies that promise each operation its time at once, in the order of issue; there is no bus.
#[derive(Clone, Default)]
pub(crate) struct PromisingDies(Arc<Mutex<Promises>>);

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
        Self(Arc::new(Mutex::new(Promises { takes, ..Promises::default() })))
    }

    fn lock(&self) -> MutexGuard<'_, Promises> {
        self.0.lock().expect("one thread")
    }

    /// What was performed since this was last asked, and when each ends.
    pub(crate) fn take_performed(&self) -> Vec<(Task, Nanos)> {
        std::mem::take(&mut self.lock().performed)
    }
}

impl Timing for PromisingDies {
    ftl::known_ends! { is_traced is_buffered trace join wait_beside delay take_command hand_over estimate_moves slowest_page programmed_at_once keep_order join_programs end_background }

    fn perform(&mut self, task: Task, after: Moment) -> Moment {
        let Promises { takes, free_at, performed, .. } = &mut *self.lock();
        let free_at = free_at.entry(task.die).or_default();
        *free_at = after.earliest.0.max(*free_at) + takes[task.op as usize];
        performed.push((task, Nanos(*free_at)));
        Moment::at(Nanos(*free_at))
    }

    fn is_over(&self, moment: Moment) -> bool {
        moment.earliest <= self.now()
    }

    fn estimate(&self, task: Task, from: Moment) -> Nanos {
        let Promises { takes, free_at, .. } = &*self.lock();
        let free_at = free_at.get(&task.die).copied().unwrap_or_default();
        Nanos(free_at.saturating_sub(from.earliest.0) + takes[task.op as usize])
    }

    fn busy(&self, _channel: u32, _from: Moment) -> Nanos {
        Nanos::ZERO
    }

    fn now(&self) -> Nanos {
        self.lock().now
    }

    fn pass_until(&mut self, at: Nanos) {
        self.lock().now = at;
    }

    fn wait(&mut self, moment: Moment) -> Nanos {
        self.pass_until(moment.earliest);
        moment.earliest
    }

    fn reset(&mut self) {
        let mut promises = self.lock();
        (promises.now, promises.free_at) = (Nanos::ZERO, HashMap::new());
    }
}

/// A chip whose pages hold numbers.
pub(crate) type NumberChip = Chip<Full<PageData>>;

/// A device on which all takes no time.
pub(crate) fn untimed(chip: NumberChip) -> AnyDevice {
    AnyDevice::new(chip, Untimed)
}

/// A device with prices.
pub(crate) fn priced(chip: NumberChip, prices: impl AnyTiming) -> AnyDevice {
    AnyDevice::new(chip, prices)
}

/// A page with a number.
pub(crate) fn page(number: u32) -> PageData {
    u64::from(number).into()
}

/// This many pages without content.
pub(crate) fn empty(pages: u32) -> Vec<PageData> {
    vec![PageData::default(); pages as usize]
}
