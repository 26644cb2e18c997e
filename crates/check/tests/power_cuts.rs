//! Every registered scheme, several devices and workloads: the power is cut at every program and erase, in four ways.
//!
//! `FTLKIT_SCHEME=name` tries one scheme alone, `FTLKIT_SEED=number` other requests than the usual ones.

use std::time::Instant;

use check::variants::Settings;
use check::{Case, CheckedDevice, DeviceSpec, Effort, Pattern, Prefill, Workload, create, explore, geometries};
use flash::ProgramOrder;
use ftl::{Entry, registry};

fn seed() -> u64 {
    let text = std::env::var("FTLKIT_SEED").unwrap_or_else(|_| "20261".into());
    text.parse().unwrap_or_else(|_| panic!("FTLKIT_SEED={text}: must be a whole number"))
}

fn devices() -> Vec<DeviceSpec> {
    let device = DeviceSpec::new;
    vec![
        device(1, 1, 1, 8, 4),
        device(1, 1, 1, 9, 5).with_bad([0, 8]),
        device(3, 1, 1, 7, 3),
        device(1, 1, 1, 8, 4).ordered(ProgramOrder::Strict),
        device(1, 1, 1, 8, 4).ordered(ProgramOrder::Any),
    ]
}

fn patterns() -> Vec<Pattern> {
    let names = std::env::var("PATTERNS").unwrap_or_default();
    Pattern::ALL
        .iter()
        .filter(|(_, name)| names.is_empty() || names.split(',').any(|n| n == *name))
        .map(|(p, _)| *p)
        .collect()
}

#[test]
fn bugs() {
    let only = std::env::var("FTLKIT_SCHEME").ok();
    let requests = std::env::var("REQUESTS").map_or(200, |t| t.parse().unwrap());
    let variants_of = |entry: &Entry| {
        if std::env::var("VARIANTS").is_ok() {
            check::variants::one_at_a_time(entry.parameters)
        } else {
            vec![Settings::new()]
        }
    };
    let devices = if std::env::var("DEVICES").is_ok() { geometries::all() } else { devices() };
    let (mut failures, mut cases, mut total) = (0, 0, 0);
    for entry in registry::ENTRIES.iter().filter(|entry| only.as_ref().is_none_or(|name| name == entry.name)) {
        for settings in variants_of(entry) {
            for device in &devices {
                if device.geometry().unwrap().pages() > 130 {
                    continue;
                }
                let Some(capacity) = geometries::largest_capacity(&device, |layout| {
                    create::<CheckedDevice>(entry.name, &settings, layout)
                }) else {
                    continue;
                };
                for pattern in patterns() {
                    for prefill in [Prefill::Full, Prefill::Empty] {
                        let start = Instant::now();
                        let case = Case {
                            scheme: entry.name.into(),
                            settings: settings.clone(),
                            device: device.clone(),
                            logical_pages: capacity,
                            seed: seed(),
                            workload: Workload::Generated(pattern),
                            requests,
                            prefill,
                            readback_every: 0,
                            check_every: 0,
                            cuts: Vec::new(),
                        };
                        let number = |name: &str, default| std::env::var(name).map_or(default, |t| t.parse().unwrap());
                        let effort = Effort { during_recovery: number("DR", 50), after_recovery: number("AR", 200) };
                        cases += 1;
                        match explore(&case, effort) {
                            Ok(e) => total += e.recoveries,
                            Err(failure) => {
                                failures += 1;
                                println!("{failure}")
                            }
                        }
                        let _ = start;
                    }
                }
            }
        }
        println!("{}: {cases} cases {total} recoveries {failures} failures", entry.name);
    }
}

#[test]
fn canary() {
    for (bug, name) in check::canary::Bug::ALL.into_iter().filter(|(bug, _)| bug.needs_a_power_cut()) {
        for device in devices() {
            for pattern in [Pattern::Mixed, Pattern::TrimFlush] {
                let settings = Settings::from([("bug".to_owned(), name.to_owned())]);
                let capacity = geometries::largest_capacity(&device, |layout| {
                    create::<CheckedDevice>("canary", &settings, layout)
                })
                .unwrap();
                let case = Case {
                    scheme: "canary".into(),
                    settings,
                    device: device.clone(),
                    logical_pages: capacity,
                    seed: seed(),
                    workload: Workload::Generated(pattern),
                    requests: 200,
                    prefill: Prefill::Full,
                    readback_every: 0,
                    check_every: 0,
                    cuts: Vec::new(),
                };
                let effort = Effort { during_recovery: 20, after_recovery: 50 };
                match explore(&case, effort) {
                    Ok(explored) => println!("NOT CAUGHT {bug:?} {device} {pattern:?} {explored:?}"),
                    Err(failure) => println!("{failure}"),
                }
            }
        }
    }
}
