//! A set of offsets within a group.

/// Offsets from 0 to 255, a bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Offsets([u64; 4]);

impl Offsets {
    /// Adds an offset.
    #[inline]
    pub(super) fn insert(&mut self, offset: u8) {
        self.0[usize::from(offset >> 6)] |= 1 << (offset & 63);
    }

    /// Whether an offset is among them.
    #[inline]
    pub(super) fn contains(&self, offset: u8) -> bool {
        self.0[usize::from(offset >> 6)] >> (offset & 63) & 1 == 1
    }

    /// Those that are in either set.
    #[must_use]
    pub(super) fn union(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] | other.0[word]))
    }
}

impl FromIterator<u8> for Offsets {
    fn from_iter<I: IntoIterator<Item = u8>>(offsets: I) -> Self {
        let mut set = Self::default();
        offsets.into_iter().for_each(|offset| set.insert(offset));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_what_was_inserted() {
        let set: Offsets = [0, 63, 64, 200, 255].into_iter().collect();
        let found: Vec<_> = (0..=255).filter(|&offset| set.contains(offset)).collect();
        assert_eq!(found, [0, 63, 64, 200, 255]);
    }
}
