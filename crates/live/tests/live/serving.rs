//! Every scheme as a disk: what was written is read, whatever the alignment, across restarts and
//! power cuts.

use crate::common::{
    BLOCK_STATUS, BUFFERED, Client, FUA, NO_HOLE, TRIM, WRITE, WRITE_ZEROES, create, lasting, new_image, options,
    random_bytes, schemes, serve, served, stat,
};
use flash::{Fault, FaultPlan};
use live::{ControlRequest, FailureName, FaultRequest, ServeOptions, Server, TearName, call};
use random::SeededRng;

/// Applies random requests to a device and to a copy in memory.
fn exercise(client: &mut Client, copy: &mut [u8], rng: &mut SeededRng, requests: u32) {
    for _ in 0..requests {
        let longest = if rng.below(4) == 0 { 100_000 } else { 9000 };
        let length = 1 + rng.below(longest) as usize;
        let offset = rng.below((copy.len() - length) as u64) as usize;
        let range = offset..offset + length;
        match rng.below(10) {
            0..5 => {
                let data = random_bytes(rng, length);
                assert_eq!(client.write(offset as u64, &data), 0);
                copy[range].copy_from_slice(&data);
            }
            5 => {
                let flags = if rng.below(2) == 0 { NO_HOLE } else { 0 };
                assert_eq!(client.ask(flags, WRITE_ZEROES, offset as u64, length as u32, &[]), 0);
                copy[range].fill(0);
            }
            6 => {
                assert_eq!(client.ask(0, TRIM, offset as u64, length as u32, &[]), 0);
                let first = offset.next_multiple_of(4096);
                let end = (offset + length) / 4096 * 4096;
                if first < end {
                    copy[first..end].fill(0);
                }
            }
            7 => assert_eq!(client.flush(), 0),
            _ => assert_eq!(client.read(offset as u64, length).expect("readable"), copy[range]),
        }
    }
}

fn compare(client: &mut Client, copy: &[u8]) {
    for (i, chunk) in copy.chunks(1 << 18).enumerate() {
        let bytes_read = client.read((i << 18) as u64, chunk.len()).expect("readable");
        if let Some(at) = bytes_read.iter().zip(chunk).position(|(bytes_read, expected)| bytes_read != expected) {
            panic!("byte {} differs", (i << 18) + at);
        }
    }
}

#[test]
fn every_scheme_reads_what_was_written_across_restarts_and_power_cuts() {
    for scheme in schemes() {
        let (_folder, image) = new_image(scheme);
        let mut copy = vec![0; 4 << 20];
        let mut rng = SeededRng::new(7);
        for round in 0..4 {
            let server = serve(&image);
            let mut client = Client::connect(&image).expect("a connection");
            assert_eq!(client.bytes, 4 << 20, "{scheme}");
            compare(&mut client, &copy);
            exercise(&mut client, &mut copy, &mut rng, 120);
            compare(&mut client, &copy);
            assert_eq!(client.flush(), 0);
            if round % 2 == 1 {
                let cut = ControlRequest::Fault(FaultRequest::Cut { tear: None, after: 0, stay_off: false });
                call(&image, &cut).expect("a power cut");
                let request = client.send(0, BLOCK_STATUS, 0, 4096, &[]);
                assert!(request.is_err() || client.receive(&mut [], 0).is_err(), "the connection should have ended");
                client = Client::connect(&image).expect("after the cut");
                compare(&mut client, &copy);
            }
            let summary = server.stop().expect("a clean stop");
            assert!(summary.is_saved);
        }
        let report = live::check(&image).expect("an image");
        assert!(report.is_sound, "{scheme}: {:?}", report.problems);
    }
}

#[test]
fn writes_that_were_acknowledged_survive_every_kind_of_cut() {
    for scheme in schemes() {
        let (_folder, image, server) = served(scheme);
        let mut rng = SeededRng::new(11);
        let mut copy = vec![0; 4 << 20];
        for round in 0..12_u64 {
            let tear = [TearName::Before, TearName::Unseen, TearName::Torn, TearName::After][round as usize % 4];
            let mut client = Client::connect(&image).expect("a connection");
            compare(&mut client, &copy);
            let after = 5 + rng.below(200);
            call(&image, &ControlRequest::Fault(FaultRequest::Cut { tear: Some(tear), after, stay_off: false }))
                .expect("planned");
            // Whole pages in single requests, so that only the last, which nobody acknowledged, is
            // in doubt.
            let doubtful = loop {
                let page = rng.below(1024) as usize;
                let data = random_bytes(&mut rng, 4096);
                let range = page * 4096..(page + 1) * 4096;
                let sent = client.send(lasting(scheme), WRITE, range.start as u64, 4096, &data);
                match sent.and_then(|_| client.receive(&mut [], 0)) {
                    Ok((_, error, _)) => {
                        assert_eq!(error, 0);
                        copy[range].copy_from_slice(&data);
                    }
                    Err(_) => break (range, data),
                }
            };
            let mut client = Client::connect(&image).expect("after the cut");
            let (range, data) = doubtful;
            let bytes_read = client.read(range.start as u64, 4096).expect("readable");
            assert!(bytes_read == data || bytes_read == copy[range.clone()], "{scheme}: a page of neither content");
            copy[range].copy_from_slice(&bytes_read);
        }
        let mut client = Client::connect(&image).expect("a connection");
        compare(&mut client, &copy);
        drop(client);
        assert!(server.stop().expect("a clean stop").is_saved);
    }
}

