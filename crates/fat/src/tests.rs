//! Whole volumes, held against another implementation: what one writes the other reads.

use std::collections::BTreeMap;
use std::io::{self, Cursor, Read, Write};

use fatfs::{FileSystem, FsOptions};
use random::SeededRng;

use super::*;

mod foreign;

/// A disk in memory, which counts what is freed.
struct Memory {
    pages: Vec<Page>,
    freed: u64,
}

impl Memory {
    fn new(bytes: u64) -> Self {
        Self { pages: vec![[0; PAGE_BYTES]; bytes as usize / PAGE_BYTES], freed: 0 }
    }

    fn from(bytes: &[u8]) -> Self {
        Self { pages: bytes.as_chunks().0.to_vec(), freed: 0 }
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) {
        self.pages.as_flattened_mut()[offset as usize..][..bytes.len()].copy_from_slice(bytes);
    }
}

impl Disk for Memory {
    fn bytes(&self) -> u64 {
        self.pages.as_flattened().len() as u64
    }

    fn page(&mut self, page: u64) -> io::Result<&Page> {
        Ok(&self.pages[page as usize])
    }

    fn page_mut(&mut self, page: u64) -> io::Result<&mut Page> {
        Ok(&mut self.pages[page as usize])
    }

    fn new_page(&mut self, page: u64) -> io::Result<&mut Page> {
        self.pages[page as usize].fill(0);
        Ok(&mut self.pages[page as usize])
    }

    fn freed(&mut self, _offset: u64, bytes: u64) {
        self.freed += bytes;
    }
}

fn formatted(megabytes: u64, tables: u32) -> Volume<Memory> {
    let mut disk = Memory::new(megabytes << 20);
    format(&mut disk, FormatOptions { bytes: megabytes << 20, tables, serial: 7 }).expect("fits");
    Volume::open(disk).expect("formatted")
}

/// Writes a whole file.
fn fill(volume: &mut Volume<Memory>, entry: &mut Entry, bytes: &[u8]) -> Result<(), FatError> {
    let mut chain = volume.chain(entry)?;
    volume.resize(entry, &mut chain, bytes.len() as u64)?;
    let mut left = bytes;
    for (offset, length) in volume.ranges(&chain, 0, bytes.len() as u64) {
        let (part, rest) = left.split_at(length as usize);
        volume.disk_mut().write(offset, part);
        left = rest;
    }
    assert!(left.is_empty());
    volume.update(entry)
}

/// All files of a folder with their contents, and all folders, as the other implementation finds
/// them.
fn seen_by_fatfs(disk: &Memory) -> BTreeMap<String, Option<Vec<u8>>> {
    let files = FileSystem::new(Cursor::new(disk.pages.as_flattened().to_vec()), FsOptions::new()).expect("a volume");
    let mut all = BTreeMap::new();
    let mut folders = vec![(String::new(), files.root_dir())];
    while let Some((path, folder)) = folders.pop() {
        for entry in folder.iter().map(|entry| entry.expect("readable")) {
            let name = format!("{path}/{}", entry.file_name());
            if entry.is_dir() && ![".", ".."].contains(&entry.file_name().as_str()) {
                folders.push((name.clone(), entry.to_dir()));
                all.insert(name, None);
            } else if entry.is_file() {
                let mut bytes = Vec::new();
                entry.to_file().read_to_end(&mut bytes).expect("readable");
                all.insert(name, Some(bytes));
            }
        }
    }
    all
}

