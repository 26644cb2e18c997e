//! The device's time: operations wait for dies and buses, event after event.
//!
//! The rules are those of `docs/timing.md`; this is how they are kept. Schemes issue operations
//! with [`ftl::Timing::perform`], which takes no time: an operation that is ready waits in
//! `ready_now`, one that follows others stands in their lists ([`Tasks`]). The shell lets time
//! pass. At each moment with an event, what ends ends first ([`EventTiming::step_as`]); the
//! shell may then issue what begins at that moment; and then dies and buses take up what waits
//! ([`EventTiming::take_up_what_waits`]), which sets the events to come ([`Calendar`]).
//!
//! A page's place on the bus is known when its die takes it up ([`Bus`]), so an operation has one
//! event, its end, and another one only where it is moved on. It costs a few steps, whatever is
//! queued, and nothing is allocated once the entries are there. Memory grows with what is under
//! way.
//!
//! With [`Model::Serial`] there is one die for everything and no bus, as in the `FlashSim` family
//! of simulators. An operation stands in its queue from when it is issued, ready or not, and is
//! taken up when it is first and ready.

use flash::Geometry;
use ftl::{Cause, FlashOp, Moment, Nanos};
use serde::{Deserialize, Serialize};

use crate::latencies::Latencies;
use crate::observe::probe::{Probe, ProbeConfig};
use crate::observe::timeline::Window;
use crate::observe::wait_breakdown::Breakdown;
use crate::result::TimelineFacts;
use crate::timing::abilities::Abilities;
use crate::timing::bus::Bus;
use crate::timing::calendar::{Calendar, NEVER};
use crate::timing::collections::Collections;
use crate::timing::fifo::Fifo;
use crate::timing::front_end::{FrontEnd, Stations};
use crate::timing::overtaking::Line;
use crate::timing::planes::Planes;
use crate::timing::priced_task::{COPY_BACK, PROGRAM, PricedTask, READ};
use crate::timing::prices::{Course, Prices};
use crate::timing::program_buffer::ProgramBuffer;
use crate::timing::program_units::ProgramUnits;
use crate::timing::scheduling::STANDINGS;
use crate::timing::superblocks::{Layout, Moves};
use crate::timing::tails::{Event, MOST_DIES, NONE};
use crate::timing::tasks::{Kind, Tasks};
use crate::timing::units::Units;

mod issuing;
mod overlapping;
mod passing;
mod plain;
mod planes;
mod scheduling;
mod serving;
mod superblocks;
mod units;

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
    /// It is free to take something up.
    Idle,
    /// What comes before the work proper of something that can be suspended: its page waits for the
    /// bus or moves, it senses what it copies, or it resumes.
    Leading,
    /// It works, and what it is at ends with that.
    Working,
    /// What it was at is being suspended.
    Stopping,
    /// With `cache_read`: it senses what goes to its second registers.
    Sensing,
    /// It holds what it has sensed: its second registers are not empty.
    Holding,
    /// Nothing but its second registers holds pages: it may take up reads.
    Emptying,
    /// With `cache_program`: all pages of what it took up first have come, and it programs them. It
    /// may take up programs, unless it has.
    Programming,
}

/// A die: what it is at, and what waits for it. One line of the processor's cache.
#[derive(Clone)]
#[repr(align(64))]
struct Die {
    /// When the phase in hand ends, as far as is known now.
    ends: u64,
    /// The operation that its next event belongs to.
    current: u32,
    /// What waits and lets nothing pass: on a plain device, all.
    queue: Fifo,
    phase: Phase,
    /// Where the time of requests is split on a plain device: for which cause it is known to be
    /// held.
    holder: Option<Cause>,
    /// Its channel's bus.
    bus: u32,
    /// Of what waits, the units that it moves, and the sum of the times that all take alone.
    queued_units: u32,
    queued_ns: u64,
    /// When the last operation taken up would end alone.
    alone_until: u64,
    /// Since when it has been held; [`NEVER`] when it is not.
    held_since: u64,
    busy_ns: u64,
}

/// Per-die state needed only for optional abilities.
#[derive(Clone)]
struct More {
    /// Operations taken up.
    active: u32,
    /// Whether what it works at was taken up together with others.
    is_group: bool,
    /// Where it overlaps: of the reads in its second registers, or of the programs taken up first,
    /// how many have not ended; of those programs, how many pages have not come.
    ahead: u32,
    coming: u32,
    /// The reads that it senses or holds, or the programs taken up second.
    behind: Fifo,
    /// What waits in the other standings, from the second on.
    others: [Fifo; STANDINGS - 1],
    /// The suspended operation, with its remaining time.
    suspended: u32,
    left_ns: u64,
    stopped_at: u64,
    /// How often what was taken up last, or is suspended, was suspended, and has been overtaken.
    stops: u32,
    overtaken: u32,
    /// Which of its events counts: others were set before something was suspended.
    serial: u32,
}

