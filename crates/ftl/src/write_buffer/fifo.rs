//! # fifo: the page that came first leaves
//!
//! ## Idea
//! Each page waits until as many others have come as there is room for, however often it is written
//! meanwhile, and leaves alone. It absorbs less than lru, and is what lru is to be compared with:
//! all that uses of a page tell is left aside.
//!
//! ## Source
//! ftlkit (a baseline).
//!
//! ## State
//! RAM: the pages that wait, with 8 B each; their order, 12 B each.
//!
//! ## After a cut
//! All pages that wait are lost: up to `ram` of them. What was flushed is not.
//!
//! ## Costs
//! No flash operation of its own. With a share h of writes that find their page waiting, 1 − h of
//! the pages are programmed; under independent references that come with probability qᵢ, h = Σ
//! qᵢ·qᵢt / (1 + qᵢt), where t is such that Σ qᵢt / (1 + qᵢt) are the pages that there is room for.

use crate::api::entry::{Capabilities, Entry, Memory};
use crate::api::layout::Layout;
use crate::api::parameter::Values;
use crate::api::request::Request;
use crate::write_buffer::policy::{self, BufferPolicy, BufferRoom, BufferScheme, BufferedPage, PageOrder, Victim};

/// First in, first out.
#[derive(Clone, Debug)]
pub struct Fifo {
    order: PageOrder,
}

impl BufferScheme for Fifo {
    const ENTRY: Entry = Entry {
        name: "fifo",
        family: "buffer",
        capabilities: Capabilities::NONE,
        memory: Memory::PAGE_BUFFER,
        source: "ftlkit (baseline)",
        parameters: &policy::PARAMETERS,
        header: include_str!("fifo.rs"),
    };

    fn new(_layout: &Layout, room: BufferRoom, _values: &Values) -> Self {
        Self { order: PageOrder::new(room.pages) }
    }
}

impl BufferPolicy for Fifo {
    fn on_inserted(&mut self, page: BufferedPage, _request: &Request) {
        self.order.enter(page);
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
        vec![("queue of pages", self.order.bytes())]
    }
}
