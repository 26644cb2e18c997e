//! Write buffers by hand and against list models: which pages leave together, what is written with
//! them, and what that spares a log.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use flash::{Lbn, Lpn, PageData, Pbn};
use ftl::write_buffer::bplru::Bplru;
use ftl::write_buffer::fab::Fab;
use ftl::write_buffer::fifo::Fifo;
use ftl::write_buffer::lru::Lru;
use ftl::write_buffer::policy::{BufferPolicy, BufferRoom, BufferScheme, BufferedPage, Victim};
use ftl::{
    AnyDevice, BrokenInvariant, Cause, Drive, Entry, FlashOp, FlashPort, Footprint, FtlError, Layout, Mapping, Note,
    RelocateOutcome, Request, Settings, Stack, Values, WearQuery, registry,
};
use random::SeededRng;
use testkit::TestFlash;

use crate::kit::{NumberChip, page, untimed};

const PER_BLOCK: u32 = 4;
/// The last logical block has two pages.
const PAGES: u32 = 46;

fn device() -> (FlashPort<AnyDevice>, Layout) {
    let chip = TestFlash::new(24, PER_BLOCK).chip();
    let layout = Layout::of(&chip, PAGES, 1);
    (FlashPort::new(untimed(chip)), layout)
}

/// Requests that reach the mapping: the first page, and how many.
type Log = Arc<Mutex<Vec<(u32, u32)>>>;

/// A mapping that tells which requests to write reach it.
struct Tapped {
    mapping: Drive<AnyDevice>,
    log: Log,
}

impl Mapping<AnyDevice> for Tapped {
    fn read(
        &mut self,
        flash: &mut FlashPort<AnyDevice>,
        request: &Request,
        out: &mut [PageData],
    ) -> Result<(), FtlError> {
        self.mapping.read(flash, request, out)
    }

    fn write(
        &mut self,
        flash: &mut FlashPort<AnyDevice>,
        request: &Request,
        data: &[PageData],
    ) -> Result<(), FtlError> {
        self.log.lock().expect("one thread").push((request.lpn.get(), request.pages));
        self.mapping.write(flash, request, data)
    }

    fn trim(&mut self, flash: &mut FlashPort<AnyDevice>, request: &Request) -> Result<(), FtlError> {
        self.mapping.trim(flash, request)
    }

    fn flush(&mut self, flash: &mut FlashPort<AnyDevice>) -> Result<(), FtlError> {
        self.mapping.flush(flash)
    }

    fn relocate_block(&mut self, flash: &mut FlashPort<AnyDevice>, pbn: Pbn) -> Result<RelocateOutcome, FtlError> {
        self.mapping.relocate_block(flash, pbn)
    }

    fn with_wear_policy(&mut self, query: WearQuery<'_>) {
        self.mapping.with_wear_policy(query);
    }

    fn check(&self, flash: &FlashPort<AnyDevice>) -> Result<(), BrokenInvariant> {
        self.mapping.check(flash)
    }

    fn footprint(&self) -> Footprint {
        self.mapping.footprint()
    }
}

/// A buffer with room for this many pages in front of `page`.
struct Bench {
    flash: FlashPort<AnyDevice>,
    ftl: Drive<AnyDevice>,
    log: Log,
}

impl Bench {
    fn new<B: BufferScheme>(pages: u32, settings: &[(&str, &str)]) -> Self {
        let (flash, layout) = device();
        let mapping = registry::create(&Stack::of("page"), &layout).expect("a mapping");
        let settings: Settings = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let values = Values::check(B::ENTRY.name, B::ENTRY.parameters, &settings).expect("settings");
        let (room, log) = (BufferRoom::of(pages), Log::default());
        let tapped = Box::new(Tapped { mapping, log: Arc::clone(&log) });
        Self {
            flash,
            ftl: Drive::new(tapped, &layout).with_write_buffer(Box::new(B::new(&layout, room, &values)), room, &layout),
            log,
        }
    }

    /// Writes pages, and returns the requests that reached the mapping meanwhile.
    fn write(&mut self, first: u32, data: &[u32]) -> Vec<(u32, u32)> {
        let request = Request::new(Lpn::new(first), data.len() as u32);
        let pages: Vec<_> = data.iter().copied().map(page).collect();
        self.ftl.write(&mut self.flash, &request, &pages).expect("written");
        self.passed()
    }

    fn passed(&mut self) -> Vec<(u32, u32)> {
        self.ftl.check(&self.flash).expect("invariants");
        std::mem::take(&mut *self.log.lock().expect("one thread"))
    }

