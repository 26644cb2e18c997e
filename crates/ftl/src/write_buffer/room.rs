//! How much RAM a write buffer has, and what an access to it takes.

use crate::api::layout::Layout;
use crate::api::parameter::{Kind, Parameter, Values};
use crate::port::error::ConfigError;
use crate::port::timing::Nanos;

/// The parameters that every write buffer has.
pub const PARAMETERS: [Parameter; 2] = [
    Parameter {
        name: "ram",
        kind: Kind::Bytes { min: 512, max: 1 << 40 },
        default: "8MiB",
        meaning: "RAM for pages that wait; more absorbs more writes, and loses more in a power cut. What exceeds the device is not used.",
        source: "Wang 2013 6.5 (the smallest of its budgets)",
    },
    Parameter {
        name: "access_delay",
        kind: Kind::Duration { min: 0, max: 1_000_000 },
        default: "2us",
        meaning: "Time to read or write a page in RAM; 0 counts it as nothing beside flash.",
        source: "Wang 2013 6.5 (a page of 2 KiB)",
    },
];

/// Room for pages that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// For how many pages, at least 1.
    pub pages: u32,
    /// What an access to one of them takes.
    pub delay: Nanos,
}

impl Room {
    /// Room for so many pages, at no cost of time.
    pub const fn of(pages: u32) -> Self {
        Self { pages, delay: Nanos::ZERO }
    }

    /// What [`PARAMETERS`] ask for. A buffer cannot hold more pages than the device has, and must
    /// hold one.
    pub fn from_values(buffer: &str, layout: &Layout, values: &Values) -> Result<Self, ConfigError> {
        let (ram, page) = (values.integer("ram"), layout.geometry.page_size_bytes());
        let pages = (ram / u64::from(page)).min(layout.logical_pages.into()) as u32;
        if pages == 0 {
            return Err(ConfigError(format!(
                "{buffer}.ram = {ram}: pages of the device have {page} B, so not one has room; give at least {page}"
            )));
        }
        Ok(Self { pages, delay: Nanos(values.integer("access_delay")) })
    }
}
