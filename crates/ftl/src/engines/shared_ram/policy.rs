//! What makes one scheme that keeps data and map in one RAM differ from another: who leaves for
//! whom.
//!
//! The machine (`machine.rs`) serves requests, moves pages between RAM and flash and keeps the
//! promise of what a power cut may take. It tells a policy what is used, and asks it what has to
//! leave RAM before an entry of the map or a data page can be brought there. A policy answers with
//! names ([`Evict`]) and does no flash operation.

use flash::Lpn;
use host::HostOp;

use crate::api::layout::Layout;
use crate::api::mapping::FutureRequest;
use crate::api::parameter::{Kind, Parameter, Values};
use crate::api::report::Gauge;
use crate::api::request::Request;
use crate::engines::demand::policy::DemandScheme;
use crate::engines::shared_ram::data_cache::DataCache;
use crate::prefetch::PrefetchStage;

/// The RAM that data and map share.
pub const RAM: Parameter = Parameter {
    name: "ram",
    kind: Kind::Bytes { min: 1 << 10, max: 1 << 40, scales: true },
    default: "8MiB",
    meaning: "RAM for data pages and the cached part of the map together. More is lost in a power cut.",
    source: "Wang 2013 6.5 (8 to 64 MB for 32 GB)",
};

/// The parameters of all these schemes.
pub const PARAMETERS: [Parameter; 6] = [
    RAM,
    Parameter {
        name: "ram_page_delay",
        kind: Kind::Duration { min: 0, max: 1_000_000 },
        default: "2us",
        meaning: "Time to read a data page from RAM, or to write it there.",
        source: "Wang 2013 6.5.1 (2us for 2 KiB)",
    },
    Parameter {
        name: "data_selection",
        kind: Kind::Duration { min: 0, max: 1_000_000_000 },
        default: "0us",
        meaning: "Time that a search for a data page which leaves RAM takes for each thousand items of the list that is searched; 0 counts it as \
                  nothing beside flash.",
        source: "Wang 2013 6.5.2 and fig. 6.9, without a figure",
    },
    Parameter {
        name: "map_selection",
        kind: Kind::Duration { min: 0, max: 1_000_000_000 },
        default: "0us",
        meaning: "The same for an entry of the map, or a translation page.",
        source: "Wang 2013 6.5.2 and fig. 6.9, without a figure",
    },
    Parameter {
        name: "bypass_above",
        kind: Kind::Ratio { min: 0.0, max: 1.0 },
        default: "0.5",
        meaning: "Share of a block: the pages of a request for more than that go around RAM.",
        source: "Wang 2013 6.2.2",
    },
    Parameter {
        name: "load_before_write",
        kind: Kind::Switch,
        default: "true",
        meaning: "Read the old page on a write miss, even if all of it is overwritten.",
        source: "Wang 2013 6.2.2 and fig. 6.2 (true)",
    },
];

/// Pages of the largest request that uses RAM.
pub fn most_at_once(layout: &Layout, values: &Values) -> u32 {
    (values.ratio("bypass_above") * f64::from(layout.geometry.pages_per_block())) as u32
}

/// What leaves RAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evict {
    /// A data page; one that is newer than flash is written first.
    Data(Lpn),
    /// A translation page; one with newer entries is written first.
    Translation(u32),
    /// An entry of the map; if it is newer than flash, its translation page is written first.
    Entry(Lpn),
}

/// What leaves next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Victim {
    /// The data page, translation page or map entry to evict.
    pub what: Evict,
    /// Items among which it was searched, for `data_selection` and `map_selection`.
    pub among: u64,
}

/// What is in RAM.
pub struct RamView<'a, C> {
    /// Map entries in RAM.
    pub cache: &'a mut C,
    /// Data pages in RAM.
    pub held: &'a DataCache,
}

