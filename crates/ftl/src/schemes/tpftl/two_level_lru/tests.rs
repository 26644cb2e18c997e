use random::SeededRng;

use super::*;
use crate::port::timing::Nanos;
use host::Hint;

const ALL: Options =
    Options { batches: true, ahead: Ahead { by_request: true, is_selective: true }, after: 3, clean_first: true };
const PER_PAGE: u32 = 64;
const PAGES: u32 = 500;

fn request(lpn: u32, pages: u32) -> Request {
    Request { lpn: Lpn::new(lpn), pages, arrival: Nanos::ZERO, hint: Hint::NONE }
}

/// One list of entries, looked through for everything.
#[derive(Default)]
struct Model {
    entries: Vec<Cached>,
    now: u64,
    change: i32,
    prefetches: bool,
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Cached {
    lpn: u32,
    time: u64,
    newer: bool,
}

impl Model {
    fn of(&self, page: u32) -> Vec<Cached> {
        let mut of: Vec<Cached> = self.entries.iter().copied().filter(|entry| entry.lpn / PER_PAGE == page).collect();
        of.sort_by_key(|entry| entry.time);
        of
    }

    fn pages(&self) -> BTreeSet<u32> {
        self.entries.iter().map(|entry| entry.lpn / PER_PAGE).collect()
    }

    fn bytes(&self) -> u64 {
        6 * self.entries.len() as u64 + 8 * self.pages().len() as u64
    }

    fn coldest(&self) -> Option<u32> {
        let heat = |page: u32| {
            let of = self.of(page);
            of.iter().map(|entry| entry.time).sum::<u64>() / of.len() as u64
        };
        self.pages().into_iter().min_by_key(|&page| (heat(page), page))
    }

    /// What leaves a page first.
    fn leaving(&self, page: u32, options: Options) -> Option<Cached> {
        let of = self.of(page);
        let clean = of.iter().find(|entry| options.clean_first && !entry.newer);
        clean.or(of.first()).copied()
    }

    fn count(&mut self, before: usize, options: Options) {
        self.change += match self.pages().len() {
            now if now > before => 1,
            now if now < before => -1,
            _ => 0,
        };
        if self.change.abs() == options.after {
            self.prefetches = self.change < 0;
            self.change = 0;
        }
    }

    fn enter(&mut self, lpn: u32, options: Options) {
        let before = self.pages().len();
        self.now += 1;
        self.entries.push(Cached { lpn, time: self.now, newer: false });
        self.count(before, options);
    }

    fn evict(&mut self, victim: Cached, options: Options) {
        assert!(!victim.newer, "{victim:?} is lost");
        let before = self.pages().len();
        self.entries.retain(|entry| *entry != victim);
        self.count(before, options);
    }

    /// The page that must be written first for room for an entry and a node.
    fn must_write(&self, capacity: u64, options: Options) -> Option<u32> {
        let page = self.coldest()?;
        let mut rest = Model { entries: self.entries.clone(), ..Model::default() };
        while rest.bytes() + 14 > capacity {
            let victim = rest.leaving(page, options)?;
            if victim.newer {
                return Some(page);
            }
            rest.entries.retain(|entry| *entry != victim);
        }
        None
    }

