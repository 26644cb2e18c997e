//! Erase counts of the blocks of a device: how many, and how far they lie apart.

use flash::{Flash, Pbn};

use super::map;
use crate::result::{Erases, WearMap};

/// Bins of the histogram of erase counts: enough for a bar chart, whatever the counts.
const BINS: u32 = 40;

/// The blocks that were good when the device was new, and their erase counts when measurement
/// began. A block that fails in between stays among them, or counts before and after would not be
/// of the same blocks.
pub(crate) struct Wear {
    blocks: Vec<Pbn>,
    begin: Vec<u32>,
    /// The same as [`counts`](Self::counts) has it.
    begin_worn: Vec<u32>,
    /// What the preparation wore.
    prepared: Vec<u32>,
    begin_pslc: u64,
    /// What an erase out of pSLC mode wears, where any other one wears 1.
    pslc_weight: f64,
}

/// How far erase counts lie apart.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Spread {
    /// Standard deviation over blocks.
    pub(crate) std: f64,
    /// The most of a block.
    pub(crate) max: u32,
}

impl Wear {
    /// The device is prepared now, and measurement begins; its blocks survive this many erases, and
    /// out of pSLC mode this many.
    pub(crate) fn new(blocks: Vec<Pbn>, chip: &(impl Flash + ?Sized), [limit, pslc_limit]: [u32; 2]) -> Self {
        let begin = blocks.iter().map(|&pbn| chip.erase_count(pbn)).collect();
        let pslc_weight = f64::from(limit) / f64::from(pslc_limit);
        let begin_worn = vec![0; blocks.len()];
        let wear = Self { blocks, begin, begin_worn, prepared: Vec::new(), begin_pslc: 0, pslc_weight };
        Self { prepared: wear.worn(chip).collect(), begin_pslc: wear.pslc_erases(chip), ..wear }
    }

    /// Measurement begins now, on a device that was prepared before.
    pub(crate) fn restart(&self, chip: &(impl Flash + ?Sized)) -> Self {
        let (blocks, prepared, pslc_weight) = (self.blocks.clone(), self.prepared.clone(), self.pslc_weight);
        let begin = blocks.iter().map(|&pbn| chip.erase_count(pbn)).collect();
        let (begin_worn, begin_pslc) = (self.counts(chip), self.pslc_erases(chip));
        Self { blocks, begin, begin_worn, prepared, begin_pslc, pslc_weight }
    }

    /// Erases of each block since the device was prepared; those out of pSLC mode by their wear.
    pub(crate) fn counts(&self, chip: &(impl Flash + ?Sized)) -> Vec<u32> {
        self.worn(chip).zip(&self.prepared).map(|(worn, &prepared)| worn - prepared).collect()
    }

    /// Erases of each block over the device's life.
    fn worn<'a>(&'a self, chip: &'a (impl Flash + ?Sized)) -> impl Iterator<Item = u32> + 'a {
        let worn = move |&pbn: &Pbn| match (chip.erase_count(pbn), chip.pslc_erase_count(pbn)) {
            (erases, 0) => erases,
            (erases, pslc) => erases - pslc + (f64::from(pslc) * self.pslc_weight).round() as u32,
        };
        self.blocks.iter().map(worn)
    }

    fn pslc_erases(&self, chip: &(impl Flash + ?Sized)) -> u64 {
        self.blocks.iter().map(|&pbn| u64::from(chip.pslc_erase_count(pbn))).sum()
    }

    /// Erases of each block since measurement began.
    fn erased<'a>(&'a self, chip: &'a (impl Flash + ?Sized)) -> impl Iterator<Item = u32> + 'a {
        self.blocks.iter().zip(&self.begin).map(|(&pbn, before)| chip.erase_count(pbn) - before)
    }

    /// The blocks, in the order of [`counts`](Self::counts).
    pub(crate) fn blocks(&self) -> &[Pbn] {
        &self.blocks
    }

    /// The [`counts`](Self::counts) when measurement began.
    pub(crate) fn initial_counts(&self) -> &[u32] {
        &self.begin_worn
    }

    /// How far the erases since measurement began lie apart.
    pub(crate) fn spread(&self, chip: &(impl Flash + ?Sized)) -> Spread {
        let sums = Sums::of(self.erased(chip));
        Spread { std: sums.std(), max: sums.max }
    }

    /// The erases since measurement began.
    pub(crate) fn erases(&self, chip: &(impl Flash + ?Sized)) -> Erases {
        let pslc = self.pslc_erases(chip) - self.begin_pslc;
        Erases { pslc, ..summary(&self.erased(chip).collect::<Vec<_>>()) }
    }

