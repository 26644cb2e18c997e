//! Flash that takes no writes any more, from any operation on: nothing is lost without a word.

use std::collections::BTreeSet;
use std::io::{Cursor, Read};

use fatfs::{FileSystem, FsOptions};
use mount::{Changes, FileError, ROOT, Tree};

use crate::crash::{Files, all, difference, is_between, script};
use crate::device::{Memory, PAGE, Survives};
use crate::files::create_file;

fn refused<T: std::fmt::Debug>(result: Result<T, FileError>, what: &str) {
    let error = result.expect_err(what);
    assert!(matches!(error, FileError::ReadOnly), "{what}: {error}");
}

/// Whatever would change the volume is refused.
fn changes_are_refused(tree: &mut Tree<Memory>) {
    refused(tree.create(ROOT, "new", false), "create");
    refused(tree.create_folder(ROOT, "new folder"), "create a folder");
    refused(tree.set(ROOT, Changes { modified: Some(1), ..Changes::default() }), "set the time of the root folder");
    for listed in tree.list(ROOT).expect("readable") {
        let number = tree.lookup(ROOT, &listed.name).expect("there").number;
        refused(tree.rename((ROOT, &listed.name), (ROOT, "renamed"), true), "rename");
        if listed.is_folder {
            refused(tree.remove_folder(ROOT, &listed.name), "remove a folder");
            continue;
        }
        refused(tree.remove(ROOT, &listed.name), "remove");
        refused(tree.write(number, 0, b"more"), "write");
        for bytes in [0, 100_000, 3 << 20] {
            refused(tree.set(number, Changes { bytes: Some(bytes), ..Changes::default() }), "change the length");
        }
        refused(tree.set(number, Changes { is_read_only: Some(true), ..Changes::default() }), "change the mode");
    }
}

#[test]
fn a_worn_out_device_is_mounted_read_only() {
    let (device, mut tree) = Memory::mounted_anew(24);
    create_file(&mut tree, "file", &[3; 5_000]);
    tree.unmount().expect("power");
    drop(tree);
    device.state().worn_at = Some(0);
    let mut tree = device.mounted();
    assert!(tree.is_worn_out() && tree.is_read_only() && tree.has_journal());
    let before = all(&mut tree);
    assert_eq!(before, [("/file".to_owned(), Some(vec![3; 5_000]))].into());
    changes_are_refused(&mut tree);
    assert_eq!(all(&mut tree), before);
    assert_eq!(tree.lost(), None);
    tree.unmount().expect("nothing is lost");
}

#[test]
fn a_foreign_volume_on_worn_out_flash_is_mounted_read_only() {
    let mut disk = std::io::Cursor::new(vec![0_u8; 24 << 20]);
    fatfs::format_volume(&mut disk, fatfs::FormatVolumeOptions::new()).expect("formats");
    let mut device = Memory::new(24);
    mount::Device::write(&mut device, 0, disk.into_inner().into(), ftl::Hint::NONE).expect("power");
    device.state().worn_at = Some(0);
    let mut tree = device.mounted();
    assert!(tree.is_worn_out() && !tree.has_journal());
    changes_are_refused(&mut tree);
}

/// What a driver that knows no journal finds on the device as it is served.
fn by_another_driver(device: &Memory) -> Files {
    let shown = mount::settle(device.clone()).expect("power").unwrap_or_default();
    let mut content = device.content();
    for (number, page) in shown {
        content[number as usize * PAGE..][..PAGE].copy_from_slice(&page[..]);
    }
    files_of(content)
}

/// The files of a volume, as a driver that knows no journal finds them.
pub(crate) fn files_of(content: Vec<u8>) -> Files {
    let volume = FileSystem::new(Cursor::new(content), FsOptions::new()).expect("a volume");
    let (mut files, mut folders) = (Files::new(), vec![(String::new(), volume.root_dir())]);
    while let Some((path, folder)) = folders.pop() {
        for entry in
            folder.iter().map(|entry| entry.expect("whole")).filter(|entry| !entry.file_name().starts_with('.'))
        {
            let full = format!("{path}/{}", entry.file_name());
            let mut bytes = Vec::new();
            if entry.is_dir() {
                folders.push((full.clone(), entry.to_dir()));
            } else {
                entry.to_file().read_to_end(&mut bytes).expect("readable");
            }
            files.insert(full, entry.is_file().then_some(bytes));
        }
    }
    files
}

