//! A workload description, checked: every default filled in, every inheritance resolved, every
//! range and relation verified.
//!
//! This is the second stage after [`super::spec`]. A plan can be carried out without further
//! questions, which is why the samplers built from it take its numbers as they are. What concerns
//! several values together is checked here, what one value must be by itself in [`super::limits`].

use super::draws::SizesPlan;
use super::limits::{
    MAX_CHOICES, at_least_one, beside, check_arrivals, check_range, check_region, check_runs, check_share, check_sizes,
    check_weights,
};
use super::reuse::check_reuse;
use super::spec::SpecError;
use super::spec::{Arrivals, GeneratorSpec, HotCold, Part, Pattern, Phase, Sizes, Zipf};
use crate::units::{Bytes, SECTOR};

/// Units of a range with trims: positions of written units are kept in 32 bits each.
const MAX_TRIM_UNITS: u64 = u32::MAX as u64 - 1;
/// Beyond this exponent all but the first extent have vanished, and (2⁵²)^−θ nears the smallest
/// number `f64` can hold.
const MAX_THETA: f64 = 16.0;
/// Rounding allowance where shares that should add to 1 were computed in `f64`.
const SHARE_SLACK: f64 = 1e-9;

/// The whole workload.
pub(crate) struct Plan {
    pub(crate) requests: u64,
    pub(crate) start: u64,
    pub(crate) unit: u64,
    pub(crate) units: u64,
    pub(crate) filled: bool,
    pub(crate) phases: Vec<PhasePlan>,
}

/// One phase; a workload without phases has one that lasts throughout.
pub(crate) struct PhasePlan {
    pub(crate) requests: u64,
    pub(crate) arrivals: Arrivals,
    pub(crate) parts: Vec<PartPlan>,
}

/// One part; a phase without a mixture has one of weight 1.
pub(crate) struct PartPlan {
    pub(crate) weight: f64,
    pub(crate) places: AddressPlan,
    /// First unit of its region, relative to the range.
    pub(crate) first_unit: u64,
    /// Units in its region, 1 or more.
    pub(crate) units: u64,
    pub(crate) write_share: f64,
    pub(crate) trim_share: f64,
    pub(crate) sequential_share: f64,
    /// Runs at a time, 1 or more.
    pub(crate) runs: u32,
    pub(crate) aligned: bool,
    /// Weights of the sectors of a unit; none where all start at its first.
    pub(crate) starts: Option<Vec<f64>>,
    /// Share of the requests that start at their unit's own sector.
    pub(crate) starts_kept: f64,
    pub(crate) sizes: SizesPlan,
    pub(crate) stream: u8,
    /// Whether later requests may repeat its own.
    pub(crate) reusable: bool,
}

/// Where a part's requests go, in units and extents of its region.
pub(crate) enum AddressPlan {
    Uniform,
    Permutation { same: bool },
    Zipf { theta: f64, theta_inside: f64, extents: ExtentsPlan },
    HotCold { hot_extents: u64, hot_request_share: f64, extents: ExtentsPlan },
    Sequential,
}

/// A region cut into extents; the last may be shorter.
pub(crate) struct ExtentsPlan {
    pub(crate) count: u64,
    pub(crate) units_per_extent: u64,
    /// The number of the scattering, or none for extents in order.
    pub(crate) hot_set: Option<u64>,
    /// Requests after which popularity moves on by one extent, or 0.
    pub(crate) drift: u64,
}

impl Plan {
    /// Checks a description. The first rule it breaks is the error.
    pub(crate) fn new(spec: &GeneratorSpec) -> Result<Self, SpecError> {
        at_least_one("requests", spec.requests)?;
        check_reuse(&spec.reuse)?;
        let units = check_range(spec)?;
        let phases = match &spec.pattern {
            Pattern::Phases(phases) => plan_phases(spec, phases, units)?,
            pattern => vec![PhasePlan {
                requests: spec.requests,
                arrivals: spec.arrivals.clone(),
                parts: plan_parts(&Settings::of(spec), pattern, "pattern", units)?,
            }],
        };
        let plan = Self {
            requests: spec.requests,
            start: spec.start.0,
            unit: spec.unit.0,
            units,
            filled: spec.filled,
            phases,
        };
        plan.check_whole(spec)?;
        Ok(plan)
    }

