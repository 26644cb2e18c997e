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
use crate::host::live_pages::LivePages;
use crate::memory::Limit;
use crate::observe::flash_trace;
use crate::observe::held::Size;
use crate::observe::probe::ProbeConfig;
use crate::observe::wear::Usage;
use crate::paging::{Pager, Placement};
use crate::result::{DeviceFacts, PreconditionChosen};
use crate::setup::device::{Device, Draft, SimulatedDevice};
use crate::setup::preset::pslc::pslc_setting;
use crate::setup::study::{
    Addresses, Capacity, Count, DeviceText, FtlText, HostText, LoopText, Precondition, RunText, Study,
};
use crate::timing::units::Units;
use crate::workload::stream::Workload;
use crate::workload::survey::{Survey, choose};

/// The most requests that a closed loop keeps outstanding: what `NVMe` allows in one queue.
const MAX_QUEUE_DEPTH: u32 = 65_536;
/// The most points of a time series; more than a chart can show, few enough to store.
const MAX_SAMPLES: u32 = 100_000;

/// The warranty of most drives for servers, by which makers state drive writes a day.
const USUAL_WARRANTY_YEARS: f64 = 5.0;
/// Some four days: drive writes a day over less would be numbers of hundreds of digits.
const MIN_WARRANTY_YEARS: f64 = 0.01;
const MAX_WARRANTY_YEARS: f64 = 100.0;
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
    /// Outstanding requests of a closed loop; none for an open one.
    pub(crate) queue_depth: Option<u32>,
    /// How devices are prepared; never `auto`.
    pub(crate) precondition: Precondition,
    /// What the study asked, and why it is so.
    pub(crate) asked_precondition: Precondition,
    pub(crate) precondition_chosen: PreconditionChosen,
    /// The study's `run.in_use`, and what holds data then.
    pub(crate) in_use: Option<f64>,
    pub(crate) live: LivePages,
    pub(crate) samples: u32,
    /// Years over which drive writes a day are reported.
    pub(crate) warranty_years: f64,
    pub(crate) verify: bool,
    /// The study's `run.memory_limit`.
    pub(crate) memory_limit: Option<Bytes>,
    /// Requests at the beginning that are not measured.
    pub(crate) skip: u64,
    /// Flash operations that may be under way in a run.
    pub(crate) most_under_way: usize,
    pub(crate) probe_config: ProbeConfig,
    pub(crate) plans: Vec<Plan>,
}

