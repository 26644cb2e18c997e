//! What makes one write buffer differ from another.
//!
//! The machine (`write_back.rs`) holds the pages, answers reads, and forgets what is trimmed. It
//! tells a policy of every page that comes, is used again or leaves, and asks it which pages to
//! program when there is no room. A policy is asked a page at a time and not for flash operations,
//! so it is called through a table of functions, as wear policies are.
//!
//! A policy decides nothing that content depends on: of what it names, only pages that wait are
//! written down, and if none does, the one with the lowest number is.
//!
//! Beside the traits stands what policies share: how much RAM a buffer has ([`BufferRoom`]) and a
//! queue of single pages ([`PageOrder`]).

use std::fmt;
use std::sync::Arc;

use flash::{Lbn, Lpn};

use crate::api::entry::Entry;
use crate::api::layout::Layout;
use crate::api::parameter::{Kind, Parameter, Values};
use crate::api::report::Gauge;
use crate::api::request::Request;
use crate::linked_lists::LinkedLists;
use crate::port::error::ConfigError;
use crate::port::timing::Nanos;

/// A page that waits, as a policy knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferedPage {
    /// Its logical page.
    pub lpn: Lpn,
    /// Where it lies: a number below the pages for which there is room, its own while it waits.
    pub slot: u32,
}

/// Pages to program together.
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
///
/// # Example
///
/// The page that was written longest ago leaves; reads change nothing:
///
/// ```
/// # use ftlkit_ftl as ftl;
/// use ftl::api::entry::{Capabilities, Memory};
/// use ftl::write_buffer::policy::{
///     self, BufferPolicy, BufferScheme, BufferedPage, PageOrder, BufferRoom, Victim,
/// };
/// use ftl::{Entry, Layout, Request, Values, registry};
///
/// #[derive(Debug)]
/// struct LeastWritten {
///     order: PageOrder,
/// }
///
/// impl BufferScheme for LeastWritten {
///     const ENTRY: Entry = Entry {
///         name: "least-written",
///         family: "buffer",
///         source: "an example",
///         capabilities: Capabilities::NONE,
///         memory: Memory::PAGE_BUFFER,
///         parameters: &policy::PARAMETERS,
///         header: "//! # least-written: the page that was written longest ago leaves",
///     };
///
///     fn new(_: &Layout, room: BufferRoom, _: &Values) -> Self {
///         Self { order: PageOrder::new(room.pages) }
///     }
/// }
///
/// impl BufferPolicy for LeastWritten {
///     fn on_inserted(&mut self, page: BufferedPage, _: &Request) {
///         self.order.enter(page);
///     }
///
///     fn on_rewritten(&mut self, page: BufferedPage, _: &Request) {
///         self.order.touch(page);
///     }
///
///     fn on_left(&mut self, page: BufferedPage) {
///         self.order.leave(page);
///     }
///
///     fn next_victim(&mut self) -> Victim {
///         self.order.front()
///     }
///
///     fn pages(&self) -> u32 {
///         self.order.pages()
///     }
/// }
///
/// registry::register_buffer::<LeastWritten>()?;
/// registry::resolve(&"page+least-written:ram=1MiB".parse()?)?;
/// # Ok::<(), ftl::ConfigError>(())
/// ```
pub trait BufferPolicy: fmt::Debug + Send {
    /// A page waits now that did not wait before; it came with this request.
    fn on_inserted(&mut self, page: BufferedPage, request: &Request);

    /// A page that waits was written once more with this request, and holds the new content now.
    fn on_rewritten(&mut self, _page: BufferedPage, _request: &Request) {}

    /// A page that waits was read.
    fn read(&mut self, _page: BufferedPage) {}

    /// A page waits no more: it was written down, or trimmed.
    fn on_left(&mut self, page: BufferedPage);

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

    /// What went wrong in a policy from outside since it was last asked, in words; it ends the run.
    /// Asked after each call of the host.
    fn take_failure(&mut self) -> Option<String> {
        None
    }
}

/// How the registry builds a buffer; [`BufferPolicy`] has an example.
pub trait BufferScheme: BufferPolicy + Sized + 'static {
    /// What the registry lists about it; among its parameters are those of
    /// [`PARAMETERS`].
    const ENTRY: Entry;

    /// Whether it can work over a mapping; if not, why, as the end of a sentence about both.
    fn suits(mapping: &Entry) -> Result<(), String> {
        no_buffer_of_its_own(mapping)
    }

    /// Builds it for a device, with so much room.
    fn new(layout: &Layout, room: BufferRoom, values: &Values) -> Self;
}

