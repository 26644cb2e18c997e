//! How a read gets past work that nobody waits for: what has not begun is taken back and planned again behind it, what is under
//! way is suspended, if the device can.
//!
//! Nothing is changed unless the read is done earlier for it.

use ftl::{Op, Task};

use crate::planner::lanes::{Item, Needs, Spot};
use crate::planner::{Abilities, After, Planner};

/// Work under way that can be suspended: the promise as it stands, and when the die would be free.
struct Halt {
    item: Item,
    /// When the work stops.
    stops: u64,
    /// When the die can read.
    yields: u64,
}

impl Planner {
    /// Plans a read that would have to wait until `waiting`, past what lets it.
    pub(super) fn pass(&mut self, task: Task, at: u64, waiting: Spot) -> Spot {
        let Abilities { gc_yields, suspend, .. } = self.abilities;
        // What a read would suspend at once need not begin before it.
        let mut taken = self.take_back(at, |item| gc_yields || suspend.covers(item.last_task().op));
        let (needs, plane) = (self.needs(task.op), self.plane(task));
        let mut spot = self.lanes.fit(task, plane, needs, at, false);
        let halt = self.halt(task.die, at).and_then(|halt| {
            self.lanes.shorten(task.die, halt.item.id, halt.yields);
            let halted = self.lanes.fit(task, plane, needs, at, false);
            if halted.end < spot.end.min(waiting.end) {
                spot = halted;
                return Some(halt);
            }
            self.lanes.remove(task.die, halt.item.id);
            self.lanes.insert(halt.item);
            None
        });
        if spot.end >= waiting.end {
            for item in taken {
                self.lanes.insert(item);
            }
            let item = self.item(task, at, waiting, false);
            self.lanes.insert(item);
            return waiting;
        }
        let item = self.item(task, at, spot, false);
        self.lanes.insert(item);
        if let Some(halt) = halt {
            taken.push(self.split(&halt, spot.end));
        }
        taken.extend(self.take_back(at, |_| true));
        self.plan_again(taken, at);
        spot
    }

    /// Takes back movable promises that do not begin before `at`.
    fn take_back(&mut self, at: u64, chosen: impl Fn(&Item) -> bool) -> Vec<Item> {
        let mut taken = Vec::new();
        for die in 0..self.lanes.dies() {
            self.lanes.take_back(die, |item| item.movable && item.spot.start >= at && chosen(item), &mut taken);
        }
        taken
    }

    /// The work that a die is at, if it can be suspended so that the die is free sooner.
    fn halt(&self, die: u32, at: u64) -> Option<Halt> {
        let mut held = self.lanes.die(die).iter().filter(|item| item.spot.start < at && item.spot.end > at);
        let item = *held.next().filter(|item| item.movable)?;
        if held.next().is_some() || !self.abilities.suspend.covers(item.last_task().op) {
            return None;
        }
        let works_from =
            item.spot.transfer.map_or(item.spot.start, |at| at + self.latencies.transfer_ns) + item.lead_ns;
        let stops = at.max(works_from);
        let yields = stops + self.abilities.suspend_ns;
        (yields < item.spot.end).then_some(Halt { item, stops, yields })
    }

    /// Makes a shortened promise fixed, since it is under way, and returns what is left of it, to be taken up from `from` on.
    fn split(&mut self, halt: &Halt, from: u64) -> Item {
        let Halt { item, stops, .. } = *halt;
        self.items += 1;
        self.lanes.fix(item.task.die, item.id, self.items);
        if let Some(position) = self.job(item.id) {
            self.jobs[position].after = After::Moment(from);
        }
        let left_ns = item.spot.end - stops;
        let service_ns = match (item.copies, item.last_task().op) {
            (Some(_), _) => Some(self.latencies.program_ns),
            (None, _) => item.service_ns,
        };
        Item {
            task: item.last_task(),
            copies: None,
            needs: Needs { before_ns: self.abilities.resume_ns + left_ns, moves: false, after_ns: 0 },
            whole: false,
            begun: true,
            lead_ns: self.abilities.resume_ns,
            service_ns,
            ..item
        }
    }

    /// Plans what was taken back again, in the order of its first planning, not before `at`.
    fn plan_again(&mut self, taken: Vec<Item>, at: u64) {
        let mut taken = taken;
        taken.sort_unstable_by_key(|item| item.id);
        for position in 0..self.jobs.len() {
            let job = self.jobs[position];
            let Ok(found) = taken.binary_search_by_key(&job.id, |item| item.id) else { continue };
            let mut item = taken[found];
            let follows = self.resolve(job.after);
            // Work that was suspended has been ready since it first was, and so has what follows something that is over.
            if let Some(ready) = follows.filter(|_| !item.begun) {
                item.ready = ready;
            }
            let from = follows.unwrap_or(0).max(at);
            item.spot = self.lanes.fit(item.task, item.plane, item.needs, from, true);
            self.lanes.insert(item);
            self.jobs[position].end = item.spot.end;
            self.extend_permission(job.chain, item.spot.end);
        }
    }
}

impl Item {
    /// What the die works at in the end: of a copy-back, its program.
    pub(super) fn last_task(&self) -> Task {
        self.copies.unwrap_or(self.task)
    }

    /// Whether it may be joined by, and join, others of its kind on other planes.
    pub(super) fn joins(&self, op: Op) -> bool {
        self.whole && self.task.op == op
    }
}
