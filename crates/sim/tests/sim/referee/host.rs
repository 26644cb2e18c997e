//! A host of the referee's own: requests in an open or a closed loop, and the offer of idle time,
//! by the rules of `docs/timing.md`. It serves a real scheme on any timing that can be asked to go
//! to where the next thing ends.

use std::cell::Cell;
use std::ops::Range;

use flash::{Blank, CellType, Chip, ChipOptions, Full, Geometry, Lpn, PageData, Store, Tag};
use ftl::{
    AnyDevice, Cause, Drive, FlashOp, FlashPort, FtlError, Layout, Moment, Nanos, Request, Stack, Tally, Task, Timing,
    registry,
};

use sim::study::DieOrder;
use sim::{
    Abilities, EventTiming, FrontEnd, Latencies, Model, PageTimes, Programming, SchedulingPolicy, Superblocks,
    Suspension, Units,
};

use super::queues::Queues;
use super::rules::{Kind, Rules};

/// A request in pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) lpn: u32,
    pub(crate) pages: u32,
    pub(crate) writes: bool,
    /// Bytes of its first page and of its last that it leaves out.
    pub(crate) left_out: [u32; 2],
}

impl Asked {
    /// A write of a whole page.
    pub(crate) fn fill(lpn: u32) -> Self {
        Self { lpn, pages: 1, writes: true, left_out: [0; 2] }
    }

    /// How many bytes it asks for.
    pub(crate) fn bytes(&self, page_size_bytes: u32) -> u64 {
        let [first, last] = self.left_out;
        u64::from(self.pages) * u64::from(page_size_bytes) - u64::from(first + last)
    }

    /// The pages that it covers in part.
    fn partial_pages(&self) -> Vec<u32> {
        let last = self.pages - 1;
        let mut partial: Vec<_> =
            [0, last].into_iter().zip(self.left_out).filter(|&(_, left_out)| left_out > 0).collect();
        partial.dedup_by_key(|&mut (page, _)| page);
        partial.into_iter().map(|(page, _)| self.lpn + page).collect()
    }
}

/// When requests begin.
#[derive(Clone, Debug)]
pub(crate) enum Pace {
    /// This many are outstanding.
    Closed(usize),
    /// They arrive at these times, in nanoseconds.
    Open(Vec<u64>),
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answered {
    pub(crate) begin_ns: u64,
    pub(crate) end_ns: u64,
    /// The hash of all operations when it had been issued.
    pub(crate) event_hash: u64,
}

/// How dies serve.
fn scheduling(rules: &Rules) -> SchedulingPolicy {
    let mut policy = match rules.die_order() {
        Some(order) => SchedulingPolicy::in_order(&DieOrder::try_from(order).expect("an order").0),
        None if rules.reads_first => SchedulingPolicy::reads_first(),
        None => SchedulingPolicy::FIFO,
    };
    if rules.gc_yields {
        policy = policy.with_yielding_background();
    }
    for (op, is_suspended) in [(FlashOp::Program, rules.suspends_programs), (FlashOp::Erase, rules.suspends_erases)] {
        if is_suspended {
            let [suspend_ns, resume_ns] = rules.suspension_ns(Kind::of(op));
            let at_most = rules.suspensions.map(|most| most as u32);
            policy = policy.with_suspension(op, Suspension { suspend_ns, resume_ns, at_most });
        }
    }
    rules.overtakes.map_or(policy, |most| policy.with_overtakes(most as u32))
}

/// Who keeps time. One type for both, since every scheme is compiled once for each.
pub(crate) enum Keeper {
    Referee(Box<Queues>),
    Simulation(Box<EventTiming>),
}

impl Keeper {
    pub(crate) fn referee(geometry: &Geometry, rules: &Rules) -> Self {
        Self::Referee(Box::new(Queues::new(geometry, rules)))
    }

