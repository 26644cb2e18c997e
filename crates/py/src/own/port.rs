//! The flash port for the time of one call of a translation layer in Python, whatever the device.
//!
//! Data of the host never reach Python: a page in hand is a number by which the port finds it
//! again. The port of the call in hand lies in a scoped variable of the thread, so a `Flash` that
//! Python keeps beyond the call finds none and says so.
//!
//! Batches do what the same operations do one after the other. Pages that are read or programmed in
//! a batch start at the same moment, as the pages of a request do.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flash::{Flash, Page, Pbn, Ppn, Role, Scan};
use ftl::port::flash_port::Foreground;
use ftl::{Cause, Content, Device, FlashPort, FtlError, Label, Nanos};
use scoped_tls_hkt::scoped_thread_local;

scoped_thread_local!(pub(super) static mut PORT: for<'a> &'a mut (dyn Port + 'a));

/// A page in hand: how Python names what was read, or what the host writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InHand {
    /// What its tag says.
    pub(super) label: Label,
    /// The call in which it is in hand.
    call: u64,
    /// Its number among the pages of that call.
    number: usize,
}

/// A program of a batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Program {
    pub(super) ppn: Ppn,
    pub(super) label: Label,
    pub(super) page: InHand,
}

/// What a call may do to flash. Batches count in `done` what they have done, whatever comes of
/// them.
pub(super) trait Port {
    fn read(&mut self, ppn: Ppn) -> Result<InHand, FtlError>;
    /// The bytes of the scheme's own in a page that has just been read or scanned.
    fn bytes(&self, ppn: Ppn) -> Option<Arc<[u8]>>;
    /// Programs a page in hand; false if it is one of another call.
    fn program(&mut self, ppn: Ppn, label: Label, page: InHand) -> Result<bool, FtlError>;
    /// Copies a page under its label, or what says that it is lost if it cannot be read.
    fn copy(&mut self, from: Ppn, to: Ppn) -> Result<(), FtlError>;
    /// Reads pages, where there are any; adds each to `done`.
    fn read_many(&mut self, ppns: &[Option<Ppn>], done: &mut Vec<Option<InHand>>) -> Result<(), FtlError>;
    /// Programs pages in hand, up to one of another call; false if there is such a one.
    fn program_many(&mut self, programs: &[Program], done: &mut usize) -> Result<bool, FtlError>;
    /// Copies pages, each to the page beside it.
    fn copy_many(&mut self, copies: &[(Ppn, Ppn)], done: &mut usize) -> Result<(), FtlError>;
    fn program_bytes(&mut self, ppn: Ppn, label: Label, bytes: &[u8]) -> Result<(), FtlError>;
    fn erase(&mut self, pbn: Pbn) -> Result<(), FtlError>;
    fn scan(&mut self, ppn: Ppn) -> Result<Scan, FtlError>;
    fn retire(&mut self, pbn: Pbn);
    fn next_page(&self, pbn: Pbn) -> u32;
    fn erase_count(&self, pbn: Pbn) -> u32;
    fn is_bad(&self, pbn: Pbn) -> bool;
    fn estimate_read(&self, ppn: Ppn) -> Nanos;
    /// Charges what follows to a cause, until [`end_cause`](Self::end_cause).
    fn begin_cause(&mut self, cause: Cause);
    fn end_cause(&mut self);
    /// The host does not wait for what follows, until [`end_background`](Self::end_background).
    fn begin_background(&mut self);
    fn end_background(&mut self);
}

/// What a page in hand holds.
enum Held<D> {
    /// What the host writes.
    New(D),
    /// What was read.
    Read(Page<D>),
}

/// The pages in hand of a call.
struct PagesInHand<D> {
    /// The number of the call among all of the process.
    call: u64,
    pages: Vec<Held<D>>,
}

impl<D: Clone> PagesInHand<D> {
    fn hold(&mut self, label: Label, page: Held<D>) -> InHand {
        self.pages.push(page);
        InHand { label, call: self.call, number: self.pages.len() - 1 }
    }

