//! Images that were damaged, or of which a part is older than the rest: never silent, never a
//! panic, and what lies twice costs nothing.
//!
//! A damage is a flipped bit, or up to 64 KiB of zeros, of ones or of noise, anywhere in the image.
//! Whatever page does not hold what was written must read as an error, and the check must not call
//! the image sound; content that is older may only be shown to those who accepted damage.
//!
//! A part that is older passes every CRC, since both copies of the slots lie in it and speak of
//! pages as they once were. Only the life in the other part knows better.

use std::ops::Range;
use std::path::{Path, PathBuf};

use check::{Cut, Extent, Operation};
use flash::{Lpn, Tear};
use ftl::Stack;
use live::{CheckReport, DriveOptions, Image, LiveDrive, LiveError, check};
use random::SeededRng;

use crate::disk::Places;
use crate::life::{Fate, Left, Life, SMALL, Size, read};
use crate::stacks::{folder, image, parse};

/// Damages of each image.
const DAMAGES: u64 = 100;
const LONGEST: u64 = 64 << 10;
/// Sizes of devices of which a part is older.
const SIZES: [Size; 3] = [(96, 512), SMALL, (600, 4096)];

/// How an image is left: closed, or killed after this many writes that nobody flushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ends {
    Closed,
    Killed(u32),
}

/// A device that is written for a while.
struct Host {
    folder: tempfile::TempDir,
    life: Life,
    written: u32,
    rng: SeededRng,
}

impl Host {
    fn new(stack: &Stack, size: Size) -> Self {
        let folder = folder();
        let path = folder.path().join("whole.img");
        let new = image(&path, stack, size, 0.1, None).expect("a device of the test");
        let life = new.recover(&path, Fate::default()).expect("a new image");
        Self { folder, life, written: 0, rng: SeededRng::new(0xDA) }
    }

    /// Writes page by page, and then any.
    fn write(&mut self, writes: u32) {
        let pages = self.life.now.pages();
        for _ in 0..writes {
            let first = if self.written < pages { self.written } else { self.rng.below_u32(pages) };
            self.written += 1;
            self.ask(Operation::Write(Extent { first, pages: 1 }));
        }
    }

    fn ask(&mut self, operation: Operation) {
        self.life.ask_plainly(operation).expect("a device without faults");
    }

    /// Writes this often, with this many flushes between and after that.
    fn write_and_flush(&mut self, writes: u32, flushes: u32) {
        for _ in 0..flushes {
            self.write(writes / flushes);
            self.ask(Operation::Flush);
        }
    }

    /// Leaves the image, and opens it again if it shall go on.
    fn leave(&mut self, ends: Ends) -> Written {
        self.ask(Operation::Flush);
        match ends {
            Ends::Closed => assert!(self.life.close().expect("stopped")),
            Ends::Killed(writes) => {
                (0..writes).for_each(|first| self.ask(Operation::Write(Extent { first, pages: 1 })));
            }
        }
        let end = Cut { operation: self.life.disk_ops().len() as u32, tear: Tear::After };
        let path = self.folder.path().join("damaged.img");
        Written { left: self.life.left(end), path, places: self.life.places }
    }

    fn go_on(&mut self, from: &Written) {
        let path = self.folder.path().join("again.img");
        self.life = from.left.recover(&path, Fate::default()).expect("a sound image");
    }
}

/// An image, and what its pages hold.
struct Written {
    left: Left,
    path: PathBuf,
    places: Places,
}

/// Pages that are wrong in some way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Wrong {
    unreadable: usize,
    /// They hold something else than what was written last.
    other: usize,
    /// Nor is it what was flushed last, or anything later.
    stale: usize,
}

/// What is to be seen of a damaged image.
struct Seen {
    report: CheckReport,
    is_refused: bool,
    /// Whether it was said that data had not reached the disk.
    is_told: bool,
    /// None if it is not even served to those who accept damage.
    wrong: Option<Wrong>,
}

