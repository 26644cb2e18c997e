//! A referee for time: response times of the simulation, and those of an event-driven simulation
//! that was written apart from it, on the same operations. See `docs/conformance.md`.

mod promises;
mod queues;
pub(crate) mod stream;

use flash::{Geometry, Shape};
use ftl::FlashOp;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use sim::{Latencies, Model, Pricing};

use queues::Times;
use stream::{Bench, Pace};

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

struct Judged {
    /// Mean and 99th percentile by the simulation, in nanoseconds.
    simulated: (f64, f64),
    /// The same by promises that are never moved, the simulation's own rule.
    promised: (f64, f64),
    /// The same by queues that serve what came first.
    refereed: (f64, f64),
    erases: usize,
    mapping_reads: usize,
}

/// Mean and 99th percentile.
fn summary(mut responses: Vec<u64>) -> (f64, f64) {
    responses.sort_unstable();
    let mean = responses.iter().sum::<u64>() as f64 / responses.len() as f64;
    (mean, responses[responses.len() * 99 / 100] as f64)
}

impl Case {
    /// Runs the case, and has the referee serve the same operations.
    fn judge(&self, draw: &mut Draw) -> Judged {
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
        let reads = requests.iter().filter(|(_, writes)| !writes).count();
        let (stream, simulated) = bench.run(requests, pace);
        let promised = promises::responses(&stream, channels as usize, dies_per_channel as usize, self.times);
        let refereed = queues::responses(&stream, channels as usize, dies_per_channel as usize, self.times);
        let count = |op| stream.requests.iter().flatten().filter(|step| step.op == op && !step.awaited).count();
        let awaited = stream.requests.iter().flatten().filter(|step| step.op == FlashOp::Read && step.awaited).count();
        let (erases, mapping_reads) = (count(FlashOp::Erase), awaited.saturating_sub(reads));
        Judged {
            simulated: summary(simulated),
            refereed: summary(refereed),
            promised: summary(promised),
            erases,
            mapping_reads,
        }
    }
}

const fn shape(channels: u32, dies_per_channel: u32, blocks_per_plane: u32, pages_per_block: u32) -> Shape {
    Shape { channels, dies_per_channel, planes_per_die: 1, blocks_per_plane, pages_per_block, page_size_bytes: 4096 }
}

/// How far mean and 99th percentile are from what a referee says, as shares of it.
fn differences(simulated: (f64, f64), refereed: (f64, f64)) -> (f64, f64) {
    (simulated.0 / refereed.0 - 1.0, simulated.1 / refereed.1 - 1.0)
}

fn percent((mean, p99): (f64, f64)) -> String {
    format!("mean {:+.2} %, p99 {:+.2} %", 100.0 * mean, 100.0 * p99)
}

/// The larger of two differences.
fn worst((mean, p99): (f64, f64)) -> f64 {
    mean.abs().max(p99.abs())
}

/// Shows a case; returns the differences from the queues and from the promises.
fn compare(name: &str, case: &Case, judged: &Judged) -> (f64, f64) {
    let by_queues = differences(judged.simulated, judged.refereed);
    let by_promises = differences(judged.simulated, judged.promised);
    let Judged { simulated: (mean, p99), erases, mapping_reads, .. } = judged;
    println!(
        "{name}: mean {:.1} µs, p99 {:.1} µs; against queues {}; against promises {}; {erases} erases, {mapping_reads} reads of the map\n    {case:?}",
        mean / 1e3,
        p99 / 1e3,
        percent(by_queues),
        percent(by_promises)
    );
    (worst(by_queues), worst(by_promises))
}

/// Without collections: closed loops of 32 requests over 8 × 4 dies.
#[test]
fn closed_loops_without_collections_agree() {
    for write_percent in [0, 30] {
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
        let judged = case.judge(&mut draw(1));
        let (by_queues, by_promises) = compare("closed loop", &case, &judged);
        assert!(by_queues < 0.01 && by_promises < 0.001, "{write_percent} % writes");
        assert_eq!(judged.erases, 0, "nothing is collected");
    }
}

/// Collections of a page map, whose work stays on one die, at any load: both rules come to the
/// same.
#[test]
fn drawn_configurations_with_collections_agree() {
    let mut draw = draw(env("FTLKIT_SEED", 1));
    for number in 0..5 {
        let load = Load::Percent(draw.between(10, 60));
        let case = Case { scheme: "page", settings: Vec::new(), written_percent: 100, ..drawn_paged(&mut draw, load) };
        let judged = case.judge(&mut draw);
        let (by_queues, by_promises) = compare(&format!("page map {number}"), &case, &judged);
        assert!(judged.erases > 20, "{number}: only {} erases", judged.erases);
        assert!(by_queues < 0.005 && by_promises < 0.005, "{number}: more than 0.5 % apart");
    }
}

/// Pages of the runs on one die.
const ONE_DIE_PAGES: u64 = 32_768;

