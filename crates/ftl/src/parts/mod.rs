//! What several schemes share, each mechanism once, with its policy as a parameter.

pub mod bits;
pub mod block_recovery;
pub mod chains;
pub mod data_blocks;
pub mod demand;
pub mod demand_collection;
pub mod demand_policy;
pub mod ledger;
pub mod log_space;
pub mod mapping_cache;
pub mod merge;
pub mod page_space;
pub mod page_trims;
pub mod pool;
pub mod prefetch;
pub mod recency;
pub mod scan;
pub mod summary;
pub mod translation;
pub mod trims;
pub mod two_level_cache;
pub mod victims;
