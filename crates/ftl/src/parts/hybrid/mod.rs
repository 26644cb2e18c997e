//! Page-mapped and block-mapped data side by side in one space, behind a zone to which everything is appended first.

pub mod hybrid_map;
pub mod placing;
pub mod zone;
