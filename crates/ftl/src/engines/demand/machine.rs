//! The machine that all demand-paged schemes share: page mapping whose table lies in translation
//! pages on flash, with some of it in RAM.
//!
//! Which entries are in RAM is the cache's business (`policy.rs`). A translation page is written
//! when something that is newer than flash has to leave RAM, or when a collection moved pages whose
//! entries are not in RAM; each write of it takes all newer entries of that page along. Those
//! pages and their copies are in `translation.rs`, garbage collection is in `collection.rs`.
//!
//! Invariants, under the numbers that the schemes' headers repeat:
//! - I1: an LPN that is mapped (by its cached entry, else by its translation page) points to a
//!   valid page that carries it, or did before it decayed.
//! - I2: there are as many valid pages as mapped LPNs, copies of translation pages and needed trim
//!   pages together.
//! - I3: free blocks are erased and hold nothing valid; summaries are true.
//! - I4: each copy of a translation page lies where the directory says; unwritten ones map nothing,
//!   unless the device is read-only and so they cannot be written.
//! - I5: an entry that is newer than its translation page is in RAM.
//! - I6: what is in RAM is counted rightly, if its size depends on what it says.
//!
//! Two groups of methods serve single schemes: those that change the table for data that the host
//! did not write (WAFTL), and those for schemes that keep data pages in the same RAM and decide
//! themselves what leaves.

use flash::{Lpn, Pbn, Ppn, Role};
use host::Hint;

use crate::api::entry::Entry;
use crate::api::layout::Layout;
use crate::api::mapping::{Mapping, Scheme, WearQuery};
use crate::api::parameter::{AccessDelays, Kind, Parameter, Values, joined};
use crate::api::report::{ClassCounts, Footprint, Gauge, Spares};
use crate::api::request::Request;
use crate::api::wear::{AllocRequest, Purpose, RelocateOutcome};
use crate::blocks::manager::BlockManager;
use crate::blocks::victims::{self, Policy};
use crate::engines::demand::foreign_pages::ForeignPages;
use crate::engines::demand::policy::{DemandScheme, MapCache};
use crate::engines::demand::translation::{CopyChoice, MAPPING_BYTES, TranslationTable};
use crate::engines::page_map::classes::Classes;
use crate::engines::page_map::mapped::{COLLECTED, HOST, PageMapped};
use crate::engines::page_map::pacing::{self, GC};
use crate::engines::page_map::placement::Placement;
use crate::engines::page_map::space::{self, PageSpace, SpaceNeeds, Stream};
use crate::port::cause::Cause;
use crate::port::device::Device;
use crate::port::error::{BrokenInvariant, ConfigError, FtlError, RecoverError};
use crate::port::flash_port::FlashPort;
use crate::port::label::Label;
use crate::port::tally::Note;
use crate::port::timing::Nanos;
use crate::prefetch::PrefetchStage;
use crate::recovery::summary;
use crate::recovery::trims::Trims;

/// The stream of translation pages: they change together, and a collection of them moves no data.
pub const TRANSLATION: Stream = 2;

/// The first stream that is a scheme's own.
pub const OWN: Stream = 3;

/// When a die collects: translation pages need a block of their own.
const GC_THRESHOLD: Parameter = Parameter { default: "2", ..space::GC_THRESHOLD };

/// Whether a host write waits for what a lookup that misses does.
const WRITE_MISSES: Parameter = Parameter {
    name: "write_misses",
    kind: Kind::Choice { of: &["wait", "background"] },
    default: "wait",
    meaning: "Whether a write that misses waits for its translation page; in the background it is programmed at once, and neither writes nor \
              reads wait for what makes room in the cache. Only a page of data that comes into RAM waits for the page that leaves.",
    source: "Gupta 2009 (wait); EagleTree (background)",
};

/// The parameters of every demand-paged scheme.
pub const PARAMETERS: [Parameter; 8] = joined(&[&WITHOUT_SUMMARIES, &[summary::PARAMETER]]);

/// The same for a scheme with blocks in which no summary has room, and which says so in
/// [`DemandScheme::summaries`].
pub const WITHOUT_SUMMARIES: [Parameter; 7] =
    joined(&[&[MAPPING_BYTES, WRITE_MISSES], &victims::PARAMETERS, &[GC, GC_THRESHOLD]]);

