//! What a run tells of single operations, where it is asked to: latency by class, the timeline of a
//! window, and the trace of its flash.
//!
//! Nobody pays for it who does not ask: the engine looks at one pointer for each operation.

use crate::observe::classes::ClassTimes;
use crate::observe::flash_trace::FlashTrace;
use crate::observe::timeline::{Placed, Recorder, Window};
use crate::result::{ClassLatency, TimelineFacts};

/// What is watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProbeConfig {
    /// Waiting and service times by class.
    pub(crate) classes: bool,
    /// The window whose operations are recorded.
    pub(crate) timeline: Option<Window>,
    /// The window whose requests are traced down to the pages of flash.
    pub(crate) flash_trace: Option<Window>,
    /// What requests waited for.
    pub(crate) waiting: bool,
}

/// Watches the operations of a run.
pub(crate) struct Probe {
    classes: Option<ClassTimes>,
    timeline: Option<Recorder>,
    flash_trace: Option<FlashTrace>,
}

impl Probe {
    /// None, where nothing is asked for.
    pub(crate) fn new(probe_config: ProbeConfig) -> Option<Self> {
        let classes = probe_config.classes.then(ClassTimes::new);
        let timeline = probe_config.timeline.map(Recorder::new);
        let flash_trace = probe_config.flash_trace.map(FlashTrace::new);
        let is_asked = classes.is_some() || timeline.is_some() || flash_trace.is_some();
        is_asked.then_some(Self { classes, timeline, flash_trace })
    }

    /// Forgets the classes' times so far.
    pub(crate) fn restart_classes(&mut self) {
        self.classes = self.classes.is_some().then(ClassTimes::new);
    }

    /// Forgets what it saw.
    pub(crate) fn clear(&mut self) {
        self.restart_classes();
        if let Some(timeline) = &mut self.timeline {
            timeline.clear();
        }
        if let Some(flash_trace) = &mut self.flash_trace {
            flash_trace.clear();
        }
    }

    /// An operation, or a part of one, is over.
    pub(crate) fn see(&mut self, placed: Placed) {
        if let (Some(classes), Some(service_ns)) = (&mut self.classes, placed.service_ns) {
            let operation = (placed.cause, placed.op);
            classes.record(operation, (placed.end_ns - placed.ready_ns).saturating_sub(service_ns), service_ns);
        }
        if let Some(timeline) = &mut self.timeline {
            timeline.record(placed);
        }
        if let Some(flash_trace) = &mut self.flash_trace {
            flash_trace.see(&placed);
        }
    }

    pub(crate) fn classes(&self) -> Option<Vec<ClassLatency>> {
        self.classes.as_ref().map(ClassTimes::result)
    }

    pub(crate) fn timeline(&self) -> Option<TimelineFacts> {
        self.timeline.as_ref().map(Recorder::result)
    }

    pub(crate) fn flash_trace(&self) -> Option<&FlashTrace> {
        self.flash_trace.as_ref()
    }

    pub(crate) fn flash_trace_mut(&mut self) -> Option<&mut FlashTrace> {
        self.flash_trace.as_mut()
    }
}
