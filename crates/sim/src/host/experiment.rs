//! A study, checked: every key by itself, and every relation between keys, before anything is
//! simulated.
//!
//! All relations are in [`Experiment::check`], so that one page tells what can be combined with
//! what. A checked experiment runs without further questions about its input; what can still stop
//! it is a trace that changes meanwhile, or a bug.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use ftl::registry::{self, Resolved};
use ftl::{ConfigError, PartKind, Stack};
use trace::units::Bytes;

use crate::SimError;
use crate::control::{Control, Order};
use crate::error::SetupError;
use crate::host::live_pages::{LivePages, share_in_use};
use crate::memory::Limit;
use crate::observe::flash_trace;
use crate::observe::held::Size;
use crate::observe::probe::ProbeConfig;
use crate::observe::wear::Usage;
use crate::paging::{Pager, Placement};
use crate::result::{DeviceFacts, PreconditionChosen, WriteRate};
use crate::setup::device::{Device, Draft};
use crate::setup::device_keys::pslc_setting;
use crate::setup::keys::{DeviceText, HostKeys, HostText, RunKeys, RunText, Table};
use crate::setup::slice::{self, Growth};
use crate::setup::study::{FtlText, Study};
use crate::setup::values::{Addresses, Capacity, Clock, InUse, LoopText, Precondition};
use crate::timing::superblocks::Superblocks;
use crate::timing::units::Units;
use crate::workload::stream::Workload;
use crate::workload::survey::{Survey, choose};

pub(super) const NS_A_DAY: f64 = 86_400e9;

/// A study whose relations are checked: what its runs share.
#[derive(Clone, Debug)]
pub(crate) struct Experiment {
    pub(crate) name: Option<String>,
    pub(crate) seed: u64,
    pub(crate) device: Device,
    /// Whether the study leaves the device to the default preset, and what the capacity is taken
    /// from.
    pub(crate) named_by: &'static str,
    pub(crate) capacity_reason: Option<String>,
    pub(crate) workload: Workload,
    pub(crate) survey: Survey,
    pub(crate) pace: Pace,
    /// The `[run]` table with its defaults.
    pub(crate) asked: RunKeys,
    /// How devices are prepared; never `auto`.
    pub(crate) precondition: Precondition,
    pub(crate) precondition_chosen: PreconditionChosen,
    /// What holds data when measuring begins.
    pub(crate) live: LivePages,
    /// Flash operations that may be under way in a run.
    pub(crate) most_under_way: usize,
    pub(crate) probe_config: ProbeConfig,
    pub(crate) plans: Vec<Plan>,
}

/// Who sets the pace, with how many requests outstanding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    Open,
    Closed(u32),
    /// This many of each thread.
    Threads(u32),
}

impl Pace {
    pub(super) fn of(host: &HostText, workload: &Workload, clock: Clock) -> Result<Self, SimError> {
        let keys = HostKeys::from(host);
        let depth = keys.queue_depth.unwrap_or(32);
        match (keys.r#loop, keys.queue_depth) {
            (LoopText::Open, Some(depth)) => Err(SimError::study(format!(
                "host.queue_depth = {depth}: an open loop has no queue depth, requests begin when they arrive. Set \
                 host.loop = \"closed\", or leave queue_depth out"
            ))),
            (LoopText::Open | LoopText::Threads, _) if clock == Clock::On && workload.arrives_at_once() => {
                let name = if keys.r#loop == LoopText::Open { "open" } else { "threads" };
                Err(SimError::study(format!(
                    "host.loop = \"{name}\": every request of this workload arrives at time 0, so response times would \
                     only measure its length. Give the generator arrivals, such as {{ poisson = {{ mean_gap = \"100us\" }} }}, or set host.loop = \"closed\""
                )))
            }
            (LoopText::Open, None) => Ok(Self::Open),
            (LoopText::Closed, _) if workload.changes_times() => Err(SimError::study(
                "workload.speedup: a closed loop does not follow arrivals, so it changes nothing; leave it out, or set host.loop = \"open\"",
            )),
            (LoopText::Closed, _) => host.check().map(|()| Self::Closed(depth)),
            (LoopText::Threads, _) => host.check().map(|()| Self::Threads(depth)),
        }
    }

