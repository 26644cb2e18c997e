//! Life after life of one image: it is used, stops in whatever way, is recovered, and used again.
//!
//! Within a life the flash is cut off from power, also while it recovers; programs, erases and
//! reads fail, and blocks wear out. A life ends in good order, with the server's death, or with its
//! host's loss of power. What has arrived on the disk then is drawn for each kind of thing by
//! itself (data, either copy of the slots, entries, the life), so that whole kinds are missing.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use flash::{Fault, FaultPlan, FaultableStore, Flash, Spoilt, Store, Tear};
use ftl::{Nanos, PartKind, Stack, registry};
use random::SeededRng;

use super::disk::{Disk, PAGE};
use super::promise::is_kept;
use super::run::{Deed, Stopped, What, allowed, seed, tape};
use crate::drive::{DriveOptions, LiveDrive};
use crate::image::file::Taped;
use crate::image::image_layout::ImageLayout;
use crate::image::load::{Purpose, load};
use crate::image::store::PageState;
use crate::image::testing::{PAGES, cases_with_parts, content, create_worn, folder, read};
use crate::image::{Image, check};
use crate::{DriveError, LiveError};

/// Lives of an image.
const LIVES: usize = 8;
/// Images of each stack; with `FTLKIT_LONG` more.
const IMAGES: [u64; 2] = [1, 40];
/// Stacks whose parts are drawn by lot, in both forms.
const DRAWN: [usize; 2] = [20, 80];
/// Requests of a life at most.
const REQUESTS: u64 = 90;
/// Mappings that answer for pages that wait in RAM; so do all stacks with a write buffer.
const WAITING: [&str; 4] = ["bdb", "treeftl", "aps", "jtl"];

/// What was tried.
#[derive(Debug, Default)]
struct Tried {
    /// Stacks that fit no device of the test.
    refused: usize,
    lives: usize,
    /// Ends of lives.
    closed: usize,
    killed: usize,
    lost_power: usize,
    /// Those before the recovery had ended.
    in_recovery: usize,
    /// Cuts of the flash alone.
    cuts: usize,
    /// Pages that were read and had decayed.
    unreadable: usize,
    /// Images whose device became read-only.
    read_only: usize,
}

/// What something comes to, or what is wrong.
type Judged<T> = Result<T, String>;

/// An image in its lives.
struct Lives<'t> {
    path: PathBuf,
    rng: SeededRng,
    /// The image as the next life finds it.
    image: Vec<u8>,
    /// Where the tape of this life begins in that of all lives.
    base: usize,
    /// Where the host last lost power.
    lost_at: usize,
    /// What the life before ended with.
    stopped: Stopped,
    deeds: Vec<Deed>,
    /// What each round has written; round zero is a page that holds nothing.
    contents: Vec<Bytes>,
    /// Of each page the number of deeds before it could not be read any more.
    decayed: Vec<Option<usize>>,
    /// Pages of the flash that are lost: their place, logical number and version.
    gone: HashSet<(usize, u32, u64)>,
    is_read_only: bool,
    /// Whether pages that were answered for may wait in RAM.
    waits: bool,
    reads_fail: bool,
    tried: &'t mut Tried,
}

