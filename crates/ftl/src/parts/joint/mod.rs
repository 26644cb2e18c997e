//! The machine of the schemes that keep data pages and a part of the map in one RAM.

mod foreseeing;
pub mod ghosts;
pub mod held_pages;
pub mod machine;
pub mod policy;
