//! What a request does side by side: a flush after trims, and a write that covers pages in part.

use crate::kit::{PromisingDies, empty, page, priced};
use flash::Lpn;
use ftl::{AnyDevice, Drive, FlashOp, FlashPort, FtlError, Layout, Nanos, Request};
use testkit::TestFlash;

const READ_US: u64 = 25;
const PROGRAM_US: u64 = 200;
const PAGES: u32 = 64;

struct Bench {
    dies: PromisingDies,
    flash: FlashPort<AnyDevice>,
    ftl: Drive<AnyDevice>,
}

/// A stack on eight dies whose logical pages have all been written, each on the die after the one
/// before.
fn filled(stack: &str) -> Bench {
    let dies = PromisingDies::new([READ_US, PROGRAM_US, 1500]);
    let chip = TestFlash::new(16, 16).channels(8).chip();
    let layout = Layout::of(&chip, PAGES, 1);
    let (mut flash, mut ftl) = (FlashPort::new(priced(chip, dies.clone())), testkit::drive(stack, &layout));
    flash.begin(Nanos::ZERO);
    let pages: Vec<_> = (0..PAGES).map(page).collect();
    ftl.write(&mut flash, &Request::new(Lpn::new(0), PAGES), &pages).expect("written");
    ftl.flush(&mut flash).expect("flushed");
    flash.wait();
    dies.take_performed();
    Bench { dies, flash, ftl }
}

impl Bench {
    /// How long a request takes whose operations something issues, in microseconds, and when its
    /// programs end.
    fn serve(
        &mut self,
        issue: impl FnOnce(&mut FlashPort<AnyDevice>, &mut Drive<AnyDevice>) -> Result<(), FtlError>,
    ) -> (u64, Vec<u64>) {
        let begin = self.flash.now() + Nanos(1_000_000_000);
        self.flash.begin(begin);
        issue(&mut self.flash, &mut self.ftl).expect("served");
        let programs = self.dies.take_performed().into_iter().filter(|(task, _)| task.op == FlashOp::Program);
        let ends = programs.map(|(_, end)| end.since(begin).0 / 1000).collect();
        (self.flash.wait().since(begin).0 / 1000, ends)
    }

    /// A write of three pages, of which some are covered in part.
    fn write_in_part(&mut self, partial: &[u32]) -> (u64, Vec<u64>) {
        self.serve(|flash, ftl| {
            flash.complete_pages(partial.iter().map(|&lpn| Lpn::new(lpn)), |flash, lpn| {
                ftl.read(flash, &Request::new(lpn, 1), &mut empty(1))
            })?;
            let written = ftl.write(flash, &Request::new(Lpn::new(8), 3), &[1, 2, 3].map(page));
            flash.end_completion();
            written
        })
    }
}

#[test]
fn a_flush_writes_runs_of_trimmed_pages_on_all_dies_at_once() {
    for stack in ["page", "dftl:cmt=1KiB"] {
        let mut bench = filled(stack);
        for lpn in (0..PAGES).step_by(4) {
            let trimmed = bench.ftl.trim(&mut bench.flash, &Request::new(Lpn::new(lpn), 1));
            trimmed.expect("trimmed");
        }
        let (takes_us, programs) = bench.serve(|flash, ftl| ftl.flush(flash));
        assert_eq!(programs.len(), 16, "{stack}");
        assert_eq!(takes_us, 2 * PROGRAM_US, "{stack}: two pages on each of eight dies");
    }
}

#[test]
fn only_a_page_that_is_covered_in_part_waits_for_its_rest() {
    // Pages 8 and 10 are read where pages 0 and 2 lie, too: on the dies that program them next.
    let rest_us = READ_US + PROGRAM_US;
    for (partial, expected) in [
        (&[][..], [PROGRAM_US, PROGRAM_US, PROGRAM_US]),
        (&[8][..], [rest_us, PROGRAM_US, PROGRAM_US]),
        (&[8, 10][..], [rest_us, PROGRAM_US, rest_us]),
    ] {
        let (takes_us, programs) = filled("page").write_in_part(partial);
        assert_eq!((takes_us, programs.as_slice()), (*expected.iter().max().expect("three"), &expected[..]));
    }
}

#[test]
fn a_write_ends_when_its_rest_has_come_into_a_write_buffer() {
    for (partial, takes_us) in [(&[][..], 0), (&[8][..], READ_US)] {
        assert_eq!(filled("page+lru:ram=8KiB:access_delay=0us").write_in_part(partial), (takes_us, Vec::new()));
    }
}
