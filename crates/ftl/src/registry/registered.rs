//! Parts from outside: the author of a mapping, a wear policy or a write buffer adds it
//! here, and it then stands in every list, under its name, beside the built-in ones.
//!
//! The list is one for the process, since every shell (simulator, checker, live device) looks parts
//! up by name, and some parts are known only when the program runs. What a run was given stays,
//! even when its mapping is replaced or forgotten. A mapping is built for the types of devices that
//! it was registered on; each shell says which are its.

use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use crate::api::entry::{Entry, PartKind};
use crate::api::layout::WearKind;
use crate::api::mapping::MappingBuilder;
use crate::api::parameter::{Settings, Values, is_plain};
use crate::port::device::Device;
use crate::port::error::ConfigError;
use crate::write_buffer::policy::BufferKind;

/// Builders by the type of their device; each is an `Arc<dyn MappingBuilder<D>>`.
type Builders = BTreeMap<TypeId, Box<dyn Any + Send + Sync>>;

/// What was registered, each kind in the order of registration.
struct Registered {
    mappings: Vec<(&'static Entry, Builders)>,
    wear_policies: Vec<WearKind>,
    buffers: Vec<BufferKind>,
}

static REGISTERED: RwLock<Registered> =
    RwLock::new(Registered { mappings: Vec::new(), wear_policies: Vec::new(), buffers: Vec::new() });

/// Looks at the list. A thread that panicked while it held the lock has left it whole: each change
/// is one push.
fn with_list<R>(look: impl FnOnce(&Registered) -> R) -> R {
    look(&REGISTERED.read().unwrap_or_else(PoisonError::into_inner))
}

/// A mapping that is about to be registered, with a builder for each type of device.
pub struct MappingRegistration {
    entry: Entry,
    builders: Builders,
}

impl MappingRegistration {
    /// A mapping of this name, for no device yet.
    pub fn new(entry: Entry) -> Self {
        Self { entry, builders: Builders::new() }
    }

    /// The same, built by `builder` on devices of type `D`.
    #[must_use]
    pub fn on<D: Device + 'static>(mut self, builder: impl MappingBuilder<D> + 'static) -> Self {
        let builder: Arc<dyn MappingBuilder<D>> = Arc::new(builder);
        self.builders.insert(TypeId::of::<D>(), Box::new(builder));
        self
    }

    /// What the mapping is called.
    pub(super) fn name(&self) -> &'static str {
        self.entry.name
    }

    /// Adds it to the list, unless a part has its name: `taken` is the kind of a built-in one.
    pub(super) fn register(self, taken: Option<PartKind>) -> Result<(), ConfigError> {
        let Self { entry, builders } = self;
        add(&entry, taken, |list, entry| list.mappings.push((entry, builders)))
    }

    /// Adds it in place of a registered mapping of the same name, if there is one.
    pub(super) fn replace(self, taken: Option<PartKind>) -> Result<(), ConfigError> {
        let Self { entry, builders } = self;
        check(&entry)?;
        let mut list = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = list.mappings.iter_mut().find(|(known, _)| known.name == entry.name) {
            *known = (Box::leak(Box::new(entry)), builders);
            return Ok(());
        }
        drop(list);
        Self { entry, builders }.register(taken)
    }
}

impl fmt::Debug for MappingRegistration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {} types of devices", self.entry.name, self.builders.len())
    }
}

/// Takes a registered part out of the list, of whatever kind; tells whether it stood there. No two
/// parts have the same name.
pub(super) fn forget(name: &str) -> bool {
    let mut list = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
    let parts = |list: &Registered| list.mappings.len() + list.wear_policies.len() + list.buffers.len();
    let before = parts(&list);
    list.mappings.retain(|(entry, _)| entry.name != name);
    list.wear_policies.retain(|kind| kind.entry.name != name);
    list.buffers.retain(|kind| kind.entry.name != name);
    parts(&list) < before
}

/// Adds a wear policy to the list.
pub(super) fn add_wear_policy(kind: WearKind, taken: Option<PartKind>) -> Result<(), ConfigError> {
    add(kind.entry, taken, |list, _| list.wear_policies.push(kind))
}

