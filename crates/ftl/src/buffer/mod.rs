//! Buffers: pages in RAM in front of a mapping, one file each: which pages stay, and which are written down together.

pub mod policy;
pub mod write_back;
