//! The schemes against closed forms.
//!
//! Each row is a device, a workload and the number that theory gives for it. Where theory assumes
//! that no block is kept free, the utilisation is corrected first: with `r` blocks of `N` kept free
//! (and one more for a collection stream of its own) it sees `ρ_eff` = ρ N / (N − r). What is
//! printed shows both. Set `FTLKIT_LONG=1` for all rows, devices four times as large and runs of
//! twice the length.

use crate::kit::untimed;
use flash::{Lpn, PageData};
use ftl::{AnyDevice, Cause, Drive, FlashOp, FlashPort, Hint, Layout, Note, Request, Stack, registry};
use random::SeededRng;
use testkit::TestFlash;

pub(crate) struct Bench {
    flash: FlashPort<AnyDevice>,
    ftl: Drive<AnyDevice>,
    pub(crate) pages: u32,
    rng: SeededRng,
}

impl Bench {
    // A one-die device whose logical pages have been written once, in order.
    pub(crate) fn filled(
        scheme: &str,
        settings: &[(&str, &str)],
        blocks: u32,
        pages_per_block: u32,
        pages: u32,
    ) -> Self {
        let mut bench = Self::fresh(scheme, settings, blocks, pages_per_block, pages);
        for lpn in 0..pages {
            bench.write(lpn);
        }
        bench
    }

    fn fresh(scheme: &str, settings: &[(&str, &str)], blocks: u32, pages_per_block: u32, pages: u32) -> Self {
        Self::of(&Stack::with(scheme, settings.iter().copied()), blocks, pages_per_block, pages)
    }

    fn of(stack: &Stack, blocks: u32, pages_per_block: u32, pages: u32) -> Self {
        let chip = TestFlash::new(blocks, pages_per_block).page_size(4096).chip();
        let layout = Layout::of(&chip, pages, 7);
        let ftl = registry::create(stack, &layout).expect("a valid scheme");
        let flash = FlashPort::new(untimed(chip));
        Self { flash, ftl, pages, rng: SeededRng::new(11) }
    }

    pub(crate) fn write(&mut self, lpn: u32) {
        self.ftl
            .write(&mut self.flash, &Request::new(Lpn::new(lpn), 1), &[PageData::default()])
            .expect("a legal write");
    }

    pub(crate) fn below(&mut self, limit: u32) -> u32 {
        self.rng.below_u32(limit)
    }

