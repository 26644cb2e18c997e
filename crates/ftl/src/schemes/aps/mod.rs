//! # aps: one RAM for data pages and map entries, in two parts whose border moves
//!
//! ## Idea
//! Which is worth more, RAM for data or for the map, depends on the workload. So the RAM has two
//! parts, each in the order of use, and of each it is known what has left it of late: its *ghosts*.
//! What comes back as a ghost would have been a hit in a larger part; what is found at the end of a
//! part, its *tail*, would have been a miss in a smaller one. After some requests the border moves
//! a step if the one part gains more by it than the other loses.
//!
//! ```text
//!   ghosts ◀─ tail, data pages by use ◀┄┄ border ┄┄▶ map entries by use, tail ─▶ ghosts
//! ```
//!
//! ## Source
//! Wang 2013 3.2.3 and 6.5.1; Shim 2010.
//!
//! ## Departures
//! - Wang 2013 gives neither the size of the ghost lists nor the step. A step is 1 % of the RAM,
//!   and at least a flash page: a smaller one has no room for a page, so that none that is written
//!   counts as a ghost.
//! - A list has as many ghosts as a step has room for, rounded down, and one more: what leaves for
//!   the one that comes is put there first. So its hits are those that a step would have made. A
//!   tail has as many items, rounded up.
//! - A ghost is looked for when its entry or page is in RAM, and is none from then on. A page that
//!   is read and not in RAM is looked for before anything leaves, and stays a ghost, since it is
//!   not kept. So for reads the list of pages is longer by the one.
//! - The cost-benefit model is told of in a sentence. What a step for a part is worth is what its
//!   ghosts that came back have cost, less what the hits in the other part's tail have saved,
//!   which is as long as a step. A ghost counts if both parts were full by the border when it came
//!   back: while one is not, the other has what it leaves, and a border that moves gives it no
//!   more. So the border stays in the middle where all entries in use have room in half of the
//!   RAM, even if data had more use of that room. A hit in the tail counts if a step less would
//!   have taken it from the part. Of a page that leaves the entry is needed, too, though that is
//!   no use of it.
//! - Costs of misses are those of flash operations. A miss of the map costs a read, and a read and
//!   a program if what left for it was newer than flash. A miss of a page that is written costs
//!   the program of what leaves, and a read if it is loaded; one of a page that is read costs a
//!   read. A hit saves as much; of an entry it is asked whether that is newer itself. What
//!   collections cost is in none of them. Of each page that a collection moves the entry is
//!   needed, too, so a small map lets them write more translation pages. With skewed writes on a
//!   device in use the border moves too far to the data: the command below takes 12.9 % longer
//!   than with `step=0`, as it waits 295 µs a request longer for these. `ftlkit compare spc1 --ftl
//!   aps:ram=256KiB,aps:ram=256KiB:step=0 --device treeftl --capacity 32MiB --set
//!   workload.span=32MiB --set device.spare=0.1 --precondition steady --loop closed --queue-depth
//!   1 --requests 200000 --skip 100000`
//! - Wang 2013 tells of requests that go around RAM for treeftl and jtl, and of pages that are
//!   loaded before they are written for treeftl (6.2.2, fig. 6.2). Here aps has both.
//! - Requests are counted as they reach the layer: the rest of a page that is written in part is
//!   one of its own, and those that prepare the device count. The border is judged when the last
//!   of an interval begins.
//! - A page that is trimmed, or written around RAM, is no ghost any more: no larger part would
//!   have held it.
//! - If neither step is worth anything, or both are worth as much, the border stays. A part is
//!   never smaller than a flash page.
//! - The border says what is wanted: nothing leaves while RAM has room, but for a flash page that
//!   is always left to the map. Then the part that is full by the border makes room for its own,
//!   or else the other, which is beyond it.
//! - As treeftl, data pages are held when they are written, not when they are read (Wang 2013
//!   6.2.1 counts Shim 2010 among write buffers).
//! - A flush writes all that is newer than flash, and leaves it in RAM. Pages go to all dies in
//!   turn, as in dftl.
//!
//! ## State
//! RAM: `ram` bytes of data pages and entries of 8 B; two links an entry and a page, in the tail or
//! not; two ghost lists of 4 B each; where flash has what a data page replaces; GTD. Flash: as in
//! dftl.
//!
//! ## Read
//! 1. A data page in RAM is read there, without the map.
//! 2. Otherwise its entry is brought into RAM if it is not there, and the page read from flash. It
//!    is not kept.
//!
//! ## Write
//! 1. A data page in RAM is replaced, without the map.
//! 2. One that is not is read from flash first (`load_before_write`), and then held. If RAM and the
//!    data part are full, the page used longest ago is written; for that its entry is needed. If
//!    that is not in RAM, entries leave for it, even if the map's part is not full.
//! 3. Requests for more than `bypass_above` of a block are programmed at once.
//!
//! A flush writes all that is newer, then trims as dftl does. A trim takes the page out of RAM and
//! out of the map.
//!
//! ## Reclaim
//! As in dftl.
//!
//! ## Recover
//! As in dftl; RAM is empty, and the border is in the middle. What waited there is as old as its
//! last version on flash.
//!
//! ## Invariants
//! - I1: an LPN that is mapped (by its cached entry, else by its translation page) points to a
//!   valid page that carries it.
//! - I2: there are as many valid pages as mapped LPNs, written translation pages and needed trim
//!   pages together.
//! - I3: free blocks are erased and hold nothing valid; summaries are true.
//! - I4: each written translation page lies where the GTD says; unwritten ones map nothing, unless
//!   the device is read-only and so they cannot be written.
//! - I5: an entry that is newer than its translation page is in RAM.
//! - I6: data pages and entries in RAM are no more than it has room for.
//!
//! ## Costs
//! A write costs 2 µs in RAM, and when RAM is full a program and a look-up. All that was
//! written since the last flush and is still in RAM is lost in a power cut.
//!
//! Gauges: `ram_data_bytes` and `ram_map_bytes`, RAM for data pages and for the map;
//! `ram_border_bytes`, the border; `buffered_pages`, data pages newer than flash.

