//! From a record's pages (`byte_range.rs`) to pages of the device.
//!
//! What a record's addresses mean on this device is the user's choice: taken as they are, modulo
//! the capacity, or page by page in order of first touch. The last can tear a request into several
//! runs of neighbouring pages, its *extents*; so can the wrap at the end of the device.

pub mod byte_range;

use std::sync::Arc;

use flash::Lpn;
use ftl::Hint;
use random::NumberMap;
use trace::{HostOp, Record};

use crate::SimError;
use crate::memory::Limit;
use crate::paging::byte_range::PageSpan;

/// Where the addresses of a workload lie on the device.
#[derive(Clone, Debug)]
pub(crate) enum Placement {
    /// Where they say.
    Direct,
    /// Modulo the capacity.
    Wrapped,
    /// By order of first touch.
    Dense(Arc<FirstTouch>),
}

/// Pages of a workload, numbered in order of first touch. Nearly every page of a run is looked up.
#[derive(Debug, Default)]
pub(crate) struct FirstTouch {
    numbers: NumberMap<u64, u32>,
}

impl FirstTouch {
    /// Numbers the pages that a record touches; fails when 32 bits do not count them, or memory
    /// does not hold them.
    pub(crate) fn touch(&mut self, pages: PageSpan, limit: Limit) -> Result<(), SimError> {
        limit.check_dense(self.len().saturating_add(pages.pages()))?;
        for page in pages.first..pages.end {
            let next = self.numbers.len() as u64;
            if next >= u64::from(u32::MAX - 1) {
                return Err(SimError::study(
                    "workload.addresses = \"dense\": the workload touches more pages than 32 bits count; use a larger device.page_size, \
                     or fewer requests",
                ));
            }
            self.numbers.entry(page).or_insert(next as u32);
        }
        Ok(())
    }

    /// How many different pages were touched.
    pub(crate) fn len(&self) -> u64 {
        self.numbers.len() as u64
    }
}

/// Neighbouring logical pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) lpn: Lpn,
    pub(crate) pages: u32,
}

/// The pages that a record concerns, before they are placed on a device: those it touches, or for a
/// trim those it covers whole.
pub(crate) fn span_of(record: &Record, page_bytes: u64) -> PageSpan {
    let length = u64::from(record.length);
    match record.op {
        HostOp::Read | HostOp::Write => PageSpan::touched(record.offset, length, page_bytes),
        HostOp::Trim => PageSpan::whole(record.offset, length, page_bytes),
        HostOp::Flush => PageSpan::none(page_bytes),
    }
}

/// A host request in pages. One is filled again and again, so that nothing is allocated per
/// request.
#[derive(Clone, Debug)]
pub(crate) struct HostRequest {
    pub(crate) op: HostOp,
    pub(crate) arrival_ns: u64,
    pub(crate) bytes: u32,
    pub(crate) hint: Hint,
    /// Its pages in order; none for a flush, or for a trim that covers no page whole.
    pub(crate) extents: Vec<Extent>,
    /// Whether a write covers only a part of its first page.
    pub(crate) partial_first: bool,
    /// Whether a write covers only a part of its last page, and that is not its first.
    pub(crate) partial_last: bool,
}

impl HostRequest {
    pub(crate) fn new() -> Self {
        Self {
            op: HostOp::Flush,
            arrival_ns: 0,
            bytes: 0,
            hint: Hint::NONE,
            extents: Vec::new(),
            partial_first: false,
            partial_last: false,
        }
    }

    /// The pages that a write covers in part: its first and its last, where they are.
    pub(crate) fn partial_pages(&self) -> impl Iterator<Item = Lpn> + use<> {
        let first = self.extents.first().filter(|_| self.partial_first).map(|extent| extent.lpn);
        let last = self.extents.last().filter(|_| self.partial_last);
        first.into_iter().chain(last.map(|extent| Lpn::new(extent.lpn.get() + extent.pages - 1)))
    }

    /// Its pages, over all extents.
    pub(crate) fn pages(&self) -> u64 {
        self.extents.iter().map(|extent| u64::from(extent.pages)).sum()
    }
}

/// Splits records into pages of one device.
#[derive(Clone, Debug)]
pub(crate) struct Pager {
    page_bytes: u64,
    logical_pages: u32,
    placement: Placement,
}

impl Pager {
    pub(crate) fn new(page_size_bytes: u32, logical_pages: u32, placement: Placement) -> Self {
        Self { page_bytes: u64::from(page_size_bytes), logical_pages, placement }
    }

    /// Splits a record. Fails when it does not fit the device, which a survey of the same workload
    /// has ruled out.
    pub(crate) fn split(&self, record: &Record, into: &mut HostRequest) -> Result<(), SimError> {
        let span = span_of(record, self.page_bytes);
        into.op = record.op;
        into.bytes = record.length;
        into.hint = record.hint;
        into.extents.clear();
        let write = record.op == HostOp::Write;
        into.partial_first = write && span.is_first_partial();
        into.partial_last = write && span.is_last_partial();
        if span.pages() > 0 { self.place(span, &mut into.extents) } else { Ok(()) }
    }

