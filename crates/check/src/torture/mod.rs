//! Torture: trials of every kind, drawn from one seed without end, shared out evenly.
//!
//! ```text
//!             ┌─ conformance ──── a case with every promise watched, twice
//!   scheme ───┼─ power cuts ───── cut points in four tears, and cuts on top of cuts
//!             ├─ failing flash ── programs, erases and reads that fail; blocks that wear out
//!             └─ combined ─────── power cuts while blocks fail
//! ```
//!
//! A *trial* is a case of one scheme and one kind. It is drawn from the seed, its number and the
//! trials of the same scheme and kind before it: the draw favours combinations of settings,
//! devices, workloads and faults that have not been tried together (`coverage.rs`). Which trials
//! are run depends on how much time there is; what a trial does does not. In *swarm* mode each
//! trial leaves out a part of the host's operations, sizes and places (`swarm.rs`).
//!
//! A trial takes a bounded number of flash operations (`draw.rs`); its statistics say whether it
//! did less for that than was drawn. So no scheme and no kind is a few trials alone.
//!
//! The next trial is of the scheme that has had the least time, and of its kind that has had the
//! least. A scheme that broke a promise is set aside: what it would do next shows the same fault
//! again, and the others get its time.
//!
//! It knows no clock and no threads: the caller reports how long each trial took, and may run
//! several at once.

use ftl::{Stack, registry};
use serde::Serialize;

use crate::case::device_spec::DeviceSpec;
use crate::drivers::geometries;
use crate::drivers::session::create;
use crate::drivers::suite::explain;
use crate::drivers::variants::Subject;
use crate::report::failure::Failure;

pub mod campaign;
mod choices;
mod coverage;
mod draw;
pub(crate) mod shrink;

pub use crate::report::stats::{Faults, Tears, TrialStats};
pub use choices::Kind;
use choices::TrialSpace;
use coverage::Coverage;
pub use coverage::Covered;
use draw::Drawn;

/// Pages of the largest device: what a trial costs grows with their square.
const MOST_PAGES: u32 = 2_000;

/// What is to be tortured, and how.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Stacks with the settings that they keep throughout; none for every registered mapping, each
    /// with any other parts.
    pub stacks: Vec<Stack>,
    /// Devices; none for devices drawn at random.
    pub devices: Vec<DeviceSpec>,
    /// Seed of everything drawn.
    pub seed: u64,
    /// Whether each trial leaves out a random part of operations and faults.
    pub swarm: bool,
    /// Flash operations that a trial may take; none for 500,000.
    pub operations: Option<u64>,
    /// The same where parts or policies of the stack were registered; none for as many as built-in
    /// ones may take.
    pub operations_of_registered: Option<u64>,
}

/// Trials of a scheme, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Trials {
    /// Of promises 1, 2, 5 and 6.
    pub conformance: u64,
    /// Trials of promise 3.
    pub power_cuts: u64,
    /// Trials of promise 4.
    pub failing_flash: u64,
    /// Of promises 3 and 4 together.
    pub combined: u64,
}

impl Trials {
    /// Trials of a kind.
    pub fn of(&self, kind: Kind) -> u64 {
        match kind {
            Kind::Conformance => self.conformance,
            Kind::PowerCuts => self.power_cuts,
            Kind::FailingFlash => self.failing_flash,
            Kind::Combined => self.combined,
        }
    }

    fn of_mut(&mut self, kind: Kind) -> &mut u64 {
        match kind {
            Kind::Conformance => &mut self.conformance,
            Kind::PowerCuts => &mut self.power_cuts,
            Kind::FailingFlash => &mut self.failing_flash,
            Kind::Combined => &mut self.combined,
        }
    }
}

/// Something to be tried, which says by itself what it does.
#[derive(Clone, Debug)]
pub struct Trial {
    subject: usize,
    kind: Kind,
    /// None if the scheme refuses every device: then the trial amounts to nothing.
    drawn: Option<Drawn>,
}

/// A broken promise.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// What the trial was about.
    pub kind: Kind,
    /// The promise, the place and what went wrong, in words.
    pub message: String,
    /// The line that replays it.
    pub replay: String,
    /// Whether that line, run again, did fail in the same way.
    pub reproduced: bool,
    /// What that run tells: what befell the flash, what it holds of the page in question, and what
    /// was done with that.
    pub explanation: Vec<String>,
    /// What its case amounts to.
    #[serde(skip)]
    tried: Box<TrialStats>,
}

