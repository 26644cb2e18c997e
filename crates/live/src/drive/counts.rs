//! What is counted: by the host since the power came on, and everything over the device's life.

use std::ops::Add;

use ftl::{Cause, Media, Note, Op};
use serde::Serialize;

use super::LiveDrive;
use crate::device::LiveDevice;
use crate::image::Counters;

/// What hosts asked for, in requests, pages and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HostCounts {
    /// Requests.
    pub reads: u64,
    /// Requests.
    pub writes: u64,
    /// Requests, those for zeros that became trims included.
    pub trims: u64,
    /// Requests.
    pub flushes: u64,
    /// Bytes.
    pub bytes_read: u64,
    /// Bytes.
    pub bytes_written: u64,
    /// Pages touched by writes: what write amplification is counted by.
    pub pages_written: u64,
}

/// What a request asks for, as it is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// A read.
    Read,
    /// A write, or zeros that become one.
    Write,
    /// A trim, or zeros that become one.
    Trim,
    /// Something that is counted elsewhere or not at all.
    Other,
}

impl Add for HostCounts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            reads: self.reads + other.reads,
            writes: self.writes + other.writes,
            trims: self.trims + other.trims,
            flushes: self.flushes + other.flushes,
            bytes_read: self.bytes_read + other.bytes_read,
            bytes_written: self.bytes_written + other.bytes_written,
            pages_written: self.pages_written + other.pages_written,
        }
    }
}

impl LiveDrive {
    /// A request begins. It may be served in several pieces; what these move is counted with them.
    pub fn count(&mut self, asked: Asked) {
        match asked {
            Asked::Read => self.counts.reads += 1,
            Asked::Write => self.counts.writes += 1,
            Asked::Trim => self.counts.trims += 1,
            Asked::Other => {}
        }
    }

    /// Counts over the device's life, up to now.
    pub fn life(&self) -> Counters {
        let mut life = self.before.clone();
        add(&mut life, &tallied(self.media()));
        let HostCounts { reads, writes, trims, flushes, bytes_read, bytes_written, pages_written } = self.counts;
        let host = [
            ("host_reads", reads),
            ("host_writes", writes),
            ("host_trims", trims),
            ("host_flushes", flushes),
            ("host_bytes_read", bytes_read),
            ("host_bytes_written", bytes_written),
            ("host_pages_written", pages_written),
        ];
        add(&mut life, &host.map(|(name, count)| (name.to_owned(), count)).into());
        life
    }
}

/// Operations by cause and events, by the names that results have.
fn tallied(media: &Media<LiveDevice>) -> Counters {
    let tally = media.tally();
    let operations = Cause::ALL.iter().flat_map(|&cause| Op::ALL.iter().map(move |&op| (cause, op)));
    let operations = operations.map(|(cause, op)| (format!("{}_{}s", cause.name(), op.name()), tally.count(cause, op)));
    let notes = Note::ALL.iter().map(|&note| (note.name().to_owned(), tally.note(note)));
    operations.chain(notes).filter(|(_, count)| *count > 0).collect()
}

fn add(life: &mut Counters, more: &Counters) {
    for (name, count) in more {
        *life.entry(name.clone()).or_default() += count;
    }
}
