use std::collections::BTreeMap;

use random::SeededRng;

use super::*;
use crate::testing::layout;

/// jtl alone, over RAM with room for one data page and 31 entries or more.
struct Bench {
    jtl: Jtl,
    cache: EntryCache,
    held: DataCache,
    left: Vec<Lpn>,
}

impl Bench {
    fn new(ram: &str) -> Self {
        let settings = [("ram".to_owned(), ram.to_owned())].into();
        let values = Values::check("jtl", Map::ENTRY.parameters, &settings).expect("valid");
        let layout = layout(64, 16, 400);
        Self {
            jtl: Jtl::new(&layout, &values),
            cache: EntryCache::new(400, 128),
            held: DataCache::none(400),
            left: Vec::new(),
        }
    }

    /// The level of each entry.
    fn levels(&self) -> BTreeMap<Lpn, usize> {
        let members = self.jtl.levels.iter().enumerate();
        members.flat_map(|(level, lpns)| lpns.iter().map(move |&(lpn, _)| (lpn, level))).collect()
    }

    fn look_up(&mut self, lpn: Lpn) {
        self.left.clear();
        let Self { jtl, cache, held, left, .. } = self;
        while let Some(Victim { what, .. }) = jtl.next_victim(&mut RamView { cache, held }, EvictionReason::Entry(lpn))
        {
            jtl.evict(cache, what);
            match what {
                Evict::Entry(lpn) => left.push(lpn),
                other => unreachable!("no data is held, and {other:?} leaves"),
            }
        }
        if self.cache.find(lpn).is_none() {
            self.cache.insert(lpn);
        }
        let Self { jtl, cache, held, .. } = self;
        jtl.on_lookup(&mut RamView { cache, held }, lpn);
        assert_eq!(jtl.fault(cache, held), None);
    }
}

#[test]
fn what_comes_is_in_level_0_and_each_level_gives_one_to_the_next() {
    let mut bench = Bench::new("1KiB");
    let levels = bench.jtl.levels.count();
    assert!(levels > 4, "{levels} levels");
    let (mut rng, mut left, mut pushed) = (SeededRng::new(7), 0, 0);
    for _ in 0..20_000 {
        let drawn = rng.bits();
        let lpn = Lpn::new(((drawn >> 33) % 400).min((drawn >> 43) % 400) as u32);
        let before = bench.levels();
        bench.look_up(lpn);
        let after = bench.levels();
        assert_eq!(after[&lpn], 0);
        let mut given = vec![0; levels];
        for (other, level) in before.iter().filter(|&(&other, _)| other != lpn) {
            match after.get(other) {
                Some(now) if now == level => {}
                Some(now) => {
                    assert_eq!(*now, level + 1, "one level down, and none up");
                    given[*level] += 1;
                    pushed += 1;
                }
                None => {
                    assert_eq!((*level, bench.left.as_slice()), (levels - 1, [*other].as_slice()));
                    left += 1;
                }
            }
        }
        assert!(given.iter().all(|&each| each <= 1), "{given:?}");
    }
    assert!(left > 1000 && pushed > 10_000, "{left} left, {pushed} were pushed");
}

#[test]
fn levels_are_whole_and_fill_no_more_than_their_half() {
    for (room, levels) in [(1, 1), (2, 1), (3, 2), (6, 2), (7, 3), (64, 6), (1023, 10)] {
        assert_eq!(levels_within(room), levels, "{room}");
    }
    // 8 MiB for pages of 512 bytes; of so many entries there are not so many pages.
    let bench = Bench::new("8MiB");
    assert_eq!((bench.jtl.with_data, bench.jtl.levels.count()), (9, 9), "511 pages and entries are more than 400");
}
