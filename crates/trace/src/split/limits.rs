//! The limits of a split.

/// How much is held and written at once.
#[derive(Clone, Copy, Debug)]
pub struct SplitLimits {
    /// Bytes of packed requests, some eight per request, above which they are spilled.
    pub kept_bytes: usize,
    /// Requests of a file, above which a volume has another one.
    pub part_requests: u64,
    /// Volumes up to which each has a folder of its own; of more, the small ones share files.
    pub folders: usize,
}

impl Default for SplitLimits {
    /// Half a GiB, which with growth and reading stays below 2 GB; files of some 100 MB; and few
    /// enough folders that they are made in seconds.
    fn default() -> Self {
        Self { kept_bytes: 512 << 20, part_requests: 1 << 24, folders: 1 << 12 }
    }
}
