//! The side of a device that says how long an operation takes. Schemes never see it;
//! [`FlashPort`](crate::port::flash_port::FlashPort) asks it.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

use flash::{Flash, FlashError, Page, Pbn, Ppn, Scan, Tag};
use serde::{Deserialize, Serialize};

use crate::port::cause::Cause;

/// A moment or a span of virtual time, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    /// The beginning of time.
    pub const ZERO: Self = Self(0);

    /// The span from `earlier` to this moment, zero if it lies in the future.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }
}

impl Add for Nanos {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Nanos {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Nanos {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ns", self.0)
    }
}

/// A flash operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum FlashOp {
    /// Reads a page.
    Read = 0,
    /// Programs a page.
    Program = 1,
    /// Erases a block.
    Erase = 2,
}

impl FlashOp {
    /// All, in index order.
    pub const ALL: [Self; 3] = [Self::Read, Self::Program, Self::Erase];

    /// The name used in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Program => "program",
            Self::Erase => "erase",
        }
    }
}

/// An operation with all that its price may depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// The operation.
    pub op: FlashOp,
    /// Why it is done.
    pub cause: Cause,
    /// The block that it is done to.
    pub pbn: Pbn,
    /// The die of that block.
    pub die: u32,
    /// Which stretch of work that the host does not wait for it belongs to, 0 for work that it
    /// waits for.
    pub chain: u32,
    /// Whether it programs what another page holds.
    pub copies: bool,
}

impl Task {
    /// An operation that the host waits for.
    pub fn new(op: FlashOp, cause: Cause, pbn: Pbn, die: u32) -> Self {
        Self { op, cause, pbn, die, chain: 0, copies: false }
    }
}

/// Prices operations.
pub trait Timing {
    /// Performs an operation that may begin at `at`; returns when it began to be served and when it
    /// was done.
    fn perform(&mut self, task: Task, at: Nanos) -> Span;

    /// When an operation would be done that may begin at `at`, if it were performed now. Promises
    /// nothing.
    fn would_end(&mut self, task: Task, at: Nanos) -> Nanos;

    /// The first moment from `at` on at which a channel is idle: neither its bus nor one of its
    /// dies is at work.
    fn channel_idle_from(&self, channel: u32, at: Nanos) -> Nanos;

    /// Nothing that is performed from now on may begin before `at`.
    #[inline]
    fn begin(&mut self, _at: Nanos) {}

    /// Forgets everything performed: all resources are idle at time zero.
    fn reset(&mut self);
}

/// When an operation was served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first resource started on it.
    pub start: Nanos,
    /// The last resource was done with it.
    pub end: Nanos,
}

/// Everything takes no time: for checking schemes without a clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct Untimed;

impl Timing for Untimed {
    #[inline]
    fn perform(&mut self, _task: Task, at: Nanos) -> Span {
        Span { start: at, end: at }
    }

    fn would_end(&mut self, _task: Task, at: Nanos) -> Nanos {
        at
    }

    fn channel_idle_from(&self, _channel: u32, at: Nanos) -> Nanos {
        at
    }

    fn reset(&mut self) {}
}

/// What lies behind [`FlashPort`](crate::port::flash_port::FlashPort): flash that also tells the
/// time.
pub trait Device: Flash + Timing {}

impl<D: Flash + Timing> Device for D {}

/// A chip with prices.
pub struct Timed<C, T> {
    /// The flash that does the operations.
    pub chip: C,
    /// The model that prices them.
    pub timing: T,
}

impl<C, T: Timing> Timing for Timed<C, T> {
    #[inline]
    fn perform(&mut self, task: Task, at: Nanos) -> Span {
        self.timing.perform(task, at)
    }

    #[inline]
    fn begin(&mut self, at: Nanos) {
        self.timing.begin(at);
    }

    fn would_end(&mut self, task: Task, at: Nanos) -> Nanos {
        self.timing.would_end(task, at)
    }

    fn channel_idle_from(&self, channel: u32, at: Nanos) -> Nanos {
        self.timing.channel_idle_from(channel, at)
    }

    fn reset(&mut self) {
        self.timing.reset();
    }
}

impl<C: Flash, T> Flash for Timed<C, T> {
    type Data = C::Data;

    flash::pass_on_flash!(chip);

    #[inline]
    fn read(&mut self, ppn: Ppn) -> Result<Page<C::Data>, FlashError> {
        self.chip.read(ppn)
    }
    #[inline]
    fn program(&mut self, ppn: Ppn, tag: &Tag, data: C::Data) -> Result<(), FlashError> {
        self.chip.program(ppn, tag, data)
    }
    #[inline]
    fn erase(&mut self, pbn: Pbn) -> Result<(), FlashError> {
        self.chip.erase(pbn)
    }
    fn scan(&mut self, ppn: Ppn) -> Result<Scan, FlashError> {
        self.chip.scan(ppn)
    }
}