/// Adds a wear policy in place of a registered one of the same name, if there is one.
pub(super) fn replace_wear_policy(kind: WearKind, taken: Option<PartKind>) -> Result<(), ConfigError> {
    check(kind.entry)?;
    let mut list = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = list.wear_policies.iter_mut().find(|known| known.entry.name == kind.entry.name) {
        *known = kind;
        return Ok(());
    }
    drop(list);
    add_wear_policy(kind, taken)
}

/// Adds a write buffer in place of a registered one of the same name, if there is one.
pub(super) fn replace_buffer(kind: BufferKind, taken: Option<PartKind>) -> Result<(), ConfigError> {
    check(kind.entry)?;
    let mut list = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = list.buffers.iter_mut().find(|known| known.entry.name == kind.entry.name) {
        *known = kind;
        return Ok(());
    }
    drop(list);
    add_buffer(kind, taken)
}

/// Adds a write buffer to the list.
pub(super) fn add_buffer(kind: BufferKind, taken: Option<PartKind>) -> Result<(), ConfigError> {
    add(kind.entry, taken, |list, _| list.buffers.push(kind))
}

/// Whether a part can be listed.
fn check(entry: &Entry) -> Result<(), ConfigError> {
    let name = entry.name;
    if name.is_empty() || !is_plain(name) || name.contains('=') {
        return Err(ConfigError(format!(
            "the name {name:?} of a part cannot stand in a stack: leave out + : , = and spaces, as in my-ftl"
        )));
    }
    if let Some(parameter) =
        entry.parameters.iter().find(|parameter| !is_plain(parameter.name) || parameter.name.contains('='))
    {
        return Err(ConfigError(format!(
            "{name}: the parameter {:?} cannot stand in a stack: leave out + : , = and spaces",
            parameter.name
        )));
    }
    Values::check(name, entry.parameters, &Settings::new())
        .map(drop)
        .map_err(|error| ConfigError(format!("{name}: a default is not allowed: {error}")))
}

/// Checks a part and adds it. What it is known by stays for as long as the process runs.
fn add(
    entry: &Entry,
    taken: Option<PartKind>,
    push: impl FnOnce(&mut Registered, &'static Entry),
) -> Result<(), ConfigError> {
    check(entry)?;
    let name = entry.name;
    // Nobody can register the same name between this look and the push: both happen under one lock.
    let mut list = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
    let is_listed = |kind: PartKind| list.entries(kind).into_iter().any(|entry| entry.name == name);
    if let Some(kind) = taken.or_else(|| PartKind::ALL.into_iter().find(|&kind| is_listed(kind))) {
        return Err(ConfigError(format!("{name}: there is a {} of this name already; choose another", kind.name())));
    }
    push(&mut list, Box::leak(Box::new(*entry)));
    Ok(())
}

impl Registered {
    fn entries(&self, kind: PartKind) -> Vec<&'static Entry> {
        match kind {
            PartKind::Mapping => self.mappings.iter().map(|(entry, _)| *entry).collect(),
            PartKind::WearPolicy => self.wear_policies.iter().map(|kind| kind.entry).collect(),
            PartKind::Buffer => self.buffers.iter().map(|kind| kind.entry).collect(),
        }
    }
}

/// The registered parts of a kind, in the order of registration.
pub(super) fn entries(kind: PartKind) -> Vec<&'static Entry> {
    with_list(|list| list.entries(kind))
}

/// The registered wear policies.
pub(super) fn wear_policies() -> Vec<WearKind> {
    with_list(|list| list.wear_policies.clone())
}

/// The registered write buffers.
pub(super) fn buffers() -> Vec<BufferKind> {
    with_list(|list| list.buffers.clone())
}

/// The builder of a registered mapping for devices of type `D`.
pub(super) fn builder<D: Device + 'static>(name: &str) -> Result<Arc<dyn MappingBuilder<D>>, ConfigError> {
    let builder = with_list(|list| {
        let (_, builders) = list.mappings.iter().find(|(entry, _)| entry.name == name)?;
        builders.get(&TypeId::of::<D>())?.downcast_ref::<Arc<dyn MappingBuilder<D>>>().cloned()
    });
    builder.ok_or_else(|| {
        ConfigError(format!(
            "{name} was not registered for devices of type {}: register it on this type, too",
            std::any::type_name::<D>()
        ))
    })
}
