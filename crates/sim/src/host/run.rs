//! One run: a translation layer on a fresh device, prepared, measured, and, if asked, verified.
//!
//! ```text
//! create ── precondition ── restart the clock ── requests … ── results ── totals ── done
//! if verified, then: read everything back ── check invariants ── power off ── mount ── both again
//! ```
//!
//! Requests are issued when they begin and measured when they end, in the order in which they were
//! issued ([`Outstanding`]); until then many of them are under way. In a closed loop each that ends
//! lets one begin.
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
use flash::{Flash, Lpn};
use ftl::{AnyDevice, BitErrors, ClassCounts, FlashOp, FlashPort, Nanos, Note, ReadRetries, Tally};
use trace::HostOp;

use self::totals::{merges, operations, utilisation};
use crate::control::Reporter;
use crate::error::{Fault, Halt, Stage};
use crate::host::experiment::{Experiment, Pace, Plan};
use crate::host::mount::mount;
use crate::host::outstanding::{Outstanding, Pending};
use crate::host::precondition::prepare;
use crate::host::run_device::RunDevice;
use crate::host::server::{Host, NoCheck, ReadChecker};
use crate::host::threads::Threads;
use crate::observe::flash_trace::FlashTrace;
use crate::observe::log::{Part, Row};
use crate::observe::metrics::{
    Metrics, Sampler, Snapshot, buffer_hit_ratio, mapping_hit_ratio, page_write_amplification, write_amplification,
};
use crate::observe::probe::Probe;
use crate::observe::wear::{Life, Wear};
use crate::paging::{Extent, HostRequest, MappedPages};
use crate::result::{
    Classes, EndOfLife, Endurance, MountFacts, PreconditionFacts, RequestCounts, RunResult, Series, Utilisation,
};
use crate::setup::device::{ClocklessDevice, SimulatedDevice};
use crate::setup::keys::RunKeys;
use crate::setup::values::{Clock, Precondition};
use crate::timing::engine::Ended;
use crate::workload::load::Load;
use crate::workload::stream::{Ahead, all_calls};
use crate::{EventTiming, SimError};

mod bit_errors;
mod clock;
mod facts;
mod pages;
mod totals;
mod waiting;

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
    let run = |has_clock: bool, log: Option<Part>| {
        if experiment.asked.verify {
            let oracle = || ExactOracle::new(experiment.device.logical_pages);
            Run::<AnyDevice, _>::prepared(experiment, plan, oracle, has_clock, preparing)?.finish(log, measuring)
        } else if experiment.probe_config.flash_trace.is_some() {
            // Only a full store knows what each page is for, and which version it holds.
            Run::<AnyDevice, _>::prepared(experiment, plan, || NoCheck, has_clock, preparing)?.finish(log, measuring)
        } else if has_clock {
            Run::<SimulatedDevice, _>::prepared(experiment, plan, || NoCheck, true, preparing)?.finish(log, measuring)
        } else {
            Run::<ClocklessDevice, _>::prepared(experiment, plan, || NoCheck, false, preparing)?.finish(log, measuring)
        }
    };
    match plan.clock {
        Clock::On => run(true, log),
        Clock::Off => run(false, None),
        Clock::Auto => match run(false, None) {
            Err(Halt::AskedOfTime(_)) => run(true, None),
            outcome => outcome,
        },
    }
}

/// What a run that passed the oracle proves, and no more: other workloads, cuts in the middle and
/// failing flash are torture's.
const PROVED_WITH_CUT: &str = "this run, one clean cut after a flush";
const PROVED_READ_ONLY: &str = "this run, until the device was read-only; no cut";

/// What a translation layer that looks ahead is told with threads.
const THREADS_HAVE_NO_FUTURE: &str = "host.loop = \"threads\": a translation layer here looks ahead in the workload, and threads \
    may send requests in another order. Set host.loop = \"open\" or \"closed\"";

