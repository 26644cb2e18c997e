//! What several schemes share, each mechanism once, with its policy as a parameter.

pub mod chains;
pub mod ledger;
pub mod page_space;
pub mod pool;
pub mod victims;
