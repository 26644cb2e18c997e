//! Merging log blocks with data blocks.
//!
//! ```text
//!   switch    log  [0][1][2][3]                       the log block becomes a data block: 1 erase
//!   partial   log  [0][1][ ][ ]  + data [ ][ ][2][3]  copy the rest, then as above: 1 erase
//!   full      log  [2][7][2'][9] + data [0][1][2][3]  newest pages of a logical block ▶ free block
//! ```
//!
//! A full merge of every logical block in a victim costs `N · A(L)` copies and `A(L) + 1` erases
//! (A-SAST eq. 1), where A(L) is the number of logical blocks with a newest page in it.
//!
//! The counts say how many full merges log blocks cost, and where.

use flash::{Flash, Lbn, Lpn, PageCopy, Pbn, Ppn};

use crate::api::report::Gauge;
use crate::api::wear::{AllocRequest, DataBlockLocations, Purpose};
use crate::blocks::data_blocks::{DataBlocks, Rebuilding};
use crate::blocks::manager::BlockManager;
use crate::engines::log_buffer::space::LogSpace;
use crate::port::device::Device;
use crate::port::error::FtlError;
use crate::port::flash_port::FlashPort;
use crate::port::tally::Note;

/// Where the newest copy of a page lies: a log page wins over the data block.
pub fn newest(data: &DataBlocks, log: &LogSpace, lpn: Lpn) -> Option<Ppn> {
    log.newest(lpn).or_else(|| data.newest(lpn))
}

/// What a wear policy may know of data blocks and log.
pub struct LogBufferBlocks<'a> {
    /// Where the data blocks of logical blocks are.
    pub data: &'a DataBlocks,
    /// Which pages have their newest copy in a log block.
    pub log: &'a LogSpace,
}

impl DataBlockLocations for LogBufferBlocks<'_> {
    fn logical_blocks(&self) -> u32 {
        self.data.logical_blocks()
    }

    fn home_of(&self, lbn: Lbn) -> Option<Pbn> {
        self.data.block(lbn)
    }

    fn is_in_log(&self, lbn: Lbn) -> bool {
        debug_assert!(lbn.get() < self.logical_blocks(), "there is no {lbn} of {}", self.logical_blocks());
        self.data.pages_of(lbn).any(|(_, lpn)| self.log.newest(lpn).is_some())
    }
}

/// Merges one logical block: its newest pages go to a free block, which becomes its data block; the
/// old one is erased. A logical block without any page left loses its data block. The maps change
/// only when everything has been copied, so a merge that fails half way leaves them as they were.
pub fn full<D: Device>(
    flash: &mut FlashPort<D>,
    blocks: &mut BlockManager,
    data: &mut DataBlocks,
    log: &mut LogSpace,
    lbn: Lbn,
) -> Result<(), FtlError> {
    flash.note(Note::FullMerge);
    prefetch_merge(flash, data, log, lbn);
    let pages = list_newest(flash, data, log, lbn, 0);
    let mut rebuilding = Rebuilding { lbn, to: None, cause: None, wanted: "a full merge" };
    data.copy_pages(flash, blocks, &mut rebuilding, &pages, &|data, offset| data.page_at(lbn, offset))?;
    settle(data, log, lbn, |_, _| true);
    replace(flash, blocks, data, lbn, rebuilding.to)
}

/// The newest pages of a logical block from an offset on.
fn list_newest<D: Device>(
    flash: &FlashPort<D>,
    data: &DataBlocks,
    log: &LogSpace,
    lbn: Lbn,
    from: u32,
) -> Vec<PageCopy> {
    let geometry = data.geometry();
    let home = data.block(lbn).map(|home| geometry.page(home, 0).get());
    let first = geometry.logical_page(lbn, 0).get();
    let mut pages = Vec::with_capacity(geometry.pages_per_block() as usize);
    for (offset, &in_log) in (from..).zip(log.newest_of(lbn).iter().skip(from as usize)) {
        let lpn = Lpn::new(first + offset);
        let newest = match (in_log, home) {
            (Some(ppn), _) => {
                flash.chip().prefetch(ppn);
                ppn
            }
            (None, Some(home)) if data.is_current(lpn) => Ppn::new(home + offset),
            (None, _) => continue,
        };
        let held = || flash.chip().peek(newest);
        debug_assert!(
            held().is_none_or(|held| held == lpn.get()),
            "{lpn} is newest at {newest}, which carries {:?}",
            held()
        );
        pages.push(PageCopy { from: newest, offset });
    }
    pages
}

/// Entries of 4 bytes in a line of memory: of the map of the log, and of a lean store's tags.
const IN_A_LINE: usize = 16;

/// Asks for what a full merge reads: where the pages are newest, and the tags of the data block.
fn prefetch_merge<D: Device>(flash: &FlashPort<D>, data: &DataBlocks, log: &LogSpace, lbn: Lbn) {
    let block = data.block(lbn);
    for (offset, lpn) in data.pages_of(lbn).step_by(IN_A_LINE) {
        log.prefetch(lpn);
        if let Some(block) = block {
            flash.chip().prefetch(data.geometry().page(block, offset));
        }
    }
}

