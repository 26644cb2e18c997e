//! Two kinds of log area: one block for sequential streams, and a queue of shared blocks that leave in the order they came.

use std::collections::VecDeque;

use flash::Lbn;

use crate::parts::log_policy::{LogPage, Place};
use crate::parts::log_space::{LogSpace, Slot};
use crate::{Kind, Parameter};

/// Whether there is a sequential block.
pub const SEQUENTIAL: Parameter = Parameter {
    name: "sequential",
    kind: Kind::Switch,
    default: "true",
    meaning: "Whether one of the log blocks takes sequential streams; without it offset-0 writes go to the random log.",
    source: "T 3.2.2",
};

/// The group of the sequential block.
pub const STREAM: u32 = 0;

/// The group of shared blocks.
pub const SHARED: u32 = 1;

/// The sequential log block: it takes writes at offset 0, and those that continue it exactly.
#[derive(Clone, Debug)]
pub struct Stream {
    slot: Option<(Slot, Option<Lbn>)>,
    enabled: bool,
}

impl Stream {
    /// No block yet.
    pub fn new(enabled: bool) -> Self {
        Self { slot: None, enabled }
    }

    /// Where a page goes, if it is for the sequential block.
    #[inline]
    pub fn place(&self, log: &LogSpace, page: LogPage) -> Option<Place> {
        let block = self.slot.and_then(|(slot, _)| log.block(slot).map(|block| (slot, block)));
        match block {
            Some((slot, block)) if block.filled == page.offset => {
                (page.offset == 0 || block.in_place == Some(page.lbn)).then_some(Place::In(slot))
            }
            _ => (self.enabled && page.offset == 0).then_some(Place::New(STREAM)),
        }
    }

    /// The sequential block, which has to leave before there is another.
    pub fn victim(&self) -> Option<Slot> {
        self.slot.map(|(slot, _)| slot)
    }

    /// The sequential block was opened.
    pub fn opened(&mut self, slot: Slot) {
        self.slot = Some((slot, None));
    }

    /// A page was appended to some block.
    #[inline]
    pub fn appended(&mut self, slot: Slot, lbn: Lbn) {
        if let Some((own, serves)) = &mut self.slot
            && *own == slot
        {
            *serves = Some(lbn);
        }
    }

    /// The sequential block left.
    pub fn left(&mut self) {
        self.slot = None;
    }

    /// The sequential block, if it serves this logical block.
    pub fn dedicated(&self, lbn: Lbn, except: Option<Slot>) -> Option<Slot> {
        let (slot, serves) = self.slot?;
        (serves == Some(lbn) && except != Some(slot)).then_some(slot)
    }
}

/// Shared log blocks, first come first.
#[derive(Clone, Debug)]
pub struct Queue {
    slots: VecDeque<Slot>,
    limit: usize,
}

impl Queue {
    /// An empty queue of at most so many blocks.
    pub fn new(limit: u32) -> Self {
        Self { slots: VecDeque::new(), limit: limit as usize }
    }

    /// The youngest block, if it has room, else a new one.
    #[inline]
    pub fn place(&self, log: &LogSpace) -> Place {
        match self.slots.back() {
            Some(&tail) if log.has_room(tail) => Place::In(tail),
            _ => Place::New(SHARED),
        }
    }

    /// The block that came first, if another one would be too many.
    pub fn victim(&self) -> Option<Slot> {
        self.slots.front().copied().filter(|_| self.slots.len() >= self.limit)
    }

    /// A block was opened.
    pub fn opened(&mut self, slot: Slot) {
        self.slots.push_back(slot);
    }

    /// A block left.
    pub fn left(&mut self, slot: Slot) {
        self.slots.retain(|&other| other != slot);
    }
}
