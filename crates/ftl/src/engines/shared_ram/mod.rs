//! The machine of the schemes that keep data pages and a part of the map in one RAM.
//!
//! It is a demand-paged map with pages held in front of it. The host's writes end in RAM; a page
//! that is newer than flash is written when it has to leave, or by a flush, after which it stays.
//! What leaves for whom is the policy's (`policy.rs`).
//!
//! Requests for more than a share of a block go around RAM: what they read and is not held is read
//! from flash, and what they write is programmed at once; a version that was held is dropped then,
//! not before.
//!
//! On a device that has become read-only nothing newer than flash can leave RAM. What is held can
//! be read until the power goes, and entries of the map that are not in RAM are fetched each time.

pub mod data_cache;
pub mod policy;

use flash::{Lpn, Pbn, Ppn};
use host::HostOp;

use crate::api::entry::Entry;
use crate::api::layout::Layout;
use crate::api::mapping::{FutureRequest, Mapping, Scheme, WearQuery};
use crate::api::parameter::Values;
use crate::api::report::{Buffered, Footprint, Gauge, Spares};
use crate::api::request::Request;
use crate::api::wear::RelocateOutcome;
use crate::engines::demand::machine::DemandPaged;
use crate::engines::demand::policy::{DemandScheme, MapCache};
use crate::engines::page_map::mapped::{HOST, PageMapped};
use crate::engines::shared_ram::data_cache::{CachedPage, DataCache};
use crate::engines::shared_ram::policy::{CacheOf, Evict, EvictionReason, RamView, SharedRamPolicy, Victim};
use crate::port::cause::Cause;
use crate::port::device::Device;
use crate::port::error::{BrokenInvariant, ConfigError, FtlError, RecoverError};
use crate::port::flash_port::{FlashPort, PendingEnd};
use crate::port::tally::Note;
use crate::port::timing::Nanos;
use crate::prefetch::PrefetchStage;

/// A scheme with data and map in one RAM: the shared machine with a policy.
pub struct SharedRam<P: SharedRamPolicy> {
    paged: DemandPaged<P::Map>,
    policy: P,
    held: DataCache,
    page_delay: Nanos,
    /// What searching a thousand data pages takes, and a thousand items of the map.
    data_selection: Nanos,
    map_selection: Nanos,
    /// Pages of the largest request that uses RAM.
    most_at_once: u32,
    loads: bool,
    page_bytes: u64,
    /// Time in RAM that the request in hand has taken and not yet been charged.
    owed: Nanos,
    /// When the page that left RAM last has gone.
    left: PendingEnd,
}

impl<P: SharedRamPolicy> SharedRam<P> {
    fn around(paged: DemandPaged<P::Map>, layout: &Layout, values: &Values) -> Self {
        Self {
            paged,
            policy: P::new(layout, values),
            held: DataCache::none(layout.logical_pages),
            page_delay: Nanos(values.integer("ram_page_delay")),
            data_selection: Nanos(values.integer("data_selection")),
            map_selection: Nanos(values.integer("map_selection")),
            most_at_once: policy::most_at_once(layout, values),
            loads: values.switch("load_before_write"),
            page_bytes: layout.geometry.page_size_bytes().into(),
            owed: Nanos::ZERO,
            left: PendingEnd::NOTHING,
        }
    }

