//! The file under an image: written to, or only read, with what would have been written kept in
//! memory. Only this module writes an image, syncs it and punches holes into it.
//!
//! A translation layer cannot be brought back without writing: it erases blocks and may program
//! pages. So an image that must not be changed is read through an overlay: what is written goes
//! into memory and covers what the file holds. Only tags and the block table are written by a
//! recovery, and a little more, so memory for them is enough; beyond it writing fails as on a full
//! disk.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, IoSlice};
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::{Errno, pwritev};

/// Buffers that the operating system takes at once.
const MOST_SLICES: usize = 1024;
/// Bytes that the overlay keeps together.
const PIECE_BYTES: usize = 4096;
/// What an overlay may hold at least.
const LEAST_ROOM_BYTES: u64 = 64 << 20;
/// What it may hold of a large image: twice its tags.
const SHARE_OF_IMAGE: u64 = 64;

/// The file under an image.
#[derive(Debug)]
pub(crate) struct ImageFile {
    file: File,
    overlay: Option<Mutex<Overlay>>,
    /// Whether the file system under it takes holes.
    takes_holes: bool,
    /// What was handed over, once that is asked for.
    record: Option<Vec<DiskOp>>,
}

/// One thing that was handed to the operating system.
#[derive(Clone, Debug)]
pub enum DiskOp {
    /// Bytes at an offset.
    Write(u64, Bytes),
    /// A hole of this many bytes at an offset.
    Hole(u64, u64),
    /// Everything before has reached the disk.
    Sync,
}

/// What would have been written.
#[derive(Debug)]
struct Overlay {
    pieces: BTreeMap<u64, Box<[u8; PIECE_BYTES]>>,
    most_pieces: usize,
}

impl ImageFile {
    /// A file that is written to.
    pub(super) fn writable(file: File) -> Self {
        Self::of(file, None)
    }

    /// A file that is only read, under an overlay. What it lacks of an image of this many bytes
    /// reads as zeros.
    pub(super) fn read_only(file: File, image_bytes: u64) -> Self {
        let most = (image_bytes / SHARE_OF_IMAGE).max(LEAST_ROOM_BYTES);
        let overlay = Overlay { pieces: BTreeMap::new(), most_pieces: most as usize / PIECE_BYTES };
        Self::of(file, Some(Mutex::new(overlay)))
    }

    fn of(file: File, overlay: Option<Mutex<Overlay>>) -> Self {
        Self { file, takes_holes: overlay.is_none(), overlay, record: None }
    }

    /// From now on everything that is handed over is recorded.
    pub(super) fn record(&mut self) {
        self.record = Some(Vec::new());
    }

    /// What was handed over since.
    pub(super) fn disk_ops(&self) -> &[DiskOp] {
        self.record.as_deref().unwrap_or_default()
    }

    fn note(&mut self, op: impl FnOnce() -> DiskOp) {
        if let Some(record) = &mut self.record {
            record.push(op());
        }
    }

    /// Whether the file is only read.
    pub(crate) fn is_read_only(&self) -> bool {
        self.overlay.is_some()
    }

    pub(super) fn write(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.note(|| DiskOp::Write(offset, Bytes::copy_from_slice(bytes)));
        self.write_all_at(bytes, offset)
    }

