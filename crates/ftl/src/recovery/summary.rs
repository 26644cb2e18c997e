//! Block summaries: a filled block ends with a checkpoint of the part of the mapping that it holds.
//!
//! ```text
//!   page  0     1     2            n−2     n−1
//!        [tag] [tag] [tag]  …     [tag] [summary]    filled: one read tells all tags
//!        [tag] [tag] [  ]   …     [  ]  [       ]    being filled: read to the first erased page
//! ```
//!
//! A summary lists the tags of the pages before it. Pages are immutable until their block is
//! erased, and the summary goes with that erase; so a summary that can be read is true, whenever it
//! was written, and there is nothing to keep in step with it: no place to find it at, no
//! generations, no order between it and anything else. One that a power cut has torn, or that
//! cannot be read, costs the reads of its block. Recovery thus reads a page or two of each block,
//! and rolls forward over those that were being filled, of which each power cut leaves at most one
//! for each stream and die.
//!
//! What is read so is the same as what reading every page's tag finds, but for pages that have
//! decayed since: a summary still knows whose they were, so that they read as errors and not as
//! something older.
//!
//! It takes one page of each block (more where a page is too small for the tags of a block), and in
//! RAM the tags of the pages of open blocks. Block-mapped schemes cannot have it: there an offset
//! is a logical page's own, and none is left.
//!
//! As in log-structured file systems (Rosenblum 1992: segment summary), JFFS2 (erase block summary)
//! and YAFFS2 (block summary).

use std::ops::Range;

use flash::{CellMode, Flash, Geometry, Pbn, Ppn, Role, Scan, Tag};

use crate::api::layout::Layout;
use crate::api::parameter::{Kind, Parameter, Values};
use crate::port::cause::Cause;
use crate::port::device::Device;
use crate::port::error::{BrokenInvariant, ConfigError, FtlError};
use crate::port::flash_port::FlashPort;
use crate::port::label::Label;

/// The parameter by which page-mapped schemes write summaries.
pub const PARAMETER: Parameter = Parameter {
    name: "checkpoint",
    kind: Kind::Choice { of: &["none", "summaries"] },
    default: "none",
    meaning: "What recovery works from: none reads the tag of every page; with summaries each block's last page lists the tags of the \
              others, so recovery reads about a page of each block, and a block holds a page less.",
    source: "Rosenblum 1992",
};

/// A page of which nothing is known.
const NO_TAG: [u8; Tag::HEAD_BYTES] = [0xFF; Tag::HEAD_BYTES];

/// Where the summaries of a device lie: the last pages of each block, or nowhere.
#[derive(Clone, Copy, Debug)]
pub struct Summaries {
    geometry: Geometry,
    /// Pages of a summary; 0 for none.
    pages: u32,
}

impl Summaries {
    /// For a scheme whose blocks end without summaries.
    pub fn none(geometry: Geometry) -> Self {
        Self { geometry, pages: 0 }
    }

    /// What [`PARAMETER`] asks for. A block that would hold nothing else is refused.
    pub fn from_values(values: &Values, layout: &Layout, scheme: &str) -> Result<Self, ConfigError> {
        let none = Self::none(layout.geometry);
        if values.word("checkpoint") == "none" {
            return Ok(none);
        }
        let size = layout.geometry.pages_per_block();
        let pages = (1..size).find(|&pages| size - pages <= pages * none.tags_per_page());
        pages.map(|pages| Self { pages, ..none }).ok_or_else(|| {
            ConfigError(format!(
                "{scheme}.checkpoint = summaries: a summary takes at least a page of each block, and blocks have {size} pages; use \
                 blocks of at least 2 pages, or checkpoint = none"
            ))
        })
    }

    /// Whether there are any.
    pub fn are_written(&self) -> bool {
        self.pages > 0
    }

    /// Pages of a summary.
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// Pages of a block that hold something else.
    pub fn content_pages(&self) -> u32 {
        self.geometry.pages_per_block() - self.pages
    }

    fn tags_per_page(&self) -> u32 {
        self.geometry.page_size_bytes() / Tag::HEAD_BYTES as u32
    }

    /// The offsets whose tags each page of a summary lists, with that page.
    fn parts(self, pbn: Pbn) -> impl Iterator<Item = (Ppn, Range<u32>)> {
        let (each, content) = (self.tags_per_page(), self.content_pages());
        (0..self.pages).map(move |part| {
            let page = self.geometry.page(pbn, content + part);
            (page, (part * each).min(content)..((part + 1) * each).min(content))
        })
    }

