//! # block: pure block-level mapping
//!
//! ## Idea
//! A logical block is mapped to a physical block as a whole, and page `i` always lies at page `i`.
//! The map is as small as it can be. A page that is still erased and may still be programmed is
//! written in place; writing any other page costs the whole block: its current pages and the new
//! ones are copied to a free block, and the old one is erased. This is the floor that every other
//! scheme must beat.
//!
//! ```text
//!   write 2'            old  [0][1][2][3]      new  [0][1][2'][3]      map: LBN ─▶ new, old erased
//! ```
//!
//! ## Source
//! WAFTL tab. I, Wang 2013 2.2.
//!
//! ## Departures
//! A request that rewrites several pages of one block copies that block once, since the request is
//! known as a whole.
//!
//! ## State
//! RAM: the block map, 4 B × logical blocks. Flash: the data; each page's tag carries its LPN and
//! its logical block.
//!
//! ## Read
//! 1. The page at its own offset, if it is current.
//!
//! ## Write
//! 1. The pages in one logical block together: `append` when its next programmable page is not past
//!    the first, else `rewrite`.
//!
//! ## Reclaim
//! 1. `rewrite` copies into a free block and erases the old one; nothing else needs reclaiming. A
//!    block without a page left is erased at once.
//!
//! ## Recover
//! 1. Of two blocks that claim a logical block, the later one wins if it has everything that the
//!    earlier one has; else its rewrite was cut, was never acknowledged, and is given up, but for
//!    pages that cannot be read elsewhere. All other blocks are erased.
//! 2. A flush rewrites blocks with trimmed pages, so that recovery finds no trace of them.
//!
//! ## Invariants
//! - I1: a current page carries its LPN at its own offset of its mapped block.
//! - I2: no block is mapped twice, or mapped and free; free blocks are erased.
//! - I3: every good block is mapped or free, until the device is read-only.
//!
//! ## Costs
//! Rewriting one page of a full block: b programs, b − 1 reads, 1 erase, so A = b.

use std::collections::BTreeSet;
use std::ops::Range;

use flash::{Lbn, Lpn, PageCopy, Pbn, Role};
use host::Hint;

use crate::api::entry::{Capabilities, Entry, Memory};
use crate::api::layout::Layout;
use crate::api::mapping::{Mapping, Scheme, WearQuery};
use crate::api::parameter::Values;
use crate::api::report::{Footprint, Spares};
use crate::api::request::Request;
use crate::api::wear::RelocateOutcome;
use crate::blocks::data_blocks::{DataBlocks, Rebuilding, data_label};
use crate::blocks::manager::BlockManager;
use crate::port::cause::Cause;
use crate::port::device::Device;
use crate::port::error::{BrokenInvariant, ConfigError, FtlError, RecoverError};
use crate::port::flash_port::FlashPort;
use crate::port::tally::Note;
use crate::recovery::block_recovery::{BlockClaims, ReadableCopy, finished};
use crate::recovery::scan::DeviceScan;
use crate::recovery::trims::Trims;

/// Neighbouring pages of a logical block: the first one's offset, and what they are to hold.
type Run<'a, D> = (u32, Hint, &'a [<D as Device>::Data]);

/// Pure block-level mapping.
pub struct Block {
    data: DataBlocks,
    blocks: BlockManager,
    trims: Trims,
    good_blocks: usize,
    logical_blocks: u32,
}

impl Scheme for Block {
    const ENTRY: Entry = Entry {
        name: "block",
        family: "block",
        capabilities: Capabilities::LOGICAL_BLOCKS,
        memory: Memory::BLOCK_MAP,
        source: "WAFTL tab. I, Wang 2013 2.2",
        parameters: &[],
        header: include_str!("block.rs"),
    };

    fn format(layout: &Layout, _values: &Values) -> Result<Self, ConfigError> {
        let spares = DataBlocks::require(layout, "block", 1, "one to copy into")?;
        Ok(Self {
            data: DataBlocks::new(layout),
            blocks: BlockManager::new(layout, spares),
            trims: Trims::default(),
            good_blocks: layout.good_blocks.len(),
            logical_blocks: layout.logical_blocks(),
        })
    }

    fn recover<D: Device>(layout: &Layout, values: &Values, flash: &mut FlashPort<D>) -> Result<Self, RecoverError> {
        let mut block = Self::format(&layout.in_use(), values)?;
        let scanned = DeviceScan::of(flash, layout)?;
        block.blocks.nothing_free(flash, layout);
        let mut free: BTreeSet<Pbn> = layout.good_blocks.iter().copied().collect();
        let mut saved = Vec::new();
        for (lbn, claims) in BlockClaims::of(&scanned, layout).by_block {
            let Some((home, twins)) = finished(&claims, &scanned, layout) else { continue };
            free.remove(&home.block);
            let current = home.pages.keys().map(|&lpn| Lpn::new(lpn)).chain(twins.iter().map(|twin| twin.lpn));
            block.data.adopt(&mut block.blocks, lbn, home.block, current);
            free.retain(|pbn| twins.iter().all(|twin| layout.geometry.block_of(twin.at) != *pbn));
            saved.push((lbn, twins));
        }
        flash.in_parallel(free, |flash, pbn| block.retire(flash, pbn))?;
        saved.into_iter().try_for_each(|(lbn, twins)| block.save(flash, lbn, &twins))?;
        Ok(block)
    }
}

