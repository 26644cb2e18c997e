//! The learned segments of a group of logical pages, in levels as in a log-structured table, and
//! the group's conflict-resolution buffer.
//!
//! ```text
//!   level 0   [── new ──]      [ … ]        spans within a level never overlap
//!   level 1      [──── older ────]          a lookup takes the first segment that has the page
//!   level 2   [ … ]      [ … ]
//!   buffer    3 5 6 9 | 40 41 47            members of approximate segments, by their first one
//! ```
//!
//! New segments come to level 0. Older ones there lose the members that the new one has; if their
//! span still overlaps, they go down a level, and if they overlap there, to a new level in between:
//! so of two segments that overlap, the newer is above. An accurate segment cannot list gaps: a
//! member inside its span that it has lost is found above it first. What is trimmed is not found
//! above, so it is cut out of every segment, and an accurate one may become two.

use crate::schemes::leaftl::offsets::Offsets;
use crate::schemes::leaftl::segment::Segment;

/// What a group takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct GroupSize {
    /// Segments.
    pub(super) segments: u64,
    /// Approximate ones among them.
    pub(super) approximate: u64,
    /// Bytes of the conflict-resolution buffer: one for each member, and one that ends each list.
    pub(super) buffer_bytes: u64,
    /// Levels.
    pub(super) levels: u64,
}

impl GroupSize {
    /// RAM for all of it.
    pub(super) fn ram_bytes(&self) -> u64 {
        self.segments * Segment::BYTES + self.buffer_bytes + self.levels
    }
}

/// The segments of a group.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    /// From the newest on; each in the order of starts.
    levels: Vec<Vec<Segment>>,
    /// Members of each approximate segment, in order: no offset stands twice, so the first member
    /// tells whose list it is.
    buffer: Vec<Vec<u8>>,
}

impl Group {
    /// What it takes.
    pub(super) fn size(&self) -> GroupSize {
        GroupSize {
            segments: self.levels.iter().map(|level| level.len() as u64).sum(),
            approximate: self.buffer.len() as u64,
            buffer_bytes: self.buffer.iter().map(|list| list.len() as u64 + 1).sum(),
            levels: self.levels.len() as u64,
        }
    }

    /// The segment that maps an offset, if one does.
    #[inline]
    pub(super) fn find(&self, offset: u8) -> Option<Segment> {
        self.levels.iter().find_map(|level| {
            let after = level.partition_point(|segment| segment.start <= offset);
            let segment = *level[..after].last()?;
            self.has(segment, offset).then_some(segment)
        })
    }

    /// Whether an offset is a member of a segment.
    fn has(&self, segment: Segment, offset: u8) -> bool {
        if !segment.is_approximate() {
            return segment.strides_over(offset);
        }
        segment.spans(offset) && self.list_of(segment).is_some_and(|list| list.binary_search(&offset).is_ok())
    }

    fn list_of(&self, segment: Segment) -> Option<&[u8]> {
        self.buffer.iter().find(|list| list[0] == segment.start).map(Vec::as_slice)
    }

    /// Members of a segment; of an accurate one also those that it has lost inside its span.
    fn members(&self, segment: Segment) -> Offsets {
        if segment.is_approximate() {
            return self.list_of(segment).unwrap_or_default().iter().copied().collect();
        }
        (segment.start..=segment.end()).filter(|&offset| segment.strides_over(offset)).collect()
    }

    /// Adds a segment that maps these offsets from now on.
    pub(super) fn insert(&mut self, segment: Segment, offsets: &[u8]) {
        debug_assert_eq!((offsets[0], offsets[offsets.len() - 1]), (segment.start, segment.end()));
        let taken: Offsets = offsets.iter().copied().collect();
        if segment.is_approximate() {
            // An offset stands once in the buffer, wherever its segment is.
            for level in 0..self.levels.len() {
                let segments = std::mem::take(&mut self.levels[level]);
                let left = |old: Segment| if old.is_approximate() { self.without(old, &taken) } else { Some(old) };
                self.levels[level] = segments.into_iter().filter_map(left).collect();
            }
            self.buffer.push(offsets.to_vec());
        }
        if self.levels.is_empty() {
            self.levels.push(Vec::new());
        }
        let top = &mut self.levels[0];
        let from = top.partition_point(|old| old.end() < segment.start);
        let to = top.partition_point(|old| old.start <= segment.end());
        let overlapped: Vec<_> = top.drain(from..to).collect();
        let mut below = Vec::new();
        for left in overlapped.into_iter().filter_map(|old| self.without(old, &taken)).collect::<Vec<_>>() {
            if left.overlaps(segment) {
                below.push(left);
            } else {
                insert_in_order(&mut self.levels[0], left);
            }
        }
        insert_in_order(&mut self.levels[0], segment);
        self.push_down(below);
        self.levels.retain(|level| !level.is_empty());
    }

