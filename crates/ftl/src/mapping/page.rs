//! # page: pure page-level mapping
//!
//! ## Idea
//! Every logical page may lie on any physical page, so every write is appended where a die is free and nothing is ever
//! rewritten for the map's sake. Consecutive writes go to consecutive channels and dies. Space comes back by garbage
//! collection: a block with few valid pages is chosen, those are copied, the block is erased. The price is RAM: the whole
//! map is kept there.
//!
//! ```text
//!   LPN ──map──▶ PPN      die 0   die 1   die 2   die 3
//!                         [h..]   [h..]   [h..]   [h..]    open blocks for host writes
//!                         [c..]   [c..]   [c..]   [c..]    open blocks for collected pages
//! ```
//!
//! ## Source
//! Baseline of W and R; striping and streams as in current SSDs.
//!
//! ## Departures
//! None of the papers says how dies are striped. Here the unit of striping is the page, dies are visited channels first,
//! and a die collects its own blocks: victims and their copies stay on one die.
//!
//! ## State
//! RAM: the map, 4 B × logical pages. Flash: the data itself; each page's tag carries its LPN.
//!
//! ## Read
//! 1. Pages of a request are looked up and read together; unmapped pages cost nothing.
//!
//! ## Write
//! 1. `append`: the next die in turn, collecting there first when it is short of free blocks. A page that fails is tried
//!    again elsewhere; its block is emptied as soon as there is room and marked bad (`empty_failing`).
//! 2. Program, release the old page, map the new one.
//!
//! ## Reclaim
//! 1. `reclaim` collects on one die until more than `gc_threshold` blocks are free there.
//! 2. `collect` copies a victim's valid pages to the die's collection stream, then erases it. The host does not wait for
//!    it, but the die is busy with it.
//!
//! ## Recover
//! 1. Of each LPN the highest version among all tags wins; a trim page speaks for every LPN of its run. With `checkpoint` a
//!    filled block's summary tells its tags (`parts/summary.rs`).
//! 2. Blocks that hold nothing newest are erased; the others are closed as they are.
//! 3. Trims are pending until a flush writes them down (`parts/trims.rs`); a cut before may bring the page back.
//!
//! ## Invariants
//! - I1: a mapped LPN points to a valid page whose tag carries that LPN.
//! - I2: there are as many valid pages as mapped LPNs and needed trim pages together (so no page is mapped twice and none
//!   is lost).
//! - I3: free blocks are erased and hold nothing valid; summaries are true.
//!
//! ## Costs
//! A host write costs A programs, A − 1 reads and A / b erases, where A is the write amplification of the victim policy at
//! the utilisation left after reserves (greedy: Van Houdt 2013 with d → ∞).

use flash::{Lpn, Pbn, Ppn, Role, long_array};

use crate::parts::page_space::{Needs, PageSpace, Stream};
use crate::parts::page_trims::{move_trim_page, replace_vanishing};
use crate::parts::prefetch::prefetch;
use crate::parts::summary::{self, Summaries};
use crate::parts::trims::Trims;
use crate::parts::victims::{self, Policy};
use crate::{
    BrokenInvariant, Cause, ConfigError, Content, Device, Entry, Footprint, Foresight, Ftl, FtlError, Kind, Label,
    Layout, Media, Note, Parameter, RecoverError, Request, Scheme, Spares, Values,
};

const HOST: Stream = 0;
const COLLECTED: Stream = 1;

/// Pure page-level mapping.
pub struct Page {
    map: Vec<Option<Ppn>>,
    trims: Trims,
    space: PageSpace,
    collected: Stream,
    moving: Vec<Ppn>,
}

impl Scheme for Page {
    const ENTRY: Entry = Entry {
        name: "page",
        family: "page",
        source: "W tab. I, R 2 (baseline)",
        parameters: &[
            victims::PARAMETERS[0],
            victims::PARAMETERS[1],
            victims::PARAMETERS[2],
            Parameter {
                name: "gc_threshold",
                kind: Kind::Integer { min: 1, max: 1 << 20 },
                default: "1",
                meaning: "Free blocks of a die at or below which it collects before opening another; more leaves less room for invalid pages.",
                source: "ftlkit",
            },
            Parameter {
                name: "streams",
                kind: Kind::Choice { of: &["separate", "shared"] },
                default: "separate",
                meaning: "Whether collected pages get open blocks of their own or share those of host writes.",
                source: "Van Houdt 2013b",
            },
            summary::PARAMETER,
        ],
        header: include_str!("page.rs"),
    };

    fn format(layout: &Layout, values: &Values) -> Result<Self, ConfigError> {
        let threshold = values.integer("gc_threshold") as usize;
        let streams = if values.word("streams") == "separate" { 2 } else { 1 };
        let needs = Needs {
            streams,
            policy: Policy::from_values(values),
            threshold,
            valid: u64::from(layout.logical_pages),
            summaries: Summaries::from_values(values, layout, "page")?,
        };
        // First, since it refuses what does not fit before the map is allocated.
        let space = PageSpace::format(layout, "page", needs)?;
        Ok(Self {
            map: long_array(None, layout.logical_pages as usize),
            trims: Trims::default(),
            space,
            collected: if streams == 2 { COLLECTED } else { HOST },
            moving: Vec::new(),
        })
    }