    /// Serves a request, then lets the time pass that it has taken in RAM, where one thing is done
    /// after another.
    fn serve<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        work: impl FnOnce(&mut Self, &mut FlashPort<D>) -> Result<(), FtlError>,
    ) -> Result<(), FtlError> {
        debug_assert_eq!(self.owed, Nanos::ZERO, "a request begins with time that another one took");
        let served = work(self, flash);
        flash.spend(std::mem::take(&mut self.owed));
        served
    }

    fn goes_around(&self, request: &Request) -> bool {
        debug_assert!(request.pages > 0, "a request for no page at {}", request.lpn);
        request.pages > self.most_at_once
    }

    fn in_ram(&mut self) -> (&mut P, RamView<'_, CacheOf<P>>) {
        (&mut self.policy, RamView { cache: self.paged.cache_mut(), held: &self.held })
    }

    /// Lets leave RAM what the policy names until it names nothing more. A page that comes into RAM
    /// waits for the page that leaves it, since both cannot be there; entries may leave later.
    fn make_room<D: Device>(&mut self, flash: &mut FlashPort<D>, why: EvictionReason) -> Result<(), FtlError> {
        loop {
            let (policy, mut ram) = self.in_ram();
            let Some(Victim { what, among }) = policy.next_victim(&mut ram, why) else { return Ok(()) };
            let per_thousand = match what {
                Evict::Data(_) => self.data_selection,
                Evict::Translation(_) | Evict::Entry(_) => self.map_selection,
            };
            self.owed += Nanos(per_thousand.0 * among / 1000);
            if self.paged.is_in_background() && matches!(what, Evict::Entry(_)) {
                flash.in_background(|flash| self.evict(flash, what))?;
            } else {
                self.evict(flash, what)?;
            }
        }
    }

    fn evict<D: Device>(&mut self, flash: &mut FlashPort<D>, what: Evict) -> Result<(), FtlError> {
        match what {
            Evict::Data(lpn) => {
                debug_assert!(self.held.find(lpn).is_some(), "{lpn} leaves RAM, where it is not");
                self.prefetch_evictions(lpn);
                self.write_down(flash, lpn)?;
                let was_newer = self.drop_page(flash, lpn);
                debug_assert!(!was_newer, "{lpn} leaves RAM, and flash has something older");
                flash.note(Note::BufferEviction);
                self.left = flash.awaited();
                return Ok(());
            }
            Evict::Translation(page) => {
                self.paged.write_back(flash, page)?;
                self.left = flash.awaited();
            }
            Evict::Entry(lpn) => self.paged.write_back_entry(flash, lpn)?,
        }
        debug_assert!(!self.is_newer_than_flash(what), "{what:?} leaves RAM, and flash says something older");
        self.policy.evict(self.paged.cache_mut(), what);
        Ok(())
    }

    /// Whether something of the map in RAM is newer than flash.
    fn is_newer_than_flash(&self, what: Evict) -> bool {
        let cache = self.paged.cache();
        match what {
            Evict::Data(_) => false,
            Evict::Translation(page) => cache.newer_of(page).next().is_some(),
            Evict::Entry(lpn) => cache.is_newer(lpn),
        }
    }

    /// Writes a page that is held, if it is newer than flash.
    fn write_down<D: Device>(&mut self, flash: &mut FlashPort<D>, lpn: Lpn) -> Result<(), FtlError> {
        let Some(place) = self.held.find(lpn).filter(|&place| self.held.at(place).is_newer) else { return Ok(()) };
        if self.paged.cache().find(lpn).is_none() {
            self.make_room(flash, EvictionReason::WriteDown(lpn))?;
            self.and_look_up(flash, lpn, |paged, flash| paged.find(flash, lpn))?;
        } else {
            let (policy, mut ram) = self.in_ram();
            policy.on_entry_present(&mut ram, lpn);
        }
        debug_assert_eq!(self.held.find(lpn), Some(place), "{lpn} left its place while room was made for its entry");
        let CachedPage { page, hint, .. } = *self.held.at(place);
        let data = flash.ram().get(page).clone();
        self.owed += self.page_delay;
        self.paged.write_down(flash, (lpn, hint), &data)?;
        self.held.is_written(place);
        Ok(())
    }

    /// Holds a page no longer; tells whether it was newer than flash.
    fn drop_page<D: Device>(&mut self, flash: &mut FlashPort<D>, lpn: Lpn) -> bool {
        let Some(place) = self.held.find(lpn) else { return false };
        let (policy, mut ram) = self.in_ram();
        policy.on_evict(&mut ram, place);
        let Some(held) = self.held.remove(lpn) else { return false };
        flash.ram_mut().take(held.page);
        held.is_newer
    }

    /// A page that was held is superseded on flash, or trimmed.
    fn supersede<D: Device>(&mut self, flash: &mut FlashPort<D>, lpn: Lpn) {
        debug_assert!(self.held.knows(lpn), "there is no {lpn} to be superseded");
        self.policy.on_superseded(lpn);
        if self.drop_page(flash, lpn) {
            flash.note(Note::AbsorbedPage);
        }
    }

    /// Does something for which the entry of a page is used, after making room for that.
    fn with_entry<D: Device, R>(
        &mut self,
        flash: &mut FlashPort<D>,
        lpn: Lpn,
        work: impl FnOnce(&mut DemandPaged<P::Map>, &mut FlashPort<D>) -> Result<R, FtlError>,
    ) -> Result<R, FtlError> {
        debug_assert!(self.held.knows(lpn), "there is no {lpn} to look up");
        self.make_room(flash, EvictionReason::Entry(lpn))?;
        self.and_look_up(flash, lpn, work)
    }

    /// Does something for which there is room. The entry may have come although it failed
    /// afterwards, as on flash that fails.
    fn and_look_up<D: Device, R>(
        &mut self,
        flash: &mut FlashPort<D>,
        lpn: Lpn,
        work: impl FnOnce(&mut DemandPaged<P::Map>, &mut FlashPort<D>) -> Result<R, FtlError>,
    ) -> Result<R, FtlError> {
        let result = work(&mut self.paged, flash);
        if result.is_ok() || self.paged.cache().find(lpn).is_some() {
            debug_assert!(self.paged.cache().find(lpn).is_some(), "{lpn} was looked up, and its entry is not in RAM");
            let (policy, mut ram) = self.in_ram();
            policy.on_lookup(&mut ram, lpn);
        }
        result
    }

    /// Where flash has a page.
    fn locate<D: Device>(&mut self, flash: &mut FlashPort<D>, lpn: Lpn) -> Result<Option<Ppn>, FtlError> {
        match self.with_entry(flash, lpn, |paged, flash| paged.find(flash, lpn)) {
            Err(FtlError::ReadOnly { .. }) => self.paged.find_without_keeping(flash, lpn),
            found => found,
        }
    }

    /// The place of a page that is held and used.
    fn use_held<D: Device>(&mut self, flash: &mut FlashPort<D>, lpn: Lpn, op: HostOp) -> Result<Option<u32>, FtlError> {
        if self.held.find(lpn).is_none() {
            return Ok(None);
        }
        if P::FINDS_DATA_BY_ENTRY {
            if self.paged.cache().find(lpn).is_some() {
                self.with_entry(flash, lpn, |paged, flash| paged.use_entry(flash, lpn))?;
            } else {
                self.locate(flash, lpn)?;
            }
        }
        let Some(place) = self.held.find(lpn) else { return Ok(None) };
        let (policy, mut ram) = self.in_ram();
        policy.on_used(&mut ram, place, op);
        self.owed += self.page_delay;
        Ok(Some(place))
    }

    /// Holds a page that was not held, after making room for it.
    fn cache_page<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        (request, lpn): (&Request, Lpn),
        data: D::Data,
        is_newer: bool,
    ) -> Result<(), FtlError> {
        self.make_room(flash, EvictionReason::Data(lpn))?;
        if self.paged.is_in_background() {
            // Both cannot be in RAM, for any request of room.
            flash.wait_for(self.left);
        }
        debug_assert!(self.held.find(lpn).is_none(), "{lpn} came into RAM while room was made for it");
        let page = flash.ram_mut().put(data);
        let place = self.held.insert(CachedPage { lpn, page, hint: request.hint, is_newer });
        debug_assert!(self.held.pages() <= self.policy.most_pages() as usize, "RAM has no room for {lpn}");
        let (policy, mut ram) = self.in_ram();
        policy.on_inserted(&mut ram, place);
        self.owed += self.page_delay;
        Ok(())
    }

    fn read_page<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        request: &Request,
        lpn: Lpn,
    ) -> Result<D::Data, FtlError> {
        if let Some(place) = self.use_held(flash, lpn, HostOp::Read)? {
            flash.note_buffer_read(lpn, None);
            return Ok(flash.ram().get(self.held.at(place).page).clone());
        }
        let goes_around = self.goes_around(request);
        let missing = if goes_around { Note::BypassedPage } else { Note::BufferReadMiss };
        flash.note_buffer_read(lpn, Some(missing));
        self.policy.on_read_miss(lpn);
        let Some(at) = self.locate(flash, lpn)? else { return Ok(D::Data::default()) };
        debug_assert!(self.held.find(lpn).is_none(), "{lpn} is read at {at}, and is in RAM");
        let data = flash.read(at)?.data;
        // On a read-only device the entry may not be where that of a held page has to be.
        if P::HOLDS_READS && !goes_around && self.paged.blocks().spares().admit().is_ok() {
            FtlError::unless_read_only(self.cache_page(flash, (request, lpn), data.clone(), false))?;
        }
        Ok(data)
    }

    fn write_page<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        (request, lpn): (&Request, Lpn),
        data: &D::Data,
    ) -> Result<(), FtlError> {
        self.paged.blocks().spares().admit()?;
        if let Some(place) = self.use_held(flash, lpn, HostOp::Write)? {
            flash.note_buffer_write(lpn, true);
            let page = flash.ram_mut().put(data.clone());
            let before = self.held.replace(place, page, request.hint);
            flash.ram_mut().take(before.page);
            if before.is_newer {
                flash.note(Note::AbsorbedPage);
            }
            return Ok(());
        }
        flash.note_buffer_write(lpn, false);
        if self.loads {
            if let Some(at) = self.with_entry(flash, lpn, |paged, flash| paged.find(flash, lpn))? {
                // What it holds is written over, so that it need not be readable.
                flash.with_cause(Cause::Loading, |flash| flash.read_to_move(at))?;
            }
        } else if P::FINDS_DATA_BY_ENTRY {
            if self.paged.is_in_background() {
                flash.in_background(|flash| self.with_entry(flash, lpn, |paged, flash| paged.find(flash, lpn)))?;
            } else {
                self.with_entry(flash, lpn, |paged, flash| paged.find(flash, lpn))?;
            }
        }
        self.cache_page(flash, (request, lpn), data.clone(), true)
    }

    fn write_around<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        (request, lpn): (&Request, Lpn),
        data: &D::Data,
    ) -> Result<(), FtlError> {
        self.paged.blocks().spares().admit()?;
        flash.note(Note::BypassedPage);
        self.with_entry(flash, lpn, |paged, flash| {
            paged.write_page(flash, HOST, (lpn, request.hint), data, |paged, flash| paged.next_die(flash, HOST))
        })?;
        self.supersede(flash, lpn);
        Ok(())
    }
}

