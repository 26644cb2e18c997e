//! A workload as page requests.

pub mod byte_range;
pub(crate) mod load;
pub mod overview;
pub(crate) mod paging;
pub(crate) mod stream;
pub(crate) mod survey;
mod suspicions;
mod touched;
