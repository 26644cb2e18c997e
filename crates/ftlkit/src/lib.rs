//! A flash translation layer of your own, outside of this repository: registered once, it is
//! simulated, tortured and served like the built-in ones.
//!
//! ```
//! use ftlkit::ftl::engines::page_map::machine::PageMap;
//! use ftlkit::ftl::engines::page_map::policy::{PageMapScheme, StreamPolicy};
//! use ftlkit::ftl::engines::page_map::space::Stream;
//! use ftlkit::ftl::api::wear::Purpose;
//! use ftlkit::ftl::schemes::page::Page;
//! use ftlkit::ftl::{ConfigError, Entry, Layout, Request, Scheme, Values};
//! use ftlkit::flash::Lpn;
//!
//! /// Even pages in one block, odd pages in another.
//! struct EvenOdd;
//!
//! impl PageMapScheme for EvenOdd {
//!     const ENTRY: Entry = Entry { name: "even-odd", ..<PageMap<Page> as Scheme>::ENTRY };
//!     type Policy = Self;
//!     fn policy(_: &Layout, _: &Values) -> Result<Self, ConfigError> {
//!         Ok(Self)
//!     }
//! }
//!
//! impl StreamPolicy for EvenOdd {
//!     fn streams(&self) -> &'static [Purpose] {
//!         &[Purpose::Data, Purpose::Data, Purpose::Collected]
//!     }
//!     fn write_stream(&mut self, _: &Request, lpn: Lpn) -> Stream {
//!         lpn.index() % 2
//!     }
//!     fn collected_stream(&self, _: Stream) -> Stream {
//!         2
//!     }
//! }
//!
//! ftlkit::register::<PageMap<EvenOdd>>()?;
//! let study = r#"
//!     ftl = [{ name = "page" }, { name = "even-odd" }]
//!     workload = { preset = "fin1", requests = 5000, addresses = "wrap" }
//!     device = { capacity = "256MiB" }
//! "#;
//! let study = ftlkit::sim::parse_toml(study, "mine.toml")?;
//! let results = ftlkit::sim::run_study(&study, &ftlkit::sim::Control::new())?;
//! assert_eq!(results.runs.len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A program of your own needs no more than [`cli::main`], as `examples/my-ftl` shows: it compares,
//! checks and tortures what is registered.
//!
//! Invariant: nothing is decided here. This crate puts the shells together.

pub mod cli;
pub mod scaled_device;
pub mod trials;

pub use check;
pub use flash;
pub use ftl;
#[cfg(all(feature = "live", target_os = "linux"))]
pub use live;
pub use sim;

use ftl::api::mapping::{BuilderOf, MappingBuilder};
use ftl::registry::registered::MappingRegistration;
use ftl::registry::{register_mapping, replace_mapping};
use ftl::{AnyDevice, ConfigError, Entry, Scheme};

pub use ftl::registry::{register_buffer, register_wear_policy};

/// What builds a mapping for the types of devices that ftlkit's shells have: those that studies run
/// on, with a clock and without, and that of all others. It is implemented for whatever does.
pub trait BuildsEverywhere:
    MappingBuilder<sim::SimulatedDevice>
    + MappingBuilder<sim::ClocklessDevice>
    + MappingBuilder<AnyDevice>
    + Clone
    + 'static
{
}

impl<B> BuildsEverywhere for B where
    B: MappingBuilder<sim::SimulatedDevice>
        + MappingBuilder<sim::ClocklessDevice>
        + MappingBuilder<AnyDevice>
        + Clone
        + 'static
{
}

/// Adds a mapping, so that studies, torture and the live device know its name.
///
/// # Errors
/// The name is taken or cannot stand in a stack, or the default of a parameter is not allowed.
pub fn register<S: Scheme>() -> Result<(), ConfigError>
where
    BuilderOf<S>: BuildsEverywhere,
{
    register_built(S::ENTRY, BuilderOf::<S>::new())
}

/// Adds a mapping that a builder of your own builds; see [`register`].
///
/// # Errors
/// As with [`register`].
pub fn register_built(entry: Entry, builder: impl BuildsEverywhere) -> Result<(), ConfigError> {
    register_mapping(everywhere(entry, builder))
}

/// Adds a mapping in place of a registered one of the same name, if there is one: for code that is
/// changed while the process runs.
///
/// # Errors
/// As with [`register`]; the name of a built-in part is taken.
pub fn replace_built(entry: Entry, builder: impl BuildsEverywhere) -> Result<(), ConfigError> {
    replace_mapping(everywhere(entry, builder))
}

fn everywhere(entry: Entry, builder: impl BuildsEverywhere) -> MappingRegistration {
    MappingRegistration::new(entry)
        .on::<sim::SimulatedDevice>(builder.clone())
        .on::<sim::ClocklessDevice>(builder.clone())
        .on::<AnyDevice>(builder)
}
