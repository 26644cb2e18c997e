//! The lanes of a planned device: every promise that is not over, for each die and each channel, in
//! order of time.
//!
//! Unlike the gaps and calendars of lean pricing, these lists are complete, and a promise can be
//! taken back. What looks for room passes over most of them, so the lists hold only what it has to
//! know; the promises lie beside, each in a place of its own.
//!
//! Where all goes well, work is planned at the end of its lists, and is over at their begin; both
//! are cheap. To look for room from now on takes time proportional to the promises ahead, as does
//! taking back.

use ftl::{FlashOp, Task};

use crate::timing::planner::queue::Queue;

/// What an operation needs, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Needs {
    /// Work of the die before the transfer, or all of it where nothing is moved.
    pub(crate) before_ns: u64,
    /// Whether a page moves over the channel.
    pub(crate) moves: bool,
    /// Work of the die after the transfer.
    pub(crate) after_ns: u64,
}

/// Where an operation would lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) start: u64,
    pub(crate) transfer: Option<u64>,
    pub(crate) end: u64,
}

/// A scheduled operation, which may still move.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    /// Which job it is, while it may be moved unless it has begun, since nobody waits for it; 0 for
    /// what is fixed.
    pub(crate) job: u64,
    pub(crate) task: Task,
    /// The program of a copy-back whose read this is: the two hold the die together, so that
    /// nothing else uses its register.
    pub(crate) copies: Option<Task>,
    pub(crate) plane: u32,
    pub(crate) ready: u64,
    pub(crate) needs: Needs,
    pub(crate) spot: Slot,
    /// Whether it is all of its operation: no copy-back, and no part of a suspended one.
    pub(crate) whole: bool,
    /// Whether it goes on with what was suspended.
    pub(crate) begun: bool,
    /// How long the die does not yet work at what may be suspended: it reads what it copies, or
    /// takes up what was suspended.
    pub(crate) lead_ns: u64,
    /// What the operation takes on an idle device; none for a part of one, unless it is the last.
    pub(crate) service_ns: Option<u64>,
}

impl Item {
    /// What the die works at in the end: of a copy-back, its program.
    pub(crate) fn last_task(&self) -> Task {
        self.copies.unwrap_or(self.task)
    }

    fn tag(&self) -> Tag {
        Tag { start: self.spot.start, job: self.job, op: self.last_task().op }
    }

    fn want(&self) -> Demand {
        let Self { task, plane, needs, job, .. } = *self;
        Demand { die: task.die, op: task.op, plane, needs, movable: job > 0 }
    }
}

/// What of a promise decides whether others may come before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tag {
    /// When it begins.
    pub(crate) start: u64,
    /// As in [`Item`].
    pub(crate) job: u64,
    /// What the die works at in the end.
    pub(crate) op: FlashOp,
}

/// A promise in the order of its die.
#[derive(Clone, Copy)]
struct Held {
    tag: Tag,
    end: u64,
    place: u32,
}

impl Held {
    fn is_within(&self, spot: &Slot) -> bool {
        self.tag.start > spot.start && self.end < spot.end
    }

    fn is_around(&self, spot: &Slot) -> bool {
        self.tag.start < spot.start && self.end > spot.end
    }
}

/// A transfer in the order of its channel.
#[derive(Clone, Copy)]
struct Turn {
    at: u64,
    tag: Tag,
}

/// An operation for which room is looked for.
#[derive(Clone, Copy)]
pub(crate) struct Demand {
    pub(crate) die: u32,
    pub(crate) op: FlashOp,
    pub(crate) plane: u32,
    pub(crate) needs: Needs,
    /// Whether it may be moved afterwards.
    pub(crate) movable: bool,
}

