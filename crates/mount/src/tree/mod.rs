//! The files and folders of a mounted volume, as programs ask for them: by number, as the kernel
//! does.
//!
//! A file has a number from when it is first looked up until the volume is unmounted. What was
//! changed of its entry waits in its node and is written when everything is made safe. An operation
//! that fails changes nothing.
//!
//! **When the flash is worn out**, each change is refused from the first write on that the device
//! refuses. What was accepted before that write and could not be kept ([`Lost`]) is still shown,
//! so that it can be copied, and a sync of it reports an error.
//!
//! **Files that are removed while programs have them open** get a hidden name in the root folder
//! and go when the last program closes them, or when the volume is mounted again.

mod attributes;
mod data;
mod names;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;

use analyzer::{Analyzer, Event};
use fat::{Chain, Entry, FatError, Folder, Volume};
use ftl::Hint;
use live::FilesStat;

use crate::cache::Cache;
use crate::device::Device;
use crate::error::FileError;
use crate::rating::Rating;

pub use attributes::{Attributes, Changes, Listed, ROOT, Space};

use attributes::Times;

/// How names of files begin that were removed while they were open.
const HIDDEN: &str = ".ftlkit-removed-";

#[derive(Debug)]
struct Node {
    entry: Entry,
    parent: u64,
    /// Its clusters, once they were needed.
    chain: Option<Chain>,
    /// How often the kernel was told of it.
    lookups: u64,
    /// How often it is open.
    opens: u64,
    /// Whether it goes when it is closed.
    is_removed: bool,
}

/// The files of a mounted volume.
#[derive(Debug)]
pub struct Tree<V: Device> {
    volume: Volume<Cache<V>>,
    nodes: HashMap<u64, Node>,
    /// Numbers by what entries are known by on the volume.
    numbers: HashMap<u64, u64>,
    next: u64,
    /// Nodes of which the volume has an older entry.
    changed: BTreeSet<u64>,
    rating: Rating,
    /// What is not safe yet.
    owed: Owed,
    /// When names in folders changed.
    times: Times,
    /// Whether the volume says that it is in use, and shall not when it is unmounted.
    is_in_use: bool,
    /// For hidden names.
    removed: u64,
}

impl<V: Device> Tree<V> {
    /// The files of a volume. What was removed while it was open, before the volume was last
    /// unmounted, goes now.
    pub(crate) fn new(mut volume: Volume<Cache<V>>, analyzer: Analyzer, streams: u8) -> Result<Self, FileError> {
        // Without a journal, a volume that says so may have to be repaired, and goes on saying so.
        let was_in_use = volume.is_in_use()?;
        let is_in_use = volume.disk().has_journal() || !was_in_use;
        let mut tree = Self {
            volume,
            nodes: HashMap::new(),
            numbers: HashMap::new(),
            next: ROOT + 1,
            changed: BTreeSet::new(),
            rating: Rating::new(analyzer, streams),
            owed: Owed::default(),
            times: Times::default(),
            is_in_use,
            removed: 0,
        };
        if !tree.is_read_only() {
            for entry in tree.volume.list(Folder::ROOT)? {
                if is_left_over(&entry) {
                    tree.change(|tree| Ok(tree.volume.remove(&entry)?))?;
                }
            }
        }
        Ok(tree)
    }

    /// Whether whatever was made safe stays whole.
    pub fn has_journal(&self) -> bool {
        self.volume.disk().has_journal()
    }

    /// Whether the device takes no writes any more.
    pub fn is_worn_out(&self) -> bool {
        self.volume.disk().is_worn_out()
    }

    /// Whether the last of what is safe lies in the journal alone, where other drivers do not look.
    pub fn is_in_journal(&self) -> bool {
        self.volume.disk().is_ahead()
    }

    /// Whether nothing can be changed.
    pub fn is_read_only(&self) -> bool {
        self.volume.disk().is_read_only()
    }

    /// Whether anything waits that may still become safe.
    pub fn is_dirty(&self) -> bool {
        !self.is_read_only() && self.is_changed()
    }

    fn is_changed(&self) -> bool {
        !self.changed.is_empty() || self.volume.disk().is_dirty()
    }

    /// How much room there is.
    pub fn space(&self) -> Space {
        let shape = self.volume.shape();
        Space { cluster_bytes: shape.cluster_bytes, clusters: shape.clusters, free: self.volume.free_clusters() }
    }

    /// The analyzer's findings for `ftlkit stat`, if they are new.
    pub fn news(&mut self, mounted_at: &str) -> Option<FilesStat> {
        self.rating.news(mounted_at)
    }

