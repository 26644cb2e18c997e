//! What was not in RAM when the rest of the pages was read that the write in hand covers in part.

use flash::Lpn;

/// Pages whose map entry or content was missing.
#[derive(Debug, Default)]
pub(super) struct NotInRam {
    pub(super) entries: Vec<Lpn>,
    pub(super) pages: Vec<Lpn>,
}

/// Takes a page out of a list; tells whether it was there.
#[inline]
pub(super) fn take(list: &mut Vec<Lpn>, lpn: Lpn) -> bool {
    !list.is_empty() && list.iter().position(|&other| other == lpn).map(|at| list.swap_remove(at)).is_some()
}
