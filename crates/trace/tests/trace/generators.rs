//! Generated workloads against what theory says of them, on fixed seeds. Tolerances are 4 to 5
//! standard deviations, so a failure is a defect, not bad luck.

use std::collections::{BTreeMap, BTreeSet};

use trace::generate::{GeneratorSpec, generate};
use trace::{HostOp, Record};

const UNIT: u64 = 4096;

/// The workload that this TOML describes.
pub(crate) fn spec(toml: &str) -> GeneratorSpec {
    toml::from_str(toml).unwrap_or_else(|error| panic!("{toml}: {error}"))
}

pub(crate) fn records(toml: &str, seed: u64) -> Vec<Record> {
    generate(&spec(toml), seed).unwrap_or_else(|error| panic!("{toml}: {error}")).collect()
}

fn units(records: &[Record]) -> Vec<u64> {
    records.iter().map(|record| record.offset / UNIT).collect()
}

fn share(records: &[Record], belongs: impl Fn(&Record) -> bool) -> f64 {
    records.iter().filter(|record| belongs(record)).count() as f64 / records.len() as f64
}

/// Whether a share measured over `count` draws can be the probability `expected`: within 5 standard
/// deviations.
fn assert_share(measured: f64, expected: f64, count: usize, what: &str) {
    let deviation = (expected * (1.0 - expected) / count as f64).sqrt();
    assert!((measured - expected).abs() <= 5.0 * deviation + 1e-12, "{what}: {measured}, expected {expected}");
}

/// Whether Pearson's χ² of counts against probabilities is within 5 standard deviations of its
/// mean. Every cell must expect enough draws for χ² to apply.
fn assert_frequencies(counts: &[u64], probabilities: &[f64], what: &str) {
    let draws = counts.iter().sum::<u64>() as f64;
    assert!(probabilities.iter().all(|p| p * draws >= 10.0), "{what}: too few draws to judge");
    let terms = counts.iter().zip(probabilities).map(|(seen, p)| (*seen as f64 - p * draws).powi(2) / (p * draws));
    let (statistic, freedom) = (terms.sum::<f64>(), (counts.len() - 1) as f64);
    assert!(
        statistic < freedom + 5.0 * (2.0 * freedom).sqrt(),
        "{what}: χ² = {statistic} at {freedom} degrees of freedom"
    );
}

fn counts(values: &[u64], cells: u64) -> Vec<u64> {
    let mut counts = vec![0; cells as usize];
    for value in values {
        counts[*value as usize] += 1;
    }
    counts
}

#[test]
fn uniform_draws_with_replacement() {
    let drawn = units(&records("requests = 1000000\nspan = '4000KiB'", 1));
    assert_frequencies(&counts(&drawn, 1000), &[0.001; 1000], "uniform");
    // A first pass of n draws meets 1 − 1/e of n units; a permutation would meet them all.
    let drawn = units(&records("requests = 100000\nspan = '400000KiB'", 1));
    let met = drawn.iter().collect::<BTreeSet<_>>().len() as f64 / 100_000.0;
    assert!((met - (1.0 - (-1.0f64).exp())).abs() < 0.005, "{met}");
}

#[test]
fn a_permutation_covers_every_unit_once_per_pass_and_differs_from_pass_to_pass() {
    for unit_count in [1, 2, 7, 1000, 1024, 1025] {
        let toml = format!("requests = {}\nspan = {}\npattern = 'permutation'", unit_count * 4, unit_count * UNIT);
        let drawn = units(&records(&toml, 1));
        let passes: Vec<&[u64]> = drawn.chunks(unit_count as usize).collect();
        for pass in &passes {
            assert_eq!(pass.iter().collect::<BTreeSet<_>>().len() as u64, unit_count, "{unit_count} units");
        }
        if unit_count >= 1000 {
            let agreeing = passes[0].iter().zip(passes[1]).filter(|(one, two)| one == two).count();
            assert!(agreeing < 12, "{agreeing} of {unit_count} units stay in place; 1 is expected");
        }
    }
}

#[test]
fn the_same_permutation_repeats() {
    let drawn = units(&records("requests = 3000\nspan = '4000KiB'\npattern = 'same_permutation'", 1));
    assert_eq!(drawn[..1000], drawn[1000..2000]);
    assert_eq!(drawn[..1000], drawn[2000..]);
    assert_eq!(drawn[..1000].iter().collect::<BTreeSet<_>>().len(), 1000);
}

