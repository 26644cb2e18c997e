//! What every mapping is: where logical pages lie on flash, and how room is made for new ones.

use std::fmt;
use std::marker::PhantomData;

use flash::{Lpn, Pbn};
use host::{FileEvent, HostOp};

use crate::api::entry::Entry;
use crate::api::layout::Layout;
use crate::api::parameter::Values;
use crate::api::report::{Buffered, ClassCounts, Footprint, Gauge, Spares};
use crate::api::request::Request;
use crate::api::wear::{BlockFacts, RelocateOutcome, WearPolicy};
use crate::port::device::Device;
use crate::port::error::{BrokenInvariant, ConfigError, FtlError, RecoverError};
use crate::port::flash_port::FlashPort;
use crate::port::timing::Nanos;
use crate::prefetch::{PrefetchStage, announce};

/// A question to a wear policy, with the facts about all blocks.
pub type WearQuery<'a> = &'a mut dyn FnMut(&mut dyn WearPolicy, &dyn BlockFacts);

/// A mapping. `out` and `data` hold one element a page of the request. It may be moved to another
/// thread.
///
/// # Example
///
/// Each page goes behind the last one, and nothing is collected: such a device is written once. A
/// mapping for more than that also moves pages, marks blocks bad and writes trims down at a flush.
///
/// ```
/// # use ftlkit_ftl as ftl;
/// use flash::{Chip, Flash, Full, Lpn, Pbn, Ppn, Role, Scan};
/// use ftl::api::entry::{Capabilities, Memory};
/// use ftl::blocks::manager::BlockManager;
/// use ftl::{
///     BrokenInvariant, ConfigError, Deferred, Device, Entry, FlashPort, Footprint, FtlError,
///     Label, Layout, Mapping, RecoverError, RelocateOutcome, Request, Scheme, Spares, Timed,
///     Untimed, Values, WearQuery,
/// };
///
/// struct Append {
///     map: Vec<Option<Ppn>>,
///     next: u32,
///     blocks: BlockManager,
/// }
///
/// impl Scheme for Append {
///     const ENTRY: Entry = Entry {
///         name: "append",
///         family: "page",
///         source: "an example",
///         capabilities: Capabilities { relocates_blocks: false, ..Capabilities::NONE },
///         memory: Memory::PAGE_MAP,
///         parameters: &[],
///         header: "//! # append: each page behind the last one",
///     };
///
///     fn format(layout: &Layout, _: &Values) -> Result<Self, ConfigError> {
///         let blocks = BlockManager::new(layout, Spares::default());
///         Ok(Self { map: vec![None; layout.logical_pages as usize], next: 0, blocks })
///     }
///
///     fn recover<D: Device>(
///         layout: &Layout,
///         values: &Values,
///         flash: &mut FlashPort<D>,
///     ) -> Result<Self, RecoverError> {
///         let mut recovered = Self::format(&layout.in_use(), values)?;
///         for ppn in (0..layout.geometry.pages()).map(Ppn::new) {
///             let scan = flash.scan(ppn)?;
///             if scan != Scan::Erased {
///                 recovered.next = ppn.get() + 1;
///             }
///             if let Scan::Programmed(tag) = scan {
///                 // Later pages lie behind earlier ones, so the newest copy comes last.
///                 recovered.map[tag.logical as usize] = Some(ppn);
///                 flash.continue_after(tag.seq);
///             }
///         }
///         Ok(recovered)
///     }
/// }
///
/// impl<D: Device> Mapping<D> for Append {
///     fn read(
///         &mut self,
///         flash: &mut FlashPort<D>,
///         request: &Request,
///         out: &mut [D::Data],
///     ) -> Result<(), FtlError> {
///         for (i, lpn) in request.lpns() {
///             // `out` arrives with anything in it, so each page of it is set.
///             out[i] = match self.map[lpn.index()] {
///                 Some(ppn) => flash.read(ppn)?.data,
///                 None => D::Data::default(),
///             };
///         }
///         Ok(())
///     }
///
///     fn write(
///         &mut self,
///         flash: &mut FlashPort<D>,
///         request: &Request,
///         data: &[D::Data],
///     ) -> Result<(), FtlError> {
///         for (i, lpn) in request.lpns() {
///             if self.next == flash.geometry().pages() {
///                 return Err(FtlError::OutOfSpace { wanted: "another page" });
///             }
///             let ppn = Ppn::new(self.next);
///             flash.program(ppn, Label::new(lpn.get(), Role::Data), data[i].clone())?;
///             self.map[lpn.index()] = Some(ppn);
///             self.next += 1;
///         }
///         Ok(())
///     }
///
///     fn trim(&mut self, _: &mut FlashPort<D>, request: &Request) -> Result<(), FtlError> {
///         request.lpns().for_each(|(_, lpn)| self.map[lpn.index()] = None);
///         Ok(())
///     }
///
///     fn flush(&mut self, _: &mut FlashPort<D>) -> Result<(), FtlError> {
///         Ok(())
///     }
///
///     fn relocate_block(
///         &mut self,
///         _: &mut FlashPort<D>,
///         _: Pbn,
///     ) -> Result<RelocateOutcome, FtlError> {
///         Ok(RelocateOutcome::Deferred(Deferred::NotOffered))
///     }
///
///     fn relocates_blocks(&self) -> bool {
///         false
///     }
///
///     fn with_wear_policy(&mut self, query: WearQuery<'_>) {
///         self.blocks.with_wear_policy(None, query);
///     }
///
///     fn check(&self, flash: &FlashPort<D>) -> Result<(), BrokenInvariant> {
///         let mut mapped = self.map.iter().flatten();
///         let empty = mapped.find(|&&ppn| flash.chip().peek(ppn).is_none());
///         BrokenInvariant::unless(empty.is_none(), "I1", || format!("{empty:?} holds nothing"))
///     }
///
///     fn footprint(&self) -> Footprint {
///         Footprint::default().with("page map", 4 * self.map.len() as u64, 0)
///     }
/// }
///
/// let chip = testkit::TestFlash::new(8, 4).chip::<Full<u32>>();
/// let (layout, values) = (Layout::of(&chip, 16, 1), Values::none());
/// let mut flash = FlashPort::new(Timed { chip, timing: Untimed });
/// let mut append = Append::format(&layout, &values)?;
/// append.write(&mut flash, &Request::new(Lpn::new(3), 2), &[7, 8])?;
/// append.write(&mut flash, &Request::new(Lpn::new(3), 1), &[9])?;
///
/// // The power is cut: all is found again.
/// let mut append = Append::recover(&layout, &values, &mut flash)?;
/// let mut out = [1; 3];
/// append.read(&mut flash, &Request::new(Lpn::new(3), 3), &mut out)?;
/// assert_eq!(out, [9, 8, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Mapping<D: Device>: Send {
    /// Reads pages; pages never written or trimmed read as `D::Data::default()`. `out` arrives with
    /// anything in it: set each page.
    fn read(&mut self, flash: &mut FlashPort<D>, request: &Request, out: &mut [D::Data]) -> Result<(), FtlError>;

    /// Writes pages. Acknowledged writes are durable unless the scheme buffers data and says so.
    fn write(&mut self, flash: &mut FlashPort<D>, request: &Request, data: &[D::Data]) -> Result<(), FtlError>;

    /// Writes pages one by one, each as a request of its own without content and hint that begins
    /// at time zero: for a shell without a clock. Returns how many were written, and how it ended.
    fn write_each(&mut self, flash: &mut FlashPort<D>, lpns: &[Lpn]) -> (usize, Result<(), FtlError>) {
        one_by_one(lpns, |at| {
            announce(lpns, at, |&lpn, stage| self.prefetch(flash, &Request::new(lpn, 1), stage));
            flash.begin(Nanos::ZERO);
            self.write(flash, &Request::new(lpns[at], 1), &[D::Data::default()])
        })
    }

    /// Forgets pages: they read as never written. Lasts from the next flush on.
    fn trim(&mut self, flash: &mut FlashPort<D>, request: &Request) -> Result<(), FtlError>;

    /// Makes everything acknowledged survive a power cut. Pages that the host did not write, such
    /// as those that write trims down, are charged to [`Cause::Mapping`](crate::Cause::Mapping).
    fn flush(&mut self, flash: &mut FlashPort<D>) -> Result<(), FtlError>;

    /// Tells of a request to come, so that a scheme can ask for the memory that it will touch.
    /// Changes nothing. A shell that looks ahead says so three times for each request, each time
    /// when it is nearer.
    fn prefetch(&self, _flash: &FlashPort<D>, _request: &Request, _foresight: PrefetchStage) {}

    /// Whether it decides by what the host will ask, which no real device knows. A shell that does
    /// not know it either must refuse it.
    fn needs_future(&self) -> bool {
        false
    }

    /// Tells a scheme that looks ahead all that it will be asked from now on, call by call.
    fn set_future(&mut self, _asked: &[FutureRequest]) {}

    /// Tells what became of a file whose data lie in these pages, with what the host says of it
    /// from now on. Costs nothing and changes no content: a scheme may remember it, for where it
    /// places pages later.
    fn on_file_event(&mut self, _event: FileEvent, _of: &Request) {}

    /// Whether it decides by how long requests take, as the host sees them.
    fn observes_responses(&self) -> bool {
        false
    }

    /// A read or write of the host has ended, so long after it began. Only a mapping that
    /// [observes responses](Self::observes_responses) is told.
    fn on_response(&mut self, _request: &Request, _response: Nanos) {}

    /// Whether what it does depends on time: on queues, or on how long requests take.
    fn decides_by_time(&self) -> bool {
        self.observes_responses()
    }

    /// Whether it does anything in idle time.
    fn uses_idle_time(&self) -> bool {
        false
    }

    /// Offers `budget` of idle time for background work.
    fn idle(&mut self, _flash: &mut FlashPort<D>, _budget: Nanos) -> Result<(), FtlError> {
        Ok(())
    }

    /// Empties a block, whatever it holds: data, log, translation or trim pages, some of each, or
    /// nothing yet because it has just been opened. What it holds is copied first and the block
    /// erased afterwards, so nothing is lost, whenever the power is cut or whatever fails. On a
    /// device that writes are still accepted by, it can always be asked for;
    /// [`Deferred`](crate::api::wear::Deferred) says when it is refused. What is done for it is
    /// charged to [`Cause::WearLevelling`](crate::port::cause::Cause::WearLevelling); the flash
    /// port charges it to the caller's cause.
    fn relocate_block(&mut self, flash: &mut FlashPort<D>, pbn: Pbn) -> Result<RelocateOutcome, FtlError>;

    /// Whether it empties any block that it is told; see
    /// [`Capabilities::relocates_blocks`](crate::api::entry::Capabilities::relocates_blocks).
    fn relocates_blocks(&self) -> bool {
        true
    }

    /// Whether anything that the mapping itself does depends on hints. If neither it nor the wear
    /// policy uses hints, a write buffer need not keep apart pages of different hints.
    fn uses_hints(&self) -> bool {
        false
    }

    /// Asks the wear policy of its blocks something, with the facts about all blocks.
    fn with_wear_policy(&mut self, query: WearQuery<'_>);

    /// Checks the numbered invariants of the scheme's header. Pure; may take time proportional to
    /// the device.
    fn check(&self, flash: &FlashPort<D>) -> Result<(), BrokenInvariant>;

    /// Memory that the mapping takes, structure by structure.
    fn footprint(&self) -> Footprint;

    /// Blocks that may fail before the device becomes read-only; none for a scheme that cannot do
    /// without any block.
    fn spares(&self) -> Spares {
        Spares::default()
    }

    /// What acknowledged writes leave in RAM until a flush, and what RAM holds besides. Of a
    /// mapping that says nothing here, writes last at once.
    fn buffered(&self) -> Buffered {
        Buffered::default()
    }

    /// The most pages of acknowledged writes that a power cut may take although they have been
    /// programmed, on a device that exposes pages.
    fn exposed_pages(&self) -> u32 {
        0
    }

    /// What was done since the device was built for each class of pages that it keeps apart, by
    /// number; none for a mapping that looks at neither hints nor a classifier.
    fn class_counts(&self) -> &[ClassCounts] {
        &[]
    }

    /// Numbers of the scheme's own, sampled into the time series.
    fn gauges(&self) -> Vec<Gauge> {
        Vec::new()
    }
}

