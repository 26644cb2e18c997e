//! What trials amount to: the figures of a report.

use std::ops::AddAssign;

use flash::{Fault, Tear};
use serde::Serialize;

use crate::case::test_case::Case;
use crate::report::coverage::{Phase, StateCoverage};
use crate::report::recorder::Outcome;

/// What a run, an exploration or many trials amount to, those of findings included; operations of
/// first runs only, where a trial runs twice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TrialStats {
    /// Host requests of the workloads, without what fills and empties the device around them.
    pub requests: u64,
    /// Host pages written, where they are counted.
    pub pages_written: u64,
    /// Flash operations of all cases.
    pub flash_operations: u64,
    /// Programs and erases of workloads at which the power was cut, in some or all of the four
    /// tears.
    pub cut_points: u64,
    /// The other programs and erases of workloads whose power cuts were sampled.
    pub cut_points_left_out: u64,
    /// Power cuts by how far the operation got.
    pub cuts: Tears,
    /// Of these cuts, those on top of another: during its recovery, or after.
    pub second_cuts: u64,
    /// Recoveries that the cases ran.
    pub recoveries: u64,
    /// Faults of the flash that took effect.
    pub faults: Faults,
    /// Blocks that were marked bad because they had failed.
    pub grown_bad_blocks: u64,
    /// Runs that ended read-only because the spares had run out.
    pub read_only: u64,
    /// Logical pages that decayed and were reported as errors.
    pub lost_pages: u64,
    /// Trials that were cut short, or sampled more thinly than drawn, because they had used up
    /// their flash operations.
    pub shortened: u64,
    /// What the schemes went through.
    #[serde(skip)]
    pub states: StateCoverage,
}

/// Power cuts by how far the operation got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tears {
    /// Cuts before the operation began.
    pub before: u64,
    /// Cuts after the operation had hardly begun, which flash does not show.
    pub unseen: u64,
    /// Cuts that left the operation half done.
    pub torn: u64,
    /// Done, but nobody was told.
    pub after: u64,
}

/// Faults by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Faults {
    /// Page programs that failed.
    pub failed_programs: u64,
    /// Erases that failed, of blocks that had worn out, too.
    pub failed_erases: u64,
    /// Reads that could not be corrected.
    pub failed_reads: u64,
    /// Reads that could.
    pub corrected_reads: u64,
}

impl TrialStats {
    pub(crate) fn of_case(case: &Case, outcome: &Outcome) -> Self {
        let mut states = StateCoverage::default();
        states.record(Phase::Fresh, &outcome.tally);
        Self {
            states,
            requests: u64::from(case.requests),
            pages_written: outcome.pages_written,
            flash_operations: outcome.flash_operations(),
            ..Self::default()
        }
    }

    /// Facts about a failed case: its requests, and the cuts and faults that it names,
    /// but not the flash operations that it took.
    pub(crate) fn of_finding(case: &Case) -> Self {
        let mut tried = Self { requests: u64::from(case.requests), ..Self::default() };
        let cuts = case.schedule.cuts();
        let faults = case.schedule.faults().iter().map(|fault| fault.fault);
        cuts.iter().map(|cut| Fault::Cut(cut.tear)).chain(faults).for_each(|fault| tried.count(fault));
        tried.cut_points = u64::from(!cuts.is_empty());
        tried.second_cuts = (cuts.len() as u64).saturating_sub(1);
        tried.recoveries = tried.cuts.total();
        tried
    }

    /// Counts a fault that took effect.
    pub(crate) fn count(&mut self, fault: Fault) {
        *match fault {
            Fault::Cut(Tear::Before) => &mut self.cuts.before,
            Fault::Cut(Tear::Unseen) => &mut self.cuts.unseen,
            Fault::Cut(Tear::Torn) => &mut self.cuts.torn,
            Fault::Cut(Tear::After) => &mut self.cuts.after,
            Fault::ProgramFails => &mut self.faults.failed_programs,
            Fault::EraseFails => &mut self.faults.failed_erases,
            Fault::ReadFails => &mut self.faults.failed_reads,
            Fault::ReadCorrected => &mut self.faults.corrected_reads,
        } += 1;
    }

    /// Power cuts that came alone.
    pub fn single_cuts(&self) -> u64 {
        self.cuts.total() - self.second_cuts
    }
}

impl Tears {
    /// The sum of all kinds.
    pub fn total(&self) -> u64 {
        self.before + self.unseen + self.torn + self.after
    }
}

impl AddAssign for Tears {
    fn add_assign(&mut self, other: Self) {
        self.before += other.before;
        self.unseen += other.unseen;
        self.torn += other.torn;
        self.after += other.after;
    }
}

impl AddAssign for Faults {
    fn add_assign(&mut self, other: Self) {
        self.failed_programs += other.failed_programs;
        self.failed_erases += other.failed_erases;
        self.failed_reads += other.failed_reads;
        self.corrected_reads += other.corrected_reads;
    }
}

impl AddAssign for TrialStats {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.pages_written += other.pages_written;
        self.flash_operations += other.flash_operations;
        self.cut_points += other.cut_points;
        self.cut_points_left_out += other.cut_points_left_out;
        self.cuts += other.cuts;
        self.second_cuts += other.second_cuts;
        self.recoveries += other.recoveries;
        self.faults += other.faults;
        self.grown_bad_blocks += other.grown_bad_blocks;
        self.read_only += other.read_only;
        self.lost_pages += other.lost_pages;
        self.shortened += other.shortened;
        self.states |= other.states;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_counts_the_cuts_and_faults_of_its_case() {
        let line = "check::replay stack=page geometry=1x1x1x8x4x512 pages=20 seed=7 workload=mixed requests=9";
        let of = |schedule: &str| TrialStats::of_finding(&format!("{line} {schedule}").parse().expect("a case"));
        let cut = of("cut=8:torn,21:torn");
        assert_eq!((cut.requests, cut.cut_points, cut.cuts.torn, cut.second_cuts, cut.recoveries), (9, 1, 2, 1, 2));
        let failed = of("faults=12:program-fails,30:erase-fails,40:cut-after");
        assert_eq!((failed.faults.failed_programs, failed.faults.failed_erases, failed.cuts.after), (1, 1, 1));
        assert_eq!((failed.cut_points, failed.second_cuts, failed.recoveries), (0, 0, 1));
    }
}
