//! What a translation layer is, what it is asked, and what it tells.

pub mod classifier;
pub mod entry;
pub mod layout;
pub mod mapping;
pub mod named;
pub mod parameter;
pub mod report;
pub mod request;
pub mod victim;
pub mod wear;
