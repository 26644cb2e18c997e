//! What a case can find, sorted by the promise that was broken, and the line that finds it again.

use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use flash::FlashError;
use ftl::{BrokenInvariant, ConfigError, FtlError, Nanos, RecoverError};

use crate::case::operation::Operation;
use crate::case::schedule::FaultSchedule;
use crate::case::test_case::Case;
use crate::oracle::crash_oracle::WentBack;
use crate::oracle::exact::Mismatch;

/// What every scheme promises; the numbers are those of `docs/correctness.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Promise {
    /// 1: every read returns the last write, in all of the logical space that the scheme accepted.
    ReadsReturnLastWrite,
    /// 2: the referee never complains.
    RefereeNeverComplains,
    /// 3: what recovery restores after a power cut is what was acknowledged, nothing invented, and
    /// the device goes on.
    SurvivesPowerCuts,
    /// 4: failing flash loses nothing but pages that decay until the spares run out; then writes
    /// fail and reads go on.
    SurvivesFailingFlash,
    /// 5: the same seed gives the same run, operation by operation.
    SameSeedSameRun,
    /// 6: what causes are charged adds up to what the flash counted, and the footprint is what was
    /// promised.
    CountsAddUp,
    /// 7: any block is emptied at any moment when that is asked for, unless the scheme says why not
    /// yet.
    EmptiesBlocks,
    /// 8: idle time that is offered changes no content, and what is done with it ends when it is
    /// over.
    KeepsToIdleTime,
    /// The numbered invariants of the scheme's own header.
    OwnInvariants,
    /// Whatever is asked, the scheme answers: it neither panics nor refuses a case that it
    /// accepted.
    NeverPanics,
    /// The same of code that the user wrote: it raises no error and gives no invalid answer.
    OwnCodeAnswers,
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// A page held something else than the last write.
    WrongContent(Mismatch),
    /// After a cut, more acknowledged pages were found in an older version than can have waited in
    /// RAM.
    WentBack {
        /// Pages that were found in an older version.
        pages: u32,
        /// The room of the scheme's buffer.
        room: u32,
    },
    /// What was done in idle time ended more than one flash operation after it.
    Overran {
        /// The time offered.
        offered: Nanos,
        /// The time taken.
        taken: Nanos,
    },
    /// The scheme gave up, or the referee stopped it.
    Stopped(FtlError),
    /// The scheme's own check failed.
    Invariant(BrokenInvariant),
    /// What the scheme says of being read-only, or of its spares, is not so; says what.
    ReadOnly(String),
    /// What the scheme says of a block that was to be emptied is not so; says what.
    Relocation(String),
    /// Counts do not add up; says which.
    Accounts(String),
    /// The second run went another way; says how.
    Unrepeatable(String),
    /// The scheme panicked; the message.
    Panicked(String),
    /// The scheme cannot be built so.
    Refused(ConfigError),
    /// The case makes no sense for any scheme.
    ImpossibleCase(String),
}

/// Where in a run something went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailurePoint {
    /// While the scheme was built.
    Format,
    /// While the device was filled beforehand, at this operation.
    Prefill(Operation),
    /// At a request, counted from 0.
    Request(u32, Operation),
    /// After the workload, in this step.
    Aftermath(&'static str),
    /// After a power cut during (or, if it did not program or erase, before) this request, in this
    /// step.
    AfterCut(u32, Operation, &'static str),
}

/// The step after a power cut in which every page is read, to see what the cut has left.
pub(crate) const READING_BACK: &str = "reading back after recovery";

impl FailurePoint {
    /// The same place, in a step after a power cut.
    pub(crate) fn after_cut(self, step: &'static str) -> Self {
        match self {
            Self::Request(number, operation) | Self::AfterCut(number, operation, _) => {
                Self::AfterCut(number, operation, step)
            }
            place => place,
        }
    }
}

/// A case that did not pass.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// The case, cut off after the request that failed.
    pub case: Box<Case>,
    /// Where in the run it happened.
    pub place: FailurePoint,
    /// The broken promise.
    pub fault: Fault,
}

impl Fault {
    /// What a caught panic said.
    pub(crate) fn of_panic(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
        Self::Panicked(text.unwrap_or("without a message").to_owned())
    }
}

impl From<RecoverError> for Fault {
    fn from(error: RecoverError) -> Self {
        match error {
            RecoverError::Config(error) => Self::Refused(error),
            RecoverError::Ftl(error) => Self::Stopped(error),
        }
    }
}

