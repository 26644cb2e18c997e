//! What recovery finds: every page's tag, read once or taken from the block's summary.
//!
//! A page that is erased or unreadable says nothing, but tells that its block was touched or not.
//! Nothing else is known after a power cut; in particular a page that reads as erased may be
//! unstable, so blocks that recovery keeps are never programmed further, and blocks that it does
//! not need are erased before use. A tag that can be read is no promise that its page can: where
//! something lies twice, both are read before either is given up.

use std::collections::{BTreeMap, BTreeSet};

use flash::{Lpn, Pbn, Ppn, Role, Scan, Tag};

use crate::api::layout::Layout;
use crate::port::device::Device;
use crate::port::error::FtlError;
use crate::port::flash_port::FlashPort;
use crate::recovery::summary::Summaries;

/// The tags of a device.
pub struct DeviceScan {
    /// Programmed pages, in address order, but for those left out.
    pub pages: Vec<(Ppn, Tag)>,
    /// Pages that cannot be read and whose content lies elsewhere, too.
    pub left_out: Vec<(Ppn, Tag)>,
}

/// Where the newest content of a logical number lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewestCopy {
    /// Version of its content: higher is newer.
    pub version: u64,
    /// A page that holds it; none if it was trimmed.
    pub page: Option<Ppn>,
}

/// What recovery builds a page map from.
pub struct NewestPages {
    /// One page for each newest content, in address order.
    pub pages: Vec<(Ppn, Tag)>,
    /// Logical pages with stale copies on flash.
    pub outdated: Vec<Lpn>,
}

impl DeviceScan {
    /// Reads the tag of every page of every good block, on all dies at once. Later programs will
    /// come after all of them.
    pub fn of<D: Device>(flash: &mut FlashPort<D>, layout: &Layout) -> Result<Self, FtlError> {
        let mut pages = Vec::new();
        flash.in_parallel(&layout.good_blocks, |flash, &pbn| {
            for page in flash.pages_in_mode(pbn) {
                if let Scan::Programmed(tag) = flash.scan(Ppn::at(page))? {
                    flash.continue_after(tag.seq);
                    // On a device that was used with summaries they say nothing new.
                    pages.extend(tag.role.tells_of_pages().then_some((Ppn::at(page), tag)));
                }
            }
            Ok::<_, FtlError>(())
        })?;
        Self { pages, left_out: Vec::new() }.without_unreadable_copies(flash, layout)
    }

    /// The same from the summaries of blocks, where there are any.
    pub fn with<D: Device>(flash: &mut FlashPort<D>, layout: &Layout, summaries: &Summaries) -> Result<Self, FtlError> {
        if !summaries.are_written() {
            return Self::of(flash, layout);
        }
        let mut pages = Vec::new();
        flash.in_parallel(&layout.good_blocks, |flash, &pbn| {
            pages.extend(summaries.scan(flash, pbn)?);
            Ok::<_, FtlError>(())
        })?;
        Self { pages, left_out: Vec::new() }.without_unreadable_copies(flash, layout)
    }

    /// Where the newest content of a page lies in several places, each of them is read whole, and
    /// those that cannot be read are left out if one can. So nothing that recovery or a later
    /// collection gives up was the only copy that is more than a tag.
    fn without_unreadable_copies<D: Device>(self, flash: &mut FlashPort<D>, layout: &Layout) -> Result<Self, FtlError> {
        let newest = self.newest(layout.logical_pages);
        let has_data = |tag: &Tag| tag.role != Role::Trimmed && !tag.role.is_translation();
        let mut copies: BTreeMap<u64, Vec<Ppn>> = BTreeMap::new();
        for (ppn, tag) in self.pages.iter().filter(|(_, tag)| has_data(tag) && Self::holds_newest(tag, &newest)) {
            copies.entry(tag.version).or_default().push(*ppn);
        }
        copies.retain(|_, pages| pages.len() > 1);
        let mut unreadable = BTreeSet::new();
        flash.in_parallel(copies.values(), |flash, pages| {
            let mut readable = Vec::with_capacity(pages.len());
            for &ppn in pages {
                readable.push(flash.read_to_move(ppn)?.is_some());
            }
            if readable.contains(&true) {
                unreadable.extend(pages.iter().zip(readable).filter(|(_, readable)| !readable).map(|(&ppn, _)| ppn));
            }
            Ok::<_, FtlError>(())
        })?;
        let (left_out, pages) = self.pages.into_iter().partition(|(ppn, _)| unreadable.contains(ppn));
        Ok(Self { pages, left_out })
    }

