//! Small untimed devices for the schemes' own tests.

use flash::{Chip, ChipOptions, Geometry, Lean, Shape};

use crate::api::layout::Layout;
use crate::port::flash_port::FlashPort;
use crate::port::timing::{Timed, Untimed};

/// An untimed simulated device.
pub(crate) type TestDevice = Timed<Chip<Lean>, Untimed>;

fn geometry(blocks: u32, pages_per_block: u32) -> Geometry {
    Geometry::new(Shape {
        channels: 1,
        dies_per_channel: 1,
        planes_per_die: 1,
        blocks_per_plane: blocks,
        pages_per_block,
        page_size_bytes: 512,
    })
    .expect("a valid shape")
}

/// One die of so many blocks.
pub(crate) fn device(blocks: u32, pages_per_block: u32) -> FlashPort<TestDevice> {
    let chip = Chip::new(geometry(blocks, pages_per_block), &ChipOptions::default());
    FlashPort::new(Timed { chip, timing: Untimed })
}

pub(crate) fn layout(blocks: u32, pages_per_block: u32, logical_pages: u32) -> Layout {
    let chip: Chip<Lean> = Chip::new(geometry(blocks, pages_per_block), &ChipOptions::default());
    Layout::of(&chip, logical_pages, 1)
}
