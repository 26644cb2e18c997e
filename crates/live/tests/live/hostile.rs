//! Clients that mean no good, or know no better: they get the right error or a closed line, and
//! nobody else notices.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use crate::common::{BLOCK_STATUS, Client, DISC, FLUSH, READ, TRIM, WRITE, eventually, served, socket};

const EINVAL: u32 = 22;
const ENOSPC: u32 = 28;

/// Others are served, and promptly.
fn others_are_served(image: &std::path::Path) {
    let begun = Instant::now();
    let mut client = Client::connect(image).expect("a connection");
    assert_eq!(client.write(0, &[9; 5000]), 0);
    assert_eq!(client.read(0, 5000).expect("readable"), [9; 5000]);
    assert!(begun.elapsed() < Duration::from_secs(20), "took {:?}", begun.elapsed());
}

/// The server closes the line.
fn is_closed(mut stream: UnixStream) -> bool {
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
    let mut rest = Vec::new();
    match stream.read_to_end(&mut rest) {
        Ok(_) => true,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

#[test]
fn requests_that_make_no_sense_get_their_error_and_the_line_goes_on() {
    let (_folder, image, _server) = served("page");
    let mut client = Client::connect(&image).expect("a connection");
    let bytes = client.bytes;
    for (flags, kind, offset, length, expected) in [
        (0, READ, bytes, 1, EINVAL),
        (0, READ, u64::MAX, u32::MAX, EINVAL),
        (0, READ, u64::MAX - 4095, 4096, EINVAL),
        (0, READ, 0, 64 << 20, EINVAL),
        (0, TRIM, bytes - 1, 2, EINVAL),
        (0, BLOCK_STATUS, 0, 0, EINVAL),
        (0, 77, 0, 1, EINVAL),
        (0xFF00, READ, 0, 1, EINVAL),
        (0, FLUSH, 5, 5, 0),
        (0, READ, bytes, 0, 0),
    ] {
        assert_eq!(client.ask(flags, kind, offset, length, &[]), expected, "{kind} {offset} {length}");
    }
    assert_eq!(client.ask(0, WRITE, bytes, 4096, &[1; 4096]), ENOSPC);
    assert_eq!(client.ask(0, WRITE, u64::MAX - 100, 4096, &[1; 4096]), ENOSPC);
    // More than a request may carry, all of it sent: read over, never kept.
    assert_eq!(client.ask(0, WRITE, 0, 33 << 20, &vec![1; 33 << 20]), ENOSPC);
    assert_eq!(client.read(0, 512).expect("readable"), [0; 512]);
}

#[test]
fn nonsense_closes_the_line() {
    let (_folder, image, _server) = served("fast");
    for words in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        &[0xFF; 200],
        b"\0\0\0\x03IHAVEOP?",
        b"\0\0\0\x03IHAVEOPT\0\0\0\x07\xFF\xFF\xFF\xFF",
    ] {
        let mut stream = UnixStream::connect(socket(&image)).expect("a connection");
        // It may close before all is said.
        let _ = stream.write_all(words);
        assert!(is_closed(stream), "{words:?}");
    }
    let mut client = Client::connect(&image).expect("a connection");
    client.stream.write_all(&[0xAB; 28]).expect("sent");
    assert!(is_closed(client.stream), "a request with a wrong magic number");
    others_are_served(&image);
}

#[test]
fn half_a_request_then_silence_holds_nobody_up() {
    let (_folder, image, server) = served("dftl");
    let mut half_header = Client::connect(&image).expect("a connection");
    half_header.stream.write_all(&0x2560_9513_u32.to_be_bytes()).expect("sent");
    let mut half_data = Client::connect(&image).expect("a connection");
    half_data.send(0, WRITE, 0, 1 << 20, &[5; 1000]).expect("sent");
    let half_option = UnixStream::connect(socket(&image)).expect("a connection");
    (&half_option).write_all(b"\0\0\0\x03IHAVE").expect("sent");
    others_are_served(&image);
    let begun = Instant::now();
    server.stop().expect("a clean stop");
    assert!(begun.elapsed() < Duration::from_secs(20), "stopping waited {:?}", begun.elapsed());
}

#[test]
fn a_thousand_connects_and_drops_leave_nothing_behind() {
    let (_folder, image, _server) = served("page");
    for i in 0..1000 {
        let Ok(mut stream) = UnixStream::connect(socket(&image)) else {
            std::thread::sleep(Duration::from_millis(1));
            continue;
        };
        if i % 3 == 0 {
            let _ = stream.write_all(b"\0\0\0\x03IHAVEOPT");
        }
    }
    // Those that are still being noticed take the places of others for a moment.
    let until = Instant::now() + Duration::from_secs(30);
    while Client::connect(&image).is_err() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
    others_are_served(&image);
    assert!(threads() < 200, "{} threads", threads());
}

#[test]
fn a_client_that_never_reads_holds_its_own_share_and_no_more() {
    let (_folder, image, server) = served("page");
    let mut writer = Client::connect(&image).expect("a connection");
    assert_eq!(writer.write(0, &vec![3; 4 << 20]), 0);
    let before = resident_bytes();
    let deaf: Vec<_> = (0..4).map(|_| Client::connect(&image).expect("a connection")).collect();
    for client in &deaf {
        client.stream.set_write_timeout(Some(Duration::from_millis(200))).expect("a timeout");
    }
    let mut deaf = deaf;
    for client in &mut deaf {
        // 4 GiB of replies, were they all kept.
        for _ in 0..1000 {
            if client.send(0, READ, 0, 4 << 20, &[]).is_err() {
                break;
            }
        }
    }
    others_are_served(&image);
    std::thread::sleep(Duration::from_millis(300));
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < 200 << 20, "{grown} bytes more");
    others_are_served(&image);
    drop(writer);
    let begun = Instant::now();
    server.stop().expect("a clean stop");
    assert!(begun.elapsed() < Duration::from_secs(20), "stopping waited {:?}", begun.elapsed());
}

#[test]
fn one_client_too_many_is_told_so_and_a_place_is_free_again() {
    let (_folder, image, _server) = served("page");
    let mut clients: Vec<_> = (0..live::DEFAULT_CLIENTS).map(|_| Client::connect(&image).expect("a place")).collect();
    assert!(clients.iter_mut().all(|client| client.read(0, 1).is_ok()));
    let refused = Client::connect(&image).err().expect("refused").to_string();
    assert!(refused.contains("80000002") && refused.contains("16 clients"), "{refused}");
    clients[0].send(0, DISC, 0, 0, &[]).expect("sent");
    clients.remove(0);
    eventually("the place is given back", || Client::connect(&image).is_ok());
}

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count)
}

fn resident_bytes() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap_or(0) * 4096
}
