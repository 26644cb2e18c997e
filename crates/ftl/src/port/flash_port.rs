//! The only way to the chip.
//!
//! Every flash operation of every scheme passes here: it is counted under its cause, priced, folded
//! into the event hash and given its place on the request's cursor. Operations in a row depend on
//! each other, so the cursor moves to each one's completion; [`FlashPort::in_parallel`] starts
//! several at one moment and goes on when the last is done; [`FlashPort::in_background`] is work
//! that the host does not wait for but that occupies its resources all the same. Scheme code is
//! thus straight-line and knows no clock.
//!
//! Invariant: totals meet at both ends. What the causes add up to is what the flash counted,
//! because there is no other way in.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::Range;

use flash::{CellMode, Flash, FlashError, Geometry, Lpn, MediaEvent, Page, Pbn, Ppn, Role, Scan};

use crate::port::bit_errors::BitErrors;
use crate::port::cause::Cause;
use crate::port::completion::Completion;
use crate::port::device::Device;
use crate::port::error::FtlError;
use crate::port::exposed_pages::ExposedPages;
use crate::port::label::{Content, Label};
use crate::port::ram_pages::RamPages;
use crate::port::tally::{Note, Tally};
use crate::port::timing::{FlashOp, Moment, Nanos, Task, Timing, TracedTask};

mod clock;
pub mod copying;
mod decay;
mod estimates;
mod exposure;
mod host_pages;
mod retyped;

/// The end of what a request has asked for, which a later request may have to wait for.
#[derive(Clone, Copy, Debug)]
pub struct PendingEnd {
    end: Moment,
    /// Which clock it is a moment of: moments of before a restart are over.
    clock: u32,
}

impl PendingEnd {
    /// An end that nobody has to wait for.
    pub const NOTHING: Self = Self { end: Moment::ZERO, clock: 0 };
}

/// What the host waits for, while [background work](FlashPort::begin_background) goes on.
#[derive(Debug)]
#[must_use]
pub struct Foreground {
    cursor: Moment,
    chain: u32,
}

/// A device, and the cursor of the request that is being served.
pub struct FlashPort<D: Device> {
    device: D,
    /// That of the chip: it is asked for at every operation.
    geometry: Geometry,
    ram: RamPages<D::Data>,
    /// What the next operation follows.
    cursor: Moment,
    cause: Cause,
    /// What the relocation of a block is charged to.
    relocation_cause: Cause,
    /// The bit errors of reads, where they cost anything.
    bit_errors: Option<Box<BitErrors>>,
    /// Pages that a power cut would take though their programs have ended, where there are such.
    exposed: Option<Box<ExposedPages>>,
    /// Types of logical pages that their tags do not say yet, where there are such.
    retyped: Option<BTreeMap<u32, u8>>,
    /// Pages added to the request as padding, sorted.
    padding: Vec<Lpn>,
    /// The pages that the request writes in part.
    completion: Completion,
    /// Id of the background job whose operations are issued now; 0 for foreground work.
    chain: u32,
    /// Id of the background job that began last.
    chains: u32,
    tally: Tally,
    /// Ends of the collections of each channel that may not be over.
    collections: Box<[Vec<Moment>]>,
    /// How often the clock was started anew.
    clock: u32,
    /// The first question about time, in words.
    asked_of_time: Cell<Option<&'static str>>,
    seq: u64,
    hash: u64,
}

impl<D: Device> FlashPort<D> {
    /// The port of a device; every operation goes through it.
    pub fn new(device: D) -> Self {
        Self {
            ram: RamPages::default(),
            cursor: Moment::ZERO,
            cause: Cause::Host,
            relocation_cause: Cause::WearLevelling,
            bit_errors: None,
            exposed: device.chip().exposure().cloned().map(|exposure| Box::new(ExposedPages::new(exposure))),
            retyped: None,
            padding: Vec::new(),
            completion: Completion::NONE,
            chain: 0,
            chains: 0,
            tally: Tally::default(),
            collections: vec![Vec::new(); device.chip().geometry().channels() as usize].into(),
            clock: 0,
            asked_of_time: Cell::new(None),
            seq: 0,
            hash: 0,
            geometry: *device.chip().geometry(),
            device,
        }
    }

    /// The device, to look at.
    #[inline]
    pub fn device(&self) -> &D {
        &self.device
    }

