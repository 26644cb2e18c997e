//! What is counted: flash operations by cause and kind, and events inside schemes.

use crate::port::cause::{Cause, listed};
use crate::port::timing::{FlashOp, Nanos};

listed! {
    /// Something that happened inside a scheme and is worth counting, besides flash operations.
    pub enum Note,
    /// The name used in results.
    fn name -> &'static str {
        /// The mapping entry of a page of the host was found in the cache.
        MappingHit => "mapping_hits",
        /// The mapping entry of a page of the host had to be fetched from flash.
        MappingMiss => "mapping_misses",
        /// A mapping entry left the cache clean.
        CleanEviction => "clean_evictions",
        /// A mapping entry left the cache and its translation page had to be written.
        DirtyEviction => "dirty_evictions",
        /// A log block became a data block as it was.
        SwitchMerge => "switch_merges",
        /// A log block was completed with copies and became a data block.
        PartialMerge => "partial_merges",
        /// The newest pages of one logical block were copied into a fresh block.
        FullMerge => "full_merges",
        /// A block was collected.
        Collection => "collections",
        /// A block failed and was marked bad.
        BadBlock => "bad_blocks",
        /// A page that had to be moved could not be read: its logical page is lost until it is
        /// written again.
        LostPage => "lost_pages",
        /// A log block left the log.
        LogVictim => "log_victims",
        /// A newest page of a leaving log block was moved to another one instead of being merged.
        MovedLogPage => "moved_log_pages",
        /// A page left a write buffer that had found it sequential.
        SequentialPage => "sequential_pages",
        /// A page left a write buffer that had found it random.
        RandomPage => "random_pages",
        /// A page that waited in a write buffer was replaced or trimmed, and never programmed.
        AbsorbedPage => "absorbed_pages",
        /// A block was emptied because somebody asked for it, as wear levelling does.
        RelocatedBlock => "relocated_blocks",
        /// A logical block of a log-buffer scheme got a data block, because it had none.
        NewDataBlock => "new_data_blocks",
        /// A page that the host wrote replaced a version of it that waited in a write buffer, or
        /// was kept in RAM.
        BufferHit => "buffer_hits",
        /// A page that the host wrote came into a write buffer, where no version of it was.
        BufferMiss => "buffer_misses",
        /// A page that the host read was found in a write buffer.
        BufferRead => "buffer_reads",
        /// Pages left a write buffer together because it had no room.
        BufferEviction => "buffer_evictions",
        /// A page that the host read was not in RAM, where it could have been.
        BufferReadMiss => "buffer_read_misses",
        /// A page went around RAM, with a request for many.
        BypassedPage => "bypassed_pages",
        /// A page that the host wrote went to a block in pSLC mode.
        CachedPage => "cached_pages",
        /// A block in pSLC mode was folded into native ones.
        Fold => "folds",
        /// A host write named a stream beyond those that are kept apart, and shared the last one.
        SharedStream => "shared_streams",
        /// A page that the host read lay where a learned map predicted.
        RightPrediction => "right_predictions",
        /// A page that the host read lay near the predicted one, which was read first.
        WrongPrediction => "wrong_predictions",
    }
}

/// How often each operation was done for each cause, and how often what happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    counts: [[u64; 3]; Cause::COUNT],
    notes: [u64; Note::COUNT],
    controller_ns: u64,
}

impl Tally {
    /// Counts operations of a kind.
    #[inline]
    pub(crate) fn add(&mut self, cause: Cause, op: FlashOp, count: u64) {
        self.counts[cause as usize][op as usize] += count;
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
    pub fn count(&self, cause: Cause, op: FlashOp) -> u64 {
        self.counts[cause as usize][op as usize]
    }

    /// Time on the controller's RAM and registers, which is part of responses but no flash
    /// operation, in nanoseconds.
    pub fn controller_ns(&self) -> u64 {
        self.controller_ns
    }

    /// How often something was noted.
    pub fn note(&self, note: Note) -> u64 {
        self.notes[note as usize]
    }

    /// Events of every kind, by index.
    pub fn notes(&self) -> &[u64] {
        &self.notes
    }

    /// Operations of one kind, over all causes.
    pub fn total(&self, op: FlashOp) -> u64 {
        Cause::ALL.iter().map(|&cause| self.count(cause, op)).sum()
    }

    /// What was done since an earlier reading of the same tally.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut difference = *self;
        for cause in 0..Cause::COUNT {
            for op in 0..3 {
                difference.counts[cause][op] -= earlier.counts[cause][op];
            }
        }
        for note in 0..Note::COUNT {
            difference.notes[note] -= earlier.notes[note];
        }
        difference.controller_ns -= earlier.controller_ns;
        difference
    }
}
