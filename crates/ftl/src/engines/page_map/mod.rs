//! The engine of page maps: where pages are placed, how their blocks are collected, and what a
//! failing block costs.

mod by_class;
pub mod classes;
mod deaths;
pub mod folding;
pub mod idle;
pub mod machine;
pub mod mapped;
mod needs;
pub mod pacing;
pub mod placement;
pub mod policy;
pub mod pslc;
pub mod space;
mod write_runs;
