//! # dftl: page mapping with the map on flash
//!
//! ## Idea
//! The page map is too large for RAM, so it lives in translation pages on flash, found by a small directory in RAM (GTD).
//! The entries in use are cached (CMT). A miss costs one read; an entry that leaves the cache changed costs a read and a
//! write of its translation page, and takes all changed entries of that page with it. Workloads with locality thus run
//! almost as with a full map in RAM.
//!
//! ```text
//!   LPN ─▶ CMT ──hit──▶ PPN
//!           │miss                      flash: [data]…  [data]…  [translation]…
//!           └─▶ GTD ─▶ translation page ───────────────────────────┘
//! ```
//!
//! ## Source
//! R 2-3, T 3.2.3; Gupta 2009.
//!
//! ## Departures
//! - Whenever a translation page is written, for whatever reason, all changed cached entries of it are written with it.
//! - Victims of garbage collection are chosen among data and translation blocks alike, by the same policy.
//! - A translation page that cannot be read is rebuilt from the mirror, without the scan that a controller would need.
//! - One block is set aside for translation pages that a collection has to write when no die can lend one; it is
//!   replaced by collecting translation blocks, which never needs mapping updates itself.
//!
//! ## State
//! RAM: CMT, 8 B an entry (LPN and PPN); GTD, 4 B × translation pages. Flash: translation pages of `page_size / 4` entries;
//! data pages. Tags carry the LPN or the translation page number. (The simulation mirrors the translation pages' content.)
//!
//! ## Read
//! 1. `lookup`: a hit is free; a miss first makes room in the CMT, then reads the translation page.
//! 2. The data page.
//!
//! ## Write
//! 1. `lookup`, as for a read.
//! 2. Program the page, then change the cached entry; the old page is released.
//!
//! ## Reclaim
//! 1. `reclaim` collects on one die until more than `gc_threshold` blocks are free there.
//! 2. `collect_data`: moved pages whose entries are cached change only there; the others are sorted by translation page, and
//!    each translation page concerned is rewritten once.
//! 3. `collect_translation`: translation pages are moved, the GTD is changed.
//!
//! ## Recover
//! 1. Of each LPN the highest version among all tags of data and trim pages wins. Translation pages are not needed for that,
//!    and may be older than the data: their blocks are erased.
//! 2. `rewrite_table` writes them anew; the cache starts empty.
//!
//! ## Invariants
//! - I1: an LPN that is mapped (by its cached entry, else by its translation page) points to a valid page that carries it.
//! - I2: there are as many valid pages as mapped LPNs, written translation pages and needed trim pages together.
//! - I3: free blocks are erased and hold nothing valid.
//! - I4: each written translation page lies where the GTD says; unwritten ones map nothing, unless the device is read-only and so
//!   they cannot be written.
//! - I5: a clean cached entry says what its translation page says.
//!
//! ## Costs
//! An access costs 1 − h mapping reads for the miss, plus a read and a write of a translation page for each dirty eviction;
//! h follows Che's approximation for plain LRU.

use flash::{Lpn, Pbn, Ppn, Role};

use crate::parts::mapping_cache::{MappingCache, Slot};
use crate::parts::page_space::{Needs, PageSpace, Stream};
use crate::parts::scan::Scanned;
use crate::parts::translation::TranslationTable;
use crate::parts::trims::Trims;
use crate::parts::victims::{self, Policy};
use crate::{
    BrokenInvariant, Cause, ConfigError, Content, Device, Entry, Footprint, Foresight, Ftl, FtlError, Kind, Label,
    Layout, Media, Note, Parameter, RecoverError, Request, Scheme, Spares, Values,
};

const HOST: Stream = 0;
const COLLECTED: Stream = 1;
const TRANSLATION: Stream = 2;
const STREAMS: usize = 3;

/// An entry of the CMT as a controller stores it: LPN and PPN.
const CMT_ENTRY_BYTES: u64 = 8;

