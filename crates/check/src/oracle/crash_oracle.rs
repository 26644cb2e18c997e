//! What each logical page may hold after a power cut.
//!
//! Between cuts a page has one right content, as with the [`ExactOracle`](crate::ExactOracle). A
//! cut widens that to a set:
//!
//! - **written and acknowledged**: that version; of a scheme that buffers writes and was not
//!   flushed since, also what was allowed before, and any version in between;
//! - **being written**: the new version or whatever was allowed before;
//! - **trimmed, not flushed since**: nothing, or a version written after the last durable trim and
//!   not after the trimmed one;
//! - **being trimmed**: that, or whatever was allowed before;
//! - **trimmed and flushed**: nothing.
//!
//! What recovery then shows is the truth from there on: it must not change without the host's
//! doing, whatever happens to the power. Pages of one request are judged one by one. No more pages
//! may have gone back to an older version than a scheme's buffer has room for, which is none for a
//! scheme without one.

use flash::Lpn;

use crate::case::operation::{Effect, Extent, Operation};
use crate::oracle::exact::{Mismatch, Nature, Oracle};
use crate::stamp::{Stamp, page_of, stamp, version_of};

/// The oracle's knowledge of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Account {
    /// The newest version ever handed out, 0 before the first.
    newest: u32,
    /// The version that a read returns while the power is on, 0 for none.
    current: u32,
    /// The oldest and the newest version that a cut may leave.
    low: u32,
    high: u32,
    /// Whether a cut may leave nothing.
    may_be_empty: bool,
    /// The oldest version that may come back when a trim is forgotten: the first one after the last
    /// durable trim.
    floor: u32,
}

/// More acknowledged pages hold an older version after a cut than can have waited in RAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WentBack {
    pub(crate) pages: u32,
    pub(crate) room: u32,
}

/// What the request in flight would make of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Intent {
    Write(u32),
    Trim,
}

/// The accounts of all pages, and the request in flight.
#[derive(Clone, Debug)]
pub(crate) struct CrashOracle {
    pages: Vec<Account>,
    in_flight: Option<Operation>,
    /// Acknowledged pages that the scheme may keep in RAM until a flush.
    buffer_pages: u32,
    /// Acknowledged pages that were found in an older version since the cut.
    gone_back: u32,
}

impl CrashOracle {
    /// Nothing has ever been written. Acknowledged writes may leave this many pages in RAM until a
    /// flush; with 0 they last at once.
    pub(crate) fn new(logical_pages: u32, buffer_pages: u32) -> Self {
        let nothing = Account { low: 1, may_be_empty: true, floor: 1, ..Account::default() };
        Self { pages: vec![nothing; logical_pages as usize], in_flight: None, buffer_pages, gone_back: 0 }
    }

    /// Logical pages of the device.
    pub(crate) fn logical_pages(&self) -> u32 {
        self.pages.len() as u32
    }

    /// What a read must return while the power is on.
    fn right(&self, lpn: Lpn) -> Stamp {
        match self.pages[lpn.index()].current {
            0 => 0,
            version => stamp(lpn, version),
        }
    }

    /// How wrong content is wrong, told against what was right before the cut.
    fn mismatch(&self, lpn: Lpn, got: Stamp) -> Mismatch {
        let (owner, version) = (page_of(got), version_of(got));
        let was_written = self.pages.get(owner as usize).is_some_and(|page| version >= 1 && version <= page.newest);
        let nature = match (got, was_written) {
            (0, _) => Nature::Lost,
            (_, false) => Nature::NeverWritten,
            _ if owner == lpn.get() => Nature::Stale,
            _ => Nature::Foreign,
        };
        Mismatch { lpn, expected: self.right(lpn), got, nature }
    }

    /// After a cut: what was found must be allowed, and is the truth from now on.
    pub(crate) fn observe(&mut self, lpn: Lpn, got: Stamp) -> Result<(), Mismatch> {
        let is_own = got == 0 || page_of(got) == lpn.get();
        let version = version_of(got);
        if !is_own || !self.pages[lpn.index()].allows(version, self.intent(lpn)) {
            return Err(self.mismatch(lpn, got));
        }
        let is_in_flight = self.intent(lpn).is_some();
        let page = &mut self.pages[lpn.index()];
        self.gone_back += u32::from(page.current != 0 && page.current != version && !is_in_flight);
        page.current = version;
        page.settle();
        Ok(())
    }

