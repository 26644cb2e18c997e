//! Types of files by their names, each with a number that fits into one byte.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Serialize, Serializer};

/// How many types there may be: numbers of one byte, without 0, which says nothing.
pub const MOST_TYPES: usize = 255;

/// What type a file is of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileType {
    /// It must not be written.
    ReadOnly,
    /// Its name has no extension.
    None,
    /// What stands behind the last dot of its name, in lower case.
    Extension(String),
    /// One of the extensions that were seen when all numbers had been given away; these are one
    /// type.
    Others,
}

impl FileType {
    /// The type of a file with this name, which may have folders in front of it.
    pub fn of(name: &str, read_only: bool) -> Self {
        let extension = |name: &str| {
            let (stem, extension) = name.rsplit_once('.')?;
            (!stem.is_empty() && !extension.is_empty()).then(|| extension.to_lowercase())
        };
        match name.rsplit(['/', '\\']).next().and_then(extension) {
            _ if read_only => Self::ReadOnly,
            Some(extension) => Self::Extension(extension),
            None => Self::None,
        }
    }
}

impl fmt::Display for FileType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReadOnly => f.write_str("read-only"),
            Self::None => f.write_str("no extension"),
            Self::Extension(extension) => write!(f, ".{extension}"),
            Self::Others => f.write_str("other extensions"),
        }
    }
}

/// As its text.
impl Serialize for FileType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The place of a type among all that were seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TypeId(u8);

impl TypeId {
    /// The type of read-only files.
    pub(crate) const READ_ONLY: Self = Self(0);
    /// The type of all extensions beyond the most there may be.
    const OTHERS: Self = Self(MOST_TYPES as u8 - 1);

    pub(crate) fn index(self) -> usize {
        self.0.into()
    }

    /// Its number in a hint, from 1.
    pub(crate) fn number(self) -> u8 {
        self.0 + 1
    }
}

/// All types that were seen, in the order in which they were seen first, behind the two that there
/// always are.
#[derive(Clone, Debug)]
pub(crate) struct Types {
    numbers: BTreeMap<String, TypeId>,
    all: Vec<FileType>,
}

impl Types {
    const NONE: TypeId = TypeId(1);

    pub(crate) fn new() -> Self {
        Self { numbers: BTreeMap::new(), all: vec![FileType::ReadOnly, FileType::None] }
    }

    pub(crate) fn all(&self) -> &[FileType] {
        &self.all
    }

    /// The type of a file, if a file of it was seen before.
    pub(crate) fn find(&self, name: &str, read_only: bool) -> Option<TypeId> {
        match FileType::of(name, read_only) {
            FileType::ReadOnly => Some(TypeId::READ_ONLY),
            FileType::Extension(extension) => self.numbers.get(&extension).copied().or_else(|| self.others()),
            FileType::None | FileType::Others => Some(Self::NONE),
        }
    }

    /// The type of a file, which gets a number if it is new.
    pub(crate) fn see(&mut self, name: &str, read_only: bool) -> TypeId {
        if let Some(known) = self.find(name, read_only) {
            return known;
        }
        let FileType::Extension(extension) = FileType::of(name, read_only) else { return Self::NONE };
        let number = TypeId(self.all.len() as u8);
        if number == TypeId::OTHERS {
            self.all.push(FileType::Others);
        } else {
            self.all.push(FileType::Extension(extension.clone()));
            self.numbers.insert(extension, number);
        }
        number
    }

    fn others(&self) -> Option<TypeId> {
        (self.all.len() == MOST_TYPES).then_some(TypeId::OTHERS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_type_is_the_extension_of_the_name_in_lower_case() {
        let extension = |name: &str| FileType::Extension(name.into());
        for (name, of) in [
            ("a.c", extension("c")),
            ("MAIN.C", extension("c")),
            ("folder.d/archive.tar.gz", extension("gz")),
            ("folder.d\\x.txt", extension("txt")),
            ("folder.d/README", FileType::None),
            (".profile", FileType::None),
            (".config.toml", extension("toml")),
            ("ends with.", FileType::None),
            ("", FileType::None),
        ] {
            assert_eq!(FileType::of(name, false), of, "{name:?}");
            assert_eq!(FileType::of(name, true), FileType::ReadOnly, "{name:?}");
        }
    }

    #[test]
    fn numbers_are_never_given_twice_and_extensions_without_one_share_the_last() {
        let mut types = Types::new();
        let numbers: Vec<_> = (0..300).map(|i| types.see(&format!("f.{i}"), false).number()).collect();
        assert_eq!(numbers[..3], [3, 4, 5], "1 is read-only, 2 no extension");
        assert!(numbers[..253].windows(2).all(|pair| pair[0] < pair[1]));
        assert!(numbers[252..].iter().all(|&number| number == 255));
        assert_eq!(types.all().len(), MOST_TYPES);
        assert_eq!(types.all().last(), Some(&FileType::Others));
        assert_eq!((types.see("f.7", false).number(), types.find("f.new", false)), (10, Some(TypeId::OTHERS)));
    }
}
