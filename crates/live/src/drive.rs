//! A logical device of bytes over a translation layer of pages.
//!
//! It turns byte ranges into whole requests, completes pages that a write covers in part (read-modify-write, under that cause),
//! and knows which pages surely hold nothing. It serves one request at a time and knows nothing of clients.
//!
//! **Zeroes.** A page that was trimmed reads as zeros, so zeroing whole pages trims them. But a trim lasts only from the next
//! flush on, and until then a power cut may bring back something older than the last write; a host that zeroes expects either the
//! last write or zeros. So zeroing that may leave holes is a trim and a flush of the translation layer, and other zeroing
//! writes zeros.
//!
//! **What reads as zeros** is known cautiously: after a start, every page of which a tag exists may hold data. A read that
//! finds nothing corrects that.

use std::collections::BTreeMap;
use std::ops::Add;

use bytes::Bytes;
use flash::{FaultPlan, Flash, FlashError, Lpn, Pbn};
use ftl::{Cause, Ftl, FtlError, Media, Nanos, Note, Op, Request, registry};
use serde::Serialize;

use crate::LiveError;
use crate::device::{LiveDevice, SwitchedOn, switch_on};
use crate::image::{Counters, Description, Findings, Image};

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
            FtlError::Flash { error: FlashError::Violation(_), .. } | FtlError::OutOfSpace { .. } => {
                Self::Bug(error.to_string())
            }
            _ if error.is_power_cut() => Self::NoPower,
            FtlError::Flash { .. } => Self::Unreadable,
        }
    }
}

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

/// How a drive is switched on.
#[derive(Clone, Debug, Default)]
pub struct DriveOptions {
    /// Whether operations take the time of the modelled device.
    pub modelled: bool,
    /// Faults to come.
    pub plan: FaultPlan,
    /// Whether to serve what is left of a damaged image.
    pub accept_damage: bool,
}

/// A device that is switched on.
pub struct Drive {
    description: Description,
    /// None only while the power is being restored.
    media: Option<Media<LiveDevice>>,
    ftl: Box<dyn Ftl<LiveDevice>>,
    page_bytes: usize,
    /// A bit for each logical page: whether it may hold data.
    may_hold: Vec<u64>,
    zeros: Bytes,
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

impl Drive {
    /// Switches an image on and brings its translation layer back, from its tags.
    pub fn start(image: Image, options: DriveOptions) -> Result<Self, LiveError> {
        let SwitchedOn { device, description, geometry, findings, is_new } =
            switch_on(image, options.accept_damage, options.plan.clone(), options.modelled)?;
        let store = device.chip.chip().store();
        let before = store.counters().clone();
        let mut may_hold = vec![0_u64; (description.logical_pages as usize).div_ceil(64)];
        for lpn in store.logical_numbers().filter(|&lpn| lpn < description.logical_pages) {
            may_hold[lpn as usize / 64] |= 1 << (lpn % 64);
        }
        let layout = description.layout(&device.chip);
        let mut media = Media::new(device);
        let ftl = if is_new {
            registry::create(&description.ftl, &description.settings, &layout)?
        } else {
            registry::recover(&description.ftl, &description.settings, &layout.in_use(), &mut media)?
        };
        let page_bytes = geometry.page_size_bytes() as usize;
        Ok(Self {
            description,
            media: Some(media),
            ftl,
            page_bytes,
            may_hold,
            zeros: vec![0; page_bytes].into(),
            counts: HostCounts::default(),
            earlier: HostCounts::default(),
            before,
            plan: options.plan,
            operations_before: 0,
            findings,
        })
    }

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

    /// Bytes of a page.
    pub fn page_bytes(&self) -> usize {
        self.page_bytes
    }

    /// What hosts asked for since the power came on, as what the flash did is counted.
    pub fn counts(&self) -> &HostCounts {
        &self.counts
    }

    /// What hosts asked for since the drive was started, over power cuts.
    pub fn served(&self) -> HostCounts {
        self.earlier + self.counts
    }

    /// The door to the flash, to look at.
    pub fn media(&self) -> &Media<LiveDevice> {
        self.media.as_ref().unwrap_or_else(|| unreachable!("the device is always behind a door between requests"))
    }

