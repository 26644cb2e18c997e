//! Times in coarse steps: found in any format, said, and requests spread inside a step on demand.

use random::SeededRng;
use trace::units::Nanoseconds;
use trace::{DeviceChoice, Format, OpenOptions, StackedDevices, TimeBackwards, open_bytes};

/// A trace of whole milliseconds: this many requests at each time.
fn text(groups: &[(u64, usize)]) -> String {
    let line = |time_ms: u64| format!("{},write,0,4096,0,a\n", time_ms * 1_000_000);
    groups.iter().flat_map(|&(time_ms, count)| std::iter::repeat_n(line(time_ms), count)).collect()
}

fn read(text: &str, tick: Option<&str>) -> (Vec<u64>, Vec<String>) {
    let tick = tick.map(|tick| trace::units::parse_duration("", tick).unwrap());
    let mut trace =
        open_bytes("t", text.as_bytes(), &OpenOptions { tick, ..OpenOptions::with_format(Format::Csv) }).unwrap();
    let times = trace.by_ref().map(|record| record.unwrap().time_ns).collect();
    (times, trace.unmatched())
}

#[test]
fn requests_of_a_time_are_spread_to_the_next_time() {
    let (times, told) = read(&text(&[(0, 4), (5, 2), (1005, 5)]), Some("1s"));
    let ms = |time: u64| time * 1_000_000;
    let spread = [0, 1250, 2500, 3750].map(|us| us * 1000).into_iter();
    let expected = spread.chain([ms(5), ms(505)]).chain([1005, 1205, 1405, 1605, 1805].map(ms));
    assert_eq!(times, expected.collect::<Vec<_>>());
    assert_eq!(told, ["requests of one time are spread evenly over 1s"]);
}

#[test]
fn spreading_any_times_keeps_order_number_and_the_first_of_a_time() {
    let mut rng = SeededRng::named(1, "ticks");
    for _ in 0..200 {
        let mut time_ms = 0;
        let groups: Vec<_> = (0..=rng.below(20))
            .map(|_| {
                time_ms += 1 + rng.below(3000);
                (time_ms, 1 + rng.below(9) as usize)
            })
            .collect();
        let plain = read(&text(&groups), None).0;
        let times = read(&text(&groups), Some("1s")).0;
        assert_eq!(times.len(), plain.len());
        assert!(times.is_sorted(), "{groups:?}: {times:?}");
        let first = |place: usize| place == 0 || plain[place - 1] != plain[place];
        for (place, (spread, plain)) in times.iter().zip(&plain).enumerate() {
            assert!(spread - plain < 1_000_000_000 && (!first(place) || spread == plain), "{groups:?}");
        }
    }
}

#[test]
fn coarse_times_of_many_requests_are_said_with_their_step() {
    for (groups, step) in [
        (&[(0, 40), (1000, 40), (5000, 40)][..], Some("1s")),
        (&[(0, 40), (1000, 40), (5100, 40)], Some("100ms")),
        (&[(0, 7), (7, 6), (9, 7)], Some("1ms")),
        (&[(0, 7), (7, 5), (9, 7)], None),
        (&[(0, 2), (1000, 1)], None),
        (&[(0, 1), (1000, 1), (2000, 1), (3000, 1)], None),
        (&[(0, 3)], None),
    ] {
        let (_, told) = read(&text(groups), None);
        let said = told.iter().find(|clause| clause.contains("in steps of"));
        match step {
            Some(step) => assert!(said.unwrap().contains(&format!("--tick {step} spreads")), "{told:?}"),
            None => assert_eq!(said, None),
        }
    }
    let fine = text(&[(0, 40), (1000, 40)]).replace("1000000000,", "1000000010,");
    assert_eq!(read(&fine, None).1, Vec::<String>::new());
}

