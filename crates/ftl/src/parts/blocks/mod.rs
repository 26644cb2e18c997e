//! Physical blocks: which are free, which hold what, which leaves next.

pub mod channel_status;
pub mod data_blocks;
pub mod ledger;
pub mod owner;
pub mod pool;
pub mod superblocks;
pub mod victims;