impl<P: SharedRamPolicy> Scheme for SharedRam<P> {
    const ENTRY: Entry = <P::Map as DemandScheme>::ENTRY;

    fn format(layout: &Layout, values: &Values) -> Result<Self, ConfigError> {
        Ok(Self::around(DemandPaged::format(layout, values)?, layout, values))
    }

    fn recover<D: Device>(layout: &Layout, values: &Values, flash: &mut FlashPort<D>) -> Result<Self, RecoverError> {
        Ok(Self::around(DemandPaged::recover(layout, values, flash)?, layout, values))
    }
}

impl<P: SharedRamPolicy, D: Device> Mapping<D> for SharedRam<P> {
    fn read(&mut self, flash: &mut FlashPort<D>, request: &Request, out: &mut [D::Data]) -> Result<(), FtlError> {
        self.policy.begins(request);
        self.serve(flash, |shared, flash| {
            flash.in_parallel(request.lpns(), |flash, (i, lpn)| {
                out[i] = shared.read_page(flash, request, lpn)?;
                Ok(())
            })
        })
    }

    fn write(&mut self, flash: &mut FlashPort<D>, request: &Request, data: &[D::Data]) -> Result<(), FtlError> {
        self.policy.begins(request);
        self.serve(flash, |shared, flash| {
            let goes_around = shared.goes_around(request);
            flash.in_parallel(request.lpns(), |flash, (i, lpn)| {
                if goes_around {
                    shared.write_around(flash, (request, lpn), &data[i])
                } else {
                    shared.write_page(flash, (request, lpn), &data[i])
                }
            })?;
            shared.paged.repair_after_write(flash)
        })
    }

