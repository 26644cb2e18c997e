//! What programs ask of files, one thing after another.

use std::io::Cursor;

use analyzer::Parameters;
use fat::FatError;
use fatfs::{FileSystem, FsOptions};
use mount::{Changes, FileError, ROOT, Tree};

use crate::crash::all;
use crate::device::Memory;

pub(crate) fn create_file(tree: &mut Tree<Memory>, name: &str, bytes: &[u8]) -> u64 {
    let number = tree.create(ROOT, name, false).expect("room").number;
    tree.write(number, 0, bytes).expect("room");
    number
}

#[test]
fn what_is_written_is_read_also_with_holes_and_after_truncation() {
    let (device, mut tree) = Memory::mounted_anew(24);
    let file = create_file(&mut tree, "Read Me.txt", b"hello");
    tree.write(file, 10_000, b"far").expect("room");
    let mut expected = vec![0; 10_003];
    expected[..5].copy_from_slice(b"hello");
    expected[10_000..].copy_from_slice(b"far");
    assert_eq!(tree.read(file, 0, 1 << 20).expect("readable"), expected);
    assert_eq!(tree.read(file, 9_998, 4).expect("readable"), [0, 0, b'f', b'a']);
    assert!(tree.read(file, 10_003, 4).expect("readable").is_empty());
    tree.sync().expect("power");
    for bytes in [3, 4_096, 20_000, 0, 5_000] {
        let set = tree.set(file, Changes { bytes: Some(bytes), ..Changes::default() }).expect("room");
        assert_eq!(set.bytes, bytes);
        expected.truncate(bytes as usize);
        expected.resize(bytes as usize, 0);
        assert_eq!(tree.read(file, 0, 1 << 20).expect("readable"), expected, "{bytes}");
    }
    let changes = Changes { modified: Some(1_700_000_001), is_read_only: Some(true), ..Changes::default() };
    tree.set(file, changes).expect("power");
    tree.unmount().expect("power");
    let mut tree = device.mounted();
    let file = tree.lookup(ROOT, "READ ME.TXT").expect("case does not matter");
    assert_eq!((file.bytes, file.modified, file.is_read_only), (5_000, 1_700_000_000, true));
    assert_eq!(tree.read(file.number, 0, 1 << 20).expect("readable"), expected);
}

#[test]
fn what_was_unmounted_others_read() {
    let (device, mut tree) = Memory::mounted_anew(24);
    let folder = tree.create_folder(ROOT, ".git").expect("room").number;
    let file = tree.create(folder, "HEAD.lock", true).expect("room").number;
    tree.write(file, 0, b"ref: refs/heads/main").expect("room");
    tree.close(file).expect("open");
    tree.rename((folder, "HEAD.lock"), (folder, "HEAD"), true).expect("free");
    let free = tree.space().free;
    tree.unmount().expect("power");
    let files = FileSystem::new(Cursor::new(device.content()), FsOptions::new()).expect("a volume");
    assert!(!files.read_status_flags().expect("readable").dirty());
    assert_eq!(files.stats().expect("readable").free_clusters(), free);
    let mut text = String::new();
    let mut head = files.root_dir().open_file(".git/HEAD").expect("there");
    std::io::Read::read_to_string(&mut head, &mut text).expect("readable");
    assert_eq!(text, "ref: refs/heads/main");
}

