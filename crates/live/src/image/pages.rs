//! What a store knows of every page without asking the file.

use std::ops::Range;

use flash::{Role, Tag};

use super::page_tags::{Body, Slot};

/// State of a page, one byte in RAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageState {
    Erased,
    /// Programmed with data.
    Data,
    /// Programmed without data: reads as zeros.
    Empty,
    /// Programmed with bytes of the translation layer's own: reads as zeros, too.
    Own,
    /// Programmed as lost: reads as an error.
    Lost,
    Torn,
    Unstable,
    Decayed,
}

/// What the store knows of every page without asking the file.
#[derive(Default)]
pub(super) struct Pages {
    pub(super) states: Vec<PageState>,
    pub(super) logicals: Vec<u32>,
    pub(super) versions: Vec<u64>,
    pub(super) data_crcs: Vec<u32>,
    /// How many are not erased.
    pub(super) touched: u64,
}

impl Pages {
    pub(super) fn erased(pages: usize) -> Self {
        Self {
            states: vec![PageState::Erased; pages],
            logicals: vec![0; pages],
            versions: vec![0; pages],
            data_crcs: vec![0; pages],
            touched: 0,
        }
    }

    pub(super) fn erase(&mut self, pages: Range<usize>) {
        let states = &mut self.states[pages];
        self.touched -= states.iter().filter(|&&state| state != PageState::Erased).count() as u64;
        states.fill(PageState::Erased);
    }

    pub(super) fn set(&mut self, page: usize, slot: Slot) {
        let was_erased = self.states[page] == PageState::Erased;
        let state = match slot {
            Slot::Erased => PageState::Erased,
            Slot::Unstable => PageState::Unstable,
            Slot::Torn => PageState::Torn,
            Slot::Programmed(Tag { role: Role::Lost, .. }, _) => PageState::Lost,
            Slot::Programmed(_, Body::None) => PageState::Empty,
            Slot::Programmed(_, Body::Data { .. }) => PageState::Data,
            Slot::Programmed(_, Body::Own { .. }) => PageState::Own,
        };
        self.states[page] = state;
        match (was_erased, state == PageState::Erased) {
            (true, false) => self.touched += 1,
            (false, true) => self.touched -= 1,
            _ => {}
        }
        if let Slot::Programmed(tag, body) = slot {
            self.logicals[page] = tag.logical;
            self.versions[page] = tag.version;
            self.data_crcs[page] = match body {
                Body::None => 0,
                Body::Data { crc } | Body::Own { crc, .. } => crc,
            };
        }
    }
}
