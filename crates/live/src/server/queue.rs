//! What the engine has to do: filled by many threads, emptied by one, in batches.
//!
//! It needs no bound of its own: each connection holds back requests beyond its share (`outbox.rs`), and the number of
//! connections is bounded.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A queue of work.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    waiting: Mutex<VecDeque<T>>,
    filled: Condvar,
}

impl<T> Queue<T> {
    pub(crate) fn new() -> Self {
        Self { waiting: Mutex::new(VecDeque::new()), filled: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<T>> {
        // A thread that panicked while it held the lock left a queue: there is no state in between.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn push(&self, work: T) {
        let mut waiting = self.lock();
        waiting.push_back(work);
        if waiting.len() == 1 {
            self.filled.notify_one();
        }
    }

    /// Takes everything, waiting for something at most so long; `batch` must be empty and may stay so.
    pub(crate) fn take_all(&self, batch: &mut VecDeque<T>, limit: Option<Duration>) {
        let waiting = self.lock();
        let is_empty = |waiting: &mut VecDeque<T>| waiting.is_empty();
        let mut waiting = match limit {
            None => self.filled.wait_while(waiting, is_empty).unwrap_or_else(PoisonError::into_inner),
            Some(limit) => {
                self.filled.wait_timeout_while(waiting, limit, is_empty).unwrap_or_else(PoisonError::into_inner).0
            }
        };
        std::mem::swap(&mut *waiting, batch);
    }
}