impl Written {
    /// An image of the small device with 600 writes behind it.
    fn new(stack: &Stack, ends: Ends) -> (Self, Host) {
        let mut host = Host::new(stack, SMALL);
        host.write_and_flush(600, 20);
        (host.leave(ends), host)
    }

    /// The image with a change.
    fn changed(&self, change: impl FnOnce(&mut [u8])) -> &Path {
        let mut bytes = self.left.image.clone();
        change(&mut bytes);
        std::fs::write(&self.path, bytes).expect("a copy");
        &self.path
    }

    /// The image with a part of an older one.
    fn rolled_back(&self, part: Range<usize>, older: &Self) -> &Path {
        self.changed(|bytes| bytes[part.clone()].copy_from_slice(&older.left.image[part]))
    }

    fn compare(&self, drive: &mut LiveDrive) -> Wrong {
        let (promises, mut wrong) = (&self.left.promises, Wrong::default());
        for lpn in (0..promises.pages()).map(Lpn::new) {
            match read(drive, lpn) {
                Ok(found) => {
                    wrong.other += usize::from(promises.compare(lpn, found.as_ref()).is_err());
                    wrong.stale += usize::from(promises.may_hold(lpn, found.as_ref()).is_err());
                }
                Err(_) => wrong.unreadable += 1,
            }
        }
        wrong
    }

    /// Looks at the changed image; none if it is not taken for one.
    fn look(&self, what: &str) -> Option<Seen> {
        let (report, served) = (check(&self.path), open(&self.path, false));
        let (report, is_refused) = match (report, &served) {
            (Ok(report), served) => (report, served.is_err()),
            (Err(error), Ok(_)) => panic!("{what}: served, but {error}"),
            (Err(_), Err(_)) => return None,
        };
        if let Err(refused) = &served {
            assert!(!report.is_sound, "{what}: refused, yet all is sound: {refused}");
            assert!(refused.to_string().contains("--accept-damage"), "{what}: {refused}");
        }
        let mut drive = served.or_else(|_| open(&self.path, true));
        let wrong = drive.as_mut().ok().map(|drive| self.compare(drive));
        let told = drive.map_or_else(|_| Vec::new(), |drive| drive.findings().sentences());
        let is_told = told.iter().any(|told| told.contains("never flushed"));
        Some(Seen { report, is_refused, is_told, wrong })
    }
}

fn open(path: &Path, accept_damage: bool) -> Result<LiveDrive, LiveError> {
    LiveDrive::start(Image::open(path, false)?, DriveOptions { accept_damage, ..DriveOptions::default() })
}

fn refused(path: &Path) -> bool {
    open(path, false).err().is_some_and(|error| error.to_string().contains("--accept-damage"))
}

#[test]
fn a_thousand_damages_of_up_to_64_kib_are_never_silent_and_never_a_panic() {
    let mut seed = 0;
    for stack in ["page", "block", "fast", "superblock", "dftl:checkpoint=summaries"].map(parse) {
        for ends in [Ends::Closed, Ends::Killed(20)] {
            seed += 77;
            let (written, _host) = Written::new(&stack, ends);
            let (mut rng, mut outcomes) = (SeededRng::new(seed), [0; 5]);
            for round in 0..DAMAGES {
                let length = 1 << rng.below(LONGEST.ilog2().into());
                let length = length + rng.below(length);
                let (end, data) = (written.left.image.len() as u64, written.places.data);
                // Half of them where it hurts: outside the data.
                let offset = if round % 2 == 0 { rng.below(end) } else { (end + data - rng.below(2 * data)) % end };
                let kind = rng.below(4);
                written.changed(|bytes| {
                    let hit = &mut bytes[offset as usize..(offset + length).min(end) as usize];
                    match kind {
                        0 => hit[0] ^= 1 << rng.below(8),
                        1 => hit.fill(0),
                        2 => hit.fill(0xFF),
                        _ => hit.iter_mut().for_each(|byte| *byte = rng.below(256) as u8),
                    }
                });
                let what = format!("{stack}, kind {kind}, {length} bytes at {offset} of {end}");
                outcomes[outcome(&written, kind == 0, &what)] += 1;
            }
            println!("{stack}, {ends:?}: unnoticed, mended, unreadable, refused, no image: {outcomes:?}");
        }
    }
}

