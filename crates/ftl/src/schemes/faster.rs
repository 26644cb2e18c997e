//! # faster: a second chance for log pages
//!
//! ## Idea
//! As in fast, log blocks are shared by all data blocks and leave in the order they came. A page
//! that is still the newest copy when its log block leaves may soon be overwritten, and then its
//! merge would have been for nothing. So a page that has not had the chance moves to the end of the
//! log instead; only if it comes around again is its logical block merged. Pages that are written
//! often thus stay in the log for nothing more than a copy, at the price of log space for those
//! that are not.
//!
//! ```text
//!   random log   [6'][2'][9'][6"] ─▶ …  ─▶ [1"][ ][ ][ ]
//!                 old  │   old  └─ had its chance: full merge of its logical block
//!                      └─ first time: moves to the end ─▶ [1"][2'][ ][ ]
//! ```
//!
//! ## Source
//! Wang 2013 3.2.2, 5.3; Lim 2010.
//!
//! Of Lim 2010 only the abstract could be had: "giving a second chance to valid pages and isolating
//! cold ones". The first is here.
//!
//! ## Departures
//! - A first write goes in place into the data block when the program order still allows it (Wang
//!   2013 3.2.2).
//! - A page written by the host, and every page after a power cut, has its chance anew.
//! - Cold pages are not kept apart: Wang 2013 5.3 names the second chance alone, and how Lim 2010
//!   isolates them could not be read.
//! - The end of the log is opened before the leaving block is erased, so one more block is kept
//!   free.
//!
//! ## State
//! RAM: block map, 4 B × logical blocks; log map, 4 B × log pages; one bit for each log page.
//! Flash: as fast.
//!
//! ## Read
//! 1. The log page that holds the newest copy, else the page in the data block if it is current.
//!
//! ## Write
//! 1. As fast: in place, to the sequential block, or to the end of the random log.
//!
//! ## Reclaim
//! 1. `LogAreas::victim`: when all log blocks are full, the first one in leaves.
//! 2. `moves`: its newest pages that have not had their chance are copied to the end; for the
//!    others the logical block is merged.
//! 3. If the copies filled the new end, the next block leaves: after one round at most every page
//!    has had its chance.
//! 4. The sequential block: switch or partial merge.
//!
//! ## Recover
//! 1. As fast. Of a leaving block and the one that its pages were being moved to, the one is given
//!    up whose pages are all in the other.
//! 2. Moved pages are younger than a page that says what was trimmed, and never hold what it voids.
//!
//! ## Invariants
//! - I1: a current data page carries its LPN in its place, and then no log page is the newest copy
//!   of it.
//! - I2: no block is mapped twice, or mapped and free; free blocks are erased.
//! - I3: a log page that is the newest copy carries its LPN.
//! - I4: every good block is a data block, a log block or free, until the device is read-only.
//!
//! ## Costs
//! A newest page of a leaving block costs one copy the first time, and b copies and an erase the
//! second, unless it has been overwritten before.

use flash::Lpn;

use crate::api::entry::{Capabilities, Entry, Memory};
use crate::api::layout::Layout;
use crate::api::parameter::{Kind, Parameter, Values};
use crate::engines::log_buffer::areas::SecondChanceBits;
use crate::engines::log_buffer::areas::{Area, LogAreas, LogSharing, SEQUENTIAL};
use crate::engines::log_buffer::policy::{LOG_BLOCKS, LOG_SPACE, LogNeeds, LogPage, LogScheme};
use crate::engines::log_buffer::space::{LogSpace, Slot};
use crate::port::error::ConfigError;

/// Fully associative sector translation with second chances.
pub struct Faster;

impl LogScheme for Faster {
    const ENTRY: Entry = Entry {
        name: "faster",
        family: "log-buffer",
        capabilities: Capabilities::LOGICAL_BLOCKS,
        memory: Memory::LOG_MAP,
        source: "Wang 2013 3.2.2, 5.3; Lim 2010",
        parameters: &[
            LOG_SPACE,
            LOG_BLOCKS,
            SEQUENTIAL,
            Parameter {
                name: "second_chance",
                kind: Kind::Switch,
                default: "true",
                meaning: "Whether a page moves to the end of the log once before it is merged; without it the scheme is fast.",
                source: "Wang 2013 3.2.2",
            },
        ],
        header: include_str!("faster.rs"),
    };

    type Policy = LogAreas<SecondChance>;

    fn needs(layout: &Layout, values: &Values) -> Result<LogNeeds, ConfigError> {
        let needs = Self::Policy::needs("faster", layout, values)?;
        let log_pages = u64::from(needs.log_blocks) * u64::from(layout.geometry.pages_per_block());
        let tables = vec![("second chances", log_pages.div_ceil(8))];
        Ok(if values.switch("second_chance") { LogNeeds { ahead: 1, tables, ..needs } } else { needs })
    }

    fn policy(layout: &Layout, values: &Values, log_blocks: u32) -> Self::Policy {
        let sharing = SecondChance {
            chances: SecondChanceBits::new(layout.logical_pages),
            enabled: values.switch("second_chance"),
        };
        LogAreas::with_one_stream(layout, values, log_blocks, sharing)
    }
}

/// Which pages of the log have had their chance.
pub struct SecondChance {
    chances: SecondChanceBits,
    enabled: bool,
}

impl LogSharing for SecondChance {
    fn moves(&mut self, _area: Area, lpn: Lpn) -> bool {
        self.enabled && !self.chances.had(lpn)
    }

    fn on_appended(&mut self, _log: &LogSpace, _slot: Slot, page: LogPage) {
        if page.moved {
            self.chances.on_moved(page.lpn);
        } else {
            self.chances.renew(page.lpn);
        }
    }
}
