//! The explorer of power cuts: a workload runs once, and at each of its programs and erases the power is cut in four ways.
//!
//! ```text
//!   workload  ──●───●───●──▶            ● program or erase: 4 tears each
//!               └▶ recover ─ read back ─ check ─ go on ─ refill twice
//!                    ●        ●  a second cut, during recovery or after
//!                    └▶ recover ─ …
//! ```
//!
//! Each operation leaves a copy of the chip as it found it (`recorder.rs`), so nothing is run twice and n operations cost n.
//! After a cut the scheme is recovered from the flash alone; every page must hold what is allowed (`allowed.rs`); the
//! invariants must hold; the host goes on, trims everything, flushes, and fills the device twice, which runs dry if a block
//! has leaked. Second cuts are staged in the same way at the operations of recovery and of what follows it: all of them or a
//! sample drawn from the seed, as [`Effort`] says.
//!
//! It knows nothing of schemes. Limits: copies cost memory in proportion to the chip and to the operations of one request.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};

use flash::Tear;
use ftl::Layout;

use crate::allowed::Allowed;
use crate::case::Case;
use crate::cut::{self, Cut};
use crate::dice::derive;
use crate::failure::{Failure, Fault, Place};
use crate::operation::{Extent, Operation};
use crate::recorder::{Recorder, Step, Tape};
use crate::session::{Session, numbered};
use crate::suite::Outcome;
use crate::workload::{Pattern, Workload};

/// How many second cuts are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// One of so many second cuts during recovery; 1 for all, 0 for none.
    pub during_recovery: u32,
    /// One of so many second cuts while the host goes on after recovery; 1 for all, 0 for none.
    pub after_recovery: u32,
}

/// What an exploration amounts to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Explored {
    /// Host requests of the workload.
    pub requests: u64,
    /// Programs and erases of the workload, at each of which the power was cut in four ways.
    pub cut_points: u64,
    /// Power cuts that came alone.
    pub single_cuts: u64,
    /// Power cuts that came on top of another: during its recovery, or after.
    pub second_cuts: u64,
    /// Recoveries that were gone through to the end.
    pub recoveries: u64,
    /// Flash operations over all runs.
    pub flash_operations: u64,
}

/// Tries every cut of a case, whatever cuts it names itself; the first that breaks a promise is the failure.
pub fn explore(case: &Case, effort: Effort) -> Result<Explored, Failure> {
    run(case, Choice::All(effort)).map(|(explored, _)| explored)
}

/// Stages the cuts that a case names, and no others; returns what the workload around them amounts to.
pub(crate) fn replay(case: &Case) -> Result<Outcome, Failure> {
    run(case, Choice::These(&case.cuts)).map(|(_, outcome)| outcome)
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
    place: Cell<Place>,
    cuts: RefCell<Vec<Cut>>,
}

fn run(case: &Case, choice: Choice<'_>) -> Result<(Explored, Outcome), Failure> {
    case.validate().map_err(|why| Failure::new(case, Place::Format, Fault::ImpossibleCase(why)))?;
    let trail = Trail { place: Cell::new(Place::Format), cuts: RefCell::default() };
    let whole = AssertUnwindSafe(|| Explorer::new(case, choice, &trail)?.explore());
    let result = catch_unwind(whole).unwrap_or_else(|panic| Err(Fault::of_panic(&*panic)));
    result.map_err(|fault| {
        let case = Case { cuts: trail.cuts.take(), ..case.clone() };
        Failure::new(&case, trail.place.get(), fault)
    })
}

struct Explorer<'a> {
    case: &'a Case,
    layout: Layout,
    choice: Choice<'a>,
    trail: &'a Trail,
    explored: Explored,
    /// Whether the cuts to be replayed have been reached.
    reached: bool,
}

impl<'a> Explorer<'a> {
    fn new(case: &'a Case, choice: Choice<'a>, trail: &'a Trail) -> Result<Self, Fault> {
        let chip = case.device.chip(ENDURANCE).map_err(Fault::ImpossibleCase)?;
        let layout = Layout::of(&chip, case.logical_pages, derive(case.seed, "scheme"));
        Ok(Self { case, layout, choice, trail, explored: Explored::default(), reached: false })
    }

    fn explore(mut self) -> Result<(Explored, Outcome), Fault> {
        let case = self.case;
        let tape = Tape::default();
        let chip = case.device.chip(ENDURANCE).map_err(Fault::ImpossibleCase)?;
        let mut session = Session::format(case, &self.layout, chip, &tape)?;
        for operation in case.prefill_operations() {
            self.trail.place.set(Place::Prefill(operation));
            session.apply(operation)?;
        }
        tape.take();
        let mut next = 0;
        for (number, operation) in (0..).zip(case.operations()) {
            let place = Place::Request(number, operation);
            self.trail.place.set(place);
            session.begin(operation)?;
            for (at, step) in numbered(&tape, &mut next) {
                self.cut_at(at, &step, session.allowed(), 1)?;
            }
            self.trail.place.set(place);
            session.acknowledge()?;
            session.check()?;
            self.explored.requests += 1;
        }
        self.explored.cut_points = u64::from(next);
        self.cut_at_the_end(&session, next)?;
        self.count_operations(&session);
        match self.choice {
            Choice::These(cuts) if !self.reached => {
                let cuts = cut::list(cuts);
                Err(Fault::ImpossibleCase(format!(
                    "cut={cuts}: the run ends after {next} programs and erases without meeting all cuts; name earlier ones"
                )))
            }
            _ => Ok((self.explored, session.outcome())),
        }
    }

