//! The canary: a small page-mapped scheme that can be told to break each promise in a certain way.
//!
//! It tests the tests. Healthy, it passes every case; with one of its bugs planted, the suite must
//! catch it and name the promise that was broken. It shares no code with the schemes and their
//! parts, so that a bug in those cannot hide here, and it is not in the registry: nobody can choose
//! it for real work.
//!
//! One open block is filled in order. When a single free block is left, the closed block with the
//! fewest valid pages is copied into it and erased. The planted bugs are the kinds that real
//! schemes have had; most of them do nothing wrong until blocks are collected, which is where such
//! bugs live.
//!
//! In front of any stack there may be a buffer of the same kind, `canary-buffer`
//! (`canary/front.rs`).
//!
//! With `level=2`, or a bug of a leveller, wear is levelled at every so many writes
//! (`canary/levelling.rs`).
//!
//! A trimmed page keeps its data until a flush. The flush writes the translation page of every
//! logical page that was trimmed since the last one, and of no other; a translation page has two
//! map entries, since that is what fits into a stamp. So an entry may be older than the data of its
//! page. Recovery begins with the translation pages (`canary/recovery.rs`).
//!
//! In idle time the canary collects one block, if the prices of the operations say that there is
//! time for it.
//!
//! Its invariant: I1, free blocks are erased. It is silent about maps on purpose: what a scheme
//! does not check itself the suite must find from outside.

use std::collections::VecDeque;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use flash::{Geometry, Lpn, Page, PageData, Pbn, Ppn, Role};
use ftl::{
    AnyDevice, BrokenInvariant, Cause, ConfigError, Drive, FileEvent, FlashOp, FlashPort, Footprint, FtlError, Label,
    Layout, Mapping, Nanos, RecoverError, RelocateOutcome, Request, Settings, Stack, WearQuery,
};

use crate::stamp::Stamp;

mod bug;
mod front;
mod levelling;
mod recovery;
mod relocation;

pub use bug::Bug;
pub(crate) use front::taken_off;
pub use front::{BUFFER, BufferBug};

/// The scheme's name in replay lines.
pub const NAME: &str = "canary";

/// The canary's settings, if a stack is one; the canary goes alone.
pub fn settings_in(stack: &Stack) -> Result<Option<&Settings>, ConfigError> {
    if stack.mapping.name != NAME {
        return Ok(None);
    }
    if !stack.is_bare() {
        return Err(ConfigError(format!("{stack}: the canary takes no further parts; leave them out")));
    }
    Ok(Some(&stack.mapping.settings))
}

/// Builds a canary with the bug that `settings` name under `bug`, or without one.
pub fn create(settings: &Settings, layout: &Layout) -> Result<Drive<AnyDevice>, ConfigError> {
    Ok(Drive::new(Box::new(Canary::format(layout, settings)?), layout))
}

/// Brings a canary back from what the flash holds.
pub fn recover(
    settings: &Settings,
    layout: &Layout,
    flash: &mut FlashPort<AnyDevice>,
) -> Result<Drive<AnyDevice>, RecoverError> {
    let mut canary = Canary::format(layout, settings)?;
    flash.with_cause(Cause::Recovery, |flash| canary.restore(layout, flash))?;
    Ok(Drive::new(Box::new(canary), layout))
}

/// What becomes of a logical page that is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Live,
    /// It was trimmed, and its data stays where it is until a flush.
    Pending,
}

/// Blocks that hold no promised page: the open one, and the one that a collection copies into.
const SPARE_BLOCKS: u64 = 2;

struct Canary {
    bug: Bug,
    geometry: Geometry,
    map: Vec<Option<Ppn>>,
    life: Vec<Life>,
    /// Where the translation pages lie.
    directory: Vec<Option<Ppn>>,
    free: VecDeque<Pbn>,
    closed: Vec<Pbn>,
    open: Option<(Pbn, u32)>,
    valid: Vec<bool>,
    whims: RandomState,
    events: u64,
    erases: Vec<u32>,
    /// Wear is levelled at every so many writes; 0 for never.
    level_every: usize,
    writes: usize,
    is_levelling: bool,
}

