//! The one list of all parts of stacks, mappings, wear policies and buffers: name → parameters →
//! instance. Parts from outside join it by [`registered`].
//!
//! An unknown name, an unknown parameter, a value out of range or a pair that cannot work together
//! is an error at construction, never a default.

use std::sync::Arc;

use crate::api::classifier::{self, BuildClassifier};
use crate::api::entry::{Entry, PartKind};
use crate::api::layout::{Layout, WearKind, WearScheme};
use crate::api::mapping::{BuilderOf, MappingBuilder, Scheme};
use crate::api::named::{self, PolicyKind};
use crate::api::parameter::{Kind, Parameter, Settings, Values, is_plain};
use crate::api::victim::{self, BuildVictims};
use crate::blocks::victims;
use crate::drive::Drive;
use crate::engines::demand::machine::DemandPaged;
use crate::engines::log_buffer::machine::LogBuffer;
use crate::engines::page_map::machine::PageMap;
use crate::engines::shared_ram::SharedRam;
use crate::port::cause::Cause;
use crate::port::device::{AnyDevice, Device};
use crate::port::error::{ConfigError, FtlError, RecoverError};
use crate::port::flash_port::FlashPort;
use crate::registry::registered::MappingRegistration;
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
use crate::schemes::leaftl::Leaftl;
use crate::schemes::page::{self, Page};
use crate::schemes::rftl::Rftl;
use crate::schemes::s_ftl::SFtl;
use crate::schemes::sast::Sast;
use crate::schemes::superblock::Superblock;
use crate::schemes::tpftl::Tpftl;
use crate::schemes::treeftl::TreeCache;
use crate::schemes::waftl::Waftl;
use crate::stack::{Part, Stack};
use crate::write_buffer::policy::{BufferKind, BufferScheme};
use crate::{wear, write_buffer};

/// All parts of a kind: the built-in ones in the order in which tables show them, then those that
/// were [`registered`], in the order in which they were.
pub fn entries(kind: PartKind) -> Vec<&'static Entry> {
    let mut entries = builtin_entries(kind);
    entries.extend(registered::entries(kind));
    entries
}

/// The built-in parts of a kind, in the order in which tables show them.
fn builtin_entries(kind: PartKind) -> Vec<&'static Entry> {
    match kind {
        PartKind::Mapping => MAPPINGS.iter().collect(),
        PartKind::WearPolicy => builtin_wear_policies().iter().map(|kind| kind.entry).collect(),
        PartKind::Buffer => builtin_buffers().iter().map(|kind| kind.entry).collect(),
    }
}

/// The kind of the built-in part of a name, if there is one.
fn builtin_kind(name: &str) -> Option<PartKind> {
    PartKind::ALL.into_iter().find(|&kind| builtin_entries(kind).into_iter().any(|entry| entry.name == name))
}

/// Adds a mapping to the list. A name that is taken, or that a stack cannot spell, and a parameter
/// whose default is out of range are errors.
pub fn register_mapping(registration: MappingRegistration) -> Result<(), ConfigError> {
    let taken = builtin_kind(registration.name());
    registration.register(taken)
}

/// Adds a mapping in place of a registered one of the same name, if there is one. Drives that were
/// built before stay as they are. Errors as with [`register_mapping`].
pub fn replace_mapping(registration: MappingRegistration) -> Result<(), ConfigError> {
    let taken = builtin_kind(registration.name());
    registration.replace(taken)
}

/// Takes a registered part out of the list, of whatever kind. Drives that were built before stay as
/// they are. Tells whether it was registered; a built-in one is not, and stays.
pub fn forget_part(name: &str) -> bool {
    registered::forget(name)
}

/// Adds a victim policy, which then stands behind `victim=` of every scheme that has this
/// parameter, in place of a registered one of the same name. `build` makes it for each device that
/// is formatted or recovered.
pub fn replace_victim_policy(name: &'static str, build: BuildVictims) -> Result<(), ConfigError> {
    check_policy(name, &victims::PARAMETERS[0])?;
    victim::REGISTERED.replace(name, build);
    Ok(())
}

/// Takes a registered victim policy out of the list; tells whether it was there.
pub fn forget_victim_policy(name: &str) -> bool {
    victim::REGISTERED.forget(name)
}

