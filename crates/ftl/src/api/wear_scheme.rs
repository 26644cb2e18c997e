//! How a wear policy is listed and built.

use crate::api::entry::Entry;
use crate::api::layout::{Layout, Wear};
use crate::api::parameter::Values;
use crate::api::wear::WearPolicy;

/// How the registry builds a wear policy.
pub trait WearScheme: WearPolicy + Sized + 'static {
    /// What the registry lists about it.
    const ENTRY: Entry;

    /// Whether it stands for a device without a wear policy.
    const IS_NONE: bool = false;

    /// Whether it can work over a mapping; if not, why, as the end of a sentence about both.
    fn suits(_mapping: &Entry) -> Result<(), String> {
        Ok(())
    }

    /// Builds it for a device.
    fn new(layout: &Layout, values: &Values) -> Self;
}

/// For policies that ask whose data a merge puts together: whether a mapping keeps each logical
/// block in blocks of its own. If not, why that is missed.
pub fn keeps_logical_blocks(mapping: &Entry) -> Result<(), String> {
    if mapping.capabilities.keeps_logical_blocks {
        return Ok(());
    }
    Err("it chooses by the logical block that a merge puts together, and here a block holds pages of many; \
         choose block, or a log-buffer scheme other than superblock, or another wear policy"
        .into())
}

impl Wear {
    /// The policy `W` with these values of its parameters.
    pub fn of<W: WearScheme>(values: Values) -> Self {
        Self { entry: const { &W::ENTRY }, values, build: |layout, values| Box::new(W::new(layout, values)) }
    }
}