impl Canary {
    fn format(layout: &Layout, settings: &Settings) -> Result<Self, ConfigError> {
        if layout.exposure.is_some() {
            return Err(ConfigError(
                "canary: fills no blocks up; leave volatile and paired out of the geometry".into(),
            ));
        }
        let (bug, level_every) = bug::chosen(settings)?;
        let usable = (layout.good_blocks.len() as u64).saturating_sub(SPARE_BLOCKS);
        let capacity = usable * u64::from(layout.geometry.pages_per_block());
        let translation_pages = layout.logical_pages.div_ceil(ENTRIES_PER_PAGE);
        if u64::from(layout.logical_pages) + u64::from(translation_pages) > capacity {
            return Err(ConfigError(format!(
                "canary: {} logical and {translation_pages} translation pages, but only {capacity} fit beside \
                 {SPARE_BLOCKS} spare blocks; use fewer",
                layout.logical_pages
            )));
        }
        Ok(Self {
            bug,
            geometry: layout.geometry,
            map: vec![None; layout.logical_pages as usize],
            life: vec![Life::Live; layout.logical_pages as usize],
            directory: vec![None; translation_pages as usize],
            free: layout.good_blocks.iter().copied().collect(),
            closed: Vec::new(),
            open: None,
            valid: vec![false; layout.geometry.pages() as usize],
            whims: RandomState::new(),
            events: 0,
            erases: vec![0; layout.geometry.blocks() as usize],
            level_every,
            writes: 0,
            is_levelling: false,
        })
    }

    fn map(&mut self, lpn: Lpn, to: Option<Ppn>) {
        let block_of = |ppn: Ppn| self.geometry.block_of(ppn);
        let old = self.map[lpn.index()];
        if self.bug == Bug::StaleRead && old.is_some() && old.map(block_of) == to.map(block_of) {
            return;
        }
        self.map[lpn.index()] = to;
        self.life[lpn.index()] = Life::Live;
        if let Some(old) = old {
            self.valid[old.index()] = false;
        }
        if let Some(new) = to {
            self.valid[new.index()] = true;
        }
    }

    /// The next page of the open block; `None` when it is full.
    fn next_page(&mut self) -> Option<Ppn> {
        let (block, offset) = self.open?;
        if offset == self.geometry.pages_per_block() {
            self.closed.push(block);
            self.open = None;
            return None;
        }
        self.open = Some((block, offset + 1));
        let offset = match (self.bug, offset) {
            (Bug::OutOfOrderProgram, 1) if self.geometry.pages_per_block() > 2 => 2,
            (Bug::OutOfOrderProgram, 2) => 1,
            _ => offset,
        };
        Some(self.geometry.page(block, offset))
    }

    fn open_block(&mut self, flash: &mut FlashPort<AnyDevice>) -> Result<(), FtlError> {
        let block = self.free.pop_front().ok_or(FtlError::OutOfSpace { wanted: "the open block" })?;
        if self.bug == Bug::DirtyFreeBlock && flash.chip().next_page(block) > 0 {
            flash.with_cause(Cause::Collection, |flash| self.erase(flash, block))?;
        }
        self.open = Some((block, 0));
        Ok(())
    }

    fn place(&mut self, flash: &mut FlashPort<AnyDevice>) -> Result<Ppn, FtlError> {
        loop {
            if let Some(ppn) = self.next_page() {
                return Ok(ppn);
            }
            if self.free.len() > 1 {
                self.open_block(flash)?;
            } else {
                self.collect(flash)?;
            }
        }
    }

    fn collect(&mut self, flash: &mut FlashPort<AnyDevice>) -> Result<(), FtlError> {
        let victim = self.take_victim().ok_or(FtlError::OutOfSpace { wanted: "a collection" })?;
        self.open_block(flash)?;
        let cause = if self.bug == Bug::MiscountedCollection { Cause::Host } else { Cause::Collection };
        flash.with_cause(cause, |flash| self.move_out(flash, victim))?;
        self.events += 1;
        if self.bug != Bug::LeakedBlock || !self.events.is_multiple_of(4) {
            self.free.push_back(victim);
        }
        Ok(())
    }

    /// The closed block with the fewest valid pages, if collecting it gains any.
    fn take_victim(&mut self) -> Option<Pbn> {
        let full = u64::from(self.geometry.pages_per_block());
        let count = |pbn: Pbn| self.geometry.page_indices(pbn).filter(|&page| self.valid[page]).count() as u64;
        let rank = |pbn: Pbn| match self.bug {
            Bug::Unrepeatable => (count(pbn), self.whims.hash_one(pbn)),
            Bug::Livelock => (full - count(pbn), 0),
            _ => (count(pbn), 0),
        };
        let (place, victim) = (0..).zip(&self.closed).min_by_key(|&(_, &pbn)| rank(pbn))?;
        let gains = count(*victim) < full;
        (gains || self.bug == Bug::Livelock).then(|| self.closed.remove(place))
    }

    /// The valid pages of a block, in order.
    fn valid_in(&self, pbn: Pbn) -> Vec<Ppn> {
        self.geometry.page_indices(pbn).filter(|&page| self.valid[page]).map(Ppn::at).collect()
    }