/// Demand-paged page-level mapping.
pub struct Dftl {
    cache: MappingCache,
    table: TranslationTable,
    trims: Trims,
    space: PageSpace,
    aside: Option<Pbn>,
    moving: Vec<Ppn>,
    updates: Vec<(u32, Lpn, Ppn)>,
    footprint: Footprint,
}

impl Scheme for Dftl {
    const ENTRY: Entry = Entry {
        name: "dftl",
        family: "demand-paged",
        source: "R 2-3, T 3.2.3; Gupta 2009",
        parameters: &[
            Parameter {
                name: "cmt",
                kind: Kind::Bytes { min: 64, max: 1 << 40 },
                default: "64KiB",
                meaning: "RAM of the cached mapping table, 8 B an entry; as much as 8 B a logical page makes every access a hit.",
                source: "R tab. 6 (32 KB to 512 KB for 4 GB)",
            },
            Parameter {
                name: "cmt_policy",
                kind: Kind::Choice { of: &["segmented-lru", "lru"] },
                default: "segmented-lru",
                meaning: "Which cached entry leaves.",
                source: "Gupta 2009",
            },
            Parameter {
                name: "protected",
                kind: Kind::Ratio { min: 0.0, max: 0.99 },
                default: "0.5",
                meaning: "Share of the CMT that segmented-lru keeps for entries used more than once; 0 is lru.",
                source: "ftlkit",
            },
            victims::PARAMETERS[0],
            victims::PARAMETERS[1],
            victims::PARAMETERS[2],
            Parameter {
                name: "gc_threshold",
                kind: Kind::Integer { min: 1, max: 1 << 20 },
                default: "2",
                meaning: "Free blocks of a die at or below which it collects before opening another; more leaves less room for invalid pages.",
                source: "ftlkit",
            },
        ],
        header: include_str!("dftl.rs"),
    };

    fn format(layout: &Layout, values: &Values) -> Result<Self, ConfigError> {
        let threshold = values.integer("gc_threshold") as usize;
        let pages_per_block = u64::from(layout.geometry.pages_per_block());
        let translation_pages = u64::from(TranslationTable::pages(layout));
        let valid = u64::from(layout.logical_pages) + translation_pages + pages_per_block;
        let needs = Needs { streams: STREAMS, policy: Policy::from_values(values), threshold, valid };
        let entries = (values.integer("cmt") / CMT_ENTRY_BYTES) as usize;
        let protected = if values.word("cmt_policy") == "lru" { 0.0 } else { values.ratio("protected") };
        let mut space = PageSpace::format(layout, "dftl", needs)?;
        let roomiest = (0..space.dies()).max_by_key(|&die| space.free_on(die));
        let table = TranslationTable::new(layout);
        Ok(Self {
            cache: MappingCache::new(
                entries,
                (entries as f64 * protected) as usize,
                layout.logical_pages,
                TranslationTable::entries_per_page(layout),
            ),
            trims: Trims::default(),
            aside: roomiest.and_then(|die| space.set_aside(die)),
            space,
            moving: Vec::new(),
            updates: Vec::new(),
            footprint: Footprint::default()
                .with("cached mapping table", CMT_ENTRY_BYTES * entries as u64, 0)
                .with("global translation directory", table.directory_bytes(), 0)
                .with("translation pages", 0, translation_pages * u64::from(layout.geometry.page_size_bytes())),
            table,
        })
    }