    /// Whether written units have to be remembered.
    pub(crate) fn trims(&self) -> bool {
        self.phases.iter().flat_map(|phase| &phase.parts).any(|part| part.trim_share > 0.0)
    }

    /// The rules that concern phases together.
    fn check_whole(&self, spec: &GeneratorSpec) -> Result<(), SpecError> {
        if self.trims() && self.units > MAX_TRIM_UNITS {
            return Err(SpecError::field(
                "span",
                spec.span,
                format!(
                    "a workload with trims can have at most {MAX_TRIM_UNITS} units, these are {}; use a larger `unit`",
                    self.units
                ),
            ));
        }
        for (index, phase) in self.phases.iter().enumerate() {
            let key = if self.phases.len() == 1 {
                "arrivals".to_owned()
            } else {
                format!("pattern.phases[{index}].arrivals")
            };
            check_arrivals(&key, &phase.arrivals, self.requests)?;
        }
        Ok(())
    }
}

/// The settings that parts and phases inherit.
#[derive(Clone)]
struct Settings<'a> {
    unit: u64,
    write_share: Option<f64>,
    trim_share: f64,
    sequential_share: f64,
    runs: u32,
    aligned: bool,
    starts: Option<&'a Vec<f64>>,
    starts_kept: f64,
    sizes: Option<&'a Sizes>,
    stream: u8,
    reusable: bool,
}

impl<'a> Settings<'a> {
    fn of(spec: &'a GeneratorSpec) -> Self {
        Self {
            unit: spec.unit.0,
            write_share: spec.write_share,
            trim_share: spec.trim_share,
            sequential_share: spec.sequential_share,
            runs: spec.runs,
            aligned: spec.aligned,
            starts: spec.starts.as_ref(),
            starts_kept: spec.starts_kept,
            sizes: spec.sizes.as_ref(),
            stream: spec.stream,
            reusable: true,
        }
    }
}

fn plan_phases(spec: &GeneratorSpec, phases: &[Phase], units: u64) -> Result<Vec<PhasePlan>, SpecError> {
    if phases.is_empty() || phases.len() > MAX_CHOICES {
        return Err(SpecError::field(
            "pattern.phases",
            format!("{} entries", phases.len()),
            format!("give 1 to {MAX_CHOICES} phases"),
        ));
    }
    let outer = Settings::of(spec);
    let plan_phase = |(index, phase): (usize, &Phase)| {
        let key = format!("pattern.phases[{index}]");
        at_least_one(&format!("{key}.requests"), phase.requests)?;
        let settings = Settings {
            write_share: phase.write_share.or(outer.write_share),
            trim_share: phase.trim_share.unwrap_or(outer.trim_share),
            sequential_share: phase.sequential_share.unwrap_or(outer.sequential_share),
            runs: phase.runs.unwrap_or(outer.runs),
            aligned: phase.aligned.unwrap_or(outer.aligned),
            starts: phase.starts.as_ref().or(outer.starts),
            starts_kept: phase.starts_kept.unwrap_or(outer.starts_kept),
            sizes: phase.sizes.as_ref().or(outer.sizes),
            stream: phase.stream.unwrap_or(outer.stream),
            ..outer
        };
        let arrivals = phase.arrivals.clone().unwrap_or_else(|| spec.arrivals.clone());
        Ok(PhasePlan {
            requests: phase.requests,
            arrivals,
            parts: plan_parts(&settings, &phase.pattern, &format!("{key}.pattern"), units)?,
        })
    };
    phases.iter().enumerate().map(plan_phase).collect()
}

