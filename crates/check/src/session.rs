//! One stretch of a scheme's life with the power on: from format or recovery to the next cut.
//!
//! A session does requests in two halves, so that the explorer can stage power cuts in between with the request still in
//! flight: [`Session::begin`] has the scheme serve it, [`Session::acknowledge`] is the host hearing of it. Reads are compared
//! with the account in `allowed.rs`, and what causes were charged with what the flash counted since the power came on.

use flash::{Chip, Faulty, Flash, Full, Lpn, Operations};
use ftl::{ConfigError, Device, Ftl, Layout, Media, Nanos, Op, RecoverError, Request, Timed, Untimed, registry};

use crate::allowed::Allowed;
use crate::canary;
use crate::case::Case;
use crate::failure::Fault;
use crate::operation::{Extent, Operation};
use crate::oracle::Stamp;
use crate::outcome::Outcome;
use crate::recorder::{CutDevice, Recorder, Tape};
use crate::variants::Settings;

type CutFtl = Box<dyn Ftl<CutDevice>>;

/// What a read's buffer holds before the scheme fills it: no stamp, so that a page left out is seen.
const UNFILLED: Stamp = Stamp::MAX;

/// Idle time offered at once.
const IDLE_BUDGET: Nanos = Nanos(10_000_000);

/// Builds a scheme by name for an erased device: `canary`, or one of the registry's.
pub fn create<D: Device<Data = Stamp> + 'static>(
    scheme: &str,
    settings: &Settings,
    layout: &Layout,
) -> Result<Box<dyn Ftl<D>>, ConfigError> {
    if scheme == canary::NAME { canary::create(settings, layout) } else { registry::create(scheme, settings, layout) }
}

/// Brings a scheme back by name on a device that it has used: `canary`, or one of the registry's.
pub fn recover<D: Device<Data = Stamp> + 'static>(
    scheme: &str,
    settings: &Settings,
    layout: &Layout,
    media: &mut Media<D>,
) -> Result<Box<dyn Ftl<D>>, RecoverError> {
    if scheme == canary::NAME {
        canary::recover(settings, layout, media)
    } else {
        registry::recover(scheme, settings, layout, media)
    }
}

/// A scheme at work, and what the host knows of its pages.
pub(crate) struct Session {
    scheme: CutFtl,
    media: Media<CutDevice>,
    allowed: Allowed,
    at_power_on: Operations,
    requests: u64,
    pages_written: u64,
}

impl Session {
    /// A freshly formatted device that records to a tape.
    pub(crate) fn format(case: &Case, layout: &Layout, chip: Chip<Full<Stamp>>, tape: &Tape) -> Result<Self, Fault> {
        let scheme = create(&case.scheme, &case.settings, layout).map_err(Fault::Refused)?;
        let media = Media::new(Timed { chip: Recorder::new(chip, Some(tape.clone())), timing: Untimed });
        let buffer_pages = scheme.buffered().capacity_pages;
        Ok(Self::of(scheme, media, Allowed::new(case.logical_pages, buffer_pages)))
    }

    /// A device after a power cut, with what its pages may hold; recovered, not yet looked at.
    pub(crate) fn recover(case: &Case, layout: &Layout, recorder: Recorder, allowed: Allowed) -> Result<Self, Fault> {
        let at_power_on = recorder.operations();
        let mut media = Media::new(Timed { chip: recorder, timing: Untimed });
        match recover(&case.scheme, &case.settings, layout, &mut media) {
            Ok(scheme) => Ok(Self { at_power_on, ..Self::of(scheme, media, allowed) }),
            Err(RecoverError::Config(error)) => Err(Fault::Refused(error)),
            Err(RecoverError::Ftl(error)) => Err(Fault::Stopped(error)),
        }
    }

    fn of(scheme: CutFtl, media: Media<CutDevice>, allowed: Allowed) -> Self {
        Self { scheme, media, allowed, at_power_on: Operations::default(), requests: 0, pages_written: 0 }
    }

    /// What pages may hold if the power is cut now.
    pub(crate) fn allowed(&self) -> &Allowed {
        &self.allowed
    }

