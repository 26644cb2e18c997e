//! # treeftl: one RAM for data pages and translation pages, in a tree
//!
//! ## Idea
//! A data page in RAM is found through its entry in the map, so the entries of pages in RAM are
//! worth keeping there, too. The directory points to translation pages, and these to data pages: a
//! tree that grows by what is used and is pruned at its leaves. A translation page with its data
//! pages is a *caching group*. What leaves is searched among groups first, and then within one,
//! which are few to look at.
//!
//! ```text
//!   GTD ─┬▶ CTP ─┬▶ CDP        a group: a CTP and its CDPs
//!        │       └▶ CDP
//!        └▶ CTP ──▶ CDP        leaves next: the group used longest ago, its CDP used longest ago
//! ```
//!
//! ## Source
//! Wang 2013 6.
//!
//! ## Departures
//! - Wang 2013 writes each translation page that leaves; here only one that is newer than flash.
//! - Where a data page is in RAM Wang 2013 has its address in RAM in its entry. Here the entry
//!   keeps the place on flash, and the place in RAM stands beside.
//! - Wang 2013 says nothing of flushes: all that is newer than flash is written, and stays in RAM.
//!   Idle time is not used, which 6.4.3 offers as a remedy for losses.
//! - Translation pages of requests that go around RAM are cached like any other.
//! - The time in the LATTE is that of any access to the group, as 6.3.1 first says, and not of its
//!   data pages alone: a translation page that only reads use has no other.
//! - Wang 2013 charges for searching (fig. 6.9) without a figure: `data_selection` and
//!   `map_selection` are 0 unless asked for. Searched are all groups and the pages of one, or all
//!   pages.
//! - Pages go to all dies in turn, as in dftl; collection is dftl's.
//! - OPT is told what the host will ask (Wang 2013 6.5.1: "used"). A data page is kept for its next
//!   write, held or around RAM, or its trim, and of those that are not changed again the one that
//!   is read last leaves: a read brings no page into RAM. So no order has more hits of translation
//!   pages and versions that are never programmed; another may read less and take less time.
//! - With `write_misses = background` a write that misses waits for its translation page only if
//!   the page has to be loaded. It always waits for the page that leaves RAM to make room for it.
//!
//! ## State
//! RAM: as many pages as `ram` has room for, data and translation pages; two links a page and the
//! ends of a list a group (a time and an offset a group with `latte`); where flash has what a data
//! page replaces; GTD, 4 B × translation pages. Flash: as in dftl.
//!
//! ## Read
//! 1. A data page in RAM is read there.
//! 2. Otherwise its translation page is brought into RAM if it is not there, and the page read from
//!    flash. It is not kept.
//!
//! ## Write
//! 1. The translation page is brought into RAM if it is not there.
//! 2. A data page in RAM is replaced. One that is not is read from flash first
//!    (`load_before_write`), and then held.
//! 3. Requests for more than `bypass_above` of a block are programmed at once.
//!
//! What leaves for that, by `victims`: of the group used longest ago the data page used longest ago
//! (`group`); the one of the lowest offset, the last used one last (`latte`); the page used longest
//! ago of all (`page`, Tree-PL of 6.5.3); the one that is used again last (`opt`: Belady's, for
//! simulated runs alone, `treeftl/opt.rs`). A translation page leaves when it has no data pages. A
//! flush writes all that is newer, then trims as dftl does. A trim takes the page out of RAM and
//! out of the map.
//!
//! ## Reclaim
//! As in dftl; moved pages whose translation page is in RAM change only there.
//!
//! ## Recover
//! As in dftl; RAM is empty. What waited there is as old as its last version on flash.
//!
//! ## Invariants
//! - I1: an LPN that is mapped (by its cached translation page, else by that on flash) points to a
//!   valid page that carries it.
//! - I2: there are as many valid pages as mapped LPNs, written translation pages and needed trim
//!   pages together.
//! - I3: free blocks are erased and hold nothing valid; summaries are true.
//! - I4: each written translation page lies where the GTD says; unwritten ones map nothing, unless
//!   the device is read-only and so they cannot be written.
//! - I5: an entry that is newer than its translation page is in RAM.
//! - I6: data and translation pages in RAM are no more than it has room for; the translation page
//!   of each data page is there, too.
//!
//! ## Costs
//! A write costs 2 µs in RAM; if it misses, up to two reads, and when RAM is full a program for
//! what leaves. All that was written since the last flush and is still in RAM is lost in a power
//! cut.
//!
//! Gauges: `groups`, caching groups in RAM; `group_pages`, mean data pages per group;
//! `ram_data_bytes` and `ram_map_bytes`, RAM for data pages and for the map; `buffered_pages`, data
//! pages newer than flash.

