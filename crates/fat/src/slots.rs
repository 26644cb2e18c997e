//! Slots of folders, 32 bytes each: entries of files and folders, and the parts of their long names
//! in front of them.

use std::ops::Range;

use crate::code_page::CodePage;
use crate::shape::Kind;
use crate::stamp::Stamp;

/// A folder is a list of slots; a file has one, and more for a long name.
pub(crate) type Slot = [u8; 32];

/// A short name: eight letters and three of the extension, filled with spaces.
pub(crate) type Short = [u8; 11];

/// First bytes of a slot: nothing here or behind, and nothing here.
pub(crate) const END: u8 = 0;
pub(crate) const GONE: u8 = 0xE5;
/// What stands for [`GONE`] where a name begins with it.
pub(crate) const GONE_LETTER: u8 = 0x05;

const READ_ONLY: u8 = 0x01;
const VOLUME: u8 = 0x08;
const FOLDER: u8 = 0x10;
const ARCHIVE: u8 = 0x20;
/// Attributes of a part of a long name, and those that tell it.
const LONG: u8 = 0x0F;
const LONG_MASK: u8 = 0x3F;

const ATTRIBUTES: usize = 11;
/// Bits that say which parts of a short name are lower case.
const CASE: usize = 12;
const LOWER_BASE: u8 = 0x08;
const LOWER_EXTENSION: u8 = 0x10;

/// Letters of a long name in a slot, and where they are.
pub(crate) const UNITS: usize = 13;
const UNIT_AT: [usize; UNITS] = [1, 3, 5, 7, 9, 14, 16, 18, 20, 22, 24, 28, 30];
/// The bit of the number of the last part of a long name, which comes first.
const LAST_PART: u8 = 0x40;

/// A folder, by its first cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Folder(pub(crate) u32);

impl Folder {
    /// The one that all others lie in.
    pub const ROOT: Self = Self(0);
}

/// Where the slots of an entry are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlotRange {
    /// In which folder.
    pub(crate) folder: Folder,
    /// The first slot, of the long name if there is one.
    pub(crate) first: u32,
    /// How many there are.
    pub(crate) count: u32,
    /// Offset of the last one on the disk.
    pub(crate) offset: u64,
}

/// A file or a folder, as its folder has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name: the long one if it has one.
    pub name: String,
    /// Whether it must not be written.
    pub is_read_only: bool,
    /// Bytes of a file; 0 for a folder.
    pub bytes: u32,
    /// When it was changed.
    pub modified: Stamp,
    /// Its first cluster; 0 if it has none.
    pub(crate) cluster: u32,
    pub(crate) attributes: u8,
    pub(crate) place: SlotRange,
    /// The slot as it was read, with what is not in any other field.
    pub(crate) slot: Slot,
}

impl Entry {
    /// A number that no other entry of the volume has as long as this one keeps its name.
    pub fn id(&self) -> u64 {
        self.place.offset
    }

    /// The folder that it is, if it is one.
    pub fn folder(&self) -> Option<Folder> {
        self.is_folder().then_some(Folder(self.cluster))
    }

    /// Whether it is a folder.
    pub fn is_folder(&self) -> bool {
        self.attributes & FOLDER != 0
    }

    /// The slot that says all of this.
    pub(crate) fn encode(&self, kind: Kind) -> Slot {
        let mut slot = self.slot;
        slot[ATTRIBUTES] = if self.is_read_only { self.attributes | READ_ONLY } else { self.attributes & !READ_ONLY };
        set_cluster(&mut slot, kind, self.cluster);
        slot[22..24].copy_from_slice(&self.modified.time.to_le_bytes());
        slot[24..26].copy_from_slice(&self.modified.date.to_le_bytes());
        slot[18..20].copy_from_slice(&self.modified.date.to_le_bytes());
        slot[28..32].copy_from_slice(&self.bytes.to_le_bytes());
        slot
    }

    /// What the slot of an entry of this name says.
    pub(crate) fn decode(slot: &Slot, kind: Kind, name: String, place: SlotRange) -> Self {
        let attributes = slot[ATTRIBUTES];
        let number = |at: usize| u16::from_le_bytes([slot[at], slot[at + 1]]);
        let high = if kind == Kind::Fat32 { u32::from(number(20)) << 16 } else { 0 };
        Self {
            name,
            is_read_only: attributes & READ_ONLY != 0,
            bytes: u32::from_le_bytes([slot[28], slot[29], slot[30], slot[31]]),
            modified: Stamp { date: number(24), time: number(22) },
            cluster: high | u32::from(number(26)),
            attributes,
            place,
            slot: *slot,
        }
    }
}

pub(crate) fn new(short: &Short, is_folder: bool, now: Stamp) -> Slot {
    let mut slot = [0; 32];
    slot[..11].copy_from_slice(short);
    slot[ATTRIBUTES] = if is_folder { FOLDER } else { ARCHIVE };
    for at in [14, 22] {
        slot[at..at + 2].copy_from_slice(&now.time.to_le_bytes());
    }
    for at in [16, 18, 24] {
        slot[at..at + 2].copy_from_slice(&now.date.to_le_bytes());
    }
    slot
}