/// What came of a damage, which may be a single bit: unnoticed, mended, unreadable, refused, no
/// image.
fn outcome(written: &Written, is_bit: bool, what: &str) -> usize {
    let Some(Seen { report, is_refused, is_told, wrong }) = written.look(what) else { return 4 };
    let wrong = wrong.unwrap_or_else(|| panic!("{what}: not even served where damage is accepted"));
    assert!(!is_bit || wrong.unreadable + wrong.other <= 1, "{what}: {wrong:?}");
    if is_refused {
        return 3;
    }
    // What was not flushed and is damaged looks as if its host had stopped before it was written;
    // that is said, too.
    assert!(wrong.other == 0 || is_told, "{what}: {wrong:?}, and nobody said so");
    assert!(wrong.unreadable == 0 || !report.is_sound, "{what}: {wrong:?}, yet all is sound");
    match (report.is_sound, wrong.unreadable) {
        (true, _) => 0,
        (false, 0) => 1,
        (false, _) => 2,
    }
}

#[test]
fn tags_that_became_zeros_or_ones_or_a_hole_cost_nothing() {
    let (written, _host) = Written::new(&Stack::of("page"), Ends::Closed);
    for with in [0, 0xFF] {
        for (length, copy) in [(512, 0), (4096, 0), (512, 1), (4096, 1)] {
            let at = written.places.slot(16)[copy].start;
            let path = written.changed(|bytes| bytes[at..at + length].fill(with));
            let report = check(path).expect("an image");
            assert!(!report.is_sound && report.problems[0].contains("one of the two copies"), "{report:?}");
            let mut drive = open(path, false).expect("served");
            assert_eq!(written.compare(&mut drive), Wrong::default());
            drive.stop().expect("stopped");
            drop(drive);
            let report = check(path).expect("an image");
            assert!(report.is_sound, "both copies are there again: {:?}", report.problems);
        }
    }
}

#[test]
fn data_that_never_reached_the_disk_unflushed_are_no_damage() {
    let (written, mut host) = Written::new(&Stack::of("page"), Ends::Killed(20));
    let data = read(&mut host.life.drive, Lpn::new(19)).expect("readable").expect("written");
    let image = &written.left.image;
    let at = (0..image.len()).step_by(512).find(|&at| image[at..].starts_with(&data[..])).expect("written");
    let path = written.changed(|bytes| bytes[at..at + data.len()].fill(0));
    let report = check(path).expect("an image");
    assert!(report.is_sound && report.host_loss.len() == 1, "{report:?}");
    assert!(report.host_loss[0].contains("never flushed"), "{report:?}");
}

#[test]
fn tags_of_which_both_copies_became_zeros_or_noise_are_missed_and_asked_for() {
    let (written, _host) = Written::new(&Stack::of("page"), Ends::Closed);
    for (change, problem) in [((|_| 0) as fn(u8) -> u8, "when the image was closed"), (|byte| byte ^ 1, "both copies")]
    {
        let path = written.changed(|bytes| {
            for slot in written.places.slot(16) {
                bytes[slot.start..slot.start + 512].iter_mut().for_each(|byte| *byte = change(*byte));
            }
        });
        let report = check(path).expect("an image");
        assert!(report.problems.iter().any(|found| found.contains(problem)), "{report:?}");
        assert!(refused(path));
        open(path, true).expect("served");
    }
}