    /// The translation layer, to look at.
    pub fn ftl(&self) -> &dyn Ftl<LiveDevice> {
        &*self.ftl
    }

    fn parts(&mut self) -> (&mut Media<LiveDevice>, &mut dyn Ftl<LiveDevice>) {
        let media = self.media.as_mut();
        (media.unwrap_or_else(|| unreachable!("the device is always behind a door between requests")), &mut *self.ftl)
    }

    /// A request begins.
    pub fn begin(&mut self, at: Nanos) {
        self.parts().0.begin(at);
    }

    /// When the request's last operation was done, in the modelled device's time.
    pub fn now(&self) -> Nanos {
        self.media().now()
    }

    /// Reads bytes that lie on the device: pieces in order, an empty one for a whole page of nothing.
    pub fn read(&mut self, offset: u64, length: u32) -> Result<Vec<Piece>, DriveError> {
        self.counts.reads += 1;
        self.counts.bytes_read += u64::from(length);
        let span = self.span(offset, length);
        if span.pages == 0 {
            return Ok(Vec::new());
        }
        let pages = self.read_pages(span.first, span.pages)?;
        let mut pieces = Vec::with_capacity(pages.len());
        let last = pages.len() - 1;
        for (i, page) in pages.into_iter().enumerate() {
            let from = if i == 0 { span.head } else { 0 };
            let until = if i == last { span.tail } else { self.page_bytes };
            pieces.push(if page.is_empty() {
                Piece::Zeros(until - from)
            } else {
                Piece::Data(page.slice(from..until))
            });
        }
        Ok(pieces)
    }

    /// Writes bytes that lie on the device.
    pub fn write(&mut self, offset: u64, data: &Bytes) -> Result<(), DriveError> {
        let span = self.span(offset, data.len() as u32);
        self.counts.writes += 1;
        self.counts.bytes_written += data.len() as u64;
        self.counts.pages_written += u64::from(span.pages);
        if span.pages == 0 {
            return Ok(());
        }
        let mut pages = Vec::with_capacity(span.pages as usize);
        for i in 0..span.pages as usize {
            // Where the page begins in the data; before their beginning for a page that is covered from its middle on.
            let begin = (i * self.page_bytes) as i64 - span.head as i64;
            let end = begin + self.page_bytes as i64;
            let covered = data.slice(begin.max(0) as usize..(end as usize).min(data.len()));
            if covered.len() == self.page_bytes {
                pages.push(covered);
            } else {
                pages.push(self.complete(span.first + i as u32, (-begin).max(0) as usize, &covered)?);
            }
        }
        let (media, ftl) = self.parts();
        ftl.write(media, &Request { arrival: media.now(), ..Request::new(Lpn::new(span.first), span.pages) }, &pages)?;
        self.mark(span.first, span.pages, true);
        Ok(())
    }

    /// Forgets pages that lie whole in the range; the rest of the range stays as it is.
    pub fn trim(&mut self, offset: u64, length: u32) -> Result<(), DriveError> {
        self.counts.trims += 1;
        let (first, pages) = self.whole_pages(offset, length);
        self.trim_pages(first, pages)
    }

    /// Makes a range read as zeros, through trims if holes are allowed.
    pub fn write_zeroes(&mut self, offset: u64, length: u32, may_leave_holes: bool) -> Result<(), DriveError> {
        let (first, pages) = self.whole_pages(offset, length);
        if !may_leave_holes || pages == 0 {
            return self.write(offset, &self.zeros_of(length as usize));
        }
        let page_bytes = self.page_bytes as u64;
        let (begin, end) = (u64::from(first) * page_bytes, u64::from(first + pages) * page_bytes);
        let (before, after) = ((begin - offset) as usize, (offset + u64::from(length) - end) as usize);
        if before > 0 {
            self.write(offset, &self.zeros_of(before))?;
        }
        if after > 0 {
            self.write(end, &self.zeros_of(after))?;
        }
        self.counts.trims += 1;
        self.trim_pages(first, pages)?;
        let (media, ftl) = self.parts();
        Ok(ftl.flush(media)?)
    }

