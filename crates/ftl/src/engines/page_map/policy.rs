//! What makes one scheme with its map in RAM differ from another: which pages share open blocks.
//!
//! The machine (`machine.rs`) asks the policy for the stream of each page that the host writes. A
//! stream has one open block a die, so pages of different streams never share a block when they are
//! written. What a collection moves out of one block goes to one stream: the last free block of a
//! die makes room for one, and several could each ask for a block of their own in the middle of a
//! collection.

use flash::{Lpn, Role, Tag};
use host::Hint;

use crate::api::entry::Entry;
use crate::api::layout::Layout;
use crate::api::parameter::{Parameter, Values, joined};
use crate::api::request::Request;
use crate::api::wear::Purpose;
use crate::blocks::victims;
use crate::engines::page_map::classes::Classes;
use crate::engines::page_map::idle::GC_IDLE;
use crate::engines::page_map::mapped::HOST;
use crate::engines::page_map::pacing::GC;
use crate::engines::page_map::pslc;
use crate::engines::page_map::space::{GC_THRESHOLD, Stream};
use crate::port::error::ConfigError;
use crate::recovery::summary;

/// What the machine reads: the parameters of each such scheme, besides its own.
pub const PARAMETERS: [Parameter; 10] =
    joined(&[&victims::PARAMETERS, &[GC, GC_THRESHOLD, summary::PARAMETER, GC_IDLE], &pslc::PARAMETERS]);

/// A scheme with its map in RAM: its registry entry, and the policy that its parameters ask for.
/// [`StreamPolicy`] has an example.
pub trait PageMapScheme {
    /// What the registry knows of it. Its parameters hold [`PARAMETERS`].
    const ENTRY: Entry;

    /// What it decides.
    type Policy: StreamPolicy + Send;

    /// The policy for an empty device.
    fn policy(layout: &Layout, values: &Values) -> Result<Self::Policy, ConfigError>;

    /// A classifier that chooses streams in the policy's place, which then has those of host and
    /// collections alone.
    fn classes(_layout: &Layout, _values: &Values) -> Result<Option<Classes>, ConfigError> {
        Ok(None)
    }
}

/// What these schemes decide differently.
///
/// # Example
///
/// Even pages share blocks, and odd pages do. All that is collected lies in blocks of its own.
///
/// ```
/// # use ftlkit_ftl as ftl;
/// use flash::Lpn;
/// use ftl::api::wear::Purpose;
/// use ftl::engines::page_map::machine::PageMap;
/// use ftl::engines::page_map::policy::{PageMapScheme, StreamPolicy};
/// use ftl::engines::page_map::space::Stream;
/// use ftl::schemes::page::Page;
/// use ftl::{ConfigError, Entry, Layout, Request, Scheme, Values};
///
/// struct EvenOdd;
///
/// impl PageMapScheme for EvenOdd {
///     const ENTRY: Entry = Entry { name: "even-odd", ..<PageMap<Page> as Scheme>::ENTRY };
///
///     type Policy = Self;
///
///     fn policy(_: &Layout, _: &Values) -> Result<Self, ConfigError> {
///         Ok(Self)
///     }
/// }
///
/// impl StreamPolicy for EvenOdd {
///     fn streams(&self) -> &'static [Purpose] {
///         &[Purpose::Data, Purpose::Data, Purpose::Collected]
///     }
///
///     fn write_stream(&mut self, _: &Request, lpn: Lpn) -> Stream {
///         lpn.index() % 2
///     }
///
///     fn collected_stream(&self, _: Stream) -> Stream {
///         2
///     }
/// }
///
/// assert_eq!(<PageMap<EvenOdd> as Scheme>::ENTRY.name, "even-odd");
/// ```
pub trait StreamPolicy {
    /// Streams, at least one, with what the blocks of each are used for: each keeps an open block a
    /// die, which has to be spared.
    fn streams(&self) -> &'static [Purpose];

    /// The stream of a page that the host writes with a request.
    fn write_stream(&mut self, request: &Request, lpn: Lpn) -> Stream;

    /// The stream of each page that the host writes without a hint, where it is one for all.
    fn common_stream(&self) -> Option<Stream> {
        None
    }

    /// What is kept of a request's hint in the tags of its pages, from 1 on, or 0 for nothing;
    /// every copy keeps it. None leaves it to the wear policy what tags keep.
    #[inline]
    fn stored_hint(&self, _request: &Request) -> Option<u8> {
        None
    }

    /// Whether a request's stream hint is beyond the streams that are kept apart.
    #[inline]
    fn is_beyond_streams(&self, _request: &Request) -> bool {
        false
    }

    /// Whether anything that it decides depends on hints.
    fn uses_hints(&self) -> bool {
        false
    }

    /// What the host said of a page, as far as [`stored_hint`](Self::stored_hint) kept it; none if
    /// it never keeps anything.
    #[inline]
    fn hint_of(&self, _kept: u8) -> Option<Hint> {
        None
    }

    /// The stream of what a collection moves out of a block of this stream. What is moved to level
    /// wear has a stream beside these.
    fn collected_stream(&self, from: Stream) -> Stream;

    /// Whether the host's pages fill the block that collected ones have begun, when they need one.
    fn hands_over(&self) -> bool {
        false
    }

    /// The stream of a block in which recovery finds a page with this tag.
    fn recovered_stream(&self, tag: &Tag) -> Stream {
        if tag.role == Role::Collected { self.collected_stream(HOST) } else { HOST }
    }

    /// RAM beside the map, in bytes: name and size.
    fn tables(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}
