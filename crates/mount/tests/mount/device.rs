//! A device in memory. What was written since the last flush may be gone after a power cut, page by
//! page.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use analyzer::Parameters;
use bytes::Bytes;
use fat::CodePage;
use ftl::Hint;
use mount::{Device, DeviceError, Tree};

pub(crate) const PAGE: usize = 4096;

/// What survives of what was written since the last flush.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Survives {
    Nothing,
    Everything,
    /// Every so-and-so many pages.
    Some(u64),
}

#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a state of its own")]
pub(crate) struct State {
    pub(crate) bytes: u64,
    pages: BTreeMap<u64, Vec<u8>>,
    /// Written and not flushed, in order; none is a trim.
    waiting: Vec<(u64, Option<Vec<u8>>)>,
    /// Writes, trims and flushes so far.
    pub(crate) operations: u64,
    /// At which of them the power is cut.
    pub(crate) cut_at: Option<u64>,
    /// Whether it comes back by itself.
    pub(crate) comes_back: bool,
    pub(crate) is_read_only: bool,
    pub(crate) is_nearly_worn_out: bool,
    /// From which operation on the flash takes no writes any more.
    pub(crate) worn_at: Option<u64>,
    /// Bytes that were made zeros otherwise than by writing them.
    pub(crate) zeroed: u64,
    /// Writes: first page, pages, hint.
    pub(crate) written: Vec<(u64, usize, Hint)>,
    /// Types that renames have given, with the first range of each.
    pub(crate) renamed: Vec<((u64, u64), u8)>,
    pub(crate) trimmed: u64,
    is_off: bool,
    news: bool,
}

impl State {
    /// A write or a trim, which worn-out flash refuses.
    fn change(&mut self, survives: Survives) -> Result<(), DeviceError> {
        if self.worn_at.is_some_and(|at| self.operations >= at) {
            return Err(DeviceError::ReadOnly);
        }
        self.step(survives)
    }

    fn step(&mut self, survives: Survives) -> Result<(), DeviceError> {
        if self.is_off {
            return Err(DeviceError::NoPower);
        }
        if std::mem::take(&mut self.news) {
            return Err(DeviceError::PowerWasCut);
        }
        if self.cut_at == Some(self.operations) {
            self.cut_at = None;
            self.cut(survives);
            self.is_off = !self.comes_back;
            return Err(if self.is_off { DeviceError::NoPower } else { DeviceError::PowerWasCut });
        }
        self.operations += 1;
        Ok(())
    }

    fn cut(&mut self, survives: Survives) {
        for (i, (page, bytes)) in (0..).zip(std::mem::take(&mut self.waiting)) {
            let is_kept = match survives {
                Survives::Nothing => false,
                Survives::Everything => true,
                Survives::Some(n) => (i * 7 + page).is_multiple_of(n),
            };
            if is_kept {
                self.keep(page, bytes);
            }
        }
    }

    fn keep(&mut self, page: u64, bytes: Option<Vec<u8>>) {
        match bytes {
            Some(bytes) => drop(self.pages.insert(page, bytes)),
            None => drop(self.pages.remove(&page)),
        }
    }
}

/// The device, which outlives its users.
#[derive(Clone, Debug)]
pub(crate) struct Memory(Arc<Mutex<State>>, pub(crate) Survives);

impl Memory {
    pub(crate) fn new(megabytes: u64) -> Self {
        Self(Arc::new(Mutex::new(State { bytes: megabytes << 20, ..State::default() })), Survives::Everything)
    }

