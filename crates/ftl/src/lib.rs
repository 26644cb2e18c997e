//! The translation layers, without time: schemes, engines, wear policies, write buffers, the flash
//! port and the registry.
//!
//! Invariant: no clock, thread, file, socket or unseeded randomness, and no global but the lists of
//! parts that were registered from outside; a mapping never imports another mapping.

pub mod api;
pub mod blocks;
mod classifiers;
mod drive;
pub mod engines;
pub mod linked_lists;
pub mod port;
pub mod prefetch;
pub mod recovery;
mod refresh;
pub mod registry;
pub mod schemes;
mod stack;
#[cfg(test)]
mod testing;
pub mod wear;
pub mod write_buffer;

pub use api::classifier::{Classifier, ReclaimedUnit, RelocatedPage, WrittenPage};
pub use api::entry::{Capabilities, Entry, Memory, PartKind};
pub use api::layout::{Layout, Wear};
pub use api::mapping::{FutureRequest, Mapping, Scheme, WearQuery};
pub use api::parameter::AccessDelays;
pub use api::parameter::{Kind, Parameter, Settings, Values, joined};
pub use api::report::{Buffered, ClassCounts, Footprint, Gauge, RamStructure, Spares};
pub use api::request::Request;
pub use api::victim::{Candidate, VictimPolicy};
pub use api::wear::{Deferred, RelocateOutcome};
pub use drive::Drive;
pub use host::{FileEvent, Hint, HostOp};
pub use port::bit_errors::{BitErrors, MOST_RETRIES, ReadRetries, Reliability};
pub use port::cause::{Cause, CauseFacts, WorkKind};
pub use port::device::{AnyChip, AnyDevice, AnyTiming, Device, Timed};
pub use port::error::{BrokenInvariant, ConfigError, FtlError, RecoverError};
pub use port::flash_port::{FlashPort, PendingEnd};
pub use port::label::{Content, Label};
pub use port::ram_pages::{RamPage, RamPages};
pub use port::tally::{Note, Tally};
pub use port::timing::{FlashOp, Moment, Nanos, Task, Timing, TracedTask, Untimed};
pub use prefetch::PrefetchStage;
pub use stack::{Part, Stack};
