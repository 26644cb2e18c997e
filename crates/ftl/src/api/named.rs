//! Lists of policies from outside, by name. Each is one for the process, as that of parts is
//! (`registry/registered.rs`).

use std::sync::{PoisonError, RwLock};

/// The kinds of policies that are registered from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyKind {
    /// Which block is collected next.
    Victims,
    /// Which pages that the host writes share open blocks.
    Classifier,
}

/// The names of all lists: who checks a parameter need not know what policies are.
static NAMES: RwLock<Vec<(PolicyKind, &'static str)>> = RwLock::new(Vec::new());

/// The names of a kind, in the order of registration.
pub fn names(kind: PolicyKind) -> Vec<&'static str> {
    let names = NAMES.read().unwrap_or_else(PoisonError::into_inner);
    names.iter().filter(|(known, _)| *known == kind).map(|(_, name)| *name).collect()
}

/// Policies of a kind, or what makes them, by the names under which they were registered.
pub(crate) struct Named<T> {
    kind: PolicyKind,
    list: RwLock<Vec<(&'static str, T)>>,
}

impl<T: Clone> Named<T> {
    /// The list of a kind; there is one for each.
    pub(crate) const fn new(kind: PolicyKind) -> Self {
        Self { kind, list: RwLock::new(Vec::new()) }
    }

    /// What was registered under a name.
    pub(crate) fn find(&self, name: &str) -> Option<T> {
        let list = self.list.read().unwrap_or_else(PoisonError::into_inner);
        list.iter().find(|(known, _)| *known == name).map(|(_, policy)| policy.clone())
    }

    /// Adds a policy, in place of one of the same name. What was built before stays as it is.
    pub(crate) fn replace(&self, name: &'static str, policy: T) {
        self.forget(name);
        self.list.write().unwrap_or_else(PoisonError::into_inner).push((name, policy));
        NAMES.write().unwrap_or_else(PoisonError::into_inner).push((self.kind, name));
    }

    /// Takes a policy out of the list; tells whether it stood there.
    pub(crate) fn forget(&self, name: &str) -> bool {
        NAMES.write().unwrap_or_else(PoisonError::into_inner).retain(|known| *known != (self.kind, name));
        let mut list = self.list.write().unwrap_or_else(PoisonError::into_inner);
        let before = list.len();
        list.retain(|(known, _)| *known != name);
        list.len() < before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_for_what_was_registered_last() {
        let list = Named::new(PolicyKind::Victims);
        let names = || names(PolicyKind::Victims);
        assert_eq!(list.find("mine"), None);
        list.replace("mine", 1);
        list.replace("other", 2);
        list.replace("mine", 3);
        assert_eq!((list.find("mine"), names()), (Some(3), vec!["other", "mine"]));
        assert!(super::names(PolicyKind::Classifier).is_empty());
        assert!(list.forget("mine") && !list.forget("mine"));
        assert_eq!(names(), ["other"]);
    }
}
