//! The canary buffer: a write buffer, first in, first out, in front of any stack, which can be told
//! to break a promise.
//!
//! It tests the suite on buffers, and the room that they have (`ftl::write_buffer`) on every
//! mapping. Like the canary it is not in the registry: `page+canary-buffer:pages=3` is a stack of
//! the suite alone.

use std::collections::VecDeque;

use flash::{Lbn, Lpn, Pbn};
use ftl::write_buffer::policy::{BufferPolicy, BufferRoom, BufferedPage, Victim, no_buffer_of_its_own};
use ftl::{
    BrokenInvariant, Buffered, ConfigError, Device, Drive, FlashPort, Footprint, FtlError, Layout, Mapping, Nanos,
    Part, RelocateOutcome, Request, Settings, Spares, Stack, WearQuery, registry,
};

use crate::case::named::{named, names, value_of};

/// The buffer's name in stacks.
pub const BUFFER: &str = "canary-buffer";

named! {
    /// A bug to plant in the buffer.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum BufferBug {
        /// None: the healthy buffer.
        None = "none",
        /// None, but the policy names pages that do not wait, and blocks beyond the device: that
        /// must do no harm.
        WildPolicy = "wild-policy",
        /// A flush leaves all that wait in RAM.
        Unflushed = "unflushed",
        /// A trim is forgotten while anything waits.
        SparedTrim = "spared-trim",
        /// Pages wait in RAM, and nobody is told.
        Undeclared = "undeclared",
        /// More pages wait in RAM than anybody is told.
        Understated = "understated",
    }
}

/// What stands behind the canary buffer, and the buffer; none for a stack without it.
pub(crate) fn taken_off(stack: &Stack) -> Result<Option<(Stack, Front)>, ConfigError> {
    let Some(Part { settings, .. }) = stack.others.last().filter(|part| part.name == BUFFER) else { return Ok(None) };
    let others = stack.others[..stack.others.len() - 1].to_vec();
    let rest = Stack { mapping: stack.mapping.clone(), others };
    if let Ok(mapping) = registry::entry(&rest.mapping.name) {
        no_buffer_of_its_own(mapping)
            .map_err(|why| ConfigError(format!("{stack}: {BUFFER} cannot work over {}: {why}", mapping.name)))?;
    }
    Ok(Some((rest, Front::chosen(settings)?)))
}

/// The canary buffer as it was asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Front {
    pages: u32,
    bug: BufferBug,
}

impl Front {
    fn chosen(settings: &Settings) -> Result<Self, ConfigError> {
        if let Some(key) = settings.keys().find(|key| *key != "pages" && *key != "bug") {
            return Err(ConfigError(format!("{BUFFER}.{key}: it has no parameter {key}; it has pages and bug")));
        }
        let pages = settings.get("pages").map_or(Ok(3), |text| text.parse());
        let pages = pages.ok().filter(|&pages| pages > 0).ok_or_else(|| {
            ConfigError(format!("{BUFFER}.pages = {}: must be a number of pages, for example 3", settings["pages"]))
        })?;
        let name = settings.get("bug").map_or("none", String::as_str);
        let bug = value_of(&BufferBug::ALL, name)
            .ok_or_else(|| ConfigError(format!("{BUFFER}.bug = {name}: must be one of {}", names(&BufferBug::ALL))))?;
        Ok(Self { pages, bug })
    }

    /// Puts it in front of what was built or recovered.
    pub(crate) fn before<D: Device + 'static>(self, drive: Drive<D>, layout: &Layout) -> Drive<D> {
        let fifo = Fifo { waiting: VecDeque::new(), is_wild: self.bug == BufferBug::WildPolicy };
        let healthy = drive.with_write_buffer(Box::new(fifo), BufferRoom::of(self.pages), layout);
        match self.bug {
            BufferBug::None | BufferBug::WildPolicy => healthy,
            bug => Drive::new(Box::new(Broken { drive: healthy, bug }), &Layout { wear: None, ..layout.clone() }),
        }
    }
}

/// The page that has waited longest leaves, alone.
#[derive(Debug)]
struct Fifo {
    waiting: VecDeque<Lpn>,
    is_wild: bool,
}

impl BufferPolicy for Fifo {
    fn on_inserted(&mut self, page: BufferedPage, _request: &Request) {
        self.waiting.push_back(page.lpn);
    }

    fn on_left(&mut self, page: BufferedPage) {
        self.waiting.retain(|&waiting| waiting != page.lpn);
    }

    fn next_victim(&mut self) -> Victim {
        let oldest = self.waiting.front().copied().unwrap_or(Lpn::new(0));
        match oldest.get() % 4 {
            0 if self.is_wild => Victim::Page(Lpn::new(u32::MAX - 1)),
            1 if self.is_wild => Victim::WholeBlock(Lbn::new(u32::MAX - 1)),
            2 if self.is_wild => Victim::Block(Lbn::new(0)),
            _ => Victim::Page(oldest),
        }
    }

    fn pages(&self) -> u32 {
        self.waiting.len() as u32
    }
}

/// A drive whose write buffer has a bug, in the place of a mapping.
struct Broken<D: Device> {
    drive: Drive<D>,
    bug: BufferBug,
}

impl<D: Device> Mapping<D> for Broken<D> {
    fn read(&mut self, flash: &mut FlashPort<D>, request: &Request, out: &mut [D::Data]) -> Result<(), FtlError> {
        self.drive.read(flash, request, out)
    }

    fn write(&mut self, flash: &mut FlashPort<D>, request: &Request, data: &[D::Data]) -> Result<(), FtlError> {
        self.drive.write(flash, request, data)
    }

    fn trim(&mut self, flash: &mut FlashPort<D>, request: &Request) -> Result<(), FtlError> {
        let spared = self.bug == BufferBug::SparedTrim && self.drive.buffered().pages > 0;
        if spared { Ok(()) } else { self.drive.trim(flash, request) }
    }

    fn flush(&mut self, flash: &mut FlashPort<D>) -> Result<(), FtlError> {
        if self.bug == BufferBug::Unflushed { Ok(()) } else { self.drive.flush(flash) }
    }

    fn idle(&mut self, flash: &mut FlashPort<D>, budget: Nanos) -> Result<(), FtlError> {
        self.drive.idle(flash, budget)
    }

    fn relocate_block(&mut self, flash: &mut FlashPort<D>, pbn: Pbn) -> Result<RelocateOutcome, FtlError> {
        self.drive.relocate_block(flash, pbn)
    }

    fn with_wear_policy(&mut self, query: WearQuery<'_>) {
        self.drive.with_wear_policy(query);
    }

    fn check(&self, flash: &FlashPort<D>) -> Result<(), BrokenInvariant> {
        self.drive.check(flash)
    }

    fn footprint(&self) -> Footprint {
        self.drive.footprint()
    }

    fn spares(&self) -> Spares {
        self.drive.spares()
    }

    fn buffered(&self) -> Buffered {
        let buffered = self.drive.buffered();
        match self.bug {
            BufferBug::Undeclared => Buffered::default(),
            BufferBug::Understated => Buffered { capacity_pages: 1, pages: buffered.pages.min(1), clean_pages: 0 },
            _ => buffered,
        }
    }
}
