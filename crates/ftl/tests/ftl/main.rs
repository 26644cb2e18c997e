//! The translation layers beside what is known of them: closed forms, the papers' own examples, bounds, and simple models.

mod asked;
mod buffered;
mod buffers;
mod evenness;
mod hints;
mod identities;
mod kit;
mod layering;
mod lives;
mod log_buffer;
mod placement;
mod replicas;
mod summaries;
mod theory;
mod treeftl;
mod waftl;
