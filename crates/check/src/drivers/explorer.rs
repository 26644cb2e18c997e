//! The explorer of power cuts: a workload runs once, and at each of its programs and erases the
//! power is cut in four ways.
//!
//! ```text
//!   workload  ──●───●───●──▶            ● program or erase: 4 tears each
//!               └▶ recover ─ read back ─ check ─ go on ─ refill twice
//!                    ●        ●  a second cut, during recovery or after
//!                    └▶ recover ─ …
//! ```
//!
//! Each operation leaves a copy of the chip as it found it (`recorder.rs`), so nothing is run twice
//! and n operations cost n. After a cut the scheme is recovered from the flash alone; every page
//! must hold what is allowed (`crash_oracle.rs`); the invariants must hold; the host goes on, trims
//! everything, flushes, and fills the device twice, which runs dry if a block has leaked. Second
//! cuts are staged in the same way at the operations of recovery and of what follows it: all of
//! them or a sample drawn from the seed, as [`Effort`] says.
//!
//! It knows nothing of schemes. Limits: copies cost memory in proportion to the chip and to the
//! operations of one request.

use std::cell::{Cell, RefCell};

use flash::{Faulty, Tear};
use ftl::Layout;
use random::derive;

use crate::case::cut::Cut;
use crate::case::named::list;
use crate::case::operation::{Extent, Operation};
use crate::case::schedule::FaultSchedule;
use crate::case::test_case::Case;
use crate::case::workload::{Pattern, Workload};
use crate::drivers::session::Session;
use crate::inject::cut_sampler::CutSampler;
use crate::oracle::crash_oracle::CrashOracle;
use crate::report::black_box;
use crate::report::coverage::Phase;
use crate::report::failure::{Failure, FailurePoint, Fault, READING_BACK};
use crate::report::recorder::{Outcome, Recorder, Step, Tape};
use crate::report::stats::TrialStats;
use crate::stamp::Stamp;

/// How many cuts are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// One in this many cuts of the workload; 1 for all.
    pub first: u32,
    /// One in this many second cuts during recovery; 1 for all, 0 for none.
    pub during_recovery: u32,
    /// One in this many second cuts while the host goes on after recovery; 1 for all, 0 for none.
    pub after_recovery: u32,
}

/// Tries every cut of a case, whatever cuts it names itself; the first that breaks a promise is the
/// failure.
pub fn explore(case: &Case, effort: Effort) -> Result<TrialStats, Failure> {
    explore_within(case, effort, u64::MAX)
}

/// The same, with cuts passed over where those before have taken more than their share of this many
/// flash operations: a hundredth of it for a hundredth of the requests. What comes of a cut is
/// lived through to the end, so that somewhat more may be done.
pub fn explore_within(case: &Case, effort: Effort, operations: u64) -> Result<TrialStats, Failure> {
    run(case, Choice::All(effort), operations).map(|(explored, _)| explored)
}

/// Stages the cuts that a case names, and no others; returns what the workload around them amounts
/// to.
pub(crate) fn replay(case: &Case, cuts: &[Cut]) -> Result<Outcome, Failure> {
    run(case, Choice::These(cuts), u64::MAX).map(|(_, outcome)| outcome)
}

/// Host requests after a recovery, and after a second one.
const REQUESTS_AFTER: [usize; 2] = [12, 4];

#[derive(Clone, Copy)]
enum Choice<'a> {
    All(Effort),
    These(&'a [Cut]),
}

/// Where the exploration stands, known even when a scheme panics.
struct Trail {
    place: Cell<FailurePoint>,
    cuts: RefCell<Vec<Cut>>,
}

fn run(case: &Case, choice: Choice<'_>, operations: u64) -> Result<(TrialStats, Outcome), Failure> {
    let trail = Trail { place: Cell::new(FailurePoint::Format), cuts: RefCell::default() };
    let whole = || Explorer::new(case, choice, &trail)?.explore(operations);
    Failure::caught(case, &trail.place, whole, || FaultSchedule::PowerCuts(trail.cuts.take()))
}

