//! The write buffer: pages that wait in RAM until there are enough to be sorted by logical page.
//!
//! Of each logical page one version waits, the newest. Room that pages leave is free when they have
//! been programmed, so a page that comes waits for that. A power cut takes all of it.

use std::collections::{BTreeMap, VecDeque};

use flash::Lpn;
use host::Hint;

use crate::api::layout::Layout;
use crate::api::parameter::{Kind, Parameter, Values};
use crate::port::device::Device;
use crate::port::error::ConfigError;
use crate::port::flash_port::{FlashPort, PendingEnd};
use crate::port::ram_pages::RamPage;
use crate::port::tally::Note;
use crate::port::timing::Nanos;

/// Size and speed of the buffer, and whether it sorts.
pub(super) const PARAMETERS: [Parameter; 3] = [
    Parameter {
        name: "ram",
        kind: Kind::Bytes { min: 512, max: 1 << 40, scales: false },
        default: "8MiB",
        meaning: "RAM for pages that wait to be sorted and written; more makes longer segments, and loses more in a \
                  power cut. What exceeds the device is not used.",
        source: "Sun 2023",
    },
    Parameter {
        name: "access_delay",
        kind: Kind::Duration { min: 0, max: 1_000_000 },
        default: "2us",
        meaning: "Time to read or write a page in RAM; 0 counts it as nothing beside flash.",
        source: "Wang 2013 6.5 (a page of 2 KiB)",
    },
    Parameter {
        name: "sort",
        kind: Kind::Switch,
        default: "true",
        meaning: "Sort pages by logical page before they are written, by the host or by a collection; false keeps the \
                  order in which they came.",
        source: "Sun 2023 (true)",
    },
];

/// A page that waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaitingPage {
    /// Its logical page.
    pub(super) lpn: Lpn,
    /// The handle of its content.
    pub(super) page: RamPage,
    /// What the host said of it.
    pub(super) hint: Hint,
    /// Pages that had come before it.
    arrival: u64,
}

/// The pages that wait.
#[derive(Debug)]
pub(super) struct SortedBuffer {
    waiting: BTreeMap<Lpn, WaitingPage>,
    /// When pages that left will have been programmed, the first to leave in front: one per page of
    /// room that is not free yet.
    leaving: VecDeque<PendingEnd>,
    room: u32,
    delay: Nanos,
    sorts: bool,
    arrivals: u64,
}

impl SortedBuffer {
    /// The empty buffer that [`PARAMETERS`] ask for.
    pub(super) fn from_values(scheme: &str, layout: &Layout, values: &Values) -> Result<Self, ConfigError> {
        let (bytes, page) = (values.integer("ram"), layout.geometry.page_size_bytes());
        let room = (bytes / u64::from(page)).min(layout.logical_pages.into()) as u32;
        if room == 0 {
            return Err(ConfigError(format!(
                "{scheme}.ram = {bytes}: pages of the device have {page} B, so not one has room; give at least {page}"
            )));
        }
        Ok(Self {
            waiting: BTreeMap::new(),
            leaving: VecDeque::new(),
            room,
            delay: Nanos(values.integer("access_delay")),
            sorts: values.switch("sort"),
            arrivals: 0,
        })
    }

    /// Pages for which there is room.
    pub(super) fn room(&self) -> u32 {
        self.room
    }

    /// Whether pages are sorted before they are written.
    pub(super) fn sorts(&self) -> bool {
        self.sorts
    }

    /// How many pages wait.
    pub(super) fn pages(&self) -> usize {
        self.waiting.len()
    }

    /// Whether a page that does not wait has to see others leave first.
    pub(super) fn is_full(&self) -> bool {
        self.waiting.len() >= self.room as usize
    }

    /// What an access to a page takes.
    pub(super) fn delay(&self) -> Nanos {
        self.delay
    }

    /// The version of a logical page that waits.
    #[inline]
    pub(super) fn find(&self, lpn: Lpn) -> Option<RamPage> {
        self.waiting.get(&lpn).map(|waiting| waiting.page)
    }

    /// A page has come, and waits from now on; it waits itself until there is room for it.
    pub(super) fn accept<D: Device>(&mut self, flash: &mut FlashPort<D>, (lpn, hint): (Lpn, Hint), data: D::Data) {
        if let Some(waiting) = self.waiting.get_mut(&lpn) {
            flash.ram_mut().replace(waiting.page, data);
            waiting.hint = hint;
            flash.note_buffer_write(lpn, true);
            flash.note(Note::AbsorbedPage);
        } else {
            while self.waiting.len() + self.leaving.len() >= self.room as usize
                && let Some(written) = self.leaving.pop_front()
            {
                flash.wait_for(written);
            }
            debug_assert!(!self.is_full(), "{lpn} comes, and there is no room");
            flash.note_buffer_write(lpn, false);
            self.arrivals += 1;
            let page = flash.ram_mut().put(data);
            self.waiting.insert(lpn, WaitingPage { lpn, page, hint, arrival: self.arrivals });
        }
        flash.spend(self.delay);
    }

    /// A page is trimmed.
    pub(super) fn forget<D: Device>(&mut self, flash: &mut FlashPort<D>, lpn: Lpn) {
        if let Some(waiting) = self.waiting.remove(&lpn) {
            flash.ram_mut().take(waiting.page);
            flash.note(Note::AbsorbedPage);
        }
    }

    /// The pages that wait, in the order in which they are written.
    pub(super) fn in_order(&self) -> Vec<WaitingPage> {
        let mut pages: Vec<_> = self.waiting.values().copied().collect();
        if !self.sorts {
            pages.sort_unstable_by_key(|page| page.arrival);
        }
        pages
    }

    /// A page has been programmed, or will have been at the end of what is in hand.
    pub(super) fn on_written<D: Device>(&mut self, flash: &mut FlashPort<D>, lpn: Lpn) {
        if let Some(waiting) = self.waiting.remove(&lpn) {
            flash.ram_mut().take(waiting.page);
            self.leaving.push_back(flash.awaited());
        }
    }

    /// What is wrong with it, if anything is.
    pub(super) fn fault(&self, in_ram: usize) -> Option<String> {
        let (waiting, leaving) = (self.waiting.len(), self.leaving.len());
        (waiting != in_ram || waiting + leaving > self.room as usize)
            .then(|| format!("{waiting} pages wait, {leaving} leave, and RAM has {in_ram} and room for {}", self.room))
    }
}
