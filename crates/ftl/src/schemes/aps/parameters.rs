//! What aps may be told, and what that makes.

use crate::api::layout::Layout;
use crate::api::parameter::{Kind, Parameter, Values};
use crate::engines::shared_ram::policy;

/// An entry as a controller stores it: LPN and PPN.
pub(super) const ENTRY_BYTES: u64 = 8;

/// The parameters of its own.
pub(super) const PARAMETERS: [Parameter; 4] = [
    Parameter {
        name: "interval",
        kind: Kind::Integer { min: 1, max: 1_000_000_000 },
        default: "1000",
        meaning: "Requests between judgements of the border.",
        source: "Wang 2013 6.5.1; Shim 2010",
    },
    Parameter {
        name: "step",
        kind: Kind::Ratio { min: 0.0, max: 0.5 },
        default: "0.01",
        meaning: "Share of the RAM by which the border moves, and for which there are ghosts, but at least a flash \
                  page; 0 leaves the border in the middle.",
        source: "ftlkit",
    },
    Parameter {
        name: "read_cost",
        kind: Kind::Duration { min: 0, max: 1_000_000_000 },
        default: "25us",
        meaning: "What a flash read counts when the border is judged.",
        source: "Wang 2013 tab. 6.1",
    },
    Parameter {
        name: "program_cost",
        kind: Kind::Duration { min: 0, max: 1_000_000_000 },
        default: "200us",
        meaning: "What a flash program counts when the border is judged.",
        source: "Wang 2013 tab. 6.1",
    },
];

/// Bytes of RAM, and what has room there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) ram: u64,
    pub(super) page: u64,
    pub(super) step: u64,
    /// Entries that there can be.
    pub(super) most_entries: u64,
    /// Data pages that there can be.
    pub(super) most_pages: u64,
}

impl Sizes {
    pub(super) fn of(layout: &Layout, values: &Values) -> Self {
        let (ram, page) = (values.integer(policy::RAM.name), u64::from(layout.geometry.page_size_bytes()));
        let (logical_pages, step) = (u64::from(layout.logical_pages), values.ratio("step"));
        Self {
            ram,
            page,
            // A smaller one has no room for a ghost of the data, and yet a page in the tail.
            step: if step > 0.0 { page.max((ram as f64 * step) as u64) } else { 0 },
            most_entries: (ram / ENTRY_BYTES).min(logical_pages),
            most_pages: (ram.saturating_sub(page) / page).min(logical_pages),
        }
    }

    /// Ghosts of entries and of data pages, for which a step would have room, and what leaves for
    /// the one that comes.
    pub(super) fn ghosts(&self) -> [usize; 2] {
        [(ENTRY_BYTES, self.most_entries), (self.page, self.most_pages)]
            .map(|(bytes, most)| (self.step / bytes).min(most) as usize + 1)
    }

    /// Entries and data pages that a step has room for.
    pub(super) fn tails(&self) -> [usize; 2] {
        [self.step.div_ceil(ENTRY_BYTES) as usize, self.step.div_ceil(self.page) as usize]
    }

    /// Bytes of the RAM that the device's data pages and entries can take.
    pub(super) fn used(&self) -> u64 {
        self.ram.min((self.most_pages + 1) * self.page + self.most_entries * ENTRY_BYTES)
    }
}