struct Explorer<'a> {
    case: &'a Case,
    layout: Layout,
    choice: Choice<'a>,
    trail: &'a Trail,
    explored: TrialStats,
    /// Flash operations beyond which no cut is tried for the time being.
    allowed: u64,
    /// Whether the cuts to be replayed have been reached.
    reached: bool,
}

impl<'a> Explorer<'a> {
    fn new(case: &'a Case, choice: Choice<'a>, trail: &'a Trail) -> Result<Self, Fault> {
        let chip = case.device.chip(ENDURANCE).map_err(Fault::ImpossibleCase)?;
        let layout = case.device.layout(&chip, case.logical_pages, derive(case.seed, "scheme"));
        Ok(Self { case, layout, choice, trail, explored: TrialStats::default(), allowed: u64::MAX, reached: false })
    }

    fn explore(mut self, operations: u64) -> Result<(TrialStats, Outcome), Fault> {
        let case = self.case;
        let first = self.effort(0).first;
        let tape = Tape::new(self.sampler(), first);
        let chip = case.device.chip(ENDURANCE).map_err(Fault::ImpossibleCase)?;
        let mut session = Session::format(case, &self.layout, chip, &tape)?;
        for operation in case.prefill_operations() {
            self.trail.place.set(FailurePoint::Prefill(operation));
            session.apply(operation)?;
        }
        tape.rewind();
        for (number, operation) in (0..).zip(case.operations()) {
            let place = FailurePoint::Request(number, operation);
            self.trail.place.set(place);
            self.allowed = (operations / u64::from(case.requests.max(1))).saturating_mul(u64::from(number) + 1);
            session.begin(operation)?;
            for (at, step) in tape.take() {
                self.cut_at(at, &step, &session.oracle, first)?;
            }
            self.trail.place.set(place);
            session.acknowledge()?;
            session.check()?;
            self.explored.requests += 1;
        }
        let end = tape.counted();
        self.explored.cut_points = u64::from(end);
        self.cut_at_the_end(&session, end)?;
        self.count(&session, Phase::Fresh);
        match self.choice {
            Choice::These(cuts) if !cuts.is_empty() && !self.reached => {
                let cuts = list(cuts);
                Err(Fault::ImpossibleCase(format!(
                    "cut={cuts}: the run ends after {end} programs and erases without meeting all cuts; name earlier ones"
                )))
            }
            _ => Ok((self.explored, session.outcome())),
        }
    }

    /// The power goes when all requests have been acknowledged.
    fn cut_at_the_end(&mut self, session: &Session, end: u32) -> Result<(), Fault> {
        let cut = Cut { operation: end, tear: Tear::Before };
        if !self.sampler().takes(cut, 1) {
            return Ok(());
        }
        black_box::stage_cut(cut.tear, None);
        self.after(cut, session.cut(), &session.oracle)
    }

    /// Cuts the power at an operation in the ways that are to be tried.
    fn cut_at(&mut self, operation: u32, step: &Step, allowed: &CrashOracle, one_in: u32) -> Result<(), Fault> {
        if self.explored.flash_operations >= self.allowed {
            return Ok(());
        }
        let cuts: Vec<_> = self.sampler().at(operation, one_in).collect();
        cuts.into_iter().try_for_each(|cut| {
            black_box::stage_cut(cut.tear, Some(step.target()));
            self.after(cut, step.cut(cut.tear), allowed)
        })
    }

    /// A life after a cut.
    fn after(&mut self, cut: Cut, flash: Faulty<Stamp>, allowed: &CrashOracle) -> Result<(), Fault> {
        self.trail.cuts.borrow_mut().push(cut);
        let depth = self.trail.cuts.borrow().len();
        self.explored.second_cuts += u64::from(depth > 1);
        self.explored.count(flash::Fault::Cut(cut.tear));
        self.reached |= matches!(self.choice, Choice::These(cuts) if cuts.len() == depth);
        self.life(depth, flash, allowed)?;
        self.trail.cuts.borrow_mut().pop();
        black_box::survived_cut();
        Ok(())
    }