    /// Writes the summary of a block whose other pages have all been programmed, or have failed.
    /// The host does not wait for it.
    pub fn write<D: Device>(&self, flash: &mut FlashPort<D>, pbn: Pbn) -> Result<(), FtlError> {
        flash.in_background(|flash| {
            flash.with_cause(Cause::Checkpoint, |flash| {
                self.parts(pbn).try_for_each(|(page, offsets)| {
                    let tag = |offset| flash.chip().tag(self.geometry.page(pbn, offset));
                    let bytes: Vec<u8> =
                        offsets.flat_map(|offset| tag(offset).map_or(NO_TAG, |tag| tag.head())).collect();
                    flash.program_bytes(page, Label::new(pbn.get(), Role::Summary), &bytes)
                })
            })
        })
    }

    /// The tags of a block's pages, with what comes after them in the order of programs: from its
    /// summary if there is one, else from page to page. Only for blocks whose pages are programmed
    /// in order and without gaps.
    pub fn scan<D: Device>(&self, flash: &mut FlashPort<D>, pbn: Pbn) -> Result<Vec<(Ppn, Tag)>, FtlError> {
        if let Some(tags) = self.read(flash, pbn)? {
            return Ok(tags);
        }
        let mut tags = Vec::new();
        for page in flash.pages_in_mode(pbn).map(Ppn::at) {
            match flash.scan(page)? {
                Scan::Programmed(tag) => {
                    flash.continue_after(tag.seq);
                    tags.extend(tag.role.tells_of_pages().then_some((page, tag)));
                }
                Scan::Unreadable => {}
                Scan::Erased => break,
            }
        }
        Ok(tags)
    }

    fn read<D: Device>(&self, flash: &mut FlashPort<D>, pbn: Pbn) -> Result<Option<Vec<(Ppn, Tag)>>, FtlError> {
        if flash.chip().cell_mode(pbn) == CellMode::Pslc {
            return Ok(None);
        }
        let mut tags = Vec::new();
        // The last page first: if it is not there, the summary is not complete.
        for (page, offsets) in self.parts(pbn).collect::<Vec<_>>().into_iter().rev() {
            let own = match flash.scan(page)? {
                Scan::Programmed(tag) if tag.role == Role::Summary && tag.logical == pbn.get() => tag,
                _ => return Ok(None),
            };
            let Some(bytes) = flash.chip().loaded(page) else { return Ok(None) };
            let (heads, rest) = bytes.as_chunks::<{ Tag::HEAD_BYTES }>();
            if heads.len() != offsets.len() || !rest.is_empty() {
                return Ok(None);
            }
            flash.continue_after(own.seq);
            let known = offsets.zip(heads).rev();
            let known = known.filter_map(|(offset, head)| Some((self.geometry.page(pbn, offset), Tag::of_head(head)?)));
            tags.extend(known.filter(|(_, tag)| tag.role.tells_of_pages()));
        }
        tags.reverse();
        Ok(Some(tags))
    }

    /// What the summary of its block lists for a page, if there is one.
    pub fn listed<D: Device>(&self, flash: &FlashPort<D>, ppn: Ppn) -> Option<Tag> {
        let (pbn, offset) = self.geometry.split(ppn);
        let (page, offsets) = self.parts(pbn).find(|(_, offsets)| offsets.contains(&offset))?;
        let bytes = flash.chip().loaded(page)?;
        let (heads, _) = bytes.as_chunks::<{ Tag::HEAD_BYTES }>();
        Tag::of_head(heads.get((offset - offsets.start) as usize)?)
    }

    /// Checks that a block's summary, if it has one, says what its pages' tags say.
    pub fn check<D: Device>(&self, flash: &FlashPort<D>, pbn: Pbn, name: &'static str) -> Result<(), BrokenInvariant> {
        for (page, offsets) in self.parts(pbn) {
            let Some(bytes) = flash.chip().loaded(page) else { continue };
            let (heads, _) = bytes.as_chunks::<{ Tag::HEAD_BYTES }>();
            BrokenInvariant::unless(heads.len() == offsets.len(), name, || {
                format!("the summary at {page} lists {} pages instead of {}", heads.len(), offsets.len())
            })?;
            for (offset, head) in offsets.zip(heads) {
                // What is kept of hints is not listed: a page that is moved is read, and tells it.
                let unhinted = |tag| Tag { hint: 0, ..tag };
                let found = flash.chip().tag(self.geometry.page(pbn, offset)).map(unhinted);
                let listed = Tag::of_head(head);
                BrokenInvariant::unless(found.is_none() || listed == found, name, || {
                    format!("the summary at {page} says {listed:?} of page {offset}, which says {found:?}")
                })?;
            }
        }
        Ok(())
    }
}