/// The schedules of all dies and channels.
pub(crate) struct Lanes {
    transfer_ns: u64,
    dies_per_channel: u32,
    multi_plane: bool,
    items: Vec<Item>,
    /// Places of items that are free.
    free: Vec<u32>,
    /// Promises of each die by start. None lies within another, so ends ascend as starts do.
    dies: Vec<Queue<Held>>,
    /// Transfers of each channel; empty where a transfer takes no time.
    channels: Vec<Queue<Turn>>,
    /// No promise of a die is over before this.
    next_over: Vec<u64>,
}

impl Lanes {
    pub(crate) fn new(channels: u32, dies_per_channel: u32, transfer_ns: u64, multi_plane: bool) -> Self {
        Self {
            transfer_ns,
            dies_per_channel,
            multi_plane,
            items: Vec::new(),
            free: Vec::new(),
            dies: vec![Queue::new(); (channels * dies_per_channel) as usize],
            channels: vec![Queue::new(); channels as usize],
            next_over: vec![u64::MAX; (channels * dies_per_channel) as usize],
        }
    }

    pub(crate) fn clear(&mut self) {
        self.items.clear();
        self.free.clear();
        self.dies.iter_mut().for_each(Queue::clear);
        self.channels.iter_mut().for_each(Queue::clear);
        self.next_over.fill(u64::MAX);
    }

    pub(crate) fn channel(&self, die: u32) -> u32 {
        die / self.dies_per_channel
    }

    pub(crate) fn item(&self, place: u32) -> &Item {
        &self.items[place as usize]
    }

    /// When the last promise is kept.
    pub(crate) fn idle_at(&self) -> u64 {
        self.dies.iter().filter_map(|all| all.list().last()).map(|held| held.end).max().unwrap_or(0)
    }

    /// The first moment from `from` on at which a transfer fits between those that stay.
    pub(crate) fn first_gap(&self, channel: u32, from: u64, stays: impl Fn(&Tag) -> bool) -> u64 {
        let turns = &self.channels[channel as usize];
        let mut start = from;
        // One that began less than a transfer before still blocks.
        let first = turns.count(|turn| turn.at + self.transfer_ns <= from);
        for turn in &turns.list()[first..] {
            if turn.at >= start + self.transfer_ns {
                break;
            }
            if stays(&turn.tag) {
                start = turn.at + self.transfer_ns;
            }
        }
        start
    }

    /// The first moment from `from` on at which neither the bus nor a die of a channel is at work.
    pub(crate) fn first_idle(&self, channel: u32, from: u64) -> u64 {
        let first = channel * self.dies_per_channel;
        (first..first + self.dies_per_channel).fold(self.first_gap(channel, from, |_| true), |idle, die| {
            let held = self.from(die, from).iter();
            idle.max(held.fold(from, |free, held| if held.tag.start <= free { free.max(held.end) } else { free }))
        })
    }

    /// The first spot for an operation that is ready at `ready`, between the promises that stay:
    /// beside others of its kind on other planes, in a gap of its die, or behind everything.
    pub(crate) fn fit(&self, want: &Demand, ready: u64, stays: impl Fn(&Tag) -> bool + Copy) -> Slot {
        let alone = self.fit_alone(want, ready, stays);
        let beside = if self.multi_plane { self.fit_beside(want, ready, alone.end, stays) } else { None };
        beside.filter(|beside| beside.end < alone.end).unwrap_or(alone)
    }

    /// The promises of a die that end after a moment.
    fn from(&self, die: u32, moment: u64) -> &[Held] {
        let all = &self.dies[die as usize];
        &all.list()[all.count(|held| held.end <= moment)..]
    }

    fn fit_alone(&self, want: &Demand, ready: u64, stays: impl Fn(&Tag) -> bool + Copy) -> Slot {
        let Needs { before_ns, moves, after_ns } = want.needs;
        let shortest_ns = before_ns + after_ns + if moves { self.transfer_ns } else { 0 };
        let (mut from, mut ends) = (ready, ready + shortest_ns);
        for held in self.from(want.die, ready) {
            // The later it may begin, the later it ends: a gap that is over before need not be
            // looked at.
            if ends <= held.tag.start {
                let spot = self.spot(want, from, stays);
                if spot.end <= held.tag.start {
                    return spot;
                }
                ends = spot.end;
            }
            if stays(&held.tag) {
                from = from.max(held.end);
                ends = ends.max(from + shortest_ns);
            }
        }
        self.spot(want, from, stays)
    }

