//! The machine of the log-buffer schemes: data blocks, log blocks, merges.

pub mod areas;
pub mod associativity;
pub mod chances;
mod evacuation;
pub mod groups;
mod leaving;
pub mod machine;
pub mod merge;
pub mod merge_counts;
pub mod policy;
mod recovery;
pub mod regrouping;
pub mod sequential;
pub mod sets;
pub mod space;
mod trimming;
