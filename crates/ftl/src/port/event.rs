//! What a host may tell of its files, beside requests.
//!
//! A drive sees pages come and go; whoever has a file system above it knows why. An event says what
//! became of the file whose data lie in certain pages, and the hint that comes with it holds from
//! then on. It asks for nothing: no content may change for it, and whoever wants pages forgotten
//! trims them.

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileEvent {
    /// The file was created.
    Created,
    /// It has another name, and perhaps another type.
    Renamed,
    /// The file was deleted.
    Deleted,
    /// Its type has the temperature that comes with it from now on, wherever data of the type lie.
    Rated,
}

impl FileEvent {
    /// Every kind of file event.
    pub const ALL: [Self; 4] = [Self::Created, Self::Renamed, Self::Deleted, Self::Rated];
}
