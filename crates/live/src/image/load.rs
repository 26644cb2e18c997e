//! Reading an image's areas into RAM, and what is wrong with them.
//!
//! Nothing here refuses an image: whatever cannot be believed becomes what flash would be in its place (a torn page, a block that
//! asks for an erase), and a finding in words. A damaged slot is more than that: whose page it was is lost, so what is older may
//! come to light in its place. Those are counted, and whoever serves the image must ask for it.

use std::io;
use std::os::unix::fs::FileExt;

use flash::{Geometry, Role, UsedBlock};

use super::blocks::{Block, Condition, ENTRY_BYTES};
use super::file::ImageFile;
use super::header::read_up_to;
use super::life::LifeSlots;
use super::oob::{Body, SLOT_BYTES, Slot, decode};
use super::places::Places;
use super::store::{FileStore, PageState, Pages};

/// Slots that are read at once: one mebibyte.
const SLOTS_AT_ONCE: usize = 32_768;
/// Findings of one kind that are told one by one.
const TOLD: usize = 5;

/// What is wrong with an image, in sentences.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    told: Vec<String>,
    /// How many more of each kind there are, told at the end.
    kinds: Vec<(&'static str, usize)>,
}

impl Findings {
    /// Notes something; after a few of one kind they are only counted.
    pub(crate) fn note(&mut self, kind: &'static str, sentence: impl FnOnce() -> String) {
        let position = self.kinds.iter().position(|(known, _)| *known == kind);
        let position = position.unwrap_or_else(|| {
            self.kinds.push((kind, 0));
            self.kinds.len() - 1
        });
        self.kinds[position].1 += 1;
        if self.kinds[position].1 <= TOLD {
            self.told.push(sentence());
        }
    }

    /// Everything, in sentences.
    pub fn sentences(&self) -> Vec<String> {
        let more = self.kinds.iter().filter(|(_, count)| *count > TOLD);
        let more = more.map(|(kind, count)| format!("{} more of the kind: {kind}", count - TOLD));
        self.told.iter().cloned().chain(more).collect()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.kinds.iter().map(|(_, count)| count).sum()
    }
}

/// A store with what a chip needs besides.
pub(crate) struct Loaded {
    pub(crate) store: FileStore,
    pub(crate) blocks: Vec<UsedBlock>,
    pub(crate) findings: Findings,
    /// Slots that are neither what was written nor torn.
    pub(crate) damaged_slots: usize,
    /// Pages that are on the disk, by what the image promises, and whose data are not what was written.
    pub(crate) decayed_pages: Vec<usize>,
}

/// What an image is read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Data are looked at only where the image does not promise that they are on the disk. Where they are not, the page is torn
    /// from now on.
    Serve,
    /// All data are looked at, and nothing is changed.
    Check,
}

/// Reads everything but data, and of these what the purpose asks for.
pub(crate) fn load(file: ImageFile, geometry: &Geometry, purpose: Purpose) -> io::Result<Loaded> {
    let places = Places::of(geometry);
    let mut findings = Findings::default();
    let (life_slots, life) = LifeSlots::read(&file, places.life);
    if life.is_none() {
        findings
            .note("life", || "neither copy of the image's life can be read: counts since it was made are lost".into());
    }
    let life = life.unwrap_or_default();
    let blocks = read_blocks(&file, &places, geometry, &mut findings)?;
    let mut store = FileStore {
        page_bytes: geometry.page_size_bytes() as usize,
        pages: Pages::erased(geometry.pages() as usize),
        pages_per_block: geometry.pages_per_block() as usize,
        zeros: vec![0; geometry.pages_per_block() as usize * SLOT_BYTES],
        written_seq: life.synced_seq,
        is_dirty: true,
        failure: None,
        loading: None,
        waiting: Vec::new(),
        #[cfg(test)]
        tape: Vec::new(),
        file,
        places,
        blocks,
        life,
        life_slots,
    };
    let Slots { damaged, to_check } = read_slots(&mut store, purpose, &mut findings)?;
    let mut decayed_pages = Vec::new();
    for (page, length, is_promised) in to_check {
        if store.bytes_of(page, length).is_some() {
            continue;
        }
        let logical = store.pages.logicals[page];
        if is_promised {
            decayed_pages.push(page);
            findings.note("page whose data do not pass their checksum", || {
                format!(
                    "page {page} (logical number {logical}): its data do not pass their checksum; it reads as an error"
                )
            });
            continue;
        }
        findings.note("page whose data had not reached the disk when its host stopped", || {
            format!("page {page} (logical number {logical}): its data had not reached the disk when its host stopped; it was never flushed")
        });
        match purpose {
            // For good: later starts will take the page's sequence number for one that is on the disk.
            Purpose::Serve => store.write_slot(page, Slot::Torn),
            Purpose::Check => store.pages.states[page] = PageState::Torn,
        }
    }
    let blocks = used_blocks(&mut store);
    Ok(Loaded { store, blocks, findings, damaged_slots: damaged, decayed_pages })
}

