//! What lies behind the flash port: a chip and what keeps its time.
//!
//! Schemes are compiled for each type of device anew, and that takes longer than everything else
//! here. So there are two ways to have one. A [`Timed`] is of types that the compiler sees, and
//! costs a run nothing: the simulator's. An [`AnyDevice`] holds any chip and any timing behind a
//! call that is looked up; all shells share it, and its schemes are compiled once, in this crate.

use std::any::{Any, type_name};

use flash::{Flash, PageData};

use crate::port::timing::Timing;

/// A chip and what keeps its time.
pub trait Device {
    /// What a page holds.
    type Data: Clone + Default;
    /// The flash that does the operations.
    type Chip: Flash<Data = Self::Data> + ?Sized;
    /// What keeps time.
    type Timing: Timing + ?Sized;

    /// The chip, to look at.
    fn chip(&self) -> &Self::Chip;
    /// The chip.
    fn chip_mut(&mut self) -> &mut Self::Chip;
    /// What keeps time, to look at.
    fn timing(&self) -> &Self::Timing;
    /// What keeps time.
    fn timing_mut(&mut self) -> &mut Self::Timing;
}

/// A chip and its timing, of types that the compiler sees.
pub struct Timed<C, T> {
    /// The flash that does the operations.
    pub chip: C,
    /// What keeps time.
    pub timing: T,
}

impl<C: Flash, T: Timing> Device for Timed<C, T> {
    type Data = C::Data;
    type Chip = C;
    type Timing = T;

    #[inline]
    fn chip(&self) -> &C {
        &self.chip
    }
    #[inline]
    fn chip_mut(&mut self) -> &mut C {
        &mut self.chip
    }
    #[inline]
    fn timing(&self) -> &T {
        &self.timing
    }
    #[inline]
    fn timing_mut(&mut self) -> &mut T {
        &mut self.timing
    }
}

/// Any chip that holds [`PageData`].
pub trait AnyChip: Flash<Data = PageData> + Any + Send {}

impl<C: Flash<Data = PageData> + Any + Send> AnyChip for C {}

impl dyn AnyChip {
    /// The chip as what it was made as.
    ///
    /// # Panics
    /// When it is of another type: an error in the shell's own source.
    pub fn as_chip<C: AnyChip>(&self) -> &C {
        let chip: &dyn Any = self;
        chip.downcast_ref().unwrap_or_else(|| panic!("the chip is no {}", type_name::<C>()))
    }

    /// The same, to change it.
    ///
    /// # Panics
    /// As `as_chip`.
    pub fn as_chip_mut<C: AnyChip>(&mut self) -> &mut C {
        let chip: &mut dyn Any = self;
        chip.downcast_mut().unwrap_or_else(|| panic!("the chip is no {}", type_name::<C>()))
    }
}

/// Any timing.
pub trait AnyTiming: Timing + Any + Send {}

impl<T: Timing + Any + Send> AnyTiming for T {}

impl dyn AnyTiming {
    /// The timing, if it was made as this type.
    pub fn as_timing<T: AnyTiming>(&self) -> Option<&T> {
        let timing: &dyn Any = self;
        timing.downcast_ref()
    }

    /// The same, to change it.
    pub fn as_timing_mut<T: AnyTiming>(&mut self) -> Option<&mut T> {
        let timing: &mut dyn Any = self;
        timing.downcast_mut()
    }
}

/// Any chip and any timing: one type of device for every shell that need not be as fast as can be.
pub struct AnyDevice {
    /// The flash that does the operations.
    pub chip: Box<dyn AnyChip>,
    /// What keeps time.
    pub timing: Box<dyn AnyTiming>,
}

impl AnyDevice {
    /// A chip with its timing.
    pub fn new(chip: impl AnyChip, timing: impl AnyTiming) -> Self {
        Self { chip: Box::new(chip), timing: Box::new(timing) }
    }
}

impl Device for AnyDevice {
    type Data = PageData;
    type Chip = dyn AnyChip;
    type Timing = dyn AnyTiming;

    fn chip(&self) -> &Self::Chip {
        &*self.chip
    }
    fn chip_mut(&mut self) -> &mut Self::Chip {
        &mut *self.chip
    }
    fn timing(&self) -> &Self::Timing {
        &*self.timing
    }
    fn timing_mut(&mut self) -> &mut Self::Timing {
        &mut *self.timing
    }
}