    fn held(&self, page: InHand) -> Option<&Held<D>> {
        self.pages.get(page.number).filter(|_| page.call == self.call)
    }

    /// What to program; none of a page of another call.
    fn content(&self, page: InHand) -> Option<Content<D>> {
        Some(match self.held(page)? {
            Held::New(data) => Content::New(data.clone()),
            Held::Read(page) => Content::Copy(page.clone()),
        })
    }
}

/// The port during one call.
pub(super) struct Call<'a, D: Device> {
    flash: &'a mut FlashPort<D>,
    in_hand: PagesInHand<D::Data>,
    causes: Vec<Cause>,
    foregrounds: Vec<Foreground>,
    /// The last operation that failed, for the exception that Python raises of it.
    pub(super) failed: Option<FtlError>,
    /// Blocks that were erased or marked bad.
    pub(super) changed: Vec<Pbn>,
}

impl<'a, D: Device> Call<'a, D> {
    pub(super) fn new(flash: &'a mut FlashPort<D>) -> Self {
        static CALLS: AtomicU64 = AtomicU64::new(0);
        let call = CALLS.fetch_add(1, Ordering::Relaxed);
        Self {
            flash,
            in_hand: PagesInHand { call, pages: Vec::new() },
            causes: Vec::new(),
            foregrounds: Vec::new(),
            failed: None,
            changed: Vec::new(),
        }
    }

    /// Takes a page of the host in hand.
    pub(super) fn take(&mut self, logical: u32, data: D::Data) -> InHand {
        self.in_hand.hold(Label::new(logical, Role::Data), Held::New(data))
    }

    /// What a page in hand holds; none of a page of another call.
    pub(super) fn data(&self, page: InHand) -> Option<D::Data> {
        Some(match self.in_hand.held(page)? {
            Held::New(data) => data.clone(),
            Held::Read(page) => page.data.clone(),
        })
    }

    /// Does an operation for the scheme's own tables: under [`Cause::Mapping`], unless the scheme
    /// has named a cause.
    fn operate_on_tables(
        &mut self,
        operation: impl FnOnce(&mut FlashPort<D>) -> Result<(), FtlError>,
    ) -> Result<(), FtlError> {
        let is_named = !self.causes.is_empty();
        self.operate(|flash, _| if is_named { operation(flash) } else { flash.with_cause(Cause::Mapping, operation) })
    }

    /// Does operations under the cause in force.
    fn operate<R>(
        &mut self,
        operations: impl FnOnce(&mut FlashPort<D>, &mut PagesInHand<D::Data>) -> Result<R, FtlError>,
    ) -> Result<R, FtlError> {
        let Self { flash, in_hand, .. } = self;
        let result = match self.causes.last() {
            Some(&cause) => flash.with_cause(cause, |flash| operations(flash, in_hand)),
            None => operations(flash, in_hand),
        };
        if let Err(error) = &result {
            self.failed = Some(error.clone());
        }
        result
    }
}

/// What the tag of a page says, as far as it is known.
fn label<D: Device>(flash: &FlashPort<D>, ppn: Ppn) -> Label {
    let chip = flash.chip();
    let known = chip.tag(ppn).map(Label::from);
    known.unwrap_or_else(|| Label::new(chip.peek(ppn).unwrap_or_default(), Role::Data))
}

fn read<D: Device>(flash: &mut FlashPort<D>, in_hand: &mut PagesInHand<D::Data>, ppn: Ppn) -> Result<InHand, FtlError> {
    let page = flash.read(ppn)?;
    let label = Label { logical: page.logical, ..label(flash, ppn) };
    Ok(in_hand.hold(label, Held::Read(page)))
}

fn copy<D: Device>(flash: &mut FlashPort<D>, from: Ppn, to: Ppn) -> Result<(), FtlError> {
    let label = label(flash, from);
    let (role, content) = flash.read_for_copy(from, label.role)?;
    flash.put(to, Label { role, ..label }, content)
}