/// Collections and mapping reads on one die, at any load: what is promised leaves no gaps, so both
/// rules come to the same.
#[test]
fn drawn_configurations_on_one_die_agree_with_queues() {
    let mut draw = draw(env("FTLKIT_SEED", 1));
    for number in 0..10 {
        let load = Load::Percent(draw.between(5, 80));
        // From a fortieth to a tenth of the map in RAM.
        let settings = vec![("cmt", (8 * ONE_DIE_PAGES / draw.between(10, 40)).to_string())];
        let case = Case { settings, ..drawn(&mut draw, &[(1, 1)], ONE_DIE_PAGES as u32, &["dftl", "cdftl"], load) };
        let judged = case.judge(&mut draw);
        let (by_queues, by_promises) = compare(&format!("one die {number}"), &case, &judged);
        let Judged { erases, mapping_reads, .. } = judged;
        assert!(erases > 20 && mapping_reads > 1000, "{number}: {erases} erases, {mapping_reads} reads of the map");
        assert!(by_queues < 0.001 && by_promises < 0.001, "{number}: more than 0.1 % apart");
    }
}

/// Mapping reads and writes on several dies, without collections: a chain of operations of one
/// request goes from die to die, and what is promised to its later ones is hardly ever in the way
/// of others.
#[test]
fn drawn_configurations_without_collections_agree_with_queues() {
    let mut draw = draw(env("FTLKIT_SEED", 1));
    let mut mapping_reads = 0;
    for number in 0..10 {
        let load = Load::Percent(draw.between(5, env("FTLKIT_LOAD", 25)));
        let layouts = [(2, 1), (2, 2), (4, 1), (4, 2), (8, 1)];
        let case = drawn(&mut draw, &layouts, 16_384, &["dftl", "cdftl", "rftl"], load);
        let case = Case { utilisation: 30, requests: 12_000, overwritten: 0, ..case };
        let judged = case.judge(&mut draw);
        let (_, by_promises) = compare(&format!("without collections {number}"), &case, &judged);
        let (mean, p99) = differences(judged.simulated, judged.refereed);
        assert_eq!(judged.erases, 0, "{number}: nothing is collected");
        mapping_reads += judged.mapping_reads;
        assert!(mean.abs() < 0.01 && p99.abs() < 0.05 && by_promises < 0.001, "{number}: mean {mean}, p99 {p99}");
    }
    assert!(mapping_reads > 10_000, "{mapping_reads} reads of the map");
}

/// Collections and mapping reads, which reach over several dies: the simulation keeps its rule. By
/// how much that differs from queues is shown, and written down in `docs/conformance.md`.
#[test]
fn drawn_configurations_with_collections_and_mapping_reads_agree() {
    let mut draw = draw(env("FTLKIT_SEED", 1));
    for number in 0..10 {
        let load = Load::Percent(draw.between(5, env("FTLKIT_LOAD", 25)));
        let case = drawn_paged(&mut draw, load);
        let judged = case.judge(&mut draw);
        let (_, by_promises) = compare(&format!("demand-paged {number}"), &case, &judged);
        let Judged { erases, mapping_reads, .. } = judged;
        assert!(erases > 20 && mapping_reads > 1000, "{number}: {erases} erases, {mapping_reads} reads of the map");
        assert!(by_promises < 0.02, "{number}: more than 2 % apart");
    }
}

fn draw(seed: u64) -> Draw {
    Draw(Xoshiro256PlusPlus::seed_from_u64(seed))
}

fn env(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// A demand-paged case on several dies.
fn drawn_paged(draw: &mut Draw, load: Load) -> Case {
    drawn(draw, &[(2, 1), (2, 2), (4, 1), (4, 2), (8, 1)], 4096, &["dftl", "cdftl", "rftl"], load)
}

/// A case of one of `schemes` on one of `layouts` (channels, dies a channel).
fn drawn(draw: &mut Draw, layouts: &[(u32, u32)], pages_per_die: u32, schemes: &[&'static str], load: Load) -> Case {
    let (channels, dies_per_channel) = draw.one_of(layouts);
    let pages_per_block = draw.one_of(&[32, 64, 128]);
    let blocks_per_plane = pages_per_die / pages_per_block;
    let pages = u64::from(channels * dies_per_channel * blocks_per_plane * pages_per_block);
    Case {
        scheme: draw.one_of(schemes),
        // From a twentieth to half of the map in RAM, 8 bytes an entry.
        settings: vec![("cmt", (8 * pages / draw.between(2, 20)).to_string())],
        shape: shape(channels, dies_per_channel, blocks_per_plane, pages_per_block),
        times: Times {
            read: 1000 * draw.between(20, 60),
            program: 1000 * draw.between(200, 700),
            erase: 1000 * draw.between(1000, 4000),
            transfer: 1000 * draw.between(5, 20),
        },
        utilisation: draw.between(60, 80),
        write_percent: draw.one_of(&[20, 50, 80]),
        written_percent: draw.between(5, 20),
        load,
        requests: 40_000,
        overwritten: 1,
    }
}