    fn read(&mut self, lpn: u32) -> u32 {
        let mut out = [page(u32::MAX)];
        self.ftl.read(&mut self.flash, &Request::new(Lpn::new(lpn), 1), &mut out).expect("read");
        out[0].number() as u32
    }

    fn trim(&mut self, first: u32, pages: u32) {
        self.ftl.trim(&mut self.flash, &Request::new(Lpn::new(first), pages)).expect("trimmed");
    }

    fn flush(&mut self) -> Vec<(u32, u32)> {
        self.ftl.flush(&mut self.flash).expect("flushed");
        self.passed()
    }

    fn padded(&self) -> (u64, u64) {
        [FlashOp::Read, FlashOp::Program].map(|op| self.flash.tally().count(Cause::Padding, op)).into()
    }
}

/// What a buffer is said to do, as slowly and plainly as can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Lru,
    Fifo,
    Fab,
    Bplru,
}

struct Model {
    kind: Kind,
    room: usize,
    /// Uses of pages that wait, the last one last: by fifo only their coming, by bplru only writes.
    uses: Vec<u32>,
    waiting: BTreeSet<u32>,
    /// Pages with data on flash.
    on_flash: BTreeSet<u32>,
    /// Offsets written to a logical block since it last came or lost a page, in order.
    written: BTreeMap<u32, Vec<u32>>,
    /// Logical blocks that were swept since their last other use, the last one last.
    swept: Vec<u32>,
}

impl Model {
    fn new(kind: Kind, room: usize) -> Self {
        Self {
            kind,
            room,
            uses: Vec::new(),
            waiting: BTreeSet::new(),
            on_flash: BTreeSet::new(),
            written: BTreeMap::new(),
            swept: Vec::new(),
        }
    }

    fn pages_of(lbn: u32) -> std::ops::Range<u32> {
        lbn * PER_BLOCK..((lbn + 1) * PER_BLOCK).min(PAGES)
    }

    /// The pages that leave for want of room.
    fn next_victim(&self) -> BTreeSet<u32> {
        let last_use = |lpn: u32| self.uses.iter().rposition(|&used| used == lpn).expect("it came");
        let block_use = |lbn: u32| self.uses.iter().rposition(|&used| used / PER_BLOCK == lbn).expect("it came");
        let blocks: BTreeSet<u32> = self.waiting.iter().map(|lpn| lpn / PER_BLOCK).collect();
        let of_block = |lbn: u32| self.waiting.iter().copied().filter(move |lpn| lpn / PER_BLOCK == lbn);
        let lbn = match self.kind {
            Kind::Lru => return self.waiting.iter().copied().min_by_key(|&lpn| last_use(lpn)).into_iter().collect(),
            Kind::Fifo => {
                let came = |lpn: u32| self.uses.iter().position(|&used| used == lpn).expect("it came");
                return self.waiting.iter().copied().min_by_key(|&lpn| came(lpn)).into_iter().collect();
            }
            Kind::Fab => {
                blocks.into_iter().max_by_key(|&lbn| (of_block(lbn).count(), std::cmp::Reverse(block_use(lbn))))
            }
            Kind::Bplru => self.swept.last().copied().or_else(|| blocks.into_iter().min_by_key(|&lbn| block_use(lbn))),
        };
        of_block(lbn.expect("pages wait")).collect()
    }

    /// Neighbours, of which at least one leaves.
    fn requests(leaving: &BTreeSet<u32>, padding: &BTreeSet<u32>) -> Vec<(u32, u32)> {
        let mut runs: Vec<Vec<u32>> = Vec::new();
        for &lpn in leaving.union(padding) {
            match runs.last_mut().filter(|run| run.last() == Some(&(lpn.wrapping_sub(1)))) {
                Some(run) => run.push(lpn),
                None => runs.push(vec![lpn]),
            }
        }
        runs.retain(|run| run.iter().any(|lpn| leaving.contains(lpn)));
        runs.iter().map(|run| (run[0], run.len() as u32)).collect()
    }

    fn forget(&mut self, lpn: u32) {
        if self.waiting.remove(&lpn) {
            self.uses.retain(|&used| used != lpn || self.kind == Kind::Fab || self.kind == Kind::Bplru);
            let lbn = lpn / PER_BLOCK;
            self.written.remove(&lbn);
            // What lost a page was not swept any more, but stands where it stood.
            if !self.waiting.iter().any(|lpn| lpn / PER_BLOCK == lbn) {
                self.uses.retain(|&used| used / PER_BLOCK != lbn || matches!(self.kind, Kind::Lru | Kind::Fifo));
                self.swept.retain(|&swept| swept != lbn);
            }
        }
    }

