//! A workload as page requests.

pub(crate) mod load;
pub mod overview;
pub(crate) mod stream;
pub(crate) mod survey;
mod suspicions;
mod touched;
pub(crate) mod write_sizes;
