//! Which block is a logical block's home, when a power cut left several that claim it.
//!
//! A claim is a block whose pages say that they belong to a logical block at their own offsets: its
//! data block, a fresh block that a merge or a rewrite was filling, or a sequential log block. What
//! one of them holds is *needed* if no newer version exists anywhere and no shared log page has the
//! same one. Every interrupted copy has its original still in place, because originals are erased
//! last; so some claims can always be given up without losing anything.

use std::collections::BTreeMap;

use flash::{Lbn, Lpn, Pbn, Ppn, Tag};

use crate::api::layout::Layout;
use crate::recovery::scan::{DeviceScan, NewestCopy};

/// A block that claims a logical block.
#[derive(Clone, Debug)]
pub struct BlockClaim {
    /// The physical block that claims it.
    pub block: Pbn,
    /// Sequence number of the first program in it.
    pub first_seq: u64,
    /// Its pages: logical page → (place, version).
    pub pages: BTreeMap<u32, (Ppn, u64)>,
}

impl BlockClaim {
    /// Whether a claim holds a logical page in this version or a newer one.
    fn has(&self, logical: u32, version: u64) -> bool {
        self.pages.get(&logical).is_some_and(|&(_, own)| own >= version)
    }

    /// Whether everything that another claim holds, and that `needed` says is needed, is here too.
    pub fn covers(&self, other: &Self, needed: &dyn Fn(u32, u64) -> bool) -> bool {
        other.pages.iter().all(|(&logical, &(_, version))| !needed(logical, version) || self.has(logical, version))
    }
}

/// The claims on each logical block, oldest first, and the shared log blocks in the order in which
/// they were filled.
pub struct BlockClaims {
    /// By logical block.
    pub by_block: BTreeMap<Lbn, Vec<BlockClaim>>,
    /// Shared log blocks.
    pub log: Vec<Pbn>,
}

impl BlockClaims {
    /// Sorts the blocks of a device. Where damage has mixed the pages of two logical blocks in one
    /// block, those that are not at their own offsets are no part of its claim: nobody would find
    /// them there.
    pub fn of(scanned: &DeviceScan, layout: &Layout) -> Self {
        let mut by_block: BTreeMap<Lbn, Vec<BlockClaim>> = BTreeMap::new();
        let mut log = Vec::new();
        for (block, pages) in scanned.blocks(layout) {
            let first_seq = pages.iter().map(|(_, tag)| tag.seq).min().unwrap_or(0);
            match owner(pages) {
                Some(lbn) => {
                    let in_place = pages.iter().filter(|(ppn, tag)| {
                        let (of, offset) = layout.geometry.split_logical(Lpn::new(tag.logical));
                        of == lbn && layout.geometry.page(block, offset) == *ppn
                    });
                    let pages = in_place.map(|(ppn, tag)| (tag.logical, (*ppn, tag.version))).collect();
                    by_block.entry(lbn).or_default().push(BlockClaim { block, first_seq, pages });
                }
                None => log.push((first_seq, block)),
            }
        }
        for claims in by_block.values_mut() {
            claims.sort_by_key(|claim| claim.first_seq);
        }
        log.sort_unstable();
        Self { by_block, log: log.into_iter().map(|(_, block)| block).collect() }
    }
}

/// The logical block that a block belongs to; none for a shared log block.
fn owner(pages: &[(Ppn, Tag)]) -> Option<Lbn> {
    let shared = pages.iter().any(|(_, tag)| tag.is_in_shared_log());
    if shared { None } else { pages.first().and_then(|(_, tag)| tag.owner) }
}

/// The claims of one logical block that must be kept together hold all that is needed; the others
/// can be given up. The first list has one claim whenever one suffices, and then the latest such.
pub fn separate(claims: Vec<BlockClaim>, needed: &dyn Fn(u32, u64) -> bool) -> (Vec<BlockClaim>, Vec<BlockClaim>) {
    let suffices = |claim: &BlockClaim| claims.iter().all(|other| claim.covers(other, needed));
    if let Some(best) = claims.iter().rposition(suffices) {
        let mut rest = claims;
        let kept = vec![rest.remove(best)];
        return (kept, rest);
    }
    let (mut kept, mut given_up) = (claims, Vec::new());
    let mut at = kept.len();
    while at > 0 {
        at -= 1;
        let redundant = kept[at].pages.iter().all(|(&logical, &(_, version))| {
            !needed(logical, version)
                || kept.iter().enumerate().any(|(i, claim)| i != at && claim.has(logical, version))
        });
        if redundant {
            given_up.push(kept.remove(at));
        }
    }
    (kept, given_up)
}

/// A page of a home that cannot be read, and where a given-up claim holds the same.
pub struct ReadableCopy {
    /// The logical page that cannot be read.
    pub lpn: Lpn,
    /// The other place.
    pub at: Ppn,
}

/// Under a pure block map, the claim that is the truth: a rewrite that did not finish was never
/// acknowledged, so it is the block before it until the new one has everything. With it, what it
/// holds of tags alone and another claim holds whole.
pub fn finished(
    claims: &[BlockClaim],
    scanned: &DeviceScan,
    layout: &Layout,
) -> Option<(BlockClaim, Vec<ReadableCopy>)> {
    let later = |home: BlockClaim, later: BlockClaim| if later.covers(&home, &|_, _| true) { later } else { home };
    let home = claims.iter().cloned().reduce(later)?;
    let left_out = scanned.left_out.iter().filter(|(ppn, _)| layout.geometry.block_of(*ppn) == home.block);
    let twins = left_out.filter_map(|(_, tag)| {
        let mut places = claims.iter().filter_map(|claim| claim.pages.get(&tag.logical));
        let at = places.find(|(_, version)| *version == tag.version)?.0;
        Some(ReadableCopy { lpn: Lpn::new(tag.logical), at })
    });
    let twins = twins.collect();
    Some((home, twins))
}

/// What is needed of the claims' pages: the newest version of each logical page, unless a shared
/// log page holds it as well.
pub fn needed<'a>(newest: &'a [Option<NewestCopy>], in_log: &'a [bool]) -> impl Fn(u32, u64) -> bool + 'a {
    move |logical, version| {
        let newest = newest.get(logical as usize).copied().flatten();
        newest.is_some_and(|newest| newest.version == version && newest.page.is_some()) && !in_log[logical as usize]
    }
}
