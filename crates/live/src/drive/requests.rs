//! Requests in bytes, and how pages are completed, forgotten and told.

use bytes::Bytes;
use flash::{Lpn, PageData};
use ftl::{FileEvent, Hint, Nanos, Request};
use sim::paging::byte_range::PageSpan;

use super::{DriveError, LiveDrive, Piece};

impl LiveDrive {
    /// Reads bytes that lie on the device: pieces in order, an empty one for a whole page of
    /// nothing.
    pub fn read(&mut self, offset: u64, length: u32) -> Result<Vec<Piece>, DriveError> {
        self.counts.bytes_read += u64::from(length);
        self.peek(offset, length)
    }

    /// The same for no client, and not counted.
    pub fn peek(&mut self, offset: u64, length: u32) -> Result<Vec<Piece>, DriveError> {
        let span = self.touched(offset, u64::from(length));
        if span.pages() == 0 {
            return Ok(Vec::new());
        }
        let pages = self.read_pages(span.first as u32, span.pages() as u32)?;
        let piece = |(i, page): (u64, Bytes)| match span.covered(i) {
            covered if page.is_empty() => Piece::Zeros(covered.len()),
            covered => Piece::Data(page.slice(covered)),
        };
        let pieces = (0..).zip(pages).map(piece).collect();
        Ok(pieces)
    }

    /// From now on shows bytes that the flash cannot take in their places, and takes no writes.
    pub fn show(&mut self, offset: u64, data: &[u8]) -> Result<(), DriveError> {
        let span = self.touched(offset, data.len() as u64);
        let pages = self.read_pages(span.first as u32, span.pages() as u32)?;
        for ((i, lpn), page) in (0..).zip(span.first as u32..).zip(pages) {
            let mut page = if page.is_empty() { vec![0; self.page_bytes] } else { page.to_vec() };
            page[span.covered(i)].copy_from_slice(&data[span.bytes_of(i)]);
            self.shown.insert(lpn, page.into());
            self.mark(lpn, 1, true);
        }
        Ok(())
    }

    /// Writes bytes that lie on the device.
    pub fn write(&mut self, offset: u64, data: &Bytes) -> Result<(), DriveError> {
        self.write_hinted(offset, data, Hint::NONE)
    }

    /// The same, with what the host says of the data.
    pub fn write_hinted(&mut self, offset: u64, data: &Bytes, hint: Hint) -> Result<(), DriveError> {
        self.refuse_if_shown()?;
        let span = self.touched(offset, data.len() as u64);
        self.counts.bytes_written += data.len() as u64;
        self.counts.pages_written += span.pages();
        if span.pages() == 0 {
            return Ok(());
        }
        let mut pages: Vec<_> = (0..span.pages()).map(|i| PageData::from(data.slice(span.bytes_of(i)))).collect();
        self.complete(&span, &mut pages)?;
        let first = span.first as u32;
        // One that is refused may have written some of its pages.
        self.mark(first, pages.len() as u32, true);
        let (flash, ftl) = self.parts();
        let request = Request { hint, ..request(flash.now(), first, pages.len() as u32) };
        let written = ftl.write(flash, &request, &pages);
        flash.end_completion();
        Ok(written?)
    }

    /// Tells the translation layer what holds of types of files from now on.
    pub fn rate(&mut self, types: &[Hint]) {
        if !self.is_powered() {
            return;
        }
        let (flash, ftl) = self.parts();
        for &hint in types {
            ftl.on_file_event(FileEvent::Rated, &Request { hint, ..request(flash.now(), 0, 1) });
        }
    }

    /// Tells the translation layer that a file whose data lie in these ranges has another name,
    /// with the hint for it from now on.
    pub fn rename(&mut self, ranges: &[(u64, u64)], hint: Hint) {
        if !self.is_powered() {
            return;
        }
        let spans: Vec<_> = ranges.iter().map(|&(offset, length)| self.touched(offset, length)).collect();
        let (flash, ftl) = self.parts();
        for span in spans.iter().filter(|span| span.pages() > 0) {
            let pages = request(flash.now(), span.first as u32, span.pages() as u32);
            ftl.on_renamed(flash, &Request { hint, ..pages });
        }
    }

    /// Forgets pages that lie whole in the range; the rest of the range stays as it is.
    pub fn trim(&mut self, offset: u64, length: u32) -> Result<(), DriveError> {
        let (first, pages) = self.whole_pages(offset, length);
        self.trim_pages(first, pages)
    }

    /// Makes a range read as zeros, through trims if holes are allowed.
    pub fn write_zeroes(&mut self, offset: u64, length: u32, may_leave_holes: bool) -> Result<(), DriveError> {
        let (first, pages) = self.whole_pages(offset, length);
        if !may_leave_holes || pages == 0 {
            return self.write(offset, &self.zeros_of(length as usize));
        }
        let page_bytes = self.page_bytes as u64;
        let (begin, end) = (u64::from(first) * page_bytes, u64::from(first + pages) * page_bytes);
        let (before, after) = ((begin - offset) as usize, (offset + u64::from(length) - end) as usize);
        if before > 0 {
            self.write(offset, &self.zeros_of(before))?;
        }
        if after > 0 {
            self.write(end, &self.zeros_of(after))?;
        }
        self.trim_pages(first, pages)?;
        let (flash, ftl) = self.parts();
        Ok(ftl.flush(flash)?)
    }

