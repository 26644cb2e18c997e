//! Images of version 1, written byte by byte, become images of this version.

use flash::Store;
use ftl::Stack;
use random::SeededRng;

use super::*;
use crate::image::life::LifeSlots;
use crate::image::load::{Purpose, load};
use crate::image::testing::{PAGES, can_summarise, content, create, folder, read, start, with_summaries};
use crate::image::{Image, check};

const PAGE: usize = 2048;

/// An image of version 1, byte by byte as its format was written down, with what an image of this
/// version holds.
fn write_old(new: &Path, path: &Path) {
    let file = File::open(new).expect("an image");
    let description = header::read(&file).expect("a header").description;
    let geometry = description.checked_geometry().expect("a shape");
    let store =
        load(ImageFile::writable(file), &geometry, description.logical_pages, Purpose::Check).expect("readable").store;
    let places = OldImageLayout::of(&geometry);
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(path).expect("a file");
    file.set_len(places.end).expect("room");
    let text = serde_json::to_vec(&old::OldText::from(description)).expect("JSON");
    for offset in [0, header::HEADER_BYTES] {
        file.write_all_at(&header::framed(1, &text), offset).expect("written");
    }
    for (block, entry) in store.blocks.iter().enumerate().filter(|(_, entry)| **entry != Block::default()) {
        let mut bytes = [0; old::ENTRY_BYTES];
        bytes[..4].copy_from_slice(&entry.erases.to_le_bytes());
        bytes[4] = entry.condition as u8;
        let crc = crc32c::crc32c(&bytes[..12]);
        bytes[12..].copy_from_slice(&crc.to_le_bytes());
        file.write_all_at(&bytes, places.blocks + (block * old::ENTRY_BYTES) as u64).expect("written");
    }
    for page in 0..geometry.pages() as usize {
        let Some(tag) = store.tag(page) else { continue };
        let (own, data) = (store.loaded(page), store.content(page).expect("readable").1);
        let area = own.as_deref().unwrap_or(&data);
        let content = if own.is_some() { 2 } else { u8::from(!data.is_empty()) };
        let mut bytes = [0; TAG_BYTES];
        bytes[..21].copy_from_slice(&tag.head());
        bytes[21] = 1;
        if content > 0 {
            bytes[4..8].copy_from_slice(&crc32c::crc32c(area).to_le_bytes());
        }
        let owner = tag.owner.map_or(0, |owner| owner.get() + 1);
        let sixth = if content == 2 { area.len() as u32 } else { owner };
        bytes[22..26].copy_from_slice(&sixth.to_le_bytes());
        bytes[26] = content;
        let crc = crc32c::crc32c(&bytes[..28]);
        bytes[28..].copy_from_slice(&crc.to_le_bytes());
        file.write_all_at(&bytes, places.tags + (page * TAG_BYTES) as u64).expect("written");
        file.write_all_at(area, places.data + (page * PAGE) as u64).expect("written");
    }
    let mut slots = LifeSlots::read(&file, places.life).slots;
    slots.write(&mut ImageFile::writable(file), &store.life).expect("written");
}

/// A new image and an old one that hold the same, what their pages hold, and how often blocks were
/// erased.
fn pair(scheme: &str, folder: &Path) -> (PathBuf, Vec<u32>, Vec<u32>) {
    let (new, old) = (folder.join("new.img"), folder.join("old.img"));
    let entry = ftl::registry::entry(scheme).expect("known");
    let stack = if can_summarise(entry) { with_summaries(entry) } else { Stack::of(scheme) };
    create(&new, &stack, PAGE);
    let (mut drive, mut held, mut rng) = (start(&new), vec![0; PAGES as usize], SeededRng::new(5));
    for round in 1..=400 {
        let page = rng.below(PAGES);
        drive.write(page * PAGE as u64, &content(page, round, PAGE)).expect("written");
        held[page as usize] = round;
    }
    drive.stop().expect("stopped");
    let erases = drive.erase_counts();
    drop(drive);
    write_old(&new, &old);
    (old, held, erases)
}

fn compare(path: &Path, held: &[u32]) {
    let mut drive = start(path);
    assert_eq!(drive.findings().sentences(), Vec::<String>::new());
    for (page, &round) in held.iter().enumerate() {
        let expected = if round == 0 { vec![0; PAGE] } else { content(page as u64, round, PAGE).to_vec() };
        assert_eq!(read(&mut drive, page as u64), Ok(expected), "page {page}");
    }
}