/// Adds a write classifier, which then stands behind `streams=` of `page`, as
/// [`replace_victim_policy`] does.
pub fn replace_classifier(name: &'static str, build: BuildClassifier) -> Result<(), ConfigError> {
    check_policy(name, &page::STREAMS)?;
    classifier::REGISTERED.replace(name, build);
    Ok(())
}

/// Takes a registered write classifier out of the list; tells whether it was there.
pub fn forget_classifier(name: &str) -> bool {
    classifier::REGISTERED.forget(name)
}

/// Whether a part of a stack, or a policy in its settings, was registered and is not built in.
pub fn is_registered(stack: &Stack) -> bool {
    let policies = [PolicyKind::Victims, PolicyKind::Classifier].map(named::names).concat();
    let is_part = |name: &str| PartKind::ALL.into_iter().flat_map(registered::entries).any(|entry| entry.name == name);
    stack
        .parts()
        .any(|part| is_part(&part.name) || part.settings.values().any(|value| policies.contains(&value.trim())))
}

/// Whether the mapping of a stack was registered and is not built in.
pub fn is_registered_mapping(stack: &Stack) -> bool {
    registered::entries(PartKind::Mapping).iter().any(|entry| entry.name == stack.mapping.name)
}

/// Whether a policy can be registered under a name for a parameter.
fn check_policy(name: &str, parameter: &Parameter) -> Result<(), ConfigError> {
    let is_builtin = matches!(parameter.kind, Kind::Policy { of, .. } if of.contains(&name));
    if is_builtin || !is_plain(name) || name.contains('=') {
        let why = if is_builtin { "is built in" } else { "cannot stand in a stack" };
        return Err(ConfigError(format!(
            "{} = {name}: this name {why}; choose another, such as my-{}",
            parameter.name, parameter.name
        )));
    }
    Ok(())
}

/// Adds a wear policy to the list; errors as with [`register_mapping`].
pub fn register_wear_policy<W: WearScheme>() -> Result<(), ConfigError> {
    registered::add_wear_policy(WearKind::of::<W>(), builtin_kind(W::ENTRY.name))
}

/// Adds a write buffer to the list; errors as with [`register_mapping`].
pub fn register_buffer<B: BufferScheme>() -> Result<(), ConfigError> {
    registered::add_buffer(BufferKind::of::<B>(), builtin_kind(B::ENTRY.name))
}

/// Adds a wear policy in place of a registered one of the same name, if there is one. Drives that
/// were built before stay as they are. Errors as with [`register_mapping`].
pub fn replace_wear_policy(kind: WearKind) -> Result<(), ConfigError> {
    let taken = builtin_kind(kind.entry.name);
    registered::replace_wear_policy(kind, taken)
}

/// Adds a write buffer in place of a registered one of the same name, as [`replace_wear_policy`]
/// does.
pub fn replace_buffer(kind: BufferKind) -> Result<(), ConfigError> {
    let taken = builtin_kind(kind.entry.name);
    registered::replace_buffer(kind, taken)
}

/// All mappings.
pub fn mappings() -> Vec<&'static Entry> {
    entries(PartKind::Mapping)
}

/// A part of a stack with a checked value for every parameter.
#[derive(Clone, Debug)]
pub struct ResolvedPart {
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
    parts: Vec<ResolvedPart>,
}

impl Resolved {
    /// The chosen mapping; every stack has one.
    pub fn mapping(&self) -> &ResolvedPart {
        &self.parts[0]
    }

    /// The part of a kind, if the stack has one.
    pub fn part(&self, kind: PartKind) -> Option<&ResolvedPart> {
        self.parts.iter().find(|part| part.kind == kind)
    }

    /// Its parts, the mapping first.
    pub fn parts(&self) -> &[ResolvedPart] {
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
        /// The built-in mappings, in the order in which tables show them.
        const MAPPINGS: &[Entry] = &[$(<$scheme as Scheme>::ENTRY),+];

        /// The builder of a built-in mapping.
        fn builtin<D: Device>(name: &str) -> Option<Arc<dyn MappingBuilder<D>>> {
            $(if name == <$scheme as Scheme>::ENTRY.name {
                return Some(Arc::new(BuilderOf::<$scheme>::new()));
            })+
            None
        }
    };
}

/// The builder of a mapping that is listed.
fn builder<D: Device + 'static>(entry: &Entry) -> Result<Arc<dyn MappingBuilder<D>>, ConfigError> {
    builtin(entry.name).map_or_else(|| registered::builder(entry.name), Ok)
}

