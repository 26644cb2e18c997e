//! Which wear policy a device gets, with its parameters: what a [`Layout`] carries to wherever blocks get their owner.

use std::fmt;

use crate::wear::none::NoLevelling;
use crate::wear::policy::{WearPolicy, WearScheme};
use crate::{Entry, Layout, Values};

/// A wear policy that has yet to be built.
#[derive(Clone)]
pub struct Wear {
    entry: &'static Entry,
    values: Values,
    build: fn(&Layout, &Values) -> Box<dyn WearPolicy>,
}

impl Wear {
    /// The policy `W` with these values of its parameters.
    pub fn of<W: WearScheme>(values: Values) -> Self {
        Self { entry: const { &W::ENTRY }, values, build: |layout, values| Box::new(W::new(layout, values)) }
    }

    /// What the registry knows of it.
    pub fn entry(&self) -> &'static Entry {
        self.entry
    }

    /// Whether it is the policy of a device of which nothing was said.
    pub fn is_none(&self) -> bool {
        self.entry.name == NoLevelling::ENTRY.name
    }

    /// Whether it ever names a block to be emptied on such a device.
    pub fn moves_blocks(&self, layout: &Layout) -> bool {
        self.build(layout).moves_blocks()
    }

    /// Builds it for a device.
    pub fn build(&self, layout: &Layout) -> Box<dyn WearPolicy> {
        (self.build)(layout, &self.values)
    }
}

impl Default for Wear {
    fn default() -> Self {
        Self::of::<NoLevelling>(Values::none())
    }
}

impl fmt::Debug for Wear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.entry.name, self.values)
    }
}