    /// Pages are written; returns the requests that make room for them, all at once if they fit.
    fn write(&mut self, first: u32, pages: u32) -> Vec<(u32, u32)> {
        let mut requests = Vec::new();
        for part in (first..first + pages).collect::<Vec<_>>().chunks(self.room) {
            let (mut leaving, mut padding) = (BTreeSet::new(), BTreeSet::new());
            while self.waiting.union(&part.iter().copied().collect()).count() > self.room {
                let next_victim = self.next_victim();
                if self.kind == Kind::Bplru {
                    let lbn = next_victim.first().expect("some") / PER_BLOCK;
                    padding.extend(Self::pages_of(lbn).filter(|lpn| self.on_flash.contains(lpn)));
                }
                for &lpn in &next_victim {
                    self.forget(lpn);
                }
                leaving.extend(next_victim);
            }
            requests.extend(Self::requests(&leaving, &padding));
            self.on_flash.extend(leaving);
            for &lpn in part {
                self.write_page(lpn);
            }
        }
        requests
    }

    fn write_page(&mut self, lpn: u32) {
        let is_new = !self.waiting.contains(&lpn);
        self.waiting.insert(lpn);
        if is_new || self.kind != Kind::Fifo {
            self.uses.push(lpn);
        }
        let (lbn, offset) = (lpn / PER_BLOCK, lpn % PER_BLOCK);
        let size = Self::pages_of(lbn).count();
        let written = self.written.entry(lbn).or_default();
        written.push(offset);
        self.swept.retain(|&swept| swept != lbn);
        if written.len() >= size && written[written.len() - size..].iter().copied().eq(0..size as u32) {
            self.swept.push(lbn);
        }
    }

    fn read(&mut self, lpn: u32) {
        if self.waiting.contains(&lpn) && matches!(self.kind, Kind::Lru | Kind::Fab) {
            self.uses.push(lpn);
        }
    }

    fn trim(&mut self, lpn: u32) {
        self.forget(lpn);
        self.on_flash.remove(&lpn);
    }

    fn flush(&mut self) -> Vec<(u32, u32)> {
        let all = self.waiting.clone();
        let requests = Self::requests(&all, &BTreeSet::new());
        for lpn in all {
            self.forget(lpn);
            self.on_flash.insert(lpn);
        }
        requests
    }
}

fn follow<B: BufferScheme>(kind: Kind) {
    for (seed, room) in [1, 2, 5, 9, 46].into_iter().enumerate() {
        let (mut bench, mut model) = (Bench::new::<B>(room, &[]), Model::new(kind, room as usize));
        let mut rng = SeededRng::new(seed as u64);
        let mut below = |limit: u32| rng.below_u32(limit);
        let (mut content, mut next, mut evictions) = (BTreeMap::new(), 0, 0);
        for step in 1..4_000 {
            // Half of the writes stay in a few blocks, some go over a whole block.
            let first = if below(2) == 0 { below(PAGES) } else { below(9) };
            let first = if below(4) == 0 { first / PER_BLOCK * PER_BLOCK } else { first };
            match below(20) {
                0 => assert_eq!(bench.flush(), model.flush(), "{kind:?} {room} step {step}: a flush"),
                1 => {
                    let pages = (1 + below(3)).min(PAGES - first);
                    bench.trim(first, pages);
                    for lpn in first..first + pages {
                        model.trim(lpn);
                        content.remove(&lpn);
                    }
                }
                2..6 => {
                    assert_eq!(
                        bench.read(first),
                        content.get(&first).copied().unwrap_or(0),
                        "{kind:?} {room} step {step}"
                    );
                    model.read(first);
                }
                _ => {
                    let pages = (1 + below(PER_BLOCK)).min(PAGES - first);
                    let data: Vec<u32> = (1..=pages).map(|i| next + i).collect();
                    next += pages;
                    let expected = model.write(first, pages);
                    evictions += expected.len();
                    assert_eq!(
                        bench.write(first, &data),
                        expected,
                        "{kind:?} {room} step {step}: write {first}+{pages}"
                    );
                    content.extend((first..).zip(data));
                }
            }
            assert_eq!(bench.ftl.buffered().pages as usize, model.waiting.len(), "{kind:?} {room} step {step}");
        }
        assert!(evictions > 300 || room == PAGES, "{kind:?} {room}: {evictions} evictions");
    }
}

