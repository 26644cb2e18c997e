//! Pages that wait in RAM in front of a mapping, and what every write buffer does alike.
//!
//! ```text
//!   host ──▶ buffer ──▶ levelling of wear ──▶ mapping        page+dynamic+BUFFER
//! ```
//!
//! A page that the host writes waits until the policy (`policy.rs`) names it, or a flush writes everything down; of each logical page one
//! version waits, the newest. Neighbouring pages that leave together go to the mapping as one request. What is trimmed is forgotten here
//! and trimmed there. The pages lie behind the door ([`RamPages`](crate::RamPages)), so a power cut leaves none of them: what was not
//! flushed is lost, and [`Ftl::buffered`] says how much that can be.
//!
//! On a device that has become read-only, what waits can still be read until the power goes, and a flush says that it cannot be written.
//!
//! Invariant: B1, of each logical page at most one version waits, no more wait than there is room for, and RAM holds these pages and no
//! others.

use std::collections::BTreeMap;

use flash::{Lpn, Pbn};

use crate::buffer::policy::BufferPolicy;
use crate::parts::blocks::owner::Blocks;
use crate::{
    BrokenInvariant, Buffered, Consultation, Device, Evacuated, FileEvent, Footprint, Foresight, Ftl, FtlError, Gauge,
    Hint, Media, Nanos, Note, RamPage, Request, Spares,
};

/// A page that waits.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    page: RamPage,
    /// What the host said of it.
    hint: Hint,
}

/// A mapping, with wear levelling or without, behind a write buffer.
pub struct WriteBack<D: Device> {
    mapping: Box<dyn Ftl<D>>,
    policy: Box<dyn BufferPolicy>,
    waiting: BTreeMap<Lpn, Waiting>,
    page_bytes: u64,
}

impl<D: Device> WriteBack<D> {
    /// An empty buffer in front of a mapping whose pages have so many bytes.
    pub fn new(mapping: Box<dyn Ftl<D>>, policy: Box<dyn BufferPolicy>, page_bytes: u32) -> Self {
        Self { mapping, policy, waiting: BTreeMap::new(), page_bytes: page_bytes.into() }
    }

    /// Has a page wait, after others have made room if need be.
    fn accept(&mut self, media: &mut Media<D>, request: &Request, lpn: Lpn, data: D::Data) -> Result<(), FtlError> {
        if let Some(old) = self.waiting.get_mut(&lpn) {
            media.ram_mut().take(old.page);
            *old = Waiting { page: media.ram_mut().put(data), hint: request.hint };
            media.note(Note::AbsorbedPage);
            self.policy.rewritten(lpn, request);
            return Ok(());
        }
        while self.waiting.len() >= self.policy.capacity_pages() as usize {
            let mut leaving = self.policy.leaving();
            leaving.retain(|lpn| self.waiting.contains_key(lpn));
            if leaving.is_empty() {
                leaving.extend(self.waiting.keys().next());
            }
            self.write_down(media, request.arrival, leaving)?;
        }
        let page = media.ram_mut().put(data);
        self.waiting.insert(lpn, Waiting { page, hint: request.hint });
        self.policy.came(lpn, request);
        Ok(())
    }

    /// Writes pages that wait, neighbours of one hint together. What could not be written stays.
    fn write_down(&mut self, media: &mut Media<D>, at: Nanos, mut leaving: Vec<Lpn>) -> Result<(), FtlError> {
        leaving.sort_unstable();
        leaving.dedup();
        let mut rest = leaving.as_slice();
        while let Some(&first) = rest.first() {
            let hint = self.waiting[&first].hint;
            let follows = |&(place, lpn): &(u32, &Lpn)| {
                lpn.get() == first.get() + place && self.waiting.get(lpn).is_some_and(|page| page.hint == hint)
            };
            let pages = (0..).zip(rest).take_while(follows).count();
            let (run, others) = rest.split_at(pages);
            let data: Vec<_> = run.iter().map(|lpn| media.ram().get(self.waiting[lpn].page).clone()).collect();
            let request = Request { arrival: at, hint, ..Request::new(first, pages as u32) };
            self.mapping.write(media, &request, &data)?;
            for &lpn in run {
                self.forget(media, lpn);
            }
            rest = others;
        }
        Ok(())
    }

