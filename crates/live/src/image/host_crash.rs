//! The host loses power between any two writes: everything before the last flush that was answered
//! must be there.
//!
//! Every write and every sync of a store is on a tape. An image of a crash has everything up to a
//! completed sync, and of what was written after it any sectors of 512 bytes: disks and page caches
//! write them back in any order, and keep only a sector whole. Each image is opened as after a
//! crash, its translation layer recovered, and every page compared with what a host may find. What
//! that recovery wrote is a tape as well, and some hosts stop again in the middle of it.
//!
//! Some runs have blocks that fail, and some also cuts of the flash alone, which the host survives:
//! those leave torn pages and blocks whose sequence numbers are handed out again.
//! `FTLKIT_SEED=number` makes other requests and faults.

mod disk;
mod lives;
mod promise;
mod run;

use std::path::Path;

use ftl::Stack;
use random::SeededRng;

use super::file::Taped;
use super::testing::{PAGES, cases, cases_with_parts, content, folder, read};
use crate::drive::LiveDrive;
use disk::{ALL_WAYS, Disk, PAGE};
use run::{Chips, Run, What, perform, seed, tape};

/// Moments between two writes that are tried, and as many of those just before a sync; all with
/// `FTLKIT_LONG`, at [each of which](Run::ways) one way is tried in which sectors arrive.
const MOMENTS: usize = 12;
/// The same of a run with power cuts of the flash, and as many shortly after a cut; with
/// `FTLKIT_LONG` more.
const MOMENTS_WITH_CUTS: [usize; 2] = [5, 60];
/// Ways in which sectors arrive that are drawn for a moment, without `FTLKIT_LONG`.
const WAYS: usize = 3;
/// Syncs of a device that is switched off: each of them is tried.
const SYNCS_OF_A_STOP: usize = 4;
/// Moments of a recovery at which the host stops again.
const STOPS_OF_RECOVERY: usize = 2;

fn is_long() -> bool {
    std::env::var_os("FTLKIT_LONG").is_some()
}

/// Of this many images one is stopped again in its recovery; no multiple of the ways in which
/// sectors arrive.
fn again_every() -> usize {
    if is_long() { 3 } else { 16 }
}

/// What an exploration amounts to.
#[derive(Default)]
struct Explored {
    /// Images of a first stop.
    images: usize,
    /// Images of a second one, in the recovery of one of those.
    second: usize,
    wrong: Vec<String>,
}

impl Run {
    /// What is wrong with a crashed image, if anything is; if not, what its recovery wrote.
    fn judge(&self, image: &[u8], stopped: usize, path: &Path) -> Result<Vec<Taped>, String> {
        promise::is_kept(image, path)?;
        std::fs::write(path, image).expect("a copy");
        let opened = super::Image::open(path, false).map_err(|error| format!("not opened: {error}"))?;
        let mut drive = LiveDrive::start(opened, crate::DriveOptions::default())
            .map_err(|error| format!("not started: {error}"))?;
        let recovery = tape(&drive).to_vec();
        drive.ftl().check(drive.flash()).map_err(|broken| broken.to_string())?;
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
        Ok(recovery)
    }

    /// The moments to try: some of all, and of those just before a sync, when the most is under
    /// way.
    fn moments(&self) -> Vec<usize> {
        let is_sync = |at: &usize| matches!(self.tape.get(*at), Some(Taped::Sync));
        let before_sync: Vec<usize> = (0..self.tape.len()).filter(is_sync).collect();
        let all: Vec<usize> = (0..=self.tape.len()).collect();
        let most = match (is_long(), self.after_cuts.is_empty()) {
            (true, true) => return all,
            (false, true) => MOMENTS,
            (is_long, false) => MOMENTS_WITH_CUTS[usize::from(is_long)],
        };
        let some = |of: &[usize]| of.iter().copied().step_by((of.len() / most) | 1).collect::<Vec<_>>();
        // The last syncs are those of a device that is switched off in good order.
        let last = &before_sync[before_sync.len().saturating_sub(SYNCS_OF_A_STOP)..];
        let mut moments =
            [&some(&all), &some(&before_sync), &some(&self.after_cuts), last, &[self.tape.len()]].concat();
        moments.sort_unstable();
        moments
    }

    /// Ways in which sectors arrive at each moment. Where every moment is tried, neighbours differ
    /// by one write, so that one way each leaves little out, and all of them take hours.
    fn ways(&self) -> usize {
        match (is_long(), self.after_cuts.is_empty()) {
            (true, true) => 1,
            (true, false) => ALL_WAYS,
            (false, _) => WAYS,
        }
    }

