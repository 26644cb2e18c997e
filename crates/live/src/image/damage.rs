//! Images that were damaged: never silent, never a panic, and what lies twice costs nothing.
//!
//! A damage is a flipped bit, or up to 64 KiB of zeros, of ones or of noise, anywhere in the image.
//! Whatever page does not hold what was written must read as an error, and the check must not call
//! the image sound; content that is older may only be shown to those who accepted damage.

use std::fs::File;
use std::path::{Path, PathBuf};

use flash::Geometry;
use ftl::Stack;
use random::SeededRng;

use super::image_layout::ImageLayout;
use super::page_tags::{SLOT_BYTES, decode};
use super::testing::{Compared, Host, Left, PAGES, content, folder, open, start};
use super::{CheckReport, Image, check};

const PAGE: usize = 2048;
/// Damages of each image.
const DAMAGES: u64 = 100;
const LONGEST: u64 = 64 << 10;
const KILLED: Left = Left::Killed(20);

/// An image that was written for a while, and its host.
struct Written {
    folder: tempfile::TempDir,
    bytes: Vec<u8>,
    host: Host,
    places: ImageLayout,
    geometry: Geometry,
}

impl Written {
    fn new(stack: &Stack, left: Left) -> Self {
        let folder = folder();
        let path = folder.path().join("whole.img");
        let mut host = Host::new(&path, stack, (PAGES, PAGE), 0.0);
        let mut drive = start(&path);
        for _ in 0..19 {
            host.write(&mut drive, 32);
            host.flush(&mut drive);
        }
        let geometry = *flash::Flash::geometry(drive.chip());
        let bytes = host.leave(drive, left, &path);
        Self { folder, bytes, host, places: ImageLayout::of(&geometry), geometry }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("damaged.img")
    }

    /// The image with a change.
    fn changed(&self, change: impl FnOnce(&mut [u8])) -> PathBuf {
        let mut bytes = self.bytes.clone();
        change(&mut bytes);
        std::fs::write(self.path(), bytes).expect("a copy");
        self.path()
    }
}

/// What came of damages.
#[derive(Debug, Default)]
struct Outcomes {
    unnoticed: u32,
    mended: u32,
    unreadable: u32,
    refused: u32,
    no_image: u32,
}

impl Outcomes {
    fn add(&mut self, what: &str, written: &Written) {
        let path = written.path();
        let report = check(&path);
        let drive = open(&path, false);
        match (report, drive) {
            (Ok(report), Ok(mut drive)) => {
                let Compared { unreadable, others, .. } = written.host.compare(&mut drive);
                // What was not flushed and is damaged looks as if its host had stopped before it
                // was written; that is said, too.
                let is_told = drive.findings().sentences().iter().any(|told| told.contains("never flushed"));
                assert!(others == 0 || is_told, "{what}: {others} pages hold something else, and nobody said so");
                assert!(
                    unreadable == 0 || !report.is_sound,
                    "{what}: {unreadable} pages cannot be read, yet all is sound"
                );
                let counted = match (report.is_sound, unreadable) {
                    (true, _) => &mut self.unnoticed,
                    (false, 0) => &mut self.mended,
                    (false, _) => &mut self.unreadable,
                };
                *counted += 1;
            }
            (Ok(CheckReport { is_sound, .. }), Err(refused)) => {
                assert!(!is_sound, "{what}: refused, yet all is sound: {refused}");
                assert!(refused.to_string().contains("--accept-damage"), "{what}: {refused}");
                let mut drive = open(&path, true).unwrap_or_else(|error| panic!("{what}: {error}"));
                written.host.compare(&mut drive);
                self.refused += 1;
            }
            (Err(_), Err(_)) => self.no_image += 1,
            (Err(error), Ok(_)) => panic!("{what}: served, but {error}"),
        }
    }
}

#[test]
fn a_thousand_damages_of_up_to_64_kib_are_never_silent_and_never_a_panic() {
    let mut seed = 0;
    let bare = ["page", "block", "fast", "superblock"].map(Stack::of);
    let with_summaries = Stack::with("dftl", [("checkpoint", "summaries")]);
    for stack in bare.iter().chain([&with_summaries]) {
        for left in [Left::Closed, KILLED] {
            seed += 77;
            let written = Written::new(stack, left);
            let (mut outcomes, mut rng) = (Outcomes::default(), SeededRng::new(seed));
            for round in 0..DAMAGES {
                let length = 1 << rng.below(LONGEST.ilog2().into());
                let length = length + rng.below(length);
                let end = written.bytes.len() as u64;
                // Half of them where it hurts: outside the data.
                let offset = if round % 2 == 0 {
                    rng.below(end)
                } else {
                    (end + written.places.data - rng.below(2 * written.places.data)) % end
                };
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
                outcomes.add(&format!("{stack}, kind {kind}, {length} bytes at {offset} of {end}"), &written);
            }
            println!("{stack}, {left:?}: {outcomes:?}");
        }
    }
}

