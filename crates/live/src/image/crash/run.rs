//! A run that is stopped later: what the host did, and everything that its store wrote.

use std::path::Path;

use flash::{Fault, Flash, Pbn};
use ftl::Stack;

use super::PAGE;
use crate::DriveError;
use crate::drive::Drive;
use crate::image::file::Taped;
use crate::image::testing::{Dice, PAGES, content, create_with_more, start};

/// Requests of a run: enough that every scheme erases again and again.
const ROUNDS: u32 = 500;
/// On failing flash, a program or an erase fails in one of so many requests.
const FAILS_EVERY: u32 = 30;
/// Spare blocks beyond the least that a scheme takes, as a share of the device: what may fail until it is read-only.
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
    Flush,
}

/// A run: the image that it began with, and what happened.
pub(super) struct Run {
    pub(super) scheme: String,
    pub(super) before: Vec<u8>,
    pub(super) tape: Vec<Taped>,
    pub(super) deeds: Vec<Deed>,
}

fn position(drive: &Drive) -> usize {
    tape(drive).len()
}

pub(super) fn tape(drive: &Drive) -> &[Taped] {
    &drive.media().device().chip.chip().store().file.tape
}

/// Whether programs and erases of a run fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chips {
    Sound,
    Failing,
}

/// Has a host write, trim and flush. On failing flash the run may end early, with the request that a read-only device refuses.
pub(super) fn perform(stack: &Stack, folder: &Path, chips: Chips) -> Run {
    let path = folder.join("whole.img");
    create_with_more(&path, stack, PAGE, if chips == Chips::Failing { TO_FAIL } else { 0.0 });
    let mut drive = start(&path);
    let before = std::fs::read(&path).expect("the image");
    let (mut deeds, mut dice) = (Vec::new(), Dice(0x5EED));
    let bad_before = bad_blocks(&drive);
    for round in 1..=ROUNDS {
        if chips == Chips::Failing && round % FAILS_EVERY == 0 {
            // A fault that does not fit its operation does nothing, and erases are few.
            let (fault, times) =
                if round % (2 * FAILS_EVERY) == 0 { (Fault::EraseFails, 8) } else { (Fault::ProgramFails, 1) };
            let first = dice.below(3);
            (first..first + times).for_each(|after| drive.inject(after, fault));
        }
        let page = if round % 3 == 0 { dice.below(8) } else { dice.below(PAGES) };
        let run = 1 + dice.below(3).min(PAGES - 1 - page);
        let what = match round {
            _ if round % 16 == 0 => What::Flush,
            _ if round % 11 == 0 => What::Trim(page),
            _ => What::Write(page, round),
        };
        let begun = position(&drive);
        let result = request(&mut drive, what, run);
        assert!(drive.settle());
        let answered = if result.is_ok() { position(&drive) } else { usize::MAX };
        let each = if what == What::Flush { 1 } else { run };
        deeds.extend((0..each).map(|i| {
            let what = match what {
                What::Write(page, round) => What::Write(page + i, round),
                What::Trim(page) => What::Trim(page + i),
                What::Flush => What::Flush,
            };
            Deed { begun, answered, what }
        }));
        match result {
            Ok(()) => {}
            Err(DriveError::ReadOnly) if chips == Chips::Failing => break,
            Err(error) => panic!("{stack}: {what:?}: {error:?}"),
        }
    }
    let erases: u32 = drive.erase_counts().iter().sum();
    assert!(erases > 10, "{stack}: {erases} erases prove nothing");
    let failed = bad_blocks(&drive) - bad_before;
    assert_eq!(failed > 0, chips == Chips::Failing, "{stack}: {failed} blocks failed");
    Run { scheme: stack.to_string(), before, tape: tape(&drive).to_vec(), deeds }
}

fn request(drive: &mut Drive, what: What, run: u64) -> Result<(), DriveError> {
    match what {
        What::Write(page, round) => {
            let data: Vec<u8> = (page..page + run).flat_map(|page| content(page, round, PAGE)).collect();
            drive.write(page * PAGE as u64, &data.into())
        }
        What::Trim(page) => drive.trim(page * PAGE as u64, (run as usize * PAGE) as u32),
        What::Flush => drive.flush(),
    }
}

fn bad_blocks(drive: &Drive) -> usize {
    let chip = &drive.media().device().chip;
    (0..chip.geometry().blocks()).filter(|&block| chip.is_bad(Pbn::new(block))).count()
}

impl Run {
    /// What a page may hold, by round, when the host stops at a position of the tape; zero for nothing.
    pub(super) fn allowed(&self, page: u64, stopped: usize) -> Vec<u32> {
        let flushed = self.deeds.iter().rposition(|deed| deed.what == What::Flush && deed.answered <= stopped);
        let (mut allowed, mut since_durable_trim) = (vec![0], Vec::new());
        for (i, deed) in self.deeds.iter().enumerate().take_while(|(_, deed)| deed.begun < stopped) {
            let is_flushed = flushed.is_some_and(|flushed| i < flushed);
            match deed.what {
                What::Write(written, round) if written == page => {
                    since_durable_trim.push(round);
                    if is_flushed {
                        allowed.clear();
                    }
                    allowed.push(round);
                }
                What::Trim(trimmed) if trimmed == page && is_flushed => allowed = vec![0],
                What::Trim(trimmed) if trimmed == page => {
                    allowed.push(0);
                    allowed.extend(&since_durable_trim);
                }
                What::Flush if allowed == [0] => since_durable_trim.clear(),
                _ => {}
            }
        }
        allowed
    }
}