/// A demand-paged scheme: the shared machine with a cache.
pub struct DemandPaged<S: DemandScheme> {
    pub(super) cache: S::Cache,
    /// Data in the same space that the table does not map.
    pub foreign_pages: S::ForeignPages,
    pub(super) table: TranslationTable,
    pub(crate) trims: Trims,
    pub(crate) space: PageSpace,
    pub(crate) blocks: BlockManager,
    /// Blocks for translation pages that a collection has to write when no die can lend one.
    pub(super) aside: Vec<Pbn>,
    pub(super) moving: Vec<Ppn>,
    /// The stream to which the pages of the data block go that is being collected, or was last.
    pub(super) moving_to: Stream,
    pub(super) updates: Vec<(u32, Lpn, Ppn)>,
    pub(super) placement: Placement,
    pub(super) classes: Option<Box<Classes>>,
    pub(super) copy_choice: CopyChoice,
    pub(super) delays: AccessDelays,
    gc_idle: usize,
    /// Whether nothing of the table lies on flash yet, after a power cut: then moved pages change
    /// it in RAM alone.
    pub(super) rebuilding: bool,
    /// Whether nobody waits for a write's lookup, nor for making room in the cache.
    pub(super) background: bool,
    footprint: Footprint,
}

impl<S: DemandScheme> Scheme for DemandPaged<S> {
    const ENTRY: Entry = S::ENTRY;

    fn format(layout: &Layout, values: &Values) -> Result<Self, ConfigError> {
        let classes = S::classes(layout, values)?.map(Box::new);
        let copies = S::copies(layout, values)?;
        let pages_per_block = u64::from(layout.geometry.pages_per_block());
        let entries_per_page = TranslationTable::entries_per_page(layout, values);
        let translation_pages = u64::from(copies) * u64::from(layout.logical_pages.div_ceil(entries_per_page));
        let foreign_pages = S::ForeignPages::extra_pages(layout, values)?;
        let valid =
            u64::from(layout.logical_pages) + foreign_pages + translation_pages + u64::from(copies) * pages_per_block;
        let summaries = S::summaries(layout, values)?;
        let needs = SpaceNeeds {
            streams: S::STREAMS,
            classes: classes.as_ref().map(|classes| classes.needs()).unwrap_or_default(),
            policy: Policy::from_values(values),
            threshold: values.integer("gc_threshold") as usize,
            valid,
            summaries,
            pslc: None,
            least_step: pacing::least_step(layout, values),
        };
        let (mut space, mut blocks) = PageSpace::format(layout, S::ENTRY.name, needs).map_err(|refused| {
            let advice = S::ForeignPages::advice(layout, values);
            ConfigError([Some(refused.0), advice].into_iter().flatten().collect::<Vec<_>>().join(", "))
        })?;
        if let Some(stream) = S::ForeignPages::STREAM {
            space.pin_stream(stream);
        }
        let mut aside = Vec::new();
        for _ in 0..copies {
            let roomiest = (0..space.dies()).max_by_key(|&die| blocks.free_on(die));
            aside.extend(roomiest.and_then(|die| blocks.take_on(die, AllocRequest::new(Purpose::Reserve))));
        }
        let table = TranslationTable::new([layout.logical_pages, layout.geometry.pages()], entries_per_page, copies);
        let (cache, structures) = S::cache(layout, values)?;
        let cached = structures
            .into_iter()
            .fold(Footprint::default(), |footprint, (name, bytes)| footprint.with(name, bytes, 0));
        Ok(Self {
            cache,
            foreign_pages: S::ForeignPages::new(layout, values, &space),
            trims: Trims::default(),
            aside,
            space,
            blocks,
            moving: Vec::new(),
            moving_to: COLLECTED,
            updates: Vec::new(),
            placement: S::placement(values),
            classes,
            copy_choice: S::copy_choice(values),
            delays: S::delays(values),
            gc_idle: S::gc_idle(values),
            rebuilding: false,
            background: values.word(WRITE_MISSES.name) == "background",
            footprint: cached.with("global translation directory", table.directory_bytes(), 0).with(
                "translation pages",
                0,
                translation_pages * u64::from(layout.geometry.page_size_bytes()),
            ),
            table,
        })
    }

