//! What is counted of each type within an interval, and its end: from counts to degrees (equations
//! 7.2 to 7.11).

use serde::Serialize;

use crate::Parameters;
use crate::types::{FileType, TypeId};

/// What was found of one type at the end of an interval.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TypeReport {
    /// The type of file.
    pub file_type: FileType,
    /// Its number in hints, 1 to 255.
    pub number: u8,
    /// S of this interval: active files when it began.
    pub active: u64,
    /// S of the next interval: active files when this one ended.
    pub active_next: u64,
    /// ς: files newly accessed or created.
    pub accessed: u64,
    /// δ: files deleted.
    pub deleted: u64,
    /// ω: rewrites in the interval.
    pub rewrites: u64,
    /// φ: rewrites for each active file; 0 if S is 0.
    pub phi: f64,
    /// f of this interval: what φ was predicted to be.
    pub f: f64,
    /// f of the next interval: what φ is predicted to be.
    pub f_next: f64,
    /// s: the rate of increase of active files; infinite for a type that had none.
    pub s: f64,
    /// Whether |s| is above β.
    pub outlier: bool,
    /// C of the next interval: its degree, 0 to T.
    pub degree: u8,
}

/// The end of an interval.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// n: which interval ended, from 0.
    pub n: u64,
    /// Θ: types with an active file at its end, read-only files aside.
    pub theta: usize,
    /// Each type that was seen, by its number.
    pub types: Vec<TypeReport>,
}

/// What lasts of a type from one interval to the next.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rated {
    pub(crate) tally: Tally,
    pub(crate) f: f64,
    pub(crate) degree: u8,
}

/// Ends interval `n`: each type gets its f and its degree for the next one, and is counted anew.
pub(crate) fn end(n: u64, parameters: &Parameters, types: &[FileType], rated: &mut [Rated]) -> Interval {
    let predicted: Vec<f64> = rated.iter().map(|rated| rated.f).collect();
    for rated in &mut *rated {
        rated.f = parameters.alpha * rated.tally.phi() + (1.0 - parameters.alpha) * rated.f;
    }
    let is_sorted = |at: usize, rated: &Rated| at != TypeId::READ_ONLY.index() && rated.tally.active_next() > 0;
    let mut sorted: Vec<f64> =
        rated.iter().enumerate().filter(|&(at, rated)| is_sorted(at, rated)).map(|(_, rated)| rated.f).collect();
    sorted.sort_by(f64::total_cmp);
    let mut reports = Vec::with_capacity(types.len());
    for (at, (file_type, rated)) in types.iter().zip(rated).enumerate() {
        let tally = rated.tally;
        // Before the first interval there was no file, so all of them are new then and none stands
        // out.
        let outlier = n > 0 && at != TypeId::READ_ONLY.index() && tally.s().abs() > parameters.beta;
        rated.degree = match is_sorted(at, rated) {
            true if n == 0 => 0,
            true if outlier => parameters.degrees,
            true => degree(sorted.partition_point(|&f| f < rated.f), sorted.len(), parameters.degrees),
            false => 0,
        };
        reports.push(TypeReport {
            file_type: file_type.clone(),
            number: at as u8 + 1,
            active: tally.active,
            active_next: tally.active_next(),
            accessed: tally.accessed,
            deleted: tally.deleted,
            rewrites: tally.rewrites,
            phi: tally.phi(),
            f: predicted[at],
            f_next: rated.f,
            s: tally.s(),
            outlier,
            degree: rated.degree,
        });
        rated.tally = tally.next();
    }
    Interval { n, theta: sorted.len(), types: reports }
}

/// C of the type at position P of Θ (equation 7.11), rounded down.
fn degree(position: usize, theta: usize, degrees: u8) -> u8 {
    (position * usize::from(degrees) / theta) as u8
}

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
