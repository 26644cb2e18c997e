//! The oracle: what each logical page holds, by the host's own account.
//!
//! The oracle knows the order of the host's writes and trims and nothing of flash. It keeps two
//! numbers a page: the newest version ever written, which survives trims so that stamps stay
//! unique, and the one that a read must return now.
//!
//! What every oracle can be asked is the trait [`Oracle`].
//!
//! Limits: 2³² − 1 versions of one page. All writes count as done when they are acknowledged; what
//! a power cut may undo is the business of `crash_oracle.rs`.

use std::collections::BTreeSet;
use std::fmt;

use flash::Lpn;

use crate::case::operation::{Effect, Operation};
use crate::stamp::{Stamp, page_of, stamp, version_of};

/// The last write of every logical page.
#[derive(Clone, Debug)]
pub struct ExactOracle {
    pages: Vec<Versions>,
    /// Pages of a request that failed half-way.
    doubtful: BTreeSet<Lpn>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Versions {
    /// The newest version ever written, 0 before the first.
    newest: u32,
    /// The version that a read returns, 0 for none.
    current: u32,
}

/// How a page's content is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Nature {
    /// Nothing came back although the page was written.
    Lost,
    /// An older version of the page came back, or one that has been trimmed.
    Stale,
    /// What came back was written to another page.
    Foreign,
    /// What came back is nothing that was ever written.
    NeverWritten,
}

/// A read that did not return the last write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The logical page that was read.
    pub lpn: Lpn,
    /// What it should hold.
    pub expected: Stamp,
    /// What came back.
    pub got: Stamp,
    /// How that is wrong.
    pub nature: Nature,
}

impl ExactOracle {
    /// An oracle of a device on which nothing is written.
    pub fn new(logical_pages: u32) -> Self {
        Self { pages: vec![Versions::default(); logical_pages as usize], doubtful: BTreeSet::new() }
    }

    /// Logical pages of the device.
    pub fn logical_pages(&self) -> u32 {
        self.pages.len() as u32
    }

    /// Records a write and returns the stamp to write.
    ///
    /// # Panics
    /// When the page lies beyond the device, or has been written 2³² − 1 times.
    pub fn stamp_for_write(&mut self, lpn: Lpn) -> Stamp {
        let page = &mut self.pages[lpn.index()];
        page.newest = page.newest.checked_add(1).expect("versions of one page end at 2^32 - 1");
        page.current = page.newest;
        stamp(lpn, page.current)
    }

    /// What a read must return: the stamp last written, 0 for a page never written or trimmed.
    ///
    /// # Panics
    /// When the page lies beyond the device.
    pub fn expected(&self, lpn: Lpn) -> Stamp {
        match self.pages[lpn.index()].current {
            0 => 0,
            version => stamp(lpn, version),
        }
    }

    /// Records that a page is trimmed.
    ///
    /// # Panics
    /// When the page lies beyond the device.
    pub fn trim(&mut self, lpn: Lpn) {
        self.pages[lpn.index()].current = 0;
    }

    /// A write or trim of a page was refused half-way: from now on it may hold what it held before
    /// as well, and since nothing older is kept here, any version of its own passes.
    pub fn mark_uncertain(&mut self, lpn: Lpn) {
        self.doubtful.insert(lpn);
    }

    /// Compares what a read returned with the last write.
    ///
    /// # Panics
    /// When the page lies beyond the device.
    pub fn compare(&self, lpn: Lpn, got: Stamp) -> Result<(), Mismatch> {
        let expected = self.expected(lpn);
        if got == expected {
            return Ok(());
        }
        let nature = self.nature(lpn, got);
        let is_own = matches!(nature, Nature::Stale | Nature::Lost);
        if is_own && self.doubtful.contains(&lpn) { Ok(()) } else { Err(Mismatch { lpn, expected, got, nature }) }
    }

    fn nature(&self, lpn: Lpn, got: Stamp) -> Nature {
        let (owner, version) = (page_of(got), version_of(got));
        let was_written = self.pages.get(owner as usize).is_some_and(|page| version >= 1 && version <= page.newest);
        match (got, was_written) {
            (0, _) => Nature::Lost,
            (_, false) => Nature::NeverWritten,
            _ if owner == lpn.get() => Nature::Stale,
            _ => Nature::Foreign,
        }
    }
}