    /// For the shell: the device, for what lies below flash operations, such as a store that
    /// reaches its disk.
    #[inline]
    pub fn device_mut(&mut self) -> &mut D {
        &mut self.device
    }

    /// The chip, to look at.
    #[inline]
    pub fn chip(&self) -> &D::Chip {
        self.device.chip()
    }

    /// The shape of the chip.
    #[inline]
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Takes the device out, for recovery to start afresh on it.
    pub fn into_device(self) -> D {
        self.device
    }

    /// Pages that wait in RAM, to look at.
    pub fn ram(&self) -> &RamPages<D::Data> {
        &self.ram
    }

    /// Pages that wait in RAM.
    pub fn ram_mut(&mut self) -> &mut RamPages<D::Data> {
        &mut self.ram
    }

    /// Reads a page, counts the read and moves the cursor to its end.
    #[inline]
    pub fn read(&mut self, ppn: Ppn) -> Result<Page<D::Data>, FtlError> {
        match self.device.chip_mut().read(ppn) {
            // Taken apart: a page built of small fields and then moved as a whole makes the
            // processor wait for the fields to arrive.
            Ok(Page { logical, version, hint, data }) => {
                self.account(FlashOp::Read, self.geometry().block_of(ppn), ppn.get(), false);
                let page = Page { logical, version, hint, data };
                Ok(if self.retyped.is_some() { self.with_new_type(ppn, page) } else { page })
            }
            Err(error) => Err(self.failed(FlashOp::Read, self.geometry().block_of(ppn), ppn.get(), error)),
        }
    }

    /// Marks a block bad for good.
    pub fn retire(&mut self, pbn: Pbn) {
        self.note(Note::BadBlock);
        self.forget_exposed(pbn);
        self.device.chip_mut().mark_bad(pbn);
    }

    /// Chooses the mode of an erased block, until its next erase.
    pub fn set_cell_mode(&mut self, pbn: Pbn, mode: CellMode) -> Result<(), FtlError> {
        let result = self.device.chip_mut().set_cell_mode(pbn, mode);
        result.map_err(|error| self.stop(error))
    }

    /// The pages that a block has in its mode, as indices.
    pub fn pages_in_mode(&self, pbn: Pbn) -> Range<usize> {
        let all = self.geometry().page_indices(pbn);
        match self.device.chip().cell_mode(pbn) {
            CellMode::Native => all,
            CellMode::Pslc => all.start..all.start + self.device.chip().pslc_pages() as usize,
        }
    }

