//! The page or block that a message names: what an assertion or an exception of a scheme is about.
//!
//! Messages are written by the scheme's author: `LPN 5`, `lpn=5`, `physical page 17`. A number
//! alone is no address, since nobody can tell of what.

use flash::{Geometry, Lpn, Pbn, Ppn};

use crate::report::wording;

/// What a message names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    Logical(Lpn),
    Physical(Ppn),
    Block(Pbn),
}

/// Makes an address of a number.
type Of = fn(u32) -> Address;

/// What stands before a number, and of what that is the address. A message that names several is
/// about the logical page.
const WORDS: [(&str, Of); 6] = [
    ("lpn", |number| Address::Logical(Lpn::new(number))),
    ("logical page", |number| Address::Logical(Lpn::new(number))),
    ("ppn", |number| Address::Physical(Ppn::new(number))),
    ("physical page", |number| Address::Physical(Ppn::new(number))),
    ("pbn", |number| Address::Block(Pbn::new(number))),
    ("block", |number| Address::Block(Pbn::new(number))),
];

impl Address {
    /// The address in a message, if it names one on the device.
    pub(crate) fn named_in(message: &str, geometry: &Geometry, logical_pages: u32) -> Option<Self> {
        let said = wording::said(message).to_ascii_lowercase();
        let is_there = |address: &Self| match *address {
            Self::Logical(lpn) => lpn.get() < logical_pages,
            Self::Physical(ppn) => ppn.get() < geometry.pages(),
            Self::Block(pbn) => pbn.get() < geometry.blocks(),
        };
        WORDS.iter().find_map(|(word, of)| numbers_after(&said, word).map(of).find(is_there))
    }
}

/// The numbers that follow a word, from the first one on.
fn numbers_after<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = u32> + 'a {
    text.match_indices(word).filter_map(move |(at, _)| {
        let is_word = !text[..at].ends_with(|before: char| before.is_ascii_alphanumeric());
        let after = text[at + word.len()..].trim_start_matches([' ', '=', ':', '#', '(', '[']);
        let digits = after.find(|character: char| !character.is_ascii_digit()).unwrap_or(after.len());
        after[..digits].parse().ok().filter(|_| is_word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_about_the_page_that_it_names() {
        let geometry = crate::DeviceSpec::new(1, 1, 1, 8, 4).geometry().expect("a geometry");
        let of = |message: &str| Address::named_in(message, &geometry, 20);
        let logical = |lpn| Some(Address::Logical(Lpn::new(lpn)));
        for (message, named) in [
            ("mine.py, line 3, in write (`self.map[lpn 4]`): AssertionError: LPN 5 is mapped twice", logical(5)),
            ("PPN 17 and lpn=5 disagree", logical(5)),
            ("logical page: 7", logical(7)),
            ("PPN 17 is free", Some(Address::Physical(Ppn::new(17)))),
            ("physical page #31", Some(Address::Physical(Ppn::new(31)))),
            ("block 3 is miscounted", Some(Address::Block(Pbn::new(3)))),
            // Beyond the device, or a number of something else.
            ("LPN 20", None),
            ("PPN 32, LPN 20", None),
            ("KeyError: 5", None),
            ("blocks are miscounted: 3", None),
            ("helpn 5", None),
            ("lpn five", None),
            ("", None),
        ] {
            assert_eq!(of(message), named, "{message}");
        }
    }
}
