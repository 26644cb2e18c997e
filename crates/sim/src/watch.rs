//! What a run tells of single operations, where it is asked to: latency by class, and the timeline of a window.
//!
//! Nobody pays for it who does not ask: pricing looks at one pointer for each operation.

use crate::classes::ClassTimes;
use crate::result::{ClassLatency, TimelineFacts};
use crate::timeline::{Placed, Recorder, Window};

/// What is watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wishes {
    /// Waiting and service times by class.
    pub(crate) classes: bool,
    /// The timeline of a window.
    pub(crate) timeline: Option<Window>,
}

/// Watches the operations of a run.
pub(crate) struct Watch {
    classes: Option<ClassTimes>,
    timeline: Option<Recorder>,
}

impl Watch {
    /// None, where nothing is asked for.
    pub(crate) fn new(wishes: Wishes) -> Option<Box<Self>> {
        let classes = wishes.classes.then(ClassTimes::new);
        let timeline = wishes.timeline.map(Recorder::new);
        (classes.is_some() || timeline.is_some()).then(|| Box::new(Self { classes, timeline }))
    }

    /// Forgets what it saw.
    pub(crate) fn clear(&mut self) {
        self.classes = self.classes.is_some().then(ClassTimes::new);
        if let Some(timeline) = &mut self.timeline {
            timeline.clear();
        }
    }

    /// An operation found its place, when nothing begins before `now` any more.
    pub(crate) fn see(&mut self, placed: Placed, now: u64) {
        if let (Some(classes), Some(service_ns)) = (&mut self.classes, placed.service_ns) {
            classes.record(placed.task, (placed.end_ns - placed.ready_ns).saturating_sub(service_ns), service_ns);
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