impl<D: Device> Mapping<D> for Block {
    fn read(&mut self, flash: &mut FlashPort<D>, request: &Request, out: &mut [D::Data]) -> Result<(), FtlError> {
        flash.in_parallel(request.lpns(), |flash, (i, lpn)| {
            let page = self.data.newest(lpn).map(|ppn| flash.read(ppn)).transpose()?;
            out[i] = page.map_or_else(D::Data::default, |page| page.data);
            Ok(())
        })
    }

    fn write(&mut self, flash: &mut FlashPort<D>, request: &Request, data: &[D::Data]) -> Result<(), FtlError> {
        self.blocks.spares().admit()?;
        flash.in_parallel(request.block_runs(self.data.geometry()), |flash, run| {
            let (lbn, run) = (run.lbn, (run.first, request.hint, &data[run.position..][..run.pages as usize]));
            match self.data.block(lbn) {
                None => {
                    let pbn = self.data.begin(&mut self.blocks, lbn, request.hint)?;
                    self.append(flash, (pbn, lbn), run)
                }
                Some(pbn) if (run.0..).zip(run.2).all(|(offset, _)| self.data.fits_in_place(flash, pbn, offset)) => {
                    self.append(flash, (pbn, lbn), run)
                }
                Some(old) => flash.with_cause(Cause::Merge, |flash| self.rewrite(flash, old, lbn, Some(run), None)),
            }
        })
    }

    fn trim(&mut self, flash: &mut FlashPort<D>, request: &Request) -> Result<(), FtlError> {
        for run in request.block_runs(self.data.geometry()) {
            for offset in run.first..run.first + run.pages {
                let lpn = self.data.geometry().logical_page(run.lbn, offset);
                if self.data.is_current(lpn) {
                    self.data.set_current(lpn, false);
                    self.trims.on_trimmed(lpn);
                }
            }
            if self.data.pages_of(run.lbn).all(|(_, lpn)| !self.data.is_current(lpn))
                && let Some(pbn) = self.data.remap(run.lbn, None)
            {
                flash.with_cause(Cause::Collection, |flash| self.retire(flash, pbn))?;
            }
        }
        Ok(())
    }

    fn flush(&mut self, flash: &mut FlashPort<D>) -> Result<(), FtlError> {
        if !self.trims.pending_runs().is_empty() {
            self.blocks.spares().admit()?;
        }
        for (first, extent) in self.trims.pending_runs() {
            for run in Request::new(Lpn::new(first), extent).block_runs(self.data.geometry()) {
                // Only a block without the trimmed pages makes recovery forget them.
                if let Some(old) = self.data.block(run.lbn) {
                    flash.with_cause(Cause::Merge, |flash| self.rewrite(flash, old, run.lbn, None, None))?;
                }
            }
            self.trims.on_settled(first, extent);
        }
        Ok(())
    }

    fn relocate_block(&mut self, flash: &mut FlashPort<D>, pbn: Pbn) -> Result<RelocateOutcome, FtlError> {
        if let Some(known) = self.blocks.needs_no_emptying(pbn) {
            return Ok(known);
        }
        let lbn = self.data.owner_of(pbn).unwrap_or_else(|| unreachable!("I3: {pbn} is in use, so it is mapped"));
        flash.note(Note::RelocatedBlock);
        flash.with_cause(Cause::WearLevelling, |flash| self.rewrite(flash, pbn, lbn, None, None))?;
        Ok(self.blocks.fate_of(pbn))
    }

    fn with_wear_policy(&mut self, query: WearQuery<'_>) {
        self.blocks.with_wear_policy(Some(&self.data), query);
    }

    fn check(&self, flash: &FlashPort<D>) -> Result<(), BrokenInvariant> {
        self.data.check(flash, &self.blocks, "I1", "I2")?;
        let known = self.data.mapped_blocks() + self.blocks.free();
        let good = self.blocks.accounted_for(self.good_blocks);
        BrokenInvariant::unless(good.is_none_or(|good| known == good), "I3", || {
            format!("{known} blocks are mapped or free, but the device has {good:?} good ones")
        })
    }

    fn spares(&self) -> Spares {
        self.blocks.spares()
    }

    fn footprint(&self) -> Footprint {
        Footprint::default().with("block map", 4 * u64::from(self.logical_blocks), 0)
    }
}

impl Block {
    fn retire<D: Device>(&mut self, flash: &mut FlashPort<D>, pbn: Pbn) -> Result<(), FtlError> {
        self.data.retire(flash, &mut self.blocks, pbn)
    }

