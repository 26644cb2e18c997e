//! The host side of a case: does operations, reads back what it wrote, and keeps its own books on both.
//!
//! The host knows the oracle's account of every page and what each request may cost under the cause *host*: one program for
//! each page written, one read for each page that holds data, and no more. Everything else that a scheme does must stand
//! under another cause. The books are compared after every single request, so a miscount is found where it happens.
//!
//! A scheme that buffers writes programs a page later, or never if it was written or trimmed again meanwhile, and need not read a
//! page that waits. So its declaration ([`Ftl::buffered`]) is part of the books: what has come and was not programmed must wait, but
//! for as many pages as the request concerns, and after a flush nothing waits.

use std::ops::RangeInclusive;

use flash::{Flash, Lpn, Operations};
use ftl::{Buffered, Cause, Footprint, Ftl, FtlError, Media, Nanos, Op, Request, Tally};

use crate::Stamp;
use crate::device::CheckedDevice;
use crate::dice::Dice;
use crate::failure::Fault;
use crate::operation::{Extent, Operation};
use crate::oracle::Oracle;

/// A scheme as the suite drives it.
pub type CheckedFtl = Box<dyn Ftl<CheckedDevice>>;

/// What a read's buffer holds before the scheme fills it: no stamp, so that a page left out is seen.
const UNFILLED: Stamp = Stamp::MAX;

/// Random pages read back besides those that a request touched: enough to meet each page of a small device many times in a
/// run, few enough that a demand-paged scheme's cache is not all theirs.
const BYSTANDERS: u32 = 2;

/// Idle time offered at once: room for a few operations of any flash, should a scheme count.
const IDLE_BUDGET: Nanos = Nanos(10_000_000);

/// A scheme on its device, and the host's account of both.
pub(crate) struct Host {
    scheme: CheckedFtl,
    media: Media<CheckedDevice>,
    oracle: Oracle,
    dice: Dice,
    footprint: Footprint,
    buffer: Vec<Stamp>,
    requests: u64,
    pages_written: u64,
}

impl Host {
    /// A host in front of a freshly formatted scheme.
    pub(crate) fn new(scheme: CheckedFtl, media: Media<CheckedDevice>, logical_pages: u32, seed: u64) -> Self {
        let footprint = scheme.footprint();
        Self {
            scheme,
            media,
            oracle: Oracle::new(logical_pages),
            dice: Dice::named(seed, "readback"),
            footprint,
            buffer: Vec::new(),
            requests: 0,
            pages_written: 0,
        }
    }

    /// The device behind its door.
    pub(crate) fn media(&self) -> &Media<CheckedDevice> {
        &self.media
    }

    /// Host pages written so far.
    pub(crate) fn pages_written(&self) -> u64 {
        self.pages_written
    }

    /// Does one operation; reads are compared with the oracle.
    pub(crate) fn apply(&mut self, operation: Operation) -> Result<(), Fault> {
        match operation {
            Operation::Write(extent) => self.write(extent),
            Operation::Read(extent) => self.read(extent),
            Operation::Trim(extent) => {
                lpns(extent).for_each(|lpn| self.oracle.trim(lpn));
                let expected = Expected { replaced: extent.pages, ..Expected::default() };
                self.serve(expected, |scheme, media, at| scheme.trim(media, &request(extent, at)))
            }
            Operation::Flush => {
                self.serve(Expected::default(), |scheme, media, _| scheme.flush(media))?;
                match self.scheme.buffered().pages {
                    0 => Ok(()),
                    left => Err(Fault::Accounts(format!("{left} pages still wait in RAM after a flush"))),
                }
            }
            Operation::Idle => self.serve(Expected::default(), |scheme, media, _| scheme.idle(media, IDLE_BUDGET)),
        }
    }

    /// Reads back what an operation touched, and a few pages that it did not.
    pub(crate) fn read_back(&mut self, operation: Operation) -> Result<(), Fault> {
        if let Operation::Write(extent) | Operation::Trim(extent) = operation {
            self.read(extent)?;
        }
        for _ in 0..BYSTANDERS {
            let first = self.dice.below(self.oracle.logical_pages());
            self.read(Extent { first, pages: 1 })?;
        }
        Ok(())
    }

    /// Reads every page, in requests of random size.
    pub(crate) fn read_everything(&mut self) -> Result<(), Fault> {
        let (mut first, end) = (0, self.oracle.logical_pages());
        while first < end {
            let extent = Extent::within(end, first, self.dice.up_to(7));
            self.read(extent)?;
            first += extent.pages;
        }
        Ok(())
    }