    fn move_out(&mut self, flash: &mut FlashPort<AnyDevice>, victim: Pbn) -> Result<(), FtlError> {
        if self.bug == Bug::EarlyErase {
            self.erase(flash, victim)?;
        }
        let mut pages = self.valid_in(victim);
        if self.bug == Bug::LostWrite
            && let Some(lost) = pages.pop()
        {
            self.forget(lost);
        }
        let last = pages.len().checked_sub(1).filter(|_| self.bug == Bug::EraseBeforeCopy);
        for (i, from) in pages.into_iter().enumerate() {
            let page = flash.read(from)?;
            if Some(i) == last {
                self.erase(flash, victim)?;
            }
            self.move_page(flash, from, page)?;
        }
        match self.bug {
            Bug::EarlyErase | Bug::DirtyFreeBlock => Ok(()),
            Bug::EraseBeforeCopy if last.is_some() => Ok(()),
            _ => self.erase(flash, victim),
        }
    }

    fn move_page(&mut self, flash: &mut FlashPort<AnyDevice>, from: Ppn, page: Page<PageData>) -> Result<(), FtlError> {
        let Some(to) = self.next_page() else { return Err(FtlError::OutOfSpace { wanted: "a valid page" }) };
        let logical = page.logical;
        if self.directory.get(logical as usize) == Some(&Some(from)) {
            flash.program_copy(to, label(logical, Role::Translation), page)?;
            self.relocate(logical, to);
            return Ok(());
        }
        let lpn = Lpn::new(logical);
        let life = self.life[lpn.index()];
        flash.program_copy(to, label(logical, Role::Collected), page)?;
        self.valid[from.index()] = false;
        self.map(lpn, Some(to));
        self.life[lpn.index()] = life;
        Ok(())
    }

    /// Pages are trimmed; their data stay where they are until a flush.
    fn forget_until_flush(&mut self, request: &Request) {
        for (_, lpn) in request.lpns() {
            if self.map[lpn.index()].is_some() && self.life[lpn.index()] == Life::Live {
                self.life[lpn.index()] = Life::Pending;
            }
        }
    }

    fn forget(&mut self, ppn: Ppn) {
        self.valid[ppn.index()] = false;
        let mut entries = self.map.iter_mut().chain(&mut self.directory);
        if let Some(entry) = entries.find(|entry| **entry == Some(ppn)) {
            *entry = None;
        }
    }
}

impl Mapping<AnyDevice> for Canary {
    fn read(
        &mut self,
        flash: &mut FlashPort<AnyDevice>,
        request: &Request,
        out: &mut [PageData],
    ) -> Result<(), FtlError> {
        for (i, lpn) in request.lpns() {
            out[i] = match self.map[lpn.index()] {
                Some(ppn) if self.life[lpn.index()] == Life::Live => flash.read(ppn)?.data,
                _ => PageData::default(),
            };
        }
        Ok(())
    }

    fn write(
        &mut self,
        flash: &mut FlashPort<AnyDevice>,
        request: &Request,
        data: &[PageData],
    ) -> Result<(), FtlError> {
        let mut first = None;
        for (i, lpn) in request.lpns() {
            let to = self.place(flash)?;
            self.events += 1;
            let miscounted = self.bug == Bug::MiscountedHost && self.events.is_multiple_of(3);
            let cause = if miscounted { Cause::Merge } else { Cause::Host };
            let is_repeated = self.bug == Bug::HintedContent && request.hint.stream() != 0;
            let content = data[if is_repeated { 0 } else { i }].clone();
            flash.with_cause(cause, |flash| flash.program(to, label(lpn.get(), Role::Data), content))?;
            let reaches_beyond = self.bug == Bug::Panic && self.map[lpn.index()].is_some();
            let lpn = if reaches_beyond && lpn.index() + 1 == self.map.len() { Lpn::at(self.map.len()) } else { lpn };
            let doubled = first.filter(|_| self.bug == Bug::DoubleMap && i == 1);
            self.map(lpn, doubled.or(Some(to)));
            first = first.or(Some(to));
        }
        self.level(flash)
    }

    fn trim(&mut self, _flash: &mut FlashPort<AnyDevice>, request: &Request) -> Result<(), FtlError> {
        let spared = u32::from(self.bug == Bug::ForgottenTrim && request.pages > 1);
        self.forget_until_flush(&Request { pages: request.pages - spared, ..*request });
        Ok(())
    }

    fn flush(&mut self, flash: &mut FlashPort<AnyDevice>) -> Result<(), FtlError> {
        flash.with_cause(Cause::Mapping, |flash| self.write_trims_down(flash))
    }

    fn on_file_event(&mut self, event: FileEvent, of: &Request) {
        if self.bug == Bug::DeletedAsTrimmed && event == FileEvent::Deleted {
            self.forget_until_flush(of);
        }
    }

