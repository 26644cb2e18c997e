use host::{Hint, HostOp};
use random::SeededRng;

use super::*;
use crate::engines::shared_ram::data_cache::CachedPage;
use crate::port::ram_pages::RamPages;
use crate::testing::layout;

/// aps over 800 pages without a map below it, beside lists of what is in RAM.
struct Bench {
    aps: Aps,
    cache: EntryCache,
    held: DataCache,
    pages: RamPages<()>,
    /// Entries and data pages, those used longest ago first.
    entries: Vec<Lpn>,
    data: Vec<Lpn>,
}

impl Bench {
    fn new(settings: &[(&str, &str)]) -> Self {
        let settings = settings.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
        let values = Values::check("aps", Map::ENTRY.parameters, &settings).expect("valid");
        let layout = layout(64, 16, 800);
        Self {
            aps: Aps::new(&layout, &values),
            cache: EntryCache::new(800, 128),
            held: DataCache::none(800),
            pages: RamPages::default(),
            entries: Vec::new(),
            data: Vec::new(),
        }
    }

    fn make_room(&mut self, why: EvictionReason) {
        loop {
            let Self { aps, cache, held, .. } = self;
            let Some(Victim { what, among }) = aps.next_victim(&mut RamView { cache, held }, why) else { return };
            match what {
                Evict::Data(lpn) => {
                    assert_eq!((lpn, among), (self.data.remove(0), held.pages() as u64), "the page used longest ago");
                    let place = held.find(lpn).expect("it is held");
                    aps.on_evict(&mut RamView { cache, held }, place);
                    held.remove(lpn);
                }
                Evict::Entry(lpn) => {
                    assert_eq!((lpn, among), (self.entries.remove(0), cache.entries() as u64), "used longest ago");
                    aps.evict(cache, what);
                }
                Evict::Translation(page) => unreachable!("translation page {page} is not kept"),
            }
        }
    }

    fn look_up(&mut self, lpn: Lpn) {
        self.make_room(EvictionReason::Entry(lpn));
        if self.cache.find(lpn).is_none() {
            self.cache.insert(lpn);
        }
        let Self { aps, cache, held, .. } = self;
        aps.on_lookup(&mut RamView { cache, held }, lpn);
        self.entries.retain(|&other| other != lpn);
        self.entries.push(lpn);
        self.check();
    }

    fn write(&mut self, lpn: Lpn) {
        self.aps.begins(&Request::new(lpn, 1));
        if let Some(place) = self.held.find(lpn) {
            let Self { aps, cache, held, .. } = self;
            aps.on_used(&mut RamView { cache, held }, place, HostOp::Write);
        } else {
            self.make_room(EvictionReason::Data(lpn));
            let held = CachedPage { lpn, page: self.pages.put(()), hint: Hint::NONE, is_newer: true };
            let place = self.held.insert(held);
            let Self { aps, cache, held, .. } = self;
            aps.on_inserted(&mut RamView { cache, held }, place);
        }
        self.data.retain(|&other| other != lpn);
        self.data.push(lpn);
        self.check();
    }

    fn check(&self) {
        assert_eq!(self.aps.fault(&self.cache, &self.held), None);
        assert_eq!((self.entries.len(), self.data.len()), (self.cache.entries(), self.held.pages()));
    }
}

#[test]
fn both_parts_agree_with_lists_by_use_and_never_take_more_than_the_ram() {
    for step in ["0", "0.05", "0.5"] {
        let mut bench = Bench::new(&[("ram", "8KiB"), ("interval", "7"), ("step", step)]);
        let mut rng = SeededRng::new(31);
        let mut borders = Vec::new();
        for _ in 0..20_000 {
            let drawn = rng.bits();
            let lpn = Lpn::new(((drawn >> 33) % 800).min((drawn >> 43) % 800) as u32);
            if drawn >> 63 == 0 {
                bench.look_up(lpn);
            } else {
                bench.write(lpn);
            }
            borders.push(bench.aps.border.data_bytes);
        }
        borders.sort_unstable();
        borders.dedup();
        assert_eq!(borders.len() == 1, step == "0", "step {step}: {borders:?}");
    }
}

#[test]
fn nothing_leaves_while_ram_has_room() {
    let mut bench = Bench::new(&[("ram", "4KiB"), ("step", "0")]);
    (0..9).for_each(|lpn| bench.write(Lpn::new(lpn)));
    assert_eq!(bench.held.pages(), 7, "of 4096 bytes all but a page, beyond the border at 2048");
    (0..256).for_each(|lpn| bench.look_up(Lpn::new(lpn)));
    assert_eq!((bench.held.pages(), bench.cache.entries()), (4, 256), "the map takes what is its own");
}

