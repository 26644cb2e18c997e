//! What can go wrong at the chip, in two kinds that are kept apart.
//!
//! A [`Violation`] is a bug in the translation layer: it did what no flash allows. A media event is
//! the flash's own doing and expected. Neither is a user error; those are found before a chip
//! exists.

use std::fmt;

use crate::{Pbn, Ppn};

/// A rule of NAND flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// A page is programmed once between two erases.
    ProgramErasedOnly,
    /// Pages of a block are programmed in the order that the device asks for.
    ProgramInOrder,
    /// Only programmed pages are read.
    ReadProgrammedOnly,
    /// Bad blocks are left alone.
    LeaveBadBlocks,
    /// A block is not erased past its endurance.
    WithinEndurance,
    /// Addresses lie on the device.
    OnDevice,
    /// A block in pSLC mode has fewer pages.
    WithinPslcPages,
    /// Only a chip that has pSLC mode is put into it.
    HasPslcMode,
    /// The mode of a block is chosen while it is erased.
    ChooseModeErased,
    /// What a block holds is erased when what replaces it is safe from a power cut.
    EraseWhatIsReplaced,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ProgramErasedOnly => "a page is programmed only when erased",
            Self::ProgramInOrder => "pages of a block are programmed in order",
            Self::ReadProgrammedOnly => "only programmed pages are read",
            Self::LeaveBadBlocks => "bad blocks are left alone",
            Self::WithinEndurance => "a block is not erased past its endurance",
            Self::OnDevice => "addresses lie on the device",
            Self::WithinPslcPages => "only the first pages of a block in pSLC mode are programmed",
            Self::HasPslcMode => "only a chip with pSLC mode is put into it",
            Self::ChooseModeErased => "the mode of a block is chosen while it is erased",
            Self::EraseWhatIsReplaced => "a block is erased when what replaces its pages is safe from a power cut",
        })
    }
}

/// An operation that the referee refused: the rule, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The broken rule.
    pub rule: Rule,
    /// The operation: `read`, `program`, `erase` or `mode change`.
    pub operation: &'static str,
    /// The erase block on which the operation was illegal.
    pub block: Pbn,
    /// The page, for reads and programs.
    pub page: Option<Ppn>,
    /// The state that made it illegal, in words.
    pub state: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "illegal {} of {}", self.operation, self.block)?;
        if let Some(page) = self.page {
            write!(f, ", {page}")?;
        }
        write!(f, ": {}, but {}", self.rule, self.state)
    }
}

/// Something that flash does and a translation layer must live with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MediaEvent {
    /// The power is gone; nothing more will be done.
    PowerCut,
    /// A page could not be programmed: it is lost, and its block should be retired.
    ProgramFailed(Ppn),
    /// A block could not be erased: it should be retired.
    EraseFailed(Pbn),
    /// A page cannot be read: it was torn by a power cut, or has more wrong bits than can be
    /// corrected.
    Uncorrectable(Ppn),
}

impl fmt::Display for MediaEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PowerCut => f.write_str("the power was cut"),
            Self::ProgramFailed(ppn) => write!(f, "{ppn} could not be programmed"),
            Self::EraseFailed(pbn) => write!(f, "{pbn} could not be erased"),
            Self::Uncorrectable(ppn) => write!(f, "{ppn} cannot be read: uncorrectable"),
        }
    }
}

/// Why the chip did not do as told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlashError {
    /// The translation layer broke a rule; the run stops with its coordinates. Boxed to keep
    /// results small.
    Violation(Box<Violation>),
    /// The flash failed, as flash does.
    Media(MediaEvent),
}

impl FlashError {
    /// The media event, if that is what it was.
    pub fn media_event(&self) -> Option<MediaEvent> {
        match self {
            Self::Media(event) => Some(*event),
            Self::Violation(_) => None,
        }
    }
}

impl fmt::Display for FlashError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Violation(violation) => violation.fmt(f),
            Self::Media(event) => event.fmt(f),
        }
    }
}

impl std::error::Error for FlashError {}