    /// Reads a page in order to move it; none if it cannot be read.
    #[inline]
    pub fn read_to_move(&mut self, ppn: Ppn) -> Result<Option<Page<D::Data>>, FtlError> {
        match self.read(ppn) {
            // Taken apart: see above.
            Ok(Page { logical, version, hint, data }) => Ok(Some(Page { logical, version, hint, data })),
            Err(error) if error.is_uncorrectable() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads a page in order to copy it under a role. One that cannot be read becomes a lost page.
    pub fn read_for_copy(&mut self, ppn: Ppn, role: Role) -> Result<(Role, Content<D::Data>), FtlError> {
        if let Some(page) = self.read_to_move(ppn)? {
            return Ok((role, Content::Copy(page)));
        }
        Ok(self.lost_page())
    }

    /// Notes a page that cannot be read, and returns what takes its place.
    pub fn lost_page(&mut self) -> (Role, Content<D::Data>) {
        self.note(Note::LostPage);
        (Role::Lost, Content::New(D::Data::default()))
    }

    /// Programs a page: new content under a new version, a copy under the version that it has.
    #[inline]
    pub fn put(&mut self, ppn: Ppn, label: Label, content: Content<D::Data>) -> Result<(), FtlError> {
        match content {
            Content::New(data) => self.program(ppn, label, data),
            Content::Hinted(data, hint) => self.program_version(ppn, label, self.seq + 1, hint, false, data),
            Content::Copy(page) => self.program_copy(ppn, label, page),
        }
    }

    /// Programs a page with new content.
    #[inline]
    pub fn program(&mut self, ppn: Ppn, label: Label, data: D::Data) -> Result<(), FtlError> {
        self.program_version(ppn, label, self.seq + 1, 0, false, data)
    }

    /// Programs a page with bytes of the scheme's own.
    pub fn program_bytes(&mut self, ppn: Ppn, label: Label, bytes: &[u8]) -> Result<(), FtlError> {
        self.device.chip_mut().load(ppn, bytes);
        self.program(ppn, label, D::Data::default())
    }

    /// Programs a page with the content of another, and so with its version and its hint.
    #[inline]
    pub fn program_copy(&mut self, ppn: Ppn, label: Label, page: Page<D::Data>) -> Result<(), FtlError> {
        self.program_version(ppn, label, page.version, page.hint, true, page.data)
    }

    #[inline]
    fn program_version(
        &mut self,
        ppn: Ppn,
        label: Label,
        version: u64,
        hint: u8,
        copies: bool,
        data: D::Data,
    ) -> Result<(), FtlError> {
        if !self.padding.is_empty() && self.pads(label.logical) {
            return self
                .with_cause(Cause::Padding, |flash| flash.program_version(ppn, label, version, hint, copies, data));
        }
        if !self.completion.rests.is_empty() {
            self.await_rest(label.logical);
        }
        self.seq += 1;
        let tag = label.tag(self.seq, version, hint);
        match self.device.chip_mut().program(ppn, &tag, data) {
            Ok(()) => {
                self.account(FlashOp::Program, self.geometry().block_of(ppn), ppn.get(), copies);
                if self.exposed.is_some() {
                    self.on_programmed(ppn, label, copies);
                }
                if self.retyped.is_some() {
                    self.tag_is_new(label);
                }
                Ok(())
            }
            Err(error) => Err(self.failed(FlashOp::Program, self.geometry().block_of(ppn), ppn.get(), error)),
        }
    }

    /// Erases a block, counts the erase and moves the cursor to its end. A block that cannot be
    /// erased is an error like any other of flash: its owner retires it.
    #[inline]
    pub fn erase(&mut self, pbn: Pbn) -> Result<(), FtlError> {
        if self.exposed.is_some() {
            self.give_up(pbn)?;
        }
        match self.device.chip_mut().erase(pbn) {
            Ok(()) => {
                self.account(FlashOp::Erase, pbn, pbn.get(), false);
                Ok(())
            }
            Err(error) => Err(self.failed(FlashOp::Erase, pbn, pbn.get(), error)),
        }
    }

    /// Copies a page: a read and the program that waits for it.
    #[inline]
    pub fn copy(&mut self, from: Ppn, to: Ppn, label: Label) -> Result<(), FtlError> {
        let page = self.read(from)?;
        self.program_copy(to, label, page)
    }

    /// Reads a page's tag, whatever state the page is in.
    pub fn scan(&mut self, ppn: Ppn) -> Result<Scan, FtlError> {
        match self.device.chip_mut().scan(ppn) {
            Ok(scan) => {
                self.account(FlashOp::Read, self.geometry().block_of(ppn), ppn.get(), false);
                Ok(scan)
            }
            Err(error) => Err(self.stop(error)),
        }
    }

    /// The sequence number of the last program: the version of what it wrote, if that was new.
    pub fn last_version(&self) -> u64 {
        self.seq
    }

    /// For recovery: programs from now on come after everything that the flash holds.
    pub fn continue_after(&mut self, seq: u64) {
        self.seq = self.seq.max(seq);
        if let Some(exposed) = &mut self.exposed {
            exposed.on_used_device();
        }
    }

    /// Does something for each item, all starting at the same moment; goes on when the last is
    /// done.
    #[inline]
    pub fn in_parallel<I, E>(
        &mut self,
        items: impl IntoIterator<Item = I>,
        mut each: impl FnMut(&mut Self, I) -> Result<(), E>,
    ) -> Result<(), E> {
        let start = self.cursor;
        let mut last = start;
        for item in items {
            self.cursor = start;
            each(self, item)?;
            if self.cursor == start {
                continue;
            }
            // Whatever an item ends with comes after the start.
            last = if last == start { self.cursor } else { self.device.timing_mut().join(last, self.cursor) };
        }
        self.cursor = last;
        Ok(())
    }

    /// Does work that begins now and that the host does not wait for.
    #[inline]
    pub fn in_background<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        let foreground = self.begin_background();
        let result = work(self);
        self.end_background(foreground);
        result
    }

    /// Does background work that begins when an earlier piece of it has ended, or now if it has.
    /// Returns its end, too. Where background work reads ahead, it begins now.
    #[inline]
    pub fn in_background_behind<R>(
        &mut self,
        earlier: PendingEnd,
        work: impl FnOnce(&mut Self) -> R,
    ) -> (R, PendingEnd) {
        let foreground = self.begin_background();
        let timing = self.device.timing();
        if earlier.clock == self.clock && !timing.is_over(earlier.end) && timing.estimate_moves(&[], 0).is_none() {
            self.cursor = earlier.end;
        }
        let result = work(self);
        let end = self.awaited();
        self.end_background(foreground);
        (result, end)
    }

    /// Does background work of idle time, in which the cursor tells how much of that is left.
    pub fn in_idle_time<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        self.in_background(|flash| {
            flash.device.timing_mut().keep_order(flash.chain);
            work(flash)
        })
    }

