//! The two devices that a study runs on: the lean one, for which schemes are compiled here so that
//! nothing stands between them and the chip, and the device of all other shells, whose chip keeps
//! what pages hold.

use flash::{Chip, Full, Lean, PageData, Store};
use ftl::{AnyDevice, ConfigError, Device, Drive, FlashPort, Layout, RecoverError, Stack, Timed, registry};

use crate::EventTiming;
use crate::setup::device::{Device as DeviceFacts, SimulatedDevice};

/// A device whose operations take the event engine's time.
pub(crate) trait RunDevice: Device + Sized {
    /// Where its chip keeps what pages hold.
    type Store: Store;

    /// A fresh device.
    fn fresh(device: &DeviceFacts) -> Self;
    /// A stack for it, erased.
    fn create(stack: &Stack, layout: &Layout) -> Result<Drive<Self>, ConfigError>;
    /// A stack that comes back on it.
    fn recover(stack: &Stack, layout: &Layout, flash: &mut FlashPort<Self>) -> Result<Drive<Self>, RecoverError>;
    /// Its clock and queues, to look at.
    fn engine(&self) -> &EventTiming;
    /// Its clock and queues.
    fn engine_mut(&mut self) -> &mut EventTiming {
        self.parts().1
    }
    /// Its chip, and its clock and queues.
    fn parts(&mut self) -> (&Chip<Self::Store>, &mut EventTiming);
}

impl RunDevice for SimulatedDevice {
    type Store = Lean;

    fn fresh(device: &DeviceFacts) -> Self {
        Timed { chip: Chip::new(device.geometry, &device.chip), timing: device.timing() }
    }

    fn create(stack: &Stack, layout: &Layout) -> Result<Drive<Self>, ConfigError> {
        registry::create_on(stack, layout)
    }

    fn recover(stack: &Stack, layout: &Layout, flash: &mut FlashPort<Self>) -> Result<Drive<Self>, RecoverError> {
        registry::recover_on(stack, layout, flash)
    }

    #[inline]
    fn engine(&self) -> &EventTiming {
        &self.timing
    }

    #[inline]
    fn parts(&mut self) -> (&Chip<Lean>, &mut EventTiming) {
        (&self.chip, &mut self.timing)
    }
}

impl RunDevice for AnyDevice {
    type Store = Full<PageData>;

    fn fresh(device: &DeviceFacts) -> Self {
        Self::new(Chip::<Full<PageData>>::new(device.geometry, &device.chip), device.timing())
    }

    fn create(stack: &Stack, layout: &Layout) -> Result<Drive<Self>, ConfigError> {
        registry::create(stack, layout)
    }

    fn recover(stack: &Stack, layout: &Layout, flash: &mut FlashPort<Self>) -> Result<Drive<Self>, RecoverError> {
        registry::recover(stack, layout, flash)
    }

    fn engine(&self) -> &EventTiming {
        self.timing.as_timing().unwrap_or_else(|| unreachable!("a run is timed by the event engine"))
    }

    fn parts(&mut self) -> (&Chip<Self::Store>, &mut EventTiming) {
        let timing = self.timing.as_timing_mut();
        (self.chip.as_chip(), timing.unwrap_or_else(|| unreachable!("a run is timed by the event engine")))
    }
}
