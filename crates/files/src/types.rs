//! Types of files: their extensions, and how they are used.

use crate::spec::Names;

/// A type of file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FileKind {
    pub(crate) extension: &'static str,
    /// Its share of the files that are created, in parts of all shares.
    pub(crate) share: u32,
    /// How likely a file that was drawn is taken to be written to, from 0 to 1.
    pub(crate) written: f64,
    /// How likely a file that was drawn is taken to be deleted, from 0 to 1.
    pub(crate) deleted: f64,
    /// Whether what is written goes over bytes that the file has, instead of to its end.
    pub(crate) rewritten: bool,
}

const fn kind(extension: &'static str, share: u32, written: f64, deleted: f64, rewritten: bool) -> FileKind {
    FileKind { extension, share, written, deleted, rewritten }
}

/// An ordinary machine: logs and databases are few and written all the time, temporary files come
/// and go, pictures and archives rest. The numbers are ours; what matters is that types differ by
/// orders of magnitude, as types on real machines do.
const MIX: [FileKind; 10] = [
    kind("log", 2, 1.0, 0.05, false),
    kind("db", 2, 1.0, 0.02, true),
    kind("tmp", 20, 0.1, 1.0, false),
    kind("txt", 15, 0.1, 0.2, true),
    kind("c", 15, 0.05, 0.1, true),
    kind("o", 15, 0.02, 0.5, true),
    kind("htm", 10, 0.02, 0.1, true),
    kind("jpg", 15, 0.002, 0.05, true),
    kind("zip", 4, 0.002, 0.05, false),
    kind("so", 2, 0.0005, 0.02, true),
];

const LETTERS: [&str; 26] = [
    "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t", "u", "v", "w",
    "x", "y", "z",
];

/// The types that a way of naming has.
pub(crate) fn kinds(names: Names) -> Vec<FileKind> {
    match names {
        Names::Letters => LETTERS.map(|letter| kind(letter, 1, 1.0, 1.0, false)).to_vec(),
        Names::Mix => MIX.to_vec(),
    }
}