#[test]
fn a_file_that_is_removed_while_it_is_open_stays_until_it_is_closed() {
    let (device, mut tree) = Memory::mounted_anew(24);
    let free = tree.space().free;
    let file = create_file(&mut tree, "tmp", &[1; 10_000]);
    tree.remove(ROOT, "tmp").expect("a file");
    assert!(matches!(tree.lookup(ROOT, "tmp"), Err(FileError::NotFound)));
    assert!(matches!(tree.lookup(ROOT, ".ftlkit-removed-1"), Err(FileError::NotFound)));
    assert_eq!(tree.list(ROOT).expect("readable"), []);
    tree.write(file, 10_000, &[2; 10]).expect("room");
    assert_eq!(tree.read(file, 9_999, 10).expect("readable"), [1, 2, 2, 2, 2, 2, 2, 2, 2, 2]);
    // Another of the same name is another one, also in its place.
    let other = create_file(&mut tree, "tmp", b"other");
    assert_ne!(other, file);
    create_file(&mut tree, "new", b"newer");
    tree.rename((ROOT, "new"), (ROOT, "tmp"), true).expect("replaced");
    assert_eq!(tree.read(other, 0, 10).expect("readable"), b"other");
    tree.close(file).expect("open");
    tree.close(other).expect("open");
    assert!(matches!(tree.read(file, 0, 1), Err(FileError::NotFound)));
    assert_eq!(tree.space().free, free - 1);
    // A removed file that is never closed goes at the next mount.
    let removed = create_file(&mut tree, "left", &[1; 10_000]);
    tree.open(removed).expect("there");
    tree.remove(ROOT, "left").expect("a file");
    tree.sync().expect("power");
    drop(tree);
    device.restart();
    let tree = device.mounted();
    assert_eq!(tree.space().free, free - 1);
}

#[test]
fn what_is_not_possible_is_refused_and_changes_nothing() {
    let (_device, mut tree) = Memory::mounted_anew(24);
    let outer = tree.create_folder(ROOT, "outer").expect("room").number;
    let inner = tree.create_folder(outer, "inner").expect("room").number;
    let file = create_file(&mut tree, "file", b"x");
    let before = all(&mut tree);
    assert!(matches!(tree.rename((ROOT, "outer"), (inner, "x"), true), Err(FileError::InItself)));
    assert!(matches!(tree.rename((ROOT, "outer"), (ROOT, "file"), true), Err(FileError::NotFolder)));
    assert!(matches!(tree.rename((ROOT, "file"), (ROOT, "outer"), true), Err(FileError::IsFolder)));
    assert!(matches!(tree.rename((outer, "inner"), (ROOT, "outer"), true), Err(FileError::Fat(FatError::NotEmpty))));
    assert!(matches!(tree.rename((ROOT, "file"), (ROOT, "FILE2"), false), Ok(())));
    assert!(matches!(tree.rename((ROOT, "file2"), (ROOT, "file"), true), Ok(())));
    assert!(matches!(tree.remove_folder(ROOT, "outer"), Err(FileError::Fat(FatError::NotEmpty))));
    assert!(matches!(tree.remove(ROOT, "outer"), Err(FileError::IsFolder)));
    assert!(matches!(tree.remove_folder(ROOT, "file"), Err(FileError::NotFolder)));
    assert!(matches!(tree.create(ROOT, "OUTER", false), Err(FileError::Fat(FatError::Exists))));
    assert!(matches!(tree.create(ROOT, "a:b", false), Err(FileError::Fat(FatError::BadName))));
    assert!(matches!(tree.create(ROOT, ".ftlkit-removed-9", false), Err(FileError::Fat(FatError::BadName))));
    assert!(matches!(tree.write(file, 1 << 32, b"x"), Err(FileError::Fat(FatError::LongFile))));
    assert!(matches!(tree.write(outer, 0, b"x"), Err(FileError::IsFolder)));
    assert_eq!(all(&mut tree), before);
}

#[test]
fn a_full_volume_refuses_what_has_no_room_and_keeps_the_rest() {
    let (device, mut tree) = Memory::mounted_anew(24);
    let file = tree.create(ROOT, "big", false).expect("room").number;
    let (mut written, part) = (0, vec![5; 100_000]);
    let refused = loop {
        match tree.write(file, written, &part) {
            Ok(()) => written += part.len() as u64,
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, FileError::Fat(FatError::Full)), "{refused}");
    assert!(written > 15 << 20, "{written}");
    assert_eq!(tree.attributes(file).expect("there").bytes, written);
    tree.sync().expect("power");
    assert!(matches!(
        tree.set(file, Changes { bytes: Some(1 << 30), ..Changes::default() }),
        Err(FileError::Fat(FatError::Full))
    ));
    assert_eq!(tree.read(file, written - 9, 100).expect("readable"), [5; 9]);
    tree.remove(ROOT, "big").expect("a file");
    tree.close(file).expect("open");
    tree.sync().expect("power");
    assert!(device.state().trimmed >= written / 4096, "{} pages trimmed", device.state().trimmed);
    create_file(&mut tree, "again", &part);
}