/// Says in which cluster the data begin.
pub(crate) fn set_cluster(slot: &mut Slot, kind: Kind, cluster: u32) {
    slot[26..28].copy_from_slice(&(cluster as u16).to_le_bytes());
    if kind == Kind::Fat32 {
        slot[20..22].copy_from_slice(&((cluster >> 16) as u16).to_le_bytes());
    }
}

/// The parts of a long name in the order in which they lie, which is backwards.
pub(crate) fn long_slots(name: &str, short: &Short) -> Vec<Slot> {
    let units: Vec<u16> = name.encode_utf16().collect();
    let sum = checksum(short);
    let parts = units.chunks(UNITS).enumerate().map(|(i, part)| {
        let mut slot = [0; 32];
        slot[0] = i as u8 + 1;
        slot[ATTRIBUTES] = LONG;
        slot[13] = sum;
        // The name ends with a zero, and all ones fill what is left.
        let filled = part.iter().copied().chain([0]).chain(std::iter::repeat(u16::MAX));
        for (at, unit) in UNIT_AT.into_iter().zip(filled) {
            slot[at..at + 2].copy_from_slice(&unit.to_le_bytes());
        }
        slot
    });
    let mut slots: Vec<_> = parts.collect();
    if let Some(last) = slots.last_mut() {
        last[0] |= LAST_PART;
    }
    slots.reverse();
    slots
}

fn checksum(short: &[u8]) -> u8 {
    short[..11].iter().fold(0_u8, |sum, &byte| sum.rotate_right(1).wrapping_add(byte))
}

/// What a slot is.
pub(crate) enum Is {
    End,
    Gone,
    PartOfName,
    Label,
    Entry,
}

pub(crate) fn is(slot: &Slot) -> Is {
    match (slot[0], slot[ATTRIBUTES]) {
        (END, _) => Is::End,
        (GONE, _) => Is::Gone,
        (_, attributes) if attributes & LONG_MASK == LONG => Is::PartOfName,
        (_, attributes) if attributes & VOLUME != 0 => Is::Label,
        _ => Is::Entry,
    }
}

/// A long name while its parts are read, one slot after the other.
#[derive(Debug, Default)]
pub(crate) struct LongName {
    units: Vec<u16>,
    /// Parts that are still to come.
    left: u8,
    sum: u8,
    /// The slot that it begins in.
    first: u32,
}

impl LongName {
    /// Takes the next part; one that does not go with the parts before it ends the name.
    pub(crate) fn take(&mut self, slot: &Slot, at: u32) {
        let number = slot[0] & !LAST_PART;
        if slot[0] & LAST_PART != 0 && (1..=20).contains(&number) {
            *self = Self { units: vec![0; usize::from(number) * UNITS], left: number, sum: slot[13], first: at };
        }
        if self.left == 0 || number != self.left || slot[13] != self.sum {
            self.units.clear();
            self.left = 0;
            return;
        }
        self.left -= 1;
        let from = usize::from(self.left) * UNITS;
        for (unit, at) in self.units[from..from + UNITS].iter_mut().zip(UNIT_AT) {
            *unit = u16::from_le_bytes([slot[at], slot[at + 1]]);
        }
    }

    /// The units of the name in front of a slot with the slot that it begins in, if it is whole and
    /// belongs to it; forgets it.
    pub(crate) fn end(&mut self, slot: &Slot) -> Option<(&[u16], u32)> {
        let is_whole = self.left == 0 && !self.units.is_empty() && checksum(slot) == self.sum;
        self.left = 0;
        if !is_whole {
            self.units.clear();
            return None;
        }
        let length = self.units.iter().position(|&unit| unit == 0).unwrap_or(self.units.len());
        Some((&self.units[..length], self.first))
    }

    pub(crate) fn clear(&mut self) {
        self.units.clear();
        self.left = 0;
    }
}

/// A letter of a name as programs can be told it: a slash or a zero would end it.
pub(crate) fn told(letter: char) -> char {
    if matches!(letter, '/' | '\0') { char::REPLACEMENT_CHARACTER } else { letter }
}

/// The short name of a slot, as people write it, letter after letter.
pub(crate) fn short_letters(slot: &Slot, code_page: CodePage) -> impl Iterator<Item = char> + Clone {
    let part = |place: Range<usize>, is_lower: bool| {
        let bytes = &slot[place];
        let length = bytes.iter().rposition(|&byte| byte != b' ').map_or(0, |last| last + 1);
        bytes[..length].iter().map(move |&byte| {
            let letter = told(code_page.letter(byte));
            if is_lower { code_page.lower(letter) } else { letter }
        })
    };
    let first = (slot[0] == GONE_LETTER).then(|| code_page.letter(GONE));
    let base = part(0..8, slot[CASE] & LOWER_BASE != 0).skip(usize::from(first.is_some()));
    let extension = part(8..11, slot[CASE] & LOWER_EXTENSION != 0);
    let dot = (extension.len() > 0).then_some('.');
    first.into_iter().chain(base).chain(dot).chain(extension)
}