    /// Does a step of background work that takes so long at most, on idle dies. Where such work
    /// reads ahead it does so within the step, and the cursor is at its end.
    pub fn in_step<R>(&mut self, price: Nanos, work: impl FnOnce(&mut Self) -> R) -> R {
        if !self.reads_ahead() {
            return work(self);
        }
        let until = self.cursor.earliest + price;
        let foreground = self.begin_background();
        let result = work(self);
        let end = self.device.timing_mut().join_programs(self.chain, self.cursor);
        self.end_background(foreground);
        self.cursor = end.no_sooner(until);
        result
    }

    /// Begins work that the host does not wait for, where it cannot be a closure as for
    /// [`in_background`](Self::in_background).
    #[inline]
    pub fn begin_background(&mut self) -> Foreground {
        let foreground = Foreground { cursor: self.cursor, chain: self.chain };
        self.chains = self.chains.wrapping_add(1).max(1);
        self.chain = self.chains;
        foreground
    }

    /// Ends it, and goes back to what the host waits for.
    #[expect(clippy::needless_pass_by_value, reason = "it ends with the background work and cannot be used twice")]
    #[inline]
    pub fn end_background(&mut self, foreground: Foreground) {
        self.device.timing_mut().end_background(self.chain);
        (self.cursor, self.chain) = (foreground.cursor, foreground.chain);
    }

    /// Time passes in the controller, on RAM or registers: what the request does next begins later.
    /// No flash operation, so it counts as none and holds no resource.
    #[inline]
    pub fn spend(&mut self, time: Nanos) {
        self.cursor = self.device.timing_mut().delay(self.cursor, time);
        self.tally.add_controller_time(time);
    }

    /// The request in hand comes over the host link, with this many bytes, and to the controller.
    #[inline]
    pub fn take_command(&mut self, bytes: u64) {
        self.cursor = self.device.timing_mut().take_command(self.cursor, bytes);
    }

    /// This many bytes that the request in hand has read go over the host link.
    #[inline]
    pub fn hand_over(&mut self, bytes: u64) {
        self.cursor = self.device.timing_mut().hand_over(self.cursor, bytes);
    }

    /// The end of all that the request in hand has asked for, for a later request to wait for.
    pub fn awaited(&self) -> PendingEnd {
        PendingEnd { end: self.cursor, clock: self.clock }
    }

    /// What the request does next waits for the end of what an earlier one asked for, too: for room
    /// that it makes.
    pub fn wait_for(&mut self, earlier: PendingEnd) {
        if earlier.clock == self.clock && !self.device.timing().is_over(earlier.end) {
            self.cursor = self.device.timing_mut().wait_beside(self.cursor, earlier.end);
        }
    }

    /// Goes on from an earlier end of the request in hand, which does not wait for what it has
    /// asked for since.
    pub fn go_on_from(&mut self, earlier: PendingEnd) {
        self.cursor = earlier.end;
    }

    /// Charges all operations of some work to a cause; an inner call overrides an outer one.
    #[inline]
    pub fn with_cause<R>(&mut self, cause: Cause, work: impl FnOnce(&mut Self) -> R) -> R {
        let cause = if cause == Cause::WearLevelling { self.relocation_cause } else { cause };
        let before = std::mem::replace(&mut self.cause, cause);
        let result = work(self);
        self.cause = before;
        result
    }

