//! What makes one demand-paged scheme differ from another: what of the map is kept in RAM, and in
//! how many copies it lies on flash.
//!
//! The machine (`machine.rs`) asks the cache for an entry. If it is not there, the machine writes
//! the translation page that [`MapCache::must_write`] names, if any, reads the one that is needed,
//! and lets the cache take the entry over.

use flash::{Lpn, Ppn};

use crate::api::entry::Entry;
use crate::api::layout::Layout;
use crate::api::parameter::{AccessDelays, Kind, Parameter, Values};
use crate::api::report::Gauge;
use crate::api::request::Request;
use crate::api::wear::Purpose;
use crate::engines::demand::foreign_pages::ForeignPages;
use crate::engines::demand::translation::{CopyChoice, TranslationTable};
use crate::engines::page_map::classes::Classes;
use crate::engines::page_map::placement::Placement;
use crate::port::error::ConfigError;
use crate::recovery::summary::Summaries;

/// What structures take in RAM: names and bytes.
pub type Ram = Vec<(&'static str, u64)>;

/// What a look-up and a change of the map in RAM take. B adds these to every request; others count
/// them as nothing beside flash.
pub const RAM_DELAYS: [Parameter; 2] = [
    Parameter {
        name: "ram_read_delay",
        kind: Kind::Duration { min: 0, max: 1_000_000 },
        default: "0us",
        meaning: "Time of a look-up in the cached mapping table; 0 counts it as nothing beside flash.",
        source: "ftlkit (BDB tab. 1: 10us)",
    },
    Parameter {
        name: "ram_write_delay",
        kind: Kind::Duration { min: 0, max: 1_000_000 },
        default: "0us",
        meaning: "Time of a change in the cached mapping table; 0 counts it as nothing beside flash.",
        source: "ftlkit (BDB tab. 1: 10us)",
    },
];

/// A demand-paged scheme: its registry entry, and the cache that its parameters ask for.
///
/// # Example
///
/// `dftl` with its own cache, whose translation pages lie twice:
///
/// ```
/// # use ftlkit_ftl as ftl;
/// use ftl::engines::demand::machine::DemandPaged;
/// use ftl::engines::demand::mapping_cache::MappingCache;
/// use ftl::engines::demand::policy::{DemandScheme, Ram};
/// use ftl::schemes::dftl::Dftl;
/// use ftl::{ConfigError, Entry, Layout, Scheme, Values};
///
/// struct Twice;
///
/// impl DemandScheme for Twice {
///     const ENTRY: Entry = Entry { name: "twice", ..<DemandPaged<Dftl> as Scheme>::ENTRY };
///
///     type Cache = MappingCache;
///
///     type ForeignPages = ();
///
///     fn copies(_: &Layout, _: &Values) -> Result<u32, ConfigError> {
///         Ok(2)
///     }
///
///     fn cache(layout: &Layout, values: &Values) -> Result<(MappingCache, Ram), ConfigError> {
///         MappingCache::from_values(layout, values)
///     }
/// }
///
/// assert_eq!(<DemandPaged<Twice> as Scheme>::ENTRY.name, "twice");
/// ```
pub trait DemandScheme {
    /// What the registry knows of it.
    const ENTRY: Entry;

    /// Kinds of content with blocks of their own: the host's, collected pages and translation
    /// pages, then what the scheme adds.
    const STREAMS: &'static [Purpose] = &[Purpose::Data, Purpose::Collected, Purpose::Translation];

    /// What it keeps in RAM.
    type Cache: MapCache + Send;

    /// What it has in the same space that the table does not map; `()` for nothing.
    type ForeignPages: ForeignPages;

    /// Copies of each translation page, on different channels.
    fn copies(_layout: &Layout, _values: &Values) -> Result<u32, ConfigError> {
        Ok(1)
    }

    /// Where summaries lie, by [`summary::PARAMETER`](crate::recovery::summary::PARAMETER). A
    /// scheme that does not declare it says here that there are none.
    fn summaries(layout: &Layout, values: &Values) -> Result<Summaries, ConfigError> {
        Summaries::from_values(values, layout, Self::ENTRY.name)
    }

    /// Which copy of a translation page a miss reads, for a scheme that declares
    /// [`COPY_CHOICE`](crate::engines::demand::translation::COPY_CHOICE).
    fn copy_choice(_values: &Values) -> CopyChoice {
        CopyChoice::default()
    }

    /// Which streams fill one block after the other instead of taking the dies in turn.
    fn placement(_values: &Values) -> Placement {
        Placement::default()
    }

    /// A classifier that chooses among streams of its own for data pages, for a scheme without
    /// foreign pages that declares one.
    fn classes(_layout: &Layout, _values: &Values) -> Result<Option<Classes>, ConfigError> {
        Ok(None)
    }

    /// Free blocks of a die that idle time is used to reach beyond those at which it collects, for
    /// a scheme that declares [`GC_IDLE`](crate::engines::page_map::idle::GC_IDLE).
    fn gc_idle(_values: &Values) -> usize {
        0
    }

    /// What accesses to the cache take, for a scheme that declares [`RAM_DELAYS`].
    fn delays(_values: &Values) -> AccessDelays {
        AccessDelays::default()
    }

    /// The empty cache, and what it takes.
    fn cache(layout: &Layout, values: &Values) -> Result<(Self::Cache, Ram), ConfigError>;
}

/// Which map entries are in RAM. What they say is in the table. The shortest one is that of `dftl`,
/// [`MappingCache`](crate::engines::demand::mapping_cache::MappingCache).
pub trait MapCache {
    /// The place of a cached entry, good until another one is brought in.
    type Slot: Copy;

    /// A request begins, whose pages are looked up one after the other.
    fn announce(&mut self, _request: &Request) {}

    /// Finds an entry without using it.
    fn find(&self, lpn: Lpn) -> Option<Self::Slot>;

    /// An entry that was found is used; returns its place, which may be another one then.
    fn touch(&mut self, slot: Self::Slot) -> Self::Slot;

    /// Whether something must leave before an entry can be brought in.
    fn is_full(&self) -> bool;

    /// A translation page that has to be written before what leaves next can leave, if that is
    /// newer than flash.
    fn must_write(&mut self) -> Option<u32>;

    /// A translation page that has to be written since an entry that was used takes more room.
    fn overflow(&mut self) -> Option<u32> {
        None
    }

    /// Whether a collection may change a cached entry in RAM. If not, it writes the translation
    /// page.
    fn has_room_to_change(&self, _slot: Self::Slot) -> bool {
        true
    }

    /// The table says something else of a logical page, in RAM or on flash.
    fn on_entry_changed(&mut self, _lpn: Lpn, _before: Option<Ppn>, _table: &TranslationTable) {}

    /// Brings in an entry that was not cached, fresh from its translation page, in place of what
    /// leaves next.
    fn insert(&mut self, lpn: Lpn) -> Self::Slot;

    /// An entry has been changed in RAM, and is newer than flash from now on.
    fn mark_newer(&mut self, slot: Self::Slot);

    /// Whether a page's entry is cached and newer than flash.
    fn is_newer(&self, lpn: Lpn) -> bool;

    /// The cached entries of a translation page that are newer than flash, in order.
    fn newer_of(&self, translation_page: u32) -> impl Iterator<Item = Lpn>;

    /// Whether a whole translation page is cached, so that it need not be read to be written.
    fn holds_page(&self, _translation_page: u32) -> bool {
        false
    }

    /// A translation page has been written, so flash knows what its newer entries say.
    fn clean(&mut self, translation_page: u32);

    /// A count that is wrong, or that is beyond its size though the device is not read-only.
    fn fault(&self, _table: &TranslationTable, _is_read_only: bool) -> Option<String> {
        None
    }

    /// What can be watched of it over time.
    fn gauges(&self) -> Vec<Gauge> {
        Vec::new()
    }

    /// Asks for the memory that tells which entries of a translation page are newer than flash.
    fn prefetch_newer_of(&self, _translation_page: u32) {}

    /// Asks for the memory that finding an entry touches.
    fn prefetch_slot(&self, _lpn: Lpn) {}

    /// Asks for the memory that changing an entry touches.
    fn prefetch_change(&self, _lpn: Lpn, _slot: Self::Slot) {}

    /// Asks for the memory that using an entry touches.
    fn prefetch_use(&self, _slot: Self::Slot) {}
}
