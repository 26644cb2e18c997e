//! The bytes of a Parquet file, at any place. What its metadata says is checked against the file's
//! size before anything is allocated, so a damaged footer cannot ask for more memory than the file
//! is long.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};

use bytes::{Buf, Bytes};
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};

use crate::error::TraceError;
use crate::input::Origin;

/// A file or memory.
pub(super) enum Chunk {
    File { file: File, length: u64 },
    Memory(Bytes),
}

impl Chunk {
    /// The bytes of `origin`, as they are.
    pub(super) fn of(origin: &Origin) -> std::result::Result<Self, TraceError> {
        Ok(match origin {
            Origin::File(path) => {
                let file = Origin::file(path)?;
                let failed = |source| TraceError::Open { path: path.clone(), source };
                let length = file.metadata().map_err(failed)?.len();
                Self::File { file, length }
            }
            Origin::Memory { bytes, .. } => Self::Memory(Bytes::copy_from_slice(bytes)),
        })
    }

    fn check(&self, start: u64, length: u64) -> Result<()> {
        let total = self.len();
        match start.checked_add(length) {
            Some(end) if end <= total => Ok(()),
            _ => Err(ParquetError::EOF(format!(
                "its metadata points to {length} bytes at byte {start}, but the file has {total}"
            ))),
        }
    }
}

impl Length for Chunk {
    fn len(&self) -> u64 {
        match self {
            Self::File { length, .. } => *length,
            Self::Memory(bytes) => bytes.len() as u64,
        }
    }
}

impl ChunkReader for Chunk {
    type T = Box<dyn Read>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        self.check(start, 0)?;
        Ok(match self {
            Self::File { file, .. } => {
                let mut file = file.try_clone()?;
                file.seek(SeekFrom::Start(start))?;
                Box::new(BufReader::new(file))
            }
            Self::Memory(bytes) => Box::new(bytes.slice(start as usize..).reader()),
        })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        self.check(start, length as u64)?;
        match self {
            Self::File { .. } => {
                let mut buffer = vec![0; length];
                self.get_read(start)?.read_exact(&mut buffer)?;
                Ok(buffer.into())
            }
            Self::Memory(bytes) => Ok(bytes.slice(start as usize..start as usize + length)),
        }
    }
}
