//! What recovery finds: every page's tag, read once or taken from the block's summary.
//!
//! A page that is erased or unreadable says nothing, but tells that its block was touched or not. Nothing else is known after
//! a power cut; in particular a page that reads as erased may be unstable, so blocks that recovery keeps are never
//! programmed further, and blocks that it does not need are erased before use.

use std::collections::BTreeMap;

use flash::{Lpn, Pbn, Ppn, Role, Scan, Tag};

use crate::parts::summary::Summaries;
use crate::{Device, FtlError, Layout, Media};

/// The tags of a device.
pub struct Scanned {
    /// Programmed pages, in address order.
    pub pages: Vec<(Ppn, Tag)>,
}

/// Where the newest content of a logical number lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Newest {
    /// Its version.
    pub version: u64,
    /// A page that holds it; none if it was trimmed.
    pub page: Option<Ppn>,
}

/// What recovery builds a page map from.
pub struct Kept {
    /// One page for each newest content, data before trims.
    pub pages: Vec<(Ppn, Tag)>,
    /// Logical pages of which both the last copy and the trim page that was to replace it are kept (`trims.rs`): the trim
    /// was never flushed, so either is right, but the one that is shown must last. To be trimmed and flushed.
    pub contradicted: Vec<Lpn>,
    /// Logical pages of which older copies lie about.
    pub outdated: Vec<Lpn>,
}

impl Scanned {
    /// Reads the tag of every page of every good block, on all dies at once. Later programs will come after all of them.
    pub fn of<D: Device>(media: &mut Media<D>, layout: &Layout) -> Result<Self, FtlError> {
        let mut pages = Vec::new();
        media.together(&layout.good_blocks, |media, &pbn| {
            for page in layout.geometry.page_indices(pbn) {
                if let Scan::Programmed(tag) = media.scan(Ppn::at(page))? {
                    media.continue_after(tag.seq);
                    // On a device that was used with summaries they say nothing new.
                    pages.extend((tag.role != Role::Summary).then_some((Ppn::at(page), tag)));
                }
            }
            Ok::<_, FtlError>(())
        })?;
        Ok(Self { pages })
    }

    /// The same from the summaries of blocks, where there are any.
    pub fn with<D: Device>(media: &mut Media<D>, layout: &Layout, summaries: &Summaries) -> Result<Self, FtlError> {
        if !summaries.are_written() {
            return Self::of(media, layout);
        }
        let mut pages = Vec::new();
        media.together(&layout.good_blocks, |media, &pbn| {
            pages.extend(summaries.scan(media, pbn)?);
            Ok::<_, FtlError>(())
        })?;
        Ok(Self { pages })
    }

    /// The newest content of each logical page, of host data and trims.
    pub fn newest(&self, logical_pages: u32) -> Vec<Option<Newest>> {
        let mut newest: Vec<Option<Newest>> = vec![None; logical_pages as usize];
        for &(ppn, tag) in self.pages.iter().filter(|(_, tag)| !tag.role.is_translation()) {
            let page = (tag.role != Role::Trimmed).then_some(ppn);
            let end = tag.logical.saturating_add(tag.extent).min(logical_pages);
            for slot in newest.get_mut(tag.logical as usize..end as usize).into_iter().flatten() {
                if slot.is_none_or(|found| found.version < tag.version) {
                    *slot = Some(Newest { version: tag.version, page });
                }
            }
        }
        newest
    }

    /// Where the newest content of logical pages lies in shared log blocks.
    pub fn newest_in_log(&self, newest: &[Option<Newest>]) -> Vec<(Lpn, Ppn)> {
        let in_log = self.pages.iter().filter(|(_, tag)| tag.is_in_shared_log() && tag.role != Role::Trimmed);
        in_log
            .filter(|(_, tag)| Self::holds_newest(tag, newest))
            .map(|(ppn, tag)| (Lpn::new(tag.logical), *ppn))
            .collect()
    }