struct Run<'a, D: RunDevice, W> {
    experiment: &'a Experiment,
    plan: &'a Plan,
    host: Host<D, W>,
    metrics: Metrics,
    /// Which pages hold data, where a read can find none.
    held: Option<MappedPages>,
    /// What was done to prepare the device.
    preparation: Option<PreconditionFacts>,
    load: Load,
    log: Option<Part>,
    sampler: Sampler,
    outstanding: Outstanding,
    /// Where each stream is a thread of the host.
    threads: Option<Threads>,
    /// Requests that have just ended; empty between calls.
    ended: Vec<Ended>,
    /// Whether the translation layer decides by how long requests take.
    observes_responses: bool,
}

impl<'a, D: RunDevice, W: ReadChecker<D::Data>> Run<'a, D, W> {
    /// A run on a device that is prepared: while time stands still, if the translation layer does
    /// not ask of it.
    fn prepared(
        experiment: &'a Experiment,
        plan: &'a Plan,
        checker: impl Fn() -> W,
        has_clock: bool,
        reporter: &Reporter,
    ) -> Result<Self, Halt> {
        let mut host = Self::host(experiment, plan, checker(), has_clock)?;
        if let Some(engine) = host.device_mut().engine_mut() {
            engine.stop_clock();
        }
        let prepared = match prepare(&mut host, false, experiment, reporter) {
            Err(Halt::AskedOfTime(_)) if has_clock => {
                host = Self::host(experiment, plan, checker(), true)?;
                prepare(&mut host, true, experiment, reporter)
            }
            prepared => prepared,
        };
        Ok(Self::new(experiment, plan, host, prepared?))
    }

    /// A fresh device under its translation layer.
    fn host(experiment: &Experiment, plan: &Plan, checker: W, has_clock: bool) -> Result<Host<D, W>, Halt> {
        let device = &experiment.device;
        let ftl = D::create(&plan.built, &device.layout())
            .map_err(|error| SimError::study(format!("ftl \"{}\": {error}", plan.label)))?;
        let fresh = D::fresh(device, has_clock);
        let bit_errors = device.reliability.map(|reliability| BitErrors::new(reliability, fresh.chip()));
        let flash = FlashPort::new(fresh).with_bit_errors(bit_errors);
        Ok(Host::new(flash, ftl, checker))
    }

    fn new(
        experiment: &'a Experiment,
        plan: &'a Plan,
        host: Host<D, W>,
        preparation: Option<PreconditionFacts>,
    ) -> Self {
        let device = &experiment.device;
        let prepared = experiment.precondition != Precondition::None;
        let held = (!prepared || experiment.survey.facts.pages_trimmed > 0)
            .then(|| MappedPages::new(device.logical_pages, prepared));
        let metrics = Metrics::new((experiment.asked.skip == 0).then_some(Nanos::ZERO));
        let load = Load::new(experiment.survey.facts.requests, experiment.asked.skip);
        Self {
            experiment,
            plan,
            ended: Vec::new(),
            observes_responses: host.ftl().observes_responses(),
            host,
            metrics,
            held,
            preparation,
            load,
            log: None,
            sampler: Sampler::new(0, 1, 1, &Tally::default()),
            outstanding: Outstanding::default(),
            threads: if let Pace::Threads(depth) = experiment.pace { Some(Threads::new(depth)) } else { None },
        }
    }

    fn finish(mut self, log: Option<Part>, measuring: &Reporter) -> Result<RunResult, Halt> {
        self.log = log;
        self.host.restart();
        let probe_config = self.experiment.probe_config;
        if let Some(engine) = self.engine_mut() {
            engine.watch_from_now(probe_config);
        }
        let begun = Instant::now();
        let (series, end_of_life, before) = self.measure(measuring)?;
        self.log.take().map_or(Ok(()), Part::finish)?;
        let measured_wall_s = begun.elapsed().as_secs_f64();
        let endurance = self.endurance(&before, end_of_life.is_some());
        let result = self.result(&before, series, endurance);
        let result = RunResult { measured_wall_s, end_of_life, ..result };
        if !self.experiment.asked.verify {
            self.compare_totals()?;
            return Ok(result);
        }
        self.verify(Stage::Verification)?;
        self.compare_totals()?;
        // A device that takes no writes any more cannot flush its trims either, and some of them
        // would come back.
        let mount = if self.host.ftl().spares().admit().is_ok() { Some(self.mount()?) } else { None };
        let proved = Some(if mount.is_some() { PROVED_WITH_CUT } else { PROVED_READ_ONLY });
        Ok(RunResult { proved, mount, ..result })
    }

