use random::SeededRng;

use super::*;

const PAGES: u32 = 700;
const PAGES_PER_BLOCK: u32 = 64;

/// The map as a list of pages, beside which the table's bytes are read by their definition alone.
struct PlainModel {
    truth: Vec<Option<u32>>,
    next_page: u32,
}

impl PlainModel {
    /// ⌈K · x + I⌉, with the half float K from its sign-free bits.
    fn line(bits: u16, intercept: u32, x: u32) -> u32 {
        intercept.wrapping_add((Self::slope(bits) * f64::from(x)).ceil() as u32)
    }

    fn slope(bits: u16) -> f64 {
        let (exponent, fraction) = (i32::from(bits >> 10), f64::from(bits & 0x3FF));
        if bits == 0 { 0.0 } else { (1.0 + fraction / 1024.0) * 2.0_f64.powi(exponent - 15) }
    }

    /// What eight bytes say of an offset, with the lists of members of a group.
    fn says(segment: [u8; 8], lists: &[Vec<u8>], x: u8) -> Option<(u32, bool)> {
        let (start, length) = (segment[0], segment[1]);
        let bits = u16::from_le_bytes([segment[2], segment[3]]);
        let intercept = u32::from_le_bytes([segment[4], segment[5], segment[6], segment[7]]);
        let is_approximate = bits & 1 == 1;
        let is_member = if is_approximate {
            lists.iter().any(|list| list[0] == start && list.contains(&x))
        } else {
            let stride = if length == 0 { 1 } else { (1.0 / Self::slope(bits)) as u32 };
            x >= start && x - start <= length && u32::from(x - start).is_multiple_of(stride)
        };
        is_member.then(|| (Self::line(bits, intercept, x.into()), is_approximate))
    }

    /// Of each of these pages the table finds what its bytes say, right within the bound.
    fn compare(&self, table: &LearnedTable, error_bound: u32, pages: &[u32]) -> u32 {
        let mut off = 0;
        let groups: Vec<_> = table.groups.iter().map(|group| (group.bytes(), group.lists())).collect();
        for &lpn in pages {
            let ((levels, lists), x) = (&groups[(lpn / 256) as usize], (lpn % 256) as u8);
            let said = levels.iter().flatten().find_map(|&segment| Self::says(segment, lists, x));
            let found = table.find(Lpn::new(lpn)).map(|found| (found.page.get(), !found.is_accurate));
            assert_eq!(found, said, "page {lpn}");
            assert_eq!(found.is_some(), self.truth[lpn as usize].is_some(), "page {lpn}");
            let (Some((page, is_approximate)), Some(truth)) = (found, self.truth[lpn as usize]) else { continue };
            assert!(page.abs_diff(truth) <= if is_approximate { error_bound } else { 0 }, "{lpn}: {page} for {truth}");
            off += u32::from(page != truth);
        }
        let of_levels = |levels: &[Vec<[u8; 8]>]| levels.iter().map(|level| 1 + 8 * level.len()).sum::<usize>();
        let of_lists = |lists: &[Vec<u8>]| lists.iter().map(|list| list.len() + 1).sum::<usize>();
        let bytes = groups.iter().map(|(levels, lists)| 8 + of_levels(levels) + of_lists(lists)).sum::<usize>();
        assert_eq!(table.ram_bytes(), bytes as u64);
        off
    }

    /// Pages are written one after the other.
    fn write(&mut self, lpns: &[u32]) -> Vec<(Lpn, Ppn)> {
        lpns.iter()
            .map(|&lpn| {
                self.next_page += 1;
                self.truth[lpn as usize] = Some(self.next_page);
                (Lpn::new(lpn), Ppn::new(self.next_page))
            })
            .collect()
    }
}

/// What a request writes: a run, pages at a stride, or scattered ones; mostly in order.
fn drawn(rng: &mut SeededRng) -> Vec<u32> {
    let first = (rng.bits() % u64::from(PAGES)) as u32;
    let (step, count) = (1 + rng.bits() as usize % 9, 1 + rng.bits() as usize % 60);
    let mut lpns: Vec<u32> = match rng.bits() % 3 {
        0 => (first..PAGES).take(count).collect(),
        1 => (first..PAGES).step_by(step).take(count).collect(),
        _ => (first..PAGES).filter(|_| !rng.bits().is_multiple_of(3)).take(count).collect(),
    };
    if rng.bits().is_multiple_of(8) {
        lpns.reverse();
    }
    lpns
}

