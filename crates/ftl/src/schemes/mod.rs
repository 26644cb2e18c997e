//! The schemes: one file each, or one folder where a scheme has parts of its own. A scheme never
//! imports another.

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
pub mod leaftl;
pub mod page;
pub mod rftl;
pub mod s_ftl;
pub mod sast;
pub mod superblock;
pub mod tpftl;
pub mod treeftl;
pub mod waftl;
