//! The canary's map on flash: its translation pages.
//!
//! A flush writes the translation page of every logical page that was trimmed since the last one,
//! and of no other. So an entry may be older than the data of its page; `recovery.rs` knows when.

use flash::{Lpn, Ppn, Role};
use ftl::{Device, FlashPort, FtlError};

use super::map_page::ENTRIES_PER_PAGE;
use super::{Canary, Life, label};
use crate::Stamp;

impl Canary {
    /// Writes down which pages are trimmed.
    pub(super) fn write_trims_down<D: Device<Data = Stamp>>(
        &mut self,
        flash: &mut FlashPort<D>,
    ) -> Result<(), FtlError> {
        for page in 0..self.directory.len() as u32 {
            if self.pages_of(page).any(|lpn| self.life[lpn.index()] == Life::Pending) {
                let to = self.place(flash)?;
                // Making room may have moved what the entries say.
                flash.program(to, label(page, Role::Translation), self.content(page))?;
                self.relocate(page, to);
                for lpn in self.pages_of(page) {
                    if self.life[lpn.index()] == Life::Pending {
                        self.map(lpn, None);
                    }
                }
            }
        }
        Ok(())
    }

    /// A translation page lies elsewhere now.
    pub(super) fn relocate(&mut self, page: u32, to: Ppn) {
        if let Some(old) = self.directory[page as usize].replace(to) {
            self.valid[old.index()] = false;
        }
        self.valid[to.index()] = true;
    }

    fn pages_of(&self, page: u32) -> impl Iterator<Item = Lpn> + use<> {
        let pages = self.map.len() as u32;
        (page * ENTRIES_PER_PAGE..pages.min((page + 1) * ENTRIES_PER_PAGE)).map(Lpn::new)
    }

    fn content(&self, page: u32) -> Stamp {
        let word = |lpn: Lpn| match (self.life[lpn.index()], self.map[lpn.index()]) {
            (Life::Live, Some(ppn)) => u64::from(ppn.get()) + 1,
            _ => 0,
        };
        (0..).zip(self.pages_of(page)).map(|(place, lpn)| word(lpn) << (32 * place)).sum()
    }
}