fn zipf_probabilities(count: u64, theta: f64) -> Vec<f64> {
    let weights: Vec<f64> = (1..=count).map(|rank| (rank as f64).powf(-theta)).collect();
    let total: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / total).collect()
}

#[test]
fn zipf_frequencies_follow_the_power_law() {
    for theta in ["0.0", "0.5", "0.99", "1.0", "1.2"] {
        let toml = format!(
            "requests = 2000000\nspan = '1200KiB'\npattern = {{ zipf = {{ theta = {theta}, scatter = false }} }}"
        );
        let probabilities = zipf_probabilities(300, theta.parse().unwrap());
        assert_frequencies(&counts(&units(&records(&toml, 2)), 300), &probabilities, &format!("θ = {theta}"));
    }
}

#[test]
fn scattered_zipf_is_the_same_law_elsewhere() {
    let toml = "requests = 2000000\nspan = '1200KiB'\npattern = { zipf = { theta = 0.9 } }";
    let in_place = counts(&units(&records(toml, 3)), 300);
    let mut by_popularity = in_place.clone();
    by_popularity.sort_unstable_by(|one, two| two.cmp(one));
    let hottest = in_place.iter().position(|seen| *seen == by_popularity[0]).unwrap();
    let second = in_place.iter().position(|seen| *seen == by_popularity[1]).unwrap();
    assert!((hottest, second) != (0, 1), "the most popular units lie at the start");
    // Sorting adds a little order of its own among near equals, so only the shape is compared here.
    for (rank, expected) in zipf_probabilities(300, 0.9).iter().enumerate().take(20) {
        let got = by_popularity[rank] as f64 / 2e6;
        assert!((got / expected - 1.0).abs() < 0.03, "rank {rank}: {got}, expected {expected}");
    }
}

#[test]
fn parts_of_one_hot_set_share_their_popular_places_and_others_do_not() {
    let hottest = |hot_set: u32, write_share: f64| {
        let toml = format!(
            "requests = 100000\nspan = '4MiB'\nwrite_share = {write_share}\npattern = {{ zipf = {{ theta = 1.2, hot_set = {hot_set} }} }}"
        );
        let seen = counts(&units(&records(&toml, 4)), 1024);
        (0..1024).max_by_key(|unit| seen[*unit]).unwrap()
    };
    assert_eq!(hottest(0, 1.0), hottest(0, 0.0));
    assert_ne!(hottest(0, 1.0), hottest(1, 1.0));
}

/// With 10 hot places of 100 and a step every 50 draws, place `perm(k)` is hot from the time it has
/// rank 9 until it has had rank 0.
#[test]
fn popular_places_drift_one_by_one() {
    let toml = |drift: u32| {
        format!(
            "requests = 6000\nspan = '400KiB'\npattern = {{ hot_cold = {{ hot_data_share = 0.1, hot_request_share = 1.0, drift = {drift} }} }}"
        )
    };
    let window = |drawn: &[u64]| drawn.iter().copied().collect::<BTreeSet<u64>>();
    let drawn = units(&records(&toml(50), 4));
    let windows: Vec<_> = drawn.chunks(50).map(window).collect();
    assert!(windows.iter().all(|window| window.len() <= 10));
    // AddressSampler that are hot in one window or the next: one new in each step, and all the
    // first ones gone after ten.
    let both = |first: usize, second: usize| windows[first].union(&windows[second]).count();
    assert!((0..windows.len() - 1).all(|step| both(step, step + 1) <= 11));
    assert!((0..windows.len() - 10).all(|step| windows[step].is_disjoint(&windows[step + 10])));
    // After as many steps as there are places the first ones are back.
    assert!(both(0, 100) <= 10);
    assert_eq!(window(&units(&records(&toml(0), 4))).len(), 10);
    assert_eq!(units(&records(&toml(0), 4))[..50], drawn[..50], "the first places do not depend on the drift");
}

