//! Draws that are made often, prepared so that each costs little: of a yes, of an outcome by its
//! weight, and of a request's length.

use random::SeededRng;

/// A probability, prepared so that asking costs one comparison, and nothing at all (not even a
/// random number) when the answer is certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chance {
    /// Probability 0.
    Never,
    /// Probability 1.
    Always,
    /// Yes when 64 random bits are below this.
    Below(u64),
}

impl Chance {
    /// From a probability; what lies outside [0, 1] counts as the nearer end.
    pub(crate) fn of(probability: f64) -> Self {
        if probability <= 0.0 {
            Self::Never
        } else if probability >= 1.0 {
            Self::Always
        } else {
            Self::Below((probability * 18_446_744_073_709_551_616.0) as u64)
        }
    }

    /// Draws once, unless the answer is certain.
    #[inline]
    pub(crate) fn hit(self, stream: &mut SeededRng) -> bool {
        match self {
            Self::Never => false,
            Self::Always => true,
            Self::Below(threshold) => stream.bits() < threshold,
        }
    }
}

/// A table of n ≥ 1 outcomes, 0 to n − 1, each drawn in proportion to its weight in constant time:
/// Walker's alias table, as Vose builds it.
///
/// n columns of equal width; each holds at most two outcomes, so a draw is one random number: its
/// high part picks the column, its low part which of the two.
#[derive(Clone, Debug)]
pub(crate) struct Weighted {
    columns: Box<[Column]>,
}

#[derive(Clone, Copy, Debug)]
struct Column {
    /// The column's own outcome is taken when the low part of the draw is below this.
    keep: u64,
    /// The outcome of all other draws of the column.
    other: u32,
}

impl Weighted {
    /// Builds the table. The caller has checked that the weights are finite, not negative, and not
    /// all zero.
    pub(crate) fn new(weights: &[f64]) -> Self {
        let count = weights.len();
        let total: f64 = weights.iter().sum();
        let mut shares: Vec<f64> = weights.iter().map(|weight| weight / total * count as f64).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..count).partition(|&i| shares[i] < 1.0);
        // An outcome that is never paired fills its column; rounding leaves a few such on either
        // list.
        let mut columns: Vec<Column> = (0..count).map(|i| Column { keep: u64::MAX, other: i as u32 }).collect();
        while let (Some(&poor), Some(&rich)) = (small.last(), large.last()) {
            small.pop();
            columns[poor] = Column { keep: (shares[poor] * 18_446_744_073_709_551_616.0) as u64, other: rich as u32 };
            shares[rich] -= 1.0 - shares[poor];
            if shares[rich] < 1.0 {
                large.pop();
                small.push(rich);
            }
        }
        Self { columns: columns.into_boxed_slice() }
    }

    /// Draws one outcome.
    #[inline]
    pub(crate) fn draw(&self, stream: &mut SeededRng) -> usize {
        if self.columns.len() == 1 {
            return 0;
        }
        let (own, rest) = stream.below_with_rest(self.columns.len() as u64);
        let column = self.columns[own as usize];
        // The answer is random, so a branch on it would be mispredicted as often as not.
        std::hint::select_unpredictable(rest < column.keep, own as usize, column.other as usize)
    }
}

/// Draws request lengths in bytes.
#[derive(Clone, Debug)]
pub(crate) enum SizeSampler {
    /// Always the same.
    Fixed(u32),
    /// `min` and up to `count` − 1 steps more, equally likely.
    Steps { min: u32, step: u32, count: u32 },
    /// One of several lengths, by weight.
    Choice { table: Weighted, lengths: Box<[u32]> },
}

impl SizeSampler {
    /// Draws one length.
    #[inline]
    pub(crate) fn draw(&self, stream: &mut SeededRng) -> u32 {
        match self {
            Self::Fixed(length) => *length,
            Self::Steps { min, step, count } => min + step * stream.below(u64::from(*count)) as u32,
            Self::Choice { table, lengths } => lengths[table.draw(stream)],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_at_the_ends_draw_nothing() {
        let mut stream = SeededRng::named(1, "test");
        let mut untouched = stream.clone();
        assert!(!Chance::of(0.0).hit(&mut stream));
        assert!(Chance::of(1.0).hit(&mut stream));
        assert_eq!(stream.bits(), untouched.bits());
        let hits = (0..100_000).filter(|_| Chance::of(0.3).hit(&mut stream)).count();
        assert!((29_500..30_500).contains(&hits), "{hits}");
    }

    /// The exact probability the table gives each outcome.
    fn probabilities(table: &Weighted) -> Vec<f64> {
        let count = table.columns.len();
        let mut result = vec![0.0; count];
        for (own, column) in table.columns.iter().enumerate() {
            let keep = column.keep as f64 / 18_446_744_073_709_551_616.0;
            result[own] += keep / count as f64;
            result[column.other as usize] += (1.0 - keep) / count as f64;
        }
        result
    }

    #[test]
    fn the_table_gives_each_outcome_its_share() {
        for weights in [vec![1.0], vec![1.0, 0.0], vec![0.1, 0.2, 0.7], vec![5.0; 17], vec![1e-9, 1.0, 1e9, 3.0]] {
            let total: f64 = weights.iter().sum();
            for (got, weight) in probabilities(&Weighted::new(&weights)).iter().zip(&weights) {
                assert!((got - weight / total).abs() < 1e-12, "{weights:?}: {got} for {weight}");
            }
        }
    }

    #[test]
    fn what_weighs_nothing_is_never_drawn() {
        let table = Weighted::new(&[0.0, 2.0, 0.0, 1.0]);
        let mut stream = SeededRng::named(3, "test");
        let mut counts = [0u32; 4];
        (0..30_000).for_each(|_| counts[table.draw(&mut stream)] += 1);
        assert_eq!((counts[0], counts[2]), (0, 0));
        assert!((19_600..20_400).contains(&counts[1]), "{counts:?}");
    }
}
