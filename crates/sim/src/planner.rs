//! Pricing of devices that can do more: copy-back, planes side by side, suspension, collections that yield or are limited.
//!
//! The rules are those of `pricing.rs`, but promises are kept in complete lists, and they are of two kinds. What a request waits for
//! is *fixed*: its completion has been told, so it never moves. What nobody waits for (`Media::detached`: collections, mostly) is
//! *movable* while it has not begun: a read may be put before it, and it is planned again, around everything fixed, in the order in
//! which it was first planned, each operation after the one that it followed.
//!
//! ```text
//! gc_yields   die  |= copy =|= copy =|= copy =|= erase =|      suspend  die  |======= erase =======|
//!                    ^ a read comes                                            ^ a read comes
//!             die  |= copy =|read|= copy =|= copy =|= erase =|          die  |===|s|read|r|==== erase ====|
//! ```
//!
//! - *Copy-back*: a page read and programmed in the same plane, one after the other, stays in the register: neither half moves over the
//!   channel, and nothing uses the die between the two.
//! - *Planes*: an operation that is ready when one of its kind begins on another plane of its die runs beside it. Transfers take turns.
//! - *Suspension*: a read that finds its die erasing or programming, as `suspend` says, gets the die after `suspend_ns`; what is
//!   left of the work follows it, or comes later where it does not fit in, and takes `resume_ns` more. Such work does not begin before a
//!   read that is ready.
//! - *Yielding*: a read goes before all movable operations that have not begun.
//! - *Channels that collect*: a collection that begins on a channel with none under way waits until fewer than `gc_channels` channels
//!   have one.
//!
//! Limits.
//! - Only what nobody waits for is suspended or yields. The program of a host's page is fixed, and so is a merge that a write waits
//!   for; only reads pass or suspend.
//! - A scheme has done a collection when it is planned. A block may thus be written at its promised time though the erase that freed it
//!   was moved behind that; a real device would use another free block, or wait. The same holds for a page that is read while its copy
//!   is under way: it would be read at its old place.
//! - A backlog of more than [`MOST_MOVABLE`] operations lets nobody pass any more, as a device does that runs out of free
//!   blocks. It also bounds what a read costs us: time proportional to the backlog.
//! - The chain of a collection is kept in order, also across dies. A later collection follows an earlier one only through their dies,
//!   channels and the permission to collect.
//! - Planes may work at any pages of their blocks; older parts ask for equal page numbers. The first of two programs is done one
//!   transfer before the second, where some parts start them together.
//! - Copies inside a plane are not checked by the controller's error correction; a simulated page has no bit errors.
//! - `time_ns` of results, and the event hash, count background operations as first planned; timelines, latency by class and
//!   utilisation as they came to lie.

mod abilities;
mod lanes;
mod passing;

use flash::Geometry;
use ftl::{Cause, Nanos, Op, Span, Task};

use crate::Latencies;
use crate::planner::lanes::{Item, Lanes, Needs, Spot};
use crate::timeline::Placed;
use crate::watch::Watch;

pub use abilities::{Abilities, Suspend};

/// The most operations that are planned again for a read.
const MOST_MOVABLE: usize = 4096;

/// An operation that nobody waits for and that is not over.
#[derive(Clone, Copy)]
struct Job {
    id: u64,
    chain: u32,
    after: After,
    end: u64,
}

/// What an operation follows.
#[derive(Clone, Copy)]
enum After {
    /// A moment.
    Moment(u64),
    /// Another job.
    Job(u64),
}

/// A permission to collect, and the last collection that had it.
#[derive(Clone, Copy)]
struct Permission {
    channel: u32,
    chain: u32,
    /// When that collection ends, as far as it is planned.
    end: u64,
}

/// Plans a device's operations.
pub(crate) struct Planner {
    abilities: Abilities,
    latencies: Latencies,
    blocks_per_plane: u32,
    planes_per_die: u32,
    dies_per_channel: u32,
    lanes: Lanes,
    /// In the order in which they were first planned.
    jobs: Vec<Job>,
    permissions: Vec<Permission>,
    items: u64,
    die_busy_ns: Vec<u64>,
    /// Until when each die's time is counted: planes side by side count once.
    counted_until: Vec<u64>,
    channel_busy_ns: Vec<u64>,
    idle_at: u64,
}

impl Planner {
    pub(crate) fn new(geometry: &Geometry, latencies: Latencies, abilities: Abilities) -> Self {
        let shape = geometry.shape();
        let (dies, channels) = (geometry.dies() as usize, shape.channels as usize);
        Self {
            abilities,
            latencies,
            blocks_per_plane: shape.blocks_per_plane,
            planes_per_die: shape.planes_per_die,
            dies_per_channel: shape.dies_per_channel,
            lanes: Lanes::new(shape.channels, shape.dies_per_channel, latencies.transfer_ns, abilities.multi_plane),
            jobs: Vec::new(),
            permissions: Vec::new(),
            items: 0,
            die_busy_ns: vec![0; dies],
            counted_until: vec![0; dies],
            channel_busy_ns: vec![0; channels],
            idle_at: 0,
        }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.lanes.clear();
        self.jobs.clear();
        self.permissions.clear();
        self.die_busy_ns.fill(0);
        self.counted_until.fill(0);
        self.channel_busy_ns.fill(0);
        self.idle_at = 0;
    }

