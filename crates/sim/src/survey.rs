//! One look over a workload before anything is simulated: how much it asks, how far it reaches, what was changed in it.
//!
//! Counts are in pages of the device. Nothing is remembered per request; only the dense numbering grows, with the pages
//! touched, and only where it is asked for.

use std::sync::Arc;

use trace::{Op, Record};

use crate::SimError;
use crate::paging::{FirstTouch, PageSpan};
use crate::result::WorkloadFacts;

/// What a survey found.
#[derive(Clone, Debug)]
pub(crate) struct Survey {
    pub(crate) facts: WorkloadFacts,
    /// Pages that the device needs: one past the highest touched, or with the dense numbering as many as are touched.
    pub(crate) span_pages: u64,
    /// The request that reaches highest: its number, counted from 1, and the record.
    pub(crate) highest: Option<(u64, Record)>,
    /// Pages of the longest request.
    pub(crate) longest_pages: u64,
    /// The dense numbering, where asked for.
    pub(crate) touched: Option<Arc<FirstTouch>>,
}

/// Counts records one by one.
pub(crate) struct Surveyor {
    page_bytes: u64,
    touched: Option<FirstTouch>,
    facts: WorkloadFacts,
    highest: Option<(u64, Record)>,
    longest_pages: u64,
    writes: u64,
    partial_writes: u64,
    trims: u64,
    shrunk_trims: u64,
}

impl Surveyor {
    pub(crate) fn new(page_bytes: u64, dense: bool) -> Self {
        Self {
            page_bytes,
            touched: dense.then(FirstTouch::default),
            facts: WorkloadFacts::default(),
            highest: None,
            longest_pages: 0,
            writes: 0,
            partial_writes: 0,
            trims: 0,
            shrunk_trims: 0,
        }
    }

    /// Records so far.
    pub(crate) fn requests(&self) -> u64 {
        self.facts.requests
    }

    pub(crate) fn add(&mut self, record: &Record) -> Result<(), SimError> {
        let span = PageSpan::of(record, self.page_bytes);
        self.facts.requests += 1;
        self.facts.duration_ns = record.time_ns;
        let torn = record.offset % self.page_bytes != 0 || record.end() % self.page_bytes != 0;
        match record.op {
            Op::Read => self.facts.pages_read += span.pages(),
            Op::Write => {
                self.facts.pages_written += span.pages();
                self.writes += 1;
                self.partial_writes += u64::from(torn);
            }
            Op::Trim => {
                self.facts.pages_trimmed += span.pages();
                self.trims += 1;
                self.shrunk_trims += u64::from(torn);
            }
            Op::Flush => return Ok(()),
        }
        self.longest_pages = self.longest_pages.max(span.pages());
        if record.end() > self.facts.span_bytes {
            self.facts.span_bytes = record.end();
            self.highest = Some((self.facts.requests, *record));
        }
        self.touched.as_mut().map_or(Ok(()), |touched| touched.touch(span))
    }

    /// The survey of a workload of this name and format, of which is known what the reader says.
    pub(crate) fn finish(mut self, name: &str, format: &str, reader: Vec<String>) -> Survey {
        let span_pages = match &self.touched {
            Some(touched) => touched.len(),
            None => self.facts.span_bytes.div_ceil(self.page_bytes),
        };
        self.facts.name = name.into();
        self.facts.format = format.into();
        self.facts.facts = reader;
        self.facts.facts.extend(self.sentences());
        Survey {
            facts: self.facts,
            span_pages,
            highest: self.highest,
            longest_pages: self.longest_pages,
            touched: self.touched.map(Arc::new),
        }
    }

    fn sentences(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        if let Some(touched) = &self.touched {
            sentences.push(format!(
                "addresses are dense: the {} pages touched are numbered in order of first touch, so neighbours may be torn apart",
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
