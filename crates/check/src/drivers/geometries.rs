//! The devices on which every scheme is tried, and how much each scheme promises to hold on them.
//!
//! All are small, so that garbage collection and merges happen within a few hundred requests, and
//! each has something that arithmetic gets wrong: counts of one, counts that are no powers of two,
//! blocks that share a machine word of a bitmap or straddle several, dies without a single good
//! block, a translation table of several pages.

use std::panic::{AssertUnwindSafe, catch_unwind};

use flash::ProgramOrder;
use ftl::{AnyDevice, ConfigError, Drive, Layout};

use crate::case::device_spec::DeviceSpec;

/// Devices for trying schemes, smallest first.
pub fn all() -> Vec<DeviceSpec> {
    let device = DeviceSpec::new;
    vec![
        // One of everything: no scheme can work here, and each must say so.
        device(1, 1, 1, 1, 1),
        device(1, 1, 1, 2, 3),
        device(1, 1, 1, 3, 2),
        // Pages per block = 1: a block is a page.
        device(1, 1, 1, 9, 1),
        device(1, 1, 1, 6, 4),
        device(1, 1, 1, 8, 4).ordered(ProgramOrder::Strict),
        device(1, 1, 1, 8, 4).ordered(ProgramOrder::Any),
        device(1, 1, 1, 9, 5).with_bad([0, 8]),
        // Blocks of 65 pages: bitmaps of 64-bit words are off by one everywhere.
        device(1, 1, 1, 7, 65),
        device(3, 1, 1, 7, 5),
        device(2, 2, 1, 6, 4),
        device(1, 1, 3, 4, 4),
        device(3, 2, 2, 5, 3).with_bad([0, 17, 18, 59]).ordered(ProgramOrder::Strict),
        // Die 1 has no good block at all, die 2 only three.
        device(1, 3, 1, 8, 4).with_bad(8..21),
        // 80 blocks of 8: five translation pages of 128 entries.
        device(2, 1, 1, 40, 8),
        device(1, 2, 1, 24, 16).ordered(ProgramOrder::Any),
    ]
}

/// The most logical pages with which `build` accepts a device; none if it takes no number at all,
/// or if no such device can be.
///
/// Found by bisection, since a scheme that accepts some number of pages accepts every smaller one;
/// the suite tests that, too, with [`accepts`].
pub fn largest_capacity(
    device: &DeviceSpec,
    build: impl Fn(&Layout) -> Result<Drive<AnyDevice>, ConfigError>,
) -> Option<u32> {
    let (mut accepted, mut refused) = (0, device.geometry().ok()?.pages() + 1);
    while refused - accepted > 1 {
        let middle = accepted + (refused - accepted) / 2;
        if accepts(device, middle, &build).is_ok() { accepted = middle } else { refused = middle }
    }
    (accepted > 0).then_some(accepted)
}

/// Whether `build` accepts a device with this many logical pages, or why not.
///
/// A scheme that panics instead of answering counts as accepting: a run of the case then says so
/// with its replay line.
pub fn accepts(
    device: &DeviceSpec,
    logical_pages: u32,
    build: impl Fn(&Layout) -> Result<Drive<AnyDevice>, ConfigError>,
) -> Result<(), ConfigError> {
    let layout = device.layout(&device.chip(u32::MAX).map_err(ConfigError)?, logical_pages, 0);
    catch_unwind(AssertUnwindSafe(|| build(&layout).map(|_| ()))).unwrap_or(Ok(()))
}
