//! Blocks that a scheme has lost track of.
//!
//! A scheme that loses free blocks runs out of them later, at a request that has nothing to do with
//! it: it finds no free block, or erases the few that are left over and over. What gives it away is
//! a block without a valid page that it passes over all the while: one that it never erases, or one
//! that it erased and never programs again.
//!
//! A page is valid here if it is the newest of what it names, by the versions of the tags and by
//! the trims that the host has flushed. So the map of the scheme does not matter. Where pages are
//! equally new, as after a copy, the one that was programmed last is valid; when the power comes
//! on, all of them are.
//!
//! It looks only when a scheme ran out of blocks, and it does not know the scheme's order. So a
//! block that is partly programmed counts as open if that was done since the power came on, unless
//! as many others as there are have been erased meanwhile. The same holds of every block of a
//! scheme that erases without end. A scheme that gives up has lost as many erased blocks as it has
//! more than it once did with. One that erases without end has lost those that were erased before
//! blocks that it took instead.

use std::collections::{BTreeMap, BTreeSet};

use flash::{Cell, FlashError, Pbn, Ppn, Role, Rule, Tag};
use ftl::{FlashOp, FtlError};

use crate::case::operation::{Effect, Operation};
use crate::report::black_box::{Event, Journal, Mark};
use crate::report::failure::{Failure, Fault};
use crate::report::wording;
use crate::stamp::Stamp;

/// Erases of a block, with nothing programmed in between, that no scheme needs.
const USELESS_ERASES: u32 = 3;

/// Blocks that are named.
const MOST_NAMED: usize = 4;

/// The blocks that have leaked, in words, and the first of them.
pub(crate) struct Leak {
    pub(crate) pbn: Pbn,
    pub(crate) line: String,
}

/// How a scheme ran out of blocks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Exhaustion {
    /// It said that there is none.
    GaveUp,
    /// It went on erasing.
    Endless,
}

impl Leak {
    /// The leak that a failure comes from, if it comes from one.
    pub(crate) fn of(failure: &Failure, journal: &Journal) -> Option<Self> {
        let how = exhaustion(failure)?;
        let mut blocks = Blocks::new(journal);
        blocks.follow(journal);
        let mut lost = blocks.lost(journal, how);
        lost.sort_by_key(|&(pbn, _)| (blocks.uses[pbn.index()].valid_until, pbn));
        let (first, what) = lost.first()?.clone();
        let others: Vec<_> = lost[1..].iter().filter(|(_, its)| *its == what).map(|(pbn, _)| pbn.to_string()).collect();
        let named = others[..others.len().min(MOST_NAMED - 1)].join(", ");
        let others = match others.len() {
            0 => String::new(),
            few if few < MOST_NAMED => format!("; the same befell {named}"),
            many => format!("; the same befell {named} and {} more", many - (MOST_NAMED - 1)),
        };
        let since = blocks.uses[first.index()].valid_until.map_or_else(
            || "the power came on".to_owned(),
            |at| format!("operation {at}{} ({})", after_cut(journal), done(journal, at)),
        );
        Some(Self {
            pbn: first,
            line: format!("block leak: {first} holds no valid page since {since}, {what}{others}"),
        })
    }
}

/// How the scheme ran out, if it did.
fn exhaustion(failure: &Failure) -> Option<Exhaustion> {
    match &failure.fault {
        Fault::Stopped(FtlError::OutOfSpace { .. }) => Some(Exhaustion::GaveUp),
        Fault::Stopped(FtlError::Flash { error: FlashError::Violation(violation), .. }) => {
            (violation.rule == Rule::WithinEndurance).then_some(Exhaustion::Endless)
        }
        Fault::Stopped(FtlError::Failed { message }) | Fault::Panicked(message) => {
            let said = wording::said(message).to_ascii_lowercase();
            let words = [
                "free",
                "empty",
                "space",
                "room",
                "no block",
                "out of blocks",
                "stopiteration",
                "recursion",
                "call_seconds",
            ];
            words.iter().any(|word| said.contains(word)).then_some(Exhaustion::GaveUp)
        }
        _ => None,
    }
}

/// From when on operations are counted, unless that is the format.
fn after_cut(journal: &Journal) -> &'static str {
    let is_used = journal.start.iter().any(|cell| *cell != Cell::Erased);
    if is_used { " after the cut" } else { "" }
}

/// The operation that took the last valid page, and the request in which it was.
fn done(journal: &Journal, at: usize) -> String {
    let request = journal.marks.iter().take_while(|(before, _)| *before <= at).filter_map(|(_, mark)| match mark {
        Mark::Request(operation) => Some(operation),
        _ => None,
    });
    let what = journal.events.get(at).map(|event| match event.target.ppn {
        Some(ppn) => format!("{} of {ppn}", event.target.op.name()),
        None => format!("{} of {}", event.target.op.name(), event.target.pbn),
    });
    let request = request.last().map(|operation| format!("in {operation}"));
    what.into_iter().chain(request).collect::<Vec<_>>().join(", ")
}

