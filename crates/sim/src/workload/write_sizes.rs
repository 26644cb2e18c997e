//! Sizes of a workload's writes: a sample of all of them, in constant memory.
//!
//! A page-mapped drive's map costs less the more neighbours are moved together, and neighbours lie
//! together because one request wrote them. So a preparation that is to end where the workload
//! would lead writes in the workload's sizes.

use random::SeededRng;

/// Sizes in a sample, at most: the shares of sizes are known to about 2 %.
const MOST: usize = 2048;

/// Pages of a write, and its first page modulo that number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WriteSize {
    pub(crate) pages: u32,
    pub(crate) phase: u32,
}

/// Sizes of writes, each write as likely in the sample as any other.
#[derive(Clone, Debug)]
pub(crate) struct WriteSizes {
    sample: Vec<WriteSize>,
    writes: u64,
    random: SeededRng,
}

impl Default for WriteSizes {
    fn default() -> Self {
        Self { sample: Vec::new(), writes: 0, random: SeededRng::named(0, "write sizes") }
    }
}

impl WriteSizes {
    /// Adds a write of some pages.
    pub(crate) fn add(&mut self, first: u64, pages: u64) {
        if pages == 0 {
            return;
        }
        self.writes += 1;
        let pages = pages.min(u32::MAX.into());
        let size = WriteSize { pages: pages as u32, phase: (first % pages) as u32 };
        if self.sample.len() < MOST {
            self.sample.push(size);
        } else if let Some(replaced) = self.sample.get_mut(self.random.below(self.writes) as usize) {
            *replaced = size;
        }
    }

    /// Of all sizes as many as their shares ask for; one where all are alike, single pages where
    /// there are none.
    pub(crate) fn finish(mut self) -> Box<[WriteSize]> {
        if self.sample.is_empty() {
            self.sample.push(WriteSize { pages: 1, phase: 0 });
        }
        let first = self.sample[0];
        if self.sample.iter().all(|&size| size == first) {
            self.sample.truncate(1);
        }
        self.sample.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sample_keeps_the_shares_of_sizes_in_bounded_memory() {
        let mut sizes = WriteSizes::default();
        for write in 0..1_000_000_u64 {
            // Three of ten are long.
            let pages = if (write * 7) % 10 < 3 { 8 } else { 1 };
            sizes.add(8 * write + 2, pages);
        }
        let sample = sizes.finish();
        assert_eq!(sample.len(), MOST);
        let long = sample.iter().filter(|&&size| size == WriteSize { pages: 8, phase: 2 }).count();
        let share = long as f64 / sample.len() as f64;
        assert!((share - 0.3).abs() < 0.03, "{share}");
    }

    #[test]
    fn equal_sizes_are_one_and_none_are_single_pages() {
        let mut sizes = WriteSizes::default();
        (0..5000).for_each(|write| sizes.add(8 * write, 8));
        assert_eq!(sizes.finish()[..], [WriteSize { pages: 8, phase: 0 }]);
        assert_eq!(WriteSizes::default().finish()[..], [WriteSize { pages: 1, phase: 0 }]);
    }
}
