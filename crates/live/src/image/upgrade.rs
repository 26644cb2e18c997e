//! An image of version 1 becomes one of this version: the same pages, wear and counts, written into
//! a new file.
//!
//! The old file is not touched. Without another name for the new one it takes the old one's place
//! when it is complete and on the disk; of an image that was named by a link it takes the place of
//! the file that the link leads to.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use flash::Geometry;
use serde::Serialize;

use super::blocks::Block;
use super::copies::is_of;
use super::file::ImageFile;
use super::header::{self, Description, OLD_VERSION, VERSION, is_old};
use super::image_layout::ImageLayout;
use super::life::Life;
use super::open::{open_file, write_new};
use super::page_tags::{Body, SLOT_BYTES, Slot, encode};
use super::version_one::{self as old, OldImageLayout, OldTag, TAG_BYTES};
use crate::LiveError;

/// What became of an image.
#[derive(Clone, Debug, Serialize)]
pub struct Upgraded {
    /// Where the new one lies.
    pub image: PathBuf,
    /// The description of the new image.
    pub description: Description,
    /// Pages that hold something.
    pub pages: u64,
    /// What was odd about the old one.
    pub findings: Vec<String>,
}

/// Converts an image that nobody serves. One that lacks bytes or has damaged tags is refused,
/// unless damage is accepted: then what is left is converted.
pub fn upgrade(from: &Path, to: Option<&Path>, accept_damage: bool) -> Result<Upgraded, LiveError> {
    let file = open_file(from, false)?;
    if let Err(TryLockError::WouldBlock) = file.try_lock() {
        return Err(LiveError::user(format!("{} is being served; stop the server first", from.display())));
    }
    if !is_old(&file) {
        // Whatever is wrong with it is said as when it is opened.
        let why = header::read(&file).err().map_or_else(
            || format!("is of version {VERSION} already; there is nothing to convert"),
            |error| error.to_string(),
        );
        return Err(LiveError::user(format!("{}: {why}", from.display())));
    }
    let named = |why: String| LiveError::user(format!("{}: {why}", from.display()));
    let description = old::description(&file).map_err(named)?;
    let geometry = description.checked_geometry().map_err(|error| named(error.to_string()))?;
    let converted = Old::read(file, from, &description, geometry, accept_damage)?;
    let place = from.canonicalize().map_err(|error| LiveError::file("find", from, &error))?;
    let beside = || PathBuf::from([place.as_os_str(), "new".as_ref()].join(".".as_ref()));
    let target = to.map_or_else(beside, Path::to_owned);
    let new = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&target);
    let new = new.map_err(|error| match (error.kind(), to) {
        (std::io::ErrorKind::AlreadyExists, None) => {
            named(format!("{} exists; if an interrupted conversion left it, remove it first", target.display()))
        }
        _ => LiveError::file("create", &target, &error),
    })?;
    let written = converted.write(&mut ImageFile::writable(new), &description);
    let written = written.and_then(|()| match to {
        Some(_) => Ok(()),
        None => std::fs::rename(&target, &place).map_err(|error| LiveError::file("replace", from, &error)),
    });
    if written.is_err() {
        // The old image is as it was. The first error is the one worth telling.
        let _ = std::fs::remove_file(&target);
    }
    written?;
    let image = to.unwrap_or(from).to_owned();
    let pages = converted.slots.iter().filter(|slot| **slot != Slot::Erased).count() as u64;
    Ok(Upgraded { image, description, pages, findings: converted.findings })
}

/// Refuses an image whose end is missing; without data nothing is left to convert, even if damage
/// is accepted.
fn refuse_truncated(file: &File, path: &Path, places: &OldImageLayout, accept_damage: bool) -> Result<(), LiveError> {
    let length = file.metadata().map_err(|error| LiveError::file("read", path, &error))?.len();
    if length < places.data || (length < places.end && !accept_damage) {
        return Err(LiveError::user(format!(
            "{} is truncated: its last {} bytes are missing. Restore it from a copy, or convert what is left with --accept-damage",
            path.display(),
            places.end - length
        )));
    }
    Ok(())
}

/// An image of version 1, in terms of this one.
#[derive(Debug)]
struct Old {
    file: File,
    geometry: Geometry,
    places: OldImageLayout,
    blocks: Vec<Block>,
    slots: Vec<Slot>,
    life: Life,
    findings: Vec<String>,
}

