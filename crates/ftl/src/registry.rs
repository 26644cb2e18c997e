//! The one list of all schemes: name → parameters → instance.
//!
//! An unknown name, an unknown parameter or a value out of range is an error at construction, never a default.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::mapping::{block::Block, dftl::Dftl, fast::Fast, page::Page};
use crate::{ConfigError, Device, Ftl, Layout, Parameter, Scheme, Values};

/// What the registry knows of a scheme without building it.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Entry {
    /// Name in studies and on the command line.
    pub name: &'static str,
    /// How it maps: `page`, `block`, `log-buffer`, `demand-paged`.
    pub family: &'static str,
    /// The paper, and the section that defines it.
    pub source: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// The scheme's header, from which its docs page is made.
    #[serde(skip)]
    pub header: &'static str,
}

impl Entry {
    /// The header's text without comment marks.
    pub fn story(&self) -> String {
        self.header
            .lines()
            .map_while(|line| line.strip_prefix("//!"))
            .map(|line| line.strip_prefix(' ').unwrap_or(line))
            .collect::<Vec<_>>()
            .join("\n")
    }
}

macro_rules! schemes {
    ($($scheme:ty),+ $(,)?) => {
        /// All schemes, in the order in which tables show them.
        pub const ENTRIES: &[Entry] = &[$(<$scheme as Scheme>::ENTRY),+];

        /// Builds a scheme for an erased device.
        pub fn create<D: Device + 'static>(
            name: &str,
            settings: &BTreeMap<String, String>,
            layout: &Layout,
        ) -> Result<Box<dyn Ftl<D>>, ConfigError> {
            let entry = entry(name)?;
            let values = Values::check(name, entry.parameters, settings)?;
            $(if name == <$scheme as Scheme>::ENTRY.name {
                return Ok(Box::new(<$scheme>::format(layout, &values)?));
            })+
            unreachable!("entry() found {name} in the same list")
        }
    };
}

schemes![Page, Block, Fast, Dftl];

/// The entry of a scheme; an unknown name is an error that lists the known ones.
pub fn entry(name: &str) -> Result<&'static Entry, ConfigError> {
    ENTRIES.iter().find(|entry| entry.name == name).ok_or_else(|| {
        let known: Vec<_> = ENTRIES.iter().map(|entry| entry.name).collect();
        ConfigError(format!("unknown FTL {name}: choose from {}", known.join(", ")))
    })
}
