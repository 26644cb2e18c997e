//! The engines: each is a whole translation layer with its policies left open. A scheme is an
//! engine with its policies.

pub mod demand;
pub mod log_buffer;
pub mod page_map;
pub mod shared_ram;
