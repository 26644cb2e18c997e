//! Who wrote what, and whose pages were moved for whom, by stream.

use sim::{RunResult, StreamFacts};

use super::{operations, results};

/// Two jobs on a full device: random writes to the first three tenths, with hint 1, and a ring of
/// sequential ones over the rest, with hint 2.
fn run(ftl: &str) -> RunResult {
    let text = format!(
        r#"
        [device]
        channels = 1
        dies_per_channel = 2
        planes_per_die = 1
        blocks_per_plane = 128
        pages_per_block = 64
        page_size = "4KiB"
        capacity = "58MiB"
        [workload.generator]
        requests = 40_000
        span = "58MiB"
        unit = "4KiB"
        pattern = {{ mixed = [
            {{ weight = 4, pattern = "uniform", region = [0.0, 0.3], sizes = "4KiB", stream = 1 }},
            {{ weight = 1, pattern = "sequential", region = [0.3, 1.0], sizes = "16KiB", stream = 2 }},
        ] }}
        [host]
        loop = "closed"
        [run]
        clock = false
        precondition = "fill"
        [[ftl]]
        name = "{ftl}"
        "#
    );
    results(&text).runs.remove(0)
}

fn moved(streams: &[StreamFacts]) -> u64 {
    streams.iter().flat_map(|stream| &stream.moved_for).sum()
}

fn amplification(stream: &StreamFacts) -> f64 {
    1.0 + stream.moved_for.iter().sum::<u64>() as f64 / stream.host_pages as f64
}

#[test]
fn counts_by_stream_add_up_to_those_of_the_run() {
    for ftl in [
        "page:streams=hints:hint_streams=3",
        "page:streams=hints:hint_streams=3:hint_collection=isolated",
        "page:streams=hints:hint_streams=3:hint_collection=apart",
        "page:streams=sepbit",
        "page:streams=dac:gc=paced",
        "dftl:streams=fadac",
        "page:streams=hints:hint_streams=3+lru:ram=256KiB",
    ] {
        let run = run(ftl);
        let streams = run.streams.as_ref().expect("streams are kept apart");
        let written: u64 = streams.iter().map(|stream| stream.host_pages).sum();
        let erased: u64 = streams.iter().map(|stream| stream.erased_blocks).sum();
        assert_eq!(written, operations(&run, "host", "program"), "{ftl}");
        assert_eq!(moved(streams), operations(&run, "collection", "program"), "{ftl}");
        assert!(moved(streams) > 10_000, "{ftl}: hardly anything was moved");
        assert!(erased <= run.erases.total && erased > run.erases.total / 2, "{ftl}: {erased} of {}", run.erases.total);
        assert_eq!(run.media_erased_bytes, run.erases.total * 64 * 4096, "{ftl}");
    }
    for ftl in ["page", "page:streams=shared", "fast", "dftl"] {
        assert!(run(ftl).streams.is_none(), "{ftl}");
    }
}

#[test]
fn true_death_times_write_less_than_any_classifier_that_a_controller_can_have() {
    let amplification = |streams: &str| run(&format!("page:streams={streams}")).write_amplification.expect("writes");
    let oracle = amplification("oracle");
    for streams in ["separate", "sepbit", "dac", "fadac"] {
        let other = amplification(streams);
        assert!(oracle < 0.95 * other, "{streams}: {other:.2}, with death times {oracle:.2}");
    }
}

#[test]
fn a_sequential_ring_moves_little_of_its_own_and_has_others_moved() {
    let run = run("page:streams=hints:hint_streams=3");
    let [_, random, ring, collected] = run.streams.as_deref().expect("streams are kept apart") else {
        panic!("{:?}", run.streams)
    };
    assert!(amplification(ring) < 1.5 && amplification(random) > 2.0, "{ring:?}, {random:?}");
    assert!(random.moved_for[2] > 10_000, "the ring's writes have random pages moved: {random:?}");
    assert!(collected.is_collected && !ring.is_collected);
    assert_eq!((collected.host_pages, collected.moved_for.iter().sum::<u64>()), (0, 0));
    assert!(random.erased_blocks > 0 && ring.erased_blocks > 0 && collected.erased_blocks > 0);
}