/// Four pages and 256 entries, so that RAM is full; a step of a page, for which there are two ghost
/// pages or 65 ghost entries. The border was not judged yet.
fn full() -> Bench {
    full_with_step("0.125")
}

fn full_with_step(step: &str) -> Bench {
    let mut bench = Bench::new(&[("ram", "4KiB"), ("interval", "10"), ("step", step)]);
    (0..256).for_each(|i| bench.look_up(Lpn::new(100 + i)));
    (0..4).for_each(|lpn| bench.write(Lpn::new(lpn)));
    assert_eq!((bench.aps.border.data_bytes, bench.held.pages(), bench.cache.entries()), (2048, 4, 256));
    bench
}

#[test]
fn the_border_moves_to_the_part_whose_ghosts_come_back() {
    let mut bench = full();
    // Five pages in turn: each comes back as a ghost until there is room for five. The last miss on
    // the way there moves the border once more, and then nothing is missed.
    (0..100).for_each(|i| bench.write(Lpn::new(i % 5)));
    assert_eq!(bench.aps.border.data_bytes, 2048 + 2 * 512);
    // A sixth page fills the part. Of 180 entries in turn 128 have room: while pages are hit,
    // entries come back.
    bench.write(Lpn::new(5));
    for i in 0..3000 {
        bench.look_up(Lpn::new(100 + i % 180));
        if i % 10 == 0 {
            bench.write(Lpn::new(0));
        }
    }
    assert!(
        (2048..=2560).contains(&bench.aps.border.data_bytes),
        "{}: entries have room for 192 to 256",
        bench.aps.border.data_bytes
    );
}

/// A step of 1 % would be 40 bytes: it is a page, so that a page that is written can be a ghost.
#[test]
fn a_step_is_at_least_a_page_unless_it_is_zero() {
    for (step, border) in [("0.01", 2048 + 2 * 512), ("0.000001", 2048 + 2 * 512), ("0", 2048)] {
        let mut bench = full_with_step(step);
        (0..100).for_each(|i| bench.write(Lpn::new(i % 5)));
        assert_eq!(bench.aps.border.data_bytes, border, "step {step}");
        let sizes = bench.aps.border.sizes;
        let expected = if step == "0" { ([1, 1], [0, 0]) } else { ([65, 2], [64, 1]) };
        assert_eq!((sizes.ghosts(), sizes.tails()), expected, "step {step}");
    }
}

/// A write that misses costs 225 us, and a look-up 25: as many as 20 of them in the tail of the map
/// save more than the fifth page.
#[test]
fn the_border_stays_where_the_other_part_would_lose_more() {
    let mut bench = full();
    for i in 0..200 {
        bench.write(Lpn::new(i % 5));
        (0..20).for_each(|j| bench.look_up(Lpn::new(100 + (20 * i + j) % 256)));
    }
    assert_eq!((bench.aps.border.data_bytes, bench.cache.entries()), (2048, 256));
}

/// The entry of a page that leaves spares a read, and stays where it is in the order.
#[test]
fn the_entry_of_a_page_that_leaves_counts_for_the_map() {
    let mut bench = full();
    for (lpn, loss) in [(100, 25_000), (300, 25_000)] {
        let Bench { aps, cache, held, .. } = &mut bench;
        aps.on_entry_present(&mut RamView { cache, held }, Lpn::new(lpn));
        assert_eq!((aps.border.losses, aps.entries.first()), ([loss, 0], Some(0)), "{lpn}: 64 of 256 are the tail");
    }
}

/// With the border at 1024 bytes the map has room, and with 3072 it has what the data leave.
#[test]
fn a_ghost_counts_only_where_both_parts_are_full() {
    for (data_bytes, gain) in [(2048, 25_000), (1024, 0), (3072, 0)] {
        let mut bench = full();
        bench.look_up(Lpn::new(500));
        assert!(bench.cache.find(Lpn::new(100)).is_none(), "it has left for 500");
        bench.aps.border.data_bytes = data_bytes;
        bench.look_up(Lpn::new(100));
        assert_eq!(bench.aps.border.gains, [gain, 0], "border at {data_bytes}");
    }
}

#[test]
fn what_was_trimmed_comes_back_as_no_ghost() {
    let mut bench = full();
    for i in 0..100 {
        bench.aps.on_superseded(Lpn::new(i % 5));
        bench.write(Lpn::new(i % 5));
    }
    assert_eq!(bench.aps.border.data_bytes, 2048, "no larger part would have held one of them");
}
