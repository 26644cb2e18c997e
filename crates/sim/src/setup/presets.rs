//! The devices that studies can name, as `presets.toml` has them.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use trace::units::{choose_from, nearest};

use super::document::Document;
use super::keys::{DeviceKeys, DeviceText};
use crate::error::SimError;

/// The preset that a study without one starts from.
pub const DEFAULT_PRESET: &str = "client-tlc";

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
    /// The load under which it was compared with its drive, if it was.
    pub compared: Option<ComparedLoad>,
    /// The keys that differ from their defaults; a study may override them.
    pub(super) device: DeviceText,
}

/// The heaviest load at which percentiles of a preset are near those of its drive.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ComparedLoad {
    /// Random reads of 4 KiB per second, among the writes.
    pub reads_per_s: f64,
    /// Random writes of 4 KiB per second.
    pub writes_per_s: f64,
    /// The differences from the drive beyond that load, as a sentence without its stop.
    pub beyond: String,
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
        let document = Document::parse(include_str!("presets.toml")).expect("presets.toml is read by a test");
        let file: File = serde_path_to_error::deserialize(&document.value()).expect("presets.toml is read by a test");
        file.preset
    });
    &PRESETS
}

/// The preset of a name, of a model (`7450` is `7450-like`), or of a start or part of one name
/// alone; another is an error that lists those that there are.
pub fn preset(name: &str) -> Result<&'static Preset, SimError> {
    let part = name.to_ascii_lowercase();
    let (all, model) = (presets(), format!("{part}-like"));
    if let Some(preset) = [&part, &model].into_iter().find_map(|name| all.iter().find(|preset| preset.name == *name)) {
        return Ok(preset);
    }
    let starting: Vec<_> = all.iter().filter(|preset| preset.name.starts_with(&part)).collect();
    let containing: Vec<_> = all.iter().filter(|preset| preset.name.contains(&part)).collect();
    let names =
        |presets: Vec<&Preset>| presets.iter().map(|preset| preset.name.as_str()).collect::<Vec<_>>().join(", ");
    let why = match (&starting[..], &containing[..]) {
        _ if part.is_empty() => format!("no device is named; choose from {}", names(all.iter().collect())),
        ([preset], _) | ([], [preset]) => return Ok(preset),
        (_, []) => {
            let known = names(all.iter().collect());
            let likeness = |name: &str| nearest(name, known.split(", ")).map_or(0.0, |(_, likeness)| likeness);
            let typed = if likeness(&model) > likeness(&part) { &model } else { &part };
            format!("unknown device; {}", choose_from(typed, &known))
        }
        _ => format!("several devices are called so; choose from {}", names(containing)),
    };
    Err(SimError::study(format!("device.preset = {name:?}: {why}")))
}

#[cfg(test)]
mod tests {
    use super::super::device::Draft;
    use super::*;
    use crate::timing::engine::Model;

    /// Keys of an ability that are the preset's alone go with it.
    #[test]
    fn every_preset_lets_each_ability_be_turned_off() {
        for key in [
            "suspend = \"off\"",
            "reads_first = false",
            "gc_yields = false",
            "multi_plane = false",
            "planes_per_die = 1",
            "superblock = \"plane\"",
            "controller_latency = \"0ns\"",
            "link_latency = \"0ns\"",
            "die_order = \"host_read\"",
            "pricing = \"serial\"",
            "bit_errors = \"none\"",
        ] {
            // What a paper's serial device never had is not turned off there.
            let is_of_dies = key.starts_with("die_order");
            for preset in presets() {
                if is_of_dies && preset.device.pricing == Some(Model::Serial) {
                    continue;
                }
                let keys = format!("preset = \"{}\"\n{key}", preset.name);
                let document = Document::parse(&keys).expect("TOML");
                let text: DeviceText = serde_json::from_value(document.value()).expect("keys");
                let refused = Draft::of(&text).err().map(|error| error.to_string());
                assert_eq!(refused, None, "{} with {key}", preset.name);
            }
        }
    }

    #[test]
    fn a_preset_is_found_by_a_unique_part_of_its_name() {
        for (part, name) in [
            ("7450", "7450-like"),
            ("7450-MAX", "7450-max-like"),
            ("cm7", "cm7-r-like"),
            ("ZN540", "zn540-like"),
            ("raw", "raw-slc"),
        ] {
            assert_eq!(preset(part).expect(part).name, name);
        }
        for (part, said) in [
            ("like", "choose from 970-pro-like, "),
            ("7540", "unknown device; did you mean 7450-like?"),
            ("slc-smoll", "mean slc-small?"),
            ("", "no device"),
        ] {
            let error = preset(part).expect_err(part).to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
