//! A trace of flash: each operation of a window with its page and what it writes there, in the
//! order in which the translation layer issues them.
//!
//! That order is the one in which the flash changes, so a reader that follows it from the pages of
//! the begin knows what every page holds after every operation. The dies take operations up in an
//! order of their own; when they did is told of each, by its place in the engine's order of issue.
//!
//! The window takes in the requests that begin in it. Memory is bounded by [`MOST_STEPS`] and
//! [`MOST_PAGES`]: a window that holds more is cut short, and says so.

use std::collections::{BTreeSet, HashMap};

use flash::{Chip, Exposure, Flash, Lpn, Pbn, Ppn, Role, Store, Tag};
use ftl::{Cause, FlashOp, Note, TracedTask};
use trace::HostOp;

use crate::SimError;
use crate::observe::timeline::{Placed, Window};
use crate::paging::{Extent, HostRequest};
use crate::result::{FlashTraceFacts, StoredPages, TracedNote, TracedOperations, TracedRequests};

/// The most flash operations, and the most requests, of a trace: more than anybody follows step by
/// step, and what a page of some megabytes holds.
const MOST_STEPS: usize = 100_000;

/// The most pages of a device that is traced: what a screen shows.
const MOST_PAGES: u32 = 1 << 18;

/// Refuses a device that is too large to be traced, or of which the trace would show other pages
/// than are programmed: it maps something else than pages, or pads.
pub(crate) fn check(pages: u32, maps_pages: bool, exposure: Option<&Exposure>) -> Result<(), SimError> {
    let sentence = if pages > MOST_PAGES {
        &format!(
            "the device has {pages} pages of flash, and at most {MOST_PAGES} are traced. Give it a smaller \
             device.capacity, such as \"64MiB\", or a larger device.page_size; workload.addresses = \"dense\" makes a workload fit"
        )
    } else if !maps_pages {
        "it shows what is done to each page, and here what is mapped is no page that is programmed by itself. \
         Leave device.mapping_unit, device.programming and device.superblock out"
    } else if exposure.is_some() {
        "it does not show the padding with which blocks are filled up where device.power_loss_protection is false; \
         leave power_loss_protection out"
    } else {
        return Ok(());
    };
    Err(SimError::study(format!("run.flash_trace (--player): {sentence}")))
}

/// An operation of the trace.
#[derive(Clone, Copy, Debug)]
struct Operation {
    traced: TracedTask,
    request: Option<u64>,
    /// When its die took it up, and when it was done; none as long as that is not known.
    start_ns: Option<u64>,
    end_ns: Option<u64>,
}

/// What is recorded of a window.
#[derive(Clone, Debug)]
pub(crate) struct FlashTrace {
    asked: Window,
    /// Where the window ends, if it was cut short.
    to_ns: u64,
    state: State,
    pages_per_block: u32,
    /// The request that operations are issued for now, and when it began.
    request: Option<u64>,
    begin_ns: u64,
    start: StoredPages,
    /// Logical pages that were trimmed and not programmed since, as long as the window is to come.
    trimmed: BTreeSet<u32>,
    requests: TracedRequests,
    operations: Vec<Operation>,
    notes: Vec<TracedNote>,
    /// How often each note had been counted.
    counted: Vec<u64>,
    /// Operations that are not over, by their place in the engine's order of issue.
    under_way: HashMap<(u64, FlashOp), usize>,
    /// The place of the program that the engine has just made one with its read.
    issue_of_copy_back: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No request has begun in the window.
    Before,
    Open,
    Over,
}

impl FlashTrace {
    pub(crate) fn new(asked: Window) -> Self {
        Self {
            asked,
            to_ns: asked.to_ns,
            state: State::Before,
            pages_per_block: 1,
            request: None,
            begin_ns: 0,
            start: StoredPages::default(),
            trimmed: BTreeSet::new(),
            requests: TracedRequests::default(),
            operations: Vec::new(),
            notes: Vec::new(),
            counted: Vec::new(),
            under_way: HashMap::new(),
            issue_of_copy_back: None,
        }
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::new(self.asked);
    }

    /// Whether it matters what is done now.
    pub(crate) fn is_at_work(&self) -> bool {
        self.state != State::Over
    }

    /// Whether the window opens with a request that begins now.
    pub(crate) fn opens_at(&self, begin_ns: u64) -> bool {
        self.state == State::Before && (self.asked.from_ns..self.asked.to_ns).contains(&begin_ns)
    }

    /// The window opens on a chip.
    pub(crate) fn open<S: Store>(&mut self, chip: &Chip<S>, notes: &[u64]) {
        (self.state, self.pages_per_block) = (State::Open, chip.geometry().pages_per_block());
        (self.start, self.counted) = (StoredPages::of(chip, &self.trimmed), notes.to_vec());
    }