    fn recover<D: Device>(layout: &Layout, values: &Values, media: &mut Media<D>) -> Result<Self, RecoverError> {
        let mut dftl = Self::format(&layout.in_use(), values)?;
        let scanned = Scanned::of(media, layout)?;
        let newest = scanned.newest(layout.logical_pages);
        let kept = scanned.keep_one_copy(layout, &newest);
        let stream = |role| if role == Role::Collected { COLLECTED } else { HOST };
        dftl.space = dftl.space.recover(media, layout, kept.pages.iter().map(|(ppn, tag)| (*ppn, stream(tag.role))))?;
        dftl.aside = None;
        for &(ppn, tag) in &kept.pages {
            if tag.role == Role::Trimmed {
                dftl.trims.found(&tag, ppn, &newest);
            } else {
                dftl.table.write_entry(Lpn::new(tag.logical), Some(ppn));
            }
        }
        FtlError::unless_read_only(dftl.rewrite_table(media))?;
        for &lpn in &kept.outdated {
            dftl.trims.guard(lpn);
        }
        for lpn in kept.contradicted {
            FtlError::unless_read_only(dftl.trim(media, &Request::new(lpn, 1)))?;
        }
        FtlError::unless_read_only(dftl.write_trims_down(media))?;
        Ok(dftl)
    }
}

impl<D: Device> Ftl<D> for Dftl {
    fn read(&mut self, media: &mut Media<D>, request: &Request, out: &mut [D::Data]) -> Result<(), FtlError> {
        media.together(request.lpns(), |media, (i, lpn)| {
            out[i] = match self.find(media, lpn)? {
                Some(ppn) => media.read(ppn)?.data,
                None => D::Data::default(),
            };
            Ok(())
        })
    }

    fn write(&mut self, media: &mut Media<D>, request: &Request, data: &[D::Data]) -> Result<(), FtlError> {
        media.together(request.lpns(), |media, (i, lpn)| {
            let slot = self.lookup(media, lpn)?;
            let to = self.append(media, Label::new(lpn.get(), Role::Data), &data[i])?;
            self.remap(slot, Some(to));
            Ok(())
        })
    }

    fn trim(&mut self, media: &mut Media<D>, request: &Request) -> Result<(), FtlError> {
        media.together(request.lpns(), |media, (_, lpn)| {
            let slot = self.lookup(media, lpn)?;
            if let Some(old) = self.cache.ppn(slot) {
                self.remap(slot, None);
                self.trims.trimmed_at(lpn, old);
            }
            Ok(())
        })
    }

    fn flush(&mut self, media: &mut Media<D>) -> Result<(), FtlError> {
        media.because(Cause::Mapping, |media| self.write_trims_down(media))
    }

    fn foresee(&self, request: &Request, foresight: Foresight) {
        if request.lpn.get() < self.table.logical_pages() {
            match foresight {
                Foresight::Far => self.cache.prefetch_slot(request.lpn),
                Foresight::Near => self.prefetch_lookup(request.lpn),
                Foresight::Next => self.prefetch_use(request.lpn),
            }
        }
    }

    fn check(&self, media: &Media<D>) -> Result<(), BrokenInvariant> {
        let mut mapped = 0;
        for lpn in (0..self.table.logical_pages()).map(Lpn::new) {
            let on_flash = self.table.entry(lpn);
            let entry = match self.cache.find(lpn) {
                Some(slot) => {
                    let (cached, clean) = (self.cache.ppn(slot), !self.cache.is_dirty(slot));
                    BrokenInvariant::unless(!clean || cached == on_flash, "I5", || {
                        format!("{lpn} is cached clean as {cached:?}, but flash says {on_flash:?}")
                    })?;
                    cached
                }
                None => on_flash,
            };
            let Some(ppn) = entry else { continue };
            let tag = media.device().peek(ppn);
            BrokenInvariant::unless(self.space.is_valid(ppn) && tag == Some(lpn.get()), "I1", || {
                format!("{lpn} maps to {ppn}, which carries {tag:?} (valid: {})", self.space.is_valid(ppn))
            })?;
            mapped += 1;
        }
        let (valid, written) = (self.space.valid_pages(), self.table.written().count() as u64);
        let trims = self.trims.pages().count() as u64;
        BrokenInvariant::unless(valid == mapped + written + trims, "I2", || {
            format!(
                "{valid} pages are valid, but {mapped} LPNs are mapped, {written} translation and {trims} trim pages needed"
            )
        })?;
        self.space.check(media, "I3")?;
        self.table.check(media, "I4", self.space.spares().admit().is_err())
    }

