//! What a page's out-of-band (OOB) area says about the page.
//!
//! The tag is what recovery will find after a power cut, so it is written with every program, whatever the store keeps of
//! it. A lean store keeps the logical number alone; a full one keeps all.

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
}

impl Role {
    /// Whether the logical number of such a page is a translation page number and not an LPN.
    pub fn is_translation(self) -> bool {
        self == Self::Translation
    }
}

/// The OOB content that an FTL writes with a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tag {
    /// LPN, or translation page number where [`Role::is_translation`].
    pub logical: u32,
    /// Use of the block.
    pub role: Role,
    /// The logical block that owns the physical block, in block-mapped and hybrid schemes.
    pub owner: Option<Lbn>,
    /// Position in the order of all programs of the device's life; later wins.
    pub seq: u64,
}
