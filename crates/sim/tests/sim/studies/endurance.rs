//! Forecasts of the device's life from its first part, against the same life run to its end.
//!
//! With `FTLKIT_LONG` set the devices are larger and live longer, and lives are forecast from other
//! parts of them, too; with `-- --nocapture` the figures of docs/endurance.md are printed.

use sim::{Lifetime, RunResult};

use super::results;

/// Every policy and mapping that is tried.
const STACKS: &[&str] = &[
    "page",
    "page+dynamic",
    "page+static",
    "page+bet",
    "page+dual-pool",
    "page+rejuvenator",
    "dftl",
    "dftl+dynamic",
    "dftl+static",
    "fast",
    "fast+dynamic",
    "fast+owl",
    "fast+bet",
    "fast+lazy",
    "fast+dual-pool",
    "fast+rejuvenator",
    "a-sast+owl",
    "superblock",
];

const PATTERNS: &[(&str, &str)] = &[
    ("uniform", r#""uniform""#),
    ("hot/cold", "{ hot_cold = { hot_data_share = 0.1, hot_request_share = 0.9 } }"),
    ("zipf", "{ zipf = { theta = 0.99 } }"),
    ("cold half", "{ hot_cold = { hot_data_share = 0.5, hot_request_share = 1.0, scatter = false } }"),
];

/// Share of a life from which the rest is forecast with the tolerance that is asserted.
const FIFTH: f64 = 0.2;

struct Scale {
    blocks_per_plane: u32,
    pages_per_block: u32,
    endurance: u32,
    span: &'static str,
    /// More than any device here survives.
    requests: u64,
    /// Shares of lives from which the rest is forecast.
    parts: &'static [f64],
}

fn scale() -> Scale {
    if std::env::var_os("FTLKIT_LONG").is_some() {
        Scale {
            blocks_per_plane: 128,
            pages_per_block: 64,
            endurance: 400,
            span: "51MiB",
            requests: 8_000_000,
            parts: &[0.01, 0.02, 0.05, 0.1, FIFTH, 0.4],
        }
    } else {
        Scale {
            blocks_per_plane: 64,
            pages_per_block: 16,
            endurance: 60,
            span: "6400KiB",
            requests: 150_000,
            parts: &[FIFTH],
        }
    }
}

fn run(scale: &Scale, pattern: &str, stacks: &[&str], requests: u64) -> Vec<RunResult> {
    let Scale { blocks_per_plane, pages_per_block, endurance, span, .. } = scale;
    let stacks = stacks.iter().map(|stack| format!("[[ftl]]\nname = \"{stack}\"\n")).collect::<Vec<_>>().concat();
    let text = format!(
        r#"
            seed = 3
            [device]
            channels = 2
            dies_per_channel = 1
            blocks_per_plane = {blocks_per_plane}
            pages_per_block = {pages_per_block}
            spare = 0.2
            endurance = {endurance}
            [workload.generator]
            requests = {requests}
            span = "{span}"
            pattern = {pattern}
            arrivals = {{ constant = {{ gap = "1ms" }} }}
            [host]
            loop = "closed"
            [run]
            precondition = "fill"
            waiting = false
            {stacks}
        "#
    );
    results(&text).runs
}

/// How far a forecast is off, as a share of what happened, and whether that lies in its range.
fn compare(forecast: Lifetime, happened: Lifetime) -> (f64, bool) {
    assert!(happened.is_measured && !forecast.is_measured);
    let off = forecast.written_bytes as f64 / happened.written_bytes as f64 - 1.0;
    // What happened is itself known between two looks.
    (off, forecast.low_bytes <= happened.high_bytes && happened.low_bytes <= forecast.high_bytes)
}

/// How far forecasts from one part of their lives are off, those of the first block and those of
/// the last spare.
#[derive(Default)]
struct Errors {
    tried: u32,
    refused: u32,
    erases: f64,
    off: [f64; 2],
    most: [f64; 2],
    /// The two ends of the range of the first block: as if blocks kept rates of their own, and as
    /// if they drifted apart no further.
    ends: [f64; 2],
    hits: [u32; 2],
}

impl Errors {
    fn add(&mut self, name: &str, life: &RunResult, part: &RunResult) {
        let (stack, told) = (&life.label, &part.endurance);
        let (Some(drift), Some(first), Some(last)) = (told.drift, told.first_block, told.spares_gone) else {
            assert!(told.refusal.is_some(), "{name}, {stack}: {told:?}");
            self.refused += 1;
            return;
        };
        let happened = [life.endurance.first_block, life.endurance.spares_gone].map(|life| life.expect("measured"));
        let orders = [compare(first, happened[0]), compare(last, happened[1])];
        for (at, (off, hit)) in orders.into_iter().enumerate() {
            self.off[at] += off.abs();
            self.most[at] = self.most[at].max(off.abs());
            self.hits[at] += u32::from(hit);
        }
        let share = |bytes: u64| (bytes as f64 / happened[0].written_bytes as f64 - 1.0).abs();
        self.ends = [self.ends[0] + share(first.low_bytes), self.ends[1] + share(first.high_bytes)];
        self.tried += 1;
        self.erases += part.erases.mean;
        let shown = orders.map(|(off, hit)| format!("{:+6.1} % {:3}", 100.0 * off, if hit { "yes" } else { "no" }));
        println!("| {name} | {stack} | {:.1} | {drift:.2} | {} |", part.erases.mean, shown.join(" | "));
    }

    fn mean(&self, sums: [f64; 2]) -> [f64; 2] {
        sums.map(|sum| sum / f64::from(self.tried).max(1.0))
    }
}

#[test]
fn a_life_is_forecast_from_its_first_fifth() {
    let scale = scale();
    let mut errors: Vec<(f64, Errors)> = scale.parts.iter().map(|&part| (part, Errors::default())).collect();
    println!("| workload | stack | erases | drift | first block, in range | spares gone, in range |");
    for (name, pattern) in PATTERNS {
        for life in run(&scale, pattern, STACKS, scale.requests) {
            let end = life.end_of_life.as_ref().unwrap_or_else(|| panic!("{name}, {}: lasted", life.label));
            for (part, errors) in &mut errors {
                let requests = (end.request as f64 * *part) as u64;
                errors.add(name, &life, &run(&scale, pattern, &[&life.label], requests)[0]);
            }
        }
    }
    for (part, errors) in &errors {
        let Errors { tried, refused, erases, off, most, ends, hits } = errors;
        let percent = |shares: [f64; 2]| shares.map(|share| format!("{:.1} %", 100.0 * share)).join(", ");
        println!(
            "{part}: {tried} forecasts, {refused} refused, {:.1} erases a block, off by {}, at most {}, in range {hits:?}; \
             first block by the ends of its range: off by {}",
            erases / f64::from(*tried).max(1.0),
            percent(errors.mean(*off)),
            percent(*most),
            percent(errors.mean(*ends))
        );
    }
    let (_, fifth) = errors.iter().find(|(part, _)| (part - FIFTH).abs() < 1e-9).expect("a fifth");
    let (mean, hits) = (fifth.mean(fifth.off), fifth.hits.map(|hits| f64::from(hits) / f64::from(fifth.tried)));
    assert_eq!(fifth.tried as usize, STACKS.len() * PATTERNS.len());
    assert!(mean[0] < 0.10 && mean[1] < 0.10, "{mean:?}");
    assert!(hits[0] >= 0.8 && hits[1] >= 0.6, "{hits:?}");
}

/// Flash takes its bytes once in each cycle, and only what a buffer absorbs comes on top.
#[test]
fn no_forecast_is_beyond_the_cycles_of_the_flash() {
    let (scale, flash_bytes) = (scale(), scale().blocks_per_plane * scale().pages_per_block * 2 * 4096);
    let sequential = ("sequential", r#""sequential""#);
    let mut at_the_bound = 0;
    for (name, pattern) in PATTERNS.iter().chain([&sequential]) {
        for requests in (10..30).step_by(4).map(|thousands| 1_111 * thousands) {
            for run in run(&scale, pattern, &["page", "page+lru", "dftl"], requests) {
                let amplification = run.write_amplification.expect("writes").min(1.0);
                let most = f64::from(flash_bytes) * f64::from(scale.endurance) / amplification;
                for life in [run.endurance.first_block, run.endurance.spares_gone].into_iter().flatten() {
                    assert!(life.is_measured || life.high_bytes as f64 <= most, "{name}, {}: {life:?}", run.label);
                    at_the_bound += u32::from(life.high_bytes as f64 > 0.999 * most);
                }
            }
        }
    }
    assert!(at_the_bound > 0, "some forecasts reach it");
}

/// A run of which a block was erased less than four times tells nothing of its life, and says how
/// to get more.
#[test]
fn no_life_is_forecast_from_a_short_run() {
    let scale = scale();
    for run in run(&scale, PATTERNS[0].1, &["page", "fast"], 200) {
        let endurance = run.endurance;
        assert_eq!(
            (endurance.first_block, endurance.spares_gone, endurance.drift),
            (None, None, None),
            "{}",
            run.label
        );
        let refusal = endurance.refusal.expect("why");
        assert!(refusal.contains("a forecast needs 4") && refusal.contains("replay more requests"), "{refusal}");
    }
}

/// In a closed loop years are at one drive write per day, whatever the arrivals.
#[test]
fn lives_are_told_in_years_and_drive_writes() {
    let scale = scale();
    let life = run(&scale, PATTERNS[0].1, &["page"], scale.requests).remove(0).endurance.spares_gone.expect("measured");
    assert!((life.years / (5.0 * life.drive_writes_per_day) - 1.0).abs() < 1e-9, "{life:?}");
    assert_eq!((life.low_bytes, life.high_bytes), (life.written_bytes, life.written_bytes));
    assert!(life.drive_writes_per_day > 0.0);
}
