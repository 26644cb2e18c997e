//! What becomes of a block that a wear policy wants emptied.

/// What became of a block that was to be emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelocateOutcome {
    /// It was erased and unused, or has been erased since: what it held lies elsewhere. It may have
    /// been taken again at once.
    Done,
    /// It turned out to fail: what it held lies elsewhere, and it is marked bad.
    Retired,
    /// It is as it was, and why.
    Deferred(Deferred),
}

/// Why a block cannot be emptied now, and so for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deferred {
    /// It is bad, and stays so.
    IsBad,
    /// The device is read-only, and stays so.
    ReadOnly,
    /// There is no free block to move anything to, since blocks have failed: ask again after the
    /// next write that is served.
    NoRoom,
}
