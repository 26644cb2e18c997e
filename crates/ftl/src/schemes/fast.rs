//! # fast: fully associative log blocks
//!
//! ## Idea
//! Data blocks are block-mapped; updates go to a small page-mapped log. One log block takes
//! sequential streams, so that it can become a data block as it is (switch merge) or after copying
//! the rest (partial merge). The other log blocks are shared by all data blocks and leave in the
//! order they came; every logical block with a newest page in the leaving one is fully merged,
//! which is what random writes pay for.
//!
//! ```text
//!   data blocks   [0][1][2][3]   [4][5][6][7]   [8] …             block-mapped
//!   sequential    [0'][1'][ ][ ]                                  one, in place
//!   random log    [6'][2'][9'][6"] ─▶ [1"][ ][ ][ ]               first in, first merged
//! ```
//!
//! ## Source
//! Wang 2013 3.2.2 and fig. 3.1, A-SAST II; Lee 2007.
//!
//! Of Lee 2007 only a reader's summary could be had. It agrees in this: log blocks for sequential
//! and for random writes are kept apart, each with a page map of its own, and a random one takes
//! pages of any data block. Its algorithms could not be checked.
//!
//! ## Departures
//! - A first write goes in place into the data block when the program order still allows it (Wang
//!   2013 3.2.2: "checks whether the page in the mapped data block is clean").
//! - When a full merge has moved away everything that the sequential block held, that block is
//!   erased at once: as a data block it would bring old copies back.
//! - Without a sequential block, a shared one that happens to hold the first pages of one logical
//!   block in their places is switched or completed like a sequential one.
//!
//! ## State
//! RAM: block map, 4 B × logical blocks; log map, 4 B × log pages. Flash: `log_space` of the data
//! blocks' number as log blocks; tags carry LPN, role and logical block.
//!
//! ## Read
//! 1. The log page that holds the newest copy, else the page in the data block if it is current.
//!
//! ## Write
//! 1. In place if possible;
//! 2. to the sequential block at offset 0 (what it held is merged first) or if it continues it
//!    exactly;
//! 3. else to the end of the random log.
//!
//! ## Reclaim
//! 1. `LogAreas::victim`: when all log blocks are full, the first one in leaves: a full merge for
//!    each logical block that has a newest page in it, then its erase.
//! 2. The sequential block: switch or partial merge.
//!
//! ## Recover
//! 1. Data and log blocks are told apart by role and logical block in the tags; of several copies
//!    of a page the one with the highest version is the newest.
//! 2. Of the blocks that claim a logical block, those are erased whose needed pages are all in
//!    others (an interrupted merge). If several remain (a data block and a sequential log block),
//!    `settle` merges them.
//! 3. Log blocks keep their order and are not filled further. Of a failing one and the one that was
//!    to take its place, one is erased.
//! 4. A flush makes trims last: the logical blocks are merged, and a page of the log says what was
//!    trimmed.
//!
//! ## Invariants
//! - I1: a current data page carries its LPN in its place, and then no log page is the newest copy
//!   of it.
//! - I2: no block is mapped twice, or mapped and free; free blocks are erased.
//! - I3: a log page that is the newest copy carries its LPN.
//! - I4: every good block is a data block, a log block or free, until the device is read-only.
//!
//! ## Costs
//! Uniform one-page updates of D full data blocks with L random log blocks of b pages:
//! A = 1 + bD / (D + R), R = (L − ½) b + D (1 − e^(−(L − ½)/D)).

use crate::api::entry::{Capabilities, Entry, Memory};
use crate::api::layout::Layout;
use crate::api::parameter::Values;
use crate::engines::log_buffer::areas::{FifoSharing, LogAreas, SEQUENTIAL};
use crate::engines::log_buffer::policy::{LOG_BLOCKS, LOG_SPACE, LogNeeds, LogScheme};
use crate::port::error::ConfigError;

/// Fully associative sector translation.
pub struct Fast;

impl LogScheme for Fast {
    const ENTRY: Entry = Entry {
        name: "fast",
        family: "log-buffer",
        capabilities: Capabilities::LOGICAL_BLOCKS,
        memory: Memory::LOG_MAP,
        source: "Wang 2013 3.2.2, fig. 3.1; A-SAST II; Lee 2007",
        parameters: &[LOG_SPACE, LOG_BLOCKS, SEQUENTIAL],
        header: include_str!("fast.rs"),
    };

    type Policy = LogAreas<FifoSharing>;

    fn needs(layout: &Layout, values: &Values) -> Result<LogNeeds, ConfigError> {
        Self::Policy::needs("fast", layout, values)
    }

    fn policy(layout: &Layout, values: &Values, log_blocks: u32) -> Self::Policy {
        LogAreas::with_one_stream(layout, values, log_blocks, FifoSharing)
    }
}
