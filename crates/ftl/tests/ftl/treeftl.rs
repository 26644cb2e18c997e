//! treeftl by hand: the cases of Wang 2013 fig. 6.2 operation by operation, what goes around RAM,
//! what leaves it, and what it takes, with the latencies of table 6.1.

use crate::kit::{NumberChip, empty, page, priced};
use flash::Lpn;
use ftl::{
    AnyDevice, Cause, Drive, FlashOp, FlashPort, FutureRequest, HostOp, Layout, Moment, Nanos, Note, Request, Stack,
    Task, Timing, registry,
};
use proptest::prelude::*;
use testkit::TestFlash;

/// Translation pages of 128 entries: seven for 800 logical pages.
const FLASH: TestFlash = TestFlash::new(64, 16);
const LOGICAL_PAGES: u32 = 800;

/// Nothing waits for anything.
#[derive(Default)]
struct Slc {
    now: Nanos,
}

impl Timing for Slc {
    ftl::known_ends! { is_traced is_buffered trace join wait_beside delay take_command hand_over estimate_moves slowest_page programmed_at_once keep_order join_programs end_background }

    fn perform(&mut self, task: Task, after: Moment) -> Moment {
        Moment::at(after.earliest + self.estimate(task, after))
    }

    fn is_over(&self, moment: Moment) -> bool {
        moment.earliest <= self.now
    }

    fn estimate(&self, task: Task, _from: Moment) -> Nanos {
        Nanos(1000 * [25, 200, 700][task.op as usize])
    }

    fn busy(&self, _channel: u32, _from: Moment) -> Nanos {
        Nanos::ZERO
    }

    fn now(&self) -> Nanos {
        self.now
    }

    fn pass_until(&mut self, at: Nanos) {
        self.now = at;
    }

    fn wait(&mut self, moment: Moment) -> Nanos {
        self.now = moment.earliest;
        self.now
    }

    fn reset(&mut self) {}
}

struct Bench {
    flash: FlashPort<AnyDevice>,
    ftl: Drive<AnyDevice>,
    written: u32,
}

impl Bench {
    fn new(settings: &[(&str, &str)]) -> Self {
        Self::of("treeftl", settings)
    }

    /// Another scheme that shares RAM between data and map.
    fn of(scheme: &str, settings: &[(&str, &str)]) -> Self {
        let chip = FLASH.chip();
        let layout = Layout::of(&chip, LOGICAL_PAGES, 1);
        let ftl = registry::create(&Stack::with(scheme, settings.iter().copied()), &layout).expect("accepted");
        Self { flash: FlashPort::new(priced(chip, Slc::default())), ftl, written: 0 }
    }

    /// Writes pages; returns the response in microseconds.
    fn write(&mut self, lpn: u32, pages: u32) -> u64 {
        self.written += 1000;
        let data: Vec<_> = (lpn..lpn + pages).map(|lpn| page(self.written + lpn)).collect();
        self.flash.begin(Nanos::ZERO);
        self.ftl.write(&mut self.flash, &Request::new(Lpn::new(lpn), pages), &data).expect("written");
        self.ftl.check(&self.flash).expect("the invariants hold");
        self.flash.wait().0 / 1000
    }

    /// Reads a page: what it holds, and the response in microseconds.
    fn read(&mut self, lpn: u32) -> (u32, u64) {
        self.flash.begin(Nanos::ZERO);
        let mut out = empty(1);
        self.ftl.read(&mut self.flash, &Request::new(Lpn::new(lpn), 1), &mut out).expect("read");
        (out[0].number() as u32, self.flash.wait().0 / 1000)
    }

    fn flush(&mut self) {
        self.ftl.flush(&mut self.flash).expect("flushed");
    }

    fn count(&self, cause: Cause, op: FlashOp) -> u64 {
        self.flash.tally().count(cause, op)
    }

    fn note(&self, note: Note) -> u64 {
        self.flash.tally().note(note)
    }

    fn gauge(&self, name: &str) -> f64 {
        self.ftl.gauges().iter().find(|gauge| gauge.name == name).expect("a gauge").value
    }
}

