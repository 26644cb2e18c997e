//! The live device as its clients find it: what they write is kept, what they get wrong is
//! answered, what breaks is said.
//!
//! Each test serves an image of a few megabytes within this process; real clients are tried in the
//! Python tests.

extern crate ftlkit_live as live;

mod common;
mod crashes;
mod damage;
mod disk;
mod fairness;
mod hostile;
mod images;
mod latency;
mod life;
mod patience;
mod presets;
mod reading;
mod serving;
mod sockets;
mod stacks;