#[test]
fn a_device_for_reading_alone_is_read_also_after_a_cut() {
    let (device, mut tree) = Memory::mounted_anew(24);
    create_file(&mut tree, "file", &[3; 5_000]);
    // The cut falls between the journal and the places of its pages.
    let now = device.state().operations;
    device.state().cut_at = Some(now + 6);
    assert!(tree.sync().is_err());
    drop(tree);
    device.restart();
    device.state().is_read_only = true;
    let mut tree = device.mounted();
    assert_eq!(all(&mut tree), [("/file".to_owned(), Some(vec![3; 5_000]))].into());
    assert!(matches!(tree.create(ROOT, "new", false), Err(FileError::ReadOnly)));
    assert!(matches!(tree.remove(ROOT, "file"), Err(FileError::ReadOnly)));
    tree.unmount().expect("nothing to do");
}

#[test]
fn data_of_files_carry_the_degree_of_their_type_and_tables_nothing() {
    let (device, mut tree) = Memory::mounted_anew(24);
    let (hot, cold) = (create_file(&mut tree, "a.log", &[1; 4_096]), create_file(&mut tree, "b.jpg", &[2; 4_096]));
    for number in [hot, cold] {
        tree.close(number).expect("open");
        tree.open(number).expect("there");
    }
    for _ in 0..120 {
        tree.write(hot, 0, &[3; 4_096]).expect("room");
    }
    let news = tree.news("/mnt").expect("intervals have ended");
    assert_eq!((news.intervals, news.mounted_at.as_str()), (2, "/mnt"));
    let degree = |name: &str| news.types.iter().find(|rating| rating.file_type == name).expect("seen").degree;
    assert!(degree(".log") > degree(".jpg"), "{news:?}");
    assert_eq!(tree.news("/mnt"), None);
    let temperature = |name: &str| u64::from(degree(name)) + 1;
    let rated: Vec<_> = tree.hints().iter().map(|hint| u64::from(hint.temperature())).collect();
    for name in [".log", ".jpg"] {
        assert!(rated.contains(&temperature(name)), "data at rest are rated as well: {rated:?}");
    }
    tree.sync().expect("power");
    tree.write(hot, 0, &[4; 4_096]).expect("room");
    tree.write(cold, 0, &[4; 4_096]).expect("room");
    device.state().written.clear();
    tree.sync().expect("power");
    let hints: Vec<_> = device.state().written.iter().map(|(_, _, hint)| *hint).collect();
    let temperatures: Vec<u8> = hints.iter().map(|hint| hint.temperature()).filter(|&degree| degree > 0).collect();
    assert_eq!(temperatures, [degree(".log") + 1, degree(".jpg") + 1]);
    assert!(hints.iter().any(|hint| hint.file_type() == 0), "tables and journal");
}

#[test]
fn what_is_no_volume_is_named() {
    let open = |device: Memory| {
        mount::open(device, Parameters::default(), 3, fat::CodePage::default()).expect_err("no volume").to_string()
    };
    let blank = open(Memory::new(24));
    assert!(blank.contains("its first page holds nothing") && blank.contains("--format"), "{blank}");
    let mut other = Memory::new(24);
    mount::Device::write(&mut other, 0, vec![7; 4096].into(), ftl::Hint::NONE).expect("power");
    assert!(open(other).contains("55 AA"));
    let small = mount::format(Memory::new(17)).expect_err("too small").to_string();
    assert!(small.contains("17825792") && small.contains("--capacity"), "{small}");
}

