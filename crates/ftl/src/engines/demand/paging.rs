//! Which translation page an entry of the map is in, and where there.
//!
//! Every access to the map asks this several times, so the division is strength-reduced once.

use flash::Lpn;
use strength_reduce::StrengthReducedU32;

/// Entries of a translation page, by which logical pages are divided.
#[derive(Clone, Copy, Debug)]
pub struct Paging(StrengthReducedU32);

impl Paging {
    /// With so many entries, at least one, in a translation page.
    pub fn new(entries_per_page: u32) -> Self {
        Self(StrengthReducedU32::new(entries_per_page))
    }

    /// Entries of a translation page.
    #[inline]
    pub fn entries_per_page(self) -> u32 {
        self.0.get()
    }

    /// The translation page of an entry.
    #[inline]
    pub fn page_of(self, lpn: Lpn) -> u32 {
        lpn.get() / self.0
    }

    /// The translation page of an entry, and the entry's offset there.
    #[inline]
    pub fn split(self, lpn: Lpn) -> (u32, u32) {
        StrengthReducedU32::div_rem(lpn.get(), self.0)
    }

    /// The entry at an offset of a translation page.
    #[inline]
    pub fn entry_at(self, page: u32, offset: u32) -> Lpn {
        Lpn::new(page * self.0.get() + offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_found_where_it_was_split() {
        for per_page in [1, 64, 96, 1024] {
            let paging = Paging::new(per_page);
            for lpn in [0, 63, 64, 95, 96, 1023, 1024, u32::MAX - 1].map(Lpn::new) {
                let (page, offset) = paging.split(lpn);
                assert_eq!((page, offset), (lpn.get() / per_page, lpn.get() % per_page), "{lpn} by {per_page}");
                assert_eq!((paging.page_of(lpn), paging.entry_at(page, offset)), (page, lpn));
            }
        }
    }
}
