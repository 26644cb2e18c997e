//! Short reuse: which requests repeat the place and the length of an earlier one, after which
//! operation and how far back.
//!
//! A request is *repeated* once a later one has its first byte and its length, and none between
//! them has started elsewhere in the page. The distance counts requests of the repeated one's
//! operation. One entry for each page, up to a bound.

use std::collections::HashMap;

use host::HostOp;

use crate::generate::{Access, Reuse};
use crate::record::Record;

/// Pages at whose sectors starts are counted.
pub(super) const PAGE: u64 = 4096;

/// Distances are counted by class: up to each of these, from the one before it on. Farther back, a
/// request counts as new.
const DISTANCES: [u32; 5] = [8, 64, 512, 4096, 32_768];
/// Pages that are known; of a longer trace the first are enough.
const PAGES_KNOWN: usize = 1 << 20;
/// Shares are rounded to this many parts, and what rounds to none is left out.
const PARTS: f64 = 1000.0;

const OPS: [Access; 2] = [Access::Read, Access::Write];
const KINDS: usize = OPS.len() * OPS.len() * DISTANCES.len();

/// What a request is, as to reuse.
pub(super) enum Seen {
    /// New: it repeats none.
    New,
    /// It repeats a new one.
    RepeatsNew(HostOp),
    /// It repeats one that repeats another.
    RepeatsRepeated,
}

/// The counts in the making.
#[derive(Default)]
pub(super) struct Reuses {
    last: HashMap<(u32, u64), Last>,
    /// Requests so far, reads and writes.
    requests: [u64; 2],
    kinds: [Count; KINDS],
}

/// The last request that started in a page.
struct Last {
    op: HostOp,
    offset: u64,
    length: u32,
    /// Its number among the requests of its operation.
    number: u64,
    /// Which kind of repetition it is; none of a new one.
    kind: Option<usize>,
}

#[derive(Clone, Copy, Default)]
struct Count {
    requests: u64,
    repeated_again: u64,
    /// Those that repeat one of the same kind.
    regular: u64,
}

impl Reuses {
    /// Counts a read or a write.
    pub(super) fn observe(&mut self, record: &Record) -> Seen {
        let op = index(record.op);
        let page = (record.device, record.offset / PAGE);
        let number = self.requests[op];
        self.requests[op] += 1;
        let is_known = self.last.contains_key(&page);
        if !is_known && self.last.len() >= PAGES_KNOWN {
            return Seen::New;
        }
        let last = Last { op: record.op, offset: record.offset, length: record.length, number, kind: None };
        let Some(before) =
            self.last.insert(page, last).filter(|last| (last.offset, last.length) == (record.offset, record.length))
        else {
            return Seen::New;
        };
        let after = index(before.op);
        // Between a request and the next of its operation lies a distance of 1.
        let requests = if after == op { number } else { self.requests[after] };
        let Some(class) = DISTANCES.iter().position(|&most| requests - before.number <= u64::from(most)) else {
            return Seen::New;
        };
        let kind = (op * OPS.len() + after) * DISTANCES.len() + class;
        self.kinds[kind].requests += 1;
        self.kinds[kind].regular += u64::from(before.kind == Some(kind));
        if let Some(last) = self.last.get_mut(&page) {
            last.kind = Some(kind);
        }
        match before.kind {
            Some(repeated) => {
                self.kinds[repeated].repeated_again += 1;
                Seen::RepeatsRepeated
            }
            None => Seen::RepeatsNew(before.op),
        }
    }

    /// The kinds of repetitions, as a description says them.
    pub(super) fn reuse(&self) -> Vec<Reuse> {
        let all = self.requests.iter().sum::<u64>().max(1) as f64;
        let rounded = |share: f64| (share * PARTS).round() / PARTS;
        let kind = |(kind, count): (usize, &Count)| {
            let (ops, class) = (kind / DISTANCES.len(), kind % DISTANCES.len());
            let from = class.checked_sub(1).map_or(0, |shorter| DISTANCES[shorter]);
            Reuse {
                op: OPS[ops / OPS.len()],
                after: OPS[ops % OPS.len()],
                share: rounded(count.requests as f64 / all),
                distance: [from + 1, DISTANCES[class]],
                again: rounded(count.repeated_again as f64 / count.requests.max(1) as f64),
                regular: rounded(count.regular as f64 / count.requests.max(1) as f64),
            }
        };
        self.kinds.iter().enumerate().map(kind).filter(|kind| kind.share > 0.0).collect()
    }
}

fn index(op: HostOp) -> usize {
    usize::from(op == HostOp::Write)
}
