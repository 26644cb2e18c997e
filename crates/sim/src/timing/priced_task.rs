//! What is known of a task that was issued: all but its page, of which the price goes on.

use flash::{CellType, Pbn};
use ftl::{Cause, FlashOp, Task};

/// Classes of operations.
pub(super) const READ: usize = FlashOp::Read as usize;
pub(super) const PROGRAM: usize = FlashOp::Program as usize;
pub(super) const ERASE: usize = FlashOp::Erase as usize;
pub(super) const COPY_BACK: usize = 3;

/// The type that every page of a block in pSLC mode counts as, behind those of native blocks.
pub(super) const PSLC: usize = CellType::MOST_BITS;

/// The type of a unit whose page is in the register of its plane: it is moved and not sensed.
pub(super) const IN_REGISTER: usize = PSLC + 1;

/// Types of page, and so prices of a class; of copy-backs there are as many for each of them.
pub(super) const TYPES: usize = IN_REGISTER + 1;

/// The type of an operation's page; of a copy-back the type of the page that it programs, and
/// [`TYPES`] times that of the page that it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Price(pub(super) u8);

impl Price {
    /// Of a read and a program that become one operation.
    #[inline]
    pub(super) const fn of_copy_back(read: Self, program: Self) -> Self {
        Self(read.0 * TYPES as u8 + program.0)
    }
}

/// A task that was issued, with its price instead of its page.
#[derive(Clone, Copy)]
pub(super) struct PricedTask {
    pub(super) op: FlashOp,
    pub(super) cause: Cause,
    pub(super) price: Price,
    pub(super) pbn: Pbn,
    pub(super) die: u32,
    pub(super) chain: u32,
}

impl PricedTask {
    #[inline]
    pub(super) fn new(task: &Task, price: Price) -> Self {
        let &Task { op, cause, pbn, die, chain, .. } = task;
        Self { op, cause, price, pbn, die, chain }
    }

    /// No operation: of what stays at a station, its number stands where a die's would.
    pub(super) fn at_station(number: u32) -> Self {
        Self::new(&Task::new(FlashOp::Read, Cause::Host, Pbn::new(0), number), Price(0))
    }
}