    fn trim(&mut self, flash: &mut FlashPort<D>, request: &Request) -> Result<(), FtlError> {
        self.policy.begins(request);
        self.serve(flash, |shared, flash| {
            flash.in_parallel(request.lpns(), |flash, (_, lpn)| {
                shared.with_entry(flash, lpn, |paged, flash| paged.trim_page(flash, lpn))?;
                shared.supersede(flash, lpn);
                Ok(())
            })
        })
    }

    fn flush(&mut self, flash: &mut FlashPort<D>) -> Result<(), FtlError> {
        self.serve(flash, |shared, flash| {
            flash.in_parallel(shared.held.newer_pages(), |flash, lpn| shared.write_down(flash, lpn))?;
            shared.paged.repair_after_write(flash)?;
            shared.paged.flush(flash)
        })
    }

    fn needs_future(&self) -> bool {
        self.policy.needs_future()
    }

    fn set_future(&mut self, asked: &[FutureRequest]) {
        self.policy.set_future(&self.held, asked);
    }

    fn prefetch(&self, flash: &FlashPort<D>, request: &Request, stage: PrefetchStage) {
        if self.held.knows(request.lpn) {
            self.prefetch_use(flash, request.lpn, stage);
        }
    }

    fn relocate_block(&mut self, flash: &mut FlashPort<D>, pbn: Pbn) -> Result<RelocateOutcome, FtlError> {
        self.paged.relocate_block(flash, pbn)
    }

