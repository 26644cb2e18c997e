//! What the cache does with the device: makes safe whatever waits, makes ranges zeros, and finds
//! out whether writes are taken.

use bytes::Bytes;
use fat::{PAGE_BYTES, Page};
use ftl::Hint;

use super::{Cache, Dirty, MOST_CLEAN, MOST_PAGES, PAGE, again};
use crate::device::{Device, DeviceError};
use crate::journal::{Journal, NumberedPage};

/// Bytes that are made zeros at once.
const ZEROED_AT_ONCE: u64 = 256 << 20;

impl<V: Device> Cache<V> {
    /// Remembers whether the device takes no writes any more.
    fn noted<T>(&mut self, result: Result<T, DeviceError>) -> Result<T, DeviceError> {
        self.is_worn_out |= matches!(result, Err(DeviceError::ReadOnly));
        result
    }

    /// Commits go through this journal from now on. What it holds comes first: in place, or in
    /// memory where nothing can be written. Returns whether it held anything.
    pub(crate) fn use_journal(&mut self, journal: Journal) -> Result<bool, DeviceError> {
        let pages = journal.read(&mut self.device)?;
        self.types = journal.types(&mut self.device)?;
        self.kept_types = self.types.clone();
        self.journal = Some(journal);
        self.pages.clear();
        if !self.device.is_read_only() {
            let result = again(|| put_in_place(&mut self.device, &journal, &pages, &self.types));
            match self.noted(result) {
                Ok(()) => return Ok(!pages.is_empty()),
                Err(DeviceError::ReadOnly) => {}
                Err(error) => return Err(error),
            }
        }
        self.is_ahead = !pages.is_empty();
        self.pages.extend(pages);
        Ok(self.is_ahead)
    }

    /// Finds out whether the device takes writes, where no journal has to be cleared: the first
    /// page is written as it is.
    pub(crate) fn try_writing(&mut self) -> Result<(), DeviceError> {
        if self.device.is_read_only() {
            return Ok(());
        }
        let first = Bytes::copy_from_slice(&self.load(0)?[..]);
        let device = &mut self.device;
        let result = again(|| device.write(0, first.clone(), Hint::NONE).and_then(|()| device.flush()));
        match self.noted(result) {
            Err(DeviceError::ReadOnly) => Ok(()),
            result => result,
        }
    }

    /// Pages that must go through the journal: tables, and whatever lies where something was freed.
    pub(super) fn journaled(&self) -> impl Iterator<Item = u64> {
        let must = |(page, dirty): (&u64, &Dirty)| (dirty.is_table || self.freed.contains(page)).then_some(*page);
        self.dirty.iter().filter_map(must)
    }

    /// A file whose data lie in these ranges has another type: what waits of it is written with
    /// this hint, and the device is told.
    pub(crate) fn rename(&mut self, ranges: Vec<(u64, u64)>, hint: Hint) {
        for &(offset, bytes) in &ranges {
            for (_, dirty) in self.dirty.range_mut(offset / PAGE..(offset + bytes).div_ceil(PAGE)) {
                if !dirty.is_table {
                    dirty.hint = hint;
                }
            }
        }
        self.device.rename(ranges, hint);
    }

    /// Makes ranges of the device, offsets with lengths, zeros. They belonged to no file at the
    /// last successful sync, which must be just now.
    pub(crate) fn zero(&mut self, ranges: &[(u64, u64)], hint: Hint) -> Result<(), DeviceError> {
        let mut whole = Vec::new();
        for &(from, length) in ranges {
            let (first, end) = (from.next_multiple_of(PAGE), (from + length) / PAGE * PAGE);
            let parts =
                if first < end { [(from, first), (end, from + length)] } else { [(from, from + length), (0, 0)] };
            for (from, to) in parts {
                self.write_zeros(from, to, hint)?;
            }
            whole.extend((first < end).then_some((first, end)));
        }
        let within = |page: u64| whole.iter().any(|&(first, end)| (first..end).contains(&(page * PAGE)));
        self.pages.retain(|&page, _| !within(page));
        let device = &mut self.device;
        let result = again(|| {
            for &(first, end) in &whole {
                for at in (first..end).step_by(ZEROED_AT_ONCE as usize) {
                    device.write_zeroes(at, (end - at).min(ZEROED_AT_ONCE) as u32)?;
                }
            }
            device.flush()
        });
        self.noted(result)
    }

    /// Zeros for a part of a page, or of two neighbours, which other files may have the rest of.
    fn write_zeros(&mut self, mut from: u64, to: u64, hint: Hint) -> Result<(), DeviceError> {
        const ZEROS: Page = [0; PAGE_BYTES];
        while from < to {
            let part = (PAGE - from % PAGE).min(to - from);
            self.write_data(from, &ZEROS[..part as usize], hint, false)?;
            from += part;
        }
        Ok(())
    }