    /// The newest content of each logical page, of host data and trims. Where a trim page was to
    /// replace a last copy and both are there (`trims.rs`), either would be right, but the one that
    /// is shown must last, even if nothing can be written any more. So it is the copy: it is moved
    /// as long as it counts, and when it is gone, what was shown is gone for good.
    pub fn newest(&self, logical_pages: u32) -> Vec<Option<NewestCopy>> {
        let mut newest: Vec<Option<NewestCopy>> = vec![None; logical_pages as usize];
        for &(ppn, tag) in self.pages.iter().filter(|(_, tag)| !tag.role.is_translation()) {
            let page = (tag.role != Role::Trimmed).then_some(ppn);
            let end = tag.logical.saturating_add(tag.extent).min(logical_pages);
            for slot in newest.get_mut(tag.logical as usize..end as usize).into_iter().flatten() {
                let is_newer =
                    |found: NewestCopy| (found.version, found.page.is_some()) < (tag.version, page.is_some());
                if slot.is_none_or(is_newer) {
                    *slot = Some(NewestCopy { version: tag.version, page });
                }
            }
        }
        newest
    }

    /// For each page, whether it holds the newest content of a logical page that it speaks of.
    pub fn holds_newest(tag: &Tag, newest: &[Option<NewestCopy>]) -> bool {
        let end = tag.logical.saturating_add(tag.extent).min(newest.len() as u32);
        let covered = newest.get(tag.logical as usize..end as usize).unwrap_or_default();
        let is_data = tag.role != Role::Trimmed;
        covered.iter().flatten().any(|found| found.version == tag.version && found.page.is_some() == is_data)
    }

    /// One page for each newest content of host data and trims. Where a cut left a page in two
    /// places, a block is given up whose needed pages all lie elsewhere too: so a collection that
    /// was cut does not cost its die the free block that the next collection needs.
    pub fn keep_one_copy(&self, layout: &Layout, newest: &[Option<NewestCopy>]) -> NewestPages {
        let needed = |tag: &Tag| !tag.role.is_translation() && Self::holds_newest(tag, newest);
        let mut copies: BTreeMap<u64, u32> = BTreeMap::new();
        for (_, tag) in self.pages.iter().filter(|(_, tag)| needed(tag)) {
            *copies.entry(tag.version).or_default() += 1;
        }
        let mut kept = Vec::new();
        // What has left a log lies where it belongs, and the log's copy is the one to be given up,
        // so that no more blocks count as log than did.
        let is_log = |pages: &[(Ppn, Tag)]| pages.iter().any(|(_, tag)| tag.role == Role::RandomLog);
        let (log, others): (Vec<_>, Vec<_>) = self.blocks(layout).partition(|(_, pages)| is_log(pages));
        for (_, pages) in log.into_iter().chain(others) {
            let pages: Vec<_> = pages.iter().copied().filter(|(_, tag)| needed(tag)).collect();
            // A collection that found no room, again and again, may have left several copies in
            // this very block.
            let here = |version| pages.iter().filter(|(_, tag)| tag.version == version).count() as u32;
            let is_elsewhere = |version| copies.get(&version).is_some_and(|&all| all > 1 && all > here(version));
            let given_up = pages.iter().all(|(_, tag)| is_elsewhere(tag.version));
            if given_up {
                for (_, tag) in &pages {
                    copies.entry(tag.version).and_modify(|copies| *copies -= 1);
                }
            } else {
                kept.extend(pages);
            }
        }
        kept.sort_unstable_by_key(|&(ppn, _)| ppn);
        let mut seen = BTreeSet::new();
        kept.retain(|(_, tag)| seen.insert(tag.version));
        NewestPages { pages: kept, outdated: self.outdated(newest) }
    }

