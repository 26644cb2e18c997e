//! The log machine against a map, under a policy that decides at random: whatever it answers, no
//! page is lost.

use crate::api::entry::{Capabilities, Memory};
use std::collections::BTreeMap;

use flash::{Chip, Full};
use host::Hint;
use random::SeededRng;
use testkit::TestFlash;

use super::*;
use crate::engines::log_buffer::policy::LogNeeds;
use crate::port::device::Timed;
use crate::port::timing::Untimed;

type Tested = Timed<Chip<Full<u64>>, Untimed>;

const PAGES: u32 = 4;
const LOGICAL_PAGES: u32 = 30;
const LOG_BLOCKS: u32 = 3;

/// Any page may go to any log block, and any leaves.
struct Whims;

struct AtRandom {
    rng: SeededRng,
    slots: Vec<Slot>,
}

impl AtRandom {
    fn any(&mut self, among: &[Slot]) -> Option<Slot> {
        (!among.is_empty()).then(|| among[(self.rng.bits() % among.len() as u64) as usize])
    }
}

impl LogPolicy for AtRandom {
    fn place(&mut self, log: &mut LogSpace, _page: LogPage) -> LogTarget {
        let with_room: Vec<_> = self.slots.iter().copied().filter(|&slot| log.has_room(slot)).collect();
        match self.any(&with_room) {
            Some(slot) if !self.rng.bits().is_multiple_of(8) => LogTarget::In(slot),
            _ => LogTarget::New((self.rng.bits() % 3) as u32),
        }
    }

    fn victim(&mut self, _log: &mut LogSpace, _group: u32) -> Option<Slot> {
        let all = self.slots.clone();
        if all.len() < LOG_BLOCKS as usize { None } else { self.any(&all) }
    }

    fn on_opened(&mut self, _log: &LogSpace, slot: Slot) {
        self.slots.push(slot);
    }

    fn on_left(&mut self, _log: &LogSpace, slot: Slot) {
        self.slots.retain(|&other| other != slot);
    }

    fn recovered_group(&self, _lbn: Option<Lbn>) -> u32 {
        0
    }

    fn place_of_trims(&self, _log: &LogSpace) -> Option<LogTarget> {
        None
    }
}

impl LogScheme for Whims {
    const ENTRY: Entry = Entry {
        name: "whims",
        family: "log-buffer",
        source: "test",
        capabilities: Capabilities::NONE,
        memory: Memory::LOG_MAP,
        parameters: &[],
        header: "",
    };

    type Policy = AtRandom;

    fn needs(_layout: &Layout, _values: &Values) -> Result<LogNeeds, ConfigError> {
        Ok(LogNeeds { log_blocks: LOG_BLOCKS, ..LogNeeds::default() })
    }

    fn policy(layout: &Layout, _values: &Values, _log_blocks: u32) -> AtRandom {
        AtRandom { rng: SeededRng::new(layout.seed), slots: Vec::new() }
    }
}

struct Model {
    flash: FlashPort<Tested>,
    layout: Layout,
    scheme: LogBuffer<Whims>,
    /// What each page holds.
    held: BTreeMap<Lpn, u64>,
    rng: SeededRng,
}

impl Model {
    fn new(seed: u64) -> Self {
        let chip = TestFlash::new(LOGICAL_PAGES.div_ceil(PAGES) + LOG_BLOCKS + 1, PAGES).chip();
        let layout = Layout::of(&chip, LOGICAL_PAGES, seed);
        let scheme = LogBuffer::format(&layout, &Values::none()).expect("fits");
        let rng = SeededRng::new(seed ^ 0xFF);
        Self { flash: FlashPort::new(Timed { chip, timing: Untimed }), layout, scheme, held: BTreeMap::new(), rng }
    }

    fn below(&mut self, limit: u32) -> u32 {
        (self.rng.bits() % u64::from(limit)) as u32
    }

    fn step(&mut self, stamp: u64) {
        let first = self.below(LOGICAL_PAGES);
        let pages = 1 + self.below((LOGICAL_PAGES - first).min(5));
        let request = Request { hint: Hint::NONE, ..Request::new(Lpn::new(first), pages) };
        match self.below(16) {
            0 => {
                self.scheme.trim(&mut self.flash, &request).expect("trimmed");
                self.held.retain(|&lpn, _| request.lpns().all(|(_, trimmed)| trimmed != lpn));
            }
            1 => self.scheme.flush(&mut self.flash).expect("flushed"),
            2 => {
                let pbn = Pbn::new(self.below(self.layout.geometry.blocks()));
                self.scheme.relocate_block(&mut self.flash, pbn).expect("emptied");
            }
            _ => {
                let data: Vec<_> = (0..u64::from(pages)).map(|page| 100 * stamp + page).collect();
                self.scheme.write(&mut self.flash, &request, &data).expect("written");
                self.held.extend(request.lpns().map(|(i, lpn)| (lpn, data[i])));
            }
        }
    }

    fn check(&mut self) {
        self.scheme.check(&self.flash).expect("invariants");
        assert!(self.scheme.log.len() <= LOG_BLOCKS as usize);
        let LogBuffer { data, log, .. } = &self.scheme;
        for lpn in (0..LOGICAL_PAGES).map(Lpn::new) {
            assert_eq!(merge::newest(data, log, lpn).is_some(), self.held.contains_key(&lpn), "{lpn}");
        }
        let mut out = vec![u64::MAX; LOGICAL_PAGES as usize];
        let all = Request::new(Lpn::new(0), LOGICAL_PAGES);
        self.scheme.read(&mut self.flash, &all, &mut out).expect("read");
        for (lpn, got) in (0..).map(Lpn::new).zip(out) {
            assert_eq!(got, self.held.get(&lpn).copied().unwrap_or_default(), "{lpn}");
        }
    }
}

#[test]
fn a_policy_that_decides_at_random_loses_no_page() {
    let mut notes = [0; 3];
    for seed in 0..6 {
        let mut model = Model::new(seed);
        for stamp in 1..800 {
            model.step(stamp);
            model.check();
        }
        let kinds = [Note::SwitchMerge, Note::PartialMerge, Note::FullMerge];
        for (sum, note) in notes.iter_mut().zip(kinds) {
            *sum += model.flash.tally().note(note);
        }
        assert_eq!(model.scheme.policy.slots.len(), model.scheme.log.len());
        // After a power cut the tags alone tell the same, once trims are flushed.
        model.scheme.flush(&mut model.flash).expect("flushed");
        model.flash = FlashPort::new(model.flash.into_device());
        model.scheme = LogBuffer::recover(&model.layout, &Values::none(), &mut model.flash).expect("recovered");
        model.check();
    }
    assert!(notes.iter().all(|&count| count > 5), "switch, partial and full merges: {notes:?}");
}