/// Why something has to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvictionReason {
    /// The map's entry of a page is to be used.
    Entry(Lpn),
    /// A data page that is held is to be written, and the map's entry of it brought into RAM for
    /// that, without its leaving for it.
    WriteDown(Lpn),
    /// A data page is to be held that is not; its entry has been used just before, under a policy
    /// for which that [counts](SharedRamPolicy::FINDS_DATA_BY_ENTRY).
    Data(Lpn),
}

/// The type of the cache that a policy's map uses.
pub type CacheOf<P> = <<P as SharedRamPolicy>::Map as DemandScheme>::Cache;

/// A way of sharing RAM between data and map. The shortest one is that of
/// [`jtl`](crate::schemes::jtl).
pub trait SharedRamPolicy: Send + Sized {
    /// The demand-paged map, with the scheme's registry entry.
    type Map: DemandScheme;

    /// Whether data pages are found through the map, so that each access to one uses its entry, in
    /// RAM or not.
    const FINDS_DATA_BY_ENTRY: bool;

    /// Whether a page that is read and not in RAM is held from then on.
    const HOLDS_READS: bool;

    /// With nothing in RAM.
    fn new(layout: &Layout, values: &Values) -> Self;

    /// The most data pages that may be held at once.
    fn most_pages(&self) -> u32;

    /// Whether it decides by what the host will ask.
    fn needs_future(&self) -> bool {
        false
    }

    /// Told of all that the host will ask, and of the data pages that are in RAM before it does.
    fn set_future(&mut self, _held: &DataCache, _asked: &[FutureRequest]) {}

    /// Called before each host request.
    fn begins(&mut self, _request: &Request) {}

    /// What has to leave RAM; nothing if there is room. Asked again until that is so.
    fn next_victim(&mut self, ram: &mut RamView<'_, CacheOf<Self>>, why: EvictionReason) -> Option<Victim>;

    /// A page that is read is not in RAM.
    fn on_read_miss(&mut self, _lpn: Lpn) {}

    /// The entry of a page was used; it is in RAM now, unless the device is read-only.
    fn on_lookup(&mut self, ram: &mut RamView<'_, CacheOf<Self>>, lpn: Lpn);

    /// A data page that leaves is written, and the entry of it is in RAM, which spares a look-up
    /// and is no use of the entry.
    fn on_entry_present(&mut self, _ram: &mut RamView<'_, CacheOf<Self>>, _lpn: Lpn) {}

    /// A data page came, and is held at a place.
    fn on_inserted(&mut self, ram: &mut RamView<'_, CacheOf<Self>>, place: u32);

    /// The data page held at a place was read, or is written.
    fn on_used(&mut self, ram: &mut RamView<'_, CacheOf<Self>>, place: u32, op: HostOp);

    /// The data page at a place is about to leave.
    fn on_evict(&mut self, ram: &mut RamView<'_, CacheOf<Self>>, place: u32);

    /// A page was trimmed, or written around RAM: whether it was held or not, what RAM had of it is
    /// of no use.
    fn on_superseded(&mut self, _lpn: Lpn) {}

    /// Asks for the memory that using the data page at a place will touch.
    fn prefetch(&self, _place: u32, _foresight: PrefetchStage) {}

    /// Asks for the memory that holding a page will touch, or using its entry.
    fn prefetch_page(&self, _cache: &CacheOf<Self>, _lpn: Lpn) {}

    /// The place of the data page that leaves after the one at a place if nothing is used before,
    /// where that can be told at once.
    fn leaves_after(&self, _place: u32) -> Option<u32> {
        None
    }

    /// What of the map was to leave can leave: flash says the same.
    fn evict(&mut self, cache: &mut CacheOf<Self>, what: Evict);

    /// What is wrong with what it keeps, if anything is.
    fn fault(&self, cache: &CacheOf<Self>, held: &DataCache) -> Option<String>;

    /// Numbers of its own.
    fn gauges(&self, cache: &CacheOf<Self>, held: &DataCache) -> Vec<Gauge>;
}
