//! Campaigns: which cases a scheme must pass.
//!
//! Three sweeps, each wide where the others are narrow: *defaults* crosses every device with every
//! workload at several utilisations; *settings* takes every value of every parameter to every
//! device with a few workloads in rotation; *pairs* takes every two values together to two devices.
//! All cases of a scheme follow from its name, its declared parameters and one seed, so a campaign
//! has no random part of its own.
//!
//! Utilisation is what makes a space accounting prove itself, so most cases give the scheme exactly
//! the largest number of logical pages that it accepts. A device or setting on which it accepts
//! none is counted as refused.

use std::fmt;

use ftl::Stack;
use random::derive;

use crate::canary;
use crate::case::device_spec::DeviceSpec;
use crate::case::test_case::{Case, Prefill};
use crate::case::workload::{Pattern, Workload};
use crate::drivers::geometries;
use crate::drivers::session::create;
use crate::drivers::suite::run_case;
use crate::drivers::variants::{Subject, seed_name};
use crate::report::failure::Failure;

/// A stack that is to be tried.
#[derive(Clone, Debug)]
pub struct Campaign {
    subject: Subject,
    seed: u64,
}

/// The manner of a case besides its device and workload.
#[derive(Clone, Copy, Debug)]
struct Manner {
    /// Logical pages for each 8 that the scheme accepts.
    eighths: u32,
    prefill: Prefill,
    hints: bool,
    readback_every: u32,
    check_every: u32,
}

/// All of the space from empty without a hint, watched at each request; all of it from full, hardly
/// watched, so that the host's reads do not warm any cache; and a device with room to spare.
const MANNERS: [Manner; 3] = [
    Manner { eighths: 8, prefill: Prefill::Empty, hints: false, readback_every: 1, check_every: 4 },
    Manner { eighths: 8, prefill: Prefill::Full, hints: true, readback_every: 0, check_every: 32 },
    Manner { eighths: 5, prefill: Prefill::Full, hints: true, readback_every: 7, check_every: 8 },
];

impl Campaign {
    /// The campaign of a stack.
    pub fn of(subject: Subject, seed: u64) -> Self {
        Self { subject, seed }
    }

    /// The campaign of the canary without a bug.
    pub fn of_canary(seed: u64) -> Self {
        Self { subject: Subject { stack: Stack::of(canary::NAME), parameters: Vec::new() }, seed }
    }

    /// Every device, every workload, every manner, with the scheme's defaults; and one logical page
    /// on each device.
    pub fn defaults(&self) -> Sweep {
        let mut sweep = Sweep::default();
        for device in geometries::all() {
            let Some(capacity) = Self::capacity(&mut sweep, &self.subject.stack, &device) else { continue };
            for (pattern, _) in Pattern::ALL {
                for manner in MANNERS {
                    sweep.cases.push(self.case(&self.subject.stack, &device, capacity, pattern, manner));
                }
            }
            for pattern in [Pattern::Mixed, Pattern::Hammer] {
                sweep.cases.push(self.case(&self.subject.stack, &device, 1, pattern, MANNERS[0]));
            }
        }
        sweep
    }

    /// Every value of every parameter on every device, workloads and manners in rotation.
    pub fn settings(&self) -> Sweep {
        let rotation =
            [Pattern::Mixed, Pattern::Uniform, Pattern::CrossBlock, Pattern::InterruptedRuns, Pattern::HotCold];
        let mut sweep = Sweep::default();
        for (i, stack) in self.subject.one_at_a_time().into_iter().enumerate() {
            for (j, device) in geometries::all().into_iter().enumerate() {
                let Some(capacity) = Self::capacity(&mut sweep, &stack, &device) else { continue };
                for k in 0..4 {
                    let pattern = rotation[(i + j + k) % rotation.len()];
                    let manner = MANNERS[(i + k) % MANNERS.len()];
                    sweep.cases.push(self.case(&stack, &device, capacity, pattern, manner));
                }
            }
        }
        sweep
    }

