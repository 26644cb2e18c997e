//! Programs of a block in the order of time, counted from the trace of flash alone.

use std::collections::BTreeMap;

use ftl::PartKind;
use random::SeededRng;
use sim::{Control, FlashTraceFacts, run_study};

use super::{parse_toml, results};

fn is_long() -> bool {
    std::env::var_os("FTLKIT_LONG").is_some()
}

/// Programs that begin before an earlier program or erase of their block has ended, and all.
fn too_early(trace: &FlashTraceFacts) -> (usize, usize) {
    let operations = &trace.operations;
    let mut ends: BTreeMap<u32, u64> = BTreeMap::new();
    let (mut early, mut programs) = (0, 0);
    for i in 0..operations.op.len() {
        let (start_ns, end_ns) = (operations.start_ns[i], operations.end_ns[i]);
        if operations.op[i] == "read" {
            continue;
        }
        let before = ends.insert(operations.block[i], end_ns).unwrap_or(0);
        if operations.op[i] == "program" {
            programs += 1;
            early += usize::from(start_ns < before);
        }
    }
    (early, programs)
}

/// A device that falls behind at times, under any stacks.
fn study(device: &str, load: &str, stacks: &[String]) -> String {
    let stacks: Vec<String> = stacks.iter().map(|stack| format!("[[ftl]]\nname = \"{stack}\"\n")).collect();
    let stacks = stacks.concat();
    format!(
        "[device]\nblocks_per_plane = 48\npages_per_block = 16\nspare = 0.25\ntransfer_latency = \"40us\"\n{device}\n\
         [workload.generator]\nspan = \"8MiB\"\npattern = {{ zipf = {{ theta = 0.9 }} }}\n{load}\n\
         [run]\nprecondition = \"fill\"\nflash_trace = \"0ms..10h\"\n{stacks}"
    )
}

const BURSTS: &str = "requests = 1500\nwrite_share = 0.7\narrivals = { poisson = { mean_gap = \"300us\" } }";

/// Every mapping alone, and under every wear policy that it takes and behind every write buffer;
/// of those in turn one, unless more are asked for.
fn stacks() -> Vec<String> {
    // RAM that would keep all pages of the workload from the flash is small.
    let names = |kind| {
        ftl::registry::entries(kind).into_iter().map(move |entry| match (kind, entry.name) {
            (PartKind::Buffer, name) => format!("{name}:ram=64KiB"),
            (_, name @ ("treeftl" | "aps" | "jtl" | "leaftl")) => format!("{name}:ram=8KiB"),
            (_, name) => name.to_owned(),
        })
    };
    let parts = names(PartKind::WearPolicy).chain(names(PartKind::Buffer)).map(|name| format!("+{name}"));
    let above: Vec<String> = std::iter::once(String::new()).chain(parts).collect();
    let mappings = names(PartKind::Mapping);
    let is_valid = |stack: &String| ftl::registry::resolve(&stack.parse().expect("a stack")).is_ok();
    let of_mapping = |(number, mapping): (usize, String)| {
        let stacks: Vec<String> = above.iter().map(|above| format!("{mapping}{above}")).filter(is_valid).collect();
        let in_turn = 1 + number % (stacks.len() - 1);
        if is_long() { stacks } else { vec![stacks[0].clone(), stacks[in_turn].clone()] }
    };
    mappings.enumerate().flat_map(of_mapping).collect()
}

#[test]
fn no_program_of_any_stack_begins_before_an_earlier_one_of_its_block_has_ended() {
    let text = study("channels = 2\ndies_per_channel = 2", BURSTS, &stacks());
    for run in results(&text).runs {
        let (early, programs) = too_early(run.flash_trace.as_ref().expect("asked for"));
        assert!(early == 0 && programs > 300, "{}: {early} of {programs} programs begin too early", run.label);
    }
}

#[test]
fn programs_keep_their_order_whatever_a_device_can_do() {
    let (mut random, mut programs) = (SeededRng::new(7), 0);
    for case in 0..if is_long() { 1000 } else { 40 } {
        let mut draw = |of: &[&str]| of[random.below(of.len() as u64) as usize].to_owned();
        let planes = draw(&["1", "2", "4"]);
        let mut keys = [
            format!("channels = {}\ndies_per_channel = {}", draw(&["1", "2", "3"]), draw(&["1", "2"])),
            format!("planes_per_die = {planes}"),
            draw(&[
                "",
                "reads_first = true",
                "gc_yields = true\novertakes = 3",
                "die_order = \"host_read/collection/erase\"",
                "die_order = \"host_read/host_write\"\novertakes = 2",
            ]),
            draw(&["", "", "suspend = \"both\"\nsuspend_latency = \"20us\"", "suspend = \"erase\"\nsuspensions = 1"]),
            draw(&["", "copy_back = true"]),
            draw(&["", "gc_channels = 1"]),
        ]
        .join("\n");
        if planes != "1" {
            keys += &draw(&["", "\nmulti_plane = true", "\nmulti_plane = true\naligned_planes = true"]);
        }
        let gap = draw(&["100us", "300us", "2ms"]);
        let load = BURSTS.replace("300us", &gap).replace("1500", "800");
        let stack = draw(&[
            "page",
            "page:streams=shared",
            "dftl:cmt=1KiB",
            "fast",
            "last",
            "rftl:cmt=1KiB",
            "bdb",
            "waftl",
            "kast",
        ]);
        let text = study(&keys, &load, &[stack]);
        let study = parse_toml(&text, "").unwrap_or_else(|error| panic!("{error}\n{text}"));
        // Some stacks find no room on some shapes.
        let Ok(results) = run_study(&study, &Control::new()) else { continue };
        let (early, of) = too_early(results.runs[0].flash_trace.as_ref().expect("asked for"));
        assert_eq!(early, 0, "case {case}: {early} of {of} programs begin too early\n{text}");
        programs += of;
    }
    assert!(programs > 20_000, "{programs} programs were judged");
}
