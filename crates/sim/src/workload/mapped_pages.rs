//! Which logical pages hold data: how many page reads find none, and so cost no flash operation.
//!
//! One bit a logical page, and only where a read can find nothing: a device that was filled and is
//! never trimmed holds every page.

use flash::Lpn;
use trace::HostOp;

use crate::workload::paging::{Extent, HostRequest};

/// Pages that hold data, and what reads found.
pub(crate) struct MappedPages {
    bits: Vec<u64>,
    empty_reads: u64,
}

impl MappedPages {
    /// So many pages, all of them full or all empty.
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
