//! What is on the disk when a host stops: everything up to a completed sync, and any sectors of
//! what was written since.

use std::borrow::Cow;

use random::SeededRng;

use crate::image::file::Taped;

/// Bytes of a page: four sectors, so that a page can be torn.
pub(super) const PAGE: usize = 2048;

const SECTOR: usize = 512;

/// Which of the sectors that were written after the last sync are on the disk.
#[derive(Clone, Copy, Debug)]
pub(super) enum Arrived {
    All,
    AllBut(u64),
    Only(u64),
    First(u64),
    /// Each with this chance, of eight.
    Some(u64),
}

/// All ways in which sectors may have arrived.
pub(super) const ALL_WAYS: usize = usize::MAX;

impl Arrived {
    fn ways(rng: &mut SeededRng, sectors: u64) -> Vec<Self> {
        let mut one = || rng.below(sectors.max(1));
        vec![
            Self::All,
            Self::AllBut(one()),
            Self::Only(one()),
            Self::First(one()),
            Self::Some(4),
            Self::Some(1),
            Self::Some(7),
        ]
    }

    fn has(self, sector: u64, rng: &mut SeededRng) -> bool {
        match self {
            Self::All => true,
            Self::AllBut(other) => sector != other,
            Self::Only(one) => sector == one,
            Self::First(count) => sector < count,
            Self::Some(chance) => rng.below(8) < chance,
        }
    }
}

/// The parts of what was handed over that lie in one sector each.
fn parts(entry: &Taped) -> impl Iterator<Item = (u64, Cow<'_, [u8]>)> {
    let (offset, bytes) = match entry {
        Taped::Write(offset, bytes) => (*offset, Cow::Borrowed(&bytes[..])),
        Taped::Hole(offset, length) => (*offset, Cow::Owned(vec![0; *length as usize])),
        Taped::Sync => (0, Cow::Borrowed(&[][..])),
    };
    let first = (SECTOR - (offset % SECTOR as u64) as usize).min(bytes.len());
    let ends = (first..bytes.len()).step_by(SECTOR).chain([bytes.len()]);
    let mut begin = 0;
    ends.map(move |end| {
        let part = (offset + begin as u64, Cow::Owned(bytes[begin..end].to_vec()));
        begin = end;
        part
    })
}

fn put(image: &mut [u8], offset: u64, bytes: &[u8]) {
    image[offset as usize..][..bytes.len()].copy_from_slice(bytes);
}

/// The image as it is on the disk when the host stops: what was synced, and of what was written
/// since what has arrived.
fn crashed(synced: &[u8], since: &[Taped], arrived: Arrived, rng: &mut SeededRng) -> Vec<u8> {
    let (mut image, mut sector) = (synced.to_vec(), 0);
    for entry in since {
        for (offset, part) in parts(entry) {
            if arrived.has(sector, rng) {
                put(&mut image, offset, &part);
            }
            sector += 1;
        }
    }
    image
}

/// A host that stops again and again at later moments of one tape.
pub(super) struct Disk<'a> {
    tape: &'a [Taped],
    synced: Vec<u8>,
    synced_at: usize,
}

impl<'a> Disk<'a> {
    /// A disk that holds this image before anything of the tape.
    pub(super) fn new(before: &[u8], tape: &'a [Taped]) -> Self {
        Self { tape, synced: before.to_vec(), synced_at: 0 }
    }

    /// Images of a stop at a moment, which is not before an earlier one: one for each way in which
    /// sectors may have arrived, or for this many of the ways.
    pub(super) fn stops(&mut self, at: usize, most: usize, rng: &mut SeededRng) -> Vec<(Arrived, Vec<u8>)> {
        self.sync_until(at);
        let since = &self.tape[self.synced_at..at];
        let sectors = since.iter().flat_map(parts).count() as u64;
        let mut ways = Arrived::ways(rng, sectors);
        while ways.len() > most {
            ways.swap_remove(rng.below(ways.len() as u64) as usize);
        }
        let image = |arrived| (arrived, crashed(&self.synced, since, arrived, rng));
        ways.into_iter().map(image).collect()
    }

    /// The image of a stop at a moment, which is not before an earlier one: each sector has arrived
    /// with the chance, of eight, that its offset has.
    pub(super) fn stop_by(&mut self, at: usize, chance: impl Fn(u64) -> u64, rng: &mut SeededRng) -> Vec<u8> {
        self.sync_until(at);
        let mut image = self.synced.clone();
        for (offset, part) in self.tape[self.synced_at..at].iter().flat_map(parts) {
            if rng.below(8) < chance(offset) {
                put(&mut image, offset, &part);
            }
        }
        image
    }

    /// Whatever the last sync before a moment promises is on the disk.
    fn sync_until(&mut self, at: usize) {
        let last_sync = self.tape[..at].iter().rposition(|entry| matches!(entry, Taped::Sync)).unwrap_or(0);
        let synced_at = last_sync.max(self.synced_at);
        for (offset, part) in self.tape[self.synced_at..synced_at].iter().flat_map(parts) {
            put(&mut self.synced, offset, &part);
        }
        self.synced_at = synced_at;
    }
}
