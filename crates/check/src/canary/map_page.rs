//! What a translation page of the canary holds: two map entries, since that is what fits into a
//! stamp.

use flash::Ppn;

use crate::Stamp;

/// Map entries in a translation page: 32 bits each, the page number plus one, or zero for none.
pub(super) const ENTRIES_PER_PAGE: u32 = 2;

/// The translation page of a logical page.
pub(super) fn page_of(lpn: u32) -> u32 {
    lpn / ENTRIES_PER_PAGE
}

/// The entries of a translation page.
pub(super) fn entries(page: u32, content: Stamp) -> impl Iterator<Item = (u32, Option<Ppn>)> {
    (0..ENTRIES_PER_PAGE).map(move |place| {
        let word = (content >> (32 * place)) as u32;
        (page * ENTRIES_PER_PAGE + place, word.checked_sub(1).map(Ppn::new))
    })
}
