//! The device's time: operations wait for dies and buses, event after event.
//!
//! The rules are those of `docs/timing.md`; this is how they are kept. Schemes issue operations with
//! [`ftl::Timing::perform`], which takes no time: an operation that is ready waits in `ready_now`, one
//! that follows others stands in their lists ([`Tasks`]). The shell lets time pass. At each moment
//! with an event, what ends ends first ([`EventTiming::end_what_ends`]); the shell may then issue
//! what begins at that moment; and then dies and buses take up what waits
//! ([`EventTiming::take_up_what_waits`]), which sets the events to come ([`Calendar`]).
//!
//! An operation costs a few steps at each of its two or three events, whatever is queued, and
//! nothing is allocated once the entries are there. Memory grows with what is under way.
//!
//! With [`Model::Serial`] there is one die for everything and no bus, as in the `FlashSim` family of
//! simulators.

use flash::Geometry;
use ftl::{Cause, FlashOp, Moment, Nanos};
use serde::{Deserialize, Serialize};

use crate::observe::probe::{Probe, ProbeConfig};
use crate::observe::timeline::Window;
use crate::observe::wait_breakdown::{Breakdown, Parts};
use crate::result::TimelineFacts;
use crate::timing::abilities::Abilities;
use crate::timing::calendar::{Calendar, NEVER};
use crate::timing::collections::Collections;
use crate::timing::latencies::Latencies;
use crate::timing::tasks::{Entry, Fifo, Kind, NONE, Tasks};

mod issuing;
mod serving;

/// Which resources there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Model {
    /// Dies and channels.
    Parallel,
    /// One resource for everything.
    Serial,
}

/// What a die is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nothing: it may take something up.
    Idle,
    /// It senses a page.
    Sensing,
    /// Its register is full and waits for the bus.
    Asking,
    /// Its page moves, it senses what it copies, or it resumes: then the work proper begins.
    Leading,
    /// It works, and what it is at ends with that.
    Working,
    /// What it was at is being suspended.
    Stopping,
}

/// Queues of a die, by standing.
const PASSING_READS: usize = 0;
const HELD_TO_ORDER: usize = 1;
const YIELDING: usize = 2;

/// A die: what it is at, and what waits for it.
#[derive(Clone)]
struct Die {
    phase: Phase,
    /// The operation that the calendar's next event belongs to.
    current: u32,
    /// Operations taken up.
    active: u32,
    /// Whether they were taken up together.
    is_group: bool,
    queues: [Fifo; 3],
    /// The operation that was suspended, and what was left of it.
    suspended: u32,
    left_ns: u64,
    stopped_at: u64,
    /// When the work in hand ends.
    ends: u64,
    /// Sum of the times that ready operations take alone.
    queued_ns: u64,
    /// When the last operation taken up would end alone.
    alone_until: u64,
    /// Since when it has been held; [`NEVER`] when it is not.
    held_since: u64,
    busy_ns: u64,
}

impl Die {
    const IDLE: Self = Self {
        phase: Phase::Idle,
        current: NONE,
        active: 0,
        is_group: false,
        queues: [Fifo::EMPTY; 3],
        suspended: NONE,
        left_ns: 0,
        stopped_at: 0,
        ends: 0,
        queued_ns: 0,
        alone_until: 0,
        held_since: NEVER,
        busy_ns: 0,
    };

    /// What the die still needs at a moment for what it has taken up and what is ready now.
    #[inline]
    fn backlog_ns(&self, now: u64, at: u64) -> u64 {
        (self.alone_until.max(now) + self.queued_ns).saturating_sub(at)
    }
}

/// A channel's bus.
#[derive(Clone)]
struct Bus {
    queue: Fifo,
    busy_until: u64,
    transfers: u64,
    /// Pages of operations taken up or ready that still have to move.
    to_move: u64,
}

impl Bus {
    const IDLE: Self = Self { queue: Fifo::EMPTY, busy_until: 0, transfers: 0, to_move: 0 };
}

