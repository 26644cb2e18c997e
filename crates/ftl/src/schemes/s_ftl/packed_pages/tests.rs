use std::collections::{BTreeMap, BTreeSet};

use random::SeededRng;

use super::*;

const PER_PAGE: u32 = 64;
const PAGES: u32 = 500;
const PHYSICAL: u32 = 2000;

/// What is in RAM, in lists that are looked through for everything, with what the map says.
struct Model {
    sizes: Sizes,
    map: Vec<Option<u32>>,
    /// From the least recently used; the last one is unpacked while `is_open`.
    cached: Vec<u32>,
    is_open: bool,
    newer: BTreeSet<u32>,
    /// An entry of the buffer that was found last.
    found: Option<u32>,
}

impl Model {
    fn new(sizes: Sizes) -> Self {
        let (cached, newer) = (Vec::new(), BTreeSet::new());
        Self { sizes, map: vec![None; PAGES as usize], cached, is_open: false, newer, found: None }
    }

    /// Bytes of a packed page: it is spelled out run by run.
    fn packed(&self, page: u32) -> u64 {
        let first = (page * PER_PAGE) as usize;
        let entries = &self.map[first..(first + PER_PAGE as usize).min(self.map.len())];
        let goes_on = |a: &Option<u32>, b: &Option<u32>| match (a, b) {
            (Some(a), Some(b)) => a + 1 == *b,
            (None, None) => true,
            _ => false,
        };
        let runs = entries.chunk_by(goes_on).count() as u64;
        (8 + 64 / 8 + 4 * runs).min(8 + 4 * 64)
    }

    fn bytes(&self) -> u64 {
        let packed: u64 = self.cached.iter().map(|&page| self.packed(page)).sum();
        let open = self.cached.last().filter(|_| self.is_open);
        packed + open.map_or(0, |&page| 8 + 4 * 64 - self.packed(page))
    }

    fn newer_of(&self, page: u32) -> u64 {
        self.newer.iter().filter(|&&lpn| lpn / PER_PAGE == page).count() as u64
    }

    /// Newer entries in the buffer by their page.
    fn buffer(&self) -> BTreeMap<u32, u64> {
        let pages = self.newer.iter().map(|lpn| lpn / PER_PAGE).filter(|page| !self.cached.contains(page));
        pages.map(|page| (page, self.newer_of(page))).collect()
    }

    fn has(&self, lpn: u32) -> bool {
        self.cached.contains(&(lpn / PER_PAGE)) || self.newer.contains(&lpn) || self.found == Some(lpn)
    }

    fn buffer_room(&self) -> u64 {
        let stays = self.found.is_some_and(|lpn| !self.newer.contains(&lpn));
        self.sizes.buffer / 8 - self.buffer().values().sum::<u64>() - u64::from(stays)
    }

    /// Pages leave until there is room; returns one that must be written for that.
    fn shrink(&mut self, room: u64) -> Option<u32> {
        while self.bytes() + room > self.sizes.pages {
            let (page, newer) = (self.cached[0], self.newer_of(self.cached[0]));
            let is_sparse = newer <= self.sizes.sparse.into();
            if newer > 0 && !(is_sparse && newer <= self.buffer_room()) {
                let most = self.buffer().into_iter().max_by_key(|&(page, count)| (count, Reverse(page)));
                let instead = most.filter(|&(_, count)| count > newer);
                return Some(instead.map_or(page, |(page, _)| page));
            }
            self.cached.remove(0);
        }
        None
    }

    fn write(&mut self, page: u32) {
        self.newer.retain(|lpn| lpn / PER_PAGE != page);
    }
}

/// The cache, the model, and the table that the cache asks.
struct Pair {
    cache: PackedPages,
    model: Model,
    table: TranslationTable,
    rng: SeededRng,
    /// Pages written, hits, hits in the buffer, changes that had no room.
    seen: [u32; 4],
}

impl Pair {
    fn new(sizes: Sizes, seed: u64) -> Self {
        Self {
            cache: PackedPages::new(sizes, PAGES, PER_PAGE),
            model: Model::new(sizes),
            table: TranslationTable::new([PAGES, PHYSICAL], PER_PAGE, 1),
            rng: SeededRng::new(seed),
            seen: [0; 4],
        }
    }

    fn change(&mut self, lpn: u32, to: Option<u32>) {
        self.model.map[lpn as usize] = to;
        let before = self.table.replace_entry(Lpn::new(lpn), to.map(Ppn::new));
        self.cache.on_entry_changed(Lpn::new(lpn), before, &self.table);
    }

