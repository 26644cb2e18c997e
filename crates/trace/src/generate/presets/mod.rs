//! Ready workloads that meet the figures which three publications print for the traces that they
//! used.
//!
//! They are statistical look-alikes, not the traces. What a publication prints (sizes, write share,
//! sequentiality, gaps) is met, and a test holds it; what it does not print is an assumption, named
//! in the preset's description. Results from a look-alike may be compared with a publication's by
//! direction, never claimed as the same.
//!
//! *WAFTL* is Wei et al., "WAFTL: A Workload Adaptive Flash Translation Layer with Data Partition"
//! (MSST 2011); *thesis* is Wang, "Flash Memory Management with Cooperation, Adaptation and
//! Assistance" (National University of Singapore); *A-SAST* is Koo and Shin, "Adaptive Log Block
//! Mapping Scheme for Log Buffer-based FTL" (2009). `KB` in all of them is taken as 1024 bytes, as
//! their page sizes are.

mod fitted;
mod papers;
mod personal;
mod recipe;

use std::sync::LazyLock;

pub use self::recipe::{Preset, Published};
use super::spec::{GeneratorSpec, SpecError};

/// All presets that are listed, in the order of the publications' tables.
pub fn presets() -> &'static [Preset] {
    static LISTED: LazyLock<Vec<Preset>> =
        LazyLock::new(|| printed().into_iter().map(|preset| fitted::places(&preset).unwrap_or(preset)).collect());
    &LISTED
}

/// Presets by names that end in `-cold`, with places that were assumed before they were fitted.
/// They are not listed; studies made with them name them.
pub fn cold_presets() -> &'static [Preset] {
    static COLD: LazyLock<Vec<Preset>> =
        LazyLock::new(|| printed().into_iter().filter(|preset| fitted::places(preset).is_some()).collect());
    &COLD
}

/// Presets as publications print them, and with assumed places.
fn printed() -> Vec<Preset> {
    [&papers::WAFTL[..], &papers::THESIS, &papers::A_SAST].concat()
}

/// The workload called `name`. An unknown name is an error that lists them all and the nearest.
pub fn preset(name: &str) -> Result<GeneratorSpec, SpecError> {
    let presets = presets();
    if let Some(preset) = presets.iter().chain(cold_presets()).find(|preset| preset.name == name) {
        return Ok(preset.spec());
    }
    let plain = name.to_lowercase().replace('-', "_");
    let known: Vec<&str> = presets.iter().map(|preset| preset.name).collect();
    let closest = quantity::nearest(&plain, known.iter().copied()).map_or("", |(closest, _)| closest);
    Err(SpecError::UnknownPreset { name: name.to_owned(), closest, known })
}