impl Die {
    fn idle(bus: u32) -> Self {
        Self {
            ends: 0,
            current: NONE,
            queue: Fifo::EMPTY,
            phase: Phase::Idle,
            holder: None,
            bus,
            queued_units: 0,
            queued_ns: 0,
            alone_until: 0,
            held_since: NEVER,
            busy_ns: 0,
        }
    }
}

impl More {
    const NONE: Self = Self {
        active: 0,
        is_group: false,
        ahead: 0,
        coming: 0,
        behind: Fifo::EMPTY,
        others: [Fifo::EMPTY; STANDINGS - 1],
        suspended: NONE,
        left_ns: 0,
        stopped_at: 0,
        stops: 0,
        overtaken: 0,
        serial: 0,
    };
}

/// What an event is, in its highest bits: that of a die, with its number and a serial number; a
/// known moment that an entry follows; the end of controller time or of a stay; an event of an
/// operation that is not the only one of its die.
const OF_DIE: u64 = 0;
const OVER: u64 = 1;
const DELAY_ENDS: u64 = 2;
const OF_OPERATION: u64 = 3;

/// Three ways of going on, each compiled for itself. They give the same: on a device that can do
/// nothing beyond the plain model but copy back; on such a device where the time of requests is
/// split; and wherever else.
const PLAIN: u8 = 0;
const TOLD: u8 = 1;
const GENERAL: u8 = 2;

/// An event as one number, as the calendar holds it: its kind in the two highest bits.
#[inline]
fn event(kind: u64, number: u32) -> u64 {
    kind << 62 | u64::from(number)
}

/// What follows from a device's abilities, and from who watches.
struct Rules {
    /// Whether some operations let others pass.
    has_precedence: bool,
    /// Whether operations that follow one another stand in tails: not where one has a place in a
    /// queue, becomes another one, is known by its page or waits for its turn before it is ready,
    /// nor where there are more dies than a tail can name.
    has_tails: bool,
    /// Whether each die serves in order, no operation is shown to anybody, and all collections may
    /// be under way.
    is_plain: bool,
}

impl Rules {
    fn of(die_mask: u32, dies: u32, abilities: Abilities, overlaps: [bool; 4]) -> Self {
        let has_precedence = !abilities.scheduling.is_fifo();
        let serves_in_order = !has_precedence && !abilities.multi_plane && overlaps == [false; 4];
        Self {
            has_precedence,
            has_tails: has_tails(die_mask, dies as usize, abilities),
            is_plain: serves_in_order && abilities.gc_channels.is_none(),
        }
    }
}

/// Keeps the time of a device.
pub struct EventTiming {
    now: u64,
    /// What operations take.
    prices: Prices,
    /// What waits until as much is there as is programmed at once, where that is several pages.
    program_units: Option<ProgramUnits>,
    /// Where data of the host wait for their programs, if writes are answered before these.
    buffer: Option<ProgramBuffer>,
    abilities: Abilities,
    rules: Rules,
    /// By class: whether operations go through second registers.
    overlaps: [bool; 4],
    /// Whether time stands still: operations take none.
    is_stopped: bool,
    /// All bits for parallel dies, none where everything is one resource.
    die_mask: u32,
    dies_per_channel: u32,
    blocks_per_plane: u32,
    planes_per_die: u32,
    units_per_page: u32,
    /// Where units lie, where blocks are superblocks.
    layout: Option<Layout>,
    /// What background work has moved there.
    moves: Moves,
    dies: Box<[Die]>,
    more: Box<[More]>,
    /// Who waits, where planes work together.
    planes: Option<Planes>,
    /// Who waits for each die, where there is a bound on overtaking.
    lines: Box<[Line]>,
    buses: Box<[Bus]>,
    tasks: Tasks,
    calendar: Calendar,
    /// By block, the program or the erase that was issued last.
    last_in_block: Box<[Event]>,
    /// By block, why that is done which its programs waited for last.
    blocks_others: Box<[Cause]>,
    /// By block, the program or the erase that became ready last, where some let others pass or
    /// planes work together.
    queued_in_block: Box<[Event]>,
    /// What became ready at this moment, or is free.
    ready_now: Vec<u32>,
    free_dies: Vec<u32>,
    /// Operations that follow, on the same die, one that has ended at this moment.
    going_on: Vec<u32>,
    /// Programs that asked for a bus in this round, where somebody watches.
    asked_now: Vec<u32>,
    /// How many rounds of this moment are over.
    rounds: u32,
    /// How many operations have been queued, where some let others pass or planes work together.
    turns: u64,
    /// Whether something may be taken up at this moment.
    is_unsettled: bool,
    /// Entries that end, one after the other.
    ending: Vec<u32>,
    /// Tickets of what has ended, and when.
    ended: Vec<Ended>,
    collections: Option<Collections>,
    /// What requests pass on their way, if that takes time.
    stations: Option<Box<Stations>>,
    /// Time of dies by cause and class; copy-backs count as their reads and programs.
    times_ns: [[u64; 4]; Cause::COUNT],
    /// When the last operation ended.
    idle_at: u64,
    probe: Option<Box<Probe>>,
    /// Splits the time of requests, if that is asked for.
    breakdown: Option<Box<Breakdown>>,
}

