//! What a power cut leaves, and how it is found again: tags, summaries, trims.

pub mod block_recovery;
pub mod scan;
pub mod summary;
pub mod trims;
