//! What cannot be kept once the flash is worn out.

use super::Tree;
use super::attributes::ROOT;
use super::owed::Lost;
use crate::device::Device;

/// Names of files that are said.
const MOST_NAMES: usize = 5;

impl<V: Device> Tree<V> {
    /// Whether what programs did to a file, or to the names in a folder, can still become safe, or
    /// is.
    pub fn is_kept(&self, number: u64) -> bool {
        !self.is_worn_out() || !self.is_owed(number)
    }

    /// Whether something of a file or a folder is not safe yet.
    pub(super) fn is_owed(&self, number: u64) -> bool {
        self.owed.files.contains_key(&number)
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
