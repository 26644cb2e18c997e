//! The levels of blocks against the formula, computed anew at each read.

use flash::{Chip, Lean};
use testkit::TestFlash;

use super::*;

const PAGES: u32 = 8;
const BLOCK: Pbn = Pbn::new(1);
const OTHER: Pbn = Pbn::new(0);
const DAY: u64 = 86_400_000_000_000;

fn tlc(ecc_limit: f64) -> Reliability {
    Reliability {
        model: BitErrorModel::TLC_72L,
        ecc_limit,
        read_retries: 5,
        retry_latency: Nanos::ZERO,
        refresh_at: 0.0,
        initial_erases: 1000,
        retention_days: 0.0,
        retention_speedup: 1.0,
        units_per_page: 1,
    }
}

fn chip() -> Chip<Lean> {
    TestFlash::new(2, PAGES).chip()
}

/// Bit errors of a device whose second block holds data, and its chip.
fn with_data(reliability: Reliability) -> (BitErrors, Chip<Lean>) {
    let chip = chip();
    let mut errors = BitErrors::new(reliability, &chip);
    errors.on_programmed(BLOCK, Nanos::ZERO);
    (errors, chip)
}

/// Retries by the formula itself.
fn retries(reliability: &Reliability, days: f64, reads: u64) -> u8 {
    let stress =
        Stress { erases: reliability.initial_erases.into(), days, reads_per_page: reads as f64 / f64::from(PAGES) };
    let rate = reliability.model.rate(stress);
    let corrects = |retries: &u8| rate <= reliability.ecc_limit / RETRY_LEAVES.powi((*retries).into());
    (0..=5).find(corrects).unwrap_or(5)
}

#[test]
fn each_read_takes_the_retries_of_the_formula() {
    let reliability = tlc(2.1e-3);
    let (mut errors, chip) = with_data(reliability);
    let (mut seen, mut sensed) = ([false; 6], 0);
    for read in 0..20_000 {
        let (got, expected) = (errors.on_read(&chip, BLOCK, Nanos::ZERO), retries(&reliability, 0.0, sensed));
        assert_eq!(got, expected, "read {read}");
        seen[usize::from(got)] = true;
        sensed += 1 + u64::from(got);
    }
    assert_eq!(seen, [true; 6]);
    assert_eq!(errors.counts().reads.iter().sum::<u64>(), 20_000);
    assert!(errors.counts().uncorrectable > 0);
    // An erase makes it a block as at the beginning.
    errors.on_erased(BLOCK);
    errors.on_programmed(BLOCK, Nanos::ZERO);
    assert_eq!(errors.on_read(&chip, BLOCK, Nanos::ZERO), 0);
}

#[test]
fn data_age_from_when_their_block_was_first_programmed() {
    let reliability = Reliability { retention_speedup: 2.0, ..tlc(3e-3) };
    let (mut errors, chip) = with_data(reliability);
    errors.restart(Nanos::ZERO);
    errors.on_erased(BLOCK);
    errors.on_programmed(BLOCK, Nanos(10 * DAY));
    errors.on_programmed(BLOCK, Nanos(12 * DAY));
    let mut sensed = 0;
    for day in 10..400 {
        let (got, days) = (errors.on_read(&chip, BLOCK, Nanos(day * DAY)), 2.0 * (day - 10) as f64);
        assert_eq!(got, retries(&reliability, days, sensed), "day {day}");
        sensed += 1 + u64::from(got);
    }
    assert!(errors.counts().reads[3] > 0);
}

/// The first restart sets the days on the shelf, since nothing ages before; later ones keep the
/// days of the clock before. A block without data does not age.
#[test]
fn a_new_clock_keeps_the_age_of_data() {
    let reliability = Reliability { retention_days: 100.0, ..tlc(3e-3) };
    let days = |restarts: &[u64]| {
        let (mut errors, _) = with_data(reliability);
        for &day in restarts {
            errors.restart(Nanos(day * DAY));
        }
        [BLOCK, OTHER].map(|pbn| age(&errors.blocks[pbn.index()], Nanos(DAY), errors.speedup) as u64)
    };
    assert_eq!([days(&[]), days(&[0]), days(&[7]), days(&[7, 5])], [[0, 0], [101, 0], [101, 0], [106, 0]]);
}

