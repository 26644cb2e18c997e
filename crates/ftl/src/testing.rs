//! Small untimed devices for the schemes' own tests.

use flash::{Chip, Lean};
use testkit::TestFlash;

use crate::api::layout::Layout;
use crate::port::device::Timed;
use crate::port::flash_port::FlashPort;
use crate::port::timing::Untimed;

/// An untimed simulated device.
pub(crate) type TestDevice = Timed<Chip<Lean>, Untimed>;

/// One die of this many blocks.
pub(crate) fn device(blocks: u32, pages_per_block: u32) -> FlashPort<TestDevice> {
    let chip = TestFlash::new(blocks, pages_per_block).chip();
    FlashPort::new(Timed { chip, timing: Untimed })
}

pub(crate) fn layout(blocks: u32, pages_per_block: u32, logical_pages: u32) -> Layout {
    let chip: Chip<Lean> = TestFlash::new(blocks, pages_per_block).chip();
    Layout::of(&chip, logical_pages, 1)
}
