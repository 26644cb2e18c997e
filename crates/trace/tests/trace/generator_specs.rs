//! Descriptions of workloads: what their text may say, what is refused and how, and that the same
//! description and seed always mean the same records.

use proptest::prelude::*;
use trace::generate::{Arrivals, Generator, GeneratorSpec, Pattern, Sizes, generate};
use trace::units::{Bytes, Nanoseconds};
use trace::{HostOp, Record};

use crate::generators::{records, spec};

#[test]
fn an_empty_description_is_the_documented_default() {
    let default = spec("");
    assert_eq!(default, GeneratorSpec::default());
    assert_eq!((default.requests, default.span, default.unit), (1_000_000, Bytes(1 << 30), Bytes(4096)));
    assert_eq!((default.pattern, default.arrivals), (Pattern::Uniform, Arrivals::AtOnce));
}

#[test]
fn text_numbers_and_units_mean_what_they_say() {
    let read = spec("span = '2GiB'\nunit = 512\nsizes = 8192\narrivals = { constant = { gap = '0.0499ms' } }");
    assert_eq!(
        (read.span, read.unit, read.sizes.clone()),
        (Bytes(2 << 30), Bytes(512), Some(Sizes::Fixed(Bytes(8192))))
    );
    assert_eq!(read.arrivals, Arrivals::Constant { gap: Nanoseconds(49_900) });
    let json = serde_json::to_string(&read).unwrap();
    assert_eq!(serde_json::from_str::<GeneratorSpec>(&json).unwrap(), read, "{json}");
}