/// Builds a stack for an erased device. A wear policy that the layout names serves a stack that
/// names none.
///
/// Here all schemes are compiled for devices of any kind. What calls it is no generic code, so no
/// other crate compiles them again.
pub fn create(stack: &Stack, layout: &Layout) -> Result<Drive<AnyDevice>, ConfigError> {
    create_on(stack, layout)
}

/// The same on devices of one type, for which the calling crate compiles all schemes.
pub fn create_on<D: Device + 'static>(stack: &Stack, layout: &Layout) -> Result<Drive<D>, ConfigError> {
    let resolved = resolve(stack)?;
    let layout = &resolved.with_wear(layout);
    let ResolvedPart { entry, values, .. } = resolved.mapping();
    if layout.exposure.is_some() && !entry.capabilities.fills_blocks_up {
        return Err(unguarded(entry));
    }
    let mapping = builder::<D>(entry)?.format(layout, values)?;
    let mut drive = Drive::new(mapping, layout);
    drive.wear_failure().map_or(Ok(()), |message| Err(ConfigError(message)))?;
    resolved.with_write_buffer(drive, layout)
}

/// Refuses a mapping on a device that exposes pages.
fn unguarded(entry: &Entry) -> ConfigError {
    let able = mappings().into_iter().filter(|entry| entry.capabilities.fills_blocks_up);
    let able: Vec<_> = able.map(|entry| entry.name).collect();
    ConfigError(format!(
        "{}: it does not fill up what a power cut would take (device.power_loss_protection = false), so data that \
         were flushed could be lost; choose from {}, or leave power_loss_protection out",
        entry.name,
        able.join(", ")
    ))
}

/// Brings a stack back on a device that it has used before, after any power cut.
pub fn recover(
    stack: &Stack,
    layout: &Layout,
    flash: &mut FlashPort<AnyDevice>,
) -> Result<Drive<AnyDevice>, RecoverError> {
    recover_on(stack, layout, flash)
}

/// The same on devices of one type, as [`create_on`].
pub fn recover_on<D: Device + 'static>(
    stack: &Stack,
    layout: &Layout,
    flash: &mut FlashPort<D>,
) -> Result<Drive<D>, RecoverError> {
    let resolved = resolve(stack)?;
    let layout = &resolved.with_wear(layout);
    let ResolvedPart { entry, values, .. } = resolved.mapping();
    let builder = builder::<D>(entry)?;
    flash.with_cause(Cause::Recovery, |flash| {
        let mapping = builder.recover(layout, values, flash)?;
        let mut drive = Drive::new(mapping, layout);
        drive.wear_failure().map_or(Ok(()), |message| Err(FtlError::Failed { message }))?;
        Ok(resolved.with_write_buffer(drive, layout)?)
    })
}

impl Resolved {
    /// A layout with the wear policy that the stack names, if it names one.
    fn with_wear(&self, layout: &Layout) -> Layout {
        let mut layout = layout.clone();
        if let Some(ResolvedPart { entry, values, .. }) = self.part(PartKind::WearPolicy) {
            let kind = wear_kinds().into_iter().find(|kind| kind.entry.name == entry.name);
            layout.wear = kind.filter(|kind| !kind.is_none).map(|kind| kind.with(values.clone()));
        }
        layout
    }

    /// A drive behind the write buffer that the stack names, if it names one.
    fn with_write_buffer<D: Device>(&self, drive: Drive<D>, layout: &Layout) -> Result<Drive<D>, ConfigError> {
        let chosen = self.part(PartKind::Buffer).and_then(|part| Some((buffer_kind(part.entry)?, &part.values)));
        let Some((kind, values)) = chosen else { return Ok(drive) };
        if drive.needs_future() {
            let (mapping, buffer) = (self.mapping().entry.name, kind.entry.name);
            return Err(ConfigError(format!(
                "{mapping}: it is told what the host will ask, which is not what {buffer} passes on; leave {buffer} \
                 out, or take other victims or streams"
            )));
        }
        let (policy, room) = (kind.build)(layout, values)?;
        Ok(drive.with_write_buffer(policy, room, layout))
    }
}

/// All wear policies, the built-in ones first.
fn wear_kinds() -> Vec<WearKind> {
    builtin_wear_policies().into_iter().chain(registered::wear_policies()).collect()
}

/// All write buffers, the built-in ones first.
fn buffer_kinds() -> Vec<BufferKind> {
    builtin_buffers().into_iter().chain(registered::buffers()).collect()
}

