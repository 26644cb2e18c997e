//! # none: first freed, first taken
//!
//! ## Idea
//! Free blocks are taken in the order in which they were freed, on each die. Nothing is ever moved
//! for wear's sake. Blocks that are erased at all are erased about equally often, since each waits
//! its turn; a block whose content never changes is never erased.
//!
//! ## Source
//! The baseline of Wang 2013 3.2.1.
//!
//! ## State
//! None.
//!
//! ## After a cut
//! Free blocks are erased in address order by recovery, and stand in that order.
//!
//! ## Costs
//! None.

use crate::api::entry::{Capabilities, Entry, Memory};
use crate::api::layout::{Layout, WearScheme};
use crate::api::parameter::Values;
use crate::api::wear::WearPolicy;

/// No wear levelling.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoLevelling;

impl WearScheme for NoLevelling {
    const ENTRY: Entry = Entry {
        name: "none",
        family: "wear",
        capabilities: Capabilities::NONE,
        memory: Memory::NONE,
        source: "Wang 2013 3.2.1 (baseline)",
        parameters: &[],
        header: include_str!("none.rs"),
    };

    const IS_NONE: bool = true;

    fn new(_layout: &Layout, _values: &Values) -> Self {
        Self
    }
}

impl WearPolicy for NoLevelling {}
