//! What makes one way of levelling wear differ from another.
//!
//! The owner of blocks (`blocks/manager.rs`) asks a policy which free block to take, tells it of
//! each erase, and lends it what is known of all blocks when it may name one that shall be emptied.
//! A policy is asked once a block and never once a page, so it is called through a table of
//! functions, and no scheme is compiled again for it.
//!
//! A policy decides nothing that content depends on: whatever it answers, the block is a free one,
//! and one that it has emptied is emptied by the scheme as it moves its own data. So a bug in a
//! policy costs wear, not data.

use std::fmt;

use flash::{Lbn, Pbn};
use host::{FileEvent, Hint};

use crate::api::request::Request;

/// In which order the free blocks stand from which a policy chooses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// First freed first, die by die; a block of any die is one of the next die in turn.
    #[default]
    FirstFreed,
    /// The one erased least often first; among equals, first freed first. A block of any die is one
    /// of the whole device.
    LeastWorn,
    /// The same, but the first one of the device is the least worn of those that have rested since
    /// they were freed: the erases of what was freed last may be under way, and whoever took it
    /// would wait for them. Every other place counts all blocks.
    Rested,
}

/// What a block is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Pages that the host writes.
    Data,
    /// Pages that a collection moves.
    Collected,
    /// Translation pages.
    Translation,
    /// Updates of data blocks.
    Log,
    /// A data block that a merge, or a rewrite, puts together.
    Merge,
    /// What a failing block holds.
    Relocated,
    /// Pages of blocks that are emptied to level wear, under a page map: there other moves do not
    /// mix with them.
    Levelled,
    /// Nothing yet: it is kept aside.
    Reserve,
}

/// A wish for a free block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocRequest {
    /// What it is for.
    pub purpose: Purpose,
    /// The logical block whose pages it will hold, where it holds those of one alone.
    pub lbn: Option<Lbn>,
    /// What the host says, or said, of the page that the block is opened for. Of a page that is
    /// moved it is what its tag keeps, and of a block that is put together from older pages what
    /// the tag of the first of them keeps; over waftl nothing.
    pub hint: Hint,
}

impl AllocRequest {
    /// For pages of any logical blocks.
    #[inline]
    pub fn new(purpose: Purpose) -> Self {
        Self { purpose, lbn: None, hint: Hint::NONE }
    }

    /// For pages of one logical block.
    #[inline]
    pub fn of(purpose: Purpose, lbn: Lbn) -> Self {
        Self { purpose, lbn: Some(lbn), hint: Hint::NONE }
    }

    /// The same for a page with this hint.
    #[inline]
    #[must_use]
    pub fn hinted(self, hint: Hint) -> Self {
        Self { hint, ..self }
    }
}

/// What a block is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockUse {
    /// It is erased, and nobody's.
    Free,
    /// It is bad, from the factory or retired.
    Bad,
    /// It was taken for this.
    InUse(Purpose),
}

/// State of all blocks.
pub trait BlockFacts {
    /// Erase blocks of the device, bad ones included.
    fn blocks(&self) -> u32;

    /// What a block is used for.
    fn use_of(&self, pbn: Pbn) -> BlockUse;

    /// How often a block has been erased.
    fn erases(&self, pbn: Pbn) -> u32;

    /// The number of the domain in which a block's content stays when it is moved: its die under a
    /// page map, 0 elsewhere. Wear is levelled within a domain; between dies the turn of the host's
    /// writes does it.
    fn domain_of(&self, _pbn: Pbn) -> usize {
        0
    }

    /// Logical blocks of the device that may have a data block each; 0 under a mapping that keeps
    /// no logical block together.
    fn logical_blocks(&self) -> u32 {
        0
    }

    /// The data block of a logical block.
    fn home_of(&self, _lbn: Lbn) -> Option<Pbn> {
        None
    }

    /// Whether a log block holds the newest copy of a page of a logical block.
    fn is_in_log(&self, _lbn: Lbn) -> bool {
        false
    }
}

/// Where logical blocks lie, under a mapping that keeps each in a block of its own.
pub trait DataBlockLocations {
    /// Logical blocks of the device.
    fn logical_blocks(&self) -> u32;

    /// The data block of a logical block.
    fn home_of(&self, lbn: Lbn) -> Option<Pbn>;

    /// Whether a log block holds the newest copy of a page of a logical block.
    fn is_in_log(&self, lbn: Lbn) -> bool;
}

