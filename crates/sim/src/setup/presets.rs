//! The devices that studies can name, as `presets.toml` has them.

use std::sync::LazyLock;

use serde::Deserialize;

use super::keys::{DeviceKeys, DeviceText};
use super::words::choose_from;
use crate::error::SimError;

/// The preset that a study without one starts from.
pub const DEFAULT_PRESET: &str = "slc-small";

/// A device that studies can name.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preset {
    /// The name that studies use.
    pub name: String,
    /// Where the figures come from.
    pub source: String,
    /// What it is, with what had to be assumed.
    pub description: String,
    /// The keys that differ from their defaults; a study may override them.
    pub(super) device: DeviceText,
}

impl Preset {
    /// Every key of the preset, as a study would write it.
    pub fn text(&self) -> DeviceText {
        DeviceText { preset: Some(self.name.clone()), ..DeviceKeys::from(&self.device).that_apply() }
    }
}

/// All presets, in the order in which tables show them.
pub fn presets() -> &'static [Preset] {
    #[derive(Deserialize)]
    struct File {
        preset: Vec<Preset>,
    }
    static PRESETS: LazyLock<Vec<Preset>> = LazyLock::new(|| {
        let file: File = toml::from_str(include_str!("presets.toml")).expect("presets.toml is read by a test");
        file.preset
    });
    &PRESETS
}

/// The preset of a name; an unknown one is an error that lists the known ones.
pub(super) fn preset(name: &str) -> Result<&'static Preset, SimError> {
    presets().iter().find(|preset| preset.name == name).ok_or_else(|| {
        let known: Vec<_> = presets().iter().map(|preset| preset.name.as_str()).collect();
        let choice = choose_from(name, &known.join(", "));
        SimError::study(format!("device.preset = {name:?}: unknown device; {choice}"))
    })
}
