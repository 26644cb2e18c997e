//! # lru: the page that was not used for longest leaves
//!
//! ## Idea
//! Pages that are written again and again stay in RAM, and only the last version of each reaches
//! the flash. The page that was neither written nor read for longest leaves, alone.
//!
//! ## Source
//! The baseline of Kim 2008 and Jo 2006.
//!
//! ## Departures
//! - Only what waits to be written is held: a page that was written down is forgotten, and reads
//!   bring nothing in.
//!
//! ## State
//! RAM: the pages that wait, with 8 B each; their order, 12 B each.
//!
//! ## After a cut
//! All pages that wait are lost: up to `ram` of them. What was flushed is not.
//!
//! ## Costs
//! No flash operation of its own. With a share h of writes that find their page waiting, 1 − h of
//! the pages are programmed; under independent references h follows Che's approximation.

use crate::api::entry::{Capabilities, Entry, Memory};
use crate::api::layout::Layout;
use crate::api::parameter::Values;
use crate::api::request::Request;
use crate::write_buffer::policy::{self, BufferPolicy, BufferRoom, BufferScheme, BufferedPage, PageOrder, Victim};

/// Least recently used.
#[derive(Clone, Debug)]
pub struct Lru {
    order: PageOrder,
}

impl BufferScheme for Lru {
    const ENTRY: Entry = Entry {
        name: "lru",
        family: "buffer",
        capabilities: Capabilities::NONE,
        memory: Memory::PAGE_BUFFER,
        source: "Kim 2008, Jo 2006 (baseline)",
        parameters: &policy::PARAMETERS,
        header: include_str!("lru.rs"),
    };

    fn new(_layout: &Layout, room: BufferRoom, _values: &Values) -> Self {
        Self { order: PageOrder::new(room.pages) }
    }
}

impl BufferPolicy for Lru {
    fn on_inserted(&mut self, page: BufferedPage, _request: &Request) {
        self.order.enter(page);
    }

    fn on_rewritten(&mut self, page: BufferedPage, _request: &Request) {
        self.order.touch(page);
    }

    fn read(&mut self, page: BufferedPage) {
        self.order.touch(page);
    }

    fn on_left(&mut self, page: BufferedPage) {
        self.order.leave(page);
    }

    fn next_victim(&mut self) -> Victim {
        self.order.front()
    }

    fn pages(&self) -> u32 {
        self.order.pages()
    }

    fn tables(&self) -> Vec<(&'static str, u64)> {
        vec![("LRU list of pages", self.order.bytes())]
    }
}
