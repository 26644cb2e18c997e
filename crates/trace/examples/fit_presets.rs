//! Fits the places of the presets again, and prints them as `presets/fitted.rs` has them, with what
//! is left: `cargo run --release -p ftlkit-trace --example fit_presets -- FOLDER [NAME]…`.
//!
//! FOLDER has the recorded windows, which are no part of the project: Financial1's first 10 000
//! requests for what the thesis calls SPC1, and two of `hm_0`. These two presets are held to them
//! and to the page hits that are printed (thesis, table 6.2), a calibration. Of the other MSR
//! Cambridge servers no window is at hand: they have `hm_0`'s places, calibrated by one number to
//! their own hits.

extern crate ftlkit_trace as trace;

use std::error::Error;
use std::path::Path;

use trace::fit::{FittedPlaces, Recorded, Target, buffer_hit_percent, calibrate, fit_places};
use trace::generate::{Preset, presets};
use trace::{OpenOptions, Statistics, open};

/// The seed of the search, of which the presets' own seeds are independent.
const SEED: u64 = 1;

const FINANCIAL: [&str; 1] = ["financial1_first10k.ssdsim.ascii"];
const MSR: [&str; 2] = ["msr-hm0-window-105.trace", "msr-hm0-window-1370.trace"];
const MSR_COLUMNS: &str = "time:ms, device, offset:B, size:B, op:1=read";

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("give the folder of the recorded windows")?;
    let names: Vec<String> = arguments.collect();
    let is_asked = |name: &str| names.is_empty() || names.iter().any(|asked| asked == name);
    let mut server = None;
    for preset in presets() {
        let Some(places) = preset.places else { continue };
        let is_held_to_windows = ["spc1", "hm_0"].contains(&preset.name);
        if is_held_to_windows && is_asked(preset.name) {
            let target = target(preset, Path::new(&folder))?;
            let fitted = fit_places(&|places| preset.with_places(places), &target, SEED, &mut || true)?;
            let fitted = fitted.ok_or("the search was not to stop")?;
            print(preset, &fitted);
            server = server.or((preset.name == "hm_0").then_some(fitted.shape));
        } else if preset.name == "hm_0" {
            server = Some(places);
        } else if is_asked(preset.name)
            && let (Some(server), Some(hits)) = (server, preset.published.buffer_hit_percent)
        {
            let shape = calibrate(&|places| preset.with_places(places), &server, hits, SEED)?;
            let reached = buffer_hit_percent(&preset.with_places(&shape), SEED)?;
            println!(
                "\n{}: hits {reached:.2} of {hits} %, theta {}, joined {}",
                preset.name, shape.theta, shape.joined
            );
        }
    }
    Ok(())
}

fn target(preset: &Preset, folder: &Path) -> Result<Target, Box<dyn Error>> {
    let files: &[&str] = if preset.name == "hm_0" { &MSR } else { &FINANCIAL };
    let write_share = preset.spec().write_share.unwrap_or(1.0);
    let mut recorded = Vec::new();
    for file in files {
        let columns = MSR.contains(file).then(|| MSR_COLUMNS.parse()).transpose()?;
        let options = OpenOptions { columns, ..OpenOptions::default() };
        let statistics = Statistics::of_trace(&mut open(&folder.join(file), &options)?)?;
        let windows = statistics.locality.ok_or("a window without writes")?.windows;
        // As many writes, whatever the share of reads.
        let requests = (statistics.total.writes as f64 / write_share).round() as u64;
        recorded.push(Recorded { requests, windows });
    }
    let published = &preset.published;
    Ok(Target { recorded, sequential_percent: published.sequential_percent, hit_percent: published.buffer_hit_percent })
}

fn print(preset: &Preset, fitted: &FittedPlaces) {
    let shape = &fitted.shape;
    println!("\n{}: misfit {:.2}", preset.name, fitted.misfit);
    println!(
        "        places: PlaceShape {{\n            theta: {:?},\n            extent: Bytes({} << 10),\n            \
         theta_inside: {:?},\n            drift: {},\n            runs: {},\n            sequential_share: {:?},\n            \
         joined: {:?},\n            cold_sequential_share: {:?},\n        }},",
        shape.theta,
        shape.extent.0 >> 10,
        shape.theta_inside,
        shape.drift,
        shape.runs,
        shape.sequential_share,
        shape.joined,
        shape.cold_sequential_share,
    );
    for residual in &fitted.residuals {
        let window = residual.window_pages.map_or("whole".to_owned(), |pages| format!("{pages} pages"));
        println!(
            "    {:20} {window:>12} {:10.2} {:10.2} {:+6.1}",
            residual.figure, residual.target, residual.fitted, residual.units
        );
    }
}
