//! The rule of what each logical page may hold after a power cut: of the flash, of a live device's
//! server, or of its host. They differ in what an acknowledged write may lose until a flush:
//! nothing, as many pages as a buffer has room for, or everything.
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
//! - **trimmed and flushed**: nothing, unless the device was read-only: its flush keeps no trims.
//!
//! A trim frees the page's newest copy at once, so that a collection may erase it before an older
//! copy. To keep it until the flush would need room for data that nobody wants. So a forgotten trim
//! may show any version since the last durable trim.
//!
//! What recovery then shows is the truth from there on: it must not change without the host's
//! doing, whatever happens to the power. If the host of an image itself loses power, that begins
//! with its next flush. Pages of one request are judged one by one. No more pages may have gone
//! back to an older version than a scheme's buffer has room for, which is none for a scheme without
//! one.

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
pub struct WentBack {
    /// Pages in an older version.
    pub pages: u32,
    /// Pages that can have waited.
    pub room: u32,
}

/// What the request in flight would make of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Intent {
    Write(u32),
    Trim,
}

/// The accounts of all pages, and the request in flight.
#[derive(Clone, Debug)]
pub struct CrashOracle {
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
    pub fn new(logical_pages: u32, buffer_pages: u32) -> Self {
        let nothing = Account { low: 1, may_be_empty: true, floor: 1, ..Account::default() };
        Self { pages: vec![nothing; logical_pages as usize], in_flight: None, buffer_pages, gone_back: 0 }
    }

