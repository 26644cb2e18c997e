//! The memory that a study is said to take is the memory that its process takes, under every part
//! that the registry lists.

use std::fs;
use std::process::Command;

use ftl::{Kind, PartKind, registry};
use sim::{Control, check_study};

use super::{results, study};

/// The stack of the process that measures.
const STACK: &str = "FTLKIT_MEMORY_OF";

/// A filled device of 4 KiB pages.
fn text(stack: &str, blocks: u32, limit: &str) -> String {
    format!(
        r#"
        [device]
        channels = 4
        dies_per_channel = 1
        page_size = "4KiB"
        pages_per_block = 8
        blocks_per_plane = {blocks}
        [workload.generator]
        requests = 1
        span = "1MiB"
        [host]
        loop = "closed"
        [run]
        precondition = "fill"
        {limit}
        [[ftl]]
        name = "{stack}"
        "#
    )
}

/// Blocks per plane under a mapping alone, and under a stack with another part: some of these
/// compare all blocks at each step.
const BLOCKS: u32 = 1 << 14;
const FEW_BLOCKS: u32 = 1 << 12;

/// Bytes by which the peaks of two equal processes may differ, and the rounding of what is said.
const ROUNDING_BYTES: f64 = 1e6;

fn blocks(stack: &str) -> u32 {
    if stack.contains('+') { FEW_BLOCKS } else { BLOCKS }
}

/// Bytes that a study is said to take: the answer to a limit that none can keep.
fn counted(stack: &str) -> f64 {
    let asked = study(&text(stack, blocks(stack), "memory_limit = \"1KiB\""));
    let error = check_study(&asked, &Control::new()).expect_err("a limit of 1 KiB").to_string();
    let said = error.split("would take about ").nth(1).and_then(|rest| rest.split(" MiB").next());
    let number = said.and_then(|number| number.parse::<f64>().ok());
    number.unwrap_or_else(|| panic!("no MiB in: {error}")) * f64::from(1 << 20)
}

/// Bytes at the peak of a process that runs a stack, beyond those of a small device.
fn taken(stack: &str) -> f64 {
    let peak = |blocks: u32| {
        let mut child = Command::new(std::env::current_exe().expect("a path"));
        child.args(["--exact", "studies::memory::a_process_of_one_study", "--nocapture", "--test-threads=1"]);
        let output = child.env(STACK, format!("{blocks} {stack}")).env("RAYON_NUM_THREADS", "1").output();
        let output = output.expect("it starts");
        let printed = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        let line = printed.split("peak ").nth(1).and_then(|rest| rest.split(' ').next());
        line.and_then(|number| number.parse::<f64>().ok()).unwrap_or_else(|| panic!("{stack}: {printed}"))
    };
    (peak(blocks(stack)) - peak(256)) * 1024.0
}

/// A process of its own for [`taken`]; without its variable it has nothing to do.
#[test]
fn a_process_of_one_study() {
    let Ok(asked) = std::env::var(STACK) else { return };
    let (blocks, stack) = asked.split_once(' ').expect("blocks and a stack");
    results(&text(stack, blocks.parse().expect("a number"), ""));
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    println!("peak {} ", peak.expect("a peak").trim_end_matches("kB").trim());
}

/// A stack for each part, with RAM for a good part of the device where the part has RAM.
fn stacks() -> Vec<String> {
    let with_ram = |entry: &ftl::Entry, ram: &str| {
        let sizes = entry.memory.ram.iter().map(|name| format!(":{name}={ram}"));
        format!("{}{}", entry.name, sizes.collect::<String>())
    };
    let parts = PartKind::ALL.into_iter().flat_map(|kind| registry::entries(kind).into_iter().map(move |e| (kind, e)));
    let exists = |stack: &String| registry::resolve(&stack.parse().expect("a spelling")).is_ok();
    let stack = |(kind, entry)| match kind {
        PartKind::Mapping => with_ram(entry, "256MiB"),
        _ => ["page", "fast"]
            .map(|mapping| format!("{mapping}+{}", with_ram(entry, "512MiB")))
            .into_iter()
            .find(exists)
            .expect("one"),
    };
    parts.map(stack).collect()
}

#[test]
fn every_part_takes_the_memory_that_it_states() {
    let mut wrong = Vec::new();
    for stack in stacks().iter().step_by(if std::env::var_os("FTLKIT_LONG").is_some() { 1 } else { 6 }) {
        let (counted, taken) = (counted(stack), taken(stack));
        if (counted - taken).abs() > 0.2 * taken + ROUNDING_BYTES {
            wrong.push(format!("{stack}: {counted:.0} bytes are stated, and {taken:.0} are taken"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn parts_name_their_ram_by_their_own_parameters() {
    for entry in PartKind::ALL.into_iter().flat_map(registry::entries) {
        let (memory, said) = (entry.memory, entry.name);
        let is_size = |name: &&'static str| {
            let known = entry.parameters.iter().find(|parameter| parameter.name == *name);
            known.is_some_and(|parameter| matches!(parameter.kind, Kind::Bytes { .. }))
        };
        assert!(memory.ram.iter().all(is_size), "{said}: {:?} are no sizes among its parameters", memory.ram);
        assert_eq!(memory.ram.is_empty(), memory.entry_bytes + memory.data_bytes == 0.0, "{said}");
    }
}
