//! What a test case is: a stack, a device, a workload, faults; and how cases are drawn.

pub(crate) mod device_spec;
pub mod geometries;
pub(crate) mod operation;
pub(crate) mod swarm;
pub(crate) mod test_case;
pub mod variants;
pub(crate) mod workload;
