//! The black box: what flash was asked for and what it holds, kept while a case is explained.
//!
//! Every device keeps its own journal from power-on to power-off, because a power cut is staged on
//! a copy of the chip while the run that it came from goes on. The last one that was written to is
//! that of the device that failed; it outlives the device, whatever ends the run.
//!
//! It is switched on for a thread, for the time of one run ([`record`]). Nothing depends on it: a
//! run that is recorded does the same as one that is not.

use std::cell::RefCell;
use std::collections::BTreeSet;

use flash::{Cell, Flash, FlashError, Geometry, MediaEvent, Pbn, Ppn, Tag, Tear};
use ftl::{Cause, FlashOp, FtlError};

use crate::case::operation::Operation;
use crate::shared::Shared;
use crate::stamp::Stamp;

thread_local! {
    static BOX: RefCell<Option<BlackBox>> = const { RefCell::new(None) };
}

/// What is kept during a run.
#[derive(Debug, Default)]
pub(crate) struct BlackBox {
    /// The journal that was written to last.
    pub(crate) latest: Option<Log>,
    /// The power cuts around it, the first one first.
    pub(crate) cuts: Vec<StagedCut>,
}

/// A power cut that was staged, and the program or erase that it hit.
#[derive(Clone, Debug)]
pub(crate) struct StagedCut {
    pub(crate) tear: Tear,
    /// None for a cut after the last operation.
    pub(crate) hit: Option<Target>,
    pub(crate) cause: Option<Cause>,
    /// The journal of the device that lost its power, and its events before the one that was hit.
    pub(crate) before: Option<(Log, usize)>,
}

/// A journal that a device shares with the black box.
pub(crate) type Log = Shared<Journal>;

/// What an operation is done to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) op: FlashOp,
    pub(crate) pbn: Pbn,
    /// None for an erase.
    pub(crate) ppn: Option<Ppn>,
    /// What is programmed, or was read.
    pub(crate) tag: Option<Tag>,
}

/// A page with what it holds or held.
pub(crate) type Content = (Ppn, Tag, Stamp);

/// An operation that flash was asked for.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) target: Target,
    /// Why; unknown for one that was refused.
    pub(crate) cause: Option<Cause>,
    pub(crate) error: Option<FlashError>,
    /// Pages that hold something since.
    pub(crate) gained: Vec<Content>,
    /// Pages that held something until then.
    pub(crate) lost: Vec<Content>,
}

impl Event {
    /// Whether the power went at it.
    pub(crate) fn is_power_cut(&self) -> bool {
        matches!(self.error, Some(FlashError::Media(MediaEvent::PowerCut)))
    }
}

/// What happens between operations of flash.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mark {
    /// The host asks for something.
    Request(Operation),
    /// The host hears that it is done.
    Acknowledged,
    /// The power comes back after a cut.
    PowerOn,
    /// Recovery is done.
    Recovered,
}

/// What a device was asked for since the power came on, and what it holds.
#[derive(Debug)]
pub(crate) struct Journal {
    pub(crate) geometry: Geometry,
    /// What its pages held when the power came on.
    pub(crate) start: Vec<Cell<Stamp>>,
    pub(crate) cells: Vec<Cell<Stamp>>,
    pub(crate) bad: BTreeSet<Pbn>,
    pub(crate) events: Vec<Event>,
    /// Marks, each with the number of events before it.
    pub(crate) marks: Vec<(usize, Mark)>,
}

/// Runs something with the black box on.
pub(crate) fn record<T>(run: impl FnOnce() -> T) -> (T, BlackBox) {
    let outer = BOX.replace(Some(BlackBox::default()));
    let result = run();
    let kept = BOX.replace(outer);
    (result, kept.unwrap_or_default())
}

