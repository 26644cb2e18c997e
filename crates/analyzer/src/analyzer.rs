//! What happens to files, told one event after another.

use std::collections::HashMap;

use crate::interval::{self, Interval, Rated};
use crate::types::{TypeId, Types};
use crate::{FileType, ParameterError, Parameters};

/// A file, as it is when an event is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File<'a> {
    /// A number that it keeps under all its names, such as its inode's. It may be given to another
    /// file once this one is deleted.
    pub id: u64,
    /// Its name; folders in front of it do not matter.
    pub name: &'a str,
    /// Whether it must not be written.
    pub read_only: bool,
}

/// What happens to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// It is new, and open.
    Create,
    /// A program opens the file.
    Open,
    /// A write request goes over bytes that it has.
    Rewrite,
    /// A write request adds bytes at its end.
    Append,
    /// The file is deleted.
    Delete,
    /// It has the name that is told from now on.
    Rename,
    /// It must not be written from now on, or may be again, as told.
    SetReadOnly,
}

impl Event {
    /// Every kind of event.
    pub const ALL: [Self; 7] =
        [Self::Create, Self::Open, Self::Rewrite, Self::Append, Self::Delete, Self::Rename, Self::SetReadOnly];
}

/// What goes to the drive with data of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// The number of its type, 1 to 255. A type keeps it; its temperature changes.
    pub file_type: u8,
    /// C: the degree of its type now, 0 to T.
    pub degree: u8,
}

/// What a file system remembers of an active file, beside its inode.
#[derive(Clone, Copy, Debug)]
struct Active {
    file_type: TypeId,
    /// Whether it is still open from its creation.
    is_created: bool,
}

/// Counts what happens to files by type, and rates the types at the end of each interval.
#[derive(Clone, Debug)]
pub struct Analyzer {
    parameters: Parameters,
    types: Types,
    rated: Vec<Rated>,
    active: HashMap<u64, Active>,
    /// Write requests of this interval.
    writes: u64,
    intervals: u64,
    last: Option<Interval>,
}

impl Analyzer {
    /// An analyzer that has seen no file.
    pub fn new(parameters: Parameters) -> Result<Self, ParameterError> {
        let parameters = parameters.check()?;
        let types = Types::new();
        let rated = vec![Rated::default(); types.all().len()];
        Ok(Self { parameters, types, rated, active: HashMap::new(), writes: 0, intervals: 0, last: None })
    }

    /// Gives an extension its number, as when the first file with it is seen.
    pub fn know(&mut self, extension: &str) {
        self.types.see(&format!("_.{extension}"), false);
        self.rated.resize(self.types.all().len(), Rated::default());
    }

    /// The extensions that have a number, in the order of their numbers.
    pub fn extensions(&self) -> impl Iterator<Item = &str> {
        self.types.all().iter().filter_map(|found| match found {
            FileType::Extension(extension) => Some(extension.as_str()),
            _ => None,
        })
    }

    /// The parameters it was made with.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Takes an event. An interval ends with its last write request, and then its figures are
    /// returned.
    pub fn tell(&mut self, event: Event, file: &File<'_>) -> Option<&Interval> {
        match event {
            Event::Create => {
                self.forget(file.id);
                self.arrive(file, true);
            }
            Event::Open => self.access(file).is_created = false,
            Event::Rewrite => {
                let file_type = self.access(file).file_type;
                self.rated[file_type.index()].tally.rewrites += 1;
            }
            Event::Append => {
                let Active { file_type, is_created } = *self.access(file);
                self.rated[file_type.index()].tally.rewrites += u64::from(!is_created);
            }
            Event::Delete => {
                self.access(file);
                self.forget(file.id);
            }
            Event::Rename | Event::SetReadOnly => self.is_now(file),
        }
        let is_write = matches!(event, Event::Rewrite | Event::Append);
        self.writes += u64::from(is_write);
        if is_write && self.writes == self.parameters.interval { Some(self.end_interval()) } else { None }
    }

    /// Ends the interval before its last write request.
    pub fn end_interval(&mut self) -> &Interval {
        let ended = interval::end(self.intervals, &self.parameters, self.types.all(), &mut self.rated);
        self.intervals += 1;
        self.writes = 0;
        self.last.insert(ended)
    }

    /// The figures of the interval that ended last.
    pub fn last(&self) -> Option<&Interval> {
        self.last.as_ref()
    }

    /// What goes to the drive with data of a file; none of a type of which no file was seen.
    pub fn label(&self, file: &File<'_>) -> Option<Label> {
        let found = self.types.find(file.name, file.read_only)?;
        Some(Label { file_type: found.number(), degree: self.rated[found.index()].degree })
    }

    /// What goes to the drive with data of each type now, by number.
    pub fn labels(&self) -> impl Iterator<Item = Label> {
        self.rated.iter().zip(1..=u8::MAX).map(|(rated, file_type)| Label { file_type, degree: rated.degree })
    }

    /// The type that has a number in hints, if one has it.
    pub fn file_type(&self, number: u8) -> Option<&FileType> {
        self.types.all().get(usize::from(number).checked_sub(1)?)
    }

    /// What is remembered of a file, which is active from now on.
    fn access(&mut self, file: &File<'_>) -> &mut Active {
        if !self.active.contains_key(&file.id) {
            self.arrive(file, false);
        }
        self.active.get_mut(&file.id).expect("it is there, or has arrived")
    }

    fn arrive(&mut self, file: &File<'_>, is_created: bool) {
        let file_type = self.types.see(file.name, file.read_only);
        self.rated.resize(self.types.all().len(), Rated::default());
        self.rated[file_type.index()].tally.accessed += 1;
        self.active.insert(file.id, Active { file_type, is_created });
    }

    fn forget(&mut self, id: u64) {
        if let Some(Active { file_type, .. }) = self.active.remove(&id) {
            self.rated[file_type.index()].tally.deleted += 1;
        }
    }

    /// A file has another name, or may be written or not: it leaves its type if that is another one
    /// now.
    fn is_now(&mut self, file: &File<'_>) {
        let Active { file_type, is_created } = *self.access(file);
        if self.types.find(file.name, file.read_only) != Some(file_type) {
            self.forget(file.id);
            self.arrive(file, is_created);
        }
    }
}
