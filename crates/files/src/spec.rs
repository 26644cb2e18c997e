//! What a file workload is to be.

use analyzer::{ParameterError, Parameters};
use serde::Deserialize;
use thiserror::Error;

use crate::cache::PAGE_BYTES;

/// Below this a volume would need a kind of allocation table of which an entry is no whole number
/// of bytes.
const LEAST_VOLUME_BYTES: u64 = 17 << 20;
/// The largest volume: files and pages have numbers of 32 bits.
const MOST_VOLUME_BYTES: u64 = 1 << 40;
/// Volumes between these would have too many clusters for one kind of table and too few for the
/// other.
const NO_VOLUME_BYTES: std::ops::Range<u64> = 255 << 20..260 << 20;
/// The most streams, beside that of the file system's own tables.
const MOST_STREAMS: u8 = 15;

/// What the programs do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Personality {
    /// Mail and news: small files that are created, deleted, read and appended to at random
    /// (Katcher 1997).
    Postmark,
    /// filebench's fileserver: files are created and written whole, appended to, read whole and
    /// deleted.
    Fileserver,
    /// filebench's varmail: as postmark, and each message is made safe at once.
    Varmail,
    /// filebench's webserver: files are read whole, and a log is appended to.
    Webserver,
}

/// How files are named, and what types of files do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Names {
    /// Extensions a to z, drawn alike for each file (Wang 2013 7.5): all types are used alike.
    Letters,
    /// Extensions of an ordinary machine, which differ in how often there are files of the type,
    /// and how often these are appended to, rewritten in place and deleted (`population.rs`).
    Mix,
}

/// A file workload. Each personality has its own defaults: [`FileSpec::of`].
#[derive(Clone, Debug, PartialEq)]
pub struct FileSpec {
    /// What the programs do.
    pub personality: Personality,
    /// How often: transactions of postmark, rounds of the others. 1 or more.
    pub operations: u64,
    /// Files that there may be: postmark and webserver begin with all of them, the others with 80
    /// %. 2 or more.
    pub files: u32,
    /// Bytes of a file when it is created, the mean of filebench's sizes (gamma distributed, shape
    /// 1.5); postmark's go from 500 to 10 000 whatever this says.
    pub mean_bytes: u32,
    /// Bytes that an append adds at most, for filebench's personalities.
    pub append_bytes: u32,
    /// Bytes of a write request of a program.
    pub request_bytes: u32,
    /// Size of the volume: 17 MiB to 1 TiB, but not from 255 to 260 MiB.
    pub volume_bytes: u64,
    /// How files are named.
    pub names: Names,
    /// Files of a folder, 1 or more; more make names longer to look up.
    pub files_per_folder: u32,
    /// Dirty bytes that wait in the page cache before they are written.
    pub dirty_bytes: u64,
    /// Whether clusters that are freed are trimmed.
    pub trims: bool,
    /// Streams for the data of files, by their degrees, 0 to 15; the file system's own tables have
    /// stream 0.
    pub streams: u8,
    /// The temperature degree that the file system gives its own tables and folders, 0 to the
    /// analyzer's `degrees`; without one nothing is said of them.
    pub table_degree: Option<u8>,
    /// Operations per second, which says when requests arrive.
    pub operations_per_second: f64,
    /// How temperatures are found.
    pub analyzer: Parameters,
}

/// A description that cannot be carried out.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum SpecError {
    /// A value out of range.
    #[error("file workload: {key} = {value}: {rule}")]
    Field {
        /// The key of the field.
        key: &'static str,
        /// What was given.
        value: String,
        /// The limit, and what to do.
        rule: String,
    },
    /// A parameter of the analyzer is out of range.
    #[error(transparent)]
    Analyzer(#[from] ParameterError),
}

impl FileSpec {
    /// A personality with its benchmark's own numbers, on a volume that they fit.
    pub fn of(personality: Personality) -> Self {
        let small = Self {
            personality,
            operations: 100_000,
            files: 1_000,
            mean_bytes: 16 << 10,
            append_bytes: 16 << 10,
            request_bytes: 1 << 20,
            volume_bytes: 1 << 30,
            names: Names::Letters,
            files_per_folder: 32,
            dirty_bytes: 4 << 20,
            trims: true,
            streams: 3,
            table_degree: None,
            operations_per_second: 1_000.0,
            analyzer: Parameters::default(),
        };
        match personality {
            // Wang 2013 7.5.1 has 50 000 files at once. The benchmark itself writes 512 B at a
            // time.
            Personality::Postmark => Self { files: 50_000, request_bytes: 4 << 10, mean_bytes: 5_250, ..small },
            Personality::Fileserver => Self { files: 10_000, mean_bytes: 128 << 10, volume_bytes: 2 << 30, ..small },
            Personality::Varmail | Personality::Webserver => small,
        }
    }

    /// The same, if it can be carried out.
    pub fn check(self) -> Result<Self, SpecError> {
        let refused = |key, value: String, rule: String| Err(SpecError::Field { key, value, rule });
        for (key, value, least) in [
            ("operations", self.operations, 1),
            ("files", self.files.into(), 2),
            ("mean_bytes", self.mean_bytes.into(), 1),
            ("append_bytes", self.append_bytes.into(), 1),
            ("request_bytes", self.request_bytes.into(), 1),
            ("files_per_folder", self.files_per_folder.into(), 1),
            ("dirty_bytes", self.dirty_bytes, PAGE_BYTES),
        ] {
            if value < least {
                return refused(key, value.to_string(), format!("must be at least {least}"));
            }
        }
        let volume = self.volume_bytes;
        if !(LEAST_VOLUME_BYTES..=MOST_VOLUME_BYTES).contains(&volume) || NO_VOLUME_BYTES.contains(&volume) {
            let rule = "must be from 17 MiB to 1 TiB, and not from 255 to 260 MiB, where FAT has no kind of table for clusters of 4 KiB";
            return refused("volume_bytes", volume.to_string(), rule.into());
        }
        if self.streams > MOST_STREAMS {
            return refused("streams", self.streams.to_string(), format!("must be at most {MOST_STREAMS}"));
        }
        if let Some(degree) = self.table_degree.filter(|&degree| degree > self.analyzer.degrees) {
            let rule = format!("must be at most {}, which is degrees; leave it out for no hint", self.analyzer.degrees);
            return refused("table_degree", degree.to_string(), rule);
        }
        if !(self.operations_per_second.is_finite() && self.operations_per_second > 0.0) {
            let rule = "must be above 0".into();
            return refused("operations_per_second", self.operations_per_second.to_string(), rule);
        }
        let needed = u64::from(self.files) * u64::from(self.mean_bytes).next_multiple_of(PAGE_BYTES);
        if needed > volume / 10 * 9 {
            let rule = format!(
                "{} files of {} bytes take {needed} bytes in clusters of 4 KiB, and at most nine tenths of the volume may be full of them; \
                 give a larger volume_bytes, or fewer files",
                self.files, self.mean_bytes
            );
            return refused("volume_bytes", volume.to_string(), rule);
        }
        self.analyzer.check()?;
        Ok(self)
    }
}
