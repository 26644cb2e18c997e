//! The devices that a study runs on: the lean ones, with a clock and without, for which schemes are
//! compiled here so that nothing stands between them and the chip, and the device of all other
//! shells, whose chip keeps what pages hold.

use std::any::Any;

use flash::{Chip, Full, Lean, PageData, Store};
use ftl::{
    AnyDevice, ConfigError, Device, Drive, FlashPort, Layout, RecoverError, Stack, Timed, Timing, Untimed, registry,
};

use crate::EventTiming;
use crate::setup::device::Device as DeviceFacts;

/// A device whose operations take the event engine's time, or none.
pub(crate) trait RunDevice: Device + Sized {
    /// Where its chip keeps what pages hold.
    type Store: Store;

    /// A fresh device, with a clock or without where its type leaves that open.
    fn fresh(device: &DeviceFacts, has_clock: bool) -> Self;
    /// A stack for it, erased.
    fn create(stack: &Stack, layout: &Layout) -> Result<Drive<Self>, ConfigError>;
    /// A stack that comes back on it.
    fn recover(stack: &Stack, layout: &Layout, flash: &mut FlashPort<Self>) -> Result<Drive<Self>, RecoverError>;
    /// Its clock and queues, to look at; none without a clock.
    fn engine(&self) -> Option<&EventTiming>;
    /// Its clock and queues; none without a clock.
    fn engine_mut(&mut self) -> Option<&mut EventTiming> {
        self.parts().1
    }
    /// Its chip, and its clock and queues.
    fn parts(&mut self) -> (&Chip<Self::Store>, Option<&mut EventTiming>);
}

/// What keeps the time of a lean device.
pub(crate) trait LeanTiming: Timing + Any {
    /// That of a device at time zero.
    fn of(device: &DeviceFacts) -> Self;
}

impl LeanTiming for EventTiming {
    fn of(device: &DeviceFacts) -> Self {
        device.timing()
    }
}

impl LeanTiming for Untimed {
    fn of(_: &DeviceFacts) -> Self {
        Self
    }
}

impl<T: LeanTiming> RunDevice for Timed<Chip<Lean>, T> {
    type Store = Lean;

    fn fresh(device: &DeviceFacts, _has_clock: bool) -> Self {
        Timed { chip: Chip::new(device.geometry, &device.chip), timing: T::of(device) }
    }

    fn create(stack: &Stack, layout: &Layout) -> Result<Drive<Self>, ConfigError> {
        registry::create_on(stack, layout)
    }

    fn recover(stack: &Stack, layout: &Layout, flash: &mut FlashPort<Self>) -> Result<Drive<Self>, RecoverError> {
        registry::recover_on(stack, layout, flash)
    }

    #[inline]
    fn engine(&self) -> Option<&EventTiming> {
        (&self.timing as &dyn Any).downcast_ref()
    }

    #[inline]
    fn parts(&mut self) -> (&Chip<Lean>, Option<&mut EventTiming>) {
        (&self.chip, (&mut self.timing as &mut dyn Any).downcast_mut())
    }
}

impl RunDevice for AnyDevice {
    type Store = Full<PageData>;

    fn fresh(device: &DeviceFacts, has_clock: bool) -> Self {
        let chip = Chip::<Full<PageData>>::new(device.geometry, &device.chip);
        if has_clock { Self::new(chip, device.timing()) } else { Self::new(chip, Untimed) }
    }

    fn create(stack: &Stack, layout: &Layout) -> Result<Drive<Self>, ConfigError> {
        registry::create(stack, layout)
    }

    fn recover(stack: &Stack, layout: &Layout, flash: &mut FlashPort<Self>) -> Result<Drive<Self>, RecoverError> {
        registry::recover(stack, layout, flash)
    }

    fn engine(&self) -> Option<&EventTiming> {
        self.timing.as_timing()
    }

    fn parts(&mut self) -> (&Chip<Self::Store>, Option<&mut EventTiming>) {
        (self.chip.as_chip(), self.timing.as_timing_mut())
    }
}