#[test]
fn a_volume_of_another_maker_is_served_without_a_journal() {
    let mut disk = Cursor::new(vec![0_u8; 24 << 20]);
    fatfs::format_volume(&mut disk, fatfs::FormatVolumeOptions::new()).expect("formats");
    let mut device = Memory::new(24);
    mount::Device::write(&mut device, 0, disk.into_inner().into(), ftl::Hint::NONE).expect("power");
    let mut tree = device.mounted();
    assert!(!tree.has_journal());
    let folder = tree.create_folder(ROOT, "folder").expect("room").number;
    let file = tree.create(folder, "file", false).expect("room").number;
    tree.write(file, 0, &vec![8; 70_000]).expect("room");
    tree.write(file, 1_000, &[9; 3_000]).expect("room");
    tree.unmount().expect("power");
    let files = FileSystem::new(Cursor::new(device.content()), FsOptions::new()).expect("a volume");
    let mut bytes = Vec::new();
    let mut file = files.root_dir().open_file("folder/file").expect("there");
    std::io::Read::read_to_end(&mut file, &mut bytes).expect("readable");
    let mut expected = vec![8; 70_000];
    expected[1_000..4_000].fill(9);
    assert!(bytes == expected);
}

#[test]
fn a_file_grows_over_what_was_freed_by_more_than_the_journal_has_room_for() {
    let (device, mut tree) = Memory::mounted_anew(64);
    // Of 60 MiB, so that most of what comes next must lie where this was.
    let file = create_file(&mut tree, "big", b"big");
    tree.open(file).expect("a file");
    for at in 0..50 {
        tree.write(file, at << 20, &vec![7; 1 << 20]).expect("room");
    }
    tree.sync().expect("power");
    let set = |tree: &mut Tree<Memory>, bytes| tree.set(file, Changes { bytes: Some(bytes), ..Changes::default() });
    set(&mut tree, 0).expect("power");
    set(&mut tree, 20 << 20).expect("room");
    // The same by a write far behind the end.
    tree.write(file, 30 << 20, b"far").expect("room");
    tree.sync().expect("the journal has room");
    let expected = [vec![0; 30 << 20], b"far".to_vec()].concat();
    assert!(tree.read(file, 0, 1 << 26).expect("readable") == expected);
    let refused = set(&mut tree, 1 << 30).expect_err("too much");
    assert!(matches!(refused, FileError::Fat(FatError::Full)), "{refused}");
    assert_eq!(tree.attributes(file).expect("there").bytes, (30 << 20) + 3);
    tree.unmount().expect("power");
    let mut tree = device.mounted();
    let file = tree.lookup(ROOT, "big").expect("there").number;
    assert!(tree.read(file, 0, 1 << 26).expect("readable") == expected);
}

#[test]
fn what_another_system_called_like_hidden_files_is_seen_and_kept_and_no_open_file_is_found_by_its_short_name() {
    let (device, mut tree) = Memory::mounted_anew(24);
    tree.create_folder(ROOT, "inner").expect("room");
    tree.unmount().expect("power");
    let mut disk = Cursor::new(device.content());
    let volume = FileSystem::new(&mut disk, FsOptions::new()).expect("a volume");
    let root = volume.root_dir();
    let names = [".FTLKIT-REMOVED-1", ".ftlkit-removed-by me", "inner/.ftlkit-removed-2"];
    for name in names {
        root.create_file(name).expect("room");
    }
    root.create_dir(".ftlkit-removed-3").expect("room").create_file("inside").expect("room");
    root.create_file(".ftlkit-removed-4").expect("room");
    drop(root);
    drop(volume);
    let mut device = Memory::formatted(24);
    mount::Device::write(&mut device, 0, disk.into_inner().into(), ftl::Hint::NONE).expect("power");
    let mut tree = device.mounted();
    for name in [names[0], names[1], ".ftlkit-removed-3"] {
        tree.lookup(ROOT, name).expect(name);
    }
    let folder = tree.lookup(ROOT, "inner").expect("a folder").number;
    assert_eq!(tree.list(folder).expect("readable").len(), 1);
    assert!(matches!(tree.lookup(ROOT, ".ftlkit-removed-4"), Err(FileError::NotFound)), "left over");
    let open = create_file(&mut tree, "open.txt", b"kept");
    tree.open(open).expect("a file");
    tree.remove(ROOT, "open.txt").expect("there");
    assert_eq!(tree.read(open, 0, 9).expect("readable"), b"kept");
    let listed = tree.list(ROOT).expect("readable");
    assert_eq!(listed.len(), 4, "{listed:?}");
    for alias in ["FTLKIT~1", "FTLKIT~2", "FTLKIT~3", "FTLKIT~4", ".ftlkit-removed-2"] {
        if let Ok(entry) = tree.lookup(ROOT, alias) {
            assert_ne!(entry.number, open, "{alias}");
        }
    }
    tree.remove(ROOT, names[0]).expect("it is an ordinary file");
}