    pub(crate) fn simulation(geometry: &Geometry, rules: &Rules) -> Self {
        let Rules { read_ns, program_ns, erase_ns, transfer_ns, .. } = *rules;
        let plain = Latencies::of_slc([read_ns, program_ns, erase_ns, transfer_ns]);
        let latencies = rules.cells.map_or(plain, |cells| {
            let times = |ns: u64, more: [u64; 4]| {
                let times = more[..cells.bits].iter().map(|more| ns + more).collect::<Vec<_>>();
                PageTimes::by_type(&times).expect("a time for each bit")
            };
            let read_ns = times(read_ns, cells.more_to_read_ns);
            let one_shot = rules.units.is_some_and(|units| units.one_shot);
            let program_ns = if one_shot { plain.program_ns } else { times(program_ns, cells.more_to_program_ns) };
            Latencies { cell: CellType::ALL[cells.bits - 1], read_ns, program_ns, ..plain }
        });
        let model = if rules.serial { Model::Serial } else { Model::Parallel };
        let Rules { copy_back, multi_plane, aligned_planes, cache_read, cache_program, gc_channels, .. } = *rules;
        let abilities = Abilities {
            copy_back,
            multi_plane,
            aligned_planes,
            cache_read,
            cache_program,
            scheduling: scheduling(rules),
            gc_channels,
            superblocks: Superblocks { planes: rules.superblocks.planes, dies: rules.superblocks.dies },
        };
        let front_end = FrontEnd {
            link_bytes_per_s: rules.link_bytes_per_s,
            link_ns: rules.link_latency_ns,
            cores: rules.controller_cores,
            core_ns: rules.controller_ns,
        };
        let units = rules.units.map_or(Units::PAGES, |units| {
            let programming = if units.one_shot { Programming::OneShot } else { Programming::Shadow };
            match units.in_a_page {
                1 => Units::of_pages(units.pages, programming),
                several => Units::of_a_page(several, programming),
            }
        });
        let timing = EventTiming::of_units(geometry, units, latencies, model, abilities);
        let timing = timing.buffering(geometry, rules.buffered);
        Self::Simulation(Box::new(timing.behind(front_end)))
    }
}

thread_local! {
    /// The logical page that a chip of this thread programmed last.
    static PROGRAMMED: Cell<u32> = const { Cell::new(0) };
}

/// Pages that tell which one is programmed.
struct Telling(Full<PageData>);

impl Blank for Telling {
    fn erased(pages: usize) -> Self {
        Self(Full::erased(pages))
    }
}

impl Store for Telling {
    type Data = PageData;

    fn logical(&self, page: usize) -> Option<u32> {
        self.0.logical(page)
    }

    fn tag(&self, page: usize) -> Option<Tag> {
        self.0.tag(page)
    }

    fn content(&self, page: usize) -> Option<(u64, PageData)> {
        self.0.content(page)
    }

    fn program(&mut self, page: usize, tag: &Tag, data: PageData) {
        PROGRAMMED.set(tag.logical);
        self.0.program(page, tag, data);
    }

    fn erase(&mut self, pages: Range<usize>) {
        self.0.erase(pages);
    }
}

/// A timing that knows whether anything is under way.
pub(crate) struct Observed {
    keeper: Keeper,
    /// Pages that the write in hand covers in part, each with the end of the read of its rest.
    partial: Vec<(u32, Moment)>,
    /// The ends of what was issued, but for the last ones that are over.
    under_way: Vec<Moment>,
    /// Those of them that are known.
    known: Vec<Nanos>,
    /// Operations that the host did not wait for.
    background: u64,
}

macro_rules! keeper {
    ($self:expr, $keeper:ident => $call:expr) => {
        match $self {
            Keeper::Referee($keeper) => $call,
            Keeper::Simulation($keeper) => $call,
        }
    };
}

impl Observed {
    pub(super) fn new(keeper: Keeper) -> Self {
        Self { keeper, partial: Vec::new(), under_way: Vec::new(), known: Vec::new(), background: 0 }
    }

    /// Lets time pass to the next moment at which something ends, no later than a limit.
    pub(super) fn advance(&mut self, limit: u64) {
        let stop = Nanos(limit.min(self.next_known()));
        if !keeper!(&mut self.keeper, keeper => keeper.pass_until_next(stop)) {
            assert!(stop.0 < u64::MAX, "what is waited for never ends");
            self.pass_until(stop);
        }
    }

