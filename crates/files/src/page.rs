//! The unit of everything.

/// Bytes of a page of the cache, of a sector and of a cluster: nothing of the volume lies across
/// pages.
pub(crate) const PAGE_BYTES: u64 = fat::PAGE_BYTES as u64;