impl Mismatch {
    /// What should be there, and what is.
    fn found(&self) -> String {
        let (lpn, got_page, got_version) = (self.lpn, page_of(self.got), version_of(self.got));
        let expected = match self.expected {
            0 => "be empty (never written, or trimmed)".to_owned(),
            expected => format!("hold version {}", version_of(expected)),
        };
        let got = match self.nature {
            Nature::Lost => "reads as empty".to_owned(),
            Nature::Stale => format!("holds version {got_version} of itself"),
            Nature::Foreign => format!("holds version {got_version} of LPN {got_page}"),
            Nature::NeverWritten => format!("holds {:#018x}", self.got),
        };
        format!("{lpn} should {expected}, but {got}")
    }

    /// The same of what was found when the power came back: what is missing went with the cut.
    pub(crate) fn after_cut(&self) -> String {
        let lost = match (self.nature, self.expected) {
            (Nature::Lost, _) => "the write",
            (Nature::Stale, 0) => "the trim",
            (Nature::Stale, expected) if version_of(self.got) < version_of(expected) => "the newer version",
            _ => return self.to_string(),
        };
        format!("{}: the power cut lost {lost}", self.found())
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.found())?;
        f.write_str(match self.nature {
            Nature::Lost => ": the write is lost",
            Nature::Stale => ": stale data",
            Nature::Foreign => ": another page's data",
            Nature::NeverWritten => ", which was never written",
        })
    }
}

impl std::error::Error for Mismatch {}

/// What a host knows of its pages.
pub trait Oracle {
    /// A request begins; returns the stamps of a write.
    fn begin(&mut self, operation: Operation) -> Vec<Stamp>;

    /// The request that began is acknowledged.
    fn acknowledge(&mut self);

    /// Compares what a read returned with what it must return now.
    fn compare(&self, lpn: Lpn, got: Stamp) -> Result<(), Mismatch>;
}

/// Where nothing fails, a request is as good as done when it begins.
impl Oracle for ExactOracle {
    fn begin(&mut self, operation: Operation) -> Vec<Stamp> {
        match operation.effect() {
            Effect::Writes(extent) => extent.lpns().map(|lpn| self.stamp_for_write(lpn)).collect(),
            Effect::Trims(extent) => {
                extent.lpns().for_each(|lpn| self.trim(lpn));
                Vec::new()
            }
            Effect::Reads(_) | Effect::MakesDurable | Effect::Nothing => Vec::new(),
        }
    }

    fn acknowledge(&mut self) {}

    fn compare(&self, lpn: Lpn, got: Stamp) -> Result<(), Mismatch> {
        ExactOracle::compare(self, lpn, got)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: Lpn = Lpn::new(3);

    fn wrong(oracle: &ExactOracle, got: Stamp) -> (Nature, String) {
        let mismatch = oracle.compare(PAGE, got).expect_err("wrong content");
        (mismatch.nature, mismatch.to_string())
    }

    #[test]
    fn the_last_write_is_right_and_everything_else_is_wrong_in_its_own_way() {
        let mut oracle = ExactOracle::new(5);
        let other = oracle.stamp_for_write(Lpn::new(0));
        let first = oracle.stamp_for_write(PAGE);
        let second = oracle.stamp_for_write(PAGE);
        oracle.compare(PAGE, second).expect("the last write");
        oracle.compare(Lpn::new(4), 0).expect("never written");
        for (got, nature, words) in [
            (0, Nature::Lost, "LPN 3 should hold version 2, but reads as empty"),
            (first, Nature::Stale, "holds version 1 of itself"),
            (other, Nature::Foreign, "holds version 1 of LPN 0"),
            (second + 1, Nature::NeverWritten, "0x0000000300000003, which was never written"),
            (PAGE.get().into(), Nature::NeverWritten, "never written"),
            (u64::MAX, Nature::NeverWritten, "never written"),
        ] {
            let (found, message) = wrong(&oracle, got);
            assert!(found == nature && message.contains(words), "{message}");
        }
    }

    #[test]
    fn a_trimmed_page_is_empty_and_its_stamps_stay_used() {
        let mut oracle = ExactOracle::new(5);
        let before = oracle.stamp_for_write(PAGE);
        oracle.trim(PAGE);
        assert_eq!(oracle.expected(PAGE), 0);
        oracle.compare(PAGE, 0).expect("trimmed");
        let (nature, message) = wrong(&oracle, before);
        assert!(nature == Nature::Stale && message.contains("should be empty"), "{message}");
        assert_ne!(oracle.stamp_for_write(PAGE), before);
    }
}