impl Old {
    fn read(
        file: File,
        path: &Path,
        described: &Description,
        geometry: Geometry,
        accept_damage: bool,
    ) -> Result<Self, LiveError> {
        let places = OldImageLayout::of(&geometry);
        let cannot_read = |error| LiveError::file("read", path, &error);
        refuse_truncated(&file, path, &places, accept_damage)?;
        let life = old::life(&file, &places);
        let mut findings = Vec::new();
        if life.is_none() {
            findings.push("neither copy of the image's life can be read: counts since it was made are lost".to_owned());
        }
        let entries = old::blocks(&file, &places, &geometry).map_err(cannot_read)?;
        let most = entries.iter().flatten().map(|(block, _)| block.erases).max().unwrap_or(0);
        let damaged_entries = entries.iter().filter(|entry| entry.is_none()).count();
        let mut old = Self {
            file,
            geometry,
            places,
            blocks: Vec::new(),
            slots: Vec::new(),
            life: life.clone().unwrap_or_default(),
            findings,
        };
        let (mut damaged_tags, mut unreached) = (0, 0);
        let mut bytes = vec![0; geometry.pages_per_block() as usize * TAG_BYTES];
        for (block, entry) in (0..).zip(entries) {
            let (entry, is_erasing) = entry.unwrap_or((Block { erases: most, ..Block::default() }, false));
            let offset = old.places.tags + u64::from(block) * bytes.len() as u64;
            header::read_up_to(&old.file, &mut bytes, offset).map_err(cannot_read)?;
            for tag in bytes.as_chunks::<TAG_BYTES>().0 {
                let tag = old::tag(tag);
                let is_programmed = matches!(tag, OldTag::Programmed(..));
                let slot =
                    if is_erasing { Some(Slot::Erased) } else { old.slot(tag, block, described, life.is_some()) };
                unreached += usize::from(is_programmed && slot == Some(Slot::Torn));
                damaged_tags += usize::from(slot.is_none());
                old.slots.push(slot.unwrap_or(Slot::Torn));
            }
            // What was to be erased was not needed any more: here it is erased.
            old.blocks.push(Block { erases: entry.erases.saturating_add(u32::from(is_erasing)), ..entry });
        }
        for (count, what) in [(damaged_tags, "tags"), (damaged_entries, "entries of the block table")] {
            if count > 0 {
                old.findings.push(format!("{count} {what} are damaged"));
            }
        }
        if unreached > 0 {
            old.findings.push(format!(
                "the data of {unreached} pages had not reached the disk when its host stopped; they were not flushed, so logical pages may show \
                 what they held before"
            ));
        }
        if damaged_tags + damaged_entries > 0 && !accept_damage {
            return Err(LiveError::user(format!(
                "{} is damaged: {}, so logical pages may show older content than they should. Restore it from a copy, or convert what is left \
                 with --accept-damage",
                path.display(),
                old.findings.join(", ")
            )));
        }
        Ok(old)
    }

    /// A tag as a slot of this version; none for a damaged one. Data are looked at where it is not
    /// promised that they are on the disk.
    fn slot(&mut self, tag: OldTag, block: u32, described: &Description, knows_synced: bool) -> Option<Slot> {
        let (tag, body) = match tag {
            OldTag::Erased => return Some(Slot::Erased),
            OldTag::Torn => return Some(Slot::Torn),
            OldTag::Unstable => return Some(Slot::Unstable),
            OldTag::Damaged => return None,
            OldTag::Programmed(tag, body) => (tag, body),
        };
        if !is_of(&tag, body, block, &self.geometry, described.logical_pages) {
            return None;
        }
        let is_unsynced = knows_synced && tag.seq > self.life.synced_seq;
        let is_whole = match body {
            Body::Data { crc } | Body::Own { crc, .. } if is_unsynced => {
                self.data(self.slots.len(), body).is_ok_and(|data| crc32c::crc32c(&data) == crc)
            }
            _ => true,
        };
        Some(if is_whole { Slot::Programmed(tag, body) } else { Slot::Torn })
    }

    fn data(&self, page: usize, body: Body) -> std::io::Result<Vec<u8>> {
        let page_bytes = self.geometry.page_size_bytes();
        let length = match body {
            Body::None => 0,
            Body::Data { .. } => page_bytes,
            Body::Own { length, .. } => length,
        };
        let mut data = vec![0; length as usize];
        header::read_up_to(&self.file, &mut data, self.places.data + page as u64 * u64::from(page_bytes))?;
        Ok(data)
    }

    fn write(&self, new: &mut ImageFile, description: &Description) -> Result<(), LiveError> {
        let places = ImageLayout::of(&self.geometry);
        let cannot = |error: std::io::Error| {
            LiveError::user(format!(
                "cannot convert an image of version {OLD_VERSION}: {error}; the old one is as it was"
            ))
        };
        let seqs = self.slots.iter().filter_map(|slot| match slot {
            Slot::Programmed(tag, _) => Some(tag.seq),
            _ => None,
        });
        let touched = self.slots.iter().filter(|slot| **slot != Slot::Erased).count() as u64;
        let life = Life { synced_seq: seqs.max().unwrap_or(0), touched_pages: Some(touched), ..self.life.clone() };
        write_new(new, &self.geometry, &self.blocks, &life).map_err(cannot)?;
        let pages_per_block = self.geometry.pages_per_block() as usize;
        for (block, slots) in self.slots.chunks(pages_per_block).enumerate() {
            let first = block * pages_per_block;
            let written = |(page, slot): (usize, &Slot)| match slot {
                Slot::Erased => [0; SLOT_BYTES],
                slot => encode(page, self.blocks[block].erases, *slot),
            };
            let bytes: Vec<u8> = (first..).zip(slots).flat_map(written).collect();
            if slots.iter().any(|slot| *slot != Slot::Erased) {
                places.slot(first).into_iter().try_for_each(|offset| new.write(&bytes, offset)).map_err(cannot)?;
            }
            for (page, slot) in (first..).zip(slots) {
                if let Slot::Programmed(_, body) = slot {
                    let data = self.data(page, *body).map_err(cannot)?;
                    new.write_all_at(&data, places.data(page)).map_err(cannot)?;
                }
            }
        }
        header::write(new, description, places.end)?;
        new.sync_all().map_err(cannot)
    }
}

#[cfg(test)]
mod tests;
