//! What trials are drawn from: the kinds of trial, and the stacks and devices that a torture run
//! covers.

use serde::Serialize;

use crate::case::device_spec::DeviceSpec;
use crate::case::variants::Subject;

/// What a trial is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// No fault: promises 1, 2, 5 and 6.
    Conformance,
    /// Power cuts: promise 3.
    PowerCuts,
    /// Failing flash: promise 4.
    FailingFlash,
    /// Promises 3 and 4 together.
    Combined,
}

impl Kind {
    /// All, in index order.
    pub const ALL: [Self; 4] = [Self::Conformance, Self::PowerCuts, Self::FailingFlash, Self::Combined];
}

/// What all trials are drawn from.
#[derive(Debug)]
pub(super) struct TrialSpace {
    pub(super) subjects: Vec<Subject>,
    pub(super) devices: Vec<DeviceSpec>,
    pub(super) seed: u64,
    pub(super) swarm: bool,
    /// Whether each trial draws which further parts the mapping gets, if any.
    pub(super) draws_parts: bool,
}
