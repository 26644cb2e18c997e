//! A small device in one of its lives: it is switched on from an image, used, and stops.
//!
//! What the host may rely on is kept twice, by the rules of `check`: for the loss of RAM, which a
//! cut of the flash and the death of the server are, and for the loss of the host's power, where
//! nothing lasts that was not flushed. Both are noted at each request, with how much had been
//! handed to the disk by then, so that the life can be stopped anywhere afterwards.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::path::Path;

use bytes::Bytes;
use check::{CrashOracle, Cut, Extent, Mismatch, Operation, Oracle, Pattern, Space, Stamp, Workload, page_of, stamp};
use flash::{Fault, FaultPlan, Flash, Lpn, Ppn, Store, Tear};
use ftl::Nanos;
use live::{DiskOp, DriveError, DriveOptions, Image, LiveDrive, Piece};
use random::SeededRng;

use crate::disk::{Places, stopped};

/// What something comes to, or what is wrong.
pub(crate) type Judged<T> = Result<T, String>;

/// Logical pages of a device, and bytes of each.
pub(crate) type Size = (u32, usize);
/// A small device. A page has four sectors, so that it can be torn.
pub(crate) const SMALL: Size = (128, 2048);
const SECTOR: usize = 512;
/// Of eight trims this many are zeros that are written.
const HOLES: u64 = 2;
const PLAINLY: u64 = 7;

/// A page's content: its stamp, in each sector.
fn content(stamp: Stamp, page_bytes: usize) -> Vec<u8> {
    let mut data = vec![stamp as u8; page_bytes];
    data.chunks_mut(SECTOR).for_each(|sector| sector[..8].copy_from_slice(&stamp.to_le_bytes()));
    data
}

/// What a page holds; none for nothing, which zeros that were written are not.
pub(crate) fn read(drive: &mut LiveDrive, lpn: Lpn) -> Result<Option<Bytes>, DriveError> {
    let page_bytes = drive.page_bytes();
    let mut pieces = drive.read(u64::from(lpn.get()) * page_bytes as u64, page_bytes as u32)?;
    Ok(match pieces.swap_remove(0) {
        Piece::Data(data) => Some(data),
        Piece::Zeros(_) => None,
    })
}

/// What the host may rely on.
#[derive(Clone)]
pub(crate) struct Promises {
    page_bytes: usize,
    /// When RAM is lost.
    ram: CrashOracle,
    /// When the host loses power.
    host: CrashOracle,
    /// Pages whose flash has decayed: they may be unreadable, or older. True for those that were
    /// written since and have not been flushed.
    decayed: BTreeMap<Lpn, bool>,
    /// Contents that stamps do not tell: zeros that were written, and pages written in part.
    others: BTreeMap<Stamp, Bytes>,
    /// Pages of acknowledged writes that may wait in RAM.
    waiting: u32,
    /// Whether nothing is on the disk but what a server that was killed leaves.
    is_whole: bool,
}

impl Promises {
    fn new((pages, page_bytes): Size) -> Self {
        let ram = CrashOracle::new(pages, 0);
        let host = CrashOracle::new(pages, u32::MAX);
        Self { page_bytes, ram, host, decayed: BTreeMap::new(), others: BTreeMap::new(), waiting: 0, is_whole: true }
    }

    /// Logical pages.
    pub(crate) fn pages(&self) -> u32 {
        self.ram.logical_pages()
    }

    fn both(&mut self) -> impl Iterator<Item = &mut CrashOracle> {
        [&mut self.ram, &mut self.host].into_iter()
    }

    fn begin(&mut self, operation: Operation) -> Vec<Stamp> {
        self.host.begin(operation);
        self.ram.begin(operation)
    }

    /// A request was answered; of a device that is read-only trims need not last.
    fn acknowledge(&mut self, operation: Operation, is_read_only: bool) {
        match operation {
            Operation::Write(extent) => {
                self.decayed
                    .iter_mut()
                    .filter(|(lpn, _)| extent.contains(**lpn))
                    .for_each(|(_, written)| *written = true);
            }
            Operation::Flush => self.decayed.retain(|_, written| !*written),
            _ => {}
        }
        if operation == Operation::Flush && is_read_only {
            self.both().for_each(CrashOracle::acknowledge_read_only_flush);
        } else {
            self.both().for_each(CrashOracle::acknowledge);
        }
    }

