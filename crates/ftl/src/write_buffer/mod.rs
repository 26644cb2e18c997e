//! Buffers: pages in RAM in front of a mapping, one file each: which pages stay, and which are
//! written down together.

pub mod bplru;
pub mod fab;
pub mod fifo;
pub mod lru;
pub mod policy;
pub mod write_back;