    /// Outstanding requests, of all or of each thread; without a bound in an open loop.
    pub(crate) fn queue_depth(self) -> Option<u32> {
        match self {
            Self::Open => None,
            Self::Closed(depth) | Self::Threads(depth) => Some(depth),
        }
    }
}

/// One translation layer to run.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) label: String,
    /// The stack with the parameters that the study sets.
    pub(crate) stack: Stack,
    /// The same as it is built, where a slice of a device has as small a part of the RAM.
    pub(crate) built: Stack,
    /// The same with every parameter, defaults included.
    pub(crate) resolved: Resolved,
    /// How its structures grow from a slice to the whole.
    pub(crate) growth: Growth,
    /// Whether it is run with a clock; `auto` where only the run shows whether it needs one.
    pub(crate) clock: Clock,
}

impl Plan {
    /// Every parameter with its value, as a user would write it; of parts behind the mapping as
    /// `part.parameter`.
    pub(crate) fn parameters(&self) -> BTreeMap<String, String> {
        let parts = self.resolved.parts().iter().flat_map(|part| {
            let name = move |key: &str| match part.kind {
                PartKind::Mapping => key.to_owned(),
                _ => format!("{}.{key}", part.entry.name),
            };
            part.settings.iter().map(move |(key, value)| (name(key), value.clone()))
        });
        parts.collect()
    }
}

impl Experiment {
    /// Checks a study. Reads its workload, a long trace twice, and reports that as the first line
    /// of progress.
    pub(crate) fn check(study: &Study, control: &Control) -> Result<Self, SetupError> {
        let seed = study.seed.unwrap_or(1);
        let mut draft = Draft::of(&study.device)?;
        let none_failed = AtomicUsize::new(usize::MAX);
        let reporter = control.reporter(0, Order { index: 0, first_failed: &none_failed });
        let limit = Limit::of(study.run.memory_limit.map(|bytes| bytes.0));
        let mut workload = Workload::of(&study.workload, seed, limit, &reporter)?;
        study.run.check()?;
        let mut asked = RunKeys::from(&study.run);
        let pace = Pace::of(&study.host, &workload, asked.clock)?;
        let mut plans = plans(&study.ftl)?;
        let wraps = workload.addresses == Addresses::Wrap;
        check_auto(&study.device, wraps)?;
        let mut survey = workload.survey(draft.page_size_bytes(), asked.precondition, limit, &reporter)?;
        let (precondition, mut precondition_chosen) = choose(asked.precondition, asked.in_use, survey.unwritten);
        let span_pages = (!wraps).then_some(survey.span_pages);
        draft.units_per_write = workload.units_per_write(&survey, draft.page_size_bytes());
        let device = draft.resolve(span_pages, seed)?;
        for plan in &mut plans {
            let refused = |error| SimError::study(format!("ftl \"{}\": {error}", plan.label));
            let (resolved, raised) = slice::fitting(&plan.resolved, &device, &plan.stack).map_err(refused)?;
            survey.facts.facts.extend(raised);
            plan.built = slice::built(&resolved, &device, &plan.stack);
            plan.resolved = resolved;
        }
        let share = asked.in_use.map(|in_use| share_in_use(in_use, &device)).transpose()?;
        asked.in_use = share.map(InUse::Share);
        survey.facts.facts.extend(draft.few_writes(&device, share.unwrap_or(1.0)));
        let live = LivePages::of(share, precondition, workload.addresses, (&device, &mut survey))?;
        live.report(precondition, &mut precondition_chosen);
        let RunKeys { verify, waiting, .. } = asked;
        check_skip(&asked, survey.facts.requests)?;
        check_flash_trace(&asked, &device)?;
        // Studies that share the limit run on a thread each.
        let sharers = control.sharers();
        let at_once = if sharers > 1 { sharers } else { plans.len().min(rayon::current_num_threads()) };
        limit.check_runs(device.geometry.pages(), run_bytes(&device, &plans, verify), at_once, verify)?;
        let mut experiment = Self {
            name: study.name.clone(),
            seed,
            device,
            named_by: study.device.named_by(),
            capacity_reason: draft.capacity_reason(span_pages),
            workload,
            survey,
            pace,
            precondition,
            precondition_chosen,
            live,
            most_under_way: limit.most_under_way(waiting, at_once),
            probe_config: ProbeConfig {
                classes: asked.classes,
                timeline: asked.timeline,
                flash_trace: asked.flash_trace,
                waiting,
            },
            asked,
            plans,
        };
        experiment.check_fit()?;
        experiment.choose_clocks(study)?;
        Ok(experiment)
    }

