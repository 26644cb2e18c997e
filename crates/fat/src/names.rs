//! Names: which ones FAT can have, when two are the same, and the short ones that go with them.

use crate::error::FatError;

/// Letters of a name at most, in units of UTF-16.
pub const MOST_NAME_UNITS: usize = 255;

/// A short name: eight letters and three of the extension, filled with spaces.
pub(crate) type Short = [u8; 11];

/// The names of the first two entries of a folder.
pub(crate) const DOT: Short = *b".          ";
pub(crate) const DOTS: Short = *b"..         ";

/// Whether FAT can have a name.
pub(crate) fn check(name: &str) -> Result<(), FatError> {
    let is_bad = |letter: char| letter.is_control() || "\"*/:<>?\\|".contains(letter);
    if name.is_empty() || name.ends_with(['.', ' ']) || name.chars().any(is_bad) {
        return Err(FatError::BadName);
    }
    if name.encode_utf16().count() > MOST_NAME_UNITS {
        return Err(FatError::LongName);
    }
    Ok(())
}

/// Upper and lower case are the same.
fn fold(letter: char) -> char {
    if letter.is_ascii() {
        return letter.to_ascii_uppercase();
    }
    let mut upper = letter.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(one), None) => one,
        _ => letter,
    }
}

/// A name as it is looked for: one spelling for all that are the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Folded(Vec<char>);

impl Folded {
    pub(crate) fn new(name: &str) -> Self {
        Self(name.chars().map(fold).collect())
    }

    pub(crate) fn is(&self, letters: impl Iterator<Item = char>) -> bool {
        self.0.iter().copied().eq(letters.map(fold))
    }

    pub(crate) fn is_in(&self, units: &[u16]) -> bool {
        // Most names differ in their first letter, or in their length.
        let may = units.len() >= self.0.len() && units.len() <= 2 * self.0.len();
        let letters = char::decode_utf16(units.iter().copied()).map(|letter| letter.unwrap_or('\u{FFFD}'));
        may && self.0.iter().copied().eq(letters.map(fold))
    }
}

/// The short name for a name, as long as no other entry has it, and whether it says all of it but for upper and lower case.
fn shortened(name: &str) -> (Vec<u8>, Vec<u8>, bool) {
    let inner = name.trim_start_matches(['.', ' ']);
    let (base, extension) = inner.rsplit_once('.').unwrap_or((inner, ""));
    let mut is_exact = inner.len() == name.len();
    let mut letters = |part: &str, most: usize| -> Vec<u8> {
        let mut out = Vec::new();
        for letter in part.chars() {
            let kept = match letter {
                ' ' | '.' => None,
                'a'..='z' | 'A'..='Z' | '0'..='9' => Some(letter.to_ascii_uppercase() as u8),
                letter if "!#$%&'()-@^_`{}~".contains(letter) => Some(letter as u8),
                _ => Some(b'_'),
            };
            is_exact &= kept.is_some_and(|byte| char::from(byte) == letter.to_ascii_uppercase());
            out.extend(kept);
        }
        is_exact &= out.len() <= most;
        out.truncate(most);
        out
    };
    let (base, extension) = (letters(base, 8), letters(extension, 3));
    is_exact &= !base.is_empty();
    (base, extension, is_exact)
}

/// A short name that no other entry of the folder has.
pub(crate) fn short(name: &str, is_taken: impl Fn(&Short) -> bool) -> Short {
    let (base, extension, is_exact) = shortened(name);
    let filled = |base: &[u8]| {
        let mut short = [b' '; 11];
        short[..base.len()].copy_from_slice(base);
        short[8..8 + extension.len()].copy_from_slice(&extension);
        short
    };
    let exact = filled(&base);
    if is_exact && !is_taken(&exact) {
        return exact;
    }
    let numbered = |stem: &[u8], number: u32| {
        let tail = format!("~{number}");
        let stem = &stem[..stem.len().min(8 - tail.len())];
        filled(&[stem, tail.as_bytes()].concat())
    };
    let few = (1..=4).map(|number| numbered(&base, number)).find(|short| !is_taken(short));
    // Beyond, something of the whole name makes collisions rare; a folder has fewer entries than there are of these.
    few.unwrap_or_else(|| {
        let sum = name.encode_utf16().fold(0_u16, |sum, unit| sum.rotate_right(1).wrapping_add(unit));
        let stem = |shift: u16| format!("{:.2}{:04X}", String::from_utf8_lossy(&base), sum.wrapping_add(shift));
        let all = (0..=u16::MAX).flat_map(|shift| (1..=9).map(move |number| (shift, number)));
        let mut all = all.map(|(shift, number)| numbered(stem(shift).as_bytes(), number));
        all.find(|short| !is_taken(short)).unwrap_or(exact)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_names_are_legal_and_never_taken_twice() {
        for (name, expected) in [
            ("readme.txt", "README  TXT"),
            ("Makefile", "MAKEFILE   "),
            (".git", "GIT~1      "),
            (".gitignore", "GITIGN~1   "),
            ("a b.c", "AB~1    C  "),
            ("main.cpp.orig", "MAINCP~1ORI"),
            ("ä.txt", "_~1     TXT"),
            ("...x", "X~1        "),
            ("long extension.json", "LONGEX~1JSO"),
        ] {
            let found = short(name, |_| false);
            assert_eq!(std::str::from_utf8(&found), Ok(expected), "{name}");
        }
        let mut taken = std::collections::BTreeSet::new();
        for i in 0..3_000 {
            let found = short(&format!("a file {i}.text"), |short| taken.contains(short));
            assert!(found.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ') && found[0] != b' ');
            assert!(taken.insert(found), "{i}");
        }
    }

    #[test]
    fn names_that_fat_cannot_have_are_refused_and_case_does_not_matter() {
        for name in ["", "a.", "a ", "a/b", "a:b", "a\nb", "what?", "|", "\\", "\"", "*"] {
            assert!(matches!(check(name), Err(FatError::BadName)), "{name:?}");
        }
        assert!(check(&"x".repeat(255)).is_ok());
        assert!(matches!(check(&"x".repeat(256)), Err(FatError::LongName)));
        assert!(matches!(check(&"😀".repeat(128)), Err(FatError::LongName)), "two units each");
        for (one, other, same) in
            [("Straße", "STRAßE", true), ("ÄÖ", "äö", true), ("a", "b", false), ("a", "ab", false)]
        {
            let units: Vec<u16> = other.encode_utf16().collect();
            assert_eq!(
                (Folded::new(one).is(other.chars()), Folded::new(one).is_in(&units)),
                (same, same),
                "{one} {other}"
            );
        }
    }
}