fn has_tails(die_mask: u32, dies: usize, abilities: Abilities) -> bool {
    let is_parallel = die_mask != 0 && dies <= MOST_DIES as usize;
    let is_by_page = abilities.aligned_planes || abilities.superblocks.is_placed_by_page(abilities.multi_plane);
    is_parallel && !abilities.copy_back && !is_by_page && abilities.gc_channels.is_none()
}

/// The end of a request, as it is handed to the host's side of the simulation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    /// The ticket under which its end was asked for.
    pub(crate) ticket: u32,
    pub(crate) at: Nanos,
    /// Where its time is split: see [`Breakdown`].
    pub(crate) account: u32,
}

impl EventTiming {
    /// An idle device at time zero. Abilities are of parallel dies alone.
    pub fn new(geometry: &Geometry, latencies: Latencies, model: Model, abilities: Abilities) -> Self {
        Self::of_units(geometry, Units::PAGES, latencies, model, abilities)
    }

    /// The same where the pages of the geometry are units of the flash. Program units of several of
    /// them ask for chips that are programmed in strict order, and for no copy-back.
    pub fn of_units(
        geometry: &Geometry,
        units: Units,
        latencies: Latencies,
        model: Model,
        abilities: Abilities,
    ) -> Self {
        let shape = geometry.shape();
        let superblocks = abilities.superblocks;
        let (channels, dies_per_channel, die_mask) = match model {
            Model::Parallel => (shape.channels * superblocks.dies, shape.dies_per_channel, u32::MAX),
            Model::Serial => (1, 1, 0),
        };
        let prices = Prices::new(geometry, units, &latencies, abilities, die_mask == 0);
        let (dies, transfer_ns) = (channels * dies_per_channel, prices.transfer_ns);
        let at_once = abilities.programmed_at_once_by_mode(units, latencies.cell);
        let moves_page = transfer_ns > 0;
        let overlaps = [abilities.cache_read && moves_page, abilities.cache_program && moves_page, false, false];
        // Behind one that is in a second register, a page waits for up to two of each plane.
        let planes = shape.planes_per_die * superblocks.planes;
        let pages = dies_per_channel * planes * (1 + u32::from(overlaps[READ]));
        let is_fifo = abilities.scheduling.is_fifo();
        let has_bound = abilities.scheduling.overtakes.is_some() && !is_fifo;
        let blocks = (geometry.blocks() * superblocks.dies) as usize;
        let of_blocks = || vec![Event::NONE; blocks].into();
        Self {
            now: 0,
            prices,
            program_units: (at_once[0] > 1)
                .then(|| ProgramUnits::new(at_once, geometry.blocks(), dies, units.per_page())),
            buffer: None,
            abilities,
            rules: Rules::of(die_mask, dies, abilities, overlaps),
            overlaps,
            is_stopped: false,
            die_mask,
            dies_per_channel,
            blocks_per_plane: shape.blocks_per_plane,
            planes_per_die: shape.planes_per_die,
            units_per_page: units.per_page(),
            layout: Layout::of_several(superblocks, units, latencies.cell, abilities.multi_plane),
            moves: Moves::new(superblocks, dies),
            dies: (0..dies).map(|die| Die::idle(die / dies_per_channel)).collect(),
            more: vec![More::NONE; dies as usize].into(),
            planes: abilities.multi_plane.then(|| Planes::new(planes)),
            lines: vec![Line::default(); if has_bound { dies as usize } else { 0 }].into(),
            buses: vec![Bus::new(transfer_ns, pages); channels as usize].into(),
            tasks: Tasks::new(),
            calendar: Calendar::new(),
            last_in_block: of_blocks(),
            blocks_others: vec![Cause::Host; blocks].into(),
            queued_in_block: if is_fifo && !abilities.multi_plane { [].into() } else { of_blocks() },
            ready_now: Vec::new(),
            free_dies: Vec::new(),
            going_on: Vec::new(),
            asked_now: Vec::new(),
            rounds: 0,
            turns: 0,
            is_unsettled: false,
            ending: Vec::new(),
            ended: Vec::new(),
            collections: abilities.gc_channels.map(Collections::new),
            stations: None,
            times_ns: [[0; 4]; Cause::COUNT],
            idle_at: 0,
            probe: None,
            breakdown: None,
        }
    }