    fn spares(&self) -> Spares {
        self.space.spares()
    }

    fn footprint(&self) -> Footprint {
        self.footprint.clone()
    }
}

impl Dftl {
    /// Where a logical page lies, for reading it.
    fn find<D: Device>(&mut self, media: &mut Media<D>, lpn: Lpn) -> Result<Option<Ppn>, FtlError> {
        match self.lookup(media, lpn) {
            Ok(slot) => Ok(self.cache.ppn(slot)),
            // A changed entry cannot leave the cache any more, so this one is fetched each time it is needed.
            Err(FtlError::ReadOnly { .. }) => {
                media.because(Cause::Mapping, |media| self.fetch(media, lpn))?;
                Ok(self.table.entry(lpn))
            }
            Err(error) => Err(error),
        }
    }

    /// Reads the translation page of a logical page. One that cannot be read is replaced by the mirror.
    fn fetch<D: Device>(&self, media: &mut Media<D>, lpn: Lpn) -> Result<(), FtlError> {
        match self.table.location(self.table.page_of(lpn)) {
            Some(page) => media.read_to_move(page).map(|_| ()),
            None => Ok(()),
        }
    }

    /// The cached entry of a logical page, fetched if need be.
    fn lookup<D: Device>(&mut self, media: &mut Media<D>, lpn: Lpn) -> Result<Slot, FtlError> {
        if let Some(slot) = self.cache.find(lpn) {
            media.note(Note::MappingHit);
            self.cache.touch(slot);
            return Ok(slot);
        }
        media.note(Note::MappingMiss);
        media.because(Cause::Mapping, |media| {
            if self.cache.is_full() {
                self.clean_victim(media)?;
            }
            self.fetch(media, lpn)?;
            let slot = self.cache.insert(lpn, self.table.entry(lpn));
            self.cache.prefetch_victim();
            Ok(slot)
        })
    }

    /// Asks for a cached entry, or for the one on flash that a miss will copy or an update change.
    #[inline]
    fn prefetch_entry(&self, lpn: Lpn) {
        match self.cache.find(lpn) {
            Some(slot) => self.cache.prefetch_entry(slot),
            None => self.table.prefetch(lpn),
        }
    }

    /// Asks for what looking an entry up touches.
    #[inline]
    fn prefetch_lookup(&self, lpn: Lpn) {
        match self.cache.find(lpn) {
            Some(slot) => {
                self.cache.prefetch_entry(slot);
                self.cache.prefetch_links(slot);
            }
            None => self.table.prefetch(lpn),
        }
    }

    /// Asks for what a lookup and the release of the page found touch.
    #[inline]
    fn prefetch_use(&self, lpn: Lpn) {
        let ppn = match self.cache.find(lpn) {
            Some(slot) => {
                self.cache.prefetch_neighbours(slot);
                self.cache.ppn(slot)
            }
            None => self.table.entry(lpn),
        };
        if let Some(ppn) = ppn {
            self.space.prefetch(ppn);
        }
    }

    fn clean_victim<D: Device>(&mut self, media: &mut Media<D>) -> Result<(), FtlError> {
        let Some(victim) = self.cache.victim() else { return Ok(()) };
        if !self.cache.is_dirty(victim) {
            media.note(Note::CleanEviction);
            return Ok(());
        }
        media.note(Note::DirtyEviction);
        let page = self.table.page_of(self.cache.lpn(victim));
        self.write_translation(media, page, &[], Self::next_translation_die)
    }

