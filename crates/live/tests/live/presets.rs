//! Images of every device that has a name: each opens, is written, loses power, recovers and is
//! served, whatever its flash programs at once.

use std::path::Path;

use bytes::Bytes;
use flash::{Fault, Tear};
use ftl::Stack;
use live::{CreateText, DriveError, DriveOptions, Gathering, Image, LiveDrive, Piece, ServeOptions, Server};
use random::SeededRng;
use sim::study::{Capacity, DeviceText};
use sim::{Programming, Units};

use crate::common::{Client, options};

/// What a page must hold: at least what was flushed last, at most what was written last.
#[derive(Clone, Copy, Default)]
struct Versions {
    flushed: u32,
    written: u32,
}

/// A device of a preset's flash, with few and small blocks. Their pages are whole word lines, of
/// three bits a cell and of four.
fn device(preset: &'static str) -> sim::Device {
    sim::Device::resolve(&small(preset), 1).expect("a device")
}

fn small(preset: &str) -> DeviceText {
    DeviceText {
        preset: Some(preset.into()),
        capacity: Some(Capacity::Bytes(3 << 20)),
        spare: Some(0.65),
        channels: Some(1),
        dies_per_channel: Some(1),
        pages_per_block: Some(12),
        ..DeviceText::default()
    }
}

fn start(image: &Path) -> LiveDrive {
    let image = Image::open(image, false).expect("an image");
    LiveDrive::start(image, DriveOptions { modelled: true, ..DriveOptions::default() }).expect("a drive")
}

fn content(page: usize, version: u32, bytes: usize) -> Vec<u8> {
    let mut data = vec![if version == 0 { 0 } else { page as u8 }; bytes];
    data[..4].copy_from_slice(&version.to_le_bytes());
    data
}

/// Writes and flushes, up to a cut.
fn write_until_cut(drive: &mut LiveDrive, versions: &mut [Versions], rng: &mut SeededRng) {
    let bytes = drive.page_bytes();
    for request in 1_u32.. {
        let first = rng.below(versions.len() as u64) as usize;
        let last = (first + rng.below(6) as usize).min(versions.len() - 1);
        let mut data = Vec::new();
        for (page, held) in (first..).zip(&mut versions[first..=last]) {
            held.written += 1;
            data.extend(content(page, held.written, bytes));
        }
        drive.begin(drive.now());
        let mut done = drive.write((first * bytes) as u64, &Bytes::from(data));
        drive.wait();
        if done.is_ok() && request.is_multiple_of(24) {
            done = drive.flush();
            if done.is_ok() {
                for held in &mut *versions {
                    held.flushed = held.written;
                }
            }
        }
        match done {
            Ok(()) => {}
            Err(DriveError::NoPower) => return,
            Err(error) => panic!("{error:?} without a cut"),
        }
    }
}

/// Reads everything; what was found is what is held from now on.
fn check(drive: &mut LiveDrive, versions: &mut [Versions], what: &str) {
    let bytes = drive.page_bytes();
    for (page, held) in versions.iter_mut().enumerate() {
        let pieces = drive.read((page * bytes) as u64, bytes as u32).expect("readable");
        let mut data = vec![0; bytes];
        Piece::gather(&pieces, &mut data);
        let found = u32::from_le_bytes(data[..4].try_into().expect("four bytes"));
        assert!((held.flushed..=held.written).contains(&found), "{what}: page {page} is of version {found}");
        assert!(data == content(page, found, bytes), "{what}: page {page} holds something else");
        *held = Versions { flushed: found, written: found };
    }
}

