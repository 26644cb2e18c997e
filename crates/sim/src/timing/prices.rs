//! What an operation takes, by the page that it is done to: the engine asks that only here.
//!
//! The type of a page is looked up once, when its operation is issued. From then on the operation
//! goes by its *price*: the type of its page, or of a copy-back the types of both pages. Where all
//! pages are alike there is no table to look it up in.

use flash::{Geometry, PageType};
use ftl::FlashOp;

use crate::timing::abilities::Abilities;
use crate::timing::latencies::{Latencies, PageTimes};
use crate::timing::priced_task::{COPY_BACK, ERASE, PROGRAM, Price, READ, TYPES};
use crate::timing::tasks::Entry;

/// How operations of a class and a price go. Of copy-backs, a course says only what they take.
#[derive(Clone, Copy)]
pub(super) struct Course {
    /// What they take alone.
    pub(super) alone_ns: u64,
    /// Whether they move a page over a bus.
    pub(super) moves_page: bool,
    /// From when a die takes one up until its page asks for the bus.
    pub(super) asks_after_ns: u64,
    /// From when its page has moved to the next event.
    pub(super) then_ns: u64,
}

/// What the operations of a device take.
pub(super) struct Prices {
    read_ns: PageTimes,
    program_ns: PageTimes,
    pub(super) transfer_ns: u64,
    /// Of the pages of a block, by offset; empty where all take the same.
    page_types: Box<[PageType]>,
    /// The page of a block that takes longest to read, and the one that takes longest to program.
    slowest: [u32; 2],
    /// By class and price.
    courses: [Course; (COPY_BACK + TYPES) * TYPES],
}

impl Prices {
    pub(super) fn new(geometry: &Geometry, latencies: Latencies, abilities: Abilities) -> Self {
        let Latencies { cell, read_ns, program_ns, erase_ns, transfer_ns } = latencies;
        let (moves_page, is_suspendable) = (transfer_ns > 0, abilities.suspend.covers(FlashOp::Program));
        let course = |place: usize| {
            let (class, page_type) = ((place / TYPES).min(COPY_BACK), place % TYPES);
            let copied_type = place / TYPES - class;
            let [read, program] = [read_ns, program_ns].map(|times| times.at(page_type));
            let then_ns = if is_suspendable { 0 } else { program };
            let (alone_ns, moves_page, asks_after_ns, then_ns) = match class {
                READ => (read + transfer_ns, moves_page, read, 0),
                PROGRAM => (transfer_ns + program, moves_page, 0, then_ns),
                ERASE => (erase_ns, false, 0, 0),
                _ => (read_ns.at(copied_type) + program, false, 0, 0),
            };
            Course { alone_ns, moves_page, asks_after_ns, then_ns }
        };
        let are_alike = read_ns.given().len() == 1 && program_ns.given().len() == 1;
        let page_types: Box<[_]> =
            (0..if are_alike { 0 } else { geometry.pages_per_block() }).map(|page| cell.page_type(page)).collect();
        let slowest = |times: PageTimes| {
            let time = |&page: &usize| (times.at(page_types[page].index()), std::cmp::Reverse(page));
            (0..page_types.len()).max_by_key(time).unwrap_or(0) as u32
        };
        let slowest = [slowest(read_ns), slowest(program_ns)];
        Self { read_ns, program_ns, transfer_ns, page_types, slowest, courses: std::array::from_fn(course) }
    }

    /// The price of an operation on a page, by its offset in the block; of an erase that of page 0.
    #[inline]
    pub(super) fn of_page(&self, page: u32) -> Price {
        Price(self.page_types.get(page as usize).map_or(0, |page_type| page_type.index() as u8))
    }

    /// The page of a block, by its offset, for which an operation takes longest.
    pub(super) fn slowest_page(&self, op: FlashOp) -> u32 {
        self.slowest.get(op as usize).copied().unwrap_or(0)
    }

    /// How an operation goes.
    #[inline]
    pub(super) fn course(&self, entry: &Entry) -> &Course {
        &self.courses[entry.class() * TYPES + usize::from(entry.task.price.0)]
    }

    /// How an operation that is no copy-back goes.
    #[inline]
    pub(super) fn course_of(&self, op: FlashOp, price: Price) -> &Course {
        &self.courses[op as usize * TYPES + usize::from(price.0)]
    }

    /// How long a read or a copy-back senses.
    #[inline]
    pub(super) fn sense_ns(&self, entry: &Entry) -> u64 {
        let price = usize::from(entry.task.price.0);
        self.read_ns.at(if entry.class() == COPY_BACK { price / TYPES } else { price })
    }

    /// How long a program or a copy-back programs.
    #[inline]
    pub(super) fn program_ns(&self, entry: &Entry) -> u64 {
        self.program_ns.at(usize::from(entry.task.price.0) % TYPES)
    }
}
