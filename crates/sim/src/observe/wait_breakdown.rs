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
//! erase of its block, somebody holds that, and the time is *waiting* for the cause of whoever
//! does. Time between operations is the controller's. So the parts of a request add up to its
//! response, to the nanosecond.
//!
//! Each die keeps the sums of the time for which it was held, by cause. Who is next waits behind
//! one holder. Others note the sums when they begin to wait and take the difference when they need
//! not wait any longer, so waiting costs the same behind one operation and behind thousands. A bus
//! tells what a page waited for when that is known for good. What an operation has come to goes on
//! to the one that follows it ([`Account`]), and the last one has the request's.
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
    /// What of that was waiting for a bus.
    pub(crate) bus_waiting: ByCause,
    /// By the cause of the request's own operations.
    pub(crate) service: ByCause,
    /// Between operations.
    pub(crate) controller: u64,
    /// On the host link, and waiting for it.
    pub(crate) link: u64,
}

impl Parts {
    /// All of it: the response.
    pub(crate) fn sum(&self) -> u64 {
        self.waiting.iter().chain(&self.service).sum::<u64>() + self.controller + self.link
    }
}

/// Sparse nanoseconds by cause.
#[derive(Clone, Copy, Default)]
struct Few {
    ns: ByCause,
    /// A bit for each cause that there is something of.
    causes: u32,
}

impl Few {
    #[inline]
    fn add(&mut self, cause: Cause, ns: u64) {
        self.ns[cause as usize] += ns;
        self.causes |= 1 << cause as u32;
    }

    /// Causes with their nanoseconds, without those of which there are none.
    #[inline]
    fn each(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let mut left = self.causes;
        std::iter::from_fn(move || {
            let cause = left.trailing_zeros() as usize;
            left &= left.wrapping_sub(1);
            self.ns.get(cause).map(|&ns| (cause, ns))
        })
    }

    #[inline]
    fn clear(&mut self) {
        while self.causes != 0 {
            self.ns[self.causes.trailing_zeros() as usize] = 0;
            self.causes &= self.causes - 1;
        }
    }
}

/// For which cause a die was held, and for how long.
#[derive(Clone, Copy)]
struct Ledger {
    held: Few,
    holder: Cause,
    since: u64,
    is_free: bool,
}

impl Ledger {
    const EMPTY: Self =
        Self { held: Few { ns: [0; Cause::COUNT], causes: 0 }, holder: Cause::Host, since: 0, is_free: true };

    /// Adds what has been held up to now.
    #[inline]
    fn close(&mut self, now: u64) {
        if !self.is_free {
            self.held.add(self.holder, now - self.since);
        }
        self.since = now;
    }

    /// Somebody holds it from now on.
    #[inline]
    fn hold(&mut self, cause: Cause, now: u64) {
        if self.holder == cause && !self.is_free {
            return;
        }
        self.close(now);
        (self.holder, self.is_free) = (cause, false);
    }

    /// Nobody holds it any more.
    #[inline]
    fn release(&mut self, now: u64) {
        self.close(now);
        self.is_free = true;
    }

    /// How long each cause has held the die until now.
    #[inline]
    fn sums(&mut self, now: u64) -> &Few {
        self.close(now);
        &self.held
    }
}

/// What somebody waits for.
#[derive(Clone, Copy)]
enum Behind {
    /// What holds the die now: the operation is next, so no other comes before it.
    One(Cause),
    /// Whoever holds the die from when it had been held as long as `held_before` says, where this
    /// has a bit for the cause.
    Since(u32),
}

/// The parts of a request's time so far.
#[derive(Clone, Copy)]
struct Account {
    waiting: Few,
    bus_waiting: Few,
    service: Few,
    controller: u64,
    link: u64,
    /// From when on time is not told yet.
    since: u64,
    behind: Behind,
    /// Of causes without a bit in `behind`, what was there before.
    held_before: ByCause,
    /// The next one of those that are free.
    next: u32,
}

impl Account {
    const EMPTY: Self = Self {
        waiting: Few { ns: [0; Cause::COUNT], causes: 0 },
        bus_waiting: Few { ns: [0; Cause::COUNT], causes: 0 },
        service: Few { ns: [0; Cause::COUNT], causes: 0 },
        controller: 0,
        link: 0,
        since: 0,
        behind: Behind::One(Cause::Host),
        held_before: [0; Cause::COUNT],
        next: NO_ACCOUNT,
    };
}

/// The number of no account: nobody asked for the breakdown of this request.
pub(crate) const NO_ACCOUNT: u32 = u32::MAX;

/// Splits the time of requests. Accounts are named by number; what is done to none does nothing.
pub(crate) struct Breakdown {
    dies: Vec<Ledger>,
    accounts: Vec<Account>,
    /// The first of the accounts that are free.
    free: u32,
}

