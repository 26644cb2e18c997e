//! Pages of data that wait in the controller's RAM or registers.
//!
//! A scheme does not know what a page holds, so a buffer of pages cannot be the scheme's own: it
//! keeps handles, and the pages lie here, behind the same port as the flash. They live as long as
//! the port does: after a power cut there is a new one, and nothing here. What an access takes is
//! the scheme's to say, with [`FlashPort::spend`](crate::port::flash_port::FlashPort::spend).

/// A page in RAM, good until it is taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RamPage(u32);

impl RamPage {
    /// Its number: below the most pages that have been in RAM at once, and its own until it is
    /// taken out.
    pub fn slot(self) -> u32 {
        self.0
    }
}

/// The content of the pages that wait or are cached in RAM.
#[derive(Clone, Debug)]
pub struct RamPages<T> {
    pages: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for RamPages<T> {
    fn default() -> Self {
        Self { pages: Vec::new(), free: Vec::new() }
    }
}

impl<T> RamPages<T> {
    /// Stores a page's content and returns its handle.
    pub fn put(&mut self, data: T) -> RamPage {
        if let Some(free) = self.free.pop() {
            self.pages[free as usize] = Some(data);
            return RamPage(free);
        }
        self.pages.push(Some(data));
        RamPage(self.pages.len() as u32 - 1)
    }

    /// Gives a page another content.
    ///
    /// # Panics
    /// When it has been taken out: an error in the scheme's own source.
    pub fn replace(&mut self, page: RamPage, data: T) {
        match &mut self.pages[page.0 as usize] {
            Some(content) => *content = data,
            None => panic!("page {} was taken out of RAM before", page.0),
        }
    }

    /// What a page holds.
    ///
    /// # Panics
    /// When it has been taken out: an error in the scheme's own source.
    pub fn get(&self, page: RamPage) -> &T {
        match &self.pages[page.0 as usize] {
            Some(data) => data,
            None => panic!("page {} was taken out of RAM before", page.0),
        }
    }

    /// Takes a page out.
    ///
    /// # Panics
    /// When it has been taken out before: an error in the scheme's own source.
    pub fn take(&mut self, page: RamPage) -> T {
        let data = self.pages[page.0 as usize].take();
        self.free.push(page.0);
        data.unwrap_or_else(|| panic!("page {} was taken out of RAM before", page.0))
    }

    /// How many pages are stored.
    pub fn pages(&self) -> usize {
        self.pages.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_stay_until_they_are_taken_out_and_their_room_is_used_again() {
        let mut ram = RamPages::default();
        let (first, second) = (ram.put("a"), ram.put("b"));
        assert_eq!((ram.pages(), *ram.get(first), *ram.get(second)), (2, "a", "b"));
        assert_eq!(ram.take(first), "a");
        let third = ram.put("c");
        assert_eq!((ram.pages(), third, *ram.get(third), *ram.get(second)), (2, first, "c", "b"));
        ram.replace(second, "d");
        assert_eq!((ram.pages(), second.slot(), *ram.get(third), *ram.get(second)), (2, 1, "c", "d"));
    }

    #[test]
    #[should_panic(expected = "taken out of RAM before")]
    fn a_page_is_taken_out_once() {
        let mut ram = RamPages::default();
        let page = ram.put(());
        ram.take(page);
        ram.take(page);
    }
}
