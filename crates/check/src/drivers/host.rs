//! The host side of a case: does operations, reads back what it wrote, and counts what each may
//! cost.
//!
//! The host knows from the oracle what every page holds, and so what a request may cost under the
//! cause *host*: one program for each page written, one read for each page that holds data, and no
//! more. Everything else that a scheme does must stand under another cause. The host compares its
//! counts with the flash's after every single request, so it finds a miscount where it happens.
//!
//! A scheme that buffers writes programs a page later, or never if the host writes or trims it
//! again meanwhile, and need not read a page that waits. So its declaration ([`Drive::buffered`])
//! is part of the counts: pages that came and were not programmed must wait, but for as many pages
//! as the request concerns, and after a flush none waits.

use std::ops::RangeInclusive;

use flash::{Chip, Full};
use ftl::{AnyDevice, Buffered, Cause, ConfigError, Drive, FlashOp, Footprint, Layout, Tally};
use random::{SeededRng, derive};

use crate::case::operation::{Effect, Extent, Operation};
use crate::case::test_case::Case;
use crate::drivers::budget::Budget;
use crate::drivers::checked_device::{CheckedFlash, FixedTimes};
use crate::drivers::driver::Driver;
use crate::oracle::exact::ExactOracle;
use crate::report::failure::Fault;
use crate::report::recorder::Outcome;
use crate::stamp::Stamp;

/// Random pages read back besides those that a request touched: enough to meet each page of a small
/// device many times in a run, few enough that a demand-paged scheme's cache is not all theirs.
const BYSTANDERS: u32 = 2;

/// A scheme on its device, and the host's account of both.
pub(crate) struct Host {
    driver: Driver<ExactOracle>,
    rng: SeededRng,
    footprint: Footprint,
}

impl Host {
    /// A host in front of a freshly formatted scheme.
    pub(crate) fn format(
        chip: Chip<Full<Stamp>>,
        case: &Case,
        build: impl FnOnce(&Layout) -> Result<Drive<AnyDevice>, ConfigError>,
        budget: &Budget,
    ) -> Result<Self, Fault> {
        let layout = case.device.layout(&chip, case.logical_pages, derive(case.seed, "scheme"));
        let device = CheckedFlash::new(chip).within(budget).timed(FixedTimes::default());
        let driver = Driver::start(device, case, |_| Ok(build(&layout)?), |_| ExactOracle::new(case.logical_pages))?;
        Ok(Self { rng: SeededRng::named(case.seed, "readback"), footprint: driver.scheme().footprint(), driver })
    }

    /// Hash of all flash operations so far.
    pub(crate) fn event_hash(&self) -> u64 {
        self.driver.flash().event_hash()
    }

    /// What has been done so far.
    pub(crate) fn outcome(&self) -> Outcome {
        self.driver.outcome()
    }

    /// Does one operation; reads are compared with the oracle, what it cost with what it may cost.
    pub(crate) fn apply(&mut self, operation: Operation) -> Result<(), Fault> {
        let expected = self.expected(operation);
        let before = Before { tally: *self.driver.flash().tally(), buffered: self.driver.scheme().buffered() };
        self.driver.apply(operation)?;
        self.audit(&before, expected)?;
        match self.driver.scheme().buffered().pages {
            left if left > 0 && operation.effect() == Effect::MakesDurable => {
                Err(Fault::Accounts(format!("{left} pages still wait in RAM after a flush")))
            }
            _ => Ok(()),
        }
    }

    /// What an operation comes to.
    fn expected(&self, operation: Operation) -> Expected {
        match operation.effect() {
            Effect::Writes(extent) => Expected { written: extent.pages, reads: 0, replaced: extent.pages },
            Effect::Reads(extent) => {
                let written = extent.lpns().filter(|&lpn| self.driver.oracle.expected(lpn) != 0).count();
                Expected { reads: written as u64, ..Expected::default() }
            }
            Effect::Trims(extent) => Expected { replaced: extent.pages, ..Expected::default() },
            Effect::MakesDurable | Effect::Nothing => Expected::default(),
        }
    }

    /// Reads back what an operation touched, and a few pages that it did not.
    pub(crate) fn read_back(&mut self, operation: Operation) -> Result<(), Fault> {
        if let Effect::Writes(extent) | Effect::Trims(extent) = operation.effect() {
            self.apply(Operation::Read(extent))?;
        }
        for _ in 0..BYSTANDERS {
            let first = self.rng.below_u32(self.driver.oracle.logical_pages());
            self.apply(Operation::Read(Extent { first, pages: 1 }))?;
        }
        Ok(())
    }