/// A way of levelling wear.
///
/// # Example
///
/// Young blocks are taken first, and after each 20 erases the least worn block with content is
/// emptied:
///
/// ```
/// # use ftlkit_ftl as ftl;
/// use flash::Pbn;
/// use ftl::api::entry::{Capabilities, Memory};
/// use ftl::api::layout::WearScheme;
/// use ftl::api::wear::{BlockFacts, BlockUse, Order, Purpose, WearPolicy};
/// use ftl::{Entry, Layout, Values, registry};
///
/// #[derive(Debug, Default)]
/// struct Even {
///     erases: u32,
/// }
///
/// impl WearScheme for Even {
///     const ENTRY: Entry = Entry {
///         name: "even",
///         family: "wear",
///         source: "an example",
///         capabilities: Capabilities::NONE,
///         memory: Memory::NONE,
///         parameters: &[],
///         header: "//! # even: the least worn block is emptied after each 20 erases",
///     };
///
///     fn new(_: &Layout, _: &Values) -> Self {
///         Self::default()
///     }
/// }
///
/// impl WearPolicy for Even {
///     fn order(&self) -> Order {
///         Order::LeastWorn
///     }
///
///     fn on_erased(&mut self, _: Pbn, _: u32) {
///         self.erases += 1;
///     }
///
///     fn moves_blocks(&self) -> bool {
///         true
///     }
///
///     fn next_move(&mut self, blocks: &dyn BlockFacts) -> Option<Pbn> {
///         if self.erases < 20 {
///             return None;
///         }
///         self.erases = 0;
///         let holds_data = |pbn: &Pbn| {
/// !matches!(blocks.use_of(*pbn), BlockUse::Free | BlockUse::Bad | BlockUse::InUse(Purpose::Log))
///             }; let all = (0..blocks.blocks()).map(Pbn::new);
///             all.filter(holds_data).min_by_key(|&pbn| blocks.erases(pbn)) } }
///
/// registry::register_wear_policy::<Even>()?;
/// registry::resolve(&"page+even".parse()?)?;
/// # Ok::<(), ftl::ConfigError>(())
/// ```
pub trait WearPolicy: fmt::Debug + Send {
    /// Whether it looks at hints. Only then a write buffer keeps apart what the host says different
    /// things of.
    fn uses_hints(&self) -> bool {
        self.keeps_file_types()
    }

    /// In which order it wants free blocks to stand. Always the same.
    fn order(&self) -> Order {
        Order::FirstFreed
    }

    /// Which of `free` blocks in that order, at least one, is to be taken: 0 for the first, and the
    /// last for anything beyond.
    fn place(&mut self, _alloc: AllocRequest, _free: usize) -> usize {
        0
    }

    /// The very block that it wants for this; if it names none, or one that is not free,
    /// [`place`](Self::place) is asked.
    fn wants(&mut self, _alloc: AllocRequest) -> Option<Pbn> {
        None
    }

    /// A block is used for this from now on: it was taken, it has changed its role, or recovery
    /// found it.
    fn on_used(&mut self, _pbn: Pbn, _alloc: AllocRequest) {}

    /// A block has been erased, so often by now.
    fn on_erased(&mut self, _pbn: Pbn, _erases: u32) {}

    /// Whether it ever names a block to be emptied. Always the same.
    fn moves_blocks(&self) -> bool {
        false
    }

    /// Whether the tags of pages that the host writes shall keep its number of their file type.
    /// Always the same. A mapping that keeps something else of a hint goes before.
    fn keeps_file_types(&self) -> bool {
        false
    }

    /// Whether it is told what the host writes. Always the same.
    fn observes_writes(&self) -> bool {
        self.moves_blocks()
    }

    /// The host has written; for a policy that [hears writes](Self::observes_writes).
    fn on_write(&mut self, _request: &Request) {}

    /// The host has told what became of a file whose data lie in these pages.
    fn on_file_event(&mut self, _event: FileEvent, _of: &Request) {}

    /// A block to empty now. Asked after each host write that it hears of, for one
    /// block at most.
    fn next_move(&mut self, _blocks: &dyn BlockFacts) -> Option<Pbn> {
        None
    }

    /// What became of the block that it named.
    fn on_moved(&mut self, _pbn: Pbn, _how: RelocateOutcome) {}

    /// What it keeps in RAM besides the erase counts: name and bytes.
    fn tables(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// What went wrong in a policy from outside since it was last asked, in words; it ends the run.
    /// Asked when the drive is built, and after what the host does if the policy [hears
    /// writes](Self::observes_writes).
    fn take_failure(&mut self) -> Option<String> {
        None
    }
}

/// No wear levelling: the free block that was freed first is taken first, and nothing is moved.
impl WearPolicy for () {}

/// What became of a block that was to be emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelocateOutcome {
    /// It was erased and unused, or has been erased since: what it held lies elsewhere. It may have
    /// been taken again at once.
    Done,
    /// It turned out to fail: what it held lies elsewhere, and it is marked bad.
    Retired,
    /// It is as it was, and why.
    Deferred(Deferred),
}

/// Why a block cannot be emptied now, and so for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deferred {
    /// It is bad, and stays so.
    IsBad,
    /// The device is read-only, and stays so.
    ReadOnly,
    /// The mapping cannot empty a block that it is told, and never will:
    /// [`Capabilities::relocates_blocks`](crate::api::entry::Capabilities::relocates_blocks) says so.
    NotOffered,
    /// There is no free block to move anything to, since blocks have failed: ask again after the
    /// next write that is served.
    NoRoom,
}
