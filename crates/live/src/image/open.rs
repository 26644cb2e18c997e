//! Opening an image's file, and what each new image has.

use std::fs::{File, OpenOptions};
use std::path::Path;

use flash::Geometry;

use super::blocks::Block;
use super::file::ImageFile;
use super::header::Description;
use super::image_layout::ImageLayout;
use super::life;
use crate::LiveError;

/// The checked shape, of an image whose file has so many bytes: a header that speaks of more flash
/// than there are slots for is not believed, since everything that is held in memory grows with it.
pub(super) fn geometry_in(description: &Description, file_bytes: u64) -> Result<Geometry, LiveError> {
    let geometry = description.checked_geometry()?;
    let least = ImageLayout::of(&geometry).data;
    if file_bytes < least {
        return Err(LiveError::user(format!(
            "the header says {} pages of {} bytes, whose tables alone take {least} bytes, but the file has {file_bytes}. The header is not of this \
             file, or too little is left of it; restore the image from a copy",
            geometry.pages(),
            geometry.page_size_bytes()
        )));
    }
    Ok(geometry)
}

/// Opens an image's file to read it, and maybe to write it. What is no regular file is refused
/// before it is opened, since a pipe would be waited for.
pub(super) fn open_file(path: &Path, writes: bool) -> Result<File, LiveError> {
    let found = std::fs::metadata(path).map_err(|error| cannot_open(path, &error))?;
    if !found.is_file() {
        let what = if found.is_dir() { "a folder" } else { "a pipe, a socket or a device" };
        return Err(LiveError::user(format!(
            "{} is no flash image but {what}; an image is a regular file, which `ftlkit image create` makes",
            path.display()
        )));
    }
    OpenOptions::new().read(true).write(writes).open(path).map_err(|error| cannot_open(path, &error))
}

fn cannot_open(path: &Path, error: &std::io::Error) -> LiveError {
    if error.kind() == std::io::ErrorKind::NotFound {
        return LiveError::user(format!(
            "there is no image {path}; make one: ftlkit image create {path}",
            path = path.display()
        ));
    }
    LiveError::file("open", path, error)
}

/// What every image has from the beginning, but its header.
pub(super) fn write_new(
    file: &mut ImageFile,
    geometry: &Geometry,
    blocks: &[Block],
    life: &life::Life,
) -> std::io::Result<()> {
    let places = ImageLayout::of(geometry);
    file.extend(places.end)?;
    let table: Vec<u8> = blocks.iter().enumerate().flat_map(|(block, entry)| entry.encode(block)).collect();
    for offset in places.block(0) {
        file.write(&table, offset)?;
    }
    let mut slots = life::LifeSlots::read(file, places.life).slots;
    (0..2).try_for_each(|_| slots.write(file, life))
}
