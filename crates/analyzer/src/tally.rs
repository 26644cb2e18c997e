//! What is counted of one type of file within an interval.

/// Counts of a type. S, which lasts, and ς, δ and ω of the interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// S: active files when the interval began.
    pub(crate) active: u64,
    /// ς: files that were created, or accessed for the first time, in the interval.
    pub(crate) accessed: u64,
    /// δ: active files that were deleted in the interval, or became files of another type.
    pub(crate) deleted: u64,
    /// ω: rewrites in the interval.
    pub(crate) rewrites: u64,
}

impl Tally {
    /// S of the next interval (equation 7.2). It is never negative: each file is accessed before it
    /// is deleted.
    pub(crate) fn active_next(self) -> u64 {
        self.active + self.accessed - self.deleted
    }

    /// φ: rewrites of the interval for each active file (equation 7.7); 0 where there was none.
    pub(crate) fn phi(self) -> f64 {
        if self.active == 0 { 0.0 } else { self.rewrites as f64 / self.active as f64 }
    }

    /// s: by what share the active files increased (equation 7.4); infinite where there was none
    /// before.
    pub(crate) fn s(self) -> f64 {
        let increment = self.accessed as f64 - self.deleted as f64;
        if increment == 0.0 { 0.0 } else { increment / self.active as f64 }
    }

    /// The counts of the next interval.
    pub(crate) fn next(self) -> Self {
        Self { active: self.active_next(), ..Self::default() }
    }
}
