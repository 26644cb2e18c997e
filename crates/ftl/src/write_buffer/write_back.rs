//! Pages that wait in RAM in front of a mapping, and what every write buffer does alike.
//!
//! ```text
//!   host ──▶ buffer ──▶ levelling of wear ──▶ mapping        page+dynamic+BUFFER
//! ```
//!
//! A page that the host writes waits until the policy (`policy.rs`) names it, or a flush writes
//! everything down; of each logical page one version waits, the newest. Neighbouring pages that
//! leave together go to the mapping as one request, and requests of pages that leave together begin
//! at the same moment. Pages that the host says different things of go apart, if anything behind it
//! uses hints. What is trimmed is forgotten here and trimmed there. The pages lie behind the flash
//! port ([`RamPages`](crate::port::ram_pages::RamPages)), so a power cut leaves none of them:
//! what was not flushed is lost, and [`Drive::buffered`](crate::drive::Drive::buffered) says how
//! much that can be.
//!
//! Where a policy wants a logical block written whole, the pages of it that do not wait are read
//! from the mapping and written again, both under [`Cause::Padding`]. A page that holds no data, or
//! that cannot be read, stays as it is, and pages beyond such a gap that are neighbours of none
//! that waits are not written. A flush writes what waits and nothing else.
//!
//! The pages that leave for one request go to the flash together, and those among them that are
//! neighbours as one request. Room that pages leave is free when they have been written, not when
//! their programs are issued: a request waits until there is room for all its pages, whichever left
//! it. What is trimmed leaves its room at once.
//!
//! On a device that has become read-only, what waits can still be read until the power goes, and a
//! flush says that it cannot be written.
//!
//! Invariants:
//! - B1: of each logical page at most one version waits, no more wait than there is room for, and
//!   RAM holds these pages and no others.
//! - B2: the policy knows of as many pages as wait.
//! - B3: the pages that wait and the room whose pages are being written are no more than the room.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use flash::{Geometry, Lpn};
use host::Hint;

use crate::api::layout::Layout;
use crate::api::mapping::Mapping;
use crate::api::report::{Buffered, Footprint, Gauge};
use crate::api::request::Request;
use crate::port::cause::Cause;
use crate::port::device::Device;
use crate::port::error::{BrokenInvariant, FtlError};
use crate::port::flash_port::{FlashPort, PendingEnd};
use crate::port::ram_pages::RamPage;
use crate::port::tally::Note;
use crate::port::timing::{FlashOp, Nanos, Timing};
use crate::wear::levelling::Backend;
use crate::write_buffer::policy::{BufferPolicy, BufferRoom, BufferedPage, Victim};

/// A page that waits.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    page: RamPage,
    /// What the host said of it; nothing where nothing behind it uses hints.
    hint: Hint,
}

impl Waiting {
    fn buffered(self, lpn: Lpn) -> BufferedPage {
        BufferedPage { lpn, slot: self.page.slot() }
    }
}

/// A page to be written down.
struct PageToWrite<T> {
    lpn: Lpn,
    data: T,
    /// What the host said of it; none for a page that only completes a block.
    hint: Option<Hint>,
}

/// The pages of a write buffer, with the policy that chooses what leaves.
pub struct WriteBuffer {
    policy: Box<dyn BufferPolicy>,
    room: BufferRoom,
    waiting: BTreeMap<Lpn, Waiting>,
    /// When the pages that left are written, the first to leave in front: one per page of room.
    /// Room that is in neither of the two is free.
    leaving: VecDeque<PendingEnd>,
    geometry: Geometry,
    logical_pages: u32,
    uses_hints: bool,
}

impl WriteBuffer {
    /// An empty buffer of a device. `uses_hints` says whether anything behind it does.
    pub(crate) fn new(policy: Box<dyn BufferPolicy>, room: BufferRoom, layout: &Layout, uses_hints: bool) -> Self {
        Self {
            policy,
            room,
            waiting: BTreeMap::new(),
            leaving: VecDeque::new(),
            geometry: layout.geometry,
            logical_pages: layout.logical_pages,
            uses_hints,
        }
    }

    /// Reads pages: those that wait from RAM, the others from the mapping.
    pub(crate) fn read<D: Device>(
        &mut self,
        mapping: &mut dyn Mapping<D>,
        flash: &mut FlashPort<D>,
        request: &Request,
        out: &mut [D::Data],
    ) -> Result<(), FtlError> {
        let end = Lpn::new(request.lpn.get() + request.pages);
        if self.waiting.range(request.lpn..end).next().is_none() {
            return mapping.read(flash, request, out);
        }
        self.read_both(mapping, flash, request, out)
    }