/// Refuses a mapping that has a write buffer already: pages would wait twice.
pub fn no_buffer_of_its_own(mapping: &Entry) -> Result<(), String> {
    mapping
        .capabilities
        .write_buffer
        .map_or(Ok(()), |own| Err(format!("it has a write buffer of its own ({own}); choose another mapping")))
}

/// A policy with its room.
pub type Built = (Box<dyn BufferPolicy>, BufferRoom);

/// Builds a policy for a device, with its room.
pub type BuildBuffer = Arc<dyn Fn(&Layout, &Values) -> Result<Built, ConfigError> + Send + Sync>;

/// A buffer as the registry lists it.
#[derive(Clone)]
pub struct BufferKind {
    /// Its description.
    pub entry: &'static Entry,
    /// Whether it can work over a mapping; if not, why.
    pub suits: fn(&Entry) -> Result<(), String>,
    /// Builds it for a device.
    pub build: BuildBuffer,
}

impl BufferKind {
    /// How the registry builds buffers of type `B`.
    pub fn of<B: BufferScheme>() -> Self {
        let build = |layout: &Layout, values: &Values| -> Result<Built, ConfigError> {
            let room = BufferRoom::from_values(B::ENTRY.name, layout, values)?;
            Ok((Box::new(B::new(layout, room, values)), room))
        };
        Self { entry: const { &B::ENTRY }, suits: B::suits, build: Arc::new(build) }
    }
}

/// The parameters that every write buffer has.
pub const PARAMETERS: [Parameter; 2] = [
    Parameter {
        name: "ram",
        kind: Kind::Bytes { min: 512, max: 1 << 40, scales: false },
        default: "8MiB",
        meaning: "RAM for pages that wait; more absorbs more writes, and loses more in a power cut. What exceeds the device is not used.",
        source: "Wang 2013 6.5 (the smallest of its budgets)",
    },
    Parameter {
        name: "access_delay",
        kind: Kind::Duration { min: 0, max: 1_000_000 },
        default: "2us",
        meaning: "Time to read or write a page in RAM; 0 counts it as nothing beside flash.",
        source: "Wang 2013 6.5 (a page of 2 KiB)",
    },
];

/// Room for pages that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferRoom {
    /// For how many pages, at least 1.
    pub pages: u32,
    /// What an access to one of them takes.
    pub delay: Nanos,
}

impl BufferRoom {
    /// Room for this many pages, at no cost of time.
    pub const fn of(pages: u32) -> Self {
        Self { pages, delay: Nanos::ZERO }
    }

    /// What [`PARAMETERS`] ask for. A buffer cannot hold more pages than the device has, and must
    /// hold one.
    pub fn from_values(buffer: &str, layout: &Layout, values: &Values) -> Result<Self, ConfigError> {
        let (ram, page) = (values.integer("ram"), layout.geometry.page_size_bytes());
        let pages = (ram / u64::from(page)).min(layout.logical_pages.into()) as u32;
        if pages == 0 {
            return Err(ConfigError(format!(
                "{buffer}.ram = {ram}: pages of the device have {page} B, so not one has room; give at least {page}"
            )));
        }
        Ok(Self { pages, delay: Nanos(values.integer("access_delay")) })
    }
}

const QUEUE: u32 = 0;

/// Pages that wait, one behind the other.
#[derive(Clone, Debug)]
pub struct PageOrder {
    queue: LinkedLists,
    /// Which page lies in each slot.
    lpns: Vec<Lpn>,
    pages: u32,
}

impl PageOrder {
    /// No pages, where there is room for this many.
    pub fn new(room: u32) -> Self {
        Self { queue: LinkedLists::new(room as usize, 1), lpns: vec![Lpn::new(0); room as usize], pages: 0 }
    }

    /// A page comes, and is the last to leave.
    pub fn enter(&mut self, page: BufferedPage) {
        self.lpns[page.slot as usize] = page.lpn;
        self.queue.push_back(QUEUE, page.slot);
        self.pages += 1;
    }

    /// A page was used, and is the last to leave again.
    pub fn touch(&mut self, page: BufferedPage) {
        self.queue.move_back(QUEUE, page.slot);
    }

    /// A page waits no more.
    pub fn leave(&mut self, page: BufferedPage) {
        self.queue.remove(page.slot);
        self.pages -= 1;
    }

    /// The page in front; the first of the device if there is none.
    pub fn front(&self) -> Victim {
        Victim::Page(self.queue.front(QUEUE).map_or(Lpn::new(0), |slot| self.lpns[slot as usize]))
    }

    /// Pages that wait.
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// What it takes in RAM: two links and the page's number for each page that there is room for.
    pub fn bytes(&self) -> u64 {
        12 * self.lpns.len() as u64
    }
}
