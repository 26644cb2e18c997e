//! What schemes ask of their space (`space/`).

use crate::api::wear::Purpose;
use crate::blocks::victims::Policy;
use crate::recovery::summary::Summaries;

/// What a scheme asks of its space.
#[derive(Clone, Copy, Debug)]
pub struct SpaceNeeds {
    /// Streams, each with what its blocks are used for.
    pub streams: &'static [Purpose],
    /// The streams of a classifier.
    pub classes: ClassNeeds,
    /// Which block a collection chooses.
    pub policy: Policy,
    /// Free blocks of a die at or below which it collects, at least 1.
    pub threshold: usize,
    /// The most pages that are ever valid at once.
    pub valid: u64,
    /// What filled blocks end with.
    pub summaries: Summaries,
    /// Blocks that are used in pSLC mode, if any.
    pub pslc: Option<PslcNeeds>,
    /// The fewest pages of a step, where blocks are emptied step by step.
    pub least_step: Option<u32>,
}

/// What a scheme asks of its space for the classes of a classifier.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClassNeeds {
    /// Streams of the classes between the first and the last, behind the others.
    pub between: &'static [Purpose],
    /// Whether pages of one block may be moved to several of them.
    pub are_soft: bool,
    /// Whether pages written and moved are counted by class.
    pub are_counted: bool,
}

/// What a scheme asks of its space for blocks in pSLC mode.
#[derive(Clone, Copy, Debug)]
pub struct PslcNeeds {
    /// Pages of a block in the mode.
    pub pages: u32,
    /// Static blocks of a die.
    pub static_blocks: u32,
    /// Whether free blocks of a die are used so, too.
    pub is_dynamic: bool,
}