    /// Everything acknowledged so far survives: the translation layer's buffers are written, and the image reaches the disk.
    pub fn flush(&mut self) -> Result<(), DriveError> {
        self.counts.flushes += 1;
        self.sync()
    }

    fn sync(&mut self) -> Result<(), DriveError> {
        let counters = self.life();
        let (media, ftl) = self.parts();
        match ftl.flush(media) {
            Ok(()) | Err(FtlError::ReadOnly { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let store = media.device_mut().chip.chip_mut().store_mut();
        store.sync(counters);
        if store.failure().is_some() { Err(DriveError::NoPower) } else { Ok(()) }
    }

    /// Offers idle time; returns whether anything was done with it.
    pub fn idle(&mut self, budget: Nanos) -> Result<bool, DriveError> {
        let (media, ftl) = self.parts();
        let before = media.event_hash();
        ftl.idle(media, budget)?;
        Ok(media.event_hash() != before)
    }

    /// Whether pages surely read as zeros: runs of (bytes, whether they do) that cover the range, at most `most` of them.
    pub fn status(&self, offset: u64, length: u32, most: usize) -> Vec<(u32, bool)> {
        let mut runs: Vec<(u32, bool)> = Vec::new();
        let end = offset + u64::from(length);
        let mut at = offset;
        while at < end {
            let page = at / self.page_bytes as u64;
            let until = ((page + 1) * self.page_bytes as u64).min(end);
            let is_hole = !self.may_hold(page as u32);
            let bytes = (until - at) as u32;
            let count = runs.len();
            match runs.last_mut() {
                Some((run, hole)) if *hole == is_hole => *run += bytes,
                _ if count == most => break,
                _ => runs.push((bytes, is_hole)),
            }
            at = until;
        }
        runs
    }

    /// Switches off in good order.
    pub fn stop(&mut self) -> Result<(), DriveError> {
        let result = self.sync();
        let counters = self.life();
        let store = self.parts().0.device_mut().chip.chip_mut().store_mut();
        if result.is_ok() {
            store.close(counters);
        }
        let failed = store.failure().is_some();
        result.and(if failed { Err(DriveError::NoPower) } else { Ok(()) })
    }

    /// Adds a fault, at the operation that comes after so many others.
    pub fn inject(&mut self, after: u64, fault: flash::Fault) {
        let chip = &mut self.parts().0.device_mut().chip;
        chip.inject(after, fault);
        let at = chip.operation().saturating_add(after);
        self.plan.at.insert(self.operations_before.saturating_add(at), fault);
    }

    /// Whether the flash has power.
    pub fn is_powered(&self) -> bool {
        let chip = &self.media().device().chip;
        chip.is_powered() && chip.chip().store().failure().is_none()
    }

    /// Why the disk under the image can keep nothing more, if that is so.
    pub fn disk_failure(&self) -> Option<&str> {
        self.media().device().chip.chip().store().failure()
    }

    /// Turns the power on again and brings the translation layer back, from its tags. Planned faults stay planned.
    pub fn restore_power(&mut self) -> Result<(), LiveError> {
        self.before = self.life();
        self.earlier = self.served();
        self.counts = HostCounts::default();
        let media =
            self.media.take().unwrap_or_else(|| unreachable!("the device is always behind a door between requests"));
        let mut device = media.into_device();
        self.operations_before += device.chip.operation();
        let before = self.operations_before;
        let rest = self.plan.at.range(before..).map(|(&at, &fault)| (at - before, fault)).collect();
        device.chip.restore_power(FaultPlan { at: rest });
        let layout = self.description.layout(&device.chip).in_use();
        let mut media = Media::new(device);
        let recovered = registry::recover(&self.description.ftl, &self.description.settings, &layout, &mut media);
        self.media = Some(media);
        self.ftl = recovered?;
        Ok(())
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

    /// Erases of each good block.
    pub fn erase_counts(&self) -> Vec<u32> {
        let chip = &self.media().device().chip;
        let good = |pbn: &Pbn| !chip.is_bad(*pbn);
        (0..chip.geometry().blocks()).map(Pbn::new).filter(good).map(|pbn| chip.erase_count(pbn)).collect()
    }

    fn read_pages(&mut self, first: u32, pages: u32) -> Result<Vec<Bytes>, DriveError> {
        let mut out = vec![Bytes::new(); pages as usize];
        let (media, ftl) = self.parts();
        ftl.read(media, &Request { arrival: media.now(), ..Request::new(Lpn::new(first), pages) }, &mut out)?;
        for (lpn, _) in (first..).zip(&out).filter(|(_, page)| page.is_empty()) {
            self.may_hold[lpn as usize / 64] &= !(1 << (lpn % 64));
        }
        Ok(out)
    }

    /// A page that is to hold `covered` from a byte on, and for the rest what it holds now.
    fn complete(&mut self, lpn: u32, from: usize, covered: &[u8]) -> Result<Bytes, DriveError> {
        let mut old = [Bytes::new()];
        let (media, ftl) = self.parts();
        let request = Request { arrival: media.now(), ..Request::new(Lpn::new(lpn), 1) };
        media.because(Cause::ReadModifyWrite, |media| ftl.read(media, &request, &mut old))?;
        let [old] = old;
        let mut page = if old.is_empty() { vec![0; self.page_bytes] } else { old.to_vec() };
        page[from..from + covered.len()].copy_from_slice(covered);
        Ok(page.into())
    }

    fn trim_pages(&mut self, first: u32, pages: u32) -> Result<(), DriveError> {
        if pages > 0 {
            let (media, ftl) = self.parts();
            ftl.trim(media, &Request { arrival: media.now(), ..Request::new(Lpn::new(first), pages) })?;
            self.mark(first, pages, false);
        }
        Ok(())
    }

    fn zeros_of(&self, length: usize) -> Bytes {
        if length <= self.page_bytes { self.zeros.slice(..length) } else { vec![0; length].into() }
    }

    fn span(&self, offset: u64, length: u32) -> PageSpan {
        let page_bytes = self.page_bytes as u64;
        if length == 0 {
            return PageSpan { first: 0, pages: 0, head: 0, tail: 0 };
        }
        let last = offset + u64::from(length) - 1;
        let (first, last_page) = (offset / page_bytes, last / page_bytes);
        PageSpan {
            first: first as u32,
            pages: (last_page - first + 1) as u32,
            head: (offset % page_bytes) as usize,
            tail: (last % page_bytes) as usize + 1,
        }
    }

    /// First page and number of the pages that lie whole in a range.
    fn whole_pages(&self, offset: u64, length: u32) -> (u32, u32) {
        let page_bytes = self.page_bytes as u64;
        let first = offset.div_ceil(page_bytes);
        let end = (offset + u64::from(length)) / page_bytes;
        (first as u32, end.saturating_sub(first) as u32)
    }

    fn may_hold(&self, lpn: u32) -> bool {
        self.may_hold[lpn as usize / 64] >> (lpn % 64) & 1 == 1
    }

    fn mark(&mut self, first: u32, pages: u32, may_hold: bool) {
        for lpn in first..first + pages {
            let (word, bit) = (&mut self.may_hold[lpn as usize / 64], 1 << (lpn % 64));
            if may_hold { *word |= bit } else { *word &= !bit }
        }
    }
}

/// A part of what was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Bytes of a page.
    Data(Bytes),
    /// So many bytes of a page that holds nothing.
    Zeros(usize),
}

impl Piece {
    /// Bytes.
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
}

/// Pages that a byte range touches.
struct PageSpan {
    first: u32,
    pages: u32,
    /// Where the range begins in its first page.
    head: usize,
    /// Where it ends in its last page.
    tail: usize,
}

/// Operations by cause and events, by the names that results have.
fn tallied(media: &Media<LiveDevice>) -> Counters {
    let tally = media.tally();
    let operations = Cause::ALL.iter().flat_map(|&cause| Op::ALL.iter().map(move |&op| (cause, op)));
    let operations = operations.map(|(cause, op)| (format!("{}_{}s", cause.name(), op.name()), tally.count(cause, op)));
    let notes = Note::ALL.iter().map(|&note| (note.name().to_owned(), tally.note(note)));
    operations.chain(notes).filter(|(_, count)| *count > 0).collect()
}

fn add(life: &mut Counters, more: &BTreeMap<String, u64>) {
    for (name, count) in more {
        *life.entry(name.clone()).or_default() += count;
    }
}
