//! The flash port for the time of one call of a translation layer in Python, whatever the device.
//!
//! Data of the host never reach Python: a page in hand is a number by which the port finds it
//! again. The port
//! of the call in hand lies in a scoped variable of the thread, so a `Flash` that Python keeps
//! beyond the call finds none and says so.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flash::{Page, Pbn, Ppn, Role, Scan};
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

/// What a call may do to flash.
pub(super) trait Port {
    fn read(&mut self, ppn: Ppn) -> Result<InHand, FtlError>;
    /// The bytes of the scheme's own in a page that has just been read or scanned.
    fn bytes(&self, ppn: Ppn) -> Option<Arc<[u8]>>;
    /// Programs a page in hand; false if it is one of another call.
    fn program(&mut self, ppn: Ppn, label: Label, page: InHand) -> Result<bool, FtlError>;
    /// Copies a page under its label, or what says that it is lost if it cannot be read.
    fn copy(&mut self, from: Ppn, to: Ppn) -> Result<(), FtlError>;
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

/// The port during one call.
pub(super) struct Call<'a, D: Device> {
    flash: &'a mut FlashPort<D>,
    /// Its number among all calls of the process.
    number: u64,
    pages: Vec<Held<D::Data>>,
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
        let number = CALLS.fetch_add(1, Ordering::Relaxed);
        Self {
            flash,
            number,
            pages: Vec::new(),
            causes: Vec::new(),
            foregrounds: Vec::new(),
            failed: None,
            changed: Vec::new(),
        }
    }

    /// Takes a page of the host in hand.
    pub(super) fn take(&mut self, logical: u32, data: D::Data) -> InHand {
        self.hold(Label::new(logical, Role::Data), Held::New(data))
    }

    fn hold(&mut self, label: Label, page: Held<D::Data>) -> InHand {
        self.pages.push(page);
        InHand { label, call: self.number, number: self.pages.len() - 1 }
    }

    /// What the tag of a page says, as far as it is known.
    fn label(&self, ppn: Ppn) -> Label {
        let device = self.flash.device();
        let known = device.tag(ppn).map(Label::from);
        known.unwrap_or_else(|| Label::new(device.peek(ppn).unwrap_or_default(), Role::Data))
    }

    fn held(&self, page: InHand) -> Option<&Held<D::Data>> {
        self.pages.get(page.number).filter(|_| page.call == self.number)
    }

    /// What a page in hand holds; none of a page of another call.
    pub(super) fn data(&self, page: InHand) -> Option<D::Data> {
        Some(match self.held(page)? {
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
        self.operate(|flash| if is_named { operation(flash) } else { flash.with_cause(Cause::Mapping, operation) })
    }

    /// Does an operation under the cause in force.
    fn operate<R>(&mut self, operation: impl FnOnce(&mut FlashPort<D>) -> Result<R, FtlError>) -> Result<R, FtlError> {
        let result = match self.causes.last() {
            Some(&cause) => self.flash.with_cause(cause, operation),
            None => operation(self.flash),
        };
        if let Err(error) = &result {
            self.failed = Some(error.clone());
        }
        result
    }
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
        let page = self.operate(|flash| flash.read(ppn))?;
        Ok(self.hold(Label { logical: page.logical, ..self.label(ppn) }, Held::Read(page)))
    }

    fn bytes(&self, ppn: Ppn) -> Option<Arc<[u8]>> {
        self.flash.device().loaded(ppn)
    }

    fn program(&mut self, ppn: Ppn, label: Label, page: InHand) -> Result<bool, FtlError> {
        let content = match self.held(page) {
            Some(Held::New(data)) => Content::New(data.clone()),
            Some(Held::Read(page)) => Content::Copy(page.clone()),
            None => return Ok(false),
        };
        self.operate(|flash| flash.put(ppn, label, content))?;
        Ok(true)
    }

    fn copy(&mut self, from: Ppn, to: Ppn) -> Result<(), FtlError> {
        let label = self.label(from);
        self.operate(|flash| {
            let (role, content) = flash.read_for_copy(from, label.role)?;
            flash.put(to, Label { role, ..label }, content)
        })
    }

    fn program_bytes(&mut self, ppn: Ppn, label: Label, bytes: &[u8]) -> Result<(), FtlError> {
        self.operate_on_tables(|flash| flash.program_bytes(ppn, label, bytes))
    }

    fn erase(&mut self, pbn: Pbn) -> Result<(), FtlError> {
        self.changed.push(pbn);
        self.operate(|flash| flash.erase(pbn))
    }

    fn scan(&mut self, ppn: Ppn) -> Result<Scan, FtlError> {
        let scan = self.operate(|flash| flash.scan(ppn))?;
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
        self.flash.device().next_page(pbn)
    }

    fn erase_count(&self, pbn: Pbn) -> u32 {
        self.flash.device().erase_count(pbn)
    }

    fn is_bad(&self, pbn: Pbn) -> bool {
        self.flash.device().is_bad(pbn)
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
