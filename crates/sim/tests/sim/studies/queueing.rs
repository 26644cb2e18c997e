//! Queues against their closed forms.
//!
//! Poisson arrivals over dies make each die an M/G/1 queue: its mean wait is λE[S²] / 2(1 − ρ),
//! with equal services ρD / 2(1 − ρ). In a closed loop of n requests over c dies chosen at random,
//! the share of busy dies is known from simulation of the bare queue. Die-limited random writes
//! reach dies ÷ (time of a host write with its share of collection).

use super::results;
use flash::{Geometry, Pbn, Shape};
use ftl::{Cause, FlashOp, Moment, Nanos, Task, Timing};
use random::SeededRng;
use sim::{Abilities, EventTiming, Latencies, Model};

fn close(found: f64, expected: f64, tolerance: f64, what: &str) {
    let off = found / expected - 1.0;
    assert!(off.abs() <= tolerance, "{what}: {found:.4}, expected {expected:.4} ({:+.2} %)", 100.0 * off);
}

/// Reads of 100 µs on a filled device of eight dies; transfers take no time, so dies are all there
/// is.
fn reads(host: &str, arrivals: &str) -> String {
    format!(
        r#"
        [device]
        channels = 8
        dies_per_channel = 1
        blocks_per_plane = 64
        read_latency = "100us"
        transfer_latency = "0us"
        [workload.generator]
        requests = 3_000_000
        span = "115MiB"
        write_share = 0.0
        {arrivals}
        [host]
        {host}
        [run]
        precondition = "fill"
        [[ftl]]
        name = "page"
        "#
    )
}

