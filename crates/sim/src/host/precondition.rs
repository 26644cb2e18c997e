//! Bringing a device into a state worth measuring, before the clock of the measurement starts.
//!
//! *Fill* writes every live page (`live_pages.rs`: all, unless `run.in_use` says less) once, in
//! order, a block's worth a request. *Steady* goes on with uniform random overwrites of the live
//! pages until write amplification settles, so that it differs by less than 1 % in two successive
//! windows. A window programs half the physical pages, and overwrites a tenth of the live ones:
//! where each host page costs many programs, half the physical pages are a moment, in which write
//! amplification may rise by less than 1 % and go on for long (`treeftl` with 19 KiB on 1 GiB: 9.5
//! after 0.6 overwrites of the device, 13 in the end). Small devices overwrite more, up to half,
//! since a window of few collections meets another by chance. So do those whose map is written to
//! flash: collections cost more of the map as the filled order goes, which takes passes (`dftl`
//! with 27 % of the map of 83 GiB: 11.2 after 1.6 overwrites, 12.2 in the end).
//!
//! They overwrite in the workload's sizes of writes, too, since neighbours that one request wrote
//! cost one update of the map when they move (that `dftl` under 128 KiB: 9.4 in the end). Others
//! overwrite single pages, which is more than the workload costs where blocks hold few of its
//! writes: on 4 GiB of `qlc-16k-like` under 128 KiB `page` falls from 5.2 to 3.2 in two passes.
//!
//! It does not look before the physical pages have been programmed twice over, since the first
//! windows only use up the spare, and gives up after twenty times and eight windows, since some
//! devices never settle; the results say which it was. Twenty times as many host pages are enough,
//! too: a write buffer that holds the whole device programs nothing. *Workload* serves its own
//! reads and writes once, each as a write of all pages that it touches, in their order and one
//! after the other: what is measured then finds its data where the workload itself puts it. The
//! public `FlashSim` warms its flash like that (`warmFlash` in its `disksim_main.c` sends each
//! request of the trace as a write, then resets the counts).
//!
//! *Auto* is decided before the first run, from the survey: a fill where the workload reads pages
//! that it has not written itself, since reading such a page of an erased device costs nothing;
//! else nothing. A trace says what was asked of a device in use.
//!
//! Time stands still meanwhile, unless the translation layer asks of it: what is measured begins
//! with idle resources, and what a scheme that does not ask of time does is the same whatever the
//! time. Whether it asks, only preparing it shows, so a preparation ends where it does, and is done
//! again while time passes ([`Halt::AskedOfTime`]).
//!
//! Limits: without `run.in_use`, *fill* and *steady* touch the whole logical space whatever the
//! workload touches.
//! Overwriting at random is the usual worst case, not the state that the workload itself would lead
//! to; for that, take *workload*, or run the workload longer.

use flash::Lpn;
use ftl::prefetch::announce;
use ftl::{Cause, Device, FlashOp};
use random::SeededRng;
use trace::HostOp;

use crate::control::Reporter;
use crate::error::{Fault, Halt, Stage};
use crate::host::experiment::Experiment;
use crate::host::live_pages::LivePages;
use crate::host::server::{Host, ReadChecker};
use crate::paging::Extent;
use crate::result::PreconditionFacts;
use crate::setup::values::Precondition;
use crate::workload::stream::{Ahead, Requests};
use crate::workload::survey::Survey;
use crate::workload::write_sizes::WriteSize;

