//! What an operation costs: a timeline per die and per channel.
//!
//! ```text
//! read     die   |== sense ==|.. wait ..|= transfer =|
//!          chan                         |= transfer =|
//! program  die   |= transfer =|===== program =====|
//!          chan  |= transfer =|
//! erase    die   |====== erase ======|
//! ```
//!
//! A die is held from the start of an operation to its end (its register holds the page while it
//! waits for the channel). An operation begins when it is ready and its die and channel are free,
//! first come first served *in virtual time*. The order in which operations are priced is another
//! one: a collection is priced to its end, far into the future, before the next host request, which
//! arrives long before. If a resource kept only when it is next free, that request would wait for
//! all of it, even on dies that the collection touches once at its end. So each resource also
//! remembers its gaps, and an operation takes the first one that it fits in: [`Gaps`] of a die, a
//! [`Channel`]'s calendar.
//!
//! With [`Model::Serial`] there is one resource: an operation costs latency plus transfer and
//! nothing overlaps, as in the `FlashSim` family of simulators.
//!
//! Limits: there is no cache mode; planes do not work in parallel, and there is no copy-back and no
//! suspension, unless the device is told to have them: then `planner.rs` keeps the promises
//! instead, slower, and says what it can and cannot do. Here what was promised is never moved: an
//! operation that is ready a little earlier but priced later goes behind it if the gap before it is
//! too short. And in a gap, a page may be read before the copy that a collection makes of it is
//! done; a real device would read it at its old place, at the same cost. An operation costs O(1)
//! and allocates nothing.

use flash::Geometry;
use ftl::{FlashOp, Nanos, Span, Task, Timing};
use serde::{Deserialize, Serialize};

use crate::observe::probe::{Probe, ProbeConfig};
use crate::observe::timeline::{Placed, Window};
use crate::observe::wait_breakdown::Waiting;
use crate::result::TimelineFacts;
use crate::timing::channel::Channel;
use crate::timing::gaps::Gaps;
use crate::timing::latencies::Latencies;
use crate::timing::planner::{Abilities, Planner};

/// Which resources there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Model {
    /// Dies and channels, each on its own timeline.
    Parallel,
    /// One resource for everything.
    Serial,
}

/// The shortest gap that is remembered, in shortest operations. Into a shorter one hardly anything
/// fits that is not ready just when it begins; and copies between two dies leave one of a single
/// read on the target for every page.
const WORTH_REMEMBERING: u64 = 2;

/// Timelines of a device.
pub struct Pricing {
    latencies: Latencies,
    shortest_ns: u64,
    /// All bits for parallel dies, none where everything is one resource.
    die_mask: usize,
    dies: Box<[Die]>,
    gaps: Box<[Gaps]>,
    channels: Box<[Channel]>,
    /// Nothing begins before this any more.
    now: u64,
    /// What only some runs have; one pointer, since every operation looks at it.
    beyond: Option<Box<Extras>>,
}

/// What goes beyond plain timelines.
#[derive(Default)]
struct Extras {
    /// Told of every operation.
    watch: Option<Probe>,
    /// Keeps all promises instead of the timelines, where the device can do more than they know.
    planner: Option<Planner>,
}

impl Extras {
    /// None, where there is nothing of it.
    fn boxed(self) -> Option<Box<Self>> {
        (self.watch.is_some() || self.planner.is_some()).then(|| Box::new(self))
    }

    #[cold]
    #[inline(never)]
    fn settle(&mut self, now: u64) {
        if let Some(planner) = &mut self.planner {
            planner.settle(now, self.watch.as_mut());
        }
    }
}

#[derive(Clone, Copy, Default)]
struct Die {
    free_at: u64,
    /// End of the latest gap, 0 for none: what most operations need to know of the gaps.
    last_gap_end: u64,
    busy_ns: u64,
    channel: u32,
}