    /// Cuts the power and mounts the device again; what it holds must be the same.
    fn mount(self) -> Result<MountFacts, Halt> {
        let (host, facts) = mount(self.host, &self.experiment.device, self.plan)?;
        Self { host, ..self }.verify(Stage::Mount)?;
        Ok(facts)
    }

    /// Serves the whole workload, or what the device lives to serve. Tells how things stood when
    /// measuring began, too.
    fn measure(&mut self, reporter: &Reporter) -> Result<(Series, Option<EndOfLife>, Before), Halt> {
        let workload = &self.experiment.workload;
        if self.host.ftl().needs_future() {
            if self.threads.is_some() {
                return Err(SimError::study(THREADS_HAVE_NO_FUTURE).into());
            }
            self.host.set_future(&all_calls(workload.open(self.experiment.pager())?)?);
        }
        let mut progress = Progress { before: self.before(), number: 0, reporter };
        if let Some(log) = &mut self.log {
            log.begin(&progress.before.tally);
        }
        self.sampler = self.new_sampler(&progress.before);
        let mut end = None;
        if self.sends_pages() {
            end = self.send_pages(&mut workload.open(self.experiment.pager())?, &mut progress)?;
        } else {
            let mut requests = Ahead::of(workload.open(self.experiment.pager())?);
            while end.is_none()
                && let Some(request) = requests.next(|request, stage| self.host.prefetch(request, stage))?
            {
                end = match self.threads {
                    None => self.send(request, &mut progress)?,
                    Some(_) => self.send_in_threads(request, &mut progress)?,
                };
            }
        }
        if end.is_none() {
            end = self.send_waiting(Nanos(u64::MAX), &mut progress)?;
        }
        if end.is_none() {
            self.finish_outstanding()?;
            reporter.report(progress.number)?;
        }
        Ok((self.take_series(), end, progress.before))
    }

    fn new_sampler(&self, before: &Before) -> Sampler {
        let Experiment { survey, asked: RunKeys { samples, skip, .. }, .. } = self.experiment;
        Sampler::new(survey.facts.requests - skip, *samples, self.chip().geometry().page_size_bytes(), &before.tally)
    }

    /// Serves the next request; tells if the device has worn out.
    #[inline]
    fn send(&mut self, request: &HostRequest, progress: &mut Progress<'_>) -> Result<Option<EndOfLife>, Halt> {
        progress.number += 1;
        match self.issue(request, progress.number) {
            Ok(()) => self.on_issued(progress).map(|()| None),
            Err(fault) => self.on_refused(request, progress, fault).map(Some),
        }
    }

    /// A request has been issued: what is due after it.
    #[inline]
    fn on_issued(&mut self, progress: &mut Progress<'_>) -> Result<(), Halt> {
        let &mut Progress { number, reporter, ref mut before } = progress;
        let skip = self.experiment.asked.skip;
        let measured = number.checked_sub(skip);
        if measured == Some(0) {
            *before = self.begin_measuring(&before.wear);
            self.sampler = self.new_sampler(before);
        } else if let Some(measured) = measured
            && self.sampler.is_due(measured)
        {
            let snapshot = self.snapshot(measured, before);
            match self.outstanding.last_mut() {
                Some(pending) => pending.keep_snapshot(snapshot),
                None => self.sampler.take(&self.metrics, snapshot),
            }
        }
        if measured == Some(before.life.due()) {
            let (bytes, spares) = (self.metrics.totals.bytes_written, self.host.ftl().spares());
            before.life.look(bytes, spares, || before.wear.counts(self.chip()));
        }
        self.check_not_asked()?;
        self.measure_ended()?;
        self.check_backlog()?;
        if number % REPORT_EVERY == 0 {
            reporter.report(number)?;
        }
        Ok(())
    }

