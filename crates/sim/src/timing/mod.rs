//! How long flash operations take: buses, dies and their queues.

pub(crate) mod channel;
pub(crate) mod device;
pub(crate) mod gaps;
pub(crate) mod latencies;
pub(crate) mod model;
pub(crate) mod planner;
