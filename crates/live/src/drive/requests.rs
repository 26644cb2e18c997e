//! Requests in bytes, and how pages are completed, forgotten and told.

use bytes::Bytes;
use flash::Lpn;
use ftl::{Cause, Hint, Request};

use super::{Drive, DriveError};

impl Drive {
    /// Reads bytes that lie on the device: pieces in order, an empty one for a whole page of nothing.
    pub fn read(&mut self, offset: u64, length: u32) -> Result<Vec<Piece>, DriveError> {
        self.counts.bytes_read += u64::from(length);
        let span = self.span(offset, length);
        if span.pages == 0 {
            return Ok(Vec::new());
        }
        let pages = self.read_pages(span.first, span.pages)?;
        let mut pieces = Vec::with_capacity(pages.len());
        let last = pages.len() - 1;
        for (i, page) in pages.into_iter().enumerate() {
            let from = if i == 0 { span.head } else { 0 };
            let until = if i == last { span.tail } else { self.page_bytes };
            pieces.push(if page.is_empty() {
                Piece::Zeros(until - from)
            } else {
                Piece::Data(page.slice(from..until))
            });
        }
        Ok(pieces)
    }

    /// Writes bytes that lie on the device.
    pub fn write(&mut self, offset: u64, data: &Bytes) -> Result<(), DriveError> {
        self.write_hinted(offset, data, Hint::NONE)
    }

    /// The same, with what the host says of the data.
    pub fn write_hinted(&mut self, offset: u64, data: &Bytes, hint: Hint) -> Result<(), DriveError> {
        let span = self.span(offset, data.len() as u32);
        self.counts.bytes_written += data.len() as u64;
        self.counts.pages_written += u64::from(span.pages);
        if span.pages == 0 {
            return Ok(());
        }
        let mut pages = Vec::with_capacity(span.pages as usize);
        for i in 0..span.pages as usize {
            // The data begin in the middle of the first page.
            let (from, begin) = if i == 0 { (span.head, 0) } else { (0, i * self.page_bytes - span.head) };
            let covered = data.slice(begin..(begin + self.page_bytes - from).min(data.len()));
            if covered.len() == self.page_bytes {
                pages.push(covered);
            } else {
                pages.push(self.complete(span.first + i as u32, from, &covered)?);
            }
        }
        let (media, ftl) = self.parts();
        let request = Request { arrival: media.now(), hint, ..Request::new(Lpn::new(span.first), span.pages) };
        ftl.write(media, &request, &pages)?;
        self.mark(span.first, span.pages, true);
        Ok(())
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
        let (media, ftl) = self.parts();
        Ok(ftl.flush(media)?)
    }

    /// Whether pages surely read as zeros: runs of (bytes, whether they do) that cover the range, at most `most` of them.
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
        let mut out = vec![Bytes::new(); pages as usize];
        let (media, ftl) = self.parts();
        ftl.read(media, &Request { arrival: media.now(), ..Request::new(Lpn::new(first), pages) }, &mut out)?;
        for (lpn, _) in (first..).zip(&out).filter(|(_, page)| page.is_empty()) {
            self.may_hold[lpn as usize / 64] &= !(1 << (lpn % 64));
        }
        Ok(out)
    }

    /// A page that is to hold `covered` from a byte on, and for the rest what it holds now.
    fn complete(&mut self, lpn: u32, from: usize, covered: &[u8]) -> Result<Bytes, DriveError> {
        let mut old = [Bytes::new()];
        let (media, ftl) = self.parts();
        let request = Request { arrival: media.now(), ..Request::new(Lpn::new(lpn), 1) };
        media.because(Cause::ReadModifyWrite, |media| ftl.read(media, &request, &mut old))?;
        let [old] = old;
        let mut page = if old.is_empty() { vec![0; self.page_bytes] } else { old.to_vec() };
        page[from..from + covered.len()].copy_from_slice(covered);
        Ok(page.into())
    }

    fn trim_pages(&mut self, first: u32, pages: u32) -> Result<(), DriveError> {
        if pages > 0 {
            let (media, ftl) = self.parts();
            ftl.trim(media, &Request { arrival: media.now(), ..Request::new(Lpn::new(first), pages) })?;
            self.mark(first, pages, false);
        }
        Ok(())
    }

    fn zeros_of(&self, length: usize) -> Bytes {
        if length <= self.page_bytes { self.zeros.slice(..length) } else { vec![0; length].into() }
    }

    fn span(&self, offset: u64, length: u32) -> PageSpan {
        let page_bytes = self.page_bytes as u64;
        if length == 0 {
            return PageSpan { first: 0, pages: 0, head: 0, tail: 0 };
        }
        let last = offset + u64::from(length) - 1;
        let (first, last_page) = (offset / page_bytes, last / page_bytes);
        PageSpan {
            first: first as u32,
            pages: (last_page - first + 1) as u32,
            head: (offset % page_bytes) as usize,
            tail: (last % page_bytes) as usize + 1,
        }
    }

    /// First page and number of the pages that lie whole in a range.
    fn whole_pages(&self, offset: u64, length: u32) -> (u32, u32) {
        let page_bytes = self.page_bytes as u64;
        let first = offset.div_ceil(page_bytes);
        let end = (offset + u64::from(length)) / page_bytes;
        (first as u32, end.saturating_sub(first) as u32)
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

/// A part of what was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Bytes of a page.
    Data(Bytes),
    /// So many bytes of a page that holds nothing.
    Zeros(usize),
}

impl Piece {
    /// Bytes.
    pub fn len(&self) -> usize {
        match self {
            Self::Data(data) => data.len(),
            Self::Zeros(length) => *length,
        }
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Pages that a byte range touches.
struct PageSpan {
    first: u32,
    pages: u32,
    /// Where the range begins in its first page.
    head: usize,
    /// Where it ends in its last page.
    tail: usize,
}
