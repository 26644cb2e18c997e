//! The flash image: a file that holds a flash device, with its wear.
//!
//! Made once for one geometry and one translation layer, then served any number of times. A lock
//! keeps two servers off one image.

mod blocks;
mod copies;
mod file;
mod header;
mod image_layout;
mod life;
mod load;
mod open;
mod page_tags;
mod read_ahead;
mod report;
mod stack;
mod store;
mod syncs;
mod waiting;

use std::fs::{OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use flash::Geometry;
use ftl::{ConfigError, Stack, registry};

use blocks::{Block, Condition};
use file::ImageFile;
use image_layout::ImageLayout;
use open::{geometry_in, open_file, write_new};

pub use file::DiskOp;
pub use header::{Description, Gathering};
pub use life::Counters;
pub use load::Findings;
pub use report::{CheckReport, ImageInfo, check, info};
pub use store::{FileStore, LiveChip};

use load::Purpose;
pub(crate) use load::{Loaded, load};

use crate::LiveError;

/// An image that is open and locked.
pub struct Image {
    /// The path of its file.
    pub path: PathBuf,
    /// Stack, geometry, sizes and counts.
    pub description: Description,
    /// Its checked shape.
    pub geometry: Geometry,
    file: ImageFile,
    /// Bytes that the file lacks at its end; zero for a whole one.
    missing_bytes: u64,
    damage: Option<String>,
}

impl Image {
    /// Makes an image, which must not exist yet: a device on which nothing was written, with the
    /// bad blocks of its factory. The translation layer is built once, to find out whether it fits.
    pub fn create(path: &Path, device: &sim::Device, stack: &Stack) -> Result<Description, LiveError> {
        let description = Description::new(device, stack)?;
        let geometry = description.checked_geometry()?;
        let ftl = registry::create(stack, &device.layout()).map_err(|ConfigError(why)| {
            let reason = device.strict_order_reason(&why);
            ConfigError(why + reason)
        })?;
        if ftl.needs_future() {
            return Err(ConfigError(format!(
                "{stack}: decides by what the host will ask, which only a simulated run knows; choose another value \
                 of victims or streams"
            ))
            .into());
        }
        // What a disk holds is its owner's affair.
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path);
        let file = file.map_err(|error| {
            if error.kind() == std::io::ErrorKind::AlreadyExists {
                return LiveError::user(format!("{} exists; remove it or name another file", path.display()));
            }
            if error.kind() == std::io::ErrorKind::NotFound {
                return LiveError::user(format!(
                    "cannot create {}: its folder does not exist; make it, or name another path",
                    path.display()
                ));
            }
            LiveError::file("create", path, &error)
        })?;
        let mut file = ImageFile::writable(file);
        let made = fill(&mut file, &geometry, device).map_err(|error| LiveError::file("write", path, &error));
        let made = made.and_then(|()| header::write(&mut file, &description, ImageLayout::of(&geometry).end));
        let made = made.and_then(|()| file.sync_all().map_err(|error| LiveError::file("write", path, &error)));
        if made.is_err() {
            // What cannot be completed must not look like an image. The first error is the one
            // worth telling.
            let _ = std::fs::remove_file(path);
        }
        made.map(|()| description)
    }

    /// Opens and locks an image for serving, perhaps only to be read: then it stays as it is.
    pub fn open(path: &Path, is_read_only: bool) -> Result<Self, LiveError> {
        let file = open_file(path, !is_read_only)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(LiveError::user(format!(
                    "{path} is being served by another process; stop that one first. `ftlkit stat {path}` shows what it does",
                    path = path.display()
                )));
            }
            Err(TryLockError::Error(error)) => return Err(LiveError::file("lock", path, &error)),
        }
        let found = header::read(&file).map_err(|error| LiveError::user(format!("{}: {error}", path.display())))?;
        let length = file.metadata().map_err(|error| LiveError::file("look at", path, &error))?.len();
        let geometry = geometry_in(&found.description, length)
            .map_err(|error| LiveError::user(format!("{}: {error}", path.display())))?;
        let end = ImageLayout::of(&geometry).end;
        let file = if is_read_only { ImageFile::read_only(file, end) } else { ImageFile::writable(file) };
        Ok(Self {
            path: path.to_owned(),
            description: found.description,
            geometry,
            file,
            missing_bytes: end.saturating_sub(length),
            damage: found.damage,
        })
    }

    /// From now on everything that is handed to the disk is recorded.
    pub fn record(&mut self) {
        self.file.record();
    }

    /// Reads everything that a chip needs. A truncated image is refused, or made whole again with
    /// zeros, which no page takes for its data. One of which both copies of something are gone is
    /// refused, or served as it is.
    pub(crate) fn load(self, accept_damage: bool) -> Result<(Loaded, Description, Geometry), LiveError> {
        let missing = self.missing_bytes;
        let end = ImageLayout::of(&self.geometry).end;
        if missing > 0 && !accept_damage {
            return Err(LiveError::user(format!(
                "{path} is truncated: its last {missing} bytes are missing. Restore it from a copy; or serve the rest with \
                 --accept-damage: pages that are missing read as errors (`ftlkit image check {path}` lists them)",
                path = self.path.display()
            )));
        }
        if missing > 0 {
            self.file.extend(end).map_err(|error| LiveError::file("extend", &self.path, &error))?;
        }
        let mut loaded = load(self.file, &self.geometry, self.description.logical_pages, Purpose::Serve)
            .map_err(|error| LiveError::file("read", &self.path, &error))?;
        if loaded.lost > 0 && !accept_damage {
            return Err(LiveError::user(format!(
                "{path} is damaged: in {} places both copies of what the image knows of its pages are gone, so logical pages may show older \
                 content than they should. Restore it from a copy; or serve the rest with --accept-damage (`ftlkit image check {path}` lists \
                 the places)",
                loaded.lost,
                path = self.path.display()
            )));
        }
        if let Some(damage) = self.damage {
            header::write(&mut loaded.store.file, &self.description, end)?;
            loaded.findings.note("header", || damage);
        }
        Ok((loaded, self.description, self.geometry))
    }
}

/// The length, the block table and the first life of a new image.
fn fill(file: &mut ImageFile, geometry: &Geometry, device: &sim::Device) -> std::io::Result<()> {
    let mut blocks = vec![Block::default(); geometry.blocks() as usize];
    for bad in &device.chip.bad_blocks {
        blocks[bad.index()].condition = Condition::Bad;
    }
    let life = life::Life { is_clean: true, touched_pages: Some(0), ..life::Life::default() };
    write_new(file, geometry, &blocks, &life)
}
