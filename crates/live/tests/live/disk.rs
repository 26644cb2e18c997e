//! What is on the disk when a host stops: everything up to a completed sync, and any sectors of
//! what was written since. Disks and page caches write them back in any order, and keep only a
//! sector whole.

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;

use check::Cut;
use flash::Tear;
use live::DiskOp;
use random::{SeededRng, mix};

const SECTOR: usize = 512;

/// Where everything lies in an image, by docs/format.md; of what is there twice, both places.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places {
    pub(crate) life: [u64; 2],
    pub(crate) entries: [u64; 2],
    pub(crate) slots: [u64; 2],
    pub(crate) data: u64,
    pub(crate) end: u64,
}

impl Places {
    pub(crate) fn of(image: &Path) -> Self {
        let info = live::info(image).expect("an image");
        let geometry = info.description.checked_geometry().expect("a shape");
        let entries = (u64::from(geometry.blocks()) * 64).next_multiple_of(4096);
        let slots = (u64::from(geometry.pages()) * 64).next_multiple_of(4096);
        let life = 16_384;
        let end = info.file_bytes;
        let (entries_at, last_life) = (8192 + life, end - 8192 - life);
        let last_entries = last_life - entries;
        let slots_at = entries_at + entries;
        Self {
            life: [8192, last_life],
            entries: [entries_at, last_entries],
            slots: [slots_at, last_entries - slots],
            data: slots_at + slots,
            end,
        }
    }

    /// Both copies of a page's slot.
    pub(crate) fn slot(&self, page: u64) -> [Range<usize>; 2] {
        self.slots.map(|at| (at + 64 * page) as usize..(at + 64 * page) as usize + 64)
    }

    /// The kind of thing that lies at an offset: headers and lives, entries, the first copies of
    /// slots, the second ones, data.
    fn kind(&self, offset: u64) -> usize {
        match offset {
            _ if offset < self.entries[0] || offset >= self.life[1] => 0,
            _ if offset < self.slots[0] || offset >= self.entries[1] => 1,
            _ if offset < self.data => 2,
            _ if offset >= self.slots[1] => 3,
            _ => 4,
        }
    }
}

/// Which of the sectors that were written after the last sync are on the disk.
#[derive(Clone, Copy, Debug)]
enum Arrived {
    /// Of each kind of thing, each sector with this chance of eight.
    ByKind([u64; 5]),
    AllBut(u64),
    Only(u64),
    First(u64),
}

impl Arrived {
    /// A stop takes what its tear says of the disk: nothing has arrived, whole kinds of things have
    /// not, any sectors have, or everything has, as where the server alone was killed.
    fn draw(tear: Tear, sectors: u64, rng: &mut SeededRng) -> Self {
        let mut one = |of: u64| rng.below(of.max(1));
        match tear {
            Tear::Before => Self::First(0),
            Tear::Unseen => Self::ByKind(std::array::from_fn(|_| [0, 8, 8, 4, 7][one(5) as usize])),
            Tear::Torn => match one(6) {
                0 => Self::AllBut(one(sectors)),
                1 => Self::Only(one(sectors)),
                2 => Self::First(one(sectors)),
                chance => Self::ByKind([[1, 4, 7][chance as usize - 3]; 5]),
            },
            Tear::After => Self::ByKind([8; 5]),
        }
    }

    fn has(self, sector: u64, kind: usize, rng: &mut SeededRng) -> bool {
        match self {
            Self::ByKind(chances) => rng.below(8) < chances[kind],
            Self::AllBut(other) => sector != other,
            Self::Only(one) => sector == one,
            Self::First(count) => sector < count,
        }
    }
}

/// What was handed over, and where to.
fn written_by(op: &DiskOp) -> (u64, Cow<'_, [u8]>) {
    match op {
        DiskOp::Write(offset, bytes) => (*offset, Cow::Borrowed(&bytes[..])),
        DiskOp::Hole(offset, length) => (*offset, Cow::Owned(vec![0; *length as usize])),
        DiskOp::Sync => (0, Cow::Borrowed(&[])),
    }
}

/// The parts of that that lie in one sector each.
fn parts(op: &DiskOp) -> Vec<(u64, Vec<u8>)> {
    let (offset, bytes) = written_by(op);
    let first = (SECTOR - (offset % SECTOR as u64) as usize).min(bytes.len());
    let (begin, rest) = bytes.split_at(first);
    let mut at = offset;
    let parts = std::iter::once(begin).chain(rest.chunks(SECTOR)).map(|part| {
        at += part.len() as u64;
        (at - part.len() as u64, part.to_vec())
    });
    parts.collect()
}

fn put(image: &mut [u8], offset: u64, bytes: &[u8]) {
    image[offset as usize..][..bytes.len()].copy_from_slice(bytes);
}

/// The image when its host stops at a position of what it wrote. The same stop leaves the same.
pub(crate) fn stopped(before: &[u8], written: &[DiskOp], places: &Places, cut: Cut, seed: u64) -> Vec<u8> {
    let at = cut.operation as usize;
    let synced = written[..at].iter().rposition(|op| matches!(op, DiskOp::Sync)).unwrap_or(0);
    let mut image = before.to_vec();
    for (offset, bytes) in written[..synced].iter().map(written_by) {
        put(&mut image, offset, &bytes);
    }
    let since: Vec<_> = written[synced..at].iter().flat_map(parts).collect();
    let mut rng = SeededRng::new(mix(seed ^ (u64::from(cut.operation) << 2 | cut.tear as u64)));
    let arrived = Arrived::draw(cut.tear, since.len() as u64, &mut rng);
    for (sector, (offset, part)) in (0..).zip(&since) {
        if arrived.has(sector, places.kind(*offset), &mut rng) {
            put(&mut image, *offset, part);
        }
    }
    image
}
