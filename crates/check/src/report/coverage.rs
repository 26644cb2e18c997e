//! States that schemes went through: which events happened how often in which stretch of a life,
//! and what recovery found.
//!
//! A *state* is one of two things. Either an event (something noted, as a full merge, or an
//! operation for a cause, as a program for a collection) that came once, two or three times, up to
//! 15 times or more often in one stretch of a scheme's life. Or a number of half-written and of
//! erased blocks on the flash that a recovery found. Nothing here knows a scheme; which events one
//! has at all is learnt from what it did.

use std::ops::BitOrAssign;

use flash::{Faulty, Flash, Pbn};
use ftl::{Cause, FlashOp, Note, Tally};

use crate::stamp::Stamp;

/// Stretches of a scheme's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// From format on, on flash that does not fail.
    Fresh = 0,
    /// From the recovery after a power cut on.
    AfterCut = 1,
    /// From the recovery after a second power cut on.
    AfterSecondCut = 2,
    /// On failing flash, since the power last came on.
    FailingFlash = 3,
}

const STRETCHES: usize = 4;
const EVENTS: usize = Note::COUNT + 3 * Cause::COUNT;
/// Once; two or three times; up to 15 times; more often.
const AMOUNTS: usize = 4;
/// Half-written blocks and erased blocks that a recovery found: none, one, two, more; after a first
/// or a second cut.
const FOUND: usize = 2 * 4 * 4;
const STATES: usize = STRETCHES * EVENTS * AMOUNTS + FOUND;

/// A set of states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateCoverage([u64; STATES.div_ceil(64)]);

impl StateCoverage {
    fn insert(&mut self, state: usize) {
        self.0[state / 64] |= 1 << (state % 64);
    }

    fn contains(&self, state: usize) -> bool {
        self.0[state / 64] >> (state % 64) & 1 == 1
    }

    /// What was counted in a stretch of a life.
    pub(crate) fn record(&mut self, stretch: Phase, tally: &Tally) {
        let notes = Note::ALL.into_iter().map(|note| tally.note(note));
        let operations = Cause::ALL.into_iter().flat_map(|cause| FlashOp::ALL.map(|op| tally.count(cause, op)));
        for (event, times) in notes.chain(operations).enumerate().filter(|&(_, times)| times > 0) {
            let amount = match times {
                0..=1 => 0,
                2..=3 => 1,
                4..=15 => 2,
                _ => 3,
            };
            self.insert((stretch as usize * EVENTS + event) * AMOUNTS + amount);
        }
    }

    /// The flash that a recovery finds after this many power cuts.
    pub(crate) fn found(&mut self, cuts: usize, flash: &Faulty<Stamp>) {
        let pages = flash.geometry().pages_per_block();
        let good = (0..flash.geometry().blocks()).map(Pbn::new).filter(|&pbn| !flash.is_bad(pbn));
        let (mut half_written, mut erased) = (0, 0);
        for next in good.map(|pbn| flash.next_page(pbn)) {
            half_written += usize::from(0 < next && next < pages);
            erased += usize::from(next == 0);
        }
        let found = (cuts.clamp(1, 2) - 1) * 16 + half_written.min(3) * 4 + erased.min(3);
        self.insert(STRETCHES * EVENTS * AMOUNTS + found);
    }

    /// How many there are.
    pub fn reached(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// How many a scheme might reach whose events are the ones of this set: each event in each
    /// stretch, in each amount, and all that a recovery might find. Not all of these need be
    /// possible.
    pub fn conceivable(&self) -> u64 {
        let happened = |&event: &usize| {
            let amounts = |stretch| (0..AMOUNTS).map(move |amount| (stretch * EVENTS + event) * AMOUNTS + amount);
            (0..STRETCHES).flat_map(amounts).any(|state| self.contains(state))
        };
        let events = (0..EVENTS).filter(happened).count();
        (events * STRETCHES * AMOUNTS + FOUND) as u64
    }
}

impl BitOrAssign for StateCoverage {
    fn bitor_assign(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(word, other)| *word |= other);
    }
}

#[cfg(test)]
mod tests {
    use flash::FaultPlan;
    use ftl::{FlashPort, Timed, Untimed};

    use super::*;
    use crate::case::device_spec::DeviceSpec;

    #[test]
    fn each_event_in_each_amount_and_stretch_is_a_state_of_its_own() {
        let device = DeviceSpec::new(1, 1, 1, 3, 2);
        let mut flash = FlashPort::new(Timed { chip: device.chip(u32::MAX).expect("a chip"), timing: Untimed });
        let mut states = StateCoverage::default();
        for (times, reached) in [(1, 1), (2, 2), (3, 2), (4, 3), (15, 3), (16, 4), (17, 4)] {
            while flash.tally().note(Note::FullMerge) < times {
                flash.note(Note::FullMerge);
            }
            states.record(Phase::Fresh, flash.tally());
            assert_eq!(states.reached(), reached, "{times}");
        }
        states.record(Phase::AfterCut, flash.tally());
        assert_eq!(states.reached(), 5);
        let mut flash = Faulty::new(device.chip(u32::MAX).expect("a chip"), FaultPlan::default());
        states.found(1, &flash);
        states.found(2, &flash);
        assert_eq!(states.reached(), 7);
        let tag =
            flash::Tag { logical: 0, extent: 1, role: flash::Role::Data, owner: None, seq: 1, version: 1, hint: 0 };
        flash.program(flash::Ppn::new(0), &tag, Stamp::default()).expect("programs");
        states.found(2, &flash);
        assert_eq!((states.reached(), states.conceivable()), (8, 16 + 32));
    }
}