    /// These blocks without those whose needed pages all lie in others of them too. One without
    /// anything needed goes only if all that it holds lies in others: then it was begun to replace
    /// one of them, and would be a block of the log too many.
    pub fn without_copies(&self, layout: &Layout, newest: &[Option<NewestCopy>], mut blocks: Vec<Pbn>) -> Vec<Pbn> {
        let pages: BTreeMap<Pbn, &[(Ppn, Tag)]> = self.blocks(layout).filter(|(pbn, _)| blocks.contains(pbn)).collect();
        let needed = |tag: &Tag| Self::holds_newest(tag, newest);
        for candidate in blocks.clone() {
            let is_elsewhere = |tag: &Tag| {
                let mut others = blocks.iter().filter(|&&pbn| pbn != candidate);
                others.any(|other| pages[other].iter().any(|(_, found)| found.version == tag.version))
            };
            let held = pages[&candidate];
            let has_needed = held.iter().any(|(_, tag)| needed(tag));
            if held.iter().filter(|(_, tag)| needed(tag) || !has_needed).all(|(_, tag)| is_elsewhere(tag)) {
                blocks.retain(|&pbn| pbn != candidate);
            }
        }
        blocks
    }

    /// Logical pages of which data lie about that are older than the newest content, or cannot be
    /// read.
    fn outdated(&self, newest: &[Option<NewestCopy>]) -> Vec<Lpn> {
        let data = self.pages.iter().filter(|(_, tag)| !tag.role.is_translation() && tag.role != Role::Trimmed);
        let old = data.filter(|(_, tag)| {
            newest.get(tag.logical as usize).copied().flatten().is_some_and(|found| found.version > tag.version)
        });
        old.chain(&self.left_out).map(|(_, tag)| Lpn::new(tag.logical)).collect()
    }

    /// The tags of each block, as slices in address order.
    pub fn blocks<'a>(&'a self, layout: &'a Layout) -> impl Iterator<Item = (Pbn, &'a [(Ppn, Tag)])> {
        self.pages
            .chunk_by(|a, b| layout.geometry.block_of(a.0) == layout.geometry.block_of(b.0))
            .map(|pages| (layout.geometry.block_of(pages[0].0), pages))
    }
}

#[cfg(test)]
mod tests {
    use flash::ProgramOrder;
    use testkit::TestFlash;

    use super::*;

    /// Blocks of four pages, with what is programmed in each: logical page, role, version.
    fn scanned(blocks: &[&[(u32, Role, u64)]]) -> (Layout, DeviceScan) {
        let geometry = TestFlash::new(blocks.len() as u32, 4).geometry();
        let good_blocks = (0..geometry.blocks()).map(Pbn::new).collect();
        let layout = Layout {
            geometry,
            logical_pages: 8,
            good_blocks,
            program_order: ProgramOrder::Any,
            pslc_pages: 0,
            programmed_at_once: 1,
            units_per_page: 1,
            exposure: None,
            in_use: true,
            seed: 1,
            wear: None,
        };
        let mut pages = Vec::new();
        for (pbn, block) in (0..).map(Pbn::new).zip(blocks) {
            for (offset, &(logical, role, version)) in (0..).zip(*block) {
                let tag = Tag { logical, extent: 1, role, owner: None, seq: version, version, hint: 0 };
                pages.push((geometry.page(pbn, offset), tag));
            }
        }
        (layout, DeviceScan { pages, left_out: Vec::new() })
    }

    fn kept(blocks: &[&[(u32, Role, u64)]]) -> Vec<(u32, Role)> {
        let (layout, scanned) = scanned(blocks);
        let newest = scanned.newest(8);
        scanned.keep_one_copy(&layout, &newest).pages.iter().map(|(_, tag)| (tag.logical, tag.role)).collect()
    }

    #[test]
    fn a_copy_counts_as_long_as_it_is_there_and_then_the_trim_page_in_its_place_does() {
        let copy: &[_] = &[(3, Role::Data, 7)];
        let copy_and_others: &[_] = &[(3, Role::Collected, 7), (5, Role::Data, 8)];
        let replacement: &[_] = &[(3, Role::Trimmed, 7)];
        let replacement_and_others: &[_] = &[(3, Role::Trimmed, 7), (6, Role::Data, 9)];
        for with_copy in [copy, copy_and_others] {
            for with_replacement in [replacement, replacement_and_others] {
                for blocks in [[with_copy, with_replacement], [with_replacement, with_copy]] {
                    let roles: Vec<_> = kept(&blocks).into_iter().filter(|&(lpn, _)| lpn == 3).collect();
                    assert_eq!(roles, [(3, with_copy[0].1)], "{blocks:?}");
                }
                assert_eq!(kept(&[with_replacement, &[]])[0], (3, Role::Trimmed));
            }
        }
    }