use border::{Border, DATA, MAP};
use flash::Lpn;
use host::HostOp;
use parameters::{ENTRY_BYTES, PARAMETERS, Sizes};

use crate::api::entry::{Capabilities, Entry, Memory};
use crate::api::layout::Layout;
use crate::api::parameter::{AccessDelays, Values, joined};
use crate::api::report::Gauge;
use crate::api::request::Request;
use crate::engines::demand::entry_cache::{EntryCache, EntrySlot};
use crate::engines::demand::machine;
use crate::engines::demand::policy::{DemandScheme, MapCache, RAM_DELAYS, Ram};
use crate::engines::demand::translation::TranslationTable;
use crate::engines::shared_ram::data_cache::DataCache;
use crate::engines::shared_ram::policy::{self, Evict, EvictionReason, RamView, SharedRamPolicy, Victim};
use crate::port::error::ConfigError;
use crate::prefetch::PrefetchStage;
use crate::schemes::aps::ghosts::Ghosts;
use crate::schemes::aps::recency::Recency;

mod border;
mod ghosts;
mod parameters;
mod recency;

/// The demand-paged map below.
pub struct Map;

impl DemandScheme for Map {
    const ENTRY: Entry = Entry {
        name: "aps",
        family: "demand-paged",
        capabilities: Capabilities { fills_blocks_up: true, ..Capabilities::write_buffer(policy::RAM.name) },
        // Places of entries are numbers; ghosts of entries and data, places of data: 4 B each.
        memory: Memory {
            page_numbers: 2.0,
            page_bytes: 12.0,
            ram: &[policy::RAM.name],
            entry_bytes: 16.0,
            data_bytes: 32.0,
            ..Memory::PAGE_MAP
        },
        source: "Wang 2013 3.2.3; Shim 2010",
        parameters: &joined::<20>(&[&PARAMETERS, &policy::PARAMETERS, &machine::PARAMETERS, &RAM_DELAYS]),
        header: include_str!("mod.rs"),
    };

    type Cache = EntryCache;

    type ForeignPages = ();

    fn delays(values: &Values) -> AccessDelays {
        AccessDelays::from_values(values, RAM_DELAYS.map(|parameter| parameter.name))
    }

    fn cache(layout: &Layout, values: &Values) -> Result<(EntryCache, Ram), ConfigError> {
        let sizes = Sizes::of(layout, values);
        if sizes.ram < 2 * sizes.page {
            return Err(ConfigError(format!(
                "aps.ram = {}: does not hold two parts of a page of {} bytes each; give at least {}",
                sizes.ram,
                sizes.page,
                2 * sizes.page
            )));
        }
        let cache = EntryCache::new(layout.logical_pages, TranslationTable::entries_per_page(layout, values));
        let (pages, ghosts) = (sizes.most_pages + 1, sizes.ghosts());
        let structures = vec![
            ("data pages and map entries in RAM", sizes.used()),
            ("order of eviction", 8 * (sizes.most_entries + pages)),
            ("ghost lists", 4 * (ghosts[0] + ghosts[1]) as u64),
            ("replaced pages", 4 * pages),
        ];
        Ok((cache, structures))
    }
}

