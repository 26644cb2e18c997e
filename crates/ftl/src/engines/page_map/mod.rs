//! The engine of page maps: where pages are placed, how their blocks are collected, and what a
//! failing block costs.

pub mod folding;
pub mod idle;
pub mod machine;
pub mod mapped;
pub mod pacing;
pub mod placement;
pub mod policy;
pub mod pslc;
pub mod space;
