//! What several schemes share, each mechanism once, with its policy as a parameter.

pub mod associativity;
pub mod block_recovery;
pub mod chains;
pub mod data_blocks;
pub mod ledger;
pub mod log_areas;
pub mod log_buffer;
pub mod log_groups;
pub mod log_policy;
mod log_recovery;
pub mod log_sets;
pub mod log_space;
pub mod mapping_cache;
pub mod merge;
pub mod merge_counts;
pub mod page_space;
pub mod page_table;
pub mod pool;
pub mod prefetch;
pub mod scan;
pub mod spare_map;
pub mod superblocks;
pub mod translation;
pub mod trims;
pub mod victims;