    /// What has been done since the power came on.
    pub(crate) fn outcome(&self) -> Outcome {
        let (event_hash, tally) = (self.media.event_hash(), *self.media.tally());
        Outcome { event_hash, tally, pages_written: self.pages_written }
    }

    /// The flash as a power cut between two operations leaves it.
    pub(crate) fn flash(&self) -> Faulty<Stamp> {
        self.media.device().chip.flash().clone()
    }

    /// Has the scheme serve a request that the host does not hear of yet.
    pub(crate) fn begin(&mut self, operation: Operation) -> Result<(), Fault> {
        let stamps = self.allowed.begin(operation);
        self.pages_written += stamps.len() as u64;
        let at = Nanos(self.requests);
        self.requests += 1;
        self.media.begin(at);
        let request = |extent: Extent| Request { arrival: at, ..Request::new(Lpn::new(extent.first), extent.pages) };
        let (scheme, media) = (&mut self.scheme, &mut self.media);
        match operation {
            Operation::Write(extent) => scheme.write(media, &request(extent), &stamps),
            Operation::Trim(extent) => scheme.trim(media, &request(extent)),
            Operation::Flush => scheme.flush(media),
            Operation::Idle => scheme.idle(media, IDLE_BUDGET),
            Operation::Read(extent) => return self.read(extent),
        }
        .map_err(Fault::Stopped)
    }

    /// The host hears of the request.
    pub(crate) fn acknowledge(&mut self) -> Result<(), Fault> {
        self.allowed.acknowledge();
        self.audit()
    }

    /// Both halves.
    pub(crate) fn apply(&mut self, operation: Operation) -> Result<(), Fault> {
        self.begin(operation)?;
        self.acknowledge()
    }

    /// After recovery: reads every page, which must hold what is allowed; that is the truth from now on.
    pub(crate) fn observe_everything(&mut self) -> Result<(), Fault> {
        for (lpn, got) in self.content()? {
            self.allowed.observe(lpn, got).map_err(Fault::WrongContent)?;
        }
        self.allowed.end_observation()
    }

    /// Reads every page, which must hold the last write, and asks for the scheme's invariants.
    pub(crate) fn settle(&mut self) -> Result<(), Fault> {
        for (lpn, got) in self.content()? {
            self.allowed.compare(lpn, got).map_err(Fault::WrongContent)?;
        }
        self.check()
    }

    /// Asks the scheme for its invariants, and audits the counts.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        self.scheme.check(&self.media).map_err(Fault::Invariant)?;
        self.audit()
    }

    fn content(&mut self) -> Result<Vec<(Lpn, Stamp)>, Fault> {
        let extent = Extent::whole(self.allowed.logical_pages());
        let content = self.fetch(extent)?;
        Ok(extent.lpns().zip(content).collect())
    }

    fn read(&mut self, extent: Extent) -> Result<(), Fault> {
        for (lpn, got) in extent.lpns().zip(self.fetch(extent)?) {
            self.allowed.compare(lpn, got).map_err(Fault::WrongContent)?;
        }
        Ok(())
    }

    fn fetch(&mut self, extent: Extent) -> Result<Vec<Stamp>, Fault> {
        let mut out = vec![UNFILLED; extent.pages as usize];
        let request = Request { arrival: Nanos(self.requests), ..Request::new(Lpn::new(extent.first), extent.pages) };
        self.scheme.read(&mut self.media, &request, &mut out).map_err(Fault::Stopped)?;
        Ok(out)
    }

    /// Compares what was charged since the power came on with what the flash counted.
    fn audit(&self) -> Result<(), Fault> {
        let (now, then) = (self.media.device().operations(), self.at_power_on);
        let counted = [
            (Op::Read, now.reads - then.reads),
            (Op::Program, now.programs - then.programs),
            (Op::Erase, now.erases - then.erases),
        ];
        for (op, counted) in counted {
            let charged = self.media.tally().total(op);
            if charged != counted {
                let name = op.name();
                return Err(Fault::Accounts(format!("{charged} {name}s are charged, but the flash counted {counted}")));
            }
        }
        Ok(())
    }
}
