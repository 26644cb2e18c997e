//! Studies from their text to their results, and the simulation's times beside those of simulations
//! written apart from it.

extern crate ftlkit_sim as sim;

mod pricing;
mod referee;
mod studies;
