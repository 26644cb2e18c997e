//! What is counted: flash operations by cause and kind, with their times, and events inside schemes.

use crate::{Nanos, Op, Span};

/// Why an operation is done. The innermost cause in force counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Cause {
    /// The host's own page.
    Host = 0,
    /// Reading the rest of a page that the host writes in part.
    ReadModifyWrite = 1,
    /// Fetching and writing back mapping information on the host's behalf.
    Mapping = 2,
    /// Moving valid data out of blocks to be erased.
    Collection = 3,
    /// Moving mapping pages, or updating them, because data moved.
    MappingCollection = 4,
    /// Merging log blocks with data blocks, or rewriting a block to change one of its pages.
    Merge = 5,
    /// Preparing the device before measurement.
    Precondition = 6,
    /// Finding out after a power cut what the flash holds, and putting it in order.
    Recovery = 7,
    /// Moving pages out of a block that fails.
    Relocation = 8,
    /// Writing down what recovery would otherwise have to gather page by page.
    Checkpoint = 9,
}

impl Cause {
    /// How many there are.
    pub const COUNT: usize = 10;

    /// All, in index order.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Host,
        Self::ReadModifyWrite,
        Self::Mapping,
        Self::Collection,
        Self::MappingCollection,
        Self::Merge,
        Self::Precondition,
        Self::Recovery,
        Self::Relocation,
        Self::Checkpoint,
    ];

    /// The name used in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::ReadModifyWrite => "read_modify_write",
            Self::Mapping => "mapping",
            Self::Collection => "collection",
            Self::MappingCollection => "mapping_collection",
            Self::Merge => "merge",
            Self::Precondition => "precondition",
            Self::Recovery => "recovery",
            Self::Relocation => "relocation",
            Self::Checkpoint => "checkpoint",
        }
    }
}

/// Something that happened inside a scheme and is worth counting, besides flash operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Note {
    /// A mapping entry was found in the cache.
    MappingHit = 0,
    /// A mapping entry had to be fetched from flash.
    MappingMiss = 1,
    /// A mapping entry left the cache clean.
    CleanEviction = 2,
    /// A mapping entry left the cache and its translation page had to be written.
    DirtyEviction = 3,
    /// A log block became a data block as it was.
    SwitchMerge = 4,
    /// A log block was completed with copies and became a data block.
    PartialMerge = 5,
    /// The newest pages of one logical block were copied into a fresh block.
    FullMerge = 6,
    /// A block was collected.
    Collection = 7,
    /// A block failed and was marked bad.
    BadBlock = 8,
    /// A page that had to be moved could not be read: its logical page is lost until it is written again.
    LostPage = 9,
    /// A log block left the log.
    LogVictim = 10,
    /// A newest page of a leaving log block was moved to another one instead of being merged.
    MovedLogPage = 11,
    /// A page left a write buffer that had found it sequential.
    SequentialPage = 12,
    /// A page left a write buffer that had found it random.
    RandomPage = 13,
    /// A page that waited in a write buffer was replaced or trimmed, and never programmed.
    AbsorbedPage = 14,
}

impl Note {
    /// How many there are.
    pub const COUNT: usize = 15;

    /// All, in index order.
    pub const ALL: [Self; Self::COUNT] = [
        Self::MappingHit,
        Self::MappingMiss,
        Self::CleanEviction,
        Self::DirtyEviction,
        Self::SwitchMerge,
        Self::PartialMerge,
        Self::FullMerge,
        Self::Collection,
        Self::BadBlock,
        Self::LostPage,
        Self::LogVictim,
        Self::MovedLogPage,
        Self::SequentialPage,
        Self::RandomPage,
        Self::AbsorbedPage,
    ];

    /// The name used in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::MappingHit => "mapping_hits",
            Self::MappingMiss => "mapping_misses",
            Self::CleanEviction => "clean_evictions",
            Self::DirtyEviction => "dirty_evictions",
            Self::SwitchMerge => "switch_merges",
            Self::PartialMerge => "partial_merges",
            Self::FullMerge => "full_merges",
            Self::Collection => "collections",
            Self::BadBlock => "bad_blocks",
            Self::LostPage => "lost_pages",
            Self::LogVictim => "log_victims",
            Self::MovedLogPage => "moved_log_pages",
            Self::SequentialPage => "sequential_pages",
            Self::RandomPage => "random_pages",
            Self::AbsorbedPage => "absorbed_pages",
        }
    }
}

/// How often each operation was done for each cause, and how long that took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    counts: [[u64; 3]; Cause::COUNT],
    times_ns: [[u64; 3]; Cause::COUNT],
    notes: [u64; Note::COUNT],
    controller_ns: u64,
}

impl Tally {
    /// Counts an operation.
    #[inline]
    pub(crate) fn add(&mut self, cause: Cause, op: Op, span: Span) {
        self.counts[cause as usize][op as usize] += 1;
        self.times_ns[cause as usize][op as usize] += span.end.0 - span.start.0;
    }

    /// Counts an event.
    #[inline]
    pub(crate) fn add_note(&mut self, note: Note) {
        self.notes[note as usize] += 1;
    }

    /// Counts time that passes in the controller.
    #[inline]
    pub(crate) fn add_controller_time(&mut self, time: Nanos) {
        self.controller_ns += time.0;
    }

    /// Operations of one kind done for one cause.
    pub fn count(&self, cause: Cause, op: Op) -> u64 {
        self.counts[cause as usize][op as usize]
    }

    /// Time from the start of service to the end, summed over those operations, in nanoseconds.
    pub fn time_ns(&self, cause: Cause, op: Op) -> u64 {
        self.times_ns[cause as usize][op as usize]
    }

    /// Time on the controller's RAM and registers, which is part of responses but no flash operation, in nanoseconds.
    pub fn controller_ns(&self) -> u64 {
        self.controller_ns
    }

    /// How often something was noted.
    pub fn note(&self, note: Note) -> u64 {
        self.notes[note as usize]
    }

    /// Operations of one kind, over all causes.
    pub fn total(&self, op: Op) -> u64 {
        Cause::ALL.iter().map(|&cause| self.count(cause, op)).sum()
    }

    /// What was done since an earlier reading of the same tally.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut difference = *self;
        for cause in 0..Cause::COUNT {
            for op in 0..3 {
                difference.counts[cause][op] -= earlier.counts[cause][op];
                difference.times_ns[cause][op] -= earlier.times_ns[cause][op];
            }
        }
        for note in 0..Note::COUNT {
            difference.notes[note] -= earlier.notes[note];
        }
        difference.controller_ns -= earlier.controller_ns;
        difference
    }
}