    /// Reads every page, in requests of random size.
    pub(crate) fn read_everything(&mut self) -> Result<(), Fault> {
        let (mut first, end) = (0, self.driver.oracle.logical_pages());
        while first < end {
            let extent = Extent::within(end, first, self.rng.up_to(7));
            self.apply(Operation::Read(extent))?;
            first += extent.pages;
        }
        Ok(())
    }

    /// Asks the scheme for its invariants and its footprint.
    pub(crate) fn check(&mut self) -> Result<(), Fault> {
        self.driver.check()?;
        self.check_footprint()?;
        match self.driver.scheme().gauges().iter().find(|gauge| !gauge.value.is_finite()) {
            Some(gauge) => Err(Fault::Accounts(format!("gauge {} is {}", gauge.name, gauge.value))),
            None => Ok(()),
        }
    }

    fn check_footprint(&self) -> Result<(), Fault> {
        let now = self.driver.scheme().footprint();
        if now.ram_bytes() == 0 {
            return Err(Fault::Accounts("the footprint says that the mapping takes no RAM".into()));
        }
        if fixed(&now) != fixed(&self.footprint) {
            let (was, is) = (self.footprint.ram_bytes(), now.ram_bytes());
            return Err(Fault::Accounts(format!("the footprint has changed from {was} to {is} bytes of RAM: {now:?}")));
        }
        Ok(())
    }

    /// Compares what was charged to the host with what its request may cost.
    fn audit(&self, before: &Before, expected: Expected) -> Result<(), Fault> {
        let done = self.driver.flash().tally().since(&before.tally);
        for (op, allowed) in (FlashOp::ALL.into_iter()).zip(expected.of(before, self.driver.scheme().buffered())?) {
            let charged = done.count(Cause::Host, op);
            if !allowed.contains(&charged) {
                let (name, least, most) = (op.name(), allowed.start(), allowed.end());
                let takes = if least == most { most.to_string() } else { format!("from {least} to {most}") };
                return Err(Fault::Accounts(format!(
                    "{charged} {name}s are charged to the host, whose request takes {takes}"
                )));
            }
        }
        audit_foreign_causes(&done)
    }
}

/// A footprint without the bytes that depend on what has been written.
fn fixed(footprint: &Footprint) -> Footprint {
    let mut fixed = footprint.clone();
    fixed.structures.iter_mut().filter(|structure| structure.varies).for_each(|structure| structure.ram_bytes = 0);
    fixed
}

/// The counts before a request.
struct Before {
    tally: Tally,
    buffered: Buffered,
}

/// What a request comes to.
#[derive(Clone, Copy, Default)]
struct Expected {
    /// Pages that it reads and that hold data.
    reads: u64,
    /// Pages that it writes.
    written: u32,
    /// Pages whose older version nobody needs any more.
    replaced: u32,
}

impl Expected {
    /// What the request may cost under the cause *host*, by operation, for a scheme that says of
    /// its buffer before and after it: exactly one operation a page if there is none.
    fn of(self, before: &Before, after: Buffered) -> Result<[RangeInclusive<u64>; 3], Fault> {
        let in_ram = u64::from(before.buffered.pages) + u64::from(before.buffered.clean_pages);
        let before = before.buffered;
        let room = before.capacity_pages;
        if after.capacity_pages != room || after.pages > room {
            return Err(Fault::Accounts(format!("a buffer of {room} pages says that it is {after:?}")));
        }
        let come = u64::from(before.pages) + u64::from(self.written);
        let Some(left) = come.checked_sub(after.pages.into()) else {
            return Err(Fault::Accounts(format!("{} pages wait in RAM, but only {come} have come", after.pages)));
        };
        let dropped = if room == 0 { 0 } else { u64::from(self.replaced) };
        Ok([self.reads.saturating_sub(in_ram)..=self.reads, left.saturating_sub(dropped)..=left, 0..=0])
    }
}

/// The suite writes whole pages and prepares no device, so the causes of shells belong to nobody
/// here.
fn audit_foreign_causes(done: &Tally) -> Result<(), Fault> {
    for cause in Cause::ALL.into_iter().filter(|cause| cause.facts().is_shells) {
        let charged: u64 = FlashOp::ALL.iter().map(|&op| done.count(cause, op)).sum();
        if charged > 0 {
            let name = cause.name();
            return Err(Fault::Accounts(format!(
                "{charged} operations are charged to {name}, which is the shell's alone"
            )));
        }
    }
    Ok(())
}
