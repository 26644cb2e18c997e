//! # page: pure page-level mapping
//!
//! ## Idea
//! Every logical page may lie on any physical page, so every write is appended where a die is free and nothing is ever
//! rewritten for the map's sake. Consecutive writes go to consecutive channels and dies. Space comes back by garbage
//! collection: a block with few valid pages is chosen, those are copied, the block is erased. The price is RAM: the whole
//! map is kept there.
//!
//! ```text
//!   LPN ──map──▶ PPN      die 0   die 1   die 2   die 3
//!                         [h..]   [h..]   [h..]   [h..]    open blocks for host writes
//!                         [c..]   [c..]   [c..]   [c..]    open blocks for collected pages
//! ```
//!
//! ## Source
//! Baseline of WAFTL and RFTL; striping and streams as in current SSDs.
//!
//! ## Departures
//! None of the papers says how dies are striped. Here the unit of striping is the page, dies are visited channels first,
//! and a die collects its own blocks: victims and their copies stay on one die.
//!
//! ## State
//! RAM: the map, 4 B × logical pages. Flash: the data itself; each page's tag carries its LPN.
//!
//! ## Read
//! 1. Pages of a request are looked up and read together; unmapped pages cost nothing.
//!
//! ## Write
//! 1. `append`: the next die in turn, collecting there first when it is short of free blocks. A page that fails is tried
//!    again elsewhere; its block is emptied as soon as there is room and marked bad (`empty_failing`).
//! 2. Program, release the old page, map the new one.
//!
//! ## Reclaim
//! 1. `reclaim` collects on one die until more than `gc_threshold` blocks are free there.
//! 2. `collect` copies a victim's valid pages to the die's collection stream, then erases it. The host does not wait for
//!    it, but the die is busy with it.
//!
//! ## Recover
//! 1. Of each LPN the highest version among all tags wins; a trim page speaks for every LPN of its run. With `checkpoint` a
//!    filled block's summary tells its tags (`parts/recovery/summary.rs`).
//! 2. Blocks that hold nothing newest are erased; the others are closed as they are.
//! 3. Trims are pending until a flush writes them down (`parts/recovery/trims.rs`); a cut before may bring the page back.
//!
//! ## Invariants
//! - I1: a mapped LPN points to a valid page whose tag carries that LPN.
//! - I2: there are as many valid pages as mapped LPNs and needed trim pages together (so no page is mapped twice and none
//!   is lost).
//! - I3: free blocks are erased and hold nothing valid; summaries are true.
//!
//! ## Costs
//! A host write costs A programs, A − 1 reads and A / b erases, where A is the write amplification of the victim policy at
//! the utilisation left after reserves (greedy: Van Houdt 2013 with d → ∞).

use flash::Lpn;

use crate::parameter::joined;
use crate::parts::blocks::victims;
use crate::parts::pages::page_mapped::HOST;
use crate::parts::pages::page_space::{GC_THRESHOLD, Stream};
use crate::parts::ram_map::policy::{RamMapScheme, StreamPolicy};
use crate::parts::recovery::summary;
use crate::wear::policy::Purpose;
use crate::{ConfigError, Entry, Kind, Layout, Parameter, Request, Values};

const COLLECTED: Stream = 1;

const STREAMS: Parameter = Parameter {
    name: "streams",
    kind: Kind::Choice { of: &["separate", "shared"] },
    default: "separate",
    meaning: "Whether collected pages get open blocks of their own or share those of host writes.",
    source: "Van Houdt 2013b",
};

/// Pure page-level mapping.
pub struct Page;

impl RamMapScheme for Page {
    const ENTRY: Entry = Entry {
        name: "page",
        family: "page",
        source: "WAFTL tab. I, RFTL 2 (baseline)",
        parameters: &joined::<6>(&[&victims::PARAMETERS, &[GC_THRESHOLD, STREAMS, summary::PARAMETER]]),
        header: include_str!("page.rs"),
    };

    type Policy = OneStream;

    fn policy(_layout: &Layout, values: &Values) -> Result<OneStream, ConfigError> {
        Ok(OneStream { collected: if values.word("streams") == "separate" { COLLECTED } else { HOST } })
    }
}

/// All that the host writes shares blocks; so may what is collected.
pub struct OneStream {
    collected: Stream,
}

impl StreamPolicy for OneStream {
    fn streams(&self) -> &'static [Purpose] {
        if self.collected == COLLECTED { &[Purpose::Data, Purpose::Collected] } else { &[Purpose::Data] }
    }

    #[inline]
    fn written(&mut self, _request: &Request, _lpn: Lpn) -> Stream {
        HOST
    }

    #[inline]
    fn collected(&self, _from: Stream) -> Stream {
        self.collected
    }
}
