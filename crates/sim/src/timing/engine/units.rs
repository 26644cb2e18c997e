//! How units wait for others of their program unit: what of the operations on them comes to flash.

use ftl::{FlashOp, Moment, Task, Timing};

use super::EventTiming;

impl EventTiming {
    /// Issues an operation where several units are programmed at once. What goes into the buffer,
    /// or is read there, takes no time.
    #[inline(never)]
    pub(super) fn perform_in_units(&mut self, task: Task, after: Moment) -> Moment {
        let Some(units) = &mut self.program_units else { return after };
        let block = task.pbn.get() as usize;
        match task.op {
            FlashOp::Read if units.waits(block, task.page) => return after,
            FlashOp::Read => {}
            FlashOp::Erase => units.erase(block),
            FlashOp::Program => {
                units.begin(block, task.mode);
                let (arrives, completes) = (units.arrives(block), units.completes(block, task.page));
                if completes {
                    units.write(block, task.page);
                    let after = self.with_data(after, arrives);
                    return self.perform_on_flash(task, after);
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
        self.perform_on_flash(task, after)
    }

    /// When a unit may be programmed: not before all data of its program unit have come.
    fn with_data(&mut self, after: Moment, arrives: Option<Moment>) -> Moment {
        match arrives {
            Some(arrives) if !is_before(arrives, after) => self.wait_beside(after, arrives),
            _ => after,
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
