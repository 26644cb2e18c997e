//! What is done with names: look up, list, create, remove, rename.

use analyzer::Event;
use fat::{Entry, FatError, Folder, Stamp};

use super::attributes::now;
use super::attributes::{Attributes, Listed, ROOT};
use super::{HIDDEN, Node, Tree, check_name};
use crate::device::Device;
use crate::error::FileError;

impl<V: Device> Tree<V> {
    /// Finds a name in a folder; the kernel knows the file from then on.
    pub fn lookup(&mut self, folder: u64, name: &str) -> Result<Attributes, FileError> {
        let found = self.find(folder, name)?;
        self.known(found, folder)
    }

    /// All names of a folder.
    pub fn list(&mut self, folder: u64) -> Result<Vec<Listed>, FileError> {
        let folder = self.folder(folder)?;
        let all = self.volume.list(folder)?;
        let shown: Vec<_> = all.into_iter().filter(|entry| !self.is_hidden(folder, entry)).collect();
        let listed = |entry: Entry| {
            let (number, is_folder) = (self.number(&entry), entry.is_folder());
            Listed { number, is_folder, name: entry.name }
        };
        Ok(shown.into_iter().map(listed).collect())
    }

    /// The number of the folder that a folder lies in.
    pub fn above(&self, folder: u64) -> u64 {
        self.nodes.get(&folder).map_or(ROOT, |node| node.parent)
    }

    /// Makes an empty file and opens it.
    pub fn create(&mut self, folder: u64, name: &str, is_read_only: bool) -> Result<Attributes, FileError> {
        check_name(name)?;
        let inside = self.folder(folder)?;
        self.make_way(inside, name)?;
        let entry = self.change(|tree| {
            let mut entry = tree.volume.create_file(inside, name, now())?;
            if is_read_only {
                entry.is_read_only = true;
                tree.volume.update(&entry)?;
            }
            Ok(entry)
        })?;
        let made = self.known(entry, folder)?;
        self.node_mut(made.number)?.opens += 1;
        self.owed.changed(made.number, 0);
        self.touch(folder);
        self.tell(Event::Create, made.number);
        Ok(made)
    }

    /// Makes an empty folder.
    pub fn create_folder(&mut self, folder: u64, name: &str) -> Result<Attributes, FileError> {
        check_name(name)?;
        let inside = self.folder(folder)?;
        self.make_way(inside, name)?;
        let entry = self.change(|tree| Ok(tree.volume.create_folder(inside, name, now())?))?;
        let made = self.known(entry, folder)?;
        self.owed.changed(made.number, 0);
        self.owed.name_changed();
        self.touch(folder);
        Ok(made)
    }

    /// Removes a file's name; its data go when the last handle is closed.
    pub fn remove(&mut self, folder: u64, name: &str) -> Result<(), FileError> {
        let entry = self.find(folder, name)?;
        if entry.is_folder() {
            return Err(FileError::IsFolder);
        }
        let hidden = self.change(|tree| tree.remove_entry(&entry))?;
        self.gone(&entry, hidden);
        self.owed.name_changed();
        self.touch(folder);
        Ok(())
    }

    /// Removes an empty folder.
    pub fn remove_folder(&mut self, folder: u64, name: &str) -> Result<(), FileError> {
        let entry = self.find(folder, name)?;
        if !entry.is_folder() {
            return Err(FileError::NotFolder);
        }
        self.change(|tree| Ok(tree.volume.remove(&entry)?))?;
        self.gone(&entry, None);
        self.owed.name_changed();
        self.touch(folder);
        Ok(())
    }

    /// Gives a file or folder another name; a file of that name is replaced, if it may be.
    pub fn rename(
        &mut self,
        (from, name): (u64, &str),
        (to, new_name): (u64, &str),
        may_replace: bool,
    ) -> Result<(), FileError> {
        check_name(new_name)?;
        let entry = self.find(from, name)?;
        let inside = self.folder(to)?;
        let other = self.replaced(&entry, (to, new_name), may_replace)?;
        self.make_way(inside, new_name)?;
        let (new, hidden) = self.change(|tree| {
            let hidden = match &other {
                Some(other) if other.is_folder() => {
                    tree.volume.remove(other)?;
                    None
                }
                // An open file keeps its clusters, under a hidden name.
                Some(other) if tree.is_open(other) => tree.remove_entry(other)?,
                Some(other) => return Ok((tree.volume.replace(other, &entry)?, None)),
                None => None,
            };
            Ok((tree.volume.rename(&entry, inside, new_name)?, hidden))
        })?;
        if let Some(other) = &other {
            self.gone(other, hidden);
        }
        self.moved(&entry, new, to);
        self.owed.name_changed();
        self.touch(from);
        self.touch(to);
        Ok(())
    }

    /// What an entry would replace under another name, if it may.
    fn replaced(
        &mut self,
        entry: &Entry,
        (to, name): (u64, &str),
        may_replace: bool,
    ) -> Result<Option<Entry>, FileError> {
        let other = match self.find(to, name) {
            Ok(other) if other.id() != entry.id() => Some(other),
            Ok(_) | Err(FileError::NotFound) => None,
            Err(error) => return Err(error),
        };
        if other.is_some() && !may_replace {
            return Err(FatError::Exists.into());
        }
        match &other {
            Some(other) if other.is_folder() && !entry.is_folder() => return Err(FileError::IsFolder),
            Some(other) if !other.is_folder() && entry.is_folder() => return Err(FileError::NotFolder),
            _ => {}
        }
        if entry.is_folder() {
            self.check_outside(entry, to)?;
        }
        Ok(other)
    }