    /// Makes safe whatever waits.
    pub(crate) fn commit(&mut self) -> Result<(), DeviceError> {
        if !self.is_dirty() {
            return Ok(());
        }
        if self.is_read_only() {
            return Err(DeviceError::ReadOnly);
        }
        let result = again(|| self.write_all());
        self.noted(result)?;
        if self.is_worn_out {
            // What the journal holds is read from memory, since it does not lie in its place.
            self.dirty.clear();
            self.freed.clear();
            return Ok(());
        }
        self.kept_types.clone_from(&self.types);
        self.trim_freed();
        let dirty = std::mem::take(&mut self.dirty);
        for page in dirty.into_iter().filter(|(_, dirty)| !dirty.is_table).map(|(page, _)| page) {
            self.pages.remove(&page);
        }
        if self.pages.len() > MOST_CLEAN {
            self.pages.clear();
        }
        Ok(())
    }

    fn write_all(&mut self) -> Result<(), DeviceError> {
        let tables: Vec<u64> = if self.journal.is_some() {
            self.journaled().collect()
        } else {
            self.dirty.iter().filter(|(_, dirty)| dirty.is_table).map(|(&page, _)| page).collect()
        };
        let is_table = |page: &u64| tables.binary_search(page).is_ok();
        let data: Vec<u64> = self.dirty.keys().copied().filter(|page| !is_table(page)).collect();
        if let Some(journal) = self.journal.filter(|_| self.types != self.kept_types) {
            // Before data whose tags have a new number.
            journal.clear(&mut self.device, &self.types)?;
        }
        if !data.is_empty() {
            self.write_pages(&data)?;
            self.device.flush()?;
        }
        if tables.is_empty() {
            return Ok(());
        }
        let Some(journal) = self.journal else {
            let (first, others) = tables.split_at(tables.partition_point(|page| page * PAGE < self.data));
            self.write_pages(first)?;
            self.device.flush()?;
            self.write_pages(others)?;
            return self.device.flush();
        };
        if tables.len() > journal.room {
            return Err(DeviceError::TooMuch);
        }
        let pages: Vec<_> = tables.iter().map(|page| (*page, &*self.pages[page])).collect();
        journal.write(&mut self.device, &pages, &self.types)?;
        self.device.flush()?;
        match self.settle(&journal, &tables) {
            Err(DeviceError::ReadOnly) => {
                (self.is_worn_out, self.is_ahead) = (true, true);
                Ok(())
            }
            result => result,
        }
    }

    /// Puts in its place what the journal holds, and clears it.
    fn settle(&mut self, journal: &Journal, tables: &[u64]) -> Result<(), DeviceError> {
        self.write_pages(tables)?;
        self.device.flush()?;
        journal.clear(&mut self.device, &self.types)
    }

    /// Writes pages in place, neighbours of one hint together.
    fn write_pages(&mut self, pages: &[u64]) -> Result<(), DeviceError> {
        let hint = |page: &u64| self.dirty[page].hint;
        let runs: Vec<_> = pages
            .chunk_by(|one, next| one + 1 == *next && hint(one) == hint(next))
            .map(|run| (run, hint(&run[0])))
            .collect();
        for (run, hint) in runs {
            for part in run.chunks(MOST_PAGES) {
                let bytes: Vec<u8> = part.iter().flat_map(|page| self.pages[page].iter().copied()).collect();
                self.device.write(part[0] * PAGE, bytes.into(), hint)?;
            }
        }
        Ok(())
    }

    /// Has the device forget what no file has any more. What it does not forget costs it something,
    /// and nobody else.
    fn trim_freed(&mut self) {
        let freed: Vec<u64> =
            std::mem::take(&mut self.freed).into_iter().filter(|page| !self.dirty.contains_key(page)).collect();
        for run in freed.chunk_by(|one, next| one + 1 == *next) {
            for part in run.chunks(1 << 16) {
                let _ = self.device.trim(part[0] * PAGE, (part.len() * PAGE_BYTES) as u32);
            }
        }
    }
}

/// Puts in its place what a journal holds, and clears it, also where it holds nothing: a device
/// that takes no writes is found out by that.
fn put_in_place(
    device: &mut impl Device,
    journal: &Journal,
    pages: &[NumberedPage],
    types: &str,
) -> Result<(), DeviceError> {
    for (number, page) in pages {
        device.write(number * PAGE, Bytes::copy_from_slice(&page[..]), Hint::NONE)?;
    }
    if !pages.is_empty() {
        device.flush()?;
    }
    journal.clear(device, types)?;
    device.flush()
}
