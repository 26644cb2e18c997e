//! Buffers in RAM in front of a mapping.

pub mod write_buffer;
