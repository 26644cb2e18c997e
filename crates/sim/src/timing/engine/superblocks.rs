//! Where operations on superblocks go that have blocks on several dies.

use ftl::{FlashOp, Moment, Task, Timing};

use super::EventTiming;
use crate::timing::priced_task::PricedTask;

impl EventTiming {
    /// Issues an operation where a superblock has blocks on a die of each channel: a read or a
    /// program on the die of its unit, an erase on each of them. The superblock is erased when the
    /// last has ended.
    #[inline(never)]
    pub(super) fn perform_in_group(&mut self, task: Task, after: Moment) -> Moment {
        let die = self.die_of(&task);
        let mut end = self.perform_on_die(Task { die, ..task }, after);
        if task.op != FlashOp::Erase {
            return end;
        }
        for other in 1..self.abilities.superblocks.dies {
            let die = die + other * self.dies_per_channel;
            let erased = self.perform_on_die(Task { die, ..task }, after);
            end = if self.is_stopped { after } else { self.join(end, erased) };
        }
        end
    }

    /// The die of the chip that an operation is done on; of an erase the first.
    #[inline]
    pub(super) fn die_of(&self, task: &Task) -> u32 {
        let of_group = self.layout.as_ref().map_or(0, |layout| layout.place(task.mode, task.page).die);
        (task.die + of_group * self.dies_per_channel) & self.die_mask
    }

    /// The block whose order an operation keeps: each die has its own of a superblock.
    #[inline]
    pub(super) fn block_of(&self, task: &PricedTask) -> usize {
        match self.abilities.superblocks.dies {
            1 => task.pbn.get() as usize,
            dies => (task.pbn.get() * dies + task.die / self.dies_per_channel) as usize,
        }
    }
}
