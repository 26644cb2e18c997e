//! A workload description, checked and made ready: every default filled in, every inheritance
//! resolved, every range and relation verified.
//!
//! This is the second stage after [`super::spec`]. What it makes draws without further questions,
//! which is why samplers take their numbers as they are. What concerns several values together is
//! checked here, what one value must be by itself in [`super::limits`].

use random::{SeededRng, derive};

use super::addresses::{AddressSampler, Extents, Passes};
use super::arrivals::GapSampler;
use super::draws::{Chance, Weighted};
use super::limits::{
    MAX_CHOICES, at_least_one, beside, check_arrivals, check_part_unit, check_region, check_runs, check_share,
    check_sizes, check_weights,
};
use super::parts::{Operations, PartState, PhaseState};
use super::spec::{GeneratorSpec, HotCold, Part, Pattern, Phase, Settings, SpecError, Zipf};
use super::zipf::ZipfRanks;
use crate::units::{Bytes, SECTOR};

/// Beyond this exponent all but the first extent have vanished, and (2⁵²)^−θ nears the smallest
/// number `f64` can hold.
const MAX_THETA: f64 = 16.0;
/// Rounding allowance where shares that should add to 1 were computed in `f64`.
const SHARE_SLACK: f64 = 1e-9;

/// The phases of a workload: those of its pattern, or the one that it is.
/// The first rule that the description breaks is the error.
pub(super) fn phases(spec: &GeneratorSpec, seed: u64) -> Result<Box<[PhaseState]>, SpecError> {
    let workload = Workload { spec, seed };
    let Pattern::Phases(phases) = &spec.pattern else {
        check_arrivals("arrivals", &spec.arrivals, spec.requests)?;
        let gaps = GapSampler::new(&spec.arrivals);
        return Ok([workload.phase(0, spec.requests, gaps, &spec.settings(), (&spec.pattern, "pattern"))?].into());
    };
    if phases.is_empty() || phases.len() > MAX_CHOICES {
        return Err(SpecError::field(
            "pattern.phases",
            format!("{} entries", phases.len()),
            format!("give 1 to {MAX_CHOICES} phases"),
        ));
    }
    let plan_phase = |(index, phase): (usize, &Phase)| {
        let key = format!("pattern.phases[{index}]");
        at_least_one(&format!("{key}.requests"), phase.requests)?;
        let arrivals = phase.arrivals.as_ref().unwrap_or(&spec.arrivals);
        let arrivals_key = if phases.len() == 1 { "arrivals".to_owned() } else { format!("{key}.arrivals") };
        check_arrivals(&arrivals_key, arrivals, spec.requests)?;
        let settings = phase.settings(&spec.settings());
        let key = format!("{key}.pattern");
        workload.phase(index, phase.requests, GapSampler::new(arrivals), &settings, (&phase.pattern, &key))
    };
    phases.iter().enumerate().map(plan_phase).collect()
}

/// What all parts have in common.
struct Workload<'a> {
    spec: &'a GeneratorSpec,
    seed: u64,
}

/// What a part is made from, and what it is called in errors.
struct Planned<'a> {
    settings: &'a Settings<'a>,
    pattern: &'a Pattern,
    region: Option<[f64; 2]>,
    unit: Option<Bytes>,
    reusable: bool,
    key: &'a str,
}

