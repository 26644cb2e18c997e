//! Whole studies beside the referee, so that the simulation's own host is judged, too: arrivals,
//! the closed loop, the offer of idle time, and what schemes are told of responses.
//!
//! A drawn run becomes a trace and a study on an erased device. What the log of the study says of
//! each request must be what the referee's host finds.

use std::fmt::Write as _;
use std::path::Path;

use parquet::file::reader::SerializedFileReader;
use sim::{Control, RunResult, parse_toml, run_study_logged};

use super::cases::Case;
use super::host::{Answered, Asked, Host, Keeper, Pace};
use super::rules::{Cells, Rules, Superblocks, Units};

/// All logical pages, and then the requests of a case.
fn requests(case: &Case) -> (Vec<Asked>, Pace) {
    let filled = (0..case.logical_pages).map(Asked::fill);
    let all: Vec<_> = filled.chain(case.requests()).collect();
    let pace = match case.pace() {
        Pace::Open(arrivals) => {
            // Slow enough to be over before the first arrival of the case, or nearly so.
            let dies = if case.rules.serial { 1 } else { case.geometry.dies() };
            let gap = case.rules.alone_ns() / u64::from(dies) + 1;
            let begin = gap * u64::from(case.logical_pages);
            let filling = (0..u64::from(case.logical_pages)).map(|page| page * gap);
            Pace::Open(filling.chain(arrivals.iter().map(|arrival| begin + arrival)).collect())
        }
        closed @ Pace::Closed(_) => closed,
    };
    (all, pace)
}

/// The trace, a line for each request.
fn trace(case: &Case, requests: &[Asked], pace: &Pace) -> String {
    let page = u64::from(case.geometry.page_size_bytes());
    let arrival = |number: usize| match pace {
        Pace::Open(arrivals) => arrivals[number],
        Pace::Closed(_) => number as u64,
    };
    let mut text = String::new();
    for (number, asked) in requests.iter().enumerate() {
        let op = if asked.writes { "W" } else { "R" };
        let offset = u64::from(asked.lpn) * page + u64::from(asked.left_out[0]);
        let size = asked.bytes(case.geometry.page_size_bytes());
        writeln!(text, "{},{op},{offset},{size}", arrival(number)).expect("text");
    }
    text
}

/// What the cells are, and what their pages take: a time for each type, or one for all.
fn cells(case: &Case) -> String {
    let Rules { read_ns, program_ns, .. } = case.rules;
    let Some(Cells { bits, more_to_read_ns, more_to_program_ns }) = case.rules.cells else {
        return format!("read_latency = \"{read_ns}ns\"\nprogram_latency = \"{program_ns}ns\"");
    };
    let times = |ns: u64, more: [u64; 4]| {
        let times: Vec<_> = more[..bits].iter().map(|more| format!("\"{}ns\"", ns + more)).collect();
        times.join(", ")
    };
    let reads = times(read_ns, more_to_read_ns);
    let is_one_shot = case.rules.units.is_some_and(|units| units.one_shot);
    let programs = if is_one_shot {
        format!("\"{program_ns}ns\"")
    } else {
        format!("[{}]", times(program_ns, more_to_program_ns))
    };
    let cell = ["mlc", "tlc", "qlc"][bits - 2];
    format!("cell = \"{cell}\"\nread_latency = [{reads}]\nprogram_latency = {programs}")
}

/// What is mapped and what is programmed at once, and the keys that say so.
fn units(case: &Case) -> (Units, String) {
    let buffer = program_buffer(case) + superblock(case);
    let Some(units) = case.rules.units else {
        return (Units { in_a_page: 1, pages: 1, one_shot: false }, buffer);
    };
    let programming = if units.one_shot { "programming = \"one_shot\"" } else { "" };
    (units, format!("mapping_unit = {}\n{programming}\n{buffer}", case.geometry.page_size_bytes()))
}

/// The key of superblocks.
fn superblock(case: &Case) -> &'static str {
    match case.rules.superblocks {
        Superblocks { planes: 1, dies: 1 } => "",
        Superblocks { dies: 1, .. } => "\nsuperblock = \"die\"",
        _ => "\nsuperblock = \"group\"",
    }
}

