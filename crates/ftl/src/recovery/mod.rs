//! What a start finds on flash: the newest copies, summaries of blocks, trims.

pub mod block_recovery;
pub mod scan;
pub mod summary;
pub mod trims;
