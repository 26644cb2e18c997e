//! Studies without a clock count what those with one count, and no times.

use ftl::{Kind, PartKind, Stack, registry};
use random::SeededRng;
use serde_json::Value;
use sim::{Control, SimError, run_study};

use super::{error, parse_toml, results};

/// What of a run is a time or follows from one, beside the times of single operations and points.
const TIMES: [&str; 12] = [
    "simulated_ns",
    "iops",
    "throughput_bytes_per_s",
    "controller_ns",
    "load",
    "waiting_ns",
    "bus_waiting_ns",
    "service_ns",
    "response_ns",
    "flush_ns",
    "cdf",
    "utilisation",
];

/// Studies that are compared.
const STUDIES: u64 = 300;

/// A value that a parameter may have: its default most times.
fn setting(rng: &mut SeededRng, kind: Kind) -> Option<String> {
    if rng.below(6) > 0 {
        return None;
    }
    Some(match kind {
        Kind::Integer { min, max } => (min + rng.below(4)).min(max).to_string(),
        Kind::Ratio { min, max } => (min + (max - min).min(1.0) * rng.unit_interval()).to_string(),
        Kind::Choice { of } | Kind::Policy { of, .. } => of[rng.below(of.len() as u64) as usize].to_owned(),
        Kind::Switch => (rng.below(2) == 0).to_string(),
        Kind::Blocks { .. } | Kind::Bytes { .. } | Kind::Duration { .. } => return None,
    })
}

/// A stack around a mapping. What keeps pages or a part of the map in RAM has less than the device.
fn stack(rng: &mut SeededRng, mapping: &str) -> Stack {
    let mut stack = Stack::of(mapping);
    for kind in [PartKind::WearPolicy, PartKind::Buffer] {
        let parts = registry::entries(kind);
        let part = ftl::Part::of(parts[rng.below(parts.len() as u64) as usize].name);
        let more = stack.clone().and(part);
        if rng.below(4) == 0 && registry::resolve(&more).is_ok() {
            stack = more;
        }
    }
    let entries: Vec<_> = registry::resolve(&stack).expect("it suits").parts().iter().map(|part| part.entry).collect();
    for (part, entry) in stack.parts_mut().zip(entries) {
        for parameter in entry.parameters {
            let ram = ["ram", "cmt", "ctp", "mmt"]
                .contains(&parameter.name)
                .then(|| (32 << rng.below(3)).to_string() + "KiB");
            if let Some(value) = ram.or_else(|| setting(rng, parameter.kind)) {
                part.settings.insert(parameter.name.to_owned(), value);
            }
        }
    }
    stack
}

fn one_of<'a>(rng: &mut SeededRng, choices: &[&'a str]) -> &'a str {
    choices[rng.below(choices.len() as u64) as usize]
}

/// A small device: pages of one bit, cells of three bits with a pSLC mode, or word lines of several
/// units that are programmed at once. With it, its pages or units.
fn device(rng: &mut SeededRng) -> (String, u32) {
    let (channels, dies, planes) = (1 << rng.below(3), 1 << rng.below(2), 1 << rng.below(2));
    let (blocks, spare) = (16 << rng.below(2), 0.2 + 0.3 * rng.unit_interval());
    let shape = |pages: u32, units: u32, keys: &str| {
        let text = format!(
            "channels = {channels}\ndies_per_channel = {dies}\nplanes_per_die = {planes}\nblocks_per_plane = {blocks}\n\
             pages_per_block = {pages}\nspare = {spare}\n{keys}"
        );
        (text, channels * dies * planes * blocks * pages * units)
    };
    match rng.below(5) {
        0 => shape(24, 1, "cell = \"tlc\"\npslc_read_latency = \"20us\"\npslc_program_latency = \"150us\"\n"),
        1 => {
            let superblock = one_of(rng, &["", "", "superblock = \"die\"\n"]);
            let keys = "page_size = \"16KiB\"\nmapping_unit = \"4KiB\"\ncell = \"tlc\"\nprogramming = \"one_shot\"\n";
            shape(12, 4, &format!("{keys}{superblock}"))
        }
        _ => {
            let order = ["", "program_order = \"strict\"\n", "bad_blocks = 0.02\n", "endurance = 20\n"];
            let pages = 8 << rng.below(3);
            shape(pages, 1, one_of(rng, &order))
        }
    }
}

