//! What an image remembers of its life: how far it is known to be on the disk, and counts since it was made.
//!
//! Two slots are written in turn, each with a generation and a CRC, so one of them is whole whatever happens while the other is
//! being written. Nothing that recovery needs is here: with both slots lost, only the counts are, and the next start checks
//! more data than it had to.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::FileExt;

use serde::{Deserialize, Serialize};

use super::header::read_up_to;

/// Bytes of a slot.
pub(crate) const LIFE_BYTES: u64 = 16_384;
const MAGIC: [u8; 4] = *b"LIFE";
/// Magic, length, generation and CRC in front of the text.
const FIXED_BYTES: usize = 20;

/// Counts over a device's life, by name.
pub type Counters = BTreeMap<String, u64>;

/// What a slot holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Life {
    /// Everything programmed up to this sequence number is known to be on the disk, data and slot.
    pub(crate) synced_seq: u64,
    /// Whether the last server stopped in good order.
    pub(crate) is_clean: bool,
    /// How often the device was switched on.
    pub(crate) starts: u64,
    pub(crate) counters: Counters,
}

/// The two slots of one image.
#[derive(Debug)]
pub(crate) struct LifeSlots {
    offset: u64,
    generation: u64,
}

impl LifeSlots {
    /// Reads the newer slot that can be believed. Without any, a life that promises nothing.
    pub(crate) fn read(file: &impl FileExt, offset: u64) -> (Self, Option<Life>) {
        let newest = (0..2).filter_map(|slot| read_slot(file, offset + slot * LIFE_BYTES)).max_by_key(|found| found.0);
        match newest {
            Some((generation, life)) => (Self { offset, generation }, Some(life)),
            None => (Self { offset, generation: 0 }, None),
        }
    }

    /// Writes the slot whose turn it is. Counts that do not fit are left out: they are worth less than the rest.
    pub(crate) fn write(&mut self, file: &impl FileExt, life: &Life) -> io::Result<()> {
        let mut text = serde_json::to_vec(life)?;
        if text.len() + FIXED_BYTES > LIFE_BYTES as usize {
            text = serde_json::to_vec(&Life { counters: Counters::new(), ..life.clone() })?;
        }
        self.generation += 1;
        let mut bytes = Vec::with_capacity(FIXED_BYTES + text.len());
        bytes.extend(MAGIC);
        bytes.extend((text.len() as u32).to_le_bytes());
        bytes.extend(self.generation.to_le_bytes());
        bytes.extend(checksum(self.generation, &text).to_le_bytes());
        bytes.extend(text);
        file.write_all_at(&bytes, self.offset + self.generation % 2 * LIFE_BYTES)
    }
}

fn checksum(generation: u64, text: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&generation.to_le_bytes()), text)
}

fn read_slot(file: &impl FileExt, offset: u64) -> Option<(u64, Life)> {
    let mut bytes = vec![0; LIFE_BYTES as usize];
    let length = read_up_to(file, &mut bytes, offset).ok()?;
    let fixed = bytes.get(..FIXED_BYTES).filter(|fixed| length >= FIXED_BYTES && fixed[..4] == MAGIC)?;
    let text_length = u32::from_le_bytes(fixed[4..8].try_into().ok()?) as usize;
    let generation = u64::from_le_bytes(fixed[8..16].try_into().ok()?);
    let crc = u32::from_le_bytes(fixed[16..20].try_into().ok()?);
    let text = bytes.get(FIXED_BYTES..FIXED_BYTES.checked_add(text_length)?)?;
    if checksum(generation, text) != crc {
        return None;
    }
    Some((generation, serde_json::from_slice(text).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newer_slot_counts_and_a_torn_one_leaves_the_other() {
        let file = tempfile::tempfile().expect("a file");
        let (mut slots, none) = LifeSlots::read(&file, 4096);
        assert_eq!(none, None);
        for seq in 1..=5 {
            slots.write(&file, &Life { synced_seq: seq, ..Life::default() }).expect("written");
        }
        assert_eq!(LifeSlots::read(&file, 4096).1.map(|life| life.synced_seq), Some(5));
        // Generation 5 lies in the second slot.
        file.write_all_at(b"torn", 4096 + LIFE_BYTES + 25).expect("written");
        let (mut slots, found) = LifeSlots::read(&file, 4096);
        assert_eq!(found.map(|life| life.synced_seq), Some(4));
        slots.write(&file, &Life { synced_seq: 6, ..Life::default() }).expect("written");
        assert_eq!(LifeSlots::read(&file, 4096).1.map(|life| life.synced_seq), Some(6));
    }

    #[test]
    fn counts_that_do_not_fit_do_not_cost_the_rest() {
        let file = tempfile::tempfile().expect("a file");
        let (mut slots, _) = LifeSlots::read(&file, 0);
        let counters = (0..2000).map(|i| (format!("counter {i}"), i)).collect();
        slots.write(&file, &Life { synced_seq: 9, is_clean: true, starts: 3, counters }).expect("written");
        let found = LifeSlots::read(&file, 0).1.expect("whole");
        assert_eq!((found.synced_seq, found.starts, found.counters.len()), (9, 3, 0));
    }
}
