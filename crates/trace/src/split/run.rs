//! Runs: files of packed requests, volume by volume, that say how far the pass was.
//!
//! ```text
//!   requests of a ─ requests of b ─ … ─ index (JSON) ─ bytes of the index (8)
//! ```
//!
//! A run takes its name when it is on the disk as a whole, so the runs `00000` up to the first
//! missing one are those of which a killed split goes on.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::TraceError;
use crate::packed_records::PackedRecords;
use crate::write::{Conversion, Draft};

/// What a run holds, and how far the pass was when it was written.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RunIndex {
    /// The trace that was being read, and how many of its requests are in this run or an earlier
    /// one.
    pub(super) trace: usize,
    pub(super) requests: u64,
    /// Whether the pass is over.
    pub(super) is_last: bool,
    /// Facts of the traces before that one.
    pub(super) finished: Vec<Conversion>,
    pub(super) segments: Vec<Segment>,
}

/// The requests of one volume in a run.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Segment {
    pub(super) volume: String,
    pub(super) offset: u64,
    pub(super) bytes: u64,
    pub(super) requests: u64,
    /// The trace of the last request, and when that was.
    pub(super) trace: usize,
    pub(super) last_ns: u64,
}

/// A run on the disk.
pub(super) struct Run {
    path: PathBuf,
    file: File,
    pub(super) index: RunIndex,
}

impl Run {
    /// The runs in a folder, in order.
    pub(super) fn all(folder: &Path) -> Result<Vec<Self>, TraceError> {
        let mut runs = Vec::new();
        loop {
            let path = place(folder, runs.len());
            if !path.exists() {
                return Ok(runs);
            }
            let opened = File::open(&path).and_then(|file| Ok((read_index(&file)?, file)));
            let (index, file) = opened.map_err(|error| damaged(&path, &error))?;
            runs.push(Self { path, file, index });
        }
    }

    /// Writes the run of a number with these segments, whose places are filled in.
    pub(super) fn write(
        folder: &Path,
        number: usize,
        mut index: RunIndex,
        segments: impl Iterator<Item = (Segment, Vec<u8>)>,
    ) -> Result<Self, TraceError> {
        let path = place(folder, number);
        let draft = Draft::new(&path)?;
        let mut writer = draft.writer()?;
        let failed = |error: io::Error| TraceError::write(&path, error);
        let mut offset = 0;
        for (segment, bytes) in segments {
            writer.write_all(&bytes).map_err(failed)?;
            index.segments.push(Segment { offset, ..segment });
            offset += bytes.len() as u64;
        }
        let text = serde_json::to_vec(&index).map_err(|error| failed(error.into()))?;
        writer.write_all(&text).map_err(failed)?;
        writer.write_all(&(text.len() as u64).to_le_bytes()).map_err(failed)?;
        draft.finish(writer)?;
        let file = File::open(&path).map_err(failed)?;
        Ok(Self { path, file, index })
    }

    /// The requests of one of its segments.
    pub(super) fn records(&self, segment: &Segment) -> Result<PackedRecords, TraceError> {
        let mut bytes = vec![0; segment.bytes as usize];
        let mut file = &self.file;
        file.seek(SeekFrom::Start(segment.offset))
            .and_then(|_| file.read_exact(&mut bytes))
            .map_err(|error| damaged(&self.path, &error))?;
        Ok(PackedRecords::of_bytes(bytes))
    }
}

fn place(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("{number:05}"))
}

fn read_index(mut file: &File) -> io::Result<RunIndex> {
    let mut length = [0; 8];
    let end = file.seek(SeekFrom::End(-8))?;
    file.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length);
    let start = end.checked_sub(length).ok_or_else(|| io::Error::other("its index is longer than the file"))?;
    file.seek(SeekFrom::Start(start))?;
    let mut text = vec![0; length as usize];
    file.read_exact(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}

#[cold]
fn damaged(path: &Path, error: &io::Error) -> TraceError {
    TraceError::Option(format!(
        "{}: is no run of a split ({error}). Remove the folder that it is in: the split begins again",
        path.display()
    ))
}
