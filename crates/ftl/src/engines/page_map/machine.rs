//! The machine of the schemes that keep the whole page map in RAM: pages are looked up, appended,
//! collected and recovered here; which pages share blocks is the policy's (`policy.rs`).
//!
//! It checks these invariants, which the headers of its schemes number alike:
//!
//! - I1: a mapped LPN points to a valid page whose tag carries that LPN, or did before it decayed.
//! - I2: there are as many valid pages as mapped LPNs and needed trim pages together (so no page is
//!   mapped twice and none is lost).
//! - I3: free blocks are erased and hold nothing valid; summaries are true.

use flash::{Flash, Lpn, PackedNumbers, Pbn, Ppn, Role, Tag};
use host::Hint;

use crate::api::entry::Entry;
use crate::api::layout::Layout;
use crate::api::mapping::{FutureRequest, Mapping, Scheme, WearQuery};
use crate::api::parameter::Values;
use crate::api::report::{ClassCounts, Footprint, Gauge, Spares};
use crate::api::request::Request;
use crate::api::wear::RelocateOutcome;
use crate::blocks::manager::BlockManager;
use crate::blocks::victims::Policy;
use crate::engines::page_map::classes::Classes;
use crate::engines::page_map::folding;
use crate::engines::page_map::mapped::{HOST, PageMapped};
use crate::engines::page_map::pacing;
use crate::engines::page_map::policy::{PageMapScheme, StreamPolicy};
use crate::engines::page_map::pslc::{self, PslcCache};
use crate::engines::page_map::space::{ClassNeeds, PageSpace, SpaceNeeds, Stream};
use crate::port::cause::Cause;
use crate::port::device::Device;
use crate::port::error::{BrokenInvariant, ConfigError, FtlError, RecoverError};
use crate::port::flash_port::FlashPort;
use crate::port::label::Label;
use crate::port::tally::Note;
use crate::port::timing::Nanos;
use crate::prefetch::PrefetchStage;
use crate::recovery::summary::Summaries;
use crate::recovery::trims::Trims;

/// A scheme whose map lies in RAM.
pub struct PageMap<S: PageMapScheme> {
    pub(super) map: PackedNumbers,
    pub(super) trims: Trims,
    pub(super) space: PageSpace,
    pub(super) blocks: BlockManager,
    pub(super) policy: S::Policy,
    pub(super) classes: Option<Box<Classes>>,
    /// Free blocks of a die that idle time is used to reach beyond those at which it collects.
    gc_idle: usize,
    /// The stream to which the pages of the block go that is being collected, or was last.
    moving_to: Stream,
    pub(super) cache: Option<Box<PslcCache>>,
}

impl<S: PageMapScheme> Scheme for PageMap<S> {
    const ENTRY: Entry = S::ENTRY;

    fn format(layout: &Layout, values: &Values) -> Result<Self, ConfigError> {
        let policy = S::policy(layout, values)?;
        let classes = S::classes(layout, values)?.map(Box::new);
        pslc::require_guarded(layout, values, S::ENTRY.name)?;
        let needs = SpaceNeeds {
            streams: policy.streams(),
            classes: classes.as_ref().map_or_else(
                || ClassNeeds { are_counted: policy.uses_hints(), ..ClassNeeds::default() },
                |classes| classes.needs(),
            ),
            policy: Policy::from_values(values),
            threshold: values.integer("gc_threshold") as usize,
            valid: u64::from(layout.logical_pages),
            summaries: Summaries::from_values(values, layout, S::ENTRY.name)?,
            pslc: pslc::needs(layout, values),
            least_step: pacing::least_step(layout, values),
        };
        // First, since it refuses what does not fit before the map is allocated.
        let (space, mut blocks) = PageSpace::format(layout, S::ENTRY.name, needs)?;
        let cache = PslcCache::new(layout, values, &space, &mut blocks).map(Box::new);
        let gc_idle = values.integer("gc_idle") as usize;
        let map = PackedNumbers::none(layout.logical_pages as usize, layout.geometry.pages());
        let moving_to = policy.collected_stream(HOST);
        let trims = Trims::default();
        Ok(Self { map, trims, space, blocks, policy, classes, gc_idle, moving_to, cache })
    }

