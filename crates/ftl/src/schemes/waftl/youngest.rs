//! In which order free blocks are taken when the stack levels no wear: by erase count, the youngest kept for the zone (WAFTL III.E).

use crate::api::entry::{Capabilities, Entry};
use crate::api::layout::Layout;
use crate::api::layout::Wear;
use crate::api::parameter::Values;
use crate::api::wear::{AllocRequest, Order, Purpose, WearPolicy};
use crate::api::wear_scheme::WearScheme;
use crate::schemes::waftl::hybrid_map::zone_blocks;

/// The layout with this order, if the stack names none.
pub(super) fn ordered(layout: &Layout, values: &Values) -> Layout {
    let wear = layout.wear.clone().or_else(|| Some(Wear::of::<LeastWornForZone>(values.clone())));
    Layout { wear, ..layout.clone() }
}

/// The zone takes the youngest free block of a die, other data the youngest beyond a die's share of the zone.
#[derive(Clone, Copy, Debug)]
pub(super) struct LeastWornForZone {
    reserved: usize,
}

impl WearScheme for LeastWornForZone {
    const ENTRY: Entry = Entry {
        name: "youngest for the zone",
        family: "wear",
        capabilities: Capabilities::NONE,
        source: "WAFTL III.E",
        parameters: &[],
        header: include_str!("youngest.rs"),
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

    fn place(&mut self, ask: AllocRequest, _free: usize) -> usize {
        if ask.purpose == Purpose::Log { 0 } else { self.reserved }
    }
}

#[cfg(test)]
mod tests {
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
        assert_eq!(take(Purpose::Data), all[7], "what is left is less than the zone needs, so the eldest goes");
    }
}
