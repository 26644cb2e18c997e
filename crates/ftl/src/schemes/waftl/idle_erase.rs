//! Offline collection (WAFTL III.D and III.E): which blocks wait to be erased, how much of an idle
//! period erases may use, and in which order free blocks are taken.
//!
//! How long an idle period will last is predicted from those before (eqs. 3 and 4). When the stack
//! levels no wear, free blocks are taken by erase count, and the youngest are kept for the zone.

use std::collections::{BTreeSet, VecDeque};

use flash::Pbn;

use crate::api::entry::{Capabilities, Entry, Memory};
use crate::api::layout::{Layout, Wear, WearScheme};
use crate::api::parameter::Values;
use crate::api::wear::{AllocRequest, Order, Purpose, WearPolicy};
use crate::port::timing::Nanos;
use crate::schemes::waftl::hybrid_map::zone_blocks;

/// Predicts the length of idle periods.
#[derive(Clone, Debug)]
pub(super) struct IdleErasePolicy {
    /// α of eq. 3: the weight of the last idle period.
    weight: f64,
    predicted_ns: f64,
    /// The shortest time that erasing a block was said to take: without waiting for anything.
    erase_ns: f64,
}

impl IdleErasePolicy {
    pub(super) fn new(weight: f64) -> Self {
        Self { weight, predicted_ns: 0.0, erase_ns: f64::INFINITY }
    }

    /// Eq. 4: blocks to erase in the period that begins.
    pub(super) fn blocks(&mut self, erase: Nanos) -> usize {
        self.erase_ns = self.erase_ns.min(erase.0 as f64);
        if self.erase_ns > 0.0 { (self.predicted_ns / self.erase_ns) as usize } else { usize::MAX }
    }

    /// Whether an erase that would be done in so long would begin before the period of which so
    /// much is left ends.
    pub(super) fn would_begin(&self, erase: Nanos, left: Nanos) -> bool {
        (erase.0 as f64 - self.erase_ns) < left.0 as f64
    }

    /// Eq. 3: a period has ended.
    pub(super) fn ended(&mut self, real: Nanos) {
        self.predicted_ns = self.weight * real.0 as f64 + (1.0 - self.weight) * self.predicted_ns;
    }
}

/// Blocks that were unpinned with nothing in them, in that order and each once; some may have been
/// collected since.
#[derive(Clone, Debug, Default)]
pub(super) struct EraseQueue {
    queue: VecDeque<Pbn>,
    queued: BTreeSet<Pbn>,
}

impl EraseQueue {
    pub(super) fn add(&mut self, blocks: impl IntoIterator<Item = Pbn>) {
        for pbn in blocks {
            if self.queued.insert(pbn) {
                self.queue.push_back(pbn);
            }
        }
    }

    pub(super) fn next(&self) -> Option<Pbn> {
        self.queue.front().copied()
    }

    pub(super) fn take(&mut self) -> Option<Pbn> {
        let pbn = self.queue.pop_front()?;
        self.queued.remove(&pbn);
        Some(pbn)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Pbn> + '_ {
        self.queue.iter().copied()
    }
}

/// The layout with this order, if the stack names none.
pub(super) fn ordered(layout: &Layout, values: &Values) -> Layout {
    let wear = layout.wear.clone().or_else(|| Some(Wear::of::<LeastWornForZone>(values.clone())));
    Layout { wear, ..layout.clone() }
}

/// The zone takes the youngest free block of a die, other data the youngest beyond a die's share of
/// the zone.
#[derive(Clone, Copy, Debug)]
pub(super) struct LeastWornForZone {
    reserved: usize,
}

impl WearScheme for LeastWornForZone {
    const ENTRY: Entry = Entry {
        name: "youngest for the zone",
        family: "wear",
        capabilities: Capabilities::NONE,
        memory: Memory::NONE,
        source: "WAFTL III.E",
        parameters: &[],
        header: include_str!("idle_erase.rs"),
    };

