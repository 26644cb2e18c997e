//! # owl: blocks of an age that suits the data, chosen in merges
//!
//! ## Idea
//! What makes blocks wear unevenly is data, some rewritten often and some never. A merge knows
//! whose data it puts together, so it can choose the age of the block: one that is rewritten often
//! goes into a young block, one that is not into an old one, and nothing needs to be moved for
//! wear's sake alone. What merges never see, data that are never updated or so often that their log
//! pages are stale before their turn comes, a slow scan finds and moves off young blocks.
//!
//! ```text
//!   free blocks, youngest first    [F0] [F1] [F2] [F3]
//!   merge of a logical block       rank in the table ─▶ place = (1 − rank ÷ size) × free blocks
//!   a new data block, a log block  F0
//!   a block that the scan names    F3
//! ```
//!
//! ## Source
//! Wang 2013 chapter 4 (OWL): figure 4.1 and algorithm 1, 4.4 for the table, 4.5 and figure 4.2 for
//! scan and transfer. `scan = off` is its OWL-nc, and `allocation = temperature` its O-SAW of 7.5,
//! see saw.
//!
//! What chapter 4 leaves open is settled so. A request counts once for each logical block that it
//! touches, and after it has been written. The rank is the place in the ghost list, counted from 0;
//! a logical block without a record has rank 0. k counts all rounds since pt was set, since only
//! then has pt's block stayed for Γ·λ requests when k exceeds Γ. The first scan begins at the head
//! of the pool, and each goes on where the last one ended, as the hand of a clock does; with
//! `scan = head` each begins at the head. What was found and has pages in the log again, or is not
//! young any more, is passed over, and goes to the end of the pool. What a scan finds stands before
//! all others, where the thesis inserts it before pt. Data that the scan moves go into the eldest
//! free block. Blocks that were freed lately do not rest as they do under `dynamic`: 4.4 gives log
//! blocks and new data the youngest free block, and merges one by its place among all. Requests may
//! wait for the erases of a merge.
//!
//! **Where it is less even than no levelling.** The rank says how often data are written among
//! those in the table, not whether they rest. Data without a record get the eldest free block.
//! Where fewer logical blocks are written than the table has records, all data get old ones, since
//! algorithm 1 divides by the size of the table. If they are rewritten soon, the eldest block is
//! soon free again, and the eldest again. σ and the most erases of a block over fast on the default
//! device, 60 000 requests within 64 MiB:
//!
//! | | dies | owl | none |
//! |---|---|---|---|
//! | iozone-4 | 1 | 82.3, 220 | 1.9, 145 |
//! | iozone-4 | 2 | 33.3, 101 | 0.6, 42 |
//! | iozone-4 | 4 | 9.0, 37 | 0.3, 12 |
//! | iozone-4 | 8 | 2.3, 17 | 0.5, 4 |
//! | iozone-80 | 1 | 32.6, 224 | 19.2, 147 |
//! | iozone-80 | 2 | 17.8, 132 | 4.5, 53 |
//! | tpcc | 1 | 2.3, 8 | 1.6, 5 |
//!
//! If algorithm 1 divided by the number of records in the table, σ of iozone-4 on four dies would
//! be 5.3 times that of none in place of 30 times: equally hot data have ranks all the same. Runs
//! of few erases a block are above none, too: on fin2 after 15 000 requests, at 0.9 erases a block,
//! σ is 0.52 against 0.44. In all that was measured, σ exceeds that of none by less than the mean
//! erases of a block, to which `crates/sim/tests/sim/studies/levellers.rs` holds it. After 100 000
//! requests of `mds_0` and devdiv91, σ is 75 and 90 % below that of none.
//!
//! ## State
//! RAM: the table, 12 B a record; the valid block pool, 8 B a logical block; the erase counts, 4 B
//! a block.
//!
//! Over block mapping no logical block is ever in a log: so scans find what is young, and pt
//! nothing. A mapping whose blocks hold pages of several logical blocks cannot be asked whose a
//! merge is.
//!
//! ## After a cut
//! Erase counts lie in the tags. The table begins empty. The pool begins with the data blocks that
//! recovery finds, in the order of logical blocks.
//!
//! ## Costs
//! In `lambda` write requests at most one logical block is merged that need not be. A merge looks
//! at up to `bat` records for the rank. A round of the scan looks at `delta` of the pool, and for
//! pt at the pool up to the first logical block in the log.

