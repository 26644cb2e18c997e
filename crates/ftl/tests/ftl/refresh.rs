//! Blocks are refreshed under any mapping: what is only read moves, nothing is lost, and all that
//! is done for it stands under a cause of its own.

use flash::{BitErrorModel, Full, Lpn, PageData};
use ftl::{AnyDevice, BitErrors, Cause, Drive, FlashOp, FlashPort, Layout, Nanos, Note, Reliability, Request};
use testkit::TestFlash;

use crate::kit::{empty, page, untimed};

const PAGES_PER_BLOCK: u32 = 4;
const LOGICAL_PAGES: u32 = 64;
/// Reads of a page beyond which its block is due.
const MOST_READS: f64 = 50.0;

/// As many errors as a block was read, for each of its pages.
fn by_reads() -> Reliability {
    Reliability {
        model: BitErrorModel {
            epsilon: 0.0,
            alpha: 0.0,
            k: 1.0,
            beta: 0.0,
            m: 1.0,
            n: 1.0,
            gamma: 1.0,
            p: 0.0,
            q: 1.0,
        },
        ecc_limit: MOST_READS,
        read_retries: 0,
        retry_latency: Nanos::ZERO,
        refresh_at: 1.0,
        initial_erases: 0,
        retention_days: 0.0,
        retention_speedup: 0.0,
        units_per_page: 1,
    }
}

/// A device whose logical pages are all written, and its drive.
fn written(stack: &str, reliability: Option<Reliability>) -> (FlashPort<AnyDevice>, Drive<AnyDevice>) {
    let chip = TestFlash::new(48, PAGES_PER_BLOCK).chip::<Full<PageData>>();
    let mut ftl = testkit::drive(stack, &Layout::of(&chip, LOGICAL_PAGES, 1));
    let bit_errors = reliability.map(|reliability| BitErrors::new(reliability, &chip));
    let mut flash = FlashPort::new(untimed(chip)).with_bit_errors(bit_errors);
    for lpn in 0..LOGICAL_PAGES {
        ftl.write(&mut flash, &Request::new(Lpn::new(lpn), 1), &[page(1000 + lpn)]).expect("a legal write");
    }
    ftl.flush(&mut flash).expect("a legal flush");
    (flash, ftl)
}

fn read(flash: &mut FlashPort<AnyDevice>, ftl: &mut Drive<AnyDevice>, lpn: u32) {
    let mut out = empty(1);
    ftl.read(flash, &Request::new(Lpn::new(lpn), 1), &mut out).expect("a legal read");
    assert_eq!(out, [page(1000 + lpn)]);
}

#[test]
fn what_is_only_read_moves_under_every_mapping() {
    for stack in ["page", "block", "bast", "fast", "a-sast", "superblock", "dftl", "waftl", "page+static+lru"] {
        let (mut flash, mut ftl) = written(stack, Some(by_reads()));
        let before = *flash.tally();
        for round in 0..2000 {
            read(&mut flash, &mut ftl, round % 3);
        }
        (0..LOGICAL_PAGES).for_each(|lpn| read(&mut flash, &mut ftl, lpn));
        ftl.check(&flash).unwrap_or_else(|broken| panic!("{stack}: {broken}"));
        let done = flash.tally().since(&before);
        let refreshed = flash.bit_errors().expect("modelled").counts().refreshed_blocks;
        assert!(refreshed >= 4, "{stack}: {refreshed} blocks refreshed");
        assert!(done.count(Cause::Refresh, FlashOp::Erase) >= refreshed, "{stack}");
        assert!(done.count(Cause::Refresh, FlashOp::Program) > 0, "{stack}");
        let levels = stack.contains('+');
        assert!(levels || done.count(Cause::WearLevelling, FlashOp::Program) == 0, "{stack}");
        assert!(done.note(Note::RelocatedBlock) >= refreshed, "{stack}");
        let operations = flash.chip().operations();
        assert_eq!(flash.tally().total(FlashOp::Program), operations.programs, "{stack}");
    }
}

#[test]
fn nothing_moves_that_is_only_read_where_no_bit_decays() {
    let (mut flash, mut ftl) = written("page", None);
    let before = *flash.tally();
    (0..2000).for_each(|round| read(&mut flash, &mut ftl, round % 3));
    let done = flash.tally().since(&before);
    assert_eq!((done.total(FlashOp::Program), done.total(FlashOp::Erase)), (0, 0));
}
