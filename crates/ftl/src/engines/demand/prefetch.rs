//! Asking for the memory that the demand-paged machine will touch, before it does.

use flash::Lpn;

use crate::engines::demand::machine::DemandPaged;
use crate::engines::demand::policy::{DemandScheme, MapCache};
use crate::port::flash_port::FlashPort;
use crate::port::timing::Device;
use crate::prefetch::PrefetchStage;

impl<S: DemandScheme> DemandPaged<S> {
    /// Asks for a cached entry, or for the one on flash that an update will change.
    #[inline]
    pub(super) fn prefetch_change(&self, lpn: Lpn) {
        match self.cache.find(lpn) {
            Some(slot) => self.cache.prefetch_change(lpn, slot),
            None => self.table.prefetch(lpn),
        }
    }

    /// Asks for what writing a translation page touches: where it lies, and its entries that are
    /// newer than flash.
    #[inline]
    pub(super) fn prefetch_translation(&self, page: u32, stage: PrefetchStage) {
        match stage {
            PrefetchStage::Far => {
                self.cache.prefetch_newer_of(page);
                self.table.locations(page).iter().flatten().for_each(|&ppn| self.space.prefetch(ppn));
            }
            PrefetchStage::Near => self.cache.newer_of(page).for_each(|lpn| {
                self.cache.prefetch_slot(lpn);
                self.table.prefetch(lpn);
            }),
            PrefetchStage::Next => self.cache.newer_of(page).for_each(|lpn| self.prefetch_change(lpn)),
        }
    }

    /// The same for one that is written at once.
    pub(super) fn prefetch_writing(&self, page: u32) {
        self.prefetch_translation(page, PrefetchStage::Near);
        self.prefetch_translation(page, PrefetchStage::Next);
    }

    /// Asks for what looking an entry up touches.
    #[inline]
    pub fn prefetch_lookup(&self, lpn: Lpn) {
        match self.cache.find(lpn) {
            Some(slot) => self.cache.prefetch_use(slot, &self.table),
            None => self.table.prefetch(lpn),
        }
    }

    /// Asks for what reading a logical page touches on flash, and before it its translation page,
    /// if that is not in RAM.
    #[inline]
    pub fn prefetch_page<D: Device>(&self, flash: &FlashPort<D>, lpn: Lpn) {
        let page = self.table.page_of(lpn);
        let translation = if self.cache.holds_page(page) { &[] } else { self.table.locations(page) };
        let ppns = translation.iter().copied().chain([self.entry(lpn)]).flatten();
        ppns.for_each(|ppn| flash.device().prefetch(ppn));
    }

    /// Asks for what a lookup and the release of the page found touch.
    #[inline]
    pub fn prefetch_use(&self, lpn: Lpn) {
        if let Some(slot) = self.cache.find(lpn) {
            self.cache.prefetch_neighbours(slot);
        }
        if let Some(ppn) = self.entry(lpn) {
            self.space.prefetch(ppn);
        }
    }
}
