//! What requests waited for: the time of each request, cause by cause.
//!
//! ```text
//! request  |begin ............................................................ done|
//! read     | wait: die held by a collection |= sense =| wait: bus held by the host |= transfer =|
//!            waiting_ns.collection            service.host waiting_ns.host          service.host
//! ```
//!
//! A request's time is a chain of operations, each ready when the one before it is done; where
//! several run side by side, the one that is done last counts. An operation's own time (what it
//! takes on an idle device) is *service* of its cause. While it waits, for its die, its bus, or the
//! erase of its block, somebody holds that, and the time is *waiting* for the cause of whoever does.
//! Time between operations is the controller's. So the parts of a request add up to its response,
//! to the nanosecond.
//!
//! Each die and each bus keeps the sums of the time for which it was held, by cause. An operation
//! notes the sums when it begins to wait and takes the difference when it need not wait any longer.
//! So waiting costs the same behind one operation and behind thousands. What an operation has waited
//! for goes on to the one that follows it ([`Account`]), and the last one has the request's.
//!
//! Limits: an operation that is suspended waits for those that its die serves meanwhile; giving the
//! die up and taking the work up again count as waiting for its own cause. A die that holds a page
//! for its bus counts for the cause of that page.

use ftl::Cause;

/// Nanoseconds by cause.
pub(crate) type ByCause = [u64; Cause::COUNT];

/// The parts of one request's time, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parts {
    /// By the cause of what was waited for.
    pub(crate) waiting: ByCause,
    /// By the cause of the request's own operations.
    pub(crate) service: ByCause,
    /// Between operations.
    pub(crate) controller: u64,
}

impl Parts {
    /// All of it: the response.
    pub(crate) fn sum(&self) -> u64 {
        self.waiting.iter().chain(&self.service).sum::<u64>() + self.controller
    }
}

/// For which cause a die or a bus was held, and for how long.
#[derive(Clone, Copy)]
struct Ledger {
    held: ByCause,
    holder: Cause,
    since: u64,
    /// When the holder lets go; the far future while that is not known.
    until: u64,
}

impl Ledger {
    const EMPTY: Self = Self { held: [0; Cause::COUNT], holder: Cause::Host, since: 0, until: 0 };

    /// Somebody holds it from now on, until he is known to let go.
    #[inline]
    fn hold(&mut self, cause: Cause, now: u64, until: u64) {
        self.held[self.holder as usize] += now.min(self.until) - self.since;
        (self.holder, self.since, self.until) = (cause, now, until);
    }

    /// Nobody holds it any more.
    #[inline]
    fn release(&mut self, now: u64) {
        self.hold(self.holder, now, now);
    }

    /// The sums up to now.
    #[inline]
    fn sums(&mut self, now: u64) -> &ByCause {
        let moment = now.min(self.until);
        self.held[self.holder as usize] += moment - self.since;
        self.since = moment;
        &self.held
    }
}

/// What an entry under way has come to: the parts of its request's time so far.
#[derive(Clone, Default)]
struct Account {
    parts: Parts,
    /// Since when it has waited, and what the ledger said then.
    since: u64,
    seen: ByCause,
}

impl Account {
    fn wait_ended(&mut self, sums: &ByCause) {
        for ((waiting, now), before) in self.parts.waiting.iter_mut().zip(sums).zip(&self.seen) {
            *waiting += now - before;
        }
    }
}

/// Splits the time of requests.
pub(crate) struct Breakdown {
    dies: Vec<Ledger>,
    buses: Vec<Ledger>,
    /// By the number of the entry.
    accounts: Vec<Account>,
}

/// Until somebody else takes it.
const OPEN: u64 = u64::MAX;

impl Breakdown {
    /// Nothing held yet.
    pub(crate) fn new(dies: usize, buses: usize) -> Self {
        Self { dies: vec![Ledger::EMPTY; dies], buses: vec![Ledger::EMPTY; buses], accounts: Vec::new() }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        *self = Self::new(self.dies.len(), self.buses.len());
    }

