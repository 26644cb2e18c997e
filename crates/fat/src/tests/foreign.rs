//! What other systems made, and this one would not.

use super::*;

/// A volume whose root folder has files of these short names and nothing else, in slots one behind
/// the other.
fn with_short_names(shorts: &[&[u8; 11]]) -> Volume<Memory> {
    let mut volume = formatted(17, 1);
    let Root::Fixed { offset, .. } = volume.shape().root else { unreachable!("of 17 MiB") };
    for (at, short) in (offset..).step_by(32).zip(shorts) {
        volume.disk_mut().write(at, &slots::new(short, false, Stamp::default()));
    }
    volume
}

fn names(volume: &mut Volume<Memory>) -> Vec<String> {
    volume.list(Folder::ROOT).expect("readable").into_iter().map(|entry| entry.name).collect()
}

#[test]
fn short_names_beyond_ascii_are_read_in_a_code_page() {
    let shorts: [&[u8; 11]; 4] = [b"\x8E       TXT", b"\x9A       TXT", b"S\xE1      \x80  ", b"\x05\x9B         "];
    let mut volume = with_short_names(&shorts);
    assert_eq!(names(&mut volume), ["Ä.TXT", "Ü.TXT", "Sß.Ç", "σ¢"]);
    for (name, offset) in [("ä.txt", 0), ("ü.TXT", 32), ("sß.ç", 64), ("Σ¢", 96)] {
        let Root::Fixed { offset: root, .. } = volume.shape().root else { unreachable!("of 17 MiB") };
        let entry = volume.find(Folder::ROOT, name).expect("readable").expect(name);
        assert_eq!(entry.id(), root + offset, "{name}");
        let made = volume.create_file(Folder::ROOT, name, Stamp::default());
        assert!(matches!(made, Err(FatError::Exists)), "{name}");
    }
    let second = volume.find(Folder::ROOT, "Ü.TXT").expect("readable").expect("there");
    volume.remove(&second).expect("a file");
    assert_eq!(names(&mut volume), ["Ä.TXT", "Sß.Ç", "σ¢"]);
    let mut volume = with_short_names(&shorts).with_code_page(CodePage::of(850).expect("a known one"));
    assert_eq!(names(&mut volume), ["Ä.TXT", "Ü.TXT", "Sß.Ç", "Õø"]);
    assert!(volume.find(Folder::ROOT, "õØ").expect("readable").is_some());
}

#[test]
fn names_that_are_alike_are_told_apart_and_each_is_found() {
    // é and É of which FAT has one file, and two of the very same name, with which only a damaged
    // folder can come.
    let mut volume = with_short_names(&[b"\x82       TXT", b"\x90       TXT", b"A/B        ", b"A/B        "]);
    let shown = names(&mut volume);
    assert_eq!(shown, ["é.TXT", "É.TXT [slot 1]", "A\u{FFFD}B", "A\u{FFFD}B [slot 3]"]);
    let all = volume.list(Folder::ROOT).expect("readable");
    for (name, entry) in shown.iter().zip(&all) {
        assert_eq!(volume.find(Folder::ROOT, name).expect("readable").expect("there").id(), entry.id(), "{name}");
        for name in [name.clone(), name.to_uppercase()] {
            let made = volume.create_file(Folder::ROOT, &name, Stamp::default());
            assert!(matches!(made, Err(FatError::Exists)), "{name}");
        }
    }
    // Names that were listed are removed one by one, in whatever order.
    for at in [0, 1, 3, 2] {
        let entry = volume.find(Folder::ROOT, &shown[at]).expect("readable").expect("there");
        assert_eq!(entry.id(), all[at].id(), "{}", shown[at]);
        volume.remove(&entry).expect("a file");
    }
    assert!(names(&mut volume).is_empty());
    let mut volume = with_short_names(&[b"\x82          ", b"\x90          "]);
    let second = volume.find(Folder::ROOT, "É [slot 1]").expect("readable").expect("there");
    let moved = volume.rename(&second, Folder::ROOT, "other").expect("room");
    assert_eq!((names(&mut volume), moved.name.as_str()), (vec!["é".into(), "other".into()], "other"));
}

