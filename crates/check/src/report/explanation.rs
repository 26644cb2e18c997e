//! A failed case explained: what befell the flash, what it holds of the page in question, and what
//! was done last.

use std::collections::BTreeMap;
use std::fmt;

use flash::{Cell, Lpn, Ppn, Role, Tag, Tear};
use ftl::{Cause, FlashOp};

use crate::Stamp;
use crate::case::operation::Operation;
use crate::oracle::exact::{page_of, version_of};
use crate::report::black_box::{BlackBox, Event, Journal, StagedCut, Target};
use crate::report::failure::{Failure, FailurePoint, Fault};

/// Operations that a full explanation shows.
const OPERATIONS: usize = 20;

/// What is known of a failure from the flash, in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explanation {
    /// Operations at which the power was cut, in their order.
    pub cuts: Vec<String>,
    /// Operations that the flash could not do, in their order.
    pub faults: Vec<String>,
    /// The page in question, and each page on flash that names it, the newest first.
    pub copies: Vec<String>,
    /// The last operations, the last one last.
    pub operations: Vec<String>,
    /// What each die has left and holds.
    pub dies: Vec<String>,
}

impl Explanation {
    /// What the black box of a run tells of its failure.
    pub(crate) fn of(failure: &Failure, kept: &BlackBox) -> Self {
        let Some(latest) = &kept.latest else { return Self::default() };
        let journal = latest.borrow();
        let first = journal.events.len().saturating_sub(OPERATIONS);
        let failed = journal.events.iter().filter(|event| event.error.is_some());
        Self {
            cuts: kept.cuts.iter().map(cut).collect(),
            faults: failed.map(|event| operation(&journal, event)).collect(),
            copies: lpn(failure).map_or_else(Vec::new, |lpn| copies(&journal, lpn)),
            operations: journal.events[first..].iter().map(|event| operation(&journal, event)).collect(),
            dies: dies(&journal),
        }
    }

    /// The lines that matter: at most nine, to stand below a failure's own. Where the power was
    /// cut, that matters more than what could not be read because of it.
    pub fn brief(&self) -> Vec<String> {
        let last = |lines: &[String], most: usize| lines[lines.len().saturating_sub(most)..].to_vec();
        let mut lines = last(if self.cuts.is_empty() { &self.faults } else { &self.cuts }, 2);
        lines.extend(self.copies.iter().take(4).cloned());
        if !self.operations.is_empty() {
            lines.push("last flash operations:".into());
            lines.extend(last(&self.operations, 2).iter().map(|line| format!("  {line}")));
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
        let befell: Vec<_> = self.cuts.iter().chain(&self.faults).cloned().collect();
        section(f, "What befell the flash:", &befell)?;
        section(f, "The page in question:", &self.copies)?;
        section(f, "The last flash operations:", &self.operations)?;
        section(f, "The dies:", &self.dies)
    }
}

/// The logical page that a failure is about, as far as that is one.
fn lpn(failure: &Failure) -> Option<Lpn> {
    if let Fault::WrongContent(mismatch) = &failure.fault {
        return Some(mismatch.lpn);
    }
    let (FailurePoint::Request(_, operation)
    | FailurePoint::Prefill(operation)
    | FailurePoint::AfterCut(_, operation, _)) = failure.place
    else {
        return None;
    };
    let one = |operation: Operation| operation.extent().filter(|extent| extent.pages == 1);
    one(operation).map(|extent| Lpn::new(extent.first))
}

fn cut(cut: &StagedCut) -> String {
    let how = match cut.tear {
        Tear::Before => "before it had any effect",
        Tear::Unseen => "so early that what it touched reads as before",
        Tear::Torn => "in the middle of it",
        Tear::After => "just after it",
    };
    match cut.hit {
        Some(hit) => format!("the power was cut at the {}, {how}", target(hit, cut.cause)),
        None => "the power was cut after the last operation".into(),
    }
}

fn target(target: Target, cause: Option<Cause>) -> String {
    let Target { op, pbn, ppn, tag } = target;
    let place = ppn.map_or_else(|| pbn.to_string(), |ppn| format!("{ppn} ({pbn})"));
    let what = tag.map_or_else(String::new, |tag| format!(", {}", names(&tag)));
    let why = cause.map_or_else(String::new, |cause| format!(", cause {}", cause.name()));
    format!("{} of {place}{what}{why}", op.name())
}

/// What a tag says.
fn names(tag: &Tag) -> String {
    let Tag { logical, extent, version, seq, .. } = tag;
    let numbers = format!("version {version}, seq {seq}");
    match tag.role {
        Role::Trimmed => format!("which says that {extent} pages from LPN {logical} on are trimmed, {numbers}"),
        Role::Translation => format!("translation page {logical}, {numbers}"),
        Role::Summary => format!("a summary of its block, {numbers}"),
        Role::Lost => format!("which says that LPN {logical} is lost, {numbers}"),
        Role::Collected => format!("LPN {logical}, collected, {numbers}"),
        Role::Data | Role::SequentialLog | Role::RandomLog => format!("LPN {logical}, {numbers}"),
    }
}

fn operation(journal: &Journal, event: &Event) -> String {
    let mut shown = event.target;
    if let (FlashOp::Read, Some(ppn)) = (shown.op, shown.ppn)
        && let Cell::Programmed(tag, _) = &journal.cells[ppn.index()]
    {
        shown.tag = Some(*tag);
    }
    let failed = event.error.as_ref().map_or_else(String::new, |error| format!(": {error}"));
    format!("{}{failed}", target(shown, event.cause))
}

/// Whether a tag speaks of a logical page.
fn speaks_of(tag: &Tag, lpn: Lpn) -> bool {
    let is_mine = !matches!(tag.role, Role::Translation | Role::Summary);
    is_mine && (tag.logical..tag.logical.saturating_add(tag.extent)).contains(&lpn.get())
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
    std::iter::once(head).chain(found.into_iter().map(copy)).collect()
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
