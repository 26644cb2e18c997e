//! A part of an image that is older than the rest: a copy of the first or of the last part, put
//! over a newer image.
//!
//! Both copies of the slots lie in that part, so every tag in it passes its CRC and speaks of pages
//! as they once were. Only the life in the other part knows better. A page that holds older content
//! than was flushed must be told by the check, and the image must not be served unless damage is
//! accepted.

use std::os::unix::fs::FileExt;
use std::path::Path;

use ftl::Stack;

use super::blocks::{Block, ENTRY_BYTES};
use super::check;
use super::file::ImageFile;
use super::image_layout::ImageLayout;
use super::life::{FoundLife, Life, LifeSlots};
use super::testing::{Compared, Host, Left, folder, open, start};

/// Logical pages, and bytes of each.
const SIZES: [(u64, usize); 3] = [(96, 512), (128, 2048), (600, 4096)];

/// Left with a few writes that are not flushed.
const KILLED: Left = Left::Killed(5);

/// Parts with both copies of the slots and one slot of the life: from the beginning, and to the
/// end.
fn parts(places: &ImageLayout, end: usize) -> Vec<std::ops::Range<usize>> {
    let [first_table, other_table] = places.block(0).map(|at| at as usize);
    let [first_slots, other_slots] = places.slot(0).map(|at| at as usize);
    let other_life = places.life[1] as usize;
    assert!(
        first_table < first_slots && first_slots < other_slots && other_slots < other_table && other_table < other_life
    );
    vec![
        0..other_table,
        0..other_life,
        0..usize::midpoint(other_slots, other_table),
        first_slots..end,
        first_table..end,
    ]
}

/// What is to be seen of images of which a part is older.
#[derive(Debug, Default)]
struct Seen {
    told: u32,
    silent: Vec<String>,
}

impl Seen {
    fn look_at(&mut self, what: &str, host: &Host, path: &Path) {
        let report = check(path).expect("an image");
        let served = open(path, false);
        let is_refused = served.is_err();
        if let Err(refused) = &served {
            assert!(refused.to_string().contains("--accept-damage"), "{what}: {refused}");
            assert!(!report.is_sound, "{what}: refused, yet all is sound");
        }
        let Ok(mut drive) = served.or_else(|_| open(path, true)) else { return self.told += 1 };
        let Compared { unreadable, stale, .. } = host.compare(&mut drive);
        let wrong = unreadable + stale;
        if wrong == 0 || (is_refused && !report.is_sound) {
            self.told += u32::from(wrong > 0);
        } else {
            self.silent.push(format!("{what}: {wrong} pages are wrong, and the check says {:?}", report.problems));
        }
    }
}

/// Rolls parts of images back and says what came of it: `between` writes lie between the older copy
/// and the newer one.
fn roll_back(stack: &Stack, size: (u64, usize), left: Left, between: u64) -> Seen {
    let folder = folder();
    let path = folder.path().join("whole.img");
    let mut host = Host::new(&path, stack, size, 0.1);
    let mut drive = start(&path);
    host.write(&mut drive, 2 * size.0);
    let older = host.leave(drive, left, &path);
    let mut drive = start(&path);
    for _ in 0..4 {
        host.write(&mut drive, between / 4);
        host.flush(&mut drive);
    }
    let places = ImageLayout::of(flash::Flash::geometry(drive.chip()));
    let newer = host.leave(drive, left, &path);
    let mut seen = Seen::default();
    for part in parts(&places, newer.len()) {
        let mut bytes = newer.clone();
        bytes[part.clone()].copy_from_slice(&older[part.clone()]);
        std::fs::write(&path, bytes).expect("a copy");
        seen.look_at(&format!("{stack} of {size:?}, {left:?}, {between} writes, {part:?} is older"), &host, &path);
    }
    seen
}

fn roll_all_back(left: Left) {
    let mut all = Seen::default();
    let stacks =
        ["page", "block", "fast", "superblock", "dftl:checkpoint=summaries", "page+static", "page+lru:ram=8KiB"];
    for stack in stacks.map(|stack| stack.parse().expect("a spelling")) {
        for size in SIZES {
            for between in [8, 60, 4 * size.0] {
                let seen = roll_back(&stack, size, left, between);
                all.told += seen.told;
                all.silent.extend(seen.silent);
            }
        }
    }
    println!("{left:?}: {} told, {} silent", all.told, all.silent.len());
    assert!(
        all.told > 100 && all.silent.is_empty(),
        "{} silent: {:#?}",
        all.silent.len(),
        &all.silent[..all.silent.len().min(12)]
    );
}