/// The parts of one phase: those of a mixture, or the one that the pattern itself is.
fn plan_parts(settings: &Settings<'_>, pattern: &Pattern, key: &str, units: u64) -> Result<Vec<PartPlan>, SpecError> {
    let Pattern::Mixed(parts) = pattern else {
        return Ok(vec![plan_part(settings, pattern, 1.0, None, key, units)?]);
    };
    let weights: Vec<f64> = parts.iter().map(|part| part.weight).collect();
    check_weights(&format!("{key}.mixed"), &weights)?;
    let plan_one = |(index, part): (usize, &Part)| {
        let settings = Settings {
            write_share: part.write_share.or(settings.write_share),
            trim_share: part.trim_share.unwrap_or(settings.trim_share),
            sequential_share: part.sequential_share.unwrap_or(settings.sequential_share),
            runs: part.runs.unwrap_or(settings.runs),
            aligned: part.aligned.unwrap_or(settings.aligned),
            starts: part.starts.as_ref().or(settings.starts),
            starts_kept: part.starts_kept.unwrap_or(settings.starts_kept),
            sizes: part.sizes.as_ref().or(settings.sizes),
            stream: part.stream.unwrap_or(settings.stream),
            reusable: part.reusable,
            ..*settings
        };
        let key = format!("{key}.mixed[{index}]");
        plan_part(&settings, &part.pattern, part.weight, part.region, &key, units)
    };
    parts.iter().enumerate().map(plan_one).collect()
}

fn plan_part(
    settings: &Settings<'_>,
    pattern: &Pattern,
    weight: f64,
    region: Option<[f64; 2]>,
    key: &str,
    units: u64,
) -> Result<PartPlan, SpecError> {
    let trim_share = check_share(&beside(key, "trim_share"), settings.trim_share)?;
    let write_share = check_share(&beside(key, "write_share"), settings.write_share.unwrap_or(1.0 - trim_share))?;
    if write_share + trim_share > 1.0 + SHARE_SLACK {
        let sum = format!("{write_share} and trim_share = {trim_share}");
        return Err(SpecError::field(beside(key, "write_share"), sum, "together must not exceed 1; the rest reads"));
    }
    let (first_unit, units) = check_region(key, region, units)?;
    Ok(PartPlan {
        weight,
        places: plan_places(pattern, key, settings.unit, units)?,
        first_unit,
        units,
        write_share,
        trim_share,
        sequential_share: check_share(&beside(key, "sequential_share"), settings.sequential_share)?,
        runs: check_runs(&beside(key, "runs"), settings.runs)?,
        aligned: settings.aligned,
        starts: check_starts(&beside(key, "starts"), settings.starts, settings.unit, settings.aligned)?,
        starts_kept: check_share(&beside(key, "starts_kept"), settings.starts_kept)?,
        sizes: check_sizes(&beside(key, "sizes"), settings.sizes, settings.unit, units)?,
        stream: settings.stream,
        reusable: settings.reusable,
    })
}

fn check_starts(key: &str, starts: Option<&Vec<f64>>, unit: u64, aligned: bool) -> Result<Option<Vec<f64>>, SpecError> {
    let Some(weights) = starts else { return Ok(None) };
    if aligned {
        return Err(SpecError::field(
            key,
            "with aligned = true".to_owned(),
            "requests that start at multiples of their length have no start inside a unit; give one of the two",
        ));
    }
    if weights.len() as u64 * SECTOR != unit {
        let sectors = if unit.is_multiple_of(SECTOR) { unit / SECTOR } else { 0 };
        return Err(SpecError::field(
            key,
            format!("{} weights", weights.len()),
            format!("give one for each of the {sectors} sectors of 512 bytes of a unit, and a unit of whole sectors"),
        ));
    }
    check_weights(key, weights)?;
    Ok(Some(weights.clone()))
}

