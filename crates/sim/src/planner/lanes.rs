//! The lanes of a planned device: every promise that is not over, for each die and each channel, in order of time.
//!
//! Unlike the gaps and calendars of lean pricing, these lists are complete, and a promise can be taken back. That costs time
//! proportional to the promises ahead, so it is only there for devices that need it.

use ftl::Task;

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
pub(crate) struct Spot {
    pub(crate) start: u64,
    pub(crate) transfer: Option<u64>,
    pub(crate) end: u64,
}

/// A promise.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    /// Which one it is; items that hold parts of one operation have numbers of their own.
    pub(crate) id: u64,
    pub(crate) task: Task,
    /// The program of a copy-back whose read this is: the two hold the die together, so that nothing else uses its register.
    pub(crate) copies: Option<Task>,
    pub(crate) plane: u32,
    pub(crate) ready: u64,
    pub(crate) needs: Needs,
    pub(crate) spot: Spot,
    /// Whether it may be moved while it has not begun: nobody waits for it.
    pub(crate) movable: bool,
    /// Whether it is all of its operation: no copy-back, and no part of a suspended one.
    pub(crate) whole: bool,
    /// Whether it goes on with what was suspended.
    pub(crate) begun: bool,
    /// How long the die does not yet work at what may be suspended: it reads what it copies, or takes up what was suspended.
    pub(crate) lead_ns: u64,
    /// What the operation takes on an idle device; none for a part of one, unless it is the last.
    pub(crate) service_ns: Option<u64>,
}

/// All lanes.
pub(crate) struct Lanes {
    transfer_ns: u64,
    dies_per_channel: usize,
    multi_plane: bool,
    /// Promises of each die by start.
    dies: Vec<Vec<Item>>,
    /// Starts of the transfers of each channel, ascending; empty where a transfer takes no time.
    channels: Vec<Vec<u64>>,
}

impl Lanes {
    pub(crate) fn new(channels: u32, dies_per_channel: u32, transfer_ns: u64, multi_plane: bool) -> Self {
        Self {
            transfer_ns,
            dies_per_channel: dies_per_channel as usize,
            multi_plane,
            dies: vec![Vec::new(); (channels * dies_per_channel) as usize],
            channels: vec![Vec::new(); channels as usize],
        }
    }

    pub(crate) fn clear(&mut self) {
        self.dies.iter_mut().for_each(Vec::clear);
        self.channels.iter_mut().for_each(Vec::clear);
    }

    /// The promises of a die, by start.
    pub(crate) fn die(&self, die: u32) -> &[Item] {
        &self.dies[die as usize]
    }

    pub(crate) fn dies(&self) -> u32 {
        self.dies.len() as u32
    }

    /// When the last promise is kept.
    pub(crate) fn idle_at(&self) -> u64 {
        self.dies.iter().flatten().map(|item| item.spot.end).max().unwrap_or(0)
    }

    /// The first moment from `from` on at which a transfer fits.
    pub(crate) fn first_gap(&self, channel: usize, from: u64) -> u64 {
        let begun = &self.channels[channel];
        let mut start = from;
        // One that began less than a transfer before still blocks.
        let first = begun.partition_point(|&other| other + self.transfer_ns <= from);
        for &other in &begun[first..] {
            if other >= start + self.transfer_ns {
                break;
            }
            start = other + self.transfer_ns;
        }
        start
    }

    /// The first spot for an operation that is ready at `ready`: beside others of its kind on other planes, in a gap of its
    /// die, or behind everything.
    pub(crate) fn fit(&self, task: Task, plane: u32, needs: Needs, ready: u64, movable: bool) -> Spot {
        let alone = self.fit_alone(task.die, needs, ready);
        let beside = if self.multi_plane { self.fit_beside(task, plane, needs, ready, movable) } else { None };
        beside.filter(|beside| beside.end < alone.end).unwrap_or(alone)
    }

    /// The promises of a die that end after a moment. Those that overlap are of one kind and take equally long, so ends ascend as
    /// starts do.
    fn from(&self, die: u32, moment: u64) -> &[Item] {
        let items = &self.dies[die as usize];
        &items[items.partition_point(|item| item.spot.end <= moment)..]
    }

    fn fit_alone(&self, die: u32, needs: Needs, ready: u64) -> Spot {
        let mut from = ready;
        for item in self.from(die, ready) {
            let spot = self.spot(die, needs, from);
            if spot.end <= item.spot.start {
                return spot;
            }
            from = from.max(item.spot.end);
        }
        self.spot(die, needs, from)
    }

