//! How much of its device a run used, and whether more was asked than the device can do.
//!
//! Every operation holds its die and, while it moves a page, its channel. The resource that the
//! requests hold longest bounds what the device can do: N requests that hold it for B seconds
//! cannot be served faster than N ÷ B a second, whatever the order (the bottleneck law of
//! operational analysis). That rate of the *bottleneck* needs no backlog to be seen, and does not
//! depend on one. It is an upper bound and no promise: it is a mean over the run, and where at each
//! moment another resource is asked for by all, far less is served. What a run that is overloaded
//! serves is measured: its `iops`.
//!
//! Overload is judged by the time by which a run outlasts its arrivals, and by nothing else of the
//! run. Of two runs over the same arrivals, the one that ends no later is thus never the only
//! overloaded one. The bound is of the arrivals alone: a server that takes the mean gap per page
//! has just the offered load for its capacity, and works on after a burst at the end, too. Under a
//! long burst response times measure its length, so more than a tenth of the span is overload.

use crate::EventTiming;
use crate::result::{LoadFacts, QUARTERS};

/// By how much a run may outlast its arrivals, as a share of their span, before the device counts
/// as overloaded.
const OUTLASTS: f64 = 0.01;

/// Requests of an even load that a device still works on after the last arrival although it keeps
/// up: at 90 % load the wait in an M/D/1 queue is below 22 services 99 times in 100. A short run
/// may outlast its arrivals by as many.
const LEFT_AT_THE_END: f64 = 20.0;

/// The most by which a burst at the end may make it outlast them.
const BURST: f64 = 0.1;

/// Arrivals that are remembered of a run, evenly spread: their backlog is exact to a thousandth of
/// the pages.
const REMEMBERED: usize = 2048;

/// When requests arrived, and how many pages before: of the first and every n-th after it.
struct Arrivals {
    remembered: Vec<(u64, u64)>,
    every: u64,
    requests: u64,
    pages: u64,
}

impl Arrivals {
    fn new() -> Self {
        Self { remembered: Vec::new(), every: 1, requests: 0, pages: 0 }
    }

    /// A request for these pages arrives.
    #[inline]
    fn add(&mut self, arrival_ns: u64, pages: u32) {
        if self.requests == self.remembered.len() as u64 * self.every {
            self.remember(arrival_ns);
        }
        self.requests += 1;
        self.pages += u64::from(pages);
    }

    #[cold]
    fn remember(&mut self, arrival_ns: u64) {
        self.remembered.push((arrival_ns, self.pages));
        if self.remembered.len() == REMEMBERED {
            let mut seen = 0;
            self.remembered.retain(|_| {
                seen += 1;
                seen % 2 == 1
            });
            self.every *= 2;
        }
    }

    /// Time for which a server that takes the mean gap per page works on after the last arrival.
    fn outlasted_by_mean_rate(&self, last_ns: u64) -> f64 {
        let Some(&(first_ns, _)) = self.remembered.first() else { return 0.0 };
        let gap_ns = last_ns.saturating_sub(first_ns) as f64 / self.pages.max(1) as f64;
        let backlogs = self.remembered.iter().map(|&(arrival_ns, before)| {
            (self.pages - before) as f64 * gap_ns - last_ns.saturating_sub(arrival_ns) as f64
        });
        backlogs.fold(0.0, f64::max)
    }
}

/// Follows the load of a run.
pub(crate) struct Load {
    requests: u64,
    skip: u64,
    seen: u64,
    /// The quarter of the requests that the next one belongs to.
    quarter: usize,
    /// After how many requests the next quarter begins.
    quarter_ends: u64,
    sums_ns: [u128; QUARTERS],
    counts: [u64; QUARTERS],
    arrivals: Arrivals,
    last_arrival_ns: u64,
    done_ns: u64,
    /// Reads and writes.
    timed: u64,
}

impl Load {
    /// Of a run of this many requests; the first `skip` warm it up.
    pub(crate) fn new(requests: u64, skip: u64) -> Self {
        let requests = requests.max(1);
        Self {
            requests,
            skip,
            seen: 0,
            quarter: 0,
            quarter_ends: Self::quarter_ends(0, requests),
            sums_ns: [0; QUARTERS],
            counts: [0; QUARTERS],
            arrivals: Arrivals::new(),
            last_arrival_ns: 0,
            done_ns: 0,
            timed: 0,
        }
    }

    /// After how many of the requests a quarter ends; the last one never does.
    fn quarter_ends(quarter: usize, requests: u64) -> u64 {
        let ends = requests as u128 * (quarter as u128 + 1);
        if quarter + 1 < QUARTERS { ends.div_ceil(QUARTERS as u128) as u64 } else { u64::MAX }
    }

    /// A read or write with these pages, or another request, that arrived at `arrival` is done at
    /// `done`.
    #[inline]
    pub(crate) fn add(&mut self, arrival_ns: u64, done_ns: u64, pages: Option<u32>) {
        while self.seen >= self.quarter_ends {
            self.quarter += 1;
            self.quarter_ends = Self::quarter_ends(self.quarter, self.requests);
        }
        let quarter = self.quarter;
        if self.seen >= self.skip {
            self.arrivals.add(arrival_ns, pages.unwrap_or_default());
        }
        self.seen += 1;
        self.sums_ns[quarter] += u128::from(self.done_ns.saturating_sub(arrival_ns));
        self.counts[quarter] += 1;
        self.last_arrival_ns = self.last_arrival_ns.max(arrival_ns);
        self.done_ns = self.done_ns.max(done_ns);
        self.timed += u64::from(pages.is_some());
    }

