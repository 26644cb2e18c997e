//! The pSLC cache: what the host writes goes to blocks in pSLC mode first, and is folded into
//! native blocks later.
//!
//! ```text
//!   host ──▶ [c][c][c] ──fold──▶ [n n n] ◀──collections── [n . n]     one die
//!        ╰── large requests ────▶ [n n n]
//! ```
//!
//! The cache has two parts, either of which may be missing. *Static* blocks are only ever in pSLC
//! mode (`space/pslc.rs`). *Dynamic* ones are free blocks of their die: as many as the logical
//! pages without data would fill, so they are fewer the fuller the device is, and none when it is
//! full. What is over-provisioned is left to collections.
//!
//! A page goes to the next die in turn. A die without room folds its block that was filled first:
//! what is valid there moves to native blocks of that die, and the block is erased. So behind the
//! end of the cache each page that the host writes costs a program in pSLC mode, a read of such a
//! page and a native program. Idle time folds what is filled. Nothing moves into the cache: what a
//! fold or a collection moves goes to native blocks.
//!
//! **Why a fold finds room.** Folding a static block gives no block back that native pages could
//! use, so it is done as a write of the host would be: only where the die has room for its pages
//! beside the free blocks that collections need, perhaps after collecting. A dynamic block is a
//! candidate of collections like any other, and always gains (`space/pslc.rs`). Where a die cannot
//! fold, the next one is tried, and if none can, the page goes to a native block. A static block
//! that has to be emptied all the same, for refresh or wear levelling, is emptied page by page to
//! where the host's next pages would go, on whatever die.
//!
//! After a power cut, tags tell which pages were cached and in which order their blocks were
//! filled.
//!
//! Limits: a wear policy compares how often blocks were erased, whatever the mode. A block is
//! folded whole.

use std::cmp::Reverse;
use std::collections::VecDeque;

use flash::Pbn;

use crate::api::layout::Layout;
use crate::api::parameter::{Kind, Parameter, Values};
use crate::api::report::Gauge;
use crate::api::request::Request;
use crate::blocks::manager::BlockManager;
use crate::engines::page_map::space::{PageSpace, PslcNeeds, Stream};
use crate::port::error::ConfigError;

/// The parameters of the cache.
pub const PARAMETERS: [Parameter; 3] = [
    Parameter {
        name: "pslc_static",
        kind: Kind::Bytes { min: 0, max: 1 << 50, scales: true },
        default: "0",
        meaning: "What the host can write to blocks that are only ever in pSLC mode, rounded up to whole blocks of every die; 0 for none. They \
                  are paid out of the spare: each holds a share of what it holds with all bits.",
        source: "ftlkit",
    },
    Parameter {
        name: "pslc_dynamic",
        kind: Kind::Switch,
        default: "false",
        meaning: "Use unwritten capacity as a dynamic pSLC cache: on an empty device 1 / (bits + 1) of it; it shrinks \
                  to zero as the drive fills.",
        source: "ftlkit",
    },
    Parameter {
        name: "pslc_direct",
        kind: Kind::Bytes { min: 0, max: 1 << 40, scales: false },
        default: "0",
        meaning: "Requests from this size on go to native blocks at once, if there is a cache; 0 for none.",
        source: "ftlkit",
    },
];

/// What the parameters ask of the space; none for no cache.
pub fn needs(layout: &Layout, values: &Values) -> Option<PslcNeeds> {
    let (geometry, pages) = (&layout.geometry, layout.pslc_pages);
    let (bytes, is_dynamic) = (values.integer("pslc_static"), values.switch("pslc_dynamic"));
    let row = u64::from(pages.max(1)) * u64::from(geometry.page_size_bytes()) * u64::from(geometry.dies());
    let static_blocks = bytes.div_ceil(row).min(u64::from(u32::MAX)) as u32;
    (bytes > 0 || is_dynamic).then_some(PslcNeeds { pages, static_blocks, is_dynamic })
}

/// Refuses a cache on a device where a power cut takes pages whose programs have ended: cached
/// blocks are not filled up.
pub fn require_guarded(layout: &Layout, values: &Values, scheme: &str) -> Result<(), ConfigError> {
    if layout.exposure.is_none() || needs(layout, values).is_none() {
        return Ok(());
    }
    Err(ConfigError(format!(
        "{scheme}: blocks in pSLC mode are not filled up, so a power cut would take what waits for its flash page \
         there (device.power_loss_protection = false); leave pslc_static and pslc_dynamic out, or power_loss_protection"
    )))
}

/// The cached blocks of a die.
#[derive(Clone, Debug, Default)]
struct DieCache {
    /// Static blocks that are erased, the one erased first in front.
    idle: VecDeque<Pbn>,
    /// Filled blocks, the one filled first in front; perhaps with some that a collection took.
    filled: VecDeque<Pbn>,
}

/// State of the cache.
#[derive(Clone, Debug)]
pub struct PslcCache {
    stream: Stream,
    dies: Vec<DieCache>,
    has_statics: bool,
    is_dynamic: bool,
    /// Pages of a request from which on it goes around the cache.
    direct_pages: u64,
    logical_pages: u32,
    /// Logical pages with data.
    mapped: u32,
    /// What a row of native blocks holds, one of each die.
    row_pages: u32,
    /// Whether the block in hand is folded.
    is_folding: bool,
    /// For recovery: filled blocks, each with the first program that is known of it.
    found: Vec<(u64, Pbn)>,
}

