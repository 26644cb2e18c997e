//! What the local client says of its files.

use serde::Serialize;

/// What a mounted file system says of its files.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FilesStat {
    /// Where it is mounted.
    pub mounted_at: String,
    /// Intervals of the analyzer that have ended.
    pub intervals: u64,
    /// The highest degree, T.
    pub degrees: u8,
    /// All types of files that were seen in the last interval, by name.
    pub types: Vec<TypeStat>,
}

/// A type of file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TypeStat {
    /// Its extension with a dot, or another name for files without one.
    pub file_type: String,
    /// How hot it is: 0 for what is never written again, to T.
    pub degree: u8,
    /// S: active files.
    pub active: u64,
    /// f: writes to a file that are expected in an interval.
    pub f: f64,
}
