//! What makes one write buffer differ from another.
//!
//! The machine (`write_back.rs`) holds the pages, answers reads, and forgets what is trimmed. It tells a policy of every page that comes,
//! is used again or leaves, and asks it which pages shall be written down when there is no room. A policy is asked a page at a time and
//! not for flash operations, so it is called through a table of functions, as wear policies are.
//!
//! A policy decides nothing that content depends on: a page that it names and that does not wait is passed over, and if it names none that
//! does, the one with the lowest number is written down.

use std::fmt;

use flash::Lpn;

use crate::parts::buffer::write_buffer;
use crate::{Entry, Layout, Request, Values};

/// A way of choosing what leaves a write buffer.
pub trait BufferPolicy: fmt::Debug + Send {
    /// Pages for which there is room, at least 1. Always the same.
    fn capacity_pages(&self) -> u32;

    /// A page waits now that did not wait before; it came with this request.
    fn came(&mut self, lpn: Lpn, request: &Request);

    /// A page that waits was written once more with this request, and holds the new content now.
    fn rewritten(&mut self, _lpn: Lpn, _request: &Request) {}

    /// A page that waits was read.
    fn read(&mut self, _lpn: Lpn) {}

    /// A page waits no more: it was written down, or trimmed.
    fn left(&mut self, lpn: Lpn);

    /// The pages to be written down together, since there is no room for one that comes.
    fn leaving(&mut self) -> Vec<Lpn>;

    /// What it keeps in RAM besides the pages: name and bytes.
    fn tables(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// How the registry builds a buffer.
pub trait BufferScheme: BufferPolicy + Sized + 'static {
    /// What the registry lists about it.
    const ENTRY: Entry;

    /// Whether it can work over a mapping; if not, why, as the end of a sentence about both.
    fn suits(mapping: &Entry) -> Result<(), String> {
        no_buffer_of_its_own(mapping)
    }

    /// Builds it for a device.
    fn new(layout: &Layout, values: &Values) -> Self;
}

/// Refuses a mapping that has a write buffer already: pages would wait twice.
pub fn no_buffer_of_its_own(mapping: &Entry) -> Result<(), String> {
    let buffers = |name: &str| write_buffer::PARAMETERS.iter().any(|parameter| parameter.name == name);
    match mapping.parameters.iter().find(|parameter| buffers(parameter.name)) {
        None => Ok(()),
        Some(own) => Err(format!("it has a write buffer of its own ({}); choose another mapping", own.name)),
    }
}

/// A buffer as the registry lists it.
#[derive(Clone, Copy)]
pub struct BufferKind {
    /// What is known of it.
    pub entry: Entry,
    /// Whether it can work over a mapping; if not, why.
    pub suits: fn(&Entry) -> Result<(), String>,
    /// Builds it for a device.
    pub build: fn(&Layout, &Values) -> Box<dyn BufferPolicy>,
}

impl BufferKind {
    /// The buffer `B`.
    pub const fn of<B: BufferScheme>() -> Self {
        Self { entry: B::ENTRY, suits: B::suits, build: |layout, values| Box::new(B::new(layout, values)) }
    }
}
