//! A logical device of bytes over a translation layer of pages.
//!
//! It turns byte ranges into whole requests, completes pages that a write covers in part
//! (read-modify-write, under that cause), and knows which pages surely hold nothing. It serves one
//! request at a time and knows nothing of clients.
//!
//! **Zeroes.** A page that was trimmed reads as zeros, so zeroing whole pages trims them. But a
//! trim lasts only from the next flush on, and until then a power cut may bring back something
//! older than the last write; a host that zeroes expects zeros once it is told so. So zeroing that
//! may leave holes is a trim and a flush of the translation layer, and other zeroing writes zeros:
//! after that, too, a host that was not told yet finds either the last write or zeros.
//!
//! **What reads as zeros** is known cautiously: whenever the power has come on, every page of which
//! a tag exists may hold data, for a trim may be forgotten. A read that finds nothing corrects
//! that.

mod power;
mod requests;
mod switching;

use std::collections::BTreeMap;
use std::ops::Add;

use bytes::Bytes;
use flash::{FaultPlan, Flash, FlashError, Lpn, Pbn};
use ftl::{AnyDevice, Cause, Drive, FlashOp, FlashPort, FtlError, HostOp, Moment, Nanos, Note, PendingEnd, Request};
use serde::Serialize;
use sim::EventTiming;

use crate::image::{Counters, Description, DiskOp, Findings, LiveChip};

/// How a drive is switched on.
#[derive(Clone, Debug, Default)]
pub struct DriveOptions {
    /// Whether operations take the time of the modelled device.
    pub modelled: bool,
    /// Faults to come.
    pub plan: FaultPlan,
    /// Whether to serve a damaged image.
    pub accept_damage: bool,
}

/// A device that is switched on.
pub struct LiveDrive {
    description: Description,
    /// None only while the power is being restored.
    flash: Option<FlashPort<AnyDevice>>,
    /// None only while it is brought back.
    ftl: Option<Drive<AnyDevice>>,
    page_bytes: usize,
    /// A bit for each logical page: whether it may hold data.
    may_hold: Vec<u64>,
    zeros: Bytes,
    /// Pages that are read in place of what the flash holds; while there are any, nothing is
    /// written.
    shown: BTreeMap<u32, Bytes>,
    /// Since the power came on.
    counts: HostCounts,
    /// Since the drive was started, up to when the power came on.
    earlier: HostCounts,
    /// Counts of the device's life before the power came on.
    before: Counters,
    /// Faults planned for operations after the present power-on, counted over all of them.
    plan: FaultPlan,
    operations_before: u64,
    findings: Findings,
}

impl LiveDrive {
    /// What the image is.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// What was odd about the image when it was switched on.
    pub fn findings(&self) -> &Findings {
        &self.findings
    }

    /// Bytes that the host sees.
    pub fn len(&self) -> u64 {
        self.description.logical_bytes()
    }

    /// Never: a device has at least a page.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Size of a page of the image's flash.
    pub fn page_bytes(&self) -> usize {
        self.page_bytes
    }

    /// Logical pages that may hold data: those that were written and not trimmed since.
    pub fn valid_pages(&self) -> u64 {
        self.may_hold.iter().map(|pages| u64::from(pages.count_ones())).sum()
    }

    /// What hosts asked for since the power came on, as what the flash did is counted.
    pub fn counts(&self) -> &HostCounts {
        &self.counts
    }

    /// What hosts asked for since the drive was started, over power cuts.
    pub fn served(&self) -> HostCounts {
        self.earlier + self.counts
    }

    /// The flash port, for reading its counts.
    pub fn flash(&self) -> &FlashPort<AnyDevice> {
        self.flash.as_ref().unwrap_or_else(|| unreachable!("the device has a flash port between requests"))
    }

    /// The chip, to look at.
    pub fn chip(&self) -> &LiveChip {
        self.flash().chip().as_chip()
    }

    fn chip_mut(&mut self) -> &mut LiveChip {
        self.parts().0.device_mut().chip.as_chip_mut()
    }

    /// The translation layer, to look at.
    pub fn ftl(&self) -> &Drive<AnyDevice> {
        self.ftl.as_ref().unwrap_or_else(|| unreachable!("a drive that could not be recovered is not used"))
    }

