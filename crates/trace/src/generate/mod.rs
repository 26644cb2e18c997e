//! Generated workloads: from a description and a seed to records, the same ones every time.
//!
//! * [`GeneratorSpec`] says what is wanted: where requests go ([`Pattern`]), what they do, how long
//!   they are ([`Sizes`]), when they arrive ([`Arrivals`]). It reads from TOML and JSON, and
//!   unknown keys are errors.
//! * [`generate`] checks it and returns a [`Generator`], an iterator of [`crate::Record`]s.
//! * [`presets()`] lists ready descriptions that meet the figures which papers print for well-known
//!   traces.
//!
//! A generator knows nothing of flash: its `unit` is an alignment, not a page. It models no
//! feedback either: a request does not wait for an earlier one, which is the simulated host's
//! business. Requests are independent draws within a phase, so what a trace has beyond its marginal
//! figures (working sets that drift, a daily rhythm, a scan that evicts a cache) is only there
//! where phases put it.

mod addresses;
mod arrivals;
mod chance;
mod error;
mod footprint;
mod generator;
mod limits;
mod permutation;
mod place_shape;
mod plan;
mod presets;
mod sizes;
mod spec;
mod weighted;
mod zipf;

pub use error::SpecError;
pub use generator::Generator;
pub use place_shape::PlaceShape;
pub use presets::{Preset, Published, preset, presets};
pub use spec::{Arrivals, GeneratorSpec, HotCold, Part, Pattern, Phase, Sizes, WeightedSize, Zipf};

/// Checks `spec` and returns its records, `spec.requests` of them, in order of arrival and from
/// time 0. Equal arguments give equal records on every platform.
///
/// ```
/// use ftlkit_trace::generate::{GeneratorSpec, generate};
/// use ftlkit_trace::HostOp;
///
/// let spec = GeneratorSpec { requests: 1000, write_share: Some(0.5), ..GeneratorSpec::default() };
/// let writes = generate(&spec, 1)?.filter(|record| record.op == HostOp::Write).count();
/// assert!((400..600).contains(&writes));
/// # Ok::<(), ftlkit_trace::generate::SpecError>(())
/// ```
pub fn generate(spec: &GeneratorSpec, seed: u64) -> Result<Generator, SpecError> {
    Generator::new(spec, seed)
}
