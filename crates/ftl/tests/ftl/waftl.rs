//! waftl by hand: algorithm 1 operation by operation, both limits of the threshold, what is cached,
//! what idle time is used for, and what it takes in RAM.

use std::collections::BTreeSet;

use crate::kit::{NumberChip, PromisingDies, empty, priced};
use flash::Lpn;
use ftl::{AnyDevice, Cause, Drive, FlashOp, FlashPort, Layout, Nanos, Request, Stack, registry};
use testkit::TestFlash;

const PAGES_PER_BLOCK: u32 = 4;

struct Scenario {
    flash: FlashPort<AnyDevice>,
    ftl: Drive<AnyDevice>,
    dies: PromisingDies,
}

fn flash(dies: u32, blocks_per_plane: u32) -> TestFlash {
    TestFlash::new(blocks_per_plane, PAGES_PER_BLOCK).channels(dies)
}

impl Scenario {
    fn new(dies: u32, blocks_per_plane: u32, logical_blocks: u32, settings: &[(&str, &str)]) -> Self {
        let chip = flash(dies, blocks_per_plane).chip();
        let layout = Layout::of(&chip, PAGES_PER_BLOCK * logical_blocks, 7);
        let ftl = registry::create(&Stack::with("waftl", settings.iter().copied()), &layout).expect("a valid scheme");
        let dies = PromisingDies::new([25, 200, 1500]);
        Self { flash: FlashPort::new(priced(chip, dies.clone())), ftl, dies }
    }

    /// One request for each page.
    fn write(&mut self, pages: &[u32]) {
        for &page in pages {
            self.ftl.write(&mut self.flash, &Request::new(Lpn::new(page), 1), &empty(1)).expect("legal");
            self.ftl.check(&self.flash).expect("invariants");
        }
    }

    fn read(&mut self, pages: &[u32]) {
        for &page in pages {
            self.ftl.read(&mut self.flash, &Request::new(Lpn::new(page), 1), &mut empty(1)).expect("legal");
            self.ftl.check(&self.flash).expect("invariants");
        }
    }

    /// Reads and programs for a cause.
    fn cost(&self, cause: Cause) -> (u64, u64) {
        (self.flash.tally().count(cause, FlashOp::Read), self.flash.tally().count(cause, FlashOp::Program))
    }

    fn gauge(&self, name: &str) -> f64 {
        let gauges = self.ftl.gauges();
        gauges.iter().find(|gauge| gauge.name == name).unwrap_or_else(|| panic!("no gauge {name}")).value
    }

    fn assert_pmb_share(&self, share: f64) {
        assert!((self.gauge("pmb_share") - share).abs() < 1e-9, "{}", self.gauge("pmb_share"));
    }
}

/// A zone of two blocks, eight pages; free blocks are never short.
const SMALL: [(&str, &str); 3] = [("zone_blocks", "2"), ("popular_top", "0"), ("gc_free", "0")];

fn small(more: &[(&str, &str)]) -> Scenario {
    Scenario::new(1, 40, 8, &[&SMALL, more].concat())
}

/// WAFTL algorithm 1, lines 18 to 28, then 3 to 8 and 11 to 17:
///
/// ```text
///   zone   0 1 2 3 | 4 5 8 9    block 0 is full: BMB [0 1 2 3]; 1 and 2 are not: PMB [4 5 8 9]
///   zone   12 1 4 4 | 4 4 4 4   block 3 is new: PMB; of block 0 all four go to a fresh block;
///                               of block 1 page 4 alone
/// ```
#[test]
fn a_migration_follows_algorithm_1() {
    let mut waftl = small(&[]);
    waftl.write(&[0, 1, 2, 3, 4, 5, 8, 9]);
    assert_eq!(waftl.cost(Cause::Merge), (0, 0));
    waftl.write(&[12]);
    assert_eq!(waftl.cost(Cause::Merge), (8, 8));
    waftl.assert_pmb_share(2.0 / 3.0);
    waftl.write(&[1, 4, 4, 4, 4, 4, 4]);
    assert_eq!(waftl.cost(Cause::Merge), (8, 8));
    waftl.write(&[31]);
    assert_eq!(waftl.cost(Cause::Merge), (8 + 4 + 1 + 1, 8 + 4 + 1 + 1));
    waftl.assert_pmb_share(3.0 / 4.0);
    assert_eq!(waftl.cost(Cause::Host), (0, 17));
}

/// Lines 31 to 33: the PMT is updated once a block. The CPMT holds 8 entries, and all entries are
/// in one translation page. It is first written when those of pages 0 to 7 leave, and then read for
/// pages 8 to 11 and for pages 12 to 15.
#[test]
fn a_migration_reads_the_map_once_a_logical_block() {
    for (update, reads) in [("block", 2), ("page", 8)] {
        let mut waftl = small(&[("cmt", "64"), ("threshold", "1.25"), ("pmt_update", update)]);
        let pages: Vec<u32> = (0..16).collect();
        waftl.write(&pages);
        assert_eq!(waftl.cost(Cause::Mapping), (0, 0));
        waftl.write(&[0]);
        assert_eq!(waftl.cost(Cause::Mapping), (reads, 1), "pmt_update = {update}");
    }
}