#[test]
fn aligned_requests_start_at_multiples_of_their_length() {
    let toml = "requests = 20000\nspan = '400KiB'\nstart = '8KiB'\nunit = '1KiB'\naligned = true\nsizes = { choice = [{ size = '3KiB', weight = 1 }, { size = '16KiB', weight = 1 }] }";
    let generated = records(toml, 3);
    assert!(generated.iter().all(|record| (record.offset - 8192).is_multiple_of(u64::from(record.length))));
    assert!(generated.iter().all(|record| record.end() <= (8 + 400) << 10));
    for (kib, records_that_fit) in [(3, 133), (16, 25)] {
        let of_size = generated.iter().filter(|record| record.length == kib << 10);
        assert_eq!(of_size.map(|record| record.offset).collect::<BTreeSet<u64>>().len(), records_that_fit);
    }
    let loose = records(&toml.replace("aligned = true", ""), 3);
    assert!(loose.iter().any(|record| !(record.offset - 8192).is_multiple_of(u64::from(record.length))));
}

#[test]
fn extents_are_even_inside_and_the_last_may_be_short() {
    // 10 units in extents of 4: the last holds 2, and each of its units gets twice as much as
    // elsewhere.
    let toml = "requests = 1000000\nspan = '40KiB'\npattern = { zipf = { theta = 0, extent = '16KiB' } }";
    let twelfth = 1.0 / 12.0;
    let expected: Vec<f64> = [twelfth; 8].into_iter().chain([2.0 * twelfth; 2]).collect();
    assert_frequencies(&counts(&units(&records(toml, 5)), 10), &expected, "extents");
}

#[test]
fn hot_data_gets_its_share_of_the_requests() {
    for (data, requests) in [(0.2, 0.8), (0.1, 0.9), (0.5, 0.0), (0.05, 1.0)] {
        for scatter in [false, true] {
            let toml = format!(
                "requests = 1000000\nspan = '4000KiB'\npattern = {{ hot_cold = {{ hot_data_share = {data}, hot_request_share = {requests:?}, scatter = {scatter} }} }}"
            );
            let mut seen = counts(&units(&records(&toml, 6)), 1000);
            let hot = (data * 1000.0) as usize;
            if scatter {
                // The two temperatures differ so much that sorting tells them apart.
                seen.sort_unstable_by(|one, two| if requests > data { two.cmp(one) } else { one.cmp(two) });
            }
            let hot_requests: u64 = seen[..hot].iter().sum();
            assert_share(hot_requests as f64 / 1e6, requests, 1_000_000, &toml);
            for (temperature, group) in [(requests, &seen[..hot]), (1.0 - requests, &seen[hot..])] {
                if temperature > 0.0 && !scatter {
                    assert_frequencies(group, &vec![1.0 / group.len() as f64; group.len()], &toml);
                }
            }
        }
    }
}

#[test]
fn sequential_wraps_and_never_leaves_the_range() {
    let made = records("requests = 8\nstart = '8KiB'\nspan = '20KiB'\nsizes = '8KiB'\npattern = 'sequential'", 7);
    let kib: Vec<u64> = made.iter().map(|record| record.offset / 1024).collect();
    assert_eq!(kib, [8, 16, 8, 16, 8, 16, 8, 16], "the third 8 KiB of 20 do not fit, so they start again");
}

#[test]
fn a_share_of_requests_continues_the_one_before() {
    let made = records("requests = 400000\nspan = '16GiB'\nsequential_share = 0.3\nsizes = '12KiB'", 8);
    let continued = made.windows(2).filter(|pair| pair[1].offset == pair[0].end()).count() as f64;
    assert_share(continued / made.len() as f64, 0.3, made.len(), "sequential share");
}

/// Of eight runs at a time, the request that a request continues lies some eight back, not one.
#[test]
fn requests_continue_one_of_several_runs() {
    let toml = "requests = 400000\nspan = '16GiB'\nsequential_share = 0.6\nsizes = '12KiB'\nruns = 8";
    let made = records(toml, 8);
    let mut ends = BTreeMap::new();
    let (mut continued, mut back) = (0_usize, 0_usize);
    for (index, record) in made.iter().enumerate() {
        // Longer ago it is chance that a request starts where another one ended.
        if let Some(before) = ends.get(&record.offset).filter(|before| index - **before < 200) {
            continued += 1;
            back += index - before;
        }
        ends.insert(record.end(), index);
    }
    assert_share(continued as f64 / made.len() as f64, 0.6, made.len(), "requests that continue a run");
    // The number of requests until the same run comes again is geometric, with mean 8.
    let mean = back as f64 / continued as f64;
    assert!((mean - 8.0).abs() < 0.1, "a run goes on {mean} requests later");
}

