//! How much a generated workload writes at once.

use super::spec::{GeneratorSpec, Pattern, Settings, Sizes};

/// Sizes of a range that stand for all.
const SAMPLES: u64 = 64;

/// Over all requests that write, by share: units, and their squares.
#[derive(Default)]
struct Moments {
    units: f64,
    squares: f64,
}

impl GeneratorSpec {
    /// Units of this many bytes per write, of which a unit is rewritten with all: the mean over
    /// units written. It is 1 where all writes are sequential: their data die in order anyway.
    pub fn units_per_write(&self, unit_bytes: u64) -> f64 {
        let mut moments = Moments::default();
        moments.add(&self.pattern, 1.0, &self.settings(), self.unit.0, unit_bytes);
        if moments.units > 0.0 { moments.squares / moments.units } else { 1.0 }
    }
}

impl Moments {
    /// Adds a pattern that makes this share of all requests, aligned to `aligned` bytes.
    fn add(&mut self, pattern: &Pattern, share: f64, settings: &Settings<'_>, aligned: u64, unit_bytes: u64) {
        match pattern {
            Pattern::Sequential => {}
            Pattern::Mixed(parts) => {
                let all: f64 = parts.iter().map(|part| part.weight).sum();
                for part in parts {
                    let aligned = part.unit.map_or(aligned, |unit| unit.0);
                    let share = share * part.weight / all;
                    self.add(&part.pattern, share, &part.settings(settings), aligned, unit_bytes);
                }
            }
            Pattern::Phases(phases) => {
                let all: f64 = phases.iter().map(|phase| phase.requests as f64).sum();
                for phase in phases {
                    let share = share * phase.requests as f64 / all;
                    self.add(&phase.pattern, share, &phase.settings(settings), aligned, unit_bytes);
                }
            }
            _ => {
                let writes = share * settings.write_share.unwrap_or(1.0 - settings.trim_share);
                for (bytes, weight) in sizes(settings.sizes, aligned) {
                    let units = bytes.div_ceil(unit_bytes) as f64;
                    self.units += writes * weight * units;
                    self.squares += writes * weight * units * units;
                }
            }
        }
    }
}

/// Sizes in bytes, each with its share of the requests.
fn sizes(sizes: Option<&Sizes>, aligned: u64) -> Vec<(u64, f64)> {
    match sizes {
        None => vec![(aligned, 1.0)],
        Some(Sizes::Fixed(bytes)) => vec![(bytes.0, 1.0)],
        Some(Sizes::Choice(sizes)) => {
            let all: f64 = sizes.iter().map(|size| size.weight).sum();
            sizes.iter().map(|size| (size.size.0, size.weight / all)).collect()
        }
        Some(Sizes::Uniform { min, max, step }) => {
            let all = max.0.saturating_sub(min.0) / step.0.max(1) + 1;
            (0..SAMPLES).map(|sample| (min.0 + all * sample / SAMPLES * step.0, 1.0 / SAMPLES as f64)).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_per_write_follow_sizes_parts_and_shares() {
        let units = |json: &str, unit_bytes: u64| {
            let spec: GeneratorSpec = serde_json::from_str(json).expect("a generator");
            (1000.0 * spec.units_per_write(unit_bytes)).round() as u64
        };
        for (json, unit_bytes, expected) in [
            ("{}", 4096, 1000),
            ("{}", 16_384, 1000),
            (r#"{"unit": "128KiB"}"#, 4096, 32_000),
            (r#"{"unit": "128KiB"}"#, 16_384, 8000),
            (r#"{"unit": "128KiB", "write_share": 0}"#, 4096, 1000),
            (r#"{"unit": "128KiB", "pattern": "sequential"}"#, 4096, 1000),
            // 8 of 10 requests are of 16 units, 2 of 1: 130 units, 2050 squares.
            (r#"{"sizes": {"choice": [{"size": "64KiB", "weight": 8}, {"size": "4KiB", "weight": 2}]}}"#, 4096, 15_769),
            (r#"{"sizes": {"uniform": {"min": "4KiB", "max": "8KiB", "step": "4KiB"}}}"#, 4096, 1667),
            // As many requests, a quarter of the large ones write.
            (
                r#"{"pattern": {"mixed": [{"pattern": "uniform", "unit": "16KiB", "write_share": 0.25},
                    {"pattern": {"zipf": {"theta": 0.9}}}, {"pattern": "sequential", "unit": "1MiB"}]}}"#,
                4096,
                2500,
            ),
            (
                r#"{"pattern": {"phases": [{"requests": 3, "pattern": "uniform", "sizes": "8KiB"},
                    {"requests": 2, "pattern": "uniform"}]}}"#,
                4096,
                1750,
            ),
        ] {
            assert_eq!(units(json, unit_bytes), expected, "{json}");
        }
    }
}
