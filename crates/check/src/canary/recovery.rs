//! How the canary comes back after a power cut, and the bugs that its recovery can have.
//!
//! Of each logical page the tag with the highest version tells the truth; of equal versions the one programmed first, so
//! that a collection that was cut is undone. Blocks without a true page are erased, the others are closed: a page of theirs
//! that reads as erased may have been touched.

use std::collections::{BTreeMap, BTreeSet};

use flash::{Lpn, Pbn, Ppn, Role, Scan, Tag};
use ftl::{Device, FtlError, Layout, Media};

use super::{Bug, Canary, Life};

/// The truth on a logical page.
type Truth = BTreeMap<u32, (Ppn, Tag)>;

impl Canary {
    /// Rebuilds everything from the tags, for a canary that knows nothing yet.
    pub(super) fn restore<D: Device>(&mut self, layout: &Layout, media: &mut Media<D>) -> Result<(), FtlError> {
        let mut truth = Truth::new();
        let mut unreadable = BTreeSet::new();
        for &block in &layout.good_blocks {
            let mut last = None;
            for ppn in layout.geometry.page_indices(block).map(Ppn::at) {
                match media.scan(ppn)? {
                    Scan::Programmed(tag) => {
                        media.continue_after(tag.seq);
                        self.learn(&mut truth, ppn, tag);
                        last = Some(tag);
                    }
                    Scan::Unreadable if self.bug == Bug::TornTrusted => {
                        if let Some(tag) = last {
                            let guess = Tag { version: u64::MAX, ..tag };
                            self.learn(&mut truth, ppn, guess);
                        }
                    }
                    Scan::Unreadable => {
                        unreadable.insert(block);
                    }
                    Scan::Erased => {}
                }
            }
        }
        let latest = truth.values().max_by_key(|(_, tag)| tag.seq).map(|(ppn, _)| self.geometry.block_of(*ppn));
        for (ppn, tag) in truth.into_values() {
            self.map[tag.logical as usize] = Some(ppn);
            self.valid[ppn.index()] = true;
            if tag.role == Role::Trimmed {
                self.life[tag.logical as usize] = Life::Trimmed;
            }
        }
        self.sort_blocks(layout, media, &unreadable, latest)
    }

    fn learn(&self, truth: &mut Truth, ppn: Ppn, tag: Tag) {
        if tag.role == Role::Trimmed && self.bug == Bug::LostTrimPage {
            return;
        }
        let rank = |tag: &Tag| (tag.version, u64::MAX - tag.seq);
        match truth.get(&tag.logical) {
            Some((_, known)) if (rank(known) > rank(&tag)) != (self.bug == Bug::OldestWins) => {}
            _ => {
                truth.insert(tag.logical, (ppn, tag));
            }
        }
    }

    /// Closes what holds something true and erases the rest.
    fn sort_blocks<D: Device>(
        &mut self,
        layout: &Layout,
        media: &mut Media<D>,
        unreadable: &BTreeSet<Pbn>,
        latest: Option<Pbn>,
    ) -> Result<(), FtlError> {
        self.free.clear();
        for &block in &layout.good_blocks {
            let is_used = self.geometry.page_indices(block).any(|page| self.valid[page]);
            if self.bug == Bug::RecoveredBlockProgrammed && latest == Some(block) {
                self.open = Some((block, self.first_erased(media, block)?));
            } else if is_used {
                self.closed.push(block);
            } else if self.bug != Bug::LeakedByRecovery || !unreadable.contains(&block) {
                media.erase(block)?;
                self.free.push_back(block);
            }
        }
        Ok(())
    }

    /// Where the pages of a block begin to read as erased.
    fn first_erased<D: Device>(&self, media: &mut Media<D>, block: Pbn) -> Result<u32, FtlError> {
        for offset in 0..self.geometry.pages_per_block() {
            if media.scan(self.geometry.page(block, offset))? == Scan::Erased {
                return Ok(offset);
            }
        }
        Ok(self.geometry.pages_per_block())
    }

    /// Writes down which pages are trimmed.
    pub(super) fn write_trims_down<D: Device>(&mut self, media: &mut Media<D>) -> Result<(), FtlError> {
        for lpn in (0..self.map.len()).map(Lpn::at) {
            if self.life[lpn.index()] == Life::Pending {
                let to = self.place(media)?;
                media.program(to, super::label(lpn.get(), Role::Trimmed), D::Data::default())?;
                self.map(lpn, Some(to));
                self.life[lpn.index()] = Life::Trimmed;
            }
        }
        Ok(())
    }
}