/// Writes pages one by one, up to the first error; returns how many were written, and how it ended.
#[inline]
pub(crate) fn one_by_one(
    lpns: &[Lpn],
    write: impl FnMut(usize) -> Result<(), FtlError>,
) -> (usize, Result<(), FtlError>) {
    let mut done = 0;
    let result = (0..lpns.len()).map(write).try_for_each(|written| written.map(|()| done += 1));
    (done, result)
}

/// A read, write or trim that will come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FutureRequest {
    /// Which of them.
    pub op: HostOp,
    /// First logical page.
    pub lpn: Lpn,
    /// Logical pages, at least 1.
    pub pages: u32,
}

/// How the registry builds a scheme; [`Mapping`] has an example.
pub trait Scheme: Sized {
    /// What the registry lists about it.
    const ENTRY: Entry;

    /// Builds the scheme for an erased device.
    fn format(layout: &Layout, values: &Values) -> Result<Self, ConfigError>;

    /// Builds the scheme for a device that it has used before, from the tags alone, after any power
    /// cut. May be cut itself at any operation and started again. A device that is used must not be
    /// refused, however many of its blocks have failed: build on
    /// [`layout.in_use()`](Layout::in_use), and come up read-only where a new device of its good
    /// blocks would be too small.
    fn recover<D: Device>(layout: &Layout, values: &Values, flash: &mut FlashPort<D>) -> Result<Self, RecoverError>;
}

