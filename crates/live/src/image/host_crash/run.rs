//! A run that is stopped later: what the host did, and everything that its store wrote.

use std::path::Path;

use flash::{Fault, Flash, Pbn, Tear};
use ftl::Stack;
use random::SeededRng;

use super::disk::PAGE;
use crate::DriveError;
use crate::drive::LiveDrive;
use crate::image::file::Taped;
use crate::image::testing::{PAGES, content, create, read, start};

/// Requests of a run: enough that every scheme erases again and again.
const ROUNDS: u32 = 500;
/// On failing flash, a program or an erase fails in one in this many requests.
const FAILS_EVERY: u32 = 30;
/// The power of the flash is cut in one in this many requests.
const CUT_EVERY: u32 = 9;
/// Once in this many requests it is cut between two operations.
const CUT_BETWEEN: u32 = 50;
/// Requests to a device that has become read-only.
const ROUNDS_READ_ONLY: u32 = 24;
/// Spare blocks beyond the least that a scheme takes, as a share of the device: what may fail until
/// it is read-only.
const TO_FAIL: f64 = 0.25;

/// What the host did, and between which positions of the tape.
#[derive(Clone, Debug)]
pub(super) struct Deed {
    pub(super) begun: usize,
    pub(super) answered: usize,
    pub(super) what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Write(u64, u32),
    Trim(u64),
    /// Zeros, by holes where that is possible.
    Zeroed(u64),
    Flush,
    /// After a cut and its recovery the host has read the page and found this.
    Shown(u64, u32),
}

/// A run: the image that it began with, and what happened.
pub(super) struct Run {
    pub(super) scheme: String,
    pub(super) before: Vec<u8>,
    pub(super) tape: Vec<Taped>,
    pub(super) deeds: Vec<Deed>,
    /// Positions shortly after a cut and the flush that follows it.
    pub(super) after_cuts: Vec<usize>,
    /// Up to which deed the device surely accepted writes.
    accepted_until: usize,
}

fn position(drive: &LiveDrive) -> usize {
    tape(drive).len()
}

pub(super) fn tape(drive: &LiveDrive) -> &[Taped] {
    &drive.chip().chip().store().file.tape
}

/// What goes wrong on the flash while the host still has power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chips {
    /// No chip fails.
    Sound,
    /// Programs and erases fail.
    Failing,
    /// The flash loses its power, in every way that an operation can be torn, also while it
    /// recovers; and programs and erases fail.
    Cut,
}

impl Chips {
    fn fail(self) -> bool {
        self != Self::Sound
    }

    /// Faults for one round of some, this many operations ahead.
    fn plan(self, round: u32, rng: &mut SeededRng) -> Vec<(u64, Fault)> {
        let fails = match self {
            Self::Sound => return Vec::new(),
            Self::Failing => round.is_multiple_of(FAILS_EVERY),
            Self::Cut => round.is_multiple_of(3 * FAILS_EVERY),
        };
        let mut plan = Vec::new();
        if fails {
            // A fault that does not fit its operation does nothing, and erases are few.
            let (fault, times) =
                if round.is_multiple_of(2 * FAILS_EVERY) { (Fault::EraseFails, 8) } else { (Fault::ProgramFails, 1) };
            let first = rng.below(3);
            plan.extend((first..first + times).map(|after| (after, fault)));
        }
        if self == Self::Cut && round.is_multiple_of(CUT_EVERY) {
            let cut = round / CUT_EVERY;
            let tear = |cut: u32| Fault::Cut(Tear::ALL[cut as usize % Tear::ALL.len()]);
            let first = rng.below(6);
            plan.push((first, tear(cut)));
            // Every third time the recovery is cut as well, and every sixth time the one after
            // that.
            if cut.is_multiple_of(3) {
                plan.push((first + 1 + rng.below(300), tear(cut / 3)));
            }
            if cut.is_multiple_of(6) {
                plan.push((first + 301 + rng.below(300), tear(cut / 6)));
            }
        }
        plan
    }
}

/// A host at work.
struct Host {
    drive: LiveDrive,
    deeds: Vec<Deed>,
    after_cuts: Vec<usize>,
}

impl Host {
    /// Asks for something, and notes what became of it.
    fn ask(&mut self, what: What, run: u64) -> Result<(), DriveError> {
        let begun = position(&self.drive);
        let result = request(&mut self.drive, what, run);
        assert!(self.drive.settle());
        let answered = if result.is_ok() { position(&self.drive) } else { usize::MAX };
        let each = if what == What::Flush { 1 } else { run };
        self.deeds.extend((0..each).map(|i| {
            let what = match what {
                What::Write(page, round) => What::Write(page + i, round),
                What::Trim(page) => What::Trim(page + i),
                What::Zeroed(page) => What::Zeroed(page + i),
                What::Flush | What::Shown(..) => what,
            };
            Deed { begun, answered, what }
        }));
        result
    }