    /// Lets time pass until a request begins, and issues it.
    #[inline]
    fn issue(&mut self, request: &HostRequest, number: u64) -> Result<(), Fault> {
        if !self.has_clock() {
            return self.serve_at_once(request, number);
        }
        let begin = match self.experiment.pace {
            Pace::Closed(depth) => self.await_a_place(depth as usize),
            Pace::Open => self.await_arrival(Nanos(request.arrival_ns))?,
            // One that waited in its thread is sent now.
            Pace::Threads(_) => self.await_arrival(Nanos(request.arrival_ns).max(self.host.now()))?,
        };
        self.trace_request(request, number, begin);
        let end = self.host.serve(request, begin)?;
        let is_measured = number > self.experiment.asked.skip;
        if is_measured {
            self.metrics.begin(request, begin);
        }
        if let Some(held) = &mut self.held {
            held.see(request);
        }
        let operations = self.log.as_mut().map(|log| log.operations(self.host.flash().tally()));
        if let Some(threads) = &mut self.threads {
            threads.begin(request);
        }
        let ticket = self.outstanding.push(Pending::new(request, number, begin, is_measured, operations));
        if let Some(engine) = self.engine_mut() {
            engine.tell_when_over(end, ticket);
        }
        Ok(())
    }

    /// Hears of the requests that have ended.
    #[inline]
    fn hear_of_ended(&mut self) {
        let Some(engine) = self.host.device_mut().engine_mut() else { return };
        engine.take_ended(&mut self.ended);
        for ended in self.ended.drain(..) {
            let pending = self.outstanding.end(ended);
            if let Some(threads) = &mut self.threads {
                threads.end(pending.stream);
            }
            if let Some(pages) = pending.pages_of_read_or_write()
                && self.observes_responses
            {
                let response = ended.at.since(pending.begin);
                self.host.on_response(pages, response);
            }
        }
    }

    /// Measures the requests that have ended, up to the first that has not.
    #[inline]
    fn measure_ended(&mut self) -> Result<(), SimError> {
        while let Some((pending, done, account)) = self.outstanding.first_ended() {
            let &mut Pending { op, arrival_ns, number, begin, is_measured, pages, .. } = pending;
            let rare = pending.rare.take();
            self.outstanding.drop_first();
            let is_timed = matches!(op, HostOp::Read | HostOp::Write);
            self.load.add(arrival_ns, done.0, is_timed.then_some(pages));
            if let Some(flash_trace) = self.flash_trace_mut() {
                flash_trace.end(number, done.0);
            }
            if is_measured {
                self.metrics.record(op, begin, done);
            }
            let mut parts = None;
            let engine = self.host.device_mut().engine_mut();
            if let Some(breakdown) = engine.and_then(EventTiming::breakdown_mut) {
                if is_measured && is_timed {
                    debug_assert_eq!(breakdown.parts(account).sum(), (done - begin).0, "the parts of request {number}");
                    breakdown.add_to(&mut self.metrics.parts, account);
                }
                parts = self.log.is_some().then(|| breakdown.parts(account));
                breakdown.close(account);
            }
            let Some(rare) = rare else { continue };
            if let (Some(log), Some(operations)) = (&mut self.log, rare.operations) {
                let (begin_ns, end_ns, pages) = (begin.0, done.0, u64::from(pages));
                log.push(&Row { number, op, arrival_ns, begin_ns, end_ns, pages, operations, parts })?;
            }
            if let Some(snapshot) = rare.snapshot {
                self.sampler.take(&self.metrics, snapshot);
            }
        }
        Ok(())
    }

    /// Lets everything under way end, and measures it.
    fn finish_outstanding(&mut self) -> Result<(), SimError> {
        if let Some(engine) = self.engine_mut() {
            engine.pass_until_idle();
        }
        self.hear_of_ended();
        self.measure_ended()
    }

    fn take_series(&mut self) -> Series {
        let series = std::mem::replace(&mut self.sampler, Sampler::new(0, 1, 1, &Tally::default())).finish();
        if self.has_clock() { series } else { series.without_times() }
    }