/// Inside extents popularity falls by the law that was asked for, from another unit in each.
#[test]
fn popularity_falls_inside_an_extent() {
    let toml = "requests = 400000\nspan = '64KiB'\npattern = { zipf = { theta = 0, extent = '32KiB', theta_inside = 1.0, scatter = false } }";
    let mut counts = [0_f64; 16];
    for record in records(toml, 4) {
        counts[(record.offset / UNIT) as usize] += 1.0;
    }
    let weights: f64 = (1..=8).map(|rank| 1.0 / f64::from(rank)).sum();
    let mut first_units = Vec::new();
    for extent in counts.chunks_exact(8) {
        let requests: f64 = extent.iter().sum();
        let first = (0..8).max_by(|one, other| extent[*one].total_cmp(&extent[*other])).unwrap();
        for rank in 0..8 {
            let expected = 1.0 / (rank + 1) as f64 / weights;
            assert_share(extent[(first + rank) % 8] / requests, expected, requests as usize, &format!("rank {rank}"));
        }
        first_units.push(first);
    }
    assert_ne!(first_units[0], first_units[1], "each extent begins at a unit of its own");
}

#[test]
fn long_requests_stay_inside_the_range() {
    let made = records("requests = 100000\nspan = '40KiB'\nsizes = '10KiB'\nunit = '4KiB'", 9);
    assert!(made.iter().all(|record| record.end() <= 40 << 10 && record.offset % UNIT == 0));
    assert_eq!(units(&made).into_iter().max(), Some(7), "28 KiB is the last unit from which 10 KiB fit into 40");
}

#[test]
fn sizes_come_in_their_proportions() {
    let choice = "[{ size = '4KiB', weight = 6 }, { size = 512, weight = 3 }, { size = '64KiB', weight = 1 }]";
    let made = records(&format!("requests = 300000\nsizes = {{ choice = {choice} }}"), 10);
    for (length, expected) in [(4096, 0.6), (512, 0.3), (65_536, 0.1)] {
        assert_share(share(&made, |record| record.length == length), expected, made.len(), "choice");
    }
    let made = records("requests = 300000\nsizes = { uniform = { min = 512, max = '4KiB', step = '1KiB' } }", 10);
    for length in [512, 1536, 2560, 3584] {
        assert_share(share(&made, |record| record.length == length), 0.25, made.len(), "uniform");
    }
}

#[test]
fn operations_come_in_their_proportions() {
    let made = records("requests = 500000\nwrite_share = 0.35\ntrim_share = 0.05\nfilled = true", 11);
    for (op, expected) in [(HostOp::Write, 0.35), (HostOp::Trim, 0.05), (HostOp::Read, 0.6)] {
        assert_share(share(&made, |record| record.op == op), expected, made.len(), &format!("{op:?}"));
    }
    assert!(records("requests = 1000", 11).iter().all(|record| record.op == HostOp::Write));
    assert!(records("requests = 1000\nwrite_share = 0", 11).iter().all(|record| record.op == HostOp::Read));
}

#[test]
fn a_flush_follows_every_so_many_writes() {
    let made = records("requests = 10\nflush_every = 4\npattern = 'sequential'", 11);
    let flushes: Vec<_> = (0..10).filter(|&place| made[place].op == HostOp::Flush).collect();
    assert_eq!(flushes, [4, 9]);
    // It takes no place: the next write goes on where the last one ended.
    assert_eq!(made[5].offset, made[3].end());
}

