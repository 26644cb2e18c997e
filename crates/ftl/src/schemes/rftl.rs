//! # rftl: demand-paged mapping with copies of the map on several channels
//!
//! ## Idea
//! A lookup that misses the cached mapping table waits for a translation page, and that page's
//! channel may be busy with a collection. So each translation page is kept n + 1 times, on
//! different channels: a miss reads a copy that need not wait. The price is n more programs
//! whenever a translation page is written, and the space.
//!
//! ```text
//!   LPN ─▶ RCMT ──miss──▶ RGTD ─▶ { MPPN, MRPN 1 … MRPN n }
//!                                     │       │
//!                          channel 0 busy   channel 1 idle ◀── read here
//! ```
//!
//! ## Source
//! RFTL 3.
//!
//! ## Departures
//! - Which copy is read: R reads the original if its channel is idle, else a copy on an idle
//!   channel, else it waits; a channel is busy while a read, a program or an erase is under way on
//!   it (RFTL fig. 3). That is `copy_choice = "idle_channel"`. By default the copy is read whose
//!   read would be done first, by its die and its bus: with two dies per channel, one of them is
//!   mostly at work.
//! - RFTL says that die registers survive a power cut, so that a batch of copies is always
//!   complete. No such register is assumed: the map is rebuilt from the data pages' tags, so it
//!   does not matter which copies a cut left behind.
//! - Copies are placed on different channels when they are written. A collection that moves one
//!   keeps it on its die.
//! - When no die on another channel has room, a copy goes where there is room; that is rare, and
//!   the read still finds it.
//! - Among equals the original is taken, else the lowest copy (RFTL says only "an idle channel").
//! - A changed entry that leaves takes all changed entries of its translation page along. That is
//!   from dftl; RFTL's batch updating (3.2.3) is that all copies are written together.
//!   `batch_update` turns the former off.
//!
//! ## State
//! RAM: RCMT, 8 B an entry (LPN and PPN); RGTD, 4 B × translation pages × (n + 1). Flash: n + 1
//! copies of the translation pages of `page_size / mapping_bytes` entries (RFTL 3.1: 512 in 4 KiB,
//! so 8 bytes); data pages. Tags carry the LPN or the translation page number.
//!
//! ## Read
//! 1. `lookup`: a hit is free; a miss first makes room in the RCMT, then reads a copy of the
//!    translation page, as `copy_choice` says (RFTL, algorithm 1).
//! 2. A copy that cannot be read is passed over, and written anew from the one that could (RFTL
//!    3.2.4).
//! 3. The data page.
//!
//! ## Write
//! 1. `lookup`, as for a read. A changed entry that leaves the RCMT takes all changed entries of
//!    its translation page along, which is written in all copies together (RFTL 3.2.3).
//! 2. Program the page on the next die in turn, channels first (RFTL 5.1: Channel-Chip-Die), then
//!    change the cached entry; the old page is released.
//!
//! ## Reclaim
//! 1. As in dftl: dies collect data and translation blocks alike, by one policy.
//! 2. Moved data pages whose entries are not cached change their translation pages, each once, in
//!    all copies.
//! 3. Moved copies change the RGTD.
//!
//! ## Recover
//! 1. Of each LPN the highest version among all tags of data and trim pages wins. Translation pages
//!    are not needed for that, and may be older than the data: their blocks are erased. So it does
//!    not matter whether a channel's copies can be read.
//! 2. `rewrite_table` writes all copies anew; the cache starts empty.
//!
//! ## Invariants
//! - I1: an LPN that is mapped (by its cached entry, else by its translation page) points to a
//!   valid page that carries it.
//! - I2: there are as many valid pages as mapped LPNs, copies of translation pages and needed trim
//!   pages together.
//! - I3: free blocks are erased and hold nothing valid; summaries are true.
//! - I4: each copy of a translation page lies where the RGTD says; unwritten ones map nothing,
//!   unless the device is read-only and so they cannot be written.
//! - I5: an entry that is newer than its translation page is in RAM.
//!
//! ## Costs
//! As dftl, but each write of a translation page costs n + 1 programs; they run on different
//! channels at once.

use crate::api::entry::{Capabilities, Entry, Memory};
use crate::api::layout::Layout;
use crate::api::parameter::{Kind, Parameter, Values, joined};
use crate::engines::demand::machine;
use crate::engines::demand::mapping_cache::{self, MappingCache};
use crate::engines::demand::policy::{DemandScheme, Ram};
use crate::engines::demand::translation::{COPY_CHOICE, CopyChoice};
use crate::port::error::ConfigError;

const REPLICAS: Parameter = Parameter {
    name: "replicas",
    kind: Kind::Integer { min: 1, max: 15 },
    default: "1",
    meaning: "n: copies of each translation page besides the original; more channels to read from, more programs to write.",
    source: "RFTL tab. 7 (1 to 3)",
};

/// Replication-based demand-paged mapping.
pub struct Rftl;

impl DemandScheme for Rftl {
    const ENTRY: Entry = Entry {
        name: "rftl",
        family: "demand-paged",
        capabilities: Capabilities::FILLS_BLOCKS_UP,
        memory: Memory::CACHED_MAP,
        source: "RFTL 3",
        parameters: &joined::<14>(&[&[REPLICAS, COPY_CHOICE], &mapping_cache::PARAMETERS, &machine::PARAMETERS]),
        header: include_str!("rftl.rs"),
    };

    type Cache = MappingCache;

    type ForeignPages = ();

    fn copies(layout: &Layout, values: &Values) -> Result<u32, ConfigError> {
        let (replicas, channels) = (values.integer("replicas") as u32, layout.geometry.channels());
        if replicas < channels {
            return Ok(replicas + 1);
        }
        let advice = match channels {
            1 => "raise device.channels, or use dftl".to_owned(),
            _ => format!("give at most {} or raise device.channels", channels - 1),
        };
        let copies = replicas + 1;
        Err(ConfigError(format!(
            "rftl.replicas = {replicas}: with the original that makes {copies} copies on different channels, but the device has \
             {channels}; {advice}"
        )))
    }

    fn copy_choice(values: &Values) -> CopyChoice {
        CopyChoice::from_values(values)
    }

    fn cache(layout: &Layout, values: &Values) -> Result<(MappingCache, Ram), ConfigError> {
        MappingCache::from_values(layout, values)
    }
}
