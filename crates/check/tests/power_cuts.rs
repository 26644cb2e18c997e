//! Every registered scheme, several devices and workloads: the power is cut at every program and erase, in four ways.
//!
//! `FTLKIT_SCHEME=name` tries one scheme alone, `FTLKIT_SEED=number` other requests than the usual ones.

use std::time::Instant;

use check::variants::Settings;
use check::{Case, DeviceSpec, Effort, Pattern, Prefill, Workload, create, explore, geometries, CheckedDevice};
use ftl::{Entry, registry};
use flash::ProgramOrder;

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

#[test]
fn bugs() {
    let only = std::env::var("FTLKIT_SCHEME").ok();
    let canary = Entry { name: "canary", parameters: &[], ..registry::ENTRIES[0] };
    for entry in registry::ENTRIES.iter().chain([&canary]).filter(|entry| only.as_ref().is_none_or(|name| name == entry.name)) {
        for device in devices() {
            let settings = Settings::new();
            let Some(capacity) = geometries::largest_capacity(&device, |layout| create(entry.name, &settings, layout)) else { println!("{} refuses {device}", entry.name); continue };
            for pattern in [Pattern::Mixed, Pattern::Uniform, Pattern::InterruptedRuns, Pattern::TrimHoles, Pattern::CrossBlock] {
                let start = Instant::now();
                let case = Case {
                    scheme: entry.name.into(), settings: settings.clone(), device: device.clone(), logical_pages: capacity, seed: seed(),
                    workload: Workload::Generated(pattern), requests: 200, prefill: Prefill::Full, readback_every: 0, check_every: 0, cuts: Vec::new(),
                };
                let effort = Effort { during_recovery: 20, after_recovery: 50 };
                match explore(&case, effort) {
                    Ok(explored) => println!("{} {device} {pattern:?} {explored:?} {:?}", entry.name, start.elapsed()),
                    Err(failure) => println!("{failure}"),
                }
            }
        }
    }
    let _ = std::marker::PhantomData::<CheckedDevice>;
}
