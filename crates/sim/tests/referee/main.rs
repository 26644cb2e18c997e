//! A referee for time: response times of the simulation, and those of an event-driven simulation that was written apart from it, on the same
//! operations. See `docs/conformance.md`.

mod queues;
mod stream;

use flash::{Geometry, Shape};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use sim::{Latencies, Model, Pricing};

use crate::queues::{Times, responses};
use crate::stream::{Bench, Pace};

/// Random numbers below a limit.
struct Draw(Xoshiro256PlusPlus);

impl Draw {
    fn below(&mut self, limit: u64) -> u64 {
        let wide = u128::from(self.0.next_u64()) * u128::from(limit);
        (wide >> 64) as u64
    }

    fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most - least + 1)
    }

    fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}

/// A run: a scheme, a device, and how it is used.
#[derive(Clone, Debug)]
struct Case {
    scheme: &'static str,
    settings: Vec<(&'static str, String)>,
    shape: Shape,
    times: Times,
    /// Share of the physical pages that the host sees, in percent.
    utilisation: u64,
    write_percent: u64,
    /// Share of the logical pages that are written, in percent; all are read.
    written_percent: u64,
    load: Load,
    requests: usize,
    /// Pages overwritten before, in multiples of the physical ones.
    overwritten: u64,
}

/// How requests come.
#[derive(Clone, Copy, Debug)]
enum Load {
    /// So many are outstanding.
    Outstanding(usize),
    /// At times of their own, so that the dies are at work for so many percent of the time.
    Percent(u64),
}

/// Mean and 99th percentile.
fn summary(mut responses: Vec<u64>) -> (f64, f64) {
    responses.sort_unstable();
    let mean = responses.iter().sum::<u64>() as f64 / responses.len() as f64;
    (mean, responses[responses.len() * 99 / 100] as f64)
}

impl Case {
    /// What the simulation and the referee say: mean and 99th percentile each, and the operations that were not the host's.
    fn judge(&self, draw: &mut Draw) -> ((f64, f64), (f64, f64), i64) {
        let Times { read, program, erase, transfer } = self.times;
        let latencies = Latencies { read_ns: read, program_ns: program, erase_ns: erase, transfer_ns: transfer };
        let Shape { channels, dies_per_channel, .. } = self.shape;
        let geometry = Geometry::new(self.shape).expect("a shape");
        let logical_pages = (u64::from(geometry.pages()) * self.utilisation / 100) as u32;
        let pricing = Pricing::new(Model::Parallel, channels, dies_per_channel, latencies);
        let mut bench = Bench::new(self.scheme, &self.settings, geometry, logical_pages, pricing);
        bench.prepare((0..logical_pages).map(|lpn| (lpn, true)));
        let overwritten = self.overwritten * u64::from(geometry.pages());
        let span = u64::from(logical_pages) * self.written_percent / 100;
        bench.prepare((0..overwritten).map(|_| (draw.below(span) as u32, true)));
        let requests: Vec<_> = (0..self.requests)
            .map(|_| {
                let writes = draw.below(100) < self.write_percent;
                let span = if writes { self.written_percent } else { 100 };
                (draw.below(u64::from(logical_pages) * span / 100) as u32, writes)
            })
            .collect();
        let pace = match self.load {
            Load::Outstanding(depth) => Pace::Closed(depth),
            Load::Percent(percent) => {
                let (alone, _) = bench.run(requests.iter().copied().take(self.requests / 4), Pace::Closed(1));
                bench.prepare([]);
                let busy: u64 = alone.requests.iter().flatten().map(|step| self.times.alone(step.op)).sum();
                let dies = u64::from(channels * dies_per_channel);
                let mean_gap = busy * 100 / (percent * dies * alone.requests.len() as u64);
                let gaps = (0..self.requests).map(|_| draw.below(2 * mean_gap));
                Pace::Open(
                    gaps.scan(0, |now, gap| {
                        *now += gap;
                        Some(*now)
                    })
                    .collect(),
                )
            }
        };
        let (stream, simulated) = bench.run(requests, pace);
        let apart = stream.requests.iter().map(|steps| steps.len() as i64 - 1).sum();
        let refereed = responses(&stream, channels as usize, dies_per_channel as usize, self.times);
        (summary(simulated), summary(refereed), apart)
    }
}

fn differs(simulated: f64, refereed: f64) -> f64 {
    (simulated / refereed - 1.0).abs()
}

const fn shape(channels: u32, dies_per_channel: u32, blocks_per_plane: u32, pages_per_block: u32) -> Shape {
    Shape { channels, dies_per_channel, planes_per_die: 1, blocks_per_plane, pages_per_block, page_size_bytes: 4096 }
}

/// Without collections: closed loops of 32 requests over 8 × 4 dies, and what an earlier reference printed for them.
#[test]
fn closed_loops_without_collections_agree() {
    for (write_percent, mean_us) in [(0, 108.9), (30, 308.1)] {
        let case = Case {
            scheme: "page",
            settings: Vec::new(),
            shape: shape(8, 4, 64, 64),
            times: Times { read: 50_000, program: 500_000, erase: 3_000_000, transfer: 12_700 },
            utilisation: 50,
            write_percent,
            written_percent: 100,
            load: Load::Outstanding(32),
            requests: 100_000,
            overwritten: 0,
        };
        let ((simulated, p99), (refereed, refereed_p99), apart) =
            case.judge(&mut Draw(Xoshiro256PlusPlus::seed_from_u64(1)));
        println!(
            "{write_percent} % writes: {simulated:.0} and {refereed:.0} ns, p99 {p99:.0} and {refereed_p99:.0}, {apart} apart"
        );
        assert_eq!(apart, 0, "nothing is collected");
        assert!(
            differs(simulated, refereed) < 0.001,
            "{write_percent} % writes: {simulated} ns, by the referee {refereed}"
        );
        assert!(
            differs(simulated, 1000.0 * mean_us) < 0.01,
            "{write_percent} % writes: {simulated} ns, not {mean_us} µs"
        );
    }
}

/// With collections and mapping reads: configurations drawn from a seed.
#[test]
fn drawn_configurations_with_collections_and_mapping_reads_agree() {
    let seed = env("FTLKIT_SEED", 1);
    let mut draw = Draw(Xoshiro256PlusPlus::seed_from_u64(seed));
    let mut failed = Vec::new();
    for number in 0..10 {
        let case = drawn(&mut draw);
        let ((simulated, p99), (refereed, refereed_p99), apart) = case.judge(&mut draw);
        let differences = (simulated / refereed - 1.0, p99 / refereed_p99 - 1.0);
        println!(
            "{number}: mean {:.1} and {:.1} µs ({:+.2} %), p99 {:.1} and {:.1} ({:+.2} %), {apart} operations apart\n   {case:?}",
            simulated / 1e3,
            refereed / 1e3,
            100.0 * differences.0,
            p99 / 1e3,
            refereed_p99 / 1e3,
            100.0 * differences.1
        );
        assert!(apart > case.requests as i64 / 10, "{number}: only {apart} operations besides the host's");
        if differences.0.abs() > 0.02 || differences.1.abs() > 0.02 {
            failed.push(number);
        }
    }
    assert!(failed.is_empty(), "configurations {failed:?} differ by more than 2 %");
}

fn env(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|seed| seed.parse().ok()).unwrap_or(default)
}

