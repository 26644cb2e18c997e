//! Which pages of the log were moved to its end and have not been written since: one bit for each logical page.

use flash::Lpn;

/// The pages that have had a chance.
#[derive(Clone, Debug)]
pub struct SecondChanceBits {
    had: Vec<u64>,
}

impl SecondChanceBits {
    /// No page of a device has had one.
    pub fn new(logical_pages: u32) -> Self {
        Self { had: vec![0; (logical_pages as usize).div_ceil(64)] }
    }

    /// Whether a page has had its chance.
    #[inline]
    pub fn had(&self, lpn: Lpn) -> bool {
        let (word, bit) = Self::of(lpn);
        self.had[word] & bit != 0
    }

    /// A page was moved.
    pub fn moved(&mut self, lpn: Lpn) {
        let (word, bit) = Self::of(lpn);
        self.had[word] |= bit;
    }

    /// A page was written, or left the log: it has its chance anew. Tells whether it had been moved.
    #[inline]
    pub fn renewed(&mut self, lpn: Lpn) -> bool {
        let (word, bit) = Self::of(lpn);
        let had = self.had[word] & bit != 0;
        self.had[word] &= !bit;
        had
    }

    fn of(lpn: Lpn) -> (usize, u64) {
        (lpn.index() / 64, 1 << (lpn.index() % 64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_one_chance_until_it_is_written() {
        let mut chances = SecondChanceBits::new(70);
        for lpn in [0, 63, 64, 69].map(Lpn::new) {
            assert!(!chances.had(lpn) && !chances.renewed(lpn));
            chances.moved(lpn);
            assert!(chances.had(lpn));
        }
        assert!(chances.renewed(Lpn::new(64)) && !chances.had(Lpn::new(64)));
        assert!(chances.had(Lpn::new(63)) && !chances.renewed(Lpn::new(65)));
    }
}