    fn new(layout: &Layout, values: &Values) -> Self {
        let dies = u64::from(layout.geometry.dies());
        Self { reserved: zone_blocks(layout, values).div_ceil(dies) as usize }
    }
}

impl WearPolicy for LeastWornForZone {
    fn order(&self) -> Order {
        Order::LeastWorn
    }

    fn place(&mut self, alloc: AllocRequest, _free: usize) -> usize {
        if alloc.purpose == Purpose::Log { 0 } else { self.reserved }
    }
}

#[cfg(test)]
mod prediction_tests {
    use super::*;

    #[test]
    fn periods_are_foretold_by_their_weighted_mean_and_filled_with_whole_erases() {
        let ms = |ms: f64| Nanos((ms * 1e6) as u64);
        let mut offline = IdleErasePolicy::new(0.5);
        assert_eq!(offline.blocks(ms(1.5)), 0, "idle time has not been seen yet");
        offline.ended(ms(4.0));
        assert_eq!(offline.blocks(ms(1.5)), 1, "2.0 / 1.5");
        offline.ended(ms(8.0));
        assert_eq!(offline.blocks(ms(1.5)), 3, "5.0 / 1.5");
        assert_eq!(offline.blocks(ms(9.0)), 3, "a busy die says nothing of the erase itself");
        offline.ended(ms(0.0));
        offline.ended(ms(0.0));
        assert_eq!(offline.blocks(ms(1.5)), 0, "1.25 is less than 1.5");
        assert!(offline.would_begin(ms(1.5), ms(0.1)) && !offline.would_begin(ms(1.7), ms(0.1)));
    }
}

#[cfg(test)]
mod queue_tests {
    use super::*;

    /// A block that is erased and spent again while nobody takes it from the queue stands there
    /// once, so the queue is no longer than the device.
    #[test]
    fn a_block_is_queued_once_until_it_is_taken() {
        let mut spent = EraseQueue::default();
        let [a, b] = [4, 2].map(Pbn::new);
        spent.add([a, b, a]);
        assert_eq!((spent.next(), spent.iter().collect::<Vec<_>>()), (Some(a), vec![a, b]));
        assert_eq!(spent.take(), Some(a));
        spent.add([a, b]);
        assert_eq!([spent.take(), spent.take(), spent.take()], [Some(b), Some(a), None]);
    }
}

#[cfg(test)]
mod order_tests {
    use super::super::Waftl;
    use super::*;
    use crate::api::mapping::Scheme;
    use crate::api::parameter::Settings;
    use crate::api::report::Spares;
    use crate::blocks::manager::BlockManager;
    use crate::testing::{device, layout};

    #[test]
    fn the_zone_gets_the_youngest_and_other_data_the_next_older_ones() {
        let (mut flash, mut layout) = (device(8, 4), layout(8, 4, 4));
        let settings: Settings = [("zone_blocks".to_owned(), "2".to_owned())].into();
        let values = Values::check("waftl", Waftl::ENTRY.parameters, &settings).expect("valid");
        layout.wear = Some(Wear::of::<LeastWornForZone>(values));
        let mut blocks = BlockManager::new(&layout, Spares::default());
        let all: Vec<_> = std::iter::from_fn(|| blocks.take(AllocRequest::new(Purpose::Reserve))).collect();
        for (age, &pbn) in all.iter().enumerate() {
            (0..age).for_each(|_| flash.erase(pbn).expect("erased"));
            blocks.give_back(&mut flash, pbn).expect("erased");
        }
        let mut take = |purpose| blocks.take_on(0, AllocRequest::new(purpose)).expect("free");
        assert_eq!([take(Purpose::Data), take(Purpose::Collected)], [all[2], all[3]]);
        assert_eq!([take(Purpose::Log), take(Purpose::Log), take(Purpose::Log)], [all[0], all[1], all[4]]);
        assert_eq!(take(Purpose::Data), all[7], "the rest is less than the zone needs, so the eldest goes");
    }
}
