//! What several schemes share, each mechanism once, with its policy as a parameter.

pub mod blocks;
pub mod buffer;
pub mod demand;
pub mod hybrid;
pub mod joint;
pub mod log;
pub mod memory;
pub mod pages;
pub mod ram_map;
pub mod recovery;
