//! Page-mapped spaces: where pages go, and what is tidied before.

pub mod background;
pub mod page_mapped;
pub mod page_space;
pub mod page_table;
pub mod placement;
pub mod spare_map;
