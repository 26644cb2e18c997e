//! Requests that write one page each, without a clock: as many at once as end before something is
//! due, so that the translation layer has their pages in an array.

use flash::Lpn;
use ftl::{Cause, Nanos};
use trace::HostOp;

use super::{Progress, REPORT_EVERY, Run};
use crate::error::Halt;
use crate::host::run_device::RunDevice;
use crate::host::server::ReadChecker;
use crate::paging::{Extent, HostRequest};
use crate::result::EndOfLife;
use crate::workload::stream::Requests;

impl<D: RunDevice, W: ReadChecker<D::Data>> Run<'_, D, W> {
    /// Whether requests may be sent so.
    pub(super) fn sends_pages(&self) -> bool {
        !self.has_clock() && !W::WATCHES && self.experiment.survey.writes_pages_alone
    }

    /// Sends the whole workload, or what the device lives to serve.
    pub(super) fn send_pages(
        &mut self,
        requests: &mut Requests,
        progress: &mut Progress<'_>,
    ) -> Result<Option<EndOfLife>, Halt> {
        let bytes = self.host.flash().geometry().page_size_bytes();
        let extents = vec![Extent { lpn: Lpn::new(0), pages: 1 }];
        let mut request = HostRequest { op: HostOp::Write, bytes, extents, ..HostRequest::new() };
        let mut lpns = Vec::with_capacity(REPORT_EVERY as usize);
        loop {
            lpns.clear();
            requests.next_pages(self.requests_until_due(progress), &mut lpns)?;
            if lpns.is_empty() {
                return Ok(None);
            }
            let (written, result) = self.host.write_each(Cause::Host, &lpns);
            let is_measured = progress.number >= self.experiment.asked.skip;
            progress.number += written as u64;
            if is_measured && written > 0 {
                self.metrics.begin_alike(&request, written as u64, Nanos::ZERO);
            }
            if let Some(held) = &mut self.held {
                for &lpn in &lpns[..written] {
                    request.extents[0].lpn = lpn;
                    held.see(&request);
                }
            }
            if let Err(fault) = result {
                progress.number += 1;
                request.extents[0].lpn = lpns[written];
                return self.on_refused(&request, progress, fault).map(Some);
            }
            self.on_issued(progress)?;
        }
    }

    /// Requests up to the next after which something is due.
    fn requests_until_due(&self, Progress { number, before, .. }: &Progress<'_>) -> usize {
        let skip = self.experiment.asked.skip;
        let dues = [skip, skip.saturating_add(self.sampler.due()), skip.saturating_add(before.life.due())];
        let report = REPORT_EVERY - number % REPORT_EVERY;
        dues.iter().filter_map(|due| due.checked_sub(*number)).filter(|&left| left > 0).fold(report, u64::min) as usize
    }
}
