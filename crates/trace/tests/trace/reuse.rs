//! Short reuse: as it is asked for in a description, and as a look-alike has it of a trace.

use std::collections::{BTreeMap, HashSet, VecDeque};

use trace::fit::fit;
use trace::generate::generate;
use trace::{HostOp, Record};

use crate::figures::folder;
use crate::generators::records;
use crate::locality::{WINDOW, recorded};

fn look_alike(trace: &[Record]) -> Vec<Record> {
    let fitted = fit(trace.iter().copied().map(Ok), 1, || true).unwrap().expect("it was not stopped");
    generate(&fitted.spec, 1).unwrap().collect()
}

fn pages(record: &Record) -> impl Iterator<Item = (u32, u64)> + use<> {
    let device = record.device;
    (record.offset / 4096..record.end().div_ceil(4096)).map(move |page| (device, page))
}

/// Hits of an LRU of 64 pages, %.
fn hits_of_64_pages(records: &[Record]) -> f64 {
    let (mut cache, mut hits, mut uses) = (VecDeque::new(), 0, 0);
    for page in records.iter().flat_map(pages) {
        uses += 1;
        let held = cache.iter().position(|held| *held == page);
        hits += u32::from(held.and_then(|place| cache.remove(place)).is_some());
        cache.push_front(page);
        cache.truncate(64);
    }
    100.0 * f64::from(hits) / f64::from(uses)
}

/// Of the pages read, each time counted, those that were written before, %.
fn read_after_write(records: &[Record]) -> f64 {
    let (mut written, mut reads, mut found) = (HashSet::new(), 0, 0);
    for record in records {
        for page in pages(record) {
            if record.op == HostOp::Write {
                written.insert(page);
            } else {
                reads += 1;
                found += u32::from(written.contains(&page));
            }
        }
    }
    100.0 * f64::from(found) / f64::from(reads)
}

#[test]
fn reuse_has_its_shares_operations_and_distances() {
    let made = records(
        "
        requests = 100000
        span = '64GiB'
        write_share = 0.5
        reuse = [
            { op = 'read', after = 'write', share = 0.1, distance = [20, 40] },
            { op = 'write', after = 'write', share = 0.3, distance = [1, 8] }]",
        7,
    );
    // The last use of each place: its operation, and its number among those of the same.
    let mut last: BTreeMap<u64, (HostOp, u64)> = BTreeMap::new();
    let (mut numbers, mut seen) = ([0, 0], BTreeMap::new());
    for record in &made {
        let op = usize::from(record.op == HostOp::Write);
        if let Some(&(after, number)) = last.get(&record.offset) {
            let distance = numbers[usize::from(after == HostOp::Write)] - number;
            seen.entry((record.op, after)).or_insert_with(Vec::new).push(distance);
        }
        last.insert(record.offset, (record.op, numbers[op]));
        numbers[op] += 1;
    }
    for (kind, share, [from, to]) in
        [((HostOp::Read, HostOp::Write), 0.1, [20, 40]), ((HostOp::Write, HostOp::Write), 0.3, [1, 8])]
    {
        let distances = &seen[&kind];
        let measured = distances.len() as f64 / made.len() as f64;
        assert!((measured - share).abs() < 0.01, "{kind:?}: {measured}");
        let near = distances.iter().filter(|distance| (from..=to).contains(*distance)).count();
        assert!(near as f64 > 0.95 * distances.len() as f64, "{kind:?}: {near} of {}", distances.len());
    }
}

#[test]
fn places_that_are_not_reusable_are_not_reused() {
    let made = records(
        "
        requests = 20000
        span = '1TiB'
        reuse = [{ op = 'write', after = 'write', share = 0.4, distance = [1, 30] }]
        [[pattern.mixed]]
        pattern = 'uniform'
        sizes = '64KiB'
        reusable = false
        [[pattern.mixed]]
        pattern = 'uniform'
        sizes = '4KiB'",
        7,
    );
    let mut places = HashSet::new();
    let repeated: Vec<u32> =
        made.iter().filter(|it| !places.insert((it.offset, it.length))).map(|it| it.length).collect();
    assert!(repeated.len() > 7000, "{}", repeated.len());
    assert!(repeated.iter().all(|&length| length == 4096));
}

#[test]
fn a_look_alike_reuses_as_its_trace_does() {
    let trace = records(
        "
        requests = 12000
        span = '8GiB'
        write_share = 0.6
        arrivals = { poisson = { mean_gap = '1ms' } }
        pattern = { zipf = { theta = 0.8, extent = '256KiB' } }
        reuse = [
            { op = 'read', after = 'write', share = 0.06, distance = [1, 10] },
            { op = 'write', after = 'write', share = 0.3, distance = [1, 60], again = 0.9 }]",
        7,
    );
    let made = look_alike(&trace);
    let (before, after) = (hits_of_64_pages(&trace), hits_of_64_pages(&made));
    assert!(before > 20.0 && (before - after).abs() < 4.0, "{before} and {after} % of hits");
    let (before, after) = (read_after_write(&trace), read_after_write(&made));
    assert!((before - after).abs() < 6.0, "{before} and {after} % of the reads are of written pages");
}

/// Without reuse of their own, look-alikes of these windows had 12 % and 20 % of hits.
#[test]
fn recorded_windows_are_reused_alike() {
    let Some(_) = folder() else { return };
    let windows = [("financial1_first10k.ssdsim.ascii", None), ("msr-hm0-window-1370.trace", Some(WINDOW))];
    for (file, columns) in windows {
        let trace = recorded(file, columns).unwrap();
        let (before, after) = (hits_of_64_pages(&trace), hits_of_64_pages(&look_alike(&trace)));
        assert!((before - after).abs() < 6.0, "{file}: {before} and {after} % of hits");
    }
}
