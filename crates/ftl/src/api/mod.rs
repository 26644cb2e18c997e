//! What a translation layer is, what it is asked, and what it tells.

pub mod hint;
pub mod parameter;
