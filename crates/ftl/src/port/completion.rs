//! The rests of pages that the write in hand covers in part, since they were read.

use flash::Lpn;

use crate::port::timing::Moment;

/// When the rest of each such page comes, and whose map entry or content was not in RAM.
#[derive(Debug)]
pub(super) struct Completion {
    /// When the reads began.
    pub(super) begin: Moment,
    /// Pages that have not been programmed since, each with the end of its read.
    pub(super) rests: Vec<(Lpn, Moment)>,
    pub(super) missing_entries: Vec<Lpn>,
    pub(super) missing_pages: Vec<Lpn>,
}

impl Completion {
    pub(super) const NONE: Self =
        Self { begin: Moment::ZERO, rests: Vec::new(), missing_entries: Vec::new(), missing_pages: Vec::new() };
}

/// Takes a page out of a list; tells whether it was there.
#[inline]
pub(super) fn take(list: &mut Vec<Lpn>, lpn: Lpn) -> bool {
    !list.is_empty() && list.iter().position(|&other| other == lpn).map(|at| list.swap_remove(at)).is_some()
}
