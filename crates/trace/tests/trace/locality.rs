//! Locality of writes against a count that looks back over the whole window at every page, on
//! generated workloads and on recorded traces.

use std::collections::{BTreeMap, BTreeSet};

use trace::generate::{GeneratorSpec, generate, preset};
use trace::{HostOp, Locality, LocalityWindow, OpenOptions, Record, Statistics, open};

use crate::figures::folder;

type Page = (u32, u64);

/// The pages that a write touches.
fn pages(record: &Record) -> impl Iterator<Item = Page> + use<> {
    let device = record.device;
    (record.offset / 2048..record.end().div_ceil(2048)).map(move |page| (device, page))
}

/// The figures of one length, from the list of all writes.
fn counted(writes: &[Record], length: u64) -> LocalityWindow {
    let touched: Vec<Page> = writes.iter().flat_map(pages).collect();
    let mut last = BTreeMap::new();
    let rewritten = touched.iter().enumerate().filter(|(now, page)| {
        let before = last.insert(**page, *now);
        before.is_some_and(|before| (now - before) as u64 <= length)
    });
    let rewritten = rewritten.count();
    let whole = touched.len() / length as usize;
    let windows: Vec<&[Page]> =
        if whole == 0 { vec![&touched[..]] } else { touched.chunks_exact(length as usize).collect() };
    let (mut top, mut blocks, mut observed) = (0, 0, 0);
    for window in &windows {
        let mut times: BTreeMap<Page, usize> = BTreeMap::new();
        window.iter().for_each(|page| *times.entry(*page).or_default() += 1);
        let mut times: Vec<usize> = times.into_values().collect();
        times.sort_unstable_by(|one, other| other.cmp(one));
        top += times[..(times.len() / 100).max(1)].iter().sum::<usize>();
        blocks += window.iter().map(|(device, page)| (*device, page / 64)).collect::<BTreeSet<_>>().len();
        observed += window.len();
    }
    let mut ends: BTreeMap<(u32, u64), usize> = BTreeMap::new();
    let (mut run_writes, mut run_pages, mut clock) = (0, 0, 0);
    for write in writes {
        let number = pages(write).count();
        let ended = ends.get(&(write.device, write.offset));
        if number > 2 && ended.is_some_and(|ended| ((clock - ended) as u64) < length) {
            run_writes += 1;
            run_pages += number;
        }
        clock += number;
        ends.insert((write.device, write.end()), clock);
    }
    let percent = |part: usize, all: usize| 100.0 * part as f64 / all as f64;
    LocalityWindow {
        pages: length,
        windows: whole as u64,
        rewritten_percent: percent(rewritten, touched.len()),
        top_percent: percent(top, observed),
        logical_blocks: blocks as f64 / windows.len() as f64,
        run_write_percent: percent(run_writes, writes.len()),
        run_page_percent: percent(run_pages, touched.len()),
    }
}

/// The crate's own figures, after every one of them was counted again.
fn checked(name: &str, records: &[Record]) -> Locality {
    let shown = Statistics::of(records.iter().copied().map(Ok)).unwrap().locality.unwrap();
    let writes: Vec<Record> = records.iter().copied().filter(|record| record.op == HostOp::Write).collect();
    let touched: usize = writes.iter().map(|write| pages(write).count()).sum();
    let lengths: Vec<u64> = shown.windows.iter().map(|window| window.pages).collect();
    let last = *lengths.last().unwrap();
    assert!(last == 1 << 18 || last > touched as u64, "{name}: {touched} pages, rows up to {last}");
    for window in &shown.windows {
        assert_eq!(*window, counted(&writes, window.pages), "{name}, {} pages", window.pages);
    }
    shown
}

pub(crate) fn recorded(file: &str, columns: Option<&str>) -> Option<Vec<Record>> {
    let options = OpenOptions { columns: columns.map(|columns| columns.parse().unwrap()), ..OpenOptions::default() };
    Some(open(&folder()?.join(file), &options).unwrap().map(Result::unwrap).collect())
}

/// The columns of the windows of `hm_0`.
pub(crate) const WINDOW: &str = "time:ms, device, offset:B, size:B, op:1=read";

#[test]
fn generated_workloads_have_the_locality_that_is_counted() {
    for (name, requests) in [("spc1", 60_000), ("devdiv91", 30_000), ("iozone-80", 5_000), ("tpcc", 300)] {
        let spec = GeneratorSpec { requests, ..preset(name).unwrap() };
        checked(name, &generate(&spec, 3).unwrap().collect::<Vec<_>>());
    }
}

/// More pages than the longest window has, so that entries leave it.
#[test]
fn pages_older_than_the_longest_window_are_forgotten() {
    let spec = GeneratorSpec { requests: 45_000, span: trace::units::Bytes(1 << 30), ..preset("seq_write").unwrap() };
    let shown = checked("seq_write", &generate(&spec, 5).unwrap().collect::<Vec<_>>());
    let longest = shown.windows.last().unwrap();
    assert!(longest.windows > 3, "{longest:?}");
}

/// The windows whose figures were counted with a script of its own: pages rewritten, share of the
/// top 1 %, logical blocks; and writes in runs within 1 024 pages, and their pages.
#[test]
fn recorded_windows_have_the_locality_that_was_counted() {
    for (file, columns, writes, figures) in [
        ("financial1_first10k.ssdsim.ascii", None, 5923, ["62.2", "14.9", "239", "23.7", "48.8"]),
        ("msr-hm0-window-105.trace", Some(WINDOW), 7980, ["56.2", "43.3", "686", "8.6", "32.8"]),
        ("msr-hm0-window-1370.trace", Some(WINDOW), 5946, ["48.6", "27.9", "558", "6.6", "31.9"]),
    ] {
        let Some(records) = recorded(file, columns) else { return };
        assert_eq!(records.iter().filter(|record| record.op == HostOp::Write).count(), writes, "{file}");
        let shown = checked(file, &records);
        let whole = shown.windows.last().unwrap();
        assert_eq!(whole.windows, 0, "{file}: the last row is of the whole trace");
        let near = &shown.windows[0];
        let values = [
            whole.rewritten_percent,
            whole.top_percent,
            whole.logical_blocks,
            near.run_write_percent,
            near.run_page_percent,
        ];
        for (value, figure) in values.into_iter().zip(figures) {
            let decimals = figure.split_once('.').map_or(0, |(_, decimals)| decimals.len());
            assert_eq!(format!("{value:.decimals$}"), figure, "{file}");
        }
    }
}

#[test]
fn the_virtual_disk_has_the_locality_that_is_counted() {
    let Some(records) = recorded("cloudPhysicsIO.vscsi", None) else { return };
    let longest = *checked("cloudPhysicsIO", &records).windows.last().unwrap();
    assert!(longest.windows >= 1, "{longest:?}");
}
