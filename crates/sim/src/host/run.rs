//! One run: a translation layer on a fresh device, prepared, measured, and, if asked, verified.
//!
//! ```text
//! create ── precondition ── restart the clock ── requests … ── results ── totals ── done
//! if verified, then: read everything back ── check invariants ── power off ── mount ── both again
//! ```
//!
//! A run shares nothing with the runs beside it: it opens the workload itself and reads it as a
//! stream. Whether lean or verified, it issues the same flash operations at the same times, so both
//! have the same event hash.
//!
//! A device whose blocks wear out ends the run at the first request that it refuses. That is a
//! result and no error: what was measured until then, and how much was written until then.
//! Verification goes on as usual, since reads must.
//!
//! The totals are compared in every run, because that costs nothing. Reading back and checking the
//! numbered invariants take time proportional to the device, so they belong to verified runs. These
//! end with a power cut, too: the device is mounted again, which is priced, and must hold what it
//! held.

use std::time::Instant;

use check::ExactOracle;
use flash::{Blank, Chip, Flash, Full, Lean, Lpn, Pbn, Store};
use ftl::{Cause, FlashOp, FlashPort, Nanos, Note, Spares, Tally, Timed, registry};
use trace::HostOp;

use crate::error::{Fault, Stage};
use crate::host::control::Reporter;
use crate::host::experiment::{Experiment, Plan};
use crate::host::mount::mount;
use crate::host::precondition::prepare;
use crate::host::server::{Host, NoCheck, Pace, ReadChecker};
use crate::observe::log::{Part, Row};
use crate::observe::metrics::{
    Metrics, Sampler, Standing, buffer_hit_ratio, mapping_hit_ratio, page_write_amplification, write_amplification,
};
use crate::observe::probe::Probe;
use crate::observe::wear::{Life, Wear};
use crate::result::{
    Classes, EndOfLife, Endurance, Merges, MountFacts, OperationCount, PreconditionFacts, RequestCounts, RunResult,
    Series, SpareFacts, Utilisation,
};
use crate::run_error::Halt;
use crate::study::Precondition;
use crate::timing::device::Simulated;
use crate::workload::future::all_calls;
use crate::workload::load::Load;
use crate::workload::lookahead::Ahead;
use crate::workload::mapped_pages::MappedPages;
use crate::workload::paging::{Extent, PageRequest};
use crate::{Pricing, SimError};

/// Requests between two reports: some milliseconds, so that stopping takes no noticeable time.
const REPORT_EVERY: u64 = 1024;
/// Pages that are read back at once.
const READ_BACK_PAGES: u32 = 64;

/// Runs one translation layer of an experiment. `preparing` and `measuring` are told how far it is.
pub(crate) fn run(
    experiment: &Experiment,
    plan: &Plan,
    log: Option<Part>,
    preparing: &Reporter,
    measuring: &Reporter,
) -> Result<RunResult, Halt> {
    if experiment.verify {
        let oracle = ExactOracle::new(experiment.device.logical_pages);
        Run::<Full<u64>, _>::new(experiment, plan, oracle, log)?.finish(preparing, measuring)
    } else {
        Run::<Lean, _>::new(experiment, plan, NoCheck, log)?.finish(preparing, measuring)
    }
}

struct Run<'a, S: Store, W> {
    experiment: &'a Experiment,
    plan: &'a Plan,
    host: Host<Simulated<S>, W>,
    metrics: Metrics,
    /// Which pages hold data, where a read can find none.
    held: Option<MappedPages>,
    load: Load,
    log: Option<Part>,
}

