//! Attributes of folders and names: times, numbers, short names.

use fat::{CodePage, FatError};
use mount::{Changes, FileError, ROOT, Tree};

use crate::device::Memory;
use crate::files::create_file;

fn time(tree: &Tree<Memory>, number: u64) -> (i64, u32) {
    let attributes = tree.attributes(number).expect("there");
    (attributes.modified, attributes.modified_ns)
}

#[test]
fn a_folder_whose_names_change_has_a_later_time() {
    let (device, mut tree) = Memory::mounted_anew(24);
    let folder = tree.create_folder(ROOT, "folder").expect("room").number;
    let other = tree.create_folder(ROOT, "other").expect("room").number;
    let mut last = [ROOT, folder, other].map(|number| time(&tree, number));
    // Each of them within two seconds, which is all that FAT tells apart.
    let mut changed = |tree: &Tree<Memory>, what: &str, are: [bool; 3]| {
        let now = [ROOT, folder, other].map(|number| time(tree, number));
        for (i, is_changed) in are.into_iter().enumerate() {
            assert_eq!(now[i] != last[i], is_changed, "{what}: {i}");
            assert!(now[i] >= last[i] || last[i].1 == 0, "{what}: {i} went back");
        }
        last = now;
    };
    let file = tree.create(folder, "file", false).expect("room").number;
    changed(&tree, "create", [false, true, false]);
    tree.write(file, 0, b"content").expect("room");
    changed(&tree, "write", [false, false, false]);
    tree.close(file).expect("open");
    tree.create_folder(other, "inner").expect("room");
    changed(&tree, "create a folder", [false, false, true]);
    tree.rename((folder, "file"), (other, "file"), true).expect("free");
    changed(&tree, "rename", [false, true, true]);
    tree.rename((other, "file"), (other, "again"), true).expect("free");
    changed(&tree, "rename within a folder", [false, false, true]);
    tree.remove(other, "again").expect("a file");
    changed(&tree, "remove", [false, false, true]);
    tree.remove_folder(other, "inner").expect("empty");
    changed(&tree, "remove a folder", [false, false, true]);
    create_file(&mut tree, "in the root", b"");
    changed(&tree, "create in the root", [true, false, false]);
    assert!(matches!(tree.create(folder, "a:b", false), Err(FileError::Fat(FatError::BadName))));
    changed(&tree, "what fails", [false, false, false]);
    // What a program says of the time holds, and goes to the volume.
    tree.set(folder, Changes { modified: Some(1_700_000_001), ..Changes::default() }).expect("power");
    assert_eq!(time(&tree, folder), (1_700_000_000, 0));
    tree.set(ROOT, Changes { modified: Some(1_700_000_001), ..Changes::default() }).expect("power");
    assert_eq!(time(&tree, ROOT), (1_700_000_001, 0));
    let modified = time(&tree, other).0;
    tree.unmount().expect("power");
    let mut tree = device.mounted();
    let folder = tree.lookup(ROOT, "folder").expect("there").number;
    let other = tree.lookup(ROOT, "other").expect("there").number;
    assert_eq!((time(&tree, folder), time(&tree, other)), ((1_700_000_000, 0), (modified / 2 * 2, 0)));
}

#[test]
fn a_folder_lists_the_numbers_that_its_files_have() {
    let (device, mut tree) = Memory::mounted_anew(24);
    for name in ["one", "two", "three"] {
        let file = create_file(&mut tree, name, b"");
        tree.close(file).expect("open");
    }
    tree.create_folder(ROOT, "four").expect("room");
    tree.unmount().expect("power");
    let mut tree = device.mounted();
    let listed = tree.list(ROOT).expect("readable");
    for entry in &listed {
        assert_eq!(tree.lookup(ROOT, &entry.name).expect("there").number, entry.number, "{}", entry.name);
    }
    assert_eq!(tree.list(ROOT).expect("readable"), listed);
    tree.remove(ROOT, "two").expect("a file");
    let new = create_file(&mut tree, "two", b"");
    assert!(listed.iter().all(|entry| entry.number != new), "the number of another file");
}

#[test]
fn the_short_name_of_a_removed_open_file_is_free() {
    let (device, mut tree) = Memory::mounted_anew(24);
    let free = tree.space().free;
    let open: Vec<u64> = (0..3).map(|i| create_file(&mut tree, &format!("open {i}"), &[i; 3_000])).collect();
    for i in 0..3 {
        tree.remove(ROOT, &format!("open {i}")).expect("a file");
    }
    for (i, name) in ["FTLKIT~1", "ftlkit~2", "FTLKIT~3"].into_iter().enumerate() {
        assert!(matches!(tree.lookup(ROOT, name), Err(FileError::NotFound)), "{name}");
        if i == 0 {
            create_file(&mut tree, name, b"new");
        } else if i == 1 {
            tree.create_folder(ROOT, name).expect("free");
        } else {
            tree.rename((ROOT, "FTLKIT~1"), (ROOT, name), false).expect("free");
        }
        tree.lookup(ROOT, name).expect("made");
    }
    for (content, &number) in (0..).zip(&open) {
        assert_eq!(tree.read(number, 0, 4_000).expect("readable"), [content; 3_000]);
    }
    assert_eq!(tree.list(ROOT).expect("readable").len(), 2);
    tree.sync().expect("power");
    drop(tree);
    device.restart();
    let mut tree = device.mounted();
    assert_eq!(tree.list(ROOT).expect("readable").len(), 2);
    tree.remove(ROOT, "FTLKIT~3").expect("a file");
    tree.remove_folder(ROOT, "ftlkit~2").expect("empty");
    assert_eq!(tree.space().free, free);
}