/// Statistics of one scheme.
#[derive(Clone, Debug, Serialize)]
pub struct SchemeReport {
    /// The names of its parts.
    pub scheme: String,
    /// The stack with the settings that it kept.
    pub stack: Stack,
    /// Seconds that its trials took, all threads together.
    pub busy_s: f64,
    /// Trials by kind.
    pub trials: Trials,
    /// What they amount to, and the case of each finding.
    #[serde(flatten)]
    pub tried: TrialStats,
    /// Which combinations of choices its trials have been, all kinds together.
    pub covered: Covered,
    /// States that it went through (`report/coverage.rs`).
    pub states: u64,
    /// States that are conceivable with the events that it has had.
    pub states_of: u64,
    /// Promises that it broke; at most one a thread, since it is set aside then.
    pub findings: Vec<Finding>,
    /// Nanoseconds by kind, from which turns are given.
    #[serde(skip)]
    spent_ns: [u64; 4],
}

/// What has been tried of a scheme, by kind.
#[derive(Debug)]
struct Coverages([Coverage; 4]);

impl Coverages {
    fn of(space: &TrialSpace, subject: &Subject) -> Self {
        Self(Kind::ALL.map(|kind| Coverage::of(choices::questions(space, subject, kind))))
    }

    fn covered(&self) -> Covered {
        let mut all = Covered::default();
        self.0.iter().for_each(|coverage| all += coverage.covered());
        all
    }
}

/// A mapping that was not asked for by name and accepts none of the devices.
#[derive(Clone, Debug, Serialize)]
pub struct LeftOut {
    /// Its name.
    pub scheme: String,
    /// The reason, in words.
    pub reason: String,
}

/// Shares out trials and collects what becomes of them.
#[derive(Debug)]
pub struct Torture {
    space: TrialSpace,
    coverages: Vec<Coverages>,
    reports: Vec<SchemeReport>,
    left_out: Vec<LeftOut>,
}

impl Torture {
    /// Checks the request; `Err` names the change needed.
    pub fn new(options: Options) -> Result<Self, String> {
        let Options { stacks, devices, seed, swarm, operations, operations_of_registered } = options;
        let draws_parts = stacks.is_empty();
        let asked = if draws_parts {
            registry::mappings().into_iter().map(|entry| Stack::of(entry.name)).collect()
        } else {
            stacks
        };
        devices.iter().try_for_each(check_device)?;
        let (mut subjects, mut left_out) = (Vec::new(), Vec::new());
        for stack in asked {
            let subject = Subject::keeping(stack).map_err(|error| error.to_string())?;
            match check_place(&subject, &devices) {
                Ok(()) => subjects.push(subject),
                Err(reason) if draws_parts => left_out.push(LeftOut { scheme: subject.stack.names(), reason }),
                Err(reason) => return Err(reason),
            }
        }
        if subjects.is_empty() {
            return Err(left_out.pop().map_or_else(|| "no mapping is registered".into(), |last| last.reason));
        }
        let space = TrialSpace { subjects, devices, seed, swarm, draws_parts, operations, operations_of_registered };
        let coverages = space.subjects.iter().map(|subject| Coverages::of(&space, subject)).collect();
        let reports = space.subjects.iter().map(SchemeReport::of).collect();
        Ok(Self { space, coverages, reports, left_out })
    }

    /// The next trial; none when every scheme has been set aside.
    pub fn next_trial(&mut self) -> Option<Trial> {
        let waiting = self.reports.iter().enumerate().filter(|(_, report)| report.findings.is_empty());
        let (subject, _) = waiting.min_by_key(|(_, report)| report.spent_ns.iter().sum::<u64>())?;
        let report = &mut self.reports[subject];
        // Of kinds that have had equal time, as at the beginning, the one with the fewest trials.
        let kind =
            Kind::ALL.into_iter().min_by_key(|&kind| (report.spent_ns[kind as usize], report.trials.of(kind)))?;
        let trials = report.trials.of_mut(kind);
        let number = *trials;
        *trials += 1;
        // A turn counts from when it is given, so that several threads do not all take the same.
        report.spent_ns[kind as usize] += 1;
        let coverages = &mut self.coverages[subject];
        let drawn = Drawn::next(&self.space, subject, kind, number, &mut coverages.0[kind as usize]);
        report.covered = coverages.covered();
        Some(Trial { subject, kind, drawn })
    }

    /// Records what became of a trial, and how long it took.
    pub fn record(&mut self, trial: &Trial, result: Result<TrialStats, Finding>, spent_ns: u64) {
        let report = &mut self.reports[trial.subject];
        report.spent_ns[trial.kind as usize] += spent_ns;
        report.busy_s += spent_ns as f64 / 1e9;
        report.tried += match result {
            Ok(tried) => tried,
            Err(finding) => {
                let tried = TrialStats::clone(&finding.tried);
                report.findings.push(finding);
                tried
            }
        };
        let states = report.tried.states;
        (report.states, report.states_of) = (states.reached(), states.conceivable());
    }