impl Breakdown {
    /// For this many dies, of which none is held yet.
    pub(crate) fn new(dies: usize) -> Self {
        Self { dies: vec![Ledger::EMPTY; dies], accounts: Vec::new(), free: NO_ACCOUNT }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        *self = Self::new(self.dies.len());
    }

    /// A request begins now, or a part of it.
    #[inline]
    pub(crate) fn open(&mut self, now: u64) -> u32 {
        let number = self.free;
        if let Some(account) = self.accounts.get_mut(number as usize) {
            self.free = account.next;
            account.since = now;
            return number;
        }
        self.accounts.push(Account { since: now, ..Account::EMPTY });
        (self.accounts.len() - 1) as u32
    }

    /// A second account that begins with what the first has, for a part of the request that goes on
    /// by itself.
    #[cold]
    pub(crate) fn copy(&mut self, number: u32) -> u32 {
        let copy = self.open(0);
        self.accounts[copy as usize] = self.accounts[number as usize];
        copy
    }

    /// Nobody needs an account any more.
    #[inline]
    pub(crate) fn close(&mut self, number: u32) {
        let Some(account) = self.accounts.get_mut(number as usize) else { return };
        account.waiting.clear();
        account.bus_waiting.clear();
        account.service.clear();
        (account.controller, account.link) = (0, 0);
        account.next = self.free;
        self.free = number;
    }

    /// All time before now is told.
    #[inline]
    pub(crate) fn set_since(&mut self, number: u32, now: u64) {
        self.accounts[number as usize].since = now;
    }

    /// Until now, the controller was at work.
    pub(crate) fn controller_until(&mut self, number: u32, now: u64) {
        let account = &mut self.accounts[number as usize];
        account.controller += now - account.since;
        account.since = now;
    }

    /// Until now, the request was on the host link or waited for it.
    pub(crate) fn link_until(&mut self, number: u32, now: u64) {
        let account = &mut self.accounts[number as usize];
        account.link += now - account.since;
        account.since = now;
    }

    /// Until now, a program waited for what was done to its block before it, or a unit for a place
    /// in the program buffer.
    pub(crate) fn waited_until(&mut self, number: u32, cause: Cause, now: u64) {
        let account = &mut self.accounts[number as usize];
        account.waiting.add(cause, now - account.since);
        account.since = now;
    }

    /// An operation begins to wait for its die; whether it is next.
    #[inline]
    pub(crate) fn waits_for_die(&mut self, number: u32, die: usize, now: u64, is_next: bool) {
        let (account, ledger) = (&mut self.accounts[number as usize], &mut self.dies[die]);
        account.since = now;
        if is_next {
            account.behind = Behind::One(ledger.holder);
            return;
        }
        // One by one: a copy of all would wait for the sum that was written last.
        let sums = ledger.sums(now);
        sums.each().for_each(|(cause, ns)| account.held_before[cause] = ns);
        account.behind = Behind::Since(sums.causes);
    }

    /// A die takes up an operation that waited.
    #[inline]
    pub(crate) fn wait_for_die_ended(&mut self, number: u32, die: usize, now: u64) {
        let account = &mut self.accounts[number as usize];
        match account.behind {
            _ if now == account.since => {}
            Behind::One(cause) => account.waiting.add(cause, now - account.since),
            Behind::Since(causes) => {
                let mut free_ns = now - account.since;
                for (cause, ns) in self.dies[die].sums(now).each() {
                    let before = if causes >> cause & 1 == 1 { account.held_before[cause] } else { 0 };
                    if ns > before {
                        account.waiting.add(Cause::ALL[cause], ns - before);
                        free_ns -= ns - before;
                    }
                }
                // A serial device stands still while the controller is at work on a request before.
                account.controller += free_ns;
            }
        }
    }

    /// An operation waited for its die so long.
    pub(crate) fn waited_for_die(&mut self, number: u32, cause: Cause, ns: u64) {
        self.accounts[number as usize].waiting.add(cause, ns);
    }

    /// A page waited for its bus so long.
    #[inline]
    pub(crate) fn waited_for_bus(&mut self, number: u32, cause: Cause, ns: u64) {
        let account = &mut self.accounts[number as usize];
        account.waiting.add(cause, ns);
        account.bus_waiting.add(cause, ns);
    }

    /// A die is held for a cause from now on.
    #[inline]
    pub(crate) fn die_held(&mut self, die: usize, cause: Cause, now: u64) {
        self.dies[die].hold(cause, now);
    }

    /// Nobody holds a die any more.
    #[inline]
    pub(crate) fn die_released(&mut self, die: usize, now: u64) {
        self.dies[die].release(now);
    }

    /// An operation is done, which takes so long alone.
    #[inline]
    pub(crate) fn served(&mut self, number: u32, cause: Cause, service_ns: u64) {
        self.accounts[number as usize].service.add(cause, service_ns);
    }

