//! Code pages: which letters the bytes above 127 of a short name are.
//!
//! A short name has one byte for each letter, and nothing on the volume says which letters those
//! above 127 are: the system that wrote it decided. Linux (`mount -t vfat`) takes code page 437
//! unless it is told another one, as DOS did in America; Western Europe had 850.
//!
//! Source: the mapping tables CP437.TXT and CP850.TXT of the Unicode Consortium.

/// The letters of short names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CodePage {
    /// Code page 437.
    #[default]
    Cp437,
    /// Code page 850.
    Cp850,
}

#[rustfmt::skip]
const CP437: [char; 128] = [
    'Ç', 'ü', 'é', 'â', 'ä', 'à', 'å', 'ç', 'ê', 'ë', 'è', 'ï', 'î', 'ì', 'Ä', 'Å',
    'É', 'æ', 'Æ', 'ô', 'ö', 'ò', 'û', 'ù', 'ÿ', 'Ö', 'Ü', '¢', '£', '¥', '₧', 'ƒ',
    'á', 'í', 'ó', 'ú', 'ñ', 'Ñ', 'ª', 'º', '¿', '⌐', '¬', '½', '¼', '¡', '«', '»',
    '░', '▒', '▓', '│', '┤', '╡', '╢', '╖', '╕', '╣', '║', '╗', '╝', '╜', '╛', '┐',
    '└', '┴', '┬', '├', '─', '┼', '╞', '╟', '╚', '╔', '╩', '╦', '╠', '═', '╬', '╧',
    '╨', '╤', '╥', '╙', '╘', '╒', '╓', '╫', '╪', '┘', '┌', '█', '▄', '▌', '▐', '▀',
    'α', 'ß', 'Γ', 'π', 'Σ', 'σ', 'µ', 'τ', 'Φ', 'Θ', 'Ω', 'δ', '∞', 'φ', 'ε', '∩',
    '≡', '±', '≥', '≤', '⌠', '⌡', '÷', '≈', '°', '∙', '·', '√', 'ⁿ', '²', '■', '\u{A0}',
];

#[rustfmt::skip]
const CP850: [char; 128] = [
    'Ç', 'ü', 'é', 'â', 'ä', 'à', 'å', 'ç', 'ê', 'ë', 'è', 'ï', 'î', 'ì', 'Ä', 'Å',
    'É', 'æ', 'Æ', 'ô', 'ö', 'ò', 'û', 'ù', 'ÿ', 'Ö', 'Ü', 'ø', '£', 'Ø', '×', 'ƒ',
    'á', 'í', 'ó', 'ú', 'ñ', 'Ñ', 'ª', 'º', '¿', '®', '¬', '½', '¼', '¡', '«', '»',
    '░', '▒', '▓', '│', '┤', 'Á', 'Â', 'À', '©', '╣', '║', '╗', '╝', '¢', '¥', '┐',
    '└', '┴', '┬', '├', '─', '┼', 'ã', 'Ã', '╚', '╔', '╩', '╦', '╠', '═', '╬', '¤',
    'ð', 'Ð', 'Ê', 'Ë', 'È', 'ı', 'Í', 'Î', 'Ï', '┘', '┌', '█', '▄', '¦', 'Ì', '▀',
    'Ó', 'ß', 'Ô', 'Ò', 'õ', 'Õ', 'µ', 'þ', 'Þ', 'Ú', 'Û', 'Ù', 'ý', 'Ý', '¯', '´',
    '\u{AD}', '±', '‗', '¾', '¶', '§', '÷', '¸', '°', '¨', '·', '¹', '³', '²', '■', '\u{A0}',
];

impl CodePage {
    /// The numbers of those that are known, for whoever has to choose.
    pub const NUMBERS: [u16; 2] = [437, 850];

    /// The code page of a number, if it is known.
    pub fn of(number: u16) -> Option<Self> {
        match number {
            437 => Some(Self::Cp437),
            850 => Some(Self::Cp850),
            _ => None,
        }
    }

    fn upper_half(self) -> &'static [char; 128] {
        match self {
            Self::Cp437 => &CP437,
            Self::Cp850 => &CP850,
        }
    }

    pub(crate) fn letter(self, byte: u8) -> char {
        if byte.is_ascii() { byte.into() } else { self.upper_half()[usize::from(byte - 128)] }
    }

    /// The byte of a letter, if it has one.
    pub(crate) fn byte(self, letter: char) -> Option<u8> {
        if letter.is_ascii() {
            return Some(letter as u8);
        }
        let place = self.upper_half().iter().position(|&other| other == letter)?;
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
        for page in CodePage::NUMBERS.map(|number| CodePage::of(number).expect("a known one")) {
            for byte in 0..=u8::MAX {
                assert_eq!(page.byte(page.letter(byte)), Some(byte), "{page:?} {byte:#X}");
            }
        }
        assert_eq!(CodePage::of(1252), None);
    }

    #[test]
    fn case_is_changed_within_the_code_page_alone() {
        let page = CodePage::Cp437;
        assert_eq!((page.letter(0x82), page.letter(0x90)), ('é', 'É'));
        assert_eq!((page.capital('é'), page.capital('a'), page.capital('É')), (Some(0x90), Some(b'A'), Some(0x90)));
        // It has ê and no Ê, and neither Á nor 漢.
        assert_eq!((page.capital('ê'), page.capital('ß'), page.capital('漢')), (Some(0x88), Some(0xE1), None));
        assert_eq!((page.lower('É'), page.lower('A'), page.lower('─')), ('é', 'a', '─'));
        assert_eq!((CodePage::Cp850.capital('ê'), CodePage::Cp850.letter(0x9B)), (Some(0xD2), 'ø'));
    }
}
