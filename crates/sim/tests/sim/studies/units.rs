//! Units that are no pages of the flash, and word lines that are programmed at once: what they cost
//! in bytes, in time and in RAM.

use sim::RunResult;

use super::{operations, results, simulated_ns};

const DIES: &str = "channels = 2\n        dies_per_channel = 2\n";

/// Single requests on a device of 64 MiB.
fn text(device: &str, workload: &str, rest: &str) -> String {
    format!(
        r#"
        [device]
        channels = 2
        dies_per_channel = 2
        capacity = "64MiB"
        {device}
        [workload.generator]
        {workload}
        [host]
        loop = "closed"
        queue_depth = 1
        {rest}
        "#
    )
}

fn run(device: &str, workload: &str, rest: &str) -> RunResult {
    results(&text(device, workload, rest)).runs.remove(0)
}

fn flash(page: &str, pages_per_block: u32, spare: f64, keys: &str) -> String {
    format!("page_size = \"{page}\"\npages_per_block = {pages_per_block}\nspare = {spare}\n{keys}")
}

fn page_map(run: &RunResult) -> u64 {
    run.footprint.structures.iter().find(|structure| structure.name == "page map").expect("a map").ram_bytes
}

fn program_buffer(run: &RunResult) -> Option<u64> {
    run.footprint.structures.iter().find(|structure| structure.name == "program buffer").map(|buffer| buffer.ram_bytes)
}

const RANDOM: &str = "requests = 500\nspan = \"64MiB\"\nwrite_share = 1.0\nsizes = \"4KiB\"";
const SEQUENTIAL: &str =
    "requests = 600\nspan = \"64MiB\"\nwrite_share = 1.0\nsizes = \"32KiB\"\nsequential_share = 1.0\nunit = \"32KiB\"";
const FILLED: &str = "[run]\nprecondition = \"fill\"\n[[ftl]]\nname = \"page\"";
const ERASED: &str = "[run]\nprecondition = \"none\"\n[[ftl]]\nname = \"page\"";

#[test]
fn writes_below_the_unit_cost_their_ratio_in_bytes() {
    for (unit_kib, device) in [
        (16, flash("16KiB", 64, 0.6, "")),
        (16, flash("4KiB", 256, 0.6, "mapping_unit = \"16KiB\"")),
        (64, flash("16KiB", 64, 0.6, "mapping_unit = \"64KiB\"")),
        (64, flash("4KiB", 256, 0.6, "mapping_unit = \"64KiB\"")),
    ] {
        let run = run(&device, RANDOM, FILLED);
        assert_eq!(run.erases.total, 0, "nothing is collected yet: {device}");
        let programmed_bytes = operations(&run, "host", "program") * unit_kib * 1024;
        assert_eq!(programmed_bytes, run.host_written_bytes * unit_kib / 4, "{device}");
        assert_eq!(run.write_amplification, Some(unit_kib as f64 / 4.0), "{device}");
        assert_eq!(operations(&run, "read_modify_write", "read"), 500, "a cause of its own: {device}");
    }
}

#[test]
fn small_units_on_large_pages_amplify_as_small_pages_do() {
    let overwrites = "requests = 30_000\nspan = \"64MiB\"\nwrite_share = 0.9\nsizes = \"4KiB\"";
    for ftl in
        ["page:gc=whole", "dftl:gc=whole", "cdftl:gc=whole", "treeftl:gc=whole", "page:gc=whole+dynamic+lru:ram=64KiB"]
    {
        let rest = format!("[run]\nprecondition = \"fill\"\n[[ftl]]\nname = \"{ftl}\"");
        // On several dies, units fill a page before the die changes.
        let one_die = "channels = 1\ndies_per_channel = 1\n";
        let run = |device: &str| on_one_die_of(&format!("{one_die}{device}"), overwrites, &rest);
        let pages = run(&flash("4KiB", 96, 0.3, "program_order = \"strict\""));
        let units = run(&flash("16KiB", 24, 0.3, "mapping_unit = \"4KiB\""));
        let one_shot = "mapping_unit = \"4KiB\"\ncell = \"tlc\"\nprogramming = \"one_shot\"";
        let lines = run(&flash("16KiB", 24, 0.3, one_shot));
        assert!(pages.erases.total > 100, "{ftl}: {} erases", pages.erases.total);
        for same in [units, lines] {
            assert_eq!(same.event_hash, pages.event_hash, "{ftl}");
            assert_eq!(same.write_amplification, pages.write_amplification, "{ftl}");
        }
    }
}

