//! Torture against the clock, on several threads: the part that `check::torture` leaves to its
//! caller.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use check::torture::{SchemeReport, Torture};

/// How long trials go on, and how many at once.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Time after which no trial begins.
    pub budget: Duration,
    /// Trials at once, and at most one per core: more would save no time. None: one per core.
    pub threads: Option<usize>,
}

/// What became of torture.
#[derive(Debug)]
pub struct Tortured {
    /// What was tried and found, scheme by scheme.
    pub torture: Torture,
    /// Trials at once.
    pub threads: usize,
    /// The time that they took.
    pub elapsed: Duration,
}

/// Runs trials until time is up, nothing is left to be tried, or `goes_on` says no. It is asked
/// before each trial, with the statistics so far and the time passed.
pub fn run(torture: Torture, limits: Limits, goes_on: impl Fn(&[SchemeReport], Duration) -> bool + Sync) -> Tortured {
    run_on(torture, limits, |work| work(), goes_on)
}

/// Does the same for a shell that prepares its threads: `on_thread` is called on each, and does the
/// work that it is given.
pub fn run_on(
    torture: Torture,
    limits: Limits,
    on_thread: impl Fn(&(dyn Fn() + Sync)) + Sync,
    goes_on: impl Fn(&[SchemeReport], Duration) -> bool + Sync,
) -> Tortured {
    let cores = thread::available_parallelism().map_or(1, Into::into);
    let threads = limits.threads.map_or(cores, |threads| threads.min(cores));
    let (torture, begun) = (Mutex::new(torture), Instant::now());
    let next = || {
        let (mut torture, elapsed) = (lock(&torture), begun.elapsed());
        let goes_on = goes_on(torture.reports(), elapsed) && elapsed < limits.budget;
        if goes_on { torture.next_trial() } else { None }
    };
    let work = || {
        while let Some(trial) = next() {
            let begun = Instant::now();
            let result = trial.run();
            let spent_ns = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
            lock(&torture).record(&trial, result, spent_ns);
        }
    };
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| on_thread(&work));
        }
    });
    let elapsed = begun.elapsed();
    Tortured { torture: torture.into_inner().unwrap_or_else(PoisonError::into_inner), threads, elapsed }
}

fn lock(torture: &Mutex<Torture>) -> MutexGuard<'_, Torture> {
    torture.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use check::torture::Options;

    use super::*;

    #[test]
    fn no_more_threads_than_cores_are_started() {
        let torture = Torture::new(Options { stacks: vec!["page".parse().expect("a stack")], ..Options::default() });
        let limits = Limits { budget: Duration::ZERO, threads: Some(600) };
        let (torture, started) = (torture.expect("valid"), Mutex::new(0_usize));
        let count = |_: &(dyn Fn() + Sync)| *started.lock().expect("no panic") += 1;
        let done = run_on(torture, limits, count, |_, _| true);
        let cores = thread::available_parallelism().map_or(1, Into::into);
        assert_eq!((done.threads, started.into_inner().expect("no panic")), (cores.min(600), cores.min(600)));
    }
}
