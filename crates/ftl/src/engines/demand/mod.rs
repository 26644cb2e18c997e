//! The engine of demand-paged schemes: the page map lies on flash, and RAM caches a part of it.

pub mod collection;
pub mod entry_cache;
pub mod foreign_pages;
mod lookup;
pub mod machine;
pub mod mapping_cache;
pub mod policy;
mod prefetch;
pub mod recency;
pub mod stamped_lists;
pub mod translation;
mod translation_io;