/// Share of the physical pages that a window programs at least.
const WINDOW: f64 = 0.5;
/// Shares of the live pages between which the host overwrites [`EVENED_OUT`] in it at least; the
/// second one where a map is written to flash.
const OVERWRITTEN: [f64; 2] = [0.1, 0.5];
/// Overwrites that bring the noise of write amplification below what counts as settled.
const EVENED_OUT: f64 = 16_384.0;
/// Physical pages programmed, in multiples of the device, before windows are compared.
const SETTLE_AFTER: f64 = 2.0;
/// Physical pages programmed, or host pages written, in multiples of the device, after which it has
/// to do, if there were as many windows as [`GIVE_UP_WINDOWS`].
const GIVE_UP_AFTER: f64 = 20.0;
const GIVE_UP_WINDOWS: u32 = 8;
/// How close two successive windows have to be.
const SETTLED: f64 = 0.01;
/// Sizes of overwrites where the whole map is in RAM.
const SINGLE_PAGES: [WriteSize; 1] = [WriteSize { pages: 1, phase: 0 }];
/// Pages overwritten between two looks at the counts.
const STRIDE: u32 = 1024;

/// Prepares the device, while time passes or not.
pub(crate) fn prepare<D: Device, W: ReadChecker<D::Data>>(
    host: &mut Host<D, W>,
    time_passes: bool,
    experiment: &Experiment,
    reporter: &Reporter,
) -> Result<Option<PreconditionFacts>, Halt> {
    Preparation { host, live: &experiment.live, written: 0, time_passes, reporter }.prepare(experiment)
}

/// Pages of progress that a preparation may take, for its progress line.
pub(crate) fn effort(experiment: &Experiment) -> u64 {
    let (live, asked) = (u64::from(experiment.live.count()), &experiment.survey.facts);
    match experiment.precondition {
        Precondition::Auto | Precondition::None => 0,
        Precondition::Fill => live,
        Precondition::Steady => live + (GIVE_UP_AFTER * f64::from(experiment.device.geometry.pages())) as u64,
        Precondition::Workload => asked.pages_read + asked.pages_written,
    }
}

struct Preparation<'a, D: Device, W> {
    host: &'a mut Host<D, W>,
    live: &'a LivePages,
    /// Host pages written so far.
    written: u64,
    time_passes: bool,
    reporter: &'a Reporter<'a>,
}

