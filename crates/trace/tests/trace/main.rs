//! Traces read, written and generated: the same requests again, the figures that they were said to
//! have, and errors that tell where.

extern crate ftlkit_trace as trace;

mod arbitrary;
mod bad_input;
mod compressed;
mod conditions;
mod figures;
mod fit;
mod generator_specs;
mod generators;
mod locality;
mod presets;
mod recordings;
mod reuse;
mod round_trip;
mod several_files;
mod split;
mod ticks;