    /// The same, and all time before now is told.
    #[inline]
    pub(crate) fn served_until(&mut self, number: u32, cause: Cause, service_ns: u64, now: u64) {
        let account = &mut self.accounts[number as usize];
        account.service.add(cause, service_ns);
        account.since = now;
    }

    /// The parts of the time of a request.
    pub(crate) fn parts(&self, number: u32) -> Parts {
        let Some(account) = self.accounts.get(number as usize) else { return Parts::default() };
        let Account { waiting, bus_waiting, service, controller, link, .. } = account;
        Parts {
            waiting: waiting.ns,
            bus_waiting: bus_waiting.ns,
            service: service.ns,
            controller: *controller,
            link: *link,
        }
    }

    /// Adds the parts of the time of a request to those of others.
    #[inline]
    pub(crate) fn add_to(&self, sums: &mut PartSums, number: u32) {
        sums.requests += 1;
        let Some(account) = self.accounts.get(number as usize) else { return };
        let add = |sums: &mut [u128; Cause::COUNT], few: &Few| {
            few.each().for_each(|(cause, ns)| sums[cause] += u128::from(ns));
        };
        add(&mut sums.waiting, &account.waiting);
        add(&mut sums.bus_waiting, &account.bus_waiting);
        add(&mut sums.service, &account.service);
        sums.controller += u128::from(account.controller);
        sums.link += u128::from(account.link);
    }
}

/// The parts of all requests that were measured.
#[derive(Default)]
pub(crate) struct PartSums {
    requests: u64,
    waiting: [u128; Cause::COUNT],
    bus_waiting: [u128; Cause::COUNT],
    service: [u128; Cause::COUNT],
    controller: u128,
    link: u128,
}

impl PartSums {
    /// Mean nanoseconds a request: waiting by cause, what of that was for a bus, and service by
    /// cause with the controller's and the link's; what is nothing is left out.
    pub(crate) fn means(&self) -> [Option<Means>; 3] {
        let mean = |sum: u128| sum as f64 / self.requests as f64;
        let means = |sums: &[u128; Cause::COUNT]| -> Means {
            let named = Cause::ALL.iter().zip(sums).filter(|(_, sum)| **sum > 0);
            named.map(|(cause, &sum)| (cause.name(), mean(sum))).collect()
        };
        let mut service = means(&self.service);
        for (name, sum) in [("controller", self.controller), ("link", self.link)] {
            if sum > 0 {
                service.insert(name, mean(sum));
            }
        }
        [means(&self.waiting), means(&self.bus_waiting), service].map(|means| (self.requests > 0).then_some(means))
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
        ledger.hold(Cause::Host, 100);
        assert_eq!(ledger.sums(130).ns, by_cause(&[(Cause::Host, 30)]));
        ledger.hold(Cause::Collection, 150);
        ledger.release(170);
        ledger.hold(Cause::Host, 300);
        ledger.release(340);
        assert_eq!(ledger.sums(900).ns, by_cause(&[(Cause::Host, 90), (Cause::Collection, 20)]));
        assert_eq!(ledger.held.each().collect::<Vec<_>>(), [(0, 90), (Cause::Collection as usize, 20)]);
    }

    #[test]
    fn an_operation_waits_for_those_who_hold_its_die_and_its_bus() {
        let mut breakdown = Breakdown::new(1);
        breakdown.die_held(0, Cause::Collection, 0);
        let (next, other) = (breakdown.open(5), breakdown.open(10));
        breakdown.waits_for_die(next, 0, 5, true);
        breakdown.waits_for_die(other, 0, 10, false);
        breakdown.wait_for_die_ended(next, 0, 25);
        breakdown.die_held(0, Cause::Mapping, 25);
        breakdown.wait_for_die_ended(other, 0, 40);
        breakdown.waited_for_bus(other, Cause::Merge, 10);
        breakdown.served(other, Cause::Host, 20);
        breakdown.set_since(other, 70);
        breakdown.controller_until(other, 75);
        let waiting = by_cause(&[(Cause::Collection, 15), (Cause::Mapping, 15), (Cause::Merge, 10)]);
        let (bus_waiting, service) = (by_cause(&[(Cause::Merge, 10)]), by_cause(&[(Cause::Host, 20)]));
        assert_eq!(breakdown.parts(other), Parts { waiting, bus_waiting, service, controller: 5, link: 0 });
        assert_eq!(breakdown.parts(next).waiting, by_cause(&[(Cause::Collection, 20)]));
        let copy = breakdown.copy(other);
        breakdown.close(other);
        assert_eq!((breakdown.parts(copy).controller, breakdown.open(80)), (5, other));
        assert_eq!(breakdown.parts(other), Parts::default());
    }
}