    pub(crate) fn share(&mut self) -> f64 {
        (self.rng.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    // Programs per write over `writes` writes, after `warm` of them.
    pub(crate) fn amplification(&mut self, warm: u64, writes: u64, mut step: impl FnMut(&mut Self)) -> f64 {
        for _ in 0..warm {
            step(self);
        }
        let before = self.flash.chip().operations();
        let host = self.flash.tally().count(ftl::Cause::Host, ftl::FlashOp::Program);
        for _ in 0..writes {
            step(self);
        }
        self.ftl.check(&self.flash).expect("invariants");
        let host = self.flash.tally().count(ftl::Cause::Host, ftl::FlashOp::Program) - host;
        (self.flash.chip().operations().programs - before.programs) as f64 / host as f64
    }
}

fn long() -> u32 {
    if std::env::var_os("FTLKIT_LONG").is_some() { 4 } else { 1 }
}

/// The first this many rows, or all in the long form.
fn rows<T>(all: &[T], first: usize) -> &[T] {
    if long() > 1 { all } else { &all[..first] }
}

pub(crate) fn close(what: &str, measured: f64, theory: f64, tolerance: f64) {
    let error = measured / theory - 1.0;
    println!(
        "{what}: measured {measured:.4}, theory {theory:.4} ({:+.2} %, allowed {:.1} %)",
        100.0 * error,
        100.0 * tolerance
    );
    assert!(error.abs() <= tolerance, "{what}: measured {measured:.4}, theory {theory:.4}");
}

// Greedy in the mean field (Van Houdt 2013, d → ∞), by interpolation-free search for k.
fn greedy(rho: f64, b: u32) -> f64 {
    let harmonic = |n: u32| (1..=n).map(|i| 1.0 / f64::from(i)).sum::<f64>();
    let (full, size) = (harmonic(b), f64::from(b));
    for k in 1..b {
        let gap = full - harmonic(k);
        let kf = f64::from(k);
        let c = ((size - kf) - kf * gap) / (size * rho - kf);
        if size * rho > kf && c > 0.0 && gap - 1e-12 <= c && c <= full - harmonic(k - 1) + 1e-12 {
            return 1.0 / (c * rho);
        }
    }
    1.0
}

// FIFO: A = α / (α + W₀(−α e^−α)), found as the root of p = e^(−(1−p)/ρ), p = 1 − 1/A.
fn fifo(rho: f64) -> f64 {
    let mut p: f64 = 0.5;
    for _ in 0..10_000 {
        p = (-(1.0 - p) / rho).exp();
    }
    1.0 / (1.0 - p)
}

// d-choices in the mean field: 1 − S_i^d = c i (S_i − S_{i+1}), ΣS_i = bρ fixes c.
fn d_choices(rho: f64, b: u32, d: i32) -> f64 {
    let bisect = |mut low: f64, mut high: f64, too_low: &dyn Fn(f64) -> bool| {
        for _ in 0..100 {
            let middle = 0.5 * (low + high);
            if too_low(middle) { low = middle } else { high = middle }
        }
        0.5 * (low + high)
    };
    let total = |c: f64| {
        let (mut next, mut sum) = (0.0, 0.0);
        for i in (1..=b).rev() {
            let x = bisect(next, 1.0, &|x: f64| 1.0 - x.powi(d) > c * f64::from(i) * (x - next));
            sum += x;
            next = x;
        }
        sum
    };
    let c = bisect(1e-3, 1e3, &|c| total(c) > f64::from(b) * rho);
    1.0 / (c * rho)
}

#[test]
fn the_closed_forms_themselves_give_the_published_numbers() {
    // Of one region, or of two that are alike, the mean field of regions is that of the device.
    for regions in [&[(1.0, 1.0)][..], &[(0.3, 0.3), (0.7, 0.7)]] {
        assert!((greedy_regions(0.9, 64, regions) - greedy(0.9, 64)).abs() < 1e-6, "{regions:?}");
    }
    for (rho, b, expected) in
        [(0.80, 64, 2.5993), (0.90, 64, 4.8213), (0.80, 256, 2.6684), (0.90, 256, 5.0832), (0.93, 128, 6.9450)]
    {
        close("greedy", greedy(rho, b), expected, 1e-4);
    }
    close("fifo .80", fifo(0.80), 2.6927, 1e-4);
    close("fifo .90", fifo(0.90), 5.1787, 1e-4);
    close("d=2 .90 64", d_choices(0.90, 64, 2), 6.8516, 1e-4);
    close("d=10 .90 256", d_choices(0.90, 256, 10), 5.2264, 1e-4);
}

// Uniform one-page writes under each victim policy. Two blocks are kept free, the second one for an
// erase that fails, and the one that is open for collected pages is half erased on average: r =
// 2.5.
fn uniform(victim: &[(&str, &str)], turns: u64, theory: impl Fn(f64, u32) -> f64) {
    for &(rho, b) in rows(&[(0.80, 64), (0.90, 256), (0.90, 64), (0.80, 256)], 2) {
        let blocks = if b == 64 { 2048 } else { 1024 } * long();
        let pages = (f64::from(blocks * b) * rho) as u32;
        let effective = f64::from(pages) / ((f64::from(blocks) - 2.5) * f64::from(b));
        let mut bench = Bench::filled("page", victim, blocks, b, pages);
        let turn = u64::from(blocks * b);
        let measured = bench.amplification(6 * turn, turns * turn * u64::from(long()).min(2), |bench| {
            let lpn = bench.below(bench.pages);
            bench.write(lpn);
        });
        close(&format!("{victim:?} ρ={rho} (ρ_eff={effective:.4}) b={b}"), measured, theory(effective, b), 0.005);
    }
}

#[test]
fn greedy_meets_its_mean_field() {
    uniform(&[("victim", "greedy")], 6, greedy);
}

#[test]
fn fifo_meets_its_closed_form() {
    uniform(&[("victim", "fifo")], 6, |rho, _| fifo(rho));
}

#[test]
fn random_meets_its_closed_form() {
    // Victims vary from empty to full, so the mean needs more of them.
    uniform(&[("victim", "random")], 24, |rho, _| 1.0 / (1.0 - rho));
}

#[test]
fn two_choices_meet_their_mean_field() {
    // As for random victims, though they vary less.
    uniform(&[("victim", "d-choices"), ("d", "2")], 24, |rho, b| d_choices(rho, b, 2));
}

#[test]
fn ten_choices_meet_their_mean_field() {
    uniform(&[("victim", "d-choices"), ("d", "10")], 6, |rho, b| d_choices(rho, b, 10));
}

// A share q of requests trims a page in use (Frankie 2012): the device behaves as at ρ
// (1 − 2q) / (1 − q).
#[test]
fn trims_act_as_a_lower_utilisation() {
    let (blocks, b) = (2048 * long(), 64);
    let pages = (f64::from(blocks * b) * 0.95) as u32;
    for &q in rows(&[0.2, 0.1, 0.3], 1) {
        let mut bench = Bench::filled("page", &[], blocks, b, pages);
        let mut used: Vec<u32> = (0..pages).collect();
        let mut position: Vec<Option<u32>> = (0..pages).map(Some).collect();
        let turn = u64::from(blocks * b);
        let measured = bench.amplification(12 * turn, 8 * turn, |bench| {
            if bench.share() < q && !used.is_empty() {
                let at = bench.below(used.len() as u32);
                let lpn = used.swap_remove(at as usize);
                position[lpn as usize] = None;
                if let Some(&moved) = used.get(at as usize) {
                    position[moved as usize] = Some(at);
                }
                bench.ftl.trim(&mut bench.flash, &Request::new(Lpn::new(lpn), 1)).expect("a legal trim");
            } else {
                let lpn = bench.below(bench.pages);
                if position[lpn as usize].is_none() {
                    position[lpn as usize] = Some(used.len() as u32);
                    used.push(lpn);
                }
                bench.write(lpn);
            }
        });
        let effective = f64::from(pages) / ((f64::from(blocks) - 2.5) * f64::from(b)) * (1.0 - 2.0 * q) / (1.0 - q);
        close(&format!("trim q={q} (ρ_eff={effective:.4})"), measured, greedy(effective, b), 0.01);
    }
}

// A share f of the pages gets r of the writes; FIFO victims and one stream for host and collected
// pages (r = 2 blocks free): q Σ r_k / (1 − e^(−(r_k/f_k) q/ρ)) = 1, A = 1/q.
#[test]
fn hot_and_cold_pages_under_fifo_meet_the_closed_form() {
    let blocks = 2048 * long();
    let b = 64;
    for &(rho, f, r) in rows(&[(0.80, 0.2, 0.8), (0.90, 0.1, 0.9), (0.90, 0.2, 0.8), (0.80, 0.1, 0.9)], 2) {
        let pages = (f64::from(blocks * b) * rho) as u32;
        let effective = f64::from(pages) / f64::from((blocks - 2) * b);
        let mut bench = Bench::filled("page", &[("victim", "fifo"), ("streams", "shared")], blocks, b, pages);
        let hot = (f64::from(pages) * f) as u32;
        let turn = u64::from(blocks * b);
        let measured = bench.amplification(20 * turn, 10 * turn, |bench| {
            let lpn = if bench.share() < r { bench.below(hot) } else { hot + bench.below(bench.pages - hot) };
            bench.write(lpn);
        });
        let residual = |q: f64| {
            q * [(r, f), (1.0 - r, 1.0 - f)]
                .iter()
                .map(|(r, f)| r / (1.0 - (-(r / f) * q / effective).exp()))
                .sum::<f64>()
                - 1.0
        };
        let (mut low, mut high) = (1e-9, 1.0);
        for _ in 0..100 {
            let q = 0.5 * (low + high);
            if residual(q) < 0.0 { low = q } else { high = q }
        }
        close(&format!("hot/cold f={f} r={r} ρ={rho} (ρ_eff={effective:.4})"), measured, 1.0 / low, 0.01);
    }
}

// The least that two regions can cost which have blocks of their own: each is a greedy device under
// uniform writes, and the split of the blocks between them is the best one.
fn best_split(rho: f64, b: u32, f: f64, r: f64) -> f64 {
    let cost = |share: f64| {
        let (hot, cold) = (rho * f / share, rho * (1.0 - f) / (1.0 - share));
        if hot < 0.999 && cold < 0.999 { r * greedy(hot, b) + (1.0 - r) * greedy(cold, b) } else { f64::MAX }
    };
    (1..2000).map(|step| cost(f64::from(step) / 2000.0)).fold(f64::MAX, f64::min)
}

// Two regions with blocks of their own under one greedy choice of victims, in the mean field. A
// share f of the pages ρ b of a block's worth gets r of the writes, so each valid page of it is
// superseded at the rate μ = r/(f ρ b). Blocks of a region pass the levels b … k+1 of valid pages
// at a rate J each, so J/(jμ) of them are at level j, and J/(kμ + θ) at level k, where blocks of
// both regions are victims at the same rate θ; those at k − 1 are victims at once. The pages give
// J, the number of blocks gives k and θ, and A = Σ J b.
fn greedy_regions(rho: f64, b: u32, regions: &[(f64, f64)]) -> f64 {
    let harmonic = |n: u32| (1..=n).map(|i| 1.0 / f64::from(i)).sum::<f64>();
    let size = f64::from(b);
    let at = |k: u32, theta: f64| {
        let (level, gap) = (f64::from(k), harmonic(b) - harmonic(k));
        let of = |&(f, r): &(f64, f64)| {
            let rate = r / (f * rho * size);
            let flow = f * rho * size / ((size - level) / rate + level / (level * rate + theta));
            (flow / rate * gap + flow / (level * rate + theta), flow * size)
        };
        regions.iter().map(of).fold((0.0, 0.0), |sum, each| (sum.0 + each.0, sum.1 + each.1))
    };
    // More is collected the larger θ is, so that blocks hold more; the level is the one at which
    // their number can be met.
    let Some(k) = (1..b).rev().find(|&k| (at(k, 0.0).0 - 1.0) * (at(k, 1e9).0 - 1.0) <= 0.0) else { return f64::NAN };
    let (mut low, mut high) = (0.0, 1e9);
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if (at(k, middle).0 - 1.0) * (at(k, 0.0).0 - 1.0) > 0.0 { low = middle } else { high = middle }
    }
    at(k, low).1
}

// Hot and cold pages that the host hints at as streams (Van Houdt 2013b keeps them apart, too).
// Greedy looks for the fewest valid pages wherever they are, so both regions are collected at
// nearly the same number, as one uniform region would be. That is less than without hints, and more
// than the best split of the blocks would cost, which no victim policy here looks for.
#[test]
fn hot_and_cold_streams_under_greedy_meet_the_mean_field_of_two_regions() {
    let (blocks, b) = (2048 * long(), 64);
    for &(rho, f, r) in rows(&[(0.80, 0.2, 0.8), (0.90, 0.1, 0.9), (0.90, 0.2, 0.8), (0.80, 0.1, 0.9)], 2) {
        let pages = (f64::from(blocks * b) * rho) as u32;
        let turn = u64::from(blocks * b);
        let measured = |settings: &[(&str, &str)]| {
            let mut bench = Bench::filled("page", settings, blocks, b, pages);
            let hot = (f64::from(pages) * f) as u32;
            bench.amplification(12 * turn, 6 * turn, |bench| {
                let is_hot = bench.share() < r;
                let lpn = if is_hot { bench.below(hot) } else { hot + bench.below(bench.pages - hot) };
                let hint = Hint::of_stream(u8::from(is_hot));
                let request = Request { hint, ..Request::new(Lpn::new(lpn), 1) };
                bench.ftl.write(&mut bench.flash, &request, &[PageData::default()]).expect("a legal write");
            })
        };
        let apart = measured(&[("streams", "hints"), ("hint_streams", "2"), ("hint_collection", "apart")]);
        let mixed = measured(&[("streams", "shared")]);
        // Two blocks are free, and the open one of the other stream is half empty.
        let effective = f64::from(pages) / ((f64::from(blocks) - 2.5) * f64::from(b));
        let best = best_split(effective, b, f, r);
        let uniform = greedy(effective, b);
        println!(
            "f={f} r={r} ρ={rho}: uniform {uniform:.4}, without hints {mixed:.4}, with {apart:.4}, best split {best:.4}"
        );
        let theory = greedy_regions(effective, b, &[(f, r), (1.0 - f, 1.0 - r)]);
        // Which of equally good blocks of two regions is taken first is not in the mean field.
        close(&format!("streams f={f} r={r} ρ={rho} (ρ_eff={effective:.4})"), apart, theory, 0.02);
        assert!(best < apart && apart < mixed, "f={f} r={r} ρ={rho}: {best:.4}, {apart:.4}, {mixed:.4}");
    }
}

// Block mapping on a full device: every one-page overwrite copies the block, A = b, one erase a
// write.
#[test]
fn block_mapping_costs_a_block_a_write() {
    for b in [16, 64, 256] {
        let mut bench = Bench::filled("block", &[], 66, b, 64 * b);
        let erases = bench.flash.chip().operations().erases;
        let measured = bench.amplification(0, 5000, |bench| {
            let lpn = bench.below(bench.pages);
            bench.write(lpn);
        });
        close(&format!("block b={b}"), measured, f64::from(b), 1e-12);
        assert_eq!(bench.flash.chip().operations().erases - erases, 5000);
    }
}

// BAST on D full data blocks with L log blocks, h = L/D: A = 1 + b(1 − h)/(1 − h^b).
#[test]
fn bast_meets_its_closed_form() {
    let all = [
        (1000, 30, 64, 63.08),
        (1000, 300, 64, 45.80),
        (1000, 100, 64, 58.60),
        (4096, 64, 128, 127.0),
        (2000, 50, 256, 250.6),
    ];
    for &(data, log, b, published) in rows(&all, 2) {
        let h = f64::from(log) / f64::from(data);
        let theory = 1.0 + f64::from(b) * (1.0 - h) / (1.0 - h.powi(b));
        close("published", theory, published, 1e-3);
        let log_blocks = log.to_string();
        let mut bench =
            Bench::filled("bast", &[("log_blocks", &log_blocks)], (data + log + 2) as u32, b as u32, (data * b) as u32);
        let measured = bench.amplification(20_000, 100_000 * u64::from(long()), |bench| {
            let lpn = bench.below(bench.pages);
            bench.write(lpn);
        });
        close(&format!("bast D={data} L={log} b={b}"), measured, theory, 0.01);
    }
}

// FAST with a random log only, D data and L log blocks: A = 1 + bD/(D + R), R = (L − ½) b + D
// (1 − e^(−(L − ½)/D)).
#[test]
fn fast_meets_its_renewal_form() {
    let all = [
        (1000, 30, 64, 22.94),
        (1000, 300, 64, 4.13),
        (1000, 100, 64, 9.58),
        (4096, 64, 128, 43.7),
        (2000, 50, 256, 35.78),
    ];
    for &(data, log, b, published) in rows(&all, 2) {
        let (d, l) = (f64::from(data), f64::from(log));
        let renewal = (l - 0.5) * f64::from(b) + d * (1.0 - (-(l - 0.5) / d).exp());
        let theory = 1.0 + f64::from(b) * d / (d + renewal);
        close("published", theory, published, 1e-3);
        let settings = [("log_blocks", log.to_string()), ("sequential", "false".into())];
        let settings: Vec<_> = settings.iter().map(|(k, v)| (*k, v.as_str())).collect();
        let mut bench = Bench::filled("fast", &settings, data + log + 2, b, data * b);
        let turn = u64::from(log * b);
        // Converges slowly from the filled state: 20 turns of the log first.
        let writes = (40 * turn).max(100_000) * u64::from(long());
        let measured = bench.amplification(20 * turn, writes, |bench| {
            let lpn = bench.below(bench.pages);
            bench.write(lpn);
        });
        close(&format!("fast D={data} L={log} b={b}"), measured, theory, 0.02);
    }
}

// One superblock of everything is page mapping with greedy victims on N + K blocks, of which one is
// half erased on average.
#[test]
fn one_superblock_meets_the_mean_field_of_greedy() {
    for &(n, k, b) in rows(&[(800_u32, 200_u32, 64_u32), (900, 100, 64)], 1) {
        let (size, extra) = (n.to_string(), k.to_string());
        let settings = [("n", size.as_str()), ("k", &extra), ("log_blocks", &extra), ("map_cache", "4294967295")];
        let mut bench = Bench::filled("superblock", &settings, n + k + 2, b, n * b);
        let turn = u64::from((n + k) * b);
        let measured = bench.amplification(6 * turn, 6 * turn, |bench| {
            let lpn = bench.below(bench.pages);
            bench.write(lpn);
        });
        let rho = f64::from(n) / (f64::from(n + k) - 0.5);
        close(&format!("superblock N={n} K={k} b={b}"), measured, greedy(rho, b), 0.01);
    }
}

/// Independent Zipf references to a map of 10⁶ entries, scattered over the translation pages.
struct Zipf {
    cumulative: Vec<f64>,
}

impl Zipf {
    const ENTRIES: u32 = 1_000_000;