    pub(crate) fn die_busy_ns(&self) -> &[u64] {
        &self.die_busy_ns
    }

    pub(crate) fn channel_busy_ns(&self) -> &[u64] {
        &self.channel_busy_ns
    }

    pub(crate) fn idle_at(&self) -> u64 {
        self.idle_at.max(self.lanes.idle_at())
    }

    pub(crate) fn channel_free_from(&self, channel: u32, at: u64) -> u64 {
        self.lanes.first_gap(channel as usize, at)
    }

    /// Plans an operation.
    pub(crate) fn perform(&mut self, task: Task, at: u64) -> Span {
        let (start, end) = self.copy_back(task, at).unwrap_or_else(|| {
            let spot = if task.chain == 0 { self.promise(task, at) } else { self.schedule(task, at) };
            (spot.start, spot.end)
        });
        Span { start: Nanos(start), end: Nanos(end) }
    }

    /// Shows and counts what is over at `now`; nothing begins before it any more.
    pub(crate) fn settle(&mut self, now: u64, watch: &mut Option<Box<Watch>>) {
        for die in 0..self.lanes.dies() {
            let (counted, busy) = (&mut self.counted_until[die as usize], &mut self.die_busy_ns[die as usize]);
            let moved = &mut self.channel_busy_ns[(die / self.dies_per_channel) as usize];
            let (idle_at, latencies) = (&mut self.idle_at, &self.latencies);
            self.lanes.take_over(die, now, |item| {
                let Spot { start, transfer, end } = item.spot;
                *busy += end.saturating_sub(start.max(*counted));
                *counted = end.max(*counted);
                *moved += if transfer.is_some() { latencies.transfer_ns } else { 0 };
                *idle_at = end.max(*idle_at);
                if let Some(watch) = watch {
                    show(&item, latencies, now, watch);
                }
            });
        }
        self.jobs.retain(|job| job.end > now);
    }

    fn moves_later(&self) -> bool {
        self.abilities.gc_yields || self.abilities.suspend != Suspend::Off
    }

    fn plane(&self, task: Task) -> u32 {
        task.pbn.get() / self.blocks_per_plane % self.planes_per_die
    }

    fn needs(&self, op: Op) -> Needs {
        let Latencies { read_ns, program_ns, erase_ns, .. } = self.latencies;
        match op {
            Op::Read => Needs { before_ns: read_ns, moves: true, after_ns: 0 },
            Op::Program => Needs { before_ns: 0, moves: true, after_ns: program_ns },
            Op::Erase => Needs { before_ns: erase_ns, moves: false, after_ns: 0 },
        }
    }

    /// The whole of an operation in a spot.
    fn item(&mut self, task: Task, ready: u64, spot: Spot, movable: bool) -> Item {
        self.items += 1;
        let needs = self.needs(task.op);
        let plane = self.plane(task);
        let service_ns = needs.before_ns + needs.after_ns + if needs.moves { self.latencies.transfer_ns } else { 0 };
        let service_ns = Some(service_ns);
        Item {
            id: self.items,
            task,
            copies: None,
            plane,
            ready,
            needs,
            spot,
            movable,
            whole: true,
            begun: false,
            lead_ns: 0,
            service_ns,
        }
    }

    /// An operation that a request waits for: fixed.
    fn promise(&mut self, task: Task, at: u64) -> Spot {
        let (needs, plane) = (self.needs(task.op), self.plane(task));
        let spot = self.lanes.fit(task, plane, needs, at, false);
        let waits = spot.end > at + needs.before_ns + self.latencies.transfer_ns;
        if task.op == Op::Read && waits && self.moves_later() && self.jobs.len() <= MOST_MOVABLE {
            return self.pass(task, at, spot);
        }
        let item = self.item(task, at, spot, false);
        self.lanes.insert(item);
        spot
    }

    /// An operation that nobody waits for: behind what it follows, and movable.
    fn schedule(&mut self, task: Task, at: u64) -> Spot {
        let after = self.followed(task, at);
        let ready = self.resolve(after).unwrap_or(at).max(at);
        let movable = self.moves_later();
        let spot = self.lanes.fit(task, self.plane(task), self.needs(task.op), ready, movable);
        let item = self.item(task, at, spot, movable);
        self.lanes.insert(item);
        if movable {
            self.jobs.push(Job { id: item.id, chain: task.chain, after, end: spot.end });
        }
        self.extend_permission(task.chain, spot.end);
        spot
    }