fn plan_places(pattern: &Pattern, key: &str, unit: u64, units: u64) -> Result<AddressPlan, SpecError> {
    match pattern {
        Pattern::Uniform => Ok(AddressPlan::Uniform),
        Pattern::Permutation => Ok(AddressPlan::Permutation { same: false }),
        Pattern::SamePermutation => Ok(AddressPlan::Permutation { same: true }),
        Pattern::Sequential => Ok(AddressPlan::Sequential),
        Pattern::Zipf(zipf) => plan_zipf(zipf, key, unit, units),
        Pattern::HotCold(hot_cold) => plan_hot_cold(hot_cold, key, unit, units),
        Pattern::Mixed(_) => {
            Err(SpecError::field(key, "mixed", "a mixture cannot contain a mixture; list all parts in one"))
        }
        Pattern::Phases(_) => Err(SpecError::field(
            key,
            "phases",
            "phases cannot be part of a mixture or of phases; make the mixture a phase's pattern",
        )),
    }
}

fn plan_zipf(zipf: &Zipf, key: &str, unit: u64, units: u64) -> Result<AddressPlan, SpecError> {
    let key = format!("{key}.zipf");
    for (name, theta) in [("theta", zipf.theta), ("theta_inside", zipf.theta_inside)] {
        if !(0.0..=MAX_THETA).contains(&theta) {
            let rule = "must be 0 to 16; 0 is uniform, disks usually show 0.6 to 1.2";
            return Err(SpecError::field(format!("{key}.{name}"), theta, rule));
        }
    }
    let extents = plan_extents(&key, zipf.extent, zipf.scatter.then_some(zipf.hot_set), zipf.drift, unit, units)?;
    Ok(AddressPlan::Zipf { theta: zipf.theta, theta_inside: zipf.theta_inside, extents })
}

fn plan_hot_cold(hot_cold: &HotCold, key: &str, unit: u64, units: u64) -> Result<AddressPlan, SpecError> {
    let key = format!("{key}.hot_cold");
    let data_share = hot_cold.hot_data_share;
    if !(data_share > 0.0 && data_share < 1.0) {
        let rule = "must be above 0 and below 1; for one temperature use `uniform`";
        return Err(SpecError::field(format!("{key}.hot_data_share"), data_share, rule));
    }
    let hot_set = hot_cold.scatter.then_some(hot_cold.hot_set);
    let extents = plan_extents(&key, hot_cold.extent, hot_set, hot_cold.drift, unit, units)?;
    if extents.count < 2 {
        let rule = "two temperatures need at least two extents; use a smaller `extent` or a larger `span`";
        return Err(SpecError::field(format!("{key}.extent"), Bytes(extents.units_per_extent * unit), rule));
    }
    let hot_extents = ((data_share * extents.count as f64).round() as u64).clamp(1, extents.count - 1);
    let hot_request_share = check_share(&format!("{key}.hot_request_share"), hot_cold.hot_request_share)?;
    Ok(AddressPlan::HotCold { hot_extents, hot_request_share, extents })
}

fn plan_extents(
    key: &str,
    extent: Option<Bytes>,
    hot_set: Option<u64>,
    drift: u64,
    unit: u64,
    units: u64,
) -> Result<ExtentsPlan, SpecError> {
    let bytes = extent.map_or(unit, |extent| extent.0);
    if bytes == 0 || !bytes.is_multiple_of(unit) || bytes / unit > units {
        let rule = format!(
            "must be a multiple of `unit`, {}, and at most the range it divides, {}",
            Bytes(unit),
            Bytes(units * unit)
        );
        return Err(SpecError::field(format!("{key}.extent"), Bytes(bytes), rule));
    }
    let units_per_extent = bytes / unit;
    Ok(ExtentsPlan { count: units.div_ceil(units_per_extent), units_per_extent, hot_set, drift })
}
