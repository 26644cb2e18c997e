//! Who wrote what, where streams of the host or classes of a classifier are kept apart: the pages
//! that the host wrote under each class, moves of these pages, and erased blocks.
//!
//! A page is of the class under which the host wrote it last, wherever collections take it. A move
//! counts for the class of the host's page in hand, or of the last one: its write needed the room.
//!
//! Limit: a power cut forgets classes. Pages from before it count as of the first one.

use flash::Lpn;

use crate::api::layout::Layout;
use crate::api::report::ClassCounts;
use crate::api::wear::Purpose;
use crate::engines::page_map::needs::ClassNeeds;

/// Counts by class.
#[derive(Clone, Debug)]
pub(super) struct ByClass {
    counts: Vec<ClassCounts>,
    /// The class of each logical page.
    written_under: Vec<u8>,
    /// The class of the host's page in hand.
    writer: usize,
}

impl ByClass {
    /// Of a space whose streams have these classes; none where nothing is kept apart.
    pub(super) fn new(
        needs: &ClassNeeds,
        class_of: &[Option<usize>],
        streams: &[Purpose],
        layout: &Layout,
    ) -> Option<Box<Self>> {
        let classes = class_of.iter().flatten().max().filter(|_| needs.are_counted)? + 1;
        let mut counts = vec![ClassCounts { moved_for: vec![0; classes], ..ClassCounts::default() }; classes];
        for (class, purpose) in class_of.iter().zip(streams).filter_map(|(class, purpose)| Some(((*class)?, purpose))) {
            counts[class].is_collected = *purpose == Purpose::Collected;
        }
        Some(Box::new(Self { counts, written_under: vec![0; layout.logical_pages as usize], writer: 0 }))
    }

    /// The host writes a page of a class; next, blocks may be collected for it.
    pub(super) fn on_host_write(&mut self, lpn: u32, class: usize) {
        self.writer = class;
        self.counts[class].host_pages += 1;
        self.written_under[lpn as usize] = class as u8;
    }

    /// Data pages were moved.
    pub(super) fn count_moved(&mut self, lpns: &[Lpn]) {
        for lpn in lpns {
            let class = usize::from(self.written_under[lpn.index()]);
            self.counts[class].moved_for[self.writer] += 1;
        }
    }

    /// A block of a class is emptied, and is erased next.
    pub(super) fn count_emptied(&mut self, class: usize) {
        self.counts[class].erased_blocks += 1;
    }

    /// The counts, by class.
    pub(super) fn counts(&self) -> &[ClassCounts] {
        &self.counts
    }
}
