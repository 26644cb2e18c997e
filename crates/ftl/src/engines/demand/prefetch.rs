//! Asking for the memory that the demand-paged machine will touch, before it does.

use flash::{Flash, Lpn};

use crate::engines::demand::machine::DemandPaged;
use crate::engines::demand::policy::{DemandScheme, MapCache};
use crate::port::device::Device;
use crate::port::flash_port::FlashPort;

impl<S: DemandScheme> DemandPaged<S> {
    /// Asks for an entry that will change, in RAM or on flash.
    #[inline]
    pub(super) fn prefetch_change(&self, lpn: Lpn) {
        self.table.prefetch(lpn);
        if let Some(slot) = self.cache.find(lpn) {
            self.cache.prefetch_change(lpn, slot);
        }
    }

    /// Asks for what writing a translation page touches: where it lies and is read, and which of
    /// its entries are newer than flash.
    #[inline]
    pub(super) fn prefetch_writing<D: Device>(&self, flash: &FlashPort<D>, page: u32) {
        self.cache.prefetch_newer_of(page);
        for &ppn in self.table.locations(page).iter().flatten() {
            self.space.prefetch(ppn);
            flash.chip().prefetch(ppn);
        }
    }

    /// Asks for what looking an entry up touches.
    #[inline]
    pub fn prefetch_lookup(&self, lpn: Lpn) {
        self.table.prefetch(lpn);
        if let Some(slot) = self.cache.find(lpn) {
            self.cache.prefetch_use(slot);
        }
    }

    /// Asks for what reading a logical page touches on flash, and before it its translation page,
    /// if that is not in RAM.
    #[inline]
    pub fn prefetch_page<D: Device>(&self, flash: &FlashPort<D>, lpn: Lpn) {
        let page = self.table.page_of(lpn);
        let translation = if self.cache.holds_page(page) { &[] } else { self.table.locations(page) };
        let ppns = translation.iter().copied().chain([self.table.entry(lpn)]).flatten();
        ppns.for_each(|ppn| flash.chip().prefetch(ppn));
    }

    /// Asks for what the release of the page found touches.
    #[inline]
    pub fn prefetch_use(&self, lpn: Lpn) {
        if let Some(ppn) = self.table.entry(lpn) {
            self.space.prefetch(ppn);
        }
    }
}
