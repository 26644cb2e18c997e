//! Several files as one trace: their requests by time, their devices by name.
//!
//! Files may follow each other (one for each hour) or run side by side (one for each volume or
//! processor). Those that name no device are of one device where they follow each other; side by
//! side they could be of one or of several, which nobody can tell, so they are refused.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::PathBuf;

use super::layout::too_many_devices;
use super::source::{LeftOut, Source};
use crate::devices::{Devices, plain};
use crate::error::{TraceError, TracePosition};
use crate::record::Record;

/// What a reader calls the device of a file that names none.
const NAMELESS: &str = "0";

/// Files that are read side by side.
pub(super) struct Merged {
    files: Vec<File>,
    /// The time of the next request of each file that has one, and which file it is.
    order: BinaryHeap<Reverse<(u64, usize)>>,
    devices: Devices,
    /// The file of the request last handed out.
    last: usize,
    latency_ns: u64,
    /// The file without names of devices that is being read.
    nameless: Option<usize>,
    is_begun: bool,
}

struct File {
    path: PathBuf,
    source: Box<dyn Source>,
    /// The next request, and what was subtracted from its completion.
    next: Option<(Record, u64)>,
}

impl Merged {
    pub(super) fn new(files: Vec<(PathBuf, Box<dyn Source>)>) -> Self {
        let files: Vec<File> = files.into_iter().map(|(path, source)| File { path, source, next: None }).collect();
        let order = BinaryHeap::with_capacity(files.len());
        Self { files, order, devices: Devices::default(), last: 0, latency_ns: 0, nameless: None, is_begun: false }
    }

    /// Reads the next request of a file.
    fn advance(&mut self, index: usize) -> Result<(), TraceError> {
        let file = &mut self.files[index];
        file.next = file.source.next()?.map(|record| (record, file.source.latency_ns()));
        if let Some((record, _)) = &file.next {
            self.order.push(Reverse((record.time_ns, index)));
        }
        Ok(())
    }

    /// The number of a file's device among those of all files. Refuses files side by side that name
    /// none.
    fn device(&mut self, index: usize, own: usize) -> Result<u32, TraceError> {
        let name = &self.files[index].source.devices()[own];
        let number = self.devices.number(name.as_bytes(), plain).ok_or_else(|| {
            TraceError::Option(format!("{}: {}", self.files[index].path.display(), too_many_devices().problem))
        })?;
        if name != NAMELESS || self.nameless == Some(index) {
            return Ok(number);
        }
        if let Some(other) = self.nameless.replace(index)
            && self.files[other].next.is_some()
        {
            return Err(TraceError::Option(format!(
                "{} and {} have requests of the same time and name no device, so they may be of one device or of two. Read each by itself, or \
                 add a column with the device to both and name it (--columns)",
                self.files[other].path.display(),
                self.files[index].path.display()
            )));
        }
        Ok(number)
    }
}

impl Source for Merged {
    fn next(&mut self) -> Result<Option<Record>, TraceError> {
        if !std::mem::replace(&mut self.is_begun, true) {
            for index in 0..self.files.len() {
                self.last = index;
                self.advance(index)?;
            }
        }
        let Some(Reverse((_, index))) = self.order.pop() else { return Ok(None) };
        let Some((record, latency_ns)) = self.files[index].next.take() else { return Ok(None) };
        let device = self.device(index, record.device as usize)?;
        (self.last, self.latency_ns) = (index, latency_ns);
        self.advance(index)?;
        Ok(Some(Record { device, ..record }))
    }

    fn latency_ns(&self) -> u64 {
        self.latency_ns
    }

    fn devices(&self) -> &[String] {
        self.devices.names()
    }

    fn left_out(&self) -> LeftOut {
        let mut sum = LeftOut::default();
        self.files.iter().for_each(|file| sum.add(&file.source.left_out()));
        sum
    }

    /// What no file has had.
    fn unmatched(&self) -> Vec<String> {
        let mut clauses = self.files.iter().map(|file| file.source.unmatched());
        let first = clauses.next().unwrap_or_default();
        clauses.fold(first, |common, other| common.into_iter().filter(|clause| other.contains(clause)).collect())
    }

    fn place(&self) -> (TracePosition, String) {
        self.files[self.last].source.place()
    }

    fn remark(&self) -> Option<String> {
        self.files[self.last].source.remark()
    }
}
