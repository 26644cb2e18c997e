use host::Hint;
use random::SeededRng;

use super::*;
use crate::engines::shared_ram::data_cache::Held;
use crate::memory::ram_pages::RamPages;
use crate::testing::layout;

/// aps over 800 pages without a map below it, beside lists of what is in RAM.
struct Bench {
    aps: Aps,
    cache: EntryCache,
    table: TranslationTable,
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
            table: TranslationTable::new(800, 128, 1),
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
                    aps.leaves(&mut RamView { cache, held }, place);
                    held.remove(lpn);
                }
                Evict::Entry(lpn) => {
                    assert_eq!((lpn, among), (self.entries.remove(0), cache.entries() as u64), "used longest ago");
                    aps.let_go(cache, what);
                }
                Evict::Translation(page) => unreachable!("translation page {page} is not kept"),
            }
        }
    }

    fn look_up(&mut self, lpn: Lpn) {
        self.make_room(EvictionReason::Entry(lpn));
        if self.cache.find(lpn).is_none() {
            self.cache.insert(lpn, &self.table);
        }
        let Self { aps, cache, held, .. } = self;
        aps.looked_up(&mut RamView { cache, held }, lpn);
        self.entries.retain(|&other| other != lpn);
        self.entries.push(lpn);
        self.check();
    }

    fn write(&mut self, lpn: Lpn) {
        self.aps.begins(&Request::new(lpn, 1));
        if let Some(place) = self.held.find(lpn) {
            let Self { aps, cache, held, .. } = self;
            aps.used(&mut RamView { cache, held }, place);
        } else {
            self.make_room(EvictionReason::Data(lpn));
            let held = Held { lpn, page: self.pages.put(()), hint: Hint::NONE, is_newer: true };
            let place = self.held.hold(held);
            let Self { aps, cache, held, .. } = self;
            aps.came(&mut RamView { cache, held }, place);
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
            borders.push(bench.aps.data_bytes);
        }
        borders.sort_unstable();
        borders.dedup();
        assert_eq!(borders.len() == 1, step == "0", "step {step}: {borders:?}");
    }
}

#[test]
fn the_border_moves_to_the_part_whose_ghosts_come_back() {
    // Four pages and 256 entries to begin with; a step of a page, for which there is one ghost page
    // or 64 ghost entries.
    let mut bench = Bench::new(&[("ram", "4KiB"), ("interval", "10"), ("step", "0.125")]);
    assert_eq!(bench.aps.data_bytes, 2048);
    // Five pages in turn: each comes back as the one ghost.
    (0..100).for_each(|i| bench.write(Lpn::new(i % 5)));
    // Five pages have room from the first judgement on; the last miss on the way there moves the
    // border once more.
    assert_eq!(bench.aps.data_bytes, 2048 + 2 * 512);
    // 180 entries in turn, where 128 have room: while pages are hit, entries come back.
    for i in 0..3000 {
        bench.look_up(Lpn::new(100 + i % 180));
        if i % 10 == 0 {
            bench.write(Lpn::new(0));
        }
    }
    assert!(
        (2048..=2560).contains(&bench.aps.data_bytes),
        "{}: entries have room for 192 to 256",
        bench.aps.data_bytes
    );
}

#[test]
fn what_was_trimmed_comes_back_as_no_ghost() {
    let mut bench = Bench::new(&[("ram", "4KiB"), ("interval", "10"), ("step", "0.125")]);
    for i in 0..100 {
        bench.aps.superseded(Lpn::new(i % 5));
        bench.write(Lpn::new(i % 5));
    }
    assert_eq!(bench.aps.data_bytes, 2048, "no larger part would have held one of them");
}