impl<'a, S: Blank + 'static, W: ReadChecker<S::Data>> Run<'a, S, W> {
    fn new(experiment: &'a Experiment, plan: &'a Plan, witness: W, log: Option<Part>) -> Result<Self, Halt> {
        let device = &experiment.device;
        let ftl = registry::create(&plan.stack, &device.layout())
            .map_err(|error| SimError::study(format!("ftl \"{}\": {error}", plan.label)))?;
        let chip = Chip::new(device.geometry, &device.chip);
        let media = FlashPort::new(Timed { chip, timing: device.pricing() });
        let prepared = experiment.precondition != Precondition::None;
        let held = (!prepared || experiment.survey.facts.pages_trimmed > 0)
            .then(|| MappedPages::new(device.logical_pages, prepared));
        let metrics = Metrics::new((experiment.skip == 0).then_some(Nanos::ZERO));
        let load = Load::new(experiment.survey.facts.requests);
        Ok(Self { experiment, plan, host: Host::new(media, ftl, witness), metrics, held, load, log })
    }

    fn finish(mut self, preparing: &Reporter, measuring: &Reporter) -> Result<RunResult, Halt> {
        let prepared = prepare(&mut self.host, self.experiment, preparing)?;
        self.host.restart();
        self.host.device_mut().timing.watch_from_now(self.experiment.wishes);
        let begun = Instant::now();
        let (series, end_of_life, before) = self.measure(measuring)?;
        self.log.take().map_or(Ok(()), Part::finish)?;
        let measured_wall_s = begun.elapsed().as_secs_f64();
        self.host.device_mut().timing.settle();
        let endurance = self.endurance(&before, end_of_life.is_some());
        let result = self.result(&before, prepared, series.finish(), endurance);
        let result = RunResult { measured_wall_s, end_of_life, ..result };
        if !self.experiment.verify {
            self.compare_totals()?;
            return Ok(result);
        }
        self.verify(Stage::Verification)?;
        self.compare_totals()?;
        // A device that takes no writes any more cannot flush its trims either, and some of them
        // would come back.
        let mount = if self.host.ftl().spares().admit().is_ok() { Some(self.mount()?) } else { None };
        Ok(RunResult { mount, ..result })
    }

    /// Cuts the power and mounts the device again; what it holds must be the same.
    fn mount(self) -> Result<MountFacts, Halt> {
        let Self { experiment, plan, host, metrics, held, load, log } = self;
        let (host, facts) = mount(host, &experiment.device, plan)?;
        Self { experiment, plan, host, metrics, held, load, log }.verify(Stage::Mount)?;
        Ok(facts)
    }

    /// Serves the whole workload, or what the device lives to serve. Tells how things stood when
    /// measuring began, too.
    fn measure(&mut self, reporter: &Reporter) -> Result<(Sampler, Option<EndOfLife>, Before), Halt> {
        let Experiment { workload, survey, samples, queue_depth, skip, .. } = self.experiment;
        if self.host.ftl().needs_future() {
            self.host.set_future(&all_calls(workload.open(self.experiment.pager())?)?);
        }
        let mut requests = Ahead::of(workload.open(self.experiment.pager())?);
        let mut pace = queue_depth.map_or_else(Pace::open, |depth| Pace::closed(depth as usize));
        let mut before = self.before();
        if let Some(log) = &mut self.log {
            log.begin(&before.tally);
        }
        let page_bytes = self.chip().geometry().page_size_bytes();
        let mut sampler = Sampler::new(survey.facts.requests - skip, *samples, page_bytes, &before.tally);
        let mut number = 0;
        while let Some(request) = requests.next(|request, stage| self.host.prefetch(request, stage))? {
            number += 1;
            let served = self.serve(request, &mut pace);
            if let Ok((begin, done)) = served {
                self.observe(request, number, begin, done)?;
            }
            if let Err(fault) = served {
                if !fault.is_end_of_life() {
                    return Err(Halt::Fault(Stage::Request(number), fault));
                }
                self.host.mark_uncertain(request);
                sampler.take_last((number - 1).saturating_sub(*skip), &self.metrics, self.standing(&before));
                let host_written_bytes = self.metrics.asked.bytes_written;
                let end = EndOfLife { request: number, host_written_bytes, message: fault.to_string() };
                return Ok((sampler, Some(end), before));
            }
            if number == *skip {
                before = self.begin_measuring();
                sampler = Sampler::new(survey.facts.requests - skip, *samples, page_bytes, &before.tally);
            } else if number.checked_sub(*skip) == Some(sampler.due()) {
                sampler.take(&self.metrics, self.standing(&before));
            }
            if number.checked_sub(*skip) == Some(before.life.due()) {
                let (bytes, spares) = (self.metrics.asked.bytes_written, self.host.ftl().spares());
                before.life.look(bytes, spares, || before.wear.counts(self.chip()));
            }
            if number % REPORT_EVERY == 0 {
                reporter.report(number)?;
            }
        }
        reporter.report(number)?;
        Ok((sampler, None, before))
    }

    /// How things stand.
    fn before(&self) -> Before {
        let blocks = self.experiment.device.layout().good_blocks;
        let Experiment { survey, skip, .. } = self.experiment;
        let life = Life::new(survey.facts.requests - skip, self.host.ftl().spares());
        Before { tally: *self.host.media().tally(), wear: Wear::new(blocks, self.chip()), life }
    }

    /// How the device stands at a point of the time series.
    fn standing(&self, before: &Before) -> Standing<'_> {
        let (tally, gauges) = (self.host.media().tally(), self.host.ftl().gauges());
        Standing { tally, spread: before.wear.spread(self.chip()), gauges }
    }

    fn chip(&self) -> &Chip<S> {
        &self.host.media().device().chip
    }

    /// What is not measured is over.
    fn begin_measuring(&mut self) -> Before {
        if let Some(held) = &mut self.held {
            held.restart();
        }
        if let Some(watch) = self.host.device_mut().timing.watch_mut() {
            watch.restart_classes();
        }
        self.before()
    }

    /// Serves a request; returns when it began and was done.
    #[inline]
    fn serve(&mut self, request: &PageRequest, pace: &mut Pace) -> Result<(Nanos, Nanos), Fault> {
        let begin = pace.begin(Nanos(request.arrival_ns));
        if let Some(idle_from) = pace.idle_before(begin) {
            self.host.idle(idle_from, begin)?;
        }
        if let Some(watch) = self.host.device_mut().timing.watch_mut() {
            watch.begin_request();
        }
        let done = self.host.serve(request, begin)?;
        pace.complete(done);
        Ok((begin, done))
    }

    /// Measures a request that was served.
    #[inline]
    fn observe(&mut self, request: &PageRequest, number: u64, begin: Nanos, done: Nanos) -> Result<(), SimError> {
        let is_timed = matches!(request.op, HostOp::Read | HostOp::Write);
        self.load.add(request.arrival_ns, done.0, is_timed);
        let is_measured = number > self.experiment.skip;
        if is_measured {
            self.metrics.record(request, begin, done);
        }
        if let Some(held) = &mut self.held {
            held.see(request);
        }
        let watch = self.host.device_mut().timing.watch_mut();
        let parts = watch.and_then(|watch| watch.end_request(begin.0, done.0));
        if let Some(parts) = parts.filter(|_| is_measured && is_timed) {
            self.metrics.parts.add(&parts);
        }
        if let Some(log) = &mut self.log {
            let (begin_ns, end_ns, tally) = (begin.0, done.0, self.host.media().tally());
            log.push(&Row { number, request, begin_ns, end_ns, tally, parts })?;
        }
        Ok(())
    }

    /// Reads everything back and checks the scheme's invariants.
    fn verify(&mut self, stage: Stage) -> Result<(), Halt> {
        let at_end = |fault| Halt::Fault(stage, fault);
        self.host.ftl().check(self.host.media()).map_err(|broken| at_end(broken.into()))?;
        let logical_pages = self.experiment.device.logical_pages;
        for first in (0..logical_pages).step_by(READ_BACK_PAGES as usize) {
            let pages = READ_BACK_PAGES.min(logical_pages - first);
            self.host.read_back(Extent { lpn: Lpn::new(first), pages }).map_err(at_end)?;
        }
        self.host.ftl().check(self.host.media()).map_err(|broken| at_end(broken.into()))
    }

    /// What the causes add up to is what the flash counted.
    fn compare_totals(&self) -> Result<(), Halt> {
        let media = self.host.media();
        let counted = media.device().operations();
        let counted = [counted.reads, counted.programs, counted.erases];
        let caused = FlashOp::ALL.map(|op| media.tally().total(op));
        if caused == counted {
            Ok(())
        } else {
            Err(Halt::Fault(Stage::Verification, Fault::Totals { caused, counted }))
        }
    }

    fn spares(&self) -> SpareFacts {
        let chip = self.chip();
        let bad = (0..chip.geometry().blocks()).filter(|&block| chip.is_bad(Pbn::new(block))).count();
        let grown = bad - self.experiment.device.chip.bad_blocks.len();
        let Spares { total, used } = self.host.ftl().spares();
        SpareFacts { total, left: total.saturating_sub(used), grown_bad_blocks: grown as u64 }
    }

    fn endurance(&self, before: &Before, is_over: bool) -> Endurance {
        let limit = self.experiment.device.chip.endurance.unwrap_or(u32::MAX);
        let (spares, bytes) = (self.host.ftl().spares(), self.metrics.asked.bytes_written);
        let usage = self.experiment.usage();
        before.life.endurance((&before.wear, self.chip()), (limit, spares), (bytes, is_over), usage)
    }

    /// Share of page reads that found no data.
    fn reads_without_flash(&self) -> Option<f64> {
        let reads = self.metrics.asked.pages_read + self.metrics.asked.pages_completed;
        let empty = self.held.as_ref().map_or(0, MappedPages::empty_reads);
        (reads > 0).then(|| empty as f64 / reads as f64)
    }

    fn result(
        &self,
        before: &Before,
        prepared: Option<PreconditionFacts>,
        series: Series,
        endurance: Endurance,
    ) -> RunResult {
        let Self { experiment, plan, host, metrics, load, .. } = self;
        let tally = host.media().tally().since(&before.tally);
        let asked = metrics.asked;
        let seconds = metrics.elapsed().0 as f64 / 1e9;
        let per_second = |amount: u64| (seconds > 0.0).then(|| amount as f64 / seconds);
        let all = metrics.reads.with(&metrics.writes);
        let classes = Classes { all: &all, read: &metrics.reads, write: &metrics.writes };
        let [read, write, trim, flush] = asked.requests;
        let (programs, page_bytes) = (tally.total(FlashOp::Program), self.chip().geometry().page_size_bytes());
        let watch = host.media().device().timing.watch();
        let (waiting_ns, service_ns) = metrics.parts.means().unzip();
        RunResult {
            label: plan.label.clone(),
            ftl: plan.stack.names(),
            stack: plan.stack.to_string(),
            family: plan.resolved.mapping().entry.family.into(),
            parameters: plan.parameters(),
            seed: experiment.seed,
            verified: experiment.verify.then_some(true),
            event_hash: format!("{:016x}", host.media().event_hash()),
            requests: RequestCounts { read, write, trim, flush },
            skipped_requests: experiment.skip,
            simulated_ns: metrics.elapsed().0,
            wall_s: 0.0,
            measured_wall_s: 0.0,
            response_ns: classes.map(|class| class.responses()),
            cdf: classes.map(|class| class.cdf()),
            classes: watch.and_then(Probe::classes),
            timeline: watch.and_then(Probe::timeline),
            iops: per_second(read + write),
            throughput_bytes_per_s: per_second(asked.bytes),
            host_pages_read: asked.pages_read,
            host_pages_written: asked.pages_written,
            host_written_bytes: asked.bytes_written,
            reads_without_flash: self.reads_without_flash(),
            write_amplification: write_amplification(programs, page_bytes, asked.bytes_written),
            page_write_amplification: page_write_amplification(programs, asked.pages_written),
            operations: operations(&tally),
            controller_ns: tally.controller_ns(),
            notes: Note::ALL.iter().map(|&note| (note.name(), tally.note(note))).collect(),
            mapping_hit_ratio: mapping_hit_ratio(&tally),
            buffer_hit_ratio: buffer_hit_ratio(&tally),
            merges: merges(&tally),
            erases: before.wear.erases(self.chip()),
            wear_map: before.wear.map(self.chip()),
            spares: self.spares(),
            end_of_life: None,
            endurance,
            footprint: host.ftl().footprint().into(),
            utilisation: utilisation(&host.media().device().timing, metrics.end),
            load: load.facts(&host.media().device().timing, experiment.queue_depth.is_none()),
            waiting_ns,
            service_ns,
            gauges: host.ftl().gauges().into_iter().map(|gauge| (gauge.name, gauge.value)).collect(),
            series,
            precondition: prepared,
            mount: None,
        }
    }
}