    /// Lets time pass until all of several moments have come; when each did.
    pub(super) fn ends(&mut self, moments: &[Moment]) -> Vec<u64> {
        let mut ends = vec![None; moments.len()];
        loop {
            for (end, &moment) in ends.iter_mut().zip(moments) {
                if end.is_none() && self.is_over(moment) {
                    *end = Some(self.now().0);
                }
            }
            if ends.iter().all(Option::is_some) {
                return ends.into_iter().flatten().collect();
            }
            self.advance(u64::MAX);
        }
    }

    /// The first known moment at which something under way ends. The simulation, for which nothing
    /// happens then, does not tell.
    fn next_known(&mut self) -> u64 {
        let now = self.now();
        self.known.retain(|&moment| moment > now);
        self.known.iter().min().map_or(u64::MAX, |moment| moment.0)
    }

    fn is_idle(&mut self) -> bool {
        while let Some(&last) = self.under_way.last()
            && self.is_over(last)
        {
            self.under_way.pop();
        }
        self.under_way.is_empty()
            && match &self.keeper {
                Keeper::Referee(queues) => !queues.is_at_work(),
                Keeper::Simulation(timing) => timing.under_way() == 0,
            }
    }

    fn watch(&mut self, moment: Moment) -> Moment {
        self.under_way.push(moment);
        if moment.is_known() {
            self.known.push(moment.earliest);
        }
        moment
    }
}

impl Timing for Observed {
    ftl::known_ends! { is_traced is_buffered trace }

    fn perform(&mut self, task: Task, mut after: Moment) -> Moment {
        self.background += u64::from(task.chain != 0);
        // What the host writes in part is programmed when its rest has been read.
        if (task.op, task.cause) == (FlashOp::Program, Cause::Host) {
            let is_it = |(page, _): &(u32, Moment)| *page == PROGRAMMED.get();
            let rests: Vec<_> = self.partial.extract_if(.., |each| is_it(each)).collect();
            after = rests.into_iter().fold(after, |after, (_, rest)| self.join(after, rest));
        }
        let end = keeper!(&mut self.keeper, keeper => keeper.perform(task, after));
        self.watch(end)
    }

    fn join(&mut self, one: Moment, other: Moment) -> Moment {
        keeper!(&mut self.keeper, keeper => keeper.join(one, other))
    }

    fn wait_beside(&mut self, own: Moment, other: Moment) -> Moment {
        keeper!(&mut self.keeper, keeper => keeper.wait_beside(own, other))
    }

    fn delay(&mut self, after: Moment, time: Nanos) -> Moment {
        let end = keeper!(&mut self.keeper, keeper => keeper.delay(after, time));
        self.watch(end)
    }

    fn take_command(&mut self, after: Moment, bytes: u64) -> Moment {
        let end = keeper!(&mut self.keeper, keeper => keeper.take_command(after, bytes));
        self.watch(end)
    }

    fn hand_over(&mut self, after: Moment, bytes: u64) -> Moment {
        let end = keeper!(&mut self.keeper, keeper => keeper.hand_over(after, bytes));
        self.watch(end)
    }

    fn is_over(&self, moment: Moment) -> bool {
        keeper!(&self.keeper, keeper => keeper.is_over(moment))
    }

    fn estimate(&self, task: Task, from: Moment) -> Nanos {
        keeper!(&self.keeper, keeper => keeper.estimate(task, from))
    }

    fn keep_order(&mut self, chain: u32) {
        keeper!(&mut self.keeper, keeper => keeper.keep_order(chain));
    }

    fn estimate_moves(&self, reads: &[Task], programmed: u64) -> Option<Nanos> {
        keeper!(&self.keeper, keeper => keeper.estimate_moves(reads, programmed))
    }

    fn slowest_page(&self, op: FlashOp) -> u32 {
        keeper!(&self.keeper, keeper => keeper.slowest_page(op))
    }

    fn programmed_at_once(&self) -> u32 {
        keeper!(&self.keeper, keeper => keeper.programmed_at_once())
    }

    fn busy(&self, channel: u32, from: Moment) -> Nanos {
        keeper!(&self.keeper, keeper => keeper.busy(channel, from))
    }

