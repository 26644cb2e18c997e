//! The host loses power between any two writes: everything before the last flush that was answered must be there.
//!
//! Every write and every sync of a store is on a tape. An image of a crash has everything up to a completed sync, and of what was
//! written after it any sectors of 512 bytes: disks and page caches write them back in any order, and keep only a sector whole.
//! Each image is opened as after a crash, its translation layer recovered, and every page compared with what a host may find.

use std::borrow::Cow;
use std::path::Path;

use ftl::Stack;

use super::file::Taped;
use super::testing::{Dice, PAGES, cases, content, create, folder, read, start};
use crate::drive::Drive;

/// Four sectors, so that a page can be torn.
const PAGE: usize = 2048;
const SECTOR: usize = 512;
/// Requests of a run: enough that every scheme erases again and again.
const ROUNDS: u32 = 500;
/// Moments between two writes that are tried, and as many of those just before a sync; all with `FTLKIT_LONG`.
const MOMENTS: usize = 12;

/// What the host did, and between which positions of the tape.
#[derive(Clone, Debug)]
struct Deed {
    begun: usize,
    answered: usize,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Write(u64, u32),
    Trim(u64),
    Flush,
}

/// A run: the image that it began with, and what happened.
struct Run {
    scheme: String,
    before: Vec<u8>,
    tape: Vec<Taped>,
    deeds: Vec<Deed>,
}

fn position(drive: &Drive) -> usize {
    tape(drive).len()
}

fn tape(drive: &Drive) -> &[Taped] {
    &drive.media().device().chip.chip().store().file.tape
}

fn perform(stack: &Stack, folder: &Path) -> Run {
    let path = folder.join("whole.img");
    create(&path, stack, PAGE);
    let mut drive = start(&path);
    let before = std::fs::read(&path).expect("the image");
    let (mut deeds, mut dice) = (Vec::new(), Dice(0x5EED));
    for round in 1..=ROUNDS {
        let page = if round % 3 == 0 { dice.below(8) } else { dice.below(PAGES) };
        let run = 1 + dice.below(3).min(PAGES - 1 - page);
        let what = match round {
            _ if round % 16 == 0 => What::Flush,
            _ if round % 11 == 0 => What::Trim(page),
            _ => What::Write(page, round),
        };
        let begun = position(&drive);
        match what {
            What::Write(page, round) => {
                let data: Vec<u8> = (page..page + run).flat_map(|page| content(page, round, PAGE)).collect();
                drive.write(page * PAGE as u64, &data.into()).expect("written");
            }
            What::Trim(page) => drive.trim(page * PAGE as u64, (run as usize * PAGE) as u32).expect("trimmed"),
            What::Flush => drive.flush().expect("flushed"),
        }
        assert!(drive.settle());
        let answered = position(&drive);
        let each = if what == What::Flush { 1 } else { run };
        deeds.extend((0..each).map(|i| {
            let what = match what {
                What::Write(page, round) => What::Write(page + i, round),
                What::Trim(page) => What::Trim(page + i),
                What::Flush => What::Flush,
            };
            Deed { begun, answered, what }
        }));
    }
    let erases: u32 = drive.erase_counts().iter().sum();
    assert!(erases > 10, "{stack}: {erases} erases prove nothing");
    Run { scheme: stack.to_string(), before, tape: tape(&drive).to_vec(), deeds }
}

/// Which of the sectors that were written after the last sync are on the disk.
#[derive(Clone, Copy, Debug)]
enum Arrived {
    All,
    AllBut(u64),
    Only(u64),
    First(u64),
    /// Each with this chance, of eight.
    Some(u64),
}