    /// All pages have been observed: those that have gone back must be so few that they can have
    /// waited in the scheme's buffer.
    pub(crate) fn end_observation(&mut self) -> Result<(), WentBack> {
        self.in_flight = None;
        let (gone_back, room) = (std::mem::take(&mut self.gone_back), self.buffer_pages);
        if gone_back <= room { Ok(()) } else { Err(WentBack { pages: gone_back, room }) }
    }

    /// While the power is on: a page of a write that was refused holds something else than before,
    /// so it must be what was to be written.
    pub(crate) fn observe_refused(&mut self, lpn: Lpn, got: Stamp) -> Result<(), Mismatch> {
        let lasts = self.buffer_pages == 0;
        let page = &mut self.pages[lpn.index()];
        if got != stamp(lpn, page.newest) {
            return Err(self.mismatch(lpn, got));
        }
        page.write(lasts);
        Ok(())
    }

    /// The request in flight was refused, and what became of its pages is known.
    pub(crate) fn forget_request(&mut self) {
        self.in_flight = None;
    }

    fn intent(&self, lpn: Lpn) -> Option<Intent> {
        match self.in_flight?.effect() {
            Effect::Writes(extent) if extent.contains(lpn) => Some(Intent::Write(self.pages[lpn.index()].newest)),
            Effect::Trims(extent) if extent.contains(lpn) => Some(Intent::Trim),
            _ => None,
        }
    }

    fn each(&mut self, extent: Extent, change: impl FnMut(&mut Account)) {
        self.pages[extent.first as usize..][..extent.pages as usize].iter_mut().for_each(change);
    }
}

impl Oracle for CrashOracle {
    fn begin(&mut self, operation: Operation) -> Vec<Stamp> {
        self.in_flight = Some(operation);
        let Effect::Writes(extent) = operation.effect() else { return Vec::new() };
        let next = |lpn: Lpn| {
            let page = &mut self.pages[lpn.index()];
            page.newest += 1;
            stamp(lpn, page.newest)
        };
        extent.lpns().map(next).collect()
    }

    fn acknowledge(&mut self) {
        match self.in_flight.take().map(|operation| operation.effect()) {
            Some(Effect::Writes(extent)) => {
                let lasts = self.buffer_pages == 0;
                self.each(extent, |page| page.write(lasts));
            }
            Some(Effect::Trims(extent)) => self.each(extent, Account::trim),
            Some(Effect::MakesDurable) => self.pages.iter_mut().for_each(Account::settle),
            Some(Effect::Reads(_) | Effect::Nothing) | None => {}
        }
    }

    fn compare(&self, lpn: Lpn, got: Stamp) -> Result<(), Mismatch> {
        if got == self.right(lpn) { Ok(()) } else { Err(self.mismatch(lpn, got)) }
    }
}

impl Account {
    /// Whether a page may hold this version (0 for none) after a cut.
    fn allows(self, version: u32, intent: Option<Intent>) -> bool {
        let is_before = if version == 0 { self.may_be_empty } else { (self.low..=self.high).contains(&version) };
        is_before
            || match intent {
                Some(Intent::Write(new)) => version == new,
                Some(Intent::Trim) => version == 0 || (self.floor..=self.current).contains(&version),
                None => false,
            }
    }

    /// The newest version was written; unless it `lasts`, what was allowed before still is, too.
    fn write(&mut self, lasts: bool) {
        (self.current, self.high) = (self.newest, self.newest);
        if lasts {
            (self.low, self.may_be_empty) = (self.newest, false);
        }
    }

    /// The page was trimmed, which may be forgotten.
    fn trim(&mut self) {
        if self.current != 0 {
            (self.current, self.low, self.may_be_empty) = (0, self.floor, true);
        }
    }

