//! How units wait for others of their program unit: what of the operations on them comes to flash.

use flash::{Flash, Geometry, Pbn};
use ftl::{FlashOp, Moment, Task, Timing, WorkKind};

use super::{DELAY_ENDS, EventTiming, event};
use crate::timing::calendar::NEVER;
use crate::timing::priced_task::{IN_REGISTER, Price, PricedTask};
use crate::timing::program_buffer::ProgramBuffer;
use crate::timing::program_units::ProgramUnits;
use crate::timing::tasks::Kind;

impl EventTiming {
    /// Issues an operation where units wait in the controller. A program of one that waits for
    /// others, and a read of it, take no time.
    #[inline(never)]
    pub(super) fn perform_in_units(&mut self, task: Task, after: Moment) -> Moment {
        // A serial device is one die.
        let (task, block) = (Task { die: task.die & self.die_mask, ..task }, task.pbn.get() as usize);
        let Some(units) = &mut self.program_units else { return after };
        match task.op {
            FlashOp::Read if units.waits(block, task.page) => return after,
            FlashOp::Read => {
                let price = if units.reads(&task) { Price(IN_REGISTER as u8) } else { self.prices.of(&task) };
                return self.perform_on_flash(task, price, after);
            }
            FlashOp::Erase => {
                units.overwrites_register(task.die);
                let of_host = units.erase(block);
                return self.perform_giving_back(task, after, of_host);
            }
            FlashOp::Program => {}
        }
        // What the host waits for, but for what a scheme moves, goes through the program buffer.
        let is_of_host = task.chain == 0 && task.cause.work() != WorkKind::Moving && self.buffer.is_some();
        let after = if is_of_host { self.take_place(after) } else { after };
        let Some(units) = &mut self.program_units else { return after };
        units.begin(block, task.mode);
        let (arrives, completes) = (units.arrives(block), units.completes(block, task.page));
        if completes {
            units.overwrites_register(task.die);
            let of_host = units.write(block, task.page) + u16::from(is_of_host);
            let comes = self.with_data(after, arrives);
            let end = self.perform_giving_back(task, comes, of_host);
            return if is_of_host { after } else { end };
        }
        let arrives = match arrives {
            Some(arrives) if !is_before(arrives, after) => self.join(arrives, after),
            _ => after,
        };
        if let Some(units) = &mut self.program_units {
            units.put(block, task.page, arrives, is_of_host);
        }
        after
    }

    /// An operation that gives places of the program buffer back when it ends.
    fn perform_giving_back(&mut self, task: Task, after: Moment, places: u16) -> Moment {
        let price = self.prices.of(&task);
        if places == 0 {
            return self.perform_on_flash(task, price, after);
        }
        let priced = PricedTask { gives_back: places, ..PricedTask::new(&task, price) };
        let earliest = after.earliest.0.max(self.now) + self.prices.course(priced.course).alone_ns;
        self.perform_alone(&task, &priced, after, earliest)
    }

    /// When a unit whose data come at a moment has a place in the program buffer.
    fn take_place(&mut self, comes: Moment) -> Moment {
        let has_come = self.is_over(comes);
        let Some(buffer) = self.buffer.as_mut().filter(|_| !self.is_stopped) else { return comes };
        if has_come && buffer.take_at_once() {
            return comes;
        }
        let number = self.issue_after(Kind::Place, comes, 0);
        let issue = self.tasks.get(number).issue;
        self.buffer.iter_mut().for_each(|buffer| buffer.announce(issue));
        self.tasks.end_of(number, comes.earliest.0.max(self.now))
    }

    /// Units that asked for places in the program buffer get them.
    pub(super) fn give_places(&mut self) {
        let Self { buffer: Some(buffer), tasks, calendar, now, .. } = self else { return };
        buffer.line_up(tasks);
        while let Some(number) = buffer.next(calendar.next_time() == NEVER) {
            calendar.add_any(*now, tasks.get(number).issue, event(DELAY_ENDS, number));
        }
    }

    /// When a unit may be programmed: not before all data of its program unit have come.
    fn with_data(&mut self, after: Moment, arrives: Option<Moment>) -> Moment {
        match arrives {
            Some(arrives) if !is_before(arrives, after) => self.wait_beside(after, arrives),
            _ => after,
        }
    }

    /// The same device of a geometry with a program buffer of this many units.
    #[must_use]
    pub fn buffering(mut self, geometry: &Geometry, units: Option<u64>) -> Self {
        self.buffer = units.map(ProgramBuffer::new);
        if self.buffer.is_some() {
            let (blocks, dies) = (geometry.blocks(), self.dies.len() as u32);
            self.program_units.get_or_insert_with(|| ProgramUnits::new([1, 1], blocks, dies, 1));
        }
        self
    }

    /// The device is switched on with what its chip holds, all of it in native blocks: until then
    /// every block is taken for erased.
    pub fn start_on(&mut self, chip: &(impl Flash + ?Sized)) {
        if let Some(units) = &mut self.program_units {
            units.resume((0..chip.geometry().blocks()).map(|block| chip.next_page(Pbn::new(block))));
        }
        self.restart_buffer();
    }

    /// The clock starts anew: what waits in the program buffer stays there.
    pub(super) fn restart_buffer(&mut self) {
        let units = self.program_units.as_ref().map_or(0, ProgramUnits::of_host);
        self.buffer.iter_mut().for_each(|buffer| buffer.restart(units));
    }

    /// Units of the geometry that the program buffer and what waits beside it must hold; none where
    /// nothing waits.
    pub(crate) fn most_buffered_units(&self) -> Option<u64> {
        let units = self.program_units.as_ref()?;
        Some(units.most_staged() + self.buffer.as_ref().map_or(0, ProgramBuffer::most_units))
    }
}

/// Whether a moment is known to come before another one, or with it: of the same entry's operations
/// it is the end of an earlier one. Reads of a collection are, one after the other.
fn is_before(one: Moment, other: Moment) -> bool {
    let ((number, generation), (other_number, other_generation)) = (one.event(), other.event());
    !one.is_known() && number == other_number && other_generation.wrapping_sub(generation) < 1 << 31
}