    /// Logical pages of the device.
    pub fn logical_pages(&self) -> u32 {
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

    /// From now on acknowledged writes may leave this many pages in RAM until a flush.
    pub fn set_buffer(&mut self, buffer_pages: u32) {
        self.buffer_pages = buffer_pages;
    }

    /// Whether a page may hold something after a cut.
    pub fn may_hold(&self, lpn: Lpn, got: Stamp) -> Result<(), Mismatch> {
        let is_own = got == 0 || page_of(got) == lpn.get();
        let is_allowed = is_own && self.pages[lpn.index()].allows(version_of(got), self.intent(lpn));
        if is_allowed { Ok(()) } else { Err(self.mismatch(lpn, got)) }
    }

    /// After a cut: what was found must be allowed, and is the truth from now on.
    pub fn observe(&mut self, lpn: Lpn, got: Stamp) -> Result<(), Mismatch> {
        self.may_hold(lpn, got)?;
        let version = version_of(got);
        let is_in_flight = self.intent(lpn).is_some();
        let page = &mut self.pages[lpn.index()];
        self.gone_back += u32::from(page.current != 0 && page.current != version && !is_in_flight);
        page.current = version;
        page.settle();
        Ok(())
    }

    /// All pages have been observed: those that have gone back must be so few that they can have
    /// waited in the scheme's buffer.
    pub fn end_observation(&mut self) -> Result<(), WentBack> {
        self.in_flight = None;
        let (gone_back, room) = (std::mem::take(&mut self.gone_back), self.buffer_pages);
        if gone_back <= room { Ok(()) } else { Err(WentBack { pages: gone_back, room }) }
    }

    /// While the power is on: a page of a refused request holds what it held before, or what the
    /// request was to make of it.
    pub fn observe_refused(&mut self, lpn: Lpn, got: Stamp) -> Result<(), Mismatch> {
        let (lasts, before, intent) = (self.buffer_pages == 0, self.right(lpn), self.intent(lpn));
        let page = &mut self.pages[lpn.index()];
        match intent {
            _ if got == before => {}
            Some(Intent::Write(new)) if got == stamp(lpn, new) => page.write(lasts),
            Some(Intent::Trim) if got == 0 => page.trim(),
            _ => return Err(self.mismatch(lpn, got)),
        }
        Ok(())
    }

    /// The host was shown something, and it lasts from the next flush on, as a write does.
    pub fn show(&mut self, lpn: Lpn, got: Stamp) {
        let (page, version) = (&mut self.pages[lpn.index()], version_of(got));
        page.current = version;
        if version == 0 {
            page.may_be_empty = true;
        } else {
            (page.low, page.high) = (page.low.min(version), page.high.max(version));
        }
    }

    /// Nobody was told what became of the request in flight. As long as nothing is shown, its pages
    /// hold the new content, the old one, or what a trim leaves.
    pub fn interrupt(&mut self) {
        match self.in_flight.take().map(|operation| operation.effect()) {
            Some(Effect::Writes(extent)) => self.each(extent, |page| page.write(false)),
            Some(Effect::Trims(extent)) => self.each(extent, Account::trim),
            _ => {}
        }
    }

    /// A read-only device acknowledged the flush in flight: writes last, and trims may be forgotten
    /// all the same.
    pub fn acknowledge_read_only_flush(&mut self) {
        self.in_flight = None;
        self.pages.iter_mut().filter(|page| page.current != 0).for_each(Account::settle);
    }

    /// The request in flight was refused, and what became of its pages is known.
    pub fn forget_request(&mut self) {
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
    fn a_forgotten_trim_shows_any_version_up_to_the_one_that_was_there() {
        let mut allowed = CrashOracle::new(3, 1);
        done(&mut allowed, &[Operation::Write(EXTENT), Operation::Flush, Operation::Write(EXTENT), Operation::Flush]);
        done(&mut allowed, &[Operation::Write(EXTENT)]);
        allowed.observe(PAGE, stamp(PAGE, 2)).expect("the buffer was lost");
        done(&mut allowed, &[Operation::Trim(EXTENT)]);
        assert_eq!(versions(&allowed), [0, 1, 2], "version 3 was lost before the trim");
    }

    #[test]
    fn a_flush_of_a_read_only_device_keeps_writes_and_no_trim() {
        let mut allowed = CrashOracle::new(3, 1);
        done(&mut allowed, &[Operation::Write(EXTENT), Operation::Flush, Operation::Write(EXTENT)]);
        let mut trimmed = allowed.clone();
        done(&mut trimmed, &[Operation::Trim(EXTENT)]);
        for (mut allowed, may_hold) in [(allowed, vec![2]), (trimmed, vec![0, 1, 2])] {
            allowed.begin(Operation::Flush);
            allowed.acknowledge_read_only_flush();
            assert_eq!(versions(&allowed), may_hold);
        }
    }

    #[test]
    fn what_a_host_was_shown_lasts_from_its_next_flush() {
        let mut host = CrashOracle::new(3, u32::MAX);
        done(&mut host, &[Operation::Write(EXTENT), Operation::Flush]);
        done(&mut host, &[Operation::Write(EXTENT), Operation::Trim(EXTENT)]);
        for shown in [0, 1, 2] {
            let mut host = host.clone();
            host.show(PAGE, if shown == 0 { 0 } else { stamp(PAGE, shown) });
            assert_eq!(versions(&host), [0, 1, 2]);
            done(&mut host, &[Operation::Flush]);
            assert_eq!(versions(&host), [shown]);
        }
    }

    #[test]
    fn a_request_whose_end_nobody_knows_has_been_done_or_not() {
        let mut host = CrashOracle::new(3, u32::MAX);
        done(&mut host, &[Operation::Write(EXTENT), Operation::Flush]);
        for (operation, may_hold) in [(Operation::Write(EXTENT), [1, 2]), (Operation::Trim(EXTENT), [0, 1])] {
            let mut host = host.clone();
            host.begin(operation);
            host.interrupt();
            assert_eq!(versions(&host), may_hold);
        }
    }

    #[test]
    fn a_refused_trim_has_been_done_or_not() {
        let mut allowed = CrashOracle::new(3, 0);
        done(&mut allowed, &[Operation::Write(EXTENT); 2]);
        allowed.begin(Operation::Trim(EXTENT));
        assert!(allowed.clone().observe_refused(PAGE, stamp(PAGE, 1)).is_err(), "the power is on");
        for (shown, may_hold) in [(stamp(PAGE, 2), vec![2]), (0, vec![0, 1, 2])] {
            let mut allowed = allowed.clone();
            allowed.observe_refused(PAGE, shown).expect("done or not");
            allowed.forget_request();
            assert_eq!(versions(&allowed), may_hold);
        }
    }

    #[test]
    fn a_refused_write_has_been_done_or_not() {
        let mut allowed = CrashOracle::new(3, 2);
        done(&mut allowed, &[Operation::Write(EXTENT), Operation::Flush, Operation::Write(EXTENT)]);
        allowed.begin(Operation::Write(EXTENT));
        allowed.observe_refused(PAGE, stamp(PAGE, 2)).expect("not done");
        assert!(allowed.clone().observe_refused(PAGE, stamp(PAGE, 1)).is_err(), "the power is on");
        allowed.observe_refused(PAGE, stamp(PAGE, 3)).expect("done");
        allowed.forget_request();
        assert_eq!(versions(&allowed), [1, 2, 3]);
    }
}
