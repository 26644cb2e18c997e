//! Images of version 1, to be read once more: their tags had neither an epoch nor a second copy,
//! and an erase was an entry *being erased*.
//!
//! ```text
//! | header | header | life | life | block table: 16 B | tags: 32 B | data |
//! ```

use std::fs::File;
use std::io;

use flash::{Geometry, Lbn, ProgramOrder, Role, Shape, Tag};
use ftl::{Settings, Stack};
use serde::{Deserialize, Serialize};
use sim::{FrontEnd, Latencies, Model};

use super::blocks::{Block, Condition};
use super::header::{Description, HEADER_BYTES, OLD_VERSION, read_text, read_up_to};
use super::image_layout::ALIGNMENT;
use super::life::{LIFE_BYTES, Life, LifeSlots};
use super::page_tags::{Body, LAST_SEQ};

pub(super) const ENTRY_BYTES: usize = 16;
pub(super) const TAG_BYTES: usize = 32;

/// Offsets of the areas.
#[derive(Debug)]
pub(super) struct OldImageLayout {
    pub(super) life: [u64; 2],
    pub(super) blocks: u64,
    pub(super) tags: u64,
    pub(super) data: u64,
    pub(super) end: u64,
}

impl OldImageLayout {
    pub(super) fn of(geometry: &Geometry) -> Self {
        let life = 2 * HEADER_BYTES;
        let blocks = life + 2 * LIFE_BYTES;
        let pages = u64::from(geometry.pages());
        let tags = (blocks + u64::from(geometry.blocks()) * ENTRY_BYTES as u64).next_multiple_of(ALIGNMENT);
        let data = (tags + pages * TAG_BYTES as u64).next_multiple_of(ALIGNMENT);
        let end = data + pages * u64::from(geometry.page_size_bytes());
        Self { life: [life, life + LIFE_BYTES], blocks, tags, data, end }
    }
}

/// What a tag says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OldTag {
    Erased,
    Programmed(Tag, Body),
    Unstable,
    Torn,
    Damaged,
}

/// The text of a header.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OldText {
    ftl: String,
    settings: Settings,
    geometry: Shape,
    logical_pages: u32,
    program_order: ProgramOrder,
    endurance: u32,
    seed: u64,
    preset: String,
    latencies: Latencies,
    pricing: Model,
}

impl From<OldText> for Description {
    fn from(old: OldText) -> Self {
        let OldText { geometry, logical_pages, program_order, endurance, seed, preset, latencies, pricing, .. } = old;
        let stack = Stack::with(&old.ftl, old.settings);
        let front_end = FrontEnd::default();
        Self { stack, geometry, logical_pages, program_order, endurance, seed, preset, latencies, pricing, front_end }
    }
}

/// For tests, which write images of that version.
#[cfg(test)]
impl From<Description> for OldText {
    fn from(new: Description) -> Self {
        let Description { geometry, logical_pages, program_order, endurance, seed, preset, latencies, pricing, .. } =
            new;
        let (ftl, settings) = (new.stack.mapping.name, new.stack.mapping.settings);
        Self { ftl, settings, geometry, logical_pages, program_order, endurance, seed, preset, latencies, pricing }
    }
}

/// The header, from the first copy that can be believed.
pub(super) fn description(file: &File) -> Result<Description, String> {
    let read = |offset| {
        let text = read_text(file, offset, OLD_VERSION)?;
        let text: OldText = serde_json::from_slice(&text)
            .map_err(|error| format!("the header was written by another ftlkit: {error}"))?;
        Ok(text.into())
    };
    read(0).or_else(|why| read(HEADER_BYTES).map_err(|_| why))
}

/// The life, if there is any.
pub(super) fn life(file: &File, places: &OldImageLayout) -> Option<Life> {
    LifeSlots::read(file, places.life).life
}

/// Each block's entry, and whether it was being erased; none for one that cannot be believed.
pub(super) fn blocks(
    file: &File,
    places: &OldImageLayout,
    geometry: &Geometry,
) -> io::Result<Vec<Option<(Block, bool)>>> {
    let mut bytes = vec![0; geometry.blocks() as usize * ENTRY_BYTES];
    read_up_to(file, &mut bytes, places.blocks)?;
    Ok(bytes.as_chunks::<ENTRY_BYTES>().0.iter().map(block).collect())
}

fn block(bytes: &[u8; ENTRY_BYTES]) -> Option<(Block, bool)> {
    if bytes.iter().all(|&byte| byte == 0) {
        return Some((Block::default(), false));
    }
    let condition = match bytes[4] {
        0 | 2 => Condition::Good,
        1 => Condition::Bad,
        _ => return None,
    };
    let is_whole = word(bytes, 12) == crc32c::crc32c(&bytes[..12]);
    is_whole.then(|| (Block { erases: word(bytes, 0), condition, since: 0 }, bytes[4] == 2))
}

/// What the bytes of a tag say.
pub(super) fn tag(bytes: &[u8; TAG_BYTES]) -> OldTag {
    let is_filled_with = |with: u8| bytes.iter().all(|&byte| byte == with);
    let is_unstable = bytes.iter().enumerate().all(|(at, &byte)| byte == if at == 21 { 254 } else { 0 });
    if is_filled_with(0) {
        OldTag::Erased
    } else if is_filled_with(0xFF) {
        OldTag::Torn
    } else if is_unstable {
        OldTag::Unstable
    } else {
        programmed(bytes).unwrap_or(OldTag::Damaged)
    }
}

fn programmed(bytes: &[u8; TAG_BYTES]) -> Option<OldTag> {
    if bytes[21] != 1 || bytes[27] != 0 || word(bytes, 28) != crc32c::crc32c(&bytes[..28]) {
        return None;
    }
    let (second, sixth) = (word(bytes, 4), word(bytes, 22));
    let (extent, owner, body) = match bytes[26] {
        0 => (second, sixth, Body::None),
        1 => (1, sixth, Body::Data { crc: second }),
        2 => (1, 0, Body::Own { crc: second, length: sixth }),
        _ => return None,
    };
    let six = |at: usize| (0..6).rev().fold(0, |number, i| number << 8 | u64::from(bytes[at + i]));
    let owner = owner.checked_sub(1).map(Lbn::new);
    let role = Role::from_code(bytes[20])?;
    let tag = Tag { logical: word(bytes, 0), extent, role, owner, seq: six(8), version: six(14), hint: 0 };
    (tag.logical < u32::MAX && tag.seq <= LAST_SEQ && tag.version <= tag.seq).then_some(OldTag::Programmed(tag, body))
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
