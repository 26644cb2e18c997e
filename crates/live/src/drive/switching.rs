//! Switching an image's device on.

use flash::{Chip, FaultPlan, FaultyChip, Geometry};
use ftl::{Timed, Untimed};

use crate::LiveError;
use crate::image::{Description, Findings, Image, LiveDevice, LiveTiming, Loaded};

/// A device that is switched on, before its translation layer is.
pub(crate) struct SwitchedOn {
    pub(crate) device: LiveDevice,
    pub(crate) description: Description,
    pub(crate) geometry: Geometry,
    pub(crate) findings: Findings,
    /// Whether nothing was ever written to it.
    pub(crate) is_new: bool,
}

/// Switches an image's device on.
pub(crate) fn switch_on(
    image: Image,
    accept_damage: bool,
    plan: FaultPlan,
    modelled: bool,
) -> Result<SwitchedOn, LiveError> {
    let (Loaded { mut store, blocks, findings, .. }, description, geometry) = image.load(accept_damage)?;
    let is_new = store.is_untouched();
    store.switched_on();
    let chip = FaultyChip::new(Chip::resume(geometry, &description.chip_options(), store, blocks), plan);
    let timing =
        if modelled { LiveTiming::Modelled(Box::new(description.timing(&chip))) } else { LiveTiming::None(Untimed) };
    Ok(SwitchedOn { device: Timed { chip, timing }, description, geometry, findings, is_new })
}