    /// What there is lasts, or that there is nothing.
    fn settle(&mut self) {
        (self.low, self.high, self.may_be_empty) = (self.current, self.current, self.current == 0);
        if self.current == 0 {
            self.floor = self.newest + 1;
            self.low = self.floor;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: Lpn = Lpn::new(1);
    const EXTENT: Extent = Extent { first: 1, pages: 1 };

    fn done(allowed: &mut CrashOracle, operations: &[Operation]) {
        for &operation in operations {
            allowed.begin(operation);
            allowed.acknowledge();
        }
    }

    /// The versions from 0 to 4 that page 1 may hold.
    fn versions(allowed: &CrashOracle) -> Vec<u32> {
        let stamp = |version| if version == 0 { 0 } else { super::stamp(PAGE, version) };
        (0..5).filter(|&version| allowed.clone().observe(PAGE, stamp(version)).is_ok()).collect()
    }

    #[test]
    fn acknowledged_writes_last_and_a_write_in_flight_is_old_or_new() {
        let mut allowed = CrashOracle::new(3, 0);
        assert_eq!(versions(&allowed), [0]);
        done(&mut allowed, &[Operation::Write(EXTENT); 2]);
        assert_eq!(versions(&allowed), [2]);
        allowed.begin(Operation::Write(Extent { first: 0, pages: 3 }));
        assert_eq!(versions(&allowed), [2, 3]);
        assert!(allowed.clone().observe(PAGE, stamp(Lpn::new(2), 2)).is_err(), "someone else's");
    }

    #[test]
    fn a_trim_may_be_forgotten_until_a_flush_but_not_beyond_an_earlier_durable_one() {
        let mut allowed = CrashOracle::new(3, 0);
        done(&mut allowed, &[Operation::Write(EXTENT), Operation::Trim(EXTENT), Operation::Flush]);
        assert_eq!(versions(&allowed), [0]);
        done(&mut allowed, &[Operation::Write(EXTENT), Operation::Write(EXTENT)]);
        let mut trimming = allowed.clone();
        trimming.begin(Operation::Trim(EXTENT));
        assert_eq!(versions(&trimming), [0, 2, 3]);
        done(&mut allowed, &[Operation::Trim(EXTENT)]);
        assert_eq!(versions(&allowed), [0, 2, 3]);
        allowed.begin(Operation::Write(EXTENT));
        assert_eq!(versions(&allowed), [0, 2, 3, 4]);
    }

    #[test]
    fn what_was_observed_stays() {
        let mut allowed = CrashOracle::new(3, 0);
        done(&mut allowed, &[Operation::Write(EXTENT), Operation::Trim(EXTENT)]);
        let mut gone = allowed.clone();
        gone.observe(PAGE, 0).expect("allowed");
        assert_eq!(versions(&gone), [0]);
        allowed.observe(PAGE, stamp(PAGE, 1)).expect("a forgotten trim");
        assert_eq!(versions(&allowed), [1]);
    }

    #[test]
    fn a_buffered_write_is_old_or_new_until_a_flush() {
        let mut allowed = CrashOracle::new(3, 1);
        done(&mut allowed, &[Operation::Write(EXTENT)]);
        assert_eq!(versions(&allowed), [0, 1]);
        done(&mut allowed, &[Operation::Flush, Operation::Write(EXTENT), Operation::Write(EXTENT)]);
        assert_eq!(versions(&allowed), [1, 2, 3]);
        done(&mut allowed, &[Operation::Flush]);
        assert_eq!(versions(&allowed), [3]);
        done(&mut allowed, &[Operation::Trim(EXTENT), Operation::Write(EXTENT)]);
        assert_eq!(versions(&allowed), [0, 1, 2, 3, 4]);
        allowed.observe(PAGE, stamp(PAGE, 3)).expect("the last one flushed");
        assert_eq!(versions(&allowed), [3]);
    }

    #[test]
    fn no_more_pages_go_back_than_a_buffer_has_room_for() {
        let all = Extent { first: 0, pages: 3 };
        let mut allowed = CrashOracle::new(3, 2);
        done(&mut allowed, &[Operation::Write(all), Operation::Flush, Operation::Write(all)]);
        let found = |versions: [u32; 3]| {
            let mut allowed = allowed.clone();
            for (lpn, version) in all.lpns().zip(versions) {
                allowed.observe(lpn, stamp(lpn, version)).expect("old or new");
            }
            allowed.end_observation()
        };
        assert_eq!(found([1, 2, 1]), Ok(()));
        assert_eq!(found([1, 1, 1]), Err(WentBack { pages: 3, room: 2 }));
    }

    #[test]
    fn a_refused_write_has_been_done_or_not() {
        let mut allowed = CrashOracle::new(3, 2);
        done(&mut allowed, &[Operation::Write(EXTENT), Operation::Flush, Operation::Write(EXTENT)]);
        allowed.begin(Operation::Write(EXTENT));
        allowed.compare(PAGE, stamp(PAGE, 2)).expect("not done");
        assert!(allowed.clone().observe_refused(PAGE, stamp(PAGE, 1)).is_err(), "the power is on");
        allowed.observe_refused(PAGE, stamp(PAGE, 3)).expect("done");
        allowed.forget_request();
        assert_eq!(versions(&allowed), [1, 2, 3]);
    }
}