/// Times of another clock among those of a coarse one, wherever they are, hide its step no more.
#[test]
fn stray_times_among_coarse_ones_hide_no_step() {
    for (step_ms, said) in [(1000, "1s"), (100, "100ms"), (10, "10ms")] {
        for (every, place, is_said) in [(100, 0, true), (100, 99, true), (25, 7, true), (10, 3, false)] {
            for phase_ms in [0, 317] {
                let group = |n: u64| (phase_ms + (n / 40) * step_ms + u64::from(n % every == place) * step_ms / 3, 1);
                let groups: Vec<_> = (0..4000).map(group).collect();
                let text = text(&groups);
                let options = OpenOptions {
                    time_backwards: TimeBackwards::Sort { window: 64 },
                    ..OpenOptions::with_format(Format::Csv)
                };
                let mut trace = open_bytes("t", text.as_bytes(), &options).unwrap();
                assert_eq!(trace.by_ref().flatten().count(), groups.len());
                let found = trace.unmatched().concat();
                assert_eq!(
                    found.contains(&format!("steps of {said},")),
                    is_said,
                    "{every} {place} {phase_ms}: {found}"
                );
            }
        }
    }
}

/// A burst at one time is no step, however many arrive in it.
#[test]
fn one_burst_among_fine_times_is_no_step() {
    let line = |time_ns: u64| format!("{time_ns},write,0,4096,0,a\n");
    let burst = line(5_000_000_000).repeat(960);
    for text in [
        (0..40).map(|n| line(n * 1_234_567)).collect::<String>() + &burst,
        burst.clone() + &(0..40).map(|n| line(5_000_000_000 + n * 1_234_567)).collect::<String>(),
    ] {
        assert_eq!(read(&text, None).1, Vec::<String>::new());
    }
}

/// A request's own flushes arrive with it, and are no requests beside it.
#[test]
fn flushes_of_requests_share_no_time() {
    for (words, shared) in [(&["WFS"][..], 0), (&["FWFS"], 0), (&["FF"], 0), (&["WFS", "W"], 1), (&["R", "FF", "W"], 1)]
    {
        let line = |second: usize, word: &str| format!("{second} {word} {} 8\n", 8 * second);
        let lines: String = (0..40).flat_map(|second| words.iter().map(move |word| line(second, word))).collect();
        let columns = Some("time:s, op:rwbs, offset:sector, size:sector".parse().unwrap());
        let mut trace = open_bytes("t", lines.as_bytes(), &OpenOptions { columns, ..OpenOptions::default() }).unwrap();
        assert!(trace.by_ref().all(|record| record.is_ok()));
        let found = trace.coarse_ticks().map(|ticks| (ticks.tick_ns, ticks.shared));
        assert_eq!(found, (shared > 0).then_some((Some(1_000_000_000), 40 * shared)), "{words:?}");
    }
}

/// A trace of any format without times would be served as one burst: it says so, with the ways out.
#[test]
fn requests_of_one_time_are_said_with_the_ways_to_give_times() {
    let many = |line: &str| format!("{line}\n").repeat(40);
    for (format, text) in [
        (Format::Csv, many("0,write,0,4096,0,a")),
        (Format::Msr, many("0,web,0,Read,8192,4096,0")),
        (Format::Fio, format!("fio version 2 iolog\nf add\nf open\n{}f close\n", many("f write 0 4096"))),
        (Format::Fio, format!("fio version 3 iolog\n{}", many("7 f write 0 4096"))),
        (Format::Disksim, many("13.5 0 8 8 1")),
        (Format::Tencent, many("1538323200,8,8,1,7")),
    ] {
        let mut trace = open_bytes("t", text.into_bytes(), &OpenOptions::with_format(format)).unwrap();
        assert!(trace.by_ref().all(|record| record.is_ok_and(|record| record.time_ns == 0)), "{format}");
        let said = trace.unmatched().concat();
        for part in ["all 40 requests have one time", "time=GAP", "--loop closed"] {
            assert!(said.contains(part), "{format}: {said}");
        }
        let ticks = trace.coarse_ticks().unwrap();
        assert_eq!((ticks.tick_ns, ticks.shared, ticks.requests), (None, 39, 40));
    }
}

