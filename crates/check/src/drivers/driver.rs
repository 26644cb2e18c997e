//! The driver: sends a scheme the host's operations, and reads back what its pages hold. Every kind
//! of run uses it.
//!
//! The runs differ in their *oracle*, which hands out stamps and says what a page must hold: the
//! exact one on flash that does not fail, the crash oracle where the power is cut, the fault oracle
//! on failing flash. An operation has two halves, so that a power cut can come in between: in
//! [`Driver::begin`] the scheme serves it, in [`Driver::acknowledge`] the host learns of it.

use flash::{Lpn, Operations, PageData, Pbn};
use ftl::api::wear::BlockUse;
use ftl::{
    AnyDevice, Deferred, Device, Drive, FlashOp, FlashPort, FtlError, Hint, Nanos, RecoverError, RelocateOutcome,
    Request,
};
use random::{derive, mix};

use crate::case::operation::{Extent, Operation};
use crate::case::test_case::Case;
use crate::oracle::exact::Oracle;
use crate::report::black_box::{self, Mark};
use crate::report::failure::Fault;
use crate::report::recorder::Outcome;
use crate::stamp::Stamp;

/// What a read's buffer holds before the scheme fills it: no stamp, so that a page left out is
/// seen.
const UNFILLED: Stamp = Stamp::MAX;

/// Idle time offered at once: room for a few operations of any flash.
const IDLE_BUDGET: Nanos = Nanos(10_000_000);

/// A scheme on its device, and what the host knows of its pages.
pub(crate) struct Driver<B> {
    scheme: Drive<AnyDevice>,
    /// None only while the device moves from its old flash port to a new one.
    flash: Option<FlashPort<AnyDevice>>,
    pub(crate) oracle: B,
    at_power_on: Operations,
    /// Whether the scheme that stands now was recovered.
    was_recovered: bool,
    /// Requests begun; the next one begins at this many nanoseconds.
    requests: u64,
    pages_written: u64,
    /// What was read last.
    content: Vec<Stamp>,
    /// Pages on their way to the scheme, or from it.
    pages: Vec<PageData>,
    hints: Hints,
}

/// What the host says of the data that it writes: nothing, or something drawn at random for each
/// request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Hints {
    /// None for nothing.
    seed: Option<u64>,
}

impl Hints {
    /// The hints of a case.
    fn of(case: &Case) -> Self {
        Self { seed: case.hints.then(|| derive(case.seed, "hints")) }
    }

    /// The hint of a request that begins at a moment. Small numbers are the most frequent, and each
    /// may be missing.
    fn at(self, moment: u64) -> Hint {
        let Some(seed) = self.seed else { return Hint::NONE };
        let bits = mix(seed ^ mix(moment));
        let byte = |shift: u32| {
            let bits = bits >> shift;
            (bits >> 4) as u8 & [0, 1, 3, 7, 0xFF][(bits & 0xF) as usize % 5]
        };
        Hint::new(byte(0), byte(16), byte(32))
    }
}

impl<B: Oracle> Driver<B> {
    /// A scheme that `start` formats or recovers on the device of a case, with an oracle that suits
    /// it.
    pub(crate) fn start(
        device: AnyDevice,
        case: &Case,
        start: impl FnOnce(&mut FlashPort<AnyDevice>) -> Result<Drive<AnyDevice>, RecoverError>,
        oracle: impl FnOnce(&Drive<AnyDevice>) -> B,
    ) -> Result<Self, Fault> {
        let at_power_on = device.chip().operations();
        let bit_errors = case.device.bit_errors(device.chip());
        let mut flash = FlashPort::new(device).with_bit_errors(bit_errors);
        let scheme = start(&mut flash)?;
        let oracle = oracle(&scheme);
        let was_recovered = at_power_on != Operations::default();
        black_box::mark(Mark::Recovered);
        Ok(Self {
            scheme,
            flash: Some(flash),
            oracle,
            at_power_on,
            was_recovered,
            requests: 0,
            pages_written: 0,
            content: Vec::new(),
            pages: Vec::new(),
            hints: Hints::of(case),
        })
    }

    /// The power comes back: the device gets a new flash port. Only [`recover`](Self::recover) may
    /// follow.
    pub(crate) fn power_on(&mut self, turn_on: impl FnOnce(&mut AnyDevice)) {
        if let Some(flash) = self.flash.take() {
            let mut flash = flash.power_cycled();
            turn_on(flash.device_mut());
            self.at_power_on = flash.chip().operations();
            self.flash = Some(flash);
            black_box::mark(Mark::PowerOn);
        }
    }