    #[test]
    fn copies_in_the_same_block_are_no_reason_to_give_it_up() {
        let twice: &[_] =
            &[(3, Role::Collected, 7), (5, Role::Collected, 8), (3, Role::Collected, 7), (5, Role::Collected, 8)];
        assert_eq!(kept(&[twice]), [(3, Role::Collected), (5, Role::Collected)]);
        let one_elsewhere: &[_] = &[(3, Role::Data, 7)];
        assert_eq!(kept(&[twice, one_elsewhere]), [(3, Role::Collected), (5, Role::Collected)]);
        let both_elsewhere: &[_] = &[(3, Role::Data, 7), (5, Role::Data, 8), (6, Role::Data, 9)];
        assert_eq!(kept(&[twice, both_elsewhere]), [(3, Role::Data), (5, Role::Data), (6, Role::Data)]);
    }

    #[test]
    fn a_block_of_the_log_is_given_up_before_those_to_which_its_pages_have_gone() {
        let log: &[_] = &[(1, Role::RandomLog, 1), (2, Role::RandomLog, 2)];
        let homes: [&[_]; 2] = [&[(1, Role::Data, 1)], &[(2, Role::Data, 2)]];
        for blocks in [[homes[0], homes[1], log], [log, homes[0], homes[1]], [homes[1], log, homes[0]]] {
            assert!(kept(&blocks).iter().all(|&(_, role)| role == Role::Data), "{blocks:?}");
        }
        assert_eq!(kept(&[homes[0], log]), [(1, Role::RandomLog), (2, Role::RandomLog)], "2 is nowhere else");
    }

    #[test]
    fn of_a_collection_that_was_cut_the_fuller_side_stays() {
        let victim: &[_] = &[(1, Role::Data, 1), (2, Role::Data, 2), (3, Role::Data, 3)];
        let half: &[_] = &[(1, Role::Collected, 1), (3, Role::Trimmed, 3)];
        assert_eq!(kept(&[half, victim]), [(1, Role::Data), (2, Role::Data), (3, Role::Data)]);
        assert_eq!(kept(&[victim, half]), [(1, Role::Data), (2, Role::Data), (3, Role::Data)]);
        let whole: &[_] =
            &[(1, Role::Collected, 1), (2, Role::Collected, 2), (3, Role::Collected, 3), (4, Role::Data, 4)];
        assert_eq!(kept(&[victim, whole]).len(), 4);
        assert!(kept(&[whole, victim]).iter().all(|&(lpn, role)| role == Role::Collected || lpn == 4));
    }

    #[test]
    fn a_replacement_that_was_cut_does_not_stay_as_a_log_block_of_its_own() {
        let log = |blocks: &[&[(u32, Role, u64)]]| -> Vec<u32> {
            let (layout, scanned) = scanned(blocks);
            let newest = scanned.newest(8);
            let all = layout.good_blocks.clone();
            scanned.without_copies(&layout, &newest, all).into_iter().map(Pbn::get).collect()
        };
        // The first page was written again in the block itself, and only that page was copied.
        let failing: &[_] = &[(7, Role::RandomLog, 77), (1, Role::RandomLog, 78), (7, Role::RandomLog, 79)];
        let begun: &[_] = &[(7, Role::RandomLog, 77)];
        assert_eq!(log(&[failing, begun]), [0]);
        assert_eq!(log(&[begun, failing]), [1]);
        // Nothing of this one is needed either, but it is nobody's copy, and leaves in its turn.
        let superseded: &[_] = &[(7, Role::RandomLog, 5), (1, Role::RandomLog, 6)];
        assert_eq!(log(&[failing, superseded]), [0, 1]);
        // A copy of all of it: one of the two stays.
        assert_eq!(log(&[failing, failing]).len(), 1);
        assert_eq!(log(&[superseded, superseded, failing]).len(), 2);
    }
}
