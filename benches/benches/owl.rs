//! OWL's own time: what a write, a merge and a round of its scan cost beside the flash operations.
//!
//! The policy is driven alone, on a device of 2 GiB with 2 KiB pages, 64 a block: 16 384 logical
//! blocks of which half of the writes go to 1 %. A write moves a record in both lists of the block
//! access table; a merge looks its rank up; a round looks at δ of the valid block pool.
//!
//! `cargo bench --bench owl -- [--quick]`

use std::hint::black_box;
use std::time::Instant;

use flash::{Chip, ChipOptions, Geometry, Lbn, Lean, Lpn, Pbn, Shape};
use ftl::api::layout::WearScheme;
use ftl::api::wear::{AllocRequest, BlockFacts, BlockUse, Purpose, WearPolicy};
use ftl::wear::owl::Owl;
use ftl::{Layout, RelocateOutcome, Request, Settings, Values};
use random::SeededRng;

const PAGES_PER_BLOCK: u32 = 64;
const LOGICAL_BLOCKS: u32 = 16_384;
const BLOCKS: u32 = 16_882;

/// All logical blocks lie in the blocks of their numbers, one in 32 has pages in the log, and all
/// are worn alike.
struct Facts;

impl BlockFacts for Facts {
    fn blocks(&self) -> u32 {
        BLOCKS
    }

    fn use_of(&self, _pbn: Pbn) -> BlockUse {
        BlockUse::InUse(Purpose::Merge)
    }

    fn erases(&self, _pbn: Pbn) -> u32 {
        7
    }

    fn logical_blocks(&self) -> u32 {
        LOGICAL_BLOCKS
    }

    fn home_of(&self, lbn: Lbn) -> Option<Pbn> {
        Some(Pbn::new(lbn.get()))
    }

    fn is_in_log(&self, lbn: Lbn) -> bool {
        lbn.get() % 32 == 31
    }
}

fn owl(records: u32) -> Result<Owl, String> {
    let shape = Shape {
        channels: 1,
        dies_per_channel: 1,
        planes_per_die: 1,
        blocks_per_plane: BLOCKS,
        pages_per_block: PAGES_PER_BLOCK,
        page_size_bytes: 2048,
    };
    let geometry = Geometry::new(shape).map_err(|error| error.to_string())?;
    let chip: Chip<Lean> = Chip::new(geometry, &ChipOptions::default());
    let settings = Settings::from([("bat".into(), records.to_string()), ("lambda".into(), "1".into())]);
    let values = Values::check("owl", Owl::ENTRY.parameters, &settings).map_err(|error| error.to_string())?;
    let mut owl = Owl::new(&Layout::of(&chip, LOGICAL_BLOCKS * PAGES_PER_BLOCK, 1), &values);
    for lbn in 0..LOGICAL_BLOCKS {
        owl.on_used(Pbn::new(lbn), AllocRequest::of(Purpose::Data, Lbn::new(lbn)));
    }
    Ok(owl)
}

/// Logical blocks in the order in which they are written.
fn written(number: usize) -> Vec<Lbn> {
    let mut rng = SeededRng::new(3);
    let mut draw = || {
        let among = if rng.bits().is_multiple_of(2) { LOGICAL_BLOCKS / 100 } else { LOGICAL_BLOCKS };
        Lbn::new((rng.bits() % u64::from(among)) as u32)
    };
    (0..number).map(|_| draw()).collect()
}

/// Nanoseconds that one of these takes.
fn each<R>(of: &[Lbn], mut what: impl FnMut(Lbn) -> R) -> f64 {
    let begun = Instant::now();
    for &lbn in of {
        black_box(what(lbn));
    }
    begun.elapsed().as_nanos() as f64 / of.len() as f64
}

fn main() {
    let quick = std::env::args().any(|word| word == "--quick" || word == "--test");
    let writes = written(if quick { 2_000 } else { 1_000_000 });
    println!("{:<10} {:>12} {:>12} {:>12}", "records", "ns a write", "ns a merge", "ns a round");
    for records in [256, 512, 1024] {
        let mut owl = match owl(records) {
            Ok(owl) => owl,
            Err(error) => {
                eprintln!("{error}");
                std::process::exit(1);
            }
        };
        let request = |lbn: Lbn| Request::new(Lpn::new(lbn.get() * PAGES_PER_BLOCK), 1);
        let write = each(&writes, |lbn| owl.on_write(&request(lbn)));
        let merge = each(&writes, |lbn| owl.place(AllocRequest::of(Purpose::Merge, lbn), 498));
        // With λ = 1 each write begins a round.
        let round = each(&writes[..writes.len() / 500], |lbn| {
            owl.on_write(&request(lbn));
            if let Some(named) = owl.next_move(&Facts) {
                owl.on_moved(named, RelocateOutcome::Done);
            }
        });
        println!("{records:<10} {write:>12.1} {merge:>12.1} {round:>12.0}");
    }
}
