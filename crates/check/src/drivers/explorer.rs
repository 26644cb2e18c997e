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
//! them or a sample drawn from the seed, as [`Effort`] says. Where flash operations are limited,
//! both are thinned out to what these pay for (`pacing.rs`).
//!
//! It knows nothing of schemes. Limits: copies cost memory in proportion to the chip and to the
//! operations of one request.

mod pacing;

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
use crate::drivers::budget::Budget;
use crate::drivers::session::Session;
use crate::inject::cut_sampler::CutSampler;
use crate::oracle::crash_oracle::CrashOracle;
use crate::report::black_box;
use crate::report::coverage::Phase;
use crate::report::failure::{Failure, FailurePoint, Fault, READING_BACK};
use crate::report::recorder::{Outcome, Recorder, Step, Tape};
use crate::report::stats::TrialStats;
use crate::stamp::Stamp;
use pacing::{Lives, Pacing, Workload as KnownWorkload};

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
    run(case, Choice::All(effort), &Budget::default(), &Pacing::default()).map(|explored| explored.tried)
}

/// The same for at most this many flash operations. A first run without cuts but the one at its end
/// tells what the workload and a life after a cut take; then as large a sample of the cuts is tried
/// as the rest pays for, evenly over the workload. A workload that would take most of the
/// operations by itself is cut off.
pub fn explore_within(case: &Case, effort: Effort, operations: u64) -> Result<TrialStats, Failure> {
    let none = Effort { first: 0, ..effort };
    let survey = run(case, Choice::All(none), &Budget::of(operations / SURVEY), &Pacing::default())?;
    let requests = survey.tried.requests;
    if requests == 0 {
        return Ok(TrialStats { shortened: 1, ..survey.tried });
    }
    let case = case.cut_off(requests as u32);
    let budget = Budget::of(operations.saturating_sub(survey.spent));
    let thorough = run(&case, Choice::All(effort), &budget, &survey.pacing(&case))?.tried;
    let shortened = (survey.tried.shortened + thorough.shortened).min(1);
    let mut both = survey.tried;
    // The second run serves the same requests again.
    (both.requests, both.cut_points_left_out) = (0, 0);
    both += thorough;
    Ok(TrialStats { shortened, ..both })
}

/// Stages the cuts that a case names, and no others; returns what the workload around them amounts
/// to.
pub(crate) fn replay(case: &Case, cuts: &[Cut]) -> Result<Outcome, Failure> {
    run(case, Choice::These(cuts), &Budget::default(), &Pacing::default()).map(|explored| explored.outcome)
}

/// The share of its flash operations that an exploration spends on finding out what it will take:
/// one in four. More would be lost to the cuts; with less, cases that are dear for their
/// workload alone would hardly be tried.
const SURVEY: u64 = 4;

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

/// What a run through a workload amounts to.
struct Explored {
    tried: TrialStats,
    /// The workload alone.
    outcome: Outcome,
    /// Its programs and erases.
    changes: u32,
    lives: Lives,
    /// Flash operations taken off the budget.
    spent: u64,
}

impl Explored {
    /// The pace for the same case, of which this is a run without other cuts than the one at its
    /// end.
    fn pacing(&self, case: &Case) -> Pacing {
        let operations = self.outcome.flash_operations();
        // What the run took beyond the workload, or what a life takes at least: each page scanned,
        // and as many as the host has read and written twice.
        let pages = case.device.geometry().map_or(0, |geometry| geometry.pages());
        let least = u64::from(pages) + 3 * u64::from(case.logical_pages);
        let life = self.spent.saturating_sub(operations).max(least);
        let is_end_cut = self.tried.cuts.total() > 0;
        Pacing::of(KnownWorkload { changes: self.changes, operations, life, is_end_cut }, self.lives)
    }
}

fn run(case: &Case, choice: Choice<'_>, budget: &Budget, pacing: &Pacing) -> Result<Explored, Failure> {
    let trail = Trail { place: Cell::new(FailurePoint::Format), cuts: RefCell::default() };
    let whole = || Explorer::new(case, choice, &trail, budget.clone(), pacing.clone())?.explore();
    Failure::caught(case, &trail.place, whole, || FaultSchedule::PowerCuts(trail.cuts.take()))
}

struct Explorer<'a> {
    case: &'a Case,
    layout: Layout,
    choice: Choice<'a>,
    trail: &'a Trail,
    explored: TrialStats,
    budget: Budget,
    pacing: Pacing,
    /// Whether the cuts to be replayed have been reached.
    reached: bool,
}