/// Every cluster is free, or part of one chain; folders name the folder above them.
fn check(volume: &mut Volume<Memory>) {
    let mut used = BTreeMap::new();
    let mut folders = vec![Folder::ROOT];
    if let Root::Cluster(root) = volume.shape().root {
        folders.push(Folder(root));
    }
    while let Some(folder) = folders.pop() {
        let shape = *volume.shape();
        if folder != Folder::ROOT {
            let own = table::Table::chain(volume.disk_mut(), &shape, folder.0).expect("a chain");
            own.clusters.iter().for_each(|&cluster| assert_eq!(used.insert(cluster, folder.0), None));
            if shape.root == Root::Cluster(folder.0) {
                continue;
            }
        }
        for entry in volume.list(folder).expect("readable") {
            if let Some(inner) = entry.folder() {
                folders.push(inner);
                let above: [u8; 32] = disk::read(volume.disk_mut(), shape.cluster(inner.0) + 32).expect("in memory");
                assert_eq!(u32::from(above[26]) | u32::from(above[27]) << 8, folder.0 & 0xFFFF, "{}", entry.name);
                continue;
            }
            let chain = volume.chain(&entry).expect("a chain");
            assert_eq!(chain.len(), volume.shape().clusters_of(entry.bytes.into()), "{}", entry.name);
            chain.clusters.iter().for_each(|&cluster| assert_eq!(used.insert(cluster, 0), None));
        }
    }
    assert_eq!(used.len() as u32 + volume.free_clusters(), volume.shape().clusters);
    let shape = *volume.shape();
    let counted = table::Table::count(volume.disk_mut(), &shape).expect("in memory").free;
    assert_eq!(counted, volume.free_clusters());
}

const NAMES: [&str; 8] =
    [".git", "Makefile", "a long name of a file.text", "A LONG NAME OF A FOLDER", "x", "y.c", "Ünïcode.txt", "~1"];

/// Random files and folders are made, written, renamed and removed; a map of paths says what there
/// must be.
#[test]
fn what_is_written_the_other_implementation_reads() {
    for (megabytes, tables, seed) in [(17, 1, 1), (20, 2, 2), (300, 1, 3)] {
        let (mut volume, mut rng) = (formatted(megabytes, tables), SeededRng::new(seed));
        let mut below = |limit: usize| rng.below(limit as u64) as usize;
        let mut model: BTreeMap<String, Option<Vec<u8>>> = BTreeMap::new();
        // Folders, with their paths.
        let mut folders = vec![(String::new(), Folder::ROOT)];
        for step in 0..1_500 {
            let (path, folder) = folders[below(folders.len())].clone();
            let name = format!("{}{}", NAMES[below(NAMES.len())], below(12));
            let full = format!("{path}/{name}");
            let entry = volume.find(folder, &name.to_uppercase()).expect("readable");
            assert_eq!(entry.is_some(), model.contains_key(&full), "{full}");
            let now = Stamp::of_unix(1_700_000_000 + step);
            match (entry, below(5)) {
                (None, 0) if folders.len() < 12 => {
                    let made = volume.create_folder(folder, &name, now).expect("room");
                    folders.push((full.clone(), made.folder().expect("a folder")));
                    model.insert(full, None);
                }
                (None, _) => {
                    let mut made = volume.create_file(folder, &name, now).expect("room");
                    let bytes = vec![step as u8; below(20_000)];
                    fill(&mut volume, &mut made, &bytes).expect("room");
                    model.insert(full, Some(bytes));
                }
                (Some(entry), _) if entry.is_folder() => {
                    let result = volume.remove(&entry);
                    let is_empty = !model.keys().any(|other| other.starts_with(&format!("{full}/")));
                    assert_eq!(result.is_ok(), is_empty, "{full} {result:?}");
                    if is_empty {
                        model.remove(&full);
                        folders.retain(|(path, _)| *path != full);
                    }
                }
                (Some(entry), 0) => {
                    volume.remove(&entry).expect("a file");
                    model.remove(&full);
                }
                (Some(mut entry), 1) => {
                    let bytes = vec![step as u8; below(20_000)];
                    fill(&mut volume, &mut entry, &bytes).expect("room");
                    model.insert(full, Some(bytes));
                }
                (Some(entry), _) => {
                    let (path, to) = folders[below(folders.len())].clone();
                    let name = format!("moved {step}");
                    let moved = volume.rename(&entry, to, &name).expect("room");
                    assert_eq!((moved.bytes, moved.cluster), (entry.bytes, entry.cluster));
                    let content = model.remove(&full).expect("was there");
                    model.insert(format!("{path}/{name}"), content);
                }
            }
        }
        check(&mut volume);
        assert_eq!(seen_by_fatfs(volume.disk()), model, "{megabytes} MiB");
        assert!(model.len() > 50 && volume.disk().freed > 0);
    }
}

