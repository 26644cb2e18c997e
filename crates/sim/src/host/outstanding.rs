//! Requests that have been issued and are not measured yet.
//!
//! They end in any order and are measured in the order in which they were issued, so that the log,
//! the time series and the sums are the same whatever ends first.

use std::collections::VecDeque;

use flash::Lpn;
use ftl::Nanos;
use trace::HostOp;

use crate::observe::log::Operations;
use crate::observe::metrics::Snapshot;
use crate::paging::{Extent, HostRequest};
use crate::timing::engine::Ended;

/// What is kept of a request until it is measured.
pub(crate) struct Pending {
    pub(crate) op: HostOp,
    /// Its number in the workload, counted from 1.
    pub(crate) number: u64,
    pub(crate) arrival_ns: u64,
    pub(crate) begin: Nanos,
    pub(crate) pages: u32,
    pub(crate) stream: u8,
    pub(crate) is_measured: bool,
    /// What few requests have.
    pub(crate) rare: Option<Box<Rare>>,
    first: Lpn,
    /// When it ended, and where its time is split.
    ended: Option<(Nanos, u32)>,
}

/// What is kept of few requests.
#[derive(Default)]
pub(crate) struct Rare {
    /// Its flash operations, where requests are logged.
    pub(crate) operations: Option<Operations>,
    /// How the device stood when it had been issued, if it ends an interval of the time series.
    pub(crate) snapshot: Option<Snapshot>,
}

impl Pending {
    pub(crate) fn new(
        request: &HostRequest,
        number: u64,
        begin: Nanos,
        is_measured: bool,
        operations: Option<Operations>,
    ) -> Self {
        let &HostRequest { op, arrival_ns, .. } = request;
        let first = request.extents.first().map_or(Lpn::new(0), |extent| extent.lpn);
        let pages = request.pages() as u32;
        let rare = operations.map(|operations| Box::new(Rare { operations: Some(operations), ..Rare::default() }));
        let stream = request.hint.stream();
        Self { op, number, arrival_ns, begin, pages, stream, is_measured, rare, first, ended: None }
    }

    /// It ends an interval of the time series.
    pub(crate) fn keep_snapshot(&mut self, snapshot: Snapshot) {
        self.rare.get_or_insert_default().snapshot = Some(snapshot);
    }

    /// The pages of a read or write, as many as it has behind its first.
    pub(crate) fn pages_of_read_or_write(&self) -> Option<Extent> {
        let is_one = matches!(self.op, HostOp::Read | HostOp::Write);
        is_one.then_some(Extent { lpn: self.first, pages: self.pages })
    }
}

/// Requests in the order in which they were issued.
#[derive(Default)]
pub(crate) struct Outstanding {
    queue: VecDeque<Pending>,
    /// The ticket of the first of them.
    first_ticket: u32,
    under_way: usize,
}

impl Outstanding {
    /// Adds a request; returns its ticket.
    #[inline]
    pub(crate) fn push(&mut self, pending: Pending) -> u32 {
        self.under_way += 1;
        self.queue.push_back(pending);
        self.first_ticket.wrapping_add(self.queue.len() as u32 - 1)
    }

    /// The request added last, unless all have been measured.
    pub(crate) fn last_mut(&mut self) -> Option<&mut Pending> {
        self.queue.back_mut()
    }

    /// How many have not ended.
    #[inline]
    pub(crate) fn under_way(&self) -> usize {
        self.under_way
    }

    /// One of them has ended.
    #[inline]
    pub(crate) fn end(&mut self, Ended { ticket, at, account }: Ended) -> &Pending {
        self.under_way -= 1;
        let pending = &mut self.queue[ticket.wrapping_sub(self.first_ticket) as usize];
        pending.ended = Some((at, account));
        pending
    }

    /// The first, if it has ended: with when, and where its time is split.
    #[inline]
    pub(crate) fn first_ended(&mut self) -> Option<(&mut Pending, Nanos, u32)> {
        let pending = self.queue.front_mut()?;
        let (done, account) = pending.ended?;
        Some((pending, done, account))
    }

    /// Forgets the first.
    #[inline]
    pub(crate) fn drop_first(&mut self) {
        self.first_ticket = self.first_ticket.wrapping_add(1);
        self.queue.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::wait_breakdown::NO_ACCOUNT;

    #[test]
    fn requests_end_in_any_order_and_are_measured_in_theirs() {
        let mut outstanding = Outstanding { first_ticket: u32::MAX, ..Outstanding::default() };
        let pending = |number| Pending::new(&HostRequest::new(), number, Nanos(number), true, None);
        let tickets = [1, 2, 3].map(|number| outstanding.push(pending(number)));
        let mut end = |place: usize, at| {
            let ended = Ended { ticket: tickets[place], at: Nanos(at), account: NO_ACCOUNT };
            assert_eq!(outstanding.end(ended).number, place as u64 + 1);
            let mut measured = Vec::new();
            while let Some((pending, done, _)) = outstanding.first_ended() {
                measured.push((pending.number, done.0));
                outstanding.drop_first();
            }
            measured
        };
        let measured: [Vec<_>; 3] = [end(1, 20), end(0, 30), end(2, 40)];
        assert_eq!(measured, [vec![], vec![(1, 30), (2, 20)], vec![(3, 40)]]);
        assert_eq!(outstanding.under_way(), 0);
    }
}
