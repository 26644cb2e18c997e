//! How many bits of a page read wrong: the raw bit error rate, by wear, retention and reads.
//!
//! ```text
//! RBER = ε + α·cᵏ + β·cᵐ·tⁿ + γ·cᵖ·r^q
//!        │   wear   retention   read disturb
//!        └ what a new block has
//! ```
//!
//! *c* are the erases of the page's block, *t* the days since it was programmed, *r* the reads of
//! its block since the erase, divided by the block's pages. The formula and both sets of
//! coefficients are after Kim, Choi and Min, "Design Tradeoffs for SSD Reliability", FAST '19.
//!
//! It knows no chip: who asks says what a block has been through. Limits: the rate is a mean over
//! the pages of a block. Page types, layers, temperature, blocks that are worse than others, and
//! which neighbours of a page were read are not told apart.

/// The coefficients of a part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BitErrorModel {
    /// ε: the rate of a new block.
    pub epsilon: f64,
    /// α: the scale of wear.
    pub alpha: f64,
    /// The power of erases in wear.
    pub k: f64,
    /// β: the scale of retention.
    pub beta: f64,
    /// The power of erases in retention.
    pub m: f64,
    /// The power of days in retention.
    pub n: f64,
    /// γ: the scale of read disturb.
    pub gamma: f64,
    /// The power of erases in read disturb.
    pub p: f64,
    /// The power of reads in read disturb.
    pub q: f64,
}

/// What a page has been through.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stress {
    /// Erases of its block.
    pub erases: f64,
    /// Days since it was programmed.
    pub days: f64,
    /// Reads of its block since the erase, divided by the block's pages.
    pub reads_per_page: f64,
}

impl BitErrorModel {
    /// TLC of 72 layers.
    pub const TLC_72L: Self = Self {
        epsilon: 1.48e-3,
        alpha: 3.90e-10,
        k: 2.05,
        beta: 6.28e-5,
        m: 0.14,
        n: 0.54,
        gamma: 3.73e-9,
        p: 0.33,
        q: 1.71,
    };

    /// MLC of the generation between 20 and 24 nm.
    pub const MLC_2Y: Self = Self {
        epsilon: 8.34e-5,
        alpha: 3.30e-11,
        k: 1.71,
        beta: 5.56e-19,
        m: 2.49,
        n: 3.33,
        gamma: 6.26e-13,
        p: 1.76,
        q: 0.47,
    };

    /// The share of a page's bits that read wrong. It never falls as any of the three grows, if no
    /// coefficient is negative.
    pub fn rate(&self, stress: Stress) -> f64 {
        let Stress { erases, days, reads_per_page } = stress;
        let wear = self.alpha * erases.powf(self.k);
        let retention = self.beta * erases.powf(self.m) * days.powf(self.n);
        let disturb = self.gamma * erases.powf(self.p) * reads_per_page.powf(self.q);
        self.epsilon + wear + retention + disturb
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use super::*;

    fn rate(model: BitErrorModel, [erases, days, reads_per_page]: [f64; 3]) -> f64 {
        model.rate(Stress { erases, days, reads_per_page })
    }

    /// Computed apart from this code, to three digits.
    #[test]
    fn rates_of_tlc_are_those_of_the_formula() {
        let stresses = [[0.0, 0.0], [30.0, 0.0], [365.0, 0.0], [0.0, 100.0], [0.0, 1000.0]];
        for (erases, expected) in [
            (100.0, ["1.48e-3", "2.24e-3", "4.38e-3", "1.53e-3", "3.78e-3"]),
            (1000.0, ["2.03e-3", "3.07e-3", "6.03e-3", "2.13e-3", "6.95e-3"]),
            (3000.0, ["6.72e-3", "7.93e-3", "1.14e-2", "6.86e-3", "1.38e-2"]),
        ] {
            let rates =
                stresses.map(|[days, reads]| format!("{:.2e}", rate(BitErrorModel::TLC_72L, [erases, days, reads])));
            assert_eq!(rates, expected, "{erases} erases");
        }
    }

    /// Retention is what ends a part of the older kind: its rate grows with the third power of
    /// days.
    #[test]
    fn rates_of_mlc_are_those_of_the_formula() {
        let of = |stress| format!("{:.2e}", rate(BitErrorModel::MLC_2Y, stress));
        assert_eq!(of([3000.0, 0.0, 0.0]), "1.13e-4");
        assert_eq!(of([3000.0, 30.0, 0.0]), "1.34e-4");
        assert_eq!(of([3000.0, 365.0, 0.0]), "8.63e-2");
        assert_eq!(of([3000.0, 0.0, 1000.0]), "1.34e-4");
    }

    #[test]
    fn a_new_block_has_the_rate_of_new_blocks() {
        for model in [BitErrorModel::TLC_72L, BitErrorModel::MLC_2Y] {
            assert_eq!(model.rate(Stress::default()).total_cmp(&model.epsilon), Ordering::Equal);
        }
    }
}