/// Turns a log block that holds the first `filled` pages of a logical block in place into its data
/// block: a switch merge when it is complete, otherwise a partial merge that copies the rest. If it
/// fails, the maps are as they were.
pub fn in_place<D: Device>(
    flash: &mut FlashPort<D>,
    blocks: &mut BlockManager,
    data: &mut DataBlocks,
    log: &mut LogSpace,
    (block, filled): (Pbn, u32),
    lbn: Lbn,
) -> Result<(), FtlError> {
    debug_assert_ne!(data.block(lbn), Some(block), "{block} is the data block of {lbn} already");
    let is_here = |&(offset, lpn): &(u32, Lpn)| log.newest(lpn) == Some(data.geometry().page(block, offset));
    let in_log_block = data.pages_of(lbn).take(filled as usize);
    let superseded: Vec<Lpn> = in_log_block.filter(|page| !is_here(page)).map(|(_, lpn)| lpn).collect();
    let pages = list_newest(flash, data, log, lbn, filled);
    let mut rebuilding = Rebuilding { lbn, to: Some(block), cause: None, wanted: "a partial merge" };
    data.copy_pages(flash, blocks, &mut rebuilding, &pages, &|data, offset| {
        data.page_at(lbn, offset).filter(|lpn| !superseded.contains(lpn))
    })?;
    flash.note(if pages.is_empty() { Note::SwitchMerge } else { Note::PartialMerge });
    let first = data.geometry().page(block, 0).get();
    settle(data, log, lbn, |offset, newest| offset >= filled || newest.get() == first + offset);
    for lpn in superseded {
        data.set_current(lpn, false);
    }
    replace(flash, blocks, data, lbn, rebuilding.to)
}

/// Newest copies of a logical block that were in the log are in its data block now: those that
/// moved, by their offset and where they were.
fn settle(data: &mut DataBlocks, log: &mut LogSpace, lbn: Lbn, has_moved: impl Fn(u32, Ppn) -> bool) {
    for (offset, lpn) in data.pages_of(lbn) {
        if log.newest(lpn).is_some_and(|newest| has_moved(offset, newest)) {
            log.set_newest(lpn, None);
            data.set_current(lpn, true);
        }
    }
}

fn replace<D: Device>(
    flash: &mut FlashPort<D>,
    blocks: &mut BlockManager,
    data: &mut DataBlocks,
    lbn: Lbn,
    to: Option<Pbn>,
) -> Result<(), FtlError> {
    debug_assert!(to.is_none() || to != data.block(lbn), "{lbn} is moved to where it is");
    if let Some(to) = to {
        blocks.is_for(to, AllocRequest::of(Purpose::Merge, lbn));
    }
    match data.remap(lbn, to) {
        Some(old) => data.retire(flash, blocks, old),
        None => Ok(()),
    }
}

/// Gauges of the full merges in each sixteenth of the logical space.
const REGIONS: [&str; 16] = [
    "full_merges_in_01",
    "full_merges_in_02",
    "full_merges_in_03",
    "full_merges_in_04",
    "full_merges_in_05",
    "full_merges_in_06",
    "full_merges_in_07",
    "full_merges_in_08",
    "full_merges_in_09",
    "full_merges_in_10",
    "full_merges_in_11",
    "full_merges_in_12",
    "full_merges_in_13",
    "full_merges_in_14",
    "full_merges_in_15",
    "full_merges_in_16",
];

/// Counts over the life of a device.
#[derive(Clone, Debug)]
pub struct MergeCounts {
    logical_blocks: u32,
    left: u64,
    for_leaving: u64,
    by_region: [u64; REGIONS.len()],
}

impl MergeCounts {
    /// Nothing was merged yet.
    pub fn new(logical_blocks: u32) -> Self {
        Self { logical_blocks: logical_blocks.max(1), left: 0, for_leaving: 0, by_region: [0; REGIONS.len()] }
    }

    /// A logical block was fully merged, perhaps because a log block leaves.
    pub fn on_merged(&mut self, lbn: Lbn, leaving: bool) {
        debug_assert!(lbn.get() < self.logical_blocks, "there is no {lbn}");
        let region = u64::from(lbn.get()) * REGIONS.len() as u64 / u64::from(self.logical_blocks);
        self.by_region[region as usize] += 1;
        self.for_leaving += u64::from(leaving);
    }

    /// A log block left that could not become a data block.
    pub fn on_left(&mut self) {
        self.left += 1;
    }

    /// `associativity` is the mean number of full merges that a leaving log block cost: A(L) of
    /// A-SAST eq. 1.
    pub fn gauges(&self) -> Vec<Gauge> {
        let associativity = self.for_leaving as f64 / self.left.max(1) as f64;
        let by_region = REGIONS.into_iter().zip(self.by_region);
        std::iter::once(Gauge { name: "associativity", value: associativity })
            .chain(by_region.map(|(name, merges)| Gauge { name, value: merges as f64 }))
            .collect()
    }
}
