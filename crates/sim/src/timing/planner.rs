//! Pricing of devices that can do more: copy-back, planes side by side, suspension, collections
//! that yield or are limited.
//!
//! The rules are those of `model.rs`, but promises are kept in complete lists, and they are of two
//! kinds. What a request waits for is *fixed*: its completion has been told, so it never moves.
//! What nobody waits for (`FlashPort::in_background`: collections, mostly) is *movable* while it
//! has not begun: a read may be put before it, and it is planned again, around everything fixed, in
//! the order in which it was first planned, each operation after the one that it followed.
//!
//! What is planned again is what the read can move: the movable operations of its channel, and
//! those of other channels from the first one on that follows an operation which has moved.
//! Everything else would be put where it is: it found its place before what was planned later came,
//! and nothing planned before it has moved. (Nearly: a copy inside a plane frees the channel, a
//! second plane can join what came later, and what was planned past a read that was ready later may
//! have left room. Other channels notice when a read of their own passes.)
//!
//! ```text
//! gc_yields  die  |= copy =|= copy =|= copy =|= erase =|  suspend  die |====== erase =====|
//!                   ^ a read comes                                       ^ a read comes
//!            die  |= copy =|read|= copy =|= copy =|= erase =|      die |===|s|read|r|== erase ===|
//! ```
//!
//! - *Copy-back*: a page read and programmed in the same plane, one after the other, stays in the
//!   register: neither half moves over the channel, and nothing uses the die between the two.
//! - *Planes*: an operation that is ready when one of its kind begins on another plane of its die
//!   runs beside it. Transfers take turns.
//! - *Suspension*: a read that finds its die erasing or programming, as `suspend` says, gets the
//!   die after `suspend_ns`; what is left of the work follows it, or comes later where it does not
//!   fit in, and takes `resume_ns` more. Such work does not begin before a read that is ready.
//! - *Yielding*: a read goes before all movable operations that have not begun.
//! - *Channels that collect*: a collection that begins on a channel with none under way waits until
//!   fewer than `gc_channels` channels have one.
//!
//! Limits.
//! - Only what nobody waits for is suspended or yields. The program of a host's page is fixed, and
//!   so is a merge that a write waits for; only reads pass or suspend.
//! - A scheme has done a collection when it is planned. A block may thus be written at its promised
//!   time though the erase that freed it was moved behind that; a real device would use another
//!   free block, or wait. The same holds for a page that is read while its copy is under way: it
//!   would be read at its old place.
//! - A backlog of more than [`MOST_MOVABLE`] operations lets nobody pass any more, as a device does
//!   that runs out of free blocks. It also bounds what a read costs us: time proportional to the
//!   backlog of its channel, if collections stay on theirs.
//! - The chain of a collection is kept in order, also across dies. A later collection follows an
//!   earlier one only through their dies, channels and the permission to collect.
//! - Planes may work at any pages of their blocks; older parts ask for equal page numbers. The
//!   first of two programs is done one transfer before the second, where some parts start them
//!   together.
//! - A program that copies a page and is ready when a read of its plane ends is taken to copy what
//!   was read: schemes read and program page by page.
//! - Copies inside a plane are not checked by the controller's error correction; a simulated page
//!   has no bit errors.
//! - `time_ns` of results, and the event hash, count background operations as first planned;
//!   timelines, latency by class and utilisation as they came to lie.

mod abilities;
mod backlog;
mod lanes;
mod passing;
mod queue;

use flash::Geometry;
use ftl::{FlashOp, Nanos, Span, Task, Work};

use crate::Latencies;
use crate::observe::probe::Probe;
use crate::observe::timeline::Placed;
use crate::timing::planner::backlog::{After, Backlog};
use crate::timing::planner::lanes::{Demand, Item, Lanes, Needs, Slot};

pub use abilities::{Abilities, Suspend};

/// The most operations that are planned again for a read.
const MOST_MOVABLE: usize = 4096;

/// A permission to collect, and the last collection that had it.
#[derive(Clone, Copy)]
struct Permission {
    channel: u32,
    chain: u32,
    /// The last job of that collection, 0 for none.
    last: u64,
    /// When that collection ends, as far as it is planned.
    end: u64,
}