#[test]
fn a_long_name_is_found_before_a_short_one_that_is_alike() {
    let mut volume = formatted(17, 1);
    let first = volume.create_file(Folder::ROOT, "étude for two.text", Stamp::default()).expect("room");
    assert_eq!(first.slot[..11], *b"\x90TUDEF~1TEX");
    // Another system has a file of the same short name in lower case.
    let Root::Fixed { offset, .. } = volume.shape().root else { unreachable!("of 17 MiB") };
    volume.disk_mut().write(offset + 32 * 10, &slots::new(b"\x82TUDEF~1TEX", false, Stamp::default()));
    (3..10).for_each(|slot| volume.disk_mut().write(offset + 32 * slot, &[slots::GONE]));
    let all = volume.list(Folder::ROOT).expect("readable");
    assert_eq!(all[1].name, "éTUDEF~1.TEX");
    for entry in &all {
        assert_eq!(volume.find(Folder::ROOT, &entry.name).expect("readable").expect("there").id(), entry.id());
    }
}

/// A boot sector as `mkfs.vfat -F 32 -S BYTES` makes it, and the beginning of its tables.
fn small_fat32(sector: usize, sectors: u32, table_sectors: u32) -> Memory {
    let mut disk = Memory::new(u64::from(sectors) * sector as u64);
    let mut boot = [0; 512];
    for (field, value) in [
        (boot::SECTOR_BYTES, sector as u32),
        (boot::SECTORS_PER_CLUSTER, 1),
        (boot::RESERVED_SECTORS, 32),
        (boot::TABLES, 2),
        (boot::MEDIA, 0xF8),
        (boot::SECTORS_32, sectors),
        (boot::TABLE_SECTORS_32, table_sectors),
        (boot::ROOT_CLUSTER, 2),
    ] {
        field.write(&mut boot, value);
    }
    boot[510..].copy_from_slice(&boot::SIGNATURE);
    disk.write(0, &boot);
    for copy in 0..2 {
        let table = (32 + copy * u64::from(table_sectors)) * sector as u64;
        disk.write(table, &[0xF8, 0xFF, 0xFF, 0x0F, 0xFF, 0xFF, 0xFF, 0x0F, 0xFF, 0xFF, 0xFF, 0x0F]);
    }
    disk
}

#[test]
fn fat32_with_few_clusters_is_served() {
    for (sector, sectors, table_sectors) in [(512, 65_536, 504), (2_048, 32_768, 64), (512, 8_000, 64)] {
        let mut volume = Volume::open(small_fat32(sector, sectors, table_sectors)).expect("a volume");
        assert_eq!(volume.shape().kind, Kind::Fat32, "{sectors} sectors of {sector}");
        let folder = volume.create_folder(Folder::ROOT, "a folder", Stamp::default()).expect("room");
        for i in 0..40 {
            let name = format!("file {i}");
            let at = folder.folder().expect("a folder");
            let mut file = volume.create_file(at, &name, Stamp::default()).expect("room");
            fill(&mut volume, &mut file, &vec![i; 3_000]).expect("room");
        }
        check(&mut volume);
        let copies: Vec<_> = (0..2)
            .map(|copy| {
                let start = (32 + copy * table_sectors as usize) * sector;
                &volume.disk().pages.as_flattened()[start..start + table_sectors as usize * sector]
            })
            .collect();
        assert!(copies[0] == copies[1], "both tables");
    }
}

#[test]
fn what_cannot_be_served_is_refused_for_its_true_reason() {
    let refused = |change: &dyn Fn(&mut Memory)| {
        let mut disk = small_fat32(512, 65_536, 504);
        change(&mut disk);
        Volume::open(disk).map(drop).expect_err("no volume").to_string()
    };
    let root = refused(&|disk| disk.write(22, &[4, 1]));
    assert!(root.contains("no root folder"), "{root}");
    let few =
        refused(&|disk| [(22, [200, 0]), (17, [0, 2]), (13, [32, 32])].iter().for_each(|(at, to)| disk.write(*at, to)));
    assert!(few.contains("FAT12") && !few.contains("no FAT"), "{few}");
    let many = refused(&|disk| disk.write(16, &[4]));
    assert!(many.contains("a FAT file system that is not served: it has 4 allocation tables"), "{many}");
    let none = refused(&|disk| disk.write(36, &[0; 4]));
    assert!(none.contains("no room"), "{none}");
}
