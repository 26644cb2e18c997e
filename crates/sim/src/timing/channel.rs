//! A channel: the transfers promised on it, and the gaps between them.
//!
//! All transfers take equally long, and time is cut into slots of a power of two of nanoseconds, at
//! most one transfer long: so at most one transfer begins in a slot. The *calendar* is a ring of
//! slots, each with the end of the transfer that begins in it; an entry of an earlier round is
//! recognised by its time. A gap is thus looked for where it is needed, in the few neighbouring
//! slots, without a list to keep in order.

/// Slots of a calendar: promises further apart than this many transfers forget each other. A chain
/// of copies has to move some two thousand pages in one go, on a channel that it saturates alone,
/// to be seen only in part; and 32 KiB a channel, touched where virtual time is, stay in the
/// second-level cache.
const SLOTS: usize = 4096;

/// Slots looked at between two decisions whether to go on: as many as a transfer without or with
/// one conflict has for neighbours, so that the decision is nearly always the same and the
/// processor can prefetch it.
const UNROLLED: usize = 6;

/// One channel: which transfers hold it, and when.
pub(crate) struct Channel {
    /// End of the transfer that began in each slot; 0 where there was none yet. None where
    /// transfers take no time.
    calendar: Option<Box<[u64; SLOTS]>>,
    transfer_ns: u64,
    slot_shift: u32,
    /// End of the latest promise.
    free_at: u64,
    transfers: u64,
}

impl Channel {
    /// An idle channel on which a transfer takes so long, 0 for no time at all.
    pub(crate) fn new(transfer_ns: u64) -> Self {
        Self {
            calendar: (transfer_ns > 0).then(|| vec![0; SLOTS].try_into().expect("a calendar has SLOTS slots")),
            transfer_ns,
            slot_shift: transfer_ns.max(1).ilog2(),
            free_at: 0,
            transfers: 0,
        }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        if let Some(calendar) = &mut self.calendar {
            calendar.fill(0);
        }
        (self.free_at, self.transfers) = (0, 0);
    }

    /// Time for which it moved data, in nanoseconds.
    pub(crate) fn busy_ns(&self) -> u64 {
        self.transfers * self.transfer_ns
    }

    /// The first moment from `from` on at which a transfer fits.
    #[inline]
    pub(crate) fn first_gap(&self, from: u64) -> u64 {
        if from >= self.free_at { from } else { self.search(from) }
    }

    /// Promises a transfer that begins at `start`, a moment that [`Channel::first_gap`] gave.
    #[inline]
    pub(crate) fn book(&mut self, start: u64) {
        let end = start + self.transfer_ns;
        self.transfers += 1;
        self.free_at = self.free_at.max(end);
        if let Some(calendar) = &mut self.calendar {
            calendar[(start >> self.slot_shift) as usize % SLOTS] = end;
        }
    }

    /// Asks for the memory that a search from a moment on begins at.
    #[inline]
    pub(crate) fn prefetch(&self, from: u64) {
        if let Some(calendar) = &self.calendar {
            flash::prefetch(&calendar[..], (from >> self.slot_shift) as usize % SLOTS);
        }
    }

    #[inline]
    fn search(&self, from: u64) -> u64 {
        let Some(calendar) = &self.calendar else { return from };
        let mut start = from;
        // A transfer that began less than one transfer before `start` still blocks it.
        let mut slot = from.saturating_sub(self.transfer_ns) >> self.slot_shift;
        // One that ends at `end` overlaps when start < end < start + 2 transfers. Entries of
        // another round are far from that.
        let overlaps = 2 * self.transfer_ns - 1;
        loop {
            for _ in 0..UNROLLED {
                let end = calendar[slot as usize % SLOTS];
                start = if end.wrapping_sub(start + 1) < overlaps { end } else { start };
                slot += 1;
            }
            if slot << self.slot_shift >= start + self.transfer_ns {
                return start;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transfer_takes_the_first_gap_that_it_fits_in() {
        // 0        100       200       300       400       500
        // |........|== 1 ==|...........|== 2 ==|...........
        let mut channel = Channel::new(100);
        channel.book(100);
        channel.book(330);
        for (from, expected) in
            [(0, 0), (1, 200), (99, 200), (150, 200), (200, 200), (230, 230), (231, 430), (400, 430), (500, 500)]
        {
            assert_eq!(channel.first_gap(from), expected, "from {from}");
        }
        assert_eq!(channel.busy_ns(), 200);
    }

    #[test]
    fn the_calendar_agrees_with_a_list_of_all_transfers() {
        for transfer in [1_u64, 2, 3, 7, 8, 100, 127, 128, 129] {
            let (mut channel, mut list) = (Channel::new(transfer), Vec::<u64>::new());
            let mut random = 12_345_u64;
            for step in 0..4000 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let from = step * transfer / 2 + (random >> 33) % (60 * transfer);
                let mut expected = from;
                list.sort_unstable();
                for &began in &list {
                    if began < expected + transfer && began + transfer > expected {
                        expected = began + transfer;
                    }
                }
                assert_eq!(channel.first_gap(from), expected, "transfer {transfer}, step {step}");
                channel.book(expected);
                list.push(expected);
            }
        }
    }

    #[test]
    fn transfers_that_take_no_time_never_wait() {
        let mut channel = Channel::new(0);
        channel.book(1000);
        assert_eq!((channel.first_gap(5), channel.busy_ns()), (5, 0));
    }
}
