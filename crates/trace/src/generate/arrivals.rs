//! When requests arrive: gaps, added up on a clock of whole nanoseconds that keeps the fractions it
//! cannot show.

use random::SeededRng;

use super::draws::Chance;
use super::spec::Arrivals;

/// Draws the gaps of one arrival process.
#[derive(Clone, Copy, Debug)]
pub(crate) enum GapSampler {
    /// All requests arrive at once.
    None,
    /// The same gap always, in nanoseconds.
    Constant(u64),
    /// Exponential gaps of this mean, and with some probability an exponential pause more.
    Exponential { mean_ns: f64, pause: Chance, pause_mean_ns: f64 },
}

impl GapSampler {
    pub(crate) fn new(arrivals: &Arrivals) -> Self {
        match arrivals {
            Arrivals::AtOnce => Self::None,
            Arrivals::Constant { gap } => Self::Constant(gap.0),
            Arrivals::Poisson { mean_gap } => {
                Self::Exponential { mean_ns: mean_gap.0 as f64, pause: Chance::Never, pause_mean_ns: 0.0 }
            }
            Arrivals::Bursty { mean_gap, burst_gap, burst } => Self::Exponential {
                mean_ns: burst_gap.0 as f64,
                pause: Chance::of(1.0 / burst),
                pause_mean_ns: burst * (mean_gap.0 - burst_gap.0) as f64,
            },
        }
    }
}

/// The arrival clock: starts at 0 and never goes back.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clock {
    now_ns: u64,
    /// The part of a nanosecond that has passed beyond `now_ns`, so that rounding does not shift
    /// the mean gap.
    fraction_ns: f64,
}

impl Clock {
    /// Nanoseconds since the first request.
    #[inline]
    pub(crate) fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Lets one gap pass.
    #[inline]
    pub(crate) fn pass(&mut self, gaps: GapSampler, stream: &mut SeededRng) {
        match gaps {
            GapSampler::None => {}
            GapSampler::Constant(gap_ns) => self.now_ns += gap_ns,
            GapSampler::Exponential { mean_ns, pause, pause_mean_ns } => {
                let mut gap_ns = mean_ns * stream.exponential() + self.fraction_ns;
                if pause.hit(stream) {
                    gap_ns += pause_mean_ns * stream.exponential();
                }
                let whole_ns = gap_ns as u64;
                self.fraction_ns = gap_ns - whole_ns as f64;
                self.now_ns = self.now_ns.saturating_add(whole_ns);
            }
        }
    }
}
