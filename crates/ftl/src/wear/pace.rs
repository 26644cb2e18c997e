//! When a policy looks at all blocks again.

/// Looks once in so many erases that a look costs each erase a bounded number of blocks; and again
/// while looks find something to do.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    every: u32,
    erases: u32,
}

/// Blocks that are looked at for each erase, about.
const BLOCKS_PER_ERASE: u32 = 256;

impl Pace {
    /// For a device of this many blocks; the first look is due.
    pub fn new(blocks: u32) -> Self {
        let every = (blocks / BLOCKS_PER_ERASE).max(1);
        Self { every, erases: every }
    }

    /// A block has been erased.
    pub fn on_erased(&mut self) {
        self.erases = self.erases.saturating_add(1);
    }

    /// Whether a look is due.
    pub fn is_due(self) -> bool {
        self.erases >= self.every
    }

    /// A look found something to do, or not.
    pub fn on_looked(&mut self, found: bool) {
        self.erases = if found { self.every } else { 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_devices_are_looked_at_after_each_erase_and_large_ones_seldom() {
        let looks = |blocks: u32| {
            let mut pace = Pace::new(blocks);
            pace.on_looked(false);
            let due = |_: &u32| {
                pace.on_erased();
                pace.is_due() && {
                    pace.on_looked(false);
                    true
                }
            };
            (0..64).filter(due).count()
        };
        assert_eq!([10, 256, 1024, 16 * 256].map(looks), [64, 64, 16, 4]);
        let mut pace = Pace::new(4096);
        assert!(pace.is_due());
        pace.on_looked(true);
        assert!(pace.is_due(), "there may be more");
    }
}
