//! Requests of the host, in pages.

use flash::{Geometry, Lbn, Lpn};
use host::Hint;

use crate::port::timing::Nanos;

/// A host request in pages. Whole, since many schemes classify by size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// First logical page.
    pub lpn: Lpn,
    /// Logical pages, at least 1; the shell has checked that they lie on the device.
    pub pages: u32,
    /// When it arrives, in virtual time.
    pub arrival: Nanos,
    /// What the host says of the data.
    pub hint: Hint,
}

impl Request {
    /// A request that arrives at time zero without a hint.
    pub fn new(lpn: Lpn, pages: u32) -> Self {
        Self { lpn, pages, arrival: Nanos::ZERO, hint: Hint::NONE }
    }

    /// Its logical pages, in order, each with its position in the request.
    #[inline]
    pub fn lpns(&self) -> impl Iterator<Item = (usize, Lpn)> + use<> {
        let first = self.lpn.get();
        (0..self.pages).map(move |i| (i as usize, Lpn::new(first + i)))
    }
}

/// The pages of a request that lie in one logical block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRun {
    /// The logical block.
    pub lbn: Lbn,
    /// Offset of the first page in it.
    pub first: u32,
    /// Pages of the run, at least 1.
    pub pages: u32,
    /// Position of the first page in the request.
    pub position: usize,
}

impl Request {
    /// The request cut at the borders of logical blocks.
    pub fn block_runs(&self, geometry: &Geometry) -> impl Iterator<Item = BlockRun> + use<> {
        let (geometry, first, end) = (*geometry, self.lpn.get(), self.lpn.get() + self.pages);
        let mut next = first;
        std::iter::from_fn(move || {
            if next == end {
                return None;
            }
            let (lbn, offset) = geometry.split_logical(Lpn::new(next));
            let pages = (geometry.pages_per_block() - offset).min(end - next);
            let run = BlockRun { lbn, first: offset, pages, position: (next - first) as usize };
            next += pages;
            Some(run)
        })
    }
}
