//! Which of the operations that wait for a die is next, and which of them stop one under way: the
//! engine asks here.
//!
//! Operations of a *standing* wait in one queue. A standing lets others pass: while an operation
//! of such a one waits, its own do not begin. Of those that may, the first to become ready does.

use ftl::{Cause, FlashOp};
use serde::{Deserialize, Serialize};

/// What an operation is to its die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A read that the host waits for.
    HostRead,
    /// A program that the host waits for.
    HostWrite,
    /// A read or a program in the background.
    Collection,
    /// An erase.
    Erase,
    /// A read or a program of a refresh in the background.
    Refresh,
}

/// Each with the name that it has in studies.
pub(crate) const CLASSES: [(Class, &str); 5] = [
    (Class::HostRead, "host_read"),
    (Class::HostWrite, "host_write"),
    (Class::Collection, "collection"),
    (Class::Erase, "erase"),
    (Class::Refresh, "refresh"),
];

/// Which operations reads of the host suspend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Suspend {
    /// They suspend nothing.
    #[default]
    Off,
    /// They suspend erases.
    Erase,
    /// They suspend programs.
    Program,
    /// They suspend erases and programs.
    Both,
}

impl Suspend {
    /// Whether operations of a kind are suspended.
    pub(crate) fn covers(self, op: FlashOp) -> bool {
        match op {
            FlashOp::Read => false,
            FlashOp::Program => matches!(self, Self::Program | Self::Both),
            FlashOp::Erase => matches!(self, Self::Erase | Self::Both),
        }
    }
}

/// What suspending an operation costs, and its limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Suspension {
    /// From the command to suspend until the die can read, in nanoseconds.
    pub suspend_ns: u64,
    /// What taking up suspended work costs, in nanoseconds.
    pub resume_ns: u64,
    /// Most times that an operation is suspended; none for any number.
    pub at_most: Option<u32>,
}

/// Who issued an operation: the host, background work, or a refresh there.
const ORIGINS: usize = 3;

/// Most standings that a policy has.
pub(super) const STANDINGS: usize = 5;

/// Reads of the host have this one, wherever they pass others first.
pub(super) const HOST_READS: usize = 0;

/// How a die serves: by default first come, first served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchedulingPolicy {
    /// By operation and origin.
    standings: [[u8; ORIGINS]; 3],
    /// By standing, a bit for each that it lets pass.
    lets_pass: [u8; STANDINGS],
    /// By operation.
    suspensions: [Option<Suspension>; 3],
    /// Most times that an operation is overtaken; none for any number.
    pub(super) overtakes: Option<u32>,
}

impl SchedulingPolicy {
    /// First come, first served; nothing is suspended.
    pub const FIFO: Self =
        Self { standings: [[0; ORIGINS]; 3], lets_pass: [0; STANDINGS], suspensions: [None; 3], overtakes: None };

    /// Classes pass those behind them, and those that are not named.
    pub fn in_order(classes: &[Class]) -> Self {
        let mut policy = Self::FIFO;
        policy.set_standings(|op, origin| {
            let class = Class::of(op, origin);
            classes.iter().position(|&other| other == class).unwrap_or(classes.len())
        });
        for standing in 1..STANDINGS.min(classes.len() + 1) {
            policy.lets_pass[standing] = (1 << standing) - 1;
        }
        policy
    }

    /// Reads of the host go before anything else.
    pub fn reads_first() -> Self {
        Self::in_order(&[Class::HostRead])
    }

    /// The same where background work lets reads of the host pass.
    #[must_use]
    pub fn with_yielding_background(self) -> Self {
        self.letting_reads_pass(|_, origin| origin > 0)
    }

    /// The same where reads of the host suspend operations of a kind, and pass them.
    #[must_use]
    pub fn with_suspension(mut self, op: FlashOp, suspension: Suspension) -> Self {
        self.suspensions[op as usize] = Some(suspension);
        self.letting_reads_pass(|other, _| other == op)
    }

    /// The same where no operation is overtaken more often than that: then it goes first, whatever
    /// its class.
    #[must_use]
    pub fn with_overtakes(self, at_most: u32) -> Self {
        Self { overtakes: Some(at_most), ..self }
    }

    /// The same where some operations let reads of the host pass. In an order of classes reads are
    /// first, so all do.
    fn letting_reads_pass(mut self, lets: impl Fn(FlashOp, usize) -> bool) -> Self {
        if self.is_fifo() {
            self.set_standings(|op, origin| usize::from(Class::of(op, origin) != Class::HostRead));
        }
        let (before, has_order) = (self.standings, self.lets_pass[1] != 0);
        if !has_order {
            self.lets_pass[2] = 1 << HOST_READS;
            self.set_standings(|op, origin| {
                let yields = lets(op, origin) && Class::of(op, origin) != Class::HostRead;
                if yields { 2 } else { before[op as usize][origin].into() }
            });
        }
        self
    }

    fn set_standings(&mut self, standing: impl Fn(FlashOp, usize) -> usize) {
        for op in [FlashOp::Read, FlashOp::Program, FlashOp::Erase] {
            for origin in 0..ORIGINS {
                self.standings[op as usize][origin] = standing(op, origin) as u8;
            }
        }
    }

    /// Whether no operation ever passes another.
    pub(crate) fn is_fifo(&self) -> bool {
        self.lets_pass == [0; STANDINGS]
    }

    /// Where an operation stands.
    #[inline]
    pub(super) fn standing(&self, op: FlashOp, cause: Cause, is_awaited: bool) -> usize {
        let origin = if is_awaited { 0 } else { 1 + usize::from(cause == Cause::Refresh) };
        self.standings[op as usize][origin].into()
    }

    /// The standing of the operation that is next, of those with a bit in `waiting`. Their first
    /// ones have become ready by turns.
    #[inline]
    pub(super) fn next(&self, waiting: u8, turn: impl Fn(usize) -> u64) -> Option<usize> {
        let may_begin = |&standing: &usize| waiting >> standing & 1 == 1 && waiting & self.lets_pass[standing] == 0;
        (0..STANDINGS).filter(may_begin).min_by_key(|&standing| turn(standing))
    }

    /// How an operation is suspended, if it is.
    #[inline]
    pub(super) fn suspension(&self, op: FlashOp) -> Option<Suspension> {
        self.suspensions[op as usize]
    }
}

impl Class {
    fn of(op: FlashOp, origin: usize) -> Self {
        match (op, origin) {
            (FlashOp::Erase, _) => Self::Erase,
            (FlashOp::Read, 0) => Self::HostRead,
            (FlashOp::Program, 0) => Self::HostWrite,
            (_, 1) => Self::Collection,
            _ => Self::Refresh,
        }
    }
}
