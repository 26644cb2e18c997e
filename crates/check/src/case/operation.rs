//! What the host asks for, and its short text form in replay lines: `w3+2` writes two pages from
//! page 3 on, `r` reads, `t` trims, `f` flushes, `i` offers idle time, `e5` asks for erase block 5
//! to be emptied; `c`, `n` and `d` tell that the file whose data lie in the pages was created, has
//! a new name, or was deleted.

use std::fmt;
use std::str::FromStr;

use flash::Lpn;
use ftl::FileEvent;

/// Pages of a request: the first logical page and how many (at least 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extent {
    /// First logical page.
    pub first: u32,
    /// Number of pages.
    pub pages: u32,
}

/// One request of the host, or a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Writes these pages.
    Write(Extent),
    /// Reads these pages and compares their content.
    Read(Extent),
    /// Forgets these pages.
    Trim(Extent),
    /// Makes everything durable.
    Flush,
    /// Offers idle time.
    Idle,
    /// Asks for an erase block of the device to be emptied, as wear levelling does; by its number.
    RelocateBlock(u32),
    /// Tells what became of a file whose data lie in these pages.
    FileEvent(FileEvent, Extent),
}

/// What an operation asks of the pages that it names: all that oracles need to know of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// These pages return what they hold.
    Reads(Extent),
    /// These pages have new content.
    Writes(Extent),
    /// These pages hold nothing any more.
    Trims(Extent),
    /// Whatever was acknowledged survives a power cut.
    MakesDurable,
    /// No content changes, and none becomes durable.
    Nothing,
}

/// The space that operations are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// Logical pages, at least 1.
    pub logical_pages: u32,
    /// Pages of an erase block, at least 1.
    pub pages_per_block: u32,
    /// Erase blocks of the device, at least 1.
    pub physical_blocks: u32,
}

impl Space {
    /// Logical blocks; the last may be shorter.
    pub(crate) fn blocks(self) -> u32 {
        self.logical_pages.div_ceil(self.pages_per_block)
    }
}

impl Extent {
    /// `pages` pages from `first` on, cut off at the end of a device of `logical_pages`; begins on
    /// the device in any case.
    pub(crate) fn within(logical_pages: u32, first: u32, pages: u32) -> Self {
        let first = first % logical_pages;
        Self { first, pages: pages.clamp(1, logical_pages - first) }
    }

    /// All pages of a device.
    pub(crate) fn whole(logical_pages: u32) -> Self {
        Self { first: 0, pages: logical_pages }
    }

    /// Its logical pages.
    pub fn lpns(self) -> impl Iterator<Item = Lpn> {
        (self.first..self.first + self.pages).map(Lpn::new)
    }

    /// Whether it has a logical page.
    pub fn contains(self, lpn: Lpn) -> bool {
        (self.first..self.first + self.pages).contains(&lpn.get())
    }

    fn fits(self, logical_pages: u32) -> bool {
        self.pages >= 1 && self.pages <= logical_pages && self.first <= logical_pages - self.pages
    }
}

impl Operation {
    /// What it asks of the pages that it names.
    pub(crate) fn effect(&self) -> Effect {
        match *self {
            Self::Read(extent) => Effect::Reads(extent),
            Self::Write(extent) => Effect::Writes(extent),
            Self::Trim(extent) => Effect::Trims(extent),
            Self::Flush => Effect::MakesDurable,
            Self::Idle | Self::RelocateBlock(_) | Self::FileEvent(..) => Effect::Nothing,
        }
    }

    /// The same on other pages; one without pages stays as it is.
    pub(crate) fn with_extent(self, extent: Extent) -> Self {
        match self {
            Self::Read(_) => Self::Read(extent),
            Self::Write(_) => Self::Write(extent),
            Self::Trim(_) => Self::Trim(extent),
            Self::FileEvent(event, _) => Self::FileEvent(event, extent),
            Self::Flush | Self::Idle | Self::RelocateBlock(_) => self,
        }
    }

    /// The pages that it touches.
    pub fn extent(&self) -> Option<Extent> {
        match self {
            Self::Write(extent) | Self::Read(extent) | Self::Trim(extent) | Self::FileEvent(_, extent) => Some(*extent),
            Self::Flush | Self::Idle | Self::RelocateBlock(_) => None,
        }
    }

