//! The program buffer beside a queue that is worked out here, and larger ones beside smaller ones.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use random::SeededRng;

use super::{load, results};

const UNIT_BYTES: u64 = 4096;
/// A word line of three pages of four units.
const AT_ONCE: u64 = 12;
const DIES: u64 = 4;
const PROGRAM_NS: u64 = 600_000;
const UNIT_MOVES_NS: u64 = 2_500;
const GAP_NS: u64 = 1_000;

fn burst(places: u64, requests: u64) -> String {
    format!(
        "[device]\nchannels = {DIES}\nblocks_per_plane = 64\npages_per_block = 96\npage_size = \"16KiB\"\nmapping_unit = \"4KiB\"\n\
         cell = \"tlc\"\nprogramming = \"one_shot\"\nprogram_latency = \"{PROGRAM_NS}ns\"\ntransfer_latency = \"{}ns\"\nprogram_buffer = {}\n\
         [workload.generator]\nrequests = {requests}\nspan = \"64MiB\"\nunit = \"4KiB\"\nsizes = \"4KiB\"\nwrite_share = 1.0\n\
         arrivals = {{ constant = {{ gap = \"{GAP_NS}ns\" }} }}\n[run]\nprecondition = \"none\"\n[[ftl]]\nname = \"page\"\n",
        4 * UNIT_MOVES_NS,
        places * UNIT_BYTES,
    )
}

/// The mean response of a queue of this many places in front of dies that take the units in turn,
/// each on a channel of its own.
fn mean_of_queue(places: u64, requests: u64) -> f64 {
    let (mut taken, mut last, mut sum) = (0, 0, 0);
    let (mut units, mut free_at) = ([0; DIES as usize], [0; DIES as usize]);
    let mut frees: BinaryHeap<Reverse<u64>> = BinaryHeap::new();
    for request in 0..requests {
        let arrival = request * GAP_NS;
        let mut enters = arrival.max(last);
        while taken == places || frees.peek().is_some_and(|&Reverse(at)| at <= enters) {
            let Reverse(at) = frees.pop().expect("a program is under way");
            enters = enters.max(at);
            taken -= AT_ONCE;
        }
        (taken, last) = (taken + 1, enters);
        sum += enters - arrival;
        let die = (request % DIES) as usize;
        units[die] += 1;
        if units[die] % AT_ONCE == 0 {
            free_at[die] = free_at[die].max(enters) + AT_ONCE * UNIT_MOVES_NS + PROGRAM_NS;
            frees.push(Reverse(free_at[die]));
        }
    }
    sum as f64 / requests as f64
}

#[test]
fn a_burst_waits_as_in_a_queue_of_that_size_before_the_same_flash() {
    let requests = 4_000;
    for places in [1, 2, 3, 8, 40].map(|program_units| program_units * DIES * AT_ONCE) {
        let run = results(&burst(places, requests)).runs.remove(0);
        let (mean, expected) = (run.response_ns.write.mean.expect("writes"), mean_of_queue(places, requests));
        assert!((mean - expected).abs() <= 0.001 * expected + 1.0, "{places} places: {mean} ns, not {expected}");
        let buffer = run.footprint.structures.iter().find(|structure| structure.name == "program buffer");
        assert_eq!(buffer.expect("there is one").ram_bytes, places * UNIT_BYTES, "no more was held than asked for");
    }
}

/// Long writes off the grid: the rest of their first pages is read, so that later pages of a block
/// come before these. In another order of programs, blocks have gaps.
#[test]
fn no_more_is_held_than_asked_for_where_units_come_out_of_order() {
    for (stack, cell) in [("page", ""), ("dftl:cmt=4KiB", ""), ("page", "cell = \"mlc\""), ("fast", ""), ("block", "")]
    {
        for places in [1, 2, 4, 16] {
            let run = results(&format!(
                "[device]\nchannels = 1\nblocks_per_plane = 64\npages_per_block = 16\npage_size = \"4KiB\"\nspare = 0.5\n{cell}\n\
                 program_buffer = {}\n[workload.generator]\nrequests = 300\nspan = \"1MiB\"\nunit = \"512B\"\nsizes = \"30KiB\"\n\
                 write_share = 1.0\narrivals = {{ poisson = {{ mean_gap = \"1ms\" }} }}\n[run]\nprecondition = \"fill\"\n\
                 [[ftl]]\nname = \"{stack}\"\n",
                places * UNIT_BYTES
            ))
            .runs
            .remove(0);
            let buffer = run.footprint.structures.iter().find(|structure| structure.name == "program buffer");
            let held = buffer.expect("there is one").ram_bytes / UNIT_BYTES;
            assert_eq!(held, places, "{stack} on {cell:?}: places that were taken at the same time");
        }
    }
}

#[test]
fn a_larger_program_buffer_is_never_slower() {
    let is_long = std::env::var_os("FTLKIT_LONG").is_some();
    let (mut random, mut slower) = (SeededRng::new(11), Vec::new());
    for case in 0..if is_long { 200 } else { 12 } {
        let mut draw = |of: &[&str]| of[random.below(of.len() as u64) as usize].to_owned();
        let device = [
            format!("channels = {}\ndies_per_channel = {}", draw(&["2", "4"]), draw(&["1", "2"])),
            draw(&["cell = \"tlc\"\nprogramming = \"one_shot\"", "cell = \"mlc\"", ""]),
            draw(&["", "reads_first = true", "gc_yields = true", "suspend = \"program\""]),
        ]
        .join("\n");
        let (stack, gap) =
            (draw(&["page", "page", "dftl:cmt=4KiB", "rftl:cmt=4KiB"]), draw(&["20us", "60us", "200us", "1ms"]));
        let pattern = draw(&["\"uniform\"", "{ zipf = { theta = 0.9 } }", "\"sequential\""]);
        let mean = |factor: u64| {
            let text = format!(
                "[device]\nblocks_per_plane = 40\npages_per_block = 48\npage_size = \"16KiB\"\nmapping_unit = \"4KiB\"\nspare = 0.2\n\
                 transfer_latency = \"20us\"\nprogram_buffer = {}\n{device}\n[workload.generator]\nrequests = 4000\nspan = \"16MiB\"\n\
                 unit = \"4KiB\"\nsizes = {{ uniform = {{ min = \"4KiB\", max = \"32KiB\", step = \"4KiB\" }} }}\nwrite_share = 0.6\n\
                 pattern = {pattern}\narrivals = {{ poisson = {{ mean_gap = \"{gap}\" }} }}\n[run]\nprecondition = \"fill\"\n\
                 [[ftl]]\nname = \"{stack}\"\n",
                factor * 8 * AT_ONCE * UNIT_BYTES
            );
            let run = results(&text).runs.remove(0);
            (run.response_ns.all.mean.expect("requests"), load(&run).is_overloaded)
        };
        let runs = [1, 2, 4, 16].map(mean);
        // In an overload reads of the map wait behind more programs, where dies serve in order.
        if !stack.starts_with("page") && runs.iter().any(|run| run.1) {
            continue;
        }
        let means = runs.map(|run| run.0);
        if means.windows(2).any(|pair| pair[1] > 1.05 * pair[0]) {
            let means = means.map(f64::round);
            slower.push(format!(
                "case {case}: {means:?} ns with 1, 2, 4, 16 times the buffer; {stack}, {gap}, {pattern}\n{device}"
            ));
        }
    }
    assert!(slower.is_empty(), "{}", slower.join("\n"));
}