/// Trims hit written units only, and the share of units in use settles at (1 − 2q)/(1 − q).
#[test]
fn trims_hit_what_is_in_use_and_leave_the_expected_fraction() {
    let (unit_count, q) = (20_000u64, 0.2);
    for filled in [false, true] {
        let toml = format!("requests = 1000000\nspan = {}\ntrim_share = {q}\nfilled = {filled}", unit_count * UNIT);
        let mut in_use: BTreeSet<u64> = if filled { (0..unit_count).collect() } else { BTreeSet::new() };
        let (mut sum, mut samples) = (0.0, 0.0);
        for (index, record) in records(&toml, 12).iter().enumerate() {
            let unit = record.offset / UNIT;
            match record.op {
                HostOp::Trim => {
                    assert!(in_use.remove(&unit) && u64::from(record.length) == UNIT, "trim of an unused unit {unit}");
                }
                _ => _ = in_use.insert(unit),
            }
            if index >= 300_000 {
                sum += in_use.len() as f64 / unit_count as f64;
                samples += 1.0;
            }
        }
        let expected = (1.0 - 2.0 * q) / (1.0 - q);
        assert!((sum / samples - expected).abs() < 0.003, "{}, expected {expected}", sum / samples);
    }
}

#[test]
fn trims_are_uniform_over_what_is_in_use() {
    // Writes favour a tenth of the units tenfold, but a unit in use is as likely to be trimmed as
    // any other in use. With the trims spread evenly over time, every unit's trims then follow how
    // long it is in use, not how often it is written.
    let toml = "requests = 2000000\nspan = '4000KiB'\ntrim_share = 0.3\npattern = { hot_cold = { hot_data_share = 0.1, hot_request_share = 0.5, scatter = false } }";
    let mut in_use = BTreeSet::new();
    let (mut trims_hot, mut expected_hot, mut trims) = (0.0, 0.0, 0.0);
    let mut hot_in_use = 0.0;
    for record in records(toml, 13) {
        let unit = record.offset / UNIT;
        if record.op == HostOp::Trim {
            trims += 1.0;
            expected_hot += hot_in_use / in_use.len() as f64;
            if unit < 100 {
                trims_hot += 1.0;
                hot_in_use -= 1.0;
            }
            in_use.remove(&unit);
        } else if in_use.insert(unit) && unit < 100 {
            hot_in_use += 1.0;
        }
    }
    assert_share(trims_hot / trims, expected_hot / trims, trims as usize, "trims among the hot units");
}

#[test]
fn a_write_of_several_units_makes_them_all_targets_of_trims() {
    let made = records("requests = 100000\nspan = '64KiB'\nsizes = '10KiB'\ntrim_share = 0.4", 14);
    let mut in_use = BTreeSet::new();
    for record in made {
        let touched = record.offset / UNIT..record.end().div_ceil(UNIT);
        match record.op {
            HostOp::Trim => assert!(in_use.remove(&touched.start)),
            _ => in_use.extend(touched),
        }
    }
}

fn gaps_ns(toml: &str) -> Vec<f64> {
    let made = records(toml, 15);
    assert_eq!(made[0].time_ns, 0);
    made.windows(2).map(|pair| (pair[1].time_ns - pair[0].time_ns) as f64).collect()
}

fn mean_and_variance(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (mean, values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64)
}

#[test]
fn constant_and_absent_gaps_are_exact() {
    for (toml, gap_ns) in
        [("requests = 1000\narrivals = { constant = { gap = '49.9us' } }", 49_900), ("requests = 1000", 0)]
    {
        assert!(records(toml, 15).iter().zip(0..).all(|(record, index)| record.time_ns == index * gap_ns), "{toml}");
    }
}

#[test]
fn poisson_gaps_are_exponential() {
    // A mean of 3 ns shows that whole nanoseconds lose nothing on average.
    for mean_ns in [3.0, 80_000.0] {
        let gaps = gaps_ns(&format!("requests = 1000000\narrivals = {{ poisson = {{ mean_gap = '{mean_ns}ns' }} }}"));
        let (mean, variance) = mean_and_variance(&gaps);
        assert!((mean / mean_ns - 1.0).abs() < 0.005, "{mean}");
        // Rounding each arrival adds at most 1/4 ns² to the variance of a gap.
        let allowed = 0.012 + 0.25 / mean_ns.powi(2);
        assert!((variance / mean_ns.powi(2) - 1.0).abs() < allowed, "{variance}");
        let longer = gaps.iter().filter(|gap| **gap > 2.0 * mean_ns).count() as f64 / gaps.len() as f64;
        if mean_ns > 100.0 {
            assert_share(longer, (-2.0f64).exp(), gaps.len(), "gaps longer than twice the mean");
        }
    }
}

