//! Devices that cannot be written to, or whose first recovery is cut short: what is on them is
//! read.

use std::fs;
use std::path::Path;

use crate::common::{
    BLOCK_STATUS, Client, FUA, READ, TRIM, WRITE, WRITE_ZEROES, create, cut, lasting, new_image, options, schemes,
    serve,
};
use flash::{Fault, FaultPlan, Tear};
use live::{DriveOptions, Image, LiveDrive, Piece, ServeOptions, Server};

const EPERM: u32 = 1;
const PAGES: u64 = 1024;

/// Every page of the device holds its own number, some of them written twice; nothing is stopped in
/// good order.
fn used(folder: &Path, scheme: &str) -> std::path::PathBuf {
    let image = create(folder, scheme);
    let _server = serve(&image);
    let mut client = Client::connect(&image).expect("a connection");
    for page in (0..PAGES).chain((0..PAGES).step_by(3)) {
        assert_eq!(client.ask(lasting(scheme), WRITE, page * 4096, 4096, &[page as u8; 4096]), 0);
    }
    assert_eq!(client.flush(), 0);
    image
}

fn assert_whole(client: &mut Client, scheme: &str) {
    for page in 0..PAGES {
        assert_eq!(client.read(page * 4096, 4096), Ok(vec![page as u8; 4096]), "{scheme}: page {page}");
    }
}

#[test]
fn an_image_that_is_only_read_shows_everything_and_stays_as_it_was() {
    for scheme in schemes() {
        let folder = tempfile::tempdir().expect("a folder");
        let image = used(folder.path(), scheme);
        let before = fs::read(&image).expect("the image");
        let server = Server::start(&ServeOptions { read_only: true, ..options(&image) }).expect("a server");
        assert!(server.ready().is_read_only);
        let mut client = Client::connect(&image).expect("a connection");
        assert_eq!(client.flags & 2, 2, "{scheme}: NBD_FLAG_READ_ONLY");
        assert_whole(&mut client, scheme);
        for (flags, kind) in [(0, WRITE), (FUA, WRITE), (0, TRIM), (0, WRITE_ZEROES)] {
            let data = vec![1; if kind == WRITE { 4096 } else { 0 }];
            assert_eq!(client.ask(flags, kind, 0, 4096, &data), EPERM, "{scheme}: {kind}");
        }
        assert_eq!(client.flush(), 0, "{scheme}: there is nothing to flush, and that is fine");
        // A simulated power cut happens in memory as well.
        cut(&image);
        let mut client = Client::connect(&image).expect("after the cut");
        assert_whole(&mut client, scheme);
        drop(client);
        server.stop().expect("a clean stop");
        assert!(fs::read(&image).expect("the image") == before, "{scheme}: the image was changed");
    }
}

#[test]
fn a_cut_that_falls_into_the_first_recovery_is_recovered_from() {
    for scheme in schemes() {
        let folder = tempfile::tempdir().expect("a folder");
        let image = used(folder.path(), scheme);
        let cuts = [0, 1, 5, 40, 41, 300, 900].map(|operation| (operation, Fault::Cut(Tear::Torn)));
        let plan = FaultPlan { at: cuts.into_iter().collect() };
        for read_only in [true, false] {
            let opened = Image::open(&image, read_only).expect("an image");
            let options = DriveOptions { plan: plan.clone(), ..DriveOptions::default() };
            let mut drive = LiveDrive::start(opened, options).unwrap_or_else(|error| panic!("{scheme}: {error}"));
            for page in 0..PAGES {
                let pieces = drive.read(page * 4096, 4096).expect("readable");
                let mut data = [0; 4096];
                Piece::gather(&pieces, &mut data);
                assert_eq!(data, [page as u8; 4096], "{scheme}: page {page}");
            }
            assert_eq!(drive.faults_to_come(), 0, "{scheme}: the start is that long");
            drive.stop().expect("a clean stop");
        }
    }
}

/// A trim that no flush followed may be forgotten in a power cut. Then the page is no hole.
#[test]
fn after_a_power_cut_no_page_with_data_is_told_as_a_hole() {
    let mut came_back = 0;
    for scheme in schemes() {
        let folder = tempfile::tempdir().expect("a folder");
        let image = used(folder.path(), scheme);
        let _server = serve(&image);
        let mut client = Client::connect(&image).expect("a connection");
        assert_eq!(client.ask(0, TRIM, 100 * 4096, 200 * 4096, &[]), 0);
        assert_eq!(client.status(100 * 4096, 200 * 4096), [(200 * 4096, 3)], "{scheme}");
        cut(&image);
        let mut client = Client::connect(&image).expect("after the cut");
        let mut at = 0;
        while at < PAGES * 4096 {
            client.send(0, BLOCK_STATUS, at, (PAGES * 4096 - at) as u32, &[]).expect("sent");
            let (_, error, runs) = client.receive(&mut [], 0).expect("a reply");
            assert_eq!(error, 0);
            for (length, flags) in runs {
                let mut data = vec![1; length as usize];
                client.send(0, READ, at, length, &[]).expect("sent");
                assert_eq!(client.receive(&mut data, at).expect("a reply").1, 0);
                assert!(flags == 0 || data.iter().all(|&byte| byte == 0), "{scheme}: a hole at {at} holds data");
                at += u64::from(length);
            }
        }
        came_back += u32::from(client.read(150 * 4096, 4096).expect("readable") == [150; 4096]);
    }
    assert!(came_back > 0, "no trim was ever forgotten: nothing was tried");
}

/// Bytes that the flash does not take are read, and told as data, in their places, also after a
/// power cut; nothing is written from then on.
#[test]
fn what_is_shown_is_read_in_its_place() {
    let (_folder, image) = new_image("page");
    let server = Server::start_prepared(&options(&image), |drive| {
        drive.write(3 * 4096, &vec![9; 4096].into()).expect("room");
        drive.show(3 * 4096 + 100, &[5; 8000]).expect("power");
        Ok(Some("a finding".into()))
    })
    .expect("a server");
    assert!(server.ready().findings.contains(&"a finding".into()));
    let mut expected = vec![0; 3 * 4096];
    expected[..4096].fill(9);
    expected[100..8100].fill(5);
    for _ in 0..2 {
        let mut client = Client::connect(&image).expect("a connection");
        assert_eq!(client.read(3 * 4096, expected.len()), Ok(expected.clone()));
        let runs = client.status(2 * 4096, 4 * 4096).into_iter().map(|(bytes, kind)| (bytes, kind == 0));
        assert_eq!(runs.collect::<Vec<_>>(), [(4096, false), (2 * 4096, true), (4096, false)]);
        for (kind, page) in [(WRITE, 3), (WRITE, 9), (TRIM, 4), (WRITE_ZEROES, 4)] {
            let data = vec![1; if kind == WRITE { 4096 } else { 0 }];
            assert_eq!(client.ask(0, kind, page * 4096, 4096, &data), EPERM, "{kind} {page}");
        }
        drop(client);
        cut(&image);
    }
}