    fn write(&mut self, page: u32) {
        self.seen[0] += 1;
        assert!(self.model.newer_of(page) > 0, "page {page} is written for nothing");
        self.cache.clean(page);
        self.model.write(page);
    }

    /// Looks an entry up as the engine does.
    fn look_up(&mut self, lpn: u32) {
        let is_hit = self.model.has(lpn);
        assert_eq!(self.cache.find(Lpn::new(lpn)).is_some(), is_hit, "{lpn}");
        let page = lpn / PER_PAGE;
        if is_hit {
            self.seen[1] += 1;
            self.cache.touch(Lpn::new(lpn));
            if self.model.cached.contains(&page) {
                self.model.cached.retain(|&other| other != page);
                self.model.cached.push(page);
                (self.model.is_open, self.model.found) = (true, None);
            } else {
                self.seen[2] += 1;
                self.model.found = Some(lpn);
            }
            while let Some(page) = self.cache.overflow() {
                assert_eq!(self.model.shrink(0), Some(page));
                self.write(page);
            }
            assert_eq!(self.model.shrink(0), None);
            return;
        }
        let mut packed =
            Model { map: self.model.map.clone(), cached: self.model.cached.clone(), ..Model::new(self.model.sizes) };
        packed.is_open = false;
        assert_eq!(self.cache.is_full(), packed.bytes() + 8 + 4 * 64 > self.model.sizes.pages);
        if self.cache.is_full() {
            (self.model.is_open, self.model.found) = (false, None);
            while let Some(page) = self.cache.must_write() {
                assert_eq!(self.model.shrink(8 + 4 * 64), Some(page));
                self.write(page);
            }
            assert_eq!(self.model.shrink(8 + 4 * 64), None);
        }
        self.cache.insert(Lpn::new(lpn));
        self.model.cached.push(page);
        (self.model.is_open, self.model.found) = (true, None);
    }

    /// A collection moves pages: in RAM, where there is room, else with their translation pages.
    fn collect(&mut self) {
        let (first, to) = (self.rng.below_u32(PAGES), self.rng.below_u32(PHYSICAL - 100));
        let mut updates = BTreeMap::<u32, Vec<(u32, u32)>>::new();
        for at in 0..8 {
            let lpn = (first + at * (1 + to % 9)) % PAGES;
            let page = lpn / PER_PAGE;
            let is_packed =
                self.model.cached.contains(&page) && !(self.model.is_open && self.model.cached.last() == Some(&page));
            let has_room = !is_packed || self.model.bytes() + 8 <= self.model.sizes.pages;
            let slot = self.cache.find(Lpn::new(lpn));
            assert_eq!(slot.is_some(), self.model.has(lpn));
            match slot {
                Some(slot) if self.cache.has_room_to_change(slot) => {
                    assert!(has_room, "{lpn} is changed without room");
                    self.change(lpn, Some(to + at));
                    self.cache.mark_newer(slot);
                    self.model.newer.insert(lpn);
                }
                _ => {
                    assert!(slot.is_none() || !has_room, "{lpn} could be changed in RAM");
                    self.seen[3] += u32::from(slot.is_some());
                    updates.entry(page).or_default().push((lpn, to + at));
                }
            }
        }
        for (page, moved) in updates {
            for (lpn, to) in moved {
                self.change(lpn, Some(to));
            }
            self.cache.clean(page);
            self.model.write(page);
            let is_open = self.model.is_open && self.model.cached.last() == Some(&page);
            if self.model.bytes() > self.model.sizes.pages && !is_open {
                self.model.cached.retain(|&other| other != page);
            }
        }
    }

    fn agree(&self) {
        let Self { cache, model, .. } = self;
        assert_eq!((cache.used_bytes, cache.cached), (model.bytes(), model.cached.len() as u32));
        assert!(cache.used_bytes <= model.sizes.pages);
        assert_eq!(cache.fault(&self.table, false), None);
        for lpn in 0..PAGES {
            assert_eq!(cache.find(Lpn::new(lpn)).is_some(), model.has(lpn), "{lpn}");
            assert_eq!(cache.is_newer(Lpn::new(lpn)), model.newer.contains(&lpn), "{lpn}");
        }
        let newer: Vec<_> = (0..PAGES.div_ceil(PER_PAGE)).flat_map(|page| cache.newer_of(page)).map(Lpn::get).collect();
        assert!(newer.into_iter().eq(model.newer.iter().copied()));
    }
}

