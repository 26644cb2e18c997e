//! Where a trace's bytes come from, decompressed: a file that can be opened again, or memory.
//!
//! Compression is known by its magic bytes, never by the file's name. Several compressed members in
//! a row are one stream, as `cat a.gz b.gz` makes them. A stream that stops early is an error, not
//! an end.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{TraceError, TracePosition};

/// What the decoder of an xz stream may allocate, bytes. `xz -9` needs 65 MiB; a stream that asks
/// for more than this is not an archive of a trace but an attack on the memory.
const XZ_MEMORY_MAX: u64 = 512 << 20;

/// Buffer between file and decoder, bytes.
const COMPRESSED_BUFFER: usize = 128 << 10;

/// A compression that is read directly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    Gzip,
    Zstd,
    Xz,
    Bzip2,
}

impl Compression {
    /// Enough bytes to tell.
    const MAGIC_LENGTH: usize = 10;

    fn of(head: &[u8]) -> Option<Self> {
        // bzip2's three letters could start a text, so the first block's own magic (π, or √π where
        // there is none) counts too.
        let is_bzip2 = head.starts_with(b"BZh")
            && head
                .get(4..10)
                .is_some_and(|block| block == b"\x31\x41\x59\x26\x53\x59" || block == b"\x17\x72\x45\x38\x50\x90");
        // A zstd stream may also begin with a skippable frame.
        let is_skippable = head.get(1..4) == Some(b"\x2a\x4d\x18") && head[0] & 0xf0 == 0x50;
        if head.starts_with(b"\x1f\x8b\x08") {
            Some(Self::Gzip)
        } else if head.starts_with(b"\x28\xb5\x2f\xfd") || is_skippable {
            Some(Self::Zstd)
        } else if head.starts_with(b"\xfd7zXZ\0") {
            Some(Self::Xz)
        } else {
            is_bzip2.then_some(Self::Bzip2)
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Xz => "xz",
            Self::Bzip2 => "bzip2",
        }
    }
}

/// Where a trace's bytes are. It can be opened any number of times.
#[derive(Clone, Debug)]
pub(crate) enum Origin {
    File(PathBuf),
    Memory { name: PathBuf, bytes: Arc<[u8]> },
}

/// An opened origin: its bytes, decompressed.
pub(crate) struct Input {
    reader: Box<dyn Read + Send>,
    path: PathBuf,
    compression: Option<Compression>,
}

impl Origin {
    /// The path, or the name of what is in memory.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::File(path) => path,
            Self::Memory { name, .. } => name,
        }
    }

    /// The file name alone.
    pub(crate) fn name(&self) -> String {
        self.path().file_name().unwrap_or(self.path().as_os_str()).to_string_lossy().into_owned()
    }

    /// The file, if it is one and can be opened.
    pub(crate) fn file(path: &Path) -> Result<File, TraceError> {
        let failed = |source| TraceError::Open { path: path.to_owned(), source };
        // Asked before opening: opening a pipe would wait for its writer.
        if !std::fs::metadata(path).map_err(failed)?.is_file() {
            return Err(TraceError::NotAFile { path: path.to_owned() });
        }
        File::open(path).map_err(failed)
    }

    /// Its files: one, or those that a pattern such as `hour*.csv` names, by name.
    pub(crate) fn files(&self) -> Vec<Self> {
        let Self::File(path) = self else { return vec![self.clone()] };
        let pattern =
            path.file_name().and_then(|name| name.to_str()).filter(|name| name.contains('*') && !path.exists());
        let Some(pattern) = pattern else { return vec![self.clone()] };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let fits = |entry: &std::fs::DirEntry| entry.file_name().to_str().is_some_and(|name| is_named(name, pattern));
        let mut paths: Vec<PathBuf> = entries.filter(fits).map(|entry| folder.join(entry.file_name())).collect();
        paths.sort();
        if paths.is_empty() { vec![self.clone()] } else { paths.into_iter().map(Self::File).collect() }
    }

    /// Starts reading from the beginning, of the first file.
    pub(crate) fn open(&self) -> Result<Input, TraceError> {
        match self {
            Self::File(_) => {
                let first = self.files().swap_remove(0);
                first.decompress(Self::file(first.path())?)
            }
            Self::Memory { bytes, .. } => self.decompress(Cursor::new(Arc::clone(bytes))),
        }
    }

    fn decompress(&self, mut raw: impl Read + Send + 'static) -> Result<Input, TraceError> {
        let path = self.path().to_owned();
        let mut head = Vec::with_capacity(Compression::MAGIC_LENGTH);
        raw.by_ref()
            .take(Compression::MAGIC_LENGTH as u64)
            .read_to_end(&mut head)
            .map_err(|source| TraceError::Open { path: path.clone(), source })?;
        let compression = Compression::of(&head);
        let whole = Cursor::new(head).chain(raw);
        let Some(kind) = compression else { return Ok(Input { reader: Box::new(whole), path, compression }) };
        let buffered = BufReader::with_capacity(COMPRESSED_BUFFER, whole);
        let reader = decoder(kind, buffered).map_err(|source| TraceError::Open { path: path.clone(), source })?;
        Ok(Input { reader, path, compression })
    }
}

