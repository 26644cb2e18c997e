//! What copies of the map are for: a miss goes round a busy channel (RFTL 3.1, fig. 5), and round a
//! channel whose translation pages cannot be read (RFTL 3.2.4).

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use flash::{Chip, Flash, FlashError, Full, Lpn, MediaEvent, Page, Pbn, Ppn, Role, Scan, Tag};
use ftl::engines::demand::machine::DemandPaged;
use ftl::schemes::rftl::Rftl;
use ftl::{Cause, Drive, FlashOp, FlashPort, Layout, Moment, Nanos, Request, Task, Timed, Timing};
use testkit::{TestFlash, drive_of};

const FLASH: TestFlash = TestFlash::new(16, 8).channels(4);
/// Three translation pages of 128 entries.
const LOGICAL_PAGES: u32 = 300;

/// What the test and the device share.
#[derive(Clone, Default)]
struct Shared {
    /// The channel that is busy, if any.
    busy: Rc<Cell<Option<u32>>>,
    /// The channel whose translation pages cannot be read, if any.
    broken: Rc<Cell<Option<u32>>>,
    /// Operations performed: kind and die.
    performed: Rc<RefCell<Vec<(FlashOp, u32)>>>,
}

impl Timing for Shared {
    ftl::known_ends! { is_traced is_buffered trace join wait_beside delay take_command hand_over estimate_moves slowest_page programmed_at_once keep_order join_programs end_background }

    fn perform(&mut self, task: Task, after: Moment) -> Moment {
        self.performed.borrow_mut().push((task.op, task.die));
        after
    }

    fn is_over(&self, _moment: Moment) -> bool {
        true
    }

    fn estimate(&self, task: Task, from: Moment) -> Nanos {
        // One die a channel.
        self.busy(task.die, from)
    }

    fn busy(&self, channel: u32, _from: Moment) -> Nanos {
        if self.busy.get() == Some(channel) { Nanos(1_000_000) } else { Nanos::ZERO }
    }

    fn now(&self) -> Nanos {
        Nanos::ZERO
    }

    fn pass_until(&mut self, _at: Nanos) {}

    fn wait(&mut self, moment: Moment) -> Nanos {
        moment.earliest
    }

    fn reset(&mut self) {}
}

/// A chip of which one channel's translation pages cannot be read.
struct Breakable {
    chip: Chip<Full<u32>>,
    shared: Shared,
}

impl Flash for Breakable {
    type Data = u32;

    flash::pass_on_flash!(chip);

    fn mark_bad(&mut self, pbn: Pbn) {
        self.chip.mark_bad(pbn);
    }

    fn read(&mut self, ppn: Ppn) -> Result<Page<u32>, FlashError> {
        let geometry = *self.chip.geometry();
        let channel = geometry.channel_of(geometry.die_of(geometry.block_of(ppn)));
        let is_translation = self.chip.tag(ppn).is_some_and(|tag| tag.role == Role::Translation);
        let page = self.chip.read(ppn)?;
        if is_translation && self.shared.broken.get() == Some(channel) {
            return Err(FlashError::Media(MediaEvent::Uncorrectable(ppn)));
        }
        Ok(page)
    }

    fn program(&mut self, ppn: Ppn, tag: &Tag, data: u32) -> Result<(), FlashError> {
        self.chip.program(ppn, tag, data)
    }
    fn erase(&mut self, pbn: Pbn) -> Result<(), FlashError> {
        self.chip.erase(pbn)
    }
    fn scan(&mut self, ppn: Ppn) -> Result<Scan, FlashError> {
        self.chip.scan(ppn)
    }
}

type Device = Timed<Breakable, Shared>;
type Scheme = DemandPaged<Rftl>;

struct Bench {
    shared: Shared,
    flash: FlashPort<Device>,
    ftl: Drive<Device>,
    written: BTreeMap<u32, u32>,
}

impl Bench {
    fn new(replicas: u32) -> Self {
        let shared = Shared::default();
        let chip = FLASH.chip();
        let layout = Layout::of(&chip, LOGICAL_PAGES, 1);
        let settings = [("replicas", &*replicas.to_string()), ("cmt", "64"), ("cmt_policy", "lru")];
        let ftl = drive_of::<Scheme, _>(&settings, &layout).expect("accepted");
        let breakable = Breakable { chip, shared: shared.clone() };
        let flash = FlashPort::new(Timed { chip: breakable, timing: shared.clone() });
        Self { shared, flash, ftl, written: BTreeMap::new() }
    }

    fn write(&mut self, lpn: u32, value: u32) {
        self.ftl.write(&mut self.flash, &Request::new(Lpn::new(lpn), 1), &[value]).expect("written");
        self.written.insert(lpn, value);
    }

    fn read(&mut self, lpn: u32) -> u32 {
        let mut out = [0];
        self.ftl.read(&mut self.flash, &Request::new(Lpn::new(lpn), 1), &mut out).expect("read");
        out[0]
    }