/// Events of no die and no bus, as the calendar's heap holds them: the kind above, a number below.
const OVER: u64 = 0;
const DELAY_ENDS: u64 = 1;
const IN_GROUP: u64 = 2;

/// Keeps the time of a device.
pub struct EventTiming {
    now: u64,
    latencies: Latencies,
    abilities: Abilities,
    /// Whether some operations let reads pass.
    has_precedence: bool,
    /// Whether a die serves one operation after the other, in the order in which they come.
    serves_in_order: bool,
    /// What operations take alone, and whether they move a page over a bus, by class
    /// ([`Entry::class`]).
    alone_ns: [u64; 4],
    moves_page: [bool; 4],
    /// All bits for parallel dies, none where everything is one resource.
    die_mask: u32,
    dies_per_channel: u32,
    blocks_per_plane: u32,
    planes_per_die: u32,
    dies: Box<[Die]>,
    buses: Box<[Bus]>,
    /// The bus of each die.
    bus_of: Box<[u32]>,
    tasks: Tasks,
    calendar: Calendar,
    /// The erase of each block that has been issued and has not ended.
    erasing: Box<[u32]>,
    /// What became ready at this moment, asks for a bus, or is free.
    ready_now: Vec<u32>,
    asking: Vec<u32>,
    free_dies: Vec<u32>,
    free_buses: Vec<u32>,
    /// How many operations have been queued, where some let others pass.
    turns: u64,
    /// Whether something may be taken up at this moment.
    is_unsettled: bool,
    /// Entries that end, one after the other.
    ending: Vec<u32>,
    /// Tickets of what has ended, and when.
    ended: Vec<Ended>,
    collections: Option<Collections>,
    times_ns: [[u64; 3]; Cause::COUNT],
    /// When the last operation ended.
    idle_at: u64,
    probe: Option<Box<Probe>>,
}

/// A request that has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    /// The ticket under which its end was asked for.
    pub(crate) ticket: u32,
    pub(crate) at: Nanos,
    /// The parts of its time, where they are watched.
    pub(crate) parts: Option<Parts>,
}

impl EventTiming {
    /// An idle device at time zero. Abilities are of parallel dies alone.
    pub fn new(geometry: &Geometry, latencies: Latencies, model: Model, abilities: Abilities) -> Self {
        let shape = geometry.shape();
        let Latencies { read_ns, program_ns, erase_ns, transfer_ns } = latencies;
        let (channels, dies_per_channel, latencies, die_mask) = match model {
            Model::Parallel => (shape.channels, shape.dies_per_channel, latencies, u32::MAX),
            Model::Serial => {
                let (read_ns, program_ns) = (read_ns + transfer_ns, program_ns + transfer_ns);
                (1, 1, Latencies { read_ns, program_ns, erase_ns, transfer_ns: 0 }, 0)
            }
        };
        let dies = (channels * dies_per_channel) as usize;
        Self {
            now: 0,
            latencies,
            abilities,
            has_precedence: abilities.has_precedence(),
            serves_in_order: !abilities.has_precedence() && !abilities.multi_plane,
            die_mask,
            dies_per_channel,
            blocks_per_plane: shape.blocks_per_plane,
            planes_per_die: shape.planes_per_die,
            alone_ns: [
                latencies.alone_ns(FlashOp::Read),
                latencies.alone_ns(FlashOp::Program),
                erase_ns,
                latencies.read_ns + latencies.program_ns,
            ],
            moves_page: [latencies.transfer_ns > 0, latencies.transfer_ns > 0, false, false],
            bus_of: (0..dies as u32).map(|die| die / dies_per_channel).collect(),
            dies: vec![Die::IDLE; dies].into(),
            buses: vec![Bus::IDLE; channels as usize].into(),
            tasks: Tasks::new(),
            calendar: Calendar::new(dies + channels as usize),
            erasing: vec![NONE; geometry.blocks() as usize].into(),
            ready_now: Vec::new(),
            asking: Vec::new(),
            free_dies: Vec::new(),
            free_buses: Vec::new(),
            turns: 0,
            is_unsettled: false,
            ending: Vec::new(),
            ended: Vec::new(),
            collections: abilities.gc_channels.map(Collections::new),
            times_ns: [[0; 3]; Cause::COUNT],
            idle_at: 0,
            probe: None,
        }
    }

