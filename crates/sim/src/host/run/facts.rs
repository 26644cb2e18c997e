//! What a run found, in the form of its results.

use flash::{Flash, Pbn};
use ftl::{FlashOp, RamStructure, Spares, Tally};

use super::{Before, Progress, Run};
use crate::EventTiming;
use crate::error::{Fault, Halt, Stage};
use crate::host::run_device::RunDevice;
use crate::host::server::ReadChecker;
use crate::paging::{HostRequest, MappedPages};
use crate::result::{EndOfLife, FootprintFacts, SpareFacts, StreamFacts};

impl<D: RunDevice, W: ReadChecker<D::Data>> Run<'_, D, W> {
    pub(super) fn spares(&self) -> SpareFacts {
        let chip = self.chip();
        let bad = (0..chip.geometry().blocks()).filter(|&block| chip.is_bad(Pbn::new(block))).count();
        let grown = bad - self.experiment.device.chip.bad_blocks.len();
        let Spares { total, used } = self.host.ftl().spares();
        SpareFacts { total, left: total.saturating_sub(used), grown_bad_blocks: grown as u64 }
    }

    /// Memory of the translation layer on the whole device, and of units that wait until they are
    /// programmed.
    pub(super) fn footprint(&self) -> FootprintFacts {
        let mut footprint = self.host.ftl().footprint();
        self.plan.growth.grow(&mut footprint.structures);
        // How full it gets only a clock shows.
        let all = self.experiment.device.buffered_units;
        if let Some(units) = self.host.flash().device().engine().map_or(all, EventTiming::most_buffered_units) {
            let ram_bytes = units * u64::from(self.chip().geometry().page_size_bytes());
            let varies = false;
            footprint.structures.push(RamStructure { name: "program buffer", ram_bytes, flash_bytes: 0, varies });
        }
        footprint.into()
    }

    /// Bytes of erased blocks.
    pub(super) fn erased_bytes(&self, tally: &Tally) -> u64 {
        let geometry = self.chip().geometry();
        tally.total(FlashOp::Erase) * (geometry.bytes() / u64::from(geometry.blocks()))
    }

    /// What was done for each stream since measurement began.
    pub(super) fn streams(&self, before: &Before) -> Option<Vec<StreamFacts>> {
        let counts = self.host.ftl().class_counts().iter().zip(&before.class_counts);
        let facts = counts.map(|(now, before)| StreamFacts {
            is_collected: now.is_collected,
            host_pages: now.host_pages - before.host_pages,
            moved_for: now.moved_for.iter().zip(&before.moved_for).map(|(now, before)| now - before).collect(),
            erased_blocks: now.erased_blocks - before.erased_blocks,
        });
        (facts.len() > 0).then(|| facts.collect())
    }

    /// Share of page reads that found no data.
    pub(super) fn reads_without_flash(&self) -> Option<f64> {
        let reads = self.metrics.totals.pages_read + self.metrics.totals.pages_completed;
        let empty = self.held.as_ref().map_or(0, MappedPages::empty_reads);
        (reads > 0).then(|| empty as f64 / reads as f64)
    }

    /// The request issued last was refused: the device has worn out, or something is wrong.
    #[cold]
    pub(super) fn on_refused(
        &mut self,
        request: &HostRequest,
        progress: &Progress<'_>,
        fault: Fault,
    ) -> Result<EndOfLife, Halt> {
        let Progress { number, before, .. } = progress;
        self.check_not_asked()?;
        if !fault.is_end_of_life() {
            return Err(Halt::Fault(Stage::Request(*number), fault));
        }
        self.host.mark_uncertain(request);
        self.finish_outstanding()?;
        let snapshot = self.snapshot((number - 1).saturating_sub(self.experiment.asked.skip), before);
        self.sampler.take_last(&self.metrics, snapshot);
        let scale = self.experiment.device.as_whole().scale;
        let host_written_bytes = (self.metrics.totals.bytes_written as f64 * scale).round() as u64;
        Ok(EndOfLife { request: *number, host_written_bytes, message: fault.to_string() })
    }
}
