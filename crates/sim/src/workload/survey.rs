//! One look over a workload before anything is simulated: how much it asks, how far it reaches,
//! what was changed in it.
//!
//! Counts are in pages of the device. Nothing is remembered per request; only the dense numbering
//! and the set of written pages grow, with the pages touched, and only where they are asked for.

use std::sync::Arc;

use roaring::RoaringTreemap;
use trace::{Hint, HostOp, Record};

use crate::SimError;
use crate::memory::Limit;
use crate::paging::{FirstTouch, span_of};
use crate::result::{PreconditionChosen, WorkloadFacts};
use crate::setup::values::{InUse, Precondition};
use crate::workload::suspicions::Suspicions;
use crate::workload::touched::Touched;
use crate::workload::write_sizes::{WriteSize, WriteSizes};

/// What a survey found.
#[derive(Clone, Debug)]
pub(crate) struct Survey {
    pub(crate) facts: WorkloadFacts,
    /// Pages that the device needs: one past the highest touched, or with the dense numbering as
    /// many as are touched.
    pub(crate) span_pages: u64,
    /// The request that reaches highest: its number, counted from 1, and the record.
    pub(crate) highest: Option<(u64, Record)>,
    /// Pages of the longest request.
    pub(crate) longest_pages: u64,
    /// Pages per write, as a mean over pages written; 1 without any.
    pub(crate) pages_per_write: f64,
    /// Sizes of writes, each as often as its share of them asks for.
    pub(crate) write_sizes: Box<[WriteSize]>,
    /// Whether each request writes one whole page, and says nothing of it.
    pub(crate) writes_pages_alone: bool,
    /// The dense numbering, where asked for.
    pub(crate) touched: Option<Arc<FirstTouch>>,
    /// Reads of pages that the workload has not written before, where asked for.
    pub(crate) unwritten: Option<Unwritten>,
    /// The pages that are read or written, before they are placed on a device, where asked for.
    pub(crate) live: Option<Touched>,
}

/// How much of what a workload reads it has not written itself. The rest of a page that is written
/// in part is read, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unwritten {
    pub(crate) reads: u64,
    /// Those of pages that no earlier request wrote.
    pub(crate) of_unwritten: u64,
}

/// Which pages are written so far. Addresses are the workload's own: what a wrap folds together
/// counts apart.
#[derive(Default)]
struct Written {
    pages: RoaringTreemap,
    /// Those that were read before they were written.
    read: RoaringTreemap,
    found: Unwritten,
}

impl Written {
    fn read(&mut self, pages: impl Iterator<Item = u64>) {
        for page in pages {
            self.found.reads += 1;
            if !self.pages.contains(page) {
                self.found.of_unwritten += 1;
                self.read.insert(page);
            }
        }
    }

    fn add(&mut self, record: &Record, page_bytes: u64) {
        let span = span_of(record, page_bytes);
        match record.op {
            HostOp::Read => self.read(span.first..span.end),
            HostOp::Write => {
                let first_in_part = !record.offset.is_multiple_of(page_bytes);
                let is_one_page = first_in_part && span.pages() == 1;
                let last_in_part = !is_one_page && !record.end().is_multiple_of(page_bytes);
                let first = first_in_part.then_some(span.first);
                let last = last_in_part.then(|| span.end - 1);
                self.read(first.into_iter().chain(last));
                self.pages.insert_range(span.first..span.end);
            }
            HostOp::Trim | HostOp::Flush => {}
        }
    }
}

/// Counts records one by one.
pub(crate) struct Surveyor {
    page_bytes: u64,
    limit: Limit,
    touched: Option<FirstTouch>,
    written: Option<Written>,
    /// Where pages are filled that the workload may never touch.
    live: Option<Touched>,
    /// Where a trace is read; a workload that is generated is as it is meant.
    suspicions: Option<Suspicions>,
    facts: WorkloadFacts,
    highest: Option<(u64, Record)>,
    longest_pages: u64,
    writes: u64,
    /// Pages of each write, squared, of all.
    squares: f64,
    sizes: WriteSizes,
    partial_writes: u64,
    /// Requests with a hint.
    hinted: u64,
    trims: u64,
    shrunk_trims: u64,
}