/// What a page is about: its role decides which numbers its tag counts by.
type Named = (bool, u32);

/// The newest pages that name something.
#[derive(Default)]
struct Newest {
    version: u64,
    is_trim: bool,
    places: BTreeSet<Ppn>,
}

/// What became of a block.
#[derive(Clone, Copy, Default)]
struct Use {
    valid: u32,
    /// The operation since which none of its pages is valid; none if none was when the power came
    /// on.
    valid_until: Option<usize>,
    /// Operations that did something to it.
    programmed: Option<usize>,
    erased: Option<usize>,
    /// Erases since it was programmed.
    erases: u32,
    is_erased: bool,
}

impl Newest {
    /// What a tag says, and no page yet.
    fn of(tag: &Tag) -> Self {
        Self { version: tag.version, is_trim: tag.role == Role::Trimmed, places: BTreeSet::new() }
    }
}

/// Follows a journal, and knows of each block what it holds.
struct Blocks {
    uses: Vec<Use>,
    /// The newest version of everything, and the pages that hold it.
    newest: BTreeMap<Named, Newest>,
    /// What was trimmed since the last flush, and the version that it had.
    trimmed: Vec<(Named, u64)>,
    /// Erases: the operation and the block.
    erases: Vec<(usize, Pbn)>,
    /// The fewest erased blocks that there were at a time.
    fewest_erased: usize,
    /// Operations before the power came on last.
    power_on: usize,
}

impl Blocks {
    fn new(journal: &Journal) -> Self {
        let is_erased = |pbn: Pbn| journal.geometry.page_indices(pbn).all(|page| journal.start[page] == Cell::Erased);
        let good = |pbn: &Pbn| !journal.bad.contains(pbn);
        let use_of = |pbn: Pbn| Use { is_erased: good(&pbn) && is_erased(pbn), ..Use::default() };
        let uses: Vec<_> = (0..journal.geometry.blocks()).map(Pbn::new).map(use_of).collect();
        let fewest_erased = uses.len();
        let mut blocks =
            Self { uses, newest: BTreeMap::new(), trimmed: Vec::new(), erases: Vec::new(), fewest_erased, power_on: 0 };
        for (page, cell) in journal.start.iter().enumerate() {
            let Cell::Programmed(tag, _) = cell else { continue };
            for named in named(tag) {
                let newest = blocks.newest.entry(named).or_default();
                if tag.version > newest.version {
                    *newest = Newest::of(tag);
                }
                if tag.version == newest.version {
                    newest.places.insert(Ppn::at(page));
                }
            }
        }
        for ppn in blocks.newest.values().flat_map(|newest| &newest.places) {
            blocks.uses[journal.geometry.block_of(*ppn).index()].valid += 1;
        }
        blocks
    }

    fn follow(&mut self, journal: &Journal) {
        let mut marks = journal.marks.iter().peekable();
        let mut request = None;
        for at in 0..=journal.events.len() {
            while let Some((_, mark)) = marks.next_if(|(before, _)| *before <= at) {
                match mark {
                    Mark::Request(operation) => request = Some(*operation),
                    Mark::Acknowledged => self.acknowledged(journal, at, request.take()),
                    Mark::PowerOn => (request, self.power_on) = (None, at),
                    Mark::Recovered => request = None,
                }
            }
            if let Some(event) = journal.events.get(at) {
                self.event(journal, at, event);
            }
        }
    }

    fn event(&mut self, journal: &Journal, at: usize, event: &Event) {
        let used = &mut self.uses[event.target.pbn.index()];
        match event.target.op {
            FlashOp::Read => return,
            FlashOp::Program => (used.programmed, used.erases, used.is_erased) = (Some(at), 0, false),
            FlashOp::Erase => {
                (used.erased, used.erases, used.is_erased) = (Some(at), used.erases + 1, event.error.is_none());
                self.erases.push((at, event.target.pbn));
            }
        }
        self.fewest_erased = self.fewest_erased.min(self.uses.iter().filter(|used| used.is_erased).count());
        for (ppn, tag, _) in &event.lost {
            named(tag).for_each(|named| self.forget(journal, at, named, Some(*ppn)));
        }
        for (ppn, tag, _) in &event.gained {
            for named in named(tag) {
                if self.newest.get(&named).is_none_or(|newest| tag.version >= newest.version) {
                    self.forget(journal, at, named, None);
                    self.newest.insert(named, Newest { places: BTreeSet::from([*ppn]), ..Newest::of(tag) });
                    self.uses[event.target.pbn.index()].valid += 1;
                }
            }
        }
    }

