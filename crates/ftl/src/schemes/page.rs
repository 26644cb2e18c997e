//! # page: pure page-level mapping
//!
//! ## Idea
//! Every logical page may lie on any physical page, so every write is appended where a die is free
//! and nothing is ever rewritten for the map's sake. Consecutive writes go to consecutive channels
//! and dies. Space comes back by garbage collection: a block with few valid pages is chosen, those
//! are copied, the block is erased. The price is RAM: the whole map is kept there.
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
//! None of the papers says how dies are striped. Here the unit of striping is the page, dies are
//! visited channels first, and a die collects its own blocks: victims and their copies stay on one
//! die. With `streams = hints` the streams share one stream of collected pages by default: what is
//! new and what has survived a collection differ more than two hints do, and a stream of its own
//! for the collected pages of each keeps as many more blocks open.
//!
//! ## State
//! RAM: the map, 4 B × logical pages. Flash: the data itself; each page's tag carries its LPN, and
//! with `streams = hints` the stream that the host hinted at. Under a wear policy that moves
//! blocks, what it moves has open blocks of its own, one per die, whatever the hint; they are paid
//! out of the spare.
//!
//! ## Read
//! 1. Pages of a request are looked up and read together; unmapped pages cost nothing.
//!
//! ## Write
//! 1. `append`: the next die in turn, collecting there first when it is short of free blocks. A
//!    page that fails is tried again elsewhere; its block is emptied as soon as there is room and
//!    marked bad (`empty_failing`).
//! 2. Program, release the old page, map the new one.
//! 3. With `streams = hints` the request's stream hint says which open block takes the page; the
//!    first `hint_streams` streams are told apart. With a classifier (`sepbit`, `dac`, `fadac`, or
//!    one of your own) it is the page's class.
//! 4. With `pslc_static` or `pslc_dynamic` the page goes to a block in pSLC mode, unless the
//!    request has `pslc_direct` bytes or more (`append_cached`).
//!
//! ## Reclaim
//! 1. `reclaim` collects on one die until more than `gc_threshold` blocks are free there; more than
//!    2 on a device of a single die with spares, where an erase that fails would else leave no
//!    place for what the next collection moves.
//! 2. `collect` copies a victim's valid pages to the die's collection stream, then erases it; with
//!    `hint_collection = isolated` each of the host's streams has such a stream, with `apart` pages
//!    stay in theirs. The host does not wait for it, but the die is busy with it. A classifier
//!    gives each of them a class; one without room joins another class rather than open the last
//!    free block. With `streams = two-regions` the host's pages fill the block that the copies have
//!    begun, as in the simulator of Haas 2025.
//! 3. With `gc = paced` a die has a victim in hand before it is short, and moves some of its pages
//!    after each page that the host writes there (`pacing.rs`). The last step is `collect`.
//! 4. With `gc_idle`, `collect_in_idle` collects in idle time what fits into it; with `gc = paced`
//!    it goes on step by step.
//! 5. `fold` moves what is valid in a block in pSLC mode to native blocks of its die: in front of a
//!    write for which the cache has no room, and in idle time (`fold_in_idle`).
//!
//! ## Recover
//! 1. Of each LPN the highest version among all tags wins; a trim page speaks for every LPN of its
//!    run. With `checkpoint` a filled block's summary tells its tags (`recovery/summary.rs`).
//! 2. Blocks that hold nothing newest are erased; the others are closed as they are. A block's
//!    stream is known from its pages' tags. Classes are forgotten: what was collected has the last
//!    one, all else the first; times of last writes are kept in the tags.
//! 3. Trims are pending until a flush writes them down (`recovery/trims.rs`); a cut before may
//!    bring the page back.
//!
//! ## Invariants
//! - I1: a mapped LPN points to a valid page whose tag carries that LPN.
//! - I2: there are as many valid pages as mapped LPNs and needed trim pages together (so no page is
//!   mapped twice and none is lost).
//! - I3: free blocks are erased and hold nothing valid; summaries are true.
//!
//! ## Costs
//! A host write costs A programs, A − 1 reads and A / b erases, where A is the write amplification
//! of the victim policy at the utilisation left after reserves (greedy: Van Houdt 2013 with d → ∞).