    /// Stops the host at some moments, and of what is on the disk then some again while it is
    /// recovered.
    fn explore(&self, path: &Path) -> Explored {
        let mut explored = Explored::default();
        let (mut rng, mut disk) = (SeededRng::new(0xD15C ^ seed()), Disk::new(&self.before, &self.tape));
        for stopped in self.moments() {
            for (arrived, image) in disk.stops(stopped, self.ways(), &mut rng) {
                explored.images += 1;
                let place = format!("{}, stopped after {stopped} of {}, {arrived:?}", self.scheme, self.tape.len());
                match self.judge(&image, stopped, path) {
                    Err(why) => explored.wrong.push(format!("{place}: {why}")),
                    Ok(recovery) if explored.images.is_multiple_of(again_every()) => {
                        self.stop_recovery(&image, &recovery, (stopped, &place), path, &mut explored);
                    }
                    Ok(_) => {}
                }
            }
        }
        explored
    }

    /// Stops the host once more while the image of a crash is recovered.
    fn stop_recovery(
        &self,
        image: &[u8],
        recovery: &[Taped],
        (stopped, place): (usize, &str),
        path: &Path,
        explored: &mut Explored,
    ) {
        let (mut rng, mut disk) = (SeededRng::new(explored.images as u64), Disk::new(image, recovery));
        let mut moments: Vec<_> =
            (0..STOPS_OF_RECOVERY).map(|_| rng.below(recovery.len() as u64 + 1) as usize).collect();
        moments.sort_unstable();
        for again in moments {
            for (arrived, image) in disk.stops(again, 2, &mut rng) {
                explored.second += 1;
                if let Err(why) = self.judge(&image, stopped, path) {
                    let of = recovery.len();
                    explored
                        .wrong
                        .push(format!("{place}, and again after {again} of {of} of its recovery, {arrived:?}: {why}"));
                }
            }
        }
    }

    /// The same run on a store that does not wait for the disk but where the host asks for it: the
    /// bug that this test is for.
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

/// Tries every case, and prints what that amounts to.
fn explore_all(stacks: &[Stack], chips: Chips) -> Explored {
    let mut all = Explored::default();
    for stack in stacks {
        let folder = folder();
        let run = perform(stack, folder.path(), chips);
        let Explored { images, second, wrong } = run.explore(&folder.path().join("crashed.img"));
        println!(
            "{}: {} entries, {images} images, {second} of recoveries, {} wrong",
            run.scheme,
            run.tape.len(),
            wrong.len()
        );
        all.images += images;
        all.second += second;
        all.wrong.extend(wrong);
    }
    println!("{chips:?} flash: {} images, {} of recoveries, {} wrong", all.images, all.second, all.wrong.len());
    all
}

#[test]
fn whatever_sectors_a_host_that_loses_power_has_written_everything_flushed_is_there() {
    let Explored { images, wrong, .. } = explore_all(&cases(), Chips::Sound);
    assert!(wrong.is_empty(), "{} of {images}: {:#?}", wrong.len(), &wrong[..wrong.len().min(12)]);
}

#[test]
fn that_holds_while_blocks_of_the_flash_fail() {
    let Explored { images, wrong, .. } = explore_all(&cases(), Chips::Failing);
    assert!(wrong.is_empty(), "{} of {images}: {:#?}", wrong.len(), &wrong[..wrong.len().min(12)]);
}

#[test]
fn cuts_and_faults_before_the_host_stops_lose_nothing() {
    let Explored { images, wrong, .. } = explore_all(&cases_with_parts(), Chips::Cut);
    assert!(wrong.is_empty(), "{} of {images}: {:#?}", wrong.len(), &wrong[..wrong.len().min(12)]);
}

#[test]
fn a_store_that_does_not_wait_before_it_erases_is_caught() {
    for chips in [Chips::Sound, Chips::Failing] {
        let mut found = 0;
        for scheme in ["page", "block", "fast", "superblock"] {
            let folder = folder();
            let run = perform(&Stack::of(scheme), folder.path(), chips).without_waiting();
            let Explored { images, wrong, .. } = run.explore(&folder.path().join("crashed.img"));
            println!("{scheme} on {chips:?} flash without waiting: {images} images, {} wrong", wrong.len());
            found += wrong.len();
        }
        assert!(found > 0, "the exploration finds nothing where something is wrong");
    }
}