    /// A request is about to be served.
    pub(crate) fn begin(&mut self, request: &HostRequest, number: u64, begin_ns: u64, notes: &[u64]) {
        if self.state == State::Before && request.op == HostOp::Trim {
            let pages = |extent: &Extent| extent.lpn.get()..extent.lpn.get() + extent.pages;
            self.trimmed.extend(request.extents.iter().flat_map(pages));
        }
        if self.state != State::Open {
            return;
        }
        self.take_notes(notes);
        if begin_ns >= self.asked.to_ns {
            self.state = State::Over;
            return;
        }
        (self.request, self.begin_ns) = (Some(number), begin_ns);
        if self.requests.number.len() == MOST_STEPS {
            return self.cut();
        }
        let requests = &mut self.requests;
        requests.number.push(number);
        requests.op.push(request.op.name());
        requests.begin_ns.push(begin_ns);
        requests.end_ns.push(begin_ns);
        requests.extents.push(request.extents.iter().map(|extent| (extent.lpn.get(), extent.pages)).collect());
        requests.operations_before.push(self.operations.len() as u64);
    }

    /// What is issued from now on is work in idle time.
    pub(crate) fn begin_idle(&mut self, notes: &[u64]) {
        if self.state == State::Open {
            self.take_notes(notes);
            self.request = None;
        }
    }

    /// A request has ended.
    pub(crate) fn end(&mut self, number: u64, end_ns: u64) {
        if let Ok(index) = self.requests.number.binary_search(&number) {
            self.requests.end_ns[index] = end_ns;
        }
    }

    /// The window ends here, as it holds too much.
    fn cut(&mut self) {
        (self.state, self.to_ns) = (State::Over, self.begin_ns);
    }

    /// The program issued now becomes one with a read of this place in the order of issue.
    pub(crate) fn is_copied_back(&mut self, issue: u64) {
        self.issue_of_copy_back = Some(issue);
    }

    /// An operation was issued, the last before `issued`.
    pub(crate) fn record(&mut self, traced: TracedTask, notes: &[u64], issued: u64) {
        let issue = self.issue_of_copy_back.take().unwrap_or(issued - 1);
        if self.state == State::Before {
            if let Some(tag) = traced.tag.filter(|tag| is_data(tag.role)) {
                self.trimmed.remove(&tag.logical);
            }
            return;
        }
        if self.operations.len() == MOST_STEPS {
            return self.cut();
        }
        self.take_notes(notes);
        self.under_way.insert((issue, traced.task.op), self.operations.len());
        self.operations.push(Operation { traced, request: self.request, start_ns: None, end_ns: None });
    }

    /// An operation, or a part of one, is over.
    pub(crate) fn see(&mut self, placed: &Placed) {
        let key = (placed.issue, placed.op);
        let Some(&index) = self.under_way.get(&key) else { return };
        let operation = &mut self.operations[index];
        operation.start_ns.get_or_insert(placed.start_ns);
        operation.end_ns = Some(placed.end_ns);
        if placed.service_ns.is_some() {
            self.under_way.remove(&key);
        }
    }

    fn take_notes(&mut self, notes: &[u64]) {
        for (index, &note) in Note::ALL.iter().enumerate() {
            let count = notes[index] - self.counted[index];
            if count > 0 {
                let (request, operations_before) = (self.request, self.operations.len() as u64);
                self.notes.push(TracedNote { request, operations_before, name: note.name(), count });
            }
        }
        self.counted.copy_from_slice(notes);
    }

    /// All that was recorded.
    pub(crate) fn result(&self) -> FlashTraceFacts {
        let mut operations = TracedOperations::default();
        for operation in &self.operations {
            operations.push(operation, self.pages_per_block);
        }
        FlashTraceFacts {
            from_ns: self.asked.from_ns,
            to_ns: self.to_ns,
            requested_to_ns: self.asked.to_ns,
            limit: MOST_STEPS as u64,
            start: self.start.clone(),
            requests: self.requests.clone(),
            operations,
            notes: self.notes.clone(),
        }
    }
}

impl TracedOperations {
    fn push(&mut self, operation: &Operation, pages_per_block: u32) {
        let &Operation { traced: TracedTask { task, ppn, tag, has_failed }, request, start_ns, end_ns } = operation;
        self.request.push(request);
        self.op.push(FlashOp::name(task.op));
        self.cause.push(Cause::name(task.cause));
        self.die.push(task.die);
        self.block.push(task.pbn.get());
        self.page.push((task.op != FlashOp::Erase).then_some(ppn.get() % pages_per_block));
        self.role.push(tag.map(|tag| role_name(tag.role)));
        self.logical.push(tag.map(|tag| tag.logical));
        self.copies.push(task.copies);
        self.has_failed.push(has_failed);
        self.background.push(task.chain);
        self.start_ns.push(start_ns.unwrap_or_default());
        self.end_ns.push(end_ns.unwrap_or_default());
    }
}