use flash::{Lpn, Role, Tag};
use host::Hint;

use crate::api::entry::{Capabilities, Entry, Memory};
use crate::api::layout::Layout;
use crate::api::named::PolicyKind;
use crate::api::parameter::joined;
use crate::api::parameter::{Kind, Parameter, Values};
use crate::api::request::Request;
use crate::api::wear::Purpose;
use crate::blocks::victims;
use crate::classifiers;
use crate::engines::page_map::classes::{Classes, data_then_collected};
use crate::engines::page_map::idle::GC_IDLE;
use crate::engines::page_map::mapped::{COLLECTED, HOST};
use crate::engines::page_map::pacing::GC;
use crate::engines::page_map::policy::{PageMapScheme, StreamPolicy};
use crate::engines::page_map::pslc;
use crate::engines::page_map::space::{GC_THRESHOLD, Stream};
use crate::port::error::ConfigError;
use crate::recovery::summary;

/// Which pages share blocks.
pub(crate) const STREAMS: Parameter = Parameter {
    name: "streams",
    kind: Kind::Policy {
        of: &["separate", "two-regions", "shared", "hints", "dac", "fadac", "sepbit", "oracle"],
        from: PolicyKind::Classifier,
    },
    default: "separate",
    meaning: "Which pages get open blocks of their own: separate the collected ones, two-regions the same but \
              for the last block of a collection, which the host's fill, shared none, hints the collected ones \
              and those of each stream that the host hints at, dac, fadac and sepbit those of six classes by \
              their past, oracle those of eight by their true death times (simulation only), at an open block per \
              class and two more free ones on every die.",
    source: "Van Houdt 2013b; Haas 2025 (two-regions), Wang 2022 (dac, fadac, sepbit)",
};

/// The most streams of the host, each with an open block on every die.
const MOST_STREAMS: usize = 16;

const HINT_STREAMS: Parameter = Parameter {
    name: "hint_streams",
    kind: Kind::Integer { min: 1, max: MOST_STREAMS as u64 },
    default: "4",
    meaning: "With streams = hints: how many streams are kept apart, 0 (no hint) among them; higher ones share the last. Each keeps a block \
              open on every die, which has to be spared.",
    source: "ftlkit",
};

const HINT_COLLECTION: Parameter = Parameter {
    name: "hint_collection",
    kind: Kind::Choice { of: &["together", "apart", "isolated"] },
    default: "together",
    meaning: "With streams = hints: where collected pages go. together: those of all streams to blocks of their own \
              (FDP: initially isolated handles); isolated: those of each stream to blocks of their own (FDP: \
              persistently isolated); apart: those of each stream to the blocks of what is newly written to it. \
              Together takes an open block more on every die, isolated one more per stream, all of which have to be \
              spared.",
    source: "ftlkit, NVMe TP4146",
};

/// Pure page-level mapping.
pub struct Page;

impl PageMapScheme for Page {
    const ENTRY: Entry = Entry {
        name: "page",
        family: "page",
        capabilities: Capabilities::FILLS_BLOCKS_UP,
        memory: Memory::PAGE_MAP,
        source: "WAFTL tab. I, RFTL 2 (baseline)",
        parameters: &joined::<13>(&[
            &victims::PARAMETERS,
            &[GC, GC_THRESHOLD, STREAMS, HINT_STREAMS, HINT_COLLECTION, summary::PARAMETER, GC_IDLE],
            &pslc::PARAMETERS,
        ]),
        header: include_str!("page.rs"),
    };

    type Policy = Streams;

    fn policy(layout: &Layout, values: &Values) -> Result<Streams, ConfigError> {
        match values.word("streams") {
            "separate" => Ok(Streams::Separate),
            "two-regions" => Ok(Streams::TwoRegions),
            "shared" => Ok(Streams::Shared),
            streams if pslc::needs(layout, values).is_some() => Err(ConfigError(format!(
                "page.streams = {streams}: a block of the pSLC cache holds pages of all streams, and all that is folded goes to one; set \
                 streams = separate or shared, or leave pslc_static and pslc_dynamic out"
            ))),
            "hints" if values.word("checkpoint") != "none" => Err(ConfigError(
                "page.streams = hints: summaries do not list hints, so after a power cut checkpoint = summaries would mix the streams; \
                 set checkpoint = none, or other streams"
                    .into(),
            )),
            "hints" => Ok(Streams::Hinted {
                streams: values.integer("hint_streams") as usize,
                collection: match values.word("hint_collection") {
                    "together" => HintCollection::Together,
                    "isolated" => HintCollection::Isolated,
                    _ => HintCollection::Apart,
                },
            }),
            _ => Ok(Streams::Separate),
        }
    }

