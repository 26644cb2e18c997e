//! Which files there are, of which types, how they are called, and which one is drawn.

use random::SeededRng;

use crate::spec::{FileSpec, Names};

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
fn kinds(names: Names) -> Vec<FileKind> {
    match names {
        Names::Letters => LETTERS.map(|letter| kind(letter, 1, 1.0, 1.0, false)).to_vec(),
        Names::Mix => MIX.to_vec(),
    }
}
