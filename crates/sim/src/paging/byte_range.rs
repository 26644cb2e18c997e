//! From bytes to pages: which pages a range of bytes concerns, and what of them a write leaves as
//! it is. Studies and live devices ask here.
//!
//! A read takes every page that it touches. A write that covers its first or its last page in part
//! needs the rest of it, which is read before (cause `read_modify_write`). A trim forgets only
//! pages that it covers whole.

use std::ops::Range;

/// Neighbouring pages, and the bytes of them that a range covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageSpan {
    /// The first page.
    pub first: u64,
    /// The page after the last.
    pub end: u64,
    /// Where the range begins in its first page, in bytes.
    head: u64,
    /// Where it ends in its last page, in bytes.
    tail: u64,
    page_bytes: u64,
}

impl PageSpan {
    /// An empty span.
    pub fn none(page_bytes: u64) -> Self {
        Self { first: 0, end: 0, head: 0, tail: page_bytes, page_bytes }
    }

    /// The pages that a range of bytes touches.
    pub fn touched(offset: u64, length: u64, page_bytes: u64) -> Self {
        if length == 0 {
            return Self::none(page_bytes);
        }
        let first = offset / page_bytes;
        let head = offset - first * page_bytes;
        // A division takes as long as ten sums.
        let last = if length <= page_bytes - head { first } else { (offset + length - 1) / page_bytes };
        let tail = offset + length - last * page_bytes;
        Self { first, end: last + 1, head, tail, page_bytes }
    }

    /// The pages that a range of bytes covers whole.
    pub fn whole(offset: u64, length: u64, page_bytes: u64) -> Self {
        let first = offset.div_ceil(page_bytes);
        Self { first, end: ((offset + length) / page_bytes).max(first), ..Self::none(page_bytes) }
    }

    /// How many there are.
    pub fn pages(&self) -> u64 {
        self.end - self.first
    }

    /// Whether the range covers only a part of the first page.
    pub fn is_first_partial(&self) -> bool {
        self.pages() > 0 && (self.head > 0 || self.pages() == 1 && self.tail < self.page_bytes)
    }

    /// Whether the range covers only a part of the last page, and that is not the first.
    pub fn is_last_partial(&self) -> bool {
        self.pages() > 1 && self.tail < self.page_bytes
    }

    /// The bytes of a page, counted from the first page of the range, that the range covers.
    pub fn covered(&self, page: u64) -> Range<usize> {
        let from = if page == 0 { self.head } else { 0 };
        let until = if page + 1 == self.pages() { self.tail } else { self.page_bytes };
        from as usize..until as usize
    }

    /// The bytes of the range, counted from its begin, that lie in such a page.
    pub fn bytes_of(&self, page: u64) -> Range<usize> {
        let covered = self.covered(page);
        let begin = if page == 0 { 0 } else { (page * self.page_bytes - self.head) as usize };
        begin..begin + covered.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: u64 = 100;

    #[test]
    fn each_byte_of_a_range_is_covered_once_and_nothing_else_is() {
        for offset in 0..2 * PAGE {
            for length in 0..3 * PAGE {
                let span = PageSpan::touched(offset, length, PAGE);
                let mut at = offset;
                for page in 0..span.pages() {
                    let covered = span.covered(page);
                    assert_eq!((span.first + page) * PAGE + covered.start as u64, at, "{length} bytes at {offset}");
                    let bytes = (at - offset) as usize;
                    assert_eq!(span.bytes_of(page), bytes..bytes + covered.len(), "{length} bytes at {offset}");
                    assert!(covered.start < covered.end && covered.end as u64 <= PAGE);
                    at += covered.len() as u64;
                    let is_partial = covered != (0..PAGE as usize);
                    let is_told = page == 0 && span.is_first_partial() || page > 0 && span.is_last_partial();
                    assert_eq!(is_partial, is_told && (page == 0 || page + 1 == span.pages()), "{length} at {offset}");
                }
                assert_eq!(at, offset + length);
                let whole = PageSpan::whole(offset, length, PAGE);
                let partial = u64::from(span.is_first_partial()) + u64::from(span.is_last_partial());
                assert_eq!(whole.pages(), span.pages() - partial, "{length} bytes at {offset}");
                assert!(whole.pages() == 0 || whole.first >= span.first && whole.end <= span.end);
            }
        }
    }
}