#[test]
fn the_three_cases_of_figure_6_2_take_no_one_and_two_reads() {
    let mut bench = Bench::new(&[("ram", "2KiB")]);
    // Nine of sixteen pages of a block: around RAM, so that flash has them and their translation
    // page is in RAM.
    bench.write(0, 9);
    assert_eq!((bench.count(Cause::Host, FlashOp::Program), bench.ftl.buffered().pages), (9, 0));
    // B: the translation page is in RAM, the data page is not. A: both are.
    assert_eq!([bench.write(3, 1), bench.write(3, 1)], [25 + 2, 2]);
    assert_eq!((bench.count(Cause::Loading, FlashOp::Read), bench.note(Note::AbsorbedPage)), (1, 1));
    // Two other groups take the four pages of RAM.
    bench.write(200, 1);
    bench.write(400, 1);
    assert_eq!((bench.gauge("groups"), bench.gauge("group_pages"), bench.gauge("buffered_pages")), (2.0, 1.0, 2.0));
    bench.flush();
    // C: neither is. The pages that leave for it are on flash, but the translation page that leaves
    // is not.
    let (mapping, loading) = (bench.count(Cause::Mapping, FlashOp::Read), bench.count(Cause::Loading, FlashOp::Read));
    assert_eq!(bench.write(3, 1), 25 + 25 + 200 + 2);
    assert_eq!(
        bench.count(Cause::Mapping, FlashOp::Read) - mapping,
        1,
        "the translation page that leaves is whole in RAM"
    );
    assert_eq!(bench.count(Cause::Loading, FlashOp::Read) - loading, 1);
    assert_eq!(bench.read(3), (bench.written + 3, 2));
}

#[test]
fn without_loading_a_page_that_is_written_whole_takes_no_read() {
    let mut bench = Bench::new(&[("load_before_write", "false")]);
    bench.write(0, 9);
    assert_eq!((bench.write(3, 1), bench.count(Cause::Loading, FlashOp::Read)), (2, 0));
}

#[test]
fn reads_never_bring_data_into_ram() {
    let mut bench = Bench::new(&[]);
    bench.write(0, 9);
    assert_eq!([bench.read(4), bench.read(4)], [(1004, 25), (1004, 25)]);
    assert_eq!((bench.gauge("ram_data_bytes"), bench.gauge("ram_map_bytes")), (0.0, 512.0));
    bench.write(4, 1);
    assert_eq!(bench.read(4), (2004, 2));
    assert_eq!((bench.note(Note::BufferReadMiss), bench.note(Note::BufferRead)), (2, 1));
}

#[test]
fn a_request_for_more_than_half_a_block_goes_around_ram_and_takes_what_is_held_along() {
    let mut bench = Bench::new(&[]);
    bench.write(0, 8);
    assert_eq!((bench.count(Cause::Host, FlashOp::Program), bench.ftl.buffered().pages), (0, 8));
    bench.write(4, 9);
    assert_eq!((bench.count(Cause::Host, FlashOp::Program), bench.ftl.buffered().pages), (9, 4));
    assert_eq!((bench.note(Note::BypassedPage), bench.note(Note::AbsorbedPage)), (9, 4));
    let mut out = empty(13);
    bench.ftl.read(&mut bench.flash, &Request::new(Lpn::new(0), 13), &mut out).expect("read");
    let newest = |lpn: u32| page(if lpn < 4 { 1000 + lpn } else { 2000 + lpn });
    assert_eq!(out, (0..13).map(newest).collect::<Vec<_>>());
}

#[test]
fn what_is_flushed_stays_in_ram_and_leaves_it_for_nothing() {
    let mut bench = Bench::new(&[("ram", "2KiB")]);
    for lpn in [0, 1, 2] {
        bench.write(lpn, 1);
    }
    bench.flush();
    assert_eq!(
        (bench.count(Cause::Host, FlashOp::Program), bench.ftl.buffered().pages, bench.ftl.buffered().clean_pages),
        (3, 0, 3)
    );
    assert_eq!(bench.read(1), (2001, 2));
    bench.write(3, 1);
    assert_eq!((bench.count(Cause::Host, FlashOp::Program), bench.note(Note::BufferEviction)), (3, 1));
    assert_eq!(bench.read(0).1, 25, "the page used longest ago has left");
}

#[test]
fn a_search_takes_its_time_for_each_item() {
    let settings = [("ram", "2KiB"), ("load_before_write", "false")];
    for (victims, items) in [("group", 1 + 3), ("latte", 1 + 3), ("page", 4)] {
        let more = [("victims", victims), ("data_selection", "1ms"), ("map_selection", "1000ms")];
        let mut bench = Bench::new(&[&settings[..], &more].concat());
        for lpn in [0, 1, 2] {
            bench.write(lpn, 1);
        }
        // What leaves is read from RAM and programmed; what comes is written there.
        assert_eq!(bench.write(3, 1), 200 + 2 + 2 + items, "{victims}");
    }
}

/// Of two translation pages without data pages one leaves.
#[test]
fn a_search_for_what_leaves_of_the_map_has_its_own_price() {
    for (data, map, takes) in [("1000ms", "0us", 50), ("0us", "1ms", 50 + 2), ("1ms", "1ms", 50 + 2)] {
        let mut bench = Bench::new(&[("ram", "1KiB"), ("data_selection", data), ("map_selection", map)]);
        // Written around RAM, so that no data are held.
        for lpn in [0, 128, 256] {
            bench.write(lpn, 9);
        }
        // What was newer than flash has left with the first round.
        for lpn in [0, 128, 256, 0, 128, 256] {
            bench.read(lpn);
        }
        assert_eq!(bench.read(0).1, takes, "{data} and {map} for a thousand");
    }
}