/// A die of TLC by the figures of `NVMeVirt`: three pages of 32 KiB in 561 µs, without transfers.
const ONE_SHOT_DIE: &str = r#"
    channels = 1
    dies_per_channel = 1
    cell = "tlc"
    programming = "one_shot"
    read_latency = ["56.5us", "77.5us", "106us"]
    program_latency = "561us"
    transfer_latency = "0us"
"#;

fn on_one_die(keys: &str, workload: &str, rest: &str) -> RunResult {
    on_one_die_of(&flash("32KiB", 96, 0.2, keys), workload, rest)
}

fn on_one_die_of(device: &str, workload: &str, rest: &str) -> RunResult {
    let text = text(device, workload, rest);
    debug_assert!(text.contains(DIES));
    results(&text.replace(DIES, "")).runs.remove(0)
}

#[test]
fn a_word_line_is_programmed_in_one_time() {
    let run = on_one_die(ONE_SHOT_DIE, SEQUENTIAL, ERASED);
    // The last request has its place when the last two programs have yet to begin.
    assert_eq!(simulated_ns(&run), (600 / 3 - 2) * 561_000);
    // Two of three writes find a place at once.
    assert_eq!((run.response_ns.write.p50, run.response_ns.write.p90), (Some(0), Some(561_000)));
    assert_eq!(program_buffer(&run), Some(2 * 3 * 32 * 1024));
}

#[test]
fn pages_of_a_word_line_are_read_in_the_times_of_their_types() {
    let reads = |requests: u32| {
        let workload = format!(
            "requests = {requests}\nspan = \"64MiB\"\nwrite_share = 0.0\nsizes = \"32KiB\"\nsequential_share = 1.0\nunit = \"32KiB\""
        );
        on_one_die(ONE_SHOT_DIE, &workload, FILLED)
    };
    let ends: Vec<_> = (1..=7).map(|requests| simulated_ns(&reads(requests))).collect();
    let took: Vec<_> = ends.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // The first read is of any page, those behind of the pages behind it.
    let times = [56_500, 77_500, 106_000];
    let first = times.iter().position(|&time| time == took[0]).expect("the time of a type");
    assert_eq!(took, (first..first + 6).map(|page| times[page % 3]).collect::<Vec<_>>());
}

#[test]
fn units_share_the_transfer_and_the_program_of_their_page() {
    // Eight units are two pages of 100 µs over the bus and 200 µs of programming. A unit moves in a
    // quarter of the time.
    let device = "channels = 1\ndies_per_channel = 1\nmapping_unit = \"8KiB\"\ntransfer_latency = \"100us\"\n\
                  program_buffer = \"32KiB\"";
    let writes =
        "requests = 8\nspan = \"64MiB\"\nwrite_share = 1.0\nsizes = \"8KiB\"\nsequential_share = 1.0\nunit = \"8KiB\"";
    let run = on_one_die(device, writes, ERASED);
    assert_eq!(simulated_ns(&run), 300_000, "the second four have places then");
    assert_eq!((operations(&run, "host", "program"), program_buffer(&run)), (8, Some(32 * 1024)));
    let run = on_one_die(device, &writes.replace("1.0\nsizes", "0.0\nsizes"), FILLED);
    assert_eq!(simulated_ns(&run), 8 * (25_000 + 25_000), "a request each");
    // A request that reads all units of a page has it sensed once.
    let large = writes.replace("8KiB", "64KiB").replace("write_share = 1.0", "write_share = 0.0");
    let run = on_one_die(device, &large.replace("requests = 8", "requests = 4"), FILLED);
    assert_eq!(simulated_ns(&run), 4 * 2 * (25_000 + 100_000));
}