#[test]
fn names_of_another_code_page_are_kept_apart() {
    let device = Memory::formatted(24);
    let mut tree = device.mounted_in(CodePage::of(850).expect("a known one"));
    for (content, name) in (0..).zip(["Ñandú.txt", "Ôter.txt", "Õ", "õ2", "漢"]) {
        create_file(&mut tree, name, &[content; 100]);
    }
    assert!(matches!(tree.create(ROOT, "ñANDÚ.TXT", false), Err(FileError::Fat(FatError::Exists))));
    tree.unmount().expect("power");
    for code_page in [CodePage::of(850).expect("a known one"), CodePage::default()] {
        let mut tree = device.mounted_in(code_page);
        for (content, name) in (0_u8..).zip(["ñandú.txt", "ÔTER.txt", "Õ", "õ2", "漢"]) {
            let file = tree.lookup(ROOT, name).expect(name).number;
            assert_eq!(tree.read(file, 0, 100).expect("readable"), [content; 100], "{name}");
        }
        assert_eq!(tree.list(ROOT).expect("readable").len(), 5);
    }
}

#[test]
fn a_file_that_grows_by_much_is_not_filled_with_writes() {
    let (device, mut tree) = Memory::mounted_anew(64);
    let old = create_file(&mut tree, "old", &vec![7; 1 << 20]);
    for at in 1..40 {
        tree.write(old, at << 20, &vec![7; 1 << 20]).expect("room");
    }
    tree.sync().expect("power");
    // The clusters that it gets held something else a moment ago.
    tree.close(old).expect("open");
    tree.remove(ROOT, "old").expect("a file");
    let file = create_file(&mut tree, "file", b"begin");
    device.state().written.clear();
    tree.set(file, Changes { bytes: Some((50 << 20) + 5), ..Changes::default() }).expect("room");
    tree.write(file, (50 << 20) + 5, b"end").expect("room");
    tree.sync().expect("power");
    let pages: usize = device.state().written.iter().map(|(_, pages, _)| pages).sum();
    assert!(pages < 1_000, "{pages} pages written for 12 800 that hold zeros");
    assert!(device.state().zeroed >= 48 << 20);
    let expected = [b"begin".to_vec(), vec![0; 50 << 20], b"end".to_vec()].concat();
    assert!(tree.read(file, 0, 1 << 26).expect("readable") == expected);
    drop(tree);
    device.restart();
    let mut tree = device.mounted();
    let file = tree.lookup(ROOT, "file").expect("there").number;
    assert!(tree.read(file, 0, 1 << 26).expect("readable") == expected);
    // Nor is it when it shrinks again: its tables are written, and the rest is trimmed at one go.
    device.state().written.clear();
    let counted = || {
        let state = device.state();
        (state.operations, state.trimmed)
    };
    let before = counted();
    tree.set(file, Changes { bytes: Some(3), ..Changes::default() }).expect("power");
    tree.sync().expect("power");
    let pages: usize = device.state().written.iter().map(|(_, pages, _)| pages).sum();
    let after = counted();
    let (operations, trimmed) = (after.0 - before.0, after.1 - before.1);
    assert!(pages < 200 && operations < 100, "{pages} pages written in {operations} operations");
    assert!(trimmed >= (50 << 20) / 4096 - 1, "{trimmed} pages trimmed");
    assert_eq!(tree.read(file, 0, 100).expect("readable"), b"beg");
}

#[test]
fn a_file_that_grows_while_the_power_is_cut_shows_nothing_of_others() {
    let mut at = 0;
    loop {
        let (device, mut tree) = Memory::mounted_anew(24);
        let old = create_file(&mut tree, "old", &vec![7; 12 << 20]);
        tree.close(old).expect("open");
        tree.sync().expect("power");
        tree.remove(ROOT, "old").expect("a file");
        let file = create_file(&mut tree, "file", b"begin");
        let first = device.state().operations;
        device.state().cut_at = Some(first + at);
        let grown = tree.set(file, Changes { bytes: Some(8 << 20), ..Changes::default() });
        let is_safe = grown.is_ok() && tree.sync().is_ok();
        drop(tree);
        let is_over = device.state().cut_at.is_some();
        device.restart();
        let mut tree = device.mounted();
        let names: Vec<_> = tree.list(ROOT).expect("readable").into_iter().map(|listed| listed.name).collect();
        assert!(names == ["old"] || names == ["file"], "{names:?}");
        let content = tree.lookup(ROOT, &names[0]).expect("there").number;
        let content = tree.read(content, 0, 16 << 20).expect("readable");
        if names[0] == "old" {
            assert!(!is_safe && content == vec![7; 12 << 20], "cut at {at}");
        } else {
            assert!(content.get(5..).is_none_or(|rest| rest.iter().all(|&byte| byte == 0)), "cut at {at}");
            assert!(!is_safe || content.len() == 8 << 20, "cut at {at}");
        }
        if is_over {
            assert!(at > 10, "{at}");
            return;
        }
        at += 1;
    }
}
