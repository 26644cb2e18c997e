//! How evenly blocks were erased, where, and how long the device of a run lives under its workload:
//! as it was, where it wore out, else as forecast.

mod erase_counts;
mod forecast;
mod map;

use flash::Flash;
use ftl::Spares;

use crate::result::{Endurance, Lifetime};

pub use erase_counts::erases;
pub(crate) use erase_counts::{Spread, Wear};

use forecast::{Forecast, Growth, Range};

/// The longest life that is told, 4.6 EB: what comes after the run counts bytes with a sign.
const LONGEST_BYTES: f64 = (1_u64 << 62) as f64;

/// Looks at the device while measuring, so that the first failure is found within a thousandth of
/// the run or a thousand requests.
const LOOKS: u64 = 1024;
const DAYS_A_YEAR: f64 = 365.0;

/// What a device lives through in a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    /// Bytes that the host sees.
    pub(crate) logical_bytes: u64,
    pub(crate) warranty_years: f64,
    /// Bytes that the host writes per day.
    pub(crate) bytes_a_day: f64,
    /// The whole ÷ the slice of it that runs.
    pub(crate) scale: f64,
    /// Bytes of the host that all cycles of its flash take; a forecast is no longer than that.
    pub(crate) most_bytes: f64,
}

/// What was seen of a device's life while measuring.
pub(crate) struct Life {
    requests: u64,
    /// Whether blocks had failed before.
    had_failures: bool,
    step: u64,
    /// Requests after which the next look is due.
    due: u64,
    /// Bytes written and erase counts at about the half and three quarters of the requests.
    looks: Vec<(u64, Vec<u32>)>,
    /// Bytes written at the last look.
    bytes: u64,
    /// Bytes between which the first block failed.
    first_failure: Option<[u64; 2]>,
}

impl Life {
    /// Nothing yet of this many requests, on a device with these spares.
    pub(crate) fn new(requests: u64, spares: Spares) -> Self {
        let step = (requests / LOOKS).clamp(1, LOOKS);
        let had_failures = spares.used > 0;
        Self { requests, had_failures, step, due: step, looks: Vec::new(), bytes: 0, first_failure: None }
    }

    /// Measured requests after which a look is due.
    #[inline]
    pub(crate) fn due(&self) -> u64 {
        self.due
    }

    /// The look that is due: the bytes that the host has written, the spares, and the blocks' erase
    /// counts if they are wanted.
    pub(crate) fn look(&mut self, bytes: u64, spares: Spares, counts: impl FnOnce() -> Vec<u32>) {
        self.first_failure = self.failed_by(bytes, spares);
        let quarters = u128::from(self.due) * 4 / u128::from(self.requests.max(1));
        if quarters >= 2 + self.looks.len() as u128 && self.looks.len() < 2 {
            self.looks.push((bytes, counts()));
        }
        self.bytes = bytes;
        self.due += self.step;
    }

    /// What became of the device, or will: `bytes` have been written, and it has worn out, or not.
    pub(crate) fn endurance(
        &self,
        (wear, chip): (&Wear, &(impl Flash + ?Sized)),
        (limit, spares): (u32, Spares),
        (bytes, is_over): (u64, bool),
        usage: Usage,
    ) -> Endurance {
        let measured = |[low, high]: [u64; 2]| usage.lifetime([low, high, high].map(|bytes| bytes as f64), true);
        let first_block = self.failed_by(bytes, spares).map(measured);
        if is_over && bytes == 0 {
            let refusal = Some("the device wore out before a write was measured: skip or prepare less".into());
            return Endurance { limit, pslc_limit: None, drift: None, first_block: None, spares_gone: None, refusal };
        }
        if is_over {
            let spares_gone = Some(measured([bytes; 2]));
            return Endurance { limit, pslc_limit: None, drift: None, first_block, spares_gone, refusal: None };
        }
        let failures = (spares.total + 1).saturating_sub(spares.used) as usize;
        match self.growth(wear, chip, bytes).and_then(|growth| growth.forecast(limit, failures)) {
            Ok(Forecast { exponent, first_block: first, spares_gone }) => Endurance {
                limit,
                pslc_limit: None,
                drift: Some(exponent),
                first_block: first_block.or_else(|| (!self.had_failures).then(|| usage.forecast(first))),
                spares_gone: spares_gone.map(|range| usage.forecast(range)),
                refusal: None,
            },
            Err(refusal) => {
                let refusal = Some(refusal);
                Endurance { limit, pslc_limit: None, drift: None, first_block, spares_gone: None, refusal }
            }
        }
    }