#[test]
fn the_footprint_is_the_budget_and_what_is_said_beside_it() {
    for (victims, beside) in [("group", 8 + 4), ("latte", 4), ("page", 8 + 4)] {
        let bench = Bench::new(&[("ram", "64KiB"), ("victims", victims)]);
        let ends = if victims == "page" { 0 } else { [8, 6][usize::from(victims == "latte")] * 7 };
        let footprint = bench.ftl.footprint();
        assert_eq!(footprint.ram_bytes(), (64 << 10) + 128 * beside + ends + 4 * 7, "{victims}: {footprint:?}");
        assert_eq!(bench.ftl.buffered().capacity_pages, 127);
    }
}

/// Every page, and every translation page.
#[test]
fn ram_beyond_the_device_is_not_counted() {
    let all = (512 * (LOGICAL_PAGES + 7)).to_string();
    let [all, more] = [&all, "1TiB"].map(|ram| Bench::new(&[("ram", ram)]).ftl.footprint().ram_bytes());
    assert_eq!(all, more);
}

#[test]
fn ram_for_less_than_two_pages_is_refused_with_the_least() {
    let chip: NumberChip = FLASH.page_size(4096).chip();
    let layout = Layout::of(&chip, LOGICAL_PAGES, 1);
    let refused = registry::create(&Stack::with("treeftl", [("ram", "4KiB")]), &layout).err();
    let refused = refused.map_or_else(|| unreachable!("4 KiB hold one page"), |refused| refused.to_string());
    assert!(refused.contains("treeftl.ram = 4096") && refused.contains("at least 8192"), "{refused}");
}

/// Calls on few pages of several groups, so that RAM for a handful of pages is always short.
fn calls() -> impl Strategy<Value = Vec<FutureRequest>> {
    let op = prop_oneof![4 => Just(HostOp::Write), 2 => Just(HostOp::Read), 1 => Just(HostOp::Trim)];
    let pages = prop_oneof![6 => 1..4_u32, 1 => 8..11_u32];
    let call = (op, 0..5_u32, 0..12_u32, pages);
    let of = |(op, group, page, pages)| FutureRequest { op, lpn: Lpn::new(group * 128 + page * 5 % 60 + 64), pages };
    prop::collection::vec(call.prop_map(of), 1..250)
}

impl Bench {
    /// Makes all calls; returns the hits of translation pages and the versions that were never
    /// programmed.
    fn hits(self, calls: &[FutureRequest]) -> u64 {
        let bench = self.serve(calls);
        bench.note(Note::MappingHit) + bench.note(Note::AbsorbedPage)
    }