    /// The same device, of which a window is recorded.
    #[must_use]
    pub fn recorded(mut self, window: Window) -> Self {
        self.watch_from_now(ProbeConfig { timeline: Some(window), ..ProbeConfig::default() });
        self
    }

    /// Lets everything under way end, and returns what was recorded, if a window is.
    pub fn timeline(&mut self) -> Option<TimelineFacts> {
        self.pass_until_idle();
        self.probe().and_then(Probe::timeline)
    }

    /// Watches from now on.
    pub(crate) fn watch_from_now(&mut self, wishes: ProbeConfig) {
        let (dies, buses) = (self.dies.len(), self.buses.len());
        self.probe = Probe::new(wishes, || Breakdown::new(dies, buses)).map(Box::new);
    }

    /// What watches, if anything does.
    pub(crate) fn probe(&self) -> Option<&Probe> {
        self.probe.as_deref()
    }

    /// What watches, to tell it of something.
    pub(crate) fn probe_mut(&mut self) -> Option<&mut Probe> {
        self.probe.as_deref_mut()
    }

    /// Whether channels are resources of their own.
    pub fn has_channels(&self) -> bool {
        self.die_mask != 0
    }

    /// Time for which each die was held, in nanoseconds. With [`Model::Serial`] the one resource.
    pub fn die_busy_ns(&self) -> impl ExactSizeIterator<Item = u64> + '_ {
        self.dies.iter().map(|die| die.busy_ns + self.now.saturating_sub(die.held_since))
    }

    /// Time for which each channel moved data, in nanoseconds; zero with [`Model::Serial`], which
    /// has no channels.
    pub fn channel_busy_ns(&self) -> impl ExactSizeIterator<Item = u64> + '_ {
        self.buses.iter().map(|bus| bus.transfers * self.latencies.transfer_ns)
    }

    /// Time from when a die took an operation up to its end, summed over the operations of a kind
    /// that have ended, in nanoseconds. Time for which one was suspended does not count.
    pub fn time_ns(&self, cause: Cause, op: FlashOp) -> u64 {
        self.times_ns[cause as usize][op as usize]
    }

    /// When the last operation ended.
    pub fn idle_at(&self) -> Nanos {
        Nanos(self.idle_at)
    }

    /// How much is under way: operations, and stretches of controller time.
    pub fn under_way(&self) -> usize {
        self.tasks.under_way()
    }

    /// When the next event is, if anything is under way.
    pub fn next_event(&self) -> Option<Nanos> {
        if self.is_unsettled {
            return Some(Nanos(self.now));
        }
        Some(self.calendar.next_time()).filter(|&time| time != NEVER).map(Nanos)
    }

    /// Asks to be told when a moment has come, by [`Self::drain_ended`].
    pub fn tell_when_over(&mut self, moment: Moment, ticket: u32) {
        if let Some(number) = self.tasks.awaited(moment) {
            self.tasks.get_mut(number).ticket = ticket;
        } else if moment.is_known() && moment.earliest.0 > self.now {
            let number = self.issue_after(Kind::Delay, moment, 0);
            self.tasks.get_mut(number).ticket = ticket;
        } else {
            let parts = self.probe().and_then(|probe| probe.parts(None));
            self.ended.push(Ended { ticket, at: Nanos(self.now), parts });
        }
    }

    /// A request that has ended, if there is one: of several, the one whose ticket is older.
    #[inline]
    pub(crate) fn take_ended(&mut self) -> Option<Ended> {
        if self.ended.len() > 1 {
            self.ended.sort_by(|one, other| other.ticket.wrapping_sub(one.ticket).cast_signed().cmp(&0));
        }
        self.ended.pop()
    }

    /// The tickets of what has ended, and when.
    pub fn drain_ended(&mut self) -> impl Iterator<Item = (u32, Nanos)> + '_ {
        self.ended.drain(..).map(|ended| (ended.ticket, ended.at))
    }

    /// Who splits the time of requests, if anybody does.
    #[inline]
    fn breakdown(&mut self) -> Option<&mut Breakdown> {
        self.probe.as_deref_mut()?.breakdown.as_mut()
    }

    /// Lets time pass until a request has ended, or nothing is under way.
    #[inline]
    pub(crate) fn pass_until_end(&mut self) {
        while self.ended.is_empty() && self.step(NEVER - 1) {}
    }

    /// Lets time pass until nothing is under way, or until a moment; whether the former came first.
    pub(crate) fn pass_until_idle_before(&mut self, limit: Nanos) -> bool {
        while self.tasks.under_way() > 0 {
            if self.now >= limit.0 || !self.step(limit.0) {
                return false;
            }
        }
        self.now < limit.0
    }

    /// Lets time pass until the next moment at which something ends, if that is not after `limit`;
    /// whether there was one.
    pub fn pass_until_next(&mut self, limit: Nanos) -> bool {
        self.step(limit.0.min(NEVER - 1))
    }

    /// Lets everything under way end.
    pub(crate) fn pass_until_idle(&mut self) {
        while self.step(NEVER - 1) {}
    }

    /// Goes on to the next moment at which something ends, if that is not after `limit`; whether
    /// there was one.
    #[inline]
    fn step(&mut self, limit: u64) -> bool {
        if self.is_unsettled {
            self.take_up_what_waits();
        }
        let next = self.calendar.next_time();
        if next > limit {
            return false;
        }
        self.now = next;
        self.end_what_ends();
        self.is_unsettled = true;
        true
    }

    fn end_what_ends(&mut self) {
        while let Some(owner) = self.calendar.take(self.now) {
            match owner.checked_sub(self.dies.len()) {
                Some(bus) => self.free_buses.push(bus as u32),
                None => self.die_event(owner),
            }
        }
        while let Some(event) = self.calendar.take_extra(self.now) {
            let number = event as u32;
            match event >> 32 {
                OVER => self.over(number, None),
                DELAY_ENDS => self.end(number),
                _ => self.group_event(number),
            }
        }
    }

    fn die_event(&mut self, index: usize) {
        let die = &mut self.dies[index];
        match die.phase {
            Phase::Sensing => {
                die.phase = Phase::Asking;
                let current = die.current;
                self.asking.push(current);
            }
            Phase::Leading => self.begin_work(index),
            Phase::Working => {
                let current = std::mem::replace(&mut die.current, NONE);
                self.finish(index, current);
            }
            Phase::Stopping => {
                die.phase = Phase::Idle;
                self.free_dies.push(index as u32);
            }
            Phase::Idle | Phase::Asking => unreachable!("a die that waits has no event"),
        }
    }

    /// An operation on a plane beside the first has sensed, or is done.
    fn group_event(&mut self, number: u32) {
        let entry = self.tasks.get(number);
        if entry.task.op == FlashOp::Read && entry.transfer == NEVER && self.latencies.transfer_ns > 0 {
            self.asking.push(number);
        } else {
            self.finish(entry.task.die as usize, number);
        }
    }

    /// An operation is done; its die may be free.
    fn finish(&mut self, index: usize, number: u32) {
        let die = &mut self.dies[index];
        die.active -= 1;
        if die.active == 0 {
            die.phase = Phase::Idle;
            self.free_dies.push(index as u32);
        }
        let entry = self.tasks.get(number);
        let (task, held_ns) = (entry.task, self.now - entry.start);
        if entry.kind == Kind::CopyBack {
            let read_ns = self.latencies.read_ns;
            self.times_ns[entry.read_cause as usize][FlashOp::Read as usize] += read_ns;
            self.times_ns[task.cause as usize][task.op as usize] += held_ns - read_ns;
        } else {
            self.times_ns[task.cause as usize][task.op as usize] += held_ns;
        }
        if task.op == FlashOp::Erase {
            let erasing = &mut self.erasing[task.pbn.get() as usize];
            if *erasing == number {
                *erasing = NONE;
            }
        }
        self.idle_at = self.now;
        if self.probe.is_some() {
            self.tell_end(number);
        }
        if task.chain != 0
            && let Some(collections) = &mut self.collections
        {
            collections.operation_ended(task.chain);
            self.let_collections_begin();
        }
        self.end(number);
    }

    /// An entry ends, and whatever ends or becomes ready with it.
    #[inline]
    fn end(&mut self, number: u32) {
        self.end_one(number);
        while let Some(number) = self.ending.pop() {
            self.end_one(number);
        }
    }

    #[inline]
    fn end_one(&mut self, number: u32) {
        let entry = self.tasks.get(number);
        let ticket = entry.ticket;
        if entry.kind == Kind::Delay {
            let now = self.now;
            if let Some(breakdown) = self.breakdown() {
                breakdown.controller_until(number, now);
            }
        }
        if ticket != NONE {
            let parts = self.probe.as_deref().and_then(|probe| probe.parts(Some(number)));
            self.ended.push(Ended { ticket, at: Nanos(self.now), parts });
        }
        let mut link = self.tasks.end(number);
        while link != NONE {
            let behind = self.tasks.follower(link).2;
            self.over(link, Some(number));
            link = behind;
        }
    }

    /// One of what an entry follows is over: the end of another entry, or a known moment.
    fn over(&mut self, link: u32, followed: Option<u32>) {
        let (number, side, _) = self.tasks.follower(link);
        let entry = self.tasks.get_mut(number);
        entry.missing -= 1;
        let (missing, kind, in_background) = (entry.missing, entry.kind, entry.task.chain != 0);
        let Self { probe, tasks, now, .. } = self;
        if let Some(breakdown) = probe.as_deref_mut().and_then(|probe| probe.breakdown.as_mut())
            && !in_background
        {
            match (side, followed) {
                // What it waited for beside its own request: the erase of its block.
                (1, Some(followed)) if kind != Kind::Join => {
                    breakdown.block_erased(number, tasks.get(followed).task.cause, *now, missing == 0);
                }
                (_, Some(followed)) if kind != Kind::Join || missing == 0 => {
                    breakdown.follows(number, followed, *now);
                }
                (_, None) if kind != Kind::Join || missing == 0 => breakdown.controller_until(number, *now),
                _ => {}
            }
        }
        if missing == 0 {
            self.becomes_ready(number);
        }
    }

    /// All that an entry follows is over.
    #[inline]
    fn becomes_ready(&mut self, number: u32) {
        let now = self.now;
        let entry = self.tasks.get_mut(number);
        entry.ready = now;
        match entry.kind {
            Kind::Operation | Kind::CopyBack => {
                self.count_ready(number);
                self.ready_now.push(number);
                self.is_unsettled = true;
            }
            Kind::Join => self.ending.push(number),
            Kind::Delay => self.calendar.add(now + entry.start, entry.issue, DELAY_ENDS << 32 | u64::from(number)),
        }
    }

    #[inline]
    fn alone_ns(&self, entry: &Entry) -> u64 {
        self.alone_ns[entry.class()]
    }

    /// Counts an operation among those that its die and bus have before them.
    #[inline]
    fn count_ready(&mut self, number: u32) {
        let entry = self.tasks.get(number);
        let (die, class) = (entry.task.die as usize, entry.class());
        self.dies[die].queued_ns += self.alone_ns[class];
        self.buses[self.bus_of[die] as usize].to_move += u64::from(self.moves_page[class]);
    }

    fn discount_ready(&mut self, number: u32) {
        let entry = self.tasks.get(number);
        let (die, class) = (entry.task.die as usize, entry.class());
        self.dies[die].queued_ns -= self.alone_ns[class];
        self.buses[self.bus_of[die] as usize].to_move -= u64::from(self.moves_page[class]);
    }

    fn let_collections_begin(&mut self) {
        while let Some(waiting) = self.collections.as_mut().and_then(Collections::next_to_begin) {
            for number in waiting {
                let entry = self.tasks.get_mut(number);
                entry.missing -= 1;
                if entry.missing == 0 {
                    self.becomes_ready(number);
                }
            }
        }
    }
}