fn buffer_kind(entry: &Entry) -> Option<BufferKind> {
    buffer_kinds().into_iter().find(|kind| kind.entry.name == entry.name)
}

/// Whether a part can work over a mapping.
fn suits(kind: PartKind, part: &Entry, mapping: &Entry) -> Result<(), String> {
    if kind == PartKind::WearPolicy && !mapping.capabilities.relocates_blocks {
        return Err(
            "it chooses its blocks by itself and empties none that it is told; leave the wear policy out".into()
        );
    }
    let suits = match kind {
        PartKind::Mapping => return Ok(()),
        PartKind::WearPolicy => {
            wear_kinds().into_iter().find(|kind| kind.entry.name == part.name).map(|kind| kind.suits)
        }
        PartKind::Buffer => buffer_kind(part).map(|kind| kind.suits),
    };
    suits.map_or(Ok(()), |suits| suits(mapping))
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
    DemandPaged<Tpftl>,
    DemandPaged<SFtl>,
    DemandPaged<Rftl>,
    Bdb,
    Waftl,
    SharedRam<TreeCache>,
    SharedRam<Aps>,
    SharedRam<Jtl>,
    Leaftl,
];

/// The built-in wear policies, in the order in which tables show them.
fn builtin_wear_policies() -> [WearKind; 9] {
    [
        WearKind::of::<wear::none::NoLevelling>(),
        WearKind::of::<wear::dynamic::Dynamic>(),
        WearKind::of::<wear::static_levelling::StaticLevelling>(),
        WearKind::of::<wear::bet::Bet>(),
        WearKind::of::<wear::lazy::Lazy>(),
        WearKind::of::<wear::dual_pool::DualPool>(),
        WearKind::of::<wear::rejuvenator::Rejuvenator>(),
        WearKind::of::<wear::owl::Owl>(),
        WearKind::of::<wear::saw::Saw>(),
    ]
}

/// The built-in write buffers, in the order in which tables show them.
fn builtin_buffers() -> [BufferKind; 4] {
    [
        BufferKind::of::<write_buffer::lru::Lru>(),
        BufferKind::of::<write_buffer::fifo::Fifo>(),
        BufferKind::of::<write_buffer::fab::Fab>(),
        BufferKind::of::<write_buffer::bplru::Bplru>(),
    ]
}

/// The entry of a mapping; an unknown name is an error that lists the known ones.
pub fn entry(name: &str) -> Result<&'static Entry, ConfigError> {
    mappings()
        .into_iter()
        .find(|entry| entry.name == name)
        .ok_or_else(|| ConfigError(format!("unknown FTL {name}: choose from {}", known(PartKind::Mapping))))
}

/// The stack with its parts as the registry spells them: `DFTL` is `dftl` where nothing is called
/// `DFTL`.
pub fn with_known_names(mut stack: Stack) -> Stack {
    let known: Vec<_> = PartKind::ALL.into_iter().flat_map(entries).map(|entry| entry.name).collect();
    for part in stack.parts_mut().filter(|part| !known.contains(&part.name.as_str())) {
        let same = known.iter().find(|name| name.eq_ignore_ascii_case(&part.name));
        part.name = same.map_or_else(|| std::mem::take(&mut part.name), |name| (*name).to_owned());
    }
    stack
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

fn chosen(kind: PartKind, entry: &'static Entry, part: &Part) -> Result<ResolvedPart, ConfigError> {
    let values = Values::check(entry.name, entry.parameters, &part.settings)?;
    let setting = |p: &Parameter| p.spelled(part.settings.get(p.name).map_or(p.default, String::as_str));
    let settings = entry.parameters.iter().map(|p| (p.name.to_owned(), setting(p))).collect();
    Ok(ResolvedPart { kind, entry, values, settings })
}

/// What a part behind the mapping is.
fn further(stack: &Stack, name: &str) -> Result<(PartKind, &'static Entry), ConfigError> {
    let kinds = [PartKind::WearPolicy, PartKind::Buffer];
    let mut entries = kinds.into_iter().flat_map(|kind| entries(kind).into_iter().map(move |entry| (kind, entry)));
    entries.find(|(_, entry)| entry.name == name).ok_or_else(|| {
        let known = kinds.map(|kind| format!("{}: {}", kind.name(), known(kind))).join("; ");
        let why = if mappings().iter().any(|entry| entry.name == name) {
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

pub mod registered;
#[cfg(test)]
mod tests;
