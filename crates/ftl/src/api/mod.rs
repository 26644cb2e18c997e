//! What a translation layer is, what it is asked, and what it tells.

pub mod entry;
pub mod layout;
pub mod mapping;
pub mod parameter;
pub mod report;
pub mod request;
pub mod wear;
