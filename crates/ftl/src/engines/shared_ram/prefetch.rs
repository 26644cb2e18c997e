//! Asking for the memory that requests and evictions will touch, before they do.

use flash::Lpn;

use crate::engines::demand::policy::MapCache;
use crate::engines::shared_ram::machine::SharedRam;
use crate::engines::shared_ram::policy::SharedRamPolicy;
use crate::memory::prefetch::PrefetchStage;
use crate::port::flash_port::FlashPort;
use crate::port::timing::Device;

impl<P: SharedRamPolicy> SharedRam<P> {
    /// Asks for what a request for a page touches: where it is held, and its neighbours in the
    /// lists of the policy; of a page that is not held its entry in the map and its tag on flash.
    #[inline]
    pub(super) fn prefetch_use<D: Device>(&self, flash: &FlashPort<D>, lpn: Lpn, stage: PrefetchStage) {
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
    pub(super) fn prefetch_evictions(&self, next_victim: Lpn) {
        let after = |place: &u32| self.policy.leaves_after(*place);
        let Some(next) = self.held.find(next_victim).as_ref().and_then(after) else { return };
        self.paged.prefetch_use(self.held.at(next).lpn);
        let Some(second) = after(&next) else { return };
        let lpn = self.held.at(second).lpn;
        self.held.prefetch(lpn);
        self.paged.prefetch_lookup(lpn);
        if let Some(third) = after(&second) {
            self.held.prefetch_at(third);
            self.policy.prefetch(third, PrefetchStage::Near);
        }
    }
}
