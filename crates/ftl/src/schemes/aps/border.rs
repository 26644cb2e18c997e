//! The border between the RAM for data and that for the map: where it is, and when it moves.

use crate::schemes::aps::parameters::{ENTRY_BYTES, Sizes};

/// Index of the map's part in what both parts have, and of the data's.
pub(super) const MAP: usize = 0;
pub(super) const DATA: usize = 1;

/// The border, and what both parts hold.
pub(super) struct Border {
    pub(super) sizes: Sizes,
    /// Bytes for data; the rest is for the map.
    pub(super) data_bytes: u64,
    /// Bytes in use of each part.
    pub(super) used: [u64; 2],
    /// What a step more of each part would have saved since the border was judged, and what a step
    /// less would have cost.
    pub(super) gains: [u64; 2],
    pub(super) losses: [u64; 2],
}

impl Border {
    /// Both parts are as large as each other, and empty.
    pub(super) fn in_the_middle(sizes: Sizes) -> Self {
        Self { data_bytes: sizes.ram / 2, used: [0; 2], gains: [0; 2], losses: [0; 2], sizes }
    }

    /// Moves the border by a step to where that gains more than it costs.
    pub(super) fn judge(&mut self) {
        let (gains, losses) = (std::mem::take(&mut self.gains), std::mem::take(&mut self.losses));
        let worth = |more: usize, less: usize| gains[more].saturating_sub(losses[less]);
        let (for_map, for_data) = (worth(MAP, DATA), worth(DATA, MAP));
        let Sizes { ram, page, step, .. } = self.sizes;
        if for_data > for_map {
            self.data_bytes = (self.data_bytes + step).min(ram - page);
        } else if for_map > for_data {
            self.data_bytes = self.data_bytes.saturating_sub(step).max(page);
        }
    }

    /// Bytes for a part, and of one of its items.
    pub(super) fn part(&self, which: usize) -> (u64, u64) {
        if which == DATA { (self.data_bytes, self.sizes.page) } else { (self.sizes.ram - self.data_bytes, ENTRY_BYTES) }
    }

    /// Whether a part has no room by the border.
    pub(super) fn is_full(&self, which: usize) -> bool {
        let (bytes, item) = self.part(which);
        self.used[which] + item > bytes
    }

    /// A ghost of a part came back, at this cost: it counts if the border keeps room from the part.
    ///
    /// Where the other part is not full the border would move through room that the part has
    /// already. If it did, a map that still grows towards its share would find it taken, and the
    /// hits of one that is used in turns fall off a cliff that a step's worth of ghosts and tail
    /// does not see.
    pub(super) fn ghost_came(&mut self, which: usize, cost: u64) {
        if self.is_full(MAP) && self.is_full(DATA) {
            self.gains[which] += cost;
        }
    }

    /// Something in the tail of a part was used, which saved so much: it counts if a step less
    /// would have taken it from the part.
    pub(super) fn tail_was_hit(&mut self, which: usize, saved: u64) {
        let (bytes, _) = self.part(which);
        if self.used[which] + self.sizes.step > bytes {
            self.losses[which] += saved;
        }
    }
}
