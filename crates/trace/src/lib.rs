//! Workloads in and out: one reader a format, generators, statistics. This crate knows no flash.
//!
//! - [`open`] reads a trace of any format in [`Format`], compressed or not, one request at a time;
//! - [`StackedDevices`] lays its devices out in one address space and states what was done to it;
//! - [`Statistics`] says what a workload is like, and [`convert`] writes it in a format of our own;
//! - [`split_while`] takes the traces of a fleet apart, a folder of Parquet per volume;
//! - [`generate`] makes workloads.
//!
//! What is read is never silently changed: whatever cannot be used, or can be understood in two
//! ways, is an error that says what to do ([`TraceError`]), and every choice that the user makes in
//! [`OpenOptions`] is counted.

mod choices;
mod columns;
mod conditions;
mod detect_format;
mod devices;
mod error;
mod fio_log;
pub mod fit;
mod format;
pub mod generate;
mod input;
mod layered_devices;
mod near_header;
mod options;
mod packed_records;
mod read;
mod record;
mod recording;
mod sanity_checks;
mod split;
mod stacked_devices;
mod statistics;
mod ticks;
mod trace;
pub mod units;
mod write;

pub use choices::{DeviceChoice, MAX_WINDOW, TimeBackwards};
pub use columns::Columns;
pub use conditions::Conditions;
pub use error::{Backwards, BadRecord, TraceError, TracePosition};
pub use format::{Format, TimeUnit};
pub use host::{Hint, HostOp};
pub use options::OpenOptions;
pub use packed_records::{PackedRecords, RecordPacker};
pub use record::{Record, Rounds};
pub use recording::Recording;
pub use split::{Split, SplitLimits, SplitTrace, split_while};
pub use stacked_devices::{DeviceFacts, Facts, FlatRecords, StackedDevices};
pub use statistics::{
    Alignment, Footprint, Gaps, Locality, LocalityWindow, Profile, SizeClasses, Statistics, StreamWrites,
};
pub use ticks::Ticks;
pub use trace::{Trace, open, open_bytes};
pub use write::{Conversion, Target, convert, convert_while, write, write_parquet};
