//! The translation layers, free of time: the schemes, the parts that several share, the door to the chip and the registry.
//!
//! Invariant: no clock, thread, file, socket, global or unseeded randomness; a mapping never imports another mapping.

pub mod buffer;
mod cause;
mod error;
mod event;
mod hint;
mod label;
mod listed;
pub mod mapping;
mod media;
mod parameter;
pub mod parts;
mod ram;
pub mod registry;
mod scheme;
mod stack;
mod tally;
mod timing;
pub mod wear;

pub use cause::{Cause, CauseFacts, Work};
pub use error::{BrokenInvariant, ConfigError, FtlError, RecoverError};
pub use event::FileEvent;
pub use hint::Hint;
pub use label::{Content, Label};
pub use media::Media;
pub use parameter::{Kind, Parameter, Values, bytes};
pub use ram::{AccessDelays, RamPage, RamPages};
pub use registry::{Entry, PartKind};
pub use scheme::{
    Asked, Buffered, Consultation, Evacuated, Footprint, Foresight, Foretold, Ftl, Gauge, Later, Layout, Request,
    Scheme, Spares, Structure,
};
pub use stack::{Part, Settings, Stack};
pub use tally::{Note, Tally};
pub use timing::{Device, Nanos, Op, Span, Task, Timed, Timing, Untimed};
pub use wear::choice::Wear;
