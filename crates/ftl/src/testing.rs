//! Small untimed devices for the schemes' own tests, and the memory that they take.

use std::alloc::{GlobalAlloc, System};
use std::cell::Cell;

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

thread_local! {
    static ALLOCATED_BYTES: Cell<u64> = const { Cell::new(0) };
}

/// The system's memory, counting what each thread asks for.
struct Counting;

// SAFETY: every request goes to the system's allocator as it came.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: std::alloc::Layout) -> *mut u8 {
        ALLOCATED_BYTES.set(ALLOCATED_BYTES.get() + layout.size() as u64);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: std::alloc::Layout) {
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Bytes that this thread allocates to make something.
pub(crate) fn allocated_bytes<T>(make: impl FnOnce() -> T) -> u64 {
    let before = ALLOCATED_BYTES.get();
    drop(make());
    ALLOCATED_BYTES.get() - before
}