/// Where an operation would lie.
#[derive(Clone, Copy)]
struct Place {
    start: u64,
    /// When its transfer begins; without meaning for an erase, which has none.
    transfer: u64,
    end: u64,
}

impl Place {
    /// Reserves the channel for the operation's transfer.
    #[inline]
    fn book(self, op: FlashOp, channel: &mut Channel) -> Self {
        if op != FlashOp::Erase {
            channel.book(self.transfer);
        }
        self
    }

    #[inline]
    fn span(self) -> Span {
        Span { start: Nanos(self.start), end: Nanos(self.end) }
    }
}

impl Pricing {
    /// Idle timelines at time zero, for `channels` × `dies_per_channel` dies.
    pub fn new(model: Model, channels: u32, dies_per_channel: u32, latencies: Latencies) -> Self {
        let Latencies { read_ns, program_ns, erase_ns, transfer_ns } = latencies;
        match model {
            Model::Parallel => Self::with(latencies, channels, dies_per_channel),
            Model::Serial => {
                let (read_ns, program_ns) = (read_ns + transfer_ns, program_ns + transfer_ns);
                let whole = Latencies { read_ns, program_ns, erase_ns, transfer_ns: 0 };
                Self { die_mask: 0, ..Self::with(whole, 1, 1) }
            }
        }
    }

    fn with(latencies: Latencies, channels: u32, dies_per_channel: u32) -> Self {
        let dies = channels * dies_per_channel;
        Self {
            latencies,
            shortest_ns: latencies.shortest(),
            die_mask: usize::MAX,
            dies: (0..dies).map(|die| Die { channel: die / dies_per_channel, ..Die::default() }).collect(),
            gaps: (0..dies).map(|_| Gaps::new()).collect(),
            channels: (0..channels).map(|_| Channel::new(latencies.transfer_ns)).collect(),
            now: 0,
            beyond: None,
        }
    }

    /// Idle timelines of a parallel device that can do more, if it can.
    pub fn able(geometry: &Geometry, latencies: Latencies, abilities: Abilities) -> Self {
        let shape = geometry.shape();
        let plain = Self::new(Model::Parallel, shape.channels, shape.dies_per_channel, latencies);
        let more = abilities != Abilities::default();
        let planner = more.then(|| Planner::new(geometry, latencies, abilities));
        Self { beyond: Extras { watch: None, planner }.boxed(), ..plain }
    }

    /// The same timelines, of which a window is recorded.
    #[must_use]
    pub fn recorded(mut self, window: Window) -> Self {
        self.watch_from_now(ProbeConfig { timeline: Some(window), ..ProbeConfig::default() });
        self
    }

    /// Lets everything promised be over, and returns what was recorded, if a window is.
    pub fn timeline(&mut self) -> Option<TimelineFacts> {
        self.settle();
        self.watch().and_then(Probe::timeline)
    }

    /// Lets everything promised be over, so that all of it is counted and shown.
    pub(crate) fn settle(&mut self) {
        if let Some(beyond) = &mut self.beyond {
            beyond.settle(u64::MAX);
        }
    }

    /// Watches from now on. What requests wait for is known only without a planner.
    pub(crate) fn watch_from_now(&mut self, wishes: ProbeConfig) {
        let wishes = ProbeConfig { waiting: wishes.waiting && self.planner().is_none(), ..wishes };
        let (dies, channels) = (self.dies.len() as u32, self.channels.len() as u32);
        let channels = if self.has_channels() { channels } else { 0 };
        let watch = Probe::new(wishes, || Waiting::new(self.latencies, channels, dies / channels.max(1)));
        let planner = self.beyond.take().and_then(|beyond| beyond.planner);
        self.beyond = Extras { watch, planner }.boxed();
    }

    /// What watches, if anything does.
    pub(crate) fn watch(&self) -> Option<&Probe> {
        self.beyond.as_ref()?.watch.as_ref()
    }

    /// What watches, to tell it of requests.
    #[inline]
    pub(crate) fn watch_mut(&mut self) -> Option<&mut Probe> {
        self.beyond.as_mut()?.watch.as_mut()
    }