#[test]
fn lru_follows_its_list_model() {
    follow::<Lru>(Kind::Lru);
}

#[test]
fn fifo_follows_its_list_model() {
    follow::<Fifo>(Kind::Fifo);
}

#[test]
fn fab_follows_its_list_model() {
    follow::<Fab>(Kind::Fab);
}

#[test]
fn bplru_follows_its_list_model() {
    follow::<Bplru>(Kind::Bplru);
}

/// Block 0 has all of its pages on flash, block 1 its first three, block 2 the last.
fn half_full(settings: &[(&str, &str)]) -> Bench {
    let mut bench = Bench::new::<Bplru>(3, settings);
    for (first, data) in [(0, &[1, 2, 3, 4][..]), (4, &[5, 6, 7]), (11, &[8])] {
        bench.write(first, data);
    }
    bench.flush();
    bench
}

#[test]
fn a_block_is_padded_with_what_it_has_and_what_nobody_wrote_stays_unwritten() {
    let mut bench = half_full(&[]);
    let before = bench.padded();
    assert_eq!(bench.write(2, &[20]), []);
    assert_eq!((bench.write(5, &[21]), bench.write(9, &[22])), (vec![], vec![]));
    assert_eq!(bench.write(40, &[23]), [(0, 4)], "block 0 was not written for longest");
    assert_eq!(bench.padded(), (before.0 + 3, before.1 + 3));
    assert_eq!(bench.write(41, &[24]), [(4, 3)], "page 7 has no data");
    assert_eq!(bench.padded(), (before.0 + 5, before.1 + 5));
    assert_eq!(bench.write(42, &[25]), [(9, 1)], "page 10 has no data, and 11 is no neighbour");
    assert_eq!(bench.padded(), (before.0 + 6, before.1 + 5));
    let content: Vec<u32> = (0..12).map(|lpn| bench.read(lpn)).collect();
    assert_eq!(content, [1, 2, 20, 4, 5, 21, 7, 0, 0, 22, 0, 8]);
    let reads = bench.flash.tally().count(Cause::Host, FlashOp::Read);
    assert_eq!((bench.read(7), bench.read(10)), (0, 0));
    assert_eq!(bench.flash.tally().count(Cause::Host, FlashOp::Read), reads, "pages without data are not on flash");
}

#[test]
fn trimmed_pages_do_not_come_back_by_padding() {
    let mut bench = half_full(&[]);
    bench.trim(1, 1);
    bench.write(3, &[30]);
    for (lpn, data) in [(40, 31), (41, 32), (44, 33)] {
        bench.write(lpn, &[data]);
    }
    assert_eq!((0..4).map(|lpn| bench.read(lpn)).collect::<Vec<_>>(), [1, 0, 3, 30]);
}

#[test]
fn a_flush_and_a_buffer_without_padding_write_what_waits_and_nothing_else() {
    let mut bench = half_full(&[]);
    let before = bench.padded();
    bench.write(2, &[20]);
    assert_eq!((bench.flush(), bench.padded()), (vec![(2, 1)], before));
    let mut without = half_full(&[("padding", "false")]);
    for lpn in [2, 5, 9] {
        without.write(lpn, &[lpn]);
    }
    assert_eq!(without.write(40, &[40]), [(2, 1)]);
    assert_eq!(without.padded(), (0, 0));
}

#[test]
fn a_block_written_in_one_sweep_leaves_before_older_ones() {
    for (compensation, leaves) in [("true", (4, 4)), ("false", (0, 1))] {
        let mut bench = Bench::new::<Bplru>(6, &[("compensation", compensation)]);
        bench.write(0, &[1]);
        bench.write(4, &[2, 3, 4, 5]);
        bench.write(9, &[6]);
        assert_eq!(bench.write(13, &[7]), [leaves], "compensation {compensation}");
    }
}

