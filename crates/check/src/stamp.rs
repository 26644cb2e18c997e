//! What pages hold when checking: no random bytes but *stamps*. A stamp names the logical page and
//! the version that it was written as, is used once and never again. One number thus tells not only
//! that a read went wrong but how: an older version came back, another page's content did, nothing
//! did, or something that nobody ever wrote.

use flash::Lpn;

/// What a page holds when checking: the logical page in the upper 32 bits, its version (from 1) in
/// the lower; 0 for a page that was never written or is trimmed.
pub type Stamp = u64;

/// The stamp of a version of a page.
pub fn stamp(lpn: Lpn, version: u32) -> Stamp {
    u64::from(lpn.get()) << 32 | u64::from(version)
}

/// The page that a stamp names.
pub fn page_of(stamp: Stamp) -> u32 {
    (stamp >> 32) as u32
}

/// The version that a stamp names.
pub(crate) fn version_of(stamp: Stamp) -> u32 {
    stamp as u32
}
