//! What programs were promised and is not safe yet: if the flash takes no more writes, that is what
//! they are told of.

use std::collections::BTreeMap;
use std::fmt;

use super::{ROOT, Tree};
use crate::device::Device;

/// Names of files that are said.
const MOST_NAMES: usize = 5;

/// What was accepted since everything was safe last.
#[derive(Debug, Default)]
pub(crate) struct Owed {
    /// Bytes written, by file; a folder has none, and is here if names in it changed.
    pub(crate) files: BTreeMap<u64, u64>,
    /// Names that were given, taken away or changed, but for those of new files.
    names: u64,
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

impl<V: Device> Tree<V> {
    /// Whether what programs did to a file, or to the names in a folder, can still become safe, or
    /// is.
    pub fn is_kept(&self, number: u64) -> bool {
        !self.is_worn_out() || !self.owed.files.contains_key(&number)
    }

    /// What cannot be kept, if there is something.
    pub fn lost(&self) -> Option<Lost> {
        if !self.is_worn_out() {
            return None;
        }
        let is_file = |number: &u64| {
            let node = self.nodes.get(number);
            node.is_some_and(|node| !node.entry.is_folder() && !node.is_removed)
        };
        let files: Vec<_> = self.owed.files.iter().filter(|(number, _)| is_file(number)).collect();
        let lost = Lost {
            files: files.len() as u64,
            bytes: files.iter().map(|&(_, bytes)| bytes).sum(),
            names: self.owed.names,
            paths: files.iter().take(MOST_NAMES).map(|&(number, _)| self.path(*number)).collect(),
        };
        (lost.files > 0 || lost.names > 0).then_some(lost)
    }

    /// The path of a file in the volume, as far as its folders are known.
    fn path(&self, number: u64) -> String {
        let mut names = Vec::new();
        let mut at = number;
        while at != ROOT {
            let Some(node) = self.nodes.get(&at) else {
                names.push("…");
                break;
            };
            names.push(&node.entry.name);
            at = node.parent;
        }
        names.reverse();
        names.join("/")
    }
}
