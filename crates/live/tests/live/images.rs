//! Images that are not what they should be: said in words, never a panic, and what is intact stays
//! readable.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::common::{Client, TRIM, create, create_on, new_image, options, serve, small_device};
use ftl::Stack;
use live::{ControlRequest, FailureName, FaultRequest, Image, Server, call};
use random::SeededRng;
use rustix::fs::{CWD, FileType, Mode, mknodat};

/// Every page of the device holds its own number.
fn fill(image: &Path) {
    let server = serve(image);
    let mut client = Client::connect(image).expect("a connection");
    for page in 0..1024_u64 {
        assert_eq!(client.write(page * 4096, &[page as u8; 4096]), 0);
    }
    assert_eq!(client.flush(), 0);
    drop(client);
    server.stop().expect("a clean stop");
}

/// Pages that do not hold their number: those that cannot be read, and those that hold something
/// else.
fn wrong_pages(image: &Path) -> (usize, usize) {
    let mut client = Client::connect(image).expect("a connection");
    let (mut unreadable, mut others) = (0, 0);
    for page in 0..1024_u64 {
        match client.read(page * 4096, 4096) {
            Ok(data) if data == [page as u8; 4096] => {}
            Ok(_) => others += 1,
            Err(_) => unreadable += 1,
        }
    }
    (unreadable, others)
}

fn flip(image: &Path, offset: u64, mask: u8) {
    let file = OpenOptions::new().read(true).write(true).open(image).expect("the image");
    let mut byte = [0];
    file.read_exact_at(&mut byte, offset).expect("a byte");
    file.write_all_at(&[byte[0] ^ mask], offset).expect("written");
}

/// Where data begin, by docs/format.md: what lies before them lies behind them once more.
fn data_offset(image: &Path) -> u64 {
    let info = live::info(image).expect("an image");
    (info.file_bytes - info.physical_bytes) / 2
}

#[test]
fn a_truncated_image_is_refused_with_advice_and_what_is_left_can_be_read() {
    let (_folder, image) = new_image("page");
    fill(&image);
    let file = OpenOptions::new().write(true).open(&image).expect("the image");
    let length = file.metadata().expect("a length").len();
    let data = data_offset(&image);
    file.set_len(data + (length - data) / 2).expect("truncated");
    let refused = Server::start(&options(&image)).err().expect("refused").to_string();
    assert!(refused.contains("truncated") && refused.contains("--accept-damage"), "{refused}");
    let report = live::check(&image).expect("an image");
    assert!(!report.is_sound && report.problems[0].contains("truncated"), "{:?}", report.problems);
    let server = Server::start(&live::ServeOptions { accept_damage: true, ..options(&image) }).expect("served");
    let (unreadable, others) = wrong_pages(&image);
    assert_eq!((unreadable as u64, others), (report.unreadable_count, 0));
    assert!(unreadable > 0 && unreadable < 1024, "{unreadable}");
    drop(server);
}

#[test]
fn a_flipped_bit_of_data_costs_one_page() {
    let (_folder, image) = new_image("fast");
    fill(&image);
    flip(&image, data_offset(&image) + 17 * 4096 + 100, 4);
    let report = live::check(&image).expect("an image");
    assert!(!report.is_sound && report.unreadable_count == 1, "{report:?}");
    assert!(report.problems[0].contains("checksum"), "{:?}", report.problems);
    let server = serve(&image);
    assert_eq!(wrong_pages(&image), (1, 0));
    let mut client = Client::connect(&image).expect("a connection");
    let page = u64::from(report.unreadable_pages[0]);
    assert_eq!(client.write(page * 4096, &[page as u8; 4096]), 0);
    assert_eq!(wrong_pages(&image), (0, 0));
    drop(client);
    drop(server);
}

/// A summary still says whose page that was, so the map leads to it, though its tag is gone.
#[test]
fn a_page_that_decayed_is_all_that_the_check_finds_of_a_device_with_summaries() {
    for ftl in ["page:checkpoint=summaries", "dftl:cmt=1KiB:checkpoint=summaries"] {
        let (_folder, image) = new_image(ftl);
        fill(&image);
        for decayed in 1..4 {
            let server = serve(&image);
            let mut client = Client::connect(&image).expect("a connection");
            let page = decayed * 100;
            // Now the map in RAM knows where it lies, and the next operation is its read.
            assert_eq!(client.read(page * 4096, 4096), Ok(vec![page as u8; 4096]), "{ftl}");
            let fails = FaultRequest::At { kind: FailureName::ReadFails, after: 0 };
            call(&image, &ControlRequest::Fault(fails)).expect("planned");
            assert!(client.read(page * 4096, 4096).is_err(), "{ftl}");
            drop(client);
            server.stop().expect("a clean stop");
            let report = live::check(&image).expect("an image");
            assert_eq!(report.problems, [format!("{decayed} logical pages cannot be read")], "{ftl}");
        }
        // They can be written again, and everything can be collected.
        for _ in 0..2 {
            fill(&image);
            let report = live::check(&image).expect("an image");
            assert!(report.is_sound, "{ftl}: {:?}", report.problems);
        }
    }
}

