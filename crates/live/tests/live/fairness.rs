//! Clients take turns: whatever one asks for, another waits for a bounded number of pieces.
//! Counted, not timed.

use crate::common::{
    BLOCK_STATUS, Client, FUA, NO_HOLE, READ, TRIM, WRITE, WRITE_ZEROES, create_on, serve, served, small_device, stat,
};
use sim::study::{Capacity, DeviceText};

/// As many requests as a client may have under way, of any length.
const GREEDY: u32 = 500;

#[test]
fn a_client_waits_for_one_turn_of_each_other_client() {
    let (_folder, image, server) = served("page");
    let mut clients: Vec<_> = (0..3).map(|_| Client::connect(&image).expect("a connection")).collect();
    let mut modest = Client::connect(&image).expect("a connection");
    let bytes = clients[0].bytes as u32;
    for _ in 0..GREEDY {
        clients[0].send(0, TRIM, 0, bytes, &[]).expect("sent");
        clients[1].send(0, BLOCK_STATUS, 0, bytes, &[]).expect("sent");
        clients[2].send(FUA, WRITE, 0, 1, &[7]).expect("sent");
    }
    for _ in 0..20 {
        assert!(modest.read(8192, 4096).is_ok());
    }
    for client in &mut clients {
        for _ in 0..GREEDY {
            assert_eq!(client.receive(&mut [], 0).expect("a reply").1, 0);
        }
    }
    let waited = stat(&image, "turns_waited_max");
    assert!((1..=3).contains(&waited), "{waited} turns of three other clients");
    drop((clients, modest));
    server.stop().expect("a clean stop");
}

/// One turn is not the whole device.
#[test]
fn long_requests_take_many_turns() {
    let folder = tempfile::tempdir().expect("a folder");
    let device = DeviceText { capacity: Some(Capacity::Bytes(64 << 20)), ..small_device() };
    let image = create_on(folder.path(), "page", &device);
    let _server = serve(&image);
    let mut client = Client::connect(&image).expect("a connection");
    let long = 24 << 20;
    for (flags, kind, offset, length, turns) in [
        (0, WRITE, 0, 4096, 1),
        (0, WRITE, 0, long, 96),
        (0, READ, 0, long, 96),
        (0, READ, 1, long, 97),
        (NO_HOLE, WRITE_ZEROES, 100, long, 97),
        (0, WRITE_ZEROES, 0, long, 2),
        (FUA, TRIM, 0, 64 << 20, 4),
        (0, BLOCK_STATUS, 0, 64 << 20, 1),
    ] {
        let before = stat(&image, "turns");
        let data = vec![1; if kind == WRITE { length as usize } else { 0 }];
        client.send(flags, kind, offset, length, &data).expect("sent");
        assert_eq!(client.receive(&mut vec![0; long as usize], offset).expect("a reply").1, 0);
        assert_eq!(stat(&image, "turns") - before, turns, "{length} bytes of a request of kind {kind}");
    }
}
