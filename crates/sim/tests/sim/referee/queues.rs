//! The referee: the rules of `docs/timing.md`, event after event, as plain as they can be written.
//!
//! It shares no code and no data structure with the simulation. Whatever ends is a *node* and is
//! kept for ever: an operation, the last of several (`join`), controller time (`delay`), the stay
//! of a command at a station, and the leave to begin that `gc_channels` asks for. A node knows who
//! follows it, and how many of those that it follows have not ended.
//!
//! Time stands between the second and the third step of a round: what ends now has ended, and the
//! host's requests that begin now are being issued. To go on, dies, buses and stations take up what
//! they can, and the next thing ends.

mod answers;
mod block_order;
mod buffer;
mod dies;
mod stations;

use std::collections::{BTreeMap, HashMap};

use flash::{Geometry, Pbn};
use ftl::{FlashOp, Moment, Nanos, Task, Timing};

use super::rules::{Kind, Rules, Superblocks, moves_data};
use buffer::Buffer;
use dies::Die;
use stations::{Passage, STATIONS, Station};

type Node = usize;

/// A node of the graph of what follows what.
struct Thing {
    what: What,
    /// What it follows that has not ended.
    missing: usize,
    followers: Vec<Node>,
    ended_at: Option<u64>,
}

enum What {
    Operation(Operation),
    /// Ends with the last of what it follows.
    Join,
    /// Ends this many nanoseconds after what it follows.
    Delay(u64),
    /// A moment that is known.
    Alarm(u64),
    /// A command is at a station, which it holds for so long.
    Stay {
        station: usize,
        time: u64,
    },
    /// The leave of background work to begin.
    Leave,
    /// Ends when a program or an erase becomes ready.
    Readiness,
    /// A unit of the host asks for a place in the program buffer.
    Place,
}

#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct Operation {
    /// Its place in the order of issue.
    number: u64,
    task: Task,
    kind: Kind,
    /// The page that it programs, by its offset in the block, and that block: of a copy others than
    /// the task's.
    to: u32,
    to_block: Pbn,
    /// How long it would sense its page.
    sense_ns: u64,
    /// Whether it reads a unit of a page that has been sensed.
    only_moves: bool,
    die: usize,
    channel: usize,
    /// Of a program or an erase, what ends when it becomes ready.
    readiness: Option<Node>,
    /// Places of the program buffer that it gives back.
    gives_back: i64,
    /// The round in which it became ready.
    ready_in: u64,
    /// Whether it lets reads pass because one before it in its block did, and which place in the
    /// order of classes the last of those has.
    yields_in_block: bool,
    place_in_block: usize,
    /// How often others that became ready later were taken up before it, or while it was suspended;
    /// and how often it was.
    overtaken: u64,
    stopped: u64,
    taken_at: Option<u64>,
    /// Whether its die took it up by itself.
    alone: bool,
    has_moved: bool,
    /// Whether it waits for a second register, or is in one.
    has_sensed: bool,
    /// Its end, once it is in its erase or program phase.
    ends: Option<(u64, u64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Alarm(Node),
    Sensed(Node),
    Moved { bus: usize },
    Served { station: usize, node: Node },
    Done(Node),
    Suspended { die: usize },
    Resumed { die: usize },
}

#[derive(Default)]
struct Bus {
    /// Who asks: since which round, and its place in the order of issue.
    waiting: Vec<(u64, u64, Node)>,
    /// Who moves its page, and until when.
    moving: Option<(Node, u64)>,
}

/// Background work that moves data.
struct Work {
    channel: usize,
    leave: Node,
    has_begun: bool,
    is_issued: bool,
    unfinished: usize,
}