#[test]
fn tags_that_became_zeros_or_ones_or_a_hole_cost_nothing() {
    let written = Written::new(&Stack::of("page"), Left::Closed);
    for with in [0, 0xFF] {
        for (length, copy) in [(512, 0), (4096, 0), (512, 1), (4096, 1)] {
            let at = written.places.slot(16)[copy] as usize;
            let path = written.changed(|bytes| bytes[at..at + length].fill(with));
            let report = check(&path).expect("an image");
            assert!(!report.is_sound && report.problems[0].contains("one of the two copies"), "{report:?}");
            let mut drive = open(&path, false).expect("served");
            assert_eq!(written.host.compare(&mut drive), Compared::default());
            drive.stop().expect("stopped");
            drop(drive);
            let report = check(&path).expect("an image");
            assert!(report.is_sound, "both copies are there again: {:?}", report.problems);
        }
    }
}

#[test]
fn data_that_never_reached_the_disk_unflushed_are_no_damage() {
    let written = Written::new(&Stack::of("page"), KILLED);
    let data = written.host.last_written();
    let at = written.bytes.chunks(512).position(|sector| sector == &data[..512]).expect("written") * 512;
    let path = written.changed(|bytes| bytes[at..at + PAGE].fill(0));
    let report = check(&path).expect("an image");
    assert!(report.is_sound && report.host_loss.len() == 1, "{report:?}");
    assert!(report.host_loss[0].contains("never flushed"), "{report:?}");
}

#[test]
fn tags_of_which_both_copies_became_zeros_are_missed_and_asked_for() {
    let written = Written::new(&Stack::of("page"), Left::Closed);
    let path = written.changed(|bytes| {
        for at in written.places.slot(16) {
            bytes[at as usize..at as usize + 512].fill(0);
        }
    });
    let report = check(&path).expect("an image");
    assert!(report.problems.iter().any(|problem| problem.contains("when the image was closed")), "{report:?}");
    assert!(open(&path, false).err().expect("refused").to_string().contains("--accept-damage"));
    open(&path, true).expect("served");
}

#[test]
fn a_lost_block_table_does_not_reset_the_wear() {
    let written = Written::new(&Stack::of("page"), Left::Closed);
    let blocks = written.geometry.blocks() as usize;
    let erases = |path: &Path, accept| open(path, accept).expect("served").erase_counts().iter().sum::<u32>();
    let before = erases(&written.changed(|_| {}), false);
    let wipe = |bytes: &mut [u8], copy: usize| {
        let at = written.places.block(0)[copy] as usize;
        bytes[at..at + blocks * 64].fill(0);
    };
    for copy in [0, 1] {
        let path = written.changed(|bytes| wipe(bytes, copy));
        assert!(!check(&path).expect("an image").is_sound);
        assert_eq!(erases(&path, false), before, "one copy is enough");
    }
    let path = written.changed(|bytes| [0, 1].into_iter().for_each(|copy| wipe(bytes, copy)));
    assert!(open(&path, false).err().expect("refused").to_string().contains("--accept-damage"));
    let after = erases(&path, true);
    assert!(after >= before - blocks as u32, "{after} erases are known of {before}");
}

#[test]
fn one_damaged_copy_of_the_life_is_found() {
    let written = Written::new(&Stack::of("page"), Left::Closed);
    for at in written.places.life {
        let path = written.changed(|bytes| bytes[at as usize + 30] ^= 1);
        let report = check(&path).expect("an image");
        // A host that loses power while it writes the life leaves it so, too.
        assert!(report.is_sound && report.host_loss[0].contains("life"), "{report:?}");
        assert_eq!(written.host.compare(&mut open(&path, false).expect("served")), Compared::default());
    }
}

#[test]
fn a_forged_tag_at_the_end_of_all_sequence_numbers_is_damage_and_no_panic() {
    let written = Written::new(&Stack::of("page"), Left::Closed);
    let forge = |bytes: &mut [u8], copy: usize| {
        let at = written.places.slot(9)[copy] as usize;
        let slot = &mut bytes[at..at + SLOT_BYTES];
        slot[8..14].fill(0xFF);
        let crc = crc32c::crc32c(&slot[..60]);
        slot[60..].copy_from_slice(&crc.to_le_bytes());
        assert_eq!(
            decode(9, bytes[at..at + SLOT_BYTES].first_chunk().expect("a slot")),
            super::page_tags::Written::Damaged
        );
    };
    let one = written.changed(|bytes| forge(bytes, 0));
    assert_eq!(written.host.compare(&mut open(&one, false).expect("served")), Compared::default());
    let both = written.changed(|bytes| [0, 1].into_iter().for_each(|copy| forge(bytes, copy)));
    assert!(open(&both, false).is_err());
    let mut drive = open(&both, true).expect("served");
    for page in 0..PAGES {
        drive.write(page * PAGE as u64, &content(page, 9999, PAGE)).expect("written");
    }
    drive.stop().expect("stopped");
}

#[test]
fn a_header_that_claims_more_flash_than_the_file_has_is_refused_with_both_sizes() {
    let written = Written::new(&Stack::of("page"), Left::Closed);
    let path = written.changed(|_| {});
    let mut description = Image::open(&path, false).expect("an image").description;
    description.geometry.blocks_per_plane = 1 << 22;
    description.geometry.page_size_bytes = 1 << 20;
    let end = written.bytes.len() as u64;
    let file = File::options().write(true).open(&path).expect("the copy");
    super::header::write(&mut super::file::ImageFile::writable(file), &description, end).expect("written");
    for refused in [Image::open(&path, false).err().expect("refused"), check(&path).expect_err("refused")] {
        assert!(refused.to_string().contains("tables alone take"), "{refused}");
    }
}
