//! What a command passes before its flash operations and after them: the link towards the device,
//! the controller, and the link towards the host.

use ftl::{Moment, Nanos, Timing};

use super::{Event, Node, Queues, What};
use crate::referee::rules::Rules;

pub(super) const STATIONS: usize = 3;

const LINK_IN: usize = 0;
const CONTROLLER: usize = 1;
const LINK_OUT: usize = 2;

/// The stations of a device on which nothing has begun.
pub(super) fn of(rules: &Rules) -> [Station; STATIONS] {
    let mut free = [1; STATIONS];
    free[CONTROLLER] = rules.controller_cores.unwrap_or(0);
    free.map(|free| Station { waiting: Vec::new(), free })
}

/// Serves those who come to it first come, first served.
pub(super) struct Station {
    /// Who has come: in which round, and who. Nodes are numbered in the order of issue.
    waiting: Vec<(u64, Node)>,
    /// How many more it could serve now.
    free: u32,
}

impl Station {
    pub(super) fn queue(&mut self, round: u64, node: Node) {
        self.waiting.push((round, node));
    }

    pub(super) fn leave(&mut self) {
        self.free += 1;
    }

    /// Whom it takes up now, if anybody.
    fn take_up(&mut self) -> Option<Node> {
        let first = *self.waiting.iter().min().filter(|_| self.free > 0)?;
        self.waiting.retain(|&other| other != first);
        self.free -= 1;
        Some(first.1)
    }
}

/// Where a command was, and until when.
pub(super) struct Passage {
    begin: u64,
    on_link: Moment,
    at_controller: Moment,
    /// From when to when what it reads was on the link, or waited for it.
    returned: Option<[Moment; 2]>,
}

impl Queues {
    /// A command stays at a station that it comes to after a moment.
    fn stay(&mut self, after: Moment, station: usize, time: u64) -> Moment {
        let node = self.add(What::Stay { station, time }, &[after]);
        self.moment(node, after.earliest.0 + time)
    }

    /// A command comes, with data, and to the controller.
    pub(super) fn bring(&mut self, after: Moment, bytes: u64) -> Moment {
        let moves = self.rules.link_ns(bytes);
        let moved = if moves > 0 { self.stay(after, LINK_IN, moves) } else { after };
        let on_link = self.delay(moved, Nanos(self.rules.link_latency_ns));
        let at_controller = match self.rules.controller_ns {
            time if time > 0 && self.rules.controller_cores.is_some() => self.stay(on_link, CONTROLLER, time),
            time => self.delay(on_link, Nanos(time)),
        };
        self.passages.push(Passage { begin: self.now, on_link, at_controller, returned: None });
        at_controller
    }

    /// What the command issued last has read goes to the host.
    pub(super) fn return_data(&mut self, after: Moment, bytes: u64) -> Moment {
        let moves = self.rules.link_ns(bytes);
        if moves == 0 {
            return after;
        }
        let end = self.stay(after, LINK_OUT, moves);
        self.passages.last_mut().expect("a command has come").returned = Some([after, end]);
        end
    }

    pub(super) fn serve_station(&mut self, station: usize) {
        while let Some(node) = self.stations[station].take_up() {
            let What::Stay { time, .. } = self.things[node].what else {
                unreachable!("only commands come to stations")
            };
            self.at(self.now + time, Event::Served { station, node });
        }
    }

    /// How long a command that has ended was on the link or waited for it, and how long it was at
    /// the controller or waited for that.
    pub(crate) fn link_and_controller_ns(&self, command: usize) -> [u64; 2] {
        let Passage { begin, on_link, at_controller, returned } = &self.passages[command];
        let [came, looked_at] = [on_link, at_controller].map(|&moment| self.ended_at(moment));
        let out = returned.map_or(0, |[from, until]| self.ended_at(until) - self.ended_at(from));
        [came - begin + out, looked_at - came]
    }

    /// When a moment that is over came.
    fn ended_at(&self, moment: Moment) -> u64 {
        if moment.is_known() {
            return moment.earliest.0;
        }
        self.things[moment.event().0 as usize].ended_at.expect("it is over")
    }
}