    fn recover<D: Device>(layout: &Layout, values: &Values, flash: &mut FlashPort<D>) -> Result<Self, RecoverError> {
        let mut scheme = Self::format(&layout.in_use(), values)?;
        let outdated = scheme.take_over(layout, flash, |scheme, tag, ppn| {
            let before = scheme.map.replace(tag.logical as usize, Some(ppn.get()));
            scheme.classes.iter_mut().for_each(|classes| classes.on_found(&tag));
            if let Some(cache) = &mut scheme.cache {
                cache.on_mapped(true);
                if tag.role == Role::Cached {
                    cache.on_found(scheme.space.block_of(ppn), tag.seq);
                }
            }
            debug_assert!(before.is_none(), "logical page {} is recovered at {ppn}, and at {before:?}", tag.logical);
        })?;
        scheme.continue_clock(flash.last_version());
        for lpn in outdated {
            scheme.trims.guard(lpn);
        }
        if let Some(cache) = &mut scheme.cache {
            cache.take_over(&scheme.space, &mut scheme.blocks);
        }
        Ok(scheme)
    }
}

impl<S: PageMapScheme, D: Device> Mapping<D> for PageMap<S> {
    fn read(&mut self, flash: &mut FlashPort<D>, request: &Request, out: &mut [D::Data]) -> Result<(), FtlError> {
        flash.in_parallel(request.lpns(), |flash, (i, lpn)| {
            out[i] = match self.at(lpn) {
                Some(ppn) => flash.read(ppn)?.data,
                None => D::Data::default(),
            };
            Ok(())
        })
    }

    fn write(&mut self, flash: &mut FlashPort<D>, request: &Request, data: &[D::Data]) -> Result<(), FtlError> {
        if self.policy.is_beyond_streams(request) {
            flash.note(Note::SharedStream);
        }
        let is_cached = self.cache.as_ref().is_some_and(|cache| cache.takes(request));
        flash.in_parallel(request.lpns(), |flash, (i, lpn)| {
            let stream = self.write_stream(request, lpn);
            debug_assert!(stream < self.space.streams(), "{lpn} is written to stream {stream}, which there is not");
            let stored_hint = self.policy.stored_hint(request).unwrap_or_else(|| self.blocks.stored_hint(request.hint));
            if is_cached
                && !flash.pads(lpn.get())
                && let Some(to) = folding::append_cached(self, flash, request.hint, (lpn, stored_hint), &data[i])?
            {
                self.remap(lpn, Some(to));
                return pacing::on_written(self, flash, to);
            }
            let page = (Label::new(lpn.get(), Role::Data), stored_hint);
            let to = (stream, request.hint);
            let to = self.append_on(flash, to, page, &data[i], |scheme, flash| scheme.next_die(flash, stream))?;
            self.remap(lpn, Some(to));
            self.classes.iter_mut().for_each(|classes| classes.on_written(lpn, &self.space));
            pacing::on_written(self, flash, to)
        })?;
        self.check_classes()?;
        self.repair_after_write(flash)
    }

    fn write_each(&mut self, flash: &mut FlashPort<D>, lpns: &[Lpn]) -> (usize, Result<(), FtlError>) {
        self.write_in_runs(flash, lpns)
    }

    fn trim(&mut self, _flash: &mut FlashPort<D>, request: &Request) -> Result<(), FtlError> {
        for (_, lpn) in request.lpns() {
            self.remap(lpn, None);
            self.classes.iter_mut().for_each(|classes| classes.on_trimmed(lpn));
        }
        Ok(())
    }

    fn flush(&mut self, flash: &mut FlashPort<D>) -> Result<(), FtlError> {
        flash.with_cause(Cause::Mapping, |flash| self.make_durable(flash))
    }

    fn uses_idle_time(&self) -> bool {
        self.gc_idle > 0 || self.space.is_paced() || self.cache.is_some()
    }

    fn idle(&mut self, flash: &mut FlashPort<D>, budget: Nanos) -> Result<(), FtlError> {
        let budget = if self.cache.is_some() { folding::fold_in_idle(self, flash, budget)? } else { budget };
        pacing::use_idle_time(self, flash, self.gc_idle, budget)
    }

