//! Who wrote what, where streams of the host or classes of a classifier are kept apart: the pages
//! that the host wrote under each class, moves of these pages, and erased blocks.
//!
//! A page is of the class under which the host wrote it last, wherever collections take it. A move
//! counts for the class of the host's page in hand, or of the last one: its write needed the room.
//!
//! Limit: a power cut forgets classes. Pages from before it count as of the first one.

use flash::{Lpn, Pbn, Role};

use super::{PageSpace, SpaceNeeds, Stream};
use crate::api::layout::Layout;
use crate::api::report::ClassCounts;
use crate::api::wear::Purpose;
use crate::port::label::Label;

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
    /// Of a space with these streams; none where nothing is kept apart.
    pub(super) fn new(needs: &SpaceNeeds, streams: &[Purpose], layout: &Layout) -> Option<Box<Self>> {
        let class_of = needs.class_of_streams(streams.len());
        let classes = class_of.iter().flatten().max()? + 1;
        if !needs.classes.are_counted {
            return None;
        }
        let mut counts = vec![ClassCounts { moved_for: vec![0; classes], ..ClassCounts::default() }; classes];
        for (class, purpose) in class_of.into_iter().zip(streams).filter_map(|(class, purpose)| Some((class?, purpose)))
        {
            counts[class].is_collected = *purpose == Purpose::Collected;
        }
        Some(Box::new(Self { counts, written_under: vec![0; layout.logical_pages as usize], writer: 0 }))
    }
}

impl PageSpace {
    /// The host writes a page to a stream; next, blocks may be collected for it.
    #[inline]
    pub(in crate::engines) fn on_host_write(&mut self, label: Label, stream: Stream) {
        let Some(by_class) = &mut self.by_class else { return };
        if let Some(class) = self.classes[stream].filter(|_| label.role == Role::Data) {
            by_class.writer = class;
            by_class.counts[class].host_pages += 1;
            by_class.written_under[label.logical as usize] = class as u8;
        }
    }

    /// Data pages were moved.
    #[inline]
    pub(in crate::engines) fn count_moved(&mut self, lpns: &[Lpn]) {
        let Some(by_class) = &mut self.by_class else { return };
        for lpn in lpns {
            let class = usize::from(by_class.written_under[lpn.index()]);
            by_class.counts[class].moved_for[by_class.writer] += 1;
        }
    }

    /// A block is emptied, and is erased next.
    pub(super) fn count_emptied(&mut self, pbn: Pbn) {
        let class = self.classes[self.stream_of(pbn)];
        if let (Some(by_class), Some(class)) = (&mut self.by_class, class) {
            by_class.counts[class].erased_blocks += 1;
        }
    }

    /// Counts by class since the device was built; none where nothing is kept apart.
    pub fn class_counts(&self) -> &[ClassCounts] {
        self.by_class.as_ref().map_or(&[], |by_class| &by_class.counts)
    }
}
