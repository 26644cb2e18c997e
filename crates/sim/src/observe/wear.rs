//! How evenly blocks were erased, where, and how long a device lives.

mod erase_counts;
mod forecast;
mod life;
mod map;

pub(crate) use erase_counts::{Spread, Wear};
pub(crate) use life::{Life, Usage};

pub use erase_counts::erases;
