//! Swarm workloads: each turns a random part of what a host can do off, as swarm testing does
//! (Groce et al., "Swarm Testing", ISSTA 2012).
//!
//! A workload that does a little of everything rarely does much of anything: with trims and flushes
//! in every case, a bug that needs a hundred writes without either never shows. So each swarm draws
//! which operations occur, which sizes requests have and where they go; what is left out is left
//! out for the whole case. Writes are always on, since without them nothing can go wrong. What is
//! drawn is the torture's affair. In replay lines a swarm names what is on:
//! `swarm:write+trim+block+hot`.

use std::fmt;

use ftl::FileEvent;
use random::SeededRng;

use crate::case::operation::{Extent, Operation, Space};

/// What of a swarm is on, one bit each, in the order in which replay lines name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Swarm(u16);

/// Features by group. Of each group at least one is on.
const OPERATIONS: [&str; 7] = ["write", "read", "trim", "flush", "idle", "relocate_block", "file_event"];
const SIZES: [&str; 4] = ["page", "block", "long", "whole"];
const PLACES: [&str; 4] = ["anywhere", "hot", "onward", "aligned"];

const FIRST_SIZE: usize = OPERATIONS.len();
const FIRST_PLACE: usize = FIRST_SIZE + SIZES.len();
const WRITE: usize = 0;

fn features() -> impl Iterator<Item = &'static str> {
    OPERATIONS.into_iter().chain(SIZES).chain(PLACES)
}

impl Swarm {
    /// What may be on or off: everything but writing.
    pub(crate) fn features() -> impl Iterator<Item = &'static str> {
        features().skip(1)
    }

    /// The swarm in which of [`features`](Self::features) these are on; none if it has no size or
    /// no place.
    pub(crate) fn with(on: impl IntoIterator<Item = bool>) -> Option<Self> {
        let bits = std::iter::once(true).chain(on).enumerate();
        Some(Self(bits.fold(0, |all, (feature, on)| all | u16::from(on) << feature))).filter(|swarm| swarm.is_whole())
    }

    fn is_whole(self) -> bool {
        self.0 & 1 << WRITE != 0
            && !self.among(FIRST_SIZE, SIZES.len()).is_empty()
            && !self.among(FIRST_PLACE, PLACES.len()).is_empty()
    }

    /// What is on of a group, as places in it.
    fn among(self, first: usize, features: usize) -> Vec<usize> {
        (0..features).filter(|feature| self.0 >> (first + feature) & 1 == 1).collect()
    }

    /// The operations of this swarm on a device, without end.
    pub(crate) fn operations(self, space: Space, seed: u64) -> impl Iterator<Item = Operation> + use<> {
        let mut host = Host {
            space,
            operations: self.among(0, OPERATIONS.len()),
            sizes: self.among(FIRST_SIZE, SIZES.len()),
            places: self.among(FIRST_PLACE, PLACES.len()),
            rng: SeededRng::named(seed, "swarm"),
            cursor: 0,
        };
        std::iter::repeat_with(move || host.operation())
    }

    /// Reads what [`Display`](fmt::Display) wrote, without `swarm:`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut swarm = Self(0);
        for word in text.split('+') {
            match features().position(|feature| feature == word) {
                Some(feature) => swarm.0 |= 1 << feature,
                None => return Err(advice(text)),
            }
        }
        if swarm.is_whole() { Ok(swarm) } else { Err(advice(text)) }
    }
}

fn advice(text: &str) -> String {
    format!(
        "workload swarm:{text}: name write, and what else is on of {}; at least one of {} and one of {}, for example \
         swarm:write+trim+page+hot",
        OPERATIONS[1..].join(", "),
        SIZES.join(", "),
        PLACES.join(", ")
    )
}

impl fmt::Display for Swarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let on: Vec<_> =
            features().enumerate().filter(|(bit, _)| self.0 >> bit & 1 == 1).map(|(_, name)| name).collect();
        write!(f, "swarm:{}", on.join("+"))
    }
}