    /// For each page, whether it holds the newest content of a logical page that it speaks of.
    pub fn holds_newest(tag: &Tag, newest: &[Option<Newest>]) -> bool {
        let end = tag.logical.saturating_add(tag.extent).min(newest.len() as u32);
        let covered = newest.get(tag.logical as usize..end as usize).unwrap_or_default();
        covered.iter().flatten().any(|found| found.version == tag.version)
    }

    /// One page for each newest content of host data and trims. Where a cut left a page in two places, a block is given up
    /// whose needed pages all lie elsewhere too: so a collection that was cut does not cost its die the free block that the
    /// next collection needs.
    pub fn keep_one_copy(&self, layout: &Layout, newest: &[Option<Newest>]) -> Kept {
        let needed = |tag: &Tag| !tag.role.is_translation() && Self::holds_newest(tag, newest);
        let mut copies: BTreeMap<u64, u32> = BTreeMap::new();
        for (_, tag) in self.pages.iter().filter(|(_, tag)| needed(tag)) {
            *copies.entry(tag.version).or_default() += 1;
        }
        let mut kept = Vec::new();
        for (_, pages) in self.blocks(layout) {
            let pages: Vec<_> = pages.iter().copied().filter(|(_, tag)| needed(tag)).collect();
            let given_up = pages.iter().all(|(_, tag)| copies.get(&tag.version).is_some_and(|&copies| copies > 1));
            if given_up {
                for (_, tag) in &pages {
                    copies.entry(tag.version).and_modify(|copies| *copies -= 1);
                }
            } else {
                kept.extend(pages);
            }
        }
        // Data before trims.
        kept.sort_by_key(|(ppn, tag)| (tag.role == Role::Trimmed, *ppn));
        let (mut seen, mut contradicted) = (BTreeMap::new(), Vec::new());
        kept.retain(|(_, tag)| match seen.insert(tag.version, tag.role) {
            None => true,
            Some(role) => {
                if tag.role == Role::Trimmed && role != Role::Trimmed {
                    contradicted.push(Lpn::new(tag.logical));
                }
                false
            }
        });
        Kept { pages: kept, contradicted, outdated: self.outdated(newest) }
    }

    /// These blocks without those whose needed pages all lie in others of them too.
    pub fn without_copies(&self, layout: &Layout, newest: &[Option<Newest>], mut blocks: Vec<Pbn>) -> Vec<Pbn> {
        let needed = |pages: &[(Ppn, Tag)]| -> Vec<u64> {
            pages.iter().filter(|(_, tag)| Self::holds_newest(tag, newest)).map(|(_, tag)| tag.version).collect()
        };
        let versions: BTreeMap<Pbn, Vec<u64>> = self
            .blocks(layout)
            .filter(|(pbn, _)| blocks.contains(pbn))
            .map(|(pbn, pages)| (pbn, needed(pages)))
            .collect();
        for candidate in blocks.clone() {
            let others = || blocks.iter().filter(|&&pbn| pbn != candidate);
            let is_elsewhere = |version: &u64| others().any(|other| versions[other].contains(version));
            // A block without anything needed may be that for other reasons, and leaves the log in its turn.
            if !versions[&candidate].is_empty() && versions[&candidate].iter().all(is_elsewhere) {
                blocks.retain(|&pbn| pbn != candidate);
            }
        }
        blocks
    }

    /// Logical pages of which data older than the newest content lies about.
    fn outdated(&self, newest: &[Option<Newest>]) -> Vec<Lpn> {
        let data = self.pages.iter().filter(|(_, tag)| !tag.role.is_translation() && tag.role != Role::Trimmed);
        let old = data.filter(|(_, tag)| {
            newest.get(tag.logical as usize).copied().flatten().is_some_and(|found| found.version > tag.version)
        });
        old.map(|(_, tag)| Lpn::new(tag.logical)).collect()
    }

    /// The tags of each block, as slices in address order.
    pub fn blocks<'a>(&'a self, layout: &'a Layout) -> impl Iterator<Item = (Pbn, &'a [(Ppn, Tag)])> {
        self.pages
            .chunk_by(|a, b| layout.geometry.block_of(a.0) == layout.geometry.block_of(b.0))
            .map(|pages| (layout.geometry.block_of(pages[0].0), pages))
    }
}
