//! Idle time begins when nothing is under way any more, work that nobody waits for included.
//!
//! waftl migrates in the background: the write that finds the zone full is done long before the
//! pages of the zone have moved. It erases the blocks of an old zone in idle time.
//!
//! ```text
//!   host      W done                                         W
//!   die 0        [migration ···········]                      |
//!   die 1            [migration ··················]           |
//!   idle                                           |─────────|
//!   erases                                         [E][E]
//! ```
//!
//! If the device counted as idle once the host has its answer, erases would be asked for while the
//! migration still runs, and the length of idle time, from which waftl predicts the next (eq. 3),
//! would be that between requests.

use sim::RunResult;

use super::{operations as operations_of, results};

/// An operation of a timeline.
#[derive(Clone, Copy, Debug)]
struct Operation {
    op: &'static str,
    cause: &'static str,
    ready_ns: u64,
    end_ns: u64,
}

/// What waftl does for writes of single pages, as far apart as a few erases.
fn operations() -> Vec<Operation> {
    let results = results(
        r#"
        [device]
        channels = 2
        dies_per_channel = 1
        blocks_per_plane = 192
        pages_per_block = 16
        spare = 0.8
        read_latency = "25us"
        program_latency = "200us"
        erase_latency = "1500us"
        transfer_latency = "40us"
        [workload.generator]
        requests = 1000
        span = "3MiB"
        unit = "4KiB"
        write_share = 1.0
        arrivals = { poisson = { mean_gap = "6ms" } }
        [host]
        loop = "open"
        [run]
        precondition = "fill"
        timeline = "0ms..1h"
        [[ftl]]
        name = "waftl"
        zone_blocks = "4"
        gc_free = "0"
        "#,
    );
    let timeline = results.runs[0].timeline.as_ref().expect("asked for");
    assert_eq!(timeline.to_ns, timeline.requested_to_ns, "all operations are there");
    (0..timeline.op.len())
        .map(|i| Operation {
            op: timeline.op[i],
            cause: timeline.cause[i],
            ready_ns: timeline.ready_ns[i],
            end_ns: timeline.end_ns[i],
        })
        .collect()
}

#[test]
fn idle_time_begins_when_a_migration_in_the_background_has_ended() {
    let operations = operations();
    let under_way = |at_ns: u64, cause: Option<&str>| {
        let mine = operations.iter().filter(move |other| cause.is_none_or(|cause| other.cause == cause));
        mine.filter(move |other| other.ready_ns < at_ns && at_ns < other.end_ns).copied().collect::<Vec<_>>()
    };
    // Migrations go on after the answer: else there is nothing that idle time must wait for.
    let migrated = operations.iter().filter(|operation| operation.cause == "merge");
    let alone = migrated.filter(|operation| under_way(operation.end_ns, Some("host")).is_empty()).count();
    assert!(alone > 1000, "{alone} operations of migrations end while the host waits for nothing");
    let erases: Vec<_> = operations.iter().filter(|operation| operation.op == "erase").collect();
    assert!(erases.len() > 40, "{} erases in idle time", erases.len());
    for erase in erases {
        let others = under_way(erase.ready_ns, None);
        assert!(others.is_empty(), "{erase:?} is asked for while {others:?} go on");
    }
}

/// Writes and reads that come so far apart to a full device of superblocks on these channels, one
/// die each, which takes them in less.
fn calm((superblock, channels): (&str, u32), gap: &str, gc: &str) -> RunResult {
    let capacity = 300 * channels;
    results(&format!(
        r#"
        [device]
        channels = {channels}
        dies_per_channel = 1
        planes_per_die = 4
        blocks_per_plane = 64
        pages_per_block = 96
        page_size = "16KiB"
        mapping_unit = "4KiB"
        cell = "tlc"
        programming = "one_shot"
        multi_plane = true
        superblock = "{superblock}"
        read_latency = "50us"
        program_latency = "600us"
        erase_latency = "3500us"
        transfer_latency = "10us"
        capacity = "{capacity}MiB"
        [workload.generator]
        requests = 30000
        span = "{capacity}MiB"
        unit = "4KiB"
        sizes = "4KiB"
        write_share = 0.5
        arrivals = {{ constant = {{ gap = "{gap}" }} }}
        [run]
        precondition = "steady"
        [[ftl]]
        name = "page"
        gc_idle = "6"
        gc = "{gc}"
        "#
    ))
    .runs
    .remove(0)
}

#[test]
fn idle_time_of_superblocks_is_used_and_not_overrun() {
    let (die, group) = (("die", 1), ("group", 2));
    for (of, gap, gc) in
        [(die, "12ms", "paced"), (die, "45ms", "whole"), (group, "12ms", "paced"), (group, "45ms", "whole")]
    {
        let run = calm(of, gap, gc);
        let moved = operations_of(&run, "collection", "program");
        println!("{of:?} {gap} {gc}: {moved} pages are moved, reads {:?}", run.response_ns.read);
        assert!(moved > 10_000, "{of:?} {gap} {gc}: {moved} pages are moved");
        // A page that is sensed, and a quarter that moves: 52.5 µs. The first write of all may need
        // whole collections at once.
        let longest = if gc == "paced" { run.response_ns.read.max } else { run.response_ns.read.p99_9 };
        let is_alone = longest.is_some_and(|longest_ns| longest_ns < 53_000);
        assert!(is_alone, "{of:?} {gap} {gc}: a read waits for what idle time was used for");
    }
}
