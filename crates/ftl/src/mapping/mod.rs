//! The mapping schemes, one file each: only what makes it differ. A mapping never imports another.

pub mod page;