impl Surveyor {
    /// A survey in pages of this many bytes, with the dense numbering or without, for what is to be
    /// done to the device before.
    pub(crate) fn new(page_bytes: u64, dense: bool, precondition: Precondition, limit: Limit) -> Self {
        let fills = matches!(precondition, Precondition::Fill | Precondition::Steady);
        Self {
            page_bytes,
            limit,
            touched: dense.then(FirstTouch::default),
            written: (precondition == Precondition::Auto).then(Written::default),
            live: fills.then(Touched::default),
            suspicions: None,
            facts: WorkloadFacts::default(),
            highest: None,
            longest_pages: 0,
            writes: 0,
            squares: 0.0,
            sizes: WriteSizes::default(),
            partial_writes: 0,
            hinted: 0,
            trims: 0,
            shrunk_trims: 0,
        }
    }

    /// The survey of a trace, which may have been read otherwise than it is meant.
    pub(crate) fn suspecting(self) -> Self {
        Self { suspicions: Some(Suspicions::new(self.page_bytes)), ..self }
    }

    /// Records so far.
    pub(crate) fn requests(&self) -> u64 {
        self.facts.requests
    }

    pub(crate) fn add(&mut self, record: &Record) -> Result<(), SimError> {
        let span = span_of(record, self.page_bytes);
        self.facts.requests += 1;
        self.facts.duration_ns = record.time_ns;
        self.hinted += u64::from(record.hint != Hint::NONE);
        if let Some(written) = &mut self.written {
            written.add(record, self.page_bytes);
        }
        if let Some(suspicions) = &mut self.suspicions {
            suspicions.add(record);
        }
        if matches!(record.op, HostOp::Read | HostOp::Write) {
            self.facts.bytes += u64::from(record.length);
            if let Some(live) = &mut self.live {
                live.insert(span.first..span.end);
            }
        }
        match record.op {
            HostOp::Read => self.facts.pages_read += span.pages(),
            HostOp::Write => {
                self.facts.pages_written += span.pages();
                self.facts.bytes_written += u64::from(record.length);
                self.writes += 1;
                self.squares += (span.pages() as f64).powi(2);
                self.sizes.add(span.first, span.pages());
                self.partial_writes += u64::from(span.is_first_partial() || span.is_last_partial());
            }
            HostOp::Trim => {
                self.facts.pages_trimmed += span.pages();
                self.trims += 1;
                let is_whole = |byte: u64| byte.is_multiple_of(self.page_bytes);
                self.shrunk_trims += u64::from(!(is_whole(record.offset) && is_whole(record.end())));
            }
            HostOp::Flush => return Ok(()),
        }
        self.longest_pages = self.longest_pages.max(span.pages());
        if record.end() > self.facts.span_bytes {
            self.facts.span_bytes = record.end();
            self.highest = Some((self.facts.requests, *record));
        }
        self.touched.as_mut().map_or(Ok(()), |touched| touched.touch(span, self.limit))
    }

    /// The survey of a workload of this name and format, of which is known what the reader says;
    /// `shift_bytes` are added to every address.
    pub(crate) fn finish(mut self, name: &str, format: &str, reader: Vec<String>, shift_bytes: u64) -> Survey {
        let span_pages = match &self.touched {
            Some(touched) => touched.len(),
            None => self.facts.span_bytes.div_ceil(self.page_bytes),
        };
        self.facts.name = name.into();
        self.facts.format = format.into();
        self.facts.facts = reader;
        self.facts.facts.extend(self.sentences());
        if let Some(suspicions) = &self.suspicions {
            self.facts.misalignment = suspicions.misalignment(shift_bytes);
            self.facts.repeated = suspicions.repeats();
        }
        let (unwritten, read_or_written) =
            self.written.map(|written| (written.found, (written.pages | written.read).into())).unzip();
        let live = self.live.or(read_or_written);
        let WorkloadFacts { requests, pages_written, .. } = self.facts;
        let are_single = self.longest_pages == 1 && [self.writes, pages_written] == [requests; 2];
        Survey {
            facts: self.facts,
            span_pages,
            highest: self.highest,
            longest_pages: self.longest_pages,
            pages_per_write: if pages_written > 0 { self.squares / pages_written as f64 } else { 1.0 },
            write_sizes: self.sizes.finish(),
            writes_pages_alone: self.partial_writes + self.hinted == 0 && are_single,
            touched: self.touched.map(Arc::new),
            unwritten,
            live,
        }
    }