/// The referee's time.
pub(crate) struct Queues {
    rules: Rules,
    /// The same, before a serial device was flattened.
    asked: Rules,
    geometry: Geometry,
    now: u64,
    /// Rounds so far.
    round: u64,
    resets: u32,
    things: Vec<Thing>,
    issued: u64,
    /// Operations that have ended.
    ended: u64,
    /// Operations that have not.
    unfinished: u64,
    /// What happens, by time and the order in which that was settled.
    events: BTreeMap<(u64, u64), Event>,
    settled: u64,
    dies: Vec<Die>,
    buses: Vec<Bus>,
    stations: [Station; STATIONS],
    /// Where the commands were, in the order of issue.
    passages: Vec<Passage>,
    /// Programs and erases of each block of the chip, by the scheme's block and die, in the order
    /// of issue.
    changes: HashMap<(u32, usize), Vec<Node>>,
    /// Background work that moves data, in the order of issue.
    works: Vec<Work>,
    /// The work that each chain belongs to.
    work_of: HashMap<u32, usize>,
    /// Chains that are still being issued.
    open: Vec<u32>,
    /// Units of each block that wait for others, when the data of each come, and whether they have
    /// places in the program buffer.
    buffered: HashMap<u32, Vec<(u32, Moment, bool)>>,
    /// The program buffer.
    buffer: Buffer,
    /// By die, the unit that is to be read last, by its place on the flash, and for whom.
    registers: HashMap<usize, (Pbn, u32, (usize, u32))>,
    /// Commands of the host.
    commands: usize,
    /// The background work that has read last, and what that read follows.
    last_read: Option<(u32, Moment)>,
    /// The background work of idle time, whose operations follow one another.
    in_order: u32,
    /// Programs of background work by die, and those of the work that has programmed last.
    moved: HashMap<usize, Vec<Moment>>,
    last_programs: (u32, Vec<Moment>),
}

impl Queues {
    pub(crate) fn new(geometry: &Geometry, rules: &Rules) -> Self {
        let of_group = rules.superblocks.dies;
        let (dies, channels) =
            if rules.serial { (1, 1) } else { (geometry.dies() * of_group, geometry.channels() * of_group) };
        Self {
            rules: rules.flattened(),
            asked: *rules,
            geometry: *geometry,
            now: 0,
            round: 0,
            resets: 0,
            things: Vec::new(),
            issued: 0,
            ended: 0,
            unfinished: 0,
            events: BTreeMap::new(),
            settled: 0,
            dies: (0..dies).map(|_| Die::default()).collect(),
            buses: (0..channels).map(|_| Bus::default()).collect(),
            stations: stations::of(rules),
            passages: Vec::new(),
            changes: HashMap::new(),
            works: Vec::new(),
            work_of: HashMap::new(),
            open: Vec::new(),
            buffered: HashMap::new(),
            buffer: Buffer::default(),
            registers: HashMap::new(),
            commands: 0,
            last_read: None,
            in_order: 0,
            moved: HashMap::new(),
            last_programs: (0, Vec::new()),
        }
    }

    /// Issues background work on superblocks, which reads ahead of its programs and erases when
    /// these have come.
    fn perform_ahead(&mut self, task: Task, after: Moment) -> Moment {
        let (die, _) = self.rules.place(&self.geometry, &task);
        match task.op {
            FlashOp::Read => {
                // Work of idle time does not read ahead.
                if task.chain != self.in_order {
                    self.last_read = Some((task.chain, after));
                }
                self.perform_everywhere(task, after)
            }
            FlashOp::Program => {
                let end = self.perform_everywhere(task, after);
                self.moved.entry(die).or_default().push(end);
                if self.last_programs.0 != task.chain {
                    self.last_programs = (task.chain, Vec::new());
                }
                self.last_programs.1.push(end);
                self.last_read.filter(|(chain, _)| *chain == task.chain).map_or(end, |(_, read_after)| read_after)
            }
            FlashOp::Erase => {
                let step = self.geometry.shape().dies_per_channel as usize;
                let dies = (0..self.rules.superblocks.dies as usize).map(|number| die + number * step);
                let moved = dies.filter_map(|die| self.moved.get(&die)).flatten().copied();
                let own = self.last_programs.1.iter().copied().filter(|_| self.last_programs.0 == task.chain);
                let moved: Vec<_> = moved.chain(own).filter(|&moved| !self.is_over(moved)).collect();
                let after = moved.into_iter().fold(after, |after, moved| self.join(after, moved));
                self.perform_everywhere(task, after)
            }
        }
    }

    /// Issues an operation on each die that it is done on.
    fn perform_everywhere(&mut self, task: Task, after: Moment) -> Moment {
        let (die, channel) = self.rules.place(&self.geometry, &task);
        if task.op != FlashOp::Erase || self.rules.superblocks.dies == 1 {
            return self.perform_at(task, after, (die, channel));
        }
        // Each die of the group erases its blocks. All have when the last has.
        let dies = self.geometry.shape().dies_per_channel as usize;
        let place = |number: usize| (die + number * dies, channel + number);
        let places: Vec<_> = (0..self.rules.superblocks.dies as usize).map(place).collect();
        let ends: Vec<_> = places.into_iter().map(|place| self.perform_at(task, after, place)).collect();
        ends.into_iter().reduce(|one, other| self.join(one, other)).expect("a group has dies")
    }

