//! How much of its device a run used, and whether more was asked than the device can do.
//!
//! Every operation holds its die and, while it moves a page, its channel. The resource that the
//! requests hold longest bounds what the device can do: N requests that hold it for B seconds
//! cannot be served faster than N ÷ B a second, whatever the order (the bottleneck law of
//! operational analysis). That rate of the *bottleneck* needs no backlog to be seen, and does not
//! depend on one. It is an upper bound and no promise: it is a mean over the run, and where at each
//! moment another resource is asked for by all, far less is served. What a run that is overloaded
//! serves is measured: its `iops`.

use crate::EventTiming;
use crate::result::{LoadFacts, QUARTERS};

/// Of the bottleneck's rate, what may be offered before the device counts as overloaded.
const NEARLY_ALL: f64 = 0.95;

/// By how much a run may outlast its arrivals, as a share of them, before a growing backlog counts
/// as overload.
const OUTLASTS: f64 = 0.01;

/// By how much a run may outlast its arrivals before a backlog that only rises counts, too.
const OUTLASTS_MUCH: f64 = 0.03;

/// Follows the load of a run.
pub(crate) struct Load {
    requests: u64,
    seen: u64,
    /// The quarter of the requests that the next one belongs to.
    quarter: usize,
    /// After how many requests the next quarter begins.
    quarter_ends: u64,
    sums_ns: [u128; QUARTERS],
    counts: [u64; QUARTERS],
    last_arrival_ns: u64,
    done_ns: u64,
    /// Reads and writes.
    timed: u64,
}

impl Load {
    /// Of a run of so many requests.
    pub(crate) fn new(requests: u64) -> Self {
        let requests = requests.max(1);
        Self {
            requests,
            seen: 0,
            quarter: 0,
            quarter_ends: Self::quarter_ends(0, requests),
            sums_ns: [0; QUARTERS],
            counts: [0; QUARTERS],
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

    /// A request that arrived at `arrival` is done at `done`.
    #[inline]
    pub(crate) fn add(&mut self, arrival_ns: u64, done_ns: u64, is_timed: bool) {
        while self.seen >= self.quarter_ends {
            self.quarter += 1;
            self.quarter_ends = Self::quarter_ends(self.quarter, self.requests);
        }
        let quarter = self.quarter;
        self.seen += 1;
        self.sums_ns[quarter] += u128::from(self.done_ns.saturating_sub(arrival_ns));
        self.counts[quarter] += 1;
        self.last_arrival_ns = self.last_arrival_ns.max(arrival_ns);
        self.done_ns = self.done_ns.max(done_ns);
        self.timed += u64::from(is_timed);
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
        let backlog_grows = is_open && grows(&backlog_ns);
        // What arrives at once asks for all there is as soon as anybody has to wait for others.
        let arrives_at_once = is_open && self.seen > 1 && self.last_arrival_ns == 0;
        let asks_all = match offered_iops.zip(bottleneck_iops) {
            Some((offered, most)) => offered >= NEARLY_ALL * most,
            None => arrives_at_once && rises(&backlog_ns),
        };
        let outlasts = outlasts_ns as f64 / self.last_arrival_ns as f64;
        LoadFacts {
            offered_iops,
            bottleneck_iops,
            utilisation_max: ratio(busy_ns, elapsed_ns, 1.0),
            busiest,
            outlasts_arrivals_ns: is_open.then_some(outlasts_ns),
            backlog_ns: is_open.then_some(backlog_ns),
            backlog_grows,
            is_overloaded: asks_all || (is_open && falls_behind(&backlog_ns, outlasts)),
        }
    }
}

/// Whether each quarter's mean backlog is above the one before.
fn rises(backlog_ns: &[f64; QUARTERS]) -> bool {
    backlog_ns.is_sorted_by(|a, b| a < b)
}

/// Whether a backlog rises and does not level off.
fn grows(backlog_ns: &[f64; QUARTERS]) -> bool {
    rises(backlog_ns) && backlog_ns[3] >= 2.0 * backlog_ns[1]
}

/// Whether a device with this backlog falls behind arrivals that it outlasts by such a share of
/// their span.
fn falls_behind(backlog_ns: &[f64; QUARTERS], outlasts: f64) -> bool {
    (grows(backlog_ns) && outlasts > OUTLASTS) || (rises(backlog_ns) && outlasts > OUTLASTS_MUCH)
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
    use super::falls_behind;

    #[test]
    fn a_backlog_that_only_rises_counts_where_much_of_it_is_left_at_the_end() {
        let (doubling, rising, uneven) = ([1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 4.0, 5.0], [3.0, 1.0, 4.0, 5.0]);
        for (backlog_ns, outlasts, expected) in [
            (doubling, 0.009, false),
            (doubling, 0.011, true),
            (rising, 0.029, false),
            (rising, 0.031, true),
            (uneven, 0.5, false),
            // All arrives at once: that is judged apart.
            (rising, f64::NAN, false),
        ] {
            assert_eq!(falls_behind(&backlog_ns, outlasts), expected, "{backlog_ns:?}, {outlasts}");
        }
    }
}