/// A journal of a device, if the black box is on.
pub(crate) fn journal(device: &impl Flash, cells: impl Fn(Ppn) -> Cell<Stamp>) -> Option<Log> {
    BOX.with_borrow_mut(|kept| {
        let kept = kept.as_mut()?;
        let geometry = *device.geometry();
        let cells: Vec<_> = (0..geometry.pages()).map(|page| cells(Ppn::new(page))).collect();
        let bad = (0..geometry.blocks()).map(Pbn::new).filter(|&pbn| device.is_bad(pbn)).collect();
        let (start, events, marks) = (cells.clone(), Vec::new(), Vec::new());
        let log = Log::new(Journal { geometry, start, cells, bad, events, marks });
        kept.latest = Some(log.clone());
        Some(log)
    })
}

/// A device has been asked for an operation; `cells` tells what its pages hold now.
pub(crate) fn log(log: &Log, target: Target, error: Option<FlashError>, cells: impl Fn(Ppn) -> Cell<Stamp>) {
    let mut journal = log.borrow_mut();
    let touched = match (target.op, target.ppn) {
        (FlashOp::Erase, _) => journal.geometry.page_indices(target.pbn),
        (_, Some(ppn)) => ppn.index()..ppn.index() + 1,
        (_, None) => 0..0,
    };
    let mut event = Event { target, cause: None, error, gained: Vec::new(), lost: Vec::new() };
    for page in touched {
        let (ppn, now) = (Ppn::at(page), cells(Ppn::at(page)));
        match (&journal.cells[page], &now) {
            (Cell::Programmed(..), &Cell::Programmed(tag, _)) if target.op == FlashOp::Read => {
                event.target.tag = Some(tag);
            }
            (Cell::Programmed(..), Cell::Programmed(..)) => {}
            (&Cell::Programmed(tag, stamp), _) => event.lost.push((ppn, tag, stamp)),
            (_, &Cell::Programmed(tag, stamp)) => event.gained.push((ppn, tag, stamp)),
            _ => {}
        }
        journal.cells[page] = now;
    }
    journal.events.push(event);
    BOX.with_borrow_mut(|kept| kept.iter_mut().for_each(|kept| kept.latest = Some(log.clone())));
}

/// Notes what happens between the operations of the device in hand.
pub(crate) fn mark(mark: Mark) {
    BOX.with_borrow(|kept| {
        let latest = kept.as_ref().and_then(|kept| kept.latest.as_ref());
        latest.inspect(|log| {
            let mut journal = log.borrow_mut();
            let events = journal.events.len();
            journal.marks.push((events, mark));
        });
    });
}

impl Journal {
    /// Why the last operation was done.
    pub(crate) fn charge(&mut self, cause: Cause) {
        if let Some(event) = self.events.last_mut() {
            event.cause = Some(cause);
        }
    }

    /// Where an operation was done last.
    fn last(&self, target: Target) -> Option<usize> {
        self.events.iter().rposition(|event| event.target == target)
    }
}

/// The power has gone at the last operation: its error says why that was done.
pub(crate) fn on_power_cut(error: &FtlError) {
    let FtlError::Flash { cause, .. } = error else { return };
    BOX.with_borrow(|kept| {
        let latest = kept.as_ref().and_then(|kept| kept.latest.as_ref());
        latest.inspect(|log| log.borrow_mut().charge(*cause));
    });
}

/// A power cut is staged at an operation of the device in hand.
pub(crate) fn stage_cut(tear: Tear, hit: Option<Target>) {
    BOX.with_borrow_mut(|kept| {
        let Some(kept) = kept else { return };
        let mut cut = StagedCut { tear, hit, cause: None, before: None };
        if let Some(log) = &kept.latest {
            let journal = log.borrow();
            let at = hit.and_then(|hit| journal.last(hit)).unwrap_or(journal.events.len());
            cut.cause = hit.and_then(|_| journal.events.get(at)?.cause);
            cut.before = Some((log.clone(), at));
        }
        kept.cuts.push(cut);
    });
}

/// What came of the last power cut broke no promise.
pub(crate) fn survived_cut() {
    BOX.with_borrow_mut(|kept| {
        if let Some(kept) = kept {
            kept.cuts.pop();
        }
    });
}
