//! Which backlogs are refused with advice: those that would take more memory than a study may.

use sim::{Control, SimError, run_study};

use super::parse_toml;

/// The least that any machine allows: 65,536 operations under way.
const LEAST: &str = "memory_limit = \"16MiB\"";

/// What becomes of a host that writes this many bytes at a time with such a gap between, where few
/// operations may be under way: the writes that were served.
fn served(host: &str, requests: u64, size: &str, gap: &str) -> Result<u64, SimError> {
    let text = format!(
        r#"
        [device]
        channels = 1
        blocks_per_plane = 64
        spare = 0.2
        [workload.generator]
        requests = {requests}
        span = "8MiB"
        write_share = 1.0
        sizes = "{size}"
        arrivals = {{ constant = {{ gap = "{gap}" }} }}
        [host]
        {host}
        [run]
        waiting = false
        {LEAST}
        [[ftl]]
        name = "page"
        "#
    );
    let results = run_study(&parse_toml(&text, "test").expect("valid"), &Control::new())?;
    Ok(results.runs[0].requests.write)
}

/// Whether the message has each of these parts.
fn assert_says(error: &SimError, parts: &[&str]) {
    let message = error.to_string();
    for part in parts {
        assert!(message.contains(part), "`{part}` is missing in: {message}");
    }
}

#[test]
fn an_open_loop_that_falls_ever_further_behind_is_refused_with_advice() {
    assert_eq!(served("", 5000, "4KiB", "2ms").expect("the device keeps up"), 5000);
    let error = served("", 100_000, "4KiB", "10us").expect_err("it falls behind");
    let advice = ["workload.speedup", "host.loop = \"closed\""];
    assert_says(&error, &["ftl \"page\"", "further behind", "at most 65536", advice[0], advice[1]]);
}

#[test]
fn a_closed_loop_of_too_many_operations_is_refused_with_advice() {
    let host = "loop = \"closed\"\nqueue_depth = 8192";
    assert_eq!(served(host, 10_000, "4KiB", "1us").expect("few are under way"), 10_000);
    let error = served(host, 10_000, "64KiB", "1us").expect_err("too many are under way");
    assert_says(&error, &["ftl \"page\"", "8192 outstanding requests", "at most 65536", "Lower host.queue_depth"]);
}