    /// The bytes between which the first block failed, given those of now and the spares; none if
    /// it has not, or did before anything was measured.
    fn failed_by(&self, bytes: u64, spares: Spares) -> Option<[u64; 2]> {
        let has_failed = spares.used > 0 && !self.had_failures;
        self.first_failure.or(has_failed.then_some([self.bytes, bytes]))
    }

    /// The erase counts at four points, of the blocks that have not failed; or why they do not tell
    /// enough.
    fn growth(&self, wear: &Wear, chip: &(impl Flash + ?Sized), bytes: u64) -> Result<Growth, String> {
        let [half, three_quarters] = self.looks.as_slice() else {
            return Err("the workload has too few requests to see how wear grows: replay more".into());
        };
        let living = |counts: &[u32]| {
            let blocks = wear.blocks().iter().zip(counts);
            blocks.filter(|&(&pbn, _)| !chip.is_bad(pbn)).map(|(_, &count)| count).collect()
        };
        let now = wear.counts(chip);
        Ok(Growth {
            bytes: [0, half.0, three_quarters.0, bytes],
            counts: [wear.initial_counts(), &half.1, &three_quarters.1, &now].map(living),
        })
    }
}

impl Usage {
    fn forecast(&self, Range { low, expected, high }: Range) -> Lifetime {
        self.lifetime([low, expected, high].map(|bytes| bytes.min(self.most_bytes)), false)
    }

    fn lifetime(&self, range: [f64; 3], is_measured: bool) -> Lifetime {
        let [low, expected, high] = range.map(|bytes| (bytes * self.scale).min(LONGEST_BYTES));
        let days = self.warranty_years * DAYS_A_YEAR;
        Lifetime {
            written_bytes: expected as u64,
            low_bytes: low as u64,
            high_bytes: high as u64,
            is_measured,
            drive_writes_per_day: expected / (self.logical_bytes as f64 * days),
            years: expected / (self.bytes_a_day * DAYS_A_YEAR),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lifetime_is_told_in_drive_writes_a_day_and_in_years() {
        let usage =
            Usage { logical_bytes: 1_000, warranty_years: 2.0, bytes_a_day: 500.0, scale: 1.0, most_bytes: 2e12 };
        let lifetime = usage.lifetime([365_000.0, 730_000.0, 1_460_000.0], false);
        assert_eq!((lifetime.low_bytes, lifetime.written_bytes, lifetime.high_bytes), (365_000, 730_000, 1_460_000));
        assert!((lifetime.drive_writes_per_day - 1.0).abs() < 1e-12, "{lifetime:?}");
        assert!((lifetime.years - 4.0).abs() < 1e-12, "{lifetime:?}");
        let endless = usage.lifetime([1e9, 1e20, f64::INFINITY], false);
        assert_eq!([endless.low_bytes, endless.written_bytes, endless.high_bytes], [1_000_000_000, 1 << 62, 1 << 62]);
        let sliced = Usage { scale: 10.0, ..usage }.lifetime([36_500.0, 73_000.0, 146_000.0], false);
        assert_eq!(sliced, lifetime);
        let forecast = usage.forecast(Range { low: 1e12, expected: 2.1e12, high: 1e20 });
        assert_eq!(
            [forecast.low_bytes, forecast.written_bytes, forecast.high_bytes],
            [1, 2, 2].map(|tera| tera * 10_u64.pow(12))
        );
    }

    #[test]
    fn looks_are_taken_at_the_half_and_three_quarters_and_failures_found_between_two() {
        let mut life = Life::new(10_000, Spares { total: 9, used: 0 });
        let mut seen = Vec::new();
        for request in 1..=10_000 {
            if request == life.due() {
                let used = u32::from(request > 7_777);
                life.look(4 * request, Spares { total: 9, used }, || {
                    seen.push(request);
                    Vec::new()
                });
            }
        }
        assert_eq!(seen, [5_004, 7_506]);
        assert_eq!(life.first_failure, Some([4 * 7_776, 4 * 7_785]));
    }
}
