//! # aps: one RAM for data pages and map entries, in two parts whose border moves
//!
//! ## Idea
//! Which is worth more, RAM for data or for the map, depends on the workload. So the RAM has two
//! parts, each in the order of use, and of each it is known what has left it of late: its *ghosts*.
//! What comes back as a ghost would have been a hit in a larger part. After some requests the part
//! with the dearer misses of that kind gets a step of the other.
//!
//! ```text
//!   ghosts ◀─ data pages, in order of use ◀┄┄ border ┄┄▶ map entries, in order of use ─▶ ghosts
//! ```
//!
//! ## Source
//! Wang 2013 3.2.3 and 6.5.1; Shim 2010.
//!
//! ## Departures
//! - Wang 2013 gives neither the size of the ghost lists nor the step. A list has as many ghosts as
//!   a step has room for, and one more for what leaves for the one that comes, so that its hits are
//!   those that a step would have made; a step is 1 % of the RAM.
//! - Costs of misses are those of flash operations. A miss of the map costs a read, and a read and
//!   a program if what left for it was newer than flash. A miss of a page that is written costs the
//!   program of what leaves, and a read if it is loaded; one of a page that is read costs a read.
//! - Wang 2013 tells of requests that go around RAM for treeftl and jtl, and of pages that are
//!   loaded before they are written for treeftl (6.2.2, fig. 6.2). Here aps has both.
//! - Requests are counted as they reach the layer: the rest of a page that is written in part is
//!   one of its own, and those that prepare the device count. The border is judged when the last of
//!   an interval begins.
//! - A page that is trimmed, or written around RAM, is no ghost any more: no larger part would have
//!   held it.
//! - Of equal costs the border stays. A part is never smaller than a flash page.
//! - The border says what is wanted: pages and entries beyond it leave when the other part needs
//!   their room, and not before.
//! - As treeftl, data pages are held when they are written, not when they are read (Wang 2013 6.2.1
//!   counts Shim 2010 among write buffers).
//! - A flush writes all that is newer than flash, and leaves it in RAM. Pages go to all dies in
//!   turn, as in dftl.
//!
//! ## State
//! RAM: `ram` bytes of data pages and entries of 8 B; two links an entry and a page; two ghost
//! lists of 4 B each; where flash has what a data page replaces; GTD. Flash: as in dftl.
//!
//! ## Read
//! 1. A data page in RAM is read there, without the map.
//! 2. Otherwise its entry is brought into RAM if it is not there, and the page read from flash. It
//!    is not kept.
//!
//! ## Write
//! 1. A data page in RAM is replaced, without the map.
//! 2. One that is not is read from flash first (`load_before_write`), and then held. If the data
//!    part is full, the page used longest ago is written; for that its entry is needed.
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
//! - I5: a clean cached entry says what its translation page says.
//! - I6: data pages and entries in RAM are no more than it has room for.
//!
//! ## Costs
//! A write costs 2 µs in RAM, and when the data part is full a program and a look-up. All that was
//! written since the last flush and is still in RAM is lost in a power cut.

use flash::Lpn;

use crate::api::access_delays::AccessDelays;
use crate::api::entry::{Capabilities, Entry};
use crate::api::layout::Layout;
use crate::api::parameter::Values;
use crate::api::parameter::joined;
use crate::api::report::Gauge;
use crate::api::request::Request;
use crate::engines::demand::entry_cache::{EntryCache, EntrySlot};
use crate::engines::demand::machine;
use crate::engines::demand::policy::{DemandScheme, MapCache, RAM_DELAYS, Ram};
use crate::engines::demand::translation::TranslationTable;
use crate::engines::shared_ram::data_cache::DataCache;
use crate::engines::shared_ram::policy::{self, Evict, EvictionReason, RamView, SharedRamPolicy, Victim};
use crate::memory::linked_lists::LinkedLists;
use crate::port::error::ConfigError;
use crate::schemes::aps::ghosts::Ghosts;

mod ghosts;
mod parameters;
use parameters::{ENTRY_BYTES, PARAMETERS, Sizes};

/// The demand-paged map below.
pub struct Map;

impl DemandScheme for Map {
    const ENTRY: Entry = Entry {
        name: "aps",
        family: "demand-paged",
        capabilities: Capabilities::write_buffer(policy::RAM.name),
        source: "Wang 2013 3.2.3; Shim 2010",
        parameters: &joined::<18>(&[&PARAMETERS, &policy::PARAMETERS, &machine::PARAMETERS, &RAM_DELAYS]),
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
    sizes: Sizes,
    /// Bytes for data; the rest is for the map.
    data_bytes: u64,
    entries: LinkedLists,
    entry_ghosts: Ghosts,
    pages: LinkedLists,
    page_ghosts: Ghosts,
    /// The data page that is about to leave for want of room.
    next_victim: Option<Lpn>,
    /// Whether the entry that left last was newer than flash.
    left_newer: bool,
    /// What misses of ghosts have cost since the border was judged: of the map, and of data.
    costs: [u64; 2],
    read_cost: u64,
    program_cost: u64,
    loads: bool,
    requests: u64,
    interval: u64,
}

impl Aps {
    /// Moves the border to where misses cost more.
    fn judge(&mut self) {
        let [of_map, of_data] = std::mem::take(&mut self.costs);
        let Sizes { ram, page, step, .. } = self.sizes;
        if of_data > of_map {
            self.data_bytes = (self.data_bytes + step).min(ram - page);
        } else if of_map > of_data {
            self.data_bytes = self.data_bytes.saturating_sub(step).max(page);
        }
    }