    fn place(&self, span: PageSpan, extents: &mut Vec<Extent>) -> Result<(), SimError> {
        let capacity = u64::from(self.logical_pages);
        let extent = |first: u64, pages: u64| Extent { lpn: Lpn::new(first as u32), pages: pages as u32 };
        match &self.placement {
            Placement::Direct if span.end <= capacity => extents.push(extent(span.first, span.pages())),
            Placement::Wrapped if span.pages() <= capacity => {
                let first = span.first % capacity;
                let before_end = span.pages().min(capacity - first);
                extents.push(extent(first, before_end));
                if before_end < span.pages() {
                    extents.push(extent(0, span.pages() - before_end));
                }
            }
            Placement::Dense(touched) => return self.place_dense(touched, span, extents),
            _ => return Err(changed()),
        }
        Ok(())
    }

    /// Where a record lies that touches one page. Fails as [`split`](Self::split) does.
    #[inline]
    pub(crate) fn page_of(&self, record: &Record) -> Result<Lpn, SimError> {
        let (page, capacity) = (record.offset / self.page_bytes, u64::from(self.logical_pages));
        let placed = match &self.placement {
            Placement::Direct => page,
            Placement::Wrapped => page % capacity,
            Placement::Dense(touched) => touched.numbers.get(&page).map_or(capacity, |&number| number.into()),
        };
        if placed < capacity { Ok(Lpn::new(placed as u32)) } else { Err(changed()) }
    }

    fn place_dense(&self, touched: &FirstTouch, span: PageSpan, extents: &mut Vec<Extent>) -> Result<(), SimError> {
        for page in span.first..span.end {
            let number =
                *touched.numbers.get(&page).filter(|&&number| number < self.logical_pages).ok_or_else(changed)?;
            match extents.last_mut() {
                Some(last) if last.lpn.get() + last.pages == number => last.pages += 1,
                _ => extents.push(Extent { lpn: Lpn::new(number), pages: 1 }),
            }
        }
        Ok(())
    }
}

fn changed() -> SimError {
    SimError::Workload("the workload differs from the one surveyed before the runs: the trace was changed meanwhile. Run the study on a copy that nothing writes to".into())
}

/// Which logical pages hold data: how many page reads find none, and so cost no flash operation.
///
/// One bit a logical page, and only where a read can find nothing: a device that was filled and is
/// never trimmed holds every page.
pub(crate) struct MappedPages {
    bits: Vec<u64>,
    empty_reads: u64,
}

impl MappedPages {
    /// This many pages, all of them full or all empty.
    pub(crate) fn new(pages: u32, full: bool) -> Self {
        let words = (pages as usize).div_ceil(64);
        Self { bits: vec![if full { u64::MAX } else { 0 }; words], empty_reads: 0 }
    }

    /// A request was served.
    pub(crate) fn see(&mut self, request: &HostRequest) {
        match request.op {
            HostOp::Read => self.empty_reads += pages(&request.extents).filter(|&lpn| !self.holds(lpn)).count() as u64,
            HostOp::Write => {
                let rests = request.partial_pages().map(Lpn::get);
                self.empty_reads += rests.filter(|&lpn| !self.holds(lpn)).count() as u64;
                pages(&request.extents).for_each(|lpn| self.bits[lpn as usize / 64] |= 1 << (lpn % 64));
            }
            HostOp::Trim => pages(&request.extents).for_each(|lpn| self.bits[lpn as usize / 64] &= !(1 << (lpn % 64))),
            HostOp::Flush => {}
        }
    }

    /// Forgets the counts, and keeps which pages hold data.
    pub(crate) fn restart(&mut self) {
        self.empty_reads = 0;
    }

    /// Page reads that found no data.
    pub(crate) fn empty_reads(&self) -> u64 {
        self.empty_reads
    }

    fn holds(&self, lpn: u32) -> bool {
        self.bits[lpn as usize / 64] >> (lpn % 64) & 1 == 1
    }
}