impl Lives<'_> {
    fn position(&self, drive: &LiveDrive) -> usize {
        self.base + tape(drive).len()
    }

    /// What a page may hold, by round.
    fn allowed(&self, page: u64, stopped: Stopped) -> Vec<u32> {
        if self.has_decayed(page, stopped) {
            return (0..self.contents.len() as u32).collect();
        }
        // A device that became read-only in a flush did not keep what that had trimmed.
        let is_accepted = |deed: &Deed| matches!(deed.what, What::Write(..)) && deed.answered != usize::MAX;
        let accepted_until = self.deeds.iter().rposition(is_accepted).unwrap_or(0);
        allowed(&self.deeds, accepted_until, page, stopped)
    }

    /// A fault for an operation that comes soon.
    fn fault(&mut self) -> Fault {
        match self.rng.below(if self.reads_fail { 10 } else { 8 }) {
            0 | 1 => Fault::ProgramFails,
            2 => Fault::EraseFails,
            3 => Fault::ReadCorrected,
            8 | 9 => Fault::ReadFails,
            _ => Fault::Cut(Tear::ALL[self.rng.below(4) as usize]),
        }
    }

    /// Switches the image on, sometimes with faults in its recovery. A read that fails there would
    /// leave no trace of whose page it was.
    fn start(&mut self) -> Result<LiveDrive, LiveError> {
        let mut plan = FaultPlan::default();
        if self.rng.below(3) == 0 {
            for _ in 0..=self.rng.below(3) {
                let (at, fault) = (self.rng.below(400), self.fault());
                plan.at.insert(at, if fault == Fault::ReadFails { Fault::ReadCorrected } else { fault });
            }
        }
        let modelled = self.rng.below(4) == 0;
        LiveDrive::start(Image::open(&self.path, false)?, DriveOptions { modelled, plan, accept_damage: false })
    }

    fn note_decayed(&mut self, drive: &LiveDrive) {
        let pages = &drive.chip().chip().store().pages;
        let is_gone = |&page: &usize| matches!(pages.states[page], PageState::Decayed | PageState::Lost);
        let gone: HashSet<_> = (0..pages.states.len())
            .filter(is_gone)
            .map(|page| (page, pages.logicals[page], pages.versions[page]))
            .collect();
        for (_, logical, _) in gone.difference(&self.gone) {
            self.decayed[*logical as usize] = Some(self.deeds.len());
        }
        self.gone = gone;
    }

    /// Whether a page may be unreadable, or older: it has decayed, and nothing was kept since.
    fn has_decayed(&self, page: u64, stopped: Stopped) -> bool {
        let Some(at) = self.decayed[page as usize] else { return false };
        let since = &self.deeds[at.min(self.deeds.len())..];
        let is_done = |deed: &Deed| deed.answered != usize::MAX;
        let is_new = |deed: &Deed| matches!(deed.what, What::Write(of, _) | What::Zeroed(of) if of == page);
        let Some(written) = since.iter().position(|deed| is_new(deed) && is_done(deed)) else { return true };
        let is_kept = stopped == Stopped::Ram && !self.waits;
        !is_kept && !since[written..].iter().any(|deed| deed.what == What::Flush && is_done(deed))
    }

    /// What is told to hold nothing reads as zeros. A read that is to fail may be one of these.
    fn holes_are_zeros(&mut self, drive: &mut LiveDrive) -> Judged<()> {
        for page in 0..PAGES {
            let is_hole = drive.status(page * PAGE as u64, PAGE as u32, 1)[0].1;
            let found = read(drive, page);
            self.note_decayed(drive);
            let Ok(found) = found else { continue };
            if is_hole && found.iter().any(|&byte| byte != 0) {
                return Err(format!("page {page} is told to be a hole, and holds {:?}", &found[..12]));
            }
        }
        Ok(())
    }

    /// Reads everything: each page must hold what it may hold. False if the power went meanwhile.
    fn show(&mut self, drive: &mut LiveDrive, stopped: Stopped) -> Judged<bool> {
        self.note_decayed(drive);
        let stopped = if self.waits && stopped == Stopped::Ram { Stopped::Host(usize::MAX - 1) } else { stopped };
        self.holes_are_zeros(drive)?;
        let mut shown = Vec::new();
        for page in 0..PAGES {
            let found = read(drive, page);
            self.note_decayed(drive);
            match found {
                Ok(found) => {
                    let rounds = self.allowed(page, stopped);
                    let is = |&&round: &&u32| self.contents[round as usize][..] == found[..];
                    let round = rounds.iter().rev().find(is).ok_or_else(|| {
                        let of = self.contents.iter().position(|content| content[..] == found[..]);
                        format!("page {page} may hold {rounds:?}, but holds {of:?}, {stopped:?}: {}", self.story(page))
                    })?;
                    shown.push(What::Shown(page, *round));
                }
                Err(DriveError::NoPower) => return Ok(false),
                Err(_) if self.has_decayed(page, stopped) => {
                    self.tried.unreadable += 1;
                    self.decayed[page as usize] = Some(self.deeds.len());
                }
                Err(error) => return Err(format!("page {page}: {error:?}, {stopped:?}: {}", self.story(page))),
            }
        }
        let at = self.position(drive);
        self.deeds.extend(shown.into_iter().map(|what| Deed { begun: at, answered: at, what }));
        // A page that has decayed is mapped, where a summary knows it, and has no tag any more.
        if !self.reads_fail {
            drive.ftl().check(drive.flash()).map_err(|broken| broken.to_string())?;
        }
        Ok(true)
    }

    /// The last deeds that concern a page.
    fn story(&self, page: u64) -> String {
        let concerns = |deed: &&Deed| match deed.what {
            What::Write(of, _) | What::Trim(of) | What::Zeroed(of) | What::Shown(of, _) => of == page,
            What::Flush => true,
        };
        let mut deeds: Vec<_> = self.deeds.iter().filter(concerns).collect();
        deeds.drain(..deeds.len().saturating_sub(12));
        format!("decayed before deed {:?} of {}; {deeds:?}", self.decayed[page as usize], self.deeds.len())
    }

    /// The power returns, as often as it has to.
    fn restore_power(&mut self, drive: &mut LiveDrive) -> Judged<()> {
        loop {
            self.tried.cuts += 1;
            drive.restore_power(drive.now()).map_err(|error| format!("not restored: {error}"))?;
            if self.show(drive, Stopped::Ram)? {
                return Ok(());
            }
        }
    }

    /// Contents for some pages that nothing was ever written with.
    fn fresh(&mut self, pages: std::ops::Range<u64>) -> (Vec<u8>, Vec<What>) {
        let (mut data, mut deeds) = (Vec::new(), Vec::new());
        for page in pages {
            let round = self.contents.len() as u32;
            self.contents.push(content(page, round, PAGE));
            data.extend(&self.contents[round as usize]);
            deeds.push(What::Write(page, round));
        }
        (data, deeds)
    }

    /// Asks for something drawn by lot.
    fn request(&mut self, drive: &mut LiveDrive) -> (Vec<What>, Result<(), DriveError>) {
        let page = if self.rng.below(3) == 0 { self.rng.below(6) } else { self.rng.below(PAGES) };
        let pages = page..(page + 1 + self.rng.below(4)).min(PAGES);
        let (offset, length) = (page * PAGE as u64, (pages.end - page) as u32 * PAGE as u32);
        match self.rng.below(24) {
            0..=13 => {
                let (data, deeds) = self.fresh(pages);
                (deeds, drive.write(offset, &data.into()))
            }
            14 | 15 => {
                // A part of a page: the rest stays as it is.
                let mut whole = match read(drive, page) {
                    Ok(whole) => whole,
                    Err(error) => return (Vec::new(), Err(error)),
                };
                let (round, sector) = (self.contents.len() as u32, 512 * self.rng.below((PAGE / 512) as u64));
                let part = content(page, round, 512);
                whole[sector as usize..][..512].copy_from_slice(&part);
                self.contents.push(whole.into());
                (vec![What::Write(page, round)], drive.write(offset + sector, &part))
            }
            16 | 17 => (pages.map(What::Trim).collect(), drive.trim(offset, length)),
            18 => (pages.map(What::Zeroed).collect(), drive.write_zeroes(offset, length, true)),
            19 => {
                let round = self.contents.len() as u32;
                self.contents.push(vec![0; PAGE].into());
                let deeds = pages.map(|page| What::Write(page, round)).collect();
                (deeds, drive.write_zeroes(offset, length, false))
            }
            20 => (Vec::new(), drive.idle(Nanos(1_000_000 * self.rng.below(20))).map(drop)),
            _ => (vec![What::Flush], drive.flush()),
        }
    }

    fn ask(&mut self, drive: &mut LiveDrive) -> Judged<()> {
        let begun = self.position(drive);
        let (deeds, result) = self.request(drive);
        if !drive.settle() {
            return Err("the store failed".to_owned());
        }
        let answered = if result.is_ok() { self.position(drive) } else { usize::MAX };
        self.deeds.extend(deeds.into_iter().map(|what| Deed { begun, answered, what }));
        self.note_decayed(drive);
        match result {
            Ok(()) => Ok(()),
            Err(DriveError::NoPower) => self.restore_power(drive),
            Err(DriveError::ReadOnly) => {
                self.is_read_only = true;
                self.holes_are_zeros(drive)
            }
            Err(DriveError::Unreadable) if self.reads_fail => self.holes_are_zeros(drive),
            Err(error) => Err(format!("{error:?}")),
        }
    }

    /// One life, from the image to the next one.
    fn live(&mut self) -> Judged<()> {
        self.tried.lives += 1;
        is_kept(&self.image, &self.path)?;
        std::fs::write(&self.path, &self.image).expect("a copy");
        let report = check(&self.path).map_err(|error| error.to_string())?;
        if report.unreadable_count > 0 && !self.reads_fail {
            return Err(format!("the check says {:?}", report.problems));
        }
        let mut drive = self.start().map_err(|error| format!("not started: {error}"))?;
        let recovered = tape(&drive).len();
        while !self.show(&mut drive, self.stopped)? {
            drive.restore_power(drive.now()).map_err(|error| format!("not restored: {error}"))?;
        }
        for _ in 0..self.rng.below(REQUESTS) {
            if self.rng.below(if self.reads_fail { 4 } else { 12 }) == 0 {
                let fault = self.fault();
                let after = if fault == Fault::ReadFails { 0 } else { self.rng.below(8) };
                drive.inject(after, fault);
            }
            self.ask(&mut drive)?;
        }
        if self.rng.below(5) == 0 && self.close(&mut drive)? && self.rng.below(2) == 0 {
            (self.base, self.stopped) = (self.position(&drive) + 1, Stopped::Ram);
            drop(drive);
            self.image = std::fs::read(&self.path).expect("the image");
            let report = check(&self.path).map_err(|error| error.to_string())?;
            return if report.is_sound || self.reads_fail {
                Ok(())
            } else {
                Err(format!("closed, and the check says {:?}", report.problems))
            };
        }
        self.stop(&drive, recovered);
        Ok(())
    }

    /// Switches off in good order; a read-only device may refuse it.
    fn close(&mut self, drive: &mut LiveDrive) -> Judged<bool> {
        loop {
            let begun = self.position(drive);
            let result = drive.stop();
            self.note_decayed(drive);
            let answered = if result.is_ok() { self.position(drive) } else { usize::MAX };
            self.deeds.push(Deed { begun, answered, what: What::Flush });
            match result {
                Ok(()) => {
                    self.tried.closed += 1;
                    return Ok(true);
                }
                Err(DriveError::NoPower) => self.restore_power(drive)?,
                Err(DriveError::ReadOnly) => {
                    self.is_read_only = true;
                    return Ok(false);
                }
                Err(error) => return Err(format!("not stopped: {error:?}")),
            }
        }
    }

    /// The host stops, or the server alone: then everything that was handed over is there.
    fn stop(&mut self, drive: &LiveDrive, recovered: usize) {
        let tape = tape(drive);
        let is_sync = |at: &usize| matches!(tape[*at], Taped::Sync);
        let syncs: Vec<usize> = (0..tape.len()).filter(is_sync).collect();
        let at = match self.rng.below(8) {
            0 => self.rng.below(recovered as u64 + 1) as usize,
            1..=3 => syncs[self.rng.below(syncs.len() as u64) as usize],
            4 | 5 => tape.len(),
            _ => self.rng.below(tape.len() as u64 + 1) as usize,
        };
        self.tried.in_recovery += usize::from(at <= recovered);
        let is_killed = self.rng.below(5) == 0;
        let mut chance = || if is_killed { 8 } else { [0, 8, 4, 1, 7][self.rng.below(5) as usize] };
        let chances: [u64; 5] = std::array::from_fn(|_| chance());
        let places = ImageLayout::of(drive.chip().geometry());
        let image = Disk::new(&self.image, tape).stop_by(at, |offset| chances[kind(&places, offset)], &mut self.rng);
        self.image = image;
        let stopped = self.base + at;
        self.base = stopped + 1;
        self.deeds.retain(|deed| deed.begun < stopped);
        for deed in self.deeds.iter_mut().filter(|deed| deed.answered > stopped) {
            deed.answered = usize::MAX;
        }
        // What a host has lost must be shown before anything can be relied on again.
        let is_shown = self.deeds.iter().any(|deed| matches!(deed.what, What::Shown(..)) && deed.begun >= self.lost_at);
        self.stopped = if is_killed && is_shown { Stopped::Ram } else { Stopped::Host(self.base) };
        if is_killed {
            self.tried.killed += 1;
        } else {
            self.tried.lost_power += 1;
            self.lost_at = self.base;
        }
    }
}