use flash::Lpn;
use host::HostOp;
use opt::Opt;
use victims::Order;

use crate::api::entry::{Capabilities, Entry, Memory};
use crate::api::layout::Layout;
use crate::api::mapping::FutureRequest;
use crate::api::parameter::{AccessDelays, Kind, Parameter, Values, joined};
use crate::api::report::Gauge;
use crate::api::request::Request;
use crate::engines::demand::machine;
use crate::engines::demand::policy::{DemandScheme, MapCache, RAM_DELAYS, Ram};
use crate::engines::demand::translation::TranslationTable;
use crate::engines::shared_ram::data_cache::DataCache;
use crate::engines::shared_ram::policy::{self, Evict, EvictionReason, RamView, SharedRamPolicy, Victim};
use crate::port::error::ConfigError;
use crate::prefetch::PrefetchStage;
use crate::schemes::treeftl::page_cache::PageCache;

mod opt;
mod page_cache;
mod victims;

const VICTIMS: Parameter = Parameter {
    name: "victims",
    kind: Kind::Choice { of: &["group", "latte", "page", "opt"] },
    default: "group",
    meaning: "Which page leaves RAM. group: the least recently used page of the least recently used group. \
              latte: that group's page with the lowest offset, except the last used one. \
              page: the least recently used page of all. \
              opt: the one needed furthest in the future (simulation only).",
    source: "Wang 2013 6.3.2 (group), 6.3.1 (latte), 6.5.3 (page), 6.5.1 (opt)",
};

/// The demand-paged map below.
pub struct Map;

impl DemandScheme for Map {
    const ENTRY: Entry = Entry {
        name: "treeftl",
        family: "demand-paged",
        capabilities: Capabilities { fills_blocks_up: true, ..Capabilities::write_buffer(policy::RAM.name) },
        memory: Memory { ram: &[policy::RAM.name], data_bytes: 16.0, ..Memory::CACHED_MAP },
        source: "Wang 2013 6",
        parameters: &joined::<17>(&[&[VICTIMS], &policy::PARAMETERS, &machine::PARAMETERS, &RAM_DELAYS]),
        header: include_str!("mod.rs"),
    };

    type Cache = PageCache;

    type ForeignPages = ();

    fn delays(values: &Values) -> AccessDelays {
        AccessDelays::from_values(values, RAM_DELAYS.map(|parameter| parameter.name))
    }

    fn cache(layout: &Layout, values: &Values) -> Result<(PageCache, Ram), ConfigError> {
        let (ram, page_bytes) = (values.integer(policy::RAM.name), u64::from(layout.geometry.page_size_bytes()));
        if ram < 2 * page_bytes {
            return Err(ConfigError(format!(
                "treeftl.ram = {ram}: does not hold a translation page and a data page of {page_bytes} bytes each; give at least {}",
                2 * page_bytes
            )));
        }
        let entries = TranslationTable::entries_per_page(layout, values);
        let groups = layout.logical_pages.div_ceil(entries);
        let pages = room_pages(layout, ram, groups);
        let cache = PageCache::new(layout.logical_pages, entries);
        let used = if pages < ram / page_bytes { pages * page_bytes } else { ram };
        let lists = victims::bytes(values, pages, groups.into());
        Ok((
            cache,
            vec![
                ("data and translation pages in RAM", used),
                ("order of eviction", lists),
                ("replaced pages", 4 * pages),
            ],
        ))
    }
}

/// Pages for which there is room in so much RAM. What exceeds the device and its map is not used.
fn room_pages(layout: &Layout, ram: u64, groups: u32) -> u64 {
    let needed = u64::from(layout.logical_pages) + u64::from(groups);
    (ram / u64::from(layout.geometry.page_size_bytes())).min(needed)
}

/// The policy of the scheme: how much room there is, and in which order pages leave.
pub struct TreeCache {
    order: Box<dyn Order>,
    needs_future: bool,
    room_pages: usize,
    page_bytes: u64,
}

