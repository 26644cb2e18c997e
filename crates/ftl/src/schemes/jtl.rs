//! # jtl: one RAM for data pages and map entries, in levels that double in size
//!
//! ## Idea
//! To keep a list in the order of use costs something at each access. Levels approximate it: level
//! *n* has 2^*n* entries, the newest is alone in level 0, and what comes pushes one down a level,
//! that one another, and so on until there is room. Which of a level is pushed is drawn, for they
//! are of about the same age. The upper levels are a group whose data pages are in RAM, too; the
//! lower ones have entries alone.
//!
//! ```text
//!   level 0  ▢            group 0: entries with their data pages
//!         1  ▢▢
//!         m  ▢▢▢▢ ─ pushed below: the data page is written
//!       m+1  ▢▢▢▢▢▢▢▢     group 1: entries alone
//! ```
//!
//! ## Source
//! Wang 2013 3.2.3; Huang 2012.
//!
//! ## Departures
//! - Wang 2013 gives the halves, not the number of levels: each group has as many whole levels as
//!   its half has room for, group 0 data pages, both together entries of 8 B. What is left of a
//!   half is not used.
//! - Which pages are held Wang 2013 does not restrict to writes, as it does for treeftl: a page
//!   that is read is held, too, and leaves for nothing.
//! - Wang 2013 tells of pages that are loaded before they are written for treeftl alone (fig. 6.2);
//!   here jtl does it, too. With `write_misses = background` a write that misses waits for its
//!   entry only if the page has to be loaded. It always waits for the page that makes room for it.
//! - A page that is trimmed, or written around RAM, leaves no data in RAM; its entry stays where
//!   its use puts it.
//! - A level that has room because an entry of it went up takes what is pushed down.
//! - A flush writes all that is newer than flash, and leaves it in RAM. Pages go to all dies in
//!   turn, as in dftl.
//!
//! ## State
//! RAM: half of `ram` for data pages, half for entries of 8 B; where flash has what a data page
//! replaces; GTD, 4 B × translation pages. Flash: as in dftl.
//!
//! ## Read
//! 1. The entry is brought to level 0, from a lower level or from flash.
//! 2. A data page in RAM is read there; any other is read from flash, and held.
//!
//! ## Write
//! 1. The entry is brought to level 0.
//! 2. A data page in RAM is replaced. One that is not is read from flash first
//!    (`load_before_write`), and then held.
//! 3. Requests for more than `bypass_above` of a block are programmed at once.
//!
//! What is pushed out of the last level of group 0 has its data page written, if that is newer;
//! what is pushed out of the last level its translation page. A flush writes all that is newer,
//! then trims as dftl does. A trim takes the page out of RAM and out of the map.
//!
//! ## Reclaim
//! As in dftl.
//!
//! ## Recover
//! As in dftl; RAM is empty. What waited there is as old as its last version on flash.
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
//! - I6: each cached entry is in one level, no level has more than it has room for, and the entry
//!   of each data page in RAM is in group 0.
//!
//! ## Costs
//! A write costs 2 µs in RAM; when group 0 is full a program. An access to an entry pushes at most
//! one of each level. All that was written since the last flush and is still in RAM is lost in a
//! power cut.
//!
//! Gauges: `ram_data_bytes` and `ram_map_bytes`, RAM for data pages and for the map;
//! `buffered_pages`, data pages newer than flash.

use flash::Lpn;
use host::HostOp;
use levels::{Levels, Member};

use crate::api::entry::{Capabilities, Entry, Memory};
use crate::api::layout::Layout;
use crate::api::parameter::{AccessDelays, Values, joined};
use crate::api::report::Gauge;
use crate::engines::demand::entry_cache::EntryCache;
use crate::engines::demand::machine;
use crate::engines::demand::policy::{DemandScheme, MapCache, RAM_DELAYS, Ram};
use crate::engines::demand::translation::TranslationTable;
use crate::engines::shared_ram::data_cache::DataCache;
use crate::engines::shared_ram::policy::{self, Evict, EvictionReason, RamView, SharedRamPolicy, Victim};
use crate::port::error::ConfigError;

mod levels;

/// An entry as a controller stores it: LPN and PPN.
const ENTRY_BYTES: u64 = 8;

/// The demand-paged map below.
pub struct Map;

impl DemandScheme for Map {
    const ENTRY: Entry = Entry {
        name: "jtl",
        family: "demand-paged",
        capabilities: Capabilities { fills_blocks_up: true, ..Capabilities::write_buffer(policy::RAM.name) },
        memory: Memory { page_bytes: 5.0, ram: &[policy::RAM.name], entry_bytes: 17.0, ..Memory::PAGE_MAP },
        source: "Wang 2013 3.2.3; Huang 2012",
        parameters: &joined::<16>(&[&policy::PARAMETERS, &machine::PARAMETERS, &RAM_DELAYS]),
        header: include_str!("jtl.rs"),
    };

    type Cache = EntryCache;

    type ForeignPages = ();

    fn delays(values: &Values) -> AccessDelays {
        AccessDelays::from_values(values, RAM_DELAYS.map(|parameter| parameter.name))
    }

