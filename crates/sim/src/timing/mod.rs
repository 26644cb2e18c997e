//! How long flash operations take: dies, buses and their queues.

pub(crate) mod abilities;
mod bus;
mod calendar;
mod collections;
pub(crate) mod engine;
mod fifo;
pub(crate) mod front_end;
mod overtaking;
mod planes;
mod priced_task;
mod prices;
mod program_buffer;
mod program_units;
pub(crate) mod scheduling;
pub(crate) mod superblocks;
mod tails;
mod tasks;
pub(crate) mod units;