    fn classes(layout: &Layout, values: &Values) -> Result<Option<Classes>, ConfigError> {
        classifiers::from_values(
            values,
            layout,
            &["separate", "two-regions", "shared", "hints"],
            PURPOSES[MOST_STREAMS - 1..=MOST_STREAMS].len(),
        )
    }
}

/// Which pages share blocks.
pub enum Streams {
    /// All that the host writes, and apart from that all that is collected.
    Separate,
    /// The same, but the host's pages fill the block that collected ones have begun.
    TwoRegions,
    /// All.
    Shared,
    /// Those of a stream that the host hints at, of this many streams.
    Hinted {
        /// Streams that are told apart.
        streams: usize,
        /// Where what is collected goes.
        collection: HintCollection,
    },
}

/// Where collected pages of hinted streams go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HintCollection {
    /// All to one stream more.
    Together,
    /// Those of each stream to a further stream.
    Isolated,
    /// To the stream that they are of.
    Apart,
}

/// Streams of what the host writes, and as many of what is collected.
const PURPOSES: [Purpose; 2 * MOST_STREAMS] = data_then_collected();

impl StreamPolicy for Streams {
    fn streams(&self) -> &'static [Purpose] {
        match *self {
            Self::Separate | Self::TwoRegions => &PURPOSES[MOST_STREAMS - 1..=MOST_STREAMS],
            Self::Shared => &PURPOSES[..1],
            Self::Hinted { streams, collection } => match collection {
                HintCollection::Together => &PURPOSES[MOST_STREAMS - streams..=MOST_STREAMS],
                HintCollection::Isolated => &PURPOSES[MOST_STREAMS - streams..MOST_STREAMS + streams],
                HintCollection::Apart => &PURPOSES[..streams],
            },
        }
    }

    #[inline]
    fn write_stream(&mut self, request: &Request, _: Lpn) -> Stream {
        self.stored_hint(request).map_or(HOST, usize::from)
    }

    fn common_stream(&self) -> Option<Stream> {
        Some(HOST)
    }

    #[inline]
    fn stored_hint(&self, request: &Request) -> Option<u8> {
        match self {
            Self::Separate | Self::TwoRegions | Self::Shared => None,
            Self::Hinted { streams, .. } => Some(request.hint.stream().min(*streams as u8 - 1)),
        }
    }

    #[inline]
    fn is_beyond_streams(&self, request: &Request) -> bool {
        matches!(self, Self::Hinted { streams, .. } if usize::from(request.hint.stream()) >= *streams)
    }

    fn uses_hints(&self) -> bool {
        matches!(self, Self::Hinted { .. })
    }

    #[inline]
    fn hint_of(&self, stored: u8) -> Option<Hint> {
        match self {
            Self::Separate | Self::TwoRegions | Self::Shared => None,
            Self::Hinted { .. } => Some(Hint::of_stream(stored)),
        }
    }

    #[inline]
    fn collected_stream(&self, from: Stream) -> Stream {
        match *self {
            Self::Separate | Self::TwoRegions => COLLECTED,
            Self::Hinted { streams, collection: HintCollection::Together } => streams,
            Self::Hinted { streams, collection: HintCollection::Isolated } if from < streams => streams + from,
            Self::Shared | Self::Hinted { .. } => from,
        }
    }

    fn hands_over(&self) -> bool {
        matches!(self, Self::TwoRegions)
    }

    fn recovered_stream(&self, tag: &Tag) -> Stream {
        let written_to = match *self {
            Self::Separate | Self::TwoRegions | Self::Shared => HOST,
            Self::Hinted { streams, .. } => usize::from(tag.hint).min(streams - 1),
        };
        if tag.role == Role::Collected { self.collected_stream(written_to) } else { written_to }
    }
}
