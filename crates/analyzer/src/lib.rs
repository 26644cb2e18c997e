//! How hot each type of file is: the host's half of SAW, system-assisted wear levelling. This crate
//! knows no flash.
//!
//! A file system knows what the data are that it writes, and a drive does not. Here what happens to
//! files is counted by the type of file, and at the end of each interval every type gets a
//! *temperature degree*, from 0 for what is never written again to T. The degree goes to the drive
//! with each write, and the drive chooses older or younger blocks by it (the wear policy `saw`).
//!
//! ```text
//!   create, open, rewrite,      per type and interval        at the end of the interval
//!   append, delete, rename, ──▶ S, ς, δ, ω              ──▶  φ, f, s, outliers, Θ  ──▶  C, 0 … T
//!   read-only                   (interval.rs)                (interval.rs)
//! ```
//!
//! Source: Wang 2013, chapter 7 (SAW), equations 7.1 to 7.11 and table 7.1, whose symbols stand
//! beside each quantity here. What the chapter leaves open is settled as follows.
//!
//! - S counts each active file once: a file is accessed *newly* (ς) when it is created, or opened
//!   or written for the first time since the start. One that is deleted without having been
//!   accessed is accessed by that, so it counts in ς and δ, and S never falls below 0.
//! - A rewrite (ω) is a write over bytes that the file has, or an append to a file that was opened
//!   again after it was created. What is appended to a file while it is still open from its
//!   creation is no rewrite, as in the chapter's example of a video.
//! - Where S is 0, φ is 0, as the chapter has it for the start. s is then 0 if as many files were
//!   deleted as came, else infinite: a type that appears after the first interval is an outlier
//!   until the end of the next.
//! - Types of the same f share the lowest of their positions P, so the order in which types were
//!   seen decides nothing. Outliers keep their place in the order, and so do not change the degrees
//!   of others. C is rounded down to a whole degree.
//! - A type is active, and counts in Θ, when it has an active file at the end of the interval.
//!   Others have degree 0.
//! - Files that are read-only leave their type for one of their own, which is not sorted and has
//!   degree 0.

mod analyzer;
mod interval;
mod parameters;
mod types;

pub use analyzer::{Analyzer, Event, File, Label};
pub use interval::{Interval, TypeReport};
pub use parameters::{ParameterError, Parameters};
pub use types::{FileType, MOST_TYPES};

#[cfg(test)]
mod tests;
