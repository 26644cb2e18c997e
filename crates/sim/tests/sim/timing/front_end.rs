//! The host link and the controller, in front of the flash.

use ftl::{Moment, Nanos, Timing};
use sim::{Abilities, FrontEnd};

use super::{PROGRAM, READ, Scenario, block};
use crate::studies::{load, results, simulated_ns};

const LINK: FrontEnd = FrontEnd { link_bytes_per_s: Some(100_000_000), link_ns: 7, cores: None, core_ns: 0 };

#[test]
fn a_write_comes_over_the_link_and_a_read_goes_over_it() {
    // 5 bytes hold a link of 100 MB/s for 50 ns.
    //               0    50 57                357
    // write  link in  dddddLL
    //        die 0           ttttpppppppp
    // read   die 1    rtttt                            the command alone: 7 ns, beside the data
    //        link out          ddddd
    let mut device = Scenario::new(2, 1, Abilities::default()).behind(LINK);
    let written = device.timing.take_command(Moment::ZERO, 5);
    let written = device.host_after(PROGRAM, block(0, 0, 0), written);
    let read = device.timing.take_command(Moment::ZERO, 0);
    let read = device.host_after(READ, block(1, 0, 0), read);
    let read = device.timing.hand_over(read, 5);
    assert_eq!(device.timing.wait(read), Nanos(7 + 125 + 50));
    assert_eq!(device.timing.wait(written), Nanos(50 + 7 + 300));
    assert_eq!(device.timing.link_busy_ns(), Some(50));
}

#[test]
fn commands_take_turns_on_the_link_and_at_the_cores() {
    let front_end = FrontEnd { link_bytes_per_s: Some(1_000_000_000), link_ns: 0, cores: Some(2), core_ns: 30 };
    let mut device = Scenario::new(1, 1, Abilities::default()).behind(front_end);
    // They come at 10, 20, 30 and 40; two cores end at 40 and 50, 70 and 80.
    let ends = [10, 10, 10, 10].map(|bytes| device.timing.take_command(Moment::ZERO, bytes));
    let ends = ends.map(|end| device.timing.wait(end).0);
    assert_eq!(ends, [40, 50, 70, 80]);
    assert_eq!(device.timing.controller_busy_ns(), Some(60));
}

#[test]
fn who_comes_first_is_served_first_and_of_one_round_who_was_issued_first() {
    let front_end = FrontEnd { link_bytes_per_s: Some(1_000_000_000), ..FrontEnd::default() };
    let mut device = Scenario::new(2, 1, Abilities::default()).behind(front_end);
    // The first read begins later; the other two end in one round, and go in their order.
    let late = device.host_after(READ, block(0, 0, 0), Moment::at(Nanos(100)));
    let late = device.timing.hand_over(late, 10);
    let [one, other] = [40, 20].map(|bytes| {
        let controller = device.timing.delay(Moment::ZERO, Nanos(50));
        device.timing.hand_over(controller, bytes)
    });
    assert_eq!([one, other, late].map(|end| device.timing.wait(end).0), [90, 110, 235]);
}

fn study(device: &str, generator: &str, host: &str) -> String {
    format!(
        "[device]\nchannels = 8\ndies_per_channel = 1\nblocks_per_plane = 64\nread_latency = \"10us\"\n\
         transfer_latency = \"0us\"\n{device}\n[workload.generator]\nspan = \"100MiB\"\n{generator}\n[host]\n{host}\n\
         [run]\nprecondition = \"fill\"\n[[ftl]]\nname = \"page\""
    )
}

#[test]
fn a_core_that_serves_poisson_arrivals_is_an_m_d_1_queue() {
    // Reads on eight dies: a command is 10 µs at the core, and waits for it ρD / 2(1 − ρ).
    let results = results(&study(
        "controller_cores = 1\ncontroller_latency = \"10us\"",
        "requests = 2_000_000\nwrite_share = 0.0\nunit = \"4KiB\"\narrivals = { poisson = { mean_gap = \"20us\" } }",
        "loop = \"open\"",
    ));
    let run = &results.runs[0];
    let service = run.service_ns.as_ref().expect("the breakdown is on");
    // Half busy: 10 µs and on average 5 µs of waiting.
    let controller = service["controller"];
    assert!((controller / 15_000.0 - 1.0).abs() < 0.01, "{controller}");
    let share = run.utilisation.controller.expect("it has cores");
    assert!((share - 0.5).abs() < 0.005, "{share}");
}

#[test]
fn a_full_link_bounds_a_closed_loop_and_is_named_as_the_bottleneck() {
    let results = results(&study(
        "link_bandwidth = \"100MB/s\"",
        "requests = 200_000\nwrite_share = 0.0\nunit = \"4KiB\"\nsizes = \"4KiB\"",
        "loop = \"closed\"\nqueue_depth = 32",
    ));
    let run = &results.runs[0];
    assert_eq!(load(run).busiest.as_deref(), Some("link"));
    let iops: f64 = 200_000.0 / (simulated_ns(run) as f64 / 1e9);
    assert!((iops / (100e6 / 4096.0) - 1.0).abs() < 0.001, "{iops}");
    let parts = run.service_ns.as_ref().expect("the breakdown is on");
    let waiting: f64 = run.waiting_ns.as_ref().expect("on").values().sum();
    let mean = run.response_ns.all.mean.expect("reads");
    let sum = parts.values().sum::<f64>() + waiting;
    assert!((sum - mean).abs() < 1.0, "{sum} {mean}");
    assert!(parts["link"] > 0.9 * mean, "{parts:?}");
}