/// The kind of thing that lies at an offset of an image: the life, entries, the first copies of
/// slots, the second ones, data.
fn kind(places: &ImageLayout, offset: u64) -> usize {
    let ([first_entries, other_entries], [first_slots, other_slots]) = (places.block(0), places.slot(0));
    match offset {
        _ if offset < first_entries || offset >= places.life[1] => 0,
        _ if offset < first_slots || offset >= other_entries => 1,
        _ if offset < places.data => 2,
        _ if offset >= other_slots => 3,
        _ => 4,
    }
}

/// Leads the lives of one image.
fn lead(stack: &Stack, number: u64, path: &Path, tried: &mut Tried) -> Judged<()> {
    let _ = std::fs::remove_file(path);
    let mut rng = SeededRng::new(seed() ^ number << 32);
    let mut one_of = |of: usize| rng.below(of as u64) as usize;
    let (endurance, more) = ([None, Some(40), Some(12)][one_of(3)], [0.0, 0.1, 0.25][one_of(3)]);
    if !create_worn(path, stack, (PAGES, PAGE), more, endurance) {
        tried.refused += 1;
        return Ok(());
    }
    let text = stack.to_string();
    let is_part = |name: &str| text.split(['+', ':']).any(|part| part == name);
    let mut lives = Lives {
        path: path.to_owned(),
        image: std::fs::read(path).expect("the image"),
        base: 0,
        lost_at: 0,
        stopped: Stopped::Ram,
        deeds: Vec::new(),
        contents: vec![vec![0; PAGE].into()],
        decayed: vec![None; PAGES as usize],
        gone: HashSet::new(),
        is_read_only: false,
        waits: WAITING.into_iter().any(is_part)
            || registry::entries(PartKind::Buffer).iter().any(|buffer| is_part(buffer.name)),
        reads_fail: one_of(4) == 0,
        rng,
        tried,
    };
    for life in 0..LIVES {
        let result = lives.live();
        result
            .map_err(|why| format!("{stack}, image {number}, life {life}, reads fail: {}: {why}", lives.reads_fail))?;
    }
    lives.tried.read_only += usize::from(lives.is_read_only);
    Ok(())
}