    fn life(&mut self, depth: usize, flash: Faulty<Stamp>, allowed: &CrashOracle) -> Result<(), Fault> {
        let effort = self.effort(depth);
        self.explored.states.found(depth, &flash);
        let tape = Tape::new(self.sampler(), effort.during_recovery);
        self.at("recovery");
        let recorder = Recorder::onto(flash, tape.clone());
        let mut session = Session::after_cut(self.case, &self.layout, recorder, allowed.clone())?;
        let recovery = tape.take();
        tape.try_one_in(effort.after_recovery);
        self.at("the invariants after recovery");
        session.check()?;
        self.at(READING_BACK);
        session.observe_everything()?;
        session.check()?;
        for (at, step) in &recovery {
            self.cut_at(*at, step, allowed, effort.during_recovery)?;
        }
        for operation in self.requests_after(depth) {
            self.at("a request after recovery");
            session.begin(operation)?;
            for (at, step) in tape.take() {
                self.cut_at(at, &step, &session.oracle, effort.after_recovery)?;
            }
            self.at("a request after recovery");
            session.acknowledge()?;
            session.check()?;
        }
        self.at("reading back after going on");
        session.settle()?;
        tape.try_one_in(0);
        self.refill(&mut session, depth)?;
        self.explored.recoveries += 1;
        self.count(&session, if depth == 1 { Phase::AfterCut } else { Phase::AfterSecondCut });
        Ok(())
    }

    /// Forgets everything for good and fills the device, twice: it must take as much as a fresh one
    /// does.
    fn refill(&mut self, session: &mut Session, depth: usize) -> Result<(), Fault> {
        let (pages, size) = (self.case.logical_pages, self.case.device.shape.pages_per_block);
        self.at("forgetting everything after recovery");
        session.apply(Operation::Trim(Extent::whole(pages)))?;
        session.apply(Operation::Flush)?;
        session.settle()?;
        self.at("refilling everything after recovery");
        for first in (0..pages).step_by(size as usize) {
            session.apply(Operation::Write(Extent::within(pages, first, size)))?;
        }
        if depth == 1 {
            self.at("overwriting everything after recovery");
            for lpn in (0..pages).rev() {
                session.apply(Operation::Write(Extent::within(pages, lpn, 1)))?;
            }
        }
        session.settle()
    }

    /// What the host does after a recovery; depends on the cuts alone, so that a replay line says
    /// it.
    fn requests_after(&self, depth: usize) -> Vec<Operation> {
        let seed = derive(self.case.seed, &list(&self.trail.cuts.borrow()));
        let mixed = Workload::Generated(Pattern::Mixed);
        let count = REQUESTS_AFTER[(depth - 1).min(REQUESTS_AFTER.len() - 1)];
        mixed.operations(self.case.space(), seed).take(count).collect()
    }

    /// The cuts on top of those of the trail that are to be tried.
    fn sampler(&self) -> CutSampler {
        let trail = self.trail.cuts.borrow();
        match self.choice {
            Choice::These(cuts) => CutSampler::named(cuts, &trail),
            Choice::All(_) => CutSampler::drawn(self.case.seed, &trail),
        }
    }

    /// How many cuts are to be tried, on top of this many.
    fn effort(&self, depth: usize) -> Effort {
        match self.choice {
            Choice::All(effort) if depth <= 1 => effort,
            Choice::All(_) => Effort { first: 0, during_recovery: 0, after_recovery: 0 },
            Choice::These(_) => Effort { first: 1, during_recovery: 1, after_recovery: 1 },
        }
    }

    fn at(&self, step: &'static str) {
        self.trail.place.set(self.trail.place.get().after_cut(step));
    }

    fn count(&mut self, session: &Session, stretch: Phase) {
        let outcome = session.outcome();
        self.explored.flash_operations += outcome.flash_operations();
        self.explored.states.record(stretch, &outcome.tally);
    }
}

/// Erases that a block survives: beyond what any run needs, so that only a scheme that reclaims for
/// ever gets there.
const ENDURANCE: u32 = 20_000;
