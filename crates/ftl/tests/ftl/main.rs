//! The translation layers compared with known results: closed forms, the papers' own examples,
//! bounds, and simple models.

extern crate ftlkit_ftl as ftl;

mod bench;
mod buffered;
mod buffers;
mod end_of_life;
mod evenness;
mod exposed;
mod hints;
mod identities;
mod kit;
mod layering;
mod leaftl;
mod log_buffer;
mod placement;
mod refresh;
mod replicas;
mod s_ftl;
mod separation;
mod side_by_side;
mod summaries;
mod theory;
mod treeftl;
mod waftl;
mod wear_hints;
