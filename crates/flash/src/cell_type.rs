//! Cell types: how many bits a cell holds, and which of them each page of a block has.
//!
//! The cells of a word line hold one page for each of their bits. These pages are not neighbours in
//! a block: under *shadow programming* a part programs the lower pages of the word lines around
//! before the upper page of the one between, which disturbs finished pages less. Pages of a block
//! are programmed in ascending order all the same, and their types take turns:
//!
//! ```text
//! page  0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 …
//! MLC   L L L L L L U L L U  L  L  U  U  L  L  U …
//! TLC   L L L L L L C C L L  C  C  U  U  L  L  C …
//! QLC   L L L L L L l l L L  l  l  u  u  U  U  L …
//! ```
//!
//! `L` is lower, `C` centre, `U` upper, `l` and `u` are lower and upper centre. FEMU has this order
//! (`hw/femu/nand/nand.c`), and that of TLC from Yaakobi et al., ICNC 2012.
//!
//! Departures: FEMU's tables are those of blocks of 512 pages. Here the turns go on to the end of a
//! block of any size, so the last four pages of an MLC block are not `U L L U` as they are there.
//!
//! It knows no times and no data. Which pages a power cut destroys with their word line is the
//! business of `exposure.rs`.

use serde::{Deserialize, Serialize};

/// How many bits a cell holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CellType {
    /// One bit: all pages are alike.
    #[default]
    Slc,
    /// Two bits: lower and upper pages.
    Mlc,
    /// Three bits: lower, centre and upper pages.
    Tlc,
    /// Four bits: lower, lower centre, upper centre and upper pages.
    Qlc,
}

/// Which bit of its cells a page has, by number: 0 is the lower page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PageType(u8);

impl PageType {
    /// The lower page: the only one of SLC.
    pub const LOWER: Self = Self(0);

    /// Its number, below [`CellType::MOST_BITS`].
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl CellType {
    /// All, by their bits.
    pub const ALL: [Self; 4] = [Self::Slc, Self::Mlc, Self::Tlc, Self::Qlc];

    /// The bits of the cell with the most.
    pub const MOST_BITS: usize = Self::ALL.len();

    /// Bits of a cell, which is also how many types of page there are.
    #[inline]
    pub const fn bits(self) -> usize {
        self as usize + 1
    }

    /// The name that people write: `TLC`.
    pub const fn name(self) -> &'static str {
        ["SLC", "MLC", "TLC", "QLC"][self as usize]
    }

    /// The names of the types of page, by number.
    pub const fn page_types(self) -> &'static [&'static str] {
        match self {
            Self::Slc => &["lower"],
            Self::Mlc => &["lower", "upper"],
            Self::Tlc => &["lower", "centre", "upper"],
            Self::Qlc => &["lower", "lower centre", "upper centre", "upper"],
        }
    }

    /// The type of the page at an offset of a block, under shadow programming.
    pub const fn page_type(self, offset: u32) -> PageType {
        // The first word lines, then pairs of pages that take turns.
        let first: &[u8] = match self {
            Self::Slc => &[],
            Self::Mlc => &[0, 0, 0, 0, 0, 0, 1, 0, 0, 1],
            Self::Tlc | Self::Qlc => &[0, 0, 0, 0, 0, 0, 1, 1],
        };
        let offset = offset as usize;
        if offset < first.len() {
            return PageType(first[offset]);
        }
        PageType(((offset - first.len()) / 2 % self.bits()) as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The types of this many pages, as digits.
    fn types(cell: CellType, pages: u32) -> String {
        (0..pages).map(|page| cell.page_type(page).index().to_string()).collect()
    }

    #[test]
    fn pages_take_turns_as_in_the_tables_of_femu() {
        assert_eq!(types(CellType::Slc, 20), "00000000000000000000");
        assert_eq!(types(CellType::Mlc, 22), "0000001001001100110011");
        assert_eq!(types(CellType::Tlc, 22), "0000001100112200112200");
        assert_eq!(types(CellType::Qlc, 26), "00000011001122330011223300");
    }

    #[test]
    fn every_type_of_a_cell_has_about_its_share_of_a_block() {
        for cell in CellType::ALL {
            assert_eq!((cell.bits(), cell.page_types().len()), (cell as usize + 1, cell.bits()));
            let mut counts = vec![0_u32; cell.bits()];
            (0..1152).for_each(|page| counts[cell.page_type(page).index()] += 1);
            let share = 1152 / cell.bits() as u32;
            assert!(counts.iter().all(|count| count.abs_diff(share) <= 8), "{} {counts:?}", cell.name());
        }
    }
}
