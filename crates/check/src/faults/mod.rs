//! Promise 4: a case on flash that fails as planned.
//!
//! After every request the host holds the scheme to this:
//!
//! - a page whose content was hit by an uncorrectable read may say so, and goes on saying so until it is written again or
//!   trimmed; it never holds anything else, and every other page holds what it should;
//! - failed programs and erases lose nothing;
//! - a write fails with *read-only* when more blocks have failed than there were spares, and not before; from then on all
//!   writes do, while everything written before can still be read;
//! - the invariants hold, the spares used are the blocks that failed, and what causes are charged is what the flash counted.
//!
//! A plan may also cut the power. Then the scheme is recovered with the blocks that are not marked bad, and `allowed.rs` says
//! what pages may hold. Pages that have decayed before a cut are no part of that: with the tag gone, nobody can tell whose
//! page it was, so plans have one or the other.
//!
//! Limits: a trim may fail as a write does, for a scheme may have to make room for it.

mod refusal;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

use flash::{Fault as FlashFault, Flash, Lpn, Operations, Pbn};
use ftl::{Ftl, FtlError, Layout, Media, Nanos, Op, RecoverError, Request, Timed, Untimed};

use crate::allowed::Allowed;
use crate::case::Case;
use crate::dice::derive;
use crate::failure::{Failure, Fault, Place};
use crate::frail::{Frail, FrailDevice, Hit, Hits};
use crate::operation::{Extent, Operation};
use crate::oracle::{Stamp, page_of};
use crate::ordeal::{Endured, Ordeal};
use crate::outcome::Outcome;
use crate::session::{create, recover};
use crate::states::Stretch;
use crate::strike::{self, Strike};

/// Runs a case on flash that fails; `Err` has the strikes that took effect in its replay line.
pub fn endure(case: &Case, ordeal: &Ordeal) -> Result<Endured, Failure> {
    run(case, ordeal).map(|(endured, _)| endured)
}

/// Stages the strikes that a case names.
pub(crate) fn replay(case: &Case) -> Result<Outcome, Failure> {
    let ordeal = Ordeal { plan: strike::plan(&case.faults), ..Ordeal::default() };
    run(case, &ordeal).map(|(_, outcome)| outcome)
}

/// Where a run stands, known even when a scheme panics.
struct Trail {
    place: Cell<Place>,
    hits: Hits,
}

impl Trail {
    /// The faults that took effect, in the request that failed, too.
    fn strikes(&self) -> Vec<Strike> {
        self.hits.borrow().iter().map(|hit| hit.strike).collect()
    }
}

fn run(case: &Case, ordeal: &Ordeal) -> Result<(Endured, Outcome), Failure> {
    case.validate().map_err(|why| Failure::new(case, Place::Format, Fault::ImpossibleCase(why)))?;
    let trail = Trail { place: Cell::new(Place::Format), hits: Hits::default() };
    let whole = AssertUnwindSafe(|| Trial::new(case, ordeal, &trail)?.all());
    let result = catch_unwind(whole).unwrap_or_else(|panic| Err(Fault::of_panic(&*panic)));
    result.map_err(|fault| {
        let case = Case { faults: trail.strikes(), ..case.clone() };
        Failure::new(&case, trail.place.get(), fault)
    })
}

/// What a read's buffer holds before the scheme fills it.
const UNFILLED: Stamp = Stamp::MAX;

/// Everything is read after this many requests, and after each request in which something failed.
const READ_EVERYTHING_EVERY: u64 = 16;

const IDLE_BUDGET: Nanos = Nanos(10_000_000);

