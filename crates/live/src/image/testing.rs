//! What the tests of images share: small devices of every scheme, and contents that tell where they
//! belong.

use std::path::Path;

use bytes::Bytes;
use ftl::{Entry, PartKind, Stack, registry};
use random::SeededRng;
use sim::study::{Capacity, DeviceText};

use super::Image;
use crate::LiveError;
use crate::drive::{DriveOptions, LiveDrive, Piece};

/// Logical pages of the device.
pub(super) const PAGES: u64 = 128;

/// Stacks with a write buffer of a few pages in front.
const BUFFERED: [&str; 3] = ["fast+bplru:ram=4KiB", "page+dynamic+fab:ram=8KiB", "dftl+lru:ram=4KiB"];

/// Every scheme, and again with summaries where it can write them: those are bytes of its own; and
/// stacks with a write buffer.
pub(super) fn cases() -> Vec<Stack> {
    let mut cases: Vec<_> = registry::mappings().into_iter().map(|entry| Stack::of(entry.name)).collect();
    cases.extend(registry::mappings().into_iter().filter(|entry| can_summarise(entry)).map(with_summaries));
    cases.extend(BUFFERED.map(|stack| stack.parse().expect("a spelling")));
    cases
}

/// Those, each wear policy over a mapping, the next one in turn, and each write buffer in front of
/// one. owl chooses blocks in merges, so it has a mapping that merges.
pub(super) fn cases_with_parts() -> Vec<Stack> {
    let mappings = ["page", "fast", "superblock", "dftl", "block"];
    let policies = registry::entries(PartKind::WearPolicy).into_iter().map(|entry| entry.name.to_owned());
    let buffers = registry::entries(PartKind::Buffer).into_iter().map(|entry| format!("{}:ram=8KiB", entry.name));
    let over = |(turn, part): (usize, String)| {
        let mapping = if part == "owl" { "block" } else { mappings[turn % mappings.len()] };
        format!("{mapping}+{part}").parse().expect("a spelling")
    };
    cases().into_iter().chain(policies.chain(buffers).enumerate().map(over)).collect()
}

/// Whether a mapping can write summaries.
pub(super) fn can_summarise(entry: &Entry) -> bool {
    entry.parameters.iter().any(|parameter| parameter.name == "checkpoint")
}

/// A mapping that writes summaries.
pub(super) fn with_summaries(entry: &Entry) -> Stack {
    Stack::with(entry.name, [("checkpoint", "summaries")])
}

/// A folder in memory where that can be had: hundreds of images are written.
pub(super) fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a folder")
}

/// Makes an image of a small device with as little to spare as the scheme takes, so that what it
/// erases is soon used again, and more beyond that, as a share of the device.
pub(super) fn create(path: &Path, stack: &Stack, size: (u64, usize), more: f64) {
    assert!(create_worn(path, stack, size, more, None), "{stack} fits no device of the test");
}

/// The same of blocks that survive this many erases, if that is said; false if the stack fits no
/// such device.
pub(super) fn create_worn(
    path: &Path,
    stack: &Stack,
    (pages, page_bytes): (u64, usize),
    more: f64,
    endurance: Option<u32>,
) -> bool {
    let make = |spare: f64| {
        let text = DeviceText {
            capacity: Some(Capacity::Bytes(pages * page_bytes as u64)),
            spare: Some(spare),
            channels: Some(2),
            pages_per_block: Some(8),
            page_size: Some(trace::units::Bytes(page_bytes as u64)),
            endurance,
            ..DeviceText::default()
        };
        sim::Device::resolve(&text, 1).is_ok_and(|device| Image::create(path, &device, stack).is_ok())
    };
    let least = [0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6].into_iter().find(|&spare| make(spare));
    let Some(least) = least.filter(|_| more > 0.0) else { return least.is_some() };
    std::fs::remove_file(path).expect("the image");
    make(least + more)
}

/// Switches an image on.
pub(super) fn start(path: &Path) -> LiveDrive {
    open(path, false).expect("a drive")
}