    /// Switches off in good order, which is a flush to begin with. A read-only device may refuse
    /// it.
    fn stop(&mut self, chips: Chips) {
        let begun = position(&self.drive);
        let result = self.drive.stop();
        if chips == Chips::Cut && result == Err(DriveError::NoPower) {
            self.restore_power();
            return self.stop(chips);
        }
        assert!(result.is_ok() || result == Err(DriveError::ReadOnly), "{result:?}");
        let answered = if result.is_ok() { position(&self.drive) } else { usize::MAX };
        self.deeds.push(Deed { begun, answered, what: What::Flush });
    }

    /// The power returns, and the host reads what it has. A cut that was still to come may meet a
    /// read.
    fn restore_power(&mut self) {
        let shown = loop {
            self.drive.restore_power(self.drive.now()).expect("recovered");
            let shown: Result<Vec<_>, _> = (0..PAGES).map(|page| read(&mut self.drive, page)).collect();
            match shown {
                Ok(shown) => break shown,
                Err(DriveError::NoPower) => {}
                Err(error) => panic!("after a cut: {error:?}"),
            }
        };
        let at = position(&self.drive);
        self.deeds.extend((0..).zip(shown).map(|(page, found)| {
            let round = round_of(&found);
            assert!(round == 0 || found == content(page, round, PAGE), "page {page} holds {:?}", &found[..12]);
            Deed { begun: at, answered: at, what: What::Shown(page, round) }
        }));
    }

    /// Where the last write stands that was accepted.
    fn last_accepted(&self) -> usize {
        let is_accepted = |deed: &Deed| matches!(deed.what, What::Write(..)) && deed.answered != usize::MAX;
        self.deeds.iter().rposition(is_accepted).unwrap_or(0)
    }

    /// After a cut: a flush with nothing written since, and writes that are not flushed.
    fn go_on(&mut self, round: u32, rng: &mut SeededRng) -> Result<(), DriveError> {
        self.restore_power();
        if round.is_multiple_of(2) {
            self.ask(What::Flush, 1)?;
        }
        for i in 0..2 {
            self.ask(What::Write(rng.below(PAGES), round + i), 1)?;
            self.after_cuts.push(position(&self.drive));
        }
        Ok(())
    }
}

/// Which write a page holds.
fn round_of(found: &[u8]) -> u32 {
    u32::from_le_bytes(*found[8..].first_chunk().expect("a page is longer"))
}

/// Has a host write, trim and flush. On failing flash the run may end early, soon after the request
/// that a read-only device refuses.
pub(super) fn perform(stack: &Stack, folder: &Path, chips: Chips) -> Run {
    let path = folder.join("whole.img");
    create(&path, stack, (PAGES, PAGE), if chips.fail() { TO_FAIL } else { 0.0 });
    let drive = start(&path);
    let before = std::fs::read(&path).expect("the image");
    let mut rng = SeededRng::new(0x5EED ^ seed());
    let bad_before = bad_blocks(&drive);
    let mut host = Host { drive, deeds: Vec::new(), after_cuts: Vec::new() };
    let (mut accepted_until, mut rounds_left) = (None, ROUNDS_READ_ONLY);
    for round in 1..=ROUNDS {
        for (after, fault) in chips.plan(round, &mut rng) {
            host.drive.inject(after, fault);
        }
        let page = if round % 3 == 0 { rng.below(8) } else { rng.below(PAGES) };
        let run = 1 + rng.below(3).min(PAGES - 1 - page);
        let what = match round {
            _ if round % 16 == 0 => What::Flush,
            _ if round % 11 == 0 && accepted_until.is_none() => What::Trim(page),
            _ => What::Write(page, 4 * round),
        };
        let mut result = host.ask(what, run);
        if chips == Chips::Cut && result.is_ok() && round % CUT_BETWEEN == 0 {
            result = Err(DriveError::NoPower);
        }
        while chips == Chips::Cut && result == Err(DriveError::NoPower) {
            result = host.go_on(4 * round + 1 + u32::from(round % 2 == 0), &mut rng);
        }
        match result {
            Ok(()) => {}
            Err(DriveError::ReadOnly) if chips.fail() => {
                accepted_until.get_or_insert_with(|| host.last_accepted());
            }
            Err(error) => panic!("{stack}: {what:?}: {error:?}"),
        }
        rounds_left -= u32::from(accepted_until.is_some());
        if rounds_left == 0 {
            break;
        }
    }
    host.stop(chips);
    let Host { drive, deeds, after_cuts } = host;
    let erases: u32 = drive.erase_counts().iter().sum();
    assert!(erases > 10, "{stack}: {erases} erases prove nothing");
    let failed = bad_blocks(&drive) - bad_before;
    // A cut may take a fault's place.
    assert!(chips == Chips::Cut || (failed > 0) == chips.fail(), "{stack}: {failed} blocks failed");
    assert_eq!(after_cuts.is_empty(), chips != Chips::Cut, "{stack}: {} moments after cuts", after_cuts.len());
    Run {
        scheme: stack.to_string(),
        before,
        tape: tape(&drive).to_vec(),
        accepted_until: accepted_until.unwrap_or(deeds.len()),
        deeds,
        after_cuts,
    }
}