    /// Writes buffers that follow each other.
    pub(super) fn write_all(&mut self, buffers: &[Bytes], mut offset: u64) -> io::Result<()> {
        if self.is_read_only() || buffers.len() == 1 {
            return buffers.iter().try_for_each(|buffer| {
                let at = offset;
                offset += buffer.len() as u64;
                self.write(buffer, at)
            });
        }
        buffers.iter().fold(offset, |at, buffer| {
            self.note(|| DiskOp::Write(at, buffer.clone()));
            at + buffer.len() as u64
        });
        for some in buffers.chunks(MOST_SLICES) {
            let mut slices: Vec<_> = some.iter().map(|buffer| IoSlice::new(buffer)).collect();
            let mut slices = &mut slices[..];
            while !slices.is_empty() {
                match pwritev(&self.file, slices, offset) {
                    Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                    Ok(written) => {
                        offset += written as u64;
                        IoSlice::advance_slices(&mut slices, written);
                    }
                    Err(Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(())
    }

    /// What was written reaches the disk; nothing is to do where nothing was written.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        let result = if self.is_read_only() { Ok(()) } else { self.file.sync_data() };
        self.note(|| DiskOp::Sync);
        result
    }

    /// What was written reaches the disk, and the file's length with it.
    pub(super) fn sync_all(&self) -> io::Result<()> {
        if self.is_read_only() { Ok(()) } else { self.file.sync_all() }
    }

    /// Gives room back to the file system. Where it takes no holes, the bytes stay, and nothing
    /// depends on them.
    pub(super) fn punch(&mut self, offset: u64, length: u64) {
        if self.takes_holes && length > 0 {
            self.note(|| DiskOp::Hole(offset, length));
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            self.takes_holes = fallocate(&self.file, flags, offset, length).is_ok();
        }
    }

    /// Makes it so long, with zeros; a file that is only read has them already.
    pub(super) fn extend(&self, length: u64) -> io::Result<()> {
        if self.is_read_only() { Ok(()) } else { self.file.set_len(length) }
    }
}

impl FileExt for ImageFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let Some(overlay) = &self.overlay else { return self.file.read_at(buffer, offset) };
        let mut length = 0;
        while length < buffer.len() {
            match self.file.read_at(&mut buffer[length..], offset + length as u64) {
                Ok(0) => break,
                Ok(more) => length += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        buffer[length..].fill(0);
        let overlay = overlay.lock().unwrap_or_else(PoisonError::into_inner);
        for (number, within, part) in parts(buffer.len(), offset) {
            if let Some(piece) = overlay.pieces.get(&number) {
                let end = within + part.len();
                buffer[part].copy_from_slice(&piece[within..end]);
            }
        }
        Ok(buffer.len())
    }

    fn write_at(&self, buffer: &[u8], offset: u64) -> io::Result<usize> {
        let Some(overlay) = &self.overlay else { return self.file.write_at(buffer, offset) };
        for (number, within, part) in parts(buffer.len(), offset) {
            let is_known = overlay.lock().unwrap_or_else(PoisonError::into_inner).pieces.contains_key(&number);
            let mut old = [0; PIECE_BYTES];
            if !is_known {
                self.read_exact_at(&mut old, number * PIECE_BYTES as u64)?;
                if old[within..within + part.len()] == buffer[part.clone()] {
                    continue;
                }
            }
            let mut overlay = overlay.lock().unwrap_or_else(PoisonError::into_inner);
            if !is_known && overlay.pieces.len() >= overlay.most_pieces {
                return Err(io::Error::new(
                    io::ErrorKind::StorageFull,
                    format!(
                        "an image that is served for reading alone has {} MiB of memory for what its recovery writes, and they are full",
                        (overlay.most_pieces * PIECE_BYTES) >> 20
                    ),
                ));
            }
            let piece = overlay.pieces.entry(number).or_insert_with(|| Box::new(old));
            piece[within..within + part.len()].copy_from_slice(&buffer[part]);
        }
        Ok(buffer.len())
    }
}

/// The pieces that bytes from an offset on touch: a piece's number, where in it they begin, and
/// which of the bytes lie in it.
fn parts(length: usize, offset: u64) -> impl Iterator<Item = (u64, usize, std::ops::Range<usize>)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        (at < length).then(|| {
            let place = offset + at as u64;
            let within = (place % PIECE_BYTES as u64) as usize;
            let part = at..length.min(at + PIECE_BYTES - within);
            at = part.end;
            (place / PIECE_BYTES as u64, within, part)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_over_an_image_is_read_back_and_the_file_stays_as_it_was() {
        let file = tempfile::tempfile().expect("a file");
        let content: Vec<u8> = (0..20_000_u32).map(|i| (i % 251) as u8).collect();
        file.write_all_at(&content, 0).expect("written");
        let over = ImageFile::read_only(file.try_clone().expect("a handle"), 30_000);
        let mut expected = content.clone();
        expected.resize(30_000, 0);
        for (offset, length) in [(0, 1), (4095, 2), (5000, 9000), (8192, 4096), (19_990, 5000), (25_000, 10)] {
            let bytes = vec![offset as u8 ^ 0x5A; length];
            over.write_all_at(&bytes, offset as u64).expect("room");
            expected[offset..offset + length].copy_from_slice(&bytes);
        }
        let mut found = vec![1; 30_000];
        over.read_exact_at(&mut found, 0).expect("read");
        assert_eq!(found, expected);
        over.sync_all().expect("nothing to do");
        over.extend(1 << 20).expect("nothing to do");
        let mut kept = vec![0; 20_000];
        file.read_exact_at(&mut kept, 0).expect("read");
        assert_eq!((kept, file.metadata().expect("a length").len()), (content, 20_000));
    }

    #[test]
    fn memory_for_what_is_written_has_an_end_and_zeros_over_zeros_take_none() {
        let over = ImageFile::read_only(tempfile::tempfile().expect("a file"), 0);
        let at = |piece: u64| piece * PIECE_BYTES as u64;
        let most = LEAST_ROOM_BYTES / PIECE_BYTES as u64;
        for piece in 0..most {
            over.write_all_at(&[1; 8], at(piece)).expect("room");
            over.write_all_at(&[0; 8], at(most + 1 + piece)).expect("no room needed");
        }
        let full = over.write_all_at(&[1; 8], at(most)).expect_err("full");
        assert_eq!(full.kind(), io::ErrorKind::StorageFull);
        over.write_all_at(&[2; 8], at(0)).expect("kept already");
    }
}