    /// The first entry of a request is issued.
    #[inline]
    pub(crate) fn issued(&mut self, entry: u32, now: u64) {
        let account = self.account(entry);
        (account.parts, account.since) = (Parts::default(), now);
    }

    /// An entry follows one that has just ended.
    #[inline]
    pub(crate) fn follows(&mut self, entry: u32, followed: u32, now: u64) {
        let parts = self.account(followed).parts;
        let account = self.account(entry);
        (account.parts, account.since) = (parts, now);
    }

    /// Until now, the controller was at work.
    pub(crate) fn controller_until(&mut self, entry: u32, now: u64) {
        let account = self.account(entry);
        account.parts.controller += now - account.since;
        account.since = now;
    }

    /// The block of a program has been erased; whether that is what it still waited for.
    pub(crate) fn block_erased(&mut self, entry: u32, cause: Cause, now: u64, has_waited: bool) {
        let account = self.account(entry);
        if has_waited {
            account.parts.waiting[cause as usize] += now - account.since;
            account.since = now;
        }
    }

    /// An operation begins to wait for its die.
    #[inline]
    pub(crate) fn waits_for_die(&mut self, entry: u32, die: usize, now: u64) {
        let sums = *self.dies[die].sums(now);
        let account = self.account(entry);
        (account.since, account.seen) = (now, sums);
    }

    /// A die takes an operation up.
    #[inline]
    pub(crate) fn wait_for_die_ended(&mut self, entry: u32, die: usize, now: u64) {
        let Self { dies, accounts, .. } = self;
        let account = &mut accounts[entry as usize];
        if now > account.since {
            account.wait_ended(dies[die].sums(now));
        }
    }

    /// A die is held for a cause from now on.
    #[inline]
    pub(crate) fn die_held(&mut self, die: usize, cause: Cause, now: u64) {
        self.dies[die].hold(cause, now, OPEN);
    }

    /// Nobody holds a die any more.
    #[inline]
    pub(crate) fn die_released(&mut self, die: usize, now: u64) {
        self.dies[die].release(now);
    }

    /// An operation that was suspended is taken up again, which takes `resume_ns`.
    pub(crate) fn resumes(&mut self, entry: u32, die: usize, cause: Cause, (now, resume_ns): (u64, u64)) {
        self.wait_for_die_ended(entry, die, now);
        self.account(entry).parts.waiting[cause as usize] += resume_ns;
    }

    /// An operation begins to wait for its bus.
    #[inline]
    pub(crate) fn waits_for_bus(&mut self, entry: u32, bus: usize, now: u64) {
        let sums = *self.buses[bus].sums(now);
        let account = self.account(entry);
        (account.since, account.seen) = (now, sums);
    }

    /// A page moves on a bus from now on, until a moment; of an operation that a request waits for,
    /// if one is named.
    #[inline]
    pub(crate) fn page_moves(&mut self, entry: Option<u32>, bus: usize, cause: Cause, (now, until): (u64, u64)) {
        let Self { buses, accounts, .. } = self;
        if let Some(entry) = entry {
            let account = &mut accounts[entry as usize];
            if now > account.since {
                account.wait_ended(buses[bus].sums(now));
            }
        }
        buses[bus].hold(cause, now, until);
    }

    /// An operation is done, which takes so long alone.
    #[inline]
    pub(crate) fn served(&mut self, entry: u32, cause: Cause, service_ns: u64) {
        self.account(entry).parts.service[cause as usize] += service_ns;
    }

    /// The parts of the time of the request that an entry is the last of.
    pub(crate) fn parts(&self, entry: u32) -> Parts {
        self.accounts.get(entry as usize).map_or_else(Parts::default, |account| account.parts)
    }