    /// Has a scheme recovered from the flash.
    pub(crate) fn recover(
        &mut self,
        recover: impl FnOnce(&mut FlashPort<AnyDevice>) -> Result<Drive<AnyDevice>, RecoverError>,
    ) -> Result<(), RecoverError> {
        self.scheme = recover(self.media_mut())?;
        self.was_recovered = true;
        black_box::mark(Mark::Recovered);
        Ok(())
    }

    /// The scheme, to ask what it says of itself.
    pub(crate) fn scheme(&self) -> &Drive<AnyDevice> {
        &self.scheme
    }

    /// The flash port, for reading its counts.
    pub(crate) fn flash(&self) -> &FlashPort<AnyDevice> {
        self.flash.as_ref().unwrap_or_else(|| unreachable!("the device has a flash port between requests"))
    }

    fn media_mut(&mut self) -> &mut FlashPort<AnyDevice> {
        self.flash.as_mut().unwrap_or_else(|| unreachable!("the device has a flash port between requests"))
    }

    /// The device, without its flash port.
    pub(crate) fn into_device(self) -> Option<AnyDevice> {
        self.flash.map(FlashPort::into_device)
    }

    /// What has been done since the power came on.
    pub(crate) fn outcome(&self) -> Outcome {
        let (event_hash, tally) = (self.flash().event_hash(), *self.flash().tally());
        Outcome { event_hash, tally, pages_written: self.pages_written }
    }

    /// A moment passes in which no request begins.
    pub(crate) fn pass(&mut self) {
        self.requests += 1;
    }

    /// Has the scheme serve a request that the host does not hear of yet. What a read returns is
    /// compared with the books.
    pub(crate) fn begin(&mut self, operation: Operation) -> Result<(), Fault> {
        black_box::mark(Mark::Request(operation));
        let stamps = self.oracle.begin(operation);
        self.pages_written += stamps.len() as u64;
        self.pages.clear();
        self.pages.extend(stamps.into_iter().map(PageData::from));
        let at = Nanos(self.requests);
        self.requests += 1;
        self.media_mut().begin(at);
        let Some(flash) = self.flash.as_mut() else { return Ok(()) };
        let hint = self.hints.at(at.0);
        let request = |extent: Extent| Request { arrival: at, hint, ..request(extent) };
        match operation {
            Operation::Write(extent) => self.scheme.write(flash, &request(extent), &self.pages),
            Operation::Trim(extent) => self.scheme.trim(flash, &request(extent)),
            Operation::Flush => self.scheme.flush(flash),
            Operation::Idle => self.scheme.idle(flash, IDLE_BUDGET),
            Operation::Read(extent) => return self.compare(extent),
            Operation::RelocateBlock(block) => return self.relocate_block(Pbn::new(block)),
            Operation::FileEvent(event, extent) => {
                self.scheme.on_file_event(event, &request(extent));
                Ok(())
            }
        }
        .map_err(Fault::Stopped)
    }

    /// Has the scheme empty a block, and compares what it says of that with what the flash shows.
    fn relocate_block(&mut self, pbn: Pbn) -> Result<(), Fault> {
        let Some(flash) = self.flash.as_mut() else { return Ok(()) };
        let look = |flash: &FlashPort<AnyDevice>| (flash.chip().is_bad(pbn), flash.chip().erase_count(pbn));
        let (was_bad, erases) = look(flash);
        let how = self.scheme.relocate_block(flash, pbn).map_err(Fault::Stopped)?;
        let (is_bad, erases_now) = look(flash);
        let is_empty = flash.chip().next_page(pbn) == 0 || erases_now > erases;
        let spares = self.scheme.spares();
        let is_so = match how {
            RelocateOutcome::Done => !is_bad && is_empty,
            RelocateOutcome::Retired => is_bad && !was_bad,
            RelocateOutcome::Deferred(Deferred::IsBad) => was_bad,
            RelocateOutcome::Deferred(Deferred::ReadOnly) => spares.admit().is_err(),
            RelocateOutcome::Deferred(Deferred::NotOffered) => !self.scheme.relocates_blocks(),
            RelocateOutcome::Deferred(Deferred::NoRoom) => spares.used > 0 || self.was_recovered,
        };
        let state = || format!("bad {is_bad}, {} pages programmed", self.flash().chip().next_page(pbn));
        if is_so { Ok(()) } else { Err(Fault::Relocation(format!("{pbn} is said to be {how:?}, but: {}", state()))) }
    }