    /// Whether any operation is under way, also one that nobody waits for.
    pub(super) fn is_at_work(&self) -> bool {
        self.unfinished > 0
    }

    fn at(&mut self, time: u64, event: Event) -> (u64, u64) {
        self.settled += 1;
        let key = (time, self.settled);
        self.events.insert(key, event);
        key
    }

    fn operation(&self, node: Node) -> &Operation {
        match &self.things[node].what {
            What::Operation(operation) => operation,
            _ => unreachable!("only operations wait for dies and buses"),
        }
    }

    fn operation_mut(&mut self, node: Node) -> &mut Operation {
        match &mut self.things[node].what {
            What::Operation(operation) => operation,
            _ => unreachable!("only operations wait for dies and buses"),
        }
    }

    /// Adds a node that follows others. If these have all come, it is ready at once.
    fn add(&mut self, what: What, follows: &[Moment]) -> Node {
        let node = self.things.len();
        self.things.push(Thing { what, missing: 0, followers: Vec::new(), ended_at: None });
        for &before in follows {
            self.follow(node, before);
        }
        if self.things[node].missing == 0 {
            self.is_ready(node);
        }
        node
    }

    fn follow(&mut self, node: Node, before: Moment) {
        if self.is_over(before) {
            return;
        }
        let before =
            if before.is_known() { self.add(What::Alarm(before.earliest.0), &[]) } else { before.event().0 as usize };
        self.things[before].followers.push(node);
        self.things[node].missing += 1;
    }

    fn moment(&self, node: Node, earliest: u64) -> Moment {
        Moment::end_of(node as u32, self.resets, Nanos(earliest))
    }

    /// All that a node follows has ended.
    fn is_ready(&mut self, node: Node) {
        let now = self.now;
        match &mut self.things[node].what {
            What::Join => self.end(node),
            &mut What::Delay(time) => _ = self.at(now + time, Event::Alarm(node)),
            &mut What::Alarm(time) => _ = self.at(time, Event::Alarm(node)),
            &mut What::Stay { station, .. } => self.stations[station].queue(self.round, node),
            What::Leave => self.give_leave(),
            What::Readiness => {}
            What::Place => self.buffer.asking.push(node),
            What::Operation(operation) => {
                operation.ready_in = self.round;
                self.dies[operation.die].waiting.push(node);
                if let Some(readiness) = operation.readiness {
                    self.end(readiness);
                }
            }
        }
    }

    /// A node ends now.
    fn end(&mut self, node: Node) {
        self.things[node].ended_at = Some(self.now);
        for follower in std::mem::take(&mut self.things[node].followers) {
            self.things[follower].missing -= 1;
            if self.things[follower].missing == 0 {
                self.is_ready(follower);
            }
        }
        if let What::Operation(operation) = &self.things[node].what {
            let (chain, gives_back) = (operation.task.chain, operation.gives_back);
            self.buffer.taken -= gives_back;
            self.ended += 1;
            self.unfinished -= 1;
            self.leave_die(node);
            if let Some(&work) = self.work_of.get(&chain) {
                self.works[work].unfinished -= 1;
                self.give_leave();
            }
        }
    }

    /// Background work begins that may, in the order in which it was issued.
    fn give_leave(&mut self) {
        let Some(most) = self.rules.gc_channels else { return };
        while let Some(next) = self.works.iter().position(|work| !work.has_begun) {
            let channel = self.works[next].channel;
            let under_way = self.works.iter().filter(|work| work.has_begun && !work.is_over());
            let mut others: Vec<_> = under_way.map(|work| work.channel).filter(|&other| other != channel).collect();
            others.sort_unstable();
            others.dedup();
            if others.len() >= most as usize {
                return;
            }
            self.works[next].has_begun = true;
            self.end(self.works[next].leave);
        }
    }

    /// What an operation of a chain waits for beyond what it follows: the leave of its work.
    fn leave_for(&mut self, task: &Task, channel: usize) -> Option<Moment> {
        self.rules.gc_channels.filter(|_| task.chain != 0)?;
        if !self.open.contains(&task.chain) {
            // The first operation of its work. Work that is started within such work goes with it.
            let outer = self.open.iter().find_map(|chain| self.work_of.get(chain).copied());
            self.open.push(task.chain);
            if outer.is_some() || moves_data(task.cause) {
                self.work_of.insert(task.chain, outer.unwrap_or(self.works.len()));
            }
            if outer.is_none() && moves_data(task.cause) {
                let leave = self.things.len();
                self.works.push(Work { channel, leave, has_begun: false, is_issued: false, unfinished: 0 });
                self.add(What::Leave, &[]);
            }
        }
        let work = *self.work_of.get(&task.chain)?;
        self.works[work].unfinished += 1;
        Some(self.moment(self.works[work].leave, 0))
    }

