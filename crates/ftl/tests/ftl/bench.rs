//! A small device for tests by hand of single mappings.

use crate::kit::{NumberChip, empty, page};
use flash::{FaultPlan, Faulty, Lpn};
use ftl::{AnyDevice, Cause, Drive, FlashOp, FlashPort, Layout, Note, Request, Stack, Untimed, registry};
use testkit::TestFlash;

pub(crate) const FLASH: TestFlash = TestFlash::new(64, 64);
pub(crate) const LOGICAL_PAGES: u32 = 3000;

/// A mapping on a small device, with what each page was last written.
pub(crate) struct Bench {
    pub(crate) flash: FlashPort<AnyDevice>,
    pub(crate) ftl: Drive<AnyDevice>,
    pub(crate) expected: Vec<u32>,
    next: u32,
}

impl Bench {
    pub(crate) fn new(mapping: &str, settings: &[(&str, &str)]) -> Self {
        Self::failing(mapping, settings, FaultPlan::default())
    }

    pub(crate) fn failing(mapping: &str, settings: &[(&str, &str)], faults: FaultPlan) -> Self {
        let chip: NumberChip = FLASH.chip();
        let layout = Layout::of(&chip, LOGICAL_PAGES, 1);
        let ftl = registry::create(&Stack::with(mapping, settings.iter().copied()), &layout).expect("accepted");
        let flash = FlashPort::new(AnyDevice::new(Faulty::new(chip, faults), Untimed));
        Self { flash, ftl, expected: vec![0; LOGICAL_PAGES as usize], next: 0 }
    }

    pub(crate) fn write(&mut self, lpns: impl IntoIterator<Item = u32>) {
        for lpn in lpns {
            self.next += 1;
            self.expected[lpn as usize] = self.next;
            let data = [page(self.next)];
            self.ftl.write(&mut self.flash, &Request::new(Lpn::new(lpn), 1), &data).expect("written");
        }
    }

    pub(crate) fn flush(&mut self) {
        self.ftl.flush(&mut self.flash).expect("flushed");
        self.ftl.check(&self.flash).expect("the invariants hold");
    }

    pub(crate) fn trim(&mut self, lpn: u32, pages: u32) {
        self.expected[lpn as usize..(lpn + pages) as usize].fill(0);
        self.ftl.trim(&mut self.flash, &Request::new(Lpn::new(lpn), pages)).expect("trimmed");
    }

    /// Every page reads as it was written.
    pub(crate) fn read_all(&mut self) {
        for lpn in 0..LOGICAL_PAGES {
            let mut out = empty(1);
            self.ftl.read(&mut self.flash, &Request::new(Lpn::new(lpn), 1), &mut out).expect("read");
            assert_eq!(out[0].number() as u32, self.expected[lpn as usize], "page {lpn}");
        }
    }

    pub(crate) fn count(&self, cause: Cause, op: FlashOp) -> u64 {
        self.flash.tally().count(cause, op)
    }

    pub(crate) fn note(&self, note: Note) -> u64 {
        self.flash.tally().note(note)
    }

    pub(crate) fn gauge(&self, name: &str) -> u64 {
        self.ftl.gauges().iter().find(|gauge| gauge.name == name).expect("a gauge").value as u64
    }

    pub(crate) fn ram(&self, name: &str) -> u64 {
        self.ftl.footprint().structures.iter().find(|structure| structure.name == name).expect("a structure").ram_bytes
    }
}