fn decoder(kind: Compression, input: impl io::BufRead + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    Ok(match kind {
        Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(input)),
        Compression::Zstd => Box::new(zstd::Decoder::with_buffer(input)?),
        Compression::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(input)),
        Compression::Xz => {
            let stream = liblzma::stream::Stream::new_stream_decoder(XZ_MEMORY_MAX, liblzma::stream::CONCATENATED)?;
            Box::new(liblzma::bufread::XzDecoder::new_stream(input, stream))
        }
    })
}

impl Input {
    /// Fills `buffer` as far as the input goes; returns how far that is. 0 is the end.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.reader.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }

    /// Which decoder the bytes come out of, by name; none if they are as they are.
    pub(crate) fn compression(&self) -> Option<&'static str> {
        self.compression.map(Compression::name)
    }

    /// The error of a read that failed at `place`.
    pub(crate) fn error(&self, place: TracePosition, source: io::Error) -> TraceError {
        let advice = match self.compression {
            Some(kind) => format!(
                "The {0} stream is cut short or damaged; copy the file again, or keep what `{0} -dc` still gives and read that",
                kind.name()
            ),
            None => "Check the disk or the connection it is on".to_owned(),
        };
        TraceError::Read { path: self.path.clone(), place, source, advice }
    }
}

/// What a file that is no trace may be, as a sentence ending in a space; empty if there is no
/// guess.
pub(crate) fn hint(head: &[u8]) -> &'static str {
    if head.starts_with(b"PK\x03\x04") {
        "It is a zip archive: unpack it first. "
    } else if head.starts_with(b"7z\xbc\xaf\x27\x1c") {
        "It is a 7z archive: unpack it first. "
    } else if head.get(257..262) == Some(b"ustar") {
        "It is a tar archive: unpack it first. "
    } else if head.starts_with(b"\x04\x22\x4d\x18") {
        "It is compressed with lz4, which is not read directly: decompress it first. "
    } else if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") {
        "It is text in UTF-16: convert it first (iconv -f UTF-16 -t UTF-8). "
    } else if head.get(1..4) == Some(b"tae") || head.get(..3) == Some(b"eat") {
        "It is the binary output of blktrace: print it as text with `blkparse -i NAME -o trace.txt`, without the ending .blktrace.N, and all \
         processors are merged. "
    } else if is_oracle_general(head) {
        "It looks like libCacheSim's oracleGeneral, which numbers objects and has no operations and no addresses, so it is no block trace: take \
         the trace it was made from, or print it as text (libCacheSim's tracePrint) and name its columns with op=read. "
    } else if head.contains(&0) {
        "It is binary, and not vscsi or Parquet, the two binary formats known here. "
    } else {
        ""
    }
}

/// Whether bytes are records of oracleGeneral: a time of 4 bytes that does not go back, an object
/// of 8, its size of 4, and the number of the request that asks for it next, which comes later.
fn is_oracle_general(head: &[u8]) -> bool {
    const LEAST_RECORDS: usize = 8;
    let number = |record: &[u8], at: usize| u32::from_le_bytes(record[at..at + 4].try_into().expect("four bytes"));
    let mut last = 0;
    let mut records = head.chunks_exact(24).zip(0_i64..);
    head.len() >= 24 * LEAST_RECORDS
        && records.all(|(record, place)| {
            let (time, size) = (number(record, 0), number(record, 12));
            let next = i64::from_le_bytes(record[16..24].try_into().expect("eight bytes"));
            let is_later = next == -1 || next == i64::MAX || (next > place && next < 1 << 40);
            std::mem::replace(&mut last, time) <= time && size > 0 && is_later
        })
}

/// Whether a name fits a pattern, in which `*` stands for any letters.
fn is_named(name: &str, pattern: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return name == pattern };
    let Some(name) = name.strip_prefix(start) else { return false };
    (0..=name.len()).filter(|&at| name.is_char_boundary(at)).any(|at| is_named(&name[at..], rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compression_is_known_by_magic_and_text_is_not_mistaken_for_it() {
        assert_eq!(Compression::of(b"\x1f\x8b\x08\0\0\0\0\0\0\0"), Some(Compression::Gzip));
        assert_eq!(Compression::of(b"\x28\xb5\x2f\xfd......"), Some(Compression::Zstd));
        assert_eq!(Compression::of(b"\x5e\x2a\x4d\x18......"), Some(Compression::Zstd));
        assert_eq!(Compression::of(b"\xfd7zXZ\0...."), Some(Compression::Xz));
        assert_eq!(Compression::of(b"BZh9\x31\x41\x59\x26\x53\x59"), Some(Compression::Bzip2));
        for text in [&b"BZh9 0 12 8 1"[..], b"0 0 303567", b"", b"1"] {
            assert_eq!(Compression::of(text), None);
        }
    }
}