    /// By how much the run may outlast its arrivals.
    fn spare_ns(&self) -> f64 {
        let begin_ns = self.arrivals.remembered.first().filter(|_| self.skip > 0).map_or(0, |first| first.0);
        let span_ns = self.last_arrival_ns.saturating_sub(begin_ns) as f64;
        let least = OUTLASTS.max(LEFT_AT_THE_END / self.arrivals.requests.max(1) as f64);
        let burst_ns = self.arrivals.outlasted_by_mean_rate(self.last_arrival_ns);
        (span_ns * least).max(burst_ns.min(span_ns * BURST))
    }

    /// What came of it, on this device.
    pub(crate) fn facts(&self, timing: &EventTiming, is_open: bool) -> LoadFacts {
        let (busiest, busy_ns) = busiest(timing).map_or((None, 0), |(name, ns)| (Some(name), ns));
        let elapsed_ns = self.done_ns.max(timing.idle_at().0);
        let ratio = |amount: u64, ns: u64, unit: f64| (ns > 0).then(|| amount as f64 * unit / ns as f64);
        let bottleneck_iops = ratio(self.timed, busy_ns, 1e9);
        let offered_iops = if is_open { ratio(self.timed, self.last_arrival_ns, 1e9) } else { None };
        let outlasts_ns = self.done_ns.saturating_sub(self.last_arrival_ns);
        let backlog_ns =
            std::array::from_fn(|quarter| self.sums_ns[quarter] as f64 / self.counts[quarter].max(1) as f64);
        // All at once, as many as there are dies can be served without a queue.
        let all_at_once = self.last_arrival_ns == 0 && self.seen > timing.die_busy_ns().count() as u64;
        let spare_ns = self.spare_ns();
        let falls_behind = self.last_arrival_ns > 0 && outlasts_ns as f64 > spare_ns;
        LoadFacts {
            offered_iops,
            bottleneck_iops,
            utilisation_max: ratio(busy_ns, elapsed_ns, 1.0),
            busiest,
            outlasts_arrivals_ns: is_open.then_some(outlasts_ns),
            backlog_ns: is_open.then_some(backlog_ns),
            is_overloaded: is_open && (all_at_once || falls_behind),
        }
    }
}

/// The resource that was held longest, and for how long; none where nothing was.
fn busiest(timing: &EventTiming) -> Option<(String, u64)> {
    let most = |busy: &mut dyn Iterator<Item = u64>, name: &str| {
        // Of equals the first, which `max_by_key` would not take.
        let (index, ns) = busy.enumerate().reduce(|most, next| if next.1 > most.1 { next } else { most })?;
        (ns > 0).then(|| (format!("{name} {index}"), ns))
    };
    let alone = |busy_ns: Option<u64>, name: &str| busy_ns.filter(|&ns| ns > 0).map(|ns| (name.to_owned(), ns));
    let [die, channel] = if timing.has_channels() {
        [most(&mut timing.die_busy_ns(), "die"), most(&mut timing.channel_busy_ns(), "channel")]
    } else {
        [alone(timing.die_busy_ns().next(), "device"), None]
    };
    let (link, controller) = (alone(timing.link_busy_ns(), "link"), alone(timing.controller_busy_ns(), "controller"));
    let resources = [die, channel, link, controller].into_iter().flatten();
    resources.reduce(|most, next| if next.1 > most.1 { next } else { most })
}

#[cfg(test)]
mod tests {
    use super::{Arrivals, REMEMBERED};

    /// For how long a server that takes the mean gap for each page outlasts these arrivals.
    fn outlasted(arrivals: impl IntoIterator<Item = (u64, u32)>) -> f64 {
        let (mut remembered, mut last_ns) = (Arrivals::new(), 0);
        for (arrival_ns, pages) in arrivals {
            remembered.add(arrival_ns, pages);
            last_ns = arrival_ns;
        }
        assert!(remembered.remembered.len() <= REMEMBERED);
        remembered.outlasted_by_mean_rate(last_ns)
    }

    #[test]
    fn a_burst_is_outlasted_by_what_is_left_of_it() {
        let even = (0..9_000).map(|number| 1_000 * number);
        assert!(outlasted(even.clone().map(|at| (at, 1))) < 1_001.0);
        // Half the requests come at one time, and the mean gap is half the others' gap.
        for (at, left) in [(0, 0), (2_000, 2_000), (4_500, 4_500)] {
            let bursts = (0..9_000_u64).map(|number| number.min(at) + number.saturating_sub(at + 4_500));
            let outlasts_ns = outlasted(bursts.map(|at| (1_000 * at, 1)));
            assert!((outlasts_ns - 500.0 * f64::from(left)).abs() < 5_000.0, "{at}");
        }
        // The last 100 of even requests have as many pages as all before.
        let large = even.enumerate().map(|(number, at)| (at, if number < 8_900 { 1 } else { 89 }));
        assert!((outlasted(large) - (4_500.0 - 100.0) * 1_000.0).abs() < 5_000.0);
    }

    #[test]
    fn remembering_some_arrivals_is_as_good_as_a_queue_of_all() {
        for seed in 1..20 {
            let mut now = 0;
            let arrivals: Vec<u64> = (0..50_000 * seed)
                .map(|number: u64| {
                    now += (number / 97).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (50 + seed % 5);
                    now
                })
                .collect();
            let span_ns = (now - arrivals[0]) as f64;
            let gap_ns = span_ns / arrivals.len() as f64;
            let free_at = arrivals.iter().fold(0.0, |free_at: f64, &arrival| free_at.max(arrival as f64) + gap_ns);
            let off = (outlasted(arrivals.iter().map(|&at| (at, 1))) - (free_at - now as f64)).abs();
            assert!(off <= 0.001 * span_ns, "seed {seed}: {off}");
        }
    }
}
