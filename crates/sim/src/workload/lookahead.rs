//! Requests read some time before they begin, so that a translation layer can ask for the memory
//! that they will touch.
//!
//! A simulated device of many gigabytes has maps of tens of megabytes, and nearly every request
//! touches a random entry. A request is announced when it is read and twice more when it is nearer:
//! first for what is found by its address, then for what that points to, and so on. Nothing else
//! depends on it, and a malformed line still ends the run.
//!
//! A translation layer that needs the whole future is given all calls of a workload before it
//! begins, as the host makes them when it serves it (`Host::serve`).

use ftl::{FutureRequest, PrefetchStage};
use trace::HostOp;

use crate::SimError;
use crate::workload::paging::HostRequest;
use crate::workload::stream::Requests;

/// Requests read ahead: enough for a miss to memory to be over, few enough that the lines stay in
/// the first-level cache.
pub(crate) const AHEAD: usize = 16;
/// When a request is announced, in requests before its beginning.
pub(crate) const ANNOUNCED: [(usize, PrefetchStage); 3] =
    [(AHEAD, PrefetchStage::Far), (8, PrefetchStage::Near), (3, PrefetchStage::Next)];

/// A window on the requests to come.
pub(crate) struct Ahead {
    requests: Requests,
    ring: Vec<HostRequest>,
    /// Requests read and requests handed out so far.
    read: usize,
    taken: usize,
    ended: bool,
}

impl Ahead {
    pub(crate) fn of(requests: Requests) -> Self {
        let ring = (0..AHEAD).map(|_| HostRequest::new()).collect();
        Self { requests, ring, read: 0, taken: 0, ended: false }
    }

    /// The next request, after announcing those behind it.
    #[inline]
    pub(crate) fn next(
        &mut self,
        mut announce: impl FnMut(&HostRequest, PrefetchStage),
    ) -> Result<Option<&HostRequest>, SimError> {
        // The slot of the request taken last is free again; it was the one handed out before this
        // call.
        while !self.ended && self.read < self.taken + AHEAD {
            let slot = &mut self.ring[self.read % AHEAD];
            if self.requests.next(slot)? {
                announce(slot, PrefetchStage::Far);
                self.read += 1;
            } else {
                self.ended = true;
            }
        }
        if self.taken == self.read {
            return Ok(None);
        }
        for (before, stage) in &ANNOUNCED[1..] {
            if self.taken + before < self.read {
                announce(&self.ring[(self.taken + before) % AHEAD], *stage);
            }
        }
        self.taken += 1;
        Ok(Some(&self.ring[(self.taken - 1) % AHEAD]))
    }
}

/// All calls that serving these requests makes, in order.
pub(crate) fn all_calls(mut requests: Requests) -> Result<Vec<FutureRequest>, SimError> {
    let (mut calls, mut request) = (Vec::new(), HostRequest::new());
    while requests.next(&mut request)? {
        add_calls(&request, &mut calls);
    }
    Ok(calls)
}

fn add_calls(request: &HostRequest, calls: &mut Vec<FutureRequest>) {
    let op = request.op;
    if op == HostOp::Write {
        calls.extend(request.partial_pages().map(|lpn| FutureRequest { op: HostOp::Read, lpn, pages: 1 }));
    }
    calls.extend(request.extents.iter().map(|extent| FutureRequest { op, lpn: extent.lpn, pages: extent.pages }));
}
