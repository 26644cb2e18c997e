//! What a scheme asks of a device: the operations of each request, and which follows which, taken
//! down while the simulation prices them.
//!
//! Only that is handed to the referee, and no time: which operation is done on which die, after
//! which others, and whether the host waits. An operation follows those of its own stretch of work
//! that were done when it was ready; the first of a stretch that the host does not wait for follows
//! the one that was done just then.

use flash::{Chip, Full, Geometry, Lpn};
use ftl::{Drive, FlashOp, FlashPort, Layout, Nanos, Request, Span, Stack, Task, Timed, Timing, registry};
use sim::Pricing;

/// An operation of a request.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) op: FlashOp,
    pub(crate) die: usize,
    /// Steps of the same request that it follows.
    pub(crate) after: Vec<usize>,
    /// Whether the host waits for it.
    pub(crate) awaited: bool,
}

/// When requests begin.
#[derive(Clone, Debug)]
pub(crate) enum Pace {
    /// So many are outstanding.
    Closed(usize),
    /// At these times, in nanoseconds.
    Open(Vec<u64>),
}

/// All requests of a run.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    pub(crate) requests: Vec<Vec<Step>>,
    pub(crate) pace: Pace,
}

struct Priced {
    task: Task,
    ready: u64,
    end: u64,
}

/// The simulation's prices, taken down.
pub(crate) struct Recorder {
    pub(crate) pricing: Pricing,
    priced: Vec<Priced>,
}

impl Recorder {
    pub(crate) fn new(pricing: Pricing) -> Self {
        Self { pricing, priced: Vec::new() }
    }
}

impl Timing for Recorder {
    fn perform(&mut self, task: Task, at: Nanos) -> Span {
        let span = self.pricing.perform(task, at);
        self.priced.push(Priced { task, ready: at.0, end: span.end.0 });
        span
    }

    fn would_end(&mut self, task: Task, at: Nanos) -> Nanos {
        self.pricing.would_end(task, at)
    }

    fn channel_idle_from(&self, channel: u32, at: Nanos) -> Nanos {
        self.pricing.channel_idle_from(channel, at)
    }

    fn begin(&mut self, at: Nanos) {
        self.pricing.begin(at);
    }

    fn reset(&mut self) {
        self.pricing.reset();
        self.priced.clear();
    }
}

/// The steps of a request, from what was priced.
fn steps(priced: &[Priced]) -> Vec<Step> {
    let following = |at: usize| {
        let Priced { task: Task { chain, .. }, ready, .. } = priced[at];
        let done = |step: &usize| priced[*step].end <= ready;
        let mut after: Vec<usize> = (0..at).filter(done).filter(|&step| priced[step].task.chain == chain).collect();
        if after.is_empty() {
            after.extend((0..at).rev().find(|&step| priced[step].end == ready));
        }
        after
    };
    let step = |(at, Priced { task: Task { op, die, chain, .. }, .. }): (usize, &Priced)| Step {
        op: *op,
        die: *die as usize,
        after: following(at),
        awaited: *chain == 0,
    };
    priced.iter().enumerate().map(step).collect()
}

/// One type for all tests here that need one of their own: every scheme is compiled once for each.
pub(crate) type PricedDevice = Timed<Chip<Full<u32>>, Recorder>;

/// A scheme on a priced device.
pub(crate) struct Bench {
    media: FlashPort<PricedDevice>,
    ftl: Drive<PricedDevice>,
}

impl Bench {
    pub(crate) fn new(
        scheme: &str,
        settings: &[(&str, String)],
        geometry: Geometry,
        logical_pages: u32,
        pricing: Pricing,
    ) -> Self {
        let chip = Chip::new(geometry, &flash::ChipOptions::default());
        let layout = Layout::of(&chip, logical_pages, 1);
        let ftl = registry::create(&Stack::with(scheme, settings.iter().cloned()), &layout)
            .unwrap_or_else(|error| panic!("{scheme}: {error}"));
        Self { media: FlashPort::new(Timed { chip, timing: Recorder::new(pricing) }), ftl }
    }

    /// Writes or reads a page; returns when that is done.
    fn serve(&mut self, (lpn, writes): (u32, bool), at: u64) -> u64 {
        let request = Request::new(Lpn::new(lpn), 1);
        self.media.begin(Nanos(at));
        let served = if writes {
            self.ftl.write(&mut self.media, &request, &[0])
        } else {
            self.ftl.read(&mut self.media, &request, &mut [0])
        };
        served.unwrap_or_else(|error| panic!("{lpn}: {error}"));
        self.media.now().0
    }

    /// Brings the device into a state, one request after the other, and starts the clock anew.
    pub(crate) fn prepare(&mut self, requests: impl IntoIterator<Item = (u32, bool)>) {
        for request in requests {
            let now = self.media.now().0;
            self.serve(request, now);
            self.media.device_mut().timing.priced.clear();
        }
        self.media.restart();
    }

    /// Serves requests; returns what they asked of the device, and their response times by the
    /// simulation, in nanoseconds.
    pub(crate) fn run(&mut self, requests: impl IntoIterator<Item = (u32, bool)>, pace: Pace) -> (Stream, Vec<u64>) {
        let mut stream = Stream { requests: Vec::new(), pace };
        let (mut responses, mut outstanding) = (Vec::new(), std::collections::BinaryHeap::new());
        for request in requests {
            let begin = match &stream.pace {
                Pace::Closed(depth) if outstanding.len() < *depth => 0,
                Pace::Closed(_) => outstanding.pop().map_or(0, |std::cmp::Reverse(done)| done),
                Pace::Open(arrivals) => arrivals[responses.len()],
            };
            let done = self.serve(request, begin);
            outstanding.push(std::cmp::Reverse(done));
            responses.push(done - begin);
            stream.requests.push(steps(&std::mem::take(&mut self.media.device_mut().timing.priced)));
        }
        (stream, responses)
    }
}
