//! File workloads: what a file system asks of a drive when programs create, append to, rewrite,
//! read and delete files.
//!
//! ```text
//!   personality ──▶ volume: a FAT file system in memory ──▶ page cache ──▶ requests with hints
//!   (personality.rs)  (volume.rs, disk.rs)    │            (cache.rs)     read, write, trim, flush
//!                                             └──▶ analyzer: degrees of file types
//! ```
//!
//! A personality does what its benchmark does: *postmark*, or *fileserver*, *varmail* and
//! *webserver* of filebench. The file system is a real one ([`fat`]), so directories, allocation
//! tables and fragmentation are there, and any system can mount what it leaves. Where files and
//! folders are is looked up once and remembered, as an operating system does. Dirty pages wait in a
//! page cache until it is full or a program asks for them to be safe. What goes to the drive says
//! the temperature of its type of file, as [`analyzer`] finds it. The same description and seed
//! give the same requests, without an operating system.
//!
//! What is left out: time is the number of operations done, so no request waits for another; data
//! that are read come from the drive unless they are dirty, since clean pages are not cached; a
//! page that is written in part is not read before; tables and folders are in memory and never
//! read; files keep the time of their creation, which is 1980; and programs run one after another,
//! not in threads.

mod cache;
mod disk;
mod personality;
mod population;
mod spec;
mod text;
mod volume;
mod workload;

pub use spec::{FileSpec, Names, Personality, SpecError};
pub use text::FileText;
pub use volume::VolumeError;
pub use workload::{FileWorkload, StartError};

#[cfg(test)]
mod tests;