    /// The same device, whose background work reads ahead of its programs, or not.
    #[must_use]
    pub fn reading_ahead(mut self, reads_ahead: bool) -> Self {
        self.moves.reads_ahead = reads_ahead;
        self
    }

    /// The same device behind a link and a controller that take time.
    #[must_use]
    pub fn behind(mut self, front_end: FrontEnd) -> Self {
        self.stations = Stations::new(front_end).map(Box::new);
        self
    }

    /// Stops time until it is started anew: operations take none, and nothing has ever to be waited
    /// for. What the device is asked of time is not answered meanwhile.
    pub(crate) fn stop_clock(&mut self) {
        (self.is_stopped, self.rules.has_tails) = (true, false);
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
    pub(crate) fn watch_from_now(&mut self, probe_config: ProbeConfig) {
        self.probe = Probe::new(probe_config).map(Box::new);
        self.breakdown = probe_config.waiting.then(|| Box::new(Breakdown::new(self.dies.len())));
        self.dies.iter_mut().for_each(|die| die.holder = None);
        self.rules.is_plain = self.serves_in_order() && self.collections.is_none() && self.probe.is_none();
    }

    /// Whether a die serves one operation after the other, in the order in which they come.
    fn serves_in_order(&self) -> bool {
        !self.rules.has_precedence && !self.abilities.multi_plane && self.overlaps == [false; 4]
    }

    /// Whether anybody watches.
    fn is_watched(&self) -> bool {
        self.probe.is_some() || self.breakdown.is_some()
    }

    /// Who splits the time of requests, if anybody does.
    #[inline]
    pub(crate) fn breakdown_mut(&mut self) -> Option<&mut Breakdown> {
        self.breakdown.as_deref_mut()
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
        !self.is_serial()
    }

    /// Whether everything is one resource.
    #[inline]
    fn is_serial(&self) -> bool {
        self.die_mask == 0
    }

    /// Time for which each die was held, in nanoseconds. With [`Model::Serial`] the one resource.
    pub fn die_busy_ns(&self) -> impl ExactSizeIterator<Item = u64> + '_ {
        self.dies.iter().map(|die| die.busy_ns + self.now.saturating_sub(die.held_since))
    }

    /// Time for which each channel moved data, in nanoseconds; zero with [`Model::Serial`], which
    /// has no channels.
    pub fn channel_busy_ns(&self) -> impl ExactSizeIterator<Item = u64> + '_ {
        let begun = |bus: &Bus| bus.transfers - bus.to_move(self.now, self.rounds).0;
        self.buses.iter().map(move |bus| self.prices.transfer_ns * begun(bus))
    }

    /// Time for which the link to the host moved data, the way that was busier, in nanoseconds;
    /// none where data move at once.
    pub fn link_busy_ns(&self) -> Option<u64> {
        self.stations.as_ref().and_then(|stations| stations.link_busy_ns(self.now))
    }

    /// Time for which a core of the controller was busy on average, in nanoseconds; none where
    /// there is one for every command.
    pub fn controller_busy_ns(&self) -> Option<u64> {
        self.stations.as_ref().and_then(|stations| stations.controller_busy_ns(self.now))
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
        if let Some(followed) = self.tasks.awaited(moment) {
            self.tasks.ask_for(followed, ticket);
        } else if moment.is_known() && moment.earliest.0 > self.now {
            let number = self.issue_after(Kind::Delay, moment, 0);
            self.tasks.ask_for_entry(number, ticket);
        } else {
            self.ended.push(Ended { ticket, at: Nanos(self.now), account: NONE });
        }
    }

    /// Moves the requests that have ended into an empty list, those with older tickets first.
    #[inline]
    pub(crate) fn take_ended(&mut self, ended: &mut Vec<Ended>) {
        debug_assert!(ended.is_empty());
        std::mem::swap(&mut self.ended, ended);
        if ended.len() > 1 {
            ended.sort_by(|one, other| one.ticket.wrapping_sub(other.ticket).cast_signed().cmp(&0));
        }
    }

    /// The tickets of what has ended, and when.
    pub fn drain_ended(&mut self) -> impl Iterator<Item = (u32, Nanos)> + '_ {
        self.ended.drain(..).map(|ended| (ended.ticket, ended.at))
    }
}