/// The same, with damage if that is accepted; it may be refused.
pub(super) fn open(path: &Path, accept_damage: bool) -> Result<LiveDrive, LiveError> {
    LiveDrive::start(Image::open(path, false)?, DriveOptions { accept_damage, ..DriveOptions::default() })
}

/// A page's content: its number and how often it was written, in each sector.
pub(super) fn content(page: u64, round: u32, page_bytes: usize) -> Bytes {
    let mut data = vec![round as u8; page_bytes];
    for sector in data.chunks_mut(512) {
        sector[..8].copy_from_slice(&page.to_le_bytes());
        sector[8..12].copy_from_slice(&round.to_le_bytes());
    }
    data.into()
}

/// What a page holds.
pub(super) fn read(drive: &mut LiveDrive, page: u64) -> Result<Vec<u8>, crate::DriveError> {
    let page_bytes = drive.page_bytes();
    let pieces = drive.read(page * page_bytes as u64, page_bytes as u32)?;
    Ok(pieces
        .into_iter()
        .flat_map(|piece| match piece {
            Piece::Data(data) => data.to_vec(),
            Piece::Zeros(length) => vec![0; length],
        })
        .collect())
}

/// How an image is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Left {
    Closed,
    /// After this many writes that were answered, and not flushed.
    Killed(u64),
}

/// A host that writes a device for a while, and what its pages hold: the last flushed round and all
/// later ones.
pub(super) struct Host {
    pub(super) size: (u64, usize),
    held: Vec<Vec<u32>>,
    round: u32,
    rng: SeededRng,
}

/// How many pages are not as they were left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Compared {
    pub(super) unreadable: usize,
    /// They hold older content than was flushed last.
    pub(super) stale: usize,
    /// They hold something else than was written last, flushed or not.
    pub(super) others: usize,
}

impl Host {
    /// A host with a new image of this size.
    pub(super) fn new(path: &Path, stack: &Stack, size: (u64, usize), more: f64) -> Self {
        create(path, stack, size, more);
        Self { size, held: vec![vec![0]; size.0 as usize], round: 0, rng: SeededRng::new(0x01D) }
    }

    /// Writes every page once, and then any.
    pub(super) fn write(&mut self, drive: &mut LiveDrive, writes: u64) {
        let (pages, page_bytes) = self.size;
        for _ in 0..writes {
            self.round += 1;
            let page = if u64::from(self.round) <= pages { u64::from(self.round) - 1 } else { self.rng.below(pages) };
            let data = content(page, self.round, page_bytes);
            drive.write(page * page_bytes as u64, &data).expect("written");
            self.held[page as usize].push(self.round);
        }
    }

    pub(super) fn flush(&mut self, drive: &mut LiveDrive) {
        drive.flush().expect("flushed");
        for held in &mut self.held {
            held.drain(..held.len() - 1);
        }
    }

    /// Leaves the image; returns its bytes.
    pub(super) fn leave(&mut self, mut drive: LiveDrive, left: Left, path: &Path) -> Vec<u8> {
        self.flush(&mut drive);
        match left {
            Left::Closed => drive.stop().expect("stopped"),
            Left::Killed(unflushed) => {
                self.write(&mut drive, unflushed);
                assert!(drive.settle());
            }
        }
        drop(drive);
        std::fs::read(path).expect("the image")
    }

    /// The content that was written last.
    pub(super) fn last_written(&self) -> Bytes {
        let page = self.held.iter().position(|held| held.last() == Some(&self.round)).expect("a page");
        content(page as u64, self.round, self.size.1)
    }

    /// Reads every page.
    pub(super) fn compare(&self, drive: &mut LiveDrive) -> Compared {
        let mut compared = Compared::default();
        for (page, held) in (0..).zip(&self.held) {
            let Ok(found) = read(drive, page) else {
                compared.unreadable += 1;
                continue;
            };
            let holds = |&round: &u32| {
                if round == 0 {
                    found.iter().all(|&byte| byte == 0)
                } else {
                    found == content(page, round, self.size.1)
                }
            };
            compared.stale += usize::from(!held.iter().any(holds));
            compared.others += usize::from(!held.last().is_some_and(holds));
        }
        compared
    }
}