    /// The file is closed; it goes if it was removed.
    pub fn close(&mut self, number: u64) -> Result<(), FileError> {
        let node = self.node_mut(number)?;
        node.opens = node.opens.saturating_sub(1);
        if node.opens == 0 && node.is_removed {
            let entry = node.entry.clone();
            // What cannot be removed any more goes when the volume is mounted again, or is hidden
            // then.
            if !self.is_read_only() {
                self.change(|tree| Ok(tree.volume.remove(&entry)?))?;
            }
            self.numbers.remove(&entry.id());
            self.changed.remove(&number);
            self.owed.forget(number);
            self.nodes.remove(&number);
            return Ok(());
        }
        self.drop_if_unused(number);
        Ok(())
    }

    /// The entry of a name, as its node has it if there is one.
    fn find(&mut self, folder: u64, name: &str) -> Result<Entry, FileError> {
        let inside = self.folder(folder)?;
        let found = self.volume.find(inside, name)?.filter(|entry| !self.is_hidden(inside, entry));
        let found = found.ok_or(FileError::NotFound)?;
        let number = self.numbers.get(&found.id());
        Ok(number.and_then(|number| self.nodes.get(number)).map_or(found, |node| node.entry.clone()))
    }

    fn is_open(&self, entry: &Entry) -> bool {
        let number = self.numbers.get(&entry.id());
        number.and_then(|number| self.nodes.get(number)).is_some_and(|node| node.opens > 0)
    }

    /// The number of an entry, which it keeps until it is removed.
    fn number(&mut self, entry: &Entry) -> u64 {
        *self.numbers.entry(entry.id()).or_insert_with(|| {
            self.next += 1;
            self.next - 1
        })
    }

    /// The kernel is told of an entry.
    fn known(&mut self, entry: Entry, parent: u64) -> Result<Attributes, FileError> {
        let number = self.number(&entry);
        let new = || Node { entry, parent, chain: None, lookups: 0, opens: 0, is_removed: false };
        self.nodes.entry(number).or_insert_with(new).lookups += 1;
        self.attributes(number)
    }

    /// Takes an entry away: for good, or under a hidden name, which is returned, while the file is
    /// open.
    fn remove_entry(&mut self, entry: &Entry) -> Result<Option<Entry>, FileError> {
        if !self.is_open(entry) {
            self.volume.remove(entry)?;
            return Ok(None);
        }
        self.hide(entry).map(Some)
    }

    /// Gives an entry a hidden name.
    fn hide(&mut self, entry: &Entry) -> Result<Entry, FileError> {
        loop {
            self.removed += 1;
            // Another system may have given such a name, in capitals or to a folder.
            match self.volume.rename(entry, Folder::ROOT, &format!("{HIDDEN}{}", self.removed)) {
                Err(FatError::Exists) => {}
                renamed => return Ok(renamed?),
            }
        }
    }

    /// A removed file that is still open has a short name, too, which nobody sees: if a program
    /// wants that very name, the file gets another one.
    fn make_way(&mut self, folder: Folder, name: &str) -> Result<(), FileError> {
        let found = if folder == Folder::ROOT { self.volume.find(folder, name)? } else { None };
        let number = found.and_then(|found| self.numbers.get(&found.id()).copied());
        let hidden = number.and_then(|number| self.nodes.get(&number)).filter(|node| node.is_removed);
        let (Some(number), Some(entry)) = (number, hidden.map(|node| node.entry.clone())) else { return Ok(()) };
        let new = self.change(|tree| tree.hide(&entry))?;
        self.numbers.remove(&entry.id());
        self.numbers.insert(new.id(), number);
        self.node_mut(number)?.entry = new;
        self.changed.remove(&number);
        Ok(())
    }

    /// An entry is not there any more, or hidden; the number of its file is not given again.
    fn gone(&mut self, entry: &Entry, hidden: Option<Entry>) {
        // The kernel looks files up before it removes them, so there is a number.
        let Some(number) = self.numbers.remove(&entry.id()) else { return };
        if !entry.is_folder() {
            self.rating.tell(Event::Delete, number, &entry.name, entry.is_read_only);
        }
        self.changed.remove(&number);
        self.owed.forget(number);
        self.times.forget(number);
        match (hidden, self.nodes.get_mut(&number)) {
            (Some(hidden), Some(node)) => {
                self.numbers.insert(hidden.id(), number);
                (node.entry, node.parent, node.is_removed) = (hidden, ROOT, true);
            }
            _ => drop(self.nodes.remove(&number)),
        }
    }

    /// An entry is somewhere else.
    fn moved(&mut self, old: &Entry, new: Entry, parent: u64) {
        let Some(number) = self.numbers.remove(&old.id()) else { return };
        self.numbers.insert(new.id(), number);
        if let Some(node) = self.nodes.get_mut(&number) {
            (node.entry, node.parent) = (new, parent);
            self.changed.remove(&number);
        }
        self.owed.renamed.insert(number);
        self.tell(Event::Rename, number);
        self.retype(number, (&old.name, old.is_read_only));
    }

    /// A folder may not come to lie in itself.
    fn check_outside(&self, entry: &Entry, to: u64) -> Result<(), FileError> {
        let number = self.numbers.get(&entry.id()).copied();
        let mut at = to;
        while at != ROOT {
            if Some(at) == number {
                return Err(FileError::InItself);
            }
            at = self.above(at);
        }
        Ok(())
    }

    /// A name in a folder has changed.
    pub(crate) fn touch(&mut self, folder: u64) {
        let at = self.times.touch(folder);
        self.owed.changed(folder, 0);
        if folder != ROOT
            && let Some(node) = self.nodes.get_mut(&folder)
        {
            node.entry.modified = Stamp::of_unix(at.as_secs().cast_signed());
            self.changed.insert(folder);
        }
    }
}