/// An image of a device under a stack: written, cut in every way, closed, opened and served.
fn live_through(folder: &Path, preset: &'static str, stack: &str) {
    let what = format!("{preset} under {stack}");
    let image = folder.join("a.img");
    let stack: Stack = stack.parse().expect("a spelling");
    Image::create(&image, &device(preset), &stack).unwrap_or_else(|error| panic!("{what}: {error}"));
    let mut drive = start(&image);
    let mut rng = SeededRng::new(7);
    let mut versions = vec![Versions::default(); drive.len() as usize / drive.page_bytes()];
    for tear in Tear::ALL {
        drive.inject(500 + rng.below(500), Fault::Cut(tear));
        write_until_cut(&mut drive, &mut versions, &mut rng);
        drive.restore_power(drive.now()).unwrap_or_else(|error| panic!("{what}: {error}"));
        check(&mut drive, &mut versions, &what);
        // Half of the cuts end the process, too.
        if rng.below(2) == 0 {
            drive.stop().unwrap_or_else(|error| panic!("{what}: {error:?}"));
            drop(drive);
            drive = start(&image);
            check(&mut drive, &mut versions, &what);
        }
    }
    drive.stop().unwrap_or_else(|error| panic!("{what}: {error:?}"));
    drop(drive);
    let server = Server::start(&ServeOptions { modelled: true, ..options(&image) }).expect("a server");
    let mut client = Client::connect(&image).expect("a place");
    assert_eq!(client.write(0, &[9; 8192]), 0, "{what}");
    assert_eq!(client.flush(), 0, "{what}");
    assert_eq!(client.read(0, 8192), Ok(vec![9; 8192]), "{what}");
    drop(client);
    server.stop().expect("a clean stop");
    assert!(live::check(&image).expect("an image").is_sound, "{what}");
    std::fs::remove_file(&image).expect("removed");
}

#[test]
fn every_preset_makes_an_image_that_lives_through_power_cuts() {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a folder");
    let mut gathering = 0;
    for preset in sim::presets() {
        live_through(folder.path(), &preset.name, "page");
        let device = device(&preset.name);
        let described = Gathering::of(&device);
        if described != Gathering::default() {
            gathering += 1;
            live_through(folder.path(), &preset.name, "dftl:cmt=4KiB");
            live_through(folder.path(), &preset.name, "page+lru:ram=256KiB");
        }
    }
    assert_eq!(gathering, 9, "drives of today");
}

#[test]
fn what_a_presets_flash_rules_out_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let stack: Stack = "block".parse().expect("a spelling");
    let refused = Image::create(&folder.path().join("a.img"), &device("7450-like"), &stack).expect_err("refused");
    assert!(refused.to_string().contains("several units are programmed at once"), "{refused}");
}

/// The advice of a refusal is right: the capacity that it names makes an image.
#[test]
fn a_capacity_too_small_for_the_dies_is_answered_with_one_that_fits() {
    let folder = tempfile::tempdir().expect("a folder");
    let create = |stack: &str, capacity: &str| {
        let path = folder.path().join(format!("{stack}-{capacity}.img"));
        let text = serde_json::json!({
            "image": path, "ftl": {"name": stack}, "device": {"preset": "sata-tlc-1t", "capacity": capacity}
        });
        serde_json::from_value::<CreateText>(text).expect("known keys").create().map_err(|error| error.to_string())
    };
    for (stack, asked) in [("page", "4GiB"), ("dftl", "256MiB"), ("page", "1KiB")] {
        let refused = create(stack, asked).expect_err("refused");
        let capacity = refused.split("--capacity ").nth(1).expect("a capacity").split(' ').next().expect("a word");
        create(stack, capacity).unwrap_or_else(|error| panic!("{stack} {capacity}: {error}"));
        let exists = create(stack, capacity).expect_err("it exists");
        assert!(!exists.contains("--capacity"), "{exists}");
        std::fs::remove_file(folder.path().join(format!("{stack}-{capacity}.img"))).expect("removed");
    }
}

#[test]
fn a_preset_with_other_planes_makes_an_image_and_a_key_of_time_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.img");
    let create = |overtakes: Option<u32>| {
        let text = DeviceText { planes_per_die: Some(2), overtakes, ..small("7450-like") };
        Image::create(&path, &sim::Device::resolve(&text, 1).expect("a device"), &Stack::of("page"))
    };
    let refused = create(Some(7)).expect_err("refused").to_string();
    assert!(refused.starts_with("device.overtakes = 7: for simulations"), "{refused}");
    assert!(refused.ends_with("`ftlkit image create IMAGE --device 7450-like`"), "{refused}");
    let superblocks = create(None).expect("an image keeps its superblocks").gathering.superblocks;
    assert_eq!(superblocks.planes, 2);
}

#[test]
fn a_header_of_more_pages_at_once_than_there_may_be_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let described = Image::create(&folder.path().join("a.img"), &device("7450-like"), &Stack::of("page"));
    let mut described = described.expect("an image");
    described.gathering.superblocks.planes = 1024;
    described.gathering.units = Units::of_a_page(32, Programming::OneShot);
    (described.geometry.pages_per_block, described.geometry.page_size_bytes) = (96 * 1024, 512);
    let refused = described.checked_geometry().expect_err("refused").to_string();
    assert!(refused.contains("98304 pages that are programmed at once, and at most 65535 are"), "{refused}");
}
