//! What one value of a workload description must be by itself: ranges, and the sentence for what
//! lies outside.
//!
//! It does not know how values combine; that is [`super::plan`]'s business.

use super::draws::{SizeSampler, Weighted};
use super::spec::SpecError;
use super::spec::{Arrivals, GeneratorSpec, Sizes};
use crate::units::Bytes;

/// Requests are at most this long, because a record's length is 32 bits.
const MAX_LENGTH: u64 = u32::MAX as u64;
/// Units of a range: up to here a share times their number is exact in `f64`.
const MAX_UNITS: u64 = 1 << 52;
/// Units of a range with trims: positions of written units are kept in 32 bits each.
const MAX_TRIM_UNITS: u64 = u32::MAX as u64 - 1;
/// Ends of address ranges, so that no sum of an offset and a length overflows.
const MAX_END: u64 = 1 << 63;
/// Expected length of a whole workload in nanoseconds (36 years); leaves the clock 16-fold room
/// before 64 bits end.
const MAX_DURATION_NS: f64 = 1_152_921_504_606_846_976.0;
/// More choices than any measured distribution has; the limit keeps a broken input from filling
/// memory.
pub(super) const MAX_CHOICES: usize = 65_536;

/// The range's units.
pub(super) fn check_range(spec: &GeneratorSpec) -> Result<u64, SpecError> {
    let (span, unit) = (spec.span.0, spec.unit.0);
    check_unit("unit", spec.unit, spec.start)?;
    if span == 0 || !span.is_multiple_of(unit) {
        return Err(SpecError::field(
            "span",
            spec.span,
            format!("must be a multiple of `unit`, {}, and not 0", spec.unit),
        ));
    }
    if spec.start.0.checked_add(span).is_none_or(|end| end > MAX_END) {
        return Err(SpecError::field(
            "span",
            spec.span,
            "`start` + `span` must not pass 8EiB (2^63 bytes); use a smaller one",
        ));
    }
    if span / unit > MAX_UNITS {
        return Err(SpecError::field("span", spec.span, "must not exceed 2^52 units; use a larger `unit`"));
    }
    Ok(span / unit)
}

/// An alignment that the range begins at.
fn check_unit(key: &str, unit: Bytes, start: Bytes) -> Result<(), SpecError> {
    if !(1..=1 << 30).contains(&unit.0) {
        return Err(SpecError::field(key, unit, "must be 1B to 1GiB; the device's page size is the usual choice"));
    }
    if !start.0.is_multiple_of(unit.0) {
        return Err(SpecError::field("start", start, format!("must be a multiple of `{key}`, {unit}")));
    }
    Ok(())
}

/// The unit of a part, its own or the workload's.
pub(super) fn check_part_unit(key: &str, unit: Option<Bytes>, spec: &GeneratorSpec) -> Result<u64, SpecError> {
    let Some(unit) = unit else { return Ok(spec.unit.0) };
    check_unit(&beside(key, "unit"), unit, spec.start)?;
    Ok(unit.0)
}

/// A range whose written units can be remembered, where something trims.
pub(super) fn check_trims(spec: &GeneratorSpec, trims: bool, units: u64) -> Result<(), SpecError> {
    if !trims || units <= MAX_TRIM_UNITS {
        return Ok(());
    }
    let rule = format!(
        "a workload with trims can have at most {MAX_TRIM_UNITS} units, these are {units}; use a larger `unit`"
    );
    Err(SpecError::field("span", spec.span, rule))
}

/// Lengths that a record can hold and the region too; without any, one unit.
pub(super) fn check_sizes(key: &str, sizes: Option<&Sizes>, unit: u64, units: u64) -> Result<SizeSampler, SpecError> {
    let region = units * unit;
    let length = |key: &str, size: Bytes| {
        if (1..=MAX_LENGTH.min(region)).contains(&size.0) {
            return Ok(size.0 as u32);
        }
        let rule = format!("a request is 1B to 4GiB - 1B and must fit in its range, {}", Bytes(region));
        Err(SpecError::field(key, size, rule))
    };
    match sizes {
        None => Ok(SizeSampler::Fixed(length(key, Bytes(unit))?)),
        Some(Sizes::Fixed(size)) => Ok(SizeSampler::Fixed(length(key, *size)?)),
        Some(Sizes::Uniform { min, max, step }) => {
            let (min, max) =
                (length(&format!("{key}.uniform.min"), *min)?, length(&format!("{key}.uniform.max"), *max)?);
            let step = length(&format!("{key}.uniform.step"), *step)?;
            if max < min {
                let rule = format!("must be at least `min`, {}", Bytes(u64::from(min)));
                return Err(SpecError::field(format!("{key}.uniform.max"), Bytes(u64::from(max)), rule));
            }
            // At most 2³² − 1 sizes; the count itself could be 2³² only for min = 0, which is
            // refused.
            Ok(SizeSampler::Steps { min, step, count: (max - min) / step + 1 })
        }
        Some(Sizes::Choice(choices)) => {
            let weights: Vec<f64> = choices.iter().map(|choice| choice.weight).collect();
            check_weights(&format!("{key}.choice"), &weights)?;
            let lengths = choices
                .iter()
                .enumerate()
                .map(|(index, choice)| length(&format!("{key}.choice[{index}].size"), choice.size));
            Ok(SizeSampler::Choice { table: Weighted::new(&weights), lengths: lengths.collect::<Result<_, _>>()? })
        }
    }
}

