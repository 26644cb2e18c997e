//! What a scheme says of a page that it programs: its label, and where its content comes from.

use flash::{Lbn, Page, Role, Tag};

/// The OOB content of a page as a scheme says it; the flash port adds the sequence number.
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
}

impl Label {
    /// A label without an owner.
    #[inline]
    pub fn new(logical: u32, role: Role) -> Self {
        Self { logical, extent: 1, role, owner: None }
    }

    /// A label with an owner.
    #[inline]
    pub fn of(logical: u32, role: Role, owner: Lbn) -> Self {
        Self { owner: Some(owner), ..Self::new(logical, role) }
    }

    /// The tag of a page with this label.
    #[inline]
    pub(crate) fn tag(self, seq: u64, version: u64, hint: u8) -> Tag {
        let Self { logical, extent, role, owner } = self;
        Tag { logical, extent, role, owner, seq, version, hint }
    }
}

impl From<Tag> for Label {
    fn from(Tag { logical, extent, role, owner, .. }: Tag) -> Self {
        Self { logical, extent, role, owner }
    }
}

/// What to program into a page.
#[derive(Clone, Debug)]
pub enum Content<D> {
    /// New content, from the host or of the scheme's own.
    New(D),
    /// Something new, and what the scheme keeps of the host's hint with it, 0 for nothing.
    Hinted(D, u8),
    /// What another page holds: the same version, and the same hint.
    Copy(Page<D>),
}

impl<D> Content<D> {
    /// What is kept of the host's hint with it, 0 for nothing.
    #[inline]
    pub fn stored_hint(&self) -> u8 {
        match self {
            Self::New(_) => 0,
            Self::Hinted(_, stored) => *stored,
            Self::Copy(page) => page.hint,
        }
    }
}

impl<D: Default> Content<D> {
    /// No data, of a certain version.
    pub fn empty(logical: u32, version: u64) -> Self {
        Self::Copy(Page { logical, version, hint: 0, data: D::default() })
    }
}