    /// Has pages wait, and writes others down where room is missing.
    pub(crate) fn write<D: Device>(
        &mut self,
        backend: &mut Backend<'_, D>,
        flash: &mut FlashPort<D>,
        request: &Request,
        data: &[D::Data],
    ) -> Result<(), FtlError> {
        let hint = if self.uses_hints { request.hint } else { Hint::NONE };
        let mut begin = request.lpn.get();
        // No more at once than there is room for.
        for part in data.chunks(self.room.pages as usize) {
            backend.mapping.spares().admit()?;
            let end = begin + part.len() as u32;
            self.make_room(backend, flash, request.arrival, Lpn::new(begin)..Lpn::new(end))?;
            for (lpn, data) in (begin..end).map(Lpn::new).zip(part) {
                self.accept(flash, request, hint, (lpn, data.clone()));
            }
            begin = end;
        }
        Ok(())
    }

    /// Forgets pages that wait.
    pub(crate) fn trim<D: Device>(&mut self, flash: &mut FlashPort<D>, request: &Request) {
        for (_, lpn) in request.lpns().filter(|(_, lpn)| self.waiting.contains_key(lpn)).collect::<Vec<_>>() {
            flash.note(Note::AbsorbedPage);
            self.forget(flash, lpn);
        }
    }

    /// Writes down all that waits.
    pub(crate) fn flush<D: Device>(
        &mut self,
        backend: &mut Backend<'_, D>,
        flash: &mut FlashPort<D>,
    ) -> Result<(), FtlError> {
        // It is handed on as the arrival of what leaves, and decides nothing.
        let now = flash.device().timing().now();
        let all = self.waiting.keys().copied().collect::<Vec<_>>();
        let all = self.take(&all);
        self.write_down(backend, flash, now, all, Vec::new())?;
        for written in self.leaving.drain(..) {
            flash.wait_for(written);
        }
        Ok(())
    }

    /// What its policy says that went wrong; it ends the run.
    pub(crate) fn report_policy_failure(&mut self) -> Result<(), FtlError> {
        self.policy.take_failure().map_or(Ok(()), |message| Err(FtlError::Failed { message }))
    }

    /// Checks B1 to B3.
    pub(crate) fn check<D: Device>(&self, flash: &FlashPort<D>) -> Result<(), BrokenInvariant> {
        let (waiting, room, in_ram) = (self.waiting.len(), self.room.pages, flash.ram().pages());
        BrokenInvariant::unless(waiting == in_ram && waiting <= room as usize, "B1", || {
            format!("{waiting} pages wait where there is room for {room}, and RAM holds {in_ram}")
        })?;
        let leaving = self.leaving.len();
        BrokenInvariant::unless(waiting + leaving <= room as usize, "B3", || {
            format!("{waiting} pages wait and {leaving} are being written where there is room for {room}")
        })?;
        let known = self.policy.pages();
        BrokenInvariant::unless(known as usize == waiting, "B2", || {
            format!("{waiting} pages wait, and {:?} knows of {known}", self.policy)
        })
    }

    /// A footprint with the buffer's pages and the tables of its policy.
    pub(crate) fn add_footprint(&self, footprint: Footprint) -> Footprint {
        // A page, its number, and where it lies.
        let pages = u64::from(self.room.pages) * (u64::from(self.geometry.page_size_bytes()) + 8);
        let footprint = footprint.with("write buffer", pages, 0);
        self.policy.tables().into_iter().fold(footprint, |footprint, (name, bytes)| footprint.with(name, bytes, 0))
    }

    /// How many pages can wait, and how many do.
    pub(crate) fn buffered(&self) -> Buffered {
        Buffered { capacity_pages: self.room.pages, pages: self.waiting.len() as u32, clean_pages: 0 }
    }

    /// Its numbers for the time series.
    pub(crate) fn gauges(&self) -> Vec<Gauge> {
        let waiting = Gauge { name: "buffered_pages", value: self.waiting.len() as f64 };
        [waiting].into_iter().chain(self.policy.gauges()).collect()
    }

