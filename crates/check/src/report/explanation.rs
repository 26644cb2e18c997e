//! A failed case explained: what befell the flash, what it holds of the page in question, and what
//! was done with that page.

use std::collections::BTreeMap;
use std::fmt;

use flash::{Cell, FlashError, Lpn, Ppn, Role, Tag};
use ftl::{BrokenInvariant, FlashOp, FtlError};

use crate::report::address::Address;
use crate::report::black_box::{BlackBox, Event, Journal, Target};
use crate::report::failure::{Failure, FailurePoint, Fault};
use crate::report::history::{History, Subject, held};
use crate::report::leak::Leak;
use crate::report::wording::{cut, names, operation, speaks_of, target};
use crate::stamp::{Stamp, page_of, version_of};

/// Operations that a full explanation shows.
const OPERATIONS: usize = 20;

/// Operations that stand below a failure's own lines.
const FEW_OPERATIONS: usize = 4;

/// A failure in words, by the state of the flash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explanation {
    /// The blocks that the scheme lost track of, if it ran out of blocks because of that.
    pub leak: Option<String>,
    /// What the case does that its line does not name, if it failed there.
    pub beyond_line: Option<&'static str>,
    /// Operations at which the power was cut, in their order.
    pub cuts: Vec<String>,
    /// Operations that the flash could not do, in their order.
    pub faults: Vec<String>,
    /// Those of them that matter most: where the power was cut among them, what could not be read
    /// because of that is left out.
    pub few_faults: Vec<String>,
    /// The page in question, and each page on flash that names it, the newest first.
    pub copies: Vec<String>,
    /// What the operations have in common: what was done with a page, with a block, or at all.
    pub about: String,
    /// Programs, copies and erases, the last ones of the run, in time order.
    pub operations: Vec<String>,
    /// Those of them that matter most, without the power cuts among them.
    pub few_operations: Vec<String>,
    /// What each die has left and holds.
    pub dies: Vec<String>,
}

impl Explanation {
    /// What the black box of a run tells of its failure.
    pub(crate) fn of(failure: &Failure, kept: &BlackBox) -> Self {
        let Some(latest) = &kept.latest else { return Self::default() };
        let journal = latest.borrow();
        let leak = Leak::of(failure, &journal);
        let leaked = leak.as_ref().map(|leak| (Subject::Block(leak.pbn), None));
        let (subject, emptied) = leaked.unwrap_or_else(|| subject(failure, kept));
        let history = History::of(kept, subject);
        let failed: Vec<_> = journal.events.iter().filter(|event| event.error.is_some()).collect();
        let is_cut = failed.iter().any(|event| event.is_power_cut());
        let matters = |event: &&Event| event.is_power_cut() || !is_cut || event.target.op != FlashOp::Read;
        let copies = if let Subject::Page(lpn) = subject { copies(&journal, lpn) } else { Vec::new() };
        Self {
            leak: leak.map(|leak| leak.line),
            beyond_line: beyond_line(failure.place),
            cuts: kept.cuts.iter().map(cut).collect(),
            faults: failed.iter().copied().map(operation).collect(),
            few_faults: failed.iter().copied().filter(matters).map(operation).collect(),
            copies: emptied.into_iter().chain(copies).collect(),
            about: match subject {
                Subject::Page(lpn) => format!("what was done with {lpn}, in order"),
                Subject::Block(pbn) => format!("what was done with {pbn}, in order"),
                Subject::Flash => "the last programs, copies and erases".into(),
            },
            operations: history.last(OPERATIONS, true),
            few_operations: history.last(FEW_OPERATIONS, false),
            dies: dies(&journal),
        }
    }

    /// The lines that matter: at most twelve, to stand below a failure's own. Where the power was
    /// cut, that matters more than what could not be read because of it.
    pub fn brief(&self) -> Vec<String> {
        let last = |lines: &[String], most: usize| lines[lines.len().saturating_sub(most)..].to_vec();
        let mut lines: Vec<_> = self.leak.iter().cloned().collect();
        lines.extend(self.beyond_line.map(str::to_owned));
        lines.extend(last(if self.cuts.is_empty() { &self.few_faults } else { &self.cuts }, 2));
        lines.extend(self.copies.iter().take(3).cloned());
        if !self.few_operations.is_empty() {
            lines.push(format!("{}:", self.about));
            lines.extend(self.few_operations.iter().map(|line| format!("  {line}")));
        }
        lines
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let section = |f: &mut fmt::Formatter<'_>, title: &str, lines: &[String]| {
            if lines.is_empty() {
                return Ok(());
            }
            writeln!(f, "{title}")?;
            lines.iter().try_for_each(|line| writeln!(f, "  {line}"))
        };
        section(f, "Why there is no free block:", self.leak.as_slice())?;
        let beyond: Vec<_> = self.beyond_line.into_iter().map(str::to_owned).collect();
        section(f, "What no request of the line does:", &beyond)?;
        let befell: Vec<_> = self.cuts.iter().chain(&self.faults).cloned().collect();
        section(f, "What befell the flash:", &befell)?;
        section(f, "The page in question:", &self.copies)?;
        let mut about = self.about.chars();
        let about: String = about.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(about).collect();
        section(f, &format!("{about}:"), &self.operations)?;
        section(f, "The dies:", &self.dies)
    }
}