    /// Every logical page, so that every translation page has been written.
    fn fill(&mut self) {
        (0..LOGICAL_PAGES).for_each(|lpn| self.write(lpn, 1000 + lpn));
    }

    /// Dies of the operations of a kind since this was last asked.
    fn dies_of(&mut self, wanted: FlashOp) -> Vec<u32> {
        let performed = self.shared.performed.take();
        performed.into_iter().filter(|(op, _)| *op == wanted).map(|(_, die)| die).collect()
    }

    fn all_is_right(&mut self) {
        for (lpn, value) in self.written.clone() {
            assert_eq!(self.read(lpn), value, "LPN {lpn}");
        }
        self.ftl.check(&self.flash).expect("invariants hold");
    }
}

#[test]
fn copies_of_a_translation_page_are_programmed_on_different_channels() {
    for replicas in 1..=3 {
        let mut bench = Bench::new(replicas);
        // The ninth entry drives out the first of eight, which is newer than flash.
        (0..8).for_each(|lpn| bench.write(lpn, lpn));
        bench.dies_of(FlashOp::Program);
        let before = bench.flash.tally().count(Cause::Mapping, FlashOp::Program);
        bench.read(200);
        assert_eq!(bench.flash.tally().count(Cause::Mapping, FlashOp::Program) - before, u64::from(replicas) + 1);
        let channels: BTreeSet<_> = bench.dies_of(FlashOp::Program).into_iter().collect();
        assert_eq!(channels.len(), replicas as usize + 1, "{replicas} replicas");
    }
}

#[test]
fn a_miss_goes_round_a_busy_channel() {
    let mut bench = Bench::new(1);
    bench.fill();
    // Clean entries of the last translation page leave without a write from now on.
    (260..276).for_each(|lpn| assert_eq!(bench.read(lpn), 1000 + lpn));
    let translation_reads = |bench: &mut Bench, lpn: u32| {
        bench.dies_of(FlashOp::Read);
        bench.read(lpn);
        bench.dies_of(FlashOp::Read)[0]
    };
    let idle = translation_reads(&mut bench, 0);
    bench.shared.busy.set(Some(idle));
    let other = translation_reads(&mut bench, 1);
    assert_ne!(idle, other, "the copy on the idle channel is read");
    bench.shared.busy.set(Some(other));
    assert_eq!(translation_reads(&mut bench, 2), idle, "the original is read when its channel is idle");
}

#[test]
fn a_channel_whose_translation_pages_cannot_be_read_loses_nothing_and_its_copies_are_written_anew() {
    for channel in 0..FLASH.shape().channels {
        let mut bench = Bench::new(1);
        bench.fill();
        bench.all_is_right();
        bench.shared.broken.set(Some(channel));
        bench.shared.busy.set(Some((channel + 1) % FLASH.shape().channels));
        bench.all_is_right();
        let programs = |bench: &Bench| bench.flash.tally().count(Cause::Mapping, FlashOp::Program);
        // Another round finds the lost copies rewritten, but for those that went to the broken
        // channel again.
        let before = programs(&bench);
        for round in 1..4 {
            (0..LOGICAL_PAGES).for_each(|lpn| bench.write(lpn, 10_000 * round + lpn));
            bench.all_is_right();
        }
        assert!(programs(&bench) > before);
        bench.shared.broken.set(None);
        bench.all_is_right();
    }
}

#[test]
fn a_lost_copy_is_written_anew_elsewhere() {
    let mut bench = Bench::new(1);
    bench.fill();
    (260..276).for_each(|lpn| assert_eq!(bench.read(lpn), 1000 + lpn));
    bench.dies_of(FlashOp::Read);
    bench.read(0);
    let original = bench.dies_of(FlashOp::Read)[0];
    bench.shared.broken.set(Some(original));
    let before = bench.flash.tally().count(Cause::Mapping, FlashOp::Program);
    bench.dies_of(FlashOp::Read);
    bench.read(1);
    let tried = bench.dies_of(FlashOp::Read);
    assert_eq!(tried[0], original, "the original is tried first");
    assert_ne!(tried[1], original, "then the copy");
    assert_eq!(bench.flash.tally().count(Cause::Mapping, FlashOp::Program) - before, 1, "one copy is written anew");
    bench.shared.broken.set(None);
    bench.all_is_right();
}

#[test]
fn more_copies_than_channels_are_refused_with_advice() {
    let chip: Chip<Full<u32>> = FLASH.chip();
    let layout = Layout::of(&chip, LOGICAL_PAGES, 1);
    let refused = drive_of::<Scheme, Device>(&[("replicas", "4")], &layout).err().expect("refused").to_string();
    assert!(refused.contains("replicas = 4") && refused.contains("at most 3"), "{refused}");
}
