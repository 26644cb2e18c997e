//! # bplru: whole logical blocks leave, the one not written for longest first
//!
//! ## Idea
//! A log that gets whole logical blocks, from the first page to the last, needs no full merge: the
//! log block becomes the data block. So RAM stands in front of the log, and what leaves it is made
//! whole.
//!
//! - *Block-level LRU*: a page that is written makes its whole logical block the most recent one.
//!   The block that was not written for longest leaves, with all of its pages.
//! - *Page padding*: the pages of it that do not wait are read from flash, and the block is written
//!   from its first page to its last.
//! - *LRU compensation*: a block that was written from its first page to its last in one sweep is
//!   not likely to be written soon again. It becomes the next one to leave.
//!
//! ```text
//!   next to leave                                    most recent
//!   [block 4: 0 1 2 3] ── [block 7: · 1 · ·] ── [block 2: · · 2 3]
//!    └ written in one sweep └ leaves after it: 0, 2 and 3 are read, and 0 1 2 3 written
//! ```
//!
//! ## Source
//! Kim 2008; Wang 2013 3.2.4 and its survey of schemes. Of the paper itself only the abstract and
//! summaries could be had.
//!
//! ## Departures
//! - A page that holds no data, because it was never written or was trimmed, is not written to make
//!   a block whole, nor one that cannot be read. A block with such a gap is written in parts: those
//!   with a page that waits, each with its neighbours.
//! - Only an eviction pads. A flush must write what waits and no more, and it comes often: padding
//!   it would multiply what a small synchronous write costs by the pages of a block.
//!   (`padding = false` leaves padding out altogether, `compensation = false` the compensation.)
//! - Reads find what waits, and change no order: the buffer is one of writes.
//! - A page that is written again to pad has the hint of its neighbours, since a mapping does not
//!   tell what the host once said of it.
//!
//! ## State
//! RAM: the pages that wait, with 8 B each; for each logical block that has any, 16 B: its number,
//! two links, and how far it was written in one sweep.
//!
//! ## After a cut
//! All pages that wait are lost: up to `ram` of them. What was flushed is not. Pages that pad hold
//! what the flash holds already, so a cut between them loses nothing.
//!
//! ## Costs
//! Padding, for a block of b pages of which k wait: up to b − k reads and b − k programs, under a
//! cause of their own. In front of a log that pays, if the merge that it saves would copy the same
//! pages; in front of a page-mapped scheme it is all loss.

use flash::{Geometry, Lbn};

use crate::api::entry::{Capabilities, Entry, Memory};
use crate::api::layout::Layout;
use crate::api::parameter::{Kind, Parameter, Values, joined};
use crate::api::report::Gauge;
use crate::api::request::Request;
use crate::linked_lists::LinkedLists;
use crate::write_buffer::policy::{self, BufferPolicy, BufferRoom, BufferScheme, BufferedPage, Victim};

const PADDING: Parameter = Parameter {
    name: "padding",
    kind: Kind::Switch,
    default: "true",
    meaning: "Whether a block that leaves is completed with the pages of it that lie on flash.",
    source: "Kim 2008",
};

const COMPENSATION: Parameter = Parameter {
    name: "compensation",
    kind: Kind::Switch,
    default: "true",
    meaning: "Whether a block that was written from its first page to its last leaves next.",
    source: "Kim 2008",
};

const ORDER: u32 = 0;

/// A logical block with pages that wait.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    pages: u32,
    /// Pages from the first on that were written last, one after the other.
    sweep: u32,
}

/// Block padding LRU.
#[derive(Clone, Debug)]
pub struct Bplru {
    geometry: Geometry,
    logical_pages: u32,
    /// By logical block.
    groups: Vec<Group>,
    /// Logical blocks that have pages, the next to leave in front.
    order: LinkedLists,
    buffered: u32,
    pages: u32,
    most_groups: u32,
    pads: bool,
    compensates: bool,
}

impl BufferScheme for Bplru {
    const ENTRY: Entry = Entry {
        name: "bplru",
        family: "buffer",
        capabilities: Capabilities::NONE,
        memory: Memory::BLOCK_BUFFER,
        source: "Kim 2008",
        parameters: &joined::<4>(&[&policy::PARAMETERS, &[PADDING, COMPENSATION]]),
        header: include_str!("bplru.rs"),
    };

    fn new(layout: &Layout, room: BufferRoom, values: &Values) -> Self {
        let blocks = layout.logical_blocks() as usize;
        Self {
            geometry: layout.geometry,
            logical_pages: layout.logical_pages,
            groups: vec![Group::default(); blocks],
            order: LinkedLists::new(blocks, 1),
            buffered: 0,
            pages: 0,
            most_groups: room.pages.min(layout.logical_blocks()),
            pads: values.switch(PADDING.name),
            compensates: values.switch(COMPENSATION.name),
        }
    }
}

impl Bplru {
    /// Pages of a logical block; the last one may have fewer than the others.
    fn size(&self, lbn: u32) -> u32 {
        let per_block = self.geometry.pages_per_block();
        per_block.min(self.logical_pages - lbn * per_block)
    }

    /// A page was written: its block is the most recent, or the next to leave if this ends a sweep
    /// over all of it.
    fn on_written(&mut self, page: BufferedPage) {
        let (lbn, offset) = self.geometry.split_logical(page.lpn);
        let lbn = lbn.get();
        let size = self.size(lbn);
        let group = &mut self.groups[lbn as usize];
        group.sweep = if offset == 0 || offset == group.sweep { offset + 1 } else { 0 };
        let is_swept = group.sweep == size && size > 1;
        match self.order.front(ORDER).filter(|_| is_swept && self.compensates) {
            Some(front) if front != lbn => {
                self.order.remove(lbn);
                self.order.insert_before(front, lbn);
            }
            Some(_) => {}
            None => self.order.move_back(ORDER, lbn),
        }
    }
}

impl BufferPolicy for Bplru {
    fn on_inserted(&mut self, page: BufferedPage, _request: &Request) {
        let lbn = self.geometry.split_logical(page.lpn).0.get();
        let group = &mut self.groups[lbn as usize];
        if group.pages == 0 {
            self.order.push_back(ORDER, lbn);
            self.buffered += 1;
        }
        group.pages += 1;
        self.pages += 1;
        self.on_written(page);
    }

    fn on_rewritten(&mut self, page: BufferedPage, _request: &Request) {
        self.on_written(page);
    }

    fn on_left(&mut self, page: BufferedPage) {
        let lbn = self.geometry.split_logical(page.lpn).0.get();
        let group = &mut self.groups[lbn as usize];
        *group = Group { pages: group.pages - 1, sweep: 0 };
        self.pages -= 1;
        if group.pages == 0 {
            self.order.remove(lbn);
            self.buffered -= 1;
        }
    }

    fn next_victim(&mut self) -> Victim {
        let lbn = Lbn::new(self.order.front(ORDER).unwrap_or(0));
        if self.pads { Victim::WholeBlock(lbn) } else { Victim::Block(lbn) }
    }

    fn pages(&self) -> u32 {
        self.pages
    }

    fn tables(&self) -> Vec<(&'static str, u64)> {
        vec![("buffered blocks", 16 * u64::from(self.most_groups))]
    }

    fn gauges(&self) -> Vec<Gauge> {
        vec![Gauge { name: "buffered_blocks", value: f64::from(self.buffered) }]
    }
}
