//! What a run tells of single operations, where it is asked to: latency by class, the timeline of a
//! window, and what requests waited for.
//!
//! Nobody pays for it who does not ask: pricing looks at one pointer for each operation.

use crate::observe::classes::ClassTimes;
use crate::observe::timeline::{Placed, Recorder, Window};
use crate::observe::wait_breakdown::{Parts, Waiting};
use crate::result::{ClassLatency, TimelineFacts};

/// What is watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProbeConfig {
    /// Waiting and service times by class.
    pub(crate) classes: bool,
    /// The window whose operations are recorded.
    pub(crate) timeline: Option<Window>,
    /// What requests waited for.
    pub(crate) waiting: bool,
}

/// Watches the operations of a run.
pub(crate) struct Probe {
    classes: Option<ClassTimes>,
    timeline: Option<Recorder>,
    waiting: Option<Waiting>,
}

impl Probe {
    /// None, where nothing is asked for. `waiting` is empty and made for the device.
    pub(crate) fn new(wishes: ProbeConfig, waiting: impl FnOnce() -> Waiting) -> Option<Self> {
        let classes = wishes.classes.then(ClassTimes::new);
        let timeline = wishes.timeline.map(Recorder::new);
        let waiting = wishes.waiting.then(waiting);
        (classes.is_some() || timeline.is_some() || waiting.is_some()).then_some(Self { classes, timeline, waiting })
    }

    /// Forgets the classes' times so far.
    pub(crate) fn restart_classes(&mut self) {
        self.classes = self.classes.is_some().then(ClassTimes::new);
    }

    /// Called before each host request.
    pub(crate) fn begin_request(&mut self) {
        if let Some(waiting) = &mut self.waiting {
            waiting.begin();
        }
    }

    /// The request that began at `begin` is done at `done`: the parts of its time, where they are
    /// watched.
    pub(crate) fn end_request(&mut self, begin: u64, done: u64) -> Option<Parts> {
        self.waiting.as_mut().map(|waiting| waiting.end(begin, done))
    }

    /// Forgets what it saw.
    pub(crate) fn clear(&mut self) {
        self.restart_classes();
        if let Some(timeline) = &mut self.timeline {
            timeline.clear();
        }
        if let Some(waiting) = &mut self.waiting {
            waiting.clear();
        }
    }

    /// An operation found its place, when nothing begins before `now` any more.
    pub(crate) fn see(&mut self, placed: Placed, now: u64) {
        if let (Some(classes), Some(service_ns)) = (&mut self.classes, placed.service_ns) {
            classes.record(placed.task, (placed.end_ns - placed.ready_ns).saturating_sub(service_ns), service_ns);
        }
        if let Some(waiting) = &mut self.waiting {
            waiting.see(&placed, now);
        }
        if let Some(timeline) = &mut self.timeline {
            timeline.record(placed, now);
        }
    }

    pub(crate) fn classes(&self) -> Option<Vec<ClassLatency>> {
        self.classes.as_ref().map(ClassTimes::result)
    }

    pub(crate) fn timeline(&self) -> Option<TimelineFacts> {
        self.timeline.as_ref().map(Recorder::result)
    }
}
