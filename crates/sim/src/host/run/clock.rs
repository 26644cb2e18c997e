//! The clock of a run, and what watches it; or that there is none.

use ftl::Nanos;

use super::Run;
use crate::error::{Fault, Halt};
use crate::host::run_device::RunDevice;
use crate::host::server::ReadChecker;
use crate::observe::flash_trace::FlashTrace;
use crate::observe::probe::Probe;
use crate::paging::HostRequest;
use crate::{EventTiming, SimError};

impl<D: RunDevice, W: ReadChecker<D::Data>> Run<'_, D, W> {
    /// Ends a run without a clock whose translation layer has asked of time.
    #[inline]
    pub(super) fn check_not_asked(&self) -> Result<(), Halt> {
        match self.host.flash().asked_of_time() {
            Some(what) if !self.has_clock() => Err(Halt::AskedOfTime(what)),
            _ => Ok(()),
        }
    }

    /// Without a clock: serves a request, which is over with that.
    #[inline]
    pub(super) fn serve_at_once(&mut self, request: &HostRequest, number: u64) -> Result<(), Fault> {
        self.host.serve(request, Nanos::ZERO)?;
        if number > self.experiment.asked.skip {
            self.metrics.begin(request, Nanos::ZERO);
        }
        if let Some(held) = &mut self.held {
            held.see(request);
        }
        Ok(())
    }

    /// The clock and the queues of the device, if it has a clock.
    #[inline]
    pub(super) fn engine_mut(&mut self) -> Option<&mut EventTiming> {
        self.host.device_mut().engine_mut()
    }

    #[inline]
    pub(super) fn has_clock(&self) -> bool {
        self.host.flash().device().engine().is_some()
    }

    pub(super) fn probe_mut(&mut self) -> Option<&mut Probe> {
        self.engine_mut().and_then(EventTiming::probe_mut)
    }

    pub(super) fn flash_trace_mut(&mut self) -> Option<&mut FlashTrace> {
        self.probe_mut().and_then(Probe::flash_trace_mut)
    }

    /// Tells the trace of flash, if there is one, of a request that begins.
    #[inline]
    pub(super) fn trace_request(&mut self, request: &HostRequest, number: u64, begin: Nanos) {
        if self.flash_trace_mut().is_none() {
            return;
        }
        let tally = *self.host.flash().tally();
        let (chip, timing) = self.host.device_mut().parts();
        let probe = timing.and_then(EventTiming::probe_mut);
        let Some(flash_trace) = probe.and_then(Probe::flash_trace_mut) else { return };
        if flash_trace.opens_at(begin.0) {
            flash_trace.open(chip, tally.notes());
        }
        flash_trace.begin(request, number, begin.0, tally.notes());
    }

    /// Tells the trace of flash, if there is one, of idle time.
    pub(super) fn trace_idle(&mut self) {
        let tally = *self.host.flash().tally();
        if let Some(flash_trace) = self.flash_trace_mut() {
            flash_trace.begin_idle(tally.notes());
        }
    }

    /// A device that falls ever further behind ends the run before the memory does.
    pub(super) fn check_backlog(&self) -> Result<(), SimError> {
        let engine = self.host.flash().device().engine();
        let (under_way, most) = (engine.map_or(0, EventTiming::under_way), self.experiment.most_under_way);
        if under_way <= most {
            return Ok(());
        }
        let label = &self.plan.label;
        Err(SimError::study(match self.experiment.pace.queue_depth() {
            None => format!(
                "ftl \"{label}\": the device falls ever further behind: {under_way} flash operations wait, and at most {most} may. \
                 Let requests come more slowly (workload.speedup below 1), take a closed loop (host.loop = \"closed\"), \
                 or raise run.memory_limit"
            ),
            Some(depth) => format!(
                "ftl \"{label}\": {under_way} flash operations of {depth} outstanding requests wait, and at most {most} may. \
                 Lower host.queue_depth, take shorter requests or larger pages, or raise run.memory_limit"
            ),
        }))
    }
}