    fn parts(&mut self) -> (&mut FlashPort<AnyDevice>, &mut Drive<AnyDevice>) {
        match (&mut self.flash, &mut self.ftl) {
            (Some(flash), Some(ftl)) => (flash, ftl),
            _ => unreachable!("the device has a flash port between requests"),
        }
    }

    /// A request begins.
    pub fn begin(&mut self, at: Nanos) {
        self.parts().0.begin(at);
    }

    /// The modelled device's time.
    pub fn now(&self) -> Nanos {
        self.flash().now()
    }

    /// A command comes over the modelled device's link, with this many bytes, and to its
    /// controller. Each piece of its request waits for what is returned.
    pub(crate) fn take_command(&mut self, bytes: u32) -> PendingEnd {
        let flash = self.parts().0;
        flash.take_command(bytes.into());
        flash.awaited()
    }

    /// A piece of a request begins whose command was taken before.
    pub(crate) fn begin_piece(&mut self, at: Nanos, taken: PendingEnd) {
        let flash = self.parts().0;
        flash.begin(at);
        flash.wait_for(taken);
    }

    /// When this many bytes that were read by a moment have gone over the modelled device's link.
    pub(crate) fn hand_over(&mut self, read: Moment, bytes: u32) -> Moment {
        self.parts().0.device_mut().timing.hand_over(read, bytes.into())
    }

    /// When all that the request in hand has asked for, and what ends at `earlier`, will be done in
    /// the modelled device's time.
    pub(crate) fn end_with(&mut self, earlier: Moment) -> Moment {
        let flash = self.parts().0;
        let end = flash.end();
        flash.device_mut().timing.join(earlier, end)
    }

    /// Lets the modelled device's time pass until the request in hand, or the recovery, is done;
    /// returns that moment.
    pub fn wait(&mut self) -> Nanos {
        self.parts().0.wait()
    }

    /// The modelled device, if replies take its time.
    pub(crate) fn modelled(&self) -> Option<&EventTiming> {
        self.flash().device().timing.as_timing()
    }

    /// The modelled device, if replies take its time.
    pub(crate) fn modelled_mut(&mut self) -> Option<&mut EventTiming> {
        self.parts().0.device_mut().timing.as_timing_mut()
    }

    /// A read or write has ended in the modelled device's time, so long after it began.
    pub(crate) fn on_response(&mut self, (offset, length): (u64, u32), response: Nanos) {
        let page_bytes = self.page_bytes() as u64;
        let (first, last) = (offset / page_bytes, (offset + u64::from(length).max(1) - 1) / page_bytes);
        let ftl = self.parts().1;
        if ftl.observes_responses() {
            ftl.on_response(&Request::new(Lpn::new(first as u32), (last - first + 1) as u32), response);
        }
    }

    /// Everything acknowledged so far survives: the translation layer's buffers are written, and
    /// the image reaches the disk.
    pub fn flush(&mut self) -> Result<(), DriveError> {
        self.counts.flushes += 1;
        self.sync()
    }