    /// The counts from which the measured part is told apart.
    fn before(&self) -> Before {
        let blocks = self.experiment.device.layout().good_blocks;
        let Experiment { survey, asked, .. } = self.experiment;
        let life = Life::new(survey.facts.requests - asked.skip, self.host.ftl().spares());
        let (tally, read_retries) = (*self.host.flash().tally(), self.read_retries());
        let class_counts = self.host.ftl().class_counts().to_vec();
        Before { tally, class_counts, read_retries, wear: Wear::new(blocks, self.chip(), self.limits()), life }
    }

    /// How the device stands when this many measured requests have been issued.
    fn snapshot(&self, requests: u64, before: &Before) -> Snapshot {
        let (tally, gauges) = (*self.host.flash().tally(), self.host.ftl().gauges());
        let (written_bytes, spread) = (self.metrics.totals.bytes_written, before.wear.spread(self.chip()));
        Snapshot { requests, written_bytes, tally, spread, gauges }
    }

    fn chip(&self) -> &D::Chip {
        self.host.flash().chip()
    }

    /// What is not measured is over.
    fn begin_measuring(&mut self, prepared: &Wear) -> Before {
        if let Some(held) = &mut self.held {
            held.restart();
        }
        if let Some(probe) = self.probe_mut() {
            probe.restart_classes();
        }
        Before { wear: prepared.restart(self.chip()), ..self.before() }
    }

    /// Reads everything back and checks the scheme's invariants.
    fn verify(&mut self, stage: Stage) -> Result<(), Halt> {
        let at_end = |fault| Halt::Fault(stage, fault);
        self.host.ftl().check(self.host.flash()).map_err(|broken| at_end(broken.into()))?;
        let logical_pages = self.experiment.device.logical_pages;
        for first in (0..logical_pages).step_by(READ_BACK_PAGES as usize) {
            let pages = READ_BACK_PAGES.min(logical_pages - first);
            self.host.read_back(Extent { lpn: Lpn::new(first), pages }).map_err(at_end)?;
        }
        self.host.ftl().check(self.host.flash()).map_err(|broken| at_end(broken.into()))
    }

    /// What the causes add up to is what the flash counted.
    fn compare_totals(&self) -> Result<(), Halt> {
        let flash = self.host.flash();
        let counted = flash.chip().operations();
        let counted = [counted.reads, counted.programs, counted.erases];
        let caused = FlashOp::ALL.map(|op| flash.tally().total(op));
        if caused == counted {
            Ok(())
        } else {
            Err(Halt::Fault(Stage::Verification, Fault::Totals { caused, counted }))
        }
    }

    fn endurance(&self, before: &Before, is_over: bool) -> Endurance {
        let [limit, pslc_limit] = self.limits();
        let pslc_limit = (self.chip().pslc_pages() > 0).then_some(pslc_limit);
        let (spares, bytes) = (self.host.ftl().spares(), self.metrics.totals.bytes_written);
        // pSLC mode has cycles of its own.
        let most_bytes =
            if pslc_limit.is_none() { f64::from(limit) * self.bytes_per_cycle(before) } else { f64::INFINITY };
        let usage = self.experiment.usage(most_bytes);
        let endurance = before.life.endurance((&before.wear, self.chip()), (limit, spares), (bytes, is_over), usage);
        Endurance { pslc_limit, ..endurance }
    }

    /// Bytes of the host that fill its good blocks once at most: theirs, and what buffers absorb.
    fn bytes_per_cycle(&self, before: &Before) -> f64 {
        let (geometry, blocks) = (self.chip().geometry(), before.wear.blocks().len() as f64);
        let programs = self.host.flash().tally().since(&before.tally).total(FlashOp::Program);
        let programmed = write_amplification(programs, geometry.page_size_bytes(), self.metrics.totals.bytes_written);
        blocks * f64::from(geometry.pages_per_block()) * f64::from(geometry.page_size_bytes())
            / programmed.unwrap_or(1.0).min(1.0)
    }

