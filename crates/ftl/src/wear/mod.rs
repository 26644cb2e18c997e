//! Wear policies, one file each: which free block is taken for what, and which block to empty.

pub mod bet;
pub mod dual_pool;
pub mod dynamic;
pub mod lazy;
pub mod levelling;
pub mod lives;
pub mod none;
pub mod owl;
pub mod pace;
pub mod rejuvenator;
pub mod relocation;
pub mod rests;
pub mod saw;
pub mod static_levelling;
pub mod temperatures;
