//! How the canary comes back after a power cut, and the bugs that its recovery can have.
//!
//! It begins with the newest translation pages and rolls forward: of the page that an entry points
//! to and of all pages that were programmed after the translation page, the one with the highest
//! version tells the truth; of equal versions the one programmed first, so that a collection that
//! was cut is undone; but each of them is read, and one that cannot be does not count. Blocks
//! without a true page are erased, the others are closed: a page of theirs that reads as erased may
//! have been touched.

use std::collections::{BTreeMap, BTreeSet};

use flash::{Pbn, Ppn, Role, Scan, Tag};
use ftl::{AnyDevice, FlashPort, FtlError, Layout};

use super::{Bug, Canary, entries, page_of};

/// Of pages of the same logical number the one with the highest rank is to be believed.
fn rank(tag: &Tag) -> (u64, u64) {
    (tag.version, u64::MAX - tag.seq)
}

/// What a scan found.
#[derive(Default)]
struct Found {
    data: Vec<(Ppn, Tag)>,
    /// The newest translation page of each number.
    translation: BTreeMap<u32, (Ppn, Tag)>,
    unreadable: BTreeSet<Pbn>,
}

impl Found {
    /// Reads what lies twice of the newest data, and forgets what of that cannot be read, if one of
    /// the two can.
    fn leave_unreadable_twins(&mut self, flash: &mut FlashPort<AnyDevice>) -> Result<(), FtlError> {
        let mut newest: BTreeMap<u32, (u64, Vec<Ppn>)> = BTreeMap::new();
        for &(ppn, tag) in &self.data {
            let (version, places) = newest.entry(tag.logical).or_default();
            if tag.version > *version {
                (*version, *places) = (tag.version, Vec::new());
            }
            if tag.version == *version {
                places.push(ppn);
            }
        }
        for (_, places) in newest.into_values().filter(|(_, places)| places.len() > 1) {
            let mut lost = Vec::new();
            for &ppn in &places {
                if flash.read_to_move(ppn)?.is_none() {
                    lost.push(ppn);
                }
            }
            if lost.len() < places.len() {
                self.data.retain(|(ppn, _)| !lost.contains(ppn));
            }
        }
        Ok(())
    }
}

impl Canary {
    /// Rebuilds everything from the flash, for a canary that knows nothing yet.
    pub(super) fn restore(&mut self, layout: &Layout, flash: &mut FlashPort<AnyDevice>) -> Result<(), FtlError> {
        let blocks = if self.bug == Bug::LostBadBlockTable {
            (0..layout.geometry.blocks()).map(Pbn::new).collect()
        } else {
            layout.good_blocks.clone()
        };
        let mut found = self.scan(&blocks, flash)?;
        if self.bug != Bug::UnreadTwin {
            found.leave_unreadable_twins(flash)?;
        }
        let mut mapped = BTreeMap::new();
        for (&page, &(ppn, _)) in &found.translation {
            self.relocate(page, ppn);
            mapped.extend(entries(page, flash.read(ppn)?.data.number()));
        }
        for (lpn, (ppn, _)) in self.truth(&found, &mapped) {
            self.map[lpn as usize] = Some(ppn);
            self.valid[ppn.index()] = true;
        }
        let latest = found.data.iter().max_by_key(|(_, tag)| tag.seq).map(|(ppn, _)| self.geometry.block_of(*ppn));
        self.sort_blocks(&blocks, flash, &found.unreadable, latest)?;
        self.erases = (0..layout.geometry.blocks()).map(|block| flash.chip().erase_count(Pbn::new(block))).collect();
        Ok(())
    }

    /// Reads every tag.
    fn scan(&self, blocks: &[Pbn], flash: &mut FlashPort<AnyDevice>) -> Result<Found, FtlError> {
        let mut found = Found::default();
        for &block in blocks {
            for ppn in self.geometry.page_indices(block).map(Ppn::at) {
                match flash.scan(ppn)? {
                    Scan::Programmed(tag) => {
                        flash.continue_after(tag.seq);
                        self.sort_in(&mut found, ppn, tag);
                    }
                    Scan::Unreadable if self.bug == Bug::TornTrusted => {
                        if let Some(&(_, tag)) = found.data.last().filter(|(last, _)| last.index() + 1 == ppn.index()) {
                            found.data.push((ppn, Tag { version: u64::MAX, seq: u64::MAX, ..tag }));
                        }
                    }
                    Scan::Unreadable => {
                        found.unreadable.insert(block);
                    }
                    Scan::Erased => {}
                }
            }
        }
        Ok(found)
    }

    fn sort_in(&self, found: &mut Found, ppn: Ppn, tag: Tag) {
        if tag.role != Role::Translation {
            found.data.push((ppn, tag));
        } else if self.bug != Bug::LostTrimPage {
            let known = found.translation.entry(tag.logical).or_insert((ppn, tag));
            if rank(&known.1) < rank(&tag) {
                *known = (ppn, tag);
            }
        }
    }

    /// The page that tells the truth, by logical page.
    fn truth(&self, found: &Found, mapped: &BTreeMap<u32, Option<Ppn>>) -> BTreeMap<u32, (Ppn, Tag)> {
        let mut truth: BTreeMap<u32, (Ppn, Tag)> = BTreeMap::new();
        for &(ppn, tag) in &found.data {
            let counts = match found.translation.get(&page_of(tag.logical)) {
                Some(_) if mapped.get(&tag.logical) == Some(&Some(ppn)) => true,
                Some((_, page)) if self.bug == Bug::NewestProgramWins => tag.seq > page.seq,
                Some((_, page)) => tag.seq > page.version && self.bug != Bug::StaleTranslationPage,
                None => true,
            };
            if !counts {
                continue;
            }
            match truth.get(&tag.logical) {
                Some((_, known)) if (rank(known) > rank(&tag)) != (self.bug == Bug::OldestWins) => {}
                _ => {
                    truth.insert(tag.logical, (ppn, tag));
                }
            }
        }
        truth
    }

    /// Closes what holds something true and erases the rest.
    fn sort_blocks(
        &mut self,
        blocks: &[Pbn],
        flash: &mut FlashPort<AnyDevice>,
        unreadable: &BTreeSet<Pbn>,
        latest: Option<Pbn>,
    ) -> Result<(), FtlError> {
        self.free.clear();
        for &block in blocks {
            let is_used = self.geometry.page_indices(block).any(|page| self.valid[page]);
            if self.bug == Bug::RecoveredBlockProgrammed && latest == Some(block) {
                self.open = Some((block, self.first_erased(flash, block)?));
            } else if is_used {
                self.closed.push(block);
            } else if self.bug != Bug::LeakedByRecovery || !unreadable.contains(&block) {
                flash.erase(block)?;
                self.free.push_back(block);
            }
        }
        Ok(())
    }

    /// Where the pages of a block begin to read as erased.
    fn first_erased(&self, flash: &mut FlashPort<AnyDevice>, block: Pbn) -> Result<u32, FtlError> {
        for offset in 0..self.geometry.pages_per_block() {
            if flash.scan(self.geometry.page(block, offset))? == Scan::Erased {
                return Ok(offset);
            }
        }
        Ok(self.geometry.pages_per_block())
    }
}