    /// What holds of each type of file since the last interval, also for data at rest.
    pub fn hints(&self) -> Vec<Hint> {
        self.rating.hints()
    }

    /// What the volume lies on.
    pub fn device(&self) -> &V {
        self.volume.disk().device()
    }

    /// Makes everything safe that was done so far.
    pub fn sync(&mut self) -> Result<(), FileError> {
        if self.is_read_only() {
            return if self.owed.is_empty() { Ok(()) } else { Err(FileError::ReadOnly) };
        }
        for number in &self.changed {
            if let Some(node) = self.nodes.get(number) {
                self.volume.update(&node.entry)?;
            }
        }
        self.changed.clear();
        if self.volume.disk().is_dirty() {
            self.volume.write_free()?;
        }
        let disk = self.volume.disk_mut();
        disk.set_types(self.rating.extensions());
        disk.commit()?;
        for number in self.owed.settle() {
            self.drop_if_unused(number);
        }
        Ok(())
    }

    /// Makes a file or a folder safe, with everything else. Where that fails since the flash is
    /// worn out, it succeeds for what was safe before.
    pub fn sync_one(&mut self, number: u64) -> Result<(), FileError> {
        match self.sync() {
            Err(FileError::ReadOnly) if self.is_kept(number) => Ok(()),
            result => result,
        }
    }

    /// Makes everything safe and says on the volume that it is not in use any more.
    pub fn unmount(&mut self) -> Result<(), FileError> {
        self.sync()?;
        match self.leave() {
            // Everything is safe; that the volume is in use it says for ever.
            Err(FileError::ReadOnly) => Ok(()),
            result => result,
        }
    }

    fn leave(&mut self) -> Result<(), FileError> {
        let removed: Vec<_> =
            self.nodes.values().filter(|node| node.is_removed).map(|node| node.entry.clone()).collect();
        for entry in removed {
            self.change(|tree| Ok(tree.volume.remove(&entry)?))?;
        }
        if self.is_read_only() {
            return Ok(());
        }
        self.nodes.clear();
        if self.is_in_use {
            self.volume.set_in_use(false)?;
        }
        self.sync()
    }

    /// State of a file.
    pub fn attributes(&self, number: u64) -> Result<Attributes, FileError> {
        let cluster_bytes = u64::from(self.volume.shape().cluster_bytes);
        let known = self.times.get(number);
        let (modified, modified_ns) = known.map_or((0, 0), |at| (at.as_secs().cast_signed(), at.subsec_nanos()));
        if number == ROOT {
            let is_folder = true;
            return Ok(Attributes {
                number,
                is_folder,
                bytes: 0,
                disk_bytes: 0,
                modified,
                modified_ns,
                is_read_only: false,
            });
        }
        let Node { entry, .. } = self.node(number)?;
        Ok(Attributes {
            number,
            is_folder: entry.is_folder(),
            bytes: entry.bytes.into(),
            disk_bytes: u64::from(entry.bytes).next_multiple_of(cluster_bytes),
            modified: if known.is_some() { modified } else { entry.modified.unix() },
            modified_ns,
            is_read_only: entry.is_read_only,
        })
    }

    /// The kernel forgets what it was told of a file this many times.
    pub fn forget(&mut self, number: u64, lookups: u64) {
        if let Some(node) = self.nodes.get_mut(&number) {
            node.lookups = node.lookups.saturating_sub(lookups);
            self.drop_if_unused(number);
        }
    }

    /// Whether an entry is of a file that was removed and is still open, or was when the power
    /// went, which nobody sees.
    fn is_hidden(&self, folder: Folder, entry: &Entry) -> bool {
        let node = self.numbers.get(&entry.id()).and_then(|number| self.nodes.get(number));
        node.is_some_and(|node| node.is_removed)
            || (self.is_read_only() && folder == Folder::ROOT && is_left_over(entry))
    }

    fn drop_if_unused(&mut self, number: u64) {
        let is_used = |node: &Node| node.lookups > 0 || node.opens > 0 || node.is_removed;
        let is_owed = self.changed.contains(&number) || self.owed.has(number);
        if !is_owed && self.nodes.get(&number).is_some_and(|node| !is_used(node)) {
            self.nodes.remove(&number);
        }
    }

    fn node(&self, number: u64) -> Result<&Node, FileError> {
        self.nodes.get(&number).ok_or(FileError::NotFound)
    }

    fn node_mut(&mut self, number: u64) -> Result<&mut Node, FileError> {
        self.nodes.get_mut(&number).ok_or(FileError::NotFound)
    }

    fn folder(&self, number: u64) -> Result<Folder, FileError> {
        if number == ROOT {
            return Ok(Folder::ROOT);
        }
        self.node(number)?.entry.folder().ok_or(FileError::NotFolder)
    }

