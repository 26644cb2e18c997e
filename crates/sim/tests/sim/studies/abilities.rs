//! What a device can do beyond the plain model, as keys of a study: each helps where it should, and
//! changes nothing where it cannot.

use sim::{ClassLatency, RunResult};

use super::results;

/// Reads and writes of single pages on a full device of eight dies of two planes, which collects
/// all the time.
fn run(keys: &str) -> RunResult {
    results(&text(keys)).runs.remove(0)
}

fn text(keys: &str) -> String {
    format!(
        r#"
        [device]
        channels = 4
        dies_per_channel = 2
        planes_per_die = 2
        blocks_per_plane = 24
        pages_per_block = 32
        spare = 0.25
        transfer_latency = "60us"
        {keys}
        [workload.generator]
        requests = 20_000
        span = "36MiB"
        write_share = 0.4
        sizes = "4KiB"
        arrivals = {{ poisson = {{ mean_gap = "200us" }} }}
        [run]
        precondition = "steady"
        classes = true
        verify = true
        [[ftl]]
        name = "page"
        "#
    )
}

fn read_mean(run: &RunResult) -> f64 {
    run.response_ns.read.mean.expect("reads")
}

fn class<'a>(run: &'a RunResult, name: &str) -> &'a ClassLatency {
    run.classes.iter().flatten().find(|class| class.name == name).expect("such operations")
}

#[test]
fn reads_gain_from_what_lets_them_pass() {
    let plain = run("");
    let suspends = run("suspend = \"erase\"\nsuspend_latency = \"5us\"\nresume_latency = \"5us\"");
    let both = run("suspend = \"both\"\nsuspend_latency = \"5us\"\nresume_latency = \"5us\"");
    let yields = run("gc_yields = true");
    let all = run("gc_yields = true\nsuspend = \"both\"");
    for (found, better, worse) in [
        ("suspended erases", &suspends, &plain),
        ("suspended programs, too", &both, &suspends),
        ("yielding", &yields, &plain),
        ("both", &all, &yields),
    ] {
        assert!(
            read_mean(better) < read_mean(worse),
            "{found}: {} is not below {}",
            read_mean(better),
            read_mean(worse)
        );
    }
    // The scheme does the same whatever it costs.
    for other in [&suspends, &both, &yields, &all] {
        let counts = |run: &RunResult| run.operations.iter().map(|operation| operation.count).collect::<Vec<_>>();
        assert_eq!(counts(other), counts(&plain));
        assert_eq!(other.event_hash, plain.event_hash);
        let operations: u64 = counts(other).iter().sum();
        let shown: u64 = other.classes.iter().flatten().map(|class| class.waiting_ns.count).sum();
        assert_eq!(shown, operations, "every operation is shown once, however often it was suspended");
    }
}

#[test]
fn copies_inside_a_plane_spare_the_channels() {
    let (plain, copies) = (run(""), run("copy_back = true"));
    assert!(copies.utilisation.channels < plain.utilisation.channels);
    let (fewer, all) = (class(&copies, "collection").service_ns, class(&plain, "collection").service_ns);
    assert!(fewer.mean < all.mean, "{:?} {:?}", fewer.mean, all.mean);
    assert_eq!(class(&copies, "host_write").service_ns, class(&plain, "host_write").service_ns);
}

#[test]
fn planes_shorten_queues_of_reads() {
    let reads = |keys| results(&text(keys).replace("0.4", "0.0").replace("200us", "20us")).runs.remove(0);
    let (plain, planes) = (reads(""), reads("multi_plane = true"));
    assert!(read_mean(&planes) < read_mean(&plain), "{} {}", read_mean(&planes), read_mean(&plain));
}

#[test]
fn second_registers_shorten_queues() {
    let (plain, reads, programs) = (run(""), run("cache_read = true"), run("cache_program = true"));
    assert!(read_mean(&reads) < read_mean(&plain), "{} {}", read_mean(&reads), read_mean(&plain));
    let write_mean = |run: &RunResult| run.response_ns.write.mean.expect("writes");
    assert!(write_mean(&programs) < write_mean(&plain), "{} {}", write_mean(&programs), write_mean(&plain));
    for other in [&reads, &programs] {
        assert_eq!(other.event_hash, plain.event_hash, "the scheme does the same");
        let service = |run| class(run, "host_write").service_ns;
        assert_eq!(service(other), service(&plain));
    }
    // There is nothing to overlap where pages move at once.
    let at_once = |keys| results(&text(keys).replace("60us", "0us")).runs.remove(0);
    let (plain, both) = (at_once(""), at_once("cache_read = true\ncache_program = true"));
    assert_eq!((both.response_ns, both.utilisation), (plain.response_ns, plain.utilisation));
}

#[test]
fn fewer_channels_that_collect_make_collections_wait() {
    let waits = |run: &RunResult| class(run, "collection").waiting_ns.mean;
    let (one, all) = (run("gc_channels = 1"), run("gc_channels = 4"));
    assert!(waits(&one) > waits(&all), "{:?} {:?}", waits(&one), waits(&all));
    // With as many as there are, only gaps of a die too short for the plain model to remember make
    // a difference.
    let plain = run("");
    assert!((read_mean(&all) / read_mean(&plain) - 1.0).abs() < 0.02, "{} {}", read_mean(&all), read_mean(&plain));
}

#[test]
fn what_cannot_matter_changes_nothing() {
    // One channel, one die: nothing is collected while only a page at a time is read.
    let reads = |keys: &str| {
        let text = format!(
            "[device]\nblocks_per_plane = 32\n{keys}\n[workload]\ngenerator = {{ requests = 2000, span = \"8MiB\", write_share = 0.0, \
             arrivals = {{ poisson = {{ mean_gap = \"30us\" }} }} }}\n[run]\nprecondition = \"fill\"\n[[ftl]]\nname = \"page\""
        );
        results(&text).runs.remove(0)
    };
    let plain = reads("");
    for keys in
        ["gc_yields = true", "suspend = \"both\"", "copy_back = true", "gc_channels = 1", "cache_program = true"]
    {
        let other = reads(keys);
        assert_eq!(other.event_hash, plain.event_hash, "{keys}");
        assert_eq!(other.utilisation, plain.utilisation, "{keys}");
    }
}