#[test]
fn poisson_reads_wait_like_m_d_1() {
    const D: f64 = 100_000.0;
    for (utilisation, mean_gap, p99_in_d) in [(0.5, "25us", 3.336), (0.8, "15625ns", 10.356)] {
        let results = results(&reads(
            r#"loop = "open""#,
            &format!(r#"arrivals = {{ poisson = {{ mean_gap = "{mean_gap}" }} }}"#),
        ));
        let run = &results.runs[0];
        let response = run.response_ns.read;
        let wait = response.mean.expect("reads") - D;
        close(wait, utilisation * D / (2.0 * (1.0 - utilisation)), 0.02, &format!("mean wait at {utilisation}"));
        close(
            response.p99.expect("reads") as f64 - D,
            p99_in_d * D,
            0.02,
            &format!("p99 of the wait at {utilisation}"),
        );
        close(run.utilisation.dies.expect("time passed"), utilisation, 0.01, "busy share");
    }
}

#[test]
fn mixed_operations_wait_like_m_g_1() {
    let latencies = Latencies::of_slc([60_000, 600_000, 1, 0]);
    for (utilisation, expected_us) in [(0.5, 248.92), (0.8, 995.68)] {
        let dies = 16;
        let (channels, dies_per_channel, planes_per_die, blocks_per_plane) = (4, 4, 1, 1);
        let (pages_per_block, page_size_bytes) = (1, 4096);
        let shape =
            Shape { channels, dies_per_channel, planes_per_die, blocks_per_plane, pages_per_block, page_size_bytes };
        let geometry = Geometry::new(shape).expect("a shape");
        let mut timing = EventTiming::new(&geometry, latencies, Model::Parallel, Abilities::default());
        let mut random = SeededRng::new(5);
        let mut unit = || (random.bits() >> 11) as f64 / (1_u64 << 53) as f64;
        let mean_gap_ns = 222_000.0 / utilisation / f64::from(dies);
        let (mut now, mut waited, requests) = (0.0, 0.0, 6_000_000_u32);
        let mut begun = Vec::new();
        for request in 0..requests {
            now += -mean_gap_ns * (1.0 - unit()).ln();
            let at = Nanos(now as u64);
            let op = if unit() < 0.7 { FlashOp::Read } else { FlashOp::Program };
            timing.pass_until(at);
            let die = (unit() * f64::from(dies)) as u32;
            let end = timing.perform(Task::new(op, Cause::Host, Pbn::new(die), die), Moment::at(at));
            timing.tell_when_over(end, request);
            begun.push(at + Nanos(if op == FlashOp::Read { 60_000 } else { 600_000 }));
            waited += timing.drain_ended().map(|(ended, at)| (at - begun[ended as usize]).0 as f64).sum::<f64>();
        }
        close(waited / f64::from(requests) / 1000.0, expected_us, 0.02, &format!("mean wait at {utilisation}"));
    }
}

#[test]
fn a_closed_loop_keeps_as_many_dies_busy_as_theory_says() {
    for (depth, dies, expected) in [(8, 8, 0.618), (32, 8, 0.892), (32, 32, 0.594)] {
        let study = reads(&format!("loop = \"closed\"\nqueue_depth = {depth}"), "")
            .replace("dies_per_channel = 1", &format!("dies_per_channel = {}", dies / 8));
        let results = results(&study.replace("3_000_000", "1_000_000"));
        let busy = results.runs[0].utilisation.dies.expect("time passed");
        close(busy, expected, 0.02, &format!("{depth} requests over {dies} dies"));
        let iops = results.runs[0].iops.expect("time passed");
        close(iops, busy * f64::from(dies) * 1e4, 0.01, "throughput is busy dies by service time");
    }
}

#[test]
fn random_writes_reach_the_ceiling_that_dies_set() {
    for (channels, dies_per_channel) in [(4, 1), (1, 4)] {
        let results = results(&format!(
            r#"
            [device]
            channels = {channels}
            dies_per_channel = {dies_per_channel}
            blocks_per_plane = 256
            transfer_latency = "5us"
            [workload.generator]
            requests = 400_000
            span = "230MiB"
            [host]
            loop = "closed"
            queue_depth = 2048
            [run]
            precondition = "steady"
            [[ftl]]
            name = "page"
            "#
        ));
        let run = &results.runs[0];
        let a = run.write_amplification.expect("writes");
        let host_write_us = a * (200.0 + 5.0) + (a - 1.0) * (25.0 + 5.0) + a / 64.0 * 1500.0;
        let ceiling = 4.0 / host_write_us * 1e6;
        close(
            run.iops.expect("time passed"),
            ceiling,
            0.03,
            &format!("IOPS on {channels} channels of {dies_per_channel} dies"),
        );
    }
}

#[test]
fn a_page_takes_no_room_whose_pages_are_still_being_written() {
    // A burst of writes in order, one a microsecond, on a die that programs in 200 µs. A buffer of
    // four pages absorbs none of them, so it answers no sooner than the mapping alone, but for the
    // four pages that it holds; also one that writes four pages down at once.
    let results = results(
        r#"
        [device]
        channels = 1
        dies_per_channel = 1
        blocks_per_plane = 64
        program_latency = "200us"
        transfer_latency = "0us"
        [workload.generator]
        requests = 400
        span = "2MiB"
        unit = "4KiB"
        write_share = 1.0
        pattern = "sequential"
        arrivals = { poisson = { mean_gap = "1us" } }
        [host]
        loop = "open"
        [run]
        precondition = "fill"
        [[ftl]]
        name = "page"
        [[ftl]]
        name = "page+fifo:ram=16KiB:access_delay=0ns"
        [[ftl]]
        name = "page+fab:ram=16KiB:access_delay=0ns"
        "#,
    );
    let [alone, buffered @ ..] = results.runs.as_slice() else { panic!("three runs") };
    let mean_ns = |run: &sim::RunResult| run.response_ns.write.mean.expect("writes");
    for run in buffered {
        let four_programs_ns = 4.0 * 200_000.0;
        assert!(mean_ns(run) > mean_ns(alone) - four_programs_ns, "{}: {:?}", run.label, run.response_ns.write);
    }
}

#[test]
fn a_register_of_bdb_takes_no_page_before_the_one_in_it_is_written() {
    // A burst of writes at random places, one a microsecond, on eight dies that program one page in
    // 200 µs: of all that has been answered, no more than the 16 registers hold is not on flash.
    const PAGES: f64 = 4000.0;
    let results = results(
        r#"
        [device]
        channels = 8
        dies_per_channel = 1
        blocks_per_plane = 128
        program_latency = "200us"
        transfer_latency = "0us"
        [workload.generator]
        requests = 4000
        span = "64MiB"
        unit = "2KiB"
        write_share = 1.0
        arrivals = { poisson = { mean_gap = "1us" } }
        [host]
        loop = "open"
        [[ftl]]
        name = "bdb"
        cmt = "1MiB"
        "#,
    );
    let run = &results.runs[0];
    let response = run.response_ns.write;
    // The last of n pages is written after n / 8 programs at the earliest.
    let all_written_ns = PAGES / 8.0 * 200_000.0;
    let mean_ns = (all_written_ns - PAGES * 1000.0) / 2.0;
    assert!(response.mean.expect("writes") > 0.95 * mean_ns, "{response:?}");
    assert!(response.p50.expect("writes") as f64 > 0.95 * mean_ns, "{response:?}");
}

/// Pages that leave a buffer together go to the flash together, and a request waits for room alone.
#[test]
fn write_buffers_at_equal_amplification_are_no_slower_than_none() {
    let mut compared = 0;
    for (pattern, sizes) in [("\"uniform\"", "64KiB"), ("\"sequential\"", "64KiB"), ("\"uniform\"", "4KiB")] {
        for depth in [1, 8, 32] {
            let buffers = ftl::registry::entries(ftl::PartKind::Buffer);
            let stack = |entry: &&'static ftl::Entry| format!("\n[[ftl]]\nname = \"page+{}:ram=1MiB\"", entry.name);
            let stacks = buffers.iter().map(stack).collect::<Vec<_>>().concat();
            let outcome = results(&format!(
                "[device]\nchannels = 4\ndies_per_channel = 1\nblocks_per_plane = 64\nspare = 0.3\n\
                 [workload.generator]\nrequests = 1500\nspan = \"40MiB\"\npattern = {pattern}\nsizes = \"{sizes}\"\n\
                 [host]\nloop = \"closed\"\nqueue_depth = {depth}\n[run]\nprecondition = \"fill\"\n\
                 [[ftl]]\nname = \"page\"{stacks}"
            ));
            let figures = |run: &sim::RunResult| {
                (run.write_amplification.expect("writes"), run.response_ns.all.mean.expect("responses"))
            };
            let (amplification, mean) = figures(&outcome.runs[0]);
            for run in &outcome.runs[1..] {
                let (own_amplification, own_mean) = figures(run);
                if own_amplification <= 1.02 * amplification {
                    compared += 1;
                    let of = format!("{} {pattern} {sizes} {depth}", run.label);
                    assert!(own_mean <= 1.1 * mean, "{of}: {own_mean} ns, without a buffer {mean} ns");
                }
            }
        }
    }
    assert!(compared > 20, "{compared}");
}
