//! What the number of the last sync promises: each page that was programmed up to it is on the
//! disk, whole.
//!
//! Recovery hands numbers out again that it does not find: those of torn pages and of erased
//! blocks. A page with such a number was not synced, and must not be taken for one that was.

use std::path::Path;

use flash::{Fault, Tear};
use random::SeededRng;

use super::disk::{ALL_WAYS, Disk, PAGE};
use super::run::tape;
use crate::DriveError;
use crate::drive::LiveDrive;
use crate::image::file::Taped;
use crate::image::load::{Loaded, Purpose, load};
use crate::image::testing::{PAGES, cases_with_parts, content, create, folder, read, start};
use crate::image::{Image, check};

/// Whether every page of an image that counts as synced is whole, and nothing in it is taken for
/// damage. The image is looked at in a copy beside the path.
pub(super) fn is_kept(image: &[u8], path: &Path) -> Result<(), String> {
    let path = path.with_extension("kept");
    std::fs::write(&path, image).expect("a copy");
    let image = Image::open(&path, false).map_err(|error| format!("not opened: {error}"))?;
    let Loaded { findings, lost, .. } =
        load(image.file, &image.geometry, image.description.logical_pages, Purpose::Check)
            .map_err(|error| format!("not read: {error}"))?;
    let damage = findings.damage();
    let is_kept = lost == 0 && damage.is_empty();
    if is_kept { Ok(()) } else { Err(format!("taken for damage: {damage:?}")) }
}

/// Writes every page, flushes, and cuts the power while the next writes are under way.
fn cut(path: &Path, tear: Tear, after: u64) -> LiveDrive {
    let mut drive = start(path);
    for round in 1..=3 {
        for page in 0..PAGES {
            drive.write(page * PAGE as u64, &content(page, round, PAGE)).expect("written");
        }
    }
    drive.flush().expect("flushed");
    drive.inject(after, Fault::Cut(tear));
    let result = (0..PAGES).try_for_each(|page| {
        drive.write(page * PAGE as u64, &content(page, 4, PAGE))?;
        drive.flush()
    });
    assert_eq!(result, Err(DriveError::NoPower), "the cut is met");
    drive.restore_power(drive.now()).expect("recovered");
    drive
}

/// What the disk has when the data that were written since the last sync have not arrived, and all
/// else has.
fn without_new_data(before: &[u8], tape: &[Taped]) -> Vec<u8> {
    let last_sync = tape.iter().rposition(|entry| matches!(entry, Taped::Sync)).expect("a sync");
    let is_data = |entry: &Taped| matches!(entry, Taped::Write(_, bytes) if bytes.len() == PAGE);
    let has_arrived = |(at, entry): &(usize, &Taped)| *at <= last_sync || !is_data(entry);
    let arrived: Vec<_> = tape.iter().enumerate().filter(has_arrived).map(|(_, entry)| entry.clone()).collect();
    let (_, image) = Disk::new(before, &arrived).stops(arrived.len(), ALL_WAYS, &mut SeededRng::new(1)).swap_remove(0);
    image
}

#[test]
fn what_a_flush_after_a_cut_promised_is_readable() {
    let folder = folder();
    let path = folder.path().join("whole.img");
    for stack in cases_with_parts() {
        for (tear, after) in Tear::ALL.into_iter().flat_map(|tear| [0, 3, 12].map(|after| (tear, after))) {
            let _ = std::fs::remove_file(&path);
            create(&path, &stack, (PAGES, PAGE), 0.1);
            let before = std::fs::read(&path).expect("the image");
            let mut drive = cut(&path, tear, after);
            drive.flush().expect("flushed");
            let shown: Vec<_> = (0..PAGES).map(|page| read(&mut drive, page).expect("readable")).collect();
            for page in 0..3 {
                drive.write(page * PAGE as u64, &content(page, 9, PAGE)).expect("written");
            }
            assert!(drive.settle());
            let image = without_new_data(&before, tape(&drive));
            drop(drive);
            let what = format!("{stack}, {tear:?} after {after}");
            is_kept(&image, &path).unwrap_or_else(|why| panic!("{what}: {why}"));
            let [checked, crashed] = ["checked", "crashed"].map(|name| path.with_extension(name));
            for copy in [&checked, &crashed] {
                std::fs::write(copy, &image).expect("a copy");
            }
            assert_eq!(check(&checked).expect("an image").unreadable_count, 0, "{what}");
            let mut drive = start(&crashed);
            for (page, shown) in (0..PAGES).zip(shown) {
                let found = read(&mut drive, page).unwrap_or_else(|error| panic!("{what}: page {page}: {error:?}"));
                // A write that a sync of the store itself has put on the disk is there, though
                // nobody flushed it.
                let is_written = page < 3 && found == content(page, 9, PAGE);
                assert!(found == shown || is_written, "{what}: page {page} holds {:?}", &found[..12]);
            }
        }
    }
}