impl<'a> Explorer<'a> {
    fn new(
        case: &'a Case,
        choice: Choice<'a>,
        trail: &'a Trail,
        budget: Budget,
        pacing: Pacing,
    ) -> Result<Self, Fault> {
        let chip = case.device.chip(ENDURANCE).map_err(Fault::ImpossibleCase)?;
        let layout = case.device.layout(&chip, case.logical_pages, derive(case.seed, "scheme"));
        Ok(Self { case, layout, choice, trail, explored: TrialStats::default(), budget, pacing, reached: false })
    }

    fn explore(mut self) -> Result<Explored, Fault> {
        let tape = Tape::new(self.sampler(), 0);
        let chip = self.case.device.chip(ENDURANCE).map_err(Fault::ImpossibleCase)?;
        let mut session = Session::format(self.case, &self.layout, chip, &tape, &self.budget)?;
        let whole = self.requests(&mut session, &tape);
        self.budget.judge(whole)?;
        self.count(&session, Phase::Fresh);
        let (changes, outcome) = (tape.counted(), session.outcome());
        self.explored.cut_points_left_out = u64::from(changes) - self.explored.cut_points;
        self.explored.shortened = u64::from(self.budget.is_exceeded() || self.pacing.is_thinned());
        match self.choice {
            Choice::These(cuts) if !cuts.is_empty() && !self.reached => {
                let cuts = list(cuts);
                Err(Fault::ImpossibleCase(format!(
                    "cut={cuts}: the run ends after {changes} programs and erases without meeting all cuts; name earlier ones"
                )))
            }
            _ => {
                let (lives, spent) = (self.pacing.lives, self.budget.spent());
                Ok(Explored { tried: self.explored, outcome, changes, lives, spent })
            }
        }
    }

    /// The workload, with the cuts at each of its requests.
    fn requests(&mut self, session: &mut Session, tape: &Tape) -> Result<(), Fault> {
        let case = self.case;
        for operation in case.prefill_operations() {
            self.trail.place.set(FailurePoint::Prefill(operation));
            session.apply(operation)?;
        }
        tape.rewind();
        for (number, operation) in (0..).zip(case.operations()) {
            let place = FailurePoint::Request(number, operation);
            self.trail.place.set(place);
            let one_in = self.pacing.first_cuts(self.effort(0).first, tape.counted(), self.budget.left());
            tape.try_one_in(one_in);
            session.begin(operation)?;
            for (at, step) in tape.take() {
                self.cut_at(at, &step, &session.oracle, one_in)?;
            }
            self.trail.place.set(place);
            session.acknowledge()?;
            session.check()?;
            self.explored.requests += 1;
        }
        self.cut_at_the_end(session, tape.counted())
    }

    /// The power goes when all requests have been acknowledged.
    fn cut_at_the_end(&mut self, session: &Session, end: u32) -> Result<(), Fault> {
        let cut = Cut { operation: end, tear: Tear::Before };
        if !self.sampler().takes(cut, 1) || self.pacing.has_cut_the_end() {
            return Ok(());
        }
        black_box::stage_cut(cut.tear, None);
        self.after(cut, session.cut(), &session.oracle)
    }

    /// Cuts the power at an operation in the ways that are to be tried.
    fn cut_at(&mut self, operation: u32, step: &Step, allowed: &CrashOracle, one_in: u32) -> Result<(), Fault> {
        let cuts: Vec<_> = self.sampler().at(operation, one_in).collect();
        let is_first = self.trail.cuts.borrow().is_empty();
        self.explored.cut_points += u64::from(is_first && !cuts.is_empty());
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
        let mut session = Session::after_cut(self.case, &self.layout, recorder, allowed.clone(), &self.budget)?;
        let lived = self.live(&mut session, &tape, allowed, depth, effort);
        let phase = if depth == 1 { Phase::AfterCut } else { Phase::AfterSecondCut };
        self.count(&session, phase);
        lived?;
        self.explored.recoveries += 1;
        self.pacing.lives.add(depth, session.outcome().flash_operations());
        Ok(())
    }

    /// What follows a recovery.
    fn live(
        &mut self,
        session: &mut Session,
        tape: &Tape,
        allowed: &CrashOracle,
        depth: usize,
        effort: Effort,
    ) -> Result<(), Fault> {
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
        self.refill(session, depth)
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
            Choice::All(effort) if depth == 0 => effort,
            Choice::All(Effort { first, during_recovery, after_recovery }) if depth == 1 => {
                let [during_recovery, after_recovery] =
                    [during_recovery, after_recovery].map(|asked| self.pacing.second_cuts(asked));
                Effort { first, during_recovery, after_recovery }
            }
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
