//! Names: which ones FAT can have, when two are the same, and the short ones that go with them.

use std::collections::HashSet;

use crate::code_page::CodePage;
use crate::error::FatError;
use crate::slots::{self, GONE, GONE_LETTER, Short};

/// Letters of a name at most, in units of UTF-16.
pub const MOST_NAME_UNITS: usize = 255;

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
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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
        may && self.is(long_letters(units))
    }
}

/// The letters of a long name.
pub(crate) fn long_letters(units: &[u16]) -> impl Iterator<Item = char> {
    let letter = |unit: Result<char, _>| slots::told(unit.unwrap_or(char::REPLACEMENT_CHARACTER));
    char::decode_utf16(units.iter().copied()).map(letter)
}

/// What follows a name in a folder that has such a name already, which only another system can have
/// made: the number of its slot.
fn mark(slot: u32) -> String {
    format!(" [slot {slot}]")
}

/// The names of all entries of a folder, each a name of its own: an entry whose name an entry
/// before it has is told apart by its slot.
pub(crate) fn tell_apart<'a>(entries: impl Iterator<Item = (&'a mut String, u32)>) {
    let mut names = HashSet::new();
    let alike: Vec<_> = entries.filter(|(name, _)| !names.insert(Folded::new(name))).collect();
    for (name, slot) in alike {
        while !names.insert(Folded::new(name)) {
            name.push_str(&mark(slot));
        }
    }
}

/// A name that is looked for.
#[derive(Debug)]
pub(crate) struct Wanted {
    folded: Folded,
    /// What it is but for the number of a slot, and that number, if it has one.
    marked: Option<(Folded, u32)>,
}

/// How an entry fits a name that is looked for; the best fit comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fit {
    /// It is shown under this name.
    Name,
    /// It has it as a short name beside the long one.
    Short,
    /// It is, or was, told apart by its slot.
    Slot,
}

impl Wanted {
    pub(crate) fn new(name: &str) -> Self {
        Self { folded: Folded::new(name), marked: unmarked(name).map(|(rest, slot)| (Folded::new(rest), slot)) }
    }

    /// How the entry in a slot fits, if it does.
    pub(crate) fn fit(
        &self,
        long: Option<&[u16]>,
        short: &(impl Iterator<Item = char> + Clone),
        at: u32,
    ) -> Option<Fit> {
        let is_shown_as = |name: &Folded| long.map_or_else(|| name.is(short.clone()), |units| name.is_in(units));
        if is_shown_as(&self.folded) {
            return Some(Fit::Name);
        }
        if long.is_some() && self.folded.is(short.clone()) {
            return Some(Fit::Short);
        }
        let marked = self.marked.as_ref();
        marked.is_some_and(|(name, slot)| *slot == at && is_shown_as(name)).then_some(Fit::Slot)
    }
}

/// A name without the number of a slot, and that number. Case does not matter here either.
fn unmarked(name: &str) -> Option<(&str, u32)> {
    let before = name.strip_suffix(']')?;
    let slot: u32 = before[before.trim_end_matches(|letter: char| letter.is_ascii_digit()).len()..].parse().ok()?;
    let mark = mark(slot);
    let mut rest = without_end(name, &mark)?;
    while let Some(shorter) = without_end(rest, &mark) {
        rest = shorter;
    }
    Some((rest, slot))
}

/// What is before the end of a name, if it ends so, in whatever case.
fn without_end<'a>(name: &'a str, end: &str) -> Option<&'a str> {
    let mut letters = name.chars();
    let ends_so = end.chars().rev().all(|letter| letters.next_back().is_some_and(|other| fold(other) == fold(letter)));
    ends_so.then_some(letters.as_str())
}

/// The short name for a name, as long as no other entry has it, and whether it says all of it but
/// for upper and lower case.
fn shortened(name: &str, code_page: CodePage) -> (Vec<u8>, Vec<u8>, bool) {
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
                letter if letter.is_ascii() => Some(b'_'),
                letter => Some(code_page.capital(letter).unwrap_or(b'_')),
            };
            is_exact &= kept.is_some_and(|byte| fold(code_page.letter(byte)) == fold(letter));
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
pub(crate) fn short(name: &str, code_page: CodePage, is_taken: impl Fn(&Short) -> bool) -> Short {
    let (base, extension, is_exact) = shortened(name, code_page);
    let filled = |base: &[u8]| {
        let mut short = [b' '; 11];
        short[..base.len()].copy_from_slice(base);
        short[8..8 + extension.len()].copy_from_slice(&extension);
        if short[0] == GONE {
            short[0] = GONE_LETTER;
        }
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
    // Beyond, something of the whole name makes collisions rare; a folder has fewer entries than
    // there are of these.
    few.unwrap_or_else(|| {
        let sum = name.encode_utf16().fold(0_u16, |sum, unit| sum.rotate_right(1).wrapping_add(unit));
        let stem =
            |shift: u16| [&base[..base.len().min(2)], format!("{:04X}", sum.wrapping_add(shift)).as_bytes()].concat();
        let all = (0..=u16::MAX).flat_map(|shift| (1..=9).map(move |number| (shift, number)));
        let mut all = all.map(|(shift, number)| numbered(&stem(shift), number));
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
            ("漢.txt", "_~1     TXT"),
            ("...x", "X~1        "),
            ("long extension.json", "LONGEX~1JSO"),
        ] {
            let short_name = short(name, CodePage::default(), |_| false);
            assert_eq!(std::str::from_utf8(&short_name), Ok(expected), "{name}");
        }
        for (name, code_page, expected) in [
            ("ä.txt", CodePage::default(), *b"\x8E       TXT"),
            ("Äé.ö", CodePage::default(), *b"\x8E\x90      \x99  "),
            ("õ", CodePage::default(), *b"_~1        "),
            // The byte of Õ says in a folder that nothing is there.
            ("õ", CodePage::of(850).expect("a known one"), *b"\x05          "),
            ("ñandú grande", CodePage::of(850).expect("a known one"), *b"\xA5AND\xE9G~1   "),
        ] {
            assert_eq!(short(name, code_page, |_| false), expected, "{name}");
        }
        let mut taken = std::collections::BTreeSet::new();
        for i in 0..3_000 {
            let short_name = short(&format!("a file {i}.text"), CodePage::default(), |short| taken.contains(short));
            assert!(short_name.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ') && short_name[0] != b' ');
            assert!(taken.insert(short_name), "{i}");
        }
    }

    #[test]
    fn a_name_with_the_number_of_its_slot_is_read_back() {
        assert_eq!(unmarked("a.txt [slot 12]"), Some(("a.txt", 12)));
        assert_eq!(unmarked("a [slot 12] [slot 12]"), Some(("a", 12)));
        assert_eq!(unmarked("a [slot 1] [slot 12]"), Some(("a [slot 1]", 12)));
        assert_eq!(unmarked("a [SLOT 12] [\u{17F}Lot 12]"), Some(("a", 12)));
        for name in
            ["a", "a [slot 12", "a [slot x]", "a [slot 012]", "[slot 3]", "a [slot 99999999999]", "a [slot ]", "3]"]
        {
            assert_eq!(unmarked(name), None, "{name}");
        }
        let mut names = ["é", "É", "é [slot 1]", "é", "b"].map(String::from);
        tell_apart(names.iter_mut().zip(0..));
        assert_eq!(names, ["é", "É [slot 1] [slot 1]", "é [slot 1]", "é [slot 3]", "b"]);
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
