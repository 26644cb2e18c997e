//! The devices of a trace: names in order of first appearance, and a number for each.

use std::collections::HashMap;

use crate::error::printable;

/// How many devices a trace may have. The largest public traces have a few thousand; a file with
/// more than this is not a trace with many devices but one whose device column is read wrongly, and
/// its table of names would fill the memory.
const MAX_DEVICES: usize = 1 << 20;

/// Answers remembered. Requests to one device come in runs and most traces have few devices, so
/// nearly every request finds its device here and is spared the hash map.
const RECENT: usize = 64;

/// The table of device names.
#[derive(Debug, Default)]
pub(crate) struct Devices {
    names: Vec<String>,
    // Looked up, never iterated: the order of a hash map must not reach a result.
    numbers: HashMap<Box<[u8]>, u32>,
    recent: Vec<Option<(Box<[u8]>, u32)>>,
}

impl Devices {
    /// A table of one device called `name`, number 0.
    pub(crate) fn one(name: &str) -> Self {
        Self { names: vec![name.to_owned()], ..Self::default() }
    }

    /// The number of the device that the trace writes as `key`. A new one is named by `name`. None
    /// when there are too many.
    #[inline]
    pub(crate) fn number(&mut self, key: &[u8], name: impl FnOnce(&[u8]) -> String) -> Option<u32> {
        match self.recent.get(slot(key)) {
            Some(Some((recent, number))) if **recent == *key => Some(*number),
            _ => self.search(key, name),
        }
    }

    fn search(&mut self, key: &[u8], name: impl FnOnce(&[u8]) -> String) -> Option<u32> {
        let number = if let Some(&number) = self.numbers.get(key) {
            number
        } else {
            if self.names.len() == MAX_DEVICES {
                return None;
            }
            let number = self.names.len() as u32;
            self.names.push(name(key));
            self.numbers.insert(key.into(), number);
            number
        };
        self.recent.resize(RECENT, None);
        match &mut self.recent[slot(key)] {
            Some((recent, remembered)) if recent.len() == key.len() => {
                recent.copy_from_slice(key);
                *remembered = number;
            }
            other => *other = Some((key.into(), number)),
        }
        Some(number)
    }

    /// The names, by number.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }
}

/// Where the answer for `key` is remembered. Names differ in their last characters first.
#[inline]
fn slot(key: &[u8]) -> usize {
    match key {
        [.., second, last] => usize::from(*second).wrapping_mul(10).wrapping_add(usize::from(*last)) % RECENT,
        [last] => usize::from(*last) % RECENT,
        [] => 0,
    }
}

/// The name of a device that the trace writes as `key`: the same, as far as it can be printed.
pub(crate) fn plain(key: &[u8]) -> String {
    printable(&String::from_utf8_lossy(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_first_appearance() {
        let mut devices = Devices::default();
        let numbers: Vec<_> =
            [&b"b"[..], b"a", b"a", b"b", b"ccc", b"a"].iter().map(|key| devices.number(key, plain)).collect();
        assert_eq!(numbers, [0, 1, 1, 0, 2, 1].map(Some));
        assert_eq!(devices.names(), ["b", "a", "ccc"]);
    }

    #[test]
    fn names_that_share_a_slot_or_are_empty_stay_apart() {
        let mut devices = Devices::default();
        let keys: Vec<String> = (0..500).map(|n| format!("{}", n * 7 % 500)).chain([String::new()]).collect();
        for _ in 0..3 {
            for key in &keys {
                let number = devices.number(key.as_bytes(), plain).unwrap();
                assert_eq!(devices.names()[number as usize], *key);
            }
        }
        assert_eq!(devices.names().len(), 501);
    }

    #[test]
    fn too_many_devices_are_refused() {
        let mut devices = Devices::default();
        for n in 0..MAX_DEVICES {
            assert!(devices.number(&n.to_le_bytes(), |_| String::new()).is_some());
        }
        assert_eq!(devices.number(b"one more", plain), None);
        assert_eq!(devices.number(&0_usize.to_le_bytes(), plain), Some(0));
    }
}