#[test]
fn a_lost_block_table_does_not_reset_the_wear() {
    let (written, host) = Written::new(&Stack::of("page"), Ends::Closed);
    let blocks = host.life.drive.description().checked_geometry().expect("a shape").blocks() as usize;
    let erases = |path: &Path, accept| open(path, accept).expect("served").erase_counts().iter().sum::<u32>();
    let before = erases(written.changed(|_| {}), false);
    let wipe = |bytes: &mut [u8], at: u64| bytes[at as usize..][..blocks * 64].fill(0);
    for at in written.places.entries {
        let path = written.changed(|bytes| wipe(bytes, at));
        assert!(!check(path).expect("an image").is_sound);
        assert_eq!(erases(path, false), before, "one copy is enough");
    }
    let path = written.changed(|bytes| written.places.entries.into_iter().for_each(|at| wipe(bytes, at)));
    assert!(refused(path));
    let after = erases(path, true);
    assert!(after >= before - blocks as u32, "{after} erases are known of {before}");
}

#[test]
fn one_damaged_copy_of_the_life_is_found() {
    let (written, _host) = Written::new(&Stack::of("page"), Ends::Closed);
    for at in written.places.life {
        let path = written.changed(|bytes| bytes[at as usize + 30] ^= 1);
        let report = check(path).expect("an image");
        // A host that loses power while it writes the life leaves it so, too.
        assert!(report.is_sound && report.host_loss[0].contains("life"), "{report:?}");
        assert_eq!(written.compare(&mut open(path, false).expect("served")), Wrong::default());
    }
}

#[test]
fn a_forged_tag_at_the_end_of_all_sequence_numbers_is_damage_and_no_panic() {
    let (written, _host) = Written::new(&Stack::of("page"), Ends::Closed);
    let forge = |bytes: &mut [u8], slot: Range<usize>| seal(&mut bytes[slot], |slot| slot[8..14].fill(0xFF));
    let [one, other] = written.places.slot(9);
    let path = written.changed(|bytes| forge(bytes, one.clone()));
    assert_eq!(written.compare(&mut open(path, false).expect("served")), Wrong::default());
    let path = written.changed(|bytes| [one, other].into_iter().for_each(|slot| forge(bytes, slot)));
    assert!(refused(path));
    let mut drive = open(path, true).expect("served");
    for page in 0..u64::from(SMALL.0) {
        drive.write(page * SMALL.1 as u64, &vec![9; SMALL.1].into()).expect("written");
    }
    drive.stop().expect("stopped");
}

/// Changes a slot or an entry, and makes its CRC true.
fn seal(bytes: &mut [u8], change: impl FnOnce(&mut [u8])) {
    change(bytes);
    let crc = crc32c::crc32c(&bytes[..60]);
    bytes[60..].copy_from_slice(&crc.to_le_bytes());
}

/// Parts with both copies of the slots and one slot of the life: from the beginning, and to the
/// end.
fn parts(places: &Places) -> Vec<Range<usize>> {
    let [(first_table, other_table), (first_slots, other_slots)] =
        [places.entries, places.slots].map(|[first, other]| (first as usize, other as usize));
    let end = places.end as usize;
    vec![
        0..other_table,
        0..places.life[1] as usize,
        0..usize::midpoint(other_slots, other_table),
        first_slots..end,
        first_table..end,
    ]
}

/// A part that is older than the rest is never silent, with this many writes between both.
fn roll_back(stack: &Stack, size: Size, ends: Ends, between: u32) -> u32 {
    let mut host = Host::new(stack, size);
    host.write(2 * size.0);
    let older = host.leave(ends);
    host.go_on(&older);
    host.write_and_flush(between, 4);
    let newer = host.leave(ends);
    let mut told = 0;
    for part in parts(&newer.places) {
        newer.rolled_back(part.clone(), &older);
        let what = format!("{stack} of {size:?}, {ends:?}, {between} writes, {part:?} is older");
        let Seen { report, is_refused, wrong, .. } = newer.look(&what).expect("an image");
        let is_right = wrong.is_some_and(|wrong| wrong.unreadable + wrong.stale == 0);
        assert!(is_right || is_refused, "{what}: {wrong:?}, and the check says {:?}", report.problems);
        told += u32::from(!is_right);
    }
    told
}

