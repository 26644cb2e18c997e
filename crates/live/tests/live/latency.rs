//! Modelled latency: replies leave when the simulated device would have answered, not before and
//! not much after.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::{Client, READ, create_on, cut, options, small_device};
use live::{LocalClientError, ServeOptions, Server};
use sim::study::{DeviceText, Durations};
use trace::Hint;
use trace::units::{BytesPerSecond, Nanoseconds};

const READ_MS: u64 = 8;
const PROGRAM_MS: u64 = 12;

/// Two dies, each on a channel of its own; transfers take no time.
fn serve(folder: &Path) -> (std::path::PathBuf, Server) {
    let ms = |ms: u64| Nanoseconds(ms * 1_000_000);
    let image = create_with(folder, ms(READ_MS), ms(PROGRAM_MS), ms(20));
    let server = start(&image);
    (image, server)
}

fn create_with(folder: &Path, read: Nanoseconds, program: Nanoseconds, erase: Nanoseconds) -> std::path::PathBuf {
    let device = DeviceText {
        read_latency: Some(Durations(vec![read])),
        program_latency: Some(Durations(vec![program])),
        erase_latency: Some(erase),
        transfer_latency: Some(Nanoseconds(0)),
        ..small_device()
    };
    create_on(folder, "page", &device)
}

fn start(image: &Path) -> Server {
    Server::start(&ServeOptions { modelled: true, ..options(image) }).expect("a server")
}

/// Times of this many repetitions, shortest first. The machine may be busy, so what is late once
/// proves nothing.
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

/// The small device behind a link of 5 ms and a controller of 3 ms.
fn behind_link() -> DeviceText {
    let ms = |ms: u64| Some(Nanoseconds(ms * 1_000_000));
    DeviceText { transfer_latency: ms(0), link_latency: ms(5), controller_latency: ms(3), ..small_device() }
}

#[test]
fn requests_pass_the_link_and_the_controller_of_the_device() {
    let folder = tempfile::tempdir().expect("a folder");
    // A page of 4096 bytes takes 4 ms.
    let device = DeviceText {
        read_latency: Some(Durations(vec![Nanoseconds(READ_MS * 1_000_000)])),
        link_bandwidth: Some(BytesPerSecond(1_024_000)),
        ..behind_link()
    };
    let image = create_on(folder.path(), "page", &device);
    let _server = start(&image);
    let mut client = Client::connect(&image).expect("a connection");
    assert_eq!(client.write(0, &[7; 4096]), 0);
    assert_close(&times(15, || assert!(client.read(0, 4096).is_ok())), READ_MS + 5 + 3 + 4);
}

/// A request that is served in pieces passes the link as a whole, and its pieces use the dies
/// together, for clients of a socket as for the local one.
#[test]
fn long_requests_take_what_the_device_would_take() {
    const PAGES: u64 = 128;
    let folder = tempfile::tempdir().expect("a folder");
    // A page of 4096 bytes takes 1 ms.
    let device = DeviceText {
        read_latency: Some(Durations(vec![Nanoseconds(1_000_000)])),
        program_latency: Some(Durations(vec![Nanoseconds(2_000_000)])),
        link_bandwidth: Some(BytesPerSecond(4_096_000)),
        ..behind_link()
    };
    let image = create_on(folder.path(), "page", &device);
    let server = start(&image);
    let mut client = Client::connect(&image).expect("a connection");
    let (data, begin) = (vec![7; PAGES as usize * 4096], 5 + 3 + PAGES);
    assert_close(&times(3, || assert_eq!(client.write(0, &data), 0)), begin + PAGES / 2 * 2);
    assert_close(&times(3, || assert!(client.read(0, data.len()).is_ok())), begin + PAGES / 2);
    let mut local = server.local_client();
    let bytes = bytes::Bytes::from(data.clone());
    assert_close(&times(3, || local.write(0, bytes.clone(), Hint::NONE).expect("written")), begin + PAGES / 2 * 2);
    let mut read = data.clone();
    assert_close(&times(3, || local.read(0, &mut read).expect("read")), begin + PAGES / 2);
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

#[test]
fn a_device_that_was_used_answers_when_its_recovery_is_done() {
    let folder = tempfile::tempdir().expect("a folder");
    let microseconds = |us: u64| Nanoseconds(us * 1000);
    let image = create_with(folder.path(), microseconds(200), microseconds(200), microseconds(200));
    let new = start(&image);
    assert!(new.ready().mount_s.abs() < f64::EPSILON, "there is nothing to recover on a new device");
    let mut client = Client::connect(&image).expect("a connection");
    assert_eq!(client.write(0, &[7; 4096]), 0);
    drop(client);
    new.stop().expect("saved");
    let begun = Instant::now();
    let used = start(&image);
    let mount = Duration::from_secs_f64(used.ready().mount_s);
    // The tags of about 800 pages per die, one after the other.
    assert!(mount > Duration::from_millis(100), "{mount:?}");
    let mut client = Client::connect(&image).expect("a connection");
    assert_eq!(client.read(0, 4096).expect("a reply"), [7; 4096]);
    assert!(begun.elapsed() >= mount + Duration::from_micros(200), "{:?}", begun.elapsed());
}

#[test]
fn a_power_cut_while_the_local_client_waits_lets_it_ask_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let ms = |ms: u64| Nanoseconds(ms * 1_000_000);
    // So long a program is under way when the cut comes, however busy the machine is.
    let image = create_with(folder.path(), ms(READ_MS), ms(2000), ms(20));
    let server = start(&image);
    let mut local = server.local_client();
    let data = bytes::Bytes::from(vec![7; 4096]);
    let answer = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(50));
            cut(&image);
        });
        local.write(0, data.clone(), Hint::NONE)
    });
    assert_eq!(answer, Err(LocalClientError::PowerWasCut));
    assert_eq!(local.write(0, data, Hint::NONE), Ok(()));
}