    pub(crate) fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().expect("no panic")
    }

    /// The host is gone; the power is cut and comes back.
    pub(crate) fn restart(&self) {
        let mut state = self.state();
        state.cut(self.1);
        (state.is_off, state.cut_at, state.news) = (false, None, false);
    }

    pub(crate) fn formatted(megabytes: u64) -> Self {
        mount::format(Self::new(megabytes)).expect("fits")
    }

    /// A device that was just formatted, and what is mounted on it.
    pub(crate) fn mounted_anew(megabytes: u64) -> (Self, Tree<Self>) {
        let device = Self::formatted(megabytes);
        let tree = device.mounted();
        (device, tree)
    }

    pub(crate) fn mounted(&self) -> Tree<Self> {
        self.mounted_in(CodePage::default())
    }

    pub(crate) fn mounted_in(&self, code_page: CodePage) -> Tree<Self> {
        let parameters = Parameters { interval: 50, ..Parameters::default() };
        mount::open(self.clone(), parameters, 3, code_page).expect("a volume")
    }

    /// All of it, as another driver would see it.
    pub(crate) fn content(&self) -> Vec<u8> {
        let state = self.state();
        let mut all = vec![0; state.bytes as usize];
        let pages = state.pages.iter().map(|(page, bytes)| (*page, Some(bytes.clone())));
        for (page, bytes) in pages.chain(state.waiting.iter().cloned()) {
            let place = &mut all[page as usize * PAGE..][..PAGE];
            place.copy_from_slice(&bytes.unwrap_or_else(|| vec![0; PAGE]));
        }
        all
    }
}

impl Device for Memory {
    fn bytes(&self) -> u64 {
        self.state().bytes
    }

    fn is_read_only(&self) -> bool {
        self.state().is_read_only
    }

    fn is_nearly_worn_out(&self) -> bool {
        self.state().is_nearly_worn_out
    }

    fn read(&mut self, offset: u64, into: &mut [u8]) -> Result<(), DeviceError> {
        let state = self.state();
        if state.is_off {
            return Err(DeviceError::NoPower);
        }
        let mut copied = 0;
        while copied < into.len() {
            let at = offset + copied as u64;
            let (page, within) = (at / PAGE as u64, at as usize % PAGE);
            let length = (PAGE - within).min(into.len() - copied);
            let waiting = state.waiting.iter().rev().find(|(waits, _)| *waits == page);
            let page_bytes = waiting.map_or_else(|| state.pages.get(&page), |(_, bytes)| bytes.as_ref());
            match page_bytes {
                Some(bytes) => into[copied..copied + length].copy_from_slice(&bytes[within..within + length]),
                None => into[copied..copied + length].fill(0),
            }
            copied += length;
        }
        Ok(())
    }

    fn write(&mut self, offset: u64, data: Bytes, hint: Hint) -> Result<(), DeviceError> {
        let survives = self.1;
        let mut state = self.state();
        assert!((offset as usize).is_multiple_of(PAGE) && data.len().is_multiple_of(PAGE), "whole pages");
        assert!(offset + data.len() as u64 <= state.bytes && !state.is_read_only);
        state.change(survives)?;
        let first = offset / PAGE as u64;
        state.written.push((first, data.len() / PAGE, hint));
        let pages = data.chunks(PAGE).map(|page| Some(page.to_vec()));
        state.waiting.extend((first..).zip(pages));
        Ok(())
    }

    fn rename(&mut self, ranges: Vec<(u64, u64)>, hint: Hint) {
        self.state().renamed.push((ranges[0], hint.file_type()));
    }

    fn trim(&mut self, offset: u64, bytes: u32) -> Result<(), DeviceError> {
        let survives = self.1;
        let mut state = self.state();
        state.change(survives)?;
        let pages = offset / PAGE as u64..(offset + u64::from(bytes)) / PAGE as u64;
        state.trimmed += pages.end - pages.start;
        state.waiting.extend(pages.map(|page| (page, None)));
        Ok(())
    }

    fn write_zeroes(&mut self, offset: u64, bytes: u32) -> Result<(), DeviceError> {
        let survives = self.1;
        let mut state = self.state();
        assert!((offset as usize).is_multiple_of(PAGE) && (bytes as usize).is_multiple_of(PAGE), "whole pages");
        assert!(offset + u64::from(bytes) <= state.bytes && !state.is_read_only);
        state.change(survives)?;
        state.zeroed += u64::from(bytes);
        let pages = offset / PAGE as u64..(offset + u64::from(bytes)) / PAGE as u64;
        state.waiting.extend(pages.map(|page| (page, None)));
        Ok(())
    }

    fn flush(&mut self) -> Result<(), DeviceError> {
        let survives = self.1;
        let mut state = self.state();
        state.step(survives)?;
        for (page, bytes) in std::mem::take(&mut state.waiting) {
            state.keep(page, bytes);
        }
        Ok(())
    }
}