impl<D: Device, W: ReadChecker<D::Data>> Preparation<'_, D, W> {
    fn prepare(mut self, experiment: &Experiment) -> Result<Option<PreconditionFacts>, Halt> {
        let Experiment { precondition, seed, workload, survey, .. } = experiment;
        let (mode, page_write_amplification, settled) = match precondition {
            Precondition::Auto | Precondition::None => return Ok(None),
            Precondition::Fill => ("fill", self.fill()?, None),
            Precondition::Steady => {
                self.fill()?;
                let (page_write_amplification, settled) = self.overwrite(*seed, survey)?;
                ("steady", page_write_amplification, Some(settled))
            }
            Precondition::Workload => ("workload", self.rehearse(workload.open(experiment.pager())?)?, None),
        };
        Ok(Some(PreconditionFacts { mode, pages_written: self.written, page_write_amplification, settled }))
    }

    /// Writes every live page once, in order; returns the write amplification of that.
    fn fill(&mut self) -> Result<f64, Halt> {
        let at_once = self.host.flash().geometry().pages_per_block();
        for run in self.live.runs(at_once) {
            self.write(run)?;
            self.reporter.report(self.written)?;
        }
        Ok(self.programs() as f64 / self.written as f64)
    }

    /// Overwrites at random until write amplification settles; returns that of the last window and
    /// whether it settled.
    fn overwrite(&mut self, master_seed: u64, survey: &Survey) -> Result<(f64, bool), Halt> {
        let mut random = SeededRng::named(master_seed, "precondition");
        let physical = f64::from(self.host.flash().geometry().pages());
        let [least, most] = OVERWRITTEN.map(|share| share * f64::from(self.live.count()));
        let mut windows = 0;
        let (begun, filled) = (self.programs(), self.written);
        let mut window = Window { programs: begun, written: filled };
        let mut before: Option<f64> = None;
        loop {
            let writes_map = self.writes_map();
            let sizes = if writes_map { &*survey.write_sizes } else { &SINGLE_PAGES };
            self.write_each(&self.draw_writes(&mut random, sizes))?;
            let now = Window { programs: self.programs(), written: self.written };
            self.reporter.report(filled + (now.programs - begun).max(now.written - filled))?;
            let is_whole = (now.programs - window.programs) as f64 >= WINDOW * physical
                && (now.written - window.written) as f64
                    >= if writes_map { most } else { EVENED_OUT.clamp(least, most) };
            let programs_nothing = (now.written - filled) as f64 >= GIVE_UP_AFTER * physical;
            if !is_whole && !programs_nothing {
                continue;
            }
            windows += 1;
            let here = (now.programs - window.programs) as f64 / (now.written - window.written) as f64;
            let (programmed, last) = ((now.programs - begun) as f64 / physical, before.replace(here));
            let settled = programmed >= SETTLE_AFTER && last.is_some_and(|last| (here / last - 1.0).abs() < SETTLED);
            let gives_up = programmed >= GIVE_UP_AFTER && windows >= GIVE_UP_WINDOWS;
            if settled || gives_up || programs_nothing {
                return Ok((here, settled));
            }
            window = now;
        }
    }

    /// Draws uniform overwrites of a stride's pages, or a few more.
    fn draw_writes(&self, random: &mut SeededRng, sizes: &[WriteSize]) -> Vec<Extent> {
        let (mut writes, mut pages) = (Vec::with_capacity(STRIDE as usize), 0);
        while pages < STRIDE {
            let index = random.below(self.live.count().into()) as u32;
            let size = if sizes.len() == 1 { 0 } else { random.below(sizes.len() as u64) as usize };
            let write = self.live.write_around(index, sizes[size]);
            pages += write.pages;
            writes.push(write);
        }
        writes
    }

    /// Writes what the workload reads and writes, in its order; returns the write amplification of
    /// that, 0 where that is nothing.
    fn rehearse(&mut self, requests: Requests) -> Result<f64, Halt> {
        let mut requests = Ahead::of(requests);
        while let Some(request) = requests.next(|request, stage| self.host.prefetch(request, stage))? {
            if matches!(request.op, HostOp::Read | HostOp::Write) {
                request.extents.iter().try_for_each(|&extent| self.write(extent))?;
                self.reporter.report(self.written)?;
            }
        }
        Ok(self.programs() as f64 / self.written.max(1) as f64)
    }

    /// Writes extents, one after the other.
    fn write_each(&mut self, extents: &[Extent]) -> Result<(), Halt> {
        if self.time_passes || W::WATCHES || extents.iter().any(|extent| extent.pages > 1) {
            return (0..extents.len()).try_for_each(|at| {
                announce(extents, at, |&extent, stage| self.host.prefetch_extent(extent, stage));
                self.write(extents[at])
            });
        }
        let lpns: Vec<Lpn> = extents.iter().map(|extent| extent.lpn).collect();
        let (written, result) = self.host.write_each(Cause::Precondition, &lpns);
        self.written += written as u64;
        self.check(result)
    }

    fn write(&mut self, extent: Extent) -> Result<(), Halt> {
        let result = self.host.write_with_cause(Cause::Precondition, extent);
        self.written += if result.is_ok() { u64::from(extent.pages) } else { 0 };
        self.check(result)
    }

    /// Ends the preparation at a fault, or where the translation layer has asked of time.
    fn check(&self, result: Result<(), Fault>) -> Result<(), Halt> {
        result.map_err(|fault| Halt::Fault(Stage::Precondition(self.written), fault))?;
        match self.host.flash().asked_of_time() {
            Some(what) if !self.time_passes => Err(Halt::AskedOfTime(what)),
            _ => Ok(()),
        }
    }

    /// Whether a part of the map has been written to flash.
    fn writes_map(&self) -> bool {
        let causes = [Cause::Mapping, Cause::MappingCollection];
        causes.iter().any(|&cause| self.host.flash().tally().count(cause, FlashOp::Program) > 0)
    }

    fn programs(&self) -> u64 {
        self.host.flash().tally().total(FlashOp::Program)
    }
}

/// Counts at the beginning of a window.
#[derive(Clone, Copy)]
struct Window {
    programs: u64,
    written: u64,
}
