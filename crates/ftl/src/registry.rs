//! The one list of all parts of stacks, mappings, wear policies and buffers: name → parameters →
//! instance.
//!
//! An unknown name, an unknown parameter, a value out of range or a pair that cannot work together
//! is an error at construction, never a default.

use crate::api::entry::{Entry, PartKind};
use crate::api::layout::{Layout, Wear, WearScheme};
use crate::api::mapping::Scheme;
use crate::api::parameter::{Parameter, Settings, Values};
use crate::drive::Drive;
use crate::engines::demand::machine::DemandPaged;
use crate::engines::log_buffer::machine::LogBuffer;
use crate::engines::page_map::machine::PageMap;
use crate::engines::shared_ram::SharedRam;
use crate::port::cause::Cause;
use crate::port::error::{ConfigError, RecoverError};
use crate::port::flash_port::FlashPort;
use crate::port::timing::Device;
use crate::schemes::a_sast::AdaptiveSast;
use crate::schemes::adapt::Adapt;
use crate::schemes::aps::Aps;
use crate::schemes::bast::Bast;
use crate::schemes::bdb::Bdb;
use crate::schemes::block::Block;
use crate::schemes::cdftl::Cdftl;
use crate::schemes::dftl::Dftl;
use crate::schemes::fast::Fast;
use crate::schemes::faster::Faster;
use crate::schemes::jtl::Jtl;
use crate::schemes::kast::Kast;
use crate::schemes::last::Last;
use crate::schemes::page::Page;
use crate::schemes::rftl::Rftl;
use crate::schemes::sast::Sast;
use crate::schemes::superblock::Superblock;
use crate::schemes::treeftl::Tree;
use crate::schemes::waftl::Waftl;
use crate::stack::{Part, Stack};
use crate::write_buffer::policy::BufferKind;
use crate::{wear, write_buffer};

/// All parts of a kind, in the order in which tables show them.
pub fn entries(kind: PartKind) -> &'static [Entry] {
    match kind {
        PartKind::Mapping => ENTRIES,
        PartKind::WearPolicy => WEAR_POLICIES,
        PartKind::Buffer => BUFFERS,
    }
}

/// A part of a stack with a checked value for every parameter.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// Its role in the stack.
    pub kind: PartKind,
    /// What the registry knows of it.
    pub entry: &'static Entry,
    /// The values of its parameters.
    pub values: Values,
    /// Every parameter with its value, as a user would write it.
    pub settings: Settings,
}

/// Parts that exist, have valid settings and go together.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The mapping, then the others in the order of [`PartKind`].
    parts: Vec<Chosen>,
}

impl Resolved {
    /// The chosen mapping; every stack has one.
    pub fn mapping(&self) -> &Chosen {
        &self.parts[0]
    }

    /// The part of a kind, if the stack has one.
    pub fn part(&self, kind: PartKind) -> Option<&Chosen> {
        self.parts.iter().find(|part| part.kind == kind)
    }

    /// Its parts, the mapping first.
    pub fn parts(&self) -> &[Chosen] {
        &self.parts
    }

    /// The stack with every parameter of every part.
    pub fn filled(&self) -> Stack {
        let mut parts = self.parts.iter().map(|part| Part::new(part.entry.name, part.settings.clone()));
        let mapping = parts.next().unwrap_or_default();
        Stack { mapping, others: parts.collect() }
    }

    /// The stack that was asked for, with what it set and nothing else, so that its text reads
    /// back.
    pub fn spelled(&self, asked: &Stack) -> Stack {
        let mut filled = self.filled();
        for (part, asked) in filled.parts_mut().zip(asked.parts()) {
            part.settings.retain(|key, _| asked.settings.contains_key(key));
        }
        filled
    }
}