    /// Erases that a block survives, and those out of pSLC mode.
    fn limits(&self) -> [u32; 2] {
        let chip = &self.experiment.device.chip;
        [chip.endurance, chip.pslc_endurance].map(|limit| limit.unwrap_or(u32::MAX))
    }

    fn result(&self, before: &Before, series: Series, endurance: Endurance) -> RunResult {
        let Self { experiment, plan, host, metrics, load, .. } = self;
        let (tally, requests) = (host.flash().tally().since(&before.tally), metrics.totals);
        let (all, timing) = (metrics.reads.with(&metrics.writes), host.flash().device().engine());
        let classes = Classes { all: &all, read: &metrics.reads, write: &metrics.writes };
        let (programs, page_bytes) = (tally.total(FlashOp::Program), self.chip().geometry().page_size_bytes());
        let probe = timing.and_then(EventTiming::probe);
        let [waiting_ns, bus_waiting_ns, service_ns] = metrics.parts.means();
        RunResult {
            label: plan.label.clone(),
            ftl: plan.stack.names(),
            stack: plan.stack.to_string(),
            family: plan.resolved.mapping().entry.family.into(),
            parameters: plan.parameters(),
            seed: experiment.seed,
            proved: None,
            event_hash: format!("{:016x}", host.flash().event_hash()),
            requests: RequestCounts::from(requests.requests),
            skipped_requests: experiment.asked.skip,
            simulated_ns: timing.map(|_| metrics.elapsed().0),
            wall_s: 0.0,
            measured_wall_s: 0.0,
            response_ns: classes.map(|class| class.responses()),
            flush_ns: metrics.flushes.responses(),
            cdf: classes.map(|class| class.cdf()),
            classes: probe.and_then(Probe::classes),
            timeline: probe.and_then(Probe::timeline),
            flash_trace: probe.and_then(Probe::flash_trace).map(FlashTrace::result),
            iops: metrics.per_second(requests.requests[..2].iter().sum()),
            throughput_bytes_per_s: metrics.per_second(requests.bytes),
            host_pages_read: requests.pages_read,
            host_pages_written: requests.pages_written,
            host_written_bytes: requests.bytes_written,
            media_erased_bytes: self.erased_bytes(&tally),
            reads_without_flash: self.reads_without_flash(),
            write_amplification: write_amplification(programs, page_bytes, requests.bytes_written),
            page_write_amplification: page_write_amplification(programs, requests.pages_written),
            streams: self.streams(before),
            operations: operations(&tally, timing),
            controller_ns: timing.map(|_| tally.controller_ns()),
            notes: Note::ALL.iter().map(|&note| (note.name(), tally.note(note))).collect(),
            mapping_hit_ratio: mapping_hit_ratio(&tally),
            buffer_hit_ratio: buffer_hit_ratio(&tally),
            merges: merges(&tally),
            erases: before.wear.erases(self.chip()),
            wear_map: before.wear.map(self.chip()),
            spares: self.spares(),
            bit_errors: self.bit_error_facts(before),
            end_of_life: None,
            endurance,
            footprint: self.footprint(),
            utilisation: timing.map_or_else(Utilisation::default, |timing| utilisation(timing, metrics.end)),
            load: timing.map(|timing| load.facts(timing, !matches!(experiment.pace, Pace::Closed(_)))),
            waiting_ns,
            bus_waiting_ns,
            service_ns,
            gauges: host.ftl().gauges().into_iter().map(|gauge| (gauge.name, gauge.value)).collect(),
            series,
            precondition: self.preparation,
            mount: None,
        }
    }
}

/// How far a run is.
struct Progress<'a> {
    before: Before,
    /// Of the request issued last, in the order in which they were issued, from 1.
    number: u64,
    reporter: &'a Reporter<'a>,
}

/// The state of the device when measurement began.
struct Before {
    tally: Tally,
    class_counts: Vec<ClassCounts>,
    read_retries: ReadRetries,
    wear: Wear,
    life: Life,
}

#[cfg(test)]
mod tests;
