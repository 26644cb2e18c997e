//! Switching an image's device on.

use flash::{Chip, FaultPlan, FaultyChip, Geometry};
use ftl::{AnyDevice, Untimed};

use crate::LiveError;
use crate::image::{Description, Findings, Image, Loaded};

/// A device that is switched on, before its translation layer is.
pub(crate) struct SwitchedOn {
    pub(crate) device: AnyDevice,
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
    let timing = modelled.then(|| description.timing(&chip));
    let device = match timing {
        Some(timing) => AnyDevice::new(chip, timing),
        None => AnyDevice::new(chip, Untimed),
    };
    Ok(SwitchedOn { device, description, geometry, findings, is_new })
}