    fn with_wear_policy(&mut self, query: WearQuery<'_>) {
        self.paged.blocks().with_wear_policy(None, query);
    }

    fn check(&self, flash: &FlashPort<D>) -> Result<(), BrokenInvariant> {
        self.paged.check(flash)?;
        let (held, most, in_ram) = (self.held.pages(), self.policy.most_pages(), flash.ram().pages());
        BrokenInvariant::unless(held == in_ram && held <= most as usize, "I6", || {
            format!("{held} data pages are held where there is room for {most}, and RAM has {in_ram}")
        })?;
        let fault = self.policy.fault(self.paged.cache(), &self.held);
        BrokenInvariant::unless(fault.is_none(), "I6", || fault.unwrap_or_default())
    }

    fn footprint(&self) -> Footprint {
        Mapping::<D>::footprint(&self.paged)
    }

    fn spares(&self) -> Spares {
        Mapping::<D>::spares(&self.paged)
    }

    fn exposed_pages(&self) -> u32 {
        Mapping::<D>::exposed_pages(&self.paged)
    }

    fn buffered(&self) -> Buffered {
        let clean_pages = self.held.pages() as u32 - self.held.newer();
        Buffered { capacity_pages: self.policy.most_pages(), pages: self.held.newer(), clean_pages }
    }

    fn gauges(&self) -> Vec<Gauge> {
        let data_bytes = self.held.pages() as u64 * self.page_bytes;
        let mut gauges = vec![
            Gauge { name: "buffered_pages", value: self.held.newer().into() },
            Gauge { name: "ram_data_bytes", value: data_bytes as f64 },
        ];
        gauges.extend(self.policy.gauges(self.paged.cache(), &self.held));
        gauges
    }
}

impl<P: SharedRamPolicy> SharedRam<P> {
    /// Asks for what a request for a page touches: where it is held, and its neighbours in the
    /// lists of the policy; of a page that is not held its entry in the map and its tag on flash.
    #[inline]
    fn prefetch_use<D: Device>(&self, flash: &FlashPort<D>, lpn: Lpn, stage: PrefetchStage) {
        if stage == PrefetchStage::Far {
            self.held.prefetch(lpn);
            self.paged.cache().prefetch_slot(lpn);
            return;
        }
        match (self.held.find(lpn), stage) {
            (Some(place), PrefetchStage::Near) => {
                self.held.prefetch_at(place);
                self.policy.prefetch(place, stage);
            }
            (Some(place), _) => {
                self.policy.prefetch(place, stage);
                self.policy.prefetch_page(self.paged.cache(), lpn);
            }
            (None, PrefetchStage::Near) => self.paged.prefetch_lookup(lpn),
            (None, _) => {
                self.paged.prefetch_page(flash, lpn);
                self.policy.prefetch_page(self.paged.cache(), lpn);
            }
        }
    }

    /// When a page leaves, asks for what those touch that probably leave after it: the nearer one
    /// is, the more is known of it.
    #[inline]
    fn prefetch_evictions(&self, next_victim: Lpn) {
        let after = |place: &u32| self.policy.leaves_after(*place);
        let Some(next) = self.held.find(next_victim).as_ref().and_then(after) else { return };
        self.paged.prefetch_use(self.held.at(next).lpn);
        let Some(second) = after(&next) else { return };
        let lpn = self.held.at(second).lpn;
        self.paged.prefetch_lookup(lpn);
        self.policy.prefetch_page(self.paged.cache(), lpn);
        let Some(third) = after(&second) else { return };
        let lpn = self.held.at(third).lpn;
        self.held.prefetch(lpn);
        self.paged.cache().prefetch_slot(lpn);
        if let Some(fourth) = after(&third) {
            self.held.prefetch_at(fourth);
            self.policy.prefetch(fourth, PrefetchStage::Near);
        }
    }
}
