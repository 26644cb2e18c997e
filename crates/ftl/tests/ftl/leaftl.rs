//! leaftl by hand: what waits, what a wrong prediction costs, and what the map takes.

use crate::bench::{Bench, FLASH, LOGICAL_PAGES};
use crate::kit::{NumberChip, PromisingDies, empty, page, priced};
use flash::{Fault, FaultPlan, Lpn};
use ftl::{Cause, FlashOp, FlashPort, Layout, Nanos, Note, Request, Stack, registry};
use random::SeededRng;

/// Two of three pages, at no constant stride.
fn scattered(seed: u64) -> impl Iterator<Item = u32> {
    let mut rng = SeededRng::new(seed);
    (0..LOGICAL_PAGES).filter(move |_| !rng.bits().is_multiple_of(3))
}

#[test]
fn a_wrong_prediction_costs_one_read_more_and_is_counted() {
    for bound in ["0", "1", "4", "16"] {
        let mut bench = Bench::new("leaftl", &[("error_bound", bound)]);
        bench.write(scattered(3));
        bench.flush();
        let pages = scattered(3).count() as u64;
        assert_eq!(bench.count(Cause::Mapping, FlashOp::Read), 0, "nothing was overwritten");
        bench.read_all();
        let (right, wrong) = (bench.note(Note::RightPrediction), bench.note(Note::WrongPrediction));
        assert_eq!((right + wrong, bench.count(Cause::Host, FlashOp::Read)), (pages, pages), "bound {bound}");
        assert_eq!(bench.count(Cause::Mapping, FlashOp::Read), wrong, "bound {bound}");
        assert!(if bound == "0" { wrong == 0 } else { wrong > pages / 20 && wrong < pages }, "{wrong} of {pages}");
    }
}

#[test]
fn an_overwritten_page_of_an_approximate_segment_is_found_by_a_tag() {
    for (bound, reads) in [("0", 0..=0), ("4", 100..=2000)] {
        let mut bench = Bench::new("leaftl", &[("error_bound", bound)]);
        bench.write(scattered(3));
        bench.flush();
        bench.write(scattered(3).take(2000));
        bench.flush();
        let found = bench.count(Cause::Mapping, FlashOp::Read);
        assert!(reads.contains(&found), "bound {bound}: {found} reads");
        bench.read_all();
    }
}

#[test]
fn pages_are_sorted_in_the_buffer_and_sorting_shortens_the_map() {
    let mut lpns: Vec<_> = (0..512).collect();
    let mut rng = SeededRng::new(5);
    for at in (1..lpns.len()).rev() {
        lpns.swap(at, (rng.bits() % (at as u64 + 1)) as usize);
    }
    let segments = ["true", "false"].map(|sort| {
        let mut bench = Bench::new("leaftl", &[("error_bound", "0"), ("sort", sort)]);
        bench.write(lpns.iter().copied());
        bench.flush();
        bench.read_all();
        bench.gauge("segments")
    });
    // Blocks of 64 pages end segments; at random hardly two pages in a row are in order.
    assert_eq!(segments[0], 8);
    assert!(segments[1] > 200, "{segments:?}");
}

#[test]
fn ram_is_counted_as_the_map_grows_and_shrinks() {
    let mut bench = Bench::new("leaftl", &[("error_bound", "4"), ("ram", "64KiB"), ("run_pages", "64")]);
    let groups = u64::from(LOGICAL_PAGES.div_ceil(256));
    let empty = 8 * groups;
    assert_eq!((bench.ram("learned segments"), bench.ram("group directory")), (0, empty));
    bench.write(0..512);
    bench.flush();
    // A segment a block of 64 pages, in one level a group.
    assert_eq!((bench.ram("learned segments"), bench.ram("group directory")), (8 * 8, empty + 2));
    assert_eq!(bench.ram("conflict-resolution buffers"), 0);
    bench.write(scattered(8).filter(|lpn| *lpn >= 512));
    bench.flush();
    let map = |bench: &Bench| {
        bench.ram("learned segments") + bench.ram("conflict-resolution buffers") + bench.ram("group directory")
    };
    assert!(bench.ram("conflict-resolution buffers") > 1000);
    assert_eq!(bench.gauge("map_bytes"), map(&bench));
    bench.trim(0, LOGICAL_PAGES);
    assert_eq!((bench.gauge("segments"), map(&bench)), (0, empty));
    bench.read_all();
    let pages = u64::from(bench.ftl.buffered().capacity_pages);
    assert_eq!(bench.ram("write buffer"), pages * (u64::from(bench.flash.geometry().page_size_bytes()) + 8));
}

