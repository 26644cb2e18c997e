//! # saw: the host says how hot the data are, and hot data get young blocks
//!
//! ## Idea
//! A drive must guess which data will be rewritten, and a file system can count it. The host gives
//! each type of file a temperature degree, from 0 for what is never written again to T, and says it
//! with every write. The free blocks stand by wear in T groups, each half as large as the one
//! before. Data of degree d get a block of group T - d: what is rewritten often uses up young
//! blocks, and what rests is put on old ones, which then rest as well.
//!
//! ```text
//!   free blocks, youngest first  0 1 2 3 4 5 6 7 | 8 9 10 11 | 12 13 | 14 | 15
//!   group, T = 5                        1             2          3     4    5
//!   degree                            5, 4            3          2     1    0
//! ```
//!
//! ## Source
//! Wang 2013 chapter 7 (SAW): equation 7.12 for the groups, 7.3.2 for pages that collections move.
//! Degrees come with the host's hints (`crates/analyzer` computes them by equations 7.1 to 7.11).
//!
//! What the chapter leaves open is settled so. Of a group the least worn block is taken. Data of
//! which the host says nothing, such as a file system's own tables, get the least worn block of
//! all, so without hints this is `dynamic:free_blocks=least_worn`. Blocks that were freed lately do
//! not rest as they do under `dynamic`, since the chapter divides all free blocks into groups.
//! Requests may wait for their erases. Where data of several types share a block, it suits the page
//! that it was opened for: the first that a collection moves into it, or the first of those that a
//! merge puts together. A page that is moved has the degree that was said last of its type: tags
//! keep the number of the type, and what the host said of it is remembered, whether it came with a
//! write or was told (`FileEvent::Rated`). A mounted volume tells it of all types after each
//! interval, and of the type that a rename gives (`FileEvent::Renamed`). The file workloads say it
//! with writes alone, so that data of a type that is no longer written keep the degree that they
//! had when it was. With `page:streams=hints` tags keep the stream instead, and what was said last
//! of the stream holds. Over waftl what a merge puts together counts as data of which nothing is
//! said, and so does what bdb held in RAM.
//!
//! ## State
//! RAM: a byte for each number of a type and of a stream, 512 B; the erase counts of all blocks, 4
//! B each. Flash: a byte of each tag. Where the mapping names the die, the groups are of that die's
//! free blocks: page-mapped schemes have few, and more with a higher `gc_threshold` (see dynamic).
//!
//! ## After a cut
//! Erase counts and types lie in tags; those of a renamed file's pages change when they are moved.
//! What was said of types is forgotten; until the host says it again, data that are moved count as
//! data of which nothing is said.
//!
//! ## Costs
//! No flash operations. How much it helps depends on how many free blocks there are to choose from:
//! with 14 blocks of 64 free of data and a tenth of the data rewritten 49 times as often as the
//! rest, σ after 64 000 erases was 3.3 times smaller than with `dynamic` over fast, 56 times over
//! superblock, 4.3 times over page and 1.1 times over dftl with `gc_threshold = 6`, and not smaller
//! over waftl, where all that is written goes to a zone first
//! (`cargo test -p ftlkit-ftl --test ftl evenness::told_what`).
//!
//! With files it depends on the size of the device, too. With postmark on 50 000 files, types used
//! alike, and 8 192 blocks (960 MiB), σ over page was 1.0 after 154 erases a block, against 3.9
//! with `dynamic`. What helps there is that tables and folders, of which nothing is said, get
//! younger blocks than data do: with tables that are said to have degree 0 it was 9.3 instead of
//! 1.0 after 15 erases, and 3.3 without levelling. With a sixteenth of everything it was 1.8,
//! against 1.1 with `dynamic`.
//!
//! On small devices with many free blocks it does harm. Degrees go to types by rank, and half of
//! the free blocks are for the two highest. With postmark's files on a volume of 64 MiB (4 000
//! files, 200 000 transactions, `interval = 2000`, `volume_bytes = 67108864`) and one die of 800
//! blocks of 64 pages of 2 KiB, of which 230 are free, σ over fast was 46.6 against 1.9 with
//! `dynamic` (names `letters`, 132 erases a block) and 35.8 against 2.7 (`mix`, 100). It grows with
//! `degrees` there, and with one degree there is one group and `saw` is `dynamic`
//! (`ftlkit reproduce saw`, figures *The number of degrees T*). Here `dynamic` takes the least worn
//! block of all. Which of a merge's pages speaks for the block decides less
//! (docs/reproduce/saw.md).

use host::FileEvent;

use crate::api::entry::{Capabilities, Entry, Memory};
use crate::api::layout::{Layout, WearScheme};
use crate::api::parameter::{Kind, Parameter, Values};
use crate::api::request::Request;
use crate::api::wear::{AllocRequest, Order, WearPolicy};
use crate::wear::temperatures::{DEGREES, FreeBlocks, Knowledge};