macro_rules! schemes {
    ($($scheme:ty),+ $(,)?) => {
        /// All schemes, in the order in which tables show them.
        pub const ENTRIES: &[Entry] = &[$(<$scheme as Scheme>::ENTRY),+];

        /// Builds a stack for an erased device. A wear policy that the layout names serves a stack
        /// that names none.
        pub fn create<D: Device + 'static>(stack: &Stack, layout: &Layout) -> Result<Drive<D>, ConfigError> {
            let resolved = resolve(stack)?;
            let layout = &resolved.with_wear(layout);
            let Chosen { entry, values, .. } = resolved.mapping();
            $(if entry.name == <$scheme as Scheme>::ENTRY.name {
                let drive = Drive::new(Box::new(<$scheme>::format(layout, values)?), layout);
                return resolved.with_write_buffer(drive, layout);
            })+
            unreachable!("entry() found {} in the same list", entry.name)
        }

        /// Brings a stack back on a device that it has used before, after any power cut.
        pub fn recover<D: Device + 'static>(
            stack: &Stack,
            layout: &Layout,
            flash: &mut FlashPort<D>,
        ) -> Result<Drive<D>, RecoverError> {
            let resolved = resolve(stack)?;
            let layout = &resolved.with_wear(layout);
            let Chosen { entry, values, .. } = resolved.mapping();
            $(if entry.name == <$scheme as Scheme>::ENTRY.name {
                return flash.with_cause(Cause::Recovery, |flash| {
                    let drive = Drive::new(Box::new(<$scheme>::recover(layout, values, flash)?), layout);
                    Ok(resolved.with_write_buffer(drive, layout)?)
                });
            })+
            unreachable!("entry() found {} in the same list", entry.name)
        }
    };
}

macro_rules! wear_policies {
    ($($policy:ty),+ $(,)?) => {
        /// All wear policies, in the order in which tables show them.
        pub const WEAR_POLICIES: &[Entry] = &[$(<$policy as WearScheme>::ENTRY),+];

        impl Resolved {
            /// A layout with the wear policy that the stack names, if it names one.
            fn with_wear(&self, layout: &Layout) -> Layout {
                let mut layout = layout.clone();
                if let Some(Chosen { entry, values, .. }) = self.part(PartKind::WearPolicy) {
                    $(if entry.name == <$policy as WearScheme>::ENTRY.name {
                        layout.wear = (!<$policy as WearScheme>::IS_NONE).then(|| Wear::of::<$policy>(values.clone()));
                    })+
                }
                layout
            }
        }

        /// Whether a part that was found in this list can work over a mapping.
        fn wear_suits(part: &Entry, mapping: &Entry) -> Result<(), String> {
            $(if part.name == <$policy as WearScheme>::ENTRY.name {
                return <$policy as WearScheme>::suits(mapping);
            })+
            Ok(())
        }
    };
}

macro_rules! buffers {
    ($($buffer:ty),* $(,)?) => {
        /// All buffers, in the order in which tables show them.
        pub const BUFFERS: &[Entry] = &[$(BufferKind::of::<$buffer>().entry),*];

        const BUFFER_KINDS: &[BufferKind] = &[$(BufferKind::of::<$buffer>()),*];
    };
}

fn buffer_kind(entry: &Entry) -> Option<&'static BufferKind> {
    BUFFER_KINDS.iter().find(|kind| kind.entry.name == entry.name)
}

impl Resolved {
    /// A drive behind the write buffer that the stack names, if it names one.
    fn with_write_buffer<D: Device>(&self, drive: Drive<D>, layout: &Layout) -> Result<Drive<D>, ConfigError> {
        let chosen = self.part(PartKind::Buffer).and_then(|part| Some((buffer_kind(part.entry)?, &part.values)));
        let Some((kind, values)) = chosen else { return Ok(drive) };
        let (policy, room) = (kind.build)(layout, values)?;
        Ok(drive.with_write_buffer(policy, room, layout))
    }
}

/// Whether a part can work over a mapping.
fn suits(kind: PartKind, part: &Entry, mapping: &Entry) -> Result<(), String> {
    match kind {
        PartKind::Mapping => Ok(()),
        PartKind::WearPolicy => wear_suits(part, mapping),
        PartKind::Buffer => buffer_kind(part).map_or(Ok(()), |kind| (kind.suits)(mapping)),
    }
}