impl Arrived {
    fn ways(dice: &mut Dice, sectors: u64) -> Vec<Self> {
        let mut one = || dice.below(sectors.max(1));
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

    fn has(self, sector: u64, dice: &mut Dice) -> bool {
        match self {
            Self::All => true,
            Self::AllBut(other) => sector != other,
            Self::Only(one) => sector == one,
            Self::First(count) => sector < count,
            Self::Some(chance) => dice.below(8) < chance,
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

/// The image as it is on the disk when the host stops: what was synced, and of what was written since what has arrived.
fn crashed(synced: &[u8], since: &[Taped], arrived: Arrived, dice: &mut Dice) -> Vec<u8> {
    let (mut image, mut sector) = (synced.to_vec(), 0);
    for entry in since {
        for (offset, part) in parts(entry) {
            if arrived.has(sector, dice) {
                put(&mut image, offset, &part);
            }
            sector += 1;
        }
    }
    image
}

impl Run {
    /// What a page may hold, by round, when the host stops at a position of the tape; zero for nothing.
    fn allowed(&self, page: u64, stopped: usize) -> Vec<u32> {
        let flushed = self.deeds.iter().rposition(|deed| deed.what == What::Flush && deed.answered <= stopped);
        let (mut allowed, mut since_durable_trim) = (vec![0], Vec::new());
        for (i, deed) in self.deeds.iter().enumerate().take_while(|(_, deed)| deed.begun < stopped) {
            let is_flushed = flushed.is_some_and(|flushed| i < flushed);
            match deed.what {
                What::Write(written, round) if written == page => {
                    since_durable_trim.push(round);
                    if is_flushed {
                        allowed.clear();
                    }
                    allowed.push(round);
                }
                What::Trim(trimmed) if trimmed == page && is_flushed => allowed = vec![0],
                What::Trim(trimmed) if trimmed == page => {
                    allowed.push(0);
                    allowed.extend(&since_durable_trim);
                }
                What::Flush if allowed == [0] => since_durable_trim.clear(),
                _ => {}
            }
        }
        allowed
    }

    /// What is wrong with a crashed image, if anything is.
    fn judge(&self, image: &[u8], stopped: usize, path: &Path) -> Result<(), String> {
        std::fs::write(path, image).expect("a copy");
        let opened = super::Image::open(path, false).map_err(|error| format!("not opened: {error}"))?;
        let mut drive =
            Drive::start(opened, crate::DriveOptions::default()).map_err(|error| format!("not started: {error}"))?;
        drive.ftl().check(drive.media()).map_err(|broken| broken.to_string())?;
        for page in 0..PAGES {
            let allowed = self.allowed(page, stopped);
            let found = read(&mut drive, page).map_err(|error| format!("page {page}: {error:?}"))?;
            let is = |&&round: &&u32| {
                if round == 0 { found.iter().all(|&byte| byte == 0) } else { found == content(page, round, PAGE) }
            };
            if !allowed.iter().any(|round| is(&round)) {
                return Err(format!("page {page} may hold {allowed:?}, but holds {:?}", &found[..12]));
            }
        }
        Ok(())
    }

    /// The moments to try: some of all, and of those just before a sync, when the most is under way.
    fn moments(&self) -> Vec<usize> {
        let is_sync = |at: &usize| matches!(self.tape.get(*at), Some(Taped::Sync));
        let before_sync: Vec<usize> = (0..self.tape.len()).filter(is_sync).collect();
        let all: Vec<usize> = (0..=self.tape.len()).collect();
        if std::env::var_os("FTLKIT_LONG").is_some() {
            return all;
        }
        let some = |of: &[usize]| of.iter().copied().step_by((of.len() / MOMENTS) | 1).collect::<Vec<_>>();
        let mut moments = [some(&all), some(&before_sync)].concat();
        moments.sort_unstable();
        moments
    }

    /// Images tried, and what was wrong with some.
    fn explore(&self, path: &Path) -> (usize, Vec<String>) {
        let (mut tried, mut wrong) = (0, Vec::new());
        let (mut synced, mut synced_at) = (self.before.clone(), 0);
        let mut dice = Dice(0xD15C);
        for stopped in self.moments() {
            let last_sync = self.tape[..stopped].iter().rposition(|entry| matches!(entry, Taped::Sync)).unwrap_or(0);
            for (offset, part) in self.tape[synced_at..last_sync.max(synced_at)].iter().flat_map(parts) {
                put(&mut synced, offset, &part);
            }
            synced_at = last_sync.max(synced_at);
            let since = &self.tape[synced_at..stopped];
            let sectors = since.iter().flat_map(parts).count() as u64;
            for arrived in Arrived::ways(&mut dice, sectors) {
                let image = crashed(&synced, since, arrived, &mut dice);
                tried += 1;
                if let Err(why) = self.judge(&image, stopped, path) {
                    wrong.push(format!(
                        "{}, stopped after {stopped} of {}, {arrived:?}: {why}",
                        self.scheme,
                        self.tape.len()
                    ));
                }
            }
        }
        (tried, wrong)
    }

    /// The same run on a store that does not wait for the disk but where the host asks for it: the bug that this test is for.
    fn without_waiting(mut self) -> Self {
        let is_flush = |at: usize| {
            self.deeds.iter().any(|deed| deed.what == What::Flush && (deed.begun..deed.answered).contains(&at))
        };
        let waits: Vec<usize> =
            (0..self.tape.len()).filter(|&at| matches!(self.tape[at], Taped::Sync) && !is_flush(at)).collect();
        for at in waits {
            self.tape[at] = Taped::Write(0, Vec::new());
        }
        self
    }
}

#[test]
fn whatever_sectors_a_host_that_loses_power_has_written_everything_flushed_is_there() {
    let (mut tried, mut wrong) = (0, Vec::new());
    for stack in cases() {
        let folder = folder();
        let run = perform(&stack, folder.path());
        let (images, found) = run.explore(&folder.path().join("crashed.img"));
        println!("{}: {} entries, {images} images, {} wrong", run.scheme, run.tape.len(), found.len());
        tried += images;
        wrong.extend(found);
    }
    println!("{tried} images, {} wrong", wrong.len());
    assert!(wrong.is_empty(), "{} of {tried}: {:#?}", wrong.len(), &wrong[..wrong.len().min(12)]);
}

#[test]
fn a_store_that_does_not_wait_before_it_erases_is_caught() {
    let mut wrong = 0;
    for scheme in ["page", "block", "fast", "superblock"] {
        let folder = folder();
        let run = perform(&Stack::of(scheme), folder.path()).without_waiting();
        let (images, found) = run.explore(&folder.path().join("crashed.img"));
        println!("{scheme} without waiting: {images} images, {} wrong", found.len());
        wrong += found.len();
    }
    assert!(wrong > 0, "the exploration finds nothing where something is wrong");
}
