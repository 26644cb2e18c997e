//! Wear policies, one file each: which free block is taken for what, and which block shall be emptied.

pub mod bet;
pub mod choice;
pub mod dual_pool;
pub mod dynamic;
pub mod lazy;
pub mod levelled;
pub mod none;
pub mod owl;
pub mod pace;
pub mod policy;
pub mod rejuvenator;
pub mod saw;
pub mod static_levelling;
pub mod temperatures;