impl Workload<'_> {
    /// A phase; its parts are those of a mixture, or the one that the pattern itself is.
    fn phase(
        &self,
        index: usize,
        requests: u64,
        gaps: GapSampler,
        settings: &Settings<'_>,
        (pattern, key): (&Pattern, &str),
    ) -> Result<PhaseState, SpecError> {
        let name = format!("phase {index}");
        let part_name = |index: usize| format!("{name}/part {index}");
        let (weights, parts) = if let Pattern::Mixed(parts) = pattern {
            let weights: Vec<f64> = parts.iter().map(|part| part.weight).collect();
            check_weights(&format!("{key}.mixed"), &weights)?;
            let plan_one = |(index, part): (usize, &Part)| {
                let (settings, key) = (&part.settings(settings), &*format!("{key}.mixed[{index}]"));
                let &Part { ref pattern, region, unit, reusable, .. } = part;
                let planned = Planned { settings, pattern, region, unit, reusable, key };
                self.part(&planned, &part_name(index))
            };
            (weights, parts.iter().enumerate().map(plan_one).collect::<Result<_, _>>()?)
        } else {
            let planned = Planned { settings, pattern, region: None, unit: None, reusable: true, key };
            (vec![1.0], [self.part(&planned, &part_name(0))?].into())
        };
        Ok(PhaseState {
            requests,
            gaps,
            gap_stream: SeededRng::named(self.seed, &format!("{name}/arrivals")),
            mixture: Weighted::new(&weights),
            mixture_stream: SeededRng::named(self.seed, &format!("{name}/mixture")),
            parts,
        })
    }

    fn part(&self, planned: &Planned<'_>, name: &str) -> Result<PartState, SpecError> {
        let &Planned { settings, pattern, region, unit, reusable, key } = planned;
        let trim_share = check_share(&beside(key, "trim_share"), settings.trim_share)?;
        let write_share = check_share(&beside(key, "write_share"), settings.write_share.unwrap_or(1.0 - trim_share))?;
        if write_share + trim_share > 1.0 + SHARE_SLACK {
            let sum = format!("{write_share} and trim_share = {trim_share}");
            return Err(SpecError::field(
                beside(key, "write_share"),
                sum,
                "together must not exceed 1; the rest reads",
            ));
        }
        let unit = check_part_unit(key, unit, self.spec)?;
        let (first_unit, units) = check_region(key, region, self.spec.span.0 / unit)?;
        let first = self.spec.start.0 + first_unit * unit;
        let stream = |purpose: &str| SeededRng::named(self.seed, &format!("{name}/{purpose}"));
        let places = self.places(pattern, key, units, name)?;
        let sequential_share = check_share(&beside(key, "sequential_share"), settings.sequential_share)?;
        Ok(PartState {
            operations: Operations::new(write_share, trim_share),
            operation_stream: stream("operations"),
            // A sequential part is one run that never chooses to jump.
            continues: Chance::of(if *pattern == Pattern::Sequential { 1.0 } else { sequential_share }),
            run_stream: stream("runs"),
            places,
            place_stream: stream("places"),
            trim_stream: stream("trims"),
            region: (first, first + units * unit),
            unit,
            runs: vec![None; check_runs(&beside(key, "runs"), settings.runs)? as usize].into_boxed_slice(),
            run: 0,
            aligned: settings.aligned,
            starts: check_starts(&beside(key, "starts"), settings.starts, unit, settings.aligned)?,
            keeps_start: Chance::of(check_share(&beside(key, "starts_kept"), settings.starts_kept)?),
            start_stream: stream("starts"),
            sizes: check_sizes(&beside(key, "sizes"), settings.sizes, unit, units)?,
            size_stream: stream("sizes"),
            stream: settings.stream,
            reusable,
        })
    }

    fn places(&self, pattern: &Pattern, key: &str, units: u64, name: &str) -> Result<AddressSampler, SpecError> {
        match pattern {
            Pattern::Uniform => Ok(AddressSampler::Uniform { units }),
            Pattern::Permutation | Pattern::SamePermutation => {
                let key = derive(self.seed, &format!("{name}/permutation"));
                Ok(AddressSampler::Permutation(Passes::new(units, *pattern == Pattern::SamePermutation, key)))
            }
            Pattern::Sequential => Ok(AddressSampler::Sequential),
            Pattern::Zipf(zipf) => self.zipf(zipf, &format!("{key}.zipf"), units),
            Pattern::HotCold(hot_cold) => self.hot_cold(hot_cold, &format!("{key}.hot_cold"), units),
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

    fn zipf(&self, zipf: &Zipf, key: &str, units: u64) -> Result<AddressSampler, SpecError> {
        for (name, theta) in [("theta", zipf.theta), ("theta_inside", zipf.theta_inside)] {
            if !(0.0..=MAX_THETA).contains(&theta) {
                let rule = "must be 0 to 16; 0 is uniform, disks usually show 0.6 to 1.2";
                return Err(SpecError::field(format!("{key}.{name}"), theta, rule));
            }
        }
        let extents = self.extents(key, zipf.extent, zipf.scatter.then_some(zipf.hot_set), zipf.drift, units)?;
        Ok(AddressSampler::Zipf {
            ranks: ZipfRanks::new(extents.count, zipf.theta),
            inside: (zipf.theta_inside > 0.0).then(|| ZipfRanks::new(extents.units_per_extent, zipf.theta_inside)),
            extents,
        })
    }

    fn hot_cold(&self, hot_cold: &HotCold, key: &str, units: u64) -> Result<AddressSampler, SpecError> {
        let data_share = hot_cold.hot_data_share;
        if !(data_share > 0.0 && data_share < 1.0) {
            let rule = "must be above 0 and below 1; for one temperature use `uniform`";
            return Err(SpecError::field(format!("{key}.hot_data_share"), data_share, rule));
        }
        let hot_set = hot_cold.scatter.then_some(hot_cold.hot_set);
        let extents = self.extents(key, hot_cold.extent, hot_set, hot_cold.drift, units)?;
        if extents.count < 2 {
            let rule = "two temperatures need at least two extents; use a smaller `extent` or a larger `span`";
            let extent = Bytes(extents.units_per_extent * self.spec.unit.0);
            return Err(SpecError::field(format!("{key}.extent"), extent, rule));
        }
        let hot_request_share = check_share(&format!("{key}.hot_request_share"), hot_cold.hot_request_share)?;
        Ok(AddressSampler::HotCold {
            hot: ((data_share * extents.count as f64).round() as u64).clamp(1, extents.count - 1),
            hot_chance: Chance::of(hot_request_share),
            extents,
        })
    }

    fn extents(
        &self,
        key: &str,
        extent: Option<Bytes>,
        hot_set: Option<u64>,
        drift: u64,
        units: u64,
    ) -> Result<Extents, SpecError> {
        let unit = self.spec.unit.0;
        let bytes = extent.map_or(unit, |extent| extent.0);
        if bytes == 0 || !bytes.is_multiple_of(unit) || bytes / unit > units {
            let rule = format!(
                "must be a multiple of `unit`, {}, and at most the range it divides, {}",
                Bytes(unit),
                Bytes(units * unit)
            );
            return Err(SpecError::field(format!("{key}.extent"), Bytes(bytes), rule));
        }
        // Named after the hot set alone, so that parts which agree on it share their popular
        // places.
        let scatter = hot_set.map(|set| derive(self.seed, &format!("hot set {set}")));
        Ok(Extents::new(units, bytes / unit, scatter, drift))
    }
}

fn check_starts(key: &str, starts: Option<&[f64]>, unit: u64, aligned: bool) -> Result<Option<Weighted>, SpecError> {
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
    Ok(Some(Weighted::new(weights)))
}