#[test]
fn facts_of_a_trace_have_its_step() {
    let lines: Vec<String> = (0..200).map(|n| format!("{},{},8,1,7\n", 1_538_323_200 + n / 40, 8 * n)).collect();
    let seconds = lines.concat();
    let open = |tick| {
        let options = OpenOptions { tick, ..OpenOptions::default() };
        StackedDevices::open_bytes("t", seconds.clone().into_bytes(), &options, &DeviceChoice::Only).unwrap()
    };
    let ticks = open(None).facts().ticks.unwrap();
    assert_eq!((ticks.tick_ns, ticks.shared), (Some(1_000_000_000), 195));
    let spread = open(Some(Nanoseconds(1_000_000_000)));
    assert_eq!(spread.facts().ticks, None);
    let times: Vec<u64> = spread.records().unwrap().map(|record| record.unwrap().time_ns).collect();
    assert_eq!(times, (0..200).map(|n| n * 25_000_000).collect::<Vec<_>>());
}

#[test]
fn a_tick_of_nothing_or_of_days_is_refused() {
    for tick in [0, 86_400_000_000_000] {
        let options = OpenOptions { tick: Some(Nanoseconds(tick)), ..OpenOptions::default() };
        let error = open_bytes("t", text(&[(0, 1)]).into_bytes(), &options).unwrap_err().to_string();
        assert!(error.contains("--tick 1s"), "{error}");
    }
}

/// A latency log of fio has whole milliseconds of ends and nanoseconds of latencies. Arrivals have
/// fractions, and are known to the millisecond only.
#[test]
fn coarse_completions_are_said_and_spread_before_latencies_go() {
    let ends_ns = |n: u64| 1_000_000 + 45_000 * n;
    let lines: String = (0..400)
        .map(|n| format!("{}, {}, 1, 4096, {}\n", ends_ns(n) / 1_000_000, 40_000 + n % 7, 4096 * n))
        .collect::<Vec<_>>()
        .concat();
    let read = |tick| {
        let columns = Some("time:ms, latency:ns, op:1=write, size:B, offset:B".parse().unwrap());
        let options = OpenOptions { columns, tick, ..OpenOptions::default() };
        let mut trace = open_bytes("t", lines.as_bytes(), &options).unwrap();
        let times: Vec<u64> = trace.by_ref().map(|record| record.unwrap().time_ns).collect();
        (times, trace.coarse_ticks(), trace.unmatched().join("; "))
    };
    let (times, ticks, said) = read(None);
    assert!(times.windows(2).filter(|pair| pair[1] - pair[0] < 10).count() > 360, "bursts");
    let ticks = ticks.unwrap();
    assert_eq!((ticks.tick_ns, ticks.requests, ticks.stamps_completions), (Some(1_000_000), 400, true));
    assert_eq!(ticks.shared, 400 - 18);
    assert!(said.contains("382 requests complete with the one before, so arrivals are off by up to 1ms; --tick 1ms"));
    let (times, ticks, said) = read(Some(Nanoseconds(1_000_000)));
    for (n, time_ns) in (0..).zip(times) {
        assert!(time_ns.abs_diff(45_000 * n) < 100_000, "{n}: {time_ns}");
    }
    assert_eq!(ticks, None);
    assert!(said.contains("spread evenly over 1ms"), "{said}");
}

/// In every way in which completions are read, of data and of the kernel's words.
#[test]
fn bursts_told_from_fine_completions_are_no_steps() {
    let line = |(burst, place): (u32, u32)| {
        let latency_us = 220 * (place + 1);
        let end_us = 10_000 * (burst + 1) + latency_us;
        let (end, latency) = (f64::from(end_us) / 1e6, f64::from(latency_us) / 1e3);
        format!("{end:.6} worker 311 nvme0n1 W {} 4096 {latency:.2}\n", 8 * (16 * burst + place))
    };
    let lines: String = (0..4).flat_map(|burst| (0..16).map(move |place| (burst, place))).map(line).collect();
    let columns = |op: &str| {
        let columns = format!("time:s, -, -, -, {op}, offset:sector, size:B, latency:ms, separator=blank");
        OpenOptions { columns: Some(columns.parse().unwrap()), ..OpenOptions::default() }
    };
    for options in [OpenOptions::with_format(Format::Biosnoop), columns("op"), columns("op:rwbs")] {
        let mut trace = open_bytes("t", lines.as_bytes(), &options).unwrap();
        assert_eq!(trace.by_ref().map(|record| record.unwrap().time_ns).max(), Some(30_000_000));
        assert_eq!(trace.coarse_ticks(), None);
    }
}
