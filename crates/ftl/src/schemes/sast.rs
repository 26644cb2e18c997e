//! # sast: log blocks shared by groups
//!
//! ## Idea
//! N neighbouring data blocks form a group, and up to K log blocks serve that group alone, so N :
//! N + K. A larger N fills log blocks better, because more data blocks share them; a smaller one
//! makes merges cheaper, because fewer data blocks have pages in each. When the log space is used
//! up, the group that was not written for the longest time gives up its oldest log block. With N =
//! K = 1 this is bast, with one group of everything it is the random log of fast.
//!
//! ```text
//!   data blocks   [0..3][4..7][8..11][12..15]   [16..19] …         one group of N = 4
//!                       └─────┬─────┘
//!   its log       [2][3][4][5]  [6][7][ ][ ]                       at most K = 2 log blocks
//! ```
//!
//! ## Source
//! A-SAST II and fig. 1 (c); Park 2008.
//!
//! Of Park 2008 only the abstract could be had, which names no mechanism: all here is as A-SAST
//! tells it.
//!
//! ## Departures
//! - A first write goes in place into the data block when the program order still allows it (Wang
//!   2013 3.2.2).
//! - Of the group that gives way, one log block is merged at a time, the oldest, as in the example
//!   of A-SAST III.A.
//!
//! ## State
//! RAM: block map, 4 B × logical blocks; log map, 4 B × log pages; the groups' log blocks, 8
//! B × log blocks. Flash: `log_space` of the data blocks' number as log blocks; tags carry LPN,
//! role and logical block.
//!
//! ## Read
//! 1. The log page that holds the newest copy, else the page in the data block if it is current.
//!
//! ## Write
//! 1. In place if possible;
//! 2. else to the youngest log block of the group (`LogSets::place`), or to a new one if that is
//!    full.
//!
//! ## Reclaim
//! 1. `LogSets::victim`: a group with K log blocks gives up its oldest before it gets another;
//! 2. when all are in use, the least recently written group gives up its oldest. Every logical
//!    block with a newest page in it is fully merged, unless it is in place and can be switched or
//!    completed.
//!
//! ## Recover
//! 1. Data and log blocks are told apart by the roles in their tags; a log block's pages tell its
//!    group. A log block in place claims its logical block as a data block does; several claims of
//!    which none covers the others are merged.
//! 2. Log blocks keep their order and are not filled further.
//! 3. A flush merges logical blocks with trimmed pages and every log block that holds a copy of
//!    one; with a single group, a page of the log says what was trimmed, as in fast.
//!
//! ## Invariants
//! - I1: a current data page carries its LPN in its place, and then no log page is the newest copy
//!   of it.
//! - I2: no block is mapped twice, or mapped and free; free blocks are erased.
//! - I3: a log page that is the newest copy carries its LPN.
//! - I4: every good block is a data block, a log block or free, until the device is read-only.
//!
//! ## Costs
//! A full merge of a log block: b A(L) copies, A(L) + 1 erases, A(L) ≤ N (A-SAST eq. 1).

use crate::api::entry::{Capabilities, Entry, Memory};
use crate::api::layout::Layout;
use crate::api::parameter::{Kind, Parameter, Values};
use crate::engines::log_buffer::groups::LogGroups;
use crate::engines::log_buffer::policy::{GROUP_BLOCKS, LOG_BLOCKS, LOG_SPACE, LogNeeds, LogScheme, log_blocks};
use crate::engines::log_buffer::sets::LogSets;
use crate::port::error::ConfigError;

/// Set-associative sector translation.
pub struct Sast;

impl LogScheme for Sast {
    const ENTRY: Entry = Entry {
        name: "sast",
        family: "log-buffer",
        capabilities: Capabilities::LOGICAL_BLOCKS,
        memory: Memory::LOG_MAP,
        source: "A-SAST II; Park 2008",
        parameters: &[LOG_SPACE, LOG_BLOCKS, GROUP_BLOCKS, GROUP_LOG_BLOCKS],
        header: include_str!("sast.rs"),
    };

    type Policy = LogSets;

    fn needs(layout: &Layout, values: &Values) -> Result<LogNeeds, ConfigError> {
        let log_blocks = log_blocks("sast", layout, values, 1)?;
        Ok(LogNeeds { log_blocks, ahead: 0, tables: vec![("log block groups", LogGroups::table_bytes(log_blocks))] })
    }

    fn policy(layout: &Layout, values: &Values, log_blocks: u32) -> LogSets {
        let groups = LogGroups::new(layout, values.integer("group_blocks") as u32);
        LogSets::new(groups, values.integer("group_log_blocks") as u32, log_blocks)
    }
}

const GROUP_LOG_BLOCKS: Parameter = Parameter {
    name: "group_log_blocks",
    kind: Kind::Integer { min: 1, max: u32::MAX as u64 },
    default: "4",
    meaning: "K: log blocks that a group may have; more serves bursts, fewer leaves some for the others.",
    source: "A-SAST IV (K = N/2)",
};
