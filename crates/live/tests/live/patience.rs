//! Clients that die, fall silent or do not listen: each costs the server a bounded time, and nobody
//! else a place.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::{Client, READ, WRITE, eventually, new_image, serve, serve_within, served, socket, stat};
use live::{DEFAULT_CLIENTS, Limits};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

/// Short enough to be waited for, long enough for a busy machine.
const SHORT: Duration = Duration::from_millis(500);

fn short() -> Limits {
    Limits { handshake: SHORT, transfer: SHORT, caller: SHORT, ..Limits::default() }
}

/// Somebody finds a place, and is served.
fn another_is_served(image: &Path) {
    eventually("another client is served", || {
        Client::connect(image).is_ok_and(|mut client| client.read(0, 4096).is_ok_and(|data| data == [0; 4096]))
    });
}

/// Every place is taken by a client that has sent one byte of a write.
fn half_writes(image: &Path, length: u32) -> Vec<Client> {
    let half = || {
        let mut client = Client::connect(image).expect("a place");
        client.send(0, WRITE, 0, length, &[5]).expect("sent");
        client
    };
    (0..DEFAULT_CLIENTS).map(|_| half()).collect()
}

#[test]
fn clients_that_die_in_the_middle_of_a_write_give_their_places_back() {
    let (_folder, image, _server) = served("page");
    drop(half_writes(&image, 1 << 20));
    another_is_served(&image);
    eventually("they are gone", || stat(&image, "clients") == 0);
}

#[test]
fn clients_that_fall_silent_in_the_middle_of_a_request_lose_their_places() {
    let (_folder, image) = new_image("page");
    let _server = serve_within(&image, Limits { transfer: SHORT, ..Limits::default() });
    let mut silent = half_writes(&image, 64 << 10);
    // One drips: what counts is when the request began.
    let begun = Instant::now();
    while silent[0].stream.write_all(&[5]).is_ok() {
        assert!(begun.elapsed() < SHORT + Duration::from_secs(20), "it drips for ever");
        std::thread::sleep(Duration::from_millis(20));
    }
    another_is_served(&image);
    let mut header = Client::connect(&image).expect("a place");
    header.stream.write_all(&0x2560_9513_u32.to_be_bytes()).expect("sent");
    assert_eq!(header.stream.read(&mut [0]).expect("closed"), 0, "half a header, then silence");
}

#[test]
fn a_client_that_asks_for_nothing_keeps_its_place() {
    let (_folder, image) = new_image("page");
    let _server = serve_within(&image, short());
    let mut idle = Client::connect(&image).expect("a place");
    std::thread::sleep(3 * SHORT);
    assert_eq!(idle.read(0, 512).expect("still served"), [0; 512]);
}

#[test]
fn a_client_that_takes_no_reply_loses_its_place() {
    let (_folder, image) = new_image("page");
    let _server = serve_within(&image, short());
    let mut client = Client::connect(&image).expect("a place");
    assert_eq!(client.write(0, &vec![1; 1 << 20]), 0);
    // More than the operating system keeps for a socket.
    for _ in 0..3 {
        client.send(0, READ, 0, 256 << 10, &[]).expect("sent");
    }
    assert_eq!(stat(&image, "clients"), 1);
    eventually("it is gone", || stat(&image, "clients") == 0);
}

#[test]
fn connections_that_never_finish_shaking_hands_keep_nobody_out() {
    let (_folder, image) = new_image("page");
    let limits = Limits { handshakes: 8, ..Limits::default() };
    let server = serve_within(&image, limits);
    let connect = |greeting: &[u8]| {
        let mut stream = UnixStream::connect(socket(&image)).expect("a connection");
        // Those that came before may be sent away for it; and so may this one.
        let _ = stream.write_all(greeting);
        stream
    };
    let greeting = b"\0\0\0\x03IHAVEOPT";
    let half: Vec<_> = (0..40).map(|i| connect(&greeting[..i % greeting.len()])).collect();
    let mut client = Client::connect(&image).expect("a place, at once");
    assert_eq!(client.read(0, 512).expect("served"), [0; 512]);
    // The oldest went, the client stays however many more come.
    let more: Vec<_> = (0..40).map(|_| connect(greeting)).collect();
    assert_eq!(client.read(0, 512).expect("served"), [0; 512]);
    eventually("the oldest is closed", || is_closed(&half[0]));
    let begun = Instant::now();
    server.stop().expect("a clean stop");
    assert!(begun.elapsed() < Duration::from_secs(20), "stopping waited {:?}", begun.elapsed());
    drop(more);
}

#[test]
fn a_handshake_has_one_deadline_however_slowly_it_goes_on() {
    let (_folder, image) = new_image("page");
    let _server = serve_within(&image, short());
    let stream = UnixStream::connect(socket(&image)).expect("a connection");
    let begun = Instant::now();
    // Options that are answered, without end: flags, then one unknown option after the other.
    (&stream).write_all(&3_u32.to_be_bytes()).expect("sent");
    let mut option = b"IHAVEOPT\0\0\0\x63\0\0\0\0".iter().cycle();
    while (&stream).write_all(&[*option.next().expect("more")]).is_ok() {
        assert!(begun.elapsed() < SHORT + Duration::from_secs(20), "it goes on for ever");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(begun.elapsed() >= SHORT, "closed after {:?}", begun.elapsed());
}

#[test]
fn an_engine_that_ends_by_itself_sends_its_clients_away() {
    let (_folder, image) = new_image("page");
    let disk = in_memory(&image);
    let server = serve(&image);
    let idle = Client::connect(&image).expect("a place");
    let mut busy = Client::connect(&image).expect("a place");
    assert_eq!(busy.write(0, &[7; 4096]), 0);
    // A disk that takes nothing more ends the engine.
    fcntl_add_seals(&disk, SealFlags::WRITE).expect("sealed");
    while busy.send(0, WRITE, 0, 4096, &[7; 4096]).is_ok() && busy.receive(&mut [], 0).is_ok() {}
    eventually("the other is sent away", || is_closed(&idle.stream));
    assert!(Client::connect(&image).is_err(), "nobody is let in any more");
    let why = server.stop().expect_err("it has ended").to_string();
    assert!(why.contains("disk"), "{why}");
}

/// Puts an image into memory that can be sealed against writing; its path leads there.
fn in_memory(image: &Path) -> File {
    let disk = File::from(memfd_create("image", MemfdFlags::ALLOW_SEALING).expect("memory"));
    std::io::copy(&mut File::open(image).expect("the image"), &mut &disk).expect("copied");
    std::fs::remove_file(image).expect("removed");
    symlink(format!("/proc/self/fd/{}", disk.as_raw_fd()), image).expect("a link");
    disk
}

/// Whether the server has closed the line.
fn is_closed(stream: &UnixStream) -> bool {
    stream.set_nonblocking(true).expect("a mode");
    let mut reply = [0; 64];
    loop {
        match (&*stream).read(&mut reply) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() != std::io::ErrorKind::WouldBlock,
        }
    }
}