    /// What the content of a page may be, the newest first.
    fn stamps(&self, lpn: Lpn, found: Option<&Bytes>) -> Vec<Stamp> {
        let Some(found) = found else { return vec![0] };
        let others = self.others.range(stamp(lpn, 0)..=stamp(lpn, u32::MAX)).rev();
        let others = others.filter(|(_, content)| *content == found).map(|(&stamp, _)| stamp);
        let told = Stamp::from_le_bytes(*found.first_chunk().expect("a page is longer"));
        let is_told =
            page_of(told) == lpn.get() && found == &content(told, self.page_bytes) && !self.others.contains_key(&told);
        others.chain(is_told.then_some(told)).collect()
    }

    fn may_differ(&self, lpn: Lpn) -> bool {
        self.decayed.get(&lpn) == Some(&false)
    }

    /// A page is shown after a loss: it must hold what was promised.
    fn observe(&mut self, lpn: Lpn, found: Option<&Bytes>) -> Judged<()> {
        if !self.may_differ(lpn) {
            let stamp = first_right(&self.stamps(lpn, found), |stamp| self.ram.observe(lpn, stamp))?;
            self.host.show(lpn, stamp);
        }
        Ok(())
    }

    /// A page of a refused request is shown.
    fn observe_refused(&mut self, lpn: Lpn, found: Option<&Bytes>) -> Judged<()> {
        if !self.may_differ(lpn) {
            let stamp = first_right(&self.stamps(lpn, found), |stamp| self.ram.observe_refused(lpn, stamp))?;
            self.host.observe_refused(lpn, stamp).map_err(|mismatch| mismatch.to_string())?;
        }
        Ok(())
    }

    /// Whether a page holds what was written last.
    pub(crate) fn compare(&self, lpn: Lpn, found: Option<&Bytes>) -> Judged<()> {
        let is_right = || first_right(&self.stamps(lpn, found), |stamp| self.ram.compare(lpn, stamp));
        if self.may_differ(lpn) { Ok(()) } else { is_right().map(drop) }
    }

    /// Whether a page holds what it may after its host has lost power.
    pub(crate) fn may_hold(&self, lpn: Lpn, found: Option<&Bytes>) -> Judged<()> {
        first_right(&self.stamps(lpn, found), |stamp| self.host.may_hold(lpn, stamp)).map(drop)
    }

    /// Everything has been shown. From now on this many acknowledged pages may wait in RAM.
    fn end_observation(&mut self, waiting: u32) -> Judged<()> {
        self.ram.end_observation().map_err(|back| format!("{back:?}"))?;
        self.ram.set_buffer(waiting);
        (self.waiting, self.is_whole) = (waiting, true);
        Ok(())
    }

    /// RAM is lost, and with it what waited there.
    fn lose_ram(&mut self) {
        self.host.interrupt();
        if self.waiting > 0 {
            self.decayed.values_mut().for_each(|written| *written = false);
        }
    }

    /// The host has lost power.
    fn lose_host(&mut self) {
        self.host.interrupt();
        self.ram = self.host.clone();
        self.decayed.values_mut().for_each(|written| *written = false);
        self.is_whole = false;
    }
}

/// The first of the possible contents of a page that an oracle takes.
fn first_right(stamps: &[Stamp], mut is_right: impl FnMut(Stamp) -> Result<(), Mismatch>) -> Judged<Stamp> {
    let right = stamps.iter().copied().find(|&stamp| is_right(stamp).is_ok());
    right.ok_or_else(|| is_right(stamps.first().copied().unwrap_or(Stamp::MAX)).expect_err("none is").to_string())
}

/// An image that nobody serves, and what its host may rely on.
#[derive(Clone)]
pub(crate) struct Left {
    pub(crate) image: Vec<u8>,
    pub(crate) promises: Promises,
}

impl Left {
    /// A new image.
    pub(crate) fn new(path: &Path, size: Size) -> Self {
        Self { image: std::fs::read(path).expect("the image"), promises: Promises::new(size) }
    }