/// Stacks of any mapping, and of any wear policy and write buffer that goes with it.
fn drawn(stacks: usize) -> Vec<Stack> {
    let mut rng = SeededRng::new(0xD0A3 ^ seed());
    let mut draw = || {
        let mut name = |of: &[&'static str]| of[rng.below(of.len() as u64) as usize];
        let mappings: Vec<_> = registry::mappings().into_iter().map(|entry| entry.name).collect();
        let policies: Vec<_> = registry::entries(PartKind::WearPolicy).into_iter().map(|entry| entry.name).collect();
        let buffers: Vec<_> = registry::entries(PartKind::Buffer).into_iter().map(|entry| entry.name).collect();
        let (mapping, policy, buffer) = (name(&mappings), name(&policies), name(&buffers));
        let text = match rng.below(3) {
            0 => format!("{mapping}+{policy}"),
            1 => format!("{mapping}+{buffer}:ram=4KiB"),
            _ => format!("{mapping}+{policy}+{buffer}:ram=8KiB"),
        };
        text.parse().ok().filter(|stack| registry::resolve(stack).is_ok())
    };
    std::iter::from_fn(|| Some(draw())).flatten().take(stacks).collect()
}

#[test]
fn life_after_life_nothing_flushed_is_lost() {
    let (mut tried, mut wrong, folder) = (Tried::default(), Vec::new(), folder());
    let form = usize::from(super::is_long());
    let stacks = [cases_with_parts(), drawn(DRAWN[form])].concat();
    for (turn, stack) in stacks.iter().enumerate() {
        for number in (0..IMAGES[form]).map(|image| turn as u64 * IMAGES[form] + image) {
            wrong.extend(lead(stack, number, &folder.path().join("lives.img"), &mut tried).err());
        }
    }
    println!("{} stacks, {tried:?}, {} wrong", stacks.len(), wrong.len());
    assert!(wrong.is_empty(), "{}: {:#?}", wrong.len(), &wrong[..wrong.len().min(12)]);
    assert!(tried.lost_power > 100 && tried.in_recovery > 10 && tried.cuts > 100, "{tried:?}");
}

/// Of a block that was erased and not programmed, entries and slots are written in one go: a slot
/// of the new epoch may arrive without the entry that begins it.
#[test]
fn a_block_that_fails_right_after_its_erase_is_no_damage() {
    let folder = folder();
    let path = folder.path().join("lives.img");
    for how in [None, Some(Spoilt::Torn), Some(Spoilt::Unstable)] {
        let _ = std::fs::remove_file(&path);
        assert!(create_worn(&path, &Stack::of("page"), (PAGES, PAGE), 0.0, None));
        let before = std::fs::read(&path).expect("the image");
        let Image { file, geometry, description, .. } = Image::open(&path, false).expect("an image");
        let loaded = load(file, &geometry, description.logical_pages, Purpose::Serve).expect("read");
        let mut store = loaded.store;
        store.switched_on();
        store.erase(0..8);
        match how {
            None => store.spoil(0..8),
            Some(how) => store.spoil_page(0, how),
        }
        assert!(store.settle());
        let places = ImageLayout::of(&geometry);
        let arrives = |offset| if kind(&places, offset) == 1 { 0 } else { 8 };
        let tape = &store.file.tape;
        let image = Disk::new(&before, tape).stop_by(tape.len(), arrives, &mut SeededRng::new(1));
        is_kept(&image, &path).unwrap_or_else(|why| panic!("{how:?}: {why}"));
    }
}