#[test]
fn hidden_names_are_hidden_in_capitals_too() {
    let (_device, mut tree) = Memory::mounted_anew(24);
    for name in [".ftlkit-removed-1", ".FTLKIT-Removed-1"] {
        assert!(matches!(tree.create(ROOT, name, false), Err(FileError::Fat(FatError::BadName))), "{name}");
    }
    let file = create_file(&mut tree, "open.txt", b"kept");
    tree.open(file).expect("a file");
    tree.remove(ROOT, "open.txt").expect("there");
    assert_eq!(tree.read(file, 0, 9).expect("readable"), b"kept");
}

/// Tags on flash keep numbers of types, so a number means the same type after every mount.
#[test]
fn numbers_of_types_are_kept_with_the_volume() {
    let device = Memory::formatted(24);
    let number_of = |tree: &mut Tree<Memory>, name: &str| {
        create_file(tree, name, &[1; 5_000]);
        device.state().written.clear();
        tree.sync().expect("power");
        let numbers: std::collections::BTreeSet<u8> =
            device.state().written.iter().map(|(_, _, hint)| hint.file_type()).filter(|&number| number > 0).collect();
        assert_eq!(numbers.len(), 1, "{name}: {numbers:?}");
        numbers.first().copied()
    };
    let mut tree = device.mounted();
    let before = ["a.db", "b.jpg"].map(|name| number_of(&mut tree, name));
    tree.unmount().expect("power");
    drop(tree);
    let mut tree = device.mounted();
    let new = number_of(&mut tree, "c.txt");
    assert!(!before.contains(&new));
    // Killed, with what was safe.
    drop(tree);
    device.restart();
    let mut tree = device.mounted();
    let after = ["d.txt", "e.jpg", "f.db"].map(|name| number_of(&mut tree, name));
    assert_eq!(after, [new, before[1], before[0]]);
}

#[test]
fn data_of_a_renamed_file_get_its_new_type() {
    let (device, mut tree) = Memory::mounted_anew(24);
    create_file(&mut tree, "old.jpg", &[1; 5_000]);
    create_file(&mut tree, "film.part", &[2; 9_000]);
    tree.sync().expect("power");
    let of_type = |device: &Memory| device.state().written.iter().map(|(_, _, hint)| hint.file_type()).max();
    tree.rename((ROOT, "film.part"), (ROOT, "film.jpg"), true).expect("free");
    let renamed = std::mem::take(&mut device.state().renamed);
    let [((offset, length), jpg)] = renamed[..] else { panic!("{renamed:?}") };
    assert!(offset > 0 && length >= 8_192, "{renamed:?}");
    tree.rename((ROOT, "film.jpg"), (ROOT, "Film.JPG"), true).expect("free");
    assert!(device.state().renamed.is_empty(), "the type is the same");
    // What waits in RAM goes to the device with the type that it has then.
    let part = create_file(&mut tree, "new.part", &[3; 4_096]);
    tree.rename((ROOT, "new.part"), (ROOT, "new.jpg"), true).expect("free");
    device.state().written.clear();
    tree.sync().expect("power");
    assert_eq!(of_type(&device), Some(jpg));
    device.state().renamed.clear();
    tree.set(part, Changes { is_read_only: Some(true), ..Changes::default() }).expect("a file");
    assert_eq!(device.state().renamed.len(), 1, "read-only files are a type");
}
