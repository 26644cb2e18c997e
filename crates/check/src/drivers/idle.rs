//! Promise 8: idle time that is offered anywhere changes no content, and what is done with it ends
//! when it is over: no later than one flash operation after, if nothing fails.
//!
//! The suite's flash takes no time elsewhere. Here each operation takes a fixed one, and what is
//! noted is when the last one ends, those included that nobody waits for. Idle time of many lengths
//! is offered after each request, from less than an operation to more than collecting a block
//! takes, and everything is read back.

use std::cell::Cell;

use ftl::{FlashOp, Nanos};
use random::{SeededRng, derive};

use crate::case::operation::Extent;
use crate::case::schedule::FaultSchedule;
use crate::case::test_case::Case;
use crate::drivers::budget::Budget;
use crate::drivers::checked_device::{CheckedFlash, FixedTimes};
use crate::drivers::driver::Driver;
use crate::drivers::session::create;
use crate::oracle::exact::ExactOracle;
use crate::report::failure::{Failure, FailurePoint, Fault};
use crate::report::recorder::Outcome;
use crate::report::stats::TrialStats;

/// What reads, programs and erases take, in nanoseconds.
const TAKES: [u64; 3] = [25_000, 200_000, 1_500_000];

/// The longest idle time offered: some blocks' worth of collecting on the devices of the suite.
const LONGEST: u32 = 40_000_000;

/// What offering idle time amounts to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Idled {
    /// How often it was offered.
    pub offered: u64,
    /// How often something was done with it.
    pub used: u64,
    /// Flash operations done in it.
    pub operations: u64,
}

/// Runs a case with idle time after each of its requests; `Err` says so in its replay line.
pub fn offer_idle_time(case: &Case) -> Result<Idled, Failure> {
    run(case, &Budget::default()).map(|(idled, _)| idled)
}

/// Runs a case with idle time for at most this many flash operations.
pub(crate) fn run_within(case: &Case, operations: u64) -> Result<TrialStats, Failure> {
    let budget = Budget::of(operations);
    let (_, outcome) = run(case, &budget)?;
    Ok(TrialStats { shortened: u64::from(budget.is_exceeded()), ..TrialStats::of_case(case, &outcome) })
}

/// Runs a case whose line asks for idle time.
pub(crate) fn replay(case: &Case) -> Result<Outcome, Failure> {
    run(case, &Budget::default()).map(|(_, outcome)| outcome)
}

fn run(case: &Case, budget: &Budget) -> Result<(Idled, Outcome), Failure> {
    let place = Cell::new(FailurePoint::Format);
    let run = || {
        let mut trial = Trial::new(case, &place, budget)?;
        budget.judge(trial.all())?;
        Ok((trial.idled, trial.driver.outcome()))
    };
    Failure::caught(case, &place, run, || FaultSchedule::IdleTime)
}

struct Trial<'a> {
    case: &'a Case,
    place: &'a Cell<FailurePoint>,
    driver: Driver<ExactOracle>,
    rng: SeededRng,
    idled: Idled,
}

impl<'a> Trial<'a> {
    fn new(case: &'a Case, place: &'a Cell<FailurePoint>, budget: &Budget) -> Result<Self, Fault> {
        let chip = case.device.chip(u32::MAX).map_err(Fault::ImpossibleCase)?;
        let layout = case.device.layout(&chip, case.logical_pages, derive(case.seed, "scheme"));
        let device = CheckedFlash::new(chip).within(budget).timed(FixedTimes::new(TAKES));
        let oracle = ExactOracle::new(case.logical_pages);
        let driver = Driver::start(device, case, |_| Ok(create(&case.stack, &layout)?), |_| oracle)?;
        Ok(Self { case, place, driver, rng: SeededRng::named(case.seed, "idle time"), idled: Idled::default() })
    }

    fn all(&mut self) -> Result<(), Fault> {
        let case = self.case;
        for operation in case.prefill_operations() {
            self.place.set(FailurePoint::Prefill(operation));
            self.driver.apply(operation)?;
        }
        for (number, operation) in (0..).zip(case.operations()) {
            self.place.set(FailurePoint::Request(number, operation));
            self.driver.apply(operation)?;
            self.offer()?;
            let lpn = self.rng.below_u32(case.logical_pages);
            self.driver.compare(Extent { first: lpn, pages: 1 })?;
        }
        self.place.set(FailurePoint::Aftermath("reading everything"));
        self.driver.compare(Extent::whole(case.logical_pages))?;
        self.driver.check()
    }

    /// When the last operation ends, those included that nobody waits for.
    fn last_end(&self) -> Nanos {
        self.driver.flash().device().timing.as_timing::<FixedTimes>().map_or(Nanos::ZERO, FixedTimes::last_end)
    }

    /// Offers idle time when the device has nothing to do any more.
    fn offer(&mut self) -> Result<(), Fault> {
        let budget = Nanos(self.rng.below_u32(LONGEST).into());
        let (before, from) = (self.driver.outcome().flash_operations(), self.last_end());
        self.driver.idle(from, budget)?;
        let done = self.driver.outcome().flash_operations() - before;
        let (end, longest) = (self.last_end(), TAKES[FlashOp::Erase as usize]);
        self.idled.offered += 1;
        self.idled.used += u64::from(done > 0);
        self.idled.operations += done;
        if end > from + budget + Nanos(longest) {
            return Err(Fault::Overran { offered: budget, taken: end - from });
        }
        self.driver.check()
    }
}