#[test]
fn the_room_of_what_was_discarded_comes_back() {
    // File systems in memory take holes.
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a folder");
    let image = create(folder.path(), "page");
    fill(&image);
    let room = || live::info(&image).expect("an image").disk_bytes;
    let valid = || {
        let stat = live::call(&image, &ControlRequest::Stat).expect("served");
        let stat: serde_json::Value = serde_json::from_str(&stat).expect("JSON");
        stat["valid_pages"].as_u64()
    };
    let before = room();
    assert!(before >= 4 << 20, "{before} bytes");
    let server = serve(&image);
    let mut client = Client::connect(&image).expect("a connection");
    assert_eq!(valid(), Some(1024));
    assert_eq!(client.ask(0, TRIM, 0, 4 << 20, &[]), 0);
    assert_eq!(client.flush(), 0);
    assert_eq!(valid(), Some(0));
    drop(client);
    server.stop().expect("a clean stop");
    // What holds nothing needed is erased when the device is switched on.
    serve(&image).stop().expect("a clean stop");
    assert!(room() < before / 4, "{} of {before} bytes", room());
    assert!(live::check(&image).expect("an image").is_sound);
}

#[test]
fn what_is_no_image_is_refused_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let refused = |path: &Path| {
        let (open, check) = (
            Image::open(path, false).err().expect("refused").to_string(),
            live::check(path).expect_err("refused").to_string(),
        );
        assert_eq!(open, check);
        open
    };
    let missing = folder.path().join("missing.img");
    assert!(refused(&missing).contains("ftlkit image create"));
    for (name, content) in [("empty", vec![]), ("text", b"hello".to_vec()), ("zeros", vec![0; 100_000])] {
        let path = folder.path().join(name);
        fs::write(&path, content).expect("written");
        assert!(refused(&path).contains("not a flash image"), "{name}");
    }
    let image = create(folder.path(), "page");
    let last = fs::metadata(&image).expect("the image").len() - 8192;
    for copy in [0, last] {
        OpenOptions::new()
            .write(true)
            .open(&image)
            .expect("the image")
            .write_all_at(&9_u32.to_le_bytes(), copy + 8)
            .expect("written");
    }
    let version = refused(&image);
    assert!(version.contains("version 9") && version.contains("reads version 2"), "{version}");
}

#[test]
fn a_pipe_or_a_folder_in_place_of_an_image_is_refused_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("pipe");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
    for (path, what) in [(pipe.as_path(), "a pipe"), (Path::new("/dev/zero"), "a device"), (folder.path(), "a folder")]
    {
        for refused in [
            Image::open(path, false).err().expect("refused"),
            live::check(path).expect_err("refused"),
            live::info(path).expect_err("refused"),
        ] {
            let refused = refused.to_string();
            assert!(refused.contains(what) && refused.contains("a regular file"), "{refused}");
        }
    }
}