    /// Where they were.
    pub(crate) fn map(&self, chip: &(impl Flash + ?Sized)) -> WearMap {
        let failed = self.blocks.iter().map(|&pbn| chip.is_bad(pbn));
        map::draw(chip.geometry().shape(), self.blocks.iter().copied().zip(self.erased(chip)).zip(failed))
    }
}

/// Erases of good blocks between two looks at their counts, block by block in the same order.
pub fn erases(before: &[u32], after: &[u32]) -> Erases {
    summary(&after.iter().zip(before).map(|(after, before)| after - before).collect::<Vec<_>>())
}

fn summary(counts: &[u32]) -> Erases {
    let sums = Sums::of(counts.iter().copied());
    let min = counts.iter().copied().min().unwrap_or(0);
    Erases {
        total: sums.total,
        pslc: 0,
        mean: sums.mean(),
        std: sums.std(),
        min,
        max: sums.max,
        gini: gini(counts),
        histogram: histogram(counts, min, sums.max),
    }
}

/// Sums over blocks, exact for any counts.
#[derive(Default)]
struct Sums {
    blocks: u64,
    total: u64,
    squares: u128,
    max: u32,
}

impl Sums {
    fn of(counts: impl Iterator<Item = u32>) -> Self {
        counts.fold(Self::default(), |sums, count| Self {
            blocks: sums.blocks + 1,
            total: sums.total + u64::from(count),
            squares: sums.squares + u128::from(count) * u128::from(count),
            max: sums.max.max(count),
        })
    }

    fn mean(&self) -> f64 {
        self.total as f64 / self.blocks.max(1) as f64
    }

    /// From n Σx² − (Σx)², which is a whole number, so nothing cancels.
    fn std(&self) -> f64 {
        let spread = self.squares * u128::from(self.blocks) - u128::from(self.total) * u128::from(self.total);
        (spread as f64).sqrt() / self.blocks.max(1) as f64
    }
}

/// The mean difference between two blocks over twice the mean: half the area between the Lorenz
/// curve and the diagonal.
fn gini(counts: &[u32]) -> Option<f64> {
    let mut sorted = counts.to_vec();
    sorted.sort_unstable();
    let blocks = sorted.len() as u128;
    let total: u128 = sorted.iter().copied().map(u128::from).sum();
    let ranked: u128 = (1..).zip(&sorted).map(|(rank, &count): (u128, _)| rank * u128::from(count)).sum();
    // 2 Σ i·x_i ≥ (n + 1) Σ x_i where counts ascend.
    (total > 0).then(|| (2 * ranked - (blocks + 1) * total) as f64 / (blocks * total) as f64)
}

fn histogram(counts: &[u32], min: u32, max: u32) -> Vec<(u32, u32, u64)> {
    let width = ((max - min) / BINS + 1).max(1);
    let mut bins: Vec<_> =
        (min..=max).step_by(width as usize).map(|low| (low, low.saturating_add(width - 1), 0)).collect();
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

    /// Distributions whose coefficient is known: equal counts; one block takes all; half of the
    /// blocks take all; 1, 2, 3, 4.
    #[test]
    fn the_gini_coefficient_is_that_of_known_distributions() {
        let gini = |counts: &[u32]| erases(&vec![0; counts.len()], counts).gini;
        assert_eq!((gini(&[0, 0, 0]), gini(&[])), (None, None));
        assert_eq!((gini(&[7, 7, 7]), gini(&[9])), (Some(0.0), Some(0.0)));
        assert_eq!(gini(&[0, 0, 0, 12]), Some(0.75));
        assert_eq!(gini(&[5, 0, 0, 5]), Some(0.5));
        assert_eq!(gini(&[4, 2, 1, 3]), Some(0.25));
        let by_pairs = |counts: &[u32]| {
            let differences: f64 =
                counts.iter().flat_map(|&a| counts.iter().map(move |&b| f64::from(a.abs_diff(b)))).sum();
            let (blocks, total) = (counts.len() as f64, counts.iter().copied().map(f64::from).sum::<f64>());
            differences / (2.0 * blocks * total)
        };
        let counts: Vec<u32> = (0..97).map(|i| i * i % 89).collect();
        assert!((gini(&counts).expect("erased") - by_pairs(&counts)).abs() < 1e-12);
    }

    #[test]
    fn spreads_of_huge_counts_are_exact() {
        let erases = erases(&[0; 3], &[u32::MAX, u32::MAX - 3, u32::MAX]);
        assert!((erases.std - 2.0_f64.sqrt()).abs() < 1e-12, "{}", erases.std);
        assert!((erases.mean - f64::from(u32::MAX - 1)).abs() < 1e-6, "{}", erases.mean);
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
