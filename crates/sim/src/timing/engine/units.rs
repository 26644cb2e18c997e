//! How units wait for others of their program unit: what of the operations on them comes to flash.

use flash::{Flash, Pbn};
use ftl::{FlashOp, Moment, Task, Timing};

use super::EventTiming;
use crate::timing::priced_task::{IN_REGISTER, Price};

impl EventTiming {
    /// Issues an operation where several units are programmed at once. What goes into the buffer,
    /// or is read there, takes no time.
    #[inline(never)]
    pub(super) fn perform_in_units(&mut self, task: Task, after: Moment) -> Moment {
        let Some(units) = &mut self.program_units else { return after };
        let block = task.pbn.get() as usize;
        match task.op {
            FlashOp::Read if units.waits(block, task.page) => return after,
            FlashOp::Read => {
                let price = if units.reads(&task) { Price(IN_REGISTER as u8) } else { self.prices.of(&task) };
                return self.perform_on_flash(task, price, after);
            }
            FlashOp::Erase => {
                units.overwrites_register(task.die);
                units.erase(block);
            }
            FlashOp::Program => {
                units.begin(block, task.mode);
                let (arrives, completes) = (units.arrives(block), units.completes(block, task.page));
                if completes {
                    units.overwrites_register(task.die);
                    units.write(block, task.page);
                    let after = self.with_data(after, arrives);
                    let end = self.perform_on_flash(task, self.prices.of(&task), after);
                    return self.buffered(task.die, after, end);
                }
                let arrives = match arrives {
                    Some(arrives) if !is_before(arrives, after) => self.join(arrives, after),
                    _ => after,
                };
                if let Some(units) = &mut self.program_units {
                    units.put(block, task.page, arrives);
                }
                return after;
            }
        }
        self.perform_on_flash(task, self.prices.of(&task), after)
    }

    /// When a unit may be programmed: not before all data of its program unit have come.
    fn with_data(&mut self, after: Moment, arrives: Option<Moment>) -> Moment {
        match arrives {
            Some(arrives) if !is_before(arrives, after) => self.wait_beside(after, arrives),
            _ => after,
        }
    }

    /// When a program unit is in the buffer whose data come at a moment and whose program ends at
    /// another: not before there is room for it.
    fn buffered(&mut self, die: u32, comes: Moment, end: Moment) -> Moment {
        match self.program_units.as_mut().map(|units| units.leaves(die, end)) {
            Some(None) => comes,
            Some(Some(first)) if first != end => self.wait_beside(comes, first),
            _ => end,
        }
    }

    /// The same with a buffer for so many program units of a die.
    #[must_use]
    pub fn buffering(mut self, program_units: u32) -> Self {
        self.program_units = self.program_units.map(|units| units.buffering(program_units));
        self
    }

    /// The device is switched on with what its chip holds, all of it in native blocks: until then
    /// every block is taken for erased.
    pub fn start_on(&mut self, chip: &(impl Flash + ?Sized)) {
        if let Some(units) = &mut self.program_units {
            units.resume((0..chip.geometry().blocks()).map(|block| chip.next_page(Pbn::new(block))));
        }
    }

    /// Units of the geometry that the buffer must hold; none where nothing waits in one.
    pub(crate) fn most_buffered_units(&self) -> Option<u64> {
        self.program_units.as_ref().map(super::ProgramUnits::most_units)
    }
}

/// Whether a moment is known to come before another one, or with it: of the same entry's operations
/// it is the end of an earlier one. Reads of a collection are, one after the other.
fn is_before(one: Moment, other: Moment) -> bool {
    let ((number, generation), (other_number, other_generation)) = (one.event(), other.event());
    !one.is_known() && number == other_number && other_generation.wrapping_sub(generation) < 1 << 31
}