#[test]
fn bursts_keep_the_mean_gap_and_spread_the_gaps() {
    let toml = "requests = 2000000\narrivals = { bursty = { mean_gap = '10us', burst_gap = '1us', burst = 16 } }";
    let (mean, variance) = mean_and_variance(&gaps_ns(toml));
    // Gap = E(g) + Bernoulli(1/B)·E(P) with P = B·(m − g): mean m, variance g² + 2P²/B − (P/B)².
    let (burst_gap, pause, burst) = (1_000.0f64, 16.0 * 9_000.0f64, 16.0);
    let expected = burst_gap.powi(2) + 2.0 * pause.powi(2) / burst - (pause / burst).powi(2);
    assert!((mean / 10_000.0 - 1.0).abs() < 0.02, "{mean}");
    assert!((variance / expected - 1.0).abs() < 0.04, "{variance}, expected {expected}");
}

#[test]
fn mixtures_keep_their_weights_and_each_part_its_own_ways() {
    let toml = "
        requests = 400000
        span = '64MiB'
        write_share = 0.25
        pattern = { mixed = [
            { weight = 3, pattern = 'uniform', region = [0, 0.5], stream = 1 },
            { weight = 1, pattern = 'sequential', region = [0.5, 1], sizes = '16KiB', write_share = 1, stream = 2 },
        ] }";
    let made = records(toml, 16);
    let (first, second): (Vec<Record>, Vec<Record>) = made.iter().partition(|record| record.hint.stream() == 1);
    assert_share(first.len() as f64 / made.len() as f64, 0.75, made.len(), "weight");
    assert_share(share(&first, |record| record.op == HostOp::Write), 0.25, first.len(), "inherited write share");
    assert!(first.iter().all(|record| record.end() <= 32 << 20 && record.length == 4096));
    assert!(
        second.iter().all(|record| record.offset >= 32 << 20 && record.op == HostOp::Write && record.length == 16_384)
    );
    let runs = second.windows(2).filter(|pair| pair[1].offset == pair[0].end()).count();
    let wraps = second.windows(2).filter(|pair| pair[1].offset == 32 << 20).count();
    assert_eq!(runs + wraps, second.len() - 1, "the sequential part goes on whatever lies between");
}

/// Wherever its region begins, a part with a unit of its own touches whole units of that.
#[test]
fn a_part_with_a_unit_is_aligned_to_it() {
    for (from, to, unit) in [(0.04, 1.0, 65_536), (0.333, 0.9, 16_384), (0.5, 0.77, 1 << 20)] {
        for pattern in ["sequential", "uniform", "permutation"] {
            let toml = format!(
                "requests = 3000\nspan = '64MiB'\npattern = {{ mixed = [ {{ pattern = 'uniform', region = [0, {from}], stream = 1 }}, \
                 {{ pattern = '{pattern}', region = [{from}, {to}], unit = {unit}, stream = 2 }} ] }}"
            );
            let second: Vec<Record> =
                records(&toml, 18).into_iter().filter(|record| record.hint.stream() == 2).collect();
            assert!(second.len() > 1000, "{toml}");
            for record in second {
                assert_eq!((record.offset % unit, u64::from(record.length)), (0, unit), "{toml}");
                assert!(record.end() <= 64 << 20, "{toml}");
            }
        }
    }
}

#[test]
fn phases_follow_each_other_and_come_again() {
    let toml = "
        requests = 2500
        span = '4MiB'
        arrivals = { constant = { gap = '1us' } }
        pattern = { phases = [
            { requests = 300, pattern = 'uniform', write_share = 0 },
            { requests = 700, pattern = 'sequential', arrivals = { constant = { gap = '5us' } } },
        ] }";
    let made = records(toml, 17);
    assert_eq!(made.len(), 2500);
    for (index, record) in made.iter().enumerate() {
        let op = if index % 1000 < 300 { HostOp::Read } else { HostOp::Write };
        assert_eq!(record.op, op, "request {index}");
        if index > 0 {
            let gap_ns = if index % 1000 < 300 { 1_000 } else { 5_000 };
            assert_eq!(record.time_ns - made[index - 1].time_ns, gap_ns, "request {index}");
        }
    }
    assert_eq!(made[1300].offset, made[999].end(), "a phase goes on where it left off");
}