    /// Issues an operation on a die.
    fn perform_at(&mut self, task: Task, after: Moment, (die, channel): (usize, usize)) -> Moment {
        let is_of_host = self.is_of_host(&task);
        let after = if is_of_host { self.take_place(after) } else { after };
        if self.is_done_in_buffer(&task, after, is_of_host) {
            return after;
        }
        self.issued += 1;
        if let Some(read) = self.copied_read(&task, after) {
            return self.copy_back(read, &task, after);
        }
        let kind = Kind::of(task.op);
        let in_register = self.is_in_register(&task, die);
        let (data, places) = self.data_of(&task);
        let begins = data.iter().chain([&after]).map(|moment| moment.earliest.0).max().unwrap_or(0);
        let comes: Vec<_> = data.into_iter().chain([after]).collect();
        let mut follows: Vec<_> = comes.iter().copied().chain(self.before_in_block(&task, die)).collect();
        let leave = self.leave_for(&task, channel);
        follows.extend(leave);
        let readiness = (kind != Kind::Read).then(|| self.add(What::Readiness, &[]));
        let operation = Operation {
            number: self.issued,
            task,
            kind,
            to: task.page,
            to_block: task.pbn,
            sense_ns: if in_register { self.rules.moved_inside_ns } else { self.rules.sense(task.page) },
            only_moves: in_register,
            die,
            channel,
            readiness,
            gives_back: places + i64::from(is_of_host),
            ready_in: 0,
            yields_in_block: false,
            place_in_block: 0,
            overtaken: 0,
            stopped: 0,
            taken_at: None,
            alone: false,
            has_moved: false,
            has_sensed: false,
            ends: None,
        };
        self.unfinished += 1;
        let node = self.add(What::Operation(operation), &follows);
        let end = self.moment(node, begins.max(self.now) + self.operation(node).alone(&self.rules));
        self.stand_in_block(node);
        if is_of_host { after } else { end }
    }

    /// The third and the fourth step of a round.
    fn take_up(&mut self) {
        self.settle_standings();
        (0..self.dies.len()).for_each(|die| self.serve_die(die));
        (0..self.buses.len()).for_each(|bus| self.serve_bus(bus));
        (0..STATIONS).for_each(|station| self.serve_station(station));
        self.give_places();
        self.round += 1;
    }

    /// The first step of a round: whatever ends at the present moment. What begins and ends in this
    /// step belongs to it.
    fn end_all(&mut self) {
        while let Some(entry) = self.events.first_entry().filter(|entry| entry.key().0 == self.now) {
            let event = entry.remove();
            self.happen(event);
        }
    }

    /// Lets time pass until the next moment at which something ends, no later than a limit; whether
    /// there is one.
    pub(crate) fn pass_until_next(&mut self, limit: Nanos) -> bool {
        self.take_up();
        let next = self.events.first_key_value().map(|(&(time, _), _)| time).filter(|&time| time <= limit.0);
        if let Some(time) = next {
            self.now = time;
            self.end_all();
        }
        next.is_some()
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Sensed(node) => match self.operation(node).kind {
                Kind::Copy => self.enter_last_phase(node, self.programs_for(node)),
                _ if self.rules.transfer_ns == 0 => self.end(node),
                _ => self.has_sensed(node),
            },
            Event::Moved { bus } => {
                let (node, _) = self.buses[bus].moving.take().expect("moves");
                self.operation_mut(node).has_moved = true;
                match self.operation(node).kind {
                    Kind::Program => self.has_come(node),
                    _ => self.end(node),
                }
            }
            Event::Alarm(node) | Event::Done(node) => self.end(node),
            Event::Served { station, node } => {
                self.stations[station].leave();
                self.end(node);
            }
            Event::Suspended { die } => self.dies[die].is_changing = false,
            Event::Resumed { die } => self.resume(die),
        }
    }

    fn ask_bus(&mut self, node: Node) {
        let Operation { number, channel, .. } = *self.operation(node);
        let asks = (self.round, number, node);
        self.buses[channel].waiting.push(asks);
    }

    fn serve_bus(&mut self, bus: usize) {
        if self.buses[bus].moving.is_some() {
            return;
        }
        let Some(&first) = self.buses[bus].waiting.iter().min() else { return };
        self.buses[bus].waiting.retain(|&other| other != first);
        let until = self.now + self.rules.moves_ns(self.operation(first.2).kind);
        self.buses[bus].moving = Some((first.2, until));
        self.at(until, Event::Moved { bus });
    }
}