/// How a mapping is built for devices of type `D`. [`BuilderOf`] builds each [`Scheme`]; a builder
/// of your own knows something that is known only when the program runs.
///
/// # Example
///
/// `page` with a parameter that is chosen once for all stacks:
///
/// ```
/// # use ftlkit_ftl as ftl;
/// use ftl::engines::page_map::machine::PageMap;
/// use ftl::api::mapping::MappingBuilder;
/// use ftl::schemes::page::Page;
/// use ftl::{
///     ConfigError, Device, FlashPort, Layout, Mapping, RecoverError, Scheme, Settings, Values,
/// };
///
/// type PageScheme = PageMap<Page>;
///
/// struct WithVictims(String);
///
/// impl WithVictims {
///     fn values(&self) -> Result<Values, ConfigError> {
///         let settings = Settings::from([("victim".to_owned(), self.0.clone())]);
///         Values::check("page", PageScheme::ENTRY.parameters, &settings)
///     }
/// }
///
/// impl<D: Device> MappingBuilder<D> for WithVictims {
///     fn format(&self, layout: &Layout, _: &Values) -> Result<Box<dyn Mapping<D>>, ConfigError> {
///         Ok(Box::new(PageScheme::format(layout, &self.values()?)?))
///     }
///
///     fn recover(
///         &self,
///         layout: &Layout,
///         _: &Values,
///         flash: &mut FlashPort<D>,
///     ) -> Result<Box<dyn Mapping<D>>, RecoverError> {
///         Ok(Box::new(PageScheme::recover(layout, &self.values()?, flash)?))
///     }
/// }
///
/// assert!(WithVictims("fifo".to_owned()).values().is_ok());
/// assert!(WithVictims("lifo".to_owned()).values().is_err());
/// ```
pub trait MappingBuilder<D: Device>: Send + Sync {
    /// Builds it for an erased device.
    fn format(&self, layout: &Layout, values: &Values) -> Result<Box<dyn Mapping<D>>, ConfigError>;