#[test]
fn an_old_image_is_refused_with_the_way_to_convert_it_and_then_nothing_is_lost() {
    for scheme in ["page", "fast", "block", "dftl"] {
        let folder = folder();
        let (path, held, erases) = pair(scheme, folder.path());
        let before = std::fs::read(&path).expect("the old image");
        for refused in [Image::open(&path, false).err().expect("refused"), check(&path).expect_err("refused")] {
            assert!(refused.to_string().contains("ftlkit image upgrade"), "{refused}");
        }
        let beside = folder.path().join("upgraded.img");
        let made = upgrade(&path, Some(&beside), false).expect("converted");
        assert_eq!((made.image.as_path(), made.findings.len()), (beside.as_path(), 0));
        assert!(std::fs::read(&path).expect("the old image") == before, "the old image is as it was");
        let left = folder.path().join("old.img.new");
        std::fs::write(&left, "half an image").expect("written");
        let refused = upgrade(&path, None, false).expect_err("refused").to_string();
        assert!(refused.contains("interrupted") && left.exists(), "{refused}");
        std::fs::remove_file(left).expect("removed");
        let in_place = upgrade(&path, None, false).expect("converted");
        assert_eq!((in_place.image, in_place.pages), (path.clone(), made.pages));
        for image in [&beside, &path] {
            let report = check(image).expect("an image");
            assert!(report.is_sound, "{scheme}: {:?}", report.problems);
            compare(image, &held);
        }
        let wear: u32 = start(&beside).erase_counts().iter().sum();
        assert!(wear >= erases.iter().sum(), "{scheme}: {wear} erases are known, {erases:?} were counted");
        let again = upgrade(&path, None, false).expect_err("refused").to_string();
        assert!(again.contains("already"), "{again}");
    }
}

#[test]
fn what_an_old_image_had_torn_or_half_erased_or_damaged_is_told() {
    let folder = folder();
    let (path, _, _) = pair("page", folder.path());
    let file = OpenOptions::new().read(true).write(true).open(&path).expect("the old image");
    let description = old::description(&file).expect("a header");
    let geometry = description.checked_geometry().expect("a shape");
    let places = OldImageLayout::of(&geometry);
    let at = |page: u64| places.tags + page * TAG_BYTES as u64;
    // Block 0 was being erased; a page of block 1 is torn, one unstable, one damaged.
    let mut entry = [0; old::ENTRY_BYTES];
    (entry[0], entry[4]) = (41, 2);
    let crc = crc32c::crc32c(&entry[..12]);
    entry[12..].copy_from_slice(&crc.to_le_bytes());
    file.write_all_at(&entry, places.blocks).expect("written");
    file.write_all_at(&[0xFF; TAG_BYTES], at(8)).expect("written");
    let mut unstable = [0; TAG_BYTES];
    unstable[21] = 254;
    file.write_all_at(&unstable, at(9)).expect("written");
    let old = |accept| Old::read(file.try_clone().expect("a file"), &path, &description, geometry, accept);
    let read = old(false).expect("whole");
    assert_eq!((read.blocks[0].erases, &read.slots[..8]), (42, &[Slot::Erased; 8][..]));
    assert_eq!(read.slots[8..10], [Slot::Torn, Slot::Unstable]);
    assert_eq!(read.findings, Vec::<String>::new());
    // The same pages, but the last sync is long ago and the data of one that is programmed are
    // gone.
    let programmed =
        (16..read.slots.len()).position(|page| matches!(read.slots[page], Slot::Programmed(_, Body::Data { .. })));
    let lost = (16 + programmed.expect("a page that holds data")) as u64;
    let life = Life { synced_seq: 0, ..read.life.clone() };
    let mut lives = LifeSlots::read(&file, places.life).slots;
    lives.write(&mut ImageFile::writable(file.try_clone().expect("a file")), &life).expect("written");
    file.write_all_at(&[0; PAGE], places.data + lost * PAGE as u64).expect("written");
    let read = old(false).expect("converted");
    assert_eq!((read.slots[lost as usize], read.findings.len()), (Slot::Torn, 1));
    assert!(read.findings[0].starts_with("the data of 1 pages had not reached the disk"), "{:?}", read.findings);
    file.write_all_at(&[0xA5; 3], at(10)).expect("written");
    let refused = old(false).expect_err("refused").to_string();
    assert!(refused.contains("1 tags are damaged") && refused.contains("--accept-damage"), "{refused}");
    let accepted = old(true).expect("converted");
    assert_eq!((accepted.slots[10], accepted.findings.len()), (Slot::Torn, 2));
}

#[test]
fn a_link_stays_one_and_what_it_leads_to_is_converted() {
    let folder = folder();
    let (path, held, _) = pair("page", folder.path());
    let elsewhere = folder.path().join("links");
    std::fs::create_dir(&elsewhere).expect("a folder");
    let (link, chain) = (elsewhere.join("disk.img"), elsewhere.join("chain.img"));
    std::os::unix::fs::symlink("../old.img", &link).expect("a link");
    std::os::unix::fs::symlink("disk.img", &chain).expect("a link");
    let made = upgrade(&chain, None, false).expect("converted");
    assert_eq!(made.image, chain);
    for path in [&link, &chain] {
        assert!(path.symlink_metadata().expect("there").is_symlink(), "{}", path.display());
    }
    assert!(!path.symlink_metadata().expect("there").is_symlink());
    compare(&path, &held);
    let left: Vec<_> = std::fs::read_dir(&elsewhere).expect("a folder").collect();
    assert_eq!(left.len(), 2, "{left:?}");
}
