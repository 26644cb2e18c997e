//! Erase blocks: which are free, used, worn or bad, what each logical block lies in, and which one
//! is collected next.

pub mod data_blocks;
pub mod ledger;
pub mod manager;
pub mod pool;
pub mod victims;
