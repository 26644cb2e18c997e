//! The flash port: the one way to the chip, where operations are counted, labelled and timed.

pub mod bit_errors;
pub mod cause;
mod completion;
pub mod device;
pub mod error;
pub mod exposed_pages;
pub mod flash_port;
pub mod label;
pub mod ram_pages;
pub mod tally;
pub mod timing;
