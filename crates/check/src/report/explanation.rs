//! A failed case explained: what befell the flash, what it holds of the page in question, and what
//! was done with that page.

use std::collections::BTreeMap;
use std::fmt;

use flash::{Cell, FlashError, Lpn, Ppn, Role, Tag};
use ftl::{FlashOp, FtlError};

use crate::Stamp;
use crate::oracle::exact::{page_of, version_of};
use crate::report::black_box::{BlackBox, Journal, Target};
use crate::report::failure::{Failure, FailurePoint, Fault};
use crate::report::history::{History, Subject};
use crate::report::wording::{cut, names, operation, speaks_of, target};

/// Operations that a full explanation shows.
const OPERATIONS: usize = 20;

/// Operations that stand below a failure's own lines.
const FEW_OPERATIONS: usize = 4;

/// What is known of a failure from the flash, in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explanation {
    /// What the case does that its line does not name, if it failed there.
    pub beyond_line: Option<&'static str>,
    /// Operations at which the power was cut, in their order.
    pub cuts: Vec<String>,
    /// Operations that the flash could not do, in their order.
    pub faults: Vec<String>,
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
        let (subject, emptied) = subject(failure, kept);
        let history = History::of(kept, subject);
        let failed = journal.events.iter().filter(|event| event.error.is_some());
        let copies = if let Subject::Page(lpn) = subject { copies(&journal, lpn) } else { Vec::new() };
        Self {
            beyond_line: beyond_line(failure.place),
            cuts: kept.cuts.iter().map(cut).collect(),
            faults: failed.map(operation).collect(),
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

    /// The lines that matter: at most eleven, to stand below a failure's own. Where the power was
    /// cut, that matters more than what could not be read because of it.
    pub fn brief(&self) -> Vec<String> {
        let last = |lines: &[String], most: usize| lines[lines.len().saturating_sub(most)..].to_vec();
        let mut lines: Vec<_> = self.beyond_line.into_iter().map(str::to_owned).collect();
        lines.extend(last(if self.cuts.is_empty() { &self.faults } else { &self.cuts }, 2));
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

/// The logical page of which the refused operation touched a copy that had been erased, or its
/// block.
fn refused(kept: &BlackBox) -> (Subject, Option<String>) {
    let Some(latest) = &kept.latest else { return (Subject::Flash, None) };
    let journal = latest.borrow();
    let Some(Target { op, pbn, ppn, .. }) = journal.events.last().map(|event| event.target) else {
        return (Subject::Flash, None);
    };
    let before = kept.cuts.iter().filter_map(|cut| cut.before.as_ref());
    let held = |journal: &Journal, events: usize| {
        let events = journal.events[..events].iter().rev();
        let mut lost = events.flat_map(|event| event.lost.iter().map(move |content| (content, event)));
        let ((_, tag, stamp), event) = lost.find(|((lost, ..), _)| Some(*lost) == ppn)?;
        Some((*tag, *stamp, target(event.target, event.cause)))
    };
    let earlier = || before.rev().find_map(|(log, at)| held(&log.borrow(), *at));
    let found = if op == FlashOp::Read { held(&journal, journal.events.len()).or_else(earlier) } else { None };
    match found {
        Some((tag, stamp, erase)) if !matches!(tag.role, Role::Translation | Role::Summary) => {
            let lpn = Lpn::new(tag.logical);
            let held =
                ppn.map(|ppn| format!("{ppn} held {lpn}, the host's version {}, until the {erase}", version_of(stamp)));
            (Subject::Page(lpn), held)
        }
        _ => (Subject::Block(pbn), None),
    }
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
