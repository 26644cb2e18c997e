//! Modelled latency: replies leave when the simulated device would have answered, not before and not much after.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::{Client, READ, create_on, options, small_device};
use live::{ServeOptions, Server};
use sim::study::DeviceText;
use trace::units::Nanoseconds;

const READ_MS: u64 = 8;
const PROGRAM_MS: u64 = 12;

/// Two dies, each on a channel of its own; transfers take no time.
fn serve(folder: &Path) -> (std::path::PathBuf, Server) {
    let ms = |ms: u64| Some(Nanoseconds(ms * 1_000_000));
    let device = DeviceText {
        read_latency: ms(READ_MS),
        program_latency: ms(PROGRAM_MS),
        erase_latency: ms(20),
        transfer_latency: Some(Nanoseconds(0)),
        ..small_device()
    };
    let image = create_on(folder, "page", &device);
    let server = Server::start(&ServeOptions { modelled: true, ..options(&image) }).expect("a server");
    (image, server)
}

/// Times of so many repetitions, shortest first. The machine may be busy, so what is late once proves nothing.
fn times(repetitions: usize, mut act: impl FnMut()) -> Vec<Duration> {
    let mut times: Vec<_> = (0..repetitions)
        .map(|_| {
            let begun = Instant::now();
            act();
            begun.elapsed()
        })
        .collect();
    times.sort_unstable();
    times
}

/// None is early, and the best is close.
fn assert_close(times: &[Duration], expected_ms: u64) {
    let expected = Duration::from_millis(expected_ms);
    assert!(times[0] >= expected, "{:?} is early; {expected_ms} ms were modelled", times[0]);
    let close = expected + Duration::from_micros(50).max(expected / 50) + Duration::from_micros(250);
    assert!(times[0] <= close, "{:?} at best; {expected_ms} ms were modelled", times[0]);
}

#[test]
fn requests_take_what_the_device_would_take() {
    let folder = tempfile::tempdir().expect("a folder");
    let (image, _server) = serve(folder.path());
    let mut client = Client::connect(&image).expect("a connection");
    assert_close(&times(15, || assert_eq!(client.write(0, &[1; 4096]), 0)), PROGRAM_MS);
    assert_close(&times(15, || assert!(client.read(0, 4096).is_ok())), READ_MS);
    // Two pages lie on two dies.
    assert_close(&times(15, || assert_eq!(client.write(8192, &[1; 8192]), 0)), PROGRAM_MS);
    assert_close(&times(15, || assert!(client.read(8192, 8192).is_ok())), READ_MS);
    // Part of a page: read, then written.
    assert_close(&times(15, || assert_eq!(client.write(100, &[2; 100]), 0)), READ_MS + PROGRAM_MS);
    // Nothing was ever there.
    assert!(times(15, || assert!(client.read(1 << 20, 4096).is_ok()))[0] < Duration::from_millis(READ_MS / 2));
}

#[test]
fn requests_that_wait_for_one_die_wait_for_each_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let (image, _server) = serve(folder.path());
    let mut client = Client::connect(&image).expect("a connection");
    assert_eq!(client.write(0, &[1; 4 * 4096]), 0);
    let mut both = |second: u64| {
        times(10, || {
            client.send(0, READ, 0, 4096, &[]).expect("sent");
            client.send(0, READ, second * 4096, 4096, &[]).expect("sent");
            let mut data = [0; 4 * 4096];
            for _ in 0..2 {
                assert_eq!(client.receive(&mut data, 0).expect("a reply").1, 0);
            }
        })
    };
    assert_close(&both(1), READ_MS);
    assert_close(&both(2), 2 * READ_MS);
}
