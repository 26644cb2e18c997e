//! When what a store has written is on the disk, what the image says of that, and in which order:
//! `docs/format.md` has the argument.

use super::life::Counters;
use super::store::{FileStore, PageState};

/// Erased blocks that keep their room in the file: those that a translation layer is about to fill
/// again. Whatever was erased before them becomes a hole.
const KEPT_ERASED: usize = 16;

impl FileStore {
    /// Everything handed over so far reaches the disk; with what is known of the device's life. A
    /// failure ends the store.
    pub fn sync(&mut self, counters: Counters) {
        self.life.counters = counters;
        self.reach_disk();
    }

    /// The device has been switched on: from here to [`close`](Self::close) it is not in good
    /// order. Everything that was found is on the disk first, since it may be what a killed process
    /// left in memory. Neither slot of the life promises more than that afterwards.
    pub fn switched_on(&mut self) {
        for (offset, bytes) in std::mem::take(&mut self.repairs) {
            self.write(&bytes, offset);
        }
        self.life.starts = self.life.starts.saturating_add(1);
        self.life.is_clean = false;
        self.is_dirty = true;
        self.reach_disk();
        // Nothing may reach the disk before the word that the image is in use.
        self.repeat_life();
    }

    /// Everything reaches the disk, and the image says that it was left in good order.
    pub fn close(&mut self, counters: Counters) {
        self.sync(counters);
        self.punch_erased(0);
        if self.failure.is_none() {
            self.life.is_clean = true;
            // The other slot may be on its way to the disk: one of the two is whole at any time.
            let result = self.file.sync().and_then(|()| self.life_slots.write(&mut self.file, &self.life));
            self.keep_failure(result);
            self.repeat_life();
        }
    }

    /// The same, with the counts as they were told last; nothing is to do where nothing was handed
    /// over.
    pub(super) fn reach_disk(&mut self) {
        self.settle();
        if !self.is_dirty || self.failure.is_some() {
            return;
        }
        let result = self.file.sync();
        if result.is_ok() {
            let (lowest, promised) = (self.lowest_unsynced.take(), self.life.synced_seq);
            assert!(
                lowest.is_none_or(|lowest| lowest > promised),
                "a page was programmed as number {lowest:?} while the disk promised all up to {promised}"
            );
            self.is_dirty = false;
            self.unsynced_page = None;
            self.full_erased.extend(std::mem::take(&mut self.unsynced_erases));
            self.life.synced_seq = self.written_seq;
            self.life.touched_pages = Some(self.pages.touched);
            self.life.erases = Some(self.erases);
        }
        let result = result.and_then(|()| self.life_slots.write(&mut self.file, &self.life));
        self.keep_failure(result);
        self.punch_erased(KEPT_ERASED);
    }

    /// The life in the other slot as well, on the disk: whichever of the two is lost later, what is
    /// left says the same.
    fn repeat_life(&mut self) {
        if self.failure.is_none() {
            let result = self.file.sync().and_then(|()| self.life_slots.write(&mut self.file, &self.life));
            let result = result.and_then(|()| self.file.sync());
            self.keep_failure(result);
        }
    }

    /// From now on only pages up to this number count as synced, whichever slot of the life a later
    /// start finds. Pages behind it are believed if their data pass their CRC, as all pages are
    /// that were not synced.
    pub(super) fn lower_promise(&mut self, to: u64) {
        self.written_seq = to;
        self.is_dirty = true;
        self.reach_disk();
        self.repeat_life();
    }

    /// Copies of what is about to be destroyed may not be on the disk: now they are.
    pub(super) fn before_destroying(&mut self) {
        if self.unsynced_page.is_some() {
            self.reach_disk();
        }
    }

    /// Gives the room of erased blocks back, but of the last few. Only right after a sync: a block
    /// whose erase is not on the disk may come back with its old pages.
    fn punch_erased(&mut self, kept: usize) {
        while self.full_erased.len() > kept && self.failure.is_none() && self.unsynced_erases.is_empty() {
            let Some(block) = self.full_erased.pop_front() else { return };
            let pages = block * self.pages_per_block..(block + 1) * self.pages_per_block;
            let (from, until) = (self.places.data(pages.start), self.places.data(pages.end));
            if self.pages.states[pages].iter().all(|&state| state == PageState::Erased) {
                self.file.punch(from, until - from);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use flash::{FaultableStore, Spoilt, Store};
    use ftl::Stack;
    use sim::study::{Capacity, DeviceText};

    use crate::Image;
    use crate::image::file::DiskOp;

    /// Of a block that was erased and not programmed, entries and slots are written in one go: a
    /// slot of the new epoch must not arrive without the entry that begins it.
    #[test]
    fn an_epoch_is_on_the_disk_before_a_block_that_fails_right_after_its_erase() {
        let folder = tempfile::tempdir().expect("a folder");
        let text = DeviceText { capacity: Some(Capacity::Bytes(4 << 20)), spare: Some(0.5), ..DeviceText::default() };
        let device = sim::Device::resolve(&text, 1).expect("a device");
        for (number, how) in [None, Some(Spoilt::Torn), Some(Spoilt::Unstable)].into_iter().enumerate() {
            let path = folder.path().join(number.to_string());
            Image::create(&path, &device, &Stack::of("page")).expect("an image");
            let mut image = Image::open(&path, false).expect("an image");
            image.record();
            let mut store = image.load(false).expect("read").0.store;
            store.switched_on();
            let pages = 0..store.pages_per_block;
            store.erase(pages.clone());
            match how {
                None => store.spoil(pages),
                Some(how) => store.spoil_page(0, how),
            }
            assert!(store.settle());
            let writes_to = |offset: u64| move |op: &DiskOp| matches!(op, DiskOp::Write(at, _) if *at == offset);
            let entry = store.disk_ops().iter().rposition(writes_to(store.places.block(0)[1])).expect("an entry");
            let slot = store.disk_ops().iter().position(writes_to(store.places.slot(0)[0])).expect("a slot");
            let between = &store.disk_ops()[entry.min(slot)..slot];
            assert!(between.iter().any(|op| matches!(op, DiskOp::Sync)), "{how:?}: {between:?}");
        }
    }
}
