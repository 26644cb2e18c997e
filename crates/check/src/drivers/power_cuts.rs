//! The cases in which every scheme has its power cut.
//!
//! Few devices, each with something that recovery gets wrong: one die on which a lost free block is
//! fatal; bad blocks; dies with odd counts; strict and free program order; several channels. Each
//! is given the largest number of pages that the scheme accepts. The workloads overwrite, trim and
//! flush enough that collections and merges happen at most requests.
//!
//! Then every value of every parameter, on one device large enough for a map of two translation
//! pages.
//!
//! On the smallest device every second cut during recovery is tried; elsewhere, and after recovery,
//! a sample.

use flash::ProgramOrder;
use ftl::{Layout, Stack};
use random::derive;

use crate::case::device_spec::DeviceSpec;
use crate::case::test_case::{Case, Prefill};
use crate::case::workload::{Pattern, Workload};
use crate::drivers::explorer::Effort;
use crate::drivers::geometries;
use crate::drivers::session::create;
use crate::drivers::variants::{Subject, seed_name};

/// Requests of a case.
const REQUESTS: u32 = 200;

/// Requests of a case that tries a setting.
const REQUESTS_OF_SETTINGS: u32 = 40;

const SAMPLE: Effort = Effort { first: 1, during_recovery: 30, after_recovery: 60 };
const RARE: Effort = Effort { first: 1, during_recovery: 200, after_recovery: 400 };
const THOROUGH: Effort = Effort { first: 1, during_recovery: 1, after_recovery: 30 };

/// A device, and how thoroughly it is tried.
struct Ground {
    device: DeviceSpec,
    patterns: &'static [Pattern],
    effort: Effort,
}

fn grounds() -> Vec<Ground> {
    let device = DeviceSpec::new;
    let usual = &[Pattern::Mixed, Pattern::TrimFlush, Pattern::Uniform, Pattern::InterruptedRuns];
    let small = &[Pattern::Mixed, Pattern::TrimFlush];
    let relocations = &[Pattern::BlockRelocations];
    let ground = |device, patterns, effort| Ground { device, patterns, effort };
    vec![
        ground(device(1, 1, 1, 8, 4), small, THOROUGH),
        ground(device(1, 1, 1, 8, 4), &[Pattern::Uniform, Pattern::InterruptedRuns, Pattern::CrossBlock], SAMPLE),
        ground(device(1, 1, 1, 9, 5).with_bad([0, 8]), usual, SAMPLE),
        ground(device(3, 1, 1, 7, 3), usual, SAMPLE),
        ground(device(1, 1, 1, 8, 4).ordered(ProgramOrder::Strict), small, SAMPLE),
        ground(device(1, 1, 1, 9, 3).ordered(ProgramOrder::Any), usual, SAMPLE),
        ground(device(2, 2, 1, 6, 4), small, SAMPLE),
        ground(device(2, 1, 1, 10, 4).ordered(ProgramOrder::Strict), small, SAMPLE),
        ground(device(1, 1, 1, 8, 4), relocations, SAMPLE),
        ground(device(2, 2, 1, 6, 4), relocations, SAMPLE),
        ground(device(1, 1, 1, 9, 3).ordered(ProgramOrder::Any), relocations, SAMPLE),
    ]
}

/// The same for stacks to which all of those are too small.
fn larger_grounds() -> Vec<Ground> {
    let device = DeviceSpec::new;
    let usual = &[Pattern::Mixed, Pattern::TrimFlush, Pattern::Uniform, Pattern::InterruptedRuns];
    let ground = |device, patterns, effort| Ground { device, patterns, effort };
    vec![
        ground(device(1, 1, 1, 12, 4), &[Pattern::Mixed, Pattern::TrimFlush], THOROUGH),
        ground(device(1, 1, 1, 12, 4), &[Pattern::Uniform, Pattern::InterruptedRuns, Pattern::CrossBlock], SAMPLE),
        ground(device(1, 1, 1, 14, 5).with_bad([0, 13]), usual, SAMPLE),
        ground(device(3, 1, 1, 10, 3), usual, SAMPLE),
        ground(device(1, 1, 1, 13, 3).ordered(ProgramOrder::Any), usual, SAMPLE),
        ground(device(1, 1, 1, 12, 4), &[Pattern::BlockRelocations], SAMPLE),
        ground(device(2, 2, 1, 9, 4), &[Pattern::BlockRelocations, Pattern::Mixed], SAMPLE),
    ]
}

/// The cases of a stack, each with the effort to explore it with; devices that it refuses are left
/// out.
pub fn cases(stack: &Stack, seed: u64) -> Vec<(Case, Effort)> {
    let usual = cases_on(grounds(), stack, seed);
    if usual.is_empty() { cases_on(larger_grounds(), stack, seed) } else { usual }
}

fn cases_on(grounds: Vec<Ground>, stack: &Stack, seed: u64) -> Vec<(Case, Effort)> {
    let mut cases = Vec::new();
    for Ground { device, patterns, effort } in grounds {
        for (i, &pattern) in patterns.iter().enumerate() {
            let prefill = if i == 0 { Prefill::Empty } else { Prefill::Full };
            cases.extend(case(stack, &device, pattern, prefill, seed).map(|case| (case, effort)));
        }
    }
    cases
}

/// The cases of a stack that keeps checkpoints, with each kind of them; none for one that has none.
pub fn cases_of_checkpoints(subject: &Subject, seed: u64) -> Vec<(Case, Effort)> {
    subject.checkpoints().iter().flat_map(|stack| cases(stack, seed)).collect()
}

/// The cases of a stack's settings: each parameter at each of its values, the others at their
/// defaults.
pub fn cases_of_settings(subject: &Subject, seed: u64) -> Vec<(Case, Effort)> {
    let device = DeviceSpec::new(2, 1, 1, 24, 4);
    let rotation = [Pattern::TrimFlush, Pattern::Mixed, Pattern::Uniform];
    let stacks = subject.one_at_a_time().into_iter().zip(rotation.into_iter().cycle());
    stacks
        .filter_map(|(stack, pattern)| case(&stack, &device, pattern, Prefill::Full, seed))
        .map(|case| (case.cut_off(REQUESTS_OF_SETTINGS), RARE))
        .collect()
}

/// A case on another device, at the largest capacity; none where the scheme refuses the device.
pub fn on(other: &Case, device: DeviceSpec) -> Option<Case> {
    let logical_pages = geometries::largest_capacity(&device, |layout| create(&other.stack, layout))?;
    Some(Case { device, logical_pages, ..other.clone() })
}

/// A case at the largest capacity; none where the scheme refuses the device.
fn case(stack: &Stack, device: &DeviceSpec, pattern: Pattern, prefill: Prefill, seed: u64) -> Option<Case> {
    let build = |layout: &Layout| create(stack, layout);
    let workload = Workload::Generated(pattern);
    Some(Case {
        seed: derive(seed, &format!("power cuts {} {device} {workload}", seed_name(stack))) >> 32,
        requests: REQUESTS,
        prefill,
        hints: prefill == Prefill::Full,
        ..Case::new(stack, device, geometries::largest_capacity(device, build)?, workload)
    })
}