    /// What an operation of a chain follows: the one of the chain that ends when it is ready; for the first of a collection, the
    /// collection whose permission it gets.
    fn followed(&mut self, task: Task, at: u64) -> After {
        let follows = |job: &&Job| job.end == at;
        let begins = self.permissions.iter().all(|permission| permission.chain != task.chain);
        if let Some(most) = self.abilities.gc_channels
            && begins
            && collects(task.cause)
        {
            return self.permit(task, at, most);
        }
        let chain = self.jobs.iter().rev().take_while(|job| job.chain == task.chain);
        chain.into_iter().find(follows).map_or(After::Moment(at), |job| After::Job(job.id))
    }

    /// Takes a permission to collect: that of the same channel, if it collects already, else one that is free first.
    fn permit(&mut self, task: Task, at: u64, most: u32) -> After {
        let channel = task.die / self.dies_per_channel;
        let same = self.permissions.iter().position(|permission| permission.channel == channel && permission.end > at);
        if let Some(same) = same {
            self.permissions[same].chain = task.chain;
            return After::Moment(at);
        }
        if self.permissions.len() < most as usize {
            self.permissions.push(Permission { channel, chain: task.chain, end: at });
            return After::Moment(at);
        }
        let Some(free) = self.permissions.iter_mut().min_by_key(|permission| permission.end) else {
            return After::Moment(at);
        };
        let (before, end) = (free.chain, free.end);
        *free = Permission { channel, chain: task.chain, end };
        let last = self.jobs.iter().rev().find(|job| job.chain == before);
        last.filter(|job| job.end == end).map_or(After::Moment(end), |job| After::Job(job.id))
    }

    fn extend_permission(&mut self, chain: u32, end: u64) {
        for permission in self.permissions.iter_mut().filter(|permission| permission.chain == chain) {
            permission.end = permission.end.max(end);
        }
    }

    /// The position of a job; jobs are numbered in the order in which they are planned.
    fn job(&self, id: u64) -> Option<usize> {
        self.jobs.binary_search_by_key(&id, |job| job.id).ok()
    }

    /// When what is followed is done; none if it is over.
    fn resolve(&self, after: After) -> Option<u64> {
        match after {
            After::Moment(moment) => Some(moment),
            After::Job(id) => self.job(id).map(|position| self.jobs[position].end),
        }
    }

    /// Makes a read and the program of what it read one operation inside the plane.
    fn copy_back(&mut self, task: Task, at: u64) -> Option<(u64, u64)> {
        let from = task.copied_from.filter(|_| self.abilities.copy_back && task.op == Op::Program)?;
        let (last, earlier) = self.lanes.die(task.die).split_last()?;
        let is_it = last.task.op == Op::Read && last.task.pbn == from && last.spot.end == at && last.whole;
        let same = last.task.die == task.die && last.plane == self.plane(task) && last.task.chain == task.chain;
        if !is_it || !same || earlier.iter().any(|item| item.spot.end > last.spot.start) {
            return None;
        }
        let mut item = self.lanes.remove(task.die, last.id)?;
        let Latencies { read_ns, program_ns, .. } = self.latencies;
        item.needs = Needs { before_ns: read_ns + program_ns, moves: false, after_ns: 0 };
        item.spot = Spot { start: item.spot.start, transfer: None, end: item.spot.start + read_ns + program_ns };
        (item.copies, item.whole, item.lead_ns) = (Some(task), false, read_ns);
        item.service_ns = Some(read_ns + program_ns);
        self.lanes.insert(item);
        // The program may be done before the read was told to be; time does not go back.
        let end = item.spot.end.max(at);
        if let Some(position) = self.job(item.id) {
            self.jobs[position].end = end;
        }
        self.extend_permission(task.chain, end);
        Some((at, end))
    }
}

/// Whether an operation belongs to a collection.
fn collects(cause: Cause) -> bool {
    matches!(cause, Cause::Collection | Cause::MappingCollection | Cause::Merge | Cause::Relocation)
}

/// Shows an item as the operations that it is.
fn show(item: &Item, latencies: &Latencies, now: u64, watch: &mut Watch) {
    let Spot { start, transfer, end } = item.spot;
    let placed = |task: Task, ready_ns, start_ns, end_ns, service_ns| Placed {
        task,
        die: task.die,
        ready_ns,
        start_ns,
        transfer_ns: transfer,
        end_ns,
        service_ns,
    };
    let Some(program) = item.copies else {
        return watch.see(placed(item.task, item.ready, start, end, item.service_ns), now);
    };
    let Latencies { read_ns, program_ns, .. } = *latencies;
    watch.see(placed(item.task, item.ready, start, start + read_ns, Some(read_ns)), now);
    // A part of the program, if the rest of it was suspended.
    let service_ns = item.service_ns.map(|_| program_ns);
    watch.see(placed(program, start + read_ns, start + read_ns, end, service_ns), now);
}