#[test]
fn a_block_is_due_when_its_rate_passes_the_share() {
    let reliability = Reliability { refresh_at: 0.8, ..tlc(5e-3) };
    let (mut errors, chip) = with_data(reliability);
    let beyond = |reads: u64| {
        let stress = Stress { erases: 1000.0, days: 0.0, reads_per_page: reads as f64 / f64::from(PAGES) };
        reliability.model.rate(stress) > 4e-3
    };
    let first = (0..u64::MAX).find(|&reads| beyond(reads)).expect("some read");
    // 0.67 million reads of a block of 1152 pages. STRAW (ASPLOS '26) measured 0.52 million, spread
    // evenly, that a TLC block survives.
    assert_eq!(first / u64::from(PAGES), 585);
    for read in 0..first {
        errors.on_read(&chip, BLOCK, Nanos::ZERO);
        assert_eq!(errors.due.pop_front(), None, "read {read}");
    }
    errors.on_read(&chip, BLOCK, Nanos::ZERO);
    assert_eq!(errors.next_to_refresh(&chip, Nanos::ZERO), Some(BLOCK));
    // It is named again only if it could not be moved, and reads or the patrol find it so.
    errors.on_refreshed(BLOCK, RelocateOutcome::Deferred(Deferred::NoRoom));
    assert_eq!(errors.next_to_refresh(&chip, Nanos::ZERO), Some(BLOCK));
    errors.on_erased(BLOCK);
    errors.on_refreshed(BLOCK, RelocateOutcome::Done);
    assert_eq!((errors.counts().refreshed_blocks, errors.next_to_refresh(&chip, Nanos::ZERO)), (1, None));
    assert_eq!(errors.next_to_refresh(&chip, Nanos::ZERO), None);
}

/// Units of a page are sensed with it, so fewer reads disturb a block of as many units.
#[test]
fn a_read_of_a_unit_senses_its_page() {
    let reads_until_due = |units_per_page| {
        let reliability = Reliability { refresh_at: 0.8, units_per_page, ..tlc(5e-3) };
        let (mut errors, chip) = with_data(reliability);
        (0..u64::MAX).find(|_| {
            errors.on_read(&chip, BLOCK, Nanos::ZERO);
            !errors.due.is_empty()
        })
    };
    let [page, half] = [1, 2].map(|units| reads_until_due(units).expect("some read") as f64);
    assert!((page / half - 2.0).abs() < 1e-3, "{page} and {half}");
}

/// Data that nobody reads are found by the patrol, which looks at one block each time.
#[test]
fn old_data_are_found_without_being_read() {
    let (mut errors, chip) = with_data(Reliability { refresh_at: 0.8, retention_days: 400.0, ..tlc(5e-3) });
    assert_eq!([0, 1].map(|_| errors.next_to_refresh(&chip, Nanos::ZERO)), [None, None]);
    errors.restart(Nanos::ZERO);
    assert_eq!(errors.next_to_refresh(&chip, Nanos::ZERO), None, "{OTHER} holds nothing");
    assert_eq!(errors.next_to_refresh(&chip, Nanos::ZERO), Some(BLOCK));
    errors.on_refreshed(BLOCK, RelocateOutcome::Deferred(Deferred::NotOffered));
    assert_eq!([0, 1].map(|_| errors.next_to_refresh(&chip, Nanos::ZERO)), [None, None]);
}

/// Where fresh data are beyond the share already, moving them is for nothing.
#[test]
fn worn_blocks_are_not_refreshed_for_ever() {
    let worn = Reliability { refresh_at: 0.8, initial_erases: 3000, ..tlc(5e-3) };
    let (mut errors, chip) = with_data(worn);
    assert_eq!(errors.on_read(&chip, BLOCK, Nanos::ZERO), 2);
    assert_eq!([0, 1].map(|_| errors.next_to_refresh(&chip, Nanos::ZERO)), [None, None]);
}