/// Merges (switch, partial, full) over `fast` with these parts behind it: pages of a logical block
/// are rewritten in random order.
fn merges(buffer: &str) -> [u64; 3] {
    let chip: NumberChip = TestFlash::new(80, 16).chip();
    let layout = Layout::of(&chip, 64 * 16, 1);
    let mut flash = FlashPort::new(untimed(chip));
    let mut ftl = testkit::drive(&format!("fast:log_space=10%{buffer}"), &layout);
    for lpn in 0..layout.logical_pages {
        ftl.write(&mut flash, &Request::new(Lpn::new(lpn), 1), &[page(lpn)]).expect("written");
    }
    ftl.flush(&mut flash).expect("flushed");
    let before = *flash.tally();
    let mut rng = SeededRng::new(3);
    for _ in 0..4_000 {
        let drawn = rng.bits();
        // Eight writes to a block, and then another.
        let lpn = (drawn % 64 * 16) as u32;
        for i in 0..8 {
            let lpn = lpn + (drawn >> (8 + 4 * i)) as u32 % 16;
            ftl.write(&mut flash, &Request::new(Lpn::new(lpn), 1), &[page(lpn)]).expect("written");
        }
    }
    ftl.check(&flash).expect("invariants");
    let done = flash.tally().since(&before);
    [Note::SwitchMerge, Note::PartialMerge, Note::FullMerge].map(|note| done.note(note))
}

#[test]
fn padding_turns_the_full_merges_of_a_log_into_switch_merges() {
    let ram = |name: &str, more: &str| merges(&format!("+{name}:ram={}{more}", 64 * 512));
    let (bare, lru, fab) = (merges(""), ram("lru", ""), ram("fab", ""));
    let (bplru, without) = (ram("bplru", ""), ram("bplru", ":padding=false"));
    println!(
        "merges (switch, partial, full): {bare:?}; lru {lru:?}, fab {fab:?}, bplru {bplru:?}, not padded {without:?}"
    );
    assert_eq!(bplru[1..], [0, 0], "whole blocks need no other merge");
    assert!(bplru[0] > 1_000 && bare[2] > 1_000, "{bplru:?} {bare:?}");
    assert!(without[2] > 1_000, "{without:?}");
    assert!(fab[2] < lru[2], "blocks leave together: {fab:?} against {lru:?}");
}

#[test]
fn room_for_no_page_is_refused_and_more_than_the_device_has_is_not_used() {
    let chip: NumberChip = TestFlash::new(24, 4).page_size(4096).chip();
    let layout = Layout::of(&chip, PAGES, 1);
    let create = |stack: &str| registry::create(&stack.parse().expect("a spelling"), &layout);
    let refused = create("page+bplru:ram=4095").err().expect("refused").to_string();
    assert!(refused.contains("bplru.ram = 4095") && refused.contains("give at least 4096"), "{refused}");
    for (stack, pages) in [("page+fab:ram=4096", 1), ("fast+lru:ram=36KiB", 9), ("page+fifo:ram=1TiB", PAGES)] {
        assert_eq!(create(stack).expect("accepted").buffered().capacity_pages, pages, "{stack}");
    }
    let refused = create("bdb+lru").err().expect("refused").to_string();
    assert!(refused.contains("bdb+lru") && refused.contains("has a write buffer of its own"), "{refused}");
}

/// A policy that first names a logical block of which nothing waits, then whole blocks from 0 on.
#[derive(Debug)]
struct Misled {
    pages: u32,
    asked: u32,
}

impl BufferScheme for Misled {
    const ENTRY: Entry = Entry { name: "misled", header: "//! # misled: a test's own", ..Lru::ENTRY };

    fn new(_: &Layout, _: BufferRoom, _: &Values) -> Self {
        Self { pages: 0, asked: 0 }
    }
}

impl BufferPolicy for Misled {
    fn on_inserted(&mut self, _: BufferedPage, _: &Request) {
        self.pages += 1;
    }

    fn on_left(&mut self, _: BufferedPage) {
        self.pages -= 1;
    }

    fn next_victim(&mut self) -> Victim {
        self.asked += 1;
        if self.asked % 2 == 1 { Victim::Block(Lbn::new(PAGES / PER_BLOCK)) } else { Victim::WholeBlock(Lbn::new(0)) }
    }

    fn pages(&self) -> u32 {
        self.pages
    }
}

/// The page with the lowest number left in place of an empty block; the block that it is of is then
/// completed from flash, where its old version lies.
#[test]
fn block_completed_after_its_page_left_keeps_the_new_version() {
    let mut bench = Bench::new::<Misled>(2, &[]);
    bench.write(0, &[1, 2]);
    bench.flush();
    bench.write(2, &[3]);
    bench.flush();
    bench.write(0, &[11, 12]);
    bench.write(8, &[21, 22]);
    bench.flush();
    assert_eq!([0, 1, 2, 8, 9].map(|lpn| bench.read(lpn)), [11, 12, 3, 21, 22]);
    assert_eq!(bench.padded(), (1, 1), "page 2 alone");
}