    fn planner(&self) -> Option<&Planner> {
        self.beyond.as_ref()?.planner.as_ref()
    }

    /// Whether channels are resources of their own.
    pub fn has_channels(&self) -> bool {
        self.die_mask != 0
    }

    /// Time for which each die was held, in nanoseconds. With [`Model::Serial`] the one resource.
    pub fn die_busy_ns(&self) -> Box<dyn ExactSizeIterator<Item = u64> + '_> {
        match self.planner() {
            Some(planner) => Box::new(planner.die_busy_ns().iter().copied()),
            None => Box::new(self.dies.iter().map(|die| die.busy_ns)),
        }
    }

    /// Time for which each channel moved data, in nanoseconds; zero with [`Model::Serial`], which
    /// has no channels.
    pub fn channel_busy_ns(&self) -> Box<dyn ExactSizeIterator<Item = u64> + '_> {
        match self.planner() {
            Some(planner) => Box::new(planner.channel_busy_ns().iter().copied()),
            None => Box::new(self.channels.iter().map(Channel::busy_ns)),
        }
    }

    /// When the last operation is done.
    pub fn idle_at(&self) -> Nanos {
        if let Some(planner) = self.planner() {
            return Nanos(planner.idle_at());
        }
        Nanos(self.dies.iter().map(|die| die.free_at).max().unwrap_or(0))
    }

    /// The first gap of a die that an operation fits: its position, and where the operation would
    /// lie in it.
    #[inline]
    fn find_gap(&self, op: FlashOp, index: usize, at: u64) -> Option<(usize, Place)> {
        let (gaps, channel) = (&self.gaps[index], &self.channels[self.dies[index].channel as usize]);
        let ahead = gaps.first_ending_at(at + self.shortest_ns)..gaps.len();
        ahead.into_iter().find_map(|position| {
            let (from, until) = gaps.at(position);
            let place = place(&self.latencies, channel, op, from.max(at));
            (place.end <= until).then_some((position, place))
        })
    }

    /// Puts an operation into a gap of its die, if it fits one.
    #[inline(never)]
    fn fill_gap(&mut self, op: FlashOp, index: usize, at: u64) -> Option<Place> {
        let (position, place) = self.find_gap(op, index, at)?;
        let (die, gaps) = (&mut self.dies[index], &mut self.gaps[index]);
        gaps.split(position, place.start, place.end, WORTH_REMEMBERING * self.shortest_ns);
        die.last_gap_end = gaps.last_end();
        die.busy_ns += place.end - place.start;
        Some(place.book(op, &mut self.channels[die.channel as usize]))
    }

    /// What most operations are: a function of its own that hands its result back in registers.
    #[inline(never)]
    fn plain(&mut self, op: FlashOp, index: usize, at: Nanos) -> Span {
        let place = self.promise(op, index, at);
        // A copy goes on there.
        let channel = &self.channels[self.dies[index].channel as usize];
        channel.prefetch(if op == FlashOp::Read { place.end } else { place.end + self.latencies.read_ns });
        place.span()
    }

    /// Finds a place for an operation and books it.
    #[expect(clippy::inline_always, reason = "handed back in memory otherwise, for every flash operation")]
    #[inline(always)]
    fn promise(&mut self, op: FlashOp, index: usize, at: Nanos) -> Place {
        if at.0 + self.shortest_ns <= self.dies[index].last_gap_end
            && let Some(place) = self.fill_gap(op, index, at.0)
        {
            return place;
        }
        let die = &mut self.dies[index];
        let channel = &mut self.channels[die.channel as usize];
        let place = place(&self.latencies, channel, op, die.free_at.max(at.0));
        if place.start - die.free_at >= WORTH_REMEMBERING * self.shortest_ns && place.start > self.now {
            self.gaps[index].push((die.free_at, place.start), self.now);
            die.last_gap_end = self.gaps[index].last_end();
        }
        die.free_at = place.end;
        die.busy_ns += place.end - place.start;
        place.book(op, channel)
    }

    #[cold]
    #[inline(never)]
    fn perform_beyond(&mut self, task: Task, at: Nanos) -> Span {
        if let Some(planner) = self.beyond.as_mut().and_then(|beyond| beyond.planner.as_mut()) {
            return planner.perform(task, at.0);
        }
        let die = task.die & self.die_mask as u32;
        let place = self.promise(task.op, die as usize, at);
        if let Some(watch) = self.beyond.as_mut().and_then(|beyond| beyond.watch.as_mut()) {
            let transfer_ns = (task.op != FlashOp::Erase && self.die_mask != 0).then_some(place.transfer);
            let Place { start: start_ns, end: end_ns, .. } = place;
            let service_ns = Some(self.latencies.alone_ns(task.op));
            watch.see(Placed { task, die, ready_ns: at.0, start_ns, transfer_ns, end_ns, service_ns }, self.now);
        }
        place.span()
    }
}