schemes![
    PageMap<Page>,
    Block,
    LogBuffer<Bast>,
    LogBuffer<Fast>,
    LogBuffer<Faster>,
    LogBuffer<Last>,
    LogBuffer<Kast>,
    Superblock,
    LogBuffer<Sast>,
    LogBuffer<AdaptiveSast>,
    LogBuffer<Adapt>,
    DemandPaged<Dftl>,
    DemandPaged<Cdftl>,
    DemandPaged<Rftl>,
    Bdb,
    Waftl,
    SharedRam<Tree>,
    SharedRam<Aps>,
    SharedRam<Jtl>,
];

#[rustfmt::skip]
wear_policies![
    wear::none::NoLevelling,
    wear::dynamic::Dynamic,
    wear::static_levelling::StaticLevelling,
    wear::bet::Bet,
    wear::lazy::Lazy,
    wear::dual_pool::DualPool,
    wear::rejuvenator::Rejuvenator,
    wear::owl::Owl,
    wear::saw::Saw,
];

buffers![write_buffer::lru::Lru, write_buffer::fifo::Fifo, write_buffer::fab::Fab, write_buffer::bplru::Bplru,];

/// The entry of a mapping; an unknown name is an error that lists the known ones.
pub fn entry(name: &str) -> Result<&'static Entry, ConfigError> {
    ENTRIES
        .iter()
        .find(|entry| entry.name == name)
        .ok_or_else(|| ConfigError(format!("unknown FTL {name}: choose from {}", known(PartKind::Mapping))))
}

/// Checks a stack: the names, each part's settings, and whether the parts go together.
pub fn resolve(stack: &Stack) -> Result<Resolved, ConfigError> {
    let mut parts = vec![chosen(PartKind::Mapping, entry(&stack.mapping.name)?, &stack.mapping)?];
    for part in &stack.others {
        let (kind, entry) = further(stack, &part.name)?;
        let before = parts[parts.len() - 1].kind;
        if kind <= before {
            let (kind, before) = (kind.name(), before.name());
            let why = if kind == before {
                format!("a second {kind}")
            } else {
                format!("a {kind}, which comes before a {before}")
            };
            return Err(ConfigError(format!(
                "{}: {} is {why}; write MAPPING+WEAR_POLICY+BUFFER, each once, or leave parts out",
                stack.names(),
                part.name,
            )));
        }
        let mapping = parts[0].entry;
        suits(kind, entry, mapping).map_err(|why| {
            ConfigError(format!("{}: {} cannot work over {}: {why}", stack.names(), entry.name, mapping.name))
        })?;
        parts.push(chosen(kind, entry, part)?);
    }
    Ok(Resolved { parts })
}

fn chosen(kind: PartKind, entry: &'static Entry, part: &Part) -> Result<Chosen, ConfigError> {
    let values = Values::check(entry.name, entry.parameters, &part.settings)?;
    let setting = |p: &Parameter| p.spelled(part.settings.get(p.name).map_or(p.default, String::as_str));
    let settings = entry.parameters.iter().map(|p| (p.name.to_owned(), setting(p))).collect();
    Ok(Chosen { kind, entry, values, settings })
}

/// What a part behind the mapping is.
fn further(stack: &Stack, name: &str) -> Result<(PartKind, &'static Entry), ConfigError> {
    let kinds = [PartKind::WearPolicy, PartKind::Buffer];
    let entries = kinds.into_iter().flat_map(|kind| entries(kind).iter().map(move |entry| (kind, entry)));
    entries.into_iter().find(|(_, entry)| entry.name == name).ok_or_else(|| {
        let known = kinds.map(|kind| format!("{}: {}", kind.name(), known(kind))).join("; ");
        let why = if ENTRIES.iter().any(|entry| entry.name == name) {
            "is a mapping, and a stack has one, in front"
        } else {
            "is neither a wear policy nor a buffer"
        };
        ConfigError(format!("{}: {name} {why}. Behind + may stand a {known}", stack.names()))
    })
}

/// The names of the parts of a kind.
fn known(kind: PartKind) -> String {
    let names: Vec<_> = entries(kind).iter().map(|entry| entry.name).collect();
    if names.is_empty() { "none yet".into() } else { names.join(", ") }
}

#[cfg(test)]
mod tests;
