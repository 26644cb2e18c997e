//! What counts as a look-up and as a hit: the pages that the host asked for, each once, however the
//! layer completes those that are written in part.

use ftl::{PartKind, Stack, registry};
use sim::RunResult;

use super::{operations, results};

/// Pages for which a write buffer has room.
const ROOM: u64 = 16;

/// Requests of 6 KiB that begin at any KiB, so that most cover their first and last page in part,
/// drawn evenly from more pages than any RAM holds.
fn text(layers: &[String]) -> String {
    let device = "channels = 2\ndies_per_channel = 2\ncapacity = \"24MiB\"\npages_per_block = 32\nspare = 0.4\n";
    let workload = "requests = 1500\nspan = \"16MiB\"\nwrite_share = 0.7\nsizes = \"6KiB\"\nunit = \"1KiB\"\n";
    let run = "precondition = \"fill\"\nverify = false\nwaiting = false\nsamples = 2\n";
    let layer = |name: &String| format!("[[ftl]]\nname = \"{name}\"\nlabel = \"{name}\"\n");
    let layers = layers.iter().map(layer).collect::<Vec<_>>().concat();
    format!("[device]\n{device}[workload.generator]\n{workload}[host]\nloop = \"closed\"\n[run]\n{run}{layers}")
}

/// Every mapping, alone and behind every write buffer that it can have.
fn stacks() -> Vec<String> {
    let mut stacks = Vec::new();
    for mapping in registry::mappings() {
        let ram = if mapping.parameters.iter().any(|parameter| parameter.name == "ram") { ":ram=256KiB" } else { "" };
        stacks.push(format!("{}{ram}", mapping.name));
        let buffers = registry::entries(PartKind::Buffer).into_iter();
        let buffered = buffers.map(|buffer| format!("{}{ram}+{}:ram=64KiB", mapping.name, buffer.name));
        stacks.extend(buffered.filter(|name| registry::resolve(&name.parse::<Stack>().expect("a spelling")).is_ok()));
    }
    stacks
}

/// Holds a run's counts to the pages that the host read and wrote.
fn assert_counts_are_of_the_hosts_pages(run: &RunResult) {
    let note = |name: &str| run.notes[name];
    let (layer, read, written) = (&run.label, run.host_pages_read, run.host_pages_written);
    let (hits, accepted) = (note("buffer_hits"), note("buffer_hits") + note("buffer_misses"));
    let lookups = note("mapping_hits") + note("mapping_misses");
    let waiting = run.gauges.get("buffered_pages").map_or(0, |&pages| pages as u64);
    if note("buffer_read_misses") > 0 {
        // Data and map share RAM, in which pages are held that have been read, too.
        let sought = accepted + note("buffer_reads") + note("buffer_read_misses") + note("bypassed_pages");
        assert_eq!(sought, read + written, "{layer}: pages sought in RAM");
        assert!(note("absorbed_pages") <= hits, "{layer}: {hits} hits");
        assert!(lookups <= read + written + note("buffer_evictions"), "{layer}: {lookups} look-ups");
    } else if accepted > 0 {
        assert_eq!(accepted, written, "{layer}: pages that came into the buffer");
        assert_eq!(hits, note("absorbed_pages"), "{layer}: hits are the writes absorbed");
        assert!(note("buffer_reads") <= read, "{layer}: reads answered from the buffer");
    }
    // RAM holds a hundredth of the pages.
    assert!(hits + note("buffer_reads") < (read + written) / 20, "{layer}: {hits} hits");
    if lookups > 0 && note("buffer_read_misses") == 0 {
        // Pages of the fill may have waited when measuring began, and others wait at its end.
        let (programmed, waited) = if accepted > 0 { (note("buffer_misses") - waiting, ROOM) } else { (written, 0) };
        let asked = read - note("buffer_reads") + programmed;
        // waftl maps some blocks as a whole, and asks no cache for them.
        let least = if layer.starts_with("waftl") { 0 } else { asked };
        assert!((least..=asked + waited).contains(&lookups), "{layer}: {lookups} look-ups for {asked} pages");
    }
}

#[test]
fn each_page_of_the_host_counts_once_under_every_mapping_and_buffer() {
    let results = results(&text(&stacks()));
    for run in &results.runs {
        assert!(operations(run, "read_modify_write", "read") > 500, "{}: pages are written in part", run.label);
        assert_counts_are_of_the_hosts_pages(run);
    }
    for counted in ["mapping_hits", "buffer_hits", "buffer_reads", "buffer_read_misses"] {
        assert!(results.runs.iter().any(|run| run.notes[counted] > 0), "no run counts {counted}");
    }
}