/// What each case does besides the requests of its line, where that was going on.
fn beyond_line(place: FailurePoint) -> Option<&'static str> {
    let (is_after_cut, step) = match place {
        FailurePoint::AfterCut(_, _, step) => (true, step),
        FailurePoint::Aftermath(step) => (false, step),
        _ => return None,
    };
    let is_emptied = ["forgetting", "refill", "overwrit", "empty device"].iter().any(|word| step.contains(word));
    match (is_after_cut, is_emptied) {
        (true, true) => Some(
            "after each recovery the host does a few requests of its own, trims everything and fills the device twice",
        ),
        (true, false) if step.contains("request") || step.contains("going on") => Some(
            "after each recovery the host goes on with a few requests of its own, \
             which follow from the seed and the cuts",
        ),
        (false, true) => Some(
            "after the last request the host trims everything and fills the device twice, and that three times over",
        ),
        _ => None,
    }
}

/// What a failure is about; and, of an operation that flash refused, what the page held before.
fn subject(failure: &Failure, kept: &BlackBox) -> (Subject, Option<String>) {
    if let Some(named) = message(&failure.fault).and_then(|message| said(message, failure, kept)) {
        return named;
    }
    match &failure.fault {
        Fault::WrongContent(mismatch) => (Subject::Page(mismatch.lpn), None),
        Fault::Stopped(FtlError::Flash { error: FlashError::Violation(_), .. }) => refused(kept),
        // The scheme gave up by itself: at the page in hand, or anywhere.
        Fault::Stopped(FtlError::Failed { .. } | FtlError::OutOfSpace { .. } | FtlError::ReadOnly { .. }) => {
            (Subject::Flash, None)
        }
        _ => (one_page(failure).map_or(Subject::Flash, Subject::Page), None),
    }
}

/// The one page of the request that failed, if it is about one.
fn one_page(failure: &Failure) -> Option<Lpn> {
    let (FailurePoint::Request(_, operation) | FailurePoint::Prefill(operation)) = failure.place else { return None };
    let extent = operation.extent().filter(|extent| extent.pages == 1)?;
    Some(Lpn::new(extent.first))
}

/// The words of a failure that may name a page or a block.
fn message(fault: &Fault) -> Option<&str> {
    match fault {
        Fault::Stopped(FtlError::Failed { message })
        | Fault::Panicked(message)
        | Fault::Invariant(BrokenInvariant { found: message, .. })
        | Fault::Relocation(message)
        | Fault::Accounts(message) => Some(message),
        _ => None,
    }
}

/// What a message of the scheme is about, if it names a page or a block.
fn said(message: &str, failure: &Failure, kept: &BlackBox) -> Option<(Subject, Option<String>)> {
    let journal = kept.latest.as_ref()?.borrow();
    Some(match Address::named_in(message, &journal.geometry, failure.case.logical_pages)? {
        Address::Logical(lpn) => (Subject::Page(lpn), None),
        Address::Block(pbn) => (Subject::Block(pbn), None),
        Address::Physical(ppn) => {
            let pbn = journal.geometry.block_of(ppn);
            held_now(&journal, ppn).or_else(|| held_before(kept, ppn)).unwrap_or((Subject::Block(pbn), None))
        }
    })
}

/// The logical page of which the refused operation touched a copy that had been erased, or its
/// block.
fn refused(kept: &BlackBox) -> (Subject, Option<String>) {
    let last = kept.latest.as_ref().and_then(|log| log.borrow().events.last().map(|event| event.target));
    let Some(Target { op, pbn, ppn, .. }) = last else { return (Subject::Flash, None) };
    let held = ppn.filter(|_| op == FlashOp::Read).and_then(|ppn| held_before(kept, ppn));
    held.unwrap_or((Subject::Block(pbn), None))
}

/// The logical page that a page on flash names, and what it holds of that.
fn held_now(journal: &Journal, ppn: Ppn) -> Option<(Subject, Option<String>)> {
    let Cell::Programmed(tag, stamp) = &journal.cells[ppn.index()] else { return None };
    let at = format!("{ppn} ({})", journal.geometry.block_of(ppn));
    (!is_own(tag)).then(|| (Subject::Page(Lpn::new(tag.logical)), Some(format!("{at} holds {}", held(tag, *stamp)))))
}