impl Failure {
    /// Runs a case, if it is possible; a panic is a fault like any other. A failure lies at `place`
    /// and has what `schedule` is then.
    pub(crate) fn caught<T>(
        case: &Case,
        place: &Cell<FailurePoint>,
        run: impl FnOnce() -> Result<T, Fault>,
        schedule: impl FnOnce() -> FaultSchedule,
    ) -> Result<T, Self> {
        case.validate().map_err(|why| Self::new(case, FailurePoint::Format, Fault::ImpossibleCase(why)))?;
        let result = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Err(Fault::of_panic(&*panic)));
        result.map_err(|fault| Self::new(&Case { schedule: schedule(), ..case.clone() }, place.get(), fault))
    }

    /// A failure of a case, with the requests after the place cut off.
    pub(crate) fn new(case: &Case, place: FailurePoint, fault: Fault) -> Self {
        let requests = match place {
            FailurePoint::Format | FailurePoint::Prefill(_) => 0,
            FailurePoint::Request(number, _) | FailurePoint::AfterCut(number, _, _) => number + 1,
            FailurePoint::Aftermath(_) => case.requests,
        };
        Self { case: Box::new(case.cut_off(requests)), place, fault }
    }

    /// What was broken, where and how, in words.
    pub fn message(&self) -> String {
        let Self { case, place, fault } = self;
        let fault = match (fault, place) {
            (Fault::WrongContent(mismatch), FailurePoint::AfterCut(_, _, READING_BACK)) => mismatch.after_cut(),
            _ => fault.to_string(),
        };
        match self.promise() {
            Some(promise @ Promise::OwnCodeAnswers) => format!("{} {promise} {place}: {fault}", case.stack.names()),
            Some(promise) => format!("{} breaks {promise} {place}: {fault}", case.stack.names()),
            None => format!("{} could not be tried, {place}: {fault}", case.stack.names()),
        }
    }

    /// The broken promise; none when the case itself could not be run.
    pub fn promise(&self) -> Option<Promise> {
        let is_after_cut = matches!(self.place, FailurePoint::AfterCut(..));
        let faults = self.case.schedule.faults();
        let is_failing = faults.iter().any(|its| !matches!(its.fault, flash::Fault::Cut(_)));
        let is_cut = is_after_cut || (!faults.is_empty() && !is_failing);
        match &self.fault {
            Fault::WrongContent(_) | Fault::WentBack { .. } if is_after_cut => Some(Promise::SurvivesPowerCuts),
            Fault::WrongContent(_)
            | Fault::WentBack { .. }
            | Fault::ReadOnly(_)
            | Fault::Stopped(
                FtlError::OutOfSpace { .. }
                | FtlError::ReadOnly { .. }
                | FtlError::Flash { error: FlashError::Media(_), .. },
            ) if is_failing => Some(Promise::SurvivesFailingFlash),
            Fault::WrongContent(_)
            | Fault::Stopped(
                FtlError::OutOfSpace { .. }
                | FtlError::ReadOnly { .. }
                | FtlError::Flash { error: FlashError::Media(_), .. },
            ) if is_cut => Some(Promise::SurvivesPowerCuts),
            Fault::WentBack { .. } => Some(Promise::SurvivesPowerCuts),
            Fault::Stopped(FtlError::Failed { .. }) => Some(Promise::OwnCodeAnswers),
            Fault::WrongContent(_) | Fault::Stopped(FtlError::OutOfSpace { .. } | FtlError::ReadOnly { .. }) => {
                Some(Promise::ReadsReturnLastWrite)
            }
            Fault::ReadOnly(_) => Some(Promise::SurvivesFailingFlash),
            Fault::Stopped(FtlError::Flash { .. }) => Some(Promise::RefereeNeverComplains),
            Fault::Invariant(_) => Some(Promise::OwnInvariants),
            Fault::Relocation(_) => Some(Promise::EmptiesBlocks),
            Fault::Overran { .. } => Some(Promise::KeepsToIdleTime),
            Fault::Accounts(_) => Some(Promise::CountsAddUp),
            Fault::Unrepeatable(_) => Some(Promise::SameSeedSameRun),
            Fault::Panicked(_) => Some(Promise::NeverPanics),
            Fault::Refused(_) | Fault::ImpossibleCase(_) => None,
        }
    }
}

impl fmt::Display for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReadsReturnLastWrite => "promise 1 (every read returns the last write)",
            Self::RefereeNeverComplains => "promise 2 (the referee never complains)",
            Self::SurvivesPowerCuts => "promise 3 (power cuts lose nothing acknowledged and invent nothing)",
            Self::SurvivesFailingFlash => "promise 4 (failing flash loses nothing until the spares run out)",
            Self::SameSeedSameRun => "promise 5 (same seed, same run)",
            Self::CountsAddUp => "promise 6 (counts add up)",
            Self::EmptiesBlocks => "promise 7 (any block is emptied when that is asked for)",
            Self::KeepsToIdleTime => "promise 8 (idle time ends when it is over)",
            Self::OwnInvariants => "its own invariants",
            Self::NeverPanics => "the promise never to panic",
            Self::OwnCodeAnswers => "raises an exception or gives no valid answer",
        })
    }
}

impl From<WentBack> for Fault {
    fn from(WentBack { pages, room }: WentBack) -> Self {
        Self::WentBack { pages, room }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongContent(mismatch) => mismatch.fmt(f),
            Self::WentBack { pages, room } => {
                write!(
                    f,
                    "{pages} acknowledged pages hold older versions, but no more than {room} can have waited in RAM"
                )
            }
            Self::Overran { offered, taken } => {
                write!(f, "{} ns of idle time were offered, but what was done with it took {} ns", offered.0, taken.0)
            }
            Self::Invariant(broken) => broken.fmt(f),
            Self::Panicked(message) => write!(f, "panicked: {message}"),
            Self::Refused(error) => error.fmt(f),
            Self::Stopped(FtlError::Failed { message })
            | Self::ReadOnly(message)
            | Self::Accounts(message)
            | Self::Relocation(message)
            | Self::Unrepeatable(message)
            | Self::ImpossibleCase(message) => f.write_str(message),
            Self::Stopped(error) => error.fmt(f),
        }
    }
}

impl fmt::Display for FailurePoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Format => f.write_str("while it was built"),
            Self::Prefill(operation) => write!(f, "at {operation} of the prefill"),
            Self::Request(number, operation) => write!(f, "at request {number} ({operation})"),
            Self::Aftermath(step) => write!(f, "after the workload, at {step}"),
            Self::AfterCut(number, operation, step) => {
                write!(f, "after a power cut at request {number} ({operation}), at {step}")
            }
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{}", self.message(), self.case)
    }
}

impl std::error::Error for Failure {}
