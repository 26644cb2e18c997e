//! The mapping schemes, one file each: only what makes it differ. A mapping never imports another.

pub mod a_sast;
pub mod adapt;
pub mod aps;
pub mod bast;
pub mod bdb;
pub mod block;
pub mod cdftl;
pub mod dftl;
pub mod fast;
pub mod faster;
pub mod jtl;
pub mod kast;
pub mod last;
pub mod page;
pub mod rftl;
pub mod sast;
pub mod superblock;
pub mod treeftl;
pub mod waftl;

#[cfg(test)]
pub(crate) mod testing;
