//! The referee: dies and buses as queues, event after event. It shares no code and no data
//! structure with the simulation, which books intervals ahead; here nothing is known of what is to
//! come.
//!
//! An operation asks for its die when all that it follows is done. A die serves one at a time, and
//! of those that wait the one whose request came first, then the one that its request asked for
//! first: what came first is served first. A read senses, then asks for the bus, and holds its die
//! until its page has moved; a program asks for the bus, then programs; an erase needs no bus.
//! Buses serve in the same order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ftl::FlashOp;

use super::stream::{Pace, Step, Stream};

/// Times of a device, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) read: u64,
    pub(crate) program: u64,
    pub(crate) erase: u64,
    pub(crate) transfer: u64,
}

impl Times {
    /// What an operation takes on an idle device.
    pub(crate) fn alone(&self, op: FlashOp) -> u64 {
        match op {
            FlashOp::Read => self.read + self.transfer,
            FlashOp::Program => self.transfer + self.program,
            FlashOp::Erase => self.erase,
        }
    }
}

/// A step of a request: its place in the order of coming.
type Ticket = (usize, usize);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Begins(usize),
    Sensed(Ticket),
    Moved(Ticket),
    Done(Ticket),
}

/// Something that serves one at a time.
#[derive(Default)]
struct Queue {
    busy: bool,
    waiting: BinaryHeap<Reverse<Ticket>>,
}

impl Queue {
    /// Takes the next one, if it is free and there is one.
    fn take(&mut self) -> Option<Ticket> {
        if self.busy {
            return None;
        }
        let Reverse(next) = self.waiting.pop()?;
        self.busy = true;
        Some(next)
    }
}

struct Referee<'a> {
    stream: &'a Stream,
    times: Times,
    dies_per_channel: usize,
    dies: Vec<Queue>,
    buses: Vec<Queue>,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    serial: u64,
    /// Steps that each step still waits for.
    missing: Vec<Vec<usize>>,
    /// Steps of each request that the host still waits for.
    awaited: Vec<usize>,
    begun_at: Vec<u64>,
    responses: Vec<u64>,
    next: usize,
}

/// Response times of all requests of a stream, in nanoseconds.
pub(crate) fn responses(stream: &Stream, channels: usize, dies_per_channel: usize, times: Times) -> Vec<u64> {
    let requests = &stream.requests;
    let mut referee = Referee {
        stream,
        times,
        dies_per_channel,
        dies: (0..channels * dies_per_channel).map(|_| Queue::default()).collect(),
        buses: (0..channels).map(|_| Queue::default()).collect(),
        events: BinaryHeap::new(),
        serial: 0,
        missing: requests.iter().map(|steps| steps.iter().map(|step| step.after.len()).collect()).collect(),
        awaited: requests.iter().map(|steps| steps.iter().filter(|step| step.awaited).count()).collect(),
        begun_at: vec![0; requests.len()],
        responses: vec![0; requests.len()],
        next: 0,
    };
    match &stream.pace {
        Pace::Closed(depth) => (0..*depth).for_each(|_| referee.begin_next(0)),
        Pace::Open(arrivals) => (0..).zip(arrivals).for_each(|(request, &at)| referee.at(at, Event::Begins(request))),
    }
    while let Some(Reverse((now, _, event))) = referee.events.pop() {
        referee.happen(now, event);
    }
    referee.responses
}

impl Referee<'_> {
    fn at(&mut self, time: u64, event: Event) {
        self.serial += 1;
        self.events.push(Reverse((time, self.serial, event)));
    }

    fn step(&self, (request, step): Ticket) -> &Step {
        &self.stream.requests[request][step]
    }

    fn bus_of(&self, ticket: Ticket) -> usize {
        self.step(ticket).die / self.dies_per_channel
    }

    fn begin_next(&mut self, now: u64) {
        if self.next < self.stream.requests.len() {
            self.at(now, Event::Begins(self.next));
            self.next += 1;
        }
    }

    fn happen(&mut self, now: u64, event: Event) {
        match event {
            Event::Begins(request) => {
                self.begun_at[request] = now;
                let free = (0..self.missing[request].len()).filter(|&step| self.missing[request][step] == 0);
                let ready: Vec<usize> = free.collect();
                for step in ready {
                    self.is_ready(now, (request, step));
                }
                if self.awaited[request] == 0 {
                    self.finish(now, request);
                }
            }
            Event::Sensed(ticket) => self.ask_bus(now, ticket),
            Event::Moved(ticket) => {
                let bus = self.bus_of(ticket);
                self.buses[bus].busy = false;
                if self.step(ticket).op == FlashOp::Read {
                    self.done(now, ticket);
                } else {
                    self.at(now + self.times.program, Event::Done(ticket));
                }
                self.serve_bus(now, bus);
            }
            Event::Done(ticket) => self.done(now, ticket),
        }
    }

    fn is_ready(&mut self, now: u64, ticket: Ticket) {
        let die = self.step(ticket).die;
        self.dies[die].waiting.push(Reverse(ticket));
        self.serve_die(now, die);
    }

    fn serve_die(&mut self, now: u64, die: usize) {
        let Some(ticket) = self.dies[die].take() else { return };
        match self.step(ticket).op {
            FlashOp::Read => self.at(now + self.times.read, Event::Sensed(ticket)),
            FlashOp::Program => self.ask_bus(now, ticket),
            FlashOp::Erase => self.at(now + self.times.erase, Event::Done(ticket)),
        }
    }

    fn ask_bus(&mut self, now: u64, ticket: Ticket) {
        let bus = self.bus_of(ticket);
        self.buses[bus].waiting.push(Reverse(ticket));
        self.serve_bus(now, bus);
    }

    fn serve_bus(&mut self, now: u64, bus: usize) {
        if let Some(ticket) = self.buses[bus].take() {
            self.at(now + self.times.transfer, Event::Moved(ticket));
        }
    }

    fn done(&mut self, now: u64, (request, step): Ticket) {
        let die = self.step((request, step)).die;
        self.dies[die].busy = false;
        for later in step + 1..self.stream.requests[request].len() {
            if self.step((request, later)).after.contains(&step) {
                self.missing[request][later] -= 1;
                if self.missing[request][later] == 0 {
                    self.is_ready(now, (request, later));
                }
            }
        }
        self.serve_die(now, die);
        if self.step((request, step)).awaited {
            self.awaited[request] -= 1;
            if self.awaited[request] == 0 {
                self.finish(now, request);
            }
        }
    }

    fn finish(&mut self, now: u64, request: usize) {
        self.responses[request] = now - self.begun_at[request];
        if let Pace::Closed(_) = self.stream.pace {
            self.begin_next(now);
        }
    }
}