/// One translation layer to run.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) label: String,
    /// The stack with the parameters that the study sets.
    pub(crate) stack: Stack,
    /// The same with every parameter, defaults included.
    pub(crate) resolved: Resolved,
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
        let draft = Draft::of(&study.device)?;
        let none_failed = AtomicUsize::new(usize::MAX);
        let reporter = control.reporter(0, Order { index: 0, first_failed: &none_failed });
        let limit = Limit::of(study.run.memory_limit.map(|bytes| bytes.0));
        let mut workload = Workload::of(&study.workload, seed, limit, &reporter)?;
        let queue_depth = queue_depth(&study.host, &workload)?;
        let samples = samples(&study.run)?;
        let plans = plans(&study.ftl)?;
        let wraps = workload.addresses == Addresses::Wrap;
        check_auto(&study.device, wraps)?;
        let requested = study.run.precondition.unwrap_or_default();
        let mut survey = workload.survey(draft.page_size_bytes(), requested, limit, &reporter)?;
        let in_use = study.run.in_use;
        let (precondition, mut precondition_chosen) = choose(requested, in_use, survey.unwritten);
        let span_pages = (!wraps).then_some(survey.span_pages);
        let device = draft.resolve(span_pages, seed)?;
        let live = LivePages::of(in_use, precondition, workload.addresses, (&device, &mut survey))?;
        live.report(precondition, &mut precondition_chosen);
        let (verify, requests) = (study.run.verify.unwrap_or(false), survey.facts.requests);
        let waiting = study.run.waiting.unwrap_or(true);
        check_flash_trace(&study.run, &device)?;
        // Studies that share the limit run on a thread each.
        let sharers = control.sharers();
        let at_once = if sharers > 1 { sharers } else { plans.len().min(rayon::current_num_threads()) };
        limit.check_runs(device.geometry.pages(), run_bytes(&device, &plans, verify), at_once, verify)?;
        let mut experiment = Self {
            name: study.name.clone(),
            seed,
            device,
            named_by: draft.named_by(),
            capacity_reason: draft.capacity_reason(span_pages),
            workload,
            survey,
            queue_depth,
            precondition,
            asked_precondition: requested,
            precondition_chosen,
            in_use,
            live,
            samples,
            warranty_years: warranty_years(&study.run)?,
            verify,
            memory_limit: study.run.memory_limit,
            skip: skip(&study.run, requests)?,
            most_under_way: limit.most_under_way(waiting, at_once),
            probe_config: ProbeConfig {
                classes: study.run.classes.unwrap_or(false),
                timeline: study.run.timeline,
                flash_trace: study.run.flash_trace,
                waiting,
            },
            plans,
        };
        experiment.check_fit()?;
        experiment.check_plans()?;
        Ok(experiment)
    }

    /// Whether what requests waited for is known.
    pub(crate) fn knows_waiting(&self) -> bool {
        self.probe_config.waiting
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

    /// What lifetimes are measured by.
    pub(crate) fn usage(&self) -> Usage {
        let days = self.survey.facts.duration_ns as f64 * self.workload.speedup / NS_A_DAY;
        let written = self.survey.facts.bytes_written as f64;
        Usage {
            logical_bytes: self.device.logical_bytes(),
            warranty_years: self.warranty_years,
            bytes_a_day: (days > 0.0 && written > 0.0).then(|| written / days),
        }
    }

    /// The study with every key filled in.
    pub(crate) fn resolved(&self) -> Study {
        Study {
            name: self.name.clone(),
            seed: Some(self.seed),
            device: self.device.keys.clone(),
            workload: self.workload.text(),
            host: HostText {
                pace: Some(if self.queue_depth.is_some() { LoopText::Closed } else { LoopText::Open }),
                queue_depth: self.queue_depth.map(Count),
            },
            run: RunText {
                precondition: Some(self.asked_precondition),
                in_use: self.in_use,
                memory_limit: self.memory_limit,
                samples: Some(Count(self.samples)),
                warranty_years: Some(self.warranty_years),
                verify: Some(self.verify),
                skip: Some(self.skip),
                waiting: Some(self.probe_config.waiting),
                classes: Some(self.probe_config.classes),
                timeline: self.probe_config.timeline,
                flash_trace: self.probe_config.flash_trace,
            },
            ftl: self.plans.iter().map(|plan| FtlText::of(&plan.resolved.filled(), Some(plan.label.clone()))).collect(),
        }
    }

    /// The device, for results.
    pub(crate) fn device_facts(&self) -> DeviceFacts {
        let Device { geometry, latencies, chip, keys, .. } = &self.device;
        DeviceFacts {
            preset: keys.preset.clone().unwrap_or_default(),
            named_by: self.named_by,
            capacity_reason: self.capacity_reason.clone(),
            geometry: geometry.shape(),
            physical_bytes: geometry.bytes(),
            logical_bytes: self.device.logical_bytes(),
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
        let has = format!(
            "the device has {capacity} logical pages of {page_bytes} bytes ({} bytes)",
            self.device.logical_bytes()
        );
        match self.workload.addresses {
            Addresses::Refuse if *span_pages > capacity => {
                let (number, record) = self.survey.highest.expect("a workload that spans pages has a highest request");
                Err(SimError::study(format!(
                    "workload: request {number} reaches byte {}, but {has}. Give the device that capacity (capacity = \"auto\" does), or choose \
                     how to place addresses: workload.addresses = \"dense\" numbers the pages touched in order of first touch, \"wrap\" takes \
                     addresses modulo the capacity",
                    record.end()
                )))
            }
            Addresses::Dense if *span_pages > capacity => Err(SimError::study(format!(
                "workload.addresses = \"dense\": the workload touches {span_pages} different pages, but {has}. Give the device more capacity \
                 (capacity = \"auto\" fits it), or take fewer requests (workload.requests)"
            ))),
            Addresses::Wrap if *longest_pages > capacity => Err(SimError::study(format!(
                "workload.addresses = \"wrap\": the longest request has {longest_pages} pages, but {has}, so it would overtake itself. Give the \
                 device more capacity"
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

    /// Whether every translation layer can be built on the device: each is built once, empty, and
    /// let go.
    fn check_plans(&self) -> Result<(), SimError> {
        let layout = self.device.layout();
        self.plans.iter().try_for_each(|plan| {
            let drive = registry::create::<SimulatedDevice>(&plan.stack, &layout).map_err(|error| {
                let refusal = format!("ftl \"{}\": {error}", plan.label);
                let why = self.device.strict_order_reason(&refusal);
                SimError::study(refusal + why)
            })?;
            if self.device.reliability.is_some()
                && let Some(key) = pslc_setting(&plan.resolved.filled())
            {
                return Err(SimError::study(format!(
                    "ftl \"{}\": {key}: device.bit_errors knows no pages of blocks in pSLC mode, which hold data far longer; leave {key} \
                     or bit_errors out",
                    plan.label
                )));
            }
            let refreshes = self.device.reliability.is_some_and(|reliability| reliability.refresh_at > 0.0);
            if refreshes && !drive.relocates_blocks() {
                return Err(SimError::study(format!(
                    "ftl \"{}\": it cannot empty a block that it is told, so no block can be refreshed; set device.refresh_at = 0",
                    plan.label
                )));
            }
            Ok(())
        })
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
fn check_flash_trace(run: &RunText, device: &Device) -> Result<(), SimError> {
    if run.flash_trace.is_some() {
        let maps_pages = device.units == Units::PAGES;
        flash_trace::check(device.geometry.pages(), maps_pages, device.chip.exposure.as_ref())?;
    }
    Ok(())
}

/// Bytes that each run keeps.
fn run_bytes(device: &Device, plans: &[Plan], is_verified: bool) -> Vec<u64> {
    let size = Size::of(&device.geometry, device.logical_pages);
    plans.iter().map(|plan| size.run_bytes(&plan.resolved, is_verified)).collect()
}

fn queue_depth(host: &HostText, workload: &Workload) -> Result<Option<u32>, SimError> {
    match (host.pace.unwrap_or_default(), host.queue_depth) {
        (LoopText::Open, Some(Count(depth))) => Err(SimError::study(format!(
            "host.queue_depth = {depth}: an open loop has no queue depth, requests begin when they arrive. Set host.loop = \"closed\", or leave \
             queue_depth out"
        ))),
        (LoopText::Open, None) if workload.arrives_at_once() => Err(SimError::study(
            "host.loop = \"open\": every request of this workload arrives at time 0, so response times would only measure its length. Give the \
             generator arrivals, such as { poisson = { mean_gap = \"100us\" } }, or set host.loop = \"closed\"",
        )),
        (LoopText::Open, None) => Ok(None),
        (LoopText::Closed, depth) => {
            let depth = depth.map_or(32, |count| count.0);
            if depth == 0 || depth > MAX_QUEUE_DEPTH {
                return Err(SimError::study(format!(
                    "host.queue_depth = {depth}: must be from 1 to {MAX_QUEUE_DEPTH}; 1 is a host that waits for every request, 32 a busy one"
                )));
            }
            if workload.changes_times() {
                return Err(SimError::study(
                    "workload.speedup: a closed loop does not follow arrivals, so it changes nothing; leave it out, or set host.loop = \"open\"",
                ));
            }
            Ok(Some(depth))
        }
    }
}

fn samples(run: &RunText) -> Result<u32, SimError> {
    let samples = run.samples.map_or(200, |count| count.0);
    if samples == 0 || samples > MAX_SAMPLES {
        return Err(SimError::study(format!(
            "run.samples = {samples}: must be from 1 to {MAX_SAMPLES} points of the time series; 200 draw a smooth line"
        )));
    }
    Ok(samples)
}

/// Years over which drive writes a day are reported.
fn warranty_years(run: &RunText) -> Result<f64, SimError> {
    let years = run.warranty_years.unwrap_or(USUAL_WARRANTY_YEARS);
    if !(MIN_WARRANTY_YEARS..=MAX_WARRANTY_YEARS).contains(&years) {
        return Err(SimError::study(format!(
            "run.warranty_years = {years}: must be from {MIN_WARRANTY_YEARS} to {MAX_WARRANTY_YEARS}; makers of drives give 3 or 5"
        )));
    }
    Ok(years)
}

/// Requests that are served before measuring begins.
fn skip(run: &RunText, requests: u64) -> Result<u64, SimError> {
    match run.skip {
        Some(skip) if skip >= requests => Err(SimError::study(format!(
            "run.skip = {skip}: the workload has {requests} requests, so none would be left to measure; skip fewer"
        ))),
        skip => Ok(skip.unwrap_or(0)),
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
        plans.push(Plan { label, stack: resolved.spelled(stack), resolved });
    }
    Ok(plans)
}