    fn serve(mut self, calls: &[FutureRequest]) -> Self {
        self.ftl.set_future(calls);
        for &FutureRequest { op, lpn, pages } in calls {
            let request = Request::new(lpn, pages);
            match op {
                HostOp::Write => drop(self.write(lpn.get(), pages)),
                HostOp::Read => {
                    self.ftl.read(&mut self.flash, &request, &mut empty(pages)).expect("read");
                }
                HostOp::Trim => self.ftl.trim(&mut self.flash, &request).expect("trimmed"),
                HostOp::Flush => unreachable!("what is asked in the future has pages"),
            }
        }
        self
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn no_order_has_more_hits_than_that_which_knows_what_comes(calls in calls(), pages in 2..12_u32) {
        let ram = (512 * pages).to_string();
        let hits = |victims: &str| Bench::new(&[("ram", &ram), ("victims", victims)]).hits(&calls);
        let best = hits("opt");
        for victims in ["group", "latte", "page"] {
            prop_assert!(hits(victims) <= best, "{victims}: {} hits, opt has {best}", hits(victims));
        }
    }
}

#[test]
fn what_comes_is_used_and_makes_a_difference() {
    // Three pages in turn where there is room for two: the page used longest ago is always the one
    // needed next.
    let calls: Vec<_> = (0..300).map(|i| FutureRequest { op: HostOp::Write, lpn: Lpn::new(i % 3), pages: 1 }).collect();
    let hits = |victims| Bench::new(&[("ram", "1536B"), ("victims", victims)]).hits(&calls);
    assert_eq!((hits("page"), hits("group")), (299, 299), "only the translation page is ever hit");
    // Two misses bring pages; from then on every second write hits.
    assert_eq!(hits("opt"), 299 + 149);
    let bench = Bench::new(&[("victims", "opt")]);
    assert!(bench.ftl.needs_future() && !Bench::new(&[]).ftl.needs_future());
}

#[test]
fn what_is_in_ram_when_the_future_is_told_has_one() {
    // Room for two data pages, which are there before. Of these 0 was used longer ago, and 1 is the
    // one that is written again.
    let mut bench = Bench::new(&[("ram", "1536B"), ("victims", "opt")]);
    for lpn in [1, 0] {
        bench.write(lpn, 1);
    }
    let calls = [2, 1].map(|lpn| FutureRequest { op: HostOp::Write, lpn: Lpn::new(lpn), pages: 1 });
    bench.ftl.set_future(&calls);
    for FutureRequest { lpn, .. } in calls {
        bench.write(lpn.get(), 1);
    }
    assert_eq!((bench.note(Note::BufferHit), bench.note(Note::BufferMiss)), (1, 3));
    let mut turned = Bench::new(&[("ram", "1536B"), ("victims", "opt")]);
    for lpn in [0, 1] {
        turned.write(lpn, 1);
    }
    turned.ftl.set_future(&calls);
    for FutureRequest { lpn, .. } in calls {
        turned.write(lpn.get(), 1);
    }
    assert_eq!(turned.note(Note::BufferHit), 1, "wherever it lies");
}

#[test]
fn of_pages_that_are_not_written_again_the_one_that_is_read_stays() {
    let call = |op, lpn| FutureRequest { op, lpn: Lpn::new(lpn), pages: 1 };
    for (first, second) in [(0, 1), (1, 0)] {
        let mut calls = vec![call(HostOp::Write, first), call(HostOp::Write, second), call(HostOp::Write, 2)];
        calls.extend([call(HostOp::Read, 0); 9]);
        let mut bench = Bench::new(&[("ram", "1536B"), ("victims", "opt")]);
        bench.ftl.set_future(&calls);
        for &FutureRequest { op, lpn, pages } in &calls {
            match op {
                HostOp::Write => drop(bench.write(lpn.get(), pages)),
                _ => bench.ftl.read(&mut bench.flash, &Request::new(lpn, pages), &mut empty(1)).expect("read"),
            }
        }
        assert_eq!(bench.note(Note::BufferRead), 9);
    }
}

/// A write around RAM, or a trim, spares the version in RAM its program as a write that is held
/// does. Of pages 0 and 1 the one that is changed so stays.
#[test]
fn a_page_that_is_next_written_around_ram_or_trimmed_stays() {
    let call = |op, lpn, pages| FutureRequest { op, lpn: Lpn::new(lpn), pages };
    for last in [call(HostOp::Write, 0, 9), call(HostOp::Trim, 0, 1)] {
        let calls = [call(HostOp::Write, 0, 1), call(HostOp::Write, 20, 1), call(HostOp::Write, 21, 1), last];
        let bench = Bench::new(&[("ram", "1536B"), ("victims", "opt"), ("load_before_write", "false")]).serve(&calls);
        let around = if last.op == HostOp::Write { 9 } else { 0 };
        assert_eq!(bench.count(Cause::Host, FlashOp::Program), 1 + around, "of page 20");
        assert_eq!(bench.note(Note::AbsorbedPage), 1, "{last:?}");
    }
}

#[test]
fn a_write_that_misses_in_the_background_waits_for_no_map_that_it_does_not_need() {
    for scheme in ["treeftl", "jtl"] {
        let longest_of = |writes, write_misses, load| {
            let settings = [("ram", "4KiB"), ("write_misses", write_misses), ("load_before_write", load)];
            let mut bench = Bench::of(scheme, &settings);
            // Of each group a page, so that the first ones' entries and translation pages have left
            // RAM, written.
            for lpn in (0..700).step_by(7) {
                bench.write(lpn, 1);
            }
            bench.flush();
            (0..700).step_by(7).take(writes).map(|lpn| bench.write(lpn, 1)).max()
        };
        // What leaves RAM for the first two writes after a flush is not newer than flash; later
        // writes wait for the pages that leave RAM.
        assert!(longest_of(2, "background", "false") < Some(25), "{scheme}: less than a read");
        assert!(longest_of(100, "background", "false") >= Some(200), "{scheme}: a program");
        for (write_misses, load) in [("wait", "false"), ("background", "true")] {
            assert!(longest_of(100, write_misses, load) >= Some(25), "{scheme}, {write_misses}, {load}");
        }
    }
}

#[test]
fn ram_for_more_than_the_device_is_not_taken() {
    for scheme in ["treeftl", "aps", "jtl"] {
        let total = |ram| Bench::of(scheme, &[("ram", ram)]).ftl.footprint().ram_bytes();
        assert_eq!(total("1GiB"), total("1TiB"), "{scheme}");
        // Data pages, entries of up to 8 bytes, and what is kept of each.
        assert!(total("1TiB") < u64::from(LOGICAL_PAGES) * (512 + 100), "{scheme}: {}", total("1TiB"));
    }
}