    /// With another operation of the same kind on another plane that begins when this one is ready
    /// already, and before `until`. Neither is held up: transfers take turns, and a plane works as
    /// soon as its own page is there; but no read's wait for the channel is so long that another
    /// one comes and goes beside it. What may still be moved may not carry what may not.
    fn fit_beside(&self, want: &Demand, ready: u64, until: u64, stays: impl Fn(&Tag) -> bool + Copy) -> Option<Slot> {
        let joins = |held: &Held| {
            let item = &self.items[held.place as usize];
            let alike = item.whole && item.task.op == want.op && (want.movable || item.job == 0);
            alike && item.plane != want.plane && held.tag.start >= ready
        };
        let staying = |moment| self.from(want.die, moment).iter().filter(move |held| stays(&held.tag));
        let hosts = staying(ready).take_while(|held| held.tag.start < until).filter(|held| joins(held));
        hosts.map(|host| self.spot(want, host.tag.start, stays)).find(|spot| {
            let mut met = staying(spot.start).take_while(|held| held.tag.start < spot.end).peekable();
            met.peek().is_some() && met.all(|held| joins(held) && !held.is_within(spot) && !held.is_around(spot))
        })
    }

    fn spot(&self, want: &Demand, from: u64, stays: impl Fn(&Tag) -> bool) -> Slot {
        let Needs { before_ns, moves, after_ns } = want.needs;
        if !moves {
            return Slot { start: from, transfer: None, end: from + before_ns + after_ns };
        }
        let transfer = self.first_gap(self.channel(want.die), from + before_ns, stays);
        // A program holds its die from when its page comes, a read from when it senses.
        let start = if after_ns == 0 { from } else { transfer };
        Slot { start, transfer: Some(transfer), end: transfer + self.transfer_ns + after_ns }
    }

    /// Gives a promise a place, without entering it into the lists.
    pub(crate) fn keep(&mut self, item: Item) -> u32 {
        let Some(place) = self.free.pop() else {
            self.items.push(item);
            return (self.items.len() - 1) as u32;
        };
        self.items[place as usize] = item;
        place
    }

    /// Enters a promise.
    pub(crate) fn insert(&mut self, item: Item) -> u32 {
        let place = self.keep(item);
        self.enter(place);
        place
    }

    /// Finds a promise that was taken back a spot from `from` on, and enters it there.
    pub(crate) fn fit_again(&mut self, place: u32, from: u64) -> Slot {
        let spot = self.fit(&self.item(place).want(), from, |_| true);
        self.items[place as usize].spot = spot;
        self.enter(place);
        spot
    }

    /// Says anew since when a promise could have begun.
    pub(crate) fn set_ready(&mut self, place: u32, ready: u64) {
        self.items[place as usize].ready = ready;
    }

    fn enter(&mut self, place: u32) {
        let item = &self.items[place as usize];
        let (tag, Slot { start, transfer, end }) = (item.tag(), item.spot);
        let (die, channel) = (item.task.die, self.channel(item.task.die));
        if let Some(at) = transfer.filter(|_| self.transfer_ns > 0) {
            let turns = &mut self.channels[channel as usize];
            let position = turns.count(|other| other.at < at);
            turns.insert(position, Turn { at, tag });
        }
        let all = &mut self.dies[die as usize];
        let position = all.count(|other| (other.tag.start, other.end) <= (start, end));
        all.insert(position, Held { tag, end, place });
        self.ends(die, end);
    }

