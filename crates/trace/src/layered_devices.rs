//! Devices that stand on each other, as a volume on its disk: both have the same requests.
//!
//! The kernel tells events of every layer, and a request to a volume of the device mapper comes
//! again as one to its disk: same operation, same size, microseconds later, its address moved by
//! what the volume's start is. Served as two devices, each request counts twice.

use std::collections::{BTreeMap, VecDeque};

use crate::record::Record;
use crate::units::several;

/// Requests before a request among which its original is looked for.
const RECENT: usize = 8;
/// How much earlier the original is at most, nanoseconds.
const WITHIN_NS: u64 = 100_000;
/// Fewest repeated requests, and their least share of a device's requests, that are worth a word.
const ENOUGH: u64 = 4;
const SHARE: f64 = 0.25;

/// Requests that come again at another device, in the making.
#[derive(Default)]
pub(crate) struct Layers {
    recent: VecDeque<Record>,
    /// By the devices of original and copy: how far the last copy was moved, and how many copies in
    /// all were moved as far as the one before.
    pairs: BTreeMap<(u32, u32), (u64, u64)>,
}

impl Layers {
    pub(crate) fn observe(&mut self, record: &Record) {
        let is_original = |earlier: &&Record| {
            earlier.device != record.device
                && (earlier.op, earlier.length) == (record.op, record.length)
                && record.time_ns - earlier.time_ns <= WITHIN_NS
        };
        if record.length > 0
            && let Some(earlier) = self.recent.iter().rev().find(is_original)
        {
            let moved = record.offset.wrapping_sub(earlier.offset);
            let (last, count) = self.pairs.entry((earlier.device, record.device)).or_insert((moved, 0));
            *count += u64::from(*last == moved);
            *last = moved;
        }
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(*record);
    }

    /// The devices that repeat another one's requests: clauses. `requests` are those of each.
    pub(crate) fn told(&self, names: &[String], requests: &[u64]) -> Vec<String> {
        let is_layer = |(_, copy): (u32, u32), count: u64| {
            count >= ENOUGH && count as f64 >= SHARE * requests[copy as usize] as f64
        };
        self.pairs
            .iter()
            .filter(|&(&pair, &(_, count))| is_layer(pair, count))
            .map(|(&(original, copy), &(_, count))| {
                format!(
                    "device {} repeats {} of {} at once, moved by a constant: one probably stands on the other, so take one \
                     (--trace-device NAME)",
                    names[copy as usize],
                    several(count, "request"),
                    names[original as usize]
                )
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use host::{Hint, HostOp};
    use random::SeededRng;

    use super::*;

    /// Requests to a device at random places, each followed by one to another device.
    fn told(rng: &mut SeededRng, moved: impl Fn(&mut SeededRng, u64) -> u64) -> Vec<String> {
        let mut layers = Layers::default();
        for n in 0..100_u64 {
            let (offset, length) = (rng.below(1 << 20) * 512, 512 << rng.below(4));
            let original =
                Record { time_ns: n * 150_000, op: HostOp::Write, offset, length, device: 0, hint: Hint::NONE };
            layers.observe(&original);
            let (offset, time_ns) = (moved(rng, offset), original.time_ns + 1 + rng.below(50_000));
            layers.observe(&Record { offset, time_ns, device: 1, ..original });
        }
        layers.told(&["253,0".to_owned(), "8,0".to_owned()], &[100, 100])
    }

    #[test]
    fn copies_moved_by_a_constant_are_said_and_other_requests_are_not() {
        let mut rng = SeededRng::named(1, "layers");
        for _ in 0..50 {
            let start = rng.below(1 << 30) * 512;
            let said = told(&mut rng, |_, offset| offset + start);
            assert!(said.concat().contains("device 8,0 repeats 100 requests of 253,0"), "{said:?}");
            assert_eq!(told(&mut rng, |rng, _| rng.below(1 << 20) * 512), Vec::<String>::new());
        }
    }
}