    fn now(&self) -> Nanos {
        keeper!(&self.keeper, keeper => keeper.now())
    }

    fn join_programs(&mut self, chain: u32, after: Moment) -> Moment {
        keeper!(&mut self.keeper, keeper => keeper.join_programs(chain, after))
    }

    fn end_background(&mut self, chain: u32) {
        keeper!(&mut self.keeper, keeper => keeper.end_background(chain));
    }

    fn pass_until(&mut self, at: Nanos) {
        keeper!(&mut self.keeper, keeper => keeper.pass_until(at));
    }

    fn wait(&mut self, moment: Moment) -> Nanos {
        keeper!(&mut self.keeper, keeper => keeper.wait(moment))
    }

    fn reset(&mut self) {
        self.under_way.clear();
        self.known.clear();
        self.background = 0;
        keeper!(&mut self.keeper, keeper => keeper.reset());
    }
}

/// A scheme on a device, and the requests that it serves.
pub(crate) struct Host {
    flash: FlashPort<AnyDevice>,
    drive: Drive<AnyDevice>,
    answered: Vec<Answered>,
    outstanding: Vec<(usize, Request, Moment)>,
}

impl Host {
    /// None if the scheme refuses the device.
    pub(crate) fn new(
        stack: &Stack,
        (geometry, rules): (Geometry, &Rules),
        logical_pages: u32,
        keeper: Keeper,
    ) -> Option<Self> {
        let program_order = rules.program_order();
        let units_per_page = rules.units.map_or(1, |units| units.in_a_page);
        let chip = Chip::<Telling>::new(geometry, &ChipOptions { program_order, ..ChipOptions::default() });
        let timing = Observed::new(keeper);
        let programmed_at_once = timing.programmed_at_once();
        let layout = Layout { programmed_at_once, units_per_page, ..Layout::of(&chip, logical_pages, 1) };
        let drive = registry::create(stack, &layout).ok()?;
        let flash = FlashPort::new(AnyDevice::new(chip, timing));
        Some(Self { flash, drive, answered: Vec::new(), outstanding: Vec::new() })
    }

    fn timing(&self) -> &Observed {
        self.flash.device().timing.as_timing().expect("the timing of this host")
    }

    fn timing_mut(&mut self) -> &mut Observed {
        self.flash.device_mut().timing.as_timing_mut().expect("the timing of this host")
    }

    /// Issues a request at the present moment.
    fn issue(&mut self, asked: Asked) {
        let now = self.flash.now();
        let request = Request { arrival: now, ..Request::new(Lpn::new(asked.lpn), asked.pages) };
        let bytes = asked.bytes(self.flash.geometry().page_size_bytes());
        let (brought, returned) = if asked.writes { (bytes, 0) } else { (0, bytes) };
        self.flash.begin(now);
        self.flash.take_command(brought);
        self.serve(&asked, &request).unwrap_or_else(|error| panic!("request {}: {error}", self.answered.len()));
        self.flash.hand_over(returned);
        let answered = Answered { begin_ns: now.0, end_ns: u64::MAX, event_hash: self.flash.event_hash() };
        self.outstanding.push((self.answered.len(), request, self.flash.end()));
        self.answered.push(answered);
    }

    /// Has the scheme serve a request. What a write leaves of its pages is read at the same time as
    /// its other pages are programmed, and the write ends when all that has been read.
    fn serve(&mut self, asked: &Asked, request: &Request) -> Result<(), FtlError> {
        let mut pages = vec![PageData::default(); asked.pages as usize];
        if !asked.writes {
            return self.drive.read(&mut self.flash, request, &mut pages);
        }
        let begin = self.flash.awaited();
        let mut ends = Vec::new();
        for lpn in asked.partial_pages() {
            let Self { flash, drive, .. } = self;
            flash.go_on_from(begin);
            let page = Request { lpn: Lpn::new(lpn), pages: 1, ..*request };
            flash.with_cause(Cause::ReadModifyWrite, |flash| drive.read(flash, &page, &mut [PageData::default()]))?;
            ends.push(flash.awaited());
            let rest = flash.end();
            self.timing_mut().partial.push((lpn, rest));
        }
        let Self { flash, drive, .. } = self;
        flash.go_on_from(begin);
        drive.write(flash, request, &pages)?;
        ends.push(flash.awaited());
        flash.go_on_from(begin);
        flash.in_parallel(ends, |flash, end| {
            flash.go_on_from(end);
            Ok::<_, FtlError>(())
        })?;
        self.timing_mut().partial.clear();
        Ok(())
    }

