//! What programs were promised and is not safe yet: if the flash takes no more writes, that is what
//! they are told of.

use std::collections::BTreeMap;
use std::fmt;

/// What was accepted since everything was safe last.
#[derive(Debug, Default)]
pub(crate) struct Owed {
    /// Bytes written, by file; a folder has none, and is here if names in it changed.
    pub(crate) files: BTreeMap<u64, u64>,
    /// Names that were given, taken away or changed, but for those of new files.
    pub(crate) names: u64,
}

impl Owed {
    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty() && self.names == 0
    }

    /// A file has changed, by so many bytes if it was written to, or a name in a folder.
    pub(crate) fn changed(&mut self, number: u64, bytes: u64) {
        *self.files.entry(number).or_default() += bytes;
    }

    /// Something was done with a name.
    pub(crate) fn renamed(&mut self) {
        self.names += 1;
    }
}

/// What was accepted, and cannot be kept since the flash is worn out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Files that were written or made.
    pub files: u64,
    /// Bytes that were written to them, those written twice counted twice.
    pub bytes: u64,
    /// Names that were changed or removed, and folders that were made.
    pub names: u64,
    /// Paths of some of the files.
    pub paths: Vec<String>,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |count: u64, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
        let more = if self.files > self.paths.len() as u64 { ", …" } else { "" };
        if self.files > 0 {
            let files = plural(self.files, "file");
            write!(f, "{} written to {files} ({}{more})", plural(self.bytes, "byte"), self.paths.join(", "))?;
        }
        if self.names > 0 {
            let and = if self.files > 0 { ", and " } else { "" };
            write!(f, "{and}{} of names and folders", plural(self.names, "change"))?;
        }
        Ok(())
    }
}
