//! The machine of the schemes with their map in RAM takes other policies than that of `page`, and
//! keeps every promise with them.

use check::{DeviceSpec, Pattern, Workload, geometries, run_with};
use flash::Lpn;
use ftl::api::wear::Purpose;
use ftl::engines::page_map::machine::PageMap;
use ftl::engines::page_map::policy::{PageMapScheme, StreamPolicy};
use ftl::engines::page_map::space::Stream;
use ftl::schemes::page::Page;
use ftl::{AnyDevice, ConfigError, Drive, Entry, Layout, Request, Scheme, Stack, Values};
use std::collections::BTreeMap;

/// Pages that were written before by one of the last writes go to a stream of their own: as many
/// writes as the device has pages.
struct HotAndCold {
    last: Vec<u32>,
    writes: u32,
}

impl PageMapScheme for HotAndCold {
    const ENTRY: Entry = Entry { name: "hot-and-cold", ..<PageMap<Page> as Scheme>::ENTRY };

    type Policy = Self;

    fn policy(layout: &Layout, _values: &Values) -> Result<Self, ConfigError> {
        Ok(Self { last: vec![0; layout.logical_pages as usize], writes: 0 })
    }
}

impl StreamPolicy for HotAndCold {
    fn streams(&self) -> &'static [Purpose] {
        &[Purpose::Data, Purpose::Data, Purpose::Collected]
    }

    fn write_stream(&mut self, _request: &Request, lpn: Lpn) -> Stream {
        self.writes += 1;
        let before = std::mem::replace(&mut self.last[lpn.index()], self.writes);
        usize::from(before == 0 || self.writes - before > self.last.len() as u32)
    }

    fn collected_stream(&self, _from: Stream) -> Stream {
        2
    }

    fn tables(&self) -> Vec<(&'static str, u64)> {
        vec![("last writes", 4 * self.last.len() as u64)]
    }
}

fn build(layout: &Layout) -> Result<Drive<AnyDevice>, ConfigError> {
    let values = Values::check("hot-and-cold", HotAndCold::ENTRY.parameters, &BTreeMap::new())?;
    Ok(Drive::new(Box::new(PageMap::<HotAndCold>::format(layout, &values)?), layout))
}

#[test]
fn a_second_policy_is_forty_lines_and_keeps_every_promise() {
    let page = |layout: &Layout| check::create(&Stack::of("page"), layout);
    let (mut devices, mut differ, mut seed) = (0, 0, 0);
    for device in geometries::all() {
        let Some(capacity) = geometries::largest_capacity(&device, build) else { continue };
        devices += 1;
        for pattern in [Pattern::HotCold, Pattern::Uniform, Pattern::Mixed] {
            seed += 1;
            let case = case(&device, capacity, pattern, seed);
            let outcome = run_with(&case, build).unwrap_or_else(|failure| panic!("{failure}"));
            let other = run_with(&case, page).unwrap_or_else(|failure| panic!("{failure}"));
            differ += u32::from(outcome.event_hash != other.event_hash);
        }
    }
    assert!(devices >= 8, "only {devices} devices took it");
    assert!(differ > 2 * devices, "on {devices} devices only {differ} of three runs each differ from those of page");
}

fn case(device: &DeviceSpec, logical_pages: u32, pattern: Pattern, seed: u64) -> check::Case {
    check::Case {
        seed,
        requests: 2 * logical_pages.clamp(100, 300),
        readback_every: 3,
        check_every: 5,
        ..check::Case::new(&Stack::of("page"), device, logical_pages, Workload::Generated(pattern))
    }
}