fn drawn(draw: &mut Draw) -> Case {
    let scheme = draw.one_of(&["dftl", "cdftl", "rftl"]);
    let (channels, dies_per_channel) = draw.one_of(&[(2, 1), (2, 2), (4, 1), (4, 2), (8, 1), (8, 2)]);
    let pages_per_block = draw.one_of(&[32, 64, 128]);
    let blocks_per_plane = 4096 / pages_per_block;
    let pages = u64::from(channels * dies_per_channel * blocks_per_plane * pages_per_block);
    let mut settings = Vec::new();
    if scheme != "page" {
        // From a twentieth to half of the map in RAM, 8 bytes an entry.
        settings.push(("cmt", (8 * pages / draw.between(2, 20)).to_string()));
    }
    let write_percent = draw.one_of(&[20, 50, 80]);
    Case {
        scheme,
        settings,
        shape: shape(channels, dies_per_channel, blocks_per_plane, pages_per_block),
        times: Times {
            read: 1000 * draw.between(20, 60),
            program: 1000 * draw.between(200, 700),
            erase: 1000 * draw.between(1000, 4000),
            transfer: 1000 * draw.between(env("TLO", 5), env("THI", 20)),
        },
        utilisation: draw.between(60, 80),
        write_percent,
        written_percent: draw.between(env("WLO", 5), env("WHI", 20)),
        load: Load::Percent(draw.between(env("LO", 20), env("HI", 60))),
        requests: 40_000,
        overwritten: 1,
    }
}
