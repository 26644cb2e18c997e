//! The side of a device that knows time. Schemes never see it;
//! [`FlashPort`](crate::port::flash_port::FlashPort) talks to it.
//!
//! A scheme issues operations faster than time passes: a whole request at once, at the moment when
//! the host asks. When such an operation ends depends on what else asks for its die and its bus
//! until then, so it is not known yet. What the scheme gets instead is a [`Moment`]: the end of
//! that operation, known or not, which the next operation can follow. The shell lets time pass
//! between requests ([`Timing::pass_until`], [`Timing::wait`]).

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

use flash::{CellMode, Pbn, Ppn, Tag};
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

/// A moment of virtual time: one that is known, or the end of something under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// What ends then, by the timing's own numbering: a number below, and above it which use of
    /// that number is meant, since numbers are used again. [`Moment::KNOWN`] for nothing. It is one
    /// word, so that a moment is two and stays in registers.
    event: u64,
    /// The moment if it is known; else the earliest it can be, were nothing in the way.
    pub earliest: Nanos,
}

impl Moment {
    /// The number of a moment that is known.
    const KNOWN: u64 = u64::MAX;

    /// The beginning of time.
    pub const ZERO: Self = Self::at(Nanos::ZERO);

    /// A known moment.
    #[inline]
    pub const fn at(moment: Nanos) -> Self {
        Self { event: Self::KNOWN, earliest: moment }
    }

    /// The end of something under way, by its number and which use of that is meant.
    #[inline]
    pub const fn end_of(number: u32, generation: u32, earliest: Nanos) -> Self {
        Self { event: (generation as u64) << 32 | number as u64, earliest }
    }

    /// What ends then: its number, and which use of that is meant. Of a known moment, nothing's.
    #[inline]
    pub const fn event(self) -> (u32, u32) {
        (self.event as u32, (self.event >> 32) as u32)
    }

    /// Whether the moment is known.
    #[inline]
    pub const fn is_known(self) -> bool {
        self.event == Self::KNOWN
    }

    /// The same moment, no sooner than this as far as is known.
    #[must_use]
    pub fn no_sooner(self, than: Nanos) -> Self {
        Self { earliest: self.earliest.max(than), ..self }
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

/// An operation with all facts that may affect its price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// The operation.
    pub op: FlashOp,
    /// Why it is done.
    pub cause: Cause,
    /// The block that it is done to.
    pub pbn: Pbn,
    /// The page that it is done to, by its offset in the block; of an erase 0.
    pub page: u32,
    /// The die of that block.
    pub die: u32,
    /// Which stretch of work that the host does not wait for it belongs to, 0 for work that it
    /// waits for.
    pub chain: u32,
    /// Whether it programs what another page holds.
    pub copies: bool,
    /// The mode of the block.
    pub mode: CellMode,
}

/// An operation with the page that it is done to, and what it leaves there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedTask {
    /// The operation.
    pub task: Task,
    /// The page; of an erase the first of its block.
    pub ppn: Ppn,
    /// What a program wrote beside the page; none where the store does not keep it.
    pub tag: Option<Tag>,
    /// Whether a program or an erase failed, and left nothing that can be used.
    pub has_failed: bool,
}

impl Task {
    /// An operation that the host waits for, on the first page of a block or on the block.
    pub fn new(op: FlashOp, cause: Cause, pbn: Pbn, die: u32) -> Self {
        Self { op, cause, pbn, page: 0, die, chain: 0, copies: false, mode: CellMode::Native }
    }
}

/// Keeps time: takes operations, and says when they end.
///
/// No method has a default, so that none is forgotten. [`known_ends`](crate::known_ends) has those
/// of a timing that knows each end at once.
pub trait Timing {
    /// Issues an operation that may begin after a moment; returns its end.
    fn perform(&mut self, task: Task, after: Moment) -> Moment;

    /// Whether somebody traces where operations are done.
    fn is_traced(&self) -> bool;

    /// Whether a page that was programmed waits in a buffer of the device, and is read there.
    fn is_buffered(&self, read: Task) -> bool;

    /// Tells where the operation issued last is done, and how often each note had been counted
    /// before it, by index. Only a timing that [is traced](Self::is_traced) is told.
    fn trace(&mut self, traced: &TracedTask, notes: &[u64]);

    /// The later of two moments.
    fn join(&mut self, one: Moment, other: Moment) -> Moment;

    /// The later of a moment of this request and one of an earlier request, which makes room for
    /// it.
    fn wait_beside(&mut self, own: Moment, other: Moment) -> Moment;

    /// The moment that comes a time after another one.
    fn delay(&mut self, after: Moment, time: Nanos) -> Moment;

    /// When a command of the host has come over the link, with this many bytes of data, and the
    /// controller has looked at it.
    fn take_command(&mut self, after: Moment, bytes: u64) -> Moment;

    /// When this many bytes that a command reads have gone over the link to the host.
    fn hand_over(&mut self, after: Moment, bytes: u64) -> Moment;