    /// Whether pages surely read as zeros: runs of (bytes, whether they do) that cover the range,
    /// at most `most` of them.
    pub fn status(&self, offset: u64, length: u32, most: usize) -> Vec<(u32, bool)> {
        let mut runs: Vec<(u32, bool)> = Vec::new();
        let end = offset + u64::from(length);
        let mut at = offset;
        while at < end {
            let page = (at / self.page_bytes as u64) as u32;
            let is_hole = !self.may_hold(page);
            let until = (u64::from(self.run_end(page)) * self.page_bytes as u64).min(end);
            let bytes = (until - at) as u32;
            let count = runs.len();
            match runs.last_mut() {
                Some((run, hole)) if *hole == is_hole => *run += bytes,
                _ if count == most => break,
                _ => runs.push((bytes, is_hole)),
            }
            at = until;
        }
        runs
    }

    fn read_pages(&mut self, first: u32, pages: u32) -> Result<Vec<Bytes>, DriveError> {
        let mut out = vec![PageData::default(); pages as usize];
        let (flash, ftl) = self.parts();
        ftl.read(flash, &request(flash.now(), first, pages), &mut out)?;
        let mut out: Vec<_> = out.into_iter().map(PageData::into_bytes).collect();
        for (lpn, page) in self.shown.range(first..first + pages) {
            out[(lpn - first) as usize] = page.clone();
        }
        for (lpn, _) in (first..).zip(&out).filter(|(_, page)| page.is_empty()) {
            self.may_hold[lpn as usize / 64] &= !(1 << (lpn % 64));
        }
        Ok(out)
    }

    /// Completes the pages that a write covers in part by what they hold now.
    fn complete(&mut self, span: &PageSpan, pages: &mut [PageData]) -> Result<(), DriveError> {
        let last = pages.len() - 1;
        let partial = [(0, span.is_first_partial()), (last, span.is_last_partial())];
        let (page_bytes, first) = (self.page_bytes, span.first as u32);
        let partial =
            partial.into_iter().filter(|&(_, is_partial)| is_partial).map(|(i, _)| Lpn::new(first + i as u32));
        let (flash, ftl) = self.parts();
        flash.complete_pages(partial, |flash, lpn| {
            let (i, mut old) = ((lpn.get() - first) as usize, [PageData::default()]);
            ftl.read(flash, &request(flash.now(), lpn.get(), 1), &mut old)?;
            let [old] = old.map(PageData::into_bytes);
            let mut page = if old.is_empty() { vec![0; page_bytes] } else { old.to_vec() };
            page[span.covered(i as u64)].copy_from_slice(&std::mem::take(&mut pages[i]).into_bytes());
            pages[i] = Bytes::from(page).into();
            Ok(())
        })
    }

    /// Whether bytes are shown in place of what the flash holds.
    pub fn shows_others(&self) -> bool {
        !self.shown.is_empty()
    }

    fn refuse_if_shown(&self) -> Result<(), DriveError> {
        if self.shows_others() { Err(DriveError::ReadOnly) } else { Ok(()) }
    }

    fn trim_pages(&mut self, first: u32, pages: u32) -> Result<(), DriveError> {
        self.refuse_if_shown()?;
        if pages > 0 {
            let (flash, ftl) = self.parts();
            ftl.trim(flash, &request(flash.now(), first, pages))?;
            self.mark(first, pages, false);
        }
        Ok(())
    }

    fn zeros_of(&self, length: usize) -> Bytes {
        if length <= self.page_bytes { self.zeros.slice(..length) } else { vec![0; length].into() }
    }

    fn touched(&self, offset: u64, length: u64) -> PageSpan {
        PageSpan::touched(offset, length, self.page_bytes as u64)
    }

    /// First page and number of the pages that lie whole in a range.
    fn whole_pages(&self, offset: u64, length: u32) -> (u32, u32) {
        let span = PageSpan::whole(offset, u64::from(length), self.page_bytes as u64);
        (span.first as u32, span.pages() as u32)
    }

    fn may_hold(&self, lpn: u32) -> bool {
        self.may_hold[lpn as usize / 64] >> (lpn % 64) & 1 == 1
    }

    /// The first page behind this one that is not as it is; a word of pages at a time.
    fn run_end(&self, page: u32) -> u32 {
        let holds = self.may_hold(page);
        let mut at = page;
        while let Some(&word) = self.may_hold.get(at as usize / 64) {
            let others = if holds { !word } else { word } >> (at % 64);
            if others != 0 {
                return at + others.trailing_zeros();
            }
            at = (at / 64 + 1) * 64;
        }
        at
    }

    fn mark(&mut self, first: u32, pages: u32, may_hold: bool) {
        for lpn in first..first + pages {
            let (word, bit) = (&mut self.may_hold[lpn as usize / 64], 1 << (lpn % 64));
            if may_hold { *word |= bit } else { *word &= !bit }
        }
    }
}

fn request(arrival: Nanos, first: u32, pages: u32) -> Request {
    Request { arrival, ..Request::new(Lpn::new(first), pages) }
}
