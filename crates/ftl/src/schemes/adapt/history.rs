//! The historical access table (HAT): which pages were written by the last requests.
//!
//! A record is a request's first page and its number of pages. It covers these pages, or all of the
//! logical blocks that they lie in. One that is written again, with the same two, becomes the
//! youngest; a new one takes the place of the oldest. Records are found by their first page through
//! a hash; how many of them cover a page is counted page by page, which the simulation keeps in a
//! table of its own (a controller would look for the few pages before).

use flash::Lpn;

use crate::api::request::Request;
use crate::linked_lists::LinkedLists;

/// Bytes of a record: 4 for the first page, 2 for the number of pages (Wang 2013 5.3).
const RECORD_BYTES: u64 = 6;

/// The first page of a request, and its pages.
type Record = (u32, u16);

/// The last write requests that are different.
#[derive(Clone, Debug)]
pub struct History {
    size: usize,
    records: Vec<Record>,
    /// The least recently written first.
    recency: LinkedLists,
    /// Records by the hash of their first page.
    buckets: LinkedLists,
    bucket_bits: u32,
    /// How many pages a record covers together.
    unit_pages: u32,
    /// For each unit, the records that cover it.
    covering: Vec<u16>,
}

impl History {
    /// A table without records for as many of them as its bytes hold. A page is covered when any
    /// page of its unit is.
    pub fn new(bytes: u64, logical_pages: u32, unit_pages: u32) -> Self {
        let size = (bytes / RECORD_BYTES).min(u64::from(u16::MAX)) as usize;
        let bucket_bits = size.next_power_of_two().ilog2();
        Self {
            size,
            records: Vec::with_capacity(size),
            recency: LinkedLists::new(size, 1),
            buckets: LinkedLists::new(size, 1 << bucket_bits),
            bucket_bits,
            unit_pages,
            covering: vec![0; logical_pages.div_ceil(unit_pages) as usize],
        }
    }

    /// A write request comes. Of one of more pages than two bytes count, the first of them are
    /// recorded.
    pub fn on_write(&mut self, request: &Request) {
        let record = (request.lpn.get(), request.pages.min(u32::from(u16::MAX)) as u16);
        let bucket = self.bucket(record.0);
        // A page that no record covers is no record's first one.
        if self.covers(request.lpn)
            && let Some(known) = self.buckets.iter(bucket).find(|&known| self.records[known as usize] == record)
        {
            self.recency.move_back(0, known);
            return;
        }
        let Some(place) = self.vacant() else { return };
        if place as usize == self.records.len() {
            self.records.push(record);
        } else {
            self.records[place as usize] = record;
        }
        self.recency.push_back(0, place);
        self.buckets.push_back(bucket, place);
        for count in self.covered_by(record) {
            *count += 1;
        }
    }

    /// Whether a page was written by a request that is on record.
    #[inline]
    pub fn covers(&self, lpn: Lpn) -> bool {
        self.covering[(lpn.get() / self.unit_pages) as usize] > 0
    }

    /// The next place for a record, or that of the oldest, which is forgotten; none if there is no
    /// room for any.
    fn vacant(&mut self) -> Option<u32> {
        if self.records.len() < self.size {
            return Some(self.records.len() as u32);
        }
        let oldest = self.recency.front(0).filter(|_| self.size > 0)?;
        self.recency.remove(oldest);
        self.buckets.remove(oldest);
        for count in self.covered_by(self.records[oldest as usize]) {
            *count -= 1;
        }
        Some(oldest)
    }

    fn covered_by(&mut self, (first, pages): Record) -> &mut [u16] {
        let last = first + u32::from(pages) - 1;
        &mut self.covering[(first / self.unit_pages) as usize..=(last / self.unit_pages) as usize]
    }

    /// Fibonacci hashing: the product's upper bits.
    fn bucket(&self, first: u32) -> u32 {
        ((u64::from(first.wrapping_mul(0x9E37_79B9))) >> (32 - self.bucket_bits)) as u32
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use random::SeededRng;

    use super::*;

    /// Against a list of requests, the youngest last.
    #[test]
    fn it_covers_the_pages_of_the_last_different_requests() {
        for (bytes, records, unit) in
            [(0, 0, 1), (5, 0, 4), (6, 1, 1), (23, 3, 4), (23, 3, 1), (100, 16, 1), (100, 16, 8)]
        {
            let mut history = History::new(bytes, 61, unit);
            let mut model: VecDeque<(u32, u32)> = VecDeque::new();
            let mut rng = SeededRng::new(bytes);
            let mut below = |limit: u32| (rng.bits() % u64::from(limit)) as u32;
            let mut again = 0;
            for _ in 0..3000 {
                let request = (if below(2) == 0 { below(4) } else { below(59) }, 1 + below(3));
                history.on_write(&Request::new(Lpn::new(request.0), request.1));
                let known = model.iter().position(|&other| other == request);
                again += u32::from(known.is_some());
                match known {
                    Some(at) => drop(model.remove(at)),
                    None => drop(if model.len() == records { model.pop_front() } else { None }),
                }
                model.push_back(request);
                model.truncate(records);
                for page in 0..61 {
                    let units = |&(first, pages): &(u32, u32)| first / unit..=(first + pages - 1) / unit;
                    let covered = model.iter().any(|request| units(request).contains(&(page / unit)));
                    assert_eq!(history.covers(Lpn::new(page)), covered, "{bytes} bytes, page {page}, units of {unit}");
                }
            }
            assert_eq!(again > 0, records > 0);
        }
    }

    #[test]
    fn a_request_is_recorded_by_as_many_pages_as_two_bytes_count() {
        let mut history = History::new(12, 70_000, 1);
        history.on_write(&Request::new(Lpn::new(100), 69_000));
        assert!(history.covers(Lpn::new(100 + 65_534)) && !history.covers(Lpn::new(100 + 65_535)));
    }
}