/// Plans a device's operations.
pub(crate) struct Planner {
    abilities: Abilities,
    latencies: Latencies,
    blocks_per_plane: u32,
    planes_per_die: u32,
    lanes: Lanes,
    backlog: Backlog,
    permissions: Vec<Permission>,
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
            lanes: Lanes::new(shape.channels, shape.dies_per_channel, latencies.transfer_ns, abilities.multi_plane),
            backlog: Backlog::new(shape.channels),
            permissions: Vec::new(),
            die_busy_ns: vec![0; dies],
            counted_until: vec![0; dies],
            channel_busy_ns: vec![0; channels],
            idle_at: 0,
        }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.lanes.clear();
        self.backlog.clear();
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

    /// The first moment at which neither the bus nor a die of a channel is at work.
    pub(crate) fn channel_idle_from(&self, channel: u32, at: u64) -> u64 {
        self.lanes.first_idle(channel, at)
    }

    /// When an operation would be done, if it were planned now.
    pub(crate) fn would_end(&mut self, task: Task, at: u64) -> u64 {
        let want = self.want(task, task.chain != 0 && self.moves_later());
        let spot = self.lanes.fit(&want, at, |_| true);
        if task.chain == 0 && self.may_pass(task, at, spot) { self.end_past(task, at, spot) } else { spot.end }
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
    pub(crate) fn settle(&mut self, now: u64, mut watch: Option<&mut Probe>) {
        let Self { lanes, backlog, latencies, counted_until, die_busy_ns, channel_busy_ns, idle_at, .. } = self;
        let dies_per_channel = die_busy_ns.len() / channel_busy_ns.len();
        lanes.take_over(now, |item| {
            let (Slot { start, transfer, end }, die) = (item.spot, item.task.die as usize);
            let counted = &mut counted_until[die];
            die_busy_ns[die] += end.saturating_sub(start.max(*counted));
            *counted = end.max(*counted);
            channel_busy_ns[die / dies_per_channel] += if transfer.is_some() { latencies.transfer_ns } else { 0 };
            *idle_at = end.max(*idle_at);
            backlog.close(item.job);
            if let Some(watch) = &mut watch {
                show(item, latencies, now, watch);
            }
        });
        backlog.forget(now);
    }

    fn moves_later(&self) -> bool {
        self.abilities.gc_yields || self.abilities.suspend != Suspend::Off
    }

    fn plane(&self, task: Task) -> u32 {
        task.pbn.get() / self.blocks_per_plane % self.planes_per_die
    }

    fn needs(&self, op: FlashOp) -> Needs {
        let Latencies { read_ns, program_ns, erase_ns, .. } = self.latencies;
        match op {
            FlashOp::Read => Needs { before_ns: read_ns, moves: true, after_ns: 0 },
            FlashOp::Program => Needs { before_ns: 0, moves: true, after_ns: program_ns },
            FlashOp::Erase => Needs { before_ns: erase_ns, moves: false, after_ns: 0 },
        }
    }

    fn want(&self, task: Task, movable: bool) -> Demand {
        Demand { die: task.die, op: task.op, plane: self.plane(task), needs: self.needs(task.op), movable }
    }

    /// Enters the whole of an operation in a spot; returns its place.
    fn insert(&mut self, task: Task, ready: u64, spot: Slot, job: u64) -> u32 {
        let needs = self.needs(task.op);
        let plane = self.plane(task);
        let service_ns = Some(self.latencies.alone_ns(task.op));
        let (copies, whole, begun, lead_ns) = (None, true, false, 0);
        self.lanes.insert(Item { job, task, copies, plane, ready, needs, spot, whole, begun, lead_ns, service_ns })
    }

    /// An operation that a request waits for: fixed.
    fn promise(&mut self, task: Task, at: u64) -> Slot {
        let want = self.want(task, false);
        let spot = self.lanes.fit(&want, at, |_| true);
        if self.may_pass(task, at, spot) {
            return self.pass(task, at, spot);
        }
        self.insert(task, at, spot, 0);
        spot
    }

    /// Whether an operation that a request waits for may come before work that nobody waits for.
    fn may_pass(&self, task: Task, at: u64, spot: Slot) -> bool {
        let waits = spot.end > at + self.latencies.alone_ns(task.op);
        task.op == FlashOp::Read && waits && self.moves_later() && self.backlog.len() <= MOST_MOVABLE
    }

    /// An operation that nobody waits for: behind what it follows, and movable.
    fn schedule(&mut self, task: Task, at: u64) -> Slot {
        let after = self.followed(task, at);
        let ready = self.backlog.resolve(after).unwrap_or(at).max(at);
        let movable = self.moves_later();
        let spot = self.lanes.fit(&self.want(task, movable), ready, |_| true);
        let job = if movable { self.backlog.next() } else { 0 };
        let place = self.insert(task, at, spot, job);
        if movable {
            self.backlog.push(task.chain, self.lanes.channel(task.die), after, spot.end, place);
        }
        for permission in self.permissions.iter_mut().filter(|permission| permission.chain == task.chain) {
            permission.last = job;
        }
        self.extend_permission(task.chain, spot.end);
        spot
    }

    /// What an operation of a chain follows: the one of the chain that ends when it is ready; for
    /// the first of a collection, the collection whose permission it gets.
    fn followed(&mut self, task: Task, at: u64) -> After {
        let begins = self.permissions.iter().all(|permission| permission.chain != task.chain);
        if let Some(most) = self.abilities.gc_channels
            && begins
            && task.cause.work() == Work::Moving
        {
            return self.permit(task, at, most);
        }
        self.backlog.of_chain_ending(task.chain, at).map_or(After::Moment(at), After::Job)
    }

    /// Takes a permission to collect: that of the same channel, if it collects already, else one
    /// that is free first.
    fn permit(&mut self, task: Task, at: u64, most: u32) -> After {
        let channel = self.lanes.channel(task.die);
        let same = self.permissions.iter().position(|permission| permission.channel == channel && permission.end > at);
        if let Some(same) = same {
            self.permissions[same].chain = task.chain;
            return After::Moment(at);
        }
        if self.permissions.len() < most as usize {
            self.permissions.push(Permission { channel, chain: task.chain, last: 0, end: at });
            return After::Moment(at);
        }
        let Some(free) = self.permissions.iter_mut().min_by_key(|permission| permission.end) else {
            return After::Moment(at);
        };
        let (before, end) = (free.last, free.end);
        *free = Permission { channel, chain: task.chain, last: 0, end };
        let is_last = self.backlog.get(before).is_some_and(|job| job.end == end);
        if is_last { After::Job(before) } else { After::Moment(end) }
    }

    fn extend_permission(&mut self, chain: u32, end: u64) {
        for permission in self.permissions.iter_mut().filter(|permission| permission.chain == chain) {
            permission.end = permission.end.max(end);
        }
    }

    /// Makes a read and the program of what it read one operation inside the plane.
    fn copy_back(&mut self, task: Task, at: u64) -> Option<(u64, u64)> {
        if !self.abilities.copy_back || !task.copies {
            return None;
        }
        let last = self.lanes.last_alone(task.die)?;
        let is_it = last.task.op == FlashOp::Read && last.spot.end == at && last.whole;
        if !is_it || last.plane != self.plane(task) || last.task.chain != task.chain {
            return None;
        }
        let mut item = *last;
        let Latencies { read_ns, program_ns, .. } = self.latencies;
        item.needs = Needs { before_ns: read_ns + program_ns, moves: false, after_ns: 0 };
        item.spot = Slot { start: item.spot.start, transfer: None, end: item.spot.start + read_ns + program_ns };
        (item.copies, item.whole, item.lead_ns) = (Some(task), false, read_ns);
        item.service_ns = Some(read_ns + program_ns);
        self.lanes.replace_last(item);
        // The program may be done before the read was told to be; time does not go back.
        let end = item.spot.end.max(at);
        if let Some(job) = self.backlog.get_mut(item.job) {
            job.end = end;
        }
        self.extend_permission(task.chain, end);
        Some((at, end))
    }
}

/// Shows an item as the operations that it is.
fn show(item: &Item, latencies: &Latencies, now: u64, watch: &mut Probe) {
    let Slot { start, transfer, end } = item.spot;
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
