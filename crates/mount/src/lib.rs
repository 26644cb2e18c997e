//! Mounted for real: a FAT file system on a live device, which programs use through the kernel
//! (FUSE).
//!
//! ```text
//!   programs ── kernel ── fuse.rs ──▶ tree: files by number (tree/) ──▶ volume (the crate `fat`)
//!                                       │                                  │ pages
//!                                       └──▶ analyzer: degrees of types    ▼
//!                                                      └── hints ──▶ cache and journal
//!                                                                          │
//!                                                                          ▼
//!                                                        device: a server in this process
//! ```
//!
//! All of it is one process: the server of the image, with its control socket, and the file system
//! above it. What programs write waits in the cache until a program asks for it to be safe, until
//! much waits, or for some seconds; then all of it is made safe at once, so that the volume is
//! never half changed (`cache.rs`, `journal.rs`).

mod cache;
mod device;
mod error;
mod fuse;
mod journal;
mod modes;
mod mounted;
mod open;
mod rating;
mod settle;
mod tree;

pub use device::{Device, DeviceError};
pub use error::FileError;
pub use modes::Modes;
pub use mounted::{MountOptions, MountText, Mounted, Ready, Summary};
pub use open::{format, open};
pub use settle::{prepare, serve, settle};
pub use tree::{Attributes, Changes, Listed, Lost, ROOT, Space, Tree};
