//! What programs see of files, folders and the volume, and when names in folders changed, more
//! finely than FAT keeps it.
//!
//! A program that remembers what lies in a folder looks at the folder's time to learn whether that
//! still holds: Python does so with modules. On the volume two changes within two seconds have one
//! time, so as long as it is mounted each change has a time of its own here. The root folder has no
//! slot and so no time on the volume; what was remembered of it before it was mounted may hold no
//! more, and its time begins with the mount.

use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fat::Stamp;

/// The number of the root folder.
pub const ROOT: u64 = 1;

/// State of a file or folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// The number by which the kernel knows the file.
    pub number: u64,
    /// Whether it is a folder.
    pub is_folder: bool,
    /// Bytes of a file; 0 for a folder.
    pub bytes: u64,
    /// Bytes that it takes on the volume.
    pub disk_bytes: u64,
    /// When it was changed, in seconds since 1970.
    pub modified: i64,
    /// Nanoseconds of that, which only folders have.
    pub modified_ns: u32,
    /// Whether it must not be written.
    pub is_read_only: bool,
}

/// What there is of a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// Size of a cluster.
    pub cluster_bytes: u32,
    /// Clusters of the volume.
    pub clusters: u32,
    /// Those that are free.
    pub free: u32,
}

/// An entry of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The number of the file.
    pub number: u64,
    /// The name in its folder.
    pub name: String,
    /// Whether it is a folder.
    pub is_folder: bool,
}

/// What of a file is to be changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Its length in bytes.
    pub bytes: Option<u64>,
    /// Whether it must not be written.
    pub is_read_only: Option<bool>,
    /// When it was changed, in seconds since 1970.
    pub modified: Option<i64>,
}

/// Times of folders, by their numbers, since 1970.
#[derive(Debug)]
pub(crate) struct Times(HashMap<u64, Duration>);

impl Default for Times {
    fn default() -> Self {
        Self(HashMap::from([(ROOT, clock())]))
    }
}

impl Times {
    /// The time of a folder, if it is known more finely than the volume has it.
    pub(crate) fn get(&self, number: u64) -> Option<Duration> {
        self.0.get(&number).copied()
    }

    /// A name in a folder changes now, which is later than it changed before.
    pub(crate) fn touch(&mut self, number: u64) -> Duration {
        let now = clock();
        let later = self.get(number).map_or(now, |last| now.max(last + Duration::from_nanos(1)));
        self.0.insert(number, later);
        later
    }

    /// A program says when a folder was changed; only the root folder has no other place for that.
    pub(crate) fn set(&mut self, number: u64, seconds: i64) {
        if number == ROOT {
            self.0.insert(ROOT, Duration::from_secs(seconds.try_into().unwrap_or(0)));
        } else {
            self.0.remove(&number);
        }
    }

    /// There is no such folder any more.
    pub(crate) fn forget(&mut self, number: u64) {
        self.0.remove(&number);
    }
}

/// Since 1970; a clock before that is no clock, and FAT begins in 1980 anyway.
fn clock() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// The time as FAT has it.
pub(crate) fn now() -> Stamp {
    Stamp::of_unix(clock().as_secs().cast_signed())
}