    /// Takes the promises of a channel back that may be moved, do not begin before `at` and are of
    /// later jobs than `behind`. They keep their places.
    pub(crate) fn take_back(&mut self, channel: u32, at: u64, behind: u64) {
        let stays = |tag: &Tag| tag.job <= behind || tag.start < at;
        let first = channel * self.dies_per_channel;
        for die in first..first + self.dies_per_channel {
            self.dies[die as usize].retain(|held| stays(&held.tag));
        }
        self.channels[channel as usize].retain(|turn| stays(&turn.tag));
    }

    /// The last promise of a die, if no other meets it in time.
    pub(crate) fn last_alone(&self, die: u32) -> Option<&Item> {
        let (last, earlier) = self.dies[die as usize].list().split_last()?;
        let meets = earlier.last().is_some_and(|before| before.end > last.tag.start);
        (!meets).then(|| self.item(last.place))
    }

    /// Makes the last promise of a die another one that begins at the same time and moves nothing.
    pub(crate) fn replace_last(&mut self, item: Item) {
        let Some(held) = self.dies[item.task.die as usize].list_mut().last_mut() else { return };
        let before = &mut self.items[held.place as usize];
        let turn = before.spot.transfer;
        *before = item;
        (held.tag, held.end) = (item.tag(), item.spot.end);
        let turns = &mut self.channels[(item.task.die / self.dies_per_channel) as usize];
        if let Some(position) = turn.and_then(|at| turns.list().binary_search_by_key(&at, |turn| turn.at).ok()) {
            turns.remove(position);
        }
        self.ends(item.task.die, item.spot.end);
    }

    fn ends(&mut self, die: u32, end: u64) {
        let next_over = &mut self.next_over[die as usize];
        *next_over = end.min(*next_over);
    }

    /// The position of the one promise that a die is at.
    pub(crate) fn under_way(&self, die: u32, at: u64) -> Option<usize> {
        let all = &self.dies[die as usize];
        let first = all.count(|held| held.end <= at);
        let mut held = all.list()[first..].iter().take_while(|held| held.tag.start < at);
        (held.next().is_some() && held.next().is_none()).then_some(first)
    }

    pub(crate) fn held(&self, die: u32, position: usize) -> &Item {
        &self.items[self.dies[die as usize].list()[position].place as usize]
    }

    /// Ends a promise that is under way at another time. It is over then for this die; a transfer
    /// lies before.
    pub(crate) fn set_end(&mut self, die: u32, position: usize, end: u64) {
        let held = &mut self.dies[die as usize].list_mut()[position];
        held.end = end;
        self.items[held.place as usize].spot.end = end;
        self.ends(die, end);
    }

    /// Makes a promise that is under way a fixed part of its operation.
    pub(crate) fn fix(&mut self, die: u32, position: usize) {
        let held = &mut self.dies[die as usize].list_mut()[position];
        held.tag.job = 0;
        let item = &mut self.items[held.place as usize];
        (item.job, item.whole, item.service_ns) = (0, false, None);
        let turns = self.channels[(die / self.dies_per_channel) as usize].list_mut();
        let turn = item.spot.transfer.and_then(|at| turns.binary_search_by_key(&at, |turn| turn.at).ok());
        if let Some(position) = turn {
            turns[position].tag.job = 0;
        }
    }

    /// Takes out what is over at `now`, die by die in order of start.
    pub(crate) fn take_over(&mut self, now: u64, mut each: impl FnMut(&Item)) {
        for die in 0..self.dies.len() {
            if self.next_over[die] > now {
                continue;
            }
            let all = &mut self.dies[die];
            let over = all.list().iter().take_while(|held| held.end <= now).count();
            for held in &all.list()[..over] {
                each(&self.items[held.place as usize]);
                self.free.push(held.place);
            }
            all.use_up(over);
            self.next_over[die] = all.list().first().map_or(u64::MAX, |held| held.end);
            let turns = &mut self.channels[die / self.dies_per_channel as usize];
            let is_over = |turn: &&Turn| turn.at.saturating_add(self.transfer_ns) <= now;
            turns.use_up(turns.list().iter().take_while(is_over).count());
        }
    }
}
