//! What a page's out-of-band (OOB) area says about the page.
//!
//! The tag is what recovery will find after a power cut, so it is written with every program,
//! whatever the store keeps of it. A lean store keeps the logical number alone; a full one keeps
//! all.
//!
//! Two numbers order tags. `seq` counts programs: it tells which of two *blocks* was being filled
//! later. `version` is the `seq` under which the content was first written and travels with every
//! copy: of two pages of the same logical number the higher version is newer, and equal versions
//! are the same content. A copy interrupted by a power cut can thus be told from a page that is
//! needed, and its block be reused.

use crate::Lbn;

/// What a block is used for, told by every page in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Role {
    /// Host data under the scheme's main map.
    Data = 0,
    /// Host data moved by garbage collection, kept apart from fresh writes.
    Collected = 1,
    /// A log block filled strictly in order for one logical block.
    SequentialLog = 2,
    /// A log block shared by several logical blocks.
    RandomLog = 3,
    /// A page of the mapping table itself; its logical number is a translation page number.
    Translation = 4,
    /// No data: says that `extent` logical pages from `logical` on were trimmed before this
    /// version.
    Trimmed = 5,
    /// No data: takes the place of a page that could not be read when it had to be moved, so that
    /// reading its LPN goes on being an error instead of becoming something older.
    Lost = 6,
    /// No data: the tags of the pages that were programmed in the block before this one.
    Summary = 7,
    /// Host data in a block in pSLC mode, before they are folded into native blocks.
    Cached = 8,
    /// No data: fills up what is programmed at once, or a word line, so that a power cut takes
    /// nothing of it.
    Padding = 9,
}

impl Role {
    /// All, in the order of their codes: the codes that a page on a medium may carry.
    pub const ALL: [Self; 10] = [
        Self::Data,
        Self::Collected,
        Self::SequentialLog,
        Self::RandomLog,
        Self::Translation,
        Self::Trimmed,
        Self::Lost,
        Self::Summary,
        Self::Cached,
        Self::Padding,
    ];

    /// The role of a code.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|role| *role as u8 == code)
    }

    /// Whether such a page tells recovery where something lies, or that something was trimmed.
    pub fn tells_of_pages(self) -> bool {
        !matches!(self, Self::Summary | Self::Padding)
    }

    /// Whether such a page speaks of logical pages: of their data, or that they have none.
    pub fn is_of_host(self) -> bool {
        self.tells_of_pages() && !self.is_translation()
    }

    /// Whether the logical number of such a page is a translation page number and not an LPN.
    pub fn is_translation(self) -> bool {
        self == Self::Translation
    }
}

/// The OOB content of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tag {
    /// LPN, or translation page number for [`Role::Translation`].
    pub logical: u32,
    /// Logical pages that the tag speaks of: 1 but for [`Role::Trimmed`].
    pub extent: u32,
    /// Use of the block.
    pub role: Role,
    /// The logical block that owns the physical block, in block-mapped and hybrid schemes.
    pub owner: Option<Lbn>,
    /// Position in the order of all programs of the device's life.
    pub seq: u64,
    /// The `seq` of the program that first wrote this content.
    pub version: u64,
    /// What the translation layer keeps of the host's hint with the content, 0 for nothing. It
    /// travels with every copy, as the version does.
    pub hint: u8,
}

impl Tag {
    /// Bytes of [`head`](Self::head).
    pub const HEAD_BYTES: usize = 21;

    /// The first bytes of the tag as flash holds it (`docs/format.md`), little endian: logical
    /// number, extent, `seq` and `version` of six bytes each, role. Owner and hint take no bytes.
    pub fn head(&self) -> [u8; Self::HEAD_BYTES] {
        let mut head = [0; Self::HEAD_BYTES];
        head[..4].copy_from_slice(&self.logical.to_le_bytes());
        head[4..8].copy_from_slice(&self.extent.to_le_bytes());
        head[8..14].copy_from_slice(&self.seq.to_le_bytes()[..6]);
        head[14..20].copy_from_slice(&self.version.to_le_bytes()[..6]);
        head[20] = self.role as u8;
        head
    }

    /// The tag, without an owner and a hint, that begins so; none if no tag does.
    pub fn of_head(head: &[u8; Self::HEAD_BYTES]) -> Option<Self> {
        let number = |range: std::ops::Range<usize>| {
            head[range].iter().rev().fold(0_u64, |number, &byte| number << 8 | u64::from(byte))
        };
        Some(Self {
            logical: number(0..4) as u32,
            extent: number(4..8) as u32,
            seq: number(8..14),
            version: number(14..20),
            role: Role::from_code(head[20])?,
            owner: None,
            hint: 0,
        })
    }

    /// Under a block map: whether the page lies in a log block that several logical blocks share. A
    /// lost page there has no owner.
    pub fn is_in_shared_log(&self) -> bool {
        match self.role {
            Role::RandomLog | Role::Trimmed => true,
            Role::Lost => self.owner.is_none(),
            Role::Data
            | Role::Collected
            | Role::SequentialLog
            | Role::Translation
            | Role::Summary
            | Role::Cached
            | Role::Padding => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_comes_back_from_its_first_bytes() {
        let tag = Tag {
            logical: 0x0102_0304,
            extent: 5,
            role: Role::Summary,
            owner: None,
            seq: 0xABCD_1234_5678,
            version: 0xFFFF_FFFF_FFFF,
            hint: 0,
        };
        let head = tag.head();
        assert_eq!(head[..8], [4, 3, 2, 1, 5, 0, 0, 0]);
        assert_eq!((head[8], head[13], head[14], head[20]), (0x78, 0xAB, 0xFF, 7));
        assert_eq!(Tag::of_head(&head), Some(tag));
    }

    #[test]
    fn erased_bytes_are_no_tag() {
        assert_eq!(Tag::of_head(&[0xFF; Tag::HEAD_BYTES]), None);
    }
}