/// What waits in the write buffer is lost with the power; FUA and flush reach it.
#[test]
fn a_write_buffer_is_written_down_by_fua_and_flush_and_by_nothing_else() {
    for stack in std::iter::once("bdb").chain(BUFFERED) {
        write_down_by_fua_and_flush(stack);
    }
}

fn write_down_by_fua_and_flush(stack: &str) {
    let (_folder, image, server) = served(stack);
    let cut = || {
        let cut = FaultRequest::Cut { tear: None, after: 0, stay_off: false };
        call(&image, &ControlRequest::Fault(cut)).expect("a power cut");
        Client::connect(&image).expect("after the cut")
    };
    let mut client = Client::connect(&image).expect("a connection");
    assert_eq!(client.ask(FUA, WRITE, 0, 4096, &[1; 4096]), 0);
    assert_eq!(client.write(8192, &[2; 4096]), 0);
    assert_eq!(client.read(8192, 4096).expect("it waits"), [2; 4096]);
    let mut client = cut();
    assert_eq!(client.read(0, 4096).expect("readable"), [1; 4096]);
    assert_eq!(client.read(8192, 4096).expect("readable"), [0; 4096]);
    assert_eq!(client.write(8192, &[3; 4096]), 0);
    assert_eq!(client.flush(), 0);
    let mut client = cut();
    assert_eq!(client.read(8192, 4096).expect("readable"), [3; 4096]);
    assert_eq!(client.write(16_384, &[4; 4096]), 0);
    drop(client);
    assert!(server.stop().expect("a clean stop").is_saved);
    let server = serve(&image);
    assert_eq!(Client::connect(&image).expect("a connection").read(16_384, 4096).expect("stopped in order"), [4; 4096]);
    drop(server);
}

#[test]
fn pages_left_in_the_buffer_of_a_read_only_device_are_told() {
    for (pages, told) in [(1, "1 page of its write buffer is lost"), (3, "3 pages of its write buffer are lost")] {
        for knows_what_is_lost in [false, true] {
            let folder = tempfile::tempdir().expect("a folder");
            let image = create(folder.path(), "page+dynamic+lru:ram=64KiB");
            let plan = FaultPlan { at: (0..20_000).map(|operation| (operation, Fault::ProgramFails)).collect() };
            let server = Server::start(&live::ServeOptions { plan, ..options(&image) }).expect("a server");
            let mut client = Client::connect(&image).expect("a connection");
            for page in 0..pages {
                assert_eq!(client.write(page * 4096, &[7; 4096]), 0);
            }
            assert_ne!(client.flush(), 0, "no block takes a page");
            drop(client);
            if knows_what_is_lost {
                server.stop_worn_out().expect("the host knows");
            } else {
                let lost = server.stop().expect_err("lost pages").to_string();
                assert!(lost.contains(told) && lost.contains("copy the data"), "{lost}");
            }
        }
    }
}

#[test]
fn flash_that_fails_is_lived_with() {
    for scheme in schemes() {
        let (_folder, image, server) = served(scheme);
        let mut client = Client::connect(&image).expect("a connection");
        let mut copy = vec![0; 4 << 20];
        let mut rng = SeededRng::new(5);
        for (kind, after) in
            [(FailureName::ProgramFails, 3), (FailureName::EraseFails, 900), (FailureName::ReadCorrected, 1)]
        {
            call(&image, &ControlRequest::Fault(FaultRequest::At { kind, after })).expect("planned");
            exercise(&mut client, &mut copy, &mut rng, 60);
        }
        compare(&mut client, &copy);
        drop(client);
        assert!(server.stop().expect("a clean stop").is_saved);
        let server = serve(&image);
        compare(&mut Client::connect(&image).expect("a connection"), &copy);
        drop(server);
    }
}

#[test]
fn holes_are_told_and_forgotten_pages_become_holes() {
    let (_folder, image, _server) = served("page");
    let mut client = Client::connect(&image).expect("a connection");
    assert_eq!(client.status(0, 4 << 20), [(4 << 20, 3)]);
    assert_eq!(client.write(8192, &[1; 4096]), 0);
    assert_eq!(client.status(0, 65_536), [(8192, 3), (4096, 0), (53_248, 3)]);
    assert_eq!(client.ask(FUA, TRIM, 0, 65_536, &[]), 0);
    assert_eq!(client.status(100, 65_000), [(65_000, 3)]);
    assert_eq!(client.read(8192, 4096).expect("readable"), [0; 4096]);
}