/// The first unit and the number of units of a slice of the range.
pub(super) fn check_region(key: &str, region: Option<[f64; 2]>, units: u64) -> Result<(u64, u64), SpecError> {
    let [from, to] = region.unwrap_or([0.0, 1.0]);
    let key = beside(key, "region");
    if !(0.0 <= from && from < to && to <= 1.0) {
        return Err(SpecError::field(
            key,
            format!("[{from}, {to}]"),
            "must be two shares of the span, 0 <= from < to <= 1",
        ));
    }
    let (first, end) = ((from * units as f64).round() as u64, (to * units as f64).round() as u64);
    if first >= end {
        return Err(SpecError::field(key, format!("[{from}, {to}]"), "holds not one unit; widen it or enlarge `span`"));
    }
    Ok((first, end - first))
}

/// Gaps that exist, and a workload that ends before the clock does.
pub(super) fn check_arrivals(key: &str, arrivals: &Arrivals, requests: u64) -> Result<(), SpecError> {
    let mean_gap = match arrivals {
        Arrivals::AtOnce => return Ok(()),
        Arrivals::Constant { gap } => *gap,
        Arrivals::Poisson { mean_gap } => *mean_gap,
        Arrivals::Bursty { mean_gap, burst_gap, burst } => {
            if !(1.0..=1e9).contains(burst) {
                let rule = "must be 1 to 1e9 requests in a mean burst";
                return Err(SpecError::field(format!("{key}.bursty.burst"), burst, rule));
            }
            if burst_gap > mean_gap {
                let rule = format!("must not exceed `mean_gap`, {mean_gap}: bursts are where requests come faster");
                return Err(SpecError::field(format!("{key}.bursty.burst_gap"), burst_gap, rule));
            }
            *mean_gap
        }
    };
    if mean_gap.0 == 0 {
        return Err(SpecError::field(
            key,
            mean_gap,
            "a gap must be at least 1ns; for no gaps use `arrivals = \"at_once\"`",
        ));
    }
    if mean_gap.0 as f64 * requests as f64 > MAX_DURATION_NS {
        let rule = format!("{requests} requests at this gap would last longer than 36 years; lower one of the two");
        return Err(SpecError::field(key, mean_gap, rule));
    }
    Ok(())
}

/// Weights, at least one of them above 0.
pub(super) fn check_weights(key: &str, weights: &[f64]) -> Result<(), SpecError> {
    if weights.is_empty() || weights.len() > MAX_CHOICES {
        return Err(SpecError::field(key, format!("{} entries", weights.len()), format!("give 1 to {MAX_CHOICES}")));
    }
    for (index, weight) in weights.iter().enumerate() {
        if !(0.0..=1e18).contains(weight) {
            return Err(SpecError::field(format!("{key}[{index}].weight"), weight, "must be 0 to 1e18"));
        }
    }
    if weights.iter().sum::<f64>() < 1e-18 {
        return Err(SpecError::field(format!("{key}[..].weight"), "0", "not all weights may be 0"));
    }
    Ok(())
}

/// Runs at a time, of which each remembers where it ended.
pub(super) fn check_runs(key: &str, runs: u32) -> Result<u32, SpecError> {
    if (1..=MAX_CHOICES as u32).contains(&runs) {
        return Ok(runs);
    }
    Err(SpecError::field(key, runs, format!("must be 1 to {MAX_CHOICES} runs at a time")))
}

/// A count of requests.
pub(super) fn at_least_one(key: &str, count: u64) -> Result<(), SpecError> {
    if count == 0 { Err(SpecError::field(key, count, "must be 1 or more")) } else { Ok(()) }
}

/// A fraction; NaN is none.
pub(super) fn check_share(key: &str, value: f64) -> Result<f64, SpecError> {
    if (0.0..=1.0).contains(&value) {
        return Ok(value);
    }
    Err(SpecError::field(key, value, "is a share and must be 0 to 1 (write 0.35 for 35 %)"))
}

/// The key called `name` beside the pattern at `key`: a pattern's key ends in `pattern` except
/// inside a mixture, where the path names the part.
pub(super) fn beside(key: &str, name: &str) -> String {
    match key.strip_suffix("pattern") {
        Some(parent) => format!("{parent}{name}"),
        None => format!("{key}.{name}"),
    }
}
