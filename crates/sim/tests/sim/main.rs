//! Studies from their text to their results, and the times of single operations worked out by hand.

extern crate ftlkit_sim as sim;

mod studies;
mod timing;