    /// Moves segments that were in level 0 to level 1, or where they overlap another there, to a
    /// new level before it.
    fn push_down(&mut self, segments: Vec<Segment>) {
        let mut between = Vec::new();
        for segment in segments {
            match self.levels.get_mut(1) {
                Some(level) if !level.iter().any(|other| other.overlaps(segment)) => insert_in_order(level, segment),
                _ => between.push(segment),
            }
        }
        if !between.is_empty() {
            self.levels.insert(1, between);
        }
    }

    /// The rest of a segment without these offsets, from its first to its last member; the buffer
    /// is told.
    fn without(&mut self, segment: Segment, taken: &Offsets) -> Option<Segment> {
        if segment.is_approximate() {
            let at = self.buffer.iter().position(|list| list[0] == segment.start)?;
            self.buffer[at].retain(|&offset| !taken.contains(offset));
            let (first, last) = match self.buffer[at][..] {
                [] => {
                    self.buffer.swap_remove(at);
                    return None;
                }
                [first, .., last] => (first, last),
                [only] => (only, only),
            };
            return Some(segment.between(first, last));
        }
        let mut left =
            (segment.start..=segment.end()).filter(|&offset| segment.strides_over(offset) && !taken.contains(offset));
        let first = left.next()?;
        Some(segment.between(first, left.next_back().unwrap_or(first)))
    }

    /// Maps an offset no longer.
    pub(super) fn remove(&mut self, offset: u8) {
        let taken: Offsets = [offset].into_iter().collect();
        for level in 0..self.levels.len() {
            let after = self.levels[level].partition_point(|segment| segment.start <= offset);
            let Some(at) = after.checked_sub(1) else { continue };
            let segment = self.levels[level][at];
            if !self.has(segment, offset) {
                continue;
            }
            if segment.is_approximate() || offset == segment.start || offset == segment.end() {
                let left = self.without(segment, &taken);
                self.levels[level].splice(at..=at, left);
            } else {
                let [before, behind] = [offset - segment.stride(), offset + segment.stride()];
                let halves = [segment.between(segment.start, before), segment.between(behind, segment.end())];
                self.levels[level].splice(at..=at, halves);
            }
        }
        self.levels.retain(|level| !level.is_empty());
    }

    /// Takes from each segment the members that others above it map, drops those that map nothing
    /// then, and lifts each to the highest level at which no newer one overlaps it.
    pub(super) fn compact(&mut self) {
        let mut covered = Offsets::default();
        let mut levels: Vec<Vec<Segment>> = Vec::new();
        for segment in std::mem::take(&mut self.levels).into_iter().flatten() {
            let Some(left) = self.without(segment, &covered) else { continue };
            covered = covered.union(&self.members(left));
            let above = levels.iter().rposition(|level| level.iter().any(|newer| newer.overlaps(left)));
            let level = above.map_or(0, |above| above + 1);
            if level == levels.len() {
                levels.push(Vec::new());
            }
            insert_in_order(&mut levels[level], left);
        }
        self.levels = levels;
    }

    /// The levels as they lie in RAM: start, length, slope and intercept of each segment.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> Vec<Vec<[u8; 8]>> {
        self.levels.iter().map(|level| level.iter().map(|segment| segment.bytes()).collect()).collect()
    }

    /// The lists of the buffer.
    #[cfg(test)]
    pub(super) fn lists(&self) -> &[Vec<u8>] {
        &self.buffer
    }

    /// What is wrong with it, if anything is.
    pub(super) fn fault(&self) -> Option<String> {
        let is_in_order = |level: &Vec<Segment>| level.windows(2).all(|pair| pair[0].end() < pair[1].start);
        if let Some(level) = self.levels.iter().find(|level| level.is_empty() || !is_in_order(level)) {
            return Some(format!("a level is empty or overlaps itself: {level:?}"));
        }
        let mut listed: Vec<u8> = self.buffer.iter().flatten().copied().collect();
        let all = listed.len();
        listed.sort_unstable();
        listed.dedup();
        if listed.len() != all {
            return Some(format!("an offset stands twice in {:?}", self.buffer));
        }
        let approximate = || self.levels.iter().flatten().copied().filter(|segment| segment.is_approximate());
        let ends = |segment: Segment| self.list_of(segment).and_then(|list| list.last().copied());
        match approximate().find(|&segment| ends(segment) != Some(segment.end())) {
            Some(segment) => Some(format!("{segment:?} is not what is listed in {:?}", self.buffer)),
            None if approximate().count() != self.buffer.len() => {
                Some(format!("no segment has one of {:?}", self.buffer))
            }
            None => None,
        }
    }
}

/// Inserts a segment into a level in which it overlaps none.
fn insert_in_order(level: &mut Vec<Segment>, segment: Segment) {
    let at = level.partition_point(|other| other.start < segment.start);
    level.insert(at, segment);
}