    fn recover<D: Device>(layout: &Layout, values: &Values, media: &mut Media<D>) -> Result<Self, RecoverError> {
        let mut page = Self::format(&layout.in_use(), values)?;
        let scanned = page.space.scan(media, layout)?;
        let newest = scanned.newest(layout.logical_pages);
        let kept = scanned.keep_one_copy(layout, &newest);
        let collected = page.collected;
        let stream = |role| if role == Role::Collected { collected } else { HOST };
        page.space = page.space.recover(media, layout, kept.pages.iter().map(|(ppn, tag)| (*ppn, stream(tag.role))))?;
        for &(ppn, tag) in &kept.pages {
            if tag.role == Role::Trimmed {
                page.trims.found(&tag, ppn, &newest);
            } else {
                page.map[tag.logical as usize] = Some(ppn);
            }
        }
        for &lpn in &kept.outdated {
            page.trims.guard(lpn);
        }
        Ok(page)
    }
}

impl<D: Device> Ftl<D> for Page {
    fn read(&mut self, media: &mut Media<D>, request: &Request, out: &mut [D::Data]) -> Result<(), FtlError> {
        media.together(request.lpns(), |media, (i, lpn)| {
            out[i] = match self.map[lpn.index()] {
                Some(ppn) => media.read(ppn)?.data,
                None => D::Data::default(),
            };
            Ok(())
        })
    }

    fn write(&mut self, media: &mut Media<D>, request: &Request, data: &[D::Data]) -> Result<(), FtlError> {
        media.together(request.lpns(), |media, (i, lpn)| {
            let to = self.append(media, Label::new(lpn.get(), Role::Data), &data[i])?;
            self.remap(lpn, Some(to));
            Ok(())
        })?;
        // Not with the next request, since the power may be cut before.
        if self.space.has_lost_reserve() {
            FtlError::unless_read_only(self.restore_reserves(media))?;
        }
        Ok(())
    }

    fn trim(&mut self, _media: &mut Media<D>, request: &Request) -> Result<(), FtlError> {
        for (_, lpn) in request.lpns() {
            self.remap(lpn, None);
        }
        Ok(())
    }

    fn flush(&mut self, media: &mut Media<D>) -> Result<(), FtlError> {
        media.because(Cause::Mapping, |media| self.write_trims_down(media))
    }

    fn foresee(&self, request: &Request, foresight: Foresight) {
        match foresight {
            Foresight::Far => prefetch(&self.map, request.lpn.index()),
            Foresight::Near => {
                if let Some(ppn) = self.map.get(request.lpn.index()).copied().flatten() {
                    self.space.prefetch(ppn);
                }
            }
            Foresight::Next => {}
        }
    }

    fn check(&self, media: &Media<D>) -> Result<(), BrokenInvariant> {
        let mut mapped = 0;
        for (lpn, ppn) in self.map.iter().enumerate().filter_map(|(lpn, ppn)| ppn.map(|ppn| (Lpn::at(lpn), ppn))) {
            let tag = media.device().peek(ppn);
            BrokenInvariant::unless(self.space.is_valid(ppn) && tag == Some(lpn.get()), "I1", || {
                format!("{lpn} maps to {ppn}, which carries {tag:?} (valid: {})", self.space.is_valid(ppn))
            })?;
            mapped += 1;
        }
        let (valid, trims) = (self.space.valid_pages(), self.trims.pages().count() as u64);
        BrokenInvariant::unless(mapped + trims == valid, "I2", || {
            format!("{mapped} LPNs are mapped and {trims} trim pages are needed, but {valid} pages are valid")
        })?;
        self.space.check(media, "I3")
    }

    fn spares(&self) -> Spares {
        self.space.spares()
    }

    fn footprint(&self) -> Footprint {
        let footprint = Footprint::default().with("page map", 4 * self.map.len() as u64, 0);
        self.space.add_summaries(footprint)
    }
}

impl Page {
    fn remap(&mut self, lpn: Lpn, to: Option<Ppn>) {
        match std::mem::replace(&mut self.map[lpn.index()], to) {
            Some(old) => {
                self.space.release(old);
                if to.is_none() {
                    self.trims.trimmed_at(lpn, old);
                }
            }
            None if to.is_some() => {
                if let Some(page) = self.trims.overwritten(lpn) {
                    self.space.release(page);
                }
            }
            None => {}
        }
    }

    /// Makes pending trims survive a power cut: a page for each run of trimmed pages.
    fn write_trims_down<D: Device>(&mut self, media: &mut Media<D>) -> Result<(), FtlError> {
        for (first, extent) in self.trims.pending_runs() {
            let to = self.append(media, Trims::label(first, extent), &D::Data::default())?;
            for page in self.trims.wrote(first, extent, to, media.last_version()) {
                self.space.release(page);
            }
        }
        Ok(())
    }