    #[inline]
    fn account(&mut self, entry: u32) -> &mut Account {
        let entry = entry as usize;
        if entry >= self.accounts.len() {
            self.accounts.resize(entry + 1, Account::default());
        }
        &mut self.accounts[entry]
    }
}

/// The parts of all requests that were measured.
#[derive(Default)]
pub(crate) struct PartSums {
    requests: u64,
    waiting: [u128; Cause::COUNT],
    service: [u128; Cause::COUNT],
    controller: u128,
}

impl PartSums {
    /// Adds a request.
    pub(crate) fn add(&mut self, parts: &Parts) {
        self.requests += 1;
        let sums = self.waiting.iter_mut().zip(parts.waiting).chain(self.service.iter_mut().zip(parts.service));
        sums.for_each(|(sum, ns)| *sum += u128::from(ns));
        self.controller += u128::from(parts.controller);
    }

    /// Mean nanoseconds a request: waiting by cause, and service by cause with the controller's;
    /// causes of nothing are left out.
    pub(crate) fn means(&self) -> Option<(Means, Means)> {
        let mean = |sum: u128| sum as f64 / self.requests as f64;
        let means = |sums: &[u128; Cause::COUNT]| -> Means {
            let named = Cause::ALL.iter().zip(sums).filter(|(_, sum)| **sum > 0);
            named.map(|(cause, &sum)| (cause.name(), mean(sum))).collect()
        };
        let mut service = means(&self.service);
        if self.controller > 0 {
            service.insert("controller", mean(self.controller));
        }
        (self.requests > 0).then(|| (means(&self.waiting), service))
    }
}

/// Mean nanoseconds by name.
pub(crate) type Means = std::collections::BTreeMap<&'static str, f64>;

#[cfg(test)]
mod tests {
    use super::*;

    fn by_cause(pairs: &[(Cause, u64)]) -> ByCause {
        let mut sums = ByCause::default();
        for &(cause, ns) in pairs {
            sums[cause as usize] += ns;
        }
        sums
    }

    #[test]
    fn who_held_a_die_is_summed_up_to_any_moment_and_idle_time_is_nobodys() {
        let mut ledger = Ledger::EMPTY;
        ledger.hold(Cause::Host, 100, OPEN);
        assert_eq!(*ledger.sums(130), by_cause(&[(Cause::Host, 30)]));
        ledger.hold(Cause::Collection, 150, OPEN);
        ledger.release(170);
        ledger.hold(Cause::Host, 300, 340);
        let all = by_cause(&[(Cause::Host, 90), (Cause::Collection, 20)]);
        assert_eq!(
            (*ledger.sums(335), *ledger.sums(900)),
            (by_cause(&[(Cause::Host, 85), (Cause::Collection, 20)]), all)
        );
    }

    #[test]
    fn an_operation_waits_for_those_who_hold_its_die_and_its_bus_and_hands_that_on() {
        let mut breakdown = Breakdown::new(1, 1);
        breakdown.die_held(0, Cause::Collection, 0);
        breakdown.issued(3, 10);
        breakdown.waits_for_die(3, 0, 10);
        breakdown.die_held(0, Cause::Mapping, 25);
        breakdown.wait_for_die_ended(3, 0, 40);
        breakdown.die_held(0, Cause::Host, 40);
        breakdown.page_moves(None, 0, Cause::Merge, (45, 60));
        breakdown.waits_for_bus(3, 0, 50);
        breakdown.page_moves(Some(3), 0, Cause::Host, (60, 70));
        breakdown.served(3, Cause::Host, 20);
        breakdown.follows(4, 3, 70);
        breakdown.controller_until(4, 75);
        let Parts { waiting, service, controller } = breakdown.parts(4);
        assert_eq!(waiting, by_cause(&[(Cause::Collection, 15), (Cause::Mapping, 15), (Cause::Merge, 10)]));
        assert_eq!((service, controller), (by_cause(&[(Cause::Host, 20)]), 5));
    }
}