#[test]
fn a_part_older_than_a_closed_image_is_never_silent() {
    roll_all_back(Left::Closed);
}

#[test]
fn a_part_older_than_a_killed_image_is_never_silent() {
    roll_all_back(KILLED);
}

/// A part with one copy of the slots and the newer slot of the life: the other copy of the slots
/// knows each page, and nothing but the life knows which of them were flushed. Data that are older
/// than their slot must not pass for data that never reached the disk.
#[test]
fn data_and_a_life_that_are_older_than_the_slots_show_no_older_content() {
    let folder = folder();
    let path = folder.path().join("whole.img");
    let (mut refused, mut stale) = (0, Vec::new());
    for flushes in 3..=6 {
        let _ = std::fs::remove_file(&path);
        let mut host = Host::new(&path, &Stack::of("page"), SIZES[1], 0.1);
        let mut drive = start(&path);
        host.write(&mut drive, SIZES[1].0);
        let older = host.leave(drive, KILLED, &path);
        let mut drive = start(&path);
        for _ in 0..flushes {
            host.write(&mut drive, SIZES[1].0 / 4);
            host.flush(&mut drive);
        }
        let places = ImageLayout::of(flash::Flash::geometry(drive.chip()));
        assert!(drive.settle());
        drop(drive);
        let newer = std::fs::read(&path).expect("the image");
        let middle = usize::midpoint(places.data as usize, places.slot(0)[1] as usize);
        for part in [0..middle, middle..newer.len()] {
            let mut bytes = newer.clone();
            bytes[part.clone()].copy_from_slice(&older[part.clone()]);
            std::fs::write(&path, bytes).expect("a copy");
            match open(&path, false) {
                Err(error) => {
                    assert!(error.to_string().contains("--accept-damage"), "{error}");
                    assert!(!check(&path).expect("an image").is_sound);
                    refused += 1;
                }
                Ok(mut drive) => stale.push((flushes, part, host.compare(&mut drive).stale)),
            }
        }
    }
    assert!(refused > 0, "{stale:?}");
    assert!(stale.iter().all(|(_, _, pages)| *pages == 0), "{stale:?}");
}

/// The image as an ftlkit leaves it that knows neither when an entry was written nor how many
/// erases there are.
fn as_before(path: &Path, places: &ImageLayout, blocks: usize) {
    let file = std::fs::File::options().read(true).write(true).open(path).expect("the image");
    let mut file = ImageFile::writable(file);
    for (block, at) in (0..blocks).flat_map(|block| places.block(block).map(|at| (block, at))) {
        let mut bytes = [0; ENTRY_BYTES];
        file.read_exact_at(&mut bytes, at).expect("an entry");
        let entry = Block { since: 0, ..Block::decode(block, &bytes).expect("an entry") };
        file.write(&entry.encode(block), at).expect("written");
    }
    let FoundLife { mut slots, life, .. } = LifeSlots::read(&file, places.life);
    let life = life.expect("a life");
    let life = Life { erases: None, touched_pages: life.touched_pages.filter(|_| life.is_clean), ..life };
    (0..2).try_for_each(|_| slots.write(&mut file, &life)).expect("written");
}

#[test]
fn an_image_of_an_earlier_ftlkit_is_sound_and_served() {
    let folder = folder();
    let path = folder.path().join("whole.img");
    for left in [Left::Closed, KILLED] {
        let _ = std::fs::remove_file(&path);
        let mut host = Host::new(&path, &Stack::of("page"), SIZES[1], 0.1);
        let mut drive = start(&path);
        let geometry = *flash::Flash::geometry(drive.chip());
        host.write(&mut drive, 600);
        host.leave(drive, left, &path);
        as_before(&path, &ImageLayout::of(&geometry), geometry.blocks() as usize);
        assert_eq!(check(&path).expect("an image").problems, Vec::<String>::new(), "{left:?}");
        let mut drive = start(&path);
        let Compared { unreadable, stale, .. } = host.compare(&mut drive);
        assert_eq!((unreadable, stale), (0, 0), "{left:?}");
        host.write(&mut drive, 100);
        host.leave(drive, left, &path);
        assert_eq!(check(&path).expect("an image").problems, Vec::<String>::new(), "{left:?}, served again");
    }
}