/// Requests of several pages, near each other or anywhere, with a collection now and then.
#[test]
fn the_cache_agrees_with_the_obvious_model_entry_by_entry() {
    let mut seen = [0; 4];
    for (seed, (pages, buffer, sparse)) in
        [(264, 0, 1), (264, 80, 4), (400, 24, 64), (800, 160, 8), (801, 8, 2), (2100, 400, 16)].into_iter().enumerate()
    {
        let mut pair = Pair::new(Sizes { pages, buffer, sparse }, seed as u64);
        for step in 0..20_000_u32 {
            let drawn = pair.rng.bits();
            let first =
                if step / 400 % 2 == 0 { step % PAGES } else { ((drawn >> 8) % 500).min((drawn >> 30) % 500) as u32 };
            let (length, kind, mut to) = (1 + (drawn >> 50) as u32 % 6, drawn >> 60 & 3, (drawn >> 20) as u32 % 1900);
            for lpn in first..(first + length).min(PAGES) {
                pair.look_up(lpn);
                if step % 7 == 3 {
                    // Between the look-up and the change, as where a write makes room.
                    pair.collect();
                    assert!(pair.cache.find(Lpn::new(lpn)).is_some(), "{lpn} has left while it was in use");
                }
                if kind > 0 {
                    pair.change(lpn, (kind < 3).then_some(to));
                    pair.cache.mark_newer(Lpn::new(lpn));
                    pair.model.newer.insert(lpn);
                    to += 1;
                }
            }
            pair.agree();
        }
        seen.iter_mut().zip(pair.seen).for_each(|(all, more)| *all += more);
    }
    assert!(seen.iter().all(|&times| times > 100), "{seen:?}");
}

#[test]
fn a_page_written_in_order_takes_a_bit_per_entry_and_one_head() {
    let mut cache = PackedPages::new(Sizes { pages: 1000, buffer: 0, sparse: 1 }, PAGES, PER_PAGE);
    let mut table = TranslationTable::new([PAGES, PHYSICAL], PER_PAGE, 1);
    for lpn in (0..128).map(Lpn::new) {
        table.replace_entry(lpn, Some(Ppn::new(300 + lpn.get())));
        cache.on_entry_changed(lpn, None, &table);
    }
    assert!(!cache.is_full());
    cache.insert(Lpn::new(5));
    assert_eq!(cache.used_bytes, 8 + 64 * 4);
    // The other one is unpacked, and this one packed: a bit an entry and four bytes.
    cache.insert(Lpn::new(70));
    assert_eq!(cache.used_bytes, (8 + 64 * 4) + (8 + 8 + 4));
    // Written in the middle, it falls into three runs.
    let lpn = cache.touch(Lpn::new(5));
    let before = table.replace_entry(lpn, Some(Ppn::new(7)));
    cache.on_entry_changed(lpn, before, &table);
    cache.mark_newer(lpn);
    cache.touch(Lpn::new(70));
    assert_eq!(cache.used_bytes, (8 + 64 * 4) + (8 + 8 + 3 * 4));
}

#[test]
fn few_newer_entries_wait_in_the_buffer_and_the_page_with_most_is_written() {
    // Room for one page, and for three entries.
    let mut cache = PackedPages::new(Sizes { pages: 264, buffer: 24, sparse: 2 }, PAGES, PER_PAGE);
    let bring = |cache: &mut PackedPages, lpns: &[u32]| {
        let written = cache.must_write();
        if let Some(page) = written {
            cache.clean(page);
            assert_eq!(cache.must_write(), None);
        }
        cache.insert(Lpn::new(lpns[0]));
        for &lpn in lpns {
            cache.mark_newer(Lpn::new(lpn));
        }
        written
    };
    assert_eq!(bring(&mut cache, &[0, 1]), None);
    // Page 0 has left, and its newer entries have not.
    assert_eq!(bring(&mut cache, &[64]), None);
    assert_eq!(
        (cache.find(Lpn::new(1)), cache.find(Lpn::new(2)), cache.holds_page(0)),
        (Some(Lpn::new(1)), None, false)
    );
    assert_eq!(bring(&mut cache, &[128]), None);
    // The buffer is full: of pages 0, 1 and 2 the first has most.
    assert_eq!(bring(&mut cache, &[192, 193, 194]), Some(0));
    // Three are too many for the buffer, whatever room it has.
    assert_eq!(bring(&mut cache, &[65]), Some(3));
    assert_eq!(cache.newer_of(1).map(Lpn::get).collect::<Vec<_>>(), [64, 65]);
    assert_eq!(cache.buffered, 1, "the entry of page 1 has gone back to it");
}