    fn prefetch(&self, flash: &FlashPort<D>, request: &Request, stage: PrefetchStage) {
        match stage {
            PrefetchStage::Far => self.map.prefetch(request.lpn.index()),
            PrefetchStage::Near => {
                if request.lpn.index() < self.map.len()
                    && let Some(ppn) = self.at(request.lpn)
                {
                    flash.chip().prefetch(ppn);
                    self.space.prefetch(ppn);
                }
            }
            PrefetchStage::Next => {}
        }
    }

    fn relocate_block(&mut self, flash: &mut FlashPort<D>, pbn: Pbn) -> Result<RelocateOutcome, FtlError> {
        self.empty(flash, pbn)
    }

    fn with_wear_policy(&mut self, query: WearQuery<'_>) {
        self.blocks.with_wear_policy(None, query);
    }

    fn uses_hints(&self) -> bool {
        self.classes.as_ref().map_or_else(|| self.policy.uses_hints(), |classes| classes.uses_hints())
    }

    fn needs_future(&self) -> bool {
        self.classes.as_ref().is_some_and(|classes| classes.needs_future())
    }

    fn set_future(&mut self, asked: &[FutureRequest]) {
        self.classes.iter_mut().for_each(|classes| classes.set_future(asked, &self.space));
    }

    fn check(&self, flash: &FlashPort<D>) -> Result<(), BrokenInvariant> {
        let mut mapped = 0;
        for (lpn, ppn) in (0..self.map.len()).map(Lpn::at).filter_map(|lpn| Some((lpn, self.at(lpn)?))) {
            let tag = self.space.logical_at(flash, ppn);
            BrokenInvariant::unless(self.space.is_valid(ppn) && tag == Some(lpn.get()), "I1", || {
                format!("{lpn} maps to {ppn}, which carries {tag:?} (valid: {})", self.space.is_valid(ppn))
            })?;
            mapped += 1;
        }
        let (valid, trims) = (self.space.valid_pages(), self.trims.pages().count() as u64);
        BrokenInvariant::unless(mapped + trims == valid, "I2", || {
            format!("{mapped} LPNs are mapped and {trims} trim pages are needed, but {valid} pages are valid")
        })?;
        self.space.check(flash, &self.blocks, "I3")
    }

    fn spares(&self) -> Spares {
        self.blocks.spares()
    }

    fn exposed_pages(&self) -> u32 {
        self.space.exposed_pages()
    }

    fn class_counts(&self) -> &[ClassCounts] {
        self.space.class_counts()
    }

    fn gauges(&self) -> Vec<Gauge> {
        self.cache.iter().map(|cache| cache.gauge(&self.space)).collect()
    }

    fn footprint(&self) -> Footprint {
        let footprint = Footprint::default().with("page map", 4 * self.map.len() as u64, 0);
        let tables = self.policy.tables().into_iter();
        let footprint = tables.fold(footprint, |footprint, (name, bytes)| footprint.with(name, bytes, 0));
        let footprint = self.classes.iter().fold(footprint, |footprint, classes| classes.add_to(footprint));
        let cache = self.cache.as_ref().map(|cache| cache.ram_bytes(&self.space));
        self.space.add_summaries(cache.into_iter().fold(footprint, |all, bytes| all.with("pSLC blocks", bytes, 0)))
    }
}

impl<S: PageMapScheme> PageMap<S> {
    /// Where a logical page lies.
    #[inline]
    pub(super) fn at(&self, lpn: Lpn) -> Option<Ppn> {
        self.map.get(lpn.index()).map(Ppn::new)
    }

    /// The stream of a page that the host writes with a request.
    #[inline]
    fn write_stream(&mut self, request: &Request, lpn: Lpn) -> Stream {
        match &mut self.classes {
            Some(classes) => classes.write_stream(request, lpn, &self.space),
            None => self.policy.write_stream(request, lpn),
        }
    }

    #[inline]
    pub(super) fn remap(&mut self, lpn: Lpn, to: Option<Ppn>) {
        debug_assert!(to.is_none_or(|to| self.space.is_valid(to)), "{lpn} is mapped to {to:?}, which is not valid");
        debug_assert!(to.is_none() || to != self.at(lpn), "{lpn} is mapped to {to:?}, where it lies already");
        match self.map.replace(lpn.index(), to.map(Ppn::get)).map(Ppn::new) {
            Some(old) => {
                self.space.release(old);
                if to.is_none() {
                    self.trims.on_trimmed_at(lpn, old);
                    self.cache.iter_mut().for_each(|cache| cache.on_mapped(false));
                }
            }
            None if to.is_some() => {
                self.cache.iter_mut().for_each(|cache| cache.on_mapped(true));
                if let Some(page) = self.trims.on_overwritten(lpn) {
                    self.space.release(page);
                }
            }
            None => {}
        }
    }