    fn recover<D: Device>(layout: &Layout, values: &Values, flash: &mut FlashPort<D>) -> Result<Self, RecoverError> {
        let mut scheme = Self::format(&layout.in_use(), values)?;
        scheme.aside.clear();
        let outdated = scheme.take_over(layout, flash, |scheme, tag, ppn| {
            scheme.classes.iter_mut().for_each(|classes| classes.on_found(&tag));
            if !scheme.foreign_pages.on_found(tag, ppn) {
                let lpn = Lpn::new(tag.logical);
                let before = scheme.table.entry(lpn);
                debug_assert!(before.is_none(), "{lpn} is recovered at {ppn}, and at {before:?}");
                scheme.change_entry(lpn, Some(ppn));
            }
        })?;
        scheme.continue_clock(flash.last_version());
        for (lpn, ppn) in scheme.foreign_pages.settle(&mut scheme.space, &scheme.trims) {
            debug_assert!(scheme.space.is_valid(ppn), "{lpn} is given back at {ppn}, which is not valid");
            scheme.change_entry(lpn, Some(ppn));
        }
        FtlError::unless_read_only(scheme.rewrite_table(flash))?;
        for lpn in outdated {
            scheme.trims.guard(lpn);
        }
        Ok(scheme)
    }
}

impl<S: DemandScheme, D: Device> Mapping<D> for DemandPaged<S> {
    fn read(&mut self, flash: &mut FlashPort<D>, request: &Request, out: &mut [D::Data]) -> Result<(), FtlError> {
        self.cache.announce(request);
        flash.in_parallel(request.lpns(), |flash, (i, lpn)| {
            out[i] = self.read_page(flash, lpn)?;
            Ok(())
        })
    }

    fn write(&mut self, flash: &mut FlashPort<D>, request: &Request, data: &[D::Data]) -> Result<(), FtlError> {
        self.cache.announce(request);
        flash.in_parallel(request.lpns(), |flash, (i, lpn)| {
            let stream = self.classes.as_mut().map_or(HOST, |classes| classes.write_stream(request, lpn, &self.space));
            self.write_page(flash, stream, (lpn, request.hint), &data[i], |scheme, flash| {
                scheme.next_die(flash, stream)
            })
        })?;
        self.check_classes()?;
        self.repair_after_write(flash)
    }

    fn trim(&mut self, flash: &mut FlashPort<D>, request: &Request) -> Result<(), FtlError> {
        self.cache.announce(request);
        flash.in_parallel(request.lpns(), |flash, (_, lpn)| self.trim_page(flash, lpn))
    }

    fn decides_by_time(&self) -> bool {
        self.table.copies() > 1
    }

    fn uses_idle_time(&self) -> bool {
        self.gc_idle > 0 || self.space.is_paced()
    }

    fn idle(&mut self, flash: &mut FlashPort<D>, budget: Nanos) -> Result<(), FtlError> {
        pacing::use_idle_time(self, flash, self.gc_idle, budget)
    }

    fn flush(&mut self, flash: &mut FlashPort<D>) -> Result<(), FtlError> {
        flash.with_cause(Cause::Mapping, |flash| self.make_durable(flash))
    }

    fn prefetch(&self, flash: &FlashPort<D>, request: &Request, stage: PrefetchStage) {
        if request.lpn.get() < self.table.logical_pages() {
            match stage {
                PrefetchStage::Far => {
                    self.cache.prefetch_slot(request.lpn);
                    self.table.prefetch(request.lpn);
                }
                PrefetchStage::Near => {
                    self.prefetch_page(flash, request.lpn);
                    self.prefetch_use(request.lpn);
                }
                PrefetchStage::Next => {}
            }
        }
    }

    fn relocate_block(&mut self, flash: &mut FlashPort<D>, pbn: Pbn) -> Result<RelocateOutcome, FtlError> {
        self.exchange_aside(pbn);
        self.empty(flash, pbn)
    }

    fn uses_hints(&self) -> bool {
        self.classes.as_ref().is_some_and(|classes| classes.uses_hints())
    }

    fn with_wear_policy(&mut self, query: WearQuery<'_>) {
        self.blocks.with_wear_policy(None, query);
    }

    fn check(&self, flash: &FlashPort<D>) -> Result<(), BrokenInvariant> {
        // Data that was to enter the table when the device became read-only may be in it already.
        let is_read_only = self.blocks.spares().admit().is_err();
        let is_in_both = |lpn: Lpn, ppn: Ppn| is_read_only && self.table.entry(lpn) == Some(ppn);
        let mapped = self.check_entries(flash)? + self.foreign_pages.check(flash, &self.space, &is_in_both)?;
        let (valid, written) = (self.space.valid_pages(), self.table.written_pages().count() as u64);
        let trims = self.trims.pages().count() as u64;
        BrokenInvariant::unless(valid == mapped + written + trims, "I2", || {
            format!(
                "{valid} pages are valid, but {mapped} LPNs are mapped, {written} copies of translation pages and {trims} trim \
                 pages needed"
            )
        })?;
        self.space.check(flash, &self.blocks, "I3")?;
        let fault = self.cache.fault(&self.table, is_read_only);
        BrokenInvariant::unless(fault.is_none(), "I6", || fault.unwrap_or_default())?;
        self.table.check(flash, "I4", |lpn| is_read_only || self.cache.is_newer(lpn))
    }