#[test]
fn a_page_waits_for_room_until_another_has_been_programmed() {
    let chip: NumberChip = FLASH.chip();
    let layout = Layout::of(&chip, LOGICAL_PAGES, 1);
    // Room for four pages.
    let stack = Stack::with("leaftl", [("ram", "2KiB"), ("access_delay", "0us")]);
    let mut ftl = registry::create(&stack, &layout).expect("accepted");
    let mut flash = FlashPort::new(priced(chip, PromisingDies::new([25, 200, 1500])));
    let responses_us = [(0, 4), (10, 3), (20, 1)].map(|(lpn, pages)| {
        flash.begin(Nanos::ZERO);
        let data: Vec<_> = (0..pages).map(page).collect();
        ftl.write(&mut flash, &Request::new(Lpn::new(lpn), pages), &data).expect("written");
        ftl.check(&flash).expect("the invariants hold");
        flash.wait().0 / 1000
    });
    // Four pages are programmed one after the other, and each makes room for one.
    assert_eq!(responses_us, [0, 3 * 200, 4 * 200]);
}

#[test]
fn collections_sort_what_they_move_and_learn_it_again() {
    let segments = ["true", "false"].map(|sort| {
        let mut bench = Bench::new("leaftl", &[("error_bound", "0"), ("sort", sort), ("ram", "32KiB")]);
        bench.write(0..LOGICAL_PAGES);
        let mut rng = SeededRng::new(11);
        bench.write((0..40_000).map(|_| (rng.bits() % u64::from(LOGICAL_PAGES)) as u32));
        bench.flush();
        assert!(bench.note(Note::Collection) > 300);
        bench.read_all();
        bench.gauge("segments")
    });
    assert!(segments[0] * 10 < segments[1] * 9, "{segments:?}");
}

#[test]
fn compaction_drops_what_is_superseded() {
    let sizes = ["1000000", "100"].map(|every| {
        let mut bench = Bench::new("leaftl", &[("compact_every", every), ("ram", "32KiB"), ("error_bound", "1")]);
        // Even pages lie below odd ones, and stay there when all are written again.
        bench.write((0..1000).step_by(2).chain((1..1000).step_by(2)).chain(0..1000));
        bench.flush();
        bench.read_all();
        (bench.gauge("segments"), bench.gauge("levels"))
    });
    assert!(sizes[1].0 < sizes[0].0 && sizes[1].1 < sizes[0].1, "{sizes:?}");
}

#[test]
fn a_predicted_page_that_cannot_be_read_is_replaced_by_its_neighbour() {
    // What was done before the first wrong prediction, and reads of tags for that.
    let until_wrong = |faults: FaultPlan| {
        let mut bench = Bench::failing("leaftl", &[("error_bound", "4")], faults);
        bench.write(scattered(3));
        bench.flush();
        for lpn in scattered(3) {
            let (before, mut out) = (bench.flash.chip().operations(), empty(1));
            bench.ftl.read(&mut bench.flash, &Request::new(Lpn::new(lpn), 1), &mut out).expect("read");
            assert_eq!(out[0].number() as u32, bench.expected[lpn as usize], "page {lpn}");
            if bench.note(Note::WrongPrediction) > 0 {
                return (before, bench.count(Cause::Mapping, FlashOp::Read));
            }
        }
        panic!("every prediction is right");
    };
    let (before, reads) = until_wrong(FaultPlan::default());
    let number = before.reads + before.programs + before.erases;
    let (_, more) = until_wrong(FaultPlan { at: [(number, Fault::ReadFails)].into() });
    assert_eq!((reads, more), (1, 2));
}