#[test]
fn what_the_other_implementation_writes_is_read() {
    for megabytes in [20, 300] {
        let mut disk = Cursor::new(vec![0_u8; megabytes << 20]);
        fatfs::format_volume(&mut disk, fatfs::FormatVolumeOptions::new()).expect("formats");
        {
            let files = FileSystem::new(&mut disk, FsOptions::new()).expect("a volume");
            let folder = files.root_dir().create_dir("A folder").expect("room");
            for i in 0..100 {
                let mut file = folder.create_file(&format!("File number {i}.txt")).expect("room");
                file.write_all(&vec![i as u8; 100 * i]).expect("room");
            }
        }
        let mut volume = Volume::open(Memory::from(disk.get_ref())).expect("a volume");
        let folder = volume.find(Folder::ROOT, "a FOLDER").expect("readable").and_then(|entry| entry.folder());
        let all = volume.list(folder.expect("there")).expect("readable");
        // Its first two entries have long names, which is not usual.
        let all: Vec<_> = all.iter().filter(|entry| !entry.is_folder()).collect();
        assert_eq!(all.len(), 100);
        for (i, entry) in all.into_iter().enumerate() {
            assert_eq!((entry.name.as_str(), entry.bytes), (format!("File number {i}.txt").as_str(), 100 * i as u32));
            let chain = volume.chain(entry).expect("a chain");
            let mut bytes = Vec::new();
            for (offset, length) in volume.ranges(&chain, 0, entry.bytes.into()) {
                bytes.extend_from_slice(&volume.disk().pages.as_flattened()[offset as usize..][..length as usize]);
            }
            assert_eq!(bytes, vec![i as u8; 100 * i]);
        }
    }
}

#[test]
fn a_file_in_place_of_another_frees_that_one_and_keeps_one_name() {
    let mut volume = formatted(17, 1);
    let free = volume.free_clusters();
    let now = Stamp::of_unix(1_800_000_000);
    let mut old = volume.create_file(Folder::ROOT, "Target.db", now).expect("room");
    fill(&mut volume, &mut old, &[1; 9_000]).expect("room");
    let mut new = volume.create_file(Folder::ROOT, "target.db.lock", now).expect("room");
    fill(&mut volume, &mut new, &[2; 5_000]).expect("room");
    let there = volume.replace(&old, &new).expect("a file");
    assert_eq!((there.name.as_str(), there.bytes, there.id()), ("Target.db", 5_000, old.id()));
    check(&mut volume);
    assert_eq!(volume.free_clusters(), free - 2);
    assert_eq!(seen_by_fatfs(volume.disk()), [("/Target.db".to_owned(), Some(vec![2; 5_000]))].into());
    // Upper and lower case alone may change as well.
    let there = volume.rename(&there, Folder::ROOT, "TARGET.DB").expect("its own name");
    assert_eq!(volume.list(Folder::ROOT).expect("readable"), [there]);
}