    fn spares(&self) -> Spares {
        self.blocks.spares()
    }

    fn class_counts(&self) -> &[ClassCounts] {
        self.space.class_counts()
    }

    fn exposed_pages(&self) -> u32 {
        self.space.exposed_pages()
    }

    fn gauges(&self) -> Vec<Gauge> {
        self.cache.gauges()
    }

    fn footprint(&self) -> Footprint {
        self.space.add_summaries(self.classes.iter().fold(self.footprint.clone(), |all, classes| classes.add_to(all)))
    }
}

impl<S: DemandScheme> DemandPaged<S> {
    /// What flash holds of a logical page.
    #[inline]
    pub fn read_page<D: Device>(&mut self, flash: &mut FlashPort<D>, lpn: Lpn) -> Result<D::Data, FtlError> {
        match self.find(flash, lpn)? {
            Some(ppn) => {
                debug_assert!(self.space.is_valid(ppn), "{lpn} is mapped to {ppn}, which is not valid");
                Ok(flash.read(ppn)?.data)
            }
            None => Ok(D::Data::default()),
        }
    }

    /// Writes a logical page with this hint to a stream, on a die that `next_die`
    /// finds.
    #[inline]
    pub fn write_page<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        stream: Stream,
        (lpn, hint): (Lpn, Hint),
        data: &D::Data,
        next_die: impl FnMut(&mut Self, &mut FlashPort<D>) -> Result<u32, FtlError>,
    ) -> Result<(), FtlError> {
        let slot = self.lookup(flash, lpn, self.background)?;
        let page = (Label::new(lpn.get(), Role::Data), self.blocks.stored_hint(hint));
        let to = self.append_on(flash, (stream, hint), page, data, next_die)?;
        debug_assert!(self.cache.find(lpn).is_some(), "the entry of {lpn} has left while the page was programmed");
        self.remap(flash, lpn, slot, Some(to));
        self.classes.iter_mut().for_each(|classes| classes.on_written(lpn, &self.space));
        pacing::on_written(self, flash, to)
    }

    /// Forgets what flash holds of a logical page.
    pub fn trim_page<D: Device>(&mut self, flash: &mut FlashPort<D>, lpn: Lpn) -> Result<(), FtlError> {
        self.classes.iter_mut().for_each(|classes| classes.on_trimmed(lpn));
        if let Some(old) = self.unmap(flash, lpn)? {
            debug_assert!(!self.space.is_valid(old), "{lpn} was trimmed, and its page {old} is valid");
            self.trims.on_trimmed_at(lpn, old);
        }
        Ok(())
    }

    /// Checks every entry; returns how many logical pages are mapped.
    fn check_entries<D: Device>(&self, flash: &FlashPort<D>) -> Result<u64, BrokenInvariant> {
        let mut mapped = 0;
        for lpn in (0..self.table.logical_pages()).map(Lpn::new) {
            let entry = self.table.entry(lpn);
            BrokenInvariant::unless(!self.cache.is_newer(lpn) || self.cache.find(lpn).is_some(), "I5", || {
                format!("{lpn} is mapped to {entry:?}, which flash does not say, and its entry is not in RAM")
            })?;
            let Some(ppn) = entry else { continue };
            let tag = self.space.logical_at(flash, ppn);
            BrokenInvariant::unless(self.space.is_valid(ppn) && tag == Some(lpn.get()), "I1", || {
                format!("{lpn} maps to {ppn}, which carries {tag:?} (valid: {})", self.space.is_valid(ppn))
            })?;
            mapped += 1;
        }
        Ok(mapped)
    }
}

impl<S: DemandScheme> DemandPaged<S> {
    /// Takes a logical page out of the table; returns where it lay.
    pub fn unmap<D: Device>(&mut self, flash: &mut FlashPort<D>, lpn: Lpn) -> Result<Option<Ppn>, FtlError> {
        let slot = self.lookup(flash, lpn, false)?;
        let old = self.table.entry(lpn);
        if old.is_some() {
            self.remap(flash, lpn, slot, None);
        }
        Ok(old)
    }

    /// Has the table map a logical page, which it did not, to a place that is valid already.
    pub fn adopt<D: Device>(&mut self, flash: &mut FlashPort<D>, lpn: Lpn, at: Ppn) -> Result<(), FtlError> {
        debug_assert!(self.space.is_valid(at), "{lpn} is mapped to {at}, which is not valid");
        let slot = self.lookup(flash, lpn, false)?;
        let before = self.change_entry(lpn, Some(at));
        debug_assert!(before.is_none(), "{lpn} is mapped to {before:?}, and is adopted at {at}");
        self.cache.mark_newer(slot);
        Ok(())
    }

