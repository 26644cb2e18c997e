//! Something that a device shares with the run above it, to be looked at after the device is gone.
//!
//! A device may be moved to another thread, so what it holds must be fit for that. Only one thread
//! at a time runs a case, so nobody ever waits here.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A value with several owners.
#[derive(Default)]
pub(crate) struct Shared<T>(Arc<RwLock<T>>);

impl<T> Shared<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Arc::new(RwLock::new(value)))
    }

    /// The value, to look at. A scheme that panicked has left it whole.
    pub(crate) fn borrow(&self) -> RwLockReadGuard<'_, T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value, to change.
    pub(crate) fn borrow_mut(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: fmt::Debug> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.borrow().fmt(f)
    }
}
