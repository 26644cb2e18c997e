//! # fab: the logical block with most pages leaves
//!
//! ## Idea
//! Flash is erased block by block, so pages of one logical block are worth writing down together:
//! the fewer blocks a log has pages of, the fewer merges there are, and a block that is written
//! whole needs none at all. So pages stand in RAM by logical block, and the block with most pages
//! leaves. Data that are streamed fill blocks and leave at once; pages that are written over and
//! over, as those of a file system's tables, are few to a block and stay.
//!
//! ```text
//!   block 7: 4 pages    block 2: 4 pages, used earlier    block 9: 1 page, used earliest
//!                       └── leaves: most pages, and of those the one not used for longest
//! ```
//!
//! ## Source
//! Jo 2006; of the paper only summaries could be had.
//!
//! ## Departures
//! - Only what waits to be written is held. The paper's buffer is the cache of a media player and
//!   keeps what was read as well.
//! - What fills a logical block but is not in the buffer is not written with it.
//!
//! ## State
//! RAM: the pages that wait, with 8 B each; for each logical block that has any, 16 B: its number,
//! its pages, and its place in the order.
//!
//! ## After a cut
//! All pages that wait are lost: up to `ram` of them. What was flushed is not.
//!
//! ## Costs
//! No flash operation of its own. Choosing takes O(log n) of the blocks that wait, at each use.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use flash::{Geometry, Lbn};

use crate::api::entry::{Capabilities, Entry, Memory};
use crate::api::layout::Layout;
use crate::api::parameter::Values;
use crate::api::report::Gauge;
use crate::api::request::Request;
use crate::write_buffer::policy::{self, BufferPolicy, BufferRoom, BufferScheme, BufferedPage, Victim};

/// A logical block with pages that wait.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    pages: u32,
    /// The use at which it was used last.
    used: u64,
}

/// Flash-aware buffer management.
#[derive(Clone, Debug)]
pub struct Fab {
    geometry: Geometry,
    /// By logical block.
    groups: Vec<Group>,
    /// Those that have pages; the last one leaves.
    order: BTreeSet<(u32, Reverse<u64>, u32)>,
    pages: u32,
    uses: u64,
    most_groups: u32,
}

impl Fab {
    /// A page was used, and its logical block has so many more, or fewer.
    fn change(&mut self, page: BufferedPage, by: i32, is_use: bool) {
        let lbn = self.geometry.split_logical(page.lpn).0.get();
        let group = &mut self.groups[lbn as usize];
        self.order.remove(&(group.pages, Reverse(group.used), lbn));
        group.pages = group.pages.saturating_add_signed(by);
        if is_use {
            self.uses += 1;
            group.used = self.uses;
        }
        if group.pages > 0 {
            self.order.insert((group.pages, Reverse(group.used), lbn));
        }
        self.pages = self.pages.saturating_add_signed(by);
    }
}

impl BufferScheme for Fab {
    const ENTRY: Entry = Entry {
        name: "fab",
        family: "buffer",
        capabilities: Capabilities::NONE,
        memory: Memory::BLOCK_BUFFER,
        source: "Jo 2006",
        parameters: &policy::PARAMETERS,
        header: include_str!("fab.rs"),
    };

    fn new(layout: &Layout, room: BufferRoom, _values: &Values) -> Self {
        Self {
            geometry: layout.geometry,
            groups: vec![Group::default(); layout.logical_blocks() as usize],
            order: BTreeSet::new(),
            pages: 0,
            uses: 0,
            most_groups: room.pages.min(layout.logical_blocks()),
        }
    }
}

impl BufferPolicy for Fab {
    fn on_inserted(&mut self, page: BufferedPage, _request: &Request) {
        self.change(page, 1, true);
    }

    fn on_rewritten(&mut self, page: BufferedPage, _request: &Request) {
        self.change(page, 0, true);
    }

    fn read(&mut self, page: BufferedPage) {
        self.change(page, 0, true);
    }

    fn on_left(&mut self, page: BufferedPage) {
        self.change(page, -1, false);
    }

    fn next_victim(&mut self) -> Victim {
        Victim::Block(Lbn::new(self.order.last().map_or(0, |&(_, _, lbn)| lbn)))
    }

    fn pages(&self) -> u32 {
        self.pages
    }

    fn tables(&self) -> Vec<(&'static str, u64)> {
        vec![("buffered blocks", 16 * u64::from(self.most_groups))]
    }

    fn gauges(&self) -> Vec<Gauge> {
        vec![Gauge { name: "buffered_blocks", value: self.order.len() as f64 }]
    }
}
