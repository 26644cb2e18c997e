//! How much the host may write until blocks reach their limit, from how erase counts grew while
//! measuring.
//!
//! The mean grows with the bytes written, at the rate of the second half of the measured part. What
//! a block's count differs from the mean grows with a power of the mean: 1 where blocks keep rates
//! of their own, ½ where each stretch is as if drawn anew, 0 where levelling holds them together.
//! The correlation of blocks' erases in the first half with those in the second tells it, as in
//! fractional Brownian motion, where it is 2^(2H−1) − 1. A block that fails leaves its share of the
//! erases to the others.
//!
//! It is a power of the mean and not of the measured bytes, because what differs now has grown
//! since the device was prepared, whether that was measured or not. The preparation itself takes
//! no cycles: no drive has lost them.
//!
//! A range has two ends: power 1 with the fastest of three rates, those of the last two quarters
//! and of the whole measured part, and power 0 with the slowest. How far off forecasts are was
//! measured on lives that were run to their end: docs/endurance.md.

/// Mean erases of a block while measuring below which nothing is forecast. From fewer, forecasts
/// are far off too often (docs/endurance.md).
const FEWEST_ERASES: f64 = 4.0;
/// What to do about too short a run.
const MORE: &str = "replay more requests";

/// Times the wear of today beyond which a block counts as never failing: twice what a block that
/// was erased once has to the highest limit.
const NEVER: f64 = 8_589_934_592.0;

/// Share of the erases that may be left to blocks which never fail when those that do have failed;
/// with more, the end is not known.
const UNKNOWN_LOAD: f64 = 0.5;

/// The erase counts of the blocks that have not failed, at four points of the measured part.
pub(super) struct Growth {
    /// Bytes that the host had written at its begin, half, three quarters and end.
    pub(super) bytes: [u64; 4],
    /// Erases of each block by then, since the device was prepared.
    pub(super) counts: [Vec<u32>; 4],
}

/// Bytes of the host, counted from the begin of the measured part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Range {
    pub(super) low: f64,
    pub(super) expected: f64,
    pub(super) high: f64,
}

/// What is forecast.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Forecast {
    /// The power with which blocks drift apart, 0 to 1.
    pub(super) exponent: f64,
    /// Until the first block fails.
    pub(super) first_block: Range,
    /// Until so many have failed that the device is read-only; none where too few blocks are erased
    /// at all.
    pub(super) spares_gone: Option<Range>,
}

impl Growth {
    /// Forecasts when the first and when `failures` blocks fail that survive `limit` erases; or
    /// says why not.
    pub(super) fn forecast(&self, limit: u32, failures: usize) -> Result<Forecast, String> {
        let means = self.counts.each_ref().map(|counts| mean(counts));
        let erased = means[3] - means[0];
        if erased < FEWEST_ERASES {
            return Err(format!(
                "a block was erased {erased:.2} times on average while measuring, and a forecast needs {FEWEST_ERASES}: {MORE}, or \
                 give the device less capacity"
            ));
        }
        let rate = |from: usize, to: usize| {
            let written = (self.bytes[to] - self.bytes[from]) as f64;
            if written > 0.0 { (means[to] - means[from]) / written } else { 0.0 }
        };
        let (lasting, rates) = (rate(1, 3), [rate(1, 2), rate(2, 3), rate(0, 3)]);
        let slow = rates.into_iter().fold(f64::INFINITY, f64::min);
        let fast = rates.into_iter().fold(0.0, f64::max);
        if slow <= 0.0 {
            return Err(format!(
                "in one of the last two quarters of the workload nothing was written or no block erased, so there is no \
                 rate of wear that lasts: {MORE}"
            ));
        }
        let exponent = exponent(&self.increments(0, 1), &self.increments(1, 3));
        let laws = [(1.0, fast), (exponent, lasting), (0.0, slow)]
            .map(|(exponent, rate)| self.law(means[3], exponent, rate, failures));
        let past = f64::from(limit) + 1.0;
        let first_block = range(laws.each_ref().map(|law| law.crossing(law.deviations[0], past)));
        let ends = laws.each_ref().map(|law| law.end(past));
        let spares_gone = if let [Some(fast), Some(expected), Some(slow)] = ends {
            Some(range([fast, expected, slow]))
        } else {
            None
        };
        Ok(Forecast { exponent, first_block, spares_gone })
    }