fn request(drive: &mut LiveDrive, what: What, run: u64) -> Result<(), DriveError> {
    match what {
        What::Write(page, round) => {
            let data: Vec<u8> = (page..page + run).flat_map(|page| content(page, round, PAGE)).collect();
            drive.write(page * PAGE as u64, &data.into())
        }
        What::Trim(page) => drive.trim(page * PAGE as u64, (run as usize * PAGE) as u32),
        What::Zeroed(page) => drive.write_zeroes(page * PAGE as u64, (run as usize * PAGE) as u32, true),
        What::Flush => drive.flush(),
        What::Shown(..) => Ok(()),
    }
}

/// Other requests and faults with each `FTLKIT_SEED`.
pub(super) fn seed() -> u64 {
    std::env::var("FTLKIT_SEED").map_or(0, |seed| seed.parse().expect("FTLKIT_SEED is a number"))
}

fn bad_blocks(drive: &LiveDrive) -> usize {
    let chip = drive.chip();
    (0..chip.geometry().blocks()).filter(|&block| chip.is_bad(Pbn::new(block))).count()
}

impl Run {
    /// What a page may hold, by round, when the host stops at a position of the tape; zero for
    /// nothing.
    pub(super) fn allowed(&self, page: u64, stopped: usize) -> Vec<u32> {
        allowed(&self.deeds, self.accepted_until, page, Stopped::Host(stopped))
    }
}

/// How far what was done can be relied on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stopped {
    /// The host stopped at a position of the tape: what a flush was answered for is there.
    Host(usize),
    /// RAM alone was lost: everything that was answered is there, but for trims that no flush
    /// followed.
    Ram,
}

/// What a page may hold after these deeds, by round; zero for nothing. Up to `accepted_until` the
/// device surely accepted writes.
pub(super) fn allowed(deeds: &[Deed], accepted_until: usize, page: u64, stopped: Stopped) -> Vec<u32> {
    let position = if let Stopped::Host(position) = stopped { position } else { usize::MAX };
    let is_flush = |deed: &Deed| deed.what == What::Flush && deed.answered != usize::MAX && deed.answered <= position;
    let flushed = deeds.iter().rposition(is_flush);
    // On a read-only device trims need not last: only flushes count for them that a write was
    // accepted after.
    let trims_flushed = deeds[..accepted_until].iter().rposition(is_flush);
    let (mut allowed, mut since_durable_trim) = (vec![0], Vec::new());
    for (i, deed) in deeds.iter().enumerate().take_while(|(_, deed)| deed.begun < position) {
        let is_done = deed.answered != usize::MAX;
        let is_kept = is_done && (stopped == Stopped::Ram || flushed.is_some_and(|flushed| i < flushed));
        match deed.what {
            What::Write(written, round) if written == page => {
                since_durable_trim.push(round);
                if is_kept {
                    allowed.clear();
                }
                allowed.push(round);
            }
            What::Zeroed(zeroed) if zeroed == page && is_kept => {
                allowed = vec![0];
                since_durable_trim.clear();
            }
            What::Shown(shown, round) if shown == page && is_kept => allowed = vec![round],
            What::Shown(shown, round) if shown == page => allowed.push(round),
            What::Trim(trimmed) if trimmed == page && is_done && trims_flushed.is_some_and(|at| i < at) => {
                allowed = vec![0];
            }
            What::Trim(trimmed) | What::Zeroed(trimmed) if trimmed == page => {
                allowed.push(0);
                allowed.extend(&since_durable_trim);
            }
            What::Flush if allowed == [0] && is_flush(deed) => since_durable_trim.clear(),
            _ => {}
        }
    }
    allowed
}

#[test]
fn a_trim_that_was_not_flushed_leaves_nothing_or_a_version_since_the_last_durable_trim() {
    let whats = [
        What::Write(7, 1),
        What::Flush,
        What::Trim(7),
        What::Flush,
        What::Write(7, 2),
        What::Flush,
        What::Write(7, 3),
        What::Trim(7),
    ];
    let deeds: Vec<Deed> =
        (0..).zip(whats).map(|(at, what)| Deed { begun: 2 * at, answered: 2 * at + 1, what }).collect();
    // Round 1 was trimmed, and the trim was flushed: that version is gone for good.
    for stopped in [Stopped::Ram, Stopped::Host(2 * whats.len())] {
        let mut rounds = allowed(&deeds, deeds.len(), 7, stopped);
        rounds.sort_unstable();
        rounds.dedup();
        assert_eq!(rounds, [0, 2, 3], "{stopped:?}");
    }
}