    fn sentences(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        if let Some(touched) = &self.touched {
            sentences.push(format!(
                "addresses are dense: the {} pages touched are renumbered by first access, so spatial locality may be lost",
                touched.len()
            ));
        }
        if self.partial_writes > 0 {
            sentences.push(format!(
                "{} of {} writes cover pages of {} bytes in part: the rest of such a page is read first",
                self.partial_writes, self.writes, self.page_bytes
            ));
        }
        if self.shrunk_trims > 0 {
            sentences.push(format!(
                "{} of {} trims cover pages in part: only pages covered whole are forgotten",
                self.shrunk_trims, self.trims
            ));
        }
        sentences
    }
}
/// What is done to the device before measuring, and why. `unwritten` is what the survey found,
/// where it was asked to look.
pub(crate) fn choose(
    asked: Precondition,
    in_use: Option<InUse>,
    unwritten: Option<Unwritten>,
) -> (Precondition, PreconditionChosen) {
    let Unwritten { reads, of_unwritten } = unwritten.unwrap_or_default();
    let (mode, reason) = match asked {
        Precondition::Auto if of_unwritten > 0 => {
            let percent = 100.0 * of_unwritten as f64 / reads as f64;
            let reason = format!(
                "{of_unwritten} of {reads} page reads ({percent:.1} %) are of pages that the workload has not written before, and would cost \
                 nothing on an erased device"
            );
            (Precondition::Fill, Some(reason))
        }
        Precondition::Auto if in_use.is_some() => {
            (Precondition::Fill, Some("run.in_use asks for a device that holds data".to_owned()))
        }
        Precondition::Auto if reads > 0 => (
            Precondition::None,
            Some(format!("each of the {reads} page reads is of a page that the workload has written before")),
        ),
        Precondition::Auto => (Precondition::None, Some("the workload reads no page".to_owned())),
        mode => (mode, None),
    };
    (
        mode,
        PreconditionChosen {
            requested: asked.name(),
            mode: mode.name(),
            reason,
            live_pages: None,
            touched_pages: None,
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_per_write_are_a_mean_over_pages() {
        let mut surveyor = Surveyor::new(4096, false, Precondition::None, Limit::of(None));
        for (op, length) in [(HostOp::Write, 4096), (HostOp::Write, 12_288), (HostOp::Read, 65_536)] {
            surveyor.add(&Record { op, length, ..Record::BLANK }).expect("a survey");
        }
        let pages = surveyor.finish("", "", Vec::new(), 0).pages_per_write;
        assert_eq!(2.5_f64.to_bits(), pages.to_bits(), "{pages}");
    }

    #[test]
    fn only_whole_pages_written_one_by_one_without_hints_are_written_alone() {
        let limit = Limit::of(None);
        let is_alone = |op: HostOp, offset: u64, length: u32, stream: u8| {
            let mut surveyor = Surveyor::new(4096, false, Precondition::None, limit);
            let plain = Record { op: HostOp::Write, length: 4096, ..Record::BLANK };
            for record in [plain, Record { op, offset, length, hint: Hint::of_stream(stream), ..plain }] {
                surveyor.add(&record).expect("a survey");
            }
            surveyor.finish("", "", Vec::new(), 0).writes_pages_alone
        };
        assert!(is_alone(HostOp::Write, 8192, 4096, 0));
        for (op, offset, length, stream) in [
            (HostOp::Read, 8192, 4096, 0),
            (HostOp::Trim, 8192, 4096, 0),
            (HostOp::Flush, 0, 0, 0),
            (HostOp::Write, 8192, 2048, 0),
            (HostOp::Write, 1024, 4096, 0),
            (HostOp::Write, 8192, 8192, 0),
            (HostOp::Write, 8192, 0, 0),
            (HostOp::Write, 8192, 4096, 1),
        ] {
            assert!(!is_alone(op, offset, length, stream), "{op:?} of {length} bytes at {offset}, stream {stream}");
        }
    }
}