    /// The host knows that pages are trimmed, and then that this will last: data of them are valid
    /// no more.
    fn acknowledged(&mut self, journal: &Journal, at: usize, request: Option<Operation>) {
        match request.map(|operation| operation.effect()) {
            Some(Effect::Trims(extent)) => {
                let names = extent.lpns().map(|lpn| (false, lpn.get()));
                let data = names.filter_map(|named| Some((named, self.newest.get(&named)?)));
                let trimmed = data.filter(|(_, newest)| !newest.is_trim).map(|(named, newest)| (named, newest.version));
                self.trimmed.extend(trimmed.collect::<Vec<_>>());
            }
            Some(Effect::MakesDurable) => {
                for (named, version) in std::mem::take(&mut self.trimmed) {
                    if self.newest.get(&named).is_some_and(|newest| newest.version == version) {
                        self.forget(journal, at.saturating_sub(1), named, None);
                    }
                }
            }
            _ => {}
        }
    }

    /// A page is no longer valid, or none of those that name something is.
    fn forget(&mut self, journal: &Journal, at: usize, named: Named, only: Option<Ppn>) {
        let Some(Newest { places, .. }) = self.newest.get_mut(&named) else { return };
        let gone: BTreeSet<_> = match only {
            Some(ppn) => places.take(&ppn).into_iter().collect(),
            None => std::mem::take(places),
        };
        for ppn in gone {
            let used = &mut self.uses[journal.geometry.block_of(ppn).index()];
            used.valid -= 1;
            if used.valid == 0 {
                used.valid_until = Some(at);
            }
        }
    }

    /// Blocks that were passed over, and what became of them.
    fn lost(&self, journal: &Journal, how: Exhaustion) -> Vec<(Pbn, String)> {
        let blocks = (0..journal.geometry.blocks()).map(Pbn::new);
        let (mut erased, programmed): (Vec<_>, Vec<_>) = blocks
            .filter(|pbn| self.uses[pbn.index()].valid == 0 && !journal.bad.contains(pbn))
            .partition(|pbn| self.uses[pbn.index()].is_erased);
        if how == Exhaustion::GaveUp {
            erased.sort_by_key(|pbn| self.uses[pbn.index()].erased);
            erased.truncate(erased.len().saturating_sub(self.fewest_erased));
        } else {
            erased.retain(|&pbn| self.is_passed_over(pbn));
        }
        let never_erased = programmed.into_iter().filter(|&pbn| self.is_never_erased(journal, how, pbn));
        let never_erased = never_erased.map(|pbn| (pbn, "and was never erased".to_owned()));
        let idle = erased.into_iter().map(|pbn| {
            let used = self.uses[pbn.index()];
            let what = match used.erases {
                0 => "and was never programmed".to_owned(),
                1 => "was erased, and never programmed again".to_owned(),
                many => format!("was erased {many} times, and never programmed again"),
            };
            (pbn, what)
        });
        never_erased.chain(idle).collect()
    }

    fn is_never_erased(&self, journal: &Journal, how: Exhaustion, pbn: Pbn) -> bool {
        let is_full = !cells(journal, pbn).iter().any(|cell| matches!(cell, Cell::Erased));
        let used = self.uses[pbn.index()];
        let is_left = used.programmed.is_none_or(|at| at < self.power_on);
        let since = used.valid_until.max(used.programmed);
        let others = self.erases.iter().filter(|(at, _)| since.is_none_or(|since| *at > since)).count();
        // The block that was being collected when the scheme gave up is none that it passed over.
        let is_passed_over = others > 0 || self.erases.is_empty();
        others >= self.uses.len() || ((is_full || is_left) && is_passed_over && how == Exhaustion::GaveUp)
    }

    /// Whether an erased block waits although one that was erased later was taken, or is erased
    /// instead of being used.
    fn is_passed_over(&self, pbn: Pbn) -> bool {
        let used = self.uses[pbn.index()];
        let is_later = |other: &&Use| other.erased > used.erased && other.programmed > other.erased;
        used.erases >= USELESS_ERASES || self.uses.iter().filter(is_later).count() >= 2
    }
}

fn cells(journal: &Journal, pbn: Pbn) -> &[Cell<Stamp>] {
    &journal.cells[journal.geometry.page_indices(pbn)]
}

/// Everything that a tag names.
fn named(tag: &Tag) -> impl Iterator<Item = Named> + use<> {
    let is_map = tag.role == Role::Translation;
    let names = match tag.role {
        Role::Summary | Role::Padding => 0..0,
        _ => tag.logical..tag.logical.saturating_add(tag.extent.max(1)),
    };
    names.map(move |number| (is_map, number))
}