    /// Whether what requests waited for is known.
    pub(crate) fn knows_waiting(&self) -> bool {
        self.asked.waiting
    }

    /// Splits the workload's records into pages of the device.
    pub(crate) fn pager(&self) -> Pager {
        let placement = match (self.workload.addresses, &self.survey.touched) {
            (Addresses::Dense, Some(touched)) => Placement::Dense(Arc::clone(touched)),
            (Addresses::Wrap, _) => Placement::Wrapped,
            _ => Placement::Direct,
        };
        Pager::new(self.device.geometry.page_size_bytes(), self.device.logical_pages, placement)
    }

    /// What lifetimes are measured by, where the host writes this much at most.
    pub(crate) fn usage(&self, most_bytes: f64) -> Usage {
        let whole = self.device.as_whole();
        Usage {
            logical_bytes: whole.logical_bytes,
            warranty_years: self.asked.warranty_years,
            bytes_a_day: self.write_rate().bytes_per_day,
            scale: whole.scale,
            most_bytes,
        }
    }

    /// The rate of writes at which lives are counted in years.
    pub(crate) fn write_rate(&self) -> WriteRate {
        let days = self.survey.facts.duration_ns as f64 * self.workload.speedup / NS_A_DAY;
        let written = self.survey.facts.bytes_written as f64;
        let is_own = days > 0.0 && written > 0.0 && !matches!(self.pace, Pace::Closed(_));
        let (source, bytes_per_day) = match self.asked.daily_writes {
            Some(Bytes(bytes)) => ("given", bytes as f64),
            None if is_own => ("workload", written / days),
            None => ("drive_write", self.device.as_whole().logical_bytes as f64),
        };
        WriteRate { bytes_per_day, source }
    }