    /// Mappings that accept none of the devices, where all were asked for.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// Statistics so far, by scheme.
    pub fn reports(&self) -> &[SchemeReport] {
        &self.reports
    }
}

impl SchemeReport {
    fn of(subject: &Subject) -> Self {
        Self {
            scheme: subject.stack.names(),
            stack: subject.stack.clone(),
            busy_s: 0.0,
            trials: Trials::default(),
            tried: TrialStats::default(),
            covered: Covered::default(),
            states: 0,
            states_of: 0,
            findings: Vec::new(),
            spent_ns: [0; 4],
        }
    }
}

impl Trial {
    /// Runs the trial to its end, or to the first broken promise.
    pub fn run(&self) -> Result<TrialStats, Finding> {
        let Some(drawn) = self.drawn.clone() else { return Ok(TrialStats::default()) };
        drawn.run().map_err(|failure| Finding::of(self.kind, &failure))
    }
}

impl Finding {
    fn of(kind: Kind, failure: &Failure) -> Self {
        let again = explain(&failure.case).err().filter(|again| again.0.promise() == failure.promise());
        let reproduced = again.is_some();
        let explanation = again.map_or_else(Vec::new, |again| again.1.brief());
        let (message, replay) = (failure.message(), failure.case.to_string());
        let tried = Box::new(TrialStats::of_finding(&failure.case));
        Self { kind, message, replay, reproduced, explanation, tried }
    }
}

fn check_device(device: &DeviceSpec) -> Result<(), String> {
    let pages = device.geometry()?.pages();
    if pages > MOST_PAGES {
        return Err(format!(
            "geometry {device}: {pages} pages, but at most {MOST_PAGES} can be tortured, since what a trial costs grows with \
             their square; faults that need a large device are rare, so give it fewer blocks, or a preset or a file as the \
             device, which is scaled down"
        ));
    }
    Ok(())
}

/// Refuses a scheme that has no place on any of the devices, with what it says of the last one.
fn check_place(subject: &Subject, devices: &[DeviceSpec]) -> Result<(), String> {
    let largest = |device: &DeviceSpec| geometries::largest_capacity(device, |layout| create(&subject.stack, layout));
    let default = [DeviceSpec::new(1, 1, 1, 20, 4), DeviceSpec::new(2, 1, 1, 20, 4)];
    let devices = if devices.is_empty() { &default } else { devices };
    if devices.iter().any(|device| largest(device).is_some()) {
        return Ok(());
    }
    let refused =
        devices.iter().find_map(|device| geometries::accepts(device, 1, |layout| create(&subject.stack, layout)).err());
    Err(refused.map_or_else(|| format!("{} accepts no device", subject.stack), |error| error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn superblocks_are_drawn_of_every_kind_under_paced_collections_too() {
        let stacks = vec![Stack::of("page")];
        let mut torture = Torture::new(Options { stacks, ..Options::default() }).expect("a scheme");
        let (mut of_kind, mut paced) = ([0; 4], 0);
        for _ in 0..400 {
            let trial = torture.next_trial().expect("nothing is broken");
            torture.record(&trial, Ok(TrialStats::default()), 1);
            let case = &trial.drawn.as_ref().expect("it accepts devices").case;
            if case.device.has_capacitor && case.device.units_per_page > 1 {
                of_kind[trial.kind as usize] += 1;
                paced += u32::from(case.stack.mapping.settings.get("gc").is_none_or(|gc| gc != "whole"));
            }
        }
        assert!(of_kind.iter().all(|&count| count > 2) && paced > 10, "{of_kind:?}, {paced} paced");
    }

    #[test]
    fn devices_without_a_capacitor_are_drawn_with_every_ability() {
        let stacks = vec![Stack::of("page")];
        let mut torture = Torture::new(Options { stacks, ..Options::default() }).expect("a scheme");
        let (mut gathered, mut paired, mut several_units, mut long) = ([0; 4], 0, 0, 0);
        for _ in 0..800 {
            let trial = torture.next_trial().expect("nothing is broken");
            torture.record(&trial, Ok(TrialStats::default()), 1);
            let device = &trial.drawn.as_ref().expect("it accepts devices").case.device;
            let is_exposed = !device.has_capacitor && (device.at_once > 1 || device.paired.is_some());
            gathered[trial.kind as usize] += u32::from(is_exposed);
            paired += u32::from(device.paired.is_some());
            several_units += u32::from(is_exposed && device.units_per_page > 1);
            // No block of one plane of one die is as long.
            long += u32::from(is_exposed && device.shape.pages_per_block > 8);
        }
        let counts = [paired, several_units, long];
        assert!(
            gathered.iter().all(|&count| count > 2) && counts.iter().all(|&count| count > 3),
            "{gathered:?} {counts:?}"
        );
    }
}