    fn new(theta: f64) -> Self {
        let mut cumulative: Vec<f64> = (1..=Self::ENTRIES).map(|rank| f64::from(rank).powf(-theta)).collect();
        let mut sum = 0.0;
        for weight in &mut cumulative {
            sum += *weight;
            *weight = sum;
        }
        for weight in &mut cumulative {
            *weight /= sum;
        }
        Self { cumulative }
    }

    /// The share of references to each entry, the most popular first.
    fn shares(&self) -> impl Iterator<Item = f64> {
        std::iter::once(self.cumulative[0]).chain(self.cumulative.windows(2).map(|pair| pair[1] - pair[0]))
    }

    fn draw(&self, bench: &mut Bench) -> Request {
        let drawn = bench.share();
        let rank = self.cumulative.partition_point(|&c| c < drawn).min(Self::ENTRIES as usize - 1);
        // By a multiplier coprime to 10^6.
        Request::new(Lpn::new((rank as u64 * 387_420_489 % u64::from(Self::ENTRIES)) as u32), 1)
    }
}

/// Bytes of a CMT that holds this many percent of the map.
fn cmt(percent: u32) -> String {
    (8 * Zipf::ENTRIES / 100 * percent).to_string()
}

// The hit ratio of a CMT under independent references: LRU by Che's approximation, FIFO by its own
// form. Each miss reads a translation page once.
#[test]
fn dftl_hit_ratio_meets_che() {
    let tables = [
        ("lru", 0.8, [(5, 0.3911), (1, 0.2319), (10, 0.4871)]),
        ("lru", 0.99, [(5, 0.7034), (1, 0.5662), (10, 0.7663)]),
        ("fifo", 0.8, [(5, 0.3563), (1, 0.2073), (10, 0.4482)]),
        ("fifo", 0.99, [(5, 0.6701), (1, 0.5310), (10, 0.7348)]),
    ];
    for (policy, theta, all) in tables {
        let zipf = Zipf::new(theta);
        for &(percent, theory) in rows(&all, 1) {
            let cmt = cmt(percent);
            let mut bench =
                Bench::filled("dftl", &[("cmt", cmt.as_str()), ("cmt_policy", policy)], 4608, 256, Zipf::ENTRIES);
            let read = |bench: &mut Bench, count: u32| {
                for _ in 0..count {
                    let request = zipf.draw(bench);
                    bench.ftl.read(&mut bench.flash, &request, &mut [PageData::default()]).expect("a legal read");
                }
            };
            read(&mut bench, 500_000);
            let before = *bench.flash.tally();
            let count = 500_000 * long();
            read(&mut bench, count);
            let tally = bench.flash.tally().since(&before);
            let hit = tally.note(Note::MappingHit) as f64 / f64::from(count);
            println!("dftl {policy} zipf {theta}, {percent} % cached: hit ratio {hit:.4}, theory {theory:.4}");
            assert!((hit - theory).abs() < 0.003, "{policy} zipf {theta}, {percent} %: {hit:.4} against {theory:.4}");
            assert_eq!(tally.count(Cause::Mapping, FlashOp::Read), tally.note(Note::MappingMiss));
        }
    }
}

// Which evictions find the entry changed: an entry is clean if its last reference before leaving
// and all hits before that were reads. Without batches each of these writes a translation page,
// which has to be read for that.
#[test]
fn dftl_writes_back_the_changed_share_of_evictions() {
    for &(theta, percent, write_share) in rows(&[(0.8, 5, 0.3), (0.99, 10, 0.7), (0.99, 10, 0.3)], 2) {
        let (zipf, cmt) = (Zipf::new(theta), cmt(percent));
        let settings = [("cmt", cmt.as_str()), ("cmt_policy", "lru"), ("batch_update", "false")];
        // So large that nothing is collected, since that would change cached entries.
        let mut bench = Bench::fresh("dftl", &settings, 8_192, 256, Zipf::ENTRIES);
        let run = |bench: &mut Bench, count: u32| {
            for _ in 0..count {
                let request = zipf.draw(bench);
                if bench.share() < write_share {
                    bench.ftl.write(&mut bench.flash, &request, &[PageData::default()]).expect("a legal write");
                } else {
                    bench.ftl.read(&mut bench.flash, &request, &mut [PageData::default()]).expect("a legal read");
                }
            }
        };
        run(&mut bench, 500_000);
        let before = *bench.flash.tally();
        run(&mut bench, 500_000);
        let tally = bench.flash.tally().since(&before);
        assert_eq!(bench.flash.tally().total(FlashOp::Erase), 0, "nothing was collected");
        let (dirty, clean) = (tally.note(Note::DirtyEviction), tally.note(Note::CleanEviction));
        let measured = dirty as f64 / (dirty + clean) as f64;
        let theory = changed_share(&zipf, f64::from(percent) / 100.0, write_share);
        println!(
            "dftl zipf {theta}, {percent} % cached, {write_share} writes: changed {measured:.4}, theory {theory:.4}"
        );
        assert!((measured / theory - 1.0).abs() < 0.02, "{measured:.4} against {theory:.4}");
        assert_eq!(tally.count(Cause::Mapping, FlashOp::Program), dirty);
    }
}

/// Share of evictions in which the entry has changed, under LRU.
fn changed_share(zipf: &Zipf, cached: f64, write_share: f64) -> f64 {
    let shares: Vec<f64> = zipf.shares().collect();
    let wanted = cached * f64::from(Zipf::ENTRIES);
    let (mut low, mut high) = (0.0, 1e9);
    for _ in 0..60 {
        let t: f64 = f64::midpoint(low, high);
        let held: f64 = shares.iter().map(|q| 1.0 - (-q * t).exp()).sum();
        if held < wanted { low = t } else { high = t }
    }
    let (mut evictions, mut changed) = (0.0, 0.0);
    for q in shares {
        let hit = 1.0 - (-q * low).exp();
        let clean = (1.0 - write_share) * (1.0 - hit) / (1.0 - hit * (1.0 - write_share));
        evictions += q * (1.0 - hit);
        changed += q * (1.0 - hit) * (1.0 - clean);
    }
    changed / evictions
}

// Writes that find their page waiting in a write buffer of single pages, under independent
// references: LRU by Che's approximation, FIFO by its own form. Each that does not has another page
// programmed for it.
#[test]
fn hit_ratios_of_write_buffers_meet_che_and_the_fixed_point_of_fifo() {
    let tables = [
        ("lru", 0.8, [(5, 0.3911), (1, 0.2319), (10, 0.4871)]),
        ("lru", 0.99, [(5, 0.7034), (1, 0.5662), (10, 0.7663)]),
        ("fifo", 0.8, [(5, 0.3563), (1, 0.2073), (10, 0.4482)]),
        ("fifo", 0.99, [(5, 0.6701), (1, 0.5310), (10, 0.7348)]),
    ];
    for (buffer, theta, all) in tables {
        let zipf = Zipf::new(theta);
        for &(percent, theory) in rows(&all, 1) {
            let ram = u64::from(Zipf::ENTRIES / 100 * percent) * 4096;
            let stack = format!("page+{buffer}:ram={ram}").parse().expect("a spelling");
            let mut bench = Bench::of(&stack, 9216, 256, Zipf::ENTRIES);
            let run = |bench: &mut Bench, count: u32| {
                for _ in 0..count {
                    let request = zipf.draw(bench);
                    bench.ftl.write(&mut bench.flash, &request, &[PageData::default()]).expect("a legal write");
                }
            };
            run(&mut bench, 500_000);
            let before = *bench.flash.tally();
            let count = 500_000 * long();
            run(&mut bench, count);
            let tally = bench.flash.tally().since(&before);
            let hit = tally.note(Note::BufferHit) as f64 / f64::from(count);
            println!("{buffer} zipf {theta}, room for {percent} %: hit ratio {hit:.4}, theory {theory:.4}");
            assert!((hit - theory).abs() < 0.003, "{buffer} zipf {theta}, {percent} %: {hit:.4} against {theory:.4}");
            assert_eq!(tally.note(Note::BufferMiss), u64::from(count) - tally.note(Note::BufferHit));
            assert_eq!(tally.count(Cause::Host, FlashOp::Program), tally.note(Note::BufferMiss));
        }
    }
}
