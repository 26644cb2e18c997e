//! The canary's write buffer, and the bugs that one can have.
//!
//! Pages wait in the order in which they came, of each logical page the newest. When one comes for
//! which there is no room, all are written. What wait are the host's own pages, so their programs
//! are charged to the host, whenever they are done.

use flash::{Lpn, PageData, Role};
use ftl::{AnyDevice, Buffered, FlashPort, FtlError, Request};

use super::{Bug, Canary, label};
use crate::stamp::Stamp;

impl Canary {
    /// What waits of a logical page.
    pub(super) fn waiting_version(&self, lpn: Lpn) -> Option<Stamp> {
        self.waiting.iter().find(|(waiting, _)| *waiting == lpn).map(|&(_, stamp)| stamp)
    }

    /// Has the pages of a write wait.
    pub(super) fn buffer(
        &mut self,
        flash: &mut FlashPort<AnyDevice>,
        request: &Request,
        data: &[PageData],
    ) -> Result<(), FtlError> {
        for (i, lpn) in request.lpns() {
            self.waiting.retain(|&(waiting, _)| waiting != lpn);
            if self.waiting.len() == self.room {
                self.write_down(flash, 0)?;
            }
            self.waiting.push((lpn, data[i].number()));
        }
        Ok(())
    }

    /// Writes what waits, but for this many pages that came last.
    pub(super) fn write_down(&mut self, flash: &mut FlashPort<AnyDevice>, spared: usize) -> Result<(), FtlError> {
        let until = self.waiting.len().saturating_sub(spared);
        for (lpn, stamp) in self.waiting.drain(..until).collect::<Vec<_>>() {
            let to = self.place(flash)?;
            flash.program(to, label(lpn.get(), Role::Data), stamp.into())?;
            self.map(lpn, Some(to));
        }
        Ok(())
    }

    /// What it says of its buffer.
    pub(super) fn declared(&self) -> Buffered {
        let (room, pages) = (self.room as u32, self.waiting.len() as u32);
        match self.bug {
            Bug::UndeclaredBuffer => Buffered::default(),
            Bug::UnderstatedBuffer => Buffered { capacity_pages: 1, pages: pages.min(1), clean_pages: 0 },
            _ => Buffered { capacity_pages: room, pages, clean_pages: 0 },
        }
    }
}
