//! The host loses power, or the server is killed, between any two writes to an image: whatever was
//! promised must be there.
//!
//! Everything that a life of a device hands to the disk is recorded, and the life is stopped at
//! some positions of that, by the cuts of `check`: each names a position, and by its tear how much
//! of what was not synced has arrived. What is left is opened, its translation layer recovered, and
//! every page compared with what it may hold. That recovery is a life as well: some are stopped
//! again. Meanwhile the flash fails, too: the host survives cuts of the flash alone, which leave
//! torn pages and blocks whose sequence numbers are handed out again.
//!
//! `FTLKIT_SEED=number` makes other requests and faults.

use std::path::Path;

use check::drivers::failing_flash::Rates;
use check::{Cut, CutSampler};
use flash::Tear;
use ftl::Stack;
use live::DiskOp;
use random::{SeededRng, derive};

use crate::life::{Fate, Judged, Life, SMALL};
use crate::stacks::{drawn, folder, image, plain, with_parts};

/// Requests of a life: enough that every scheme erases again and again.
const REQUESTS: usize = 500;
/// Stops that are tried of a life: anywhere, just before a sync, and shortly after a cut; with
/// `FTLKIT_LONG` more.
const STOPS: [usize; 2] = [30, 1000];
/// Of this many images one is stopped again in its recovery.
const AGAIN_EVERY: [usize; 2] = [16, 3];
/// Stops of a recovery.
const STOPS_OF_RECOVERY: usize = 4;
/// On failing flash, and with cuts: one in this many operations.
const FAILING: Rates = Rates { program: 400, erase: 16, read: 0, corrected: 0, cut: 0 };
const CUT: Rates = Rates { program: 2000, erase: 100, cut: 200, ..FAILING };

/// Lives of an image, one after the other.
const LIVES: usize = 8;
/// Images of each stack; with `FTLKIT_LONG` more.
const IMAGES: [u64; 2] = [1, 40];
/// Stacks whose parts are drawn by lot, in both forms.
const DRAWN: [usize; 2] = [20, 80];
/// Requests of one of many lives at most.
const REQUESTS_OF_MANY: u64 = 90;

fn form() -> usize {
    usize::from(std::env::var_os("FTLKIT_LONG").is_some())
}

/// Other requests and faults with each `FTLKIT_SEED`.
fn seed() -> u64 {
    std::env::var("FTLKIT_SEED").map_or(0, |seed| seed.parse().expect("FTLKIT_SEED is a number"))
}

/// What was tried.
#[derive(Debug, Default)]
struct Tried {
    /// Images of a first stop, and of one in the recovery from it.
    images: usize,
    second: usize,
    /// Stacks that fit no device of the test.
    refused: usize,
    lives: usize,
    /// Lives that were ended in good order.
    closed: usize,
    /// Ends by the server's death, and by the host's loss of power.
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
    wrong: Vec<String>,
}

impl Tried {
    fn finish(&self) {
        let (wrong, images) = (&self.wrong, self.images);
        assert!(wrong.is_empty(), "{} of {images}: {:#?}", wrong.len(), &wrong[..wrong.len().min(12)]);
    }
}

