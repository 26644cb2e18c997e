//! The search for places that have a target's locality: a compass search.
//!
//! Each number is moved by its step both ways, and kept where the misfit falls; when no move helps,
//! the steps are halved. Two starts, with cold large requests and with one popularity for all, so
//! that the search does not stay where the other is better. The workloads have one seed throughout:
//! two sets of numbers differ by what they say and not by chance.

use super::target::{Residual, Target, misfit};
use crate::generate::{GeneratorSpec, PlaceShape, SpecError};
use crate::units::Bytes;

/// Extents that are tried, KiB, and runs at a time.
const EXTENTS_KIB: [u64; 6] = [8, 16, 32, 64, 128, 256];
const RUNS: [u32; 5] = [1, 4, 8, 16, 64];

/// Halvings of the steps: the last moves an exponent by 0.02.
const HALVINGS: u32 = 4;
/// Sweeps over all numbers with one step.
const SWEEPS: u32 = 6;

/// Popularity that moves on every so many requests, as a power of ten; from the last on it stays.
const STILL: f64 = 6.0;

/// The numbers of [`PlaceShape`], each on a scale of its own.
const NUMBERS: usize = 8;
const LEAST: [f64; NUMBERS] = [0.2, 0.0, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0];
const MOST: [f64; NUMBERS] = [3.0, 3.0, 0.95, 1.0, 0.95, STILL, 5.0, 4.0];
const STEPS: [f64; NUMBERS] = [0.3, 0.4, 0.2, 0.3, 0.2, 1.0, 1.0, 1.0];
const STARTS: [[f64; NUMBERS]; 2] =
    [[1.1, 0.5, 0.3, 0.3, 0.5, 3.0, 3.0, 2.0], [1.1, 0.5, 0.3, 1.0, 0.5, STILL, 3.0, 2.0]];

/// A workload without its places.
pub(crate) type Frame<'a> = &'a dyn Fn(&PlaceShape) -> GeneratorSpec;

/// Searches: the best places found, with their misfit; none when `go_on` says to stop.
pub(crate) fn search(
    frame: Frame<'_>,
    target: &Target,
    seed: u64,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Option<(PlaceShape, Vec<Residual>)>, SpecError> {
    let misfit_at = |numbers: &[f64; NUMBERS]| -> Result<f64, SpecError> {
        Ok(misfit(&target.residuals(&frame(&shape(numbers)), seed)?))
    };
    let mut best: Option<(f64, [f64; NUMBERS])> = None;
    for start in STARTS {
        let mut here = (misfit_at(&start)?, start);
        for halving in 0..=HALVINGS {
            for _ in 0..SWEEPS {
                let before = here.0;
                for number in 0..NUMBERS {
                    let Some(moved) = step(&misfit_at, here, number, halving, go_on)? else { return Ok(None) };
                    here = moved;
                }
                if here.0 >= before {
                    break;
                }
            }
        }
        if best.is_none_or(|(misfit, _)| here.0 < misfit) {
            best = Some(here);
        }
    }
    let (_, numbers) = best.unwrap_or((0.0, STARTS[0]));
    let shape = shape(&numbers);
    let residuals = target.residuals(&frame(&shape), seed)?;
    Ok(Some((shape, residuals)))
}

/// Moves one number both ways; the better place, or none when the search should stop.
fn step(
    misfit_at: &dyn Fn(&[f64; NUMBERS]) -> Result<f64, SpecError>,
    mut here: (f64, [f64; NUMBERS]),
    number: usize,
    halving: u32,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Option<(f64, [f64; NUMBERS])>, SpecError> {
    // The last two choose from lists.
    let width = if number >= NUMBERS - 2 { 1.0 } else { STEPS[number] / f64::from(1 << halving) };
    for way in [width, -width] {
        if !go_on() {
            return Ok(None);
        }
        let mut numbers = here.1;
        numbers[number] = (numbers[number] + way).clamp(LEAST[number], MOST[number]);
        if numbers[number].to_bits() == here.1[number].to_bits() {
            continue;
        }
        let misfit = misfit_at(&numbers)?;
        if misfit < here.0 {
            here = (misfit, numbers);
            break;
        }
    }
    Ok(Some(here))
}

/// Rounded to what a preset prints, so that what is found is what is shown.
fn shape(numbers: &[f64; NUMBERS]) -> PlaceShape {
    let [theta, theta_inside, sequential_share, joined, cold_sequential_share, drift, extent, runs] = *numbers;
    let hundredths = |number: f64| (number * 100.0).round() / 100.0;
    let two_digits = |number: f64| {
        let unit = libm::pow(10.0, (libm::log10(number).floor() - 1.0).max(0.0));
        ((number / unit).round() * unit) as u64
    };
    PlaceShape {
        theta: hundredths(theta),
        extent: Bytes(EXTENTS_KIB[extent as usize] << 10),
        theta_inside: hundredths(theta_inside),
        drift: if drift >= STILL { 0 } else { two_digits(libm::pow(10.0, drift)) },
        runs: RUNS[runs as usize],
        sequential_share: hundredths(sequential_share),
        joined: hundredths(joined),
        cold_sequential_share: hundredths(cold_sequential_share),
    }
}