    /// Asks the scheme for its invariants and its footprint.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        self.scheme.check(&self.media).map_err(Fault::Invariant)?;
        self.check_footprint()?;
        match self.scheme.gauges().iter().find(|gauge| !gauge.value.is_finite()) {
            Some(gauge) => Err(Fault::Accounts(format!("gauge {} is {}", gauge.name, gauge.value))),
            None => Ok(()),
        }
    }

    fn check_footprint(&self) -> Result<(), Fault> {
        let now = self.scheme.footprint();
        if now.ram_bytes() == 0 {
            return Err(Fault::Accounts("the footprint says that the mapping takes no RAM".into()));
        }
        if now != self.footprint {
            let (was, is) = (self.footprint.ram_bytes(), now.ram_bytes());
            return Err(Fault::Accounts(format!("the footprint has changed from {was} to {is} bytes of RAM: {now:?}")));
        }
        Ok(())
    }

    fn write(&mut self, extent: Extent) -> Result<(), Fault> {
        let stamps: Vec<_> = lpns(extent).map(|lpn| self.oracle.stamp_for_write(lpn)).collect();
        self.pages_written += u64::from(extent.pages);
        let expected = Expected { written: extent.pages, reads: 0, replaced: extent.pages };
        self.serve(expected, |scheme, media, at| scheme.write(media, &request(extent, at), &stamps))
    }

    fn read(&mut self, extent: Extent) -> Result<(), Fault> {
        let mut out = std::mem::take(&mut self.buffer);
        out.clear();
        out.resize(extent.pages as usize, UNFILLED);
        let written = lpns(extent).filter(|&lpn| self.oracle.expected(lpn) != 0).count() as u64;
        let expected = Expected { reads: written, ..Expected::default() };
        let before = self.try_serve(|scheme, media, at| scheme.read(media, &request(extent, at), &mut out))?;
        for (lpn, &got) in lpns(extent).zip(&out) {
            self.oracle.compare(lpn, got).map_err(Fault::WrongContent)?;
        }
        self.buffer = out;
        self.audit(&before, expected)
    }

    fn serve(
        &mut self,
        expected: Expected,
        ask: impl FnOnce(&mut CheckedFtl, &mut Media<CheckedDevice>, Nanos) -> Result<(), FtlError>,
    ) -> Result<(), Fault> {
        let before = self.try_serve(ask)?;
        self.audit(&before, expected)
    }

    /// Asks the scheme for something; returns the books from before.
    fn try_serve(
        &mut self,
        ask: impl FnOnce(&mut CheckedFtl, &mut Media<CheckedDevice>, Nanos) -> Result<(), FtlError>,
    ) -> Result<Before, Fault> {
        let before = Before { tally: *self.media.tally(), buffered: self.scheme.buffered() };
        let at = Nanos(self.requests);
        self.requests += 1;
        self.media.begin(at);
        ask(&mut self.scheme, &mut self.media, at).map_err(Fault::Stopped)?;
        Ok(before)
    }

    /// Compares what was charged with what the flash counted and with what the request may cost.
    fn audit(&self, before: &Before, expected: Expected) -> Result<(), Fault> {
        let Operations { reads, programs, erases } = self.media.device().operations();
        for (op, counted) in [(Op::Read, reads), (Op::Program, programs), (Op::Erase, erases)] {
            let charged = self.media.tally().total(op);
            if charged != counted {
                let name = op.name();
                return Err(Fault::Accounts(format!("{charged} {name}s are charged, but the flash counted {counted}")));
            }
        }
        let done = self.media.tally().since(&before.tally);
        for (op, allowed) in (Op::ALL.into_iter()).zip(expected.of(before.buffered, self.scheme.buffered())?) {
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

/// The books before a request.
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
    /// What the request may cost under the cause *host*, by operation, for a scheme that says of its buffer before and after it:
    /// exactly one operation a page if there is none.
    fn of(self, before: Buffered, after: Buffered) -> Result<[RangeInclusive<u64>; 3], Fault> {
        let room = before.capacity_pages;
        if after.capacity_pages != room || after.pages > room {
            return Err(Fault::Accounts(format!("a buffer of {room} pages says that it is {after:?}")));
        }
        let come = u64::from(before.pages) + u64::from(self.written);
        let Some(left) = come.checked_sub(after.pages.into()) else {
            return Err(Fault::Accounts(format!("{} pages wait in RAM, but only {come} have come", after.pages)));
        };
        let dropped = if room == 0 { 0 } else { u64::from(self.replaced) };
        let waiting = u64::from(before.pages);
        Ok([self.reads.saturating_sub(waiting)..=self.reads, left.saturating_sub(dropped)..=left, 0..=0])
    }
}

/// The suite writes whole pages and prepares no device, so the causes of shells belong to nobody here.
fn audit_foreign_causes(done: &Tally) -> Result<(), Fault> {
    for cause in Cause::ALL.into_iter().filter(|cause| cause.facts().is_shells) {
        let charged: u64 = Op::ALL.iter().map(|&op| done.count(cause, op)).sum();
        if charged > 0 {
            let name = cause.name();
            return Err(Fault::Accounts(format!(
                "{charged} operations are charged to {name}, which is the shell's alone"
            )));
        }
    }
    Ok(())
}

fn lpns(extent: Extent) -> impl Iterator<Item = Lpn> {
    (extent.first..extent.first + extent.pages).map(Lpn::new)
}

fn request(extent: Extent, arrival: Nanos) -> Request {
    Request { arrival, ..Request::new(Lpn::new(extent.first), extent.pages) }
}
