//! The cases on which every scheme meets failing flash, and the plans of what fails.
//!
//! Each device has a few blocks more than the scheme needs for the logical pages that it is given:
//! those are its spares. The plans are of these kinds:
//!
//! - *one fault*: each program of a run fails once, each erase does, each read does; a run for
//!   each;
//! - *rates*: programs and erases fail at random, often or seldom, until the device is read-only;
//! - *decay*: reads fail at random, or need correction;
//! - *wear*: blocks survive a few erases only;
//! - *cuts*: failures at random, and the power is cut as well.

use flash::{Fault, FaultPlan, ProgramOrder, Tear};
use ftl::{Layout, Stack};
use random::{SeededRng, derive};

use crate::case::device_spec::DeviceSpec;
use crate::case::test_case::{Case, Prefill};
use crate::case::workload::{Pattern, Workload};
use crate::drivers::geometries;
use crate::drivers::session::create;

/// Operations for which plans at random are drawn: more than any run has.
const HORIZON: u64 = 30_000;

/// How often something fails, each as one in this many operations; 0 for never.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rates {
    /// Programs that fail.
    pub program: u32,
    /// Erases that fail.
    pub erase: u32,
    /// Reads that fail.
    pub read: u32,
    /// Reads that need correction.
    pub corrected: u32,
    /// Operations at which the power is cut.
    pub cut: u32,
}

impl Rates {
    /// A plan drawn at these rates.
    pub fn plan(self, seed: u64) -> FaultPlan {
        let mut rng = SeededRng::named(seed, "faults");
        let mut draw = |operation| {
            let mut one_in = |rate: u32| rate > 0 && rng.below_u32(rate) == 0;
            let kinds = [
                (self.cut, Fault::Cut(Tear::ALL[(operation % 4) as usize])),
                (self.program, Fault::ProgramFails),
                (self.erase, Fault::EraseFails),
                (self.read, Fault::ReadFails),
                (self.corrected, Fault::ReadCorrected),
            ];
            // Each kind is drawn for each operation, so that changing one rate leaves the others
            // alone.
            let drawn: Vec<_> = kinds.into_iter().filter(|&(rate, _)| one_in(rate)).collect();
            drawn.first().map(|&(_, fault)| (operation, fault))
        };
        FaultPlan { at: (0..HORIZON).filter_map(&mut draw).collect() }
    }
}

/// Devices, each with blocks to spare.
fn grounds() -> Vec<(DeviceSpec, u32)> {
    let device = DeviceSpec::new;
    vec![
        (device(1, 1, 1, 12, 4), 3),
        (device(1, 1, 1, 14, 5).with_bad([0, 8]), 2),
        (device(3, 1, 1, 8, 3), 4),
        (device(2, 2, 1, 8, 4).ordered(ProgramOrder::Any), 5),
        (device(1, 2, 1, 10, 4).ordered(ProgramOrder::Strict), 2),
        (device(1, 1, 1, 12, 4), 0),
    ]
}

/// The cases of a stack, of this many requests; devices that it refuses are left out.
pub fn cases(stack: &Stack, patterns: &[Pattern], requests: u32, seed: u64) -> Vec<Case> {
    let mut cases = Vec::new();
    for (device, spares) in grounds() {
        let build = |layout: &Layout| create(stack, layout);
        let Some(capacity) = geometries::largest_capacity(&device, build) else { continue };
        let logical_pages = capacity.saturating_sub(spares * device.shape.pages_per_block).max(1);
        for (i, &pattern) in patterns.iter().enumerate() {
            let workload = Workload::Generated(pattern);
            cases.push(Case {
                seed: derive(seed, &format!("failing flash {} {device} {workload}", stack.names())) >> 32,
                requests,
                prefill: if i % 2 == 0 { Prefill::Full } else { Prefill::Empty },
                hints: i % 2 == 0,
                ..Case::new(stack, &device, logical_pages, workload)
            });
        }
    }
    cases
}
