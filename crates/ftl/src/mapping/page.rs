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
//! Baseline of WAFTL and RFTL; striping and streams as in current SSDs.
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
//!    filled block's summary tells its tags (`parts/recovery/summary.rs`).
//! 2. Blocks that hold nothing newest are erased; the others are closed as they are.
//! 3. Trims are pending until a flush writes them down (`parts/recovery/trims.rs`); a cut before may bring the page back.
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

use crate::parameter::joined;
use crate::parts::blocks::owner::Blocks;
use crate::parts::blocks::victims::{self, Policy};
use crate::parts::memory::prefetch::prefetch;
use crate::parts::pages::page_mapped::{HOST, PageMapped};
use crate::parts::pages::page_space::{GC_THRESHOLD, Needs, PageSpace, Stream};
use crate::parts::recovery::summary::{self, Summaries};
use crate::parts::recovery::trims::Trims;
use crate::wear::policy::Purpose;
use crate::{
    BrokenInvariant, Cause, ConfigError, Device, Entry, Footprint, Foresight, Ftl, FtlError, Kind, Label, Layout,
    Media, Note, Parameter, RecoverError, Request, Scheme, Spares, Values,
};

const COLLECTED: Stream = 1;

const STREAMS: Parameter = Parameter {
    name: "streams",
    kind: Kind::Choice { of: &["separate", "shared"] },
    default: "separate",
    meaning: "Whether collected pages get open blocks of their own or share those of host writes.",
    source: "Van Houdt 2013b",
};

/// Pure page-level mapping.
pub struct Page {
    map: Vec<Option<Ppn>>,
    trims: Trims,
    space: PageSpace,
    blocks: Blocks,
    collected: Stream,
    moving: Vec<Ppn>,
}

impl Scheme for Page {
    const ENTRY: Entry = Entry {
        name: "page",
        family: "page",
        source: "WAFTL tab. I, RFTL 2 (baseline)",
        parameters: &joined::<6>(&[&victims::PARAMETERS, &[GC_THRESHOLD, STREAMS, summary::PARAMETER]]),
        header: include_str!("page.rs"),
    };

    fn format(layout: &Layout, values: &Values) -> Result<Self, ConfigError> {
        let threshold = values.integer("gc_threshold") as usize;
        let streams: &[_] =
            if values.word("streams") == "separate" { &[Purpose::Data, Purpose::Collected] } else { &[Purpose::Data] };
        let needs = Needs {
            streams,
            policy: Policy::from_values(values),
            threshold,
            valid: u64::from(layout.logical_pages),
            summaries: Summaries::from_values(values, layout, "page")?,
        };
        // First, since it refuses what does not fit before the map is allocated.
        let (space, blocks) = PageSpace::format(layout, "page", needs)?;
        Ok(Self {
            map: long_array(None, layout.logical_pages as usize),
            trims: Trims::default(),
            space,
            blocks,
            collected: if streams.len() == 2 { COLLECTED } else { HOST },
            moving: Vec::new(),
        })
    }

    fn recover<D: Device>(layout: &Layout, values: &Values, media: &mut Media<D>) -> Result<Self, RecoverError> {
        let mut page = Self::format(&layout.in_use(), values)?;
        for lpn in page.take_over(layout, media, |page, lpn, ppn| page.map[lpn.index()] = Some(ppn))? {
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
        self.tidy_after_write(media)
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
        self.space.check(media, &self.blocks, "I3")
    }

    fn spares(&self) -> Spares {
        self.blocks.spares()
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

    /// Whether a die has neither an open block with room (collecting into a shared stream may leave one) nor a free block
    /// to open.
    #[inline]
    fn is_starved(&self, die: u32, stream: Stream) -> bool {
        !self.space.has_room(die, stream) && self.space.is_short(&self.blocks, die)
    }
}

impl PageMapped for Page {
    #[inline]
    fn space(&mut self) -> &mut PageSpace {
        &mut self.space
    }

    #[inline]
    fn blocks(&mut self) -> &mut Blocks {
        &mut self.blocks
    }

    #[inline]
    fn parts(&mut self) -> (&mut PageSpace, &mut Blocks, &mut Trims) {
        (&mut self.space, &mut self.blocks, &mut self.trims)
    }

    #[inline]
    fn collected(&self) -> Stream {
        self.collected
    }

    fn owner_of(&self, ppn: Ppn) -> Option<Lpn> {
        self.map.iter().position(|&entry| entry == Some(ppn)).map(Lpn::at)
    }

    #[inline]
    fn foresee_move(&self, lpn: Lpn, foresight: Foresight) {
        if foresight == Foresight::Far {
            prefetch(&self.map, lpn.index());
        }
    }

    #[inline]
    fn moved(&mut self, lpn: Lpn, to: Ppn) {
        self.map[lpn.index()] = Some(to);
    }

    #[inline]
    fn next_die<D: Device>(&mut self, media: &mut Media<D>, stream: Stream) -> Result<u32, FtlError> {
        self.tidy(media)?;
        for _ in 0..self.space.dies() {
            let die = self.space.take_turn(stream);
            while self.is_starved(die, stream)
                && let Some(victim) = self.space.take_victim(&self.blocks, die)
            {
                self.collect_apart(media, die, victim, false)?;
            }
            if !self.is_starved(die, stream) {
                return Ok(die);
            }
        }
        Err(self.blocks.out_of_space("a host write"))
    }

    fn collect<D: Device>(&mut self, media: &mut Media<D>, die: u32, victim: Pbn, fails: bool) -> Result<(), FtlError> {
        media.note(Note::Collection);
        let cause = if fails { Cause::Relocation } else { Cause::Collection };
        let mut moving = std::mem::take(&mut self.moving);
        self.space.list_valid(victim, &mut moving);
        media.because(cause, |media| {
            let (moved, result) = self.move_pages(media, die, &moving);
            let result = result.and_then(|()| self.replace_vanishing(media, die, victim));
            self.space.finish(media, &mut self.blocks, victim, moved.iter().copied(), result)
        })?;
        self.moving = moving;
        Ok(())
    }
}
