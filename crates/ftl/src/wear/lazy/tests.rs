//! Lazy levelling, step by step, on made-up facts.

use super::*;
use crate::api::parameter::Settings;
use crate::api::wear::Deferred;
use crate::testing::layout;

/// Logical block `i` lies in block `i` and is in the log if the list says so; the blocks behind
/// them are free.
struct Facts {
    erases: Vec<u32>,
    in_log: Vec<bool>,
}

impl BlockFacts for Facts {
    fn blocks(&self) -> u32 {
        self.erases.len() as u32
    }

    fn use_of(&self, pbn: Pbn) -> BlockUse {
        if pbn.index() < self.in_log.len() { BlockUse::InUse(Purpose::Merge) } else { BlockUse::Free }
    }

    fn erases(&self, pbn: Pbn) -> u32 {
        self.erases[pbn.index()]
    }

    fn logical_blocks(&self) -> u32 {
        self.in_log.len() as u32
    }

    fn home_of(&self, lbn: Lbn) -> Option<Pbn> {
        Some(Pbn::new(lbn.get()))
    }

    fn is_in_log(&self, lbn: Lbn) -> bool {
        self.in_log[lbn.index()]
    }
}

fn lazy(settings: &[(&str, &str)]) -> Lazy {
    let settings: Settings = settings.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    let values = Values::check("lazy", Lazy::ENTRY.parameters, &settings).expect("valid settings");
    Lazy::new(&layout(8, 4, 16), &values)
}

fn facts() -> Facts {
    Facts { erases: vec![1, 0, 0, 2, 6, 0, 4, 3], in_log: vec![true, false, true, false] }
}

/// Lets a block be given back that was used for this.
fn erase(lazy: &mut Lazy, pbn: u32, purpose: Purpose, erases: u32) {
    lazy.on_used(Pbn::new(pbn), AllocRequest::new(purpose));
    lazy.on_erased(Pbn::new(pbn), erases);
}

#[test]
fn a_worn_data_block_gets_the_cold_logical_blocks_in_turn() {
    let (mut lazy, facts) = (lazy(&[]), facts());
    assert_eq!(lazy.next_move(&facts), None, "the mean is 2 now");
    erase(&mut lazy, 5, Purpose::Merge, 4);
    erase(&mut lazy, 4, Purpose::Log, 9);
    assert_eq!(lazy.next_move(&facts), None, "one is not worn, the other no data block");
    for (cold, other) in [(1, 3), (3, 1), (1, 3)] {
        erase(&mut lazy, 4, Purpose::Merge, 6);
        assert_eq!(lazy.next_move(&facts), Some(Pbn::new(cold)));
        let wants = |lazy: &mut Lazy, purpose, lbn| lazy.wants(AllocRequest::of(purpose, Lbn::new(lbn)));
        assert_eq!(wants(&mut lazy, Purpose::Merge, cold), Some(Pbn::new(4)));
        assert_eq!((wants(&mut lazy, Purpose::Merge, other), wants(&mut lazy, Purpose::Relocated, cold)), (None, None));
        lazy.on_moved(Pbn::new(cold), RelocateOutcome::Done);
        assert_eq!(wants(&mut lazy, Purpose::Merge, cold), None);
    }
}

#[test]
fn a_worn_block_that_was_taken_again_or_that_nothing_cold_is_left_for_is_passed_over() {
    let (mut lazy, mut facts) = (lazy(&[]), facts());
    assert_eq!(lazy.next_move(&facts), None);
    facts.erases[3] = 6;
    erase(&mut lazy, 3, Purpose::Data, 6);
    assert_eq!(lazy.next_move(&facts), None, "block 3 is in use");
    facts.in_log = vec![true; 4];
    erase(&mut lazy, 4, Purpose::Data, 6);
    assert_eq!(lazy.next_move(&facts), None, "all are in the log");
    facts.in_log = vec![false; 4];
    facts.erases[..4].fill(3);
    erase(&mut lazy, 4, Purpose::Data, 6);
    assert_eq!(lazy.next_move(&facts), None, "none is below the mean");
}

/// Block 4 is worn and gets cold data, which are rewritten at once: it is passed over the next
/// time, then the next three times and seven times, and after a rest of eight erases, as many as
/// there are blocks, not at all.
#[test]
fn a_block_whose_rests_are_short_waits_longer_each_time() {
    let (mut lazy, mut facts) = (lazy(&[]), facts());
    assert_eq!(lazy.next_move(&facts), None);
    let mut erases = 40;
    let mut passed_over = |lazy: &mut Lazy, rest: u64| {
        for passes in 0.. {
            (erases, facts.erases[4]) = (erases + 1, erases + 1);
            erase(lazy, 4, Purpose::Merge, erases);
            if let Some(home) = lazy.next_move(&facts) {
                lazy.on_used(Pbn::new(4), AllocRequest::of(Purpose::Merge, Lbn::new(home.get())));
                lazy.on_moved(home, RelocateOutcome::Done);
                (1..rest).for_each(|_| lazy.on_erased(Pbn::new(7), 3));
                return passes;
            }
        }
        unreachable!("it gets cold data at last")
    };
    assert_eq!([1, 1, 1, 8, 1].map(|rest| passed_over(&mut lazy, rest)), [0, 1, 3, 7, 0]);
    let mut as_printed = self::lazy(&[("back_off", "false")]);
    as_printed.next_move(&self::facts());
    assert_eq!([1, 1, 1].map(|rest| passed_over(&mut as_printed, rest)), [0; 3]);
}

#[test]
fn after_a_session_the_next_unit_of_the_threshold_would_save_the_slope() {
    let mut lazy = lazy(&[("session", "100"), ("slope", "0.01"), ("delta", "4")]);
    lazy.total = Some(0);
    let mut session = |moves: u32| {
        (0..moves).for_each(|_| lazy.on_moved(Pbn::new(0), RelocateOutcome::Done));
        lazy.on_moved(Pbn::new(0), RelocateOutcome::Deferred(Deferred::NoRoom));
        (0..100).for_each(|_| lazy.on_erased(Pbn::new(0), 0));
        lazy.threshold.delta
    };
    assert!((session(9) - 6.0).abs() < 1e-9, "√(4 × 9 % ÷ 1 %) = 6");
    assert!((session(100) - 12.0).abs() < 1e-9, "at most double");
    assert!((session(0) - 6.0).abs() < 1e-9, "at least half");
    for _ in 0..4 {
        session(0);
    }
    assert!((session(0) - 1.0).abs() < 1e-9, "never below 1");
    let mut fixed = self::lazy(&[("tune", "false")]);
    fixed.total = Some(0);
    (0..5_000).for_each(|_| fixed.on_erased(Pbn::new(0), 0));
    assert!((fixed.threshold.delta - 2.0).abs() < 1e-9);
}