    /// What leaves of the map, or of the data.
    fn first(&mut self, ram: &RamView<'_, EntryCache>, is_data: bool) -> Option<Victim> {
        if is_data {
            let lpn = ram.held.at(self.pages.front(0)?).lpn;
            self.next_victim = Some(lpn);
            return Some(Victim { what: Evict::Data(lpn), among: ram.held.pages() as u64 });
        }
        let lpn = ram.cache.lpn(EntrySlot(self.entries.front(0)?));
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
        let [entry_ghosts, page_ghosts] = sizes.ghosts().map(Ghosts::none);
        Self {
            data_bytes: sizes.ram / 2,
            entries: LinkedLists::new(sizes.most_entries as usize, 1),
            entry_ghosts,
            pages: LinkedLists::new(sizes.most_pages as usize, 1),
            page_ghosts,
            next_victim: None,
            left_newer: false,
            costs: [0; 2],
            read_cost: values.integer("read_cost"),
            program_cost: values.integer("program_cost"),
            loads: values.switch("load_before_write"),
            requests: 0,
            interval: values.integer("interval"),
            sizes,
        }
    }

    fn most_pages(&self) -> u32 {
        self.sizes.most_pages as u32
    }

    fn begins(&mut self, _request: &Request) {
        self.requests += 1;
        if self.requests.is_multiple_of(self.interval) {
            self.judge();
        }
    }

    fn next_victim(&mut self, ram: &mut RamView<'_, EntryCache>, why: EvictionReason) -> Option<Victim> {
        let Sizes { ram: all, page, .. } = self.sizes;
        let (map_used, data_used) = (ENTRY_BYTES * ram.cache.entries() as u64, page * ram.held.pages() as u64);
        let (comes, part_used, part, is_data) = match why {
            EvictionReason::Entry(lpn) if ram.cache.find(lpn).is_some() => return None,
            // Of a page that leaves the entry may take the room of others, not that of the page.
            EvictionReason::WriteDown(lpn)
                if ram.cache.find(lpn).is_some() || map_used + data_used + ENTRY_BYTES <= all =>
            {
                return None;
            }
            EvictionReason::WriteDown(_) => return self.first(ram, false),
            EvictionReason::Entry(_) => (ENTRY_BYTES, map_used, all - self.data_bytes, false),
            EvictionReason::Data(_) => (page, data_used, self.data_bytes, true),
        };
        // The part itself has to make room if it is full, else the other one, which is beyond the
        // border.
        if part_used + comes > part {
            return self.first(ram, is_data);
        }
        if map_used + data_used + comes > all { self.first(ram, !is_data) } else { None }
    }

    fn looked_up(&mut self, ram: &mut RamView<'_, EntryCache>, lpn: Lpn) {
        // On a read-only device it may not have come.
        let Some(EntrySlot(place)) = ram.cache.find(lpn) else { return };
        if self.entries.chain_of(place).is_some() {
            self.entries.move_back(0, place);
            return;
        }
        self.entries.push_back(0, place);
        if self.entry_ghosts.take(lpn) {
            let written = if self.left_newer { self.read_cost + self.program_cost } else { 0 };
            self.costs[0] += self.read_cost + written;
        }
        self.left_newer = false;
    }

    fn read_missed(&mut self, lpn: Lpn) {
        if self.page_ghosts.contains(lpn) {
            self.costs[1] += self.read_cost;
        }
    }

    fn came(&mut self, ram: &mut RamView<'_, EntryCache>, place: u32) {
        self.pages.push_back(0, place);
        if self.page_ghosts.take(ram.held.at(place).lpn) {
            self.costs[1] += self.program_cost + if self.loads { self.read_cost } else { 0 };
        }
    }

    fn used(&mut self, _ram: &mut RamView<'_, EntryCache>, place: u32) {
        self.pages.move_back(0, place);
    }

    fn leaves(&mut self, ram: &mut RamView<'_, EntryCache>, place: u32) {
        self.pages.remove(place);
        let lpn = ram.held.at(place).lpn;
        if self.next_victim.take_if(|next_victim| *next_victim == lpn).is_some() {
            self.page_ghosts.add(lpn);
        }
    }

    fn superseded(&mut self, lpn: Lpn) {
        self.page_ghosts.take(lpn);
    }

    fn let_go(&mut self, cache: &mut EntryCache, what: Evict) {
        if let Evict::Entry(lpn) = what
            && let Some(EntrySlot(place)) = cache.find(lpn)
        {
            self.entries.remove(place);
            cache.let_go(lpn);
            self.entry_ghosts.add(lpn);
        }
    }

    fn fault(&self, cache: &EntryCache, held: &DataCache) -> Option<String> {
        let (pages, entries) = (held.pages() as u64, cache.entries() as u64);
        let used = pages * self.sizes.page + entries * ENTRY_BYTES;
        let says =
            || format!("{pages} data pages and {entries} entries take {used} of {} bytes of RAM", self.sizes.ram);
        (used > self.sizes.ram).then(says)
    }

    fn gauges(&self, cache: &EntryCache, _held: &DataCache) -> Vec<Gauge> {
        vec![
            Gauge { name: "ram_map_bytes", value: (cache.entries() as u64 * ENTRY_BYTES) as f64 },
            Gauge { name: "ram_border_bytes", value: self.data_bytes as f64 },
        ]
    }
}

#[cfg(test)]
mod tests;
