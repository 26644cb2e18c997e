//! A drive: a mapping, maybe a wear policy, maybe a write buffer. This is what the shells
//! (simulator, checker, live device) drive.
//!
//! ```text
//!   host ──▶ write buffer ──▶ wear levelling ──▶ mapping ──▶ flash
//! ```
//!
//! Each call of the host passes here once. A mapping knows neither of the two in front of it.

use flash::{Lpn, Pbn};
use host::FileEvent;

use crate::api::layout::Layout;
use crate::api::mapping::{FutureRequest, Mapping, WearQuery, one_by_one};
use crate::api::report::{Buffered, ClassCounts, Footprint, Gauge, Spares};
use crate::api::request::Request;
use crate::api::wear::RelocateOutcome;
use crate::port::device::Device;
use crate::port::error::{BrokenInvariant, FtlError};
use crate::port::flash_port::FlashPort;
use crate::port::timing::Nanos;
use crate::prefetch::{PrefetchStage, announce};
use crate::refresh::refresh;
use crate::wear::levelling::{Backend, WearLevelling};
use crate::write_buffer::policy::{BufferPolicy, BufferRoom};
use crate::write_buffer::write_back::WriteBuffer;

/// A flash translation layer with its wear policy and write buffer. `out` and `data` hold one
/// element a page of the request. It may be moved to another thread.
pub struct Drive<D: Device> {
    mapping: Box<dyn Mapping<D>>,
    wear: Option<WearLevelling>,
    write_buffer: Option<WriteBuffer>,
}

impl<D: Device> Drive<D> {
    /// A drive without a write buffer, whose wear is levelled as the layout says.
    pub fn new(mut mapping: Box<dyn Mapping<D>>, layout: &Layout) -> Self {
        let wear = layout.wear.is_some().then(|| WearLevelling::of(&mut *mapping));
        Self { mapping, wear, write_buffer: None }
    }

    /// The same drive behind an empty write buffer.
    #[must_use]
    pub fn with_write_buffer(mut self, policy: Box<dyn BufferPolicy>, room: BufferRoom, layout: &Layout) -> Self {
        let uses_hints = self.uses_hints();
        Self { write_buffer: Some(WriteBuffer::new(policy, room, layout, uses_hints)), ..self }
    }

    #[inline]
    fn backend(&mut self) -> (Option<&mut WriteBuffer>, Backend<'_, D>) {
        let backend = Backend { mapping: &mut *self.mapping, wear: self.wear.as_ref() };
        (self.write_buffer.as_mut(), backend)
    }

    /// Reads pages; pages never written or trimmed read as `D::Data::default()`.
    #[inline]
    pub fn read(&mut self, flash: &mut FlashPort<D>, request: &Request, out: &mut [D::Data]) -> Result<(), FtlError> {
        match self.backend() {
            (None, backend) => backend.mapping.read(flash, request, out)?,
            (Some(buffer), backend) => {
                buffer.read(backend.mapping, flash, request, out)?;
                buffer.report_policy_failure()?;
            }
        }
        self.refresh(flash)
    }

    /// Refreshes a block if bits decay and one is due.
    #[inline]
    fn refresh(&mut self, flash: &mut FlashPort<D>) -> Result<(), FtlError> {
        if flash.bit_errors().is_some() { refresh(&mut *self.mapping, flash) } else { Ok(()) }
    }

    /// Writes pages. Acknowledged writes are durable but for those that
    /// [`buffered`](Self::buffered) tells of.
    #[inline]
    pub fn write(&mut self, flash: &mut FlashPort<D>, request: &Request, data: &[D::Data]) -> Result<(), FtlError> {
        if let (Some(buffer), mut backend) = self.backend() {
            buffer.write(&mut backend, flash, request, data)?;
            buffer.report_policy_failure()?;
        } else {
            self.mapping.write(flash, request, data)?;
            if let Some(wear) = &self.wear {
                wear.on_write(&mut *self.mapping, flash, request)?;
            }
        }
        self.refresh(flash)
    }

    /// Writes pages one by one; see [`Mapping::write_each`].
    pub fn write_each(&mut self, flash: &mut FlashPort<D>, lpns: &[Lpn]) -> (usize, Result<(), FtlError>) {
        if self.write_buffer.is_none() && self.wear.is_none() && flash.bit_errors().is_none() {
            return self.mapping.write_each(flash, lpns);
        }
        one_by_one(lpns, |at| {
            announce(lpns, at, |&lpn, stage| self.prefetch(flash, &Request::new(lpn, 1), stage));
            flash.begin(Nanos::ZERO);
            self.write(flash, &Request::new(lpns[at], 1), &[D::Data::default()])
        })
    }

    /// Forgets pages: they read as never written. Lasts from the next flush on.
    pub fn trim(&mut self, flash: &mut FlashPort<D>, request: &Request) -> Result<(), FtlError> {
        self.mapping.trim(flash, request)?;
        if let Some(buffer) = &mut self.write_buffer {
            buffer.trim(flash, request);
        }
        self.report_policy_failures()
    }

    /// Makes everything acknowledged survive a power cut.
    pub fn flush(&mut self, flash: &mut FlashPort<D>) -> Result<(), FtlError> {
        if let (Some(buffer), mut backend) = self.backend() {
            buffer.flush(&mut backend, flash)?;
        }
        self.mapping.flush(flash)?;
        self.report_policy_failures()
    }

    /// Ends the run if the wear policy or that of the buffer says that something went wrong in it.
    fn report_policy_failures(&mut self) -> Result<(), FtlError> {
        if let Some(message) = self.wear_failure() {
            return Err(FtlError::Failed { message });
        }
        self.write_buffer.as_mut().map_or(Ok(()), WriteBuffer::report_policy_failure)
    }