    /// Writes a translation page with these updates and all changed cached entries, on the die that `place` finds. A page that
    /// cannot be read is written from the mirror.
    fn write_translation<D: Device>(
        &mut self,
        media: &mut Media<D>,
        page: u32,
        updates: &[(u32, Lpn, Ppn)],
        mut place: impl FnMut(&mut Self, &mut Media<D>) -> Result<u32, FtlError>,
    ) -> Result<(), FtlError> {
        let to = loop {
            let die = place(self, media)?;
            // Only now, since finding the place may have moved the page.
            let old = self.table.location(page).map(|old| media.read_to_move(old)).transpose()?.flatten();
            let content = Content::New(old.map(|old| old.data).unwrap_or_default());
            let label = Label::new(page, Role::Translation);
            if let Some(to) = self.space.program(media, die, TRANSLATION, label, content)? {
                break to;
            }
        };
        if let Some(old) = self.table.relocate(page, to) {
            self.space.release(old);
        }
        for &(_, lpn, ppn) in updates {
            self.table.write_entry(lpn, Some(ppn));
        }
        self.cache.clean(page, |lpn, ppn| self.table.write_entry(lpn, ppn));
        Ok(())
    }

    fn remap(&mut self, slot: Slot, to: Option<Ppn>) {
        match self.cache.ppn(slot) {
            Some(old) => self.space.release(old),
            None => {
                if let Some(page) = self.trims.overwritten(self.cache.lpn(slot)) {
                    self.space.release(page);
                }
            }
        }
        self.cache.set(slot, to);
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

    /// Programs a page of the host's on the next die in turn that has a place for it; one that fails is tried again elsewhere.
    #[inline]
    fn append<D: Device>(&mut self, media: &mut Media<D>, label: Label, data: &D::Data) -> Result<Ppn, FtlError> {
        loop {
            let die = self.next_die(media, HOST)?;
            if let Some(to) = self.space.program(media, die, HOST, label, Content::New(data.clone()))? {
                return Ok(to);
            }
        }
    }

    fn next_translation_die<D: Device>(&mut self, media: &mut Media<D>) -> Result<u32, FtlError> {
        self.next_die(media, TRANSLATION)
    }

    fn next_die<D: Device>(&mut self, media: &mut Media<D>, stream: Stream) -> Result<u32, FtlError> {
        self.space.spares().admit()?;
        if self.space.has_failing() {
            self.empty_failing(media)?;
        }
        for _ in 0..self.space.dies() {
            let die = self.space.take_turn(stream);
            if self.has_place(media, die, stream)? {
                return Ok(die);
            }
        }
        // Collecting may have taken turns of this stream, and so have passed over a die.
        for die in 0..self.space.dies() {
            if self.has_place(media, die, stream)? {
                return Ok(die);
            }
        }
        Err(self.space.out_of_space("a page"))
    }

    /// Whether a die has a place for a page of a stream, perhaps after collecting there.
    #[inline]
    fn has_place<D: Device>(&mut self, media: &mut Media<D>, die: u32, stream: Stream) -> Result<bool, FtlError> {
        if self.space.has_room(die, stream) {
            return Ok(true);
        }
        self.reclaim(media, die)?;
        Ok(self.space.has_room(die, stream) || !self.space.is_short(die))
    }

    /// Empties blocks in which a page could not be programmed, and marks them bad; but first collects, so that the reserve of
    /// their die stays whole. A block for which there is no room yet waits.
    #[cold]
    fn empty_failing<D: Device>(&mut self, media: &mut Media<D>) -> Result<(), FtlError> {
        for die in self.space.failing_dies() {
            self.reclaim(media, die)?;
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

    fn reclaim<D: Device>(&mut self, media: &mut Media<D>, die: u32) -> Result<(), FtlError> {
        // Moving a data block also writes translation pages, so a policy that keeps choosing full blocks (fifo does) may
        // spend as much as it gains for ever. After a turn of the whole die it has had its chance, and the best block goes.
        let mut choices = self.space.blocks_per_die();
        while self.space.is_short(die) {
            let victim = if choices > 0 { self.space.take_victim(die) } else { self.space.take_fewest_valid_on(die) };
            let Some(victim) = victim else { break };
            choices = choices.saturating_sub(1);
            media.detached(|media| self.collect(media, die, victim, false))?;
        }
        Ok(())
    }

    fn collect<D: Device>(&mut self, media: &mut Media<D>, die: u32, victim: Pbn, fails: bool) -> Result<(), FtlError> {
        media.note(Note::Collection);
        if self.space.stream_of(victim) == TRANSLATION {
            return media
                .because(Cause::MappingCollection, |media| self.collect_translation(media, die, victim, fails));
        }
        media.because(Cause::Collection, |media| self.collect_data(media, die, victim, fails))?;
        media.because(Cause::MappingCollection, |media| self.restore_aside(media))
    }

    fn collect_data<D: Device>(
        &mut self,
        media: &mut Media<D>,
        die: u32,
        victim: Pbn,
        fails: bool,
    ) -> Result<(), FtlError> {
        let mut moving = std::mem::take(&mut self.moving);
        self.space.list_valid(victim, &mut moving);
        let lpns = || moving.iter().filter_map(|&from| media.device().peek(from)).map(Lpn::new);
        lpns().for_each(|lpn| self.cache.prefetch_slot(lpn));
        lpns().for_each(|lpn| self.prefetch_entry(lpn));
        let mut done = 0;
        let moved = moving.iter().try_for_each(|&from| {
            self.move_page(media, die, from)?;
            done += 1;
            Ok(())
        });
        // What was moved is mapped there even if something failed on the way.
        let updated = media.because(Cause::MappingCollection, |media| self.update_translations(media));
        let moved = moved.and(updated).and_then(|()| self.replace_vanishing(media, die, victim));
        if moved.is_err() {
            self.space.put_back(victim, &moving[..done], fails);
        }
        self.moving = moving;
        moved?;
        self.space.reclaim(media, victim, fails)
    }

    /// Replaces the last copies of trimmed pages in a block to be erased, lest older copies come back (`parts/trims.rs`).
    fn replace_vanishing<D: Device>(&mut self, media: &mut Media<D>, die: u32, victim: Pbn) -> Result<(), FtlError> {
        for (copy, lpn) in self.trims.about_to_vanish(self.space.page_indices(victim)) {
            let version = media.read_to_move(copy)?.map(|page| page.version);
            let content =
                version.map_or_else(|| Content::New(D::Data::default()), |old| Content::empty(lpn.get(), old));
            let to = self.space.program_moved(media, die, COLLECTED, Trims::label(lpn.get(), 1), &content)?;
            self.trims.replaced(lpn, to, version.unwrap_or(media.last_version()));
        }
        Ok(())
    }

    #[inline]
    fn move_page<D: Device>(&mut self, media: &mut Media<D>, die: u32, from: Ppn) -> Result<(), FtlError> {
        if let Some((label, version)) = self.trims.at(from) {
            let content = Content::empty(label.logical, version);
            let to = self.space.program_moved(media, die, COLLECTED, label, &content)?;
            self.trims.moved(from, to);
            return Ok(());
        }
        let (logical, role, content) = match media.read_to_move(from)? {
            Some(page) => (page.logical, Role::Collected, Content::Copy(page)),
            None => (self.lose(media, from), Role::Lost, Content::New(D::Data::default())),
        };
        let to = self.space.program_moved(media, die, COLLECTED, Label::new(logical, role), &content)?;
        let lpn = Lpn::new(logical);
        match self.cache.find(lpn) {
            Some(slot) => self.cache.set(slot, Some(to)),
            None => self.updates.push((self.table.page_of(lpn), lpn, to)),
        }
        Ok(())
    }

    /// The logical page that an unreadable page held: the whole map must be searched, since the tag is gone.
    #[cold]
    fn lose<D: Device>(&self, media: &mut Media<D>, ppn: Ppn) -> u32 {
        media.note(Note::LostPage);
        let entry = |lpn: Lpn| self.cache.find(lpn).map_or_else(|| self.table.entry(lpn), |slot| self.cache.ppn(slot));
        let lpn = (0..self.table.logical_pages()).find(|&lpn| entry(Lpn::new(lpn)) == Some(ppn));
        lpn.unwrap_or_else(|| unreachable!("I2: {ppn} is valid, so a logical page maps to it"))
    }

    /// Rewrites each translation page that the pending updates concern, once.
    fn update_translations<D: Device>(&mut self, media: &mut Media<D>) -> Result<(), FtlError> {
        let mut updates = std::mem::take(&mut self.updates);
        updates.sort_unstable_by_key(|&(page, lpn, _)| (page, lpn));
        for group in updates.chunk_by(|a, b| a.0 == b.0) {
            self.write_translation(media, group[0].0, group, |dftl, _| dftl.die_for_translation())?;
        }
        updates.clear();
        self.updates = updates;
        Ok(())
    }

    /// A die for a translation page in the middle of a collection, when nothing else may be collected.
    fn die_for_translation(&mut self) -> Result<u32, FtlError> {
        for _ in 0..self.space.dies() {
            let die = self.space.take_turn(TRANSLATION);
            if self.space.has_room(die, TRANSLATION) || self.space.can_lend(die) {
                return Ok(die);
            }
        }
        let opened = self.aside.take().map(|block| self.space.open_block(block, TRANSLATION));
        opened.ok_or_else(|| self.space.out_of_space("translation pages"))
    }

    fn collect_translation<D: Device>(
        &mut self,
        media: &mut Media<D>,
        die: u32,
        victim: Pbn,
        fails: bool,
    ) -> Result<(), FtlError> {
        let mut moving = std::mem::take(&mut self.moving);
        self.space.list_valid(victim, &mut moving);
        let mut done = 0;
        let moved = moving.iter().try_for_each(|&from| {
            self.move_translation(media, die, from)?;
            done += 1;
            Ok(())
        });
        if moved.is_err() {
            self.space.put_back(victim, &moving[..done], fails);
        }
        self.moving = moving;
        moved?;
        self.space.reclaim(media, victim, fails)
    }

    fn move_translation<D: Device>(&mut self, media: &mut Media<D>, die: u32, from: Ppn) -> Result<(), FtlError> {
        let (page, content) = match media.read_to_move(from)? {
            Some(page) => (page.logical, Content::Copy(page)),
            None => (self.table.page_at(from), Content::New(D::Data::default())),
        };
        let label = Label::new(page, Role::Translation);
        let to = self.space.program_moved(media, die, TRANSLATION, label, &content)?;
        self.table.relocate(page, to);
        Ok(())
    }

    /// Writes every translation page that maps something, for a table whose content is known but of which no page is left.
    fn rewrite_table<D: Device>(&mut self, media: &mut Media<D>) -> Result<(), FtlError> {
        self.restore_aside(media)?;
        for page in 0..self.table.len() {
            if self.table.location(page).is_none() && self.table.maps_something(page) {
                self.write_translation(media, page, &[], Self::next_translation_die)?;
            }
        }
        Ok(())
    }

    /// Puts a block aside again, collecting translation blocks if no die can lend one.
    fn restore_aside<D: Device>(&mut self, media: &mut Media<D>) -> Result<(), FtlError> {
        while self.aside.is_none() {
            if let Some(die) = (0..self.space.dies()).find(|&die| self.space.can_lend(die)) {
                self.aside = self.space.set_aside(die);
                return Ok(());
            }
            let Some(victim) = self.space.take_fewest_valid(TRANSLATION) else { break };
            let die = self.space.die_of(victim);
            self.collect_translation(media, die, victim, false)?;
        }
        Ok(())
    }
}