    /// Whether a moment has come.
    fn is_over(&self, moment: Moment) -> bool;

    /// How long an operation would take from a moment on, waiting included, by what is queued now.
    /// An estimate: nobody knows what else will ask for its die and its bus until it ends.
    fn estimate(&self, task: Task, from: Moment) -> Nanos;

    /// How long idle dies take to read pages of a superblock, in order, and to program this many
    /// native ones. None where background work does not read ahead of its programs: then all that
    /// it does follows one another.
    fn estimate_moves(&self, reads: &[Task], programmed: u64) -> Option<Nanos>;

    /// The page of a block, by its offset, for which an operation takes longest.
    fn slowest_page(&self, op: FlashOp) -> u32;

    /// Pages of a native block that are programmed at once: what is estimated of a program is that
    /// of all.
    fn programmed_at_once(&self) -> u32;

    /// How long a channel stays busy from a moment on, its bus or a die of it, by what is queued
    /// now; zero when it is idle.
    fn busy(&self, channel: u32, from: Moment) -> Nanos;

    /// The time.
    fn now(&self) -> Nanos;

    /// Operations of background work follow one another from here on: its cursor tells when all of
    /// them have ended.
    fn keep_order(&mut self, chain: u32);

    /// The later of a moment and the end of all that background work has programmed, if that is the
    /// work that programmed last.
    fn join_programs(&mut self, chain: u32, after: Moment) -> Moment;

    /// All operations of background work have been issued.
    fn end_background(&mut self, chain: u32);

    /// For the shell: lets time pass until a moment that is known.
    fn pass_until(&mut self, at: Nanos);

    /// For the shell: lets time pass until a moment has come; returns it.
    fn wait(&mut self, moment: Moment) -> Nanos;

    /// Forgets everything: nothing is under way, at time zero.
    fn reset(&mut self);
}

/// Inside an `impl Timing`: the named methods, as of a timing that knows each end at once, and has
/// neither link nor controller.
#[macro_export]
macro_rules! known_ends {
    (is_traced) => { #[inline] fn is_traced(&self) -> bool { false } };
    (is_buffered) => { fn is_buffered(&self, _: $crate::Task) -> bool { false } };
    (trace) => { fn trace(&mut self, _: &$crate::TracedTask, _: &[u64]) {} };
    (join) => {
        #[inline]
        fn join(&mut self, one: $crate::Moment, other: $crate::Moment) -> $crate::Moment {
            if other.earliest > one.earliest { other } else { one }
        }
    };
    (wait_beside) => {
        fn wait_beside(&mut self, own: $crate::Moment, other: $crate::Moment) -> $crate::Moment {
            $crate::Timing::join(self, own, other)
        }
    };
    (delay) => {
        #[inline]
        fn delay(&mut self, after: $crate::Moment, time: $crate::Nanos) -> $crate::Moment {
            $crate::Moment::at(after.earliest + time)
        }
    };
    (take_command) => {
        #[inline]
        fn take_command(&mut self, after: $crate::Moment, _: u64) -> $crate::Moment { after }
    };
    (hand_over) => {
        #[inline]
        fn hand_over(&mut self, after: $crate::Moment, _: u64) -> $crate::Moment { after }
    };
    (estimate_moves) => {
        fn estimate_moves(&self, _: &[$crate::Task], _: u64) -> Option<$crate::Nanos> { None }
    };
    (join_programs) => {
        fn join_programs(&mut self, _: u32, after: $crate::Moment) -> $crate::Moment { after }
    };
    (slowest_page) => { #[inline] fn slowest_page(&self, _: $crate::FlashOp) -> u32 { 0 } };
    (programmed_at_once) => { #[inline] fn programmed_at_once(&self) -> u32 { 1 } };
    (keep_order) => { fn keep_order(&mut self, _: u32) {} };
    (end_background) => { #[inline] fn end_background(&mut self, _: u32) {} };
    ($($method:ident)+) => { $($crate::known_ends!($method);)+ };
}

/// Everything takes no time: for checking schemes without a clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct Untimed;

impl Timing for Untimed {
    crate::known_ends! { is_traced is_buffered trace join wait_beside delay take_command hand_over estimate_moves slowest_page programmed_at_once keep_order join_programs end_background }

    #[inline]
    fn perform(&mut self, _task: Task, after: Moment) -> Moment {
        after
    }

    fn is_over(&self, _moment: Moment) -> bool {
        true
    }

    fn estimate(&self, _task: Task, _from: Moment) -> Nanos {
        Nanos::ZERO
    }

    fn busy(&self, _channel: u32, _from: Moment) -> Nanos {
        Nanos::ZERO
    }

    fn now(&self) -> Nanos {
        Nanos::ZERO
    }

    #[inline]
    fn pass_until(&mut self, _at: Nanos) {}

    #[inline]
    fn wait(&mut self, moment: Moment) -> Nanos {
        moment.earliest
    }

    fn reset(&mut self) {}
}
