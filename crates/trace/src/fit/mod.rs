//! A look-alike of a recorded trace: a [`GeneratorSpec`] that has its figures.
//!
//! Sizes, shares, the mean gap, the range and short reuse (which requests repeat an earlier one)
//! are taken from the trace as they are. Bursts are searched for until requests wait as the
//! trace's do. Where the other requests go is searched for, until the look-alike has the trace's
//! locality: pages rewritten within a log round, the share of the hottest pages, logical blocks
//! touched and runs, over several window lengths ([`crate::Locality`]). What is found comes with
//! what each number rests on and with what is left: where the trace and its look-alike differ.
//!
//! A look-alike has what these figures see, and no more: no daily rhythm, no files that are written
//! once and read for weeks, no order beyond runs and drift.

mod arrivals;
mod measured;
mod reuses;
mod search;
mod target;

use serde::Serialize;

use crate::error::TraceError;
use crate::generate::{Arrivals, GeneratorSpec, Part, Pattern, PlaceShape, Reuse, SpecError};
use crate::record::Record;
use crate::statistics::{Profile, Statistics};
use crate::units::Bytes;
use measured::{Class, Measured, NewRequests};
use search::search;
pub use target::{Recorded, Residual, Target, buffer_hit_percent};

/// Requests of a look-alike that are compared with the trace, at most: enough that chance is small
/// beside the units of the misfit.
const COMPARED: u64 = 200_000;
/// Of a longer trace, windows are compared that the requests compared hold this many times: in a
/// longer one the beginning, with nothing before it, would weigh too much.
const WINDOWS_HELD: u64 = 4;
/// Reads go to places of their own unless this many of the pages read are written as well, %.
const SHARED_PERCENT: f64 = 50.0;

/// Added to the number of a hot set where requests start inside pages.
const INSIDE: u64 = 2;

/// Popularity that a calibration may choose: from nearly even to a few places that get nearly all.
const THETAS: [f64; 2] = [0.5, 1.8];

/// A look-alike and what it rests on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fit {
    /// The look-alike.
    pub spec: GeneratorSpec,
    /// What was set, and why so.
    pub parameters: Vec<Parameter>,
    /// Where it differs from the trace.
    pub residuals: Vec<Residual>,
    /// The mean square of the differences in units.
    pub misfit: f64,
}

/// A number of a look-alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Its value, as a study says it.
    pub value: String,
    /// What it was taken from, or which figures it was searched for.
    pub rests_on: String,
}

/// Fits a look-alike to a trace's requests in order of arrival. `go_on` is asked again and again;
/// the answer is none once it says no.
pub fn fit(
    records: impl Iterator<Item = Result<Record, TraceError>>,
    seed: u64,
    mut go_on: impl FnMut() -> bool,
) -> Result<Option<Fit>, TraceError> {
    let mut measured = Measured::default();
    let statistics = Statistics::of(records.inspect(|record| {
        if let Ok(record) = record {
            measured.observe(record);
        }
    }))?;
    let total = &statistics.total;
    let Some(locality) = &statistics.locality else {
        let text = "the trace has no writes, and a look-alike is fitted to where they go";
        return Err(TraceError::Option(text.to_owned()));
    };
    let requests = total.reads + total.writes;
    let compared = requests.min(COMPARED);
    let pages = locality.written_pages as f64 * compared as f64 / requests as f64;
    let windows =
        locality.windows.iter().filter(|window| requests <= COMPARED || (WINDOWS_HELD * window.pages) as f64 <= pages);
    let target = Target {
        recorded: vec![Recorded { requests: compared, windows: windows.copied().collect() }],
        // Of several devices, each has sequences of its own, which one device cannot have.
        sequential_percent: total.sequential_percent.filter(|_| statistics.devices.len() == 1),
        hit_percent: None,
    };
    let arrivals = arrivals::fitted(measured.queues(), seed).map_err(|error| TraceError::Option(error.to_string()))?;
    let (classes, reuse) = (measured.classes(), measured.reuse());
    let base = Base { requests, statistics: &statistics, arrivals, classes, reuse };
    let found = fit_places(&|shape| base.spec(shape), &target, seed, &mut go_on);
    let found = found.map_err(|error| TraceError::Option(error.to_string()))?;
    Ok(found.map(|places| Fit {
        spec: base.spec(&places.shape),
        parameters: base.parameters(&places.shape),
        residuals: places.residuals,
        misfit: places.misfit,
    }))
}

