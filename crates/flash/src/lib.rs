//! The flash device, free of time: geometry, addresses, the NAND rules, wear, out-of-band tags and
//! page stores.
//!
//! Invariant: nothing here knows a clock, a translation layer or a host.

mod address;
mod array;
mod bit_errors;
mod cell_type;
mod chip;
mod device;
mod error;
mod exposure;
mod fault;
mod geometry;
mod packed;
mod page_data;
mod pslc;
mod store;
mod tag;

pub use address::{Lbn, Lpn, Pbn, Ppn};
pub use array::{long_array, long_array_of, prefetch};
pub use bit_errors::{BitErrorModel, Stress};
pub use cell_type::{CellType, PageType};
pub use chip::{Chip, ChipOptions, PastEndurance, UsedBlock};
pub use device::{Flash, Operations, Page, PageCopy, ProgramOrder, Scan};
pub use error::{FlashError, MediaEvent, Rule, Violation};
pub use exposure::Exposure;
pub use fault::{Fault, FaultPlan, Faulty, FaultyChip, Tear};
pub use geometry::{Geometry, GeometryError, Shape};
pub use packed::PackedNumbers;
pub use page_data::PageData;
pub use pslc::CellMode;
pub use store::{Blank, Cell, FaultableStore, Full, Lean, Spoilt, Store};
pub use tag::{Role, Tag};
