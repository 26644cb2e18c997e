//! The translation layers, free of time: the schemes, the parts that several share, the door to the chip and the registry.
//!
//! Invariant: no clock, thread, file, socket, global or unseeded randomness; a mapping never imports another mapping.

mod error;
pub mod mapping;
mod media;
mod parameter;
pub mod parts;
pub mod registry;
mod scheme;
mod timing;

pub use error::{BrokenInvariant, ConfigError, FtlError, RecoverError};
pub use media::{Cause, Content, Label, Media, Note, Tally};
pub use parameter::{Kind, Parameter, Values, bytes};
pub use registry::Entry;
pub use scheme::{Footprint, Foresight, Ftl, Gauge, Layout, Request, Scheme, Spares, Structure};
pub use timing::{Device, Nanos, Op, Span, Task, Timed, Timing, Untimed};
