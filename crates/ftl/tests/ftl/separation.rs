//! Classifiers and victims against published write amplification.

use crate::theory::{Bench, close};
use random::SeededRng;

/// SSD-iq's simulator (Haas 2025): the used share of its flash.
const FILL: f64 = 0.875;
const BLOCKS: u32 = 256;
const PAGES: u32 = 512;

/// A device at SSD-iq's utilisation of the blocks that no collection keeps free.
fn bench(settings: &[(&str, &str)], kept: f64) -> Bench {
    let pages = (FILL * (f64::from(BLOCKS) - kept)) as u32 * PAGES;
    Bench::filled("page", settings, BLOCKS, PAGES, pages)
}

/// Write amplification after `turns` turns, over as many, of what `draw` draws.
fn amplification(bench: &mut Bench, turns: f64, mut draw: impl FnMut(&mut Bench) -> u32) -> f64 {
    let writes = (turns * f64::from(bench.pages)) as u64;
    bench.amplification(writes, writes, |bench| {
        let lpn = draw(bench);
        bench.write(lpn);
    })
}

/// The share `hot` of the writes goes to the share 1 − `hot` of the pages.
fn zones(bench: &mut Bench, hot: f64) -> u32 {
    let size = ((1.0 - hot) * f64::from(bench.pages)) as u32;
    if bench.share() < hot { bench.below(size) } else { size + bench.below(bench.pages - size) }
}

/// Zipf's law over scattered pages.
struct Zipf {
    cumulative: Vec<f64>,
    places: Vec<u32>,
}

impl Zipf {
    fn new(pages: u32, theta: f64) -> Self {
        let mut sum = 0.0;
        let mut cumulative = Vec::new();
        for rank in 1..=pages {
            sum += f64::from(rank).powf(-theta);
            cumulative.push(sum);
        }
        let mut places: Vec<_> = (0..pages).collect();
        let mut rng = SeededRng::new(5);
        (1..places.len()).rev().for_each(|at| places.swap(at, rng.below_u32(at as u32 + 1) as usize));
        Self { cumulative, places }
    }

    fn draw(&self, bench: &mut Bench) -> u32 {
        let drawn = bench.share() * self.cumulative[self.cumulative.len() - 1];
        self.places[self.cumulative.partition_point(|&sum| sum < drawn).min(self.places.len() - 1)]
    }
}

#[test]
fn two_regions_with_a_second_chance_meet_ssd_iqs_simulator() {
    for (hot, published) in [(0.5, 4.186), (0.7, 4.182), (0.8, 4.120)] {
        let mut bench = bench(&[("streams", "two-regions"), ("victim", "second-chance")], 2.0);
        let measured = amplification(&mut bench, 4.0, |bench| zones(bench, hot));
        close(&format!("2R-FIFO, {hot} of the writes to {:.1} of the pages", 1.0 - hot), measured, published, 0.02);
    }
}

/// Write amplification under Zipf's law with these settings.
fn zipf(theta: f64, settings: &[(&str, &str)]) -> f64 {
    let mut bench = bench(settings, 2.5);
    let zipf = Zipf::new(bench.pages, theta);
    let measured = amplification(&mut bench, 4.0, |bench| zipf.draw(bench));
    println!("{settings:?}, Zipf {theta}: {measured:.3}");
    measured
}

#[test]
fn classifiers_write_less_than_survivors_apart() {
    for (victim, least) in [("greedy", 0.09), ("cost-benefit", 0.05)] {
        let apart = zipf(1.0, &[("victim", victim)]);
        for streams in ["sepbit", "dac", "fadac"] {
            let saved = 1.0 - zipf(1.0, &[("victim", victim), ("streams", streams)]) / apart;
            assert!(saved > least, "{streams} with {victim} saves {:.1} %", 100.0 * saved);
        }
    }
}

/// Without wear policy all blocks of a die are erased about as often.
#[test]
fn cat_is_cost_benefit_where_wear_is_even() {
    let [cat, cost_benefit] = ["cat", "cost-benefit"].map(|victim| zipf(0.8, &[("victim", victim)]));
    close("CAT beside cost-benefit", cat, cost_benefit, 0.02);
}