    fn forget(&mut self, media: &mut Media<D>, lpn: Lpn) {
        if let Some(Waiting { page, .. }) = self.waiting.remove(&lpn) {
            media.ram_mut().take(page);
            self.policy.left(lpn);
        }
    }
}

impl<D: Device> Ftl<D> for WriteBack<D> {
    fn read(&mut self, media: &mut Media<D>, request: &Request, out: &mut [D::Data]) -> Result<(), FtlError> {
        let waits = |lpn: Lpn| self.waiting.contains_key(&lpn);
        let mut runs: Vec<(usize, Request)> = Vec::new();
        for (i, lpn) in request.lpns().filter(|&(_, lpn)| !waits(lpn)) {
            match runs.last_mut().filter(|(start, run)| start + run.pages as usize == i) {
                Some((_, run)) => run.pages += 1,
                None => runs.push((i, Request { lpn, pages: 1, ..*request })),
            }
        }
        media.together(runs, |media, (start, run)| {
            self.mapping.read(media, &run, &mut out[start..start + run.pages as usize])
        })?;
        for (i, lpn) in request.lpns() {
            if let Some(Waiting { page, .. }) = self.waiting.get(&lpn) {
                out[i] = media.ram().get(*page).clone();
                self.policy.read(lpn);
            }
        }
        Ok(())
    }

    fn write(&mut self, media: &mut Media<D>, request: &Request, data: &[D::Data]) -> Result<(), FtlError> {
        for (i, lpn) in request.lpns() {
            self.mapping.spares().admit()?;
            self.accept(media, request, lpn, data[i].clone())?;
        }
        Ok(())
    }

    fn trim(&mut self, media: &mut Media<D>, request: &Request) -> Result<(), FtlError> {
        self.mapping.trim(media, request)?;
        for (_, lpn) in request.lpns().filter(|(_, lpn)| self.waiting.contains_key(lpn)).collect::<Vec<_>>() {
            media.note(Note::AbsorbedPage);
            self.forget(media, lpn);
        }
        Ok(())
    }

    fn flush(&mut self, media: &mut Media<D>) -> Result<(), FtlError> {
        let (now, all) = (media.now(), self.waiting.keys().copied().collect());
        self.write_down(media, now, all)?;
        self.mapping.flush(media)
    }

    fn foresee(&self, request: &Request, foresight: Foresight) {
        self.mapping.foresee(request, foresight);
    }

    fn told(&mut self, event: FileEvent, of: &Request) {
        self.mapping.told(event, of);
    }

    fn idle(&mut self, media: &mut Media<D>, budget: Nanos) -> Result<(), FtlError> {
        self.mapping.idle(media, budget)
    }

    fn evacuate(&mut self, media: &mut Media<D>, pbn: Pbn) -> Result<Evacuated, FtlError> {
        self.mapping.evacuate(media, pbn)
    }

    fn owner(&mut self) -> Option<&mut Blocks> {
        self.mapping.owner()
    }

    fn consult(&mut self, ask: Consultation<'_>) {
        self.mapping.consult(ask);
    }

    fn check(&self, media: &Media<D>) -> Result<(), BrokenInvariant> {
        self.mapping.check(media)?;
        let (waiting, room, in_ram) = (self.waiting.len(), self.policy.capacity_pages(), media.ram().pages());
        BrokenInvariant::unless(waiting == in_ram && waiting <= room as usize, "B1", || {
            format!("{waiting} pages wait where there is room for {room}, and RAM holds {in_ram}")
        })
    }

    fn footprint(&self) -> Footprint {
        // A page, its number, and where it lies.
        let pages = u64::from(self.policy.capacity_pages()) * (self.page_bytes + 8);
        let footprint = self.mapping.footprint().with("write buffer", pages, 0);
        self.policy.tables().into_iter().fold(footprint, |footprint, (name, bytes)| footprint.with(name, bytes, 0))
    }

    fn spares(&self) -> Spares {
        self.mapping.spares()
    }

    fn buffered(&self) -> Buffered {
        Buffered { capacity_pages: self.policy.capacity_pages(), pages: self.waiting.len() as u32 }
    }

    fn gauges(&self) -> Vec<Gauge> {
        let mut gauges = self.mapping.gauges();
        gauges.push(Gauge { name: "buffered_pages", value: self.waiting.len() as f64 });
        gauges
    }
}
