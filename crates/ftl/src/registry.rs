//! The one list of all schemes: name → parameters → instance.
//!
//! An unknown name, an unknown parameter or a value out of range is an error at construction, never a default.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::mapping::a_sast::AdaptiveSast;
use crate::mapping::bast::Bast;
use crate::mapping::bdb::Bdb;
use crate::mapping::block::Block;
use crate::mapping::cdftl::Cdftl;
use crate::mapping::dftl::Dftl;
use crate::mapping::fast::Fast;
use crate::mapping::faster::Faster;
use crate::mapping::kast::Kast;
use crate::mapping::last::Last;
use crate::mapping::page::Page;
use crate::mapping::rftl::Rftl;
use crate::mapping::sast::Sast;
use crate::mapping::superblock::Superblock;
use crate::parts::demand::machine::DemandPaged;
use crate::parts::log::machine::LogBuffer;
use crate::{Cause, ConfigError, Device, Ftl, Layout, Media, Parameter, RecoverError, Scheme, Values};

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

        /// Brings a scheme back on a device that it has used before, after any power cut.
        pub fn recover<D: Device + 'static>(
            name: &str,
            settings: &BTreeMap<String, String>,
            layout: &Layout,
            media: &mut Media<D>,
        ) -> Result<Box<dyn Ftl<D>>, RecoverError> {
            let entry = entry(name)?;
            let values = Values::check(name, entry.parameters, settings)?;
            $(if name == <$scheme as Scheme>::ENTRY.name {
                return media.because(Cause::Recovery, |media| {
                    Ok(Box::new(<$scheme>::recover(layout, &values, media)?) as Box<dyn Ftl<D>>)
                });
            })+
            unreachable!("entry() found {name} in the same list")
        }
    };
}

schemes![
    Page,
    Block,
    LogBuffer<Bast>,
    LogBuffer<Fast>,
    LogBuffer<Faster>,
    LogBuffer<Last>,
    LogBuffer<Kast>,
    Superblock,
    LogBuffer<Sast>,
    LogBuffer<AdaptiveSast>,
    DemandPaged<Dftl>,
    DemandPaged<Cdftl>,
    DemandPaged<Rftl>,
    Bdb,
];

/// The entry of a scheme; an unknown name is an error that lists the known ones.
pub fn entry(name: &str) -> Result<&'static Entry, ConfigError> {
    ENTRIES.iter().find(|entry| entry.name == name).ok_or_else(|| {
        let known: Vec<_> = ENTRIES.iter().map(|entry| entry.name).collect();
        ConfigError(format!("unknown FTL {name}: choose from {}", known.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The headings from which a scheme's docs page is made, in order.
    const HEADINGS: [&str; 11] = [
        "# ",
        "## Idea",
        "## Source",
        "## Departures",
        "## State",
        "## Read",
        "## Write",
        "## Reclaim",
        "## Recover",
        "## Invariants",
        "## Costs",
    ];

    #[test]
    fn every_scheme_tells_its_story_under_the_same_headings() {
        for entry in ENTRIES {
            let story = entry.story();
            let mut rest = story.as_str();
            for heading in HEADINGS {
                let found = rest.find(heading);
                assert!(found.is_some(), "{}: the heading {heading:?} is missing or out of order", entry.name);
                rest = &rest[found.unwrap_or(0)..];
            }
            assert!(
                story.starts_with(&format!("# {}: ", entry.name)),
                "{}: the title must begin with the name",
                entry.name
            );
        }
    }

    #[test]
    fn every_parameter_has_a_default_within_its_range_and_a_meaning() {
        for entry in ENTRIES {
            Values::check(entry.name, entry.parameters, &BTreeMap::new()).expect("defaults are valid");
            for parameter in entry.parameters {
                assert!(
                    !parameter.meaning.is_empty() && !parameter.source.is_empty(),
                    "{}.{}",
                    entry.name,
                    parameter.name
                );
            }
        }
    }

    #[test]
    fn an_unknown_scheme_is_refused_with_the_list() {
        let message = entry("dtfl").expect_err("unknown").to_string();
        let all: Vec<_> = ENTRIES.iter().map(|entry| entry.name).collect();
        assert!(message.contains("dtfl") && message.contains(&all.join(", ")), "{message}");
    }
}