pub mod access_table;
pub mod scan;
#[cfg(test)]
mod tests;

use flash::{Geometry, Lbn, Pbn};
use host::Hint;

use crate::api::entry::{Capabilities, Entry, Memory};
use crate::api::layout::Layout;
use crate::api::layout::{WearScheme, keeps_logical_blocks};
use crate::api::parameter::{Kind, Parameter, Values};
use crate::api::request::Request;
use crate::api::wear::RelocateOutcome;
use crate::api::wear::{AllocRequest, BlockFacts, Order, Purpose, WearPolicy};
use crate::linked_lists::LinkedLists;
use crate::wear::owl::access_table::AccessTable;
use crate::wear::owl::scan::{Scan, ScanStart};
use crate::wear::temperatures::{DEGREES, FreeBlocks};
use host::FileEvent;

const BAT: Parameter = Parameter {
    name: "bat",
    kind: Kind::Blocks { min: 1, max: 1 << 16 },
    default: "256",
    meaning: "Records of the block access table, 12 B each; more remembers logical blocks for longer after their last write.",
    source: "Wang 2013 4.4 (3 KB)",
};

const SCAN: Parameter = Parameter {
    name: "scan",
    kind: Kind::Choice { of: &["onward", "head", "off"] },
    default: "onward",
    meaning: "Where a scan for cold and very hot data begins: onward where the last one ended, head at those that have their block the longest; off is OWL-nc.",
    source: "Wang 2013 4.5",
};

const LAMBDA: Parameter = Parameter {
    name: "lambda",
    kind: Kind::Integer { min: 1, max: u32::MAX as u64 },
    default: "1000",
    meaning: "Write requests between two rounds of the scan; more moves less.",
    source: "Wang 2013 4.6.1",
};

const DELTA: Parameter = Parameter {
    name: "delta",
    kind: Kind::Ratio { min: 0.0, max: 1.0 },
    default: "0.004",
    meaning: "Share of the data blocks that a round looks at, rounded up; more finds more to move.",
    source: "Wang 2013 4.6.1",
};

const GAMMA: Parameter = Parameter {
    name: "gamma",
    kind: Kind::Integer { min: 0, max: u32::MAX as u64 },
    default: "50",
    meaning: "Rounds that a data block with pages in the log stays unmerged until its data count as very hot.",
    source: "Wang 2013 4.6.1",
};

const ALLOCATION: Parameter = Parameter {
    name: "allocation",
    kind: Kind::Choice { of: &["table", "temperature"] },
    default: "table",
    meaning: "What says how old a block a merge gets: the block access table, or the temperature that the host hints at, as saw does; that is \
              O-SAW.",
    source: "Wang 2013 ch. 4; temperature: 7.5",
};

/// What knows how old a block suits which data.
#[derive(Clone, Debug)]
enum AgeSource {
    Table(AccessTable),
    Temperatures(FreeBlocks),
}

/// Observational wear levelling.
#[derive(Clone, Debug)]
pub struct Owl {
    geometry: Geometry,
    ages: AgeSource,
    pool: Option<Scan>,
    pool_bytes: u64,
    /// λ, and the write requests since the last round.
    interval: u64,
    written: u64,
    /// The logical block that it has named to be moved.
    moving: Option<Lbn>,
}

impl WearScheme for Owl {
    const ENTRY: Entry = Entry {
        name: "owl",
        family: "wear",
        capabilities: Capabilities::NONE,
        memory: Memory::per_block(LinkedLists::NODE_BYTES),
        source: "Wang 2013 ch. 4",
        parameters: &[BAT, SCAN, LAMBDA, DELTA, GAMMA, ALLOCATION, DEGREES],
        header: include_str!("owl.rs"),
    };

