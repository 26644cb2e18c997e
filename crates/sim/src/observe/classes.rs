//! Latency by class: what kind of work an operation belongs to, how long it waited, and how long it
//! was served.
//!
//! *Service* is what the operation takes on an idle device, *waiting* all else from the moment when
//! it is ready to the moment when it is done: for its die, and in the middle of its work for its
//! channel. So the two add up to the operation's cost for a waiting request, and contention for
//! a channel is not hidden in the service.
//!
//! Limits: operations are looked at one by one. A request of several, or a whole collection, takes
//! longer than each of them. The service of a class that has one kind of operation is the same for
//! all whose page is of one type; only a collection mixes kinds.

use ftl::{Cause, FlashOp, WorkKind};

use crate::observe::metrics::Latency;
use crate::result::ClassLatency;

/// What kind of work an operation belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Class {
    HostRead,
    HostWrite,
    MappingRead,
    MappingWrite,
    Collection,
    Other,
}

impl Class {
    const COUNT: usize = 6;

    /// All, in index order, with their names in results.
    const NAMED: [(Self, &'static str); Self::COUNT] = [
        (Self::HostRead, "host_read"),
        (Self::HostWrite, "host_write"),
        (Self::MappingRead, "mapping_read"),
        (Self::MappingWrite, "mapping_write"),
        (Self::Collection, "collection"),
        (Self::Other, "other"),
    ];

    /// The class of an operation. Moving data to make room is one class whatever is moved and
    /// however the scheme calls it.
    fn of(cause: Cause, op: FlashOp) -> Self {
        match (cause.work(), op) {
            (WorkKind::Host, FlashOp::Read) => Self::HostRead,
            (WorkKind::Host, FlashOp::Program) => Self::HostWrite,
            (WorkKind::Mapping, FlashOp::Read) => Self::MappingRead,
            (WorkKind::Mapping, FlashOp::Program) => Self::MappingWrite,
            (WorkKind::Moving, _) => Self::Collection,
            (WorkKind::Recovery | WorkKind::Preparation, _) | (WorkKind::Host | WorkKind::Mapping, FlashOp::Erase) => {
                Self::Other
            }
        }
    }
}

/// Waiting and service times of all classes.
pub(crate) struct ClassTimes {
    waiting: [Latency; Class::COUNT],
    service: [Latency; Class::COUNT],
}

impl ClassTimes {
    pub(crate) fn new() -> Self {
        Self { waiting: std::array::from_fn(|_| Latency::new()), service: std::array::from_fn(|_| Latency::new()) }
    }

    pub(crate) fn record(&mut self, (cause, op): (Cause, FlashOp), waiting_ns: u64, service_ns: u64) {
        let class = Class::of(cause, op) as usize;
        self.waiting[class].record(waiting_ns);
        self.service[class].record(service_ns);
    }

    /// The classes that have operations.
    pub(crate) fn result(&self) -> Vec<ClassLatency> {
        Class::NAMED
            .iter()
            .map(|&(class, name)| (name, &self.waiting[class as usize], &self.service[class as usize]))
            .map(|(name, waiting, service)| ClassLatency {
                name,
                waiting_ns: waiting.responses(),
                service_ns: service.responses(),
                waiting_cdf: waiting.cdf(),
                service_cdf: service.cdf(),
            })
            .filter(|latency| latency.waiting_ns.count > 0)
            .collect()
    }
}
