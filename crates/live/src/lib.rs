//! The live device: a flash image in a file, and an NBD server that offers what a translation layer
//! makes of it.
//!
//! ```text
//! client ── NBD ── connection ──▶ queue ──▶ engine: one thread at a time
//! client ── NBD ── connection ──▶   │         └─ LiveDrive (bytes) ── Drive (pages)
//!        host in this process ──▶   │             └─ FlashPort ── Chip ── image
//! control socket: stat, faults ──▶  ┘
//! ```
//!
//! Translation layers run here as they do in a simulation, behind the same referee; what differs is
//! the store under the chip.

mod drive;
mod error;
mod image;
pub mod nbd;
mod server;
mod text;

pub use drive::{DriveError, DriveOptions, HostCounts, LiveDrive, Piece};
pub use error::LiveError;
pub use image::{
    CheckReport, Counters, Description, DiskOp, FileStore, Findings, Gathering, Image, ImageInfo, LiveChip, check, info,
};
pub use server::{
    Address, ControlRequest, DEFAULT_CLIENTS, FailureName, FaultRequest, FilesStat, Limits, LocalClient,
    LocalClientError, Ready, ServeOptions, Server, Stat, Summary, TearName, TypeStat, call, control_path,
};
pub use text::{CreateText, LatencyText, ServeText};
