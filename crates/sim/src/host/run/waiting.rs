//! How a host waits: for an arrival, for a place, or for a place of a thread.

use ftl::{Nanos, Timing};

use super::{Progress, Run};
use crate::error::{Fault, Halt};
use crate::host::run_device::RunDevice;
use crate::host::server::ReadChecker;
use crate::paging::HostRequest;
use crate::result::EndOfLife;

impl<D: RunDevice, W: ReadChecker<D::Data>> Run<'_, D, W> {
    /// Lets time pass until fewer than `depth` requests are under way; returns that moment.
    #[inline]
    pub(super) fn await_a_place(&mut self, depth: usize) -> Nanos {
        self.hear_of_ended();
        while self.outstanding.under_way() >= depth {
            if let Some(engine) = self.engine_mut() {
                engine.pass_until_end();
            }
            self.hear_of_ended();
        }
        self.host.now()
    }

    /// Lets time pass until a request arrives, and offers the device what is idle time before;
    /// returns the moment of arrival.
    pub(super) fn await_arrival(&mut self, arrival: Nanos) -> Result<Nanos, Fault> {
        if self.engine_mut().is_some_and(|engine| engine.pass_until_idle_before(arrival)) {
            self.hear_of_ended();
            self.trace_idle();
            self.host.idle(self.host.now(), arrival)?;
        }
        if let Some(engine) = self.engine_mut() {
            engine.pass_until(arrival);
        }
        self.hear_of_ended();
        Ok(arrival)
    }

    /// Sends what may be sent before a request arrives, then the request, unless it has to wait.
    pub(super) fn send_in_threads(
        &mut self,
        request: &HostRequest,
        progress: &mut Progress<'_>,
    ) -> Result<Option<EndOfLife>, Halt> {
        if let Some(end) = self.send_waiting(Nanos(request.arrival_ns), progress)? {
            return Ok(Some(end));
        }
        if self.threads.as_mut().is_some_and(|threads| threads.keep(request)) {
            return Ok(None);
        }
        self.send(request, progress)
    }

    /// Sends requests that wait in their threads, as places get free until a moment.
    pub(super) fn send_waiting(
        &mut self,
        until: Nanos,
        progress: &mut Progress<'_>,
    ) -> Result<Option<EndOfLife>, Halt> {
        loop {
            self.hear_of_ended();
            let Some(threads) = &mut self.threads else { return Ok(None) };
            if let Some(request) = threads.take_sendable() {
                if let Some(end) = self.send(&request, progress)? {
                    return Ok(Some(end));
                }
            } else if !threads.is_waiting()
                || self.host.now() >= until
                || !self.engine_mut().is_some_and(|engine| engine.pass_until_next(until))
            {
                return Ok(None);
            }
        }
    }
}