    /// Builds it for a device that it has used before; see [`Scheme::recover`].
    fn recover(
        &self,
        layout: &Layout,
        values: &Values,
        flash: &mut FlashPort<D>,
    ) -> Result<Box<dyn Mapping<D>>, RecoverError>;
}

/// Builds mappings of type `S`.
pub struct BuilderOf<S>(PhantomData<fn() -> S>);

impl<S> Clone for BuilderOf<S> {
    fn clone(&self) -> Self {
        Self::new()
    }
}

impl<S> fmt::Debug for BuilderOf<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::any::type_name::<S>())
    }
}

impl<S> BuilderOf<S> {
    /// The builder of a type.
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

impl<S> Default for BuilderOf<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<D: Device, S: Scheme + Mapping<D> + 'static> MappingBuilder<D> for BuilderOf<S> {
    fn format(&self, layout: &Layout, values: &Values) -> Result<Box<dyn Mapping<D>>, ConfigError> {
        Ok(Box::new(S::format(layout, values)?))
    }

    fn recover(
        &self,
        layout: &Layout,
        values: &Values,
        flash: &mut FlashPort<D>,
    ) -> Result<Box<dyn Mapping<D>>, RecoverError> {
        Ok(Box::new(S::recover(layout, values, flash)?))
    }
}
