//! The engine of log-buffer schemes: data blocks, log blocks and merges.

pub mod areas;
pub mod groups;
pub mod machine;
pub mod merge;
pub mod policy;
mod recovery;
pub mod regrouping;
pub mod sequential;
pub mod sets;
pub mod space;
