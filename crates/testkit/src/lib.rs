//! Builders for tests: small flash, chips of it, and drives on them. Whatever a test does not say
//! is as small and plain as it can be, so that a test shows what it is about.
//!
//! Whatever cannot be built panics with the reason: a test has nobody to hand an error to.

use flash::{Blank, Chip, ChipOptions, Geometry, Shape};
use ftl::{AnyDevice, ConfigError, Device, Drive, Layout, Mapping, Scheme, Settings, Values, registry};

/// Flash to be built: one plane of one die of one channel, with pages of 512 bytes, unless more is
/// asked for.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct TestFlash {
    shape: Shape,
}

impl TestFlash {
    /// This many blocks in each plane.
    pub const fn new(blocks_per_plane: u32, pages_per_block: u32) -> Self {
        let shape = Shape {
            channels: 1,
            dies_per_channel: 1,
            planes_per_die: 1,
            blocks_per_plane,
            pages_per_block,
            page_size_bytes: 512,
        };
        Self { shape }
    }

    /// This many channels instead of one.
    pub const fn channels(mut self, channels: u32) -> Self {
        self.shape.channels = channels;
        self
    }

    /// This many dies on each channel instead of one.
    pub const fn dies_per_channel(mut self, dies: u32) -> Self {
        self.shape.dies_per_channel = dies;
        self
    }

    /// This many planes in each die instead of one.
    pub const fn planes_per_die(mut self, planes: u32) -> Self {
        self.shape.planes_per_die = planes;
        self
    }

    /// Pages of this many bytes instead of 512.
    pub const fn page_size(mut self, bytes: u32) -> Self {
        self.shape.page_size_bytes = bytes;
        self
    }

    /// Its counts.
    pub const fn shape(&self) -> Shape {
        self.shape
    }

    /// Its addresses.
    pub fn geometry(&self) -> Geometry {
        Geometry::new(self.shape).expect("counts that a device can have")
    }

    /// A new chip of it, as chips are unless options say otherwise.
    pub fn chip<S: Blank>(&self) -> Chip<S> {
        self.chip_with(&ChipOptions::default())
    }

    /// A new chip of it with options.
    pub fn chip_with<S: Blank>(&self, options: &ChipOptions) -> Chip<S> {
        Chip::new(self.geometry(), options)
    }
}

/// A new drive of a stack, such as `page:victim=fifo+dynamic+lru`.
pub fn drive(stack: &str, layout: &Layout) -> Drive<AnyDevice> {
    registry::create(&stack.parse().expect("a stack"), layout).expect("a stack that this device takes")
}

/// A new drive of one scheme, with settings of its own, on devices of any type: this scheme alone
/// is compiled for it.
pub fn drive_of<S, D>(settings: &[(&str, &str)], layout: &Layout) -> Result<Drive<D>, ConfigError>
where
    S: Scheme + Mapping<D> + 'static,
    D: Device + 'static,
{
    Ok(Drive::new(Box::new(S::format(layout, &values_of::<S>(settings)?)?), layout))
}

/// Settings of a scheme, checked; the others have their defaults.
pub fn values_of<S: Scheme>(settings: &[(&str, &str)]) -> Result<Values, ConfigError> {
    let settings: Settings = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Values::check(S::ENTRY.name, S::ENTRY.parameters, &settings)
}