/// Paths that differ.
fn differing(one: &Files, other: &Files) -> BTreeSet<String> {
    let paths = one.keys().chain(other.keys());
    paths.filter(|path| one.get(*path) != other.get(*path)).cloned().collect()
}

#[test]
fn flash_that_wears_out_at_any_write_loses_nothing_silently() {
    let (mut at, mut wears, mut losses) = (0, 0, 0);
    loop {
        let mut device = Memory::formatted(24);
        device.1 = Survives::Everything;
        let mut tree = device.mounted();
        let first = device.state().operations;
        device.state().worn_at = Some(first + at);
        let (mut old, mut new) = (Files::new(), Files::new());
        let result = script(&mut tree, |files, is_safe| if is_safe { old = files } else { new = files });
        if !tree.is_worn_out() {
            result.expect("room and power");
            break;
        }
        wears += 1;
        let shown = if result.is_ok() { None } else { Some(all(&mut tree)) };
        if shown.is_some() {
            changes_are_refused(&mut tree);
        }
        let (lost, unmounted) = (tree.lost(), tree.unmount());
        // Each sync of a lost file reports it, and so does the unmount.
        assert_eq!(unmounted.is_err(), lost.is_some(), "{at}: {unmounted:?} {lost:?}");
        drop(tree);
        device.restart();
        let foreign = by_another_driver(&device);
        let mut tree = device.mounted();
        assert!(tree.is_read_only());
        let contents = all(&mut tree);
        assert_eq!(differing(&foreign, &contents), BTreeSet::new(), "worn out at {at}: what another driver finds");
        assert!(is_between(&contents, &old, &new), "worn out at {at}: {}", difference(&contents, &old, &new));
        if let (Some(shown), None) = (&shown, &lost) {
            assert_eq!(differing(shown, &contents), BTreeSet::new(), "worn out at {at}: nothing was said to be lost");
        }
        if let Some(lost) = lost {
            losses += 1;
            assert!(lost.files > 0 || lost.names > 0, "{lost:?}");
        }
        at += 1;
    }
    println!("{wears} times worn out, {losses} with losses");
    assert!(wears > 80 && losses > 30 && losses < wears, "{wears} {losses}");
}

#[test]
fn closing_tells_what_is_not_kept_where_the_flash_is_nearly_worn_out() {
    let (mut at, mut refused) = (0, 0);
    loop {
        let mut device = Memory::formatted(24);
        device.1 = Survives::Everything;
        device.state().is_nearly_worn_out = true;
        let mut tree = device.mounted();
        let first = device.state().operations;
        device.state().worn_at = Some(first + at);
        let closed: Vec<_> = (0..4)
            .map(|number| {
                let file = tree.create(ROOT, &format!("file {number}"), false)?.number;
                tree.write(file, 0, &[number; 9_000])?;
                let closing = tree.flush(file);
                tree.close(file)?;
                closing
            })
            .collect();
        let is_worn_out = tree.is_worn_out();
        drop(tree);
        device.restart();
        let contents = all(&mut device.mounted());
        for (number, closing) in (0_u8..).zip(&closed) {
            refused += usize::from(closing.is_err());
            let file = contents.get(&format!("/file {number}")).cloned().flatten();
            assert!(closing.is_err() || file == Some(vec![number; 9_000]), "worn out at {at}: file {number}");
        }
        if !is_worn_out {
            assert!(closed.iter().all(Result::is_ok), "{closed:?}");
            break;
        }
        at += 1;
    }
    assert!(at > 20 && refused > 40, "{at} {refused}");
    // With spares enough, closing writes nothing.
    let (device, mut tree) = Memory::mounted_anew(24);
    let file = create_file(&mut tree, "file", &[7; 9_000]);
    let before = device.state().operations;
    tree.flush(file).expect("accepted");
    assert_eq!(device.state().operations, before);
}