    /// Does something that changes the volume, as a whole or not at all.
    fn change<T>(&mut self, act: impl FnOnce(&mut Self) -> Result<T, FileError>) -> Result<T, FileError> {
        if self.is_read_only() {
            return Err(FileError::ReadOnly);
        }
        if self.volume.disk().is_full() {
            self.sync()?;
        }
        let remembered = self.volume.remembered();
        self.volume.disk_mut().begin();
        let result = self.volume.set_in_use(true).map_err(FileError::from).and_then(|()| act(self));
        if result.is_ok() {
            self.volume.disk_mut().end();
        } else {
            self.volume.disk_mut().take_back();
            self.volume.remember(remembered);
        }
        result
    }

    /// A file had this name, and perhaps could be written or not: if its type is another one now,
    /// the device hears of it, so that data at rest have the temperature of their file.
    fn retype(&mut self, number: u64, (name, was_read_only): (&str, bool)) {
        let Some(Node { entry, .. }) = self.nodes.get(&number) else { return };
        let before = self.rating.hint(name, was_read_only);
        let hint = self.rating.hint(&entry.name, entry.is_read_only);
        if entry.is_folder() || entry.bytes == 0 || hint.file_type() == before.file_type() {
            return;
        }
        let entry = entry.clone();
        // Where its clusters cannot be found, the next access to it says so.
        if let Ok(chain) = self.volume.chain(&entry) {
            let ranges = self.volume.ranges(&chain, 0, entry.bytes.into());
            self.volume.disk_mut().rename(ranges, hint);
        }
    }

    fn tell(&mut self, event: Event, number: u64) {
        if let Some(Node { entry, .. }) = self.nodes.get(&number)
            && !entry.is_folder()
        {
            self.rating.tell(event, number, &entry.name, entry.is_read_only);
        }
    }
}

/// Whether an entry of the root folder was removed while it was open, before the volume was last
/// mounted.
fn is_left_over(entry: &Entry) -> bool {
    !entry.is_folder() && entry.name.starts_with(HIDDEN) && is_reserved(&entry.name)
}

/// Whether a name is kept for files that are removed while they are open; FAT does not tell upper
/// from lower case.
fn is_reserved(name: &str) -> bool {
    let number = name.split_at_checked(HIDDEN.len()).filter(|(start, _)| start.eq_ignore_ascii_case(HIDDEN));
    number.is_some_and(|(_, rest)| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A name that is reserved may not be given.
fn check_name(name: &str) -> Result<(), FileError> {
    if is_reserved(name) { Err(FatError::BadName.into()) } else { Ok(()) }
}

/// Writes accepted since the last successful sync.
#[derive(Debug, Default)]
pub(crate) struct Owed {
    /// Bytes written, by file; a folder has none, and is here if names in it changed.
    pub(crate) files: BTreeMap<u64, u64>,
    /// Names that were given, taken away or changed, but for those of new files.
    pub(crate) names: u64,
    /// Files and folders that have another name, or another folder, than the volume says.
    pub(crate) renamed: BTreeSet<u64>,
}

impl Owed {
    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty() && self.names == 0
    }

    /// A file has changed, by this many bytes if it was written to, or a name in a folder.
    pub(crate) fn changed(&mut self, number: u64, bytes: u64) {
        *self.files.entry(number).or_default() += bytes;
    }

    /// A name was given or taken away.
    pub(crate) fn name_changed(&mut self) {
        self.names += 1;
    }

    /// Whether something of a file or folder is not safe yet.
    pub(crate) fn has(&self, number: u64) -> bool {
        self.files.contains_key(&number) || self.renamed.contains(&number)
    }

    /// A file or folder is not there any more.
    pub(crate) fn forget(&mut self, number: u64) {
        self.files.remove(&number);
        self.renamed.remove(&number);
    }

    /// Everything is safe; the files and folders of which something was not.
    pub(crate) fn settle(&mut self) -> BTreeSet<u64> {
        let Self { files, renamed, .. } = std::mem::take(self);
        files.into_keys().chain(renamed).collect()
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

/// Names of files that are said.
const MOST_NAMES: usize = 5;

impl<V: Device> Tree<V> {
    /// Whether what programs did to a file, to its name or to the names in a folder can still
    /// become safe, or is.
    pub fn is_kept(&self, number: u64) -> bool {
        !self.is_worn_out() || !self.is_owed(number)
    }

    /// Whether something of a file or a folder is not safe yet: its content, or its name.
    pub(super) fn is_owed(&self, number: u64) -> bool {
        self.owed.has(number)
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
