//! The translation layers, free of time: the schemes, the parts that several share, the door to the chip and the registry.
//!
//! Invariant: no clock, thread, file, socket, global or unseeded randomness; a mapping never imports another mapping.

pub mod api;
pub mod blocks;
pub mod engines;
pub mod memory;
pub mod port;
mod ram;
pub mod recovery;
pub mod registry;
mod scheme;
pub mod schemes;
mod stack;
#[cfg(test)]
mod testing;
pub mod wear;
pub mod write_buffer;

pub use api::hint::Hint;
pub use api::parameter::{Kind, Parameter, Values, bytes};
pub use port::cause::{Cause, CauseFacts, Work};
pub use port::error::{BrokenInvariant, ConfigError, FtlError, RecoverError};
pub use port::event::FileEvent;
pub use port::flash_port::Media;
pub use port::label::{Content, Label};
pub use port::tally::{Note, Tally};
pub use port::timing::{Device, Nanos, Op, Span, Task, Timed, Timing, Untimed};
pub use ram::{AccessDelays, RamPage, RamPages};
pub use registry::{Entry, PartKind};
pub use scheme::{
    Asked, Buffered, Consultation, Evacuated, Footprint, Foresight, Foretold, Ftl, Gauge, Later, Layout, Request,
    Scheme, Spares, Structure,
};
pub use stack::{Part, Settings, Stack};
pub use wear::choice::Wear;
