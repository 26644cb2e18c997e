//! Threads of a host, each of which has a bounded number of requests outstanding.
//!
//! A request that arrives while its thread has no place waits in the host. It is sent as soon as
//! one of its thread has ended, behind those of its thread that wait already.

use std::collections::VecDeque;

use crate::paging::HostRequest;

/// Threads by the stream that their requests carry.
pub(crate) struct Threads {
    depth: u32,
    of_streams: Vec<Thread>,
    /// Requests that wait, over all threads.
    waiting: usize,
}

#[derive(Clone, Default)]
struct Thread {
    under_way: u32,
    waiting: VecDeque<HostRequest>,
}

impl Threads {
    /// Threads with this many places each.
    pub(crate) fn new(depth: u32) -> Self {
        let of_streams = vec![Thread::default(); usize::from(u8::MAX) + 1];
        Self { depth, of_streams, waiting: 0 }
    }

    fn of(&mut self, request: &HostRequest) -> &mut Thread {
        &mut self.of_streams[usize::from(request.hint.stream())]
    }

    /// Whether a request that arrives has to wait, and then keeps it.
    pub(crate) fn keep(&mut self, request: &HostRequest) -> bool {
        let depth = self.depth;
        let thread = self.of(request);
        if thread.under_way < depth && thread.waiting.is_empty() {
            return false;
        }
        thread.waiting.push_back(request.clone());
        self.waiting += 1;
        true
    }

    /// A request is sent.
    pub(crate) fn begin(&mut self, request: &HostRequest) {
        self.of(request).under_way += 1;
    }

    /// A request of a stream has ended.
    pub(crate) fn end(&mut self, stream: u8) {
        self.of_streams[usize::from(stream)].under_way -= 1;
    }

    pub(crate) fn is_waiting(&self) -> bool {
        self.waiting > 0
    }

    /// Of the requests that wait and have a place, the one that arrived first.
    pub(crate) fn take_sendable(&mut self) -> Option<HostRequest> {
        if self.waiting == 0 {
            return None;
        }
        let depth = self.depth;
        let can_send = self.of_streams.iter_mut().filter(|thread| thread.under_way < depth);
        let first = |thread: &&mut Thread| thread.waiting.front().map_or(u64::MAX, |request| request.arrival_ns);
        let request = can_send.min_by_key(first)?.waiting.pop_front()?;
        self.waiting -= 1;
        Some(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ftl::Hint;

    fn request(arrival_ns: u64, stream: u8) -> HostRequest {
        HostRequest { arrival_ns, hint: Hint::of_stream(stream), ..HostRequest::new() }
    }

    #[test]
    fn a_thread_sends_in_its_order_and_the_longest_waiting_first() {
        let mut threads = Threads::new(2);
        let mut sent = Vec::new();
        for each in [request(1, 7), request(2, 7), request(3, 7), request(4, 0), request(5, 7)] {
            if !threads.keep(&each) {
                threads.begin(&each);
                sent.push(each.arrival_ns);
            }
        }
        assert_eq!(sent, [1, 2, 4], "two places a thread");
        assert!(threads.is_waiting() && threads.take_sendable().is_none());
        threads.end(7);
        let next = threads.take_sendable().expect("a place is free");
        threads.begin(&next);
        assert_eq!(next.arrival_ns, 3);
        assert!(threads.keep(&request(6, 7)), "one of its thread waits before it");
        threads.end(7);
        threads.end(7);
        let left: Vec<_> = std::iter::from_fn(|| threads.take_sendable()).map(|each| each.arrival_ns).collect();
        assert_eq!(left, [5, 6]);
        assert!(!threads.is_waiting());
    }
}