#[test]
fn a_volume_that_is_full_says_so_and_stays_whole() {
    let mut volume = formatted(17, 1);
    let now = Stamp::default();
    let mut big = volume.create_file(Folder::ROOT, "big", now).expect("room");
    let mut chain = volume.chain(&big).expect("none");
    let bytes = u64::from(volume.free_clusters()) * 4096;
    assert!(matches!(volume.resize(&mut big, &mut chain, bytes + 1), Err(FatError::Full)));
    assert!(matches!(volume.resize(&mut big, &mut chain, MOST_FILE_BYTES + 1), Err(FatError::LongFile)));
    assert!(chain.is_empty() && big.bytes == 0);
    volume.resize(&mut big, &mut chain, bytes - 4096).expect("nearly all");
    volume.update(&big).expect("in memory");
    assert!(matches!(volume.create_folder(Folder::ROOT, "folder", now), Err(FatError::Full)));
    let made = (0..1_000).map(|i| volume.create_file(Folder::ROOT, &format!("n{i}"), now)).find_map(Result::err);
    assert!(matches!(made, Some(FatError::RootFull)), "{made:?}");
    check(&mut volume);
    assert!(matches!(volume.create_file(Folder::ROOT, "BIG", now), Err(FatError::Exists)));
    volume.resize(&mut big, &mut chain, 0).expect("shorter");
    volume.update(&big).expect("in memory");
    check(&mut volume);
}

#[test]
fn sizes_of_all_kinds_are_formatted_and_others_refused() {
    for (megabytes, kind) in
        [(17, Kind::Fat16), (255, Kind::Fat16), (256, Kind::Fat16), (258, Kind::Fat32), (300, Kind::Fat32)]
    {
        let mut volume = formatted(megabytes, 2);
        assert_eq!((volume.shape().kind, volume.shape().is_paged()), (kind, true), "{megabytes} MiB");
        assert!(
            u64::from(volume.free_clusters()) * u64::from(volume.shape().cluster_bytes) > (megabytes << 20) / 100 * 98
        );
        volume.set_in_use(true).expect("in memory");
        volume.write_free().expect("in memory");
        assert!(volume.is_in_use().expect("in memory"));
        let files = FileSystem::new(Cursor::new(volume.disk().pages.as_flattened().to_vec()), FsOptions::new());
        let files = files.expect("a volume");
        assert!(files.read_status_flags().expect("readable").dirty());
        assert_eq!(files.stats().expect("readable").free_clusters(), volume.free_clusters());
        check(&mut volume);
    }
    let refused = format(&mut Memory::new(16 << 20), FormatOptions { bytes: 16 << 20, tables: 1, serial: 0 });
    assert!(refused.expect_err("too small").to_string().contains("17825792"));
}

/// Bytes of the boot sector, the tables and folders are changed at random: there may be errors, but
/// nothing else.
#[test]
fn damaged_volumes_are_errors() {
    let mut rng = SeededRng::new(5);
    let mut below = |limit: usize| rng.below(limit as u64) as usize;
    let mut whole = formatted(17, 1);
    for i in 0..40 {
        let folder = whole.create_folder(Folder::ROOT, &format!("a folder {i}"), Stamp::default()).expect("room");
        let mut file = whole.create_file(folder.folder().expect("one"), "file", Stamp::default()).expect("room");
        fill(&mut whole, &mut file, &[1; 10_000]).expect("room");
    }
    let mut refused = 0;
    for _ in 0..100 {
        let mut disk = Memory { pages: whole.disk().pages.clone(), freed: 0 };
        for _ in 0..20 {
            let page = [0, 0, 1, 8, 9, 10, 12, 14][below(8)];
            let at = if page == 0 { below(64) } else { below(600) };
            disk.pages[page][at] = below(256) as u8;
        }
        let Ok(mut volume) = Volume::open(disk) else {
            refused += 1;
            continue;
        };
        let all = volume.list(Folder::ROOT).unwrap_or_default();
        for entry in all {
            if let Some(folder) = entry.folder() {
                let _ = volume.list(folder).map(|inner| inner.iter().map(|entry| volume.chain(entry).is_ok()).count());
            }
            let _ = volume.remove(&entry);
        }
        let _ = volume.create_file(Folder::ROOT, "new", Stamp::default());
    }
    assert!(refused > 10 && refused < 100, "{refused}");
}
