//! The learned map: the segments of all groups of logical pages.
//!
//! It is told of pages that were written together ([`LearnedTable::learn`]) and predicts where a
//! logical page lies. RAM is counted as it changes: 8 B a segment, 1 B for each member of an
//! approximate one and 1 B to end its list, 1 B a level, and for each group two addresses of 4 B.

use flash::{Lpn, Ppn};

use crate::schemes::leaftl::group::{Group, GroupSize};
use crate::schemes::leaftl::regression::{ErrorBound, Point, first_segment};
use crate::schemes::leaftl::segment::{GROUP_PAGES, Segment};

/// RAM of a group that maps nothing: where its levels and its buffer lie.
const GROUP_BYTES: u64 = 8;

/// RAM of a group beyond which it is compacted at once: 8 B for each of its pages, as in a plain
/// map. With less, a group of random pages would be compacted at each write; with more, a map of
/// random pages would outgrow the plain one.
const MOST_GROUP_BYTES: u64 = 8 * GROUP_PAGES as u64;

/// Where a logical page is said to lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Prediction {
    /// The page, or one that is no further from it than the error bound.
    pub(super) page: Ppn,
    /// Whether it is the page for sure.
    pub(super) is_accurate: bool,
}

/// The learned map of a device.
#[derive(Clone, Debug)]
pub(super) struct LearnedTable {
    groups: Vec<Group>,
    logical_pages: u32,
    error_bound: u32,
    pages_per_block: u32,
    size: GroupSize,
    points: Vec<Point>,
}

impl LearnedTable {
    /// A map of nothing.
    pub(super) fn new(logical_pages: u32, pages_per_block: u32, error_bound: u32) -> Self {
        Self {
            groups: vec![Group::default(); logical_pages.div_ceil(GROUP_PAGES) as usize],
            logical_pages,
            error_bound,
            pages_per_block,
            size: GroupSize::default(),
            points: Vec::new(),
        }
    }

    /// Logical pages of the device.
    pub(super) fn logical_pages(&self) -> u32 {
        self.logical_pages
    }

    /// Pages by which a prediction may be off.
    pub(super) fn error_bound(&self) -> u32 {
        self.error_bound
    }

    /// Where a logical page is said to lie; nothing for one that is not mapped.
    #[inline]
    pub(super) fn find(&self, lpn: Lpn) -> Option<Prediction> {
        let (group, offset) = place_of(lpn);
        let segment = self.groups[group].find(offset)?;
        Some(Prediction { page: Ppn::new(segment.page(offset)), is_accurate: !segment.is_approximate() })
    }

    /// Maps logical pages that were written together, in the order in which they were. Those that
    /// stand in one block in the order of their numbers become segments.
    pub(super) fn learn(&mut self, written: &[(Lpn, Ppn)]) {
        self.learn_within(written, ErrorBound { pages: self.error_bound, is_behind: false });
    }

    /// Maps logical pages that recovery found, in the order of their physical pages. Which of them
    /// were written together is not known, so only what a tag knows of the pages before its own is
    /// relied on: predictions are behind the page.
    pub(super) fn learn_found(&mut self, found: &[(Lpn, Ppn)]) {
        self.learn_within(found, ErrorBound { pages: self.error_bound, is_behind: true });
    }

    fn learn_within(&mut self, mut pages: &[(Lpn, Ppn)], bound: ErrorBound) {
        while !pages.is_empty() {
            let follows = |pair: &&[(Lpn, Ppn)]| self.follows(pair[0], pair[1]);
            let count = 1 + pages.windows(2).take_while(follows).count();
            let (together, rest) = pages.split_at(count);
            self.learn_piece(together, bound);
            pages = rest;
        }
    }

    /// Whether a page can be in one segment with the page before it: in the same group, further on
    /// in the same block.
    fn follows(&self, before: (Lpn, Ppn), page: (Lpn, Ppn)) -> bool {
        let ((lpn, ppn), (next_lpn, next_ppn)) = (before, page);
        place_of(lpn).0 == place_of(next_lpn).0
            && ppn.get() / self.pages_per_block == next_ppn.get() / self.pages_per_block
            && next_lpn > lpn
            && next_ppn > ppn
    }

    fn learn_piece(&mut self, pages: &[(Lpn, Ppn)], bound: ErrorBound) {
        let group = place_of(pages[0].0).0;
        let mut points = std::mem::take(&mut self.points);
        points.clear();
        points.extend(pages.iter().map(|&(lpn, ppn)| Point { offset: place_of(lpn).1, page: ppn.get() }));
        self.change(group, |group| {
            let mut rest = &points[..];
            while !rest.is_empty() {
                let (segment, count) = first_segment(rest, bound);
                let offsets: Vec<u8> = rest[..count].iter().map(|point| point.offset).collect();
                group.insert(segment, &offsets);
                rest = &rest[count..];
            }
        });
        self.points = points;
    }

    /// Maps a logical page no longer.
    pub(super) fn forget(&mut self, lpn: Lpn) {
        let (group, offset) = place_of(lpn);
        self.change(group, |group| group.remove(offset));
    }

    /// Drops what newer segments have superseded, in every group.
    pub(super) fn compact(&mut self) {
        for group in 0..self.groups.len() {
            self.change(group, Group::compact);
        }
    }

    /// Changes a group, compacts one that takes more than it may, and counts what it takes from
    /// then on.
    fn change(&mut self, group: usize, change: impl FnOnce(&mut Group)) {
        let group = &mut self.groups[group];
        let before = group.size();
        change(group);
        if group.size().ram_bytes() > MOST_GROUP_BYTES {
            group.compact();
        }
        let after = group.size();
        for (sum, before, after) in [
            (&mut self.size.segments, before.segments, after.segments),
            (&mut self.size.approximate, before.approximate, after.approximate),
            (&mut self.size.buffer_bytes, before.buffer_bytes, after.buffer_bytes),
            (&mut self.size.levels, before.levels, after.levels),
        ] {
            *sum = *sum + after - before;
        }
    }

    /// What all groups take.
    pub(super) fn size(&self) -> GroupSize {
        self.size
    }

    /// RAM of the segments.
    pub(super) fn segment_bytes(&self) -> u64 {
        self.size.segments * Segment::BYTES
    }

    /// RAM of where levels and buffers lie.
    pub(super) fn directory_bytes(&self) -> u64 {
        self.groups.len() as u64 * GROUP_BYTES + self.size.levels
    }

    /// RAM of all that it consists of.
    pub(super) fn ram_bytes(&self) -> u64 {
        self.groups.len() as u64 * GROUP_BYTES + self.size.ram_bytes()
    }

    /// What is wrong with it, if anything is.
    pub(super) fn fault(&self) -> Option<String> {
        let mut counted = GroupSize::default();
        for (number, group) in self.groups.iter().enumerate() {
            if let Some(fault) = group.fault() {
                return Some(format!("group {number}: {fault}"));
            }
            let size = group.size();
            counted.segments += size.segments;
            counted.approximate += size.approximate;
            counted.buffer_bytes += size.buffer_bytes;
            counted.levels += size.levels;
        }
        (counted != self.size).then(|| format!("{:?} is counted, and there is {counted:?}", self.size))
    }
}

/// The group of a logical page, and its offset there.
#[inline]
fn place_of(lpn: Lpn) -> (usize, u8) {
    ((lpn.get() / GROUP_PAGES) as usize, (lpn.get() % GROUP_PAGES) as u8)
}

#[cfg(test)]
mod tests;