    /// Whether it lies on a device.
    pub fn fits(&self, space: &Space) -> bool {
        match *self {
            Self::RelocateBlock(block) => block < space.physical_blocks,
            _ => self.extent().is_none_or(|extent| extent.fits(space.logical_pages)),
        }
    }
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{}", self.first, self.pages)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Write(extent) => write!(f, "w{extent}"),
            Self::Read(extent) => write!(f, "r{extent}"),
            Self::Trim(extent) => write!(f, "t{extent}"),
            Self::Flush => f.write_str("f"),
            Self::Idle => f.write_str("i"),
            Self::RelocateBlock(block) => write!(f, "e{block}"),
            Self::FileEvent(event, extent) => write!(f, "{}{extent}", letter(*event)),
        }
    }
}

/// What stands for an event in replay lines.
fn letter(event: FileEvent) -> char {
    match event {
        FileEvent::Created => 'c',
        FileEvent::Renamed => 'n',
        FileEvent::Deleted => 'd',
        FileEvent::Rated => 'h',
    }
}

impl FromStr for Extent {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (first, pages) = text.split_once('+').ok_or(())?;
        Ok(Self { first: first.parse().map_err(|_| ())?, pages: pages.parse().map_err(|_| ())? })
    }
}

impl FromStr for Operation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let advice = || {
            format!(
                "operation {text}: write it as w3+2, r3+2 or t3+2 (first page + pages), f for flush, i for idle time, e5 (erase block), \
                 or c3+2, n3+2, d3+2 or h3+2 for a file that was created, renamed or deleted, or the temperature of its type"
            )
        };
        let extent = |text: &str| text.parse::<Extent>().map_err(|()| advice());
        match (text.get(..1), text.get(1..)) {
            (Some("w"), Some(rest)) => extent(rest).map(Self::Write),
            (Some("r"), Some(rest)) => extent(rest).map(Self::Read),
            (Some("t"), Some(rest)) => extent(rest).map(Self::Trim),
            (Some("f"), Some("")) => Ok(Self::Flush),
            (Some("i"), Some("")) => Ok(Self::Idle),
            (Some("e"), Some(block)) => block.parse().map(Self::RelocateBlock).map_err(|_| advice()),
            (Some(told), Some(rest)) => {
                let event = FileEvent::ALL.into_iter().find(|&event| told.starts_with(letter(event)));
                event.ok_or_else(advice).and_then(|event| Ok(Self::FileEvent(event, extent(rest)?)))
            }
            _ => Err(advice()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_reads_back_from_its_text() {
        let extent = Extent { first: 3, pages: 2 };
        for (operation, text) in [
            (Operation::Write(extent), "w3+2"),
            (Operation::Read(extent), "r3+2"),
            (Operation::Trim(extent), "t3+2"),
            (Operation::Flush, "f"),
            (Operation::Idle, "i"),
            (Operation::RelocateBlock(5), "e5"),
            (Operation::FileEvent(FileEvent::Created, extent), "c3+2"),
            (Operation::FileEvent(FileEvent::Renamed, extent), "n3+2"),
            (Operation::FileEvent(FileEvent::Deleted, extent), "d3+2"),
            (Operation::FileEvent(FileEvent::Rated, extent), "h3+2"),
        ] {
            assert_eq!(operation.to_string(), text);
            assert_eq!(text.parse(), Ok(operation));
        }
        for wrong in [
            "",
            "w",
            "w3",
            "w3+",
            "x3+2",
            "w3+2+1",
            "f1",
            "ä",
            "w-1+2",
            "w99999999999+1",
            "e",
            "e-1",
            "d",
            "n3",
            "c3+2+1",
        ] {
            assert!(wrong.parse::<Operation>().is_err(), "{wrong}");
        }
    }

    fn space(logical_pages: u32) -> Space {
        Space { logical_pages, pages_per_block: 4, physical_blocks: 3 }
    }

    #[test]
    fn extents_never_leave_the_device() {
        assert_eq!(Extent::within(10, 8, 5), Extent { first: 8, pages: 2 });
        assert_eq!(Extent::within(10, 23, 0), Extent { first: 3, pages: 1 });
        for (first, pages, fits) in [(0, 10, true), (9, 1, true), (9, 2, false), (10, 1, false), (0, 0, false)] {
            assert_eq!(Operation::Trim(Extent { first, pages }).fits(&space(10)), fits, "{first}+{pages}");
        }
        assert!(!Operation::Read(Extent { first: u32::MAX, pages: u32::MAX }).fits(&space(u32::MAX)));
        assert!(Operation::RelocateBlock(2).fits(&space(10)) && !Operation::RelocateBlock(3).fits(&space(10)));
    }
}