#[test]
fn a_write_waits_for_a_place_in_the_program_buffer() {
    // Four writes are programmed at once, in 300 µs. Requests come one after the other.
    let device = "channels = 1\ndies_per_channel = 1\nmapping_unit = \"8KiB\"\ntransfer_latency = \"100us\"";
    let writes =
        "requests = 40\nspan = \"64MiB\"\nwrite_share = 1.0\nsizes = \"8KiB\"\nsequential_share = 1.0\nunit = \"8KiB\"";
    for buffers in [1, 2, 3, 8] {
        let run = on_one_die(&format!("{device}\nprogram_buffer = \"{}KiB\"", 32 * buffers), writes, ERASED);
        // Ten programs: the last request has its place when all but those that fit have ended.
        assert_eq!(simulated_ns(&run), (10 - buffers) * 300_000, "{buffers} buffered");
        assert_eq!(program_buffer(&run), Some(buffers * 32 * 1024));
    }
}

#[test]
fn maps_and_buffers_follow_the_unit() {
    // 64 MiB are a 16384th of a terabyte (2⁴⁰ B): its map is 1 GiB at 4 KiB, 256 MiB at 16 KiB.
    let read = "requests = 1\nspan = \"64MiB\"\nwrite_share = 0.0";
    for (unit, map_bytes) in [("4KiB", 1 << 30), ("16KiB", 256 << 20), ("64KiB", 64 << 20)] {
        let device = flash("16KiB", 64, 0.2, &format!("mapping_unit = \"{unit}\""));
        assert_eq!(page_map(&run(&device, read, ERASED)), map_bytes / 16_384, "{unit}");
    }
    // Whatever else a translation layer keeps has the size that it has on pages of that size.
    let structures = |device: &str, stacks: &[&str]| {
        let rest: Vec<_> = stacks.iter().map(|name| format!("[[ftl]]\nname = \"{name}\"\n")).collect();
        let runs = results(&text(device, read, &rest.concat())).runs;
        let of_units = ["program buffer", "blocks in hand"];
        let structures = |run: RunResult| {
            run.footprint.structures.into_iter().filter(move |structure| !of_units.contains(&structure.name))
        };
        runs.into_iter().flat_map(structures).collect::<Vec<_>>()
    };
    let all = ["page", "dftl", "cdftl", "tpftl", "s-ftl", "rftl", "treeftl", "aps", "jtl", "bdb", "leaftl"];
    let pages = structures(&flash("4KiB", 256, 0.4, "program_order = \"strict\""), &all);
    assert_eq!(structures(&flash("16KiB", 64, 0.4, "mapping_unit = \"4KiB\""), &all), pages);
    let some = ["page", "dftl", "rftl", "cdftl:ctp=128KiB"];
    let pages = structures(&flash("64KiB", 16, 0.4, ""), &some);
    assert_eq!(structures(&flash("16KiB", 64, 0.4, "mapping_unit = \"64KiB\""), &some), pages);
}

#[test]
fn what_collections_fill_takes_ram_beside_the_program_buffer() {
    let one_shot = "cell = \"tlc\"\nprogramming = \"one_shot\"\nmapping_unit = \"4KiB\"";
    let buffer = |requests: u32| {
        let writes = format!("requests = {requests}\nspan = \"64MiB\"\nwrite_share = 1.0\nsizes = \"4KiB\"");
        program_buffer(&run(&flash("16KiB", 48, 0.3, one_shot), &writes, ERASED)).expect("a buffer")
    };
    // Four dies, each with a block that collections fill.
    let unit_bytes = 3 * 16 * 1024;
    assert_eq!([1, 40, 40_000].map(buffer), [8, 8, 12].map(|program_units| program_units * unit_bytes));
    assert_eq!(program_buffer(&run(&flash("16KiB", 48, 0.3, ""), RANDOM, ERASED)), None);
}