    /// Every two values of two parameters, on a device of one die and on one of several, with a
    /// workload of its own each.
    pub fn pairs(&self) -> Sweep {
        let devices = [DeviceSpec::new(1, 1, 1, 20, 4), DeviceSpec::new(2, 2, 1, 10, 8)];
        let mut sweep = Sweep::default();
        for (i, stack) in self.subject.pairs().into_iter().enumerate() {
            for (j, device) in devices.iter().enumerate() {
                let Some(capacity) = Self::capacity(&mut sweep, &stack, device) else { continue };
                let pattern = if (i + j).is_multiple_of(2) { Pattern::Mixed } else { Pattern::Uniform };
                sweep.cases.push(self.case(&stack, device, capacity, pattern, MANNERS[i % MANNERS.len()]));
            }
        }
        sweep
    }

    fn capacity(sweep: &mut Sweep, stack: &Stack, device: &DeviceSpec) -> Option<u32> {
        let build = |layout: &ftl::Layout| create(stack, layout);
        let capacity = geometries::largest_capacity(device, build);
        sweep.refused += u32::from(capacity.is_none());
        capacity
    }

    fn case(&self, stack: &Stack, device: &DeviceSpec, capacity: u32, pattern: Pattern, manner: Manner) -> Case {
        let logical_pages = (u64::from(capacity) * u64::from(manner.eighths)).div_ceil(8) as u32;
        let workload = Workload::Generated(pattern);
        let Manner { eighths, prefill, hints, readback_every, check_every } = manner;
        // As a manner was printed before there were hints, so that the suite's cases stay the same.
        let printed = format!(
            "Manner {{ eighths: {eighths}, prefill: {prefill:?}, readback_every: {readback_every}, check_every: {check_every} }}"
        );
        let name = format!("{} {device} {workload} {printed}", seed_name(stack));
        Case {
            seed: derive(self.seed, &name) >> 32,
            // Enough to turn every block over a few times, and never so few that a policy has
            // nothing to choose.
            requests: (2 * logical_pages).clamp(150, 600),
            prefill,
            hints,
            readback_every,
            check_every,
            ..Case::new(stack, device, logical_pages, workload)
        }
    }
}

/// Cases to be run, and how many devices or settings the scheme refused.
#[derive(Clone, Debug, Default)]
pub struct Sweep {
    /// The cases to run.
    pub cases: Vec<Case>,
    /// Pairs of settings and device that were refused with an error.
    pub refused: u32,
}

/// What running cases amounts to.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// How many cases were run.
    pub cases: u64,
    /// Pairs of settings and device that were refused with an error.
    pub refused: u64,
    /// Host pages written, first runs only.
    pub pages_written: u64,
    /// Flash operations, first runs only.
    pub flash_operations: u64,
    /// Cases that did not pass.
    pub failures: Vec<Failure>,
}

impl Extend<Sweep> for Sweep {
    fn extend<I: IntoIterator<Item = Self>>(&mut self, sweeps: I) {
        for sweep in sweeps {
            self.cases.extend(sweep.cases);
            self.refused += sweep.refused;
        }
    }
}

impl Sweep {
    /// Runs all cases.
    pub fn run(&self) -> Summary {
        let mut summary = Summary { refused: u64::from(self.refused), ..Summary::default() };
        for case in &self.cases {
            summary.cases += 1;
            match run_case(case) {
                Ok(outcome) => {
                    summary.pages_written += outcome.pages_written;
                    summary.flash_operations += outcome.flash_operations();
                }
                Err(failure) => summary.failures.push(failure),
            }
        }
        summary
    }
}

/// Failures printed in full; the rest of a hundred say the same.
const PRINTED: usize = 3;

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cases, refused, pages_written, flash_operations, failures } = self;
        write!(
            f,
            "{cases} cases ({refused} combinations refused), {pages_written} pages written, {flash_operations} flash \
             operations, {} failures",
            failures.len()
        )?;
        failures.iter().take(PRINTED).try_for_each(|failure| write!(f, "\n{failure}"))
    }
}