impl StoredPages {
    /// What a chip holds, with the logical pages that were trimmed and not programmed since.
    fn of<S: Store>(chip: &Chip<S>, trimmed: &BTreeSet<u32>) -> Self {
        let newest = newest_pages(chip);
        let mut stored = Self::default();
        for pbn in (0..chip.geometry().blocks()).map(Pbn::new) {
            if chip.is_bad(pbn) {
                stored.bad_blocks.push(pbn.get());
                continue;
            }
            for index in chip.geometry().page_indices(pbn) {
                if let Some(tag) = chip.tag(Ppn::at(index)) {
                    let is_newest = key(&tag).is_none_or(|key| newest[&key].1 == index);
                    let is_trimmed = is_data(tag.role) && trimmed.contains(&tag.logical);
                    stored.push(index, &tag, is_newest && !is_trimmed);
                } else if chip.store().is_torn(index) {
                    stored.unusable.push(index as u32);
                }
            }
        }
        stored
    }

    fn push(&mut self, index: usize, tag: &Tag, is_valid: bool) {
        self.page.push(index as u32);
        self.role.push(role_name(tag.role));
        self.logical.push(tag.logical);
        self.is_valid.push(is_valid);
    }
}

/// What a page holds a version of, of which one is the newest: a logical page, or a translation
/// page. None of records for recovery, which stand for themselves.
type Held = (bool, Lpn);

fn key(tag: &Tag) -> Option<Held> {
    (is_data(tag.role) || tag.role.is_translation()).then(|| (tag.role.is_translation(), Lpn::new(tag.logical)))
}

fn is_data(role: Role) -> bool {
    !matches!(role, Role::Translation | Role::Trimmed | Role::Summary)
}

/// The page of the newest version of each, with what orders versions.
fn newest_pages<S: Store>(chip: &Chip<S>) -> HashMap<Held, ((u64, u64), usize)> {
    let mut newest: HashMap<Held, ((u64, u64), usize)> = HashMap::new();
    for index in 0..chip.geometry().pages() as usize {
        let Some(tag) = chip.tag(Ppn::at(index)) else { continue };
        let Some(key) = key(&tag) else { continue };
        let found = ((tag.version, tag.seq), index);
        newest.entry(key).and_modify(|known| *known = found.max(*known)).or_insert(found);
    }
    newest
}