    /// Switches it on: nothing may look like damage, and everything must be as promised.
    pub(crate) fn recover(&self, path: &Path, fate: Fate) -> Judged<Life> {
        std::fs::write(path, &self.image).expect("a copy");
        let report = live::check(path).map_err(|error| error.to_string())?;
        // A page that has decayed is no damage, and may be mapped without a tag.
        let is_of_decay =
            |problem: &str| problem.ends_with("logical pages cannot be read") || problem.starts_with("after recovery");
        let is_damage = |problem: &&String| !fate.reads_fail || !is_of_decay(problem);
        if let Some(problem) = report.problems.iter().find(is_damage) {
            return Err(format!("taken for damage: {problem}"));
        }
        let mut image = Image::open(path, false).map_err(|error| format!("not opened: {error}"))?;
        image.record();
        let options = DriveOptions { modelled: fate.modelled, plan: fate.plan.clone(), accept_damage: false };
        let drive = LiveDrive::start(image, options).map_err(|error| format!("not started: {error}"))?;
        let findings = drive.findings().sentences();
        if self.promises.is_whole && !findings.is_empty() {
            return Err(format!("all was written, yet {findings:?}"));
        }
        let mut life = Life {
            places: Places::of(path),
            before: self.image.clone(),
            rng: SeededRng::named(fate.seed, "life"),
            recovered: drive.disk_ops().len(),
            gone: HashSet::new(),
            noted: vec![(0, self.promises.clone())],
            now: self.promises.clone(),
            decays: Vec::new(),
            after_cuts: Vec::new(),
            cuts: 0,
            unreadable: 0,
            is_read_only: false,
            flushes: Vec::new(),
            without_waiting: None,
            fate,
            drive,
        };
        life.gone = life.lost_pages();
        life.show_until_powered()?;
        Ok(life)
    }
}

/// What befalls a life.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fate {
    pub(crate) seed: u64,
    /// What fails on the flash, also while it recovers.
    pub(crate) plan: FaultPlan,
    /// Whether pages decay while they are read.
    pub(crate) reads_fail: bool,
    /// Whether operations take the time of the modelled device.
    pub(crate) modelled: bool,
}

/// A device that is switched on, and everything that was handed to the disk since.
pub(crate) struct Life {
    pub(crate) drive: LiveDrive,
    pub(crate) places: Places,
    fate: Fate,
    rng: SeededRng,
    before: Vec<u8>,
    pub(crate) now: Promises,
    /// What could be relied on from each position of what was handed to the disk.
    noted: Vec<(usize, Promises)>,
    /// Pages that decayed, and at which position.
    decays: Vec<(usize, Lpn)>,
    /// Pages of the flash that are lost: their place, logical number and the erases before.
    gone: HashSet<(usize, u32, u32)>,
    /// Where its recovery ended.
    pub(crate) recovered: usize,
    /// Positions shortly after a cut and what followed it.
    pub(crate) after_cuts: Vec<usize>,
    /// Cuts of the flash alone.
    pub(crate) cuts: usize,
    /// Pages that had decayed when they were read.
    pub(crate) unreadable: usize,
    pub(crate) is_read_only: bool,
    /// Where the host waited for the disk.
    flushes: Vec<Range<usize>>,
    without_waiting: Option<Vec<DiskOp>>,
}

impl Life {
    /// What was handed to the disk.
    pub(crate) fn disk_ops(&self) -> &[DiskOp] {
        self.without_waiting.as_deref().unwrap_or_else(|| self.drive.disk_ops())
    }

    /// From here on the store has not waited for the disk but where the host asked for it: the bug
    /// that these tests are for.
    pub(crate) fn forget_waiting(&mut self) {
        let is_flush = |at: usize| self.flushes.iter().any(|flush| flush.contains(&at));
        let kept = |(at, op): (usize, &DiskOp)| match op {
            DiskOp::Sync if !is_flush(at) => DiskOp::Hole(0, 0),
            _ => op.clone(),
        };
        self.without_waiting = Some(self.disk_ops().iter().enumerate().map(kept).collect());
    }

    /// Where pages lie on the device, and how many bytes they are.
    fn bytes_of(&self, Extent { first, pages }: Extent) -> (u64, u32) {
        let page_bytes = self.now.page_bytes;
        (u64::from(first) * page_bytes as u64, pages * page_bytes as u32)
    }

    fn note(&mut self) {
        self.noted.push((self.disk_ops().len(), self.now.clone()));
    }

    fn lost_pages(&self) -> HashSet<(usize, u32, u32)> {
        let chip = self.drive.chip();
        let (store, geometry) = (chip.chip().store(), chip.geometry());
        let lost = (0..geometry.pages()).filter(|&page| store.is_torn(page as usize));
        lost.filter_map(|page| {
            let erases = chip.erase_count(geometry.block_of(Ppn::new(page)));
            Some((page as usize, store.logical(page as usize)?, erases))
        })
        .collect()
    }

    fn note_decayed(&mut self) {
        let (gone, at) = (self.lost_pages(), self.disk_ops().len());
        for &(_, logical, _) in gone.difference(&self.gone) {
            self.now.decayed.insert(Lpn::new(logical), false);
            self.decays.push((at, Lpn::new(logical)));
        }
        self.gone = gone;
    }