impl<D: Device> Drop for Call<'_, D> {
    /// Background work ends with the call at the latest.
    fn drop(&mut self) {
        while !self.foregrounds.is_empty() {
            self.end_background();
        }
    }
}

impl<D: Device> Port for Call<'_, D> {
    fn read(&mut self, ppn: Ppn) -> Result<InHand, FtlError> {
        self.operate(|flash, in_hand| read(flash, in_hand, ppn))
    }

    fn bytes(&self, ppn: Ppn) -> Option<Arc<[u8]>> {
        self.flash.chip().loaded(ppn)
    }

    fn program(&mut self, ppn: Ppn, label: Label, page: InHand) -> Result<bool, FtlError> {
        let Some(content) = self.in_hand.content(page) else { return Ok(false) };
        self.operate(|flash, _| flash.put(ppn, label, content))?;
        Ok(true)
    }

    fn copy(&mut self, from: Ppn, to: Ppn) -> Result<(), FtlError> {
        self.operate(|flash, _| copy(flash, from, to))
    }

    fn read_many(&mut self, ppns: &[Option<Ppn>], done: &mut Vec<Option<InHand>>) -> Result<(), FtlError> {
        self.operate(|flash, in_hand| {
            flash.in_parallel(ppns, |flash, ppn| {
                done.push(ppn.map(|ppn| read(flash, in_hand, ppn)).transpose()?);
                Ok(())
            })
        })
    }

    fn program_many(&mut self, programs: &[Program], done: &mut usize) -> Result<bool, FtlError> {
        self.operate(|flash, in_hand| {
            let known = programs.iter().map_while(|program| Some((program, in_hand.content(program.page)?)));
            flash.in_parallel(known, |flash, (program, content)| {
                flash.put(program.ppn, program.label, content)?;
                *done += 1;
                Ok::<_, FtlError>(())
            })?;
            Ok(*done == programs.len())
        })
    }

    fn copy_many(&mut self, copies: &[(Ppn, Ppn)], done: &mut usize) -> Result<(), FtlError> {
        self.operate(|flash, _| {
            for &(from, to) in copies {
                copy(flash, from, to)?;
                *done += 1;
            }
            Ok(())
        })
    }

    fn program_bytes(&mut self, ppn: Ppn, label: Label, bytes: &[u8]) -> Result<(), FtlError> {
        self.operate_on_tables(|flash| flash.program_bytes(ppn, label, bytes))
    }

    fn erase(&mut self, pbn: Pbn) -> Result<(), FtlError> {
        self.changed.push(pbn);
        self.operate(|flash, _| flash.erase(pbn))
    }

    fn scan(&mut self, ppn: Ppn) -> Result<Scan, FtlError> {
        let scan = self.operate(|flash, _| flash.scan(ppn))?;
        // What is programmed from now on must look newer than what recovery has seen.
        if let Scan::Programmed(tag) = scan {
            self.flash.continue_after(tag.seq);
        }
        Ok(scan)
    }

    fn retire(&mut self, pbn: Pbn) {
        if !self.is_bad(pbn) {
            self.changed.push(pbn);
            self.flash.retire(pbn);
        }
    }

    fn next_page(&self, pbn: Pbn) -> u32 {
        self.flash.chip().next_page(pbn)
    }

    fn erase_count(&self, pbn: Pbn) -> u32 {
        self.flash.chip().erase_count(pbn)
    }

    fn is_bad(&self, pbn: Pbn) -> bool {
        self.flash.chip().is_bad(pbn)
    }

    fn estimate_read(&self, ppn: Ppn) -> Nanos {
        self.flash.estimate_read(ppn)
    }

    fn begin_cause(&mut self, cause: Cause) {
        self.causes.push(cause);
    }

    fn end_cause(&mut self) {
        self.causes.pop();
    }

    fn begin_background(&mut self) {
        self.foregrounds.push(self.flash.begin_background());
    }

    fn end_background(&mut self) {
        if let Some(foreground) = self.foregrounds.pop() {
            self.flash.end_background(foreground);
        }
    }
}