#[test]
fn a_table_says_what_its_bytes_and_a_plain_map_say() {
    for error_bound in [0, 1, 4, 16] {
        let mut rng = SeededRng::new(u64::from(error_bound) + 3);
        let mut table = LearnedTable::new(PAGES, PAGES_PER_BLOCK, error_bound);
        let mut model = PlainModel { truth: vec![None; PAGES as usize], next_page: u32::MAX / 2 };
        let (mut off, mut deepest) = (0, 0);
        for request in 0..20_000_u32 {
            let changed = drawn(&mut rng);
            match rng.bits() % 400 {
                0 => table.compact(),
                1..=60 => changed.iter().for_each(|&lpn| {
                    model.truth[lpn as usize] = None;
                    table.forget(Lpn::new(lpn));
                }),
                61..=70 => {
                    // What recovery finds: some of a block's pages are gone.
                    let kept: Vec<_> =
                        model.write(&changed).into_iter().filter(|_| !rng.bits().is_multiple_of(4)).collect();
                    model.truth.iter_mut().for_each(|page| {
                        *page =
                            page.filter(|&page| page < model.next_page - 60 || kept.iter().any(|k| k.1.get() == page));
                    });
                    (0..PAGES)
                        .filter(|&lpn| model.truth[lpn as usize].is_none())
                        .for_each(|lpn| table.forget(Lpn::new(lpn)));
                    table.learn_found(&kept);
                }
                _ => table.learn(&model.write(&changed)),
            }
            let all: Vec<_> = (0..PAGES).collect();
            let looks_at_all = request.is_multiple_of(16);
            off += model.compare(&table, error_bound, if looks_at_all { &all } else { &changed });
            deepest = deepest.max(table.groups.iter().map(|group| group.size().levels).max().unwrap_or(0));
            let fault = if looks_at_all { table.fault() } else { None };
            assert_eq!(fault, None, "request {request}, bound {error_bound}");
        }
        assert!(deepest > 3 && (off > 1000) == (error_bound > 0), "{deepest} levels, {off} predictions off");
    }
}

#[test]
fn a_sequential_group_takes_one_segment_and_a_compacted_one_what_its_newest_pages_take() {
    let mut table = LearnedTable::new(512, 4096, 0);
    let mut model = PlainModel { truth: vec![None; PAGES as usize], next_page: 0 };
    table.learn(&model.write(&(0..512).collect::<Vec<_>>()));
    assert_eq!((table.size().segments, table.ram_bytes()), (2, 2 * (8 + 8 + 1)));
    // Each new segment overlaps all before it: the first of two strides lies below the other, and
    // what lies below level 0 stays when all of it is superseded.
    table.learn(&model.write(&(0..128).step_by(2).collect::<Vec<_>>()));
    table.learn(&model.write(&(1..128).step_by(2).collect::<Vec<_>>()));
    table.learn(&model.write(&(0..256).collect::<Vec<_>>()));
    assert_eq!((table.size().segments, table.size().levels), (4, 4));
    table.learn(&model.write(&[7]));
    assert_eq!((table.size().segments, table.size().levels), (5, 5));
    table.learn(&model.write(&(100..256).collect::<Vec<_>>()));
    table.learn(&model.write(&(0..100).collect::<Vec<_>>()));
    assert_eq!((table.size().segments, table.size().levels), (6, 5), "the older ones lie below");
    table.compact();
    assert_eq!((table.size().segments, table.size().levels), (3, 2));
}

#[test]
fn members_are_listed_once_and_a_group_without_any_takes_its_addresses_alone() {
    let mut table = LearnedTable::new(256, 64, 4);
    table.learn(&[(2, 1), (3, 2), (9, 3), (40, 4)].map(|(lpn, ppn)| (Lpn::new(lpn), Ppn::new(ppn))));
    assert_eq!((table.size().approximate, table.size().buffer_bytes), (1, 5));
    table.learn(&[(3, 11), (9, 12), (11, 13), (80, 14)].map(|(lpn, ppn)| (Lpn::new(lpn), Ppn::new(ppn))));
    assert_eq!((table.size().approximate, table.size().buffer_bytes), (2, 8));
    for lpn in [2, 3, 9, 11, 40, 80] {
        table.forget(Lpn::new(lpn));
    }
    assert_eq!((table.size(), table.ram_bytes()), (GroupSize::default(), 8));
}

#[test]
fn random_pages_take_no_more_than_a_plain_map_of_8_bytes() {
    for error_bound in [0, 4] {
        let mut table = LearnedTable::new(512, 64, error_bound);
        let mut model = PlainModel { truth: vec![None; PAGES as usize], next_page: 0 };
        let (mut rng, mut most) = (SeededRng::new(5), 0);
        for _ in 0..20_000 {
            let mut lpns = [0; 3].map(|_| rng.below_u32(512));
            lpns.sort_unstable();
            let apart = |pair: &[u32]| pair[0] < pair[1];
            if lpns.windows(2).all(apart) {
                table.learn(&model.write(&lpns));
                most = most.max(table.ram_bytes());
            }
        }
        model.compare(&table, error_bound, &(0..512).collect::<Vec<_>>());
        assert!(most <= 2 * (8 + 2048) && most > 3000, "{most} B with bound {error_bound}");
    }
}
