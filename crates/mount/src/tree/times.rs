//! When names in folders changed, more finely than FAT keeps it.
//!
//! A program that remembers what lies in a folder looks at the folder's time to learn whether that
//! still holds: Python does so with modules. On the volume two changes within two seconds have one
//! time, so as long as it is mounted each change has a time of its own here. The root folder has no
//! slot and so no time on the volume; what was remembered of it before it was mounted may hold no
//! more, and its time begins with the mount.

use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fat::Stamp;

use super::attributes::ROOT;

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
