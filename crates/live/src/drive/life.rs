//! Counting what hosts ask for, and everything over the device's life.

use ftl::{Cause, FlashOp, FlashPort, HostOp, Note};

use super::LiveDrive;
use super::counts::HostCounts;
use crate::device::LiveDevice;
use crate::image::Counters;

impl LiveDrive {
    /// A request begins, which asks for this, if for anything that is counted. It may be served in
    /// several pieces; what these move is counted with them, as flushes are.
    pub fn count(&mut self, op: Option<HostOp>) {
        match op {
            Some(HostOp::Read) => self.counts.reads += 1,
            Some(HostOp::Write) => self.counts.writes += 1,
            Some(HostOp::Trim) => self.counts.trims += 1,
            Some(HostOp::Flush) | None => {}
        }
    }

    /// Counts over the device's life, up to now.
    pub fn life(&self) -> Counters {
        let mut life = self.before.clone();
        add(&mut life, &tallied(self.flash()));
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
fn tallied(flash: &FlashPort<LiveDevice>) -> Counters {
    let tally = flash.tally();
    let operations = Cause::ALL.iter().flat_map(|&cause| FlashOp::ALL.iter().map(move |&op| (cause, op)));
    let operations = operations.map(|(cause, op)| (format!("{}_{}s", cause.name(), op.name()), tally.count(cause, op)));
    let notes = Note::ALL.iter().map(|&note| (note.name().to_owned(), tally.note(note)));
    operations.chain(notes).filter(|(_, count)| *count > 0).collect()
}

fn add(life: &mut Counters, more: &Counters) {
    for (name, count) in more {
        *life.entry(name.clone()).or_default() += count;
    }
}