    /// Writes a copy of a logical page that lies elsewhere in the space to a stream. `at` tells
    /// where, after what it takes to find room may have moved it; if it says nothing, nothing is
    /// done. `last_read` is the translation page that was read last for pages copied together: it
    /// is not read again.
    pub fn copy_page<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        (stream, lpn): (Stream, Lpn),
        last_read: &mut Option<u32>,
        at: impl Fn(&S::ForeignPages) -> Option<Ppn>,
    ) -> Result<(), FtlError> {
        let slot = self.lookup_with(flash, lpn, last_read)?;
        let Some(from) = at(&self.foreign_pages) else { return Ok(()) };
        debug_assert!(self.space.is_valid(from), "{lpn} is copied from {from}, which is not valid");
        let (role, content) = flash.read_for_copy(from, Role::Data)?;
        let to = loop {
            let die = self.next_die(flash, stream)?;
            let (label, content) = (Label::new(lpn.get(), role), content.clone());
            if let Some(to) = self.space.program(flash, &mut self.blocks, die, (stream, Hint::NONE), label, content)? {
                break to;
            }
        };
        self.remap(flash, lpn, slot, Some(to));
        pacing::on_written(self, flash, to)
    }
}

impl<S: DemandScheme> DemandPaged<S> {
    /// What of the map is in RAM.
    pub fn cache(&self) -> &S::Cache {
        &self.cache
    }

    /// What of the map is in RAM, to be changed.
    pub fn cache_mut(&mut self) -> &mut S::Cache {
        &mut self.cache
    }

    /// Whether nobody waits for making room in RAM.
    pub fn is_in_background(&self) -> bool {
        self.background
    }

    /// Uses the entry of a logical page, which is in RAM, without asking what it says: the memory
    /// that a simulation needs for that is touched by nothing else, so that the processor would
    /// wait for it.
    pub fn use_entry<D: Device>(&mut self, flash: &mut FlashPort<D>, lpn: Lpn) -> Result<(), FtlError> {
        debug_assert!(self.cache.find(lpn).is_some(), "the entry of {lpn} is used, and is not in RAM");
        self.lookup(flash, lpn, false).map(|_| ())
    }

    /// Writes a logical page that leaves RAM. That is no use of its entry, which therefore stays
    /// where it is in its cache; if it is not there, it is fetched.
    pub fn write_down<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        (lpn, hint): (Lpn, Hint),
        data: &D::Data,
    ) -> Result<(), FtlError> {
        let slot = match self.cache.find(lpn) {
            Some(slot) => slot,
            None => self.lookup(flash, lpn, self.background)?,
        };
        debug_assert!(self.cache.find(lpn).is_some(), "{lpn} leaves RAM, and its entry is not there");
        let label = Label::new(lpn.get(), Role::Data);
        let to = self.append_on(flash, (HOST, hint), (label, 0), data, |scheme, flash| scheme.next_die(flash, HOST))?;
        self.remap(flash, lpn, slot, Some(to));
        pacing::on_written(self, flash, to)
    }

    /// Writes a cached translation page with all its newer entries, if it has any, so that it can
    /// leave RAM.
    pub fn write_back<D: Device>(&mut self, flash: &mut FlashPort<D>, page: u32) -> Result<(), FtlError> {
        let mut eviction = Note::CleanEviction;
        flash.with_cause(Cause::Mapping, |flash| {
            while self.cache.newer_of(page).next().is_some() {
                eviction = Note::DirtyEviction;
                self.prefetch_writing(flash, page);
                self.write_translation(flash, page, &[], Self::next_translation_die)?;
            }
            Ok(())
        })?;
        debug_assert!(self.cache.newer_of(page).next().is_none(), "page {page} leaves RAM with newer entries");
        flash.note(eviction);
        Ok(())
    }

    /// Where a logical page lies, when nothing can be brought into RAM any more: an entry that is
    /// not there is fetched each time.
    pub fn find_without_keeping<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        lpn: Lpn,
    ) -> Result<Option<Ppn>, FtlError> {
        let is_in_ram = self.cache.find(lpn).is_some();
        flash.note_lookup(lpn, is_in_ram);
        if is_in_ram { Ok(self.table.entry(lpn)) } else { self.find_on_flash(flash, lpn) }
    }
}

#[cfg(test)]
mod tests;
