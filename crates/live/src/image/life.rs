//! What an image remembers of its life: how far it is known to be on the disk, and counts since it
//! was made.
//!
//! Two slots, one before and one behind the data, are written in turn, each with a generation and a
//! CRC, so one of them is whole whatever happens while the other is being written. Nothing that
//! recovery needs is here: with both slots lost, only the counts are, and the next start checks
//! more data than it had to.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::FileExt;

use serde::{Deserialize, Serialize};

use super::file::ImageFile;
use super::header::read_up_to;
use super::page_tags::LAST_SEQ;

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
    /// Every page that was programmed up to this sequence number is known to be on the disk, data
    /// and slot. Numbers that recovery hands out again are above it.
    pub(crate) synced_seq: u64,
    /// Whether the last server stopped in good order.
    pub(crate) is_clean: bool,
    /// How often the device was switched on.
    pub(crate) starts: u64,
    /// Pages that were not erased at that time. Images of earlier versions of ftlkit know it only
    /// where they were left in good order.
    #[serde(default)]
    pub(crate) touched_pages: Option<u64>,
    /// Erases of all blocks up to that time.
    #[serde(default)]
    pub(crate) erases: Option<u64>,
    pub(crate) counters: Counters,
}

/// Counts whose names have changed since images were first made: how they began, and begin now.
const RENAMED: [(&str, &str); 2] = [("evacuations", "relocated_blocks"), ("wear_leveling_", "wear_levelling_")];

/// A count's name of today.
fn current_name(name: String) -> String {
    let renamed = RENAMED.iter().find_map(|(old, new)| Some(format!("{new}{}", name.strip_prefix(old)?)));
    renamed.unwrap_or(name)
}

/// The two slots of one image.
#[derive(Debug)]
pub(crate) struct LifeSlots {
    offsets: [u64; 2],
    generation: u64,
}

/// What was found in the two slots.
pub(crate) struct FoundLife {
    pub(crate) slots: LifeSlots,
    /// The newer one that can be believed.
    pub(crate) life: Option<Life>,
    /// How many cannot be.
    pub(crate) damaged: usize,
    /// Whether the other one is older than the write before: a newer one was in its place.
    pub(crate) is_one_rolled_back: bool,
}

impl LifeSlots {
    /// Reads both slots, which lie at these offsets.
    pub(crate) fn read(file: &impl FileExt, offsets: [u64; 2]) -> FoundLife {
        let found = offsets.map(|offset| read_slot(file, offset));
        let damaged = found.iter().filter(|slot| slot.is_none()).count();
        let generations = found.each_ref().map(|slot| slot.as_ref().map(|found| found.0));
        let is_one_rolled_back = matches!(generations, [Some(one), Some(other)] if one.abs_diff(other) != 1);
        let (generation, life) = match found.into_iter().flatten().max_by_key(|found| found.0) {
            Some((generation, life)) => (generation, Some(life)),
            None => (0, None),
        };
        FoundLife { slots: Self { offsets, generation }, life, damaged, is_one_rolled_back }
    }

    /// How many were written: the generation of the last one.
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// Writes the slot whose turn it is. Counts that do not fit are left out: they are worth less
    /// than the rest.
    pub(crate) fn write(&mut self, file: &mut ImageFile, life: &Life) -> io::Result<()> {
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
        file.write(&bytes, self.offsets[(self.generation % 2) as usize])
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
    if checksum(generation, text) != crc || generation == u64::MAX {
        return None;
    }
    let mut life: Life = serde_json::from_slice(text).ok()?;
    life.counters = life.counters.into_iter().map(|(name, count)| (current_name(name), count)).collect();
    (life.synced_seq <= LAST_SEQ && life.starts < u64::MAX).then_some((generation, life))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OFFSETS: [u64; 2] = [4096, 40_960];

    fn file() -> ImageFile {
        ImageFile::writable(tempfile::tempfile().expect("a file"))
    }

    #[test]
    fn the_newer_slot_counts_and_a_torn_one_leaves_the_other() {
        let mut file = file();
        let FoundLife { mut slots, life, damaged, .. } = LifeSlots::read(&file, OFFSETS);
        assert_eq!((life, damaged), (None, 2));
        for seq in 1..=5 {
            slots.write(&mut file, &Life { synced_seq: seq, ..Life::default() }).expect("written");
        }
        let found = LifeSlots::read(&file, OFFSETS);
        assert_eq!((found.life.map(|life| life.synced_seq), found.damaged), (Some(5), 0));
        // Generation 5 lies in the second slot.
        file.write_all_at(b"torn", OFFSETS[1] + 25).expect("written");
        let mut found = LifeSlots::read(&file, OFFSETS);
        assert_eq!((found.life.map(|life| life.synced_seq), found.damaged), (Some(4), 1));
        found.slots.write(&mut file, &Life { synced_seq: 6, ..Life::default() }).expect("written");
        let found = LifeSlots::read(&file, OFFSETS);
        assert_eq!((found.life.map(|life| life.synced_seq), found.damaged), (Some(6), 0));
    }

    #[test]
    fn a_slot_that_was_rolled_back_is_noticed() {
        let mut file = file();
        file.extend(OFFSETS[1] + LIFE_BYTES).expect("room");
        let mut slots = LifeSlots::read(&file, OFFSETS).slots;
        let mut older = [0; 4096];
        for seq in 1..=7 {
            slots.write(&mut file, &Life { synced_seq: seq, ..Life::default() }).expect("written");
            if seq == 3 {
                file.read_exact_at(&mut older, OFFSETS[1]).expect("a slot");
            }
            assert!(!LifeSlots::read(&file, OFFSETS).is_one_rolled_back);
        }
        file.write_all_at(&older, OFFSETS[1]).expect("written");
        let found = LifeSlots::read(&file, OFFSETS);
        assert!(found.is_one_rolled_back);
        assert_eq!((found.life.map(|life| life.synced_seq), found.damaged), (Some(6), 0));
    }

    #[test]
    fn counts_that_do_not_fit_do_not_cost_the_rest() {
        let mut file = file();
        let mut slots = LifeSlots::read(&file, OFFSETS).slots;
        let counters = (0..2000).map(|i| (format!("counter {i}"), i)).collect();
        let life = Life { synced_seq: 9, is_clean: true, starts: 3, touched_pages: Some(4), erases: Some(5), counters };
        slots.write(&mut file, &life).expect("written");
        let found = LifeSlots::read(&file, OFFSETS).life.expect("whole");
        assert_eq!(found, Life { counters: Counters::new(), ..life });
    }

    #[test]
    fn counts_of_earlier_images_go_on_under_their_names_of_today() {
        let mut file = file();
        let mut slots = LifeSlots::read(&file, OFFSETS).slots;
        let counters = |names: [&str; 3]| names.into_iter().map(str::to_owned).zip([7, 8, 9]).collect();
        let old = counters(["evacuations", "wear_leveling_programs", "host_programs"]);
        slots.write(&mut file, &Life { counters: old, ..Life::default() }).expect("written");
        let found = LifeSlots::read(&file, OFFSETS).life.expect("whole");
        assert_eq!(found.counters, counters(["relocated_blocks", "wear_levelling_programs", "host_programs"]));
    }

    #[test]
    fn a_life_that_nobody_can_have_led_is_not_believed() {
        let mut file = file();
        let mut slots = LifeSlots::read(&file, OFFSETS).slots;
        slots.write(&mut file, &Life { synced_seq: u64::MAX, ..Life::default() }).expect("written");
        assert_eq!(LifeSlots::read(&file, OFFSETS).life, None);
    }
}