/// Where an operation would lie that can begin at `from` on its die.
#[expect(clippy::inline_always, reason = "a call for every flash operation that hands a structure back in memory")]
#[inline(always)]
fn place(latencies: &Latencies, channel: &Channel, op: FlashOp, from: u64) -> Place {
    if op == FlashOp::Erase {
        return Place { start: from, transfer: from, end: from + latencies.erase_ns };
    }
    let (before, after) = if op == FlashOp::Read { (latencies.read_ns, 0) } else { (0, latencies.program_ns) };
    let transfer = channel.first_gap(from + before);
    let start = if op == FlashOp::Read { from } else { transfer };
    Place { start, transfer, end: transfer + latencies.transfer_ns + after }
}

impl Timing for Pricing {
    #[inline]
    fn perform(&mut self, task: Task, at: Nanos) -> Span {
        if self.beyond.is_some() {
            return self.perform_beyond(task, at);
        }
        self.plain(task.op, task.die as usize & self.die_mask, at)
    }

    #[inline]
    fn begin(&mut self, at: Nanos) {
        self.now = at.0;
        if let Some(beyond) = &mut self.beyond {
            beyond.settle(at.0);
        }
    }

    fn would_end(&mut self, task: Task, at: Nanos) -> Nanos {
        if let Some(planner) = self.beyond.as_mut().and_then(|beyond| beyond.planner.as_mut()) {
            return Nanos(planner.would_end(task, at.0));
        }
        let index = task.die as usize & self.die_mask;
        let die = &self.dies[index];
        let channel = &self.channels[die.channel as usize];
        let last = || place(&self.latencies, channel, task.op, die.free_at.max(at.0));
        Nanos(self.find_gap(task.op, index, at.0).map_or_else(last, |(_, place)| place).end)
    }

    fn channel_idle_from(&self, channel: u32, at: Nanos) -> Nanos {
        if let Some(planner) = self.planner() {
            return Nanos(planner.channel_idle_from(channel, at.0));
        }
        let channel = channel & self.die_mask as u32;
        let dies = self.dies.iter().zip(&self.gaps).filter(|(die, _)| die.channel == channel);
        let idle = dies.map(|(die, gaps)| gaps.first_moment(at.0).unwrap_or(die.free_at.max(at.0)));
        Nanos(idle.fold(self.channels[channel as usize].first_gap(at.0), u64::max))
    }

    fn reset(&mut self) {
        for die in &mut self.dies {
            *die = Die { channel: die.channel, ..Die::default() };
        }
        self.gaps.fill(Gaps::new());
        self.channels.iter_mut().for_each(Channel::clear);
        self.now = 0;
        let Some(beyond) = &mut self.beyond else { return };
        if let Some(planner) = &mut beyond.planner {
            planner.clear();
        }
        if let Some(watch) = &mut beyond.watch {
            watch.clear();
        }
    }
}