fn pages(extents: &[Extent]) -> impl Iterator<Item = u32> {
    extents.iter().flat_map(|extent| extent.lpn.get()..extent.lpn.get() + extent.pages)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(op: HostOp, offset: u64, length: u32) -> Record {
        Record { time_ns: 0, op, offset, length, device: 0, hint: trace::Hint::NONE }
    }

    fn split(pager: &Pager, op: HostOp, offset: u64, length: u32) -> (Vec<(u32, u32)>, bool, bool) {
        let mut request = HostRequest::new();
        pager.split(&record(op, offset, length), &mut request).expect("fits");
        let extents = request.extents.iter().map(|extent| (extent.lpn.get(), extent.pages)).collect();
        (extents, request.partial_first, request.partial_last)
    }

    #[test]
    fn writes_know_which_pages_they_cover_in_part() {
        let pager = Pager::new(4096, 100, Placement::Direct);
        for (offset, length, expected) in [
            (0, 4096, (vec![(0, 1)], false, false)),
            (4096, 8192, (vec![(1, 2)], false, false)),
            (512, 512, (vec![(0, 1)], true, false)),
            (0, 512, (vec![(0, 1)], true, false)),
            (3584, 512, (vec![(0, 1)], true, false)),
            (3584, 1024, (vec![(0, 2)], true, true)),
            (4096, 4097, (vec![(1, 2)], false, true)),
            (4095, 4097, (vec![(0, 2)], true, false)),
            (100 * 4096 - 1, 1, (vec![(99, 1)], true, false)),
        ] {
            assert_eq!(split(&pager, HostOp::Write, offset, length), expected, "{length} bytes at {offset}");
            assert_eq!(split(&pager, HostOp::Read, offset, length), (expected.0, false, false));
        }
    }

    #[test]
    fn trims_keep_only_pages_that_they_cover_whole() {
        let pager = Pager::new(4096, 100, Placement::Direct);
        assert_eq!(split(&pager, HostOp::Trim, 0, 8192).0, [(0, 2)]);
        assert_eq!(split(&pager, HostOp::Trim, 1, 12_288).0, [(1, 2)]);
        assert_eq!(split(&pager, HostOp::Trim, 100, 4096).0, []);
        assert_eq!(split(&pager, HostOp::Trim, 100, 200).0, []);
        assert_eq!(split(&pager, HostOp::Flush, 0, 0).0, []);
    }

    #[test]
    fn addresses_beyond_the_device_are_refused_or_wrapped() {
        let beyond = record(HostOp::Read, 99 * 4096, 8192);
        let direct = Pager::new(4096, 100, Placement::Direct);
        assert!(direct.split(&beyond, &mut HostRequest::new()).is_err());
        let wrapped = Pager::new(4096, 100, Placement::Wrapped);
        assert_eq!(split(&wrapped, HostOp::Read, 99 * 4096, 8192).0, [(99, 1), (0, 1)]);
        assert_eq!(split(&wrapped, HostOp::Read, 1003 * 4096, 8192).0, [(3, 2)]);
        assert!(wrapped.split(&record(HostOp::Read, 0, 101 * 4096), &mut HostRequest::new()).is_err());
    }

    #[test]
    fn a_page_alone_lies_where_its_record_is_split_to() {
        let mut touched = FirstTouch::default();
        for page in [7, 3, 205] {
            touched.touch(span_of(&record(HostOp::Write, page * 4096, 4096), 4096), Limit::of(None)).expect("few");
        }
        for placement in [Placement::Direct, Placement::Wrapped, Placement::Dense(Arc::new(touched))] {
            let pager = Pager::new(4096, 100, placement);
            for page in [3, 7, 99, 100, 205] {
                let (record, mut request) = (record(HostOp::Write, page * 4096, 4096), HostRequest::new());
                let split = pager.split(&record, &mut request).map(|()| request.extents[0].lpn);
                assert_eq!(pager.page_of(&record).ok(), split.ok(), "page {page}, {:?}", pager.placement);
            }
        }
    }

    #[test]
    fn dense_numbers_follow_the_first_touch_and_tear_requests() {
        let mut touched = FirstTouch::default();
        for (offset, length) in [(1 << 40, 8192), (5 * 4096, 4096), ((1 << 40) - 4096, 16_384)] {
            let span = span_of(&record(HostOp::Write, offset, length), 4096);
            touched.touch(span, Limit::of(None)).expect("few");
        }
        assert_eq!(touched.len(), 5);
        let pager = Pager::new(4096, 5, Placement::Dense(Arc::new(touched)));
        assert_eq!(split(&pager, HostOp::Read, 1 << 40, 8192).0, [(0, 2)]);
        assert_eq!(split(&pager, HostOp::Read, (1 << 40) - 4096, 16_384).0, [(3, 1), (0, 2), (4, 1)]);
        assert!(pager.split(&record(HostOp::Read, 0, 512), &mut HostRequest::new()).is_err(), "never surveyed");
    }

    fn request(op: HostOp, lpn: u32, pages: u32) -> HostRequest {
        HostRequest { op, extents: vec![Extent { lpn: Lpn::new(lpn), pages }], ..HostRequest::new() }
    }

    #[test]
    fn a_read_is_empty_before_the_write_and_after_the_trim() {
        let mut held = MappedPages::new(200, false);
        let mut empty = |request: HostRequest| {
            let before = held.empty_reads();
            held.see(&request);
            held.empty_reads() - before
        };
        assert_eq!(empty(request(HostOp::Read, 60, 10)), 10);
        assert_eq!(empty(request(HostOp::Write, 62, 4)), 0);
        assert_eq!(empty(request(HostOp::Read, 60, 10)), 6);
        assert_eq!(empty(HostRequest { partial_first: true, partial_last: true, ..request(HostOp::Write, 65, 3) }), 1);
        assert_eq!(empty(request(HostOp::Trim, 63, 1)), 0);
        assert_eq!(empty(request(HostOp::Read, 62, 2)), 1);
        assert_eq!(MappedPages::new(3, true).empty_reads(), 0);
    }
}