    fn idle(&mut self, flash: &mut FlashPort<AnyDevice>, budget: Nanos) -> Result<(), FtlError> {
        self.use_idle_time(flash, budget)
    }

    fn relocate_block(&mut self, flash: &mut FlashPort<AnyDevice>, pbn: Pbn) -> Result<RelocateOutcome, FtlError> {
        flash.with_cause(Cause::WearLevelling, |flash| self.empty(flash, pbn))
    }

    fn with_wear_policy(&mut self, query: WearQuery<'_>) {
        self.tell(query);
    }

    fn check(&self, flash: &FlashPort<AnyDevice>) -> Result<(), BrokenInvariant> {
        self.free.iter().try_for_each(|&pbn| {
            BrokenInvariant::unless(flash.chip().next_page(pbn) == 0, "I1", || format!("{pbn} is free but not erased"))
        })
    }

    fn footprint(&self) -> Footprint {
        let grown = if self.bug == Bug::GrowingFootprint { self.closed.len() } else { 0 };
        Footprint::default().with("page map", 4 * (self.map.len() + grown) as u64, 0)
    }
}

fn label(logical: u32, role: Role) -> Label {
    Label::new(logical, role)
}

/// Map entries in a translation page: 32 bits each, the page number plus one, or zero for none.
const ENTRIES_PER_PAGE: u32 = 2;

/// The translation page of a logical page.
fn page_of(lpn: u32) -> u32 {
    lpn / ENTRIES_PER_PAGE
}

/// The entries of a translation page.
fn entries(page: u32, content: Stamp) -> impl Iterator<Item = (u32, Option<Ppn>)> {
    (0..ENTRIES_PER_PAGE).map(move |place| {
        let word = (content >> (32 * place)) as u32;
        (page * ENTRIES_PER_PAGE + place, word.checked_sub(1).map(Ppn::new))
    })
}

impl Canary {
    /// Collects one block, if that gains anything and is done in time.
    fn use_idle_time(&mut self, flash: &mut FlashPort<AnyDevice>, budget: Nanos) -> Result<(), FtlError> {
        // A free block is left for the next collection. The other bugs are to be found without
        // this.
        let uses_it = matches!(self.bug, Bug::None | Bug::IdleLosesPage | Bug::IdleOverruns);
        let Some(victim) = (uses_it && self.free.len() > 1).then(|| self.take_victim()).flatten() else {
            return Ok(());
        };
        if self.cost(flash, victim) > budget && self.bug != Bug::IdleOverruns {
            self.closed.push(victim);
            return Ok(());
        }
        if self.bug == Bug::IdleLosesPage
            && let Some(lost) = self.valid_in(victim).pop()
        {
            self.forget(lost);
        }
        flash.with_cause(Cause::Collection, |flash| self.empty(flash, victim)).map(drop)
    }

    fn cost(&self, flash: &mut FlashPort<AnyDevice>, victim: Pbn) -> Nanos {
        let [read, program, erase] = FlashOp::ALL.map(|op| flash.estimate(op, victim).0);
        Nanos(self.valid_in(victim).len() as u64 * (read + program) + erase)
    }
}

impl Canary {
    /// Writes down which pages are trimmed.
    fn write_trims_down(&mut self, flash: &mut FlashPort<AnyDevice>) -> Result<(), FtlError> {
        for page in 0..self.directory.len() as u32 {
            if self.pages_of(page).any(|lpn| self.life[lpn.index()] == Life::Pending) {
                let to = self.place(flash)?;
                // Making room may have moved what the entries say.
                flash.program(to, label(page, Role::Translation), self.content(page).into())?;
                self.relocate(page, to);
                for lpn in self.pages_of(page) {
                    if self.life[lpn.index()] == Life::Pending {
                        self.map(lpn, None);
                    }
                }
            }
        }
        Ok(())
    }

    /// A translation page lies elsewhere now.
    fn relocate(&mut self, page: u32, to: Ppn) {
        if let Some(old) = self.directory[page as usize].replace(to) {
            self.valid[old.index()] = false;
        }
        self.valid[to.index()] = true;
    }

    fn pages_of(&self, page: u32) -> impl Iterator<Item = Lpn> + use<> {
        let pages = self.map.len() as u32;
        (page * ENTRIES_PER_PAGE..pages.min((page + 1) * ENTRIES_PER_PAGE)).map(Lpn::new)
    }

    fn content(&self, page: u32) -> Stamp {
        let word = |lpn: Lpn| match (self.life[lpn.index()], self.map[lpn.index()]) {
            (Life::Live, Some(ppn)) => u64::from(ppn.get()) + 1,
            _ => 0,
        };
        (0..).zip(self.pages_of(page)).map(|(place, lpn)| word(lpn) << (32 * place)).sum()
    }
}