#[test]
fn what_the_text_may_not_say_is_refused_by_name() {
    for (toml, expected) in [
        ("requets = 5", "unknown field `requets`"),
        ("pattern = 'zipfian'", "unknown variant `zipfian`"),
        ("pattern = { zipf = { theta = 1, alpha = 2 } }", "unknown field `alpha`"),
        ("pattern = { zipf = { scatter = true } }", "missing field `theta`"),
        ("pattern = { mixed = [{ weight = 1 }] }", "missing field `pattern`"),
        ("pattern = { phases = [{ pattern = 'uniform' }] }", "missing field `requests`"),
        ("span = '4KB'", "did you mean 4KiB or 4kB"),
        ("span = -1", "a number of bytes"),
        ("sizes = '4 pages'", "unknown unit `pages`"),
        ("sizes = { normal = { mean = 4096 } }", "unknown variant `normal`"),
        ("sizes = { choice = [{ size = 512, weigth = 1 }] }", "unknown field `weigth`"),
        ("arrivals = { poisson = { mean_gap = 5 } }", "a duration with its unit"),
        ("arrivals = 'poisson'", "poisson"),
        ("requests = -3", "requests"),
        ("stream = 256", "256"),
    ] {
        let error = toml::from_str::<GeneratorSpec>(toml).expect_err(toml).to_string();
        assert!(error.contains(expected), "{toml}: {error}");
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of what is refused, and three lines that go through it")]
fn impossible_values_are_refused_with_key_value_and_limit() {
    for (toml, expected) in [
        ("requests = 0", "requests = 0: must be 1 or more"),
        ("unit = 0", "unit = 0B: must be 1B to 1GiB"),
        ("start = 100", "start = 100B: must be a multiple of `unit`, 4KiB"),
        ("span = 0", "span = 0B: must be a multiple"),
        ("span = 5000", "span = 5000B: must be a multiple"),
        ("start = '4194304TiB'\nspan = '5194304TiB'", "must not pass 8EiB"),
        ("span = '8388608TiB'\nunit = 1", "must not exceed 2^52 units"),
        ("span = '32TiB'\ntrim_share = 0.1", "a workload with trims can have at most 4294967294 units"),
        ("write_share = 35", "write_share = 35: is a share and must be 0 to 1 (write 0.35 for 35 %)"),
        ("write_share = nan", "write_share = NaN"),
        ("write_share = 0.8\ntrim_share = 0.3", "write_share = 0.8 and trim_share = 0.3: together"),
        ("sequential_share = -0.1", "sequential_share = -0.1"),
        ("runs = 0", "runs = 0: must be 1 to 65536 runs at a time"),
        ("runs = 65537", "runs = 65537: must be 1 to 65536"),
        ("starts = [1, 1]", "starts = 2 weights: give one for each of the 8 sectors"),
        ("unit = 1000\nspan = '1000kB'\nstarts = [1]", "a unit of whole sectors"),
        ("aligned = true\nstarts = [1, 1, 1, 1, 1, 1, 1, 1]", "starts = with aligned = true"),
        ("starts = [0, 0, 0, 0, 0, 0, 0, 0]", "not all weights may be 0"),
        (
            "reuse = [{ op = 'read', after = 'write', share = 0.1, distance = [0, 5] }]",
            "reuse[0].distance = [0, 5]: give the least and the largest distance, 1 to 65536",
        ),
        ("reuse = [{ op = 'read', after = 'write', share = 0.1, distance = [9, 5] }]", "reuse[0].distance = [9, 5]"),
        ("reuse = [{ op = 'read', after = 'write', share = 1.1, distance = [1, 5] }]", "reuse[0].share = 1.1"),
        ("sizes = 0", "sizes = 0B: a request is 1B to 4GiB - 1B"),
        ("sizes = '2GiB'", "must fit in its range, 1GiB"),
        ("span = '16GiB'\nsizes = '4GiB'", "sizes = 4GiB"),
        (
            "sizes = { uniform = { min = '8KiB', max = '4KiB', step = 512 } }",
            "sizes.uniform.max = 4KiB: must be at least",
        ),
        ("sizes = { uniform = { min = '4KiB', max = '8KiB', step = 0 } }", "sizes.uniform.step = 0B"),
        ("sizes = { choice = [] }", "sizes.choice = 0 entries: give 1 to 65536"),
        ("sizes = { choice = [{ size = 512, weight = -1 }] }", "sizes.choice[0].weight = -1"),
        ("sizes = { choice = [{ size = 512, weight = 0 }] }", "not all weights may be 0"),
        ("pattern = { zipf = { theta = -0.5 } }", "pattern.zipf.theta = -0.5: must be 0 to 16"),
        ("pattern = { zipf = { theta = inf } }", "pattern.zipf.theta = inf"),
        ("pattern = { zipf = { theta = 1, theta_inside = 17 } }", "pattern.zipf.theta_inside = 17: must be 0 to 16"),
        ("pattern = { zipf = { theta = 1, extent = 5000 } }", "pattern.zipf.extent = 5000B: must be a multiple"),
        ("pattern = { zipf = { theta = 1, extent = '2GiB' } }", "at most the range it divides, 1GiB"),
        (
            "pattern = { hot_cold = { hot_data_share = 0, hot_request_share = 0.5 } }",
            "hot_data_share = 0: must be above 0",
        ),
        (
            "pattern = { hot_cold = { hot_data_share = 0.2, hot_request_share = 80 } }",
            "hot_request_share = 80: is a share",
        ),
        (
            "span = 4096\npattern = { hot_cold = { hot_data_share = 0.2, hot_request_share = 0.8 } }",
            "two temperatures need at least two extents",
        ),
        ("pattern = { phases = [] }", "pattern.phases = 0 entries"),
        ("pattern = { phases = [{ requests = 0, pattern = 'uniform' }] }", "pattern.phases[0].requests = 0"),
        (
            "pattern = { phases = [{ requests = 1, pattern = { phases = [] } }] }",
            "phases cannot be part of a mixture or of phases",
        ),
        (
            "pattern = { phases = [{ requests = 1, pattern = 'uniform', trim_share = 7 }] }",
            "pattern.phases[0].trim_share = 7",
        ),
        ("arrivals = { constant = { gap = '0ns' } }", "a gap must be at least 1ns"),
        ("arrivals = { poisson = { mean_gap = '1h' } }", "would last longer than 36 years"),
        (
            "arrivals = { bursty = { mean_gap = '1us', burst_gap = '2us', burst = 8 } }",
            "burst_gap = 2000ns: must not exceed",
        ),
        (
            "arrivals = { bursty = { mean_gap = '1us', burst_gap = '1us', burst = 0.5 } }",
            "burst = 0.5: must be 1 to 1e9",
        ),
    ] {
        refused(toml, expected);
    }
}

#[test]
fn impossible_parts_are_refused_by_their_number() {
    for (part, expected) in [
        ("pattern = 'uniform', weight = nan", "pattern.mixed[1].weight = NaN"),
        ("pattern = 'uniform', region = [0.5, 0.5]", "pattern.mixed[1].region = [0.5, 0.5]"),
        ("pattern = 'uniform', region = [0, 1e-9]", "holds not one unit"),
        ("pattern = 'uniform', region = [0, 0.001], sizes = '2MiB'", "pattern.mixed[1].sizes = 2MiB"),
        ("pattern = { mixed = [] }", "a mixture cannot contain a mixture"),
        ("pattern = 'uniform', write_share = 2", "pattern.mixed[1].write_share = 2"),
    ] {
        refused(&format!("pattern = {{ mixed = [{{ pattern = 'uniform' }}, {{ {part} }}] }}"), expected);
    }
}

fn refused(toml: &str, expected: &str) {
    let error = generate(&spec(toml), 1).expect_err(toml).to_string();
    assert!(error.starts_with("workload: ") && error.contains(expected), "{toml}\n{error}\nlacks {expected}");
}

#[test]
fn the_extremes_that_are_allowed_work() {
    for toml in [
        "requests = 1000\nspan = '4096TiB'\nunit = 1\nsizes = 1\npattern = { zipf = { theta = 0 } }",
        "requests = 1000\nspan = '4096TiB'\nunit = 1\nsizes = 1\npattern = { zipf = { theta = 16 } }",
        "requests = 1000\nspan = '4194304TiB'\nstart = '4194304TiB'\nunit = '1GiB'\npattern = 'permutation'",
        "requests = 1000\nspan = 4096\npattern = 'permutation'",
        "requests = 1000\nspan = 4096\npattern = { zipf = { theta = 1 } }\ntrim_share = 1",
        "requests = 1000\nspan = '8GiB'\nsizes = 4294967295",
        "requests = 1\narrivals = { poisson = { mean_gap = '300000h' } }",
        "requests = 1000\narrivals = { bursty = { mean_gap = '10s', burst_gap = '0ns', burst = 1e9 } }",
    ] {
        let (spec, made) = (spec(toml), records(toml, 1));
        assert_eq!(made.len() as u64, spec.requests, "{toml}");
        assert!(made.iter().all(|r| r.offset >= spec.start.0 && r.end() <= spec.start.0 + spec.span.0), "{toml}");
    }
}

fn offsets(records: &[Record]) -> Vec<u64> {
    records.iter().map(|record| record.offset).collect()
}

#[test]
fn equal_seeds_give_equal_records_and_others_do_not() {
    let toml = "requests = 10000\nwrite_share = 0.5\npattern = { zipf = { theta = 0.9 } }\narrivals = { poisson = { mean_gap = '1us' } }";
    assert_eq!(records(toml, 18), records(toml, 18));
    assert_ne!(offsets(&records(toml, 18)), offsets(&records(toml, 19)));
    let other_share = toml.replace("write_share = 0.5", "write_share = 0.1");
    assert_eq!(
        offsets(&records(toml, 18)),
        offsets(&records(&other_share, 18)),
        "the write share must not move the addresses"
    );
}

/// FNV-1a over every field of every record.
fn fingerprint(records: impl Iterator<Item = Record>) -> u64 {
    let bytes = records.flat_map(|r| {
        let words =
            [r.time_ns, r.op as u64, r.offset, u64::from(r.length), u64::from(r.device), u64::from(r.hint.stream())];
        words.into_iter().flat_map(u64::to_le_bytes)
    });
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// Fails when a release changes what a seed means. That may be intended; then the change belongs in
/// the release notes.
#[test]
fn what_a_seed_means_does_not_change() {
    const BURSTY: &str = "{ bursty = { mean_gap = '1ms', burst_gap = '1us', burst = 4 } }";
    let rest = "requests = 20000\nwrite_share = 0.6\ntrim_share = 0.1\nsequential_share = 0.1\nspan = '40000KiB'";
    for (pattern, at_once, bursty) in [
        ("'uniform'", 0xd8e7_310b_a259_684a, 0x573f_864e_86ac_e47c),
        ("'permutation'", 0x3c5b_df3f_4ec5_ea44, 0xd1d1_8adb_2c52_b4c2),
        ("{ zipf = { theta = 0.99, extent = '64KiB' } }", 0x1552_c64a_05be_483a, 0xc3a3_fd56_923e_79bc),
        (
            "{ hot_cold = { hot_data_share = 0.2, hot_request_share = 0.8 } }",
            0x4c93_ce41_23da_0c37,
            0x3bcd_8012_423c_dff1,
        ),
        (
            "{ mixed = [{ pattern = 'uniform' }, { pattern = 'sequential' }] }",
            0xdadf_46cb_21aa_7f3a,
            0x990c_7477_4e9c_06c4,
        ),
    ] {
        for (arrivals, expected) in [("'at_once'", at_once), (BURSTY, bursty)] {
            let toml = format!("{rest}\npattern = {pattern}\narrivals = {arrivals}");
            let got = fingerprint(generate(&spec(&toml), 42).unwrap());
            assert_eq!(got, expected, "{pattern}, {arrivals}: {got:#018x}");
        }
    }
}

#[test]
fn a_generator_can_move_to_a_thread_and_a_clone_goes_on_alike() {
    fn sendable<T: Send + Clone>(_: &T) {}
    let mut generator: Generator = generate(&spec("requests = 1000\npattern = 'permutation'"), 1).unwrap();
    sendable(&generator);
    generator.by_ref().take(300).for_each(drop);
    assert_eq!(generator.size_hint(), (700, Some(700)));
    let rest: Vec<Record> = generator.clone().collect();
    assert_eq!(rest.len(), 700);
    assert_eq!(rest, generator.by_ref().collect::<Vec<_>>());
    assert_eq!(generator.next(), None);
}

fn any_pattern() -> impl Strategy<Value = String> {
    let extent = prop_oneof![Just(1u64), 1u64..40];
    prop_oneof![
        Just("'uniform'".to_owned()),
        Just("'permutation'".to_owned()),
        Just("'same_permutation'".to_owned()),
        Just("'sequential'".to_owned()),
        (0.0..3.0f64, extent.clone(), any::<bool>(), 0.0..2.0f64).prop_map(|(theta, extent, scatter, inside)| format!(
            "{{ zipf = {{ theta = {theta:?}, extent = {}, scatter = {scatter}, theta_inside = {inside:?} }} }}",
            extent * 512
        )),
        (0.01..0.99f64, 0.0..1.0f64).prop_map(|(data, requests)| format!(
            "{{ hot_cold = {{ hot_data_share = {data:?}, hot_request_share = {requests:?} }} }}"
        )),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is accepted keeps the promises of every workload.
    #[test]
    fn every_record_is_in_range_and_in_order(
        patterns in proptest::collection::vec(any_pattern(), 1..4),
        as_phases in any::<bool>(),
        start in 0u64..1000,
        unit_count in 40u64..3000,
        length in 1u64..20_480,
        shares in (0.0..1.0f64, 0.0..1.0f64, 0.0..1.0f64),
        runs in 1u32..5,
        seed in any::<u64>(),
    ) {
        let (write, trim) = (shares.0 * (1.0 - shares.1), shares.1);
        let inner: Vec<String> = patterns.iter().enumerate().map(|(index, pattern)| {
            let count = if as_phases { format!("requests = {}, ", index * 37 + 1) } else { String::new() };
            format!("{{ {count}pattern = {pattern} }}")
        }).collect();
        let kind = if as_phases { "phases" } else { "mixed" };
        let toml = format!(
            "requests = 2000\nunit = 512\nstart = {}\nspan = {}\nsizes = {length}\nwrite_share = {write:?}\ntrim_share = {trim:?}\nsequential_share = {:?}\nruns = {runs}\narrivals = {{ bursty = {{ mean_gap = '2us', burst_gap = '1ns', burst = 3.5 }} }}\npattern = {{ {kind} = [{}] }}",
            start * 512, unit_count * 512, shares.2, inner.join(", "),
        );
        let spec = spec(&toml);
        let json = serde_json::to_string(&spec).unwrap();
        prop_assert_eq!(&serde_json::from_str::<GeneratorSpec>(&json).unwrap(), &spec);
        let made: Vec<Record> = generate(&spec, seed).unwrap().collect();
        prop_assert_eq!(made.len(), 2000);
        for record in &made {
            prop_assert!(record.offset >= spec.start.0 && record.end() <= spec.start.0 + spec.span.0, "{record:?}");
            let expected = if record.op == HostOp::Trim { 512 } else { length };
            prop_assert_eq!(u64::from(record.length), expected);
        }
        prop_assert!(made.windows(2).all(|pair| pair[0].time_ns <= pair[1].time_ns));
    }
}
