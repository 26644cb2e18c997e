//! A steady preparation ends where its workload leads: what longer runs show, and for how long a
//! drive then lives.

use sim::RunResult;

use super::results;

const LOGICAL_PAGES: u32 = 14_417;

/// Random writes of this many pages, that pass over a prepared device this often.
fn run(ftl: &str, pages: u32, passes: f64, precondition: &str) -> RunResult {
    let requests = passes * f64::from(LOGICAL_PAGES / pages);
    let text = format!(
        "[device]\nchannels = 2\ndies_per_channel = 2\nplanes_per_die = 1\nblocks_per_plane = 64\npages_per_block = 64\n\
         page_size = \"4KiB\"\nspare = 0.12\nendurance = 60\n[workload.generator]\nrequests = {requests:.0}\nspan = {}\n\
         unit = {}\nsizes = {}\n[host]\nloop = \"closed\"\n[run]\nclock = false\nprecondition = \"{precondition}\"\n[[ftl]]\n{ftl}",
        LOGICAL_PAGES / pages * pages * 4096,
        pages * 4096,
        pages * 4096,
    );
    results(&text).runs.remove(0)
}

/// The map lies on flash, so what collections cost depends on how far neighbours have parted.
#[test]
fn steady_state_is_that_of_ten_times_as_long_a_run() {
    for pages in [1, 4, 16] {
        for (ftl, cache) in [("dftl", "cmt = 4096"), ("dftl", "cmt = 32768"), ("tpftl", "cmt = 8192")] {
            let long = run(&format!("name = \"{ftl}\"\n{cache}"), pages, 10.0, "steady");
            let prepared = long.precondition.expect("prepared");
            let (told, after) = (prepared.page_write_amplification, long.page_write_amplification.expect("written"));
            assert!(
                (told / after - 1.0).abs() < 0.06,
                "{ftl} {cache}, {pages} pages: {told} as prepared, then {after}"
            );
        }
    }
}

/// Preparing for a study takes cycles that no drive has lost.
#[test]
fn life_leaves_out_the_cycles_that_preparation_took() {
    let life = |precondition| {
        let run = run("name = \"page\"", 1, 6.0, precondition);
        run.endurance.spares_gone.expect("a forecast").written_bytes as f64
    };
    let (filled, steady) = (life("fill"), life("steady"));
    assert!((steady / filled - 1.0).abs() < 0.02, "{filled} bytes after a fill, {steady} in a steady state");
}
