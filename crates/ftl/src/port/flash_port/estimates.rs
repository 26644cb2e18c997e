//! What a scheme may ask of the time that operations take.

use flash::{CellMode, Pbn, Ppn};

use super::FlashPort;
use crate::port::device::Device;
use crate::port::timing::{FlashOp, Nanos, Task, Timing};

impl<D: Device> FlashPort<D> {
    /// How long a channel stays busy from the cursor on, by what is queued now; zero when idle.
    pub fn busy(&self, channel: u32) -> Nanos {
        self.asks("how long a channel stays busy");
        self.device.timing().busy(channel, self.cursor)
    }

    /// How long reading a page would take from the cursor on, waiting included, by what is queued
    /// now.
    pub fn estimate_read(&self, ppn: Ppn) -> Nanos {
        self.estimate_at(FlashOp::Read, self.geometry().split(ppn))
    }

    /// How long an operation on a block would take from the cursor on, waiting included, by what is
    /// queued now: of a read or a program, on the page for which it takes longest. Programs are
    /// those of a native block.
    pub fn estimate(&self, op: FlashOp, pbn: Pbn) -> Nanos {
        self.estimate_at(op, (pbn, self.device.timing().slowest_page(op)))
    }

    /// Pages of a native block that the device programs at once.
    pub fn programmed_at_once(&self) -> u32 {
        self.device.timing().programmed_at_once()
    }

    /// How long programming this many pages of a native block takes, each program as that on a
    /// block is estimated: those that are programmed at once take one, and others may wait there
    /// already.
    pub fn estimate_programs(&self, pages: u64, pbn: Pbn) -> Nanos {
        let at_once = u64::from(self.programmed_at_once());
        let programs = if at_once == 1 { pages } else { pages.div_ceil(at_once) + 1 };
        Nanos(self.estimate(FlashOp::Program, pbn).0 * programs)
    }

    /// How long idle dies take to read these pages of a superblock, in order, and to program this
    /// many native ones. None where background work does not read ahead of its programs.
    pub fn estimate_moves(&self, pages: &[Ppn], programmed: u64) -> Option<Nanos> {
        self.asks("how long moves would take");
        let read = |&ppn: &Ppn| self.task(FlashOp::Read, self.geometry().split(ppn), false);
        let reads: Vec<_> = pages.iter().map(read).collect();
        self.device.timing().estimate_moves(&reads, programmed)
    }

    /// Whether background work reads ahead of its programs.
    pub fn reads_ahead(&self) -> bool {
        self.estimate_moves(&[], 0).is_some()
    }

    fn estimate_at(&self, op: FlashOp, place: (Pbn, u32)) -> Nanos {
        self.asks("how long an operation would take");
        let task = self.task(op, place, false);
        let mode = if op == FlashOp::Program { CellMode::Native } else { task.mode };
        self.device.timing().estimate(Task { mode, ..task }, self.cursor)
    }
}