    /// Programs a page on the next die in turn that has a place for it; a page that fails is tried again elsewhere.
    #[inline]
    fn append<D: Device>(&mut self, media: &mut Media<D>, label: Label, data: &D::Data) -> Result<Ppn, FtlError> {
        loop {
            let die = self.next_die(media)?;
            if let Some(to) = self.space.program(media, die, HOST, label, Content::New(data.clone()))? {
                return Ok(to);
            }
        }
    }

    #[inline]
    fn next_die<D: Device>(&mut self, media: &mut Media<D>) -> Result<u32, FtlError> {
        self.space.spares().admit()?;
        if self.space.has_lost_reserve() {
            self.restore_reserves(media)?;
        }
        if self.space.has_failing() {
            self.empty_failing(media)?;
        }
        for _ in 0..self.space.dies() {
            let die = self.space.take_turn(HOST);
            self.reclaim(media, die)?;
            if !self.is_starved(die) {
                return Ok(die);
            }
        }
        Err(self.space.out_of_space("a host write"))
    }

    /// Whether a die has neither an open block with room (collecting into a shared stream may leave one) nor a free block
    /// to open.
    #[inline]
    fn is_starved(&self, die: u32) -> bool {
        !self.space.has_room(die, HOST) && self.space.is_short(die)
    }

    #[inline]
    fn reclaim<D: Device>(&mut self, media: &mut Media<D>, die: u32) -> Result<(), FtlError> {
        while self.is_starved(die) {
            let Some(victim) = self.space.take_victim(die) else { break };
            media
                .detached(|media| media.because(Cause::Collection, |media| self.collect(media, die, victim, false)))?;
        }
        Ok(())
    }

    /// Collects where failures have cost a die its last free block.
    #[cold]
    fn restore_reserves<D: Device>(&mut self, media: &mut Media<D>) -> Result<(), FtlError> {
        while self.space.has_lost_reserve()
            && let Some((die, victim)) = self.space.take_victim_for_reserve(self.collected, 1)
        {
            media
                .detached(|media| media.because(Cause::Collection, |media| self.collect(media, die, victim, false)))?;
        }
        Ok(())
    }

    /// Empties blocks in which a page could not be programmed, and marks them bad; but first collects, so that the reserve of
    /// their die stays whole. A block for which there is no room yet waits.
    #[cold]
    fn empty_failing<D: Device>(&mut self, media: &mut Media<D>) -> Result<(), FtlError> {
        for die in self.space.failing_dies() {
            while self.space.is_short(die)
                && let Some(victim) = self.space.take_victim(die)
            {
                media.detached(|media| {
                    media.because(Cause::Collection, |media| self.collect(media, die, victim, false))
                })?;
            }
            if !self.space.is_short(die)
                && let Some(block) = self.space.take_failing(die)
            {
                media.detached(|media| {
                    media.because(Cause::Relocation, |media| self.collect(media, die, block, true))
                })?;
            }
        }
        Ok(())
    }

    fn collect<D: Device>(&mut self, media: &mut Media<D>, die: u32, victim: Pbn, fails: bool) -> Result<(), FtlError> {
        media.note(Note::Collection);
        let mut moving = std::mem::take(&mut self.moving);
        self.space.list_valid(victim, &mut moving);
        for &from in &moving {
            if let Some(lpn) = media.device().peek(from) {
                prefetch(&self.map, lpn as usize);
            }
        }
        let mut done = 0;
        let moved = moving.iter().try_for_each(|&from| {
            self.move_page(media, die, from)?;
            done += 1;
            Ok(())
        });
        let Self { trims, space, collected, .. } = self;
        let moved = moved.and_then(|()| replace_vanishing(trims, space, media, (die, *collected), victim));
        if moved.is_err() {
            self.space.put_back(victim, &moving[..done], fails);
        }
        self.moving = moving;
        moved?;
        self.space.reclaim(media, victim, fails)
    }

    #[inline]
    fn move_page<D: Device>(&mut self, media: &mut Media<D>, die: u32, from: Ppn) -> Result<(), FtlError> {
        if move_trim_page(&mut self.trims, &mut self.space, media, (die, self.collected), from)? {
            return Ok(());
        }
        let (logical, role, content) = match media.read_to_move(from)? {
            Some(page) => (page.logical, Role::Collected, Content::Copy(page)),
            None => (self.lose(media, from), Role::Lost, Content::New(D::Data::default())),
        };
        let to = self.space.program_moved(media, die, self.collected, Label::new(logical, role), &content)?;
        self.map[logical as usize] = Some(to);
        Ok(())
    }

    /// The logical page that an unreadable page held: the map must be searched, since the tag is gone.
    #[cold]
    fn lose<D: Device>(&self, media: &mut Media<D>, ppn: Ppn) -> u32 {
        media.note(Note::LostPage);
        let lpn = self.map.iter().position(|&entry| entry == Some(ppn));
        lpn.map_or_else(|| unreachable!("I2: {ppn} is valid, so a logical page maps to it"), |lpn| lpn as u32)
    }
}