    /// The host hears of the request.
    pub(crate) fn acknowledge(&mut self) -> Result<(), Fault> {
        black_box::mark(Mark::Acknowledged);
        self.oracle.acknowledge();
        self.audit()
    }

    /// Offers idle time from a moment on.
    pub(crate) fn idle(&mut self, from: Nanos, budget: Nanos) -> Result<(), Fault> {
        let Some(flash) = self.flash.as_mut() else { return Ok(()) };
        flash.begin(from);
        self.scheme.idle(flash, budget).map_err(Fault::Stopped)?;
        self.audit()
    }

    /// Begins an operation and acknowledges it.
    pub(crate) fn apply(&mut self, operation: Operation) -> Result<(), Fault> {
        self.begin(operation)?;
        self.acknowledge()
    }

    /// Reads pages, at the moment of the request before.
    pub(crate) fn read(&mut self, extent: Extent) -> Result<&[Stamp], FtlError> {
        self.pages.clear();
        self.pages.resize(extent.pages as usize, UNFILLED.into());
        let Some(flash) = self.flash.as_mut() else { return Ok(&[]) };
        self.scheme.read(flash, &request(extent), &mut self.pages)?;
        self.content.clear();
        self.content.extend(self.pages.iter().map(PageData::number));
        Ok(&self.content)
    }

    /// Reads pages, which must hold what the books say.
    pub(crate) fn compare(&mut self, extent: Extent) -> Result<(), Fault> {
        self.read(extent).map_err(Fault::Stopped)?;
        let mut pages = extent.lpns().zip(&self.content);
        pages.try_for_each(|(lpn, &got)| self.oracle.compare(lpn, got)).map_err(Fault::WrongContent)
    }

    /// Asks the scheme for its invariants and for what it knows of blocks, and audits the counts.
    pub(crate) fn check(&mut self) -> Result<(), Fault> {
        self.scheme.check(self.flash()).map_err(Fault::Invariant)?;
        self.compare_facts()?;
        self.audit()
    }

    /// Compares what a wear policy is told of blocks with what the flash shows.
    fn compare_facts(&mut self) -> Result<(), Fault> {
        let Some(chip) = self.flash.as_ref().map(FlashPort::chip) else { return Ok(()) };
        let mut wrong = None;
        self.scheme.with_wear_policy(&mut |_, facts| {
            let is_so = |pbn: Pbn| match facts.use_of(pbn) {
                BlockUse::Bad => chip.is_bad(pbn),
                _ if chip.is_bad(pbn) => true,
                used => {
                    facts.erases(pbn) == chip.erase_count(pbn) && (used != BlockUse::Free || chip.next_page(pbn) == 0)
                }
            };
            let found = (0..facts.blocks()).map(Pbn::new).find(|&pbn| !is_so(pbn));
            wrong = found.map(|pbn| (pbn, facts.use_of(pbn), facts.erases(pbn)));
        });
        let Some((pbn, used, erases)) = wrong else { return Ok(()) };
        let (counted, bad) = (chip.erase_count(pbn), chip.is_bad(pbn));
        Err(Fault::Accounts(format!(
            "{pbn} is said to be {used:?} with {erases} erases, but the flash counted {counted} (bad: {bad})"
        )))
    }

    /// Compares what was charged since the power came on with what the flash counted.
    pub(crate) fn audit(&self) -> Result<(), Fault> {
        let (now, then) = (self.flash().chip().operations(), self.at_power_on);
        let counted = [
            (FlashOp::Read, now.reads - then.reads),
            (FlashOp::Program, now.programs - then.programs),
            (FlashOp::Erase, now.erases - then.erases),
        ];
        for (op, counted) in counted {
            let charged = self.flash().tally().total(op);
            if charged != counted {
                let name = op.name();
                return Err(Fault::Accounts(format!("{charged} {name}s are charged, but the flash counted {counted}")));
            }
        }
        Ok(())
    }
}

fn request(extent: Extent) -> Request {
    Request::new(Lpn::new(extent.first), extent.pages)
}
