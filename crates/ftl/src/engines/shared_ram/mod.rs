//! The engine of schemes whose data pages and map share one RAM.

pub mod data_cache;
pub mod machine;
pub mod policy;
mod prefetch;