/// A small study, with a place for keys of the run.
fn draw(rng: &mut SeededRng, mapping: &str) -> String {
    let mut stack = stack(rng, mapping);
    let (device, units) = device(rng);
    if mapping == "page" && device.contains("pslc") && rng.below(2) == 0 {
        stack.mapping.settings.insert("pslc_static".into(), "384KiB".into());
    }
    let span_kib = 4 * (units / 2).max(64);
    let pattern = one_of(rng, &["\"uniform\"", "\"sequential\"", "{ zipf = { theta = 0.9 } }"]);
    let (requests, share) = (200 + rng.below(1200), rng.unit_interval());
    let sizes =
        one_of(rng, &["\"4KiB\"", "\"6KiB\"", "{ uniform = { min = \"1KiB\", max = \"24KiB\", step = \"1KiB\" } }"]);
    let more = one_of(rng, &["", "trim_share = 0.05\n", "flush_every = 50\n", "stream = 2\n"]);
    // Pages that are written one by one go to the translation layer in arrays.
    let is_of_pages = rng.below(3) == 0;
    let (unit, share, sizes, more) = if is_of_pages { (4, 1.0, "\"4KiB\"", "") } else { (1, share, sizes, more) };
    let host = if rng.below(4) == 0 {
        let gap = one_of(rng, &["20us", "2ms", "50ms"]);
        format!("arrivals = {{ poisson = {{ mean_gap = \"{gap}\" }} }}\n[host]\nloop = \"open\"\n")
    } else {
        format!("[host]\nloop = \"closed\"\nqueue_depth = {}\n", 1 << rng.below(6))
    };
    let precondition = one_of(rng, &["auto", "none", "fill", "steady", "workload"]);
    let (skip, verify) = (if rng.below(3) == 0 { 100 } else { 0 }, rng.below(10) == 0);
    format!(
        "seed = {}\n[device]\n{device}[workload.generator]\nrequests = {requests}\nspan = \"{span_kib}KiB\"\nunit = \"{unit}KiB\"\n\
         pattern = {pattern}\nwrite_share = {share}\nsizes = {sizes}\n{more}{host}[run]\nprecondition = \"{precondition}\"\n\
         skip = {skip}\nverify = {verify}\nsamples = 7\n#\n{}",
        rng.below(1000),
        toml(&stack),
    )
}

/// The stack's `[[ftl]]` table.
fn toml(stack: &Stack) -> String {
    format!("[[ftl]]\nname = \"{stack}\"\n")
}

/// The results with a clock or without, as data.
fn run(text: &str, clock: &str) -> Result<Value, SimError> {
    let study = parse_toml(&text.replace('#', &format!("clock = {clock}")), "").expect("it is spelled right");
    println!("{text}");
    let results = run_study(&study, &Control::new())?;
    Ok(serde_json::to_value(&results.runs[0]).expect("plain data"))
}

/// Takes out the times, and RAM of the drive's own buffer, whose filling only a clock shows.
fn without_times(mut run: Value) -> Value {
    let fields = run.as_object_mut().expect("a run");
    for name in TIMES.into_iter().chain(["wall_s", "measured_wall_s"]) {
        fields.remove(name);
    }
    for operation in fields["operations"].as_array_mut().expect("a list") {
        operation["time_ns"] = Value::Null;
    }
    if let Some(mount) = fields["mount"].as_object_mut() {
        mount["time_ns"] = Value::Null;
    }
    for name in ["time_ns", "mean_response_ns"] {
        fields["series"][name] = Value::Null;
    }
    fields["footprint"]["ram_bytes"] = Value::Null;
    let structures = fields["footprint"]["structures"].as_array_mut().expect("a list");
    structures.retain(|structure| structure["name"] != "program buffer");
    run
}

