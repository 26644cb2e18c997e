//! The machine of the demand-paged schemes: a page map on flash of which RAM caches a part.

mod changing;
pub mod collection;
pub mod copy_choice;
pub mod entry_cache;
mod foreseeing;
pub mod guests;
pub mod machine;
pub mod mapping_cache;
pub mod newer_entries;
pub mod page_cache;
pub mod paging;
pub mod policy;
pub mod recency;
mod sharing;
pub mod table;
mod translating;
pub mod two_level_cache;