    fn sync(&mut self) -> Result<(), DriveError> {
        let counters = self.life();
        let (flash, ftl) = self.parts();
        match ftl.flush(flash) {
            Ok(()) | Err(FtlError::ReadOnly { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        // On a read-only device the trims need not last, but what was written must, and cannot.
        let is_left = ftl.buffered().pages > 0;
        let store = self.chip_mut().chip_mut().store_mut();
        store.sync(counters);
        match store.failure() {
            Some(_) => Err(DriveError::NoPower),
            None if is_left => Err(DriveError::ReadOnly),
            None => Ok(()),
        }
    }

    /// Everything done so far outlives this process: to be asked for before anybody is told that it
    /// was done. False if the disk under the image failed.
    pub fn settle(&mut self) -> bool {
        self.chip_mut().chip_mut().store_mut().settle()
    }

    /// Whether the image is only read: what happens to the device happens in memory, and nothing
    /// outlives it.
    pub fn is_read_only(&self) -> bool {
        self.chip().chip().store().is_read_only()
    }

    /// Offers idle time; returns whether anything was done with it. On an image that is only read
    /// nothing is worth doing.
    pub fn idle(&mut self, budget: Nanos) -> Result<bool, DriveError> {
        if self.is_read_only() {
            return Ok(false);
        }
        let (flash, ftl) = self.parts();
        let before = flash.event_hash();
        ftl.idle(flash, budget)?;
        Ok(flash.event_hash() != before)
    }

    /// Switches off in good order.
    pub fn stop(&mut self) -> Result<(), DriveError> {
        let result = self.sync();
        let counters = self.life();
        let store = self.chip_mut().chip_mut().store_mut();
        if result.is_ok() {
            store.close(counters);
        }
        let failed = store.failure().is_some();
        result.and(if failed { Err(DriveError::NoPower) } else { Ok(()) })
    }

    /// Ends a device that has no power: its RAM is lost, and what the flash holds reaches the disk.
    pub fn stop_without_power(&mut self) -> Result<(), DriveError> {
        let counters = self.life();
        let store = self.chip_mut().chip_mut().store_mut();
        store.sync(counters);
        if store.failure().is_some() { Err(DriveError::NoPower) } else { Ok(()) }
    }

    /// Adds a fault, at the operation that comes after this many others.
    pub fn inject(&mut self, after: u64, fault: flash::Fault) {
        let chip = self.chip_mut();
        chip.inject(after, fault);
        let at = chip.operation().saturating_add(after);
        self.plan.at.insert(self.operations_before.saturating_add(at), fault);
    }

    /// Planned faults whose operation has not come yet.
    pub fn faults_to_come(&self) -> usize {
        let done = self.operations_before + self.chip().operation();
        self.plan.at.range(done..).count()
    }

    /// Planned faults whose operation was of another kind than theirs.
    pub fn missed_faults(&self) -> u64 {
        self.chip().missed_faults()
    }

    /// Whether the flash has power.
    pub fn is_powered(&self) -> bool {
        let chip = self.chip();
        chip.is_powered() && chip.chip().store().failure().is_none()
    }

    /// Why the disk under the image can keep nothing more, if that is so.
    pub fn disk_failure(&self) -> Option<&str> {
        self.chip().chip().store().failure()
    }

    /// What was handed to the disk, if the image records that.
    pub fn disk_ops(&self) -> &[DiskOp] {
        self.chip().chip().store().disk_ops()
    }

    /// Erases of each good block.
    pub fn erase_counts(&self) -> Vec<u32> {
        let chip = self.chip();
        let good = |pbn: &Pbn| !chip.is_bad(*pbn);
        (0..chip.geometry().blocks()).map(Pbn::new).filter(good).map(|pbn| chip.erase_count(pbn)).collect()
    }
}

/// What hosts asked for, in requests, pages and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HostCounts {
    /// Read requests.
    pub reads: u64,
    /// Write requests.
    pub writes: u64,
    /// Requests, those for zeros that became trims included.
    pub trims: u64,
    /// Flush requests.
    pub flushes: u64,
    /// Bytes that were read.
    pub bytes_read: u64,
    /// Bytes that were written.
    pub bytes_written: u64,
    /// Pages touched by writes: what write amplification is counted by.
    pub pages_written: u64,
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

/// Why the device did not do as it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DriveError {
    /// A page cannot be read.
    Unreadable,
    /// Too many blocks have failed to write.
    ReadOnly,
    /// The flash has no power, or the disk under the image failed.
    NoPower,
    /// The translation layer is at fault; nothing more should be believed.
    Bug(String),
}

impl From<FtlError> for DriveError {
    fn from(error: FtlError) -> Self {
        match &error {
            FtlError::ReadOnly { .. } => Self::ReadOnly,
            FtlError::Flash { error: FlashError::Violation(_), .. }
            | FtlError::OutOfSpace { .. }
            | FtlError::Failed { .. } => Self::Bug(error.to_string()),
            _ if error.is_power_cut() => Self::NoPower,
            FtlError::Flash { .. } => Self::Unreadable,
        }
    }
}

/// A part of what was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Bytes of a page.
    Data(Bytes),
    /// This many bytes of a page that holds nothing.
    Zeros(usize),
}

impl Piece {
    /// How many bytes it covers.
    pub fn len(&self) -> usize {
        match self {
            Self::Data(data) => data.len(),
            Self::Zeros(length) => *length,
        }
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of pieces in order, which are as many as there is room for.
    pub fn gather(pieces: &[Self], into: &mut [u8]) {
        let mut at = 0;
        for piece in pieces {
            let part = &mut into[at..at + piece.len()];
            match piece {
                Self::Data(data) => part.copy_from_slice(data),
                Self::Zeros(_) => part.fill(0),
            }
            at += piece.len();
        }
    }
}

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
fn tallied(flash: &FlashPort<AnyDevice>) -> Counters {
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