#[test]
fn a_device_without_power_lets_nobody_in_until_it_is_restored() {
    let off = FaultRequest::Cut { tear: None, after: 0, stay_off: true };
    for fault in [off.clone(), FaultRequest::Cut { tear: Some(TearName::Before), after: 0, stay_off: true }] {
        let (_folder, image, server) = served("dftl");
        let mut client = Client::connect(&image).expect("a connection");
        assert_eq!(client.ask(FUA, WRITE, 0, 4096, &[7; 4096]), 0);
        call(&image, &ControlRequest::Fault(fault.clone())).expect("a cut");
        // A cut that is due at an operation needs one.
        let sent = client.send(0, WRITE, 4096, 4096, &[8; 4096]);
        assert!(sent.and_then(|_| client.receive(&mut [], 0)).is_err(), "{fault:?}");
        let refused = Client::connect(&image).err().expect("refused").to_string();
        assert!(refused.contains("80000007") && refused.contains("no power"), "{refused}");
        // A refusal is no reason to end.
        let program_fails = FaultRequest::At { kind: FailureName::ProgramFails, after: 0 };
        for other in [off.clone(), program_fails, off.clone()] {
            let again = call(&image, &ControlRequest::Fault(other));
            assert!(again.expect_err("off already").to_string().contains("restore"), "{fault:?}");
        }
        assert!(call(&image, &ControlRequest::Stat).expect("a report").contains("\"has_power\":false"));
        call(&image, &ControlRequest::Fault(FaultRequest::Restore)).expect("power");
        let mut client = Client::connect(&image).expect("a connection");
        assert_eq!(client.read(0, 4096).expect("readable"), [7; 4096]);
        drop(client);
        assert!(server.stop().expect("a clean stop").is_saved);
    }
}

/// What the life says was written is what had been when the image last reached the disk.
#[test]
fn a_server_that_stops_while_its_device_has_no_power_leaves_the_flash_on_the_disk() {
    for fault in [
        FaultRequest::Cut { tear: None, after: 0, stay_off: true },
        FaultRequest::Cut { tear: Some(TearName::Torn), after: 0, stay_off: true },
    ] {
        let (_folder, image, server) = served("page");
        let mut client = Client::connect(&image).expect("a connection");
        for page in 0..5 {
            assert_eq!(client.write(page * 4096, &[7; 4096]), 0);
        }
        call(&image, &ControlRequest::Fault(fault.clone())).expect("a cut");
        // A cut that is due at an operation needs one; nobody answers it, or even takes it.
        let sent = client.send(0, WRITE, 5 * 4096, 4096, &[8; 4096]);
        assert!(sent.and_then(|_| client.receive(&mut [], 0)).is_err(), "{fault:?}");
        drop(client);
        assert!(!server.stop().expect("stopped").is_saved, "{fault:?}");
        let life = live::info(&image).expect("an image").life;
        assert!(life.get("host_pages_written").is_some_and(|&pages| pages >= 5), "{fault:?}: {life:?}");
        let report = live::check(&image).expect("an image");
        assert!(report.is_sound, "{fault:?}: {:?}", report.problems);
        let server = serve(&image);
        let mut client = Client::connect(&image).expect("a connection");
        for page in 0..5 {
            assert_eq!(client.read(page * 4096, 4096).expect("readable"), [7; 4096], "{fault:?}");
        }
        drop(client);
        server.stop().expect("a clean stop");
    }
}

/// A start reads what the image holds, and no script can know how many operations that takes.
#[test]
fn planned_faults_wait_for_the_host_and_those_that_never_come_are_told() {
    let (_folder, image, server) = served("page");
    let mut client = Client::connect(&image).expect("a connection");
    for page in 0..200 {
        assert_eq!(client.write(page * 4096, &[7; 4096]), 0);
    }
    drop(client);
    assert_eq!(server.stop().expect("a clean stop").faults_to_come, 0);
    let faults = [(1, Fault::ProgramFails), (3, Fault::EraseFails), (1_000_000, Fault::EraseFails)];
    let plan = FaultPlan { at: faults.into() };
    let server = Server::start(&ServeOptions { plan, ..options(&image) }).expect("a server");
    assert_eq!(stat(&image, "bad_blocks"), 0);
    let mut client = Client::connect(&image).expect("a connection");
    for page in 0..200 {
        assert_eq!(client.write(page * 4096, &[8; 4096]), 0);
    }
    assert_eq!(stat(&image, "bad_blocks"), 1, "the fault of the second operation met nobody's program");
    drop(client);
    let summary = server.stop().expect("a clean stop");
    assert_eq!((summary.faults_to_come, summary.missed_faults), (1, 1), "the fourth operation was a program");
}

#[test]
fn two_servers_do_not_share_an_image() {
    let (_folder, image, server) = served("page");
    let second = Server::start(&options(&image)).err().expect("refused").to_string();
    assert!(second.contains("being served") && second.contains("stop"), "{second}");
    assert!(live::check(&image).expect_err("refused").to_string().contains("being served"));
    assert!(live::info(&image).expect("a header").is_served);
    drop(server);
    assert!(!live::info(&image).expect("a header").is_served);
    drop(serve(&image));
}