/// Whether a value holds no number at all but counts of nothing.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.iter().all(|(name, value)| name == "count" && *value == 0 || is_nothing(value)),
        Value::Array(items) => items.iter().all(is_nothing),
        other => other.is_null(),
    }
}

/// Whether a scheme decides by time.
fn decides_by_time(text: &str, mapping: &str) -> bool {
    matches!(mapping, "rftl" | "bdb") || text.contains("threshold_rule=dynamic")
}

/// Whether idle time may change what a scheme does.
fn may_use_idle_time(text: &str, mapping: &str) -> bool {
    let asks = ["gc_idle", "gc=paced", "pslc_static", "pslc_dynamic", "one_shot"];
    text.contains("loop = \"open\"") && (mapping == "waftl" || asks.iter().any(|word| text.contains(word)))
}

#[test]
fn without_a_clock_every_scheme_counts_the_same_and_tells_no_time() {
    let mut rng = SeededRng::named(1, "clockless");
    let mappings = registry::mappings();
    let (mut compared, mut refused, mut idle) = (0, Vec::new(), 0);
    for number in 0.. {
        if compared == STUDIES {
            break;
        }
        let mapping = mappings[number % mappings.len()].name;
        let text = draw(&mut rng, mapping);
        let timed = match run(&text, "true") {
            Ok(timed) => timed,
            Err(error) => {
                let same = run(&text, "\"auto\"").expect_err("the same study");
                assert_eq!(same.to_string(), error.to_string(), "{text}");
                continue;
            }
        };
        let auto = run(&text, "\"auto\"").expect(&text);
        if auto["simulated_ns"].is_null() {
            for name in TIMES {
                assert!(is_nothing(&auto[name]), "{name} is {} in\n{text}", auto[name]);
            }
            assert!(is_nothing(&auto["series"]["time_ns"]) && is_nothing(&auto["series"]["mean_response_ns"]));
            assert!(!decides_by_time(&text, mapping), "{text}");
            let auto = without_times(auto);
            assert_eq!(auto, without_times(timed), "{text}");
            assert_eq!(auto, without_times(run(&text, "false").expect(&text)), "{text}");
            compared += 1;
        } else if decides_by_time(&text, mapping) {
            let error = run(&text, "false").expect_err(&text).to_string();
            assert!(error.contains("needs a clock: it decides by time"), "{error}\n{text}");
            refused.push(mapping);
        } else {
            assert!(may_use_idle_time(&text, mapping), "it would count the same without a clock:\n{text}");
            idle += 1;
        }
    }
    // A threshold that depends on responses may be drawn for waftl.
    refused.retain(|&mapping| mapping != "waftl");
    refused.sort_unstable();
    refused.dedup();
    assert_eq!((refused, idle > 0), (vec!["bdb", "rftl"], true));
}

/// A study that asks for something, without a clock.
fn asking(device: &str, host: &str, run: &str, stack: &str) -> String {
    format!(
        "[device]\nchannels = 2\nblocks_per_plane = 32\npages_per_block = 16\nspare = 0.4\n{device}\n[workload.generator]\nrequests = 500\n\
         span = \"1MiB\"\n[host]\n{host}\n[run]\nclock = false\n{run}\n[[ftl]]\nname = \"{stack}\""
    )
}

