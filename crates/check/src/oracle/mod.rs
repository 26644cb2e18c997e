//! What a host must find: exactly, after a crash, and on failing flash.

pub(crate) mod crash_oracle;
pub(crate) mod exact;
pub(crate) mod fault_oracle;