const KNOWLEDGE: Parameter = Parameter {
    name: "knowledge",
    kind: Kind::Choice { of: &["degrees", "files", "drawn"] },
    default: "degrees",
    meaning: "Use of the host's hints: degrees, as they come; files, half of T as the degree of all data of files; \
              drawn, a random degree for each type of file. The last two show the worth of degrees.",
    source: "ftlkit",
};

/// System-assisted wear levelling: the drive's half.
#[derive(Clone, Debug)]
pub struct Saw {
    free: FreeBlocks,
    blocks: u32,
}

impl WearScheme for Saw {
    const ENTRY: Entry = Entry {
        name: "saw",
        family: "wear",
        capabilities: Capabilities::NONE,
        memory: Memory::NONE,
        source: "Wang 2013 ch. 7",
        parameters: &[DEGREES, KNOWLEDGE],
        header: include_str!("saw.rs"),
    };

    fn new(layout: &Layout, values: &Values) -> Self {
        let knowledge = match values.word(KNOWLEDGE.name) {
            "degrees" => Knowledge::Degrees,
            "files" => Knowledge::Files,
            _ => Knowledge::Drawn,
        };
        Self { free: FreeBlocks::by_temperature(values).with_knowledge(knowledge), blocks: layout.geometry.blocks() }
    }
}

impl WearPolicy for Saw {
    fn order(&self) -> Order {
        self.free.order()
    }

    fn place(&mut self, alloc: AllocRequest, free: usize) -> usize {
        self.free.place(alloc, free)
    }

    fn keeps_file_types(&self) -> bool {
        true
    }

    fn observes_writes(&self) -> bool {
        true
    }

    fn on_write(&mut self, request: &Request) {
        self.free.on_hint(request.hint);
    }

    fn on_file_event(&mut self, _event: FileEvent, of: &Request) {
        self.free.on_hint(of.hint);
    }

    fn tables(&self) -> Vec<(&'static str, u64)> {
        self.free.tables(self.blocks).collect()
    }
}

#[cfg(test)]
mod tests {
    use flash::{Flash, Pbn};
    use host::Hint;
    use random::SeededRng;

    use super::*;
    use crate::api::layout::Wear;
    use crate::api::parameter::Settings;
    use crate::api::report::Spares;
    use crate::api::wear::Purpose;
    use crate::blocks::manager::BlockManager;
    use crate::testing::{device, layout};
    use crate::wear::dynamic::Dynamic;

    const BLOCKS: u32 = 64;

    /// Standard deviation of erases where 40 pieces of data have a block each: 30 that are cold are
    /// rewritten once in a while, the others all the time; the host says which are cold, or
    /// nothing.
    fn sigma(wear: Wear, says: bool) -> f64 {
        let (mut flash, mut layout) = (device(BLOCKS, 4), layout(BLOCKS, 4, 8));
        layout.wear = Some(wear);
        let mut blocks = BlockManager::new(&layout, Spares { total: 1, used: 0 });
        let mut rng = SeededRng::new(3);
        let hint = |piece: usize| if says { Hint::new(0, if piece < 30 { 1 } else { 10 }, 0) } else { Hint::NONE };
        let take = |blocks: &mut BlockManager, piece| {
            blocks.take(AllocRequest::new(Purpose::Data).hinted(hint(piece))).expect("free")
        };
        let mut held: Vec<Pbn> = (0..40).map(|piece| take(&mut blocks, piece)).collect();
        for _ in 0..40_000 {
            let roll = (rng.bits() >> 33) as usize;
            let piece = if roll.is_multiple_of(50) { roll / 50 % 30 } else { 30 + roll / 50 % 10 };
            let block = take(&mut blocks, piece);
            let old = std::mem::replace(&mut held[piece], block);
            blocks.give_back(&mut flash, old).expect("erased");
        }
        let counts: Vec<_> = (0..BLOCKS).map(|block| f64::from(flash.chip().erase_count(Pbn::new(block)))).collect();
        let mean = counts.iter().sum::<f64>() / counts.len() as f64;
        (counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / counts.len() as f64).sqrt()
    }

    fn saw() -> Wear {
        Wear::of::<Saw>(Values::check("saw", Saw::ENTRY.parameters, &Settings::default()).expect("defaults"))
    }

    #[test]
    fn with_hints_erases_stay_closer_together_than_with_the_least_worn_first_and_without_as_close() {
        let dynamic = || {
            let settings = [("free_blocks".to_string(), "least_worn".to_string())].into_iter().collect();
            Wear::of::<Dynamic>(Values::check("dynamic", Dynamic::ENTRY.parameters, &settings).expect("valid"))
        };
        let [plain, hinted, silent] =
            [(dynamic(), true), (saw(), true), (saw(), false)].map(|(wear, says)| sigma(wear, says));
        assert!(1.5 * hinted < plain, "σ {hinted} against {plain}");
        assert!((silent - plain).abs() < f64::EPSILON, "σ {silent} against {plain}");
    }
}
