//! Operations on superblocks: on which dies they are done, and what background work waits for.

use flash::Pbn;
use ftl::{Cause, FlashOp, Moment, Nanos, Task, Timing};

use super::EventTiming;
use crate::timing::abilities::Abilities;
use crate::timing::priced_task::PricedTask;
use crate::timing::superblocks::{Place, Superblocks};

impl EventTiming {
    /// Issues an operation where blocks are superblocks. Background work goes on, behind a program,
    /// where its last read was issued, unless its operations follow one another. Its erases wait
    /// for its own programs, and for all that was moved to their dies. Without a capacitor a flush
    /// waits for programs, so there it follows them.
    #[inline(never)]
    pub(super) fn perform_in_superblock(&mut self, task: Task, after: Moment) -> Moment {
        if task.chain == 0 || self.is_stopped || !self.moves.reads_ahead {
            return self.perform_on_dies(task, after);
        }
        match task.op {
            FlashOp::Read if task.chain != self.moves.in_order => self.moves.read = (task.chain, after),
            FlashOp::Read => {}
            FlashOp::Program => {
                let (die, end) = (self.die_of(&task) as usize, self.perform_on_dies(task, after));
                self.moves.moved[die] = self.join(self.moves.moved[die], end);
                let (chain, programmed) = self.moves.programmed;
                let programmed = if chain == task.chain { self.join(programmed, end) } else { end };
                self.moves.programmed = (task.chain, programmed);
                let (chain, read_after) = self.moves.read;
                return if chain == task.chain { read_after } else { end };
            }
            FlashOp::Erase => {
                let (first, step) = (self.die_of(&task), self.dies_per_channel);
                let dies = (0..self.abilities.superblocks.dies).map(|other| (first + other * step) as usize);
                let after = dies.fold(after, |after, die| self.join(after, self.moves.moved[die]));
                let after = self.join_programs(task.chain, after);
                return self.perform_on_dies(task, after);
            }
        }
        self.perform_on_dies(task, after)
    }

    /// How long idle dies take to read units of a superblock and to program this many: reads on the
    /// busiest plane, or on all of a die where planes do not work side by side, and transfers on
    /// the busiest die. Then come program units, die by die, one more for what waits already.
    pub(super) fn estimate_side_by_side(&self, reads: &[Task], programmed: u64) -> Option<Nanos> {
        let layout = self.layout.as_ref().filter(|_| self.moves.reads_ahead)?;
        let Abilities { superblocks: Superblocks { planes, dies }, multi_plane, aligned_planes, .. } = self.abilities;
        let planes = if multi_plane && !aligned_planes { planes } else { 1 };
        let (mut sensed, mut moved) = (vec![0; (dies * planes) as usize], vec![0; dies as usize]);
        let mut last = None;
        for read in reads {
            let Place { die, plane, unit } = layout.place(read.mode, read.page);
            let page = Some((die, plane, unit / self.units_per_page));
            let sense_ns = self.prices.course_of(FlashOp::Read, self.prices.of(read)).asks_after_ns;
            sensed[(die * planes + plane % planes) as usize] += if page == last { 0 } else { sense_ns };
            moved[die as usize] += self.prices.transfer_ns;
            last = page;
        }
        let of_dies = sensed.chunks(planes as usize).zip(moved);
        let reads_ns = of_dies.map(|(sensed, moved)| sensed.iter().max().unwrap_or(&0) + moved).max().unwrap_or(0);
        let at_once = u64::from(self.programmed_at_once());
        let programs = (programmed.div_ceil(at_once) + 1).div_ceil(dies.into());
        let program = Task::new(FlashOp::Program, Cause::Host, Pbn::new(0), 0);
        let price = self.prices.of(&Task { page: self.slowest_page(FlashOp::Program), ..program });
        Some(Nanos(reads_ns + programs * self.prices.course_of(FlashOp::Program, price).alone_ns))
    }

    /// Issues an operation on the dies that a superblock has blocks of: a read or a program on the
    /// die of its unit, an erase on each of them. The superblock is erased when the last has ended.
    fn perform_on_dies(&mut self, task: Task, after: Moment) -> Moment {
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
