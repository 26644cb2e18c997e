//! The parameters of the model, with their ranges.

use thiserror::Error;

/// The highest T: a degree and 1 more, since 0 says nothing, must fit into one byte of a hint.
const MOST_DEGREES: u8 = 254;

/// The parameters of the model. The defaults are those of Wang 2013 7.2 and 7.5.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// α, 0 to 1: the weight of the last interval in f (equation 7.8). At 0 the last interval has
    /// no effect, and f stays 0; at 1 nothing else has.
    pub alpha: f64,
    /// β, 0 or more: a type of which the number of active files grows or shrinks by more than this
    /// share in an interval is an outlier (equation 7.5).
    pub beta: f64,
    /// T, 1 to 254: the degree of outliers. Other types have degrees below it.
    pub degrees: u8,
    /// I, 1 or more: write requests of an interval. Shorter intervals follow changes sooner and
    /// have fewer rewrites to judge by.
    pub interval: u64,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { alpha: 0.5, beta: 0.1, degrees: 10, interval: 10_000 }
    }
}

/// A parameter out of its range.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("analyzer: {name} = {value} is not {range}; leave it out for {default}")]
pub struct ParameterError {
    /// The parameter's name.
    pub name: &'static str,
    /// What was given.
    pub value: String,
    /// What it may be.
    pub range: &'static str,
    /// What it is where nothing is said.
    pub default: String,
}

impl Parameters {
    /// The same, if all are in their ranges.
    pub fn check(self) -> Result<Self, ParameterError> {
        let of = Self::default();
        let refused = |name, value: String, range, default: String| Err(ParameterError { name, value, range, default });
        if !(0.0..=1.0).contains(&self.alpha) {
            return refused("alpha", self.alpha.to_string(), "from 0 to 1", of.alpha.to_string());
        }
        if !(self.beta.is_finite() && self.beta >= 0.0) {
            return refused("beta", self.beta.to_string(), "a share of 0 or more", of.beta.to_string());
        }
        if !(1..=MOST_DEGREES).contains(&self.degrees) {
            return refused("degrees", self.degrees.to_string(), "from 1 to 254", of.degrees.to_string());
        }
        if self.interval == 0 {
            return refused("interval", "0".into(), "1 write request or more", of.interval.to_string());
        }
        Ok(self)
    }
}
