//! Merging log blocks with data blocks.
//!
//! ```text
//!   switch    log  [0][1][2][3]                      the log block becomes the data block     1 erase
//!   partial   log  [0][1][ ][ ]  + data [ ][ ][2][3]  copy the rest, then as above             1 erase
//!   full      log  [2][7][2'][9] + data [0][1][2][3]  newest pages of a logical block ▶ free block
//! ```
//!
//! A full merge of every logical block in a victim costs `N · A(L)` copies and `A(L) + 1` erases (A eq. 1), where A(L) is the
//! number of logical blocks with a newest page in it.

use flash::{Lbn, Lpn, Pbn, Ppn};

use crate::parts::data_blocks::{DataBlocks, data_label};
use crate::parts::log_space::LogSpace;
use crate::{Device, FtlError, Media, Note};

/// Where the newest copy of a page lies: a log page wins over the data block.
pub fn newest(data: &DataBlocks, log: &LogSpace, lpn: Lpn) -> Option<Ppn> {
    log.newest(lpn).or_else(|| data.newest(lpn))
}

/// Merges one logical block: its newest pages go to a free block, which becomes its data block; the old one is erased.
/// A logical block without any page left loses its data block.
pub fn full<D: Device>(
    media: &mut Media<D>,
    data: &mut DataBlocks,
    log: &mut LogSpace,
    lbn: Lbn,
) -> Result<(), FtlError> {
    media.note(Note::FullMerge);
    let mut to = None;
    for (offset, lpn) in data.pages_of(lbn) {
        let Some(from) = newest(data, log, lpn) else { continue };
        let block = match to {
            Some(block) => block,
            None => *to.insert(data.take_free("a full merge")?),
        };
        copy_page(media, data, log, (lpn, lbn), from, data.geometry().page(block, offset))?;
    }
    replace(media, data, lbn, to)
}

/// Turns a log block that holds the first `filled` pages of a logical block in place into its data block: a switch merge when
/// it is complete, otherwise a partial merge that copies the rest.
pub fn in_place<D: Device>(
    media: &mut Media<D>,
    data: &mut DataBlocks,
    log: &mut LogSpace,
    block: Pbn,
    lbn: Lbn,
    filled: u32,
) -> Result<(), FtlError> {
    let mut copied = false;
    for (offset, lpn) in data.pages_of(lbn) {
        let place = data.geometry().page(block, offset);
        if offset >= filled {
            if let Some(from) = newest(data, log, lpn) {
                copied = true;
                copy_page(media, data, log, (lpn, lbn), from, place)?;
            }
        } else if log.newest(lpn) == Some(place) {
            log.set_newest(lpn, None);
            data.set_current(lpn, true);
        } else {
            data.set_current(lpn, false);
        }
    }
    media.note(if copied { Note::PartialMerge } else { Note::SwitchMerge });
    replace(media, data, lbn, Some(block))
}

fn copy_page<D: Device>(
    media: &mut Media<D>,
    data: &mut DataBlocks,
    log: &mut LogSpace,
    (lpn, lbn): (Lpn, Lbn),
    from: Ppn,
    to: Ppn,
) -> Result<(), FtlError> {
    media.copy(from, to, data_label(lpn, lbn))?;
    log.set_newest(lpn, None);
    data.set_current(lpn, true);
    Ok(())
}

fn replace<D: Device>(media: &mut Media<D>, data: &mut DataBlocks, lbn: Lbn, to: Option<Pbn>) -> Result<(), FtlError> {
    match data.remap(lbn, to) {
        Some(old) => data.retire(media, old),
        None => Ok(()),
    }
}
