//! The engine of log-buffer schemes: data blocks, log blocks and merges.

pub mod areas;
pub mod associativity;
mod evict;
pub mod groups;
pub mod machine;
pub mod merge;
pub mod merge_counts;
pub mod policy;
mod recovery;
pub mod regrouping;
mod relocate;
pub mod second_chance;
pub mod sequential;
pub mod sets;
pub mod space;
mod trim;
