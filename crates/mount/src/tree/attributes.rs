//! What programs see of files, folders and the volume.

/// The number of the root folder.
pub const ROOT: u64 = 1;

/// What is known of a file or folder.
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