#[test]
fn what_needs_a_clock_is_refused_without_one() {
    let closed = "loop = \"closed\"";
    for (text, words) in [
        (asking("", closed, "", "bdb"), "bdb needs a clock: it decides by time"),
        (asking("", closed, "", "rftl"), "rftl needs a clock: it decides by time"),
        (asking("", closed, "", "waftl:threshold_rule=dynamic"), "it decides by time"),
        (asking("", closed, "classes = true", "page"), "run.classes needs a clock: it measures times"),
        (asking("", closed, "timeline = \"1ms..2ms\"", "page"), "run.timeline needs a clock"),
        (asking("", closed, "flash_trace = \"1ms..2ms\"", "page"), "run.flash_trace needs a clock"),
        (asking("", "loop = \"threads\"\nqueue_depth = 1", "", "page"), "host.loop = \"threads\" needs a clock"),
        (
            asking("bit_errors = \"tlc-72l\"", closed, "", "page"),
            "device.bit_errors needs a clock: bits decay with time",
        ),
    ] {
        let message = error(&text).to_string();
        assert!(message.starts_with("run.clock = false: ") && message.contains(words), "{message}");
        assert!(message.contains("Run with a clock (--clock, in a study run.clock = true), or remove "), "{message}");
    }
}

#[test]
fn arrivals_at_once_are_no_queue_without_a_clock() {
    let text = asking("", "", "", "page:gc_idle=4");
    for clock in ["false", "\"auto\""] {
        let outcome = results(&text.replace("clock = false", &format!("clock = {clock}")));
        assert_eq!(outcome.runs[0].requests.read + outcome.runs[0].requests.write, 500);
    }
    let message =
        error(&text.replace("clock = false", "clock = \"auto\"").replace("page:gc_idle=4", "bdb")).to_string();
    assert!(message.contains("arrives at time 0"), "a scheme with a clock would only measure a queue: {message}");
}

#[test]
fn idle_time_that_is_left_out_is_told() {
    let open = |clock: &str, stack: &str| {
        let arrivals = "span = \"1MiB\"\narrivals = { poisson = { mean_gap = \"10ms\" } }";
        let text = asking("", "loop = \"open\"", "", stack).replace("span = \"1MiB\"", arrivals);
        results(&text.replace("clock = false", &format!("clock = {clock}")))
    };
    let told = "without a clock no idle time is left to work in for page";
    assert!(open("false", "page:gc_idle=4").workload.facts.iter().any(|fact| fact == told));
    assert!(!open("false", "page").workload.facts.iter().any(|fact| fact.contains("no idle time")));
    let [idle, busy] = ["page:gc_idle=4", "page"].map(|stack| open("\"auto\"", stack).runs.remove(0).simulated_ns);
    assert!(idle.is_some() && busy.is_none(), "auto gives a clock where idle time would be used");
}

#[test]
fn keys_of_time_that_change_nothing_are_told() {
    let facts = |host: &str, run: &str, speedup: &str, clock: &str| {
        let arrivals = "span = \"1MiB\"\narrivals = { poisson = { mean_gap = \"10ms\" } }";
        let text = asking("", host, run, "page").replace("span = \"1MiB\"", arrivals);
        let text = text.replace("[workload.generator]", &format!("[workload]\n{speedup}\n[workload.generator]"));
        results(&text.replace("clock = false", &format!("clock = {clock}"))).workload.facts
    };
    let (open, closed, fast) = ("loop = \"open\"", "loop = \"closed\"\nqueue_depth = 4", "speedup = 2.0");
    let rate = "without a clock host.loop = \"open\" only sets the rate at which lives are counted in years";
    for clock in ["false", "\"auto\""] {
        let told = facts(closed, "waiting = true", "", clock);
        assert!(
            told.iter().any(|fact| fact == "without a clock these have no effect: host.queue_depth, run.waiting"),
            "{told:?}"
        );
        let told = facts(open, "", fast, clock);
        assert!(told.iter().any(|fact| fact == "without a clock these have no effect: workload.speedup"), "{told:?}");
        assert!(told.iter().any(|fact| fact == rate), "{told:?}");
    }
    for told in [facts("loop = \"closed\"", "waiting = false", "", "false"), facts(open, "", fast, "true")] {
        assert!(!told.iter().any(|fact| fact.contains("without a clock")), "{told:?}");
    }
}
