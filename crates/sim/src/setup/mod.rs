//! The resolved study: the table of keys, the text of a study, device presets, and a device
//! with every key.

pub(crate) mod device;
pub(crate) mod device_keys;
mod document;
mod fitting;
pub(crate) mod keys;
pub(crate) mod presets;
mod scale;
pub(crate) mod slice;
pub mod study;
pub(crate) mod values;
pub(crate) mod words;