#[test]
fn images_of_unknown_schemes_and_impossible_geometries_are_refused() {
    let (folder, image) = new_image("page");
    for (from, to, part) in [
        (r#""text":"page:"#, r#""text":"qage:"#, "qage"),
        (r#""version":1,"text""#, r#""version":9,"text""#, "stack"),
        (r#""logical_pages":1024"#, r#""logical_pages":0024"#, "header"),
        (r#""logical_pages":1024"#, r#""logical_pages":9999"#, "9999 logical pages"),
        (r#""pages_per_block":16"#, r#""pages_per_block": 0"#, "pages_per_block is 0"),
        ("victim=greedy", "victim=random!", "header"),
        (r#""erase_ns":1500000"#, r#""erase_ns":9000000000000000000"#, "at most 60000000000 ns are possible"),
        (r#""link_bytes_per_s":null"#, r#""link_bytes_per_s":0"#, "at least 1000 bytes per second"),
        (r#""blocks_per_plane":"#, r#""blocks_per_plane":99"#, "tables alone take"),
    ] {
        let mut bytes = fs::read(&image).expect("the image");
        for copy in [0, bytes.len() - 8192] {
            let text_bytes = u32::from_le_bytes(bytes[copy + 12..copy + 16].try_into().expect("four bytes")) as usize;
            let text = String::from_utf8(bytes[copy + 20..copy + 20 + text_bytes].to_vec()).expect("JSON");
            assert!(text.contains(from), "{text}");
            let text = text.replace(from, to);
            bytes[copy + 12..copy + 16].copy_from_slice(&(text.len() as u32).to_le_bytes());
            bytes[copy + 16..copy + 20].copy_from_slice(&crc32c::crc32c(text.as_bytes()).to_le_bytes());
            bytes[copy + 20..copy + 20 + text.len()].copy_from_slice(text.as_bytes());
        }
        let path = folder.path().join("edited.img");
        fs::write(&path, bytes).expect("written");
        let error = Image::open(&path, false).err().expect("refused").to_string();
        assert!(error.contains(part) || part == "header", "{error}");
        assert_eq!(live::check(&path).expect_err("refused").to_string(), error);
    }
}

#[test]
fn an_image_is_never_overwritten_and_a_device_that_does_not_fit_leaves_none() {
    let (folder, image) = new_image("page");
    let device = sim::Device::resolve(&small_device(), 1).expect("a device");
    let again = Image::create(&image, &device, &Stack::of("page")).expect_err("refused").to_string();
    assert!(again.contains("exists"), "{again}");
    let tight = sim::study::DeviceText { spare: Some(0.01), ..small_device() };
    let device = sim::Device::resolve(&tight, 1).expect("a device");
    let path = folder.path().join("tight.img");
    assert!(Image::create(&path, &device, &Stack::of("page")).is_err());
    assert!(!path.exists());
}

#[test]
fn a_scheme_that_must_know_what_comes_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let device = sim::Device::resolve(&small_device(), 1).expect("a device");
    let path = folder.path().join("opt.img");
    let refused = Image::create(&path, &device, &Stack::with("treeftl", [("victims", "opt")])).expect_err("refused");
    assert!(refused.to_string().contains("only a simulated run knows"), "{refused}");
    assert!(!path.exists());
    Image::create(&path, &device, &Stack::of("treeftl")).expect("accepted");
}

#[test]
fn a_device_whose_bits_decay_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let decays = sim::study::DeviceText { bit_errors: Some(sim::study::BitErrorsText::Tlc72l), ..small_device() };
    let device = sim::Device::resolve(&decays, 1).expect("a device");
    let path = folder.path().join("decays.img");
    let refused = Image::create(&path, &device, &Stack::of("page")).expect_err("refused").to_string();
    assert!(refused.contains("bit_errors") && refused.contains("nor when their pages were programmed"), "{refused}");
    assert!(!path.exists());
}

#[test]
fn a_pslc_cache_is_refused_since_images_keep_no_modes() {
    let folder = tempfile::tempdir().expect("a folder");
    let tlc = sim::study::DeviceText { cell: Some(flash::CellType::Tlc), ..small_device() };
    let device = sim::Device::resolve(&tlc, 1).expect("a device");
    let path = folder.path().join("pslc.img");
    for setting in [("pslc_static", "64KiB"), ("pslc_dynamic", "true")] {
        let refused = Image::create(&path, &device, &Stack::with("page", [setting])).expect_err("refused").to_string();
        assert!(refused.contains(setting.0) && refused.contains("an image does not keep which blocks"), "{refused}");
    }
    Image::create(&path, &device, &Stack::of("page")).expect("accepted without a cache");
}

#[test]
fn the_check_calls_a_worn_out_image_sound_and_it_is_served() {
    for ftl in ["page", "fast", "superblock"] {
        let folder = tempfile::tempdir().expect("a folder");
        let device = sim::study::DeviceText { endurance: Some(4), ..small_device() };
        let image = create_on(folder.path(), ftl, &device);
        let contents = wear_out(&image);
        // A recovery erases blocks, and what is worn out fails at that: the second one finds more
        // bad blocks than the first.
        for _ in 0..2 {
            let report = live::check(&image).expect("an image");
            assert!(report.is_sound, "{ftl}: {:?}", report.problems);
            assert_eq!(report.unreadable_count, 0, "{ftl}");
            let server = serve(&image);
            let mut client = Client::connect(&image).expect("a connection");
            for (page, &content) in (0..).zip(&contents) {
                assert_eq!(client.read(page * 4096, 4096), Ok(vec![content; 4096]), "{ftl}, page {page}");
            }
            drop(client);
            server.stop().expect("a clean stop");
        }
    }
}

/// Writes to random pages until the device refuses; what they hold.
fn wear_out(image: &Path) -> Vec<u8> {
    let server = serve(image);
    let mut client = Client::connect(image).expect("a connection");
    let (mut contents, mut rng) = (vec![0; 1024], SeededRng::new(5));
    for writes in 0..100_000_u32 {
        let (page, content) = (rng.below(1024), (writes % 255) as u8 + 1);
        if client.write(page * 4096, &[content; 4096]) != 0 {
            drop(client);
            server.stop().expect("a clean stop");
            return contents;
        }
        contents[page as usize] = content;
    }
    panic!("the flash does not wear out");
}
