//! Choice by weight in constant time: Walker's alias table, as Vose builds it.
//!
//! n columns of equal width; each holds at most two outcomes, so a draw is one random number: its
//! high part picks the column, its low part which of the two. It knows nothing of what the outcomes
//! mean.

use random::SeededRng;

/// A table of n ≥ 1 outcomes, 0 to n − 1, each drawn in proportion to its weight.
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

#[cfg(test)]
mod tests {
    use super::*;

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
