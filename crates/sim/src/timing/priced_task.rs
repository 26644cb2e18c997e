//! An issued task: all but its page, of which the price goes on.

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

/// Class and price of an operation in one byte, by which its course is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CourseId(u8);

impl CourseId {
    /// This many there may be.
    pub(super) const COUNT: usize = 1 << u8::BITS;

    #[inline]
    pub(super) const fn new(class: usize, price: Price) -> Self {
        Self(class as u8 | price.0 << 2)
    }

    /// All of them, in index order.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        (0..=u8::MAX).map(Self)
    }

    #[inline]
    pub(super) fn index(self) -> usize {
        usize::from(self.0)
    }

    /// Reads, programs, erases and copy-backs, from 0 to 3.
    #[inline]
    pub(super) fn class(self) -> usize {
        usize::from(self.0 & 3)
    }

    #[inline]
    pub(super) fn price(self) -> Price {
        Price(self.0 >> 2)
    }

    /// What it is to the flash; a copy-back is a program.
    #[inline]
    pub(super) fn op(self) -> FlashOp {
        match self.class() {
            READ => FlashOp::Read,
            ERASE => FlashOp::Erase,
            _ => FlashOp::Program,
        }
    }
}

/// A task that was issued, with its price instead of its page.
#[derive(Clone, Copy)]
pub(super) struct PricedTask {
    pub(super) pbn: Pbn,
    pub(super) die: u32,
    pub(super) chain: u32,
    pub(super) cause: Cause,
    pub(super) course: CourseId,
    /// Places of the program buffer that it gives back.
    pub(super) gives_back: u16,
}

impl PricedTask {
    #[inline]
    pub(super) fn new(task: &Task, price: Price) -> Self {
        let &Task { op, cause, pbn, die, chain, .. } = task;
        Self { pbn, die, chain, cause, course: CourseId::new(op as usize, price), gives_back: 0 }
    }

    /// Whether it reads a unit whose page is in the register of its plane.
    #[inline]
    pub(super) fn only_moves(&self) -> bool {
        self.course == CourseId::new(READ, Price(IN_REGISTER as u8))
    }

    /// No operation: of what stays at a station, its number stands where a die's would.
    pub(super) fn at_station(number: u32) -> Self {
        Self::new(&Task::new(FlashOp::Read, Cause::Host, Pbn::new(0), number), Price(0))
    }
}