    /// Reads everything: each page must hold what it may hold, and zeros where it is told to be a
    /// hole. False if the power went meanwhile.
    fn show(&mut self) -> Judged<bool> {
        for lpn in (0..self.now.pages()).map(Lpn::new) {
            let (at, bytes) = self.bytes_of(Extent { first: lpn.get(), pages: 1 });
            let is_hole = self.drive.status(at, bytes, 1)[0].1;
            let found = read(&mut self.drive, lpn);
            self.note_decayed();
            match found {
                Ok(Some(found)) if is_hole => {
                    return Err(format!("{lpn} is told to be a hole, and holds {:?}", &found[..12]));
                }
                Ok(found) => self.now.observe(lpn, found.as_ref())?,
                Err(DriveError::NoPower) => return Ok(false),
                Err(_) if self.now.may_differ(lpn) => self.unreadable += 1,
                Err(error) => return Err(format!("{lpn}: {error:?}")),
            }
        }
        // A page that has decayed is mapped, where a summary knows it, and has no tag any more.
        if !self.fate.reads_fail {
            self.drive.ftl().check(self.drive.flash()).map_err(|broken| broken.to_string())?;
        }
        Ok(true)
    }

    /// Reads everything after a loss, whatever cuts still come: that is the truth from now on.
    fn show_until_powered(&mut self) -> Judged<()> {
        while !self.show()? {
            self.cuts += 1;
            self.now.lose_ram();
            self.drive.restore_power(self.drive.now()).map_err(|error| format!("not restored: {error}"))?;
        }
        if !self.drive.settle() {
            return Err("the store failed".to_owned());
        }
        self.now.end_observation(self.drive.ftl().volatile_pages())?;
        self.note();
        Ok(())
    }

    fn restore_power(&mut self) -> Judged<()> {
        self.cuts += 1;
        self.now.lose_ram();
        self.drive.restore_power(self.drive.now()).map_err(|error| format!("not restored: {error}"))?;
        self.show_until_powered()
    }

    /// The host uses the device for this many requests.
    pub(crate) fn go(&mut self, requests: usize) -> Judged<()> {
        let space = Space { logical_pages: self.now.pages(), pages_per_block: 8, physical_blocks: 1 };
        let workload = Workload::Generated(Pattern::Mixed);
        for operation in workload.operations(space, self.fate.seed).take(requests) {
            if self.fate.reads_fail && self.rng.below(6) == 0 {
                self.drive.inject(0, Fault::ReadFails);
            }
            let cuts = self.cuts;
            self.ask(operation)?;
            if self.cuts > cuts {
                // A flush with nothing written since, and writes that are not flushed.
                if self.rng.below(2) == 0 {
                    self.ask(Operation::Flush)?;
                }
                for _ in 0..2 {
                    let first = self.rng.below_u32(self.now.pages());
                    self.ask(Operation::Write(Extent { first, pages: 1 }))?;
                    self.after_cuts.push(self.disk_ops().len());
                }
            }
        }
        Ok(())
    }

    /// One request in whatever way it can be asked for.
    fn ask(&mut self, operation: Operation) -> Judged<()> {
        let way = self.rng.below(8);
        self.ask_in(operation, way)
    }

    /// One request of whole pages.
    pub(crate) fn ask_plainly(&mut self, operation: Operation) -> Judged<()> {
        self.ask_in(operation, PLAINLY)
    }

    fn ask_in(&mut self, operation: Operation, way: u64) -> Judged<()> {
        let old = match (operation, way) {
            // A part of a page is written: the rest stays as it is.
            (Operation::Write(Extent { first, pages: 1 }), 0) => read(&mut self.drive, Lpn::new(first)).ok(),
            _ => None,
        };
        let old = old.map(|old| old.unwrap_or_else(|| vec![0; self.now.page_bytes].into()));
        let stamps = self.now.begin(operation);
        let data = self.contents(way, &stamps, old);
        self.note();
        let result = self.request(operation, way, data);
        if !self.drive.settle() {
            return Err("the store failed".to_owned());
        }
        self.note_decayed();
        match result {
            Ok(()) => self.answered(operation, way),
            Err(DriveError::NoPower) => return self.restore_power(),
            Err(DriveError::ReadOnly) => {
                self.is_read_only = true;
                self.refused(operation)?;
            }
            Err(DriveError::Unreadable) if self.fate.reads_fail => self.refused(operation)?,
            Err(error) => return Err(format!("{operation}: {error:?}")),
        }
        self.note();
        Ok(())
    }

