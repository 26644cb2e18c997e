//! Code pages: which letters the bytes above 127 of a short name are.
//!
//! A short name has one byte for each letter, and nothing on the volume says which letters those
//! above 127 are: the system that wrote it decided. Linux (`mount -t vfat`) takes code page 437
//! unless it is told another one, as DOS did in America; Western Europe had 850.
//!
//! Source: the mapping tables of the Unicode Consortium, as the library `oem_cp` has them.

use oem_cp::code_table::DECODING_TABLE_CP_MAP;
use oem_cp::code_table_type::TableType;

/// The letters of short names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodePage {
    /// Those of the bytes from 128 on.
    upper_half: &'static [char; 128],
}

impl Default for CodePage {
    fn default() -> Self {
        Self { upper_half: &oem_cp::code_table::DECODING_TABLE_CP437 }
    }
}

impl CodePage {
    /// The numbers of those that are known, in order, for the user's choice.
    pub fn numbers() -> Vec<u16> {
        let mut numbers: Vec<u16> =
            DECODING_TABLE_CP_MAP.keys().copied().filter(|&number| Self::of(number).is_some()).collect();
        numbers.sort_unstable();
        numbers
    }

    /// The code page of a number, if it is known and each of its bytes has a letter.
    pub fn of(number: u16) -> Option<Self> {
        match DECODING_TABLE_CP_MAP.get(&number)? {
            TableType::Complete(upper_half) => Some(Self { upper_half }),
            TableType::Incomplete(_) => None,
        }
    }

    pub(crate) fn letter(self, byte: u8) -> char {
        if byte.is_ascii() { byte.into() } else { self.upper_half[usize::from(byte - 128)] }
    }

    /// The byte of a letter, if it has one.
    pub(crate) fn byte(self, letter: char) -> Option<u8> {
        if letter.is_ascii() {
            return Some(letter as u8);
        }
        let place = self.upper_half.iter().position(|&other| other == letter)?;
        Some(place as u8 + 128)
    }

    /// A letter in lower case, if this code page has it so.
    pub(crate) fn lower(self, letter: char) -> char {
        let mut lower = letter.to_lowercase();
        match (lower.next(), lower.next()) {
            (Some(one), None) if self.byte(one).is_some() => one,
            _ => letter,
        }
    }

    /// The byte that a letter has in short names, which are in capitals as far as the code page has
    /// them.
    pub(crate) fn capital(self, letter: char) -> Option<u8> {
        let mut upper = letter.to_uppercase();
        let capital = match (upper.next(), upper.next()) {
            (Some(one), None) => self.byte(one),
            _ => None,
        };
        capital.or_else(|| self.byte(letter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_has_a_letter_of_its_own() {
        for page in CodePage::numbers().into_iter().map(|number| CodePage::of(number).expect("a known one")) {
            for byte in 0..=u8::MAX {
                assert_eq!(page.byte(page.letter(byte)), Some(byte), "{page:?} {byte:#X}");
            }
        }
        assert_eq!(CodePage::of(1252), None);
    }

    #[test]
    fn case_is_changed_within_the_code_page_alone() {
        let page = CodePage::default();
        assert_eq!((page.letter(0x82), page.letter(0x90)), ('é', 'É'));
        assert_eq!((page.capital('é'), page.capital('a'), page.capital('É')), (Some(0x90), Some(b'A'), Some(0x90)));
        // It has ê and no Ê, and neither Á nor 漢.
        assert_eq!((page.capital('ê'), page.capital('ß'), page.capital('漢')), (Some(0x88), Some(0xE1), None));
        assert_eq!((page.lower('É'), page.lower('A'), page.lower('─')), ('é', 'a', '─'));
        let western = CodePage::of(850).expect("a known one");
        assert_eq!((western.capital('ê'), western.letter(0x9B)), (Some(0xD2), 'ø'));
    }
}