    /// The study with every key filled in.
    pub(crate) fn resolved(&self) -> Study {
        Study {
            name: self.name.clone(),
            seed: Some(self.seed),
            device: self.device.keys.clone(),
            workload: self.workload.text(),
            host: HostText {
                r#loop: Some(match self.pace {
                    Pace::Open => LoopText::Open,
                    Pace::Closed(_) => LoopText::Closed,
                    Pace::Threads(_) => LoopText::Threads,
                }),
                queue_depth: self.pace.queue_depth(),
            },
            run: RunText::from(&self.asked),
            ftl: self.plans.iter().map(|plan| FtlText::of(&plan.resolved.filled(), Some(plan.label.clone()))).collect(),
        }
    }

    /// The device, for results.
    pub(crate) fn device_facts(&self) -> DeviceFacts {
        let Device { geometry, latencies, chip, keys, .. } = &self.device;
        let whole = self.device.as_whole();
        DeviceFacts {
            preset: keys.preset.clone().unwrap_or_default(),
            named_by: self.named_by,
            capacity_reason: self.capacity_reason.clone(),
            slice_bytes: self.device.whole.map(|_| self.device.logical_bytes()),
            geometry: geometry.shape(),
            physical_bytes: whole.physical_bytes,
            logical_bytes: whole.logical_bytes,
            spare: 1.0 - self.device.utilisation(),
            utilisation: self.device.utilisation(),
            bad_blocks: chip.bad_blocks.len() as u64,
            latencies: *latencies,
        }
    }

    /// Whether the workload fits the device.
    fn check_fit(&mut self) -> Result<(), SimError> {
        let (capacity, Survey { span_pages, longest_pages, .. }) = (u64::from(self.device.logical_pages), &self.survey);
        let page_bytes = self.device.geometry.page_size_bytes();
        let bytes = self.device.logical_bytes();
        let has = format!(
            "the {} has {capacity} logical pages of {page_bytes} bytes ({bytes} bytes)",
            self.device.simulated()
        );
        let whole_pages = self.device.as_whole().logical_bytes / u64::from(page_bytes);
        let key = if *span_pages > whole_pages { "device.capacity" } else { self.device.size_key() };
        match self.workload.addresses {
            Addresses::Refuse if *span_pages > capacity => {
                let (number, record) = self.survey.highest.expect("a workload that spans pages has a highest request");
                Err(SimError::study(format!(
                    "workload: request {number} reaches byte {}, but {has}. Make {key} larger ({key} = \"auto\" fits it), or choose \
                     how to place addresses: workload.addresses = \"dense\" numbers the pages touched in order of first touch, \"wrap\" takes \
                     addresses modulo the capacity",
                    record.end()
                )))
            }
            Addresses::Dense if *span_pages > capacity => Err(SimError::study(format!(
                "workload.addresses = \"dense\": the workload touches {span_pages} different pages, but {has}. Make {key} larger \
                 ({key} = \"auto\" fits it), or take fewer requests (workload.requests)"
            ))),
            Addresses::Wrap if *longest_pages > capacity => Err(SimError::study(format!(
                "workload.addresses = \"wrap\": the longest request has {longest_pages} pages, but {has}, so it would overtake itself. Make \
                 {key} larger"
            ))),
            Addresses::Wrap if *span_pages > capacity && self.device.whole.is_some() => Err(SimError::study(format!(
                "workload.addresses = \"wrap\": the workload spans {span_pages} pages, and {has}: folded into a slice, it would \
                 overwrite data that it leaves alone on the drive. Set device.slice = \"all\" or workload.addresses = \"dense\""
            ))),
            Addresses::Wrap if *span_pages > capacity => {
                self.survey.facts.facts.push(format!(
                    "addresses are wrapped: the workload spans {span_pages} pages, folded modulo the device's {capacity}; this invents overwrites"
                ));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Whether every translation layer can be built on the device; how it grows from a slice,
    /// whether its run has a clock, and whether it would use idle time. Each is built once, empty,
    /// and let go.
    pub(super) fn check_plans(&self, asked: &DeviceText) -> Result<Vec<(Growth, Clock, bool)>, SimError> {
        let (device, layout) = (&self.device, self.device.layout());
        let check = |plan: &Plan| {
            let refused = |error: ConfigError| {
                let why = device.strict_order_reason(&error.0).to_owned() + &device.slice_reason(&error.0);
                let fits = Device::fitting_capacity(asked, &plan.built, self.seed).unwrap_or_default();
                SimError::study(format!("ftl \"{}\": {error}{why}{fits}", plan.label))
            };
            let drive = registry::create(&plan.built, &layout).map_err(refused)?;
            let growth = Growth::of(&plan.resolved, device, &plan.stack, drive.footprint()).map_err(refused)?;
            if device.reliability.is_some()
                && let Some(key) = pslc_setting(&plan.resolved.filled())
            {
                return Err(SimError::study(format!(
                    "ftl \"{}\": {key}: device.bit_errors knows no pages of blocks in pSLC mode, which hold data far longer; leave {key} \
                     or bit_errors out",
                    plan.label
                )));
            }
            let refreshes = device.reliability.is_some_and(|reliability| reliability.refresh_at > 0.0);
            if refreshes && !drive.relocates_blocks() {
                return Err(SimError::study(format!(
                    "ftl \"{}\": it cannot empty a block that it is told, so no block can be refreshed; set device.refresh_at = 0",
                    plan.label
                )));
            }
            Ok((growth, self.clock_of(plan, &drive)?, drive.uses_idle_time()))
        };
        self.plans.iter().map(check).collect()
    }
}

/// Whether the workload's span, where it decides the capacity, is not itself decided by it.
fn check_auto(device: &DeviceText, wraps: bool) -> Result<(), SimError> {
    if device.capacity == Some(Capacity::Auto) && wraps {
        return Err(SimError::study(
            "device.capacity = \"auto\" takes the workload's span, but workload.addresses = \"wrap\" folds the workload into the device: \
             one of them must give a size. Set capacity, or leave addresses out",
        ));
    }
    Ok(())
}

/// Whether the flash operations of requests can be traced on this device, where that is asked for.
fn check_flash_trace(run: &RunKeys, device: &Device) -> Result<(), SimError> {
    if run.flash_trace.is_some() {
        let maps_pages = device.units == Units::PAGES && device.abilities.superblocks == Superblocks::BLOCKS;
        flash_trace::check(device.geometry.pages(), maps_pages, device.chip.exposure.as_ref())?;
    }
    Ok(())
}

/// Bytes that each run keeps.
fn run_bytes(device: &Device, plans: &[Plan], is_verified: bool) -> Vec<u64> {
    let size = Size::of(&device.geometry, device.logical_pages);
    plans.iter().map(|plan| size.run_bytes(&plan.resolved, is_verified)).collect()
}

/// Whether requests are left to measure behind those that are skipped.
fn check_skip(run: &RunKeys, requests: u64) -> Result<(), SimError> {
    match run.skip {
        0 => Ok(()),
        skip if skip < requests => Ok(()),
        skip => Err(SimError::study(format!(
            "run.skip = {skip}: the workload has {requests} requests, so none would be left to measure; skip fewer"
        ))),
    }
}

fn plans(texts: &[FtlText]) -> Result<Vec<Plan>, SimError> {
    if texts.is_empty() {
        let known: Vec<_> = registry::mappings().into_iter().map(|entry| entry.name).collect();
        return Err(SimError::study(format!(
            "ftl: none is given; add at least one [[ftl]] table with a name, one of {}",
            known.join(", ")
        )));
    }
    let named = |error: ConfigError| SimError::study(format!("ftl.name: {error}"));
    let stacks: Vec<_> = texts.iter().map(|text| text.stack().map_err(named)).collect::<Result<_, _>>()?;
    let mut plans: Vec<Plan> = Vec::with_capacity(texts.len());
    for (text, stack) in texts.iter().zip(&stacks) {
        let resolved = registry::resolve(stack).map_err(named)?;
        let without_label = texts.iter().zip(&stacks).filter(|(text, _)| text.label.is_none());
        let alone = without_label.filter(|(_, other)| other.names() == stack.names()).count() == 1;
        let label = || if alone { stack.names() } else { resolved.spelled(stack).to_string() };
        let label = text.label.clone().unwrap_or_else(label);
        if plans.iter().any(|plan| plan.label == label) {
            return Err(SimError::study(format!(
                "ftl \"{label}\": two runs have this label, so their results could not be told apart; give each a label of its own"
            )));
        }
        let stack = resolved.spelled(stack);
        let (growth, clock) = (Growth::default(), Clock::On);
        plans.push(Plan { label, built: stack.clone(), stack, resolved, growth, clock });
    }
    Ok(plans)
}