    /// How many requests have ended since that was last asked. The scheme is told of each.
    fn ended(&mut self) -> usize {
        let Self { flash, drive, answered, outstanding } = self;
        let (timing, before) = (&flash.device().timing, outstanding.len());
        outstanding.retain(|(number, request, end)| {
            let is_over = timing.is_over(*end);
            if is_over {
                let Answered { begin_ns, end_ns, .. } = &mut answered[*number];
                *end_ns = timing.now().0;
                if drive.observes_responses() {
                    drive.on_response(request, Nanos(*end_ns - *begin_ns));
                }
            }
            !is_over
        });
        before - outstanding.len()
    }

    /// Brings the device into a state, one request after the other, and starts the clock anew.
    pub(crate) fn prepare(&mut self, requests: impl IntoIterator<Item = Asked>) {
        for asked in requests {
            self.issue(asked);
            self.flash.wait();
            self.outstanding.clear();
            self.answered.clear();
        }
        self.flash.restart();
    }

    /// Serves requests to their ends.
    pub(crate) fn run(&mut self, requests: &[Asked], pace: &Pace) -> Vec<Answered> {
        match pace {
            Pace::Closed(depth) => self.closed(requests, *depth),
            Pace::Open(arrivals) => self.open(requests, arrivals),
        }
        std::mem::take(&mut self.answered)
    }

    /// What has been done so far.
    pub(crate) fn tally(&self) -> &Tally {
        self.flash.tally()
    }

    /// The hash of all operations so far.
    pub(crate) fn event_hash(&self) -> u64 {
        self.flash.event_hash()
    }

    /// How long a request was on the link or waited for it, and the same of the controller, where
    /// the referee keeps time.
    pub(crate) fn link_and_controller_ns(&self, request: usize) -> Option<[u64; 2]> {
        match &self.timing().keeper {
            Keeper::Referee(queues) => Some(queues.link_and_controller_ns(request)),
            Keeper::Simulation(_) => None,
        }
    }

    /// Operations since the clock was started that the host did not wait for.
    pub(crate) fn background(&self) -> u64 {
        self.timing().background
    }

    fn closed(&mut self, requests: &[Asked], depth: usize) {
        let mut next = requests.iter();
        let mut free = depth;
        loop {
            while free > 0
                && let Some(&asked) = next.next()
            {
                self.issue(asked);
                free -= 1;
                free += self.ended();
            }
            if self.outstanding.is_empty() {
                return;
            }
            self.timing_mut().advance(u64::MAX);
            free += self.ended();
        }
    }

    fn open(&mut self, requests: &[Asked], arrivals: &[u64]) {
        let mut next = requests.iter().zip(arrivals).peekable();
        let mut was_offered = false;
        loop {
            self.ended();
            let now = self.flash.now().0;
            while let Some((&asked, _)) = next.next_if(|&(_, &arrival)| arrival <= now) {
                self.issue(asked);
                self.ended();
                was_offered = false;
            }
            let arrival = next.peek().map(|&(_, &arrival)| arrival);
            if let Some(arrival) = arrival
                && !was_offered
                && self.timing_mut().is_idle()
            {
                self.offer_idle(arrival - now);
                was_offered = true;
            }
            if arrival.is_none() && self.outstanding.is_empty() {
                return;
            }
            self.timing_mut().advance(arrival.unwrap_or(u64::MAX));
        }
    }

    /// Offers idle time from the present moment on.
    fn offer_idle(&mut self, budget: u64) {
        let Self { flash, drive, .. } = self;
        flash.begin(flash.now());
        let offered = drive.idle(flash, Nanos(budget));
        offered.unwrap_or_else(|error| panic!("idle time after request {}: {error}", self.answered.len()));
    }
}
