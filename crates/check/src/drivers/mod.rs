//! What runs a case: under an oracle, through power cuts, on failing flash, with idle time.

pub(crate) mod budget;
pub(crate) mod checked_device;
pub(crate) mod driver;
pub(crate) mod explorer;
pub mod failing_flash;
pub(crate) mod faults;
pub mod geometries;
pub(crate) mod host;
pub(crate) mod idle;
pub mod power_cuts;
pub(crate) mod session;
pub(crate) mod suite;
pub mod variants;