/// The stops of a life that are tried, in the order of their positions.
fn stops(life: &Life, most: usize, sampler: &CutSampler) -> Vec<Cut> {
    let ops = life.disk_ops();
    let is_sync = |at: &usize| matches!(ops.get(*at), Some(DiskOp::Sync));
    let all: Vec<usize> = (0..=ops.len()).collect();
    let before_sync: Vec<usize> = all.iter().copied().filter(is_sync).collect();
    let some = |of: &[usize]| {
        let one_in = (of.len() * Tear::ALL.len() / most.max(1)).max(1);
        of.iter().flat_map(|&at| sampler.at(at as u32, one_in as u32).collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    let end = Tear::ALL.map(|tear| Cut { operation: ops.len() as u32, tear });
    let mut stops = [&some(&all)[..], &some(&before_sync), &some(&life.after_cuts), &end].concat();
    stops.sort_unstable();
    stops.dedup();
    stops
}

/// Stops a life at some positions, and of the recoveries from there some again.
fn explore(life: &Life, name: &str, path: &Path, tried: &mut Tried) {
    let sampler = CutSampler::drawn(seed(), &[]);
    for cut in stops(life, STOPS[form()], &sampler) {
        tried.images += 1;
        let place = format!("{name}, cut={cut} of {}", life.disk_ops().len());
        match life.left(cut).recover(&path.with_extension("crashed"), Fate::default()) {
            Err(why) => tried.wrong.push(format!("{place}: {why}")),
            Ok(recovery) if tried.images.is_multiple_of(AGAIN_EVERY[form()]) => {
                let sampler = CutSampler::drawn(seed(), &[cut]);
                for again in stops(&recovery, STOPS_OF_RECOVERY, &sampler) {
                    tried.second += 1;
                    let result = recovery.left(again).recover(&path.with_extension("again"), Fate::default());
                    tried.wrong.extend(result.err().map(|why| format!("{place},{again}: {why}")));
                }
            }
            Ok(_) => {}
        }
    }
}

/// Leads a life on flash that fails at these rates.
fn lead(stack: &Stack, rates: Rates, path: &Path) -> Judged<Life> {
    let more = if rates.erase > 0 { 0.25 } else { 0.0 };
    let new = image(path, stack, SMALL, more, None).expect("a device of the test");
    let seed = derive(seed(), &format!("{stack} {rates:?}"));
    let mut life = new.recover(path, Fate { seed, plan: rates.plan(seed), ..Fate::default() })?;
    life.go(REQUESTS)?;
    life.close()?;
    let erases: u32 = life.drive.erase_counts().iter().sum();
    assert!(erases > 10, "{stack}: {erases} erases prove nothing");
    Ok(life)
}

fn explore_all(stacks: &[Stack], rates: Rates) -> Tried {
    let (folder, mut tried) = (folder(), Tried::default());
    let path = folder.path().join("whole.img");
    for stack in stacks {
        match lead(stack, rates, &path) {
            Err(why) => tried.wrong.push(format!("{stack}: {why}")),
            Ok(life) => {
                tried.cuts += life.cuts;
                tried.read_only += usize::from(life.is_read_only);
                explore(&life, &stack.to_string(), &path, &mut tried);
            }
        }
    }
    println!("{rates:?}: {tried:?}");
    tried
}

#[test]
fn whatever_sectors_a_host_that_loses_power_has_written_everything_promised_is_there() {
    explore_all(&plain(), Rates::default()).finish();
}

#[test]
fn that_holds_while_blocks_of_the_flash_fail() {
    let tried = explore_all(&plain(), FAILING);
    tried.finish();
    assert!(tried.read_only > 0, "no device became read-only");
}

#[test]
fn cuts_and_faults_before_the_host_stops_lose_nothing() {
    let tried = explore_all(&with_parts(), CUT);
    tried.finish();
    assert!(tried.cuts > 200, "{} cuts", tried.cuts);
}

#[test]
fn a_store_that_does_not_wait_before_it_erases_is_caught() {
    for rates in [Rates::default(), FAILING] {
        let (folder, mut tried) = (folder(), Tried::default());
        let path = folder.path().join("whole.img");
        for stack in ["page", "block", "fast", "superblock"] {
            let mut life = lead(&Stack::of(stack), rates, &path).expect("a life");
            life.forget_waiting();
            explore(&life, stack, &path, &mut tried);
        }
        println!("{rates:?} without waiting: {} of {} wrong", tried.wrong.len(), tried.images);
        assert!(!tried.wrong.is_empty(), "the exploration finds nothing where something is wrong");
    }
}

/// What befalls one of many lives.
fn fate(rng: &mut SeededRng, reads_fail: bool) -> Fate {
    let mut rate = |often: u32| [0, often, 4 * often][rng.below(3) as usize];
    let rates = Rates { program: rate(100), erase: rate(10), read: 0, corrected: rate(100), cut: rate(150) };
    let (seed, modelled) = (rng.bits(), rng.below(4) == 0);
    Fate { seed, plan: rates.plan(seed), reads_fail, modelled }
}

/// Where one of many lives ends, and how.
fn end(life: &Life, rng: &mut SeededRng) -> Cut {
    let ops = life.disk_ops();
    let syncs: Vec<usize> = (0..ops.len()).filter(|&at| matches!(ops[at], DiskOp::Sync)).collect();
    let mut below = |limit: usize| rng.below(limit as u64) as usize;
    let at = match below(8) {
        0 => below(life.recovered + 1),
        1..=3 => syncs[below(syncs.len())],
        4 | 5 => ops.len(),
        _ => below(ops.len() + 1),
    };
    let tear = [Tear::Before, Tear::Unseen, Tear::Unseen, Tear::Torn, Tear::After][below(5)];
    Cut { operation: at as u32, tear }
}

/// Life after life of one image: it is used, stops in whatever way, is recovered, and used again.
fn lead_many(stack: &Stack, number: u64, path: &Path, tried: &mut Tried) -> Judged<()> {
    let mut rng = SeededRng::new(seed() ^ number << 32);
    let (endurance, more) =
        ([None, Some(40), Some(12)][rng.below(3) as usize], [0.0, 0.1, 0.25][rng.below(3) as usize]);
    let reads_fail = rng.below(4) == 0;
    let Some(mut left) = image(path, stack, SMALL, more, endurance) else {
        tried.refused += 1;
        return Ok(());
    };
    for number_of_life in 0..LIVES {
        let named =
            |why: String| format!("{stack}, image {number}, life {number_of_life}, reads fail: {reads_fail}: {why}");
        let mut life = left.recover(path, fate(&mut rng, reads_fail)).map_err(named)?;
        life.go(rng.below(REQUESTS_OF_MANY) as usize).map_err(named)?;
        tried.closed += usize::from(rng.below(5) == 0 && life.close().map_err(named)?);
        let cut = end(&life, &mut rng);
        tried.lives += 1;
        *(if cut.tear == Tear::After { &mut tried.killed } else { &mut tried.lost_power }) += 1;
        tried.in_recovery += usize::from(cut.operation as usize <= life.recovered);
        tried.cuts += life.cuts;
        tried.unreadable += life.unreadable;
        tried.read_only += usize::from(life.is_read_only);
        left = life.left(cut);
    }
    Ok(())
}

#[test]
fn life_after_life_nothing_flushed_is_lost() {
    let (mut tried, folder) = (Tried::default(), folder());
    let stacks = [with_parts(), drawn(DRAWN[form()], seed())].concat();
    for (turn, stack) in (0..).zip(&stacks) {
        for number in (0..IMAGES[form()]).map(|image| turn * IMAGES[form()] + image) {
            let result = lead_many(stack, number, &folder.path().join("lives.img"), &mut tried);
            tried.wrong.extend(result.err());
        }
    }
    println!("{} stacks: {tried:?}", stacks.len());
    tried.finish();
    assert!(tried.lost_power > 100 && tried.in_recovery > 10 && tried.cuts > 100, "{tried:?}");
}