/// Data pages and map entries by recency, their ghosts, and the border.
pub struct Aps {
    border: Border,
    entries: Recency,
    entry_ghosts: Ghosts,
    pages: Recency,
    page_ghosts: Ghosts,
    /// The data page that is about to leave for want of room.
    next_victim: Option<Lpn>,
    /// Whether the entry that left last was newer than flash.
    left_newer: bool,
    read_cost: u64,
    program_cost: u64,
    loads: bool,
    requests: u64,
    interval: u64,
}

impl Aps {
    /// What a miss of an entry costs; whether something newer than flash leaves for it.
    fn entry_cost(&self, leaves_newer: bool) -> u64 {
        self.read_cost + if leaves_newer { self.read_cost + self.program_cost } else { 0 }
    }

    /// What a miss of a page costs that is written.
    fn write_cost(&self) -> u64 {
        self.program_cost + if self.loads { self.read_cost } else { 0 }
    }

    /// Asks for what the entries touch that leave next.
    fn prefetch_entries(&self, cache: &EntryCache) {
        let Some(next) = self.entries.first() else { return };
        let lpn = cache.lpn(EntrySlot(next));
        cache.prefetch_slot(lpn);
        self.entry_ghosts.prefetch(lpn);
        if let Some(second) = self.entries.after(next) {
            cache.prefetch_entry(EntrySlot(second));
            self.entries.prefetch(second, PrefetchStage::Next);
        }
    }

    /// What leaves of the map, or of the data.
    fn first(&mut self, ram: &RamView<'_, EntryCache>, is_data: bool) -> Option<Victim> {
        if is_data {
            let lpn = ram.held.at(self.pages.first()?).lpn;
            self.next_victim = Some(lpn);
            return Some(Victim { what: Evict::Data(lpn), among: ram.held.pages() as u64 });
        }
        let lpn = ram.cache.lpn(EntrySlot(self.entries.first()?));
        self.left_newer = ram.cache.is_newer(lpn);
        Some(Victim { what: Evict::Entry(lpn), among: ram.cache.entries() as u64 })
    }
}

impl SharedRamPolicy for Aps {
    type Map = Map;

    const FINDS_DATA_BY_ENTRY: bool = false;

    const HOLDS_READS: bool = false;

    fn new(layout: &Layout, values: &Values) -> Self {
        let sizes = Sizes::of(layout, values);
        let [entry_ghosts, page_ghosts] = sizes.ghosts().map(|capacity| Ghosts::none(capacity, layout.logical_pages));
        let [entries_in_tail, pages_in_tail] = sizes.tails();
        Self {
            border: Border::in_the_middle(sizes),
            entries: Recency::none(sizes.most_entries as usize, entries_in_tail),
            entry_ghosts,
            pages: Recency::none(sizes.most_pages as usize, pages_in_tail),
            page_ghosts,
            next_victim: None,
            left_newer: false,
            read_cost: values.integer("read_cost"),
            program_cost: values.integer("program_cost"),
            loads: values.switch("load_before_write"),
            requests: 0,
            interval: values.integer("interval"),
        }
    }

    fn most_pages(&self) -> u32 {
        self.border.sizes.most_pages as u32
    }

    fn begins(&mut self, _request: &Request) {
        self.requests += 1;
        if self.requests.is_multiple_of(self.interval) {
            self.border.judge();
        }
    }

    fn next_victim(&mut self, ram: &mut RamView<'_, EntryCache>, why: EvictionReason) -> Option<Victim> {
        let which = if matches!(why, EvictionReason::Data(_)) { DATA } else { MAP };
        let is_there =
            matches!(why, EvictionReason::Entry(lpn) | EvictionReason::WriteDown(lpn) if ram.cache.find(lpn).is_some());
        let (_, item) = self.border.part(which);
        let [map, data] = self.border.used;
        let may_hold = which == MAP || (ram.held.pages() as u64) < self.border.sizes.most_pages;
        if is_there || may_hold && map + data + item <= self.border.sizes.ram {
            return None;
        }
        // The part itself makes room if it is full, else the other one, which is beyond the border.
        // Of a page that leaves the entry may take the room of others, not that of the page.
        let from_itself = self.border.is_full(which) || matches!(why, EvictionReason::WriteDown(_));
        self.first(ram, (which == DATA) == from_itself)
    }

