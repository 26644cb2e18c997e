//! What was asked, resolved: the text of a study, device presets, and a device with every key.

pub(crate) mod device;
pub(crate) mod preset;
pub mod study;