    fn cache(layout: &Layout, values: &Values) -> Result<(EntryCache, Ram), ConfigError> {
        let (ram, page_bytes) = (values.integer(policy::RAM.name), u64::from(layout.geometry.page_size_bytes()));
        if ram < 2 * page_bytes {
            return Err(ConfigError(format!(
                "jtl.ram = {ram}: half of it does not hold a data page of {page_bytes} bytes; give at least {}",
                2 * page_bytes
            )));
        }
        let cache = EntryCache::new(layout.logical_pages, TranslationTable::entries_per_page(layout, values));
        let logical_pages = u64::from(layout.logical_pages);
        let pages = (ram / 2 / page_bytes).min(logical_pages);
        let used = ram.min(pages * page_bytes + (ram / 2).min(logical_pages * ENTRY_BYTES));
        Ok((cache, vec![("data pages and map entries in RAM", used), ("replaced pages", 4 * pages)]))
    }
}

/// Levels that fill a group with room for this many, from level 0 on.
fn levels_within(room: u64) -> usize {
    (room + 1).ilog2() as usize
}

/// The levels, and who is pushed.
pub struct Jtl {
    levels: Levels,
    /// Levels of group 0.
    with_data: usize,
    /// For which page was drawn who is pushed, and from each level from 0 on who.
    drawn: Option<Lpn>,
    pushed: Vec<Member>,
}

impl Jtl {
    fn level_of(&self, cache: &EntryCache, lpn: Lpn) -> Option<usize> {
        self.levels.level_of(cache.find(lpn)?)
    }

    /// Who is pushed down from each level for the entry of a page to come to level 0: up to the
    /// first with room, or the one that the page leaves.
    fn draw(&mut self, cache: &EntryCache, lpn: Lpn) {
        if self.drawn != Some(lpn) {
            let end = self.level_of(cache, lpn).unwrap_or(self.levels.count());
            self.levels.draw(end, &mut self.pushed);
            self.drawn = Some(lpn);
        }
    }
}

impl SharedRamPolicy for Jtl {
    type Map = Map;

    const FINDS_DATA_BY_ENTRY: bool = true;

    const HOLDS_READS: bool = true;

    fn new(layout: &Layout, values: &Values) -> Self {
        let half = values.integer(policy::RAM.name) / 2;
        let with_data = levels_within(half / u64::from(layout.geometry.page_size_bytes()));
        // More levels than all logical pages fill would stay empty.
        let entries = (half / ENTRY_BYTES).min(2 * u64::from(layout.logical_pages));
        let levels = levels_within(entries);
        Self {
            levels: Levels::none(levels, layout.seed),
            with_data: with_data.min(levels),
            drawn: None,
            pushed: Vec::new(),
        }
    }

    fn most_pages(&self) -> u32 {
        (1 << self.with_data) - 1
    }

    fn next_victim(&mut self, ram: &mut RamView<'_, EntryCache>, why: EvictionReason) -> Option<Victim> {
        let EvictionReason::Entry(lpn) = why else { return None };
        self.draw(ram.cache, lpn);
        let among = self.pushed.len() as u64;
        if let Some(&(below, _)) = self.pushed.get(self.with_data - 1)
            && ram.held.find(below).is_some()
        {
            return Some(Victim { what: Evict::Data(below), among });
        }
        let last = self.pushed.get(self.levels.count() - 1).filter(|(last, _)| ram.cache.find(*last).is_some());
        last.map(|&(last, _)| Victim { what: Evict::Entry(last), among })
    }

    fn on_lookup(&mut self, ram: &mut RamView<'_, EntryCache>, lpn: Lpn) {
        // On a read-only device it may not have come.
        let (true, Some(place)) = (self.drawn.take() == Some(lpn), ram.cache.find(lpn)) else { return };
        self.levels.bring_up((lpn, place), &self.pushed);
    }

    fn on_inserted(&mut self, _ram: &mut RamView<'_, EntryCache>, _place: u32) {}

    fn on_used(&mut self, _ram: &mut RamView<'_, EntryCache>, _place: u32, _op: HostOp) {}

    fn on_evict(&mut self, _ram: &mut RamView<'_, EntryCache>, _place: u32) {}

    fn prefetch_page(&self, cache: &EntryCache, lpn: Lpn) {
        self.levels.prefetch_push(cache, lpn);
    }

    fn evict(&mut self, cache: &mut EntryCache, what: Evict) {
        if let Evict::Entry(lpn) = what {
            if let Some(place) = cache.find(lpn) {
                self.levels.take(place);
            }
            cache.evict(lpn);
        }
    }

    fn fault(&self, cache: &EntryCache, held: &DataCache) -> Option<String> {
        let in_levels: usize = self.levels.iter().map(<[_]>::len).sum();
        if in_levels != cache.entries() {
            return Some(format!("{} entries are cached, and {in_levels} in levels", cache.entries()));
        }
        if let Some((level, members)) =
            self.levels.iter().enumerate().find(|(level, members)| members.len() > 1 << level)
        {
            return Some(format!("level {level} has {} entries", members.len()));
        }
        let is_below = |lpn: Lpn| self.level_of(cache, lpn).is_none_or(|level| level >= self.with_data);
        let below = held.iter().find(|held| is_below(held.lpn))?;
        Some(format!("{} is in RAM, and its entry not in group 0", below.lpn))
    }

    fn gauges(&self, cache: &EntryCache, _held: &DataCache) -> Vec<Gauge> {
        vec![Gauge { name: "ram_map_bytes", value: (cache.entries() as u64 * ENTRY_BYTES) as f64 }]
    }
}

#[cfg(test)]
mod tests;