/// The key of the program buffer.
fn program_buffer(case: &Case) -> String {
    let bytes = |units: u64| units * u64::from(case.geometry.page_size_bytes());
    case.rules.buffered.map_or(String::new(), |units| format!("program_buffer = {}", bytes(units)))
}

/// The keys that say how dies serve.
fn scheduling(rules: &Rules) -> String {
    let Rules { suspend_ns, resume_ns, suspensions, overtakes, .. } = *rules;
    let suspend = match (rules.suspends_erases, rules.suspends_programs) {
        (true, true) => "both",
        (true, false) => "erase",
        _ => "program",
    };
    let [suspend_latency, resume_latency] = [suspend_ns, resume_ns].map(|[programs, erases]| {
        if programs == erases { format!("{programs}ns") } else { format!("{programs}ns/{erases}ns") }
    });
    let times = format!("suspend_latency = \"{suspend_latency}\"\nresume_latency = \"{resume_latency}\"");
    let suspends = rules.suspends_erases || rules.suspends_programs;
    let keys = [
        suspends.then(|| format!("suspend = \"{suspend}\"\n{times}")),
        rules.reads_first.then(|| "reads_first = true".into()),
        rules.gc_yields.then(|| "gc_yields = true".into()),
        suspensions.map(|most| format!("suspensions = {most}")),
        overtakes.map(|most| format!("overtakes = {most}")),
        rules.die_order().map(|order| format!("die_order = \"{order}\"")),
    ];
    keys.into_iter().flatten().collect::<Vec<String>>().join("\n")
}

/// The table of the device.
fn device(case: &Case) -> String {
    let (shape, superblocks) = (case.geometry.shape(), case.rules.superblocks);
    let Rules { erase_ns, transfer_ns, .. } = case.rules;
    let (Units { in_a_page, pages, .. }, units) = units(case);
    let mut text = format!(
        r#"
        [device]
        preset = "slc-small"
        channels = {}
        dies_per_channel = {}
        planes_per_die = {}
        blocks_per_plane = {}
        pages_per_block = {}
        page_size = {}
        capacity = {}
        spare = 0.01
        {}
        {units}
        erase_latency = "{erase_ns}ns"
        transfer_latency = "{transfer_ns}ns"
        pricing = "{}"
        endurance = 1000000
        "#,
        shape.channels * superblocks.dies,
        shape.dies_per_channel,
        shape.planes_per_die * superblocks.planes,
        shape.blocks_per_plane,
        shape.pages_per_block / (superblocks.planes * superblocks.dies) / in_a_page * pages,
        shape.page_size_bytes * in_a_page / pages,
        case.logical_pages * shape.page_size_bytes,
        cells(case),
        if case.rules.serial { "serial" } else { "parallel" },
    );
    let mut key = |is_set: bool, line: String| {
        if is_set {
            writeln!(text, "{line}").expect("text");
        }
    };
    key(case.rules.copy_back, "copy_back = true".into());
    key(case.rules.multi_plane, "multi_plane = true".into());
    key(case.rules.aligned_planes, "aligned_planes = true".into());
    key(case.rules.cache_read, "cache_read = true".into());
    key(case.rules.cache_program, "cache_program = true".into());
    key(true, scheduling(&case.rules));
    key(case.rules.gc_channels.is_some(), format!("gc_channels = {}", case.rules.gc_channels.unwrap_or(0)));
    let Rules { link_bytes_per_s, link_latency_ns, controller_cores, controller_ns, .. } = case.rules;
    key(link_bytes_per_s.is_some(), format!("link_bandwidth = \"{}B/s\"", link_bytes_per_s.unwrap_or(0)));
    key(link_latency_ns > 0, format!("link_latency = \"{link_latency_ns}ns\""));
    key(controller_ns > 0, format!("controller_latency = \"{controller_ns}ns\""));
    key(
        controller_cores.is_some() && controller_ns > 0,
        format!("controller_cores = {}", controller_cores.unwrap_or(0)),
    );
    text
}