    fn on_lookup(&mut self, ram: &mut RamView<'_, EntryCache>, lpn: Lpn) {
        // On a read-only device it may not have come.
        let Some(EntrySlot(place)) = ram.cache.find(lpn) else { return };
        if self.entries.contains(place) {
            if self.entries.touch(place) {
                self.border.tail_was_hit(MAP, self.entry_cost(ram.cache.is_newer(lpn)));
            }
            return;
        }
        self.entries.enter(place);
        self.border.used[MAP] += ENTRY_BYTES;
        if self.entry_ghosts.take(lpn) {
            self.border.ghost_came(MAP, self.entry_cost(self.left_newer));
        }
        self.left_newer = false;
    }

    fn on_entry_present(&mut self, ram: &mut RamView<'_, EntryCache>, lpn: Lpn) {
        if let Some(EntrySlot(place)) = ram.cache.find(lpn)
            && self.entries.is_in_tail(place)
        {
            self.border.tail_was_hit(MAP, self.entry_cost(ram.cache.is_newer(lpn)));
        }
    }

    fn on_read_miss(&mut self, lpn: Lpn) {
        if self.page_ghosts.contains(lpn) {
            self.border.ghost_came(DATA, self.read_cost);
        }
    }

    fn on_inserted(&mut self, ram: &mut RamView<'_, EntryCache>, place: u32) {
        self.pages.enter(place);
        self.border.used[DATA] += self.border.sizes.page;
        if self.page_ghosts.take(ram.held.at(place).lpn) {
            self.border.ghost_came(DATA, self.write_cost());
        }
    }

    fn on_used(&mut self, _ram: &mut RamView<'_, EntryCache>, place: u32, op: HostOp) {
        if self.pages.touch(place) {
            let saved = if op == HostOp::Read { self.read_cost } else { self.write_cost() };
            self.border.tail_was_hit(DATA, saved);
        }
    }

    fn on_evict(&mut self, ram: &mut RamView<'_, EntryCache>, place: u32) {
        self.pages.leave(place);
        self.border.used[DATA] -= self.border.sizes.page;
        let lpn = ram.held.at(place).lpn;
        if self.next_victim.take_if(|next_victim| *next_victim == lpn).is_some() {
            self.page_ghosts.add(lpn);
        }
    }

    fn on_superseded(&mut self, lpn: Lpn) {
        self.page_ghosts.take(lpn);
    }

    fn prefetch(&self, place: u32, stage: PrefetchStage) {
        self.pages.prefetch(place, stage);
    }

    fn prefetch_page(&self, cache: &EntryCache, lpn: Lpn) {
        if let Some(EntrySlot(place)) = cache.find(lpn) {
            self.entries.prefetch(place, PrefetchStage::Near);
        }
        self.entry_ghosts.prefetch(lpn);
        self.page_ghosts.prefetch(lpn);
    }

    fn leaves_after(&self, place: u32) -> Option<u32> {
        self.pages.after(place)
    }

    fn evict(&mut self, cache: &mut EntryCache, what: Evict) {
        if let Evict::Entry(lpn) = what
            && let Some(EntrySlot(place)) = cache.find(lpn)
        {
            self.entries.leave(place);
            self.border.used[MAP] -= ENTRY_BYTES;
            cache.evict(lpn);
            self.entry_ghosts.add(lpn);
            self.prefetch_entries(cache);
        }
    }

    fn fault(&self, cache: &EntryCache, held: &DataCache) -> Option<String> {
        let (pages, entries) = (held.pages() as u64, cache.entries() as u64);
        let used = [entries * ENTRY_BYTES, pages * self.border.sizes.page];
        let all = used[MAP] + used[DATA];
        let says = || {
            format!(
                "{pages} data pages and {entries} entries take {all} of {} bytes of RAM, {:?} counted",
                self.border.sizes.ram, self.border.used
            )
        };
        (all > self.border.sizes.ram || used != self.border.used).then(says)
    }

    fn gauges(&self, cache: &EntryCache, _held: &DataCache) -> Vec<Gauge> {
        vec![
            Gauge { name: "ram_map_bytes", value: (cache.entries() as u64 * ENTRY_BYTES) as f64 },
            Gauge { name: "ram_border_bytes", value: self.border.data_bytes as f64 },
        ]
    }
}

#[cfg(test)]
mod tests;