struct Trial<'a> {
    case: &'a Case,
    trail: &'a Trail,
    scheme: Box<dyn Ftl<FrailDevice>>,
    /// None only while the device is out of its old door and not yet behind the new one.
    media: Option<Media<FrailDevice>>,
    allowed: Allowed,
    /// Pages whose newest content was hit; true once the host was told.
    hit: BTreeMap<Lpn, bool>,
    /// What the request being served writes.
    in_flight: Vec<Stamp>,
    /// Hits that the books know.
    seen: usize,
    /// Whether a write was refused since the power came on.
    read_only: bool,
    failed_blocks: BTreeSet<Pbn>,
    /// Blocks that had failed when the power last came on: no spares of the scheme that stands now.
    failed_before: usize,
    /// Whether a fresh scheme would not have taken the blocks that were left when the power last came on.
    too_few_blocks: bool,
    /// Programs that failed in the request being served, in a row of requests without a quiet one.
    recent_failures: u32,
    at_power_on: Operations,
    pages_written: u64,
    endured: Endured,
}

impl<'a> Trial<'a> {
    fn new(case: &'a Case, ordeal: &Ordeal, trail: &'a Trail) -> Result<Self, Fault> {
        let chip = case.device.chip(ordeal.endurance.unwrap_or(u32::MAX)).map_err(Fault::ImpossibleCase)?;
        let layout = Layout::of(&chip, case.logical_pages, derive(case.seed, "scheme"));
        let scheme = create(&case.scheme, &case.settings, &layout).map_err(Fault::Refused)?;
        let buffer_pages = scheme.buffered().capacity_pages;
        let chip = Frail::new(chip, ordeal.plan.clone(), trail.hits.clone(), ordeal.records);
        Ok(Self {
            case,
            trail,
            scheme,
            media: Some(Media::new(Timed { chip, timing: Untimed })),
            allowed: Allowed::new(case.logical_pages, buffer_pages),
            hit: BTreeMap::new(),
            in_flight: Vec::new(),
            seen: 0,
            read_only: false,
            failed_blocks: BTreeSet::new(),
            failed_before: 0,
            too_few_blocks: false,
            recent_failures: 0,
            at_power_on: Operations::default(),
            pages_written: 0,
            endured: Endured::default(),
        })
    }

    fn media(&mut self) -> &mut Media<FrailDevice> {
        self.media.as_mut().unwrap_or_else(|| unreachable!("the device is always behind a door between requests"))
    }

    fn door(&self) -> &Media<FrailDevice> {
        self.media.as_ref().unwrap_or_else(|| unreachable!("the device is always behind a door between requests"))
    }

    fn frail(&self) -> &Frail {
        &self.door().device().chip
    }

    fn all(mut self) -> Result<(Endured, Outcome), Fault> {
        let case = self.case;
        for operation in case.prefill_operations() {
            self.trail.place.set(Place::Prefill(operation));
            self.request(operation)?;
        }
        for (number, operation) in (0..).zip(case.operations()) {
            self.trail.place.set(Place::Request(number, operation));
            self.request(operation)?;
        }
        self.trail.place.set(Place::Aftermath("reading everything"));
        self.read_everything()?;
        self.check()?;
        self.count();
        let media = self.door();
        let outcome =
            Outcome { event_hash: media.event_hash(), tally: *media.tally(), pages_written: self.pages_written };
        self.endured.states.lived(Stretch::FailingFlash, &outcome.tally);
        self.endured.strikes = self.trail.strikes();
        self.endured.operations = self.media.map(|media| media.into_device().chip.take_record()).unwrap_or_default();
        Ok((self.endured, outcome))
    }

    fn count(&mut self) {
        let frail = self.frail();
        let Operations { reads, programs, erases } = frail.operations();
        let bad = (0..frail.geometry().blocks()).filter(|&block| frail.is_bad(Pbn::new(block))).count();
        self.endured.flash_operations = reads + programs + erases;
        self.endured.grown_bad_blocks = bad.saturating_sub(self.case.device.bad_blocks.len()) as u64;
        self.endured.pages_written = self.pages_written;
    }