impl SharedRamPolicy for TreeCache {
    type Map = Map;

    const FINDS_DATA_BY_ENTRY: bool = true;

    const HOLDS_READS: bool = false;

    fn new(layout: &Layout, values: &Values) -> Self {
        let page_bytes = u64::from(layout.geometry.page_size_bytes());
        let per_page = TranslationTable::entries_per_page(layout, values);
        let groups = layout.logical_pages.div_ceil(per_page);
        let room_pages = room_pages(layout, values.integer(policy::RAM.name), groups) as usize;
        let needs_future = values.word(VICTIMS.name) == "opt";
        let order = if needs_future {
            Box::new(Opt::new(room_pages, groups, per_page))
        } else {
            victims::from_values(values, room_pages, groups, per_page)
        };
        Self { order, needs_future, room_pages, page_bytes }
    }

    fn most_pages(&self) -> u32 {
        self.room_pages as u32 - 1
    }

    fn needs_future(&self) -> bool {
        self.needs_future
    }

    fn set_future(&mut self, held: &DataCache, asked: &[FutureRequest]) {
        self.order.set_future(held, asked);
    }

    fn begins(&mut self, request: &Request) {
        self.order.begins(request);
    }

    fn next_victim(&mut self, ram: &mut RamView<'_, PageCache>, why: EvictionReason) -> Option<Victim> {
        let is_there =
            matches!(why, EvictionReason::Entry(lpn) | EvictionReason::WriteDown(lpn) if ram.cache.find(lpn).is_some());
        let has_room = ram.cache.pages() + ram.held.pages() < self.room_pages;
        if is_there || has_room {
            return None;
        }
        let in_use = if let EvictionReason::Data(lpn) = why { Some(ram.cache.page_of(lpn)) } else { None };
        self.order.next(ram.held, in_use)
    }

    fn on_lookup(&mut self, ram: &mut RamView<'_, PageCache>, lpn: Lpn) {
        self.order.on_lookup(ram.cache.page_of(lpn), lpn);
    }

    fn on_inserted(&mut self, ram: &mut RamView<'_, PageCache>, place: u32) {
        let lpn = ram.held.at(place).lpn;
        self.order.on_inserted(ram.cache.page_of(lpn), place, lpn);
    }

    fn on_used(&mut self, ram: &mut RamView<'_, PageCache>, place: u32, _op: HostOp) {
        let lpn = ram.held.at(place).lpn;
        self.order.on_used(ram.cache.page_of(lpn), place, lpn);
    }

    fn on_evict(&mut self, ram: &mut RamView<'_, PageCache>, place: u32) {
        let lpn = ram.held.at(place).lpn;
        self.order.on_left(ram.cache.page_of(lpn), place, lpn);
    }

    fn prefetch(&self, place: u32, stage: PrefetchStage) {
        self.order.prefetch(place, stage);
    }

    fn prefetch_page(&self, cache: &PageCache, lpn: Lpn) {
        self.order.prefetch_group(cache.page_of(lpn));
    }

    fn leaves_after(&self, place: u32) -> Option<u32> {
        self.order.leaves_after(place)
    }

    fn evict(&mut self, cache: &mut PageCache, what: Evict) {
        if let Evict::Translation(page) = what {
            cache.evict(page);
            self.order.evict(page);
        }
    }

    fn fault(&self, cache: &PageCache, held: &DataCache) -> Option<String> {
        let (pages, groups) = (held.pages(), cache.pages());
        if pages + groups > self.room_pages {
            return Some(format!(
                "{pages} data and {groups} translation pages are in RAM, which has room for {}",
                self.room_pages
            ));
        }
        let alone = held.iter().find(|held| cache.find(held.lpn).is_none())?;
        Some(format!("{} is in RAM, and its translation page is not", alone.lpn))
    }

    fn gauges(&self, cache: &PageCache, held: &DataCache) -> Vec<Gauge> {
        let groups = cache.pages() as f64;
        vec![
            Gauge { name: "ram_map_bytes", value: groups * self.page_bytes as f64 },
            Gauge { name: "groups", value: groups },
            Gauge { name: "group_pages", value: held.pages() as f64 / groups.max(1.0) },
        ]
    }
}
