//! What a scheme says of a page that it programs: its label, and where its content comes from.

use flash::{Lbn, Page, Role, Tag};

use crate::Hint;

/// The OOB content of a page as a scheme says it; the sequence number is added at the door.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// LPN, or translation page number for [`Role::Translation`].
    pub logical: u32,
    /// Logical pages that the page speaks of: 1 but for [`Role::Trimmed`].
    pub extent: u32,
    /// Use of the block.
    pub role: Role,
    /// Owning logical block, where the scheme has one.
    pub owner: Option<Lbn>,
    /// What the scheme keeps of the host's hint with new content, 0 for nothing. A copy keeps what its original has.
    pub hint: u8,
    /// What the host says of the content, for whoever opens a block for it. Not kept.
    pub said: Hint,
}

impl Label {
    /// A label without an owner.
    #[inline]
    pub fn new(logical: u32, role: Role) -> Self {
        Self { logical, extent: 1, role, owner: None, hint: 0, said: Hint::NONE }
    }

    /// A label with an owner.
    #[inline]
    pub fn of(logical: u32, role: Role, owner: Lbn) -> Self {
        Self { owner: Some(owner), ..Self::new(logical, role) }
    }

    /// The same with a hint to be kept.
    #[inline]
    #[must_use]
    pub fn hinted(self, hint: u8) -> Self {
        Self { hint, ..self }
    }

    /// The same for content of which the host says this.
    #[inline]
    #[must_use]
    pub fn saying(self, said: Hint) -> Self {
        Self { said, ..self }
    }
}

impl From<Tag> for Label {
    fn from(Tag { logical, extent, role, owner, hint, .. }: Tag) -> Self {
        Self { logical, extent, role, owner, hint, said: Hint::NONE }
    }
}

/// What to program into a page.
#[derive(Clone, Debug)]
pub enum Content<D> {
    /// Something new.
    New(D),
    /// What another page holds: the same version.
    Copy(Page<D>),
}

impl<D: Default> Content<D> {
    /// No data, of a certain version.
    pub fn empty(logical: u32, version: u64) -> Self {
        Self::Copy(Page { logical, version, hint: 0, data: D::default() })
    }
}