/// The logical page that a page on flash named before it was erased, and what it held of that.
fn held_before(kept: &BlackBox, ppn: Ppn) -> Option<(Subject, Option<String>)> {
    let held_in = |journal: &Journal, events: usize| {
        let events = journal.events[..events].iter().rev();
        let mut lost = events.flat_map(|event| event.lost.iter().map(move |content| (content, event)));
        let ((_, tag, stamp), event) = lost.find(|((lost, ..), _)| *lost == ppn)?;
        Some((*tag, *stamp, target(event.target, event.cause)))
    };
    let latest = kept.latest.as_ref()?.borrow();
    let mut before = kept.cuts.iter().filter_map(|cut| cut.before.as_ref()).rev();
    let found = held_in(&latest, latest.events.len());
    let (tag, stamp, erase) = found.or_else(|| before.find_map(|(log, at)| held_in(&log.borrow(), *at)))?;
    let text =
        || format!("{ppn} held LPN {}, the host's version {}, until the {erase}", tag.logical, version_of(stamp));
    (!is_own(&tag)).then(|| (Subject::Page(Lpn::new(tag.logical)), Some(text())))
}

/// Whether a page is of the scheme's own tables, and names no logical page.
fn is_own(tag: &Tag) -> bool {
    matches!(tag.role, Role::Translation | Role::Summary | Role::Padding)
}

fn copies(journal: &Journal, lpn: Lpn) -> Vec<String> {
    let cells = journal.cells.iter().enumerate();
    let mut found: Vec<_> = cells
        .filter_map(|(page, cell)| match cell {
            Cell::Programmed(tag, stamp) if speaks_of(tag, lpn) => Some((tag, *stamp, Ppn::at(page))),
            _ => None,
        })
        .collect();
    found.sort_by_key(|(tag, _, _)| std::cmp::Reverse((tag.version, tag.seq)));
    let head = match found.len() {
        0 => format!("no page on flash names {lpn}"),
        1 => format!("one page on flash names {lpn}:"),
        many => format!("{many} pages on flash name {lpn}, the newest first:"),
    };
    let copy = |(tag, stamp, ppn): (&Tag, Stamp, Ppn)| {
        let holds = match tag.role {
            Role::Trimmed | Role::Lost => String::new(),
            _ if page_of(stamp) == lpn.get() => format!(", holds the host's version {}", version_of(stamp)),
            _ => format!(", holds the host's version {} of LPN {}", version_of(stamp), page_of(stamp)),
        };
        format!("  {ppn} ({}): {}{holds}", journal.geometry.block_of(ppn), names(tag))
    };
    let others = if found.is_empty() { same_number(journal, lpn) } else { Vec::new() };
    std::iter::once(head).chain(found.into_iter().map(copy)).chain(others).collect()
}

/// Pages of the scheme's own tables with the number of a logical page: where no page names that,
/// its data may have been programmed as one of them.
fn same_number(journal: &Journal, lpn: Lpn) -> Vec<String> {
    let same = journal.cells.iter().enumerate().filter_map(|(page, cell)| match cell {
        Cell::Programmed(tag, _) if tag.role == Role::Translation && tag.logical == lpn.get() => {
            let ppn = Ppn::at(page);
            let pbn = journal.geometry.block_of(ppn);
            Some(format!("  {ppn} ({pbn}): {}, which names no data of the host", names(tag)))
        }
        _ => None,
    });
    same.collect()
}

fn dies(journal: &Journal) -> Vec<String> {
    let geometry = journal.geometry;
    let mut newest: BTreeMap<u32, (u64, u64, usize)> = BTreeMap::new();
    for (page, cell) in journal.cells.iter().enumerate() {
        if let Cell::Programmed(tag, _) = cell
            && !matches!(tag.role, Role::Translation | Role::Summary)
        {
            let found = (tag.version, tag.seq, page);
            newest.entry(tag.logical).and_modify(|known| *known = found.max(*known)).or_insert(found);
        }
    }
    let blocks = |die| (0..geometry.blocks()).map(flash::Pbn::new).filter(move |&pbn| geometry.die_of(pbn) == die);
    let line = |die| {
        let (mut free, mut erased, mut bad) = (0, 0, 0);
        for pbn in blocks(die) {
            let pages = geometry.page_indices(pbn);
            let here = journal.cells[pages.clone()].iter().filter(|cell| matches!(cell, Cell::Erased)).count();
            if journal.bad.contains(&pbn) {
                bad += 1;
            } else {
                (free, erased) = (free + usize::from(here == pages.len()), erased + here);
            }
        }
        let is_here = |page: usize| geometry.die_of(geometry.block_of(Ppn::at(page))) == die;
        let valid = newest.values().filter(|(_, _, page)| is_here(*page)).count();
        format!(
            "die {die}: {free} free blocks, {erased} erased pages, {bad} bad blocks; {valid} pages are the newest of theirs"
        )
    };
    (0..geometry.dies()).map(line).collect()
}