/// Places and how far they are from a target.
#[derive(Clone, Debug, PartialEq)]
pub struct FittedPlaces {
    /// The places.
    pub shape: PlaceShape,
    /// Where the workload differs from the target.
    pub residuals: Vec<Residual>,
    /// The mean square of the differences in units.
    pub misfit: f64,
}

/// Searches places for the workload that `frame` makes of them; none when `go_on` says no.
pub fn fit_places(
    frame: &dyn Fn(&PlaceShape) -> GeneratorSpec,
    target: &Target,
    seed: u64,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Option<FittedPlaces>, SpecError> {
    let found = search(frame, target, seed, go_on)?;
    Ok(found.map(|(shape, residuals)| FittedPlaces { shape, misfit: target::misfit(&residuals), residuals }))
}

/// Popularity, and joined large requests where that does not do, for which the workload that
/// `frame` makes of `shape` has page hits of this many per cent in a buffer of 64 MiB; all else
/// stays.
pub fn calibrate(
    frame: &dyn Fn(&PlaceShape) -> GeneratorSpec,
    shape: &PlaceShape,
    hit_percent: f64,
    seed: u64,
) -> Result<PlaceShape, SpecError> {
    let with_theta = |theta| PlaceShape { theta, ..*shape };
    let [weak, strong] = THETAS;
    if buffer_hit_percent(&frame(&with_theta(strong)), seed)? >= hit_percent {
        return bisect(frame, &with_theta, (weak, strong), hit_percent, seed);
    }
    let with_joined = |joined| PlaceShape { joined, ..with_theta(strong) };
    bisect(frame, &with_joined, (shape.joined, 1.0), hit_percent, seed)
}

/// The number between two, in hundredths, that gives the hits; more of it gives more hits.
fn bisect(
    frame: &dyn Fn(&PlaceShape) -> GeneratorSpec,
    shape: &dyn Fn(f64) -> PlaceShape,
    (least, most): (f64, f64),
    hit_percent: f64,
    seed: u64,
) -> Result<PlaceShape, SpecError> {
    let (mut low, mut high) = ((least * 100.0).round() as u64, (most * 100.0).round() as u64);
    while high > low {
        let middle = u64::midpoint(low, high);
        if buffer_hit_percent(&frame(&shape(middle as f64 / 100.0)), seed)? < hit_percent {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Ok(shape(high as f64 / 100.0))
}

/// A look-alike but for its places.
struct Base<'a> {
    requests: u64,
    statistics: &'a Statistics,
    arrivals: Arrivals,
    /// Of reads and of writes.
    classes: [Vec<NewRequests<'a>>; 2],
    reuse: Vec<Reuse>,
}

impl Base<'_> {
    fn spec(&self, shape: &PlaceShape) -> GeneratorSpec {
        let [reads, writes] = &self.classes;
        let parts_of = |classes: &[NewRequests<'_>], write_share: f64, hot_set: u64| -> Vec<Part> {
            let of = |&NewRequests { class, is_repeated, share }: &NewRequests<'_>| {
                let starts = class.starts();
                // The places that start at pages are others than those that do not.
                let hot_set = hot_set + if starts.is_some() { INSIDE } else { 0 };
                let starts = starts.as_deref().map(|weights| (weights, class.starts_kept()));
                let parts = shape.parts(&class.sizes(), Some(write_share), hot_set, starts);
                parts.into_iter().map(move |part| Part { weight: part.weight * share, reusable: is_repeated, ..part })
            };
            classes.iter().flat_map(of).collect()
        };
        let mut parts = parts_of(writes, 1.0, 0);
        parts.extend(parts_of(reads, 0.0, u64::from(!self.reads_share())));
        GeneratorSpec {
            requests: self.requests,
            span: measured::span(self.statistics),
            unit: Bytes(reuses::PAGE),
            arrivals: self.arrivals.clone(),
            pattern: Pattern::Mixed(parts),
            reuse: self.reuse.clone(),
            ..GeneratorSpec::default()
        }
    }

    /// Of the pages read, those that are written as well, %.
    fn shared_percent(&self) -> f64 {
        let footprint = self.statistics.total.footprint;
        let both = footprint.read_pages + footprint.written_pages - footprint.touched_pages;
        100.0 * both as f64 / footprint.read_pages.max(1) as f64
    }

    /// Whether reads go where writes do.
    fn reads_share(&self) -> bool {
        self.shared_percent() >= SHARED_PERCENT
    }

    fn parameters(&self, shape: &PlaceShape) -> Vec<Parameter> {
        let Profile { writes, reads, trims, flushes, .. } = self.statistics.total;
        let row = |name, value: String, rests_on: &str| Parameter { name, value, rests_on: rests_on.to_owned() };
        let [read_classes, write_classes] = &self.classes;
        let starts = format!("reads {}, writes {}", at_pages(read_classes), at_pages(write_classes));
        let reuse: f64 = self.reuse.iter().map(|kind| kind.share).sum();
        let reuse = format!("{:.1} % of the requests", 100.0 * reuse);
        let arrivals = match &self.arrivals {
            Arrivals::AtOnce => "at once".to_owned(),
            Arrivals::Constant { gap } => format!("{gap}"),
            Arrivals::Poisson { mean_gap } => format!("Poisson, mean {mean_gap}"),
            Arrivals::Bursty { mean_gap, burst_gap, burst } => {
                format!("mean {mean_gap}, {burst_gap} in bursts of {burst}")
            }
        };
        let mut rows = vec![
            row("requests", self.requests.to_string(), "counted; trims and flushes are left out"),
            row("span", measured::span(self.statistics).to_string(), "lowest to highest byte, device after device"),
            row("starts at 4 KiB pages", starts, "counted, with the sectors at which the others start"),
            row("reuse", reuse, "counted: same place and length as an earlier request, by operation and distance"),
            row("arrivals", arrivals, "counted: mean gap; searched: waits for single servers of 50 to 500 µs"),
            row("writes", format!("{writes} of {}", reads + writes), "counted"),
            row(
                "sizes of writes",
                sizes(write_classes),
                "counted; at pages and inside; rare ones merged by power of two",
            ),
            row(
                "sizes of reads",
                sizes(read_classes),
                "counted; at pages and inside; rare ones merged by power of two",
            ),
            row(
                "places of reads",
                if self.reads_share() { "those of writes" } else { "their own" }.to_owned(),
                &format!("{:.0} % of the pages read are written; assumed: as popular as writes", self.shared_percent()),
            ),
        ];
        let stays = if shape.drift == 0 { "0 (stays)".to_owned() } else { shape.drift.to_string() };
        let places = "searched: pages rewritten, top share, logical blocks";
        let runs = "searched: runs, requests in sequence";
        rows.extend([
            row("theta", shape.theta.to_string(), places),
            row("extent", shape.extent.to_string(), places),
            row("theta_inside", shape.theta_inside.to_string(), places),
            row("drift", stays, "searched: the same over the longer windows"),
            row("runs", shape.runs.to_string(), runs),
            row("sequential_share", shape.sequential_share.to_string(), runs),
            row("large requests joined", shape.joined.to_string(), places),
            row("sequential_share of the others", shape.cold_sequential_share.to_string(), runs),
        ]);
        if trims + flushes > 0 {
            rows.push(row("left out", format!("{trims} trims, {flushes} flushes"), "a look-alike reads and writes"));
        }
        rows
    }
}

/// The sizes of requests that start at pages, and of those inside.
fn sizes(classes: &[NewRequests<'_>]) -> String {
    let counted = classes
        .iter()
        .map(|NewRequests { class, .. }| format!("{} sizes of {} requests", class.sizes().len(), class.requests()));
    counted.collect::<Vec<_>>().join(", ")
}

/// The share of requests that start at pages.
fn at_pages(classes: &[NewRequests<'_>]) -> String {
    let count = |is_taken: &dyn Fn(&Class) -> bool| -> u64 {
        classes.iter().filter(|new| is_taken(new.class)).map(|new| new.class.requests()).sum()
    };
    let (aligned, all) = (count(&|class| class.starts().is_none()), count(&|_| true));
    format!("{:.1} %", 100.0 * aligned as f64 / all.max(1) as f64)
}
