//! # bast: a log block for a data block
//!
//! ## Idea
//! Data blocks are block-mapped, and each may have one log block of its own, which takes its
//! updates in the order in which they come. A log block that was written in place from the start
//! becomes the data block as it is (switch merge) or after copying the rest (partial merge); any
//! other one is merged with its data block into a fresh one. When a data block needs a log block
//! and all are in use, the one that was not written for the longest time is merged, however empty
//! it is: under random writes, that is nearly every write ("log block thrashing").
//!
//! ```text
//!   data blocks   [0][1][2][3]   [4][5][6][7]   [8] …             block-mapped
//!                       │              │
//!   log blocks    [0'][1'][ ][ ] [6'][6"][4'][ ]                  one for one
//! ```
//!
//! ## Source
//! A-SAST I-II, Wang 2013 3.2.2; Kim 2002.
//!
//! Of Kim 2002 no text could be had: all here is as A-SAST and Wang 2013 tell it. Which log block
//! leaves (A-SAST II: "one of allocated log blocks") is therefore ours.
//!
//! ## Departures
//! - A first write goes in place into the data block when the program order still allows it (Wang
//!   2013 3.2.2).
//! - A log block whose pages have all been merged or trimmed is erased at once.
//!
//! ## State
//! RAM: block map, 4 B × logical blocks; log map, 4 B × log pages; which log block serves whom, 8
//! B × log blocks. Flash: `log_space` of the data blocks' number as log blocks; tags carry LPN,
//! role and logical block.
//!
//! ## Read
//! 1. The log page that holds the newest copy, else the page in the data block if it is current.
//!
//! ## Write
//! 1. In place if possible;
//! 2. else to the next page of the logical block's log block (`LogSets::place`), which is opened if
//!    there is none.
//!
//! ## Reclaim
//! 1. `LogSets::victim`: a full log block is merged before the next one of its logical block is
//!    opened;
//! 2. when all are in use, the one that was not written for the longest time is merged.
//!
//! ## Recover
//! 1. Data and log blocks are told apart by the roles in their tags. A log block in place claims
//!    its logical block as a data block does; if a cut left several claims of which none covers the
//!    others, they are merged.
//! 2. Other log blocks stay, and are not filled further.
//! 3. A flush merges the logical blocks with trimmed pages and erases their log blocks, so that
//!    recovery finds no trace.
//!
//! ## Invariants
//! - I1: a current data page carries its LPN in its place, and then no log page is the newest copy
//!   of it.
//! - I2: no block is mapped twice, or mapped and free; free blocks are erased.
//! - I3: a log page that is the newest copy carries its LPN.
//! - I4: every good block is a data block, a log block or free, until the device is read-only.
//!
//! ## Costs
//! Uniform one-page updates of D full data blocks of b pages with L log blocks, h = L/D: A = 1 + b
//! (1 − h) / (1 − h^b).

use crate::api::entry::{Capabilities, Entry, Memory};
use crate::api::layout::Layout;
use crate::api::parameter::Values;
use crate::engines::log_buffer::groups::LogGroups;
use crate::engines::log_buffer::policy::{LOG_BLOCKS, LOG_SPACE, LogNeeds, LogScheme, log_blocks};
use crate::engines::log_buffer::sets::LogSets;
use crate::port::error::ConfigError;

/// Block-associative sector translation.
pub struct Bast;

impl LogScheme for Bast {
    const ENTRY: Entry = Entry {
        name: "bast",
        family: "log-buffer",
        capabilities: Capabilities::LOGICAL_BLOCKS,
        memory: Memory::LOG_MAP,
        source: "A-SAST I-II; Wang 2013 3.2.2; Kim 2002",
        parameters: &[LOG_SPACE, LOG_BLOCKS],
        header: include_str!("bast.rs"),
    };

    type Policy = LogSets;

    fn needs(layout: &Layout, values: &Values) -> Result<LogNeeds, ConfigError> {
        let log_blocks = log_blocks("bast", layout, values, 1)?;
        Ok(LogNeeds { log_blocks, ahead: 0, tables: vec![("log blocks", LogGroups::table_bytes(log_blocks))] })
    }

    fn policy(layout: &Layout, _values: &Values, log_blocks: u32) -> LogSets {
        LogSets::new(LogGroups::new(layout, 1), 1, log_blocks)
    }
}