    /// One request, and everything that must hold after it.
    fn request(&mut self, operation: Operation) -> Result<(), Fault> {
        self.endured.requests += 1;
        let hits = self.seen;
        self.in_flight.clear();
        match operation {
            Operation::Read(extent) => self.read(extent)?,
            _ => self.change(operation)?,
        }
        let quiet = self.seen == hits;
        if quiet && !self.endured.requests.is_multiple_of(READ_EVERYTHING_EVERY) {
            operation.extent().map_or(Ok(()), |extent| self.read(extent))?;
        } else {
            self.read_everything()?;
        }
        self.check()
    }

    fn change(&mut self, operation: Operation) -> Result<(), Fault> {
        let stamps = self.allowed.begin(operation);
        self.in_flight.clone_from(&stamps);
        self.pages_written += stamps.len() as u64;
        let at = Nanos(self.endured.requests);
        self.media().begin(at);
        let request = |extent: Extent| Request { arrival: at, ..Request::new(Lpn::new(extent.first), extent.pages) };
        let Some(media) = self.media.as_mut() else { return Ok(()) };
        let result = match operation {
            Operation::Write(extent) => self.scheme.write(media, &request(extent), &stamps),
            Operation::Trim(extent) => self.scheme.trim(media, &request(extent)),
            Operation::Flush => self.scheme.flush(media),
            Operation::Idle => self.scheme.idle(media, IDLE_BUDGET),
            Operation::Read(_) => Ok(()),
        };
        match result {
            Ok(()) if self.read_only && matches!(operation, Operation::Write(_)) => {
                Err(Fault::ReadOnly("a write was accepted after the device had become read-only".into()))
            }
            Ok(()) => {
                if let Operation::Write(extent) | Operation::Trim(extent) = operation {
                    extent.lpns().for_each(|lpn| {
                        self.hit.remove(&lpn);
                    });
                }
                self.allowed.acknowledge();
                let before = self.recent_failures;
                self.keep_books();
                if self.recent_failures == before {
                    self.recent_failures /= 2;
                }
                Ok(())
            }
            Err(error) if error.is_power_cut() => self.power_cut(),
            Err(error @ FtlError::ReadOnly { .. }) => self.refused(operation, &error),
            Err(error) => {
                self.keep_books();
                Err(Fault::Stopped(error))
            }
        }
    }

    /// Learns which faults have taken effect.
    fn keep_books(&mut self) {
        let new: Vec<_> = self.trail.hits.borrow()[self.seen..].to_vec();
        self.seen += new.len();
        for hit in &new {
            self.failed_blocks.extend(hit.failed);
            if let Some(stamp) = hit.lost {
                let lpn = Lpn::new(page_of(stamp));
                if self.in_flight.contains(&stamp) || self.allowed.compare(lpn, stamp).is_ok() {
                    self.hit.entry(lpn).or_insert(false);
                }
            }
        }
        let failures = new.iter().filter(|hit| hit.failed.is_some()).count() as u32;
        self.recent_failures += failures;
        // A read that had to make room may have found this out, and was served all the same.
        let spares = self.scheme.spares();
        let is_early = spares.used > spares.total && self.failed() + u32::from(self.too_few_blocks) <= spares.total;
        self.endured.early |= is_early && !self.failed_blocks.is_empty() && self.may_be_early();
    }