/// The same without batches: each of four logical blocks writes the map once, or each entry when it
/// leaves, of which 8 of 16 have.
#[test]
fn a_migration_without_batches_writes_the_map_once_a_logical_block() {
    for (update, programs) in [("block", 4), ("page", 8)] {
        let unbatched = [("cmt", "64"), ("threshold", "1.25"), ("pmt_update", update), ("batch_update", "false")];
        let mut waftl = small(&unbatched);
        waftl.write(&(0..16).collect::<Vec<_>>());
        waftl.write(&[0]);
        assert_eq!(waftl.cost(Cause::Mapping).1, programs, "pmt_update = {update}");
    }
}

/// Line 20: the most popular of the new blocks is mapped page by page, however many pages it has.
/// Block 0 is written in one request, so it counts one access, block 1 in four of which each begins
/// anew.
#[test]
fn the_most_popular_new_block_is_page_mapped() {
    for (top, share) in [("1", 0.5), ("0", 0.0)] {
        let mut waftl = Scenario::new(1, 40, 8, &[("zone_blocks", "2"), ("popular_top", top), ("gc_free", "0")]);
        waftl.ftl.write(&mut waftl.flash, &Request::new(Lpn::new(0), 4), &empty(4)).expect("legal");
        waftl.write(&[7, 6, 5, 4]);
        waftl.write(&[20]);
        waftl.assert_pmb_share(share);
    }
}

/// The request that begins a zone counts there: block 5 is accessed by it and once more later,
/// block 3 once, so block 5 is the most popular and block 3, of which all pages have gathered, is
/// mapped as a whole.
#[test]
fn the_request_that_begins_a_zone_is_an_access_in_it() {
    let mut waftl = small(&[("popular_top", "1")]);
    waftl.write(&[0; 8]);
    waftl.write(&[21]);
    waftl.ftl.write(&mut waftl.flash, &Request::new(Lpn::new(12), 4), &empty(4)).expect("legal");
    waftl.write(&[20, 24, 28]);
    waftl.write(&[0]);
    waftl.assert_pmb_share(0.8);
}

/// III.B and III.C.1: read misses enter the zone, and leave it without a copy; a read of the zone,
/// or of a BMB, needs no map.
#[test]
fn what_is_read_is_cached_in_the_zone_and_dropped_clean() {
    let mut waftl = small(&[("cmt", "64")]);
    waftl.write(&[0, 1, 2, 3, 4, 5, 8, 9, 12]);
    waftl.read(&[12, 0, 4, 4, 0]);
    assert_eq!(waftl.cost(Cause::Caching), (0, 2), "0 and 4; 12 is in the zone, and then these are");
    let copied = waftl.cost(Cause::Merge);
    waftl.write(&[13, 14, 16, 17, 18]);
    assert_eq!(waftl.cost(Cause::Merge), copied);
    waftl.write(&[24]);
    assert_eq!(waftl.cost(Cause::Merge), (copied.0 + 6, copied.1 + 6), "12 to 14 and 16 to 18, neither 0 nor 4");
    let mut without = small(&[("cache_reads", "false")]);
    without.write(&[0, 1, 2, 3, 4, 5, 8, 9, 12]);
    without.read(&[12, 0, 4, 4, 0]);
    assert_eq!(without.cost(Cause::Caching), (0, 0));
}

/// Pages that are overwritten one by one, from all of a full device, in no order.
fn overwritten(logical_pages: u32, count: u32) -> Vec<u32> {
    (0..count).map(|i| (i * 7 + i * i / 3) % logical_pages).collect()
}

/// Copies that migrations make of these writes, and what a count by hand says if each zoneful costs
/// so much.
fn limit(threshold: &str, zoneful: impl Fn(&[u32]) -> usize) {
    const LOGICAL_BLOCKS: u32 = 16;
    let settings = [&SMALL[..], &[("threshold", threshold), ("cache_reads", "false")]].concat();
    let mut waftl = Scenario::new(2, 30, LOGICAL_BLOCKS, &settings);
    let mut pages: Vec<u32> = (0..LOGICAL_BLOCKS * PAGES_PER_BLOCK).collect();
    pages.extend(overwritten(LOGICAL_BLOCKS * PAGES_PER_BLOCK, 400));
    // The last zoneful stays where it is, and the one that fills the device is placed for the first
    // time.
    waftl.write(&pages);
    let migrated = pages.chunks(8).take(pages.len() / 8 - 1);
    let by_hand: usize = migrated.map(zoneful).sum();
    assert_eq!(waftl.cost(Cause::Merge).1, by_hand as u64, "threshold {threshold}");
    waftl.assert_pmb_share(if threshold == "0" { 0.0 } else { 1.0 });
}

