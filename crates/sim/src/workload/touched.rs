//! The set of pages that a workload touches.

use std::ops::Range;

use roaring::RoaringTreemap;

/// The pages that have a bit of their own: 64 M, in 8 MiB. Most workloads touch no others.
const LOW: u64 = 1 << 26;

/// Pages that are read or written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Touched {
    /// A bit for each page from 0 on.
    low: Vec<u64>,
    /// Further pages.
    high: RoaringTreemap,
}

impl Touched {
    pub(crate) fn insert(&mut self, pages: Range<u64>) {
        if pages.end > LOW {
            self.high.insert_range(pages.start.max(LOW)..pages.end);
        }
        let end = pages.end.min(LOW);
        let words = end.div_ceil(64) as usize;
        if words > self.low.len() {
            self.low.resize(words.next_power_of_two(), 0);
        }
        for page in pages.start..end {
            self.low[(page / 64) as usize] |= 1 << (page % 64);
        }
    }

    /// All of them, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u64> {
        let of_word = |(word, bits): (u64, &u64)| {
            let bits = *bits;
            (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| word * 64 + bit)
        };
        (0..).zip(&self.low).filter(|(_, bits)| **bits != 0).flat_map(of_word).chain(&self.high)
    }
}

impl From<RoaringTreemap> for Touched {
    fn from(pages: RoaringTreemap) -> Self {
        Self { low: Vec::new(), high: pages }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_told_once_and_ascending_wherever_they_lie() {
        let mut touched = Touched::default();
        let ranges = [5..8, 0..1, 7..70, LOW - 2..LOW + 2, 1 << 40..(1 << 40) + 1, 63..64, 9..9];
        for range in ranges.clone() {
            touched.insert(range);
        }
        let expected: std::collections::BTreeSet<u64> = ranges.into_iter().flatten().collect();
        assert_eq!(touched.iter().collect::<Vec<_>>(), expected.into_iter().collect::<Vec<_>>());
    }
}