fn roll_all_back(ends: Ends) {
    let mut told = 0;
    let stacks =
        ["page", "block", "fast", "superblock", "dftl:checkpoint=summaries", "page+static", "page+lru:ram=8KiB"];
    for stack in stacks.map(parse) {
        for size in SIZES {
            told += [8, 60, 4 * size.0].map(|between| roll_back(&stack, size, ends, between)).iter().sum::<u32>();
        }
    }
    println!("{ends:?}: {told} told");
    assert!(told > 100, "{told} told");
}

#[test]
fn a_part_older_than_a_closed_image_is_never_silent() {
    roll_all_back(Ends::Closed);
}

#[test]
fn a_part_older_than_a_killed_image_is_never_silent() {
    roll_all_back(Ends::Killed(5));
}

/// A part with one copy of the slots and the newer slot of the life: the other copy of the slots
/// knows each page, and nothing but the life knows which of them were flushed. Data that are older
/// than their slot must not pass for data that never reached the disk.
#[test]
fn data_and_a_life_that_are_older_than_the_slots_show_no_older_content() {
    let mut refused = 0;
    for flushes in 3..=6 {
        let mut host = Host::new(&Stack::of("page"), SMALL);
        host.write(SMALL.0);
        let older = host.leave(Ends::Killed(5));
        host.go_on(&older);
        host.write_and_flush(flushes * SMALL.0 / 4, flushes);
        let newer = host.leave(Ends::Killed(0));
        let middle = u64::midpoint(newer.places.data, newer.places.slots[1]) as usize;
        for part in [0..middle, middle..newer.places.end as usize] {
            let what = format!("{flushes} flushes, {part:?}");
            newer.rolled_back(part, &older);
            let seen = newer.look(&what).expect("an image");
            refused += u32::from(seen.is_refused);
            assert!(seen.is_refused || seen.wrong.expect("served").stale == 0, "{what}");
        }
    }
    assert!(refused > 0);
}

/// The image as an ftlkit leaves it that knows neither when an entry was written nor how many
/// erases there are.
fn as_before(bytes: &mut [u8], places: &Places) {
    for (first, end) in [(places.entries[0], places.slots[0]), (places.entries[1], places.life[1])] {
        let entries = bytes[first as usize..end as usize].chunks_mut(64);
        entries.filter(|entry| entry.starts_with(b"BLCK")).for_each(|entry| seal(entry, |entry| entry[16..24].fill(0)));
    }
    for at in places.life {
        let bytes = &mut bytes[at as usize..];
        let text_bytes = u32::from_le_bytes(*bytes[4..].first_chunk().expect("a length")) as usize;
        let mut life: serde_json::Value = serde_json::from_slice(&bytes[20..20 + text_bytes]).expect("a life");
        let members = life.as_object_mut().expect("an object");
        members.remove("erases");
        if members["is_clean"] == false {
            members.remove("touched_pages");
        }
        let text = life.to_string();
        let crc = crc32c::crc32c_append(crc32c::crc32c(&bytes[8..16]), text.as_bytes());
        bytes[4..8].copy_from_slice(&(text.len() as u32).to_le_bytes());
        bytes[16..20].copy_from_slice(&crc.to_le_bytes());
        bytes[20..20 + text.len()].copy_from_slice(text.as_bytes());
    }
}

#[test]
fn an_image_of_an_earlier_ftlkit_is_sound_and_served() {
    for ends in [Ends::Closed, Ends::Killed(5)] {
        let (mut written, mut host) = Written::new(&Stack::of("page"), ends);
        as_before(&mut written.left.image, &written.places);
        host.go_on(&written);
        host.write(100);
        let again = host.leave(ends);
        assert_eq!(check(again.changed(|_| {})).expect("an image").problems, Vec::<String>::new(), "{ends:?}");
    }
}