    fn law(&self, mean: f64, exponent: f64, rate: f64, failures: usize) -> Law {
        let mut deviations: Vec<f64> = self.counts[3].iter().map(|&count| f64::from(count) - mean).collect();
        deviations.sort_unstable_by(|a, b| b.total_cmp(a));
        let blocks = deviations.len() as f64;
        deviations.truncate(failures.max(1));
        Law { bytes: self.bytes[3] as f64, mean, deviations, blocks, exponent, rate }
    }

    fn increments(&self, from: usize, to: usize) -> Vec<f64> {
        self.counts[to].iter().zip(&self.counts[from]).map(|(&after, &before)| f64::from(after - before)).collect()
    }
}

/// How erase counts go on.
struct Law {
    /// Bytes written so far.
    bytes: f64,
    /// Mean erases of a block so far.
    mean: f64,
    /// What the most erased blocks have beyond that, the most first; at least one.
    deviations: Vec<f64>,
    blocks: f64,
    exponent: f64,
    /// Mean erases of a block for each byte from now on.
    rate: f64,
}

impl Law {
    /// A block's erases when the mean has become this many times what it is.
    fn count(&self, deviation: f64, times: f64) -> f64 {
        self.mean * times + deviation * times.powf(self.exponent)
    }

    /// Bytes until a block reaches a count; infinite if it never does.
    fn crossing(&self, deviation: f64, limit: f64) -> f64 {
        let mut high = 1.0;
        while self.count(deviation, high) < limit {
            high *= 2.0;
            if high > NEVER {
                return f64::INFINITY;
            }
        }
        let mut low = (high / 2.0).max(1.0);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if self.count(deviation, middle) < limit {
                low = middle;
            } else {
                high = middle;
            }
        }
        self.bytes + (high - 1.0) * self.mean / self.rate
    }

    /// Bytes until all of the most erased blocks have reached a count; each that does leaves its
    /// share of the erases to the others. None if too few ever do.
    fn end(&self, limit: f64) -> Option<f64> {
        let mut before = self.crossing(self.deviations[0], limit);
        let (mut end, mut share_left) = (before, 1.0_f64);
        for pair in self.deviations.windows(2) {
            if before > self.bytes {
                let own = (limit - self.mean - pair[0]) / (before - self.bytes);
                share_left = (share_left - own / (self.rate * self.blocks)).max(0.0);
            }
            let next = self.crossing(pair[1], limit);
            if next.is_infinite() {
                return (share_left < UNKNOWN_LOAD).then_some(end);
            }
            end += (next - before) * share_left;
            before = next;
        }
        Some(end)
    }
}

/// Three laws' bytes as a range, in whatever order they came out.
fn range([fast, expected, slow]: [f64; 3]) -> Range {
    Range { low: fast.min(expected).min(slow), expected, high: slow.max(expected).max(fast) }
}

/// The power H from the correlation of what blocks were erased in two stretches: 2^(2H−1) − 1.
fn exponent(first: &[f64], second: &[f64]) -> f64 {
    let average = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let means = (average(first), average(second));
    let pairs = || first.iter().zip(second).map(|(x, y)| (x - means.0, y - means.1));
    let covariance: f64 = pairs().map(|(x, y)| x * y).sum();
    let variances = pairs().map(|(x, _)| x * x).sum::<f64>() * pairs().map(|(_, y)| y * y).sum::<f64>();
    let correlation = if variances > 0.0 { covariance / variances.sqrt() } else { 0.0 };
    (0.5 * (1.0 + (1.0 + correlation).max(f64::MIN_POSITIVE).log2())).clamp(0.0, 1.0)
}

fn mean(counts: &[u32]) -> f64 {
    counts.iter().copied().map(f64::from).sum::<f64>() / counts.len().max(1) as f64
}

#[cfg(test)]
mod tests;