    fn insert(&mut self, lpn: u32, end: u32, capacity: u64, options: Options) {
        let (from, begun, page) = (self.coldest(), self.now + 1, lpn / PER_PAGE);
        let node = |model: &Self| if model.pages().contains(&page) { 0 } else { 8 };
        while self.bytes() + 6 + node(self) > capacity {
            let victim = self.leaving(from.expect("full"), options).expect("room was made");
            self.evict(victim, options);
        }
        self.enter(lpn, options);
        let is_here = |model: &Self, lpn: u32| model.entries.iter().any(|entry| entry.lpn == lpn);
        let before = (page * PER_PAGE..lpn).rev().take_while(|&lpn| is_here(self, lpn)).count() as u32;
        let run = if options.ahead.is_selective && self.prefetches { before } else { 0 };
        let asked = if options.ahead.by_request { end.saturating_sub(lpn + 1) } else { 0 };
        let last = (lpn + run.max(asked)).min((page + 1) * PER_PAGE - 1).min(PAGES - 1);
        for next in lpn + 1..=last {
            if is_here(self, next) {
                continue;
            }
            if self.bytes() + 6 > capacity {
                let victim = from.and_then(|from| self.leaving(from, options));
                let Some(victim) = victim.filter(|victim| !victim.newer && victim.time < begun) else { return };
                self.evict(victim, options);
            }
            self.enter(next, options);
        }
    }
}

#[test]
fn the_cache_agrees_with_the_obvious_model() {
    for (number, capacity) in [(0, 14), (1, 40), (2, 100), (3, 400), (4, 401), (5, 1500), (6, 5000)] {
        for flags in 0..16 {
            let is = |bit: i32| flags >> bit & 1 == 1;
            let options = Options {
                batches: is(0),
                ahead: Ahead { by_request: is(1), is_selective: is(2) },
                after: 1 + flags % 3,
                clean_first: is(3),
            };
            let mut cache = TwoLevelLru::new(capacity, options, PAGES, PER_PAGE);
            let (mut model, mut rng) = (Model::default(), SeededRng::new(number));
            for step in 0..250 {
                let drawn = rng.bits();
                let first =
                    if drawn % 4 == 0 { step % PAGES } else { ((drawn >> 8) % 500).min((drawn >> 30) % 500) as u32 };
                let pages = (1 + (drawn >> 50) % 6).min(u64::from(PAGES - first)) as u32;
                cache.announce(&request(first, pages));
                for lpn in first..first + pages {
                    access(&mut cache, &mut model, (lpn, first + pages), drawn >> 60 & 1 == 1, options);
                }
                assert_eq!(cache.used_bytes, model.bytes());
            }
        }
    }
}

/// Looks an entry up in both, and changes it perhaps.
fn access(cache: &mut TwoLevelLru, model: &mut Model, (lpn, end): (u32, u32), is_write: bool, options: Options) {
    let capacity = cache.capacity_bytes;
    let hit = model.entries.iter().position(|entry| entry.lpn == lpn);
    assert_eq!(cache.find(Lpn::new(lpn)).is_some(), hit.is_some(), "{lpn}");
    if let Some(hit) = hit {
        cache.touch(Lpn::new(lpn));
        model.now += 1;
        model.entries[hit].time = model.now;
    } else {
        assert_eq!(cache.is_full(), model.bytes() + 14 > capacity);
        while cache.is_full() {
            let page = cache.must_write();
            assert_eq!(page, model.must_write(capacity, options));
            let Some(page) = page else { break };
            let first = model.of(page).into_iter().find(|entry| entry.newer).expect("a changed entry");
            cache.clean(page);
            let of_page =
                |entry: &&mut Cached| entry.lpn / PER_PAGE == page && (options.batches || entry.lpn == first.lpn);
            model.entries.iter_mut().filter(of_page).for_each(|entry| entry.newer = false);
        }
        cache.insert(Lpn::new(lpn));
        model.insert(lpn, end, capacity, options);
    }
    if is_write {
        cache.mark_newer(Lpn::new(lpn));
        model.entries.iter_mut().filter(|entry| entry.lpn == lpn).for_each(|entry| entry.newer = true);
    }
    let newer: BTreeSet<u32> = (0..=PAGES / PER_PAGE).flat_map(|page| cache.newer_of(page)).map(Lpn::get).collect();
    assert_eq!(newer, model.entries.iter().filter(|entry| entry.newer).map(|entry| entry.lpn).collect());
}

#[test]
fn a_miss_brings_in_the_rest_of_its_request_within_its_translation_page() {
    let mut cache = TwoLevelLru::new(1 << 20, ALL, PAGES, PER_PAGE);
    cache.announce(&request(60, 10));
    cache.insert(Lpn::new(60));
    let cached: Vec<u32> = (0..PAGES).filter(|&lpn| cache.find(Lpn::new(lpn)).is_some()).collect();
    assert_eq!(cached, [60, 61, 62, 63]);
}