#[test]
fn what_is_read_is_what_was_written_whatever_waits() {
    let requests = "requests = 6000\nspan = \"64MiB\"\nwrite_share = 0.7\nsizes = \"4KiB\"";
    let rest = "[run]\nprecondition = \"fill\"\nverify = true\n[[ftl]]\nname = \"page\"\n[[ftl]]\nname = \"rftl\"";
    for keys in ["mapping_unit = \"4KiB\"", "mapping_unit = \"4KiB\"\ncell = \"qlc\"\nprogramming = \"one_shot\""] {
        for run in results(&text(&flash("16KiB", 16, 0.2, keys), requests, rest)).runs {
            assert!(run.proved.is_some() && run.mount.is_some(), "{}", run.label);
            let parts =
                [&run.service_ns, &run.waiting_ns].map(|parts| parts.iter().flat_map(|of| of.values()).sum::<f64>());
            let mean = run.response_ns.all.mean.expect("requests");
            assert!((parts[0] + parts[1] - mean).abs() < 1e-6 * mean, "{}: {parts:?} of {mean}", run.label);
        }
    }
}

#[test]
fn a_device_without_a_capacitor_fills_up_what_a_cut_would_take() {
    let overwrites = "requests = 30_000\nspan = \"64MiB\"\nwrite_share = 0.9\nsizes = \"4KiB\"";
    let one_shot = "cell = \"tlc\"\nprogramming = \"one_shot\"\nmapping_unit = \"4KiB\"\npower_loss_protection =";
    for ftl in ["page", "dftl:cmt=256KiB"] {
        let rest = format!("[run]\nprecondition = \"fill\"\nverify = true\n[[ftl]]\nname = \"{ftl}\"");
        let run = |protected| run(&flash("16KiB", 48, 0.3, &format!("{one_shot} {protected}")), overwrites, &rest);
        let [protected, exposed] = [true, false].map(run);
        let padding = operations(&exposed, "unit_padding", "program");
        // A collection ends somewhere in a unit of twelve pages, and fills that up.
        let collections = exposed.notes["collections"];
        println!("{ftl}: {padding} pages of padding, {collections} collections");
        let is_expected = collections > 100 && (4 * collections..7 * collections).contains(&padding);
        assert!(is_expected, "{ftl}: see above");
        assert!(exposed.write_amplification > protected.write_amplification, "{ftl}");
        assert_eq!(operations(&protected, "unit_padding", "program"), 0, "{ftl}");
    }
}

/// Neighbouring units fill a page before they go on to the next die, so that reads in order sense
/// each page once.
#[test]
fn pages_read_in_order_are_sensed_once_each() {
    let device =
        flash("16KiB", 64, 0.3, "mapping_unit = \"4KiB\"\nread_latency = \"50us\"\ntransfer_latency = \"10us\"");
    let reads = "requests = 3_000\nspan = \"64MiB\"\nwrite_share = 0.0\nsizes = \"16KiB\"\nsequential_share = 1.0\nunit = \"16KiB\"";
    for ftl in ["page", "dftl:cmt=256KiB"] {
        let text = text(&device, reads, &FILLED.replace("\"page\"", &format!("\"{ftl}\"")));
        let iops = results(&text.replace("queue_depth = 1", "queue_depth = 32")).runs[0].iops.expect("requests");
        // Four dies, each held for a sense and the transfer of a page. Two share a channel, and
        // wait for it now and then.
        let expected = 4.0 / 60e-6;
        println!("{ftl}: {iops:.0} pages per second, {expected:.0} expected");
        assert!((0.85..=1.001).contains(&(iops / expected)), "{ftl}: {iops} pages per second");
    }
}
