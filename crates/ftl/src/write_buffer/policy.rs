//! What makes one write buffer differ from another.
//!
//! The machine (`write_back.rs`) holds the pages, answers reads, and forgets what is trimmed. It
//! tells a policy of every page that comes, is used again or leaves, and asks it which pages shall
//! be written down when there is no room. A policy is asked a page at a time and not for flash
//! operations, so it is called through a table of functions, as wear policies are.
//!
//! A policy decides nothing that content depends on: of what it names, only pages that wait are
//! written down, and if none does, the one with the lowest number is.

use std::fmt;

use flash::{Lbn, Lpn};

use crate::api::entry::Entry;
use crate::api::layout::Layout;
use crate::api::parameter::Values;
use crate::api::report::Gauge;
use crate::api::request::Request;
use crate::port::error::ConfigError;
use crate::write_buffer::room::Room;

/// A page that waits, as a policy knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Its logical page.
    pub lpn: Lpn,
    /// Where it lies: a number below the pages for which there is room, its own while it waits.
    pub slot: u32,
}

/// What shall be written down together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Victim {
    /// One page.
    Page(Lpn),
    /// All pages of a logical block that wait.
    Block(Lbn),
    /// The same, and with them those of the block that do not wait: they are read and written
    /// again, so that the block is written whole.
    WholeBlock(Lbn),
}

/// A way of choosing what leaves a write buffer.
pub trait BufferPolicy: fmt::Debug + Send {
    /// A page waits now that did not wait before; it came with this request.
    fn came(&mut self, page: Held, request: &Request);

    /// A page that waits was written once more with this request, and holds the new content now.
    fn rewritten(&mut self, _page: Held, _request: &Request) {}

    /// A page that waits was read.
    fn read(&mut self, _page: Held) {}

    /// A page waits no more: it was written down, or trimmed.
    fn left(&mut self, page: Held);

    /// What shall be written down, since there is no room for a page that comes.
    fn next_victim(&mut self) -> Victim;

    /// How many pages wait by its own books, for the machine to compare.
    fn pages(&self) -> u32;

    /// What it keeps in RAM besides the pages: name and bytes.
    fn tables(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// Numbers of its own, sampled into the time series.
    fn gauges(&self) -> Vec<Gauge> {
        Vec::new()
    }
}

/// How the registry builds a buffer.
pub trait BufferScheme: BufferPolicy + Sized + 'static {
    /// What the registry lists about it; among its parameters are those of
    /// [`room`](crate::write_buffer::room::PARAMETERS).
    const ENTRY: Entry;

    /// Whether it can work over a mapping; if not, why, as the end of a sentence about both.
    fn suits(mapping: &Entry) -> Result<(), String> {
        no_buffer_of_its_own(mapping)
    }

    /// Builds it for a device, with so much room.
    fn new(layout: &Layout, room: Room, values: &Values) -> Self;
}

/// Refuses a mapping that has a write buffer already: pages would wait twice.
pub fn no_buffer_of_its_own(mapping: &Entry) -> Result<(), String> {
    mapping
        .capabilities
        .write_buffer
        .map_or(Ok(()), |own| Err(format!("it has a write buffer of its own ({own}); choose another mapping")))
}

/// A policy with its room.
pub type Built = (Box<dyn BufferPolicy>, Room);

/// A buffer as the registry lists it.
#[derive(Clone, Copy)]
pub struct BufferKind {
    /// What is known of it.
    pub entry: Entry,
    /// Whether it can work over a mapping; if not, why.
    pub suits: fn(&Entry) -> Result<(), String>,
    /// Builds it for a device.
    pub build: fn(&Layout, &Values) -> Result<Built, ConfigError>,
}

impl BufferKind {
    /// How the registry builds buffers of type `B`.
    pub const fn of<B: BufferScheme>() -> Self {
        let build: fn(&Layout, &Values) -> Result<Built, ConfigError> = |layout, values| {
            let room = Room::from_values(B::ENTRY.name, layout, values)?;
            Ok((Box::new(B::new(layout, room, values)), room))
        };
        Self { entry: B::ENTRY, suits: B::suits, build }
    }
}