    /// Counts an event that is no flash operation, such as a merge; it is in the results as
    /// `notes.NAME`.
    #[inline]
    pub fn note(&mut self, note: Note) {
        self.tally.add_note(note);
    }

    /// A collection on a channel ends at the cursor. Until then the channel counts as collecting.
    pub fn on_collected(&mut self, channel: u32) {
        let Self { device, collections, cursor, .. } = self;
        let ends = &mut collections[channel as usize];
        ends.retain(|&end| !device.timing().is_over(end));
        ends.push(*cursor);
    }

    /// Whether a collection on a channel is not over.
    pub fn is_collecting(&self, channel: u32) -> bool {
        self.asks("whether a channel is collecting");
        self.collections[channel as usize].iter().any(|&end| !self.device.timing().is_over(end))
    }

    /// What has been done so far.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// A hash of every operation so far, in the order in which they were issued, with its address
    /// and cause: equal runs have equal hashes. Time is not part of it; where a scheme decides by
    /// time, its operations are.
    pub fn event_hash(&self) -> u64 {
        self.hash
    }

    #[inline]
    fn task(&self, op: FlashOp, (pbn, page): (Pbn, u32), copies: bool) -> Task {
        let (die, mode) = (self.geometry().die_of(pbn), self.device.chip().cell_mode(pbn));
        Task { op, cause: self.cause, pbn, page, die, chain: self.chain, copies, mode }
    }

    #[expect(clippy::inline_always, reason = "one more call for every flash operation")]
    #[inline(always)]
    fn account(&mut self, op: FlashOp, pbn: Pbn, address: u32, copies: bool) {
        let page = if op == FlashOp::Erase { 0 } else { address - self.geometry().page(pbn, 0).get() };
        self.account_task(self.task(op, (pbn, page), copies), address);
    }

    /// Accounts for an operation on the page, or the block of an erase, with this number.
    #[expect(clippy::inline_always, reason = "one more call for every flash operation")]
    #[inline(always)]
    fn account_task(&mut self, task: Task, address: u32) {
        let op = task.op;
        self.cursor = self.device.timing_mut().perform(task, self.cursor);
        if self.device.timing().is_traced() {
            self.trace(task, address);
        }
        self.tally.add(task.cause, op, 1);
        self.hash = hash_event(self.hash, op, task.cause, address);
        if self.bit_errors.is_some() {
            self.decay(task, address);
        }
    }

    /// Tells where an operation was done, by the page, or the block of an erase.
    #[cold]
    #[inline(never)]
    fn trace(&mut self, task: Task, address: u32) {
        let Self { device, tally, .. } = self;
        let (ppn, tag, has_failed) = match task.op {
            FlashOp::Read => (Ppn::new(address), None, false),
            FlashOp::Program => {
                let tag = device.chip().tag(Ppn::new(address));
                (Ppn::new(address), tag, tag.is_none())
            }
            FlashOp::Erase => {
                (device.chip().geometry().page(task.pbn, 0), None, device.chip().next_page(task.pbn) != 0)
            }
        };
        device.timing_mut().trace(&TracedTask { task, ppn, tag, has_failed }, tally.notes());
    }

    /// An operation that the flash tried and failed at counts and takes its time like any other;
    /// one that was refused, or came after a power cut, does not.
    #[cold]
    #[inline(never)]
    fn failed(&mut self, op: FlashOp, pbn: Pbn, address: u32, error: FlashError) -> FtlError {
        if matches!(error, FlashError::Media(event) if event != MediaEvent::PowerCut) {
            self.account(op, pbn, address, false);
            if op == FlashOp::Program {
                self.on_program_failed(Ppn::new(address));
            }
        }
        self.stop(error)
    }

    #[cold]
    #[inline(never)]
    fn stop(&self, error: FlashError) -> FtlError {
        FtlError::Flash {
            error,
            cause: self.cause,
            operation: FlashOp::ALL.iter().map(|&op| self.tally.total(op)).sum(),
        }
    }
}

/// The event hash after an operation on the page, or the block of an erase, with this number.
#[inline]
fn hash_event(before: u64, op: FlashOp, cause: Cause, address: u32) -> u64 {
    let event = u64::from(address) | (op as u64) << 32 | (cause as u64) << 34;
    (before.rotate_left(5) ^ event).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}