/// The state of the device when measurement began.
struct Before {
    tally: Tally,
    wear: Wear,
    life: Life,
}

fn merges(tally: &Tally) -> Merges {
    Merges {
        switch: tally.note(Note::SwitchMerge),
        partial: tally.note(Note::PartialMerge),
        full: tally.note(Note::FullMerge),
    }
}

fn operations(tally: &Tally) -> Vec<OperationCount> {
    let every = Cause::ALL.iter().flat_map(|&cause| FlashOp::ALL.iter().map(move |&op| (cause, op)));
    every
        .map(|(cause, op)| OperationCount {
            cause: cause.name(),
            op: op.name(),
            count: tally.count(cause, op),
            time_ns: tally.time_ns(cause, op),
        })
        .filter(|operation| operation.count > 0)
        .collect()
}

fn utilisation(pricing: &Pricing, end: Nanos) -> Utilisation {
    let elapsed = end.max(pricing.idle_at()).0 as f64;
    let mean = |busy: &mut dyn ExactSizeIterator<Item = u64>| {
        let resources = busy.len() as f64;
        (elapsed > 0.0).then(|| busy.map(|ns| ns as f64).sum::<f64>() / (resources * elapsed))
    };
    Utilisation {
        dies: mean(&mut pricing.die_busy_ns()),
        channels: if pricing.has_channels() { mean(&mut pricing.channel_busy_ns()) } else { None },
    }
}