#[test]
fn a_sync_tells_of_each_file_whether_it_is_kept() {
    let (device, mut tree) = Memory::mounted_anew(24);
    let safe = create_file(&mut tree, "safe", &[1; 5_000]);
    let folder = tree.create_folder(ROOT, "folder").expect("room").number;
    tree.sync().expect("power");
    let changed = create_file(&mut tree, "changed", &[2; 5_000]);
    let inner = tree.create(folder, "inner", false).expect("room").number;
    tree.write(inner, 0, &[3; 12_000]).expect("room");
    let now = device.state().operations;
    device.state().worn_at = Some(now);
    assert!(!tree.is_worn_out());
    refused(tree.sync_one(changed), "sync what was changed");
    assert!(tree.is_worn_out());
    tree.sync_one(safe).expect("safe before");
    for (number, is_kept) in [(safe, true), (changed, false), (inner, false), (folder, false), (ROOT, false)] {
        assert_eq!(tree.is_kept(number), is_kept, "{number}");
        assert_eq!(tree.sync_one(number).is_ok(), is_kept, "{number}");
    }
    changes_are_refused(&mut tree);
    // What cannot be kept can still be read, and copied.
    assert_eq!(tree.read(inner, 0, 1 << 20).expect("readable"), [3; 12_000]);
    let lost = tree.lost().expect("two files");
    assert_eq!((lost.files, lost.bytes, lost.names), (2, 17_000, 0));
    assert_eq!(lost.paths, ["changed", "folder/inner"]);
    assert_eq!(lost.to_string(), "17000 bytes written to 2 files (changed, folder/inner)");
    refused(tree.unmount(), "unmount");
}

#[test]
fn a_sync_of_what_was_renamed_tells_that_its_name_is_not_kept() {
    let (device, mut tree) = Memory::mounted_anew(24);
    let [safe, renamed] = ["safe", "before"].map(|name| create_file(&mut tree, name, &[1; 5_000]));
    let [folder, other] = ["folder", "other"].map(|name| tree.create_folder(ROOT, name).expect("room").number);
    tree.sync().expect("power");
    tree.rename((ROOT, "before"), (ROOT, "after"), true).expect("free");
    tree.rename((ROOT, "folder"), (other, "folder"), true).expect("free");
    let now = device.state().operations;
    device.state().worn_at = Some(now);
    refused(tree.sync_one(renamed), "sync the renamed file");
    refused(tree.flush(renamed), "close the renamed file");
    for (number, is_kept) in [(safe, true), (renamed, false), (folder, false), (other, false), (ROOT, false)] {
        assert_eq!(tree.is_kept(number), is_kept, "{number}");
        assert_eq!(tree.sync_one(number).is_ok(), is_kept, "{number}");
    }
    // It is no file that lost data.
    assert_eq!(tree.lost().expect("two names").to_string(), "2 changes of names and folders");
}

#[test]
fn a_renamed_file_is_kept_once_it_was_synced() {
    let (device, mut tree) = Memory::mounted_anew(24);
    let file = create_file(&mut tree, "before", &[1; 5_000]);
    tree.sync().expect("power");
    tree.rename((ROOT, "before"), (ROOT, "after"), true).expect("free");
    tree.sync_one(file).expect("power");
    let now = device.state().operations;
    device.state().worn_at = Some(now);
    let changed = create_file(&mut tree, "changed", &[2; 5_000]);
    refused(tree.sync_one(changed), "sync what was changed");
    tree.sync_one(file).expect("its name is safe");
}

#[test]
fn names_that_cannot_be_kept_are_told_and_stay_as_they_were() {
    let (device, mut tree) = Memory::mounted_anew(24);
    for name in ["removed", "renamed"] {
        let file = create_file(&mut tree, name, &[1; 5_000]);
        tree.close(file).expect("open");
    }
    let open = create_file(&mut tree, "open", b"kept while it is open");
    tree.sync().expect("power");
    let before = all(&mut tree);
    tree.remove(ROOT, "removed").expect("a file");
    tree.rename((ROOT, "renamed"), (ROOT, "other"), true).expect("free");
    tree.remove(ROOT, "open").expect("a file");
    tree.create_folder(ROOT, "folder").expect("room");
    let now = device.state().operations;
    device.state().worn_at = Some(now);
    refused(tree.sync(), "sync");
    let lost = tree.lost().expect("names");
    assert_eq!((lost.files, lost.names), (0, 4), "{lost:?}");
    assert_eq!(lost.to_string(), "4 changes of names and folders");
    assert_eq!(tree.read(open, 0, 4).expect("readable"), b"kept");
    tree.close(open).expect("nothing has to be written");
    assert!(tree.lookup(ROOT, "open").is_err());
    refused(tree.unmount(), "unmount");
    drop(tree);
    assert_eq!(all(&mut device.mounted()), before);
}
