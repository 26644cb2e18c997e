//! How a read gets past work that nobody waits for: what has not begun is taken back and planned
//! again behind it, what is under way is suspended, if the device can.
//!
//! Nothing is changed unless the read is done earlier for it. A read takes room on its die and its
//! channel, so it can move operations of that channel, and what follows one of them, wherever that
//! is. So the channel's operations are taken back; and those of another channel that come later in
//! the order of first planning, as soon as one of them follows an operation that has moved.
//! Everything else would be planned where it lies.

use ftl::Task;

use crate::timing::planner::lanes::{Item, Needs, Slot, Tag};
use crate::timing::planner::{Abilities, After, Planner};

/// Work under way that can be suspended.
struct Halt {
    item: Item,
    /// Its position among the promises of its die.
    position: usize,
    /// When the work stops.
    stops: u64,
    /// When the die can read.
    yields: u64,
}

/// A channel of which operations were taken back.
struct Emptied {
    channel: u32,
    /// The position of the next of its jobs to be planned again.
    next: usize,
}

impl Planner {
    /// Plans a read that would have to wait until `waiting`, past what lets it.
    pub(super) fn pass(&mut self, task: Task, at: u64, waiting: Slot) -> Slot {
        let (spot, halt) = self.find_way(task, at, waiting);
        if spot.end >= waiting.end {
            self.insert(task, at, waiting, 0);
            return waiting;
        }
        if let Some(halt) = halt {
            self.split(&halt, at, spot.end);
        }
        let emptied = self.empty(self.lanes.channel(task.die), at, 0);
        self.insert(task, at, spot, 0);
        self.plan_again(emptied, at);
        spot
    }

    /// When a read that would have to wait until `waiting` would be done, past what lets it.
    pub(super) fn end_past(&mut self, task: Task, at: u64, waiting: Slot) -> u64 {
        let (spot, halt) = self.find_way(task, at, waiting);
        if let Some(Halt { item, position, .. }) = halt {
            self.lanes.set_end(task.die, position, item.spot.end);
        }
        spot.end.min(waiting.end)
    }

    /// The spot of a read that passes what lets it; and what has to stop for that, which is
    /// shortened already.
    fn find_way(&mut self, task: Task, at: u64, waiting: Slot) -> (Slot, Option<Halt>) {
        let Abilities { gc_yields, suspend, .. } = self.abilities;
        // What a read would suspend at once need not begin before it.
        let stays = move |tag: &Tag| tag.job == 0 || tag.start < at || !(gc_yields || suspend.covers(tag.op));
        let want = self.want(task, false);
        let mut spot = self.lanes.fit(&want, at, stays);
        let mut halt = self.halt(task.die, at);
        if let Some(Halt { item, position, yields, .. }) = halt {
            self.lanes.set_end(task.die, position, yields);
            let halted = self.lanes.fit(&want, at, stays);
            if halted.end < spot.end.min(waiting.end) {
                spot = halted;
            } else {
                self.lanes.set_end(task.die, position, item.spot.end);
                halt = None;
            }
        }
        (spot, halt)
    }

    /// Takes the operations of a channel back that come later than a job and do not begin before
    /// `at`.
    fn empty(&mut self, channel: u32, at: u64, behind: u64) -> Emptied {
        self.lanes.take_back(channel, at, behind);
        let next = self.backlog.of_channel(channel).partition_point(|&job| job <= behind);
        Emptied { channel, next }
    }

    /// The work that a die is at, if it can be suspended so that the die is free sooner.
    fn halt(&self, die: u32, at: u64) -> Option<Halt> {
        let position = self.lanes.under_way(die, at)?;
        let item = *self.lanes.held(die, position);
        if item.job == 0 || !self.abilities.suspend.covers(item.last_task().op) {
            return None;
        }
        let works_from =
            item.spot.transfer.map_or(item.spot.start, |at| at + self.latencies.transfer_ns) + item.lead_ns;
        let stops = at.max(works_from);
        let yields = stops + self.abilities.suspend_ns;
        (yields < item.spot.end).then_some(Halt { item, position, stops, yields })
    }

    /// Makes a shortened promise fixed, since it is under way. What is left of it becomes the job,
    /// as if taken back, to be taken up from `from` on.
    fn split(&mut self, halt: &Halt, at: u64, from: u64) {
        let Halt { item, position, stops, .. } = *halt;
        self.lanes.fix(item.task.die, position);
        let left_ns = item.spot.end - stops;
        let service_ns = match (item.copies, item.last_task().op) {
            (Some(_), _) => Some(self.latencies.program_ns),
            (None, _) => item.service_ns,
        };
        let left = Item {
            task: item.last_task(),
            copies: None,
            needs: Needs { before_ns: self.abilities.resume_ns + left_ns, moves: false, after_ns: 0 },
            spot: Slot { start: at, ..item.spot },
            whole: false,
            begun: true,
            lead_ns: self.abilities.resume_ns,
            service_ns,
            ..item
        };
        let place = self.lanes.keep(left);
        if let Some(job) = self.backlog.get_mut(item.job) {
            (job.place, job.after) = (place, After::Moment(from));
        }
    }

    /// Plans what was taken back again, in the order of its first planning, not before `at`.
    fn plan_again(&mut self, emptied: Emptied, at: u64) {
        let mut emptied = vec![emptied];
        loop {
            let next = |of: &Emptied| self.backlog.at(of.channel, of.next);
            let nexts = emptied.iter_mut().filter_map(|of| next(of).map(|job| (job, of)));
            let Some((job, of)) = nexts.min_by_key(|(job, _)| *job) else { return };
            of.next += 1;
            if !self.move_job(job, at) {
                continue;
            }
            let following: Vec<u32> = self.backlog.following(job).collect();
            for channel in following {
                if emptied.iter().all(|of| of.channel != channel) {
                    emptied.push(self.empty(channel, at, job));
                }
            }
        }
    }

    /// Plans a job again that was taken back, and says whether it is done at another time.
    fn move_job(&mut self, number: u64, at: u64) -> bool {
        let Some(&job) = self.backlog.get(number) else { return false };
        let item = self.lanes.item(job.place);
        if item.spot.start < at {
            return false;
        }
        let follows = self.backlog.resolve(job.after);
        // Work that was suspended has been ready since it first was, and a collection since it
        // waits for its permission.
        if let Some(ready) = follows.filter(|_| !item.begun && job.is_inner) {
            self.lanes.set_ready(job.place, ready);
        }
        let spot = self.lanes.fit_again(job.place, follows.unwrap_or(0).max(at));
        if let Some(job) = self.backlog.get_mut(number) {
            job.end = spot.end;
        }
        self.extend_permission(job.chain, spot.end);
        spot.end != job.end
    }
}
