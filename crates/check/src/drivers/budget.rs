//! Flash operations that a run may do: what bounds the cost of a trial, without a clock.
//!
//! The flash below a scheme takes each operation off its run's budget. When nothing is left, it
//! answers as flash without power does, and so does every operation after it: the scheme gives up
//! what it is doing, and the run ends there without a verdict on it. What came before stands, since
//! a run is the same up to there whatever its budget.

use flash::{FlashError, MediaEvent};

use crate::report::failure::Fault;
use crate::shared::Shared;

/// Flash operations that a run may do; clones share them. The default has no end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Budget(Option<Shared<Count>>);

#[derive(Debug)]
struct Count {
    operations: u64,
    left: u64,
    /// Whether an operation was refused.
    is_exceeded: bool,
}

impl Budget {
    /// This many operations; none for no end.
    pub(crate) fn of(operations: impl Into<Option<u64>>) -> Self {
        let count = |operations| Shared::new(Count { operations, left: operations, is_exceeded: false });
        Self(operations.into().map(count))
    }

    /// Takes an operation off; fails as a power cut does when none is left.
    #[inline]
    pub(crate) fn spend(&self) -> Result<(), FlashError> {
        let Some(count) = &self.0 else { return Ok(()) };
        let mut count = count.borrow_mut();
        if count.left == 0 {
            count.is_exceeded = true;
            return Err(FlashError::Media(MediaEvent::PowerCut));
        }
        count.left -= 1;
        Ok(())
    }

    /// Operations that are left; none where there is no end.
    pub(crate) fn left(&self) -> Option<u64> {
        self.0.as_ref().map(|count| count.borrow().left)
    }

    /// Operations taken off; 0 where there is no end, and nothing is counted.
    pub(crate) fn spent(&self) -> u64 {
        self.0.as_ref().map_or(0, |count| count.borrow().operations - count.borrow().left)
    }

    /// Whether an operation was refused.
    pub(crate) fn is_exceeded(&self) -> bool {
        self.0.as_ref().is_some_and(|count| count.borrow().is_exceeded)
    }

    /// What came of a run, or nothing if the budget ended it: what a scheme says then is no fault
    /// of its own.
    pub(crate) fn judge<T>(&self, result: Result<T, Fault>) -> Result<Option<T>, Fault> {
        match result {
            Err(_) if self.is_exceeded() => Ok(None),
            result => result.map(Some),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spent_budget_refuses_and_forgives_what_follows() {
        let budget = Budget::of(2);
        let fault = || Err::<(), _>(Fault::Accounts("a miscount".into()));
        assert!(budget.clone().spend().is_ok() && budget.spend().is_ok());
        assert!(budget.judge(fault()).is_err(), "nothing was refused yet");
        assert!(budget.spend().is_err());
        assert_eq!((budget.left(), budget.spent(), budget.judge(fault())), (Some(0), 2, Ok(None)));
        let endless = Budget::default();
        assert!((0..9).all(|_| endless.spend().is_ok()));
        assert_eq!((endless.left(), endless.is_exceeded()), (None, false));
    }
}
