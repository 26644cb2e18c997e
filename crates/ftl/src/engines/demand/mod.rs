//! The engine of demand-paged schemes: the page map lies on flash, and RAM caches a part of it.

mod cache_control;
pub mod collection;
pub mod copy_choice;
pub mod entry_cache;
pub mod foreign_pages;
pub mod machine;
pub mod mapping_cache;
pub mod newer_entries;
pub mod paging;
pub mod policy;
mod prefetch;
pub mod recency;
pub mod table;
mod table_update;
mod translation_io;