    /// The stream to which the pages of a block of this stream go, under a wear policy that moves
    /// nothing.
    #[inline]
    fn usual_destination(&self, from: Stream) -> Stream {
        if self.space.pslc_stream() == Some(from) { HOST } else { self.policy.collected_stream(from) }
    }

    /// The next die in turn that has a place for a page that is folded.
    fn next_die_folding<D: Device>(&mut self, flash: &mut FlashPort<D>) -> Result<u32, FtlError> {
        let die = self.next_die(flash, HOST)?;
        self.moving_to = HOST;
        self.cache.iter_mut().for_each(|cache| cache.set_folding(true));
        Ok(die)
    }

    /// The first die from this one on, in turn, that can open a block for a stream, perhaps after
    /// collecting there.
    #[inline(never)]
    fn make_place<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        mut die: u32,
        stream: Stream,
    ) -> Result<u32, FtlError> {
        debug_assert!(!self.space.has_room(die, stream), "die {die} has room for stream {stream}, and makes a place");
        let hands_over = stream == HOST && self.policy.hands_over();
        for turn in 0..self.space.dies() {
            if turn > 0 {
                die = self.space.take_turn(stream);
            }
            if hands_over && !self.space.has_room(die, stream) && self.space.hand_over_collected(die) {
                return Ok(die);
            }
            while self.is_starved(die, stream)
                && let Some(victim) = self.space.take_victim(&self.blocks, die)?
            {
                self.collect_apart(flash, die, victim, Cause::Collection)?;
            }
            if !self.is_starved(die, stream) {
                if hands_over && !self.space.has_room(die, stream) {
                    self.space.hand_over_collected(die);
                }
                return Ok(die);
            }
        }
        Err(self.blocks.out_of_space("a host write"))
    }

    /// Whether a die has neither an open block with room (collecting into a shared stream may leave
    /// one) nor a free block to open.
    #[inline]
    fn is_starved(&self, die: u32, stream: Stream) -> bool {
        debug_assert!(die < self.space.dies(), "there is no die {die} of {}", self.space.dies());
        !self.space.has_room(die, stream) && self.space.is_short(&self.blocks, die)
    }
}

impl<S: PageMapScheme> PageMapped for PageMap<S> {
    #[inline]
    fn parts(&mut self) -> (&mut PageSpace, &mut BlockManager, &mut Trims) {
        (&mut self.space, &mut self.blocks, &mut self.trims)
    }

    #[inline]
    fn cache_parts(&mut self) -> Option<(&mut PslcCache, &mut PageSpace, &mut BlockManager)> {
        Some((self.cache.as_deref_mut()?, &mut self.space, &mut self.blocks))
    }

    #[inline]
    fn collected_stream(&self) -> Stream {
        self.moving_to
    }

    #[inline]
    fn classes(&mut self) -> Option<(&mut Classes, &PageSpace)> {
        Some((self.classes.as_deref_mut()?, &self.space))
    }

    fn recovered_stream(&self, tag: &Tag) -> Stream {
        let cached = self.space.pslc_stream().filter(|_| tag.role == Role::Cached);
        cached.unwrap_or_else(|| self.policy.recovered_stream(tag))
    }

    fn blocks_to_empty(&self, pbn: Pbn) -> usize {
        let is_empty = || {
            let vanishing = self.trims.about_to_vanish(self.space.page_indices(pbn));
            self.space.valid_in(pbn) == 0 && vanishing.is_empty()
        };
        match self.space.is_static(pbn) {
            false => 1,
            true if is_empty() => 0,
            // It gives no block back that native pages could use.
            true => 2,
        }
    }

