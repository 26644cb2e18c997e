//! How evenly blocks were erased.

use crate::result::Erases;

/// Bins of the histogram of erase counts: enough for a bar chart, whatever the counts.
const BINS: u32 = 40;

/// Erases of good blocks between two looks at their counts, block by block in the same order.
pub fn erases(before: &[u32], after: &[u32]) -> Erases {
    let counts: Vec<u32> = after.iter().zip(before).map(|(after, before)| after - before).collect();
    let blocks = counts.len().max(1) as f64;
    let total: u64 = counts.iter().copied().map(u64::from).sum();
    let mean = total as f64 / blocks;
    let variance = counts.iter().map(|&count| (f64::from(count) - mean).powi(2)).sum::<f64>() / blocks;
    let min = counts.iter().copied().min().unwrap_or(0);
    let max = counts.iter().copied().max().unwrap_or(0);
    Erases { total, mean, std: variance.sqrt(), min, max, histogram: histogram(&counts, min, max) }
}

fn histogram(counts: &[u32], min: u32, max: u32) -> Vec<(u32, u32, u64)> {
    let width = ((max - min) / BINS + 1).max(1);
    let mut bins: Vec<_> = (min..=max).step_by(width as usize).map(|low| (low, low + width - 1, 0)).collect();
    for count in counts {
        bins[((count - min) / width) as usize].2 += 1;
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn erases_before_the_measurement_do_not_count() {
        let erases = erases(&[1, 1, 5, 0], &[1, 3, 7, 4]);
        assert_eq!((erases.total, erases.min, erases.max), (8, 0, 4));
        assert!((erases.mean - 2.0).abs() < 1e-12 && (erases.std - 2.0_f64.sqrt()).abs() < 1e-12);
        assert_eq!(erases.histogram, [(0, 0, 1), (1, 1, 0), (2, 2, 2), (3, 3, 0), (4, 4, 1)]);
    }

    #[test]
    fn a_histogram_has_few_bins_and_every_block_is_in_one() {
        for spread in [0, 1, 39, 40, 41, 1000, 1_000_003] {
            let counts: Vec<u32> = (0..=100).map(|i| 7 + spread * i / 100).collect();
            let erases = erases(&vec![0; counts.len()], &counts);
            assert!(erases.histogram.len() <= BINS as usize + 1, "{}", erases.histogram.len());
            assert_eq!(erases.histogram.iter().map(|bin| bin.2).sum::<u64>(), 101);
            assert!(erases.histogram.windows(2).all(|pair| pair[0].1 + 1 == pair[1].0));
        }
    }
}
