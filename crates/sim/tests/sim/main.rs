//! Studies from their text to their results, and the times of single operations worked out by hand.

extern crate ftlkit_sim as sim;

mod closed_forms;
mod referee;
mod studies;
mod timing;