    /// What a static block of the cache holds goes where the next pages of the host would, one by
    /// one: each finds a place there, since all that is valid fits beside the cache.
    fn scatter<D: Device>(&mut self, flash: &mut FlashPort<D>, pbn: Pbn) -> Result<(), FtlError> {
        if !self.space.is_static(pbn) {
            return Ok(());
        }
        let mut pages = Vec::new();
        self.space.list_valid(pbn, &mut pages);
        for from in pages {
            let die = self.next_die_folding(flash)?;
            self.move_page(flash, die, from)?;
            self.space.release(from);
        }
        for last in self.trims.about_to_vanish(self.space.page_indices(pbn)) {
            let die = self.next_die_folding(flash)?;
            self.replace_last_copy(flash, die, last)?;
        }
        Ok(())
    }

    #[inline]
    fn moved_role(&self) -> Role {
        if self.cache.as_ref().is_some_and(|cache| cache.is_folding()) { Role::Data } else { Role::Collected }
    }

    #[inline]
    fn hint_of(&mut self, stored: u8) -> Hint {
        self.policy.hint_of(stored).unwrap_or_else(|| self.blocks.hint_of(stored))
    }

    #[inline]
    fn destination(&self, from: Stream) -> Stream {
        debug_assert!(from < self.space.streams(), "there is no stream {from} of {}", self.space.streams());
        self.space.destination(from, Cause::Collection, self.usual_destination(from))
    }

    fn owner_of<D: Device>(&self, _flash: &FlashPort<D>, ppn: Ppn) -> Option<Lpn> {
        self.map.iter().position(|entry| entry == Some(ppn.get())).map(Lpn::at)
    }

    #[inline]
    fn prefetch_move(&self, lpn: Lpn, stage: PrefetchStage) {
        if stage == PrefetchStage::Far {
            self.map.prefetch(lpn.index());
        }
    }

    #[inline]
    fn on_moved(&mut self, lpn: Lpn, from: Ppn, to: Ppn) {
        debug_assert_eq!(self.at(lpn), Some(from), "{lpn} was moved from where it does not lie");
        debug_assert!(self.space.is_valid(to), "{lpn} was moved from {from} to {to}, which is not valid");
        self.map.set(lpn.index(), Some(to.get()));
    }

    #[expect(clippy::inline_always, reason = "one more call for every page that the host writes")]
    #[inline(always)]
    fn next_die<D: Device>(&mut self, flash: &mut FlashPort<D>, stream: Stream) -> Result<u32, FtlError> {
        self.repair_before_write(flash)?;
        if let Some(die) = self.space.die_of_page_begun(stream) {
            return Ok(die);
        }
        let die = self.space.take_turn(stream);
        if self.space.has_room(die, stream) { Ok(die) } else { self.make_place(flash, die, stream) }
    }

    fn move_some<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        die: u32,
        victim: Pbn,
        pages: &[Ppn],
    ) -> Result<(), FtlError> {
        self.moving_to = self.destination(self.space.stream_of(victim));
        self.cache.iter_mut().for_each(|cache| cache.set_folding(false));
        flash.with_cause(Cause::Collection, |flash| {
            let (moved, result) = self.move_pages(flash, die, pages);
            self.space.is_moved(moved);
            result
        })
    }

    fn collect<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        die: u32,
        victim: Pbn,
        why: Cause,
    ) -> Result<(), FtlError> {
        debug_assert_eq!(self.space.die_of(victim), die, "{victim} is collected on another die");
        let from = self.space.stream_of(victim);
        let is_cached = self.space.pslc_stream() == Some(from);
        let why = if is_cached && why == Cause::Collection { Cause::Fold } else { why };
        flash.note(match why {
            Cause::WearLevelling => Note::RelocatedBlock,
            Cause::Fold => Note::Fold,
            _ => Note::Collection,
        });
        self.moving_to = self.space.destination(from, why, self.usual_destination(from));
        self.notify_reclaimed(victim, why, false);
        if let Some(cache) = &mut self.cache {
            cache.set_folding(is_cached && self.moving_to == HOST);
        }
        flash.with_cause(why, |flash| {
            self.empty_victim(flash, (die, victim), |scheme, flash, mut pages| {
                let (moved, result) = scheme.move_pages(flash, die, &pages);
                let moved = moved.len();
                pages.truncate(moved);
                (pages, result)
            })
        })?;
        if let Some(cache) = &mut self.cache {
            cache.on_emptied(&self.space, &mut self.blocks, victim);
        }
        Ok(())
    }
}
