//! Which files there are, how they are called, and which one is drawn.

use random::SeededRng;

use crate::spec::FileSpec;
use crate::types::{FileKind, kinds};

/// How often a file is drawn until one is taken whatever its type: types that are seldom used must
/// not make drawing endless.
const MOST_DRAWS: u32 = 64;

/// A file of the workload: its number, path, type and size.
#[derive(Clone, Debug)]
pub(crate) struct FileEntry {
    /// The number of its place among all that there may be.
    pub(crate) number: u32,
    /// Its name with its folders.
    pub(crate) path: String,
    pub(crate) kind: FileKind,
    pub(crate) bytes: u32,
}

/// What a file is drawn for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum For {
    Reading,
    Writing,
    Deletion,
}

/// The files that there are, and the places for others.
#[derive(Debug)]
pub(crate) struct Population {
    files: Vec<FileEntry>,
    vacant: Vec<u32>,
    kinds: Vec<FileKind>,
    shares: u32,
    per_folder: u32,
}

impl Population {
    /// No file, and room for as many as the description says.
    pub(crate) fn new(spec: &FileSpec) -> Self {
        let kinds = kinds(spec.names);
        let shares = kinds.iter().map(|kind| kind.share).sum();
        Self {
            files: Vec::new(),
            vacant: (0..spec.files).rev().collect(),
            kinds,
            shares,
            per_folder: spec.files_per_folder,
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &FileEntry> {
        self.files.iter()
    }

    /// A file that is to be created, of a type that is drawn; none if there is no room for another.
    pub(crate) fn arrive(&mut self, rng: &mut SeededRng) -> Option<&mut FileEntry> {
        let number = self.vacant.pop()?;
        let kind = self.draw_kind(rng);
        let folder = number / self.per_folder;
        let path = format!("D{}/E{folder}/F{number}.{}", folder / self.per_folder, kind.extension);
        self.files.push(FileEntry { number, path, kind, bytes: 0 });
        self.files.last_mut()
    }

    /// A file that is drawn for something, by its place among the files; none if there is no file.
    pub(crate) fn draw(&self, rng: &mut SeededRng, what: For) -> Option<usize> {
        if self.files.is_empty() {
            return None;
        }
        let mut at = 0;
        for _ in 0..MOST_DRAWS {
            at = rng.below(self.files.len() as u64) as usize;
            let kind = &self.files[at].kind;
            let likely = match what {
                For::Reading => 1.0,
                For::Writing => kind.written,
                For::Deletion => kind.deleted,
            };
            if likely >= 1.0 || rng.unit_interval() <= likely {
                break;
            }
        }
        Some(at)
    }

    pub(crate) fn at(&mut self, place: usize) -> &mut FileEntry {
        &mut self.files[place]
    }

    /// A file is gone.
    pub(crate) fn leave(&mut self, place: usize) -> FileEntry {
        let gone = self.files.swap_remove(place);
        self.vacant.push(gone.number);
        gone
    }

    fn draw_kind(&self, rng: &mut SeededRng) -> FileKind {
        let mut rest = rng.below(self.shares.into()) as u32;
        for kind in &self.kinds {
            match rest.checked_sub(kind.share) {
                Some(less) => rest = less,
                None => return *kind,
            }
        }
        self.kinds[0]
    }
}