    /// With another operation of the same kind on another plane that begins when this one is ready already. Neither is held up:
    /// transfers take turns, and a plane works as soon as its own page is there. What may still be moved may not carry what may not.
    fn fit_beside(&self, task: Task, plane: u32, needs: Needs, ready: u64, movable: bool) -> Option<Spot> {
        let alike = |item: &Item| item.joins(task.op) && (movable || !item.movable);
        let hosts = self
            .from(task.die, ready)
            .iter()
            .filter(|item| alike(item) && item.spot.start >= ready && item.plane != plane);
        hosts.map(|host| self.spot(task.die, needs, host.spot.start)).find(|spot| {
            let met = self.from(task.die, spot.start).iter();
            let mut met = met.take_while(|item| item.spot.start < spot.end).peekable();
            met.peek().is_some() && met.all(|item| alike(item) && item.plane != plane && item.spot.start >= ready)
        })
    }

    fn spot(&self, die: u32, needs: Needs, from: u64) -> Spot {
        let Needs { before_ns, moves, after_ns } = needs;
        if !moves {
            return Spot { start: from, transfer: None, end: from + before_ns + after_ns };
        }
        let transfer = self.first_gap(die as usize / self.dies_per_channel, from + before_ns);
        // A program holds its die from when its page comes, a read from when it senses.
        let start = if task_senses(needs) { from } else { transfer };
        Spot { start, transfer: Some(transfer), end: transfer + self.transfer_ns + after_ns }
    }

    pub(crate) fn insert(&mut self, item: Item) {
        let (die, Spot { start, transfer, end }) = (item.task.die as usize, item.spot);
        if let Some(transfer) = transfer.filter(|_| self.transfer_ns > 0) {
            let begun = &mut self.channels[die / self.dies_per_channel];
            begun.insert(begun.partition_point(|&other| other < transfer), transfer);
        }
        let items = &mut self.dies[die];
        items.insert(items.partition_point(|other| (other.spot.start, other.spot.end) <= (start, end)), item);
    }

    /// Takes a promise back.
    pub(crate) fn remove(&mut self, die: u32, id: u64) -> Option<Item> {
        let items = &mut self.dies[die as usize];
        let item = items.remove(items.iter().position(|item| item.id == id)?);
        self.forget_transfer(die, item.spot.transfer);
        Some(item)
    }

    /// Ends a promise that is under way earlier. It is over then for this die; a transfer lies before.
    pub(crate) fn shorten(&mut self, die: u32, id: u64, end: u64) {
        if let Some(item) = self.dies[die as usize].iter_mut().find(|item| item.id == id) {
            item.spot.end = end;
        }
    }

    /// Makes a promise that was shortened a fixed part of its operation, with a number of its own.
    pub(crate) fn fix(&mut self, die: u32, id: u64, part: u64) {
        if let Some(item) = self.dies[die as usize].iter_mut().find(|item| item.id == id) {
            (item.id, item.movable, item.whole, item.service_ns) = (part, false, false, None);
        }
    }

    fn forget_transfer(&mut self, die: u32, transfer: Option<u64>) {
        let begun = &mut self.channels[die as usize / self.dies_per_channel];
        if let Some(position) = transfer.and_then(|transfer| begun.binary_search(&transfer).ok()) {
            begun.remove(position);
        }
    }

    /// Takes back the promises of a die that are chosen.
    pub(crate) fn take_back(&mut self, die: u32, chosen: impl Fn(&Item) -> bool, taken: &mut Vec<Item>) {
        let before = taken.len();
        taken.extend(self.dies[die as usize].extract_if(.., |item| chosen(item)));
        for item in &taken[before..] {
            self.forget_transfer(die, item.spot.transfer);
        }
    }

    /// Takes out what is over at `now`, in order of start.
    pub(crate) fn take_over(&mut self, die: u32, now: u64, mut each: impl FnMut(Item)) {
        self.dies[die as usize].retain(|item| {
            let is_over = item.spot.end <= now;
            if is_over {
                each(*item);
            }
            !is_over
        });
        let begun = &mut self.channels[die as usize / self.dies_per_channel];
        let over = begun.partition_point(|&start| start + self.transfer_ns <= now);
        begun.drain(..over);
    }
}

/// Whether the die works before the page moves, as in a read.
fn task_senses(needs: Needs) -> bool {
    needs.after_ns == 0
}