    /// What the wear policy says that went wrong in it since it was last asked.
    pub(crate) fn wear_failure(&mut self) -> Option<String> {
        self.wear.as_ref().and_then(|wear| wear.failure(&mut *self.mapping))
    }

    /// Announces a request to come, so that the mapping can ask for the memory that it will touch.
    /// Changes nothing. A shell that knows its requests before they begin calls it three times for
    /// each, each time when it is nearer.
    #[inline]
    pub fn prefetch(&self, flash: &FlashPort<D>, request: &Request, stage: PrefetchStage) {
        self.mapping.prefetch(flash, request, stage);
    }

    /// Whether it decides by what the host will ask, which no real device knows. A shell that does
    /// not know it either must refuse it.
    pub fn needs_future(&self) -> bool {
        self.mapping.needs_future()
    }

    /// Tells a drive that [needs it](Self::needs_future) all that it will be asked from now on,
    /// call by call.
    pub fn set_future(&mut self, requests: &[FutureRequest]) {
        self.mapping.set_future(requests);
    }

    /// Tells what became of a file whose data lie in these pages, with the host's hint for it from
    /// now on. Costs nothing and changes no content.
    pub fn on_file_event(&mut self, event: FileEvent, pages: &Request) {
        if let Some(wear) = &self.wear {
            wear.on_file_event(&mut *self.mapping, event, pages);
        }
        self.mapping.on_file_event(event, pages);
    }

    /// Tells that a file with these pages has another name, with the host's hint for it: their type
    /// is that of the hint from now on, where tags keep types.
    pub fn on_renamed(&mut self, flash: &mut FlashPort<D>, pages: &Request) {
        self.on_file_event(FileEvent::Renamed, pages);
        let mut keeps_types = false;
        self.mapping.with_wear_policy(&mut |policy, _| keeps_types = policy.keeps_file_types());
        if keeps_types && !self.mapping.uses_hints() {
            flash.retype(pages.lpns().map(|(_, lpn)| lpn), pages.hint.file_type());
        }
    }

    /// Whether it decides by how long requests take; see [`Mapping::on_response`].
    pub fn observes_responses(&self) -> bool {
        self.mapping.observes_responses()
    }

    /// Whether what it does depends on time; see [`Mapping::decides_by_time`].
    pub fn decides_by_time(&self) -> bool {
        self.mapping.decides_by_time()
    }

    /// Whether it does anything in idle time.
    pub fn uses_idle_time(&self) -> bool {
        self.mapping.uses_idle_time()
    }

    /// A read or write of the host has ended, so long after it began.
    pub fn on_response(&mut self, request: &Request, response: Nanos) {
        self.mapping.on_response(request, response);
    }

    /// Offers `budget` of idle time for background work, which nobody waits for.
    pub fn idle(&mut self, flash: &mut FlashPort<D>, budget: Nanos) -> Result<(), FtlError> {
        flash.in_idle_time(|flash| self.mapping.idle(flash, budget))?;
        self.report_policy_failures()
    }

    /// Empties a block; see [`Mapping::relocate_block`].
    pub fn relocate_block(&mut self, flash: &mut FlashPort<D>, pbn: Pbn) -> Result<RelocateOutcome, FtlError> {
        self.mapping.relocate_block(flash, pbn)
    }

    /// Whether it empties any block that it is told.
    pub fn relocates_blocks(&self) -> bool {
        self.mapping.relocates_blocks()
    }

    /// Asks the wear policy something, with the facts about all blocks.
    pub fn with_wear_policy(&mut self, query: WearQuery<'_>) {
        self.mapping.with_wear_policy(query);
    }

    /// Whether anything that it does depends on hints.
    pub fn uses_hints(&mut self) -> bool {
        let mut uses = self.mapping.uses_hints();
        self.mapping.with_wear_policy(&mut |policy, _| uses |= policy.uses_hints());
        uses
    }

    /// Checks the numbered invariants. Pure; may take time proportional to the device.
    pub fn check(&self, flash: &FlashPort<D>) -> Result<(), BrokenInvariant> {
        self.mapping.check(flash)?;
        self.write_buffer.as_ref().map_or(Ok(()), |buffer| buffer.check(flash))
    }

    /// Memory that it takes, structure by structure.
    pub fn footprint(&self) -> Footprint {
        let wear = self.wear.iter().flat_map(|wear| wear.tables().iter().copied());
        let footprint = wear.fold(self.mapping.footprint(), |footprint, (name, bytes)| footprint.with(name, bytes, 0));
        self.write_buffer.as_ref().map_or_else(|| footprint.clone(), |buffer| buffer.add_footprint(footprint.clone()))
    }

    /// Blocks that may fail before it becomes read-only.
    #[inline]
    pub fn spares(&self) -> Spares {
        self.mapping.spares()
    }

    /// What acknowledged writes leave in RAM until a flush, and what RAM holds besides.
    pub fn buffered(&self) -> Buffered {
        self.write_buffer.as_ref().map_or_else(|| self.mapping.buffered(), WriteBuffer::buffered)
    }

    /// The most pages of acknowledged writes that a power cut may take: those that wait in RAM, and
    /// those that the device exposes.
    pub fn volatile_pages(&self) -> u32 {
        self.buffered().capacity_pages + self.mapping.exposed_pages()
    }

    /// What was done for each class of pages; see [`Mapping::class_counts`].
    pub fn class_counts(&self) -> &[ClassCounts] {
        self.mapping.class_counts()
    }

    /// Numbers of the parts' own, sampled into the time series.
    pub fn gauges(&self) -> Vec<Gauge> {
        let mut gauges = self.mapping.gauges();
        gauges.extend(self.write_buffer.iter().flat_map(WriteBuffer::gauges));
        gauges
    }
}