/// The study.
fn study(case: &Case, pace: &Pace) -> String {
    let host = match pace {
        Pace::Open(_) => "loop = \"open\"".to_owned(),
        Pace::Closed(depth) => format!("loop = \"closed\"\nqueue_depth = {depth}"),
    };
    let (device, stack) = (device(case), &case.stack);
    format!(
        r#"{device}
        [workload]
        trace = "trace.csv"
        columns = "time:ns, op, offset:B, size:B"
        [host]
        {host}
        [run]
        precondition = "none"
        [[ftl]]
        name = "{stack}"
        "#
    )
}

/// What the log of a study says of a request.
#[derive(Clone, Copy, Debug)]
struct Logged {
    request: u64,
    begin_ns: u64,
    end_ns: u64,
    /// What it waited for, and its own operations.
    flash_ns: u64,
    controller_ns: u64,
    link_ns: u64,
}

/// Runs a study; what its log says of each request, and its results.
fn simulated(folder: &Path, text: &str) -> (Vec<Logged>, RunResult) {
    let (study, log) = (folder.join("study.toml"), folder.join("log.parquet"));
    let study = parse_toml(text, &study.to_string_lossy()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let results =
        run_study_logged(&study, &Control::new(), Some(&log)).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let rows = SerializedFileReader::new(std::fs::File::open(&log).expect("there")).expect("Parquet");
    let mut answered: Vec<_> = rows
        .into_iter()
        .map(|row| {
            let row = row.expect("whole");
            let sum = |is_wanted: &dyn Fn(&str) -> bool| {
                let found: Vec<_> = row.get_column_iter().filter(|(name, _)| is_wanted(name)).collect();
                assert!(!found.is_empty(), "no such column");
                let number = |text: String| text.parse::<u64>().expect("a number");
                found.into_iter().map(|(_, value)| number(value.to_string())).sum::<u64>()
            };
            let number = |wanted: &str| sum(&|name| name == wanted);
            Logged {
                request: number("request"),
                begin_ns: number("begin_ns"),
                end_ns: number("end_ns"),
                flash_ns: sum(&|name| name.starts_with("waiting_") || name.starts_with("service_")),
                controller_ns: number("controller_ns"),
                link_ns: number("link_ns"),
            }
        })
        .collect();
    answered.sort_unstable_by_key(|logged| logged.request);
    (answered, results.runs.into_iter().next().expect("one run"))
}

/// What the simulation says of a case differently than the referee.
pub(super) fn difference(case: &Case) -> Option<String> {
    let (requests, pace) = requests(case);
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("trace.csv"), trace(case, &requests, &pace)).expect("written");
    let (simulated, run) = simulated(folder.path(), &study(case, &pace));
    let keeper = Keeper::referee(&case.geometry, &case.rules);
    let mut host = Host::new(&case.stack, (case.geometry, &case.rules), case.logical_pages, keeper).expect("accepted");
    let refereed = host.run(&requests, &pace);
    assert_eq!(simulated.len(), refereed.len(), "{case}");
    // What a scheme spends may lie beside flash operations that take longer; and a serial device
    // stands still for a command that is on its way, which those behind it wait for.
    let may_be_more = host.tally().controller_ns() > 0 || case.rules.serial;
    for (number, (logged, &Answered { begin_ns, end_ns, .. })) in simulated.iter().zip(&refereed).enumerate() {
        let [link_ns, controller_ns] = host.link_and_controller_ns(number).expect("the referee keeps time");
        let adds_up = logged.flash_ns + logged.controller_ns + logged.link_ns == end_ns - begin_ns;
        let agrees = logged.controller_ns == controller_ns || may_be_more && logged.controller_ns > controller_ns;
        if (logged.begin_ns, logged.end_ns, logged.link_ns) != (begin_ns, end_ns, link_ns) || !agrees || !adds_up {
            return Some(format!(
                "request {number} ({:?}): {logged:?} by the study, from {begin_ns} to {end_ns}, {link_ns} on the link, {controller_ns} at \
                 the controller by the referee",
                requests[number]
            ));
        }
    }
    let hash = format!("{:016x}", host.event_hash());
    (run.event_hash != hash)
        .then(|| format!("other operations: {} by the study, {hash} by the referee", run.event_hash))
}