    fn suits(mapping: &Entry) -> Result<(), String> {
        keeps_logical_blocks(mapping)
    }

    fn new(layout: &Layout, values: &Values) -> Self {
        let ages = match values.word(ALLOCATION.name) {
            "temperature" => AgeSource::Temperatures(FreeBlocks::by_temperature(values)),
            _ => AgeSource::Table(AccessTable::new(values.integer("bat") as u32)),
        };
        let begin = match values.word("scan") {
            "off" => None,
            "head" => Some(ScanStart::Head),
            _ => Some(ScanStart::Onward),
        };
        let scan = |begin| Scan::new(layout.logical_blocks(), begin, values.ratio("delta"), values.integer("gamma"));
        Self {
            geometry: layout.geometry,
            ages,
            pool: begin.map(scan),
            pool_bytes: 8 * u64::from(layout.logical_blocks()),
            interval: values.integer("lambda"),
            written: 0,
            moving: None,
        }
    }
}

impl AgeSource {
    fn place(&self, alloc: AllocRequest, free: usize) -> usize {
        match (self, alloc) {
            (Self::Table(table), AllocRequest { purpose: Purpose::Merge, lbn: Some(lbn), .. }) => {
                table.place(lbn, free)
            }
            (Self::Table(_), _) => 0,
            (Self::Temperatures(blocks), _) => blocks.place(alloc, free),
        }
    }

    fn on_write(&mut self, request: &Request, geometry: &Geometry) {
        match self {
            Self::Table(table) => request.block_runs(geometry).for_each(|run| table.on_write(run.lbn)),
            Self::Temperatures(_) => self.on_hint(request.hint),
        }
    }

    fn on_hint(&mut self, hint: Hint) {
        if let Self::Temperatures(blocks) = self {
            blocks.on_hint(hint);
        }
    }

    fn table(&self) -> (&'static str, u64) {
        match self {
            Self::Table(table) => ("block access table", table.bytes()),
            Self::Temperatures(_) => FreeBlocks::TEMPERATURES,
        }
    }
}

impl WearPolicy for Owl {
    fn order(&self) -> Order {
        Order::LeastWorn
    }

    fn place(&mut self, alloc: AllocRequest, free: usize) -> usize {
        match alloc {
            AllocRequest { purpose: Purpose::Merge, lbn, .. } if lbn.is_some() && lbn == self.moving => free - 1,
            _ => self.ages.place(alloc, free),
        }
    }

    fn keeps_file_types(&self) -> bool {
        matches!(self.ages, AgeSource::Temperatures(_))
    }

    fn on_used(&mut self, _pbn: Pbn, alloc: AllocRequest) {
        if let (Some(pool), AllocRequest { purpose: Purpose::Data | Purpose::Merge, lbn: Some(lbn), .. }) =
            (&mut self.pool, alloc)
        {
            pool.arrived(lbn);
        }
    }

    fn moves_blocks(&self) -> bool {
        // Without scans none, but it is to be told of writes.
        true
    }

    fn on_write(&mut self, request: &Request) {
        self.written += 1;
        self.ages.on_write(request, &self.geometry);
    }

    fn on_file_event(&mut self, _event: FileEvent, of: &Request) {
        self.ages.on_hint(of.hint);
    }

    fn next_move(&mut self, blocks: &dyn BlockFacts) -> Option<Pbn> {
        let pool = self.pool.as_mut()?;
        if self.written < self.interval {
            return None;
        }
        self.written = 0;
        let named = pool.round(blocks).and_then(|lbn| Some((lbn, blocks.home_of(lbn)?)));
        self.moving = named.map(|(lbn, _)| lbn);
        named.map(|(_, home)| home)
    }

    fn on_moved(&mut self, _pbn: Pbn, _how: RelocateOutcome) {
        self.moving = None;
    }

    fn tables(&self) -> Vec<(&'static str, u64)> {
        let pool = self.pool.is_some().then_some(("valid block pool", self.pool_bytes));
        let erases = 4 * u64::from(self.geometry.blocks());
        [self.ages.table(), ("erase counts", erases)].into_iter().chain(pool).collect()
    }
}