    /// Has a page wait for which there is room.
    fn accept<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        request: &Request,
        hint: Hint,
        (lpn, data): (Lpn, D::Data),
    ) {
        if let Some(waiting) = self.waiting.get_mut(&lpn) {
            flash.ram_mut().replace(waiting.page, data);
            waiting.hint = hint;
            flash.note_buffer_write(lpn, true);
            flash.note(Note::AbsorbedPage);
            self.policy.on_rewritten(waiting.buffered(lpn), request);
        } else {
            let waiting = Waiting { page: flash.ram_mut().put(data), hint };
            self.waiting.insert(lpn, waiting);
            flash.note_buffer_write(lpn, false);
            self.policy.on_inserted(waiting.buffered(lpn), request);
        }
        flash.spend(self.room.delay);
    }

    /// Waits until there is room for those of some pages that do not wait. Where too many others
    /// wait, those that the policy names leave together.
    fn make_room<D: Device>(
        &mut self,
        backend: &mut Backend<'_, D>,
        flash: &mut FlashPort<D>,
        at: Nanos,
        pages: Range<Lpn>,
    ) -> Result<(), FtlError> {
        let room = self.room.pages as usize;
        let all = (pages.end.get() - pages.start.get()) as usize;
        let mut new = all - self.waiting.range(pages.clone()).count();
        let (mut evicted, mut padding) = (Vec::new(), Vec::new());
        let mut result = Ok(());
        while result.is_ok() && self.waiting.len() + new > room {
            flash.note(Note::BufferEviction);
            let before = evicted.len();
            result = self.evict(backend.mapping, flash, &mut evicted).map(|read| padding.extend(read));
            new += evicted[before..].iter().filter(|(lpn, _)| pages.contains(lpn)).count();
        }
        let begun = flash.awaited();
        let written = self.write_down(backend, flash, at, evicted, padding);
        result.and(written)?;
        flash.go_on_from(begun);
        while self.waiting.len() + self.leaving.len() + new > room {
            let written = self.leaving.pop_front().expect("there is room beside the pages that wait");
            flash.wait_for(written);
        }
        Ok(())
    }

    /// Adds to `evicted` what the policy names, or if nothing of that waits, the page with the
    /// lowest number; returns what completes its block.
    fn evict<D: Device>(
        &mut self,
        mapping: &mut dyn Mapping<D>,
        flash: &mut FlashPort<D>,
        evicted: &mut Vec<(Lpn, Waiting)>,
    ) -> Result<Vec<PageToWrite<D::Data>>, FtlError> {
        let next_victim = self.policy.next_victim();
        let (first, pages) = match next_victim {
            Victim::Page(lpn) => (lpn.get(), 1),
            Victim::Block(lbn) | Victim::WholeBlock(lbn) => {
                let pages = self.geometry.pages_per_block();
                (lbn.get().saturating_mul(pages), pages)
            }
        };
        let [first, end] = [first, first.saturating_add(pages)].map(|page| Lpn::new(page.min(self.logical_pages)));
        let mut pages: Vec<Lpn> = self.waiting.range(first..end).map(|(&lpn, _)| lpn).collect();
        let is_whole = matches!(next_victim, Victim::WholeBlock(_)) && !pages.is_empty();
        if pages.is_empty() {
            pages.extend(self.waiting.keys().next());
        }
        let padding = if is_whole { self.padding(mapping, flash, first..end, evicted)? } else { Vec::new() };
        evicted.extend(self.take(&pages));
        Ok(padding)
    }

    /// Takes pages from those that wait; RAM still holds them.
    fn take(&mut self, pages: &[Lpn]) -> Vec<(Lpn, Waiting)> {
        let mut taken = Vec::with_capacity(pages.len());
        for &lpn in pages {
            let waiting = self.waiting.remove(&lpn).expect("it waits");
            self.policy.on_left(waiting.buffered(lpn));
            taken.push((lpn, waiting));
        }
        taken
    }

    /// Reads the pages of a block that neither wait nor were `evicted`, hold data, and can be read.
    /// That a page holds data shows in its being read in flash.
    fn padding<D: Device>(
        &mut self,
        mapping: &mut dyn Mapping<D>,
        flash: &mut FlashPort<D>,
        block: Range<Lpn>,
        evicted: &[(Lpn, Waiting)],
    ) -> Result<Vec<PageToWrite<D::Data>>, FtlError> {
        let is_newer = |lpn: &Lpn| self.waiting.contains_key(lpn) || evicted.iter().any(|(taken, _)| taken == lpn);
        let missing = (block.start.get()..block.end.get()).map(Lpn::new).filter(|lpn| !is_newer(lpn));
        let missing: Vec<Lpn> = missing.collect();
        let mut found = Vec::new();
        flash.with_cause(Cause::Padding, |flash| {
            flash.in_parallel(missing, |flash, lpn| {
                let reads = |flash: &FlashPort<D>| flash.tally().count(Cause::Padding, FlashOp::Read);
                let (mut data, before) = ([D::Data::default()], reads(flash));
                match mapping.read(flash, &Request::new(lpn, 1), &mut data) {
                    Err(error) if error.is_uncorrectable() => return Ok(()),
                    result => result?,
                }
                let [data] = data;
                if reads(flash) > before {
                    found.push(PageToWrite { lpn, data, hint: None });
                }
                Ok(())
            })
        })?;
        Ok(found)
    }

    /// Writes pages that have been taken, and others between them: neighbours of one hint as one
    /// request. What could not be written waits again.
    fn write_down<D: Device>(
        &mut self,
        backend: &mut Backend<'_, D>,
        flash: &mut FlashPort<D>,
        at: Nanos,
        taken: Vec<(Lpn, Waiting)>,
        padding: Vec<PageToWrite<D::Data>>,
    ) -> Result<(), FtlError> {
        let mut all = padding;
        all.extend(taken.iter().map(|&(lpn, Waiting { page, hint })| PageToWrite {
            lpn,
            data: flash.ram().get(page).clone(),
            hint: Some(hint),
        }));
        all.sort_unstable_by_key(|page| page.lpn);
        let mut left: BTreeMap<Lpn, Waiting> = taken.into_iter().collect();
        let result = flash.in_parallel(runs(all), |flash, run| {
            let hint = run.iter().find_map(|page| page.hint).unwrap_or_default();
            let padding: Vec<Lpn> = run.iter().filter(|page| page.hint.is_none()).map(|page| page.lpn).collect();
            let waiting: Vec<Lpn> = run.iter().filter(|page| page.hint.is_some()).map(|page| page.lpn).collect();
            let request = Request { arrival: at, hint, ..Request::new(run[0].lpn, run.len() as u32) };
            let data: Vec<_> = run.into_iter().map(|page| page.data).collect();
            flash.spend(Nanos(self.room.delay.0 * waiting.len() as u64));
            flash.with_padding(padding, |flash| backend.write(flash, &request, &data))?;
            for waiting in waiting.iter().filter_map(|lpn| left.remove(lpn)) {
                flash.ram_mut().take(waiting.page);
                self.leaving.push_back(flash.awaited());
            }
            Ok(())
        });
        for (lpn, waiting) in left {
            self.waiting.insert(lpn, waiting);
            self.policy.on_inserted(waiting.buffered(lpn), &Request::new(lpn, 1));
        }
        result
    }

    fn forget<D: Device>(&mut self, flash: &mut FlashPort<D>, lpn: Lpn) {
        if let Some(waiting) = self.waiting.remove(&lpn) {
            flash.ram_mut().take(waiting.page);
            self.policy.on_left(waiting.buffered(lpn));
        }
    }

    /// A request for pages of which some wait: those from RAM, the others from the mapping, all at
    /// the same moment.
    fn read_both<D: Device>(
        &mut self,
        mapping: &mut dyn Mapping<D>,
        flash: &mut FlashPort<D>,
        request: &Request,
        out: &mut [D::Data],
    ) -> Result<(), FtlError> {
        let mut pieces: Vec<(usize, u32, Option<RamPage>)> = Vec::new();
        for (i, lpn) in request.lpns() {
            let page = self.waiting.get(&lpn).map(|waiting| waiting.page);
            match pieces.last_mut().filter(|(_, _, before)| before.is_none() && page.is_none()) {
                Some((_, pages, _)) => *pages += 1,
                None => pieces.push((i, 1, page)),
            }
        }
        flash.in_parallel(pieces, |flash, (start, pages, page)| {
            let lpn = Lpn::new(request.lpn.get() + start as u32);
            let Some(page) = page else {
                return mapping.read(
                    flash,
                    &Request { lpn, pages, ..*request },
                    &mut out[start..start + pages as usize],
                );
            };
            flash.spend(self.room.delay);
            flash.note_buffer_read(lpn, None);
            out[start] = flash.ram().get(page).clone();
            self.policy.read(BufferedPage { lpn, slot: page.slot() });
            Ok(())
        })
    }
}

/// Pages in the order of their numbers, as runs of neighbours that the host said the same of. Pages
/// that would only complete a block, and are neighbours of none that the host wrote, are left out.
fn runs<T>(pages: Vec<PageToWrite<T>>) -> Vec<Vec<PageToWrite<T>>> {
    let mut runs: Vec<Vec<PageToWrite<T>>> = Vec::new();
    let mut hint = None;
    for page in pages {
        let follows = runs.last().and_then(|run| run.last()).is_some_and(|last| last.lpn.get() + 1 == page.lpn.get());
        let differs = page.hint.is_some() && hint.is_some() && page.hint != hint;
        if let Some(run) = runs.last_mut().filter(|_| follows && !differs) {
            hint = hint.or(page.hint);
            run.push(page);
        } else {
            hint = page.hint;
            runs.push(vec![page]);
        }
    }
    runs.retain(|run| run.iter().any(|page| page.hint.is_some()));
    runs
}
