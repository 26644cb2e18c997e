//! # dynamic: the youngest free block first
//!
//! ## Idea
//! Of the free blocks, but those that were freed lately, the one that was erased least often is
//! taken next. So blocks that are erased at all mostly stay close to each other in wear, however
//! unevenly they come back. Cold blocks are left alone: they are not free, and so are not seen.
//!
//! Over a log buffer it can be worse than nothing where the same requests come again and again in
//! the same order. Logical blocks that are merged once a round, one after another, hand each other
//! the same young blocks, which are erased once a round for ever
//! (`crates/sim/tests/sim/studies/levellers.rs`). What moves data mends that: `static`, or `bet`
//! with a threshold below the erases of a block in a round.
//!
//! Over a page map it can be worse, too, where the host rewrites collected pages next
//! (`crates/ftl/src/wear/lives.rs`). iozone-80, 20 000 requests, four dies, σ and most erases of a
//! block: 4.3 and 58, 2.0 and 24 without levelling, 1.6 and 13 with free blocks at random, 1.0 and
//! 6 with the most worn first. Under steady fin1 the order helps: σ 1.42, 1.63, 1.60 and 1.82.
//!
//! ## Source
//! Wang 2013 3.2.1 (dynamic wear levelling); the order of the free pool in its chapter 4.
//!
//! ## State
//! RAM: the erase counts of all blocks, 4 B each. Where the mapping names the die, the choice is
//! among that die's free blocks, else among those of the device. A page-mapped scheme has
//! `gc_threshold` and one free blocks on a die (on a single die at least three) when it takes one;
//! that parameter is paid out of the spare, and more of it gives the policy more to choose from.
//!
//! ## After a cut
//! Erase counts lie in the tags; nothing is lost.
//!
//! ## Costs
//! No flash operations. A die takes the next block in order of wear, in O(log n) of its free ones;
//! over the device, in O(n).
//!
//! **Rest.** A merge frees its blocks together, and the least worn ones among them would be taken
//! at once. Host writes would wait for the merge and its erases. So blocks that were freed lately
//! rest, and the least worn of the others is taken. The pool says how many rest
//! (`crates/ftl/src/blocks/pool.rs`). It is a matter of order alone: the last free block is taken
//! in any case.
//!
//! On a die that the mapping names two or three blocks are free, and none rests. There a page map
//! waits for erases: 26 % longer on one die on fin1 within 64 MiB. Over block mapping on four dies
//! requests wait about 30 % longer, and over fast on one die 30 to 43 % on fin1 within 64 MiB, 6 %
//! within 96 MiB and none within 128 MiB. Why was not isolated.
//!
//! With `free_blocks = least_worn` none rests. Then the mean response of 20 000 requests of fin1
//! within 64 MiB on four dies is 2.05 times that without levelling over kast, 1.44 times over last
//! and 1.35 times over a-sast.

use crate::api::entry::{Capabilities, Entry, Memory};
use crate::api::layout::{Layout, WearScheme};
use crate::api::parameter::{Kind, Parameter, Values};
use crate::api::wear::{Order, WearPolicy};

const FREE_BLOCKS: Parameter = Parameter {
    name: "free_blocks",
    kind: Kind::Choice { of: &["rested", "least_worn"] },
    default: "rested",
    meaning: "Which free block is taken next: the least worn of those that rested; or of all, maybe \
              before its erase has ended.",
    source: "ftlkit",
};

/// Takes the least worn free block.
#[derive(Clone, Copy, Debug)]
pub struct Dynamic {
    blocks: u32,
    order: Order,
}

impl WearScheme for Dynamic {
    const ENTRY: Entry = Entry {
        name: "dynamic",
        family: "wear",
        capabilities: Capabilities::NONE,
        memory: Memory::NONE,
        source: "Wang 2013 3.2.1",
        parameters: &[FREE_BLOCKS],
        header: include_str!("dynamic.rs"),
    };

    fn new(layout: &Layout, values: &Values) -> Self {
        let order = if values.word(FREE_BLOCKS.name) == "rested" { Order::Rested } else { Order::LeastWorn };
        Self { blocks: layout.geometry.blocks(), order }
    }
}

impl WearPolicy for Dynamic {
    fn order(&self) -> Order {
        self.order
    }

    fn tables(&self) -> Vec<(&'static str, u64)> {
        vec![("erase counts", 4 * u64::from(self.blocks))]
    }
}

#[cfg(test)]
mod tests {
    use flash::{Flash, Pbn};
    use random::SeededRng;

    use super::*;
    use crate::api::layout::Wear;
    use crate::api::report::Spares;
    use crate::api::wear::{AllocRequest, Purpose};
    use crate::blocks::manager::BlockManager;
    use crate::testing::{device, layout};

    const BLOCKS: u32 = 16;

    /// Most minus fewest erases of blocks that are held for random times, half of them at a time.
    fn spread(wear: Option<Wear>) -> u32 {
        let (mut flash, mut layout) = (device(BLOCKS, 4), layout(BLOCKS, 4, 8));
        layout.wear = wear;
        let mut blocks = BlockManager::new(&layout, Spares { total: 1, used: 0 });
        let mut rng = SeededRng::new(5);
        let mut held = Vec::new();
        for _ in 0..8_000 {
            held.push(blocks.take(AllocRequest::new(Purpose::Data)).expect("half are free"));
            if held.len() == BLOCKS as usize / 2 {
                let back = held.swap_remove((rng.bits() % u64::from(BLOCKS / 2)) as usize);
                blocks.give_back(&mut flash, back).expect("erased");
            }
        }
        let erases = || (0..BLOCKS).map(Pbn::new).map(|pbn| flash.chip().erase_count(pbn));
        erases().max().unwrap_or(0) - erases().min().unwrap_or(0)
    }

    #[test]
    fn erases_stay_closer_together_than_first_freed_first_taken() {
        let none = spread(None);
        for order in ["rested", "least_worn"] {
            let settings = [(FREE_BLOCKS.name.to_string(), order.to_string())].into_iter().collect();
            let values = Values::check("dynamic", Dynamic::ENTRY.parameters, &settings).expect("valid");
            let dynamic = spread(Some(Wear::of::<Dynamic>(values)));
            assert!(dynamic * 2 < none, "{order}: {dynamic} against {none}");
        }
    }
}
