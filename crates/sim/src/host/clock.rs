//! Which runs of an experiment have a clock, and the refusal of those that ask for one and must do
//! without.
//!
//! Without one, requests are served in their order and take no time, as under a closed loop: the
//! device is never idle. So what decides by time, or would use idle time of an open loop, differs.
//! `auto` gives that a clock. `false` refuses the former, and the study says of the latter that
//! there is no idle time, and which of its keys have no effect. A scheme of somebody's own may ask
//! the flash port for the time all the same, which ends its run
//! ([`Halt::AskedOfTime`](crate::error::Halt::AskedOfTime)).

use ftl::{AnyDevice, Drive};

use crate::SimError;
use crate::host::experiment::{Experiment, Pace, Plan};
use crate::setup::study::Study;
use crate::setup::values::{Clock, LoopText};

impl Experiment {
    /// Checks the plans and decides which runs have a clock.
    pub(super) fn choose_clocks(&mut self, study: &Study) -> Result<(), SimError> {
        let plans = self.check_plans(&study.device)?;
        if plans.iter().any(|&(_, clock, _)| clock == Clock::On) {
            Pace::of(&study.host, &self.workload, Clock::On)?;
        }
        let mut uses_idle_time = Vec::new();
        for (plan, (growth, clock, uses)) in self.plans.iter_mut().zip(plans) {
            (plan.growth, plan.clock) = (growth, clock);
            uses_idle_time.push(uses);
        }
        self.tell_of_idle_time(uses_idle_time);
        if self.plans.iter().any(|plan| plan.clock != Clock::On) {
            self.tell_of_idle_keys(study);
        }
        Ok(())
    }

    /// Requests are logged with their times, so every run has a clock.
    pub(crate) fn log_requests(&mut self) -> Result<(), SimError> {
        if self.asked.clock == Clock::Off {
            return Err(refusal("the log of requests", "its rows have times"));
        }
        self.plans.iter_mut().for_each(|plan| plan.clock = Clock::On);
        Ok(())
    }

    /// Whether a translation layer is run with a clock.
    pub(super) fn clock_of(&self, plan: &Plan, drive: &Drive<AnyDevice>) -> Result<Clock, SimError> {
        let decides = drive.decides_by_time().then(|| (plan.label.clone(), "it decides by time"));
        match (self.asked.clock, self.study_needs_clock().or(decides)) {
            (Clock::Off, Some((what, why))) => Err(refusal(&what, why)),
            (Clock::Auto, Some(_)) => Ok(Clock::On),
            (Clock::Auto, None) if self.has_idle_time() && drive.uses_idle_time() => Ok(Clock::On),
            (clock, _) => Ok(clock),
        }
    }

    /// What of the study needs a clock, whatever the translation layer, and why.
    fn study_needs_clock(&self) -> Option<(String, &'static str)> {
        let (is_in_threads, watched) = (matches!(self.pace, Pace::Threads(_)), &self.probe_config);
        let needs = [
            (is_in_threads, "host.loop = \"threads\"", "a thread sends its next request when one ends"),
            (watched.classes, "run.classes", "it measures times"),
            (watched.timeline.is_some(), "run.timeline", "it is a window of time"),
            (watched.flash_trace.is_some(), "run.flash_trace", "it is a window of time"),
            (self.device.reliability.is_some(), "device.bit_errors", "bits decay with time"),
        ];
        needs.into_iter().find(|&(is_asked, ..)| is_asked).map(|(_, what, why)| (what.to_owned(), why))
    }

    /// Whether a device with a clock would have idle time.
    fn has_idle_time(&self) -> bool {
        !matches!(self.pace, Pace::Closed(_)) && !self.workload.arrives_at_once()
    }

    /// Says in the results which translation layers would use idle time, and have none.
    fn tell_of_idle_time(&mut self, uses_idle_time: Vec<bool>) {
        let users = self.plans.iter().zip(uses_idle_time).filter(|&(plan, uses)| uses && plan.clock == Clock::Off);
        let users: Vec<_> = users.map(|(plan, _)| plan.label.as_str()).collect();
        if self.has_idle_time() && !users.is_empty() {
            let users = users.join(", ");
            self.survey.facts.facts.push(format!("without a clock no idle time is left to work in for {users}"));
        }
    }

    /// Says in the results which keys of the study are of time, and have no effect.
    fn tell_of_idle_keys(&mut self, study: &Study) {
        let facts = &mut self.survey.facts.facts;
        let keys = [
            ("host.queue_depth", study.host.queue_depth.is_some()),
            ("workload.speedup", study.workload.speedup.is_some()),
            ("workload.tick", study.workload.tick.is_some()),
            ("run.waiting", study.run.waiting == Some(true)),
        ];
        let idle: Vec<_> = keys.into_iter().filter(|&(_, is_given)| is_given).map(|(key, _)| key).collect();
        if !idle.is_empty() {
            facts.push(format!("without a clock these have no effect: {}", idle.join(", ")));
        }
        if study.host.r#loop == Some(LoopText::Open) {
            facts.push(
                "without a clock host.loop = \"open\" only sets the rate at which lives are counted in years".into(),
            );
        }
    }
}

/// The refusal of a translation layer that asked of time during its run.
pub(crate) fn refuse_asking(plan: &Plan, asked: &str) -> SimError {
    refusal(&plan.label, &format!("it asks {asked}"))
}

/// The refusal of what needs a clock.
pub(crate) fn refusal(what: &str, why: &str) -> SimError {
    SimError::study(format!(
        "run.clock = false: {what} needs a clock: {why}. Run with a clock (--clock, in a study run.clock = true), or \
         remove {what}"
    ))
}
