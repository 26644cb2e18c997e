//! Studies from their text to their results, and the simulation's times beside those of simulations
//! written apart from it.

mod pricing;
mod referee;
mod studies;