    /// For recovery: pages can only be read in a block that is given up. Where it is the only one
    /// to copy into, they wait in RAM.
    fn save<D: Device>(&mut self, flash: &mut FlashPort<D>, lbn: Lbn, twins: &[ReadableCopy]) -> Result<(), FtlError> {
        let pages = twins.iter().map(|twin| flash.read_to_move(twin.at)).collect::<Result<Vec<_>, _>>()?;
        let mut others: BTreeSet<Pbn> = twins.iter().map(|twin| self.data.geometry().block_of(twin.at)).collect();
        if self.blocks.free() == 0 {
            std::mem::take(&mut others).into_iter().try_for_each(|pbn| self.retire(flash, pbn))?;
        }
        for (twin, page) in twins.iter().zip(pages) {
            let (Some(page), Some(home)) = (page, self.data.block(lbn)) else { continue };
            let offset = self.data.geometry().split_logical(twin.lpn).1;
            let page = Some((offset, Hint::NONE, &[page.data][..]));
            FtlError::unless_read_only(self.rewrite(flash, home, lbn, page, Some(Cause::Merge)))?;
        }
        others.into_iter().try_for_each(|pbn| self.retire(flash, pbn))
    }

    fn append<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        (mut home, lbn): (Pbn, Lbn),
        (first, hint, data): Run<'_, D>,
    ) -> Result<(), FtlError> {
        for (offset, datum) in (first..).zip(data) {
            let lpn = self.data.geometry().logical_page(lbn, offset);
            let content = self.blocks.content(hint, datum.clone());
            let (at, label) = ((home, offset), data_label(lpn, lbn));
            let block = self.data.program(flash, &mut self.blocks, at, label, &content, &current_at(lbn))?;
            if block != home {
                self.data.remap(lbn, Some(block));
                home = block;
            }
            self.data.set_current(lpn, true);
            self.trims.on_overwritten(lpn);
        }
        Ok(())
    }

    /// Copies what is current in a block into a free one, with these new pages, if any, and gives
    /// the old one back. Copies may be programmed for another cause than the one at hand.
    fn rewrite<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        old: Pbn,
        lbn: Lbn,
        run: Option<Run<'_, D>>,
        cause: Option<Cause>,
    ) -> Result<(), FtlError> {
        flash.note(Note::FullMerge);
        let (first, hint, data) = run.unwrap_or((0, Hint::NONE, &[]));
        let written = first..first + data.len() as u32;
        let (before, after) = self.list_current(lbn, &written);
        let mut rebuilding = Rebuilding { lbn, to: None, cause, wanted: "rewriting a block" };
        let filled = |data: &DataBlocks, offset| data.page_at(lbn, offset);
        let put = self.data.copy_pages(flash, &mut self.blocks, &mut rebuilding, &before, &filled).and_then(|()| {
            for (offset, datum) in written.clone().zip(data) {
                let page = (offset, (Role::Data, self.blocks.content(hint, datum.clone())));
                flash.with_cause(Cause::Host, |flash| {
                    self.data.put_copy(flash, &mut self.blocks, &mut rebuilding, page, false, &filled)
                })?;
            }
            self.data.copy_pages(flash, &mut self.blocks, &mut rebuilding, &after, &filled)
        });
        if matches!(put, Err(FtlError::ReadOnly { .. })) {
            self.data.give_up_unreplaced(flash, &mut self.blocks);
        }
        put?;
        // Only now, so that a rewrite that fails half way changes nothing.
        for offset in written {
            let lpn = self.data.geometry().logical_page(lbn, offset);
            self.data.set_current(lpn, true);
            self.trims.on_overwritten(lpn);
        }
        self.data.remap(lbn, rebuilding.to);
        self.retire(flash, old)
    }

    /// Where the current pages of a logical block lie that are before some offsets, and after them.
    fn list_current(&self, lbn: Lbn, around: &Range<u32>) -> (Vec<PageCopy>, Vec<PageCopy>) {
        let current = self.data.pages_of(lbn).filter(|(offset, _)| !around.contains(offset));
        let copies = current.filter_map(|(offset, lpn)| Some(PageCopy { from: self.data.newest(lpn)?, offset }));
        copies.partition(|copy| copy.offset < around.start)
    }
}

/// Which logical page's newest copy an offset of a data block holds.
fn current_at(lbn: Lbn) -> impl Fn(&DataBlocks, u32) -> Option<Lpn> {
    move |data, offset| data.page_at(lbn, offset).filter(|&lpn| data.is_current(lpn))
}

#[cfg(test)]
mod tests {
    use flash::Flash;

    use super::*;
    use crate::testing::{device, layout};

    #[test]
    fn rewriting_one_page_of_a_full_block_costs_the_whole_block_and_one_erase() {
        let (mut flash, layout) = (device(8, 4), layout(8, 4, 16));
        let mut block = Block::format(&layout, &Values::none()).expect("fits");
        block.write(&mut flash, &Request::new(Lpn::new(0), 16), &[(); 16]).expect("fill");
        let before = flash.chip().operations();
        block.write(&mut flash, &Request::new(Lpn::new(6), 1), &[()]).expect("rewrite");
        let after = flash.chip().operations();
        assert_eq!(
            (after.programs - before.programs, after.reads - before.reads, after.erases - before.erases),
            (4, 3, 1)
        );
        Mapping::check(&block, &flash).expect("invariants");
    }
}
