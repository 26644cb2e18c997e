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

use flash::{Lbn, Lpn, Pbn, Ppn, Role};

use crate::api::report::Gauge;
use crate::api::wear::{AllocRequest, Homes, Purpose};
use crate::blocks::data_blocks::DataBlocks;
use crate::blocks::manager::BlockManager;
use crate::engines::log_buffer::space::LogSpace;
use crate::port::error::FtlError;
use crate::port::flash_port::FlashPort;
use crate::port::label::{Content, Label};
use crate::port::tally::Note;
use crate::port::timing::Device;

/// Where the newest copy of a page lies: a log page wins over the data block.
pub fn newest(data: &DataBlocks, log: &LogSpace, lpn: Lpn) -> Option<Ppn> {
    log.newest(lpn).or_else(|| data.newest(lpn))
}

/// What a wear policy may know of data blocks and log.
pub struct Known<'a> {
    /// Where the data blocks of logical blocks are.
    pub data: &'a DataBlocks,
    /// Which pages have their newest copy in a log block.
    pub log: &'a LogSpace,
}

impl Homes for Known<'_> {
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
    let mut to = None;
    let mut copied = Vec::new();
    for (offset, lpn) in data.pages_of(lbn) {
        let Some(from) = newest(data, log, lpn) else { continue };
        let held = flash.device().peek(from);
        debug_assert!(held.is_none_or(|held| held == lpn.get()), "{lpn} is newest at {from}, which carries {held:?}");
        let page = flash.read_for_copy(from, Role::Data)?;
        let block = blocks.merge_into(to, lbn, &page.1, "a full merge")?;
        to = Some(put_page(flash, blocks, data, (lpn, lbn), page, (block, offset), &[])?);
        copied.push(lpn);
    }
    settle(data, log, &copied);
    replace(flash, blocks, data, lbn, to)
}

/// Entries of 4 bytes in a line of memory: of the map of the log, and of a lean store's tags.
const IN_A_LINE: usize = 16;

/// Asks for what a full merge reads: where the pages are newest, and the tags of the data block.
fn prefetch_merge<D: Device>(flash: &FlashPort<D>, data: &DataBlocks, log: &LogSpace, lbn: Lbn) {
    let block = data.block(lbn);
    for (offset, lpn) in data.pages_of(lbn).step_by(IN_A_LINE) {
        log.prefetch(lpn);
        if let Some(block) = block {
            flash.device().prefetch(data.geometry().page(block, offset));
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
    let (mut to, mut moved, mut superseded) = (block, Vec::new(), Vec::new());
    for (offset, lpn) in data.pages_of(lbn) {
        if offset < filled {
            let here = log.newest(lpn) == Some(data.geometry().page(block, offset));
            if here { moved.push(lpn) } else { superseded.push(lpn) }
        } else if let Some(from) = newest(data, log, lpn) {
            let page = flash.read_for_copy(from, Role::Data)?;
            to = put_page(flash, blocks, data, (lpn, lbn), page, (to, offset), &superseded)?;
            moved.push(lpn);
        }
    }
    let copied = moved.last().is_some_and(|&last| data.geometry().split_logical(last).1 >= filled);
    flash.note(if copied { Note::PartialMerge } else { Note::SwitchMerge });
    settle(data, log, &moved);
    for lpn in superseded {
        data.set_current(lpn, false);
    }
    replace(flash, blocks, data, lbn, Some(to))
}

/// Puts a page that was lifted in its place in a block that is being filled, and returns the block:
/// another one, if this one failed. Whatever lies in the block was put there because it is the
/// newest, but for the superseded pages.
fn put_page<D: Device>(
    flash: &mut FlashPort<D>,
    blocks: &mut BlockManager,
    data: &mut DataBlocks,
    (lpn, lbn): (Lpn, Lbn),
    (role, content): (Role, Content<D::Data>),
    (to, offset): (Pbn, u32),
    superseded: &[Lpn],
) -> Result<Pbn, FtlError> {
    debug_assert_eq!(data.page_at(lbn, offset), Some(lpn), "{lpn} is put out of its place in {lbn}");
    let label = Label::of(lpn.get(), role, lbn);
    data.program(flash, blocks, (to, offset), label, &content, &|data, offset| {
        data.page_at(lbn, offset).filter(|lpn| !superseded.contains(lpn))
    })
}

/// These pages' newest copies are in the data block now.
fn settle(data: &mut DataBlocks, log: &mut LogSpace, pages: &[Lpn]) {
    for &lpn in pages {
        debug_assert!(newest(data, log, lpn).is_some(), "{lpn} was merged, and had no newest copy");
        log.set_newest(lpn, None);
        data.set_current(lpn, true);
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