/// A host that does what is on.
struct Host {
    space: Space,
    operations: Vec<usize>,
    sizes: Vec<usize>,
    places: Vec<usize>,
    rng: SeededRng,
    cursor: u32,
}

impl Host {
    fn operation(&mut self) -> Operation {
        // Half of all operations write, whatever else is on.
        let kind = if self.rng.percent(50) { WRITE } else { pick(&mut self.rng, &self.operations) };
        let extent = self.extent();
        match OPERATIONS[kind] {
            "read" => Operation::Read(extent),
            "trim" => Operation::Trim(extent),
            "flush" => Operation::Flush,
            "idle" => Operation::Idle,
            "relocate_block" => Operation::RelocateBlock(self.rng.below_u32(self.space.physical_blocks)),
            "file_event" => {
                Operation::FileEvent(FileEvent::ALL[self.rng.below_u32(FileEvent::ALL.len() as u32) as usize], extent)
            }
            _ => Operation::Write(extent),
        }
    }

    fn extent(&mut self) -> Extent {
        let Space { logical_pages, pages_per_block, .. } = self.space;
        let pages = match SIZES[pick(&mut self.rng, &self.sizes)] {
            "page" => 1,
            "block" => pages_per_block,
            "long" => self.rng.up_to(3 * pages_per_block),
            _ => logical_pages,
        };
        let first = match PLACES[pick(&mut self.rng, &self.places)] {
            "anywhere" => self.rng.below_u32(logical_pages),
            "hot" => self.rng.below_u32(logical_pages.div_ceil(8)),
            "aligned" => self.rng.below_u32(logical_pages.div_ceil(pages_per_block)) * pages_per_block,
            _ => self.cursor,
        };
        let extent = Extent::within(logical_pages, first, pages);
        self.cursor = (extent.first + extent.pages) % logical_pages;
        extent
    }
}

fn pick(rng: &mut SeededRng, among: &[usize]) -> usize {
    among[rng.below_u32(among.len() as u32) as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each feature with even chances.
    fn drawn() -> impl Iterator<Item = Swarm> {
        let mut rng = SeededRng::named(7, "swarms");
        std::iter::repeat_with(move || Swarm::with(Swarm::features().map(|_| rng.percent(50)).collect::<Vec<_>>()))
            .flatten()
    }

    #[test]
    fn every_swarm_reads_back_and_does_only_what_is_on() {
        let space = Space { logical_pages: 23, pages_per_block: 4, physical_blocks: 9 };
        for swarm in drawn().take(200) {
            let text = swarm.to_string();
            assert_eq!(Swarm::parse(text.strip_prefix("swarm:").expect("its name")), Ok(swarm), "{text}");
            for operation in swarm.operations(space, 3).take(100) {
                assert!(operation.fits(&space), "{text}: {operation}");
                let name = match operation {
                    Operation::Write(_) => "write",
                    Operation::Read(_) => "read",
                    Operation::Trim(_) => "trim",
                    Operation::Flush => "flush",
                    Operation::Idle => "idle",
                    Operation::RelocateBlock(_) => "relocate_block",
                    Operation::FileEvent(..) => "file_event",
                };
                assert!(text.contains(name), "{text}: {operation}");
            }
        }
    }

    #[test]
    fn swarms_differ_and_wrong_ones_are_refused_in_words() {
        let mut texts: Vec<_> = drawn().take(100).map(|swarm| swarm.to_string()).collect();
        texts.sort();
        texts.dedup();
        assert!(texts.len() > 90, "{}", texts.len());
        for wrong in ["", "write", "trim+page+hot", "write+page", "write+hot", "write+page+hot+fast", "write+page+hot+"]
        {
            assert!(Swarm::parse(wrong).expect_err(wrong).contains("for example"), "{wrong}");
        }
    }
}
