//! The flash port: the one way to the chip, where operations are counted, labelled and timed.

pub mod cause;
pub mod error;
pub mod event;
pub mod flash_port;
pub mod label;
mod listed;
pub mod tally;
pub mod timing;
