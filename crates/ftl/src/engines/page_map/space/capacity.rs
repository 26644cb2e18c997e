//! Whether what has to be valid at once fits into a space.

use super::{PageSpace, SpaceNeeds};
use crate::api::layout::Layout;
use crate::api::report::Spares;
use crate::port::error::ConfigError;

impl PageSpace {
    /// Valid pages that a space is sure to hold: each die sets aside its free blocks and one open
    /// block a stream, and its static pSLC blocks.
    fn capacity_pages(layout: &Layout, needs: &SpaceNeeds, levels: bool) -> u64 {
        let mut good = vec![0_u64; layout.geometry.dies() as usize];
        let statics = needs.static_blocks(layout);
        for pbn in layout.good_blocks.iter().filter(|pbn| !statics.contains(pbn)) {
            good[layout.geometry.die_of(*pbn) as usize] += 1;
        }
        let set_aside = (needs.set_aside() + usize::from(levels)) as u64;
        let usable: u64 = good.iter().map(|blocks| blocks.saturating_sub(set_aside)).sum();
        usable.saturating_sub(needs.missing_statics(layout)) * u64::from(needs.dense_pages(layout))
    }

    /// Refuses a layout whose valid pages might not fit; otherwise tells how many blocks may fail.
    pub(super) fn require(
        layout: &Layout,
        needs: &SpaceNeeds,
        levels: bool,
        scheme: &str,
    ) -> Result<Spares, ConfigError> {
        let &SpaceNeeds { valid, summaries, .. } = needs;
        let capacity = Self::capacity_pages(layout, needs, levels);
        let content_pages = u64::from(summaries.content_pages());
        if valid <= capacity {
            let total = (capacity - valid) / u64::from(needs.dense_pages(layout)).max(1);
            return Ok(Spares { total: total as u32, used: 0 });
        }
        if layout.in_use {
            return Ok(Spares::READ_ONLY);
        }
        let good = layout.good_blocks.len() as u64 * content_pages;
        let free = needs.threshold.max(1) + needs.free_for_classes();
        let open = needs.set_aside() + usize::from(levels) - free;
        let statics = match needs.static_blocks(layout).len() {
            0 => String::new(),
            blocks => format!("{blocks} blocks are only ever pSLC and "),
        };
        let levelling = if levels {
            let policy = layout.wear.as_ref().map_or("none", |wear| wear.entry().name);
            format!(" (one of the open ones for what {policy} moves)")
        } else {
            String::new()
        };
        let filling = match SpaceNeeds::padding(layout) {
            0 => String::new(),
            pages => format!(
                ", and collections fill each block up with {pages} pages or less, so that a power cut takes nothing"
            ),
        };
        Err(ConfigError(format!(
            "{scheme} needs {valid} pages for data and maps, but of the device's {good} usable pages only {capacity} are left after \
             {statics}each of {} dies keeps {open} open and {free} free blocks{levelling}{filling}; \
             raise device.spare, use more blocks per plane or fewer dies",
            layout.geometry.dies(),
        )))
    }
}
