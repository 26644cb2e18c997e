//! OWL against the worked examples of its chapter, its ghost list against sorting, and what it does
//! to wear.

use std::collections::{BTreeMap, BTreeSet};

use flash::Lbn;
use proptest::prelude::*;

use super::*;
use crate::api::wear::BlockUse;
use crate::testing::layout;

fn table(size: u32, writes: &[u32]) -> AccessTable {
    let mut table = AccessTable::new(size);
    for &lbn in writes {
        table.on_write(Lbn::new(lbn));
    }
    table
}

/// Figure 4.1: four records, four free blocks. Of the logical blocks L1 was written most often, so
/// three have lower frequencies, and it gets F1, the second youngest.
#[test]
fn figure_4_1_gives_the_hottest_of_four_the_second_youngest_of_four() {
    let table = table(4, &[0, 1, 2, 3, 1, 3, 1, 1]);
    assert_eq!((table.rank(Lbn::new(1)), table.place(Lbn::new(1), 4)), (3, 1));
    assert_eq!((table.rank(Lbn::new(3)), table.place(Lbn::new(3), 4)), (2, 2));
    assert_eq!((table.rank(Lbn::new(9)), table.place(Lbn::new(9), 4)), (0, 4), "unknown: the eldest");
}

#[test]
fn the_block_written_longest_ago_makes_room_however_often_it_was_written() {
    let table = table(3, &[5, 5, 5, 6, 7, 7, 8]);
    let kept: Vec<_> = table.by_frequency().into_iter().map(|(lbn, frequency)| (lbn.get(), frequency)).collect();
    assert_eq!(kept, [(8, 1), (6, 1), (7, 2)]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    /// The ghost list is what sorting the frequencies of the last written gives, without sorting.
    #[test]
    fn the_ghost_list_is_sorted(size in 1_u32..12, writes in proptest::collection::vec(0_u32..20, 1..300)) {
        let mut table = AccessTable::new(size);
        let (mut last, mut frequencies) = (Vec::new(), BTreeMap::new());
        for lbn in writes {
            table.on_write(Lbn::new(lbn));
            last.retain(|&other| other != lbn);
            last.push(lbn);
            *frequencies.entry(lbn).or_insert(0_u32) += 1;
            if last.len() > size as usize {
                frequencies.remove(&last.remove(0));
            }
            let listed = table.by_frequency();
            let sorted: BTreeSet<_> = listed.iter().map(|&(lbn, frequency)| (lbn.get(), frequency)).collect();
            prop_assert_eq!(sorted, frequencies.clone().into_iter().collect());
            prop_assert!(listed.is_sorted_by_key(|&(_, frequency)| frequency), "{:?}", listed);
            let lower = frequencies.values().filter(|&&other| other < frequencies[&lbn]).count();
            prop_assert_eq!(table.rank(Lbn::new(lbn)) as usize, lower);
        }
    }
}

/// Logical blocks that lie in the physical blocks of the same numbers.
struct Facts {
    erases: Vec<u32>,
    in_log: BTreeSet<u32>,
}

impl BlockFacts for Facts {
    fn blocks(&self) -> u32 {
        self.erases.len() as u32
    }

    fn use_of(&self, _pbn: Pbn) -> BlockUse {
        BlockUse::InUse(Purpose::Merge)
    }

    fn erases(&self, pbn: Pbn) -> u32 {
        self.erases[pbn.index()]
    }

    fn logical_blocks(&self) -> u32 {
        self.blocks()
    }

    fn home_of(&self, lbn: Lbn) -> Option<Pbn> {
        Some(Pbn::new(lbn.get()))
    }

    fn is_in_log(&self, lbn: Lbn) -> bool {
        self.in_log.contains(&lbn.get())
    }
}

/// Figure 4.2: squares 0, 2 and 4 have no pages in the log, circles 1 and 3 have. Scans find 0 and
/// 2, of which 2 is put before pt, and 4 is out of their reach; they are moved one a round, and
/// then 1, which pt has pointed at for longer than Γ.
#[test]
fn figure_4_2_moves_cold_blocks_one_a_round_and_then_the_very_hot_one() {
    let mut facts = Facts { erases: vec![0, 9, 0, 9, 0, 9, 9, 9], in_log: BTreeSet::from([1, 3]) };
    let mut scan = Scan::new(8, ScanStart::Head, 0.5, 3);
    (0..8).for_each(|lbn| scan.arrived(Lbn::new(lbn)));
    let mut round = |facts: &Facts| {
        let moved = scan.round(facts);
        let state = scan.state();
        if let Some(lbn) = moved {
            scan.arrived(lbn);
        }
        (moved.map(Lbn::get), state)
    };
    assert_eq!(round(&facts), (Some(0), (vec![0, 2], vec![1, 3, 4, 5, 6, 7], Some(1))));
    facts.erases[0] = 9;
    assert_eq!(round(&facts), (Some(2), (vec![2], vec![1, 3, 4, 5, 6, 7, 0], Some(1))));
    facts.erases[2] = 9;
    assert_eq!(round(&facts).0, Some(4), "within reach now");
    facts.erases[4] = 9;
    assert_eq!(round(&facts), (Some(1), (vec![], vec![1, 3, 5, 6, 7, 0, 2, 4], None)));
    facts.in_log.remove(&1);
    assert_eq!(round(&facts), (None, (vec![], vec![3, 5, 6, 7, 0, 2, 4, 1], Some(3))));
}

#[test]
fn a_merge_of_what_pt_points_at_and_of_what_was_found_makes_the_scan_begin_anew() {
    let facts = Facts { erases: vec![9, 0, 0, 9], in_log: BTreeSet::from([0, 3]) };
    let mut scan = Scan::new(4, ScanStart::Onward, 1.0, 1);
    (0..4).for_each(|lbn| scan.arrived(Lbn::new(lbn)));
    assert_eq!(scan.round(&facts), Some(Lbn::new(1)));
    for merged in [0, 1, 2] {
        scan.arrived(Lbn::new(merged));
    }
    assert_eq!(scan.state(), (vec![], vec![3, 0, 1, 2], None));
    let all_old = Facts { erases: vec![9; 4], ..facts };
    assert_eq!((scan.round(&all_old), scan.state().2), (None, Some(3)), "k began anew, too");
    assert_eq!(scan.round(&all_old), Some(Lbn::new(3)));
}

/// The head of the pool is where data rest longest, so where each scan begins there, old blocks
/// with cold data are all that it sees.
#[test]
fn only_a_scan_that_goes_on_comes_past_old_blocks_with_cold_data() {
    let facts = Facts { erases: vec![9, 9, 9, 9, 0, 9, 9, 9], in_log: BTreeSet::new() };
    for (begin, moved) in [(ScanStart::Onward, Some(4)), (ScanStart::Head, None)] {
        let mut scan = Scan::new(8, begin, 0.25, 99);
        (0..8).for_each(|lbn| scan.arrived(Lbn::new(lbn)));
        let found = (0..20).find_map(|_| scan.round(&facts));
        assert_eq!(found.map(Lbn::get), moved);
    }
}

/// The hand passes over what is merged while it points there.
#[test]
fn the_hand_goes_on_with_what_followed_a_merged_block() {
    let facts = Facts { erases: vec![9, 9, 9, 0], in_log: BTreeSet::new() };
    let mut scan = Scan::new(4, ScanStart::Onward, 0.25, 99);
    (0..4).for_each(|lbn| scan.arrived(Lbn::new(lbn)));
    assert_eq!([scan.round(&facts), scan.round(&facts)], [None, None]);
    scan.arrived(Lbn::new(2));
    assert_eq!(scan.round(&facts), Some(Lbn::new(3)));
}

#[test]
fn only_merges_ask_the_table_and_only_a_move_takes_the_eldest() {
    let settings = crate::api::parameter::Settings::new();
    let values = Values::check("owl", Owl::ENTRY.parameters, &settings).expect("defaults");
    let mut owl = Owl::new(&layout(16, 8, 64), &values);
    owl.on_write(&Request::new(flash::Lpn::new(6), 4));
    let merge = |lbn| AllocRequest::of(Purpose::Merge, Lbn::new(lbn));
    let places: Vec<_> = [merge(0), merge(1), merge(5)].into_iter().map(|alloc| owl.place(alloc, 512)).collect();
    assert_eq!(places, [510, 512, 512], "0 came first, so 1 stands before it");
    for alloc in [
        AllocRequest::new(Purpose::Log),
        AllocRequest::of(Purpose::Data, Lbn::new(1)),
        AllocRequest::of(Purpose::Relocated, Lbn::new(1)),
    ] {
        assert_eq!(owl.place(alloc, 512), 0);
    }
    owl.moving = Some(Lbn::new(0));
    assert_eq!((owl.place(merge(0), 8), owl.place(merge(1), 8)), (7, 8));
    let bytes: BTreeMap<_, _> = owl.tables().into_iter().collect();
    assert_eq!(bytes, BTreeMap::from([("block access table", 3072), ("erase counts", 64), ("valid block pool", 64)]));
}