    /// The power goes when all requests have been acknowledged.
    fn cut_at_the_end(&mut self, session: &Session, next: u32) -> Result<(), Fault> {
        let cut = Cut { operation: next, tear: Tear::Before };
        if !self.is_chosen(cut, 1) {
            return Ok(());
        }
        let tape = self.goes_deeper().then(Tape::default);
        self.after(cut, session.snapshot(tape.clone()), tape, session.allowed())
    }

    /// Cuts the power at an operation in the ways that are to be tried.
    fn cut_at(&mut self, operation: u32, step: &Step, allowed: &Allowed, one_in: u32) -> Result<(), Fault> {
        for tear in Tear::ALL {
            let cut = Cut { operation, tear };
            if self.is_chosen(cut, one_in) {
                let tape = self.goes_deeper().then(Tape::default);
                self.after(cut, Recorder::onto(step.cut(tear), tape.clone()), tape, allowed)?;
            }
        }
        Ok(())
    }

    /// A life after a cut; `tape` records it if there are to be more cuts.
    fn after(&mut self, cut: Cut, flash: Recorder, tape: Option<Tape>, allowed: &Allowed) -> Result<(), Fault> {
        self.trail.cuts.borrow_mut().push(cut);
        let depth = self.trail.cuts.borrow().len();
        *(if depth == 1 { &mut self.explored.single_cuts } else { &mut self.explored.second_cuts }) += 1;
        if matches!(self.choice, Choice::These(cuts) if cuts.len() == depth) {
            self.reached = true;
        }
        self.life(depth, flash, &tape.unwrap_or_default(), allowed)?;
        self.trail.cuts.borrow_mut().pop();
        Ok(())
    }

    fn life(&mut self, depth: usize, flash: Recorder, tape: &Tape, allowed: &Allowed) -> Result<(), Fault> {
        let (mut next, effort) = (0, self.effort());
        self.at("recovery");
        let mut session = Session::recover(self.case, &self.layout, flash, allowed.clone())?;
        let recovery = numbered(tape, &mut next);
        self.at("the invariants after recovery");
        session.check()?;
        self.at("reading back after recovery");
        session.observe_everything()?;
        session.check()?;
        for (at, step) in &recovery {
            self.cut_at(*at, step, allowed, effort.during_recovery)?;
        }
        for operation in self.requests_after(depth) {
            self.at("a request after recovery");
            session.begin(operation)?;
            for (at, step) in numbered(tape, &mut next) {
                self.cut_at(at, &step, session.allowed(), effort.after_recovery)?;
            }
            self.at("a request after recovery");
            session.acknowledge()?;
            session.check()?;
        }
        self.at("reading back after going on");
        session.settle()?;
        self.refill(&mut session, depth)?;
        self.explored.recoveries += 1;
        self.count_operations(&session);
        Ok(())
    }

    /// Forgets everything for good and fills the device, twice: it must take as much as a fresh one does.
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

    /// What the host does after a recovery; depends on the cuts alone, so that a replay line says it.
    fn requests_after(&self, depth: usize) -> Vec<Operation> {
        let seed = derive(self.case.seed, &cut::list(&self.trail.cuts.borrow()));
        let mixed = Workload::Generated(Pattern::Mixed);
        let count = REQUESTS_AFTER[(depth - 1).min(REQUESTS_AFTER.len() - 1)];
        mixed.operations(self.case.space(), seed).take(count).collect()
    }

    /// Whether a cut on top of those of the trail is to be tried, if one of so many is.
    fn is_chosen(&self, cut: Cut, one_in: u32) -> bool {
        let trail = self.trail.cuts.borrow();
        match self.choice {
            Choice::These(cuts) => cuts.strip_prefix(&trail[..]).is_some_and(|rest| rest.first() == Some(&cut)),
            Choice::All(_) => {
                let draw = || derive(self.case.seed, &format!("{},{cut}", cut::list(&trail)));
                one_in == 1 || one_in > 1 && draw().is_multiple_of(u64::from(one_in))
            }
        }
    }

    fn effort(&self) -> Effort {
        match self.choice {
            Choice::All(effort) => effort,
            Choice::These(_) => Effort { during_recovery: 1, after_recovery: 1 },
        }
    }

    /// Whether there may be cuts on top of the next one.
    fn goes_deeper(&self) -> bool {
        let depth = self.trail.cuts.borrow().len() + 1;
        match self.choice {
            Choice::These(cuts) => cuts.len() > depth,
            Choice::All(effort) => depth == 1 && effort.during_recovery + effort.after_recovery > 0,
        }
    }

    fn at(&self, step: &'static str) {
        let place = match self.trail.place.get() {
            Place::Request(number, operation) | Place::AfterCut(number, operation, _) => {
                Place::AfterCut(number, operation, step)
            }
            place => place,
        };
        self.trail.place.set(place);
    }

    fn count_operations(&mut self, session: &Session) {
        self.explored.flash_operations += session.outcome().flash_operations();
    }
}

/// Erases that a block survives: beyond what any run needs, so that only a scheme that reclaims for ever gets there.
const ENDURANCE: u32 = 20_000;
