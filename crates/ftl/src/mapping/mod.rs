//! The mapping schemes, one file each: only what makes it differ. A mapping never imports another.

pub mod block;
pub mod cdftl;
pub mod dftl;
pub mod fast;
pub mod page;
pub mod rftl;

#[cfg(test)]
pub(crate) mod testing;
