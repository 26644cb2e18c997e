//! What bit errors cost a run, for its results.

use ftl::ReadRetries;

use super::{Before, Run};
use crate::host::experiment::NS_A_DAY;
use crate::host::run_device::RunDevice;
use crate::host::server::ReadChecker;
use crate::result::{BitErrorFacts, ReadLife};

const DAYS_A_YEAR: f64 = 365.0;

impl<D: RunDevice, W: ReadChecker<D::Data>> Run<'_, D, W> {
    /// What was counted of reads so far; nothing on a device without bit errors.
    pub(super) fn read_retries(&self) -> ReadRetries {
        self.host.flash().bit_errors().map_or_else(ReadRetries::default, |bit_errors| *bit_errors.counts())
    }

    /// What bit errors cost while measuring; none on a device without any.
    pub(super) fn bit_error_facts(&self, before: &Before) -> Option<BitErrorFacts> {
        self.host.flash().bit_errors()?;
        let ReadRetries { reads, uncorrectable, refreshed_blocks, is_refreshing_over } =
            self.read_retries().since(&before.read_retries);
        let most = reads.iter().rposition(|&count| count > 0).unwrap_or(0);
        let (all, retries) = (0..)
            .zip(reads)
            .fold((0, 0), |(all, sum), (retries, count): (u64, _)| (all + count, sum + retries * count));
        Some(BitErrorFacts {
            reads_by_retries: reads[..=most].to_vec(),
            mean_retries: (all > 0).then(|| retries as f64 / all as f64),
            most_retries: most as u64,
            uncorrectable_reads: uncorrectable,
            refreshed_blocks,
            is_refreshing_over,
            read_life: if is_refreshing_over { None } else { self.read_life(before) },
        })
    }

    /// How long the device lives if it is only read.
    fn read_life(&self, before: &Before) -> Option<ReadLife> {
        let (totals, facts) = (self.metrics.totals, &self.experiment.survey.facts);
        let erases = before.wear.erases(self.chip());
        if totals.bytes_written > 0 || erases.total == 0 {
            return None;
        }
        let counts = before.wear.counts(self.chip());
        let mean = counts.iter().copied().map(f64::from).sum::<f64>() / counts.len() as f64;
        let limit = f64::from(self.experiment.device.chip.endurance.unwrap_or(u32::MAX));
        let scale = self.experiment.device.as_whole().scale;
        let bytes = scale * totals.bytes as f64 * (1.0 + (limit - mean).max(0.0) / erases.mean);
        let days = facts.duration_ns as f64 * self.experiment.workload.speedup / NS_A_DAY;
        let years = (days > 0.0).then(|| bytes / (facts.bytes as f64 / days * DAYS_A_YEAR));
        Some(ReadLife { read_bytes: bytes as u64, years })
    }
}