/// The name of a role in results.
fn role_name(role: Role) -> &'static str {
    match role {
        Role::Data => "data",
        Role::Collected => "collected",
        Role::SequentialLog => "sequential_log",
        Role::RandomLog => "random_log",
        Role::Translation => "translation",
        Role::Trimmed => "trimmed",
        Role::Lost => "lost",
        Role::Summary => "summary",
        Role::Cached => "cached",
        Role::Padding => "padding",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flash::{ChipOptions, Full, Geometry, Shape};
    use ftl::Task;

    fn notes(hits: u64) -> Vec<u64> {
        let mut notes = vec![0; Note::COUNT];
        notes[Note::MappingHit as usize] = hits;
        notes
    }

    /// Two blocks of four pages.
    fn chip() -> Chip<Full<u64>> {
        let shape = Shape {
            channels: 1,
            dies_per_channel: 1,
            planes_per_die: 1,
            blocks_per_plane: 2,
            pages_per_block: 4,
            page_size_bytes: 4096,
        };
        Chip::new(Geometry::new(shape).expect("valid"), &ChipOptions::default())
    }

    fn tag(logical: u32, role: Role, version: u64) -> Tag {
        Tag { logical, extent: 1, role, owner: None, seq: version, version, hint: 0 }
    }

    fn open(from_ns: u64, to_ns: u64) -> FlashTrace {
        let mut trace = FlashTrace::new(Window { from_ns, to_ns });
        trace.open(&chip(), &notes(0));
        trace
    }

    fn program(trace: &mut FlashTrace, page: u32, hits: u64, issued: u64) {
        let task = Task::new(FlashOp::Program, Cause::Host, Pbn::new(page / 4), 0);
        let traced = TracedTask { task, ppn: Ppn::new(page), tag: None, has_failed: true };
        trace.record(traced, &notes(hits), issued);
    }

    fn ended(op: FlashOp, issue: u64, start_ns: u64, service_ns: Option<u64>) -> Placed {
        let (cause, ready_ns, transfer_ns, end_ns) = (Cause::Host, start_ns, None, start_ns + 5);
        Placed { op, cause, issue, die: 0, ready_ns, start_ns, transfer_ns, end_ns, service_ns }
    }

    #[test]
    fn a_window_opens_with_its_first_request_and_ends_before_the_next_one() {
        let mut trace = FlashTrace::new(Window { from_ns: 10, to_ns: 20 });
        assert_eq!([9, 10, 20].map(|begin| trace.opens_at(begin)), [false, true, false]);
        let request = HostRequest { op: HostOp::Flush, ..HostRequest::new() };
        trace.begin(&request, 1, 9, &notes(0));
        trace.open(&chip(), &notes(3));
        for (number, begin) in [(2, 10), (3, 19), (4, 20)] {
            trace.begin(&request, number, begin, &notes(3 + number));
        }
        assert!(!trace.is_at_work() && !trace.opens_at(15));
        trace.end(3, 33);
        trace.end(4, 44);
        let facts = trace.result();
        assert_eq!((facts.requests.number, facts.requests.end_ns), (vec![2, 3], vec![10, 33]));
        assert_eq!((facts.to_ns, facts.requested_to_ns), (20, 20));
        let counted: Vec<_> = facts.notes.iter().map(|note| (note.request, note.count)).collect();
        assert_eq!(counted, [(None, 2), (Some(2), 1), (Some(3), 1)]);
    }

    #[test]
    fn a_page_is_valid_that_is_newest_and_not_trimmed_since() {
        let mut chip = chip();
        let pages = [(7, Role::Data, 1), (7, Role::Collected, 2), (3, Role::Data, 3), (7, Role::Translation, 4)];
        for (page, (logical, role, version)) in pages.into_iter().enumerate() {
            chip.program(Ppn::at(page), &tag(logical, role, version), 0).expect("legal");
        }
        let mut trace = FlashTrace::new(Window { from_ns: 10, to_ns: 20 });
        let extents = vec![Extent { lpn: Lpn::new(2), pages: 6 }];
        trace.begin(&HostRequest { op: HostOp::Trim, extents, ..HostRequest::new() }, 1, 0, &notes(0));
        let task = Task::new(FlashOp::Program, Cause::Host, Pbn::new(0), 0);
        let tag = Some(tag(7, Role::Data, 2));
        trace.record(TracedTask { task, ppn: Ppn::new(1), tag, has_failed: false }, &notes(0), 1);
        trace.open(&chip, &notes(0));
        let start = trace.result().start;
        assert_eq!((start.page, start.logical), (vec![0, 1, 2, 3], vec![7, 7, 3, 7]));
        assert_eq!(start.is_valid, [false, true, false, true]);
    }

    #[test]
    fn an_operation_gets_its_times_by_its_place_in_the_order_of_issue() {
        let mut trace = open(0, 100);
        program(&mut trace, 5, 0, 8);
        trace.is_copied_back(3);
        program(&mut trace, 6, 2, 8);
        trace.see(&ended(FlashOp::Read, 3, 1, Some(5)));
        trace.see(&ended(FlashOp::Program, 3, 20, None));
        trace.see(&ended(FlashOp::Program, 3, 40, Some(5)));
        trace.see(&ended(FlashOp::Program, 7, 60, Some(5)));
        trace.see(&ended(FlashOp::Program, 7, 80, Some(5)));
        let facts = trace.result();
        let operations = facts.operations;
        assert_eq!((operations.block, operations.page), (vec![1, 1], vec![Some(1), Some(2)]));
        assert_eq!((operations.start_ns, operations.end_ns), (vec![60, 20], vec![65, 45]));
        assert_eq!(facts.notes[0].operations_before, 1);
    }

    #[test]
    fn a_window_that_holds_too_much_ends_and_says_where_to_go_on() {
        let mut trace = open(0, 1 << 40);
        let request = HostRequest::new();
        for number in 0..3 {
            trace.begin(&request, number + 1, 1000 * number, &notes(0));
            for page in 0..MOST_STEPS as u32 / 2 {
                program(&mut trace, page, 0, u64::from(page) + 1);
            }
        }
        let facts = trace.result();
        assert_eq!((facts.operations.op.len() as u64, facts.limit), (MOST_STEPS as u64, MOST_STEPS as u64));
        assert_eq!((facts.to_ns, facts.requests.number), (2000, vec![1, 2, 3]));
    }

    #[test]
    fn a_device_of_too_many_pages_is_refused_with_advice() {
        assert!(check(MOST_PAGES, true, None).is_ok());
        let error = check(MOST_PAGES + 1, true, None).expect_err("too large").to_string();
        for part in ["262145 pages", "262144", "device.capacity", "--player"] {
            assert!(error.contains(part), "{error}");
        }
    }
}