impl Work {
    fn is_over(&self) -> bool {
        self.is_issued && self.unfinished == 0
    }
}

impl Timing for Queues {
    ftl::known_ends! { is_traced is_buffered trace wait_beside }

    fn perform(&mut self, task: Task, after: Moment) -> Moment {
        let is_superblock = self.rules.superblocks != Superblocks::default();
        if is_superblock && task.chain != 0 {
            self.perform_ahead(task, after)
        } else {
            self.perform_everywhere(task, after)
        }
    }

    fn join(&mut self, one: Moment, other: Moment) -> Moment {
        let earliest = one.earliest.max(other.earliest);
        let node = self.add(What::Join, &[one, other]);
        self.moment(node, earliest.0)
    }

    fn delay(&mut self, after: Moment, time: Nanos) -> Moment {
        if time == Nanos::ZERO {
            return after;
        }
        let node = self.add(What::Delay(time.0), &[after]);
        self.moment(node, (after.earliest + time).0)
    }

    fn take_command(&mut self, after: Moment, bytes: u64) -> Moment {
        self.commands += 1;
        self.bring(after, bytes)
    }

    fn hand_over(&mut self, after: Moment, bytes: u64) -> Moment {
        self.return_data(after, bytes)
    }

    fn is_over(&self, moment: Moment) -> bool {
        if moment.is_known() {
            return moment.earliest.0 <= self.now;
        }
        moment.event().1 != self.resets || self.things[moment.event().0 as usize].ended_at.is_some()
    }

    fn estimate(&self, task: Task, from: Moment) -> Nanos {
        self.estimate_from(&task, from)
    }

    fn estimate_moves(&self, reads: &[Task], programmed: u64) -> Option<Nanos> {
        (self.rules.superblocks != Superblocks::default()).then(|| self.estimate_side_by_side(reads, programmed))
    }

    fn slowest_page(&self, op: FlashOp) -> u32 {
        self.rules.slowest_page(op, self.geometry.pages_per_block())
    }

    fn programmed_at_once(&self) -> u32 {
        self.rules.at_once()
    }

    fn busy(&self, channel: u32, from: Moment) -> Nanos {
        self.busy_from(channel, from)
    }

    fn now(&self) -> Nanos {
        Nanos(self.now)
    }

    fn keep_order(&mut self, chain: u32) {
        self.in_order = chain;
    }

    fn join_programs(&mut self, chain: u32, after: Moment) -> Moment {
        let programs = Some(self.last_programs.1.clone()).filter(|_| self.last_programs.0 == chain);
        programs.into_iter().flatten().fold(after, |after, end| self.join(after, end))
    }

    fn end_background(&mut self, chain: u32) {
        self.open.retain(|&other| other != chain);
        if let Some(&work) = self.work_of.get(&chain) {
            let issued = self.open.iter().all(|other| self.work_of.get(other) != Some(&work));
            self.works[work].is_issued = issued;
            self.give_leave();
        }
    }

    fn pass_until(&mut self, at: Nanos) {
        while self.now < at.0 && self.pass_until_next(at) {}
        self.now = self.now.max(at.0);
    }

    fn wait(&mut self, moment: Moment) -> Nanos {
        while !self.is_over(moment) {
            if moment.is_known() {
                self.pass_until(moment.earliest);
            } else if !self.pass_until_next(Nanos(u64::MAX)) {
                panic!("what is waited for never ends: {} operations were issued", self.issued);
            }
        }
        if moment.is_known() || moment.event().1 != self.resets {
            return moment.earliest;
        }
        Nanos(self.things[moment.event().0 as usize].ended_at.expect("it is over"))
    }

    fn reset(&mut self) {
        let resets = self.resets + 1;
        let mut buffered = std::mem::take(&mut self.buffered);
        buffered.values_mut().flatten().for_each(|(_, comes, _)| *comes = Moment::ZERO);
        let taken = buffered.values().flatten().filter(|&&(_, _, has_place)| has_place).count();
        let buffer = Buffer { taken: taken.cast_signed() as i64, ..Buffer::default() };
        *self = Self { resets, buffered, buffer, ..Self::new(&self.geometry, &self.asked) };
    }
}