    /// The power goes, comes back, and the scheme is recovered with the blocks that are left.
    fn power_cut(&mut self) -> Result<(), Fault> {
        loop {
            self.keep_books();
            let Some(media) = self.media.take() else { return Ok(()) };
            let mut frail = media.into_device().chip;
            frail.restore_power();
            let layout = Layout::of(&frail, self.case.logical_pages, derive(self.case.seed, "scheme"));
            self.at_power_on = frail.operations();
            let marked = self.failed_blocks.iter().filter(|&&pbn| frail.is_bad(pbn)).count();
            // A failed block that was not marked yet is tried again.
            self.failed_blocks.retain(|&pbn| frail.is_bad(pbn));
            (self.failed_before, self.read_only) = (marked, false);
            let fresh: Result<Box<dyn Ftl<FrailDevice>>, _> = create(&self.case.scheme, &self.case.settings, &layout);
            self.too_few_blocks = fresh.is_err();
            let mut media = Media::new(Timed { chip: frail, timing: Untimed });
            let recovered = recover(&self.case.scheme, &self.case.settings, &layout, &mut media);
            self.media = Some(media);
            match recovered {
                Ok(scheme) => {
                    self.scheme = scheme;
                    break;
                }
                Err(RecoverError::Ftl(error)) if error.is_power_cut() => {}
                Err(RecoverError::Ftl(error)) => return Err(Fault::Stopped(error)),
                Err(RecoverError::Config(error)) => return Err(Fault::Refused(error)),
            }
        }
        self.endured.recoveries += 1;
        self.keep_books();
        for lpn in Extent::whole(self.case.logical_pages).lpns() {
            if let Some(got) = self.fetch(lpn)? {
                self.allowed.observe(lpn, got).map_err(Fault::WrongContent)?;
            }
        }
        self.allowed.end_observation()
    }

    /// Reads a page; none if it is lost and may be.
    fn fetch(&mut self, lpn: Lpn) -> Result<Option<Stamp>, Fault> {
        let mut out = [UNFILLED];
        let Some(media) = self.media.as_mut() else { return Ok(None) };
        let result = self.scheme.read(media, &Request::new(lpn, 1), &mut out);
        self.keep_books();
        match (result, self.hit.get_mut(&lpn)) {
            (Ok(()), Some(true)) => Err(Fault::Accounts(format!(
                "{lpn} was lost, but now reads as {:#x} without having been written",
                out[0]
            ))),
            (Ok(()), _) => Ok(Some(out[0])),
            (Err(error), _) if error.is_power_cut() => {
                self.power_cut()?;
                self.fetch(lpn)
            }
            (Err(error), Some(told)) if error.is_uncorrectable() => {
                self.endured.lost += u64::from(!std::mem::replace(told, true));
                Ok(None)
            }
            (Err(error), _) => Err(Fault::Stopped(error)),
        }
    }

    fn read(&mut self, extent: Extent) -> Result<(), Fault> {
        for lpn in extent.lpns() {
            if let Some(got) = self.fetch(lpn)? {
                self.allowed.compare(lpn, got).map_err(Fault::WrongContent)?;
            }
        }
        Ok(())
    }

    fn read_everything(&mut self) -> Result<(), Fault> {
        self.read(Extent::whole(self.case.logical_pages))
    }

    fn check(&self) -> Result<(), Fault> {
        self.scheme.check(self.door()).map_err(Fault::Invariant)?;
        self.audit()?;
        let (spares, failed) = (self.scheme.spares(), self.failed() + u32::from(self.too_few_blocks));
        if spares.used != failed && !self.endured.early {
            return Err(Fault::ReadOnly(format!("{} spares are used, but {failed} blocks have failed", spares.used)));
        }
        Ok(())
    }

    /// Compares what was charged since the power came on with what the flash counted.
    fn audit(&self) -> Result<(), Fault> {
        let (now, then) = (self.door().device().operations(), self.at_power_on);
        let counted = [
            (Op::Read, now.reads - then.reads),
            (Op::Program, now.programs - then.programs),
            (Op::Erase, now.erases - then.erases),
        ];
        for (op, counted) in counted {
            let charged = self.door().tally().total(op);
            if charged != counted {
                let name = op.name();
                return Err(Fault::Accounts(format!("{charged} {name}s are charged, but the flash counted {counted}")));
            }
        }
        let is_corrected = |hit: &&Hit| hit.strike.fault == FlashFault::ReadCorrected;
        let corrected = self.trail.hits.borrow().iter().filter(is_corrected).count();
        if corrected as u64 != self.frail().corrected_reads() {
            return Err(Fault::Accounts("reads that were corrected are not all counted".into()));
        }
        Ok(())
    }
}
