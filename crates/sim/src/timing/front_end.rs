//! What every request passes on its way to the flash and back: the host link and the controller.
//!
//! ```text
//! request ──▶ link in ──▶ controller ──▶ flash operations ──▶ link out ──▶ done
//!             command,    a core for     in the order that    data that
//!             data        so long        the scheme says      was read
//! ```
//!
//! Each of the three is a station that serves first come, first served. How long it serves somebody
//! is known when they come, so their end is known then, too, and no queue has to be kept: a station
//! is the moments at which its servers are free.

use serde::{Deserialize, Serialize};

use crate::latencies::Latencies;

/// What the link to the host and the controller take; nothing by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrontEnd {
    /// Bytes that the link moves in a second, each way; none: data move at once.
    pub link_bytes_per_s: Option<u64>,
    /// What a command takes on the link besides its data, in nanoseconds; it holds nothing.
    pub link_ns: u64,
    /// Commands that the controller can be at in the same time; none: all.
    pub cores: Option<u32>,
    /// What a command takes of the controller, in nanoseconds.
    pub core_ns: u64,
}

impl FrontEnd {
    /// The slowest link.
    const LEAST_BYTES_PER_S: u64 = 1000;

    /// Nothing that takes time.
    pub(crate) const NONE: Self = Self { link_bytes_per_s: None, link_ns: 0, cores: None, core_ns: 0 };

    /// Refuses what no link or controller can be, as a file may tell it.
    pub fn check(&self) -> Result<(), String> {
        let Self { link_bytes_per_s, link_ns, cores, core_ns } = *self;
        let is_slow = link_bytes_per_s.is_some_and(|rate| rate < Self::LEAST_BYTES_PER_S);
        if is_slow || link_ns.max(core_ns) > Latencies::MAX_NS || cores == Some(0) {
            return Err(format!(
                "a link of {} bytes per second, {} cores, {link_ns} and {core_ns} ns per command; at least {} bytes per second and 1 core, and at \
                 most {} ns are possible",
                link_bytes_per_s.map_or("unlimited".to_owned(), |rate| rate.to_string()),
                cores.map_or("unlimited".to_owned(), |cores| cores.to_string()),
                Self::LEAST_BYTES_PER_S,
                Latencies::MAX_NS
            ));
        }
        Ok(())
    }

    /// How long this many bytes hold the link.
    pub(crate) fn transfer_ns(&self, bytes: u64) -> u64 {
        self.link_bytes_per_s.map_or(0, |rate| (u128::from(bytes) * 1_000_000_000).div_ceil(rate.into()) as u64)
    }
}

/// Where somebody is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The link towards the device.
    LinkIn = 0,
    /// The controller.
    Controller = 1,
    /// The link towards the host.
    LinkOut = 2,
}

/// Servers that take arrivals in order.
#[derive(Clone, Default)]
struct Station {
    /// When each server is free; none where everybody is served at once.
    free_at: Vec<u64>,
    busy_ns: u64,
}

impl Station {
    fn of(servers: usize) -> Self {
        Self { free_at: vec![0; servers], busy_ns: 0 }
    }

    /// Serves somebody who comes now; returns when that is over.
    fn serve(&mut self, now: u64, service_ns: u64) -> u64 {
        let Some(free_at) = self.free_at.iter_mut().min() else { return now + service_ns };
        *free_at = now.max(*free_at) + service_ns;
        self.busy_ns += service_ns;
        *free_at
    }

    /// For how long its servers have been at work, on average.
    fn busy_ns(&self, now: u64) -> u64 {
        let ahead: u64 = self.free_at.iter().map(|free_at| free_at.saturating_sub(now)).sum();
        self.busy_ns.saturating_sub(ahead) / self.free_at.len().max(1) as u64
    }
}

/// The stations of a device.
pub(super) struct Stations {
    pub(super) front_end: FrontEnd,
    places: [Station; 3],
    /// Entries that have come in this round.
    pub(super) came: Vec<u32>,
}

impl Stations {
    /// Idle stations; none where nothing takes time.
    pub(super) fn new(front_end: FrontEnd) -> Option<Self> {
        (front_end != FrontEnd::NONE).then(|| {
            let link = || Station::of(usize::from(front_end.link_bytes_per_s.is_some()));
            let controller = Station::of(front_end.cores.map_or(0, |cores| cores as usize));
            Self { front_end, places: [link(), controller, link()], came: Vec::new() }
        })
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.came.clear();
        for station in &mut self.places {
            station.free_at.fill(0);
            station.busy_ns = 0;
        }
    }

    /// Serves somebody who comes now; returns when they may go on. Who brings nothing does not wait
    /// for who does.
    pub(super) fn serve(&mut self, place: usize, now: u64, service_ns: u64) -> u64 {
        let end = if service_ns == 0 { now } else { self.places[place].serve(now, service_ns) };
        if place == Place::LinkIn as usize { end + self.front_end.link_ns } else { end }
    }

    /// For how long the link was busy, the way that was busier; none if data move at once.
    pub(super) fn link_busy_ns(&self, now: u64) -> Option<u64> {
        let [inward, _, outward] = &self.places;
        self.front_end.link_bytes_per_s.map(|_| inward.busy_ns(now).max(outward.busy_ns(now)))
    }

    /// For how long a core was busy on average; none if there is one for everybody.
    pub(super) fn controller_busy_ns(&self, now: u64) -> Option<u64> {
        self.front_end.cores.map(|_| self.places[Place::Controller as usize].busy_ns(now))
    }
}