    fn answered(&mut self, operation: Operation, way: u64) {
        let spares = self.drive.ftl().spares();
        self.now.acknowledge(operation, spares.used > spares.total);
        match operation {
            Operation::Flush => {
                let (begun, _) = self.noted[self.noted.len() - 1];
                self.flushes.push(begun..self.disk_ops().len());
            }
            // Zeros that are written as holes are a trim and a flush.
            Operation::Trim(_) if way < HOLES => {
                self.now.ram.begin(Operation::Flush);
                self.now.ram.acknowledge();
            }
            _ => {}
        }
    }

    /// What a write hands over, from which byte of its first page on; and notes what its pages hold
    /// then, if their stamps do not tell.
    fn contents(&mut self, way: u64, stamps: &[Stamp], old: Option<Bytes>) -> (usize, Bytes) {
        let page_bytes = self.now.page_bytes;
        if let Some(old) = old {
            let mut whole = old.to_vec();
            let sector = SECTOR * self.rng.below((page_bytes / SECTOR) as u64) as usize;
            let part = content(stamps[0], SECTOR);
            whole[sector..sector + SECTOR].copy_from_slice(&part);
            self.now.others.insert(stamps[0], whole.into());
            return (sector, part.into());
        }
        if way == 1 {
            self.now.others.extend(stamps.iter().map(|&stamp| (stamp, vec![0; page_bytes].into())));
        }
        (0, stamps.iter().flat_map(|&stamp| content(stamp, page_bytes)).collect())
    }

    fn request(&mut self, operation: Operation, way: u64, (skip, data): (usize, Bytes)) -> Result<(), DriveError> {
        let (at, bytes) = operation.extent().map_or((0, 0), |extent| self.bytes_of(extent));
        match operation {
            Operation::Write(_) if way == 1 => self.drive.write_zeroes(at, bytes, false),
            Operation::Write(_) => self.drive.write(at + skip as u64, &data),
            Operation::Trim(_) if way < HOLES => self.drive.write_zeroes(at, bytes, true),
            Operation::Trim(_) => self.drive.trim(at, bytes),
            Operation::Flush => self.drive.flush(),
            Operation::Idle => self.drive.idle(Nanos(1_000_000 * self.rng.below(20))).map(drop),
            _ => self.drive.read(at, bytes).map(drop),
        }
    }

    /// A request was refused, and may have done a part of what it was asked for: the host looks.
    fn refused(&mut self, operation: Operation) -> Judged<()> {
        for lpn in operation.extent().into_iter().flat_map(Extent::lpns) {
            let found = read(&mut self.drive, lpn);
            self.note_decayed();
            match found {
                Ok(found) => self.now.observe_refused(lpn, found.as_ref())?,
                Err(DriveError::NoPower) => return self.restore_power(),
                Err(_) => {}
            }
        }
        self.now.both().for_each(CrashOracle::forget_request);
        Ok(())
    }

    /// Switches off in good order; false if a read-only device refuses that.
    pub(crate) fn close(&mut self) -> Judged<bool> {
        loop {
            self.now.begin(Operation::Flush);
            self.note();
            let result = self.drive.stop();
            self.note_decayed();
            match result {
                Ok(()) => {
                    self.answered(Operation::Flush, 0);
                    self.note();
                    return Ok(true);
                }
                Err(DriveError::NoPower) => self.restore_power()?,
                Err(DriveError::ReadOnly) => {
                    self.is_read_only = true;
                    self.now.both().for_each(CrashOracle::forget_request);
                    self.note();
                    return Ok(false);
                }
                Err(error) => return Err(format!("not stopped: {error:?}")),
            }
        }
    }

    /// What a stop leaves: at a position of what was handed to the disk, and with as much arrived
    /// as its tear says. Where everything has, the server alone was killed.
    pub(crate) fn left(&self, cut: Cut) -> Left {
        let at = cut.operation as usize;
        let last = self.noted.partition_point(|&(position, _)| position <= at) - 1;
        let (noted_at, mut promises) = self.noted[last].clone();
        let decayed = self.decays.iter().filter(|&&(position, _)| position >= noted_at);
        promises.decayed.extend(decayed.map(|&(_, lpn)| (lpn, false)));
        if cut.tear == Tear::After {
            promises.lose_ram();
        } else {
            promises.lose_host();
        }
        Left { image: stopped(&self.before, self.disk_ops(), &self.places, cut, self.fate.seed), promises }
    }
}
