//! The device as a scheme sees it, and the wear policy that is built for one.

use std::fmt;
use std::sync::Arc;

use flash::{Exposure, Flash, Geometry, Pbn, ProgramOrder};

use crate::api::entry::Entry;
use crate::api::parameter::Values;
use crate::api::wear::WearPolicy;

/// What a scheme may know of its device: shape, logical capacity and the blocks it can use.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Shape of the flash.
    pub geometry: Geometry,
    /// Logical pages that the host sees.
    pub logical_pages: u32,
    /// Blocks that are not bad, in address order.
    pub good_blocks: Vec<Pbn>,
    /// Order in which the pages of a block may be programmed.
    pub program_order: ProgramOrder,
    /// Pages of a block in pSLC mode; 0 where there is no such mode.
    pub pslc_pages: u32,
    /// Pages of a native block that are programmed at once, 1 or more.
    pub programmed_at_once: u32,
    /// Pages that lie in one page of the flash, 1 or more.
    pub units_per_page: u32,
    /// Which pages a power cut takes although their programs have ended; none where each page is
    /// safe by then.
    pub exposure: Option<Exposure>,
    /// Whether the device holds data already. If so many of its blocks have failed that a fresh
    /// device would be refused, it comes up read-only instead.
    pub in_use: bool,
    /// Seed of whatever a scheme draws at random, derived by name from the run's seed.
    pub seed: u64,
    /// How wear is levelled; none leaves it to the order in which blocks were freed.
    pub wear: Option<Wear>,
}

impl Layout {
    /// The layout of a fresh chip.
    pub fn of(chip: &(impl Flash + ?Sized), logical_pages: u32, seed: u64) -> Self {
        let geometry = *chip.geometry();
        let good_blocks = (0..geometry.blocks()).map(Pbn::new).filter(|&pbn| !chip.is_bad(pbn)).collect();
        Self {
            geometry,
            logical_pages,
            good_blocks,
            program_order: chip.program_order(),
            pslc_pages: chip.pslc_pages(),
            programmed_at_once: chip.exposure().map_or(1, Exposure::at_once),
            units_per_page: 1,
            exposure: chip.exposure().cloned(),
            in_use: false,
            seed,
            wear: None,
        }
    }

    /// The same layout for a device that holds data already.
    #[must_use]
    pub fn in_use(&self) -> Self {
        Self { in_use: true, ..self.clone() }
    }

    /// The device's wear policy.
    pub fn wear_policy(&self) -> Box<dyn WearPolicy> {
        self.wear.as_ref().map_or_else(|| Box::new(()) as _, |wear| wear.build(self))
    }

    /// Logical blocks, the last one perhaps in part.
    pub fn logical_blocks(&self) -> u32 {
        self.logical_pages.div_ceil(self.geometry.pages_per_block())
    }

    /// Good blocks beyond those that the logical pages fill.
    pub fn spare_blocks(&self) -> u32 {
        (self.good_blocks.len() as u32).saturating_sub(self.logical_blocks())
    }
}

/// Builds a wear policy for a device. It cannot fail: a policy from outside that could not be made
/// says so by [`WearPolicy::take_failure`].
pub type BuildWear = Arc<dyn Fn(&Layout, &Values) -> Box<dyn WearPolicy> + Send + Sync>;

/// A wear policy that has yet to be built.
#[derive(Clone)]
pub struct Wear {
    pub(super) entry: &'static Entry,
    pub(super) values: Values,
    pub(super) build: BuildWear,
}

impl Wear {
    /// What the registry knows of it.
    pub fn entry(&self) -> &'static Entry {
        self.entry
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

impl fmt::Debug for Wear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.entry.name, self.values)
    }
}

/// How the registry builds a wear policy; [`WearPolicy`] has an example.
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

/// A wear policy as the registry lists it.
#[derive(Clone)]
pub struct WearKind {
    /// Its description.
    pub entry: &'static Entry,
    /// Whether it stands for a device without a wear policy.
    pub is_none: bool,
    /// Whether it can work over a mapping; if not, why.
    pub suits: fn(&Entry) -> Result<(), String>,
    /// Builds it for a device.
    pub build: BuildWear,
}

impl WearKind {
    /// How the registry builds policies of type `W`.
    pub fn of<W: WearScheme>() -> Self {
        Self {
            entry: const { &W::ENTRY },
            is_none: W::IS_NONE,
            suits: W::suits,
            build: Arc::new(|layout, values| Box::new(W::new(layout, values))),
        }
    }

    /// The policy with these values of its parameters.
    pub fn with(self, values: Values) -> Wear {
        Wear { entry: self.entry, values, build: self.build }
    }
}

impl Wear {
    /// The policy `W` with these values of its parameters.
    pub fn of<W: WearScheme>(values: Values) -> Self {
        WearKind::of::<W>().with(values)
    }
}