/// What reading the OOB area found out besides.
struct Slots {
    damaged: usize,
    /// Pages whose data have to be looked at, how many bytes these are, and whether the image promises that they are on the disk.
    to_check: Vec<(usize, usize, bool)>,
}

fn read_blocks(
    file: &impl FileExt,
    places: &Places,
    geometry: &Geometry,
    findings: &mut Findings,
) -> io::Result<Vec<Block>> {
    let mut bytes = vec![0; geometry.blocks() as usize * ENTRY_BYTES];
    read_up_to(file, &mut bytes, places.blocks)?;
    let entries: Vec<_> = bytes.chunks_exact(ENTRY_BYTES).map(Block::decode).collect();
    let most = entries.iter().flatten().map(|block| block.erases).max().unwrap_or(0);
    let believed = entries.into_iter().enumerate().map(|(block, entry)| {
        entry.unwrap_or_else(|| {
            findings.note("block whose entry is damaged", || {
                format!(
                    "block {block}: its entry is damaged; taken for good, with {most} erases, the most of any block"
                )
            });
            Block { erases: most, condition: Condition::Good }
        })
    });
    Ok(believed.collect())
}

fn read_slots(store: &mut FileStore, purpose: Purpose, findings: &mut Findings) -> io::Result<Slots> {
    let pages = store.pages.states.len();
    let mut found = Slots { damaged: 0, to_check: Vec::new() };
    let mut bytes = vec![0; SLOTS_AT_ONCE.min(pages) * SLOT_BYTES];
    for first in (0..pages).step_by(SLOTS_AT_ONCE) {
        let count = SLOTS_AT_ONCE.min(pages - first);
        bytes.fill(0);
        read_up_to(&store.file, &mut bytes[..count * SLOT_BYTES], store.places.slot(first))?;
        for (page, slot) in (first..).zip(bytes[..count * SLOT_BYTES].as_chunks::<SLOT_BYTES>().0) {
            let slot = decode(slot);
            store.pages.set(page, slot);
            match slot {
                Slot::Programmed(tag, body) => {
                    let length = match body {
                        Body::None => 0,
                        Body::Data { .. } => store.page_bytes,
                        Body::Own { length, .. } => length as usize,
                    };
                    let is_promised = tag.seq <= store.life.synced_seq;
                    if length > 0 && tag.role != Role::Lost && (purpose == Purpose::Check || !is_promised) {
                        found.to_check.push((page, length, is_promised));
                    }
                    store.written_seq = store.written_seq.max(tag.seq);
                }
                Slot::Damaged => {
                    found.damaged += 1;
                    findings.note("page whose OOB slot is damaged", || {
                        format!("page {page}: its OOB slot is damaged, so nobody knows which logical page it held")
                    });
                }
                Slot::Erased | Slot::Torn | Slot::Unstable => {}
            }
        }
    }
    Ok(found)
}

/// What a chip needs to know of each block. In one whose erase was cut off, every page is torn.
fn used_blocks(store: &mut FileStore) -> Vec<UsedBlock> {
    let pages_per_block = store.pages_per_block;
    let mut used = Vec::with_capacity(store.blocks.len());
    for (block, states) in store.blocks.iter().zip(store.pages.states.chunks_mut(pages_per_block)) {
        if block.condition == Condition::Erasing {
            states.fill(PageState::Torn);
        }
        let touched = states.iter().rposition(|&state| state != PageState::Erased).map_or(0, |last| last + 1);
        used.push(UsedBlock {
            next_page: touched as u32,
            erases: block.erases,
            is_bad: block.condition == Condition::Bad,
        });
    }
    used
}