/// Algorithm 1, line 23, with nothing but blocks: a zoneful costs a block's worth of copies for
/// each logical block in it.
#[test]
fn at_threshold_0_it_is_block_mapping_behind_a_log() {
    limit("0", |pages| {
        let blocks: BTreeSet<u32> = pages.iter().map(|page| page / PAGES_PER_BLOCK).collect();
        blocks.len() * PAGES_PER_BLOCK as usize
    });
}

/// And above the full block a zoneful costs one copy for each page in it, as page mapping would
/// behind a log.
#[test]
fn above_the_full_block_it_is_page_mapping_behind_a_log() {
    limit("1.25", |pages| pages.iter().collect::<BTreeSet<_>>().len());
}

/// III.D, eqs. 3 and 4, with alpha 0.5 and erases of 1.5 ms:
///
/// ```text
///   idle       |--- 4 ms ---|  |--- 4 ms ---|  |--- 4 ms ---|  | 1 ms |
///   predicted        0              2 ms           3 ms          3.5 ms
///   erases           0           [1.5]          [1.5][1.5]      [1.5|...
///                                                           the request waits for the rest of it
/// ```
#[test]
fn idle_time_is_used_as_predicted_and_a_request_waits_for_one_erase_at_most() {
    let mut waftl = Scenario::new(1, 60, 8, &[("zone_blocks", "8"), ("gc_free", "0")]);
    let all: Vec<u32> = (0..32).collect();
    waftl.write(&all);
    waftl.write(&[0]);
    assert!(waftl.gauge("spent_blocks") >= 8.0, "the zone is dirty");
    let mut now = Nanos(1_000_000_000);
    for (idle_ms, erases) in [(4, 0), (4, 1), (4, 2), (1, 1)] {
        waftl.flash.begin(now);
        waftl.dies.take_performed();
        let budget = Nanos(idle_ms * 1_000_000);
        waftl.ftl.idle(&mut waftl.flash, budget).expect("legal");
        let performed = waftl.dies.take_performed().into_iter();
        let ends: Vec<u64> = performed.filter(|(task, _)| task.op == FlashOp::Erase).map(|(_, end)| end.0).collect();
        assert_eq!(ends.len(), erases, "{idle_ms} ms");
        let over = ends.last().map_or(Nanos::ZERO, |&end| Nanos(end).since(now + budget));
        assert_eq!(over, Nanos(if idle_ms == 1 { 500_000 } else { 0 }));
        now = now + budget + Nanos(10_000_000);
    }
    assert_eq!(waftl.cost(Cause::Collection), (0, 0), "nothing is copied");
}

/// III.D: below `gc_free` spent blocks are erased while requests come, and no others are collected
/// as long as that suffices.
#[test]
fn below_a_fifth_of_the_device_spent_blocks_are_erased_at_once() {
    for (free, spent) in [("0", 8.0), ("1", 0.0)] {
        let mut waftl = Scenario::new(1, 60, 8, &[("zone_blocks", "8"), ("gc_free", free)]);
        let all: Vec<u32> = (0..32).collect();
        waftl.write(&all);
        waftl.write(&[0]);
        assert!((waftl.gauge("spent_blocks") - spent).abs() < 1e-9, "{}", waftl.gauge("spent_blocks"));
    }
}

/// WAFTL fig. 16 and tab. II: 32 GB in blocks of 256 KB.
#[test]
fn its_footprint_is_the_papers_arithmetic() {
    const MIB: u64 = 1 << 20;
    let geometry = TestFlash::new(9216, 64).channels(8).dies_per_channel(2).page_size(4096).geometry();
    let chip: NumberChip = flash(1, 1).chip();
    let good_blocks = (0..geometry.blocks()).map(flash::Pbn::new).collect();
    let layout = Layout { geometry, good_blocks, ..Layout::of(&chip, 8 << 20, 7) };
    let waftl: Drive<AnyDevice> = registry::create(&Stack::of("waftl"), &layout).expect("it fits");
    let footprint = waftl.footprint();
    let bytes = |name: &str| {
        let found = footprint.structures.iter().find(|structure| structure.name == name);
        found.map_or_else(|| panic!("no {name} in {footprint:?}"), |found| (found.ram_bytes, found.flash_bytes))
    };
    assert_eq!(bytes("global mapping table"), (MIB / 2, 0), "4 B for each of 131,072 logical blocks");
    assert_eq!(bytes("cached mapping table"), (MIB / 4, 0));
    assert_eq!(bytes("translation pages"), (0, 32 * MIB), "if all is page-mapped");
    assert_eq!(bytes("global translation directory"), (32 << 10, 0));
    // A zone of 1 GB: 4 B for each of its 262,144 pages, and 12 B for each logical block.
    assert_eq!(bytes("buffer zone mapping tree"), (MIB + 12 * 131_072, 0));
}
