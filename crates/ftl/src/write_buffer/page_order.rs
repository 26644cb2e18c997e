//! The order in which single pages leave a buffer: the first to leave in front, whoever comes or is
//! used again behind.

use flash::Lpn;

use crate::memory::linked_lists::LinkedLists;
use crate::write_buffer::policy::{Held, Victim};

const QUEUE: u32 = 0;

/// Pages that wait, one behind the other.
#[derive(Clone, Debug)]
pub struct PageOrder {
    queue: LinkedLists,
    /// Which page lies in each slot.
    lpns: Vec<Lpn>,
    pages: u32,
}

impl PageOrder {
    /// No pages, where there is room for so many.
    pub fn new(room: u32) -> Self {
        Self { queue: LinkedLists::new(room as usize, 1), lpns: vec![Lpn::new(0); room as usize], pages: 0 }
    }

    /// A page comes, and is the last to leave.
    pub fn enter(&mut self, page: Held) {
        self.lpns[page.slot as usize] = page.lpn;
        self.queue.push_back(QUEUE, page.slot);
        self.pages += 1;
    }

    /// A page was used, and is the last to leave again.
    pub fn touch(&mut self, page: Held) {
        self.queue.move_back(QUEUE, page.slot);
    }

    /// A page waits no more.
    pub fn leave(&mut self, page: Held) {
        self.queue.remove(page.slot);
        self.pages -= 1;
    }

    /// The page in front; the first of the device if there is none.
    pub fn front(&self) -> Victim {
        Victim::Page(self.queue.front(QUEUE).map_or(Lpn::new(0), |slot| self.lpns[slot as usize]))
    }

    /// Pages that wait.
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// What it takes in RAM: two links and the page's number for each page that there is room for.
    pub fn bytes(&self) -> u64 {
        12 * self.lpns.len() as u64
    }
}
