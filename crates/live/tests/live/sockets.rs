//! Sockets and the control socket: nobody's file is taken away, and no caller keeps the server from
//! answering or from stopping.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::{Client, create, new_image, options, serve, served, socket, stat};
use live::{Address, ControlRequest, ServeOptions, Server, call, control_path};

/// Stops a server, which takes no longer than its clients may take to take their last replies.
fn stop(server: Server) {
    let begun = Instant::now();
    assert!(server.stop().expect("a clean stop").is_saved);
    assert!(begun.elapsed() < Duration::from_secs(20), "stopping took {:?}", begun.elapsed());
}

#[test]
fn a_second_server_takes_no_socket_from_one_that_lives() {
    let (first, second) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let (image, other) = (create(first.path(), "page"), create(second.path(), "fast"));
    let server = serve(&image);
    let theirs = ServeOptions { address: Some(Address::Unix(socket(&image))), ..options(&other) };
    let refused = Server::start(&theirs).err().expect("refused").to_string();
    assert!(refused.contains("another program listens") && refused.contains("--socket"), "{refused}");
    assert!(!control_path(&other).exists(), "a start that fails leaves nothing behind");
    assert_eq!(Client::connect(&image).expect("a connection").read(0, 512).expect("served"), [0; 512]);
    stop(server);
    assert!(!socket(&image).exists());
    stop(Server::start(&theirs).expect("the path is free now"));
}

#[test]
fn a_server_stops_and_leaves_alone_what_has_taken_the_place_of_its_sockets() {
    let (_folder, image, server) = served("page");
    let mut client = Client::connect(&image).expect("a connection");
    for path in [socket(&image), control_path(&image)] {
        fs::remove_file(&path).expect("removed");
    }
    let other = UnixListener::bind(socket(&image)).expect("another server");
    assert_eq!(client.write(0, &[1; 4096]), 0);
    stop(server);
    assert!(socket(&image).exists(), "the other server's socket was removed");
    drop(other);
}

#[test]
fn an_image_whose_folder_takes_no_socket_is_served_through_a_link() {
    let (first, second) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let (image, link) = (create(first.path(), "page"), second.path().join("disk.img"));
    // What stands in the way here is a folder of that name; a file system that is only read says no
    // as well.
    fs::create_dir(control_path(&image)).expect("a folder");
    let refused = Server::start(&options(&image)).err().expect("refused").to_string();
    assert!(refused.contains("cannot listen on") && refused.contains("ln -s"), "{refused}");
    std::os::unix::fs::symlink(&image, &link).expect("a link");
    let server = Server::start(&ServeOptions { read_only: true, ..options(&link) }).expect("served");
    assert_eq!(Client::connect(&link).expect("a connection").read(0, 512).expect("served"), [0; 512]);
    call(&link, &ControlRequest::Stat).expect("answered");
    stop(server);
}

#[test]
fn callers_who_drip_into_the_control_socket_block_nobody() {
    let (_folder, image, server) = served("page");
    let call_slowly = || {
        let mut caller = UnixStream::connect(control_path(&image)).expect("a connection");
        caller.write_all(b"\"st").expect("sent");
        caller
    };
    let callers: Vec<_> = (0..30).map(|_| call_slowly()).collect();
    let begun = Instant::now();
    assert_eq!(stat(&image, "clients"), 0);
    assert!(begun.elapsed() < Duration::from_secs(20), "the answer took {:?}", begun.elapsed());
    // As many as there may be at once, of which one goes on dripping.
    let mut dripping = call_slowly();
    let dripper = std::thread::spawn(move || {
        while dripping.write_all(b"a").is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    stop(server);
    dripper.join().expect("it was closed");
    drop(callers);
}

#[test]
fn a_request_that_is_no_text_or_too_long_is_answered_with_an_error() {
    let (_folder, image, server) = served("page");
    let long = vec![b' '; 5000];
    for (request, why) in
        [(&b"\"\xFF\xFE\"\n"[..], "not UTF-8"), (&long, "more than 4096 bytes"), (b"\n", "does not understand")]
    {
        let mut caller = UnixStream::connect(control_path(&image)).expect("a connection");
        caller.write_all(request).expect("sent");
        let mut answer = vec![0; 4096];
        let length = caller.read(&mut answer).expect("an answer");
        let answer: serde_json::Value = serde_json::from_slice(&answer[..length]).expect("JSON");
        assert!(answer["error"].as_str().is_some_and(|error| error.contains(why)), "{answer}");
    }
    stop(server);
}

#[test]
fn a_caller_who_waits_while_the_server_stops_is_told() {
    let (_folder, image, server) = served("page");
    let asking = {
        let image = image.clone();
        std::thread::spawn(move || while call(&image, &ControlRequest::Stat).is_ok() {})
    };
    stop(server);
    asking.join().expect("it ends with the server");
}

#[test]
fn sockets_and_images_are_their_owners_alone() {
    let (_folder, image, _server) = served("page");
    let mode = |path: &Path| fs::metadata(path).expect("a file").permissions().mode() & 0o777;
    assert_eq!([mode(&image), mode(&socket(&image)), mode(&control_path(&image))], [0o600; 3].map(|mode| mode as u32));
}

#[test]
fn what_has_the_name_of_a_socket_and_a_socket_in_place_of_an_image_are_named() {
    let (_folder, image) = new_image("page");
    fs::write(socket(&image), "mine").expect("written");
    let refused = Server::start(&options(&image)).err().expect("refused").to_string();
    assert!(refused.contains("something else has this name") && refused.contains("--socket"), "{refused}");
    assert_eq!(fs::read(socket(&image)).expect("left alone"), b"mine");
    fs::remove_file(socket(&image)).expect("removed");
    let server = serve(&image);
    let refused = call(&socket(&image), &ControlRequest::Stat).expect_err("no image").to_string();
    assert!(refused.ends_with("is a socket; give the image that is served there"), "{refused}");
    let refused = call(&control_path(&image), &ControlRequest::Stat).expect_err("no image").to_string();
    assert!(refused.ends_with(&format!("give the image that is served there: {}", image.display())), "{refused}");
    stop(server);
}