impl PslcCache {
    /// The cache of a fresh space, which takes its static blocks; none for a space without any.
    pub fn new(layout: &Layout, values: &Values, space: &PageSpace, blocks: &mut BlockManager) -> Option<Self> {
        let bytes = values.integer("pslc_direct");
        let mut cache = Self {
            stream: space.pslc_stream()?,
            dies: vec![DieCache::default(); space.dies() as usize],
            has_statics: !space.static_blocks().is_empty(),
            is_dynamic: values.switch("pslc_dynamic"),
            direct_pages: if bytes == 0 { u64::MAX } else { bytes.div_ceil(layout.geometry.page_size_bytes().into()) },
            logical_pages: layout.logical_pages,
            mapped: 0,
            row_pages: space.content_pages() * space.dies(),
            is_folding: false,
            found: Vec::new(),
        };
        cache.keep_statics(space, blocks);
        Some(cache)
    }

    fn keep_statics(&mut self, space: &PageSpace, blocks: &mut BlockManager) {
        for pbn in space.static_blocks() {
            if space.keep_static(blocks, pbn) {
                self.dies[space.die_of(pbn) as usize].idle.push_back(pbn);
            }
        }
    }

    /// For recovery: a page of the cache was found, which was programmed so late.
    pub fn on_found(&mut self, pbn: Pbn, seq: u64) {
        match self.found.last_mut() {
            Some((first, known)) if *known == pbn => *first = seq.min(*first),
            _ => self.found.push((seq, pbn)),
        }
    }

    /// For recovery: all pages were found. Static blocks that are free are kept, and filled ones
    /// are folded in the order in which they were filled.
    pub fn take_over(&mut self, space: &PageSpace, blocks: &mut BlockManager) {
        self.dies.fill(DieCache::default());
        self.keep_statics(space, blocks);
        self.found.sort_unstable();
        for (_, pbn) in self.found.drain(..) {
            self.dies[space.die_of(pbn) as usize].filled.push_back(pbn);
        }
    }

    /// Whether a request goes to the cache.
    #[inline]
    pub fn takes(&self, request: &Request) -> bool {
        u64::from(request.pages) < self.direct_pages
    }

    /// A logical page has data that had none, or the other way round.
    #[inline]
    pub fn on_mapped(&mut self, is_mapped: bool) {
        if is_mapped {
            self.mapped += 1;
        } else {
            self.mapped -= 1;
        }
        debug_assert!(self.mapped <= self.logical_pages, "{} of {} pages have data", self.mapped, self.logical_pages);
    }

    /// The stream of the cache.
    #[inline]
    pub fn stream(&self) -> Stream {
        self.stream
    }

    /// Whether the block in hand is folded.
    #[inline]
    pub fn is_folding(&self) -> bool {
        self.is_folding
    }

    /// The block in hand is folded, or moved for another reason.
    pub fn set_folding(&mut self, is_folding: bool) {
        self.is_folding = is_folding;
    }

    /// A block was emptied: a static one is kept for the cache.
    pub fn on_emptied(&mut self, space: &PageSpace, blocks: &mut BlockManager, pbn: Pbn) {
        if space.is_static(pbn) && space.keep_static(blocks, pbn) {
            self.dies[space.die_of(pbn) as usize].idle.push_back(pbn);
        }
    }

    /// Dynamic blocks that a die may have: what its share of the logical pages without data would
    /// fill.
    fn most_dynamic(&self) -> usize {
        if self.is_dynamic { ((self.logical_pages - self.mapped) / self.row_pages) as usize } else { 0 }
    }

    /// Whether a die may have blocks in the cache.
    pub fn has_place(&self) -> bool {
        self.has_statics || self.most_dynamic() > 0
    }

    /// Whether one free block more of a die may be used in pSLC mode.
    pub fn may_grow(&self, space: &PageSpace, die: u32) -> bool {
        let filled = self.dies[die as usize].filled.iter();
        filled.filter(|&&pbn| !space.is_static(pbn)).count() < self.most_dynamic()
    }

    /// The filled block of a die that was filled first. Those that a collection took are forgotten.
    pub fn oldest(&mut self, space: &PageSpace, die: u32) -> Option<Pbn> {
        let filled = &mut self.dies[die as usize].filled;
        filled.retain(|&pbn| space.is_cached(pbn));
        filled.front().copied()
    }

    /// Takes an erased static block of a die.
    pub fn take_idle(&mut self, die: u32) -> Option<Pbn> {
        self.dies[die as usize].idle.pop_front()
    }

    /// The last page of a block was programmed.
    pub fn on_filled(&mut self, die: u32, pbn: Pbn) {
        self.dies[die as usize].filled.push_back(pbn);
    }

    /// The dies, the one with the most filled blocks first.
    pub fn dies_by_filled(&self) -> Vec<u32> {
        let mut dies: Vec<_> = (0..self.dies.len() as u32).collect();
        dies.sort_by_key(|&die| Reverse(self.dies[die as usize].filled.len()));
        dies
    }

    /// Blocks that wait to be folded.
    pub fn gauge(&self, space: &PageSpace) -> Gauge {
        let filled = self.dies.iter().flat_map(|die| &die.filled).filter(|&&pbn| space.is_cached(pbn));
        Gauge { name: "pslc_blocks", value: filled.count() as f64 }
    }

    /// RAM for the order in which blocks were filled, in bytes.
    pub fn ram_bytes(&self, space: &PageSpace) -> u64 {
        let dynamic = if self.is_dynamic { self.logical_pages / self.row_pages * self.dies.len() as u32 } else { 0 };
        4 * (u64::from(dynamic) + space.static_blocks().len() as u64)
    }
}
