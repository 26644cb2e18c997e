//! The machine of the schemes whose page map lies in RAM, and what they decide differently.

pub mod machine;
pub mod policy;
