use std::collections::BTreeMap;

use host::Hint;
use random::SeededRng;

use super::*;
use crate::engines::shared_ram::data_cache::CachedPage;
use crate::port::ram_pages::RamPages;

const GROUPS: u32 = 6;
const GROUP_PAGES: u32 = 8;
const ROOM: usize = 9;

/// What leaves next, by the definition of each order, over lists of what is in RAM with the times
/// of its last use.
#[derive(Default)]
struct Model {
    now: u64,
    /// Group, and when it or one of its pages was used.
    groups: Vec<(u32, u64)>,
    /// Logical page, and when it was used.
    pages: Vec<(Lpn, u64)>,
    /// The page of each group that was used last, though it may have been trimmed since.
    last_used: BTreeMap<u32, Lpn>,
}

impl Model {
    fn is_full(&self) -> bool {
        self.groups.len() + self.pages.len() == ROOM
    }

    fn use_group(&mut self, group: u32) {
        self.now += 1;
        self.groups.retain(|&(other, _)| other != group);
        self.groups.push((group, self.now));
    }

    fn use_page(&mut self, lpn: Lpn) {
        self.now += 1;
        self.pages.retain(|&(other, _)| other != lpn);
        self.pages.push((lpn, self.now));
        self.last_used.insert(lpn.get() / GROUP_PAGES, lpn);
    }

    fn remove(&mut self, what: Evict) {
        match what {
            Evict::Data(lpn) => self.pages.retain(|&(other, _)| other != lpn),
            Evict::Translation(group) => self.groups.retain(|&(other, _)| other != group),
            Evict::Entry(lpn) => unreachable!("a tree has no entry of {lpn} alone"),
        }
    }

    fn of(&self, group: u32) -> Vec<(Lpn, u64)> {
        self.pages.iter().copied().filter(|(lpn, _)| lpn.get() / GROUP_PAGES == group).collect()
    }

    fn next(&self, victims: &str) -> Evict {
        let &(oldest, _) = self.groups.iter().min_by_key(|&&(_, at)| at).expect("a group");
        let mut members = self.of(oldest);
        match victims {
            "group" => {
                members.sort_by_key(|&(_, at)| at);
                members.first().map_or(Evict::Translation(oldest), |&(lpn, _)| Evict::Data(lpn))
            }
            "latte" => {
                members.sort_by_key(|&(lpn, _)| (self.last_used[&oldest] == lpn, lpn));
                members.first().map_or(Evict::Translation(oldest), |&(lpn, _)| Evict::Data(lpn))
            }
            _ => {
                let bare = self.groups.iter().filter(|&&(group, _)| self.of(group).is_empty());
                let bare = bare.map(|&(group, at)| (at, Evict::Translation(group)));
                let pages = self.pages.iter().map(|&(lpn, at)| (at, Evict::Data(lpn)));
                bare.chain(pages).min_by_key(|&(at, _)| at).expect("something").1
            }
        }
    }
}

/// A tree of an order beside its model.
struct Pair {
    victims: &'static str,
    order: Box<dyn Order>,
    held: DataCache,
    ram: RamPages<()>,
    model: Model,
    evicted: u32,
}

impl Pair {
    fn new(victims: &'static str) -> Self {
        let settings = [("victims".to_owned(), victims.to_owned())].into();
        let values = Values::check("treeftl", &[super::super::VICTIMS], &settings).expect("a choice");
        Self {
            victims,
            order: from_values(&values, ROOM, GROUPS, GROUP_PAGES),
            held: DataCache::none(GROUPS * GROUP_PAGES),
            ram: RamPages::default(),
            model: Model::default(),
            evicted: 0,
        }
    }

    fn leave(&mut self, what: Evict) {
        match what {
            Evict::Data(lpn) => {
                let place = self.held.find(lpn).expect("it is held");
                self.order.on_left(lpn.get() / GROUP_PAGES, place, lpn);
                self.held.remove(lpn);
            }
            Evict::Translation(group) => self.order.evict(group),
            Evict::Entry(lpn) => unreachable!("a tree has no entry of {lpn} alone"),
        }
        self.model.remove(what);
    }

    fn make_room(&mut self) {
        while self.model.is_full() {
            let next = self.order.next(&self.held, None).expect("RAM is full");
            assert_eq!(next.what, self.model.next(self.victims), "{} at {}", self.victims, self.model.now);
            let searched = self.model.groups.len() as u64;
            assert!(next.among >= 1 && next.among <= searched + self.model.pages.len() as u64);
            self.leave(next.what);
            self.evicted += 1;
        }
    }

    fn access(&mut self, lpn: Lpn, is_write: bool) {
        let group = lpn.get() / GROUP_PAGES;
        if self.model.groups.iter().all(|&(other, _)| other != group) {
            self.make_room();
        }
        self.order.on_lookup(group, lpn);
        self.model.use_group(group);
        if let Some(place) = self.held.find(lpn) {
            self.order.on_used(group, place, lpn);
            self.model.use_page(lpn);
        } else if is_write {
            self.make_room();
            let held = CachedPage { lpn, page: self.ram.put(()), hint: Hint::NONE, is_newer: true };
            let place = self.held.insert(held);
            self.order.on_inserted(group, place, lpn);
            self.model.use_page(lpn);
        } else {
            return;
        }
        self.model.use_group(group);
    }
}

#[test]
fn each_order_agrees_with_a_list_of_what_was_used_when() {
    for victims in ["group", "latte", "page"] {
        let (mut pair, mut rng) = (Pair::new(victims), SeededRng::new(4_711));
        for _ in 0..30_000 {
            let drawn = rng.bits();
            let pages = u64::from(GROUPS * GROUP_PAGES);
            let lpn = Lpn::new(((drawn >> 33) % pages).min((drawn >> 45) % pages) as u32);
            match drawn >> 60 {
                0 if pair.held.find(lpn).is_some() => pair.leave(Evict::Data(lpn)),
                1..6 => pair.access(lpn, false),
                _ => pair.access(lpn, true),
            }
        }
        assert!(pair.evicted > 10_000, "{victims}: {} left", pair.evicted);
    }
}

/// Wang 2013 fig. 6.3: of the group used longest ago its pages leave by offset, the last used one
/// last, and then the translation page.
#[test]
fn the_group_of_figure_6_3_leaves_by_offset_and_its_last_used_page_last() {
    let mut pair = Pair::new("latte");
    for offset in [3, 0, 1] {
        pair.access(Lpn::new(offset), true);
    }
    pair.access(Lpn::new(20), true);
    let mut left = Vec::new();
    for _ in 0..4 {
        let what = pair.order.next(&pair.held, None).expect("RAM is not empty").what;
        pair.leave(what);
        left.push(what);
    }
    let page = |lpn| Evict::Data(Lpn::new(lpn));
    assert_eq!(left, [page(0), page(3), page(1), Evict::Translation(0)]);
}
