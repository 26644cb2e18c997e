//! What a test case is: a stack, a device, a workload, faults; and how cases are drawn.

pub(crate) mod cut;
pub(crate) mod device_spec;
pub(crate) mod fault;
pub(crate) mod named;
pub(crate) mod operation;
pub(crate) mod schedule;
pub(crate) mod swarm;
pub(crate) mod test_case;
pub(crate) mod workload;
