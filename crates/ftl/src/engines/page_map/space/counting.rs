//! What a space counts by class (`by_class.rs`).

use flash::{Lpn, Pbn, Role};

use super::{PageSpace, Stream};
use crate::api::report::ClassCounts;
use crate::port::label::Label;

impl PageSpace {
    /// The host writes a page to a stream; next, blocks may be collected for it.
    #[inline]
    pub(in crate::engines) fn on_host_write(&mut self, label: Label, stream: Stream) {
        let Some(by_class) = &mut self.by_class else { return };
        if let Some(class) = self.classes[stream].filter(|_| label.role == Role::Data) {
            by_class.on_host_write(label.logical, class);
        }
    }

    /// Data pages were moved.
    #[inline]
    pub(in crate::engines) fn count_moved(&mut self, lpns: &[Lpn]) {
        self.by_class.iter_mut().for_each(|by_class| by_class.count_moved(lpns));
    }

    /// A block is emptied, and is erased next.
    pub(super) fn count_emptied(&mut self, pbn: Pbn) {
        let class = self.classes[self.stream_of(pbn)];
        if let (Some(by_class), Some(class)) = (&mut self.by_class, class) {
            by_class.count_emptied(class);
        }
    }

    /// Counts by class since the device was built; none where nothing is kept apart.
    pub fn class_counts(&self) -> &[ClassCounts] {
        self.by_class.as_ref().map_or(&[], |by_class| by_class.counts())
    }
}
