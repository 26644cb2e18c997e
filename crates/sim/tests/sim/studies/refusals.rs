//! Everything a user can get wrong, and what is said about it: the key, the value, the limit, the
//! next step.

use sim::{Control, SimError, check_study, parse_json};

use super::{error, parse_toml};

/// A study that runs, in three parts that tests replace.
fn text(device: &str, workload: &str, rest: &str) -> String {
    format!("[device]\n{device}\n[workload]\n{workload}\n{rest}")
}

const DEVICE: &str = "blocks_per_plane = 64";
const WORKLOAD: &str =
    r#"generator = { requests = 100, span = "8MiB", write_share = 0.5, arrivals = { constant = { gap = "1ms" } } }"#;
const AT_ONCE: &str = r#"generator = { requests = 100, span = "8MiB" }"#;
const FTL: &str = "[[ftl]]\nname = \"page\"";

fn refused(text: &str, parts: &[&str]) {
    let error = error(text);
    assert!(!error.is_bug(), "{error}");
    let message = error.to_string();
    assert!(!message.contains('\n') || message.contains("TOML"), "one paragraph: {message}");
    for part in parts {
        assert!(message.contains(part), "`{part}` is missing in: {message}");
    }
}

#[test]
fn orders_of_dies_and_their_bounds() {
    for (device, parts) in [
        (
            "suspend = \"erase\"\nresume_latency = \"5us/9us\"",
            &["device.resume_latency = 5", "2 times", "\"both\""] as &[_],
        ),
        ("suspend = \"both\"\nresume_latency = []", &["device.resume_latency", "0 times", "give one"]),
        ("suspensions = 2", &["suspensions", "nothing is suspended", "both"]),
        ("suspend = \"erase\"\nsuspensions = 0", &["device.suspensions = 0", "1 or more", "leave suspend out"]),
        ("die_order = \"erase/reads\"", &["device.die_order", "no class \"reads\"", "host_read, host_write"]),
        ("die_order = \"erase/erase\"", &["device.die_order", "erase stands there twice"]),
        ("die_order = \"erase\"\ngc_yields = true", &["device.die_order = \"erase\"", "set them to false"]),
        ("die_order = \"erase\"\nsuspend = \"both\"", &["device.die_order", "begin with host_read"]),
        ("die_order = \"erase\"\npricing = \"serial\"", &["die_order", "pricing = \"parallel\""]),
        ("overtakes = 0", &["device.overtakes = 0", "1 or more"]),
        ("overtakes = 8", &["device.overtakes = 8", "first come, first served", "die_order"]),
    ] {
        refused(&text(device, WORKLOAD, FTL), parts);
    }
}

#[test]
fn devices() {
    for (device, parts) in [
        ("preset = \"ssd\"", &["device.preset", "\"ssd\"", "Choose from slc-small"] as &[_]),
        ("blocks_per_plane = 0", &["blocks_per_plane is 0", "at least 1"]),
        ("channels = 0", &["channels is 0"]),
        ("copy_back = 1", &["device.copy_back"]),
        ("copy_back = true\npricing = \"serial\"", &["copy_back", "pricing = \"parallel\""]),
        ("cache_read = 2", &["device.cache_read"]),
        ("cache_read = true\npricing = \"serial\"", &["cache_read", "pricing = \"parallel\""]),
        ("cache_program = true\npricing = \"serial\"", &["cache_program", "pricing = \"parallel\""]),
        ("multi_plane = true", &["device.multi_plane", "planes_per_die"]),
        ("suspend = \"reads\"", &["device.suspend", "reads", "erase"]),
        ("resume_latency = \"5us\"", &["resume_latency", "nothing is suspended", "both"]),
        ("suspend = \"erase\"\nsuspend_latency = \"2h\"", &["device.suspend_latency", "7200000000000ns"]),
        ("bit_errors = \"qlc\"", &["device.bit_errors", "qlc", "tlc-72l"]),
        ("ecc_limit = 0.01", &["device.ecc_limit", "no bit is ever wrong", "mlc-2y"]),
        ("retention_days = 1", &["device.retention_days", "no bit is ever wrong"]),
        ("bit_errors = \"mlc-2y\"\necc_limit = 0", &["device.ecc_limit = 0", "above 0 and at most 0.5"]),
        ("bit_errors = \"mlc-2y\"\nread_retries = 16", &["device.read_retries = 16", "0 to 15"]),
        ("bit_errors = \"mlc-2y\"\nrefresh_at = -1", &["device.refresh_at = -1", "0 refreshes nothing"]),
        ("bit_errors = \"mlc-2y\"\nretention_days = nan", &["device.retention_days", "must be a number", "nan"]),
        ("initial_erases = 100000", &["device.initial_erases = 100000", "below endurance (100000)"]),
        ("gc_channels = 0", &["device.gc_channels = 0", "1 to the device's 4 channels"]),
        ("gc_channels = 5", &["device.gc_channels = 5", "leave it out"]),
        ("channels = 70000", &["70000", "65536 dies"]),
        ("channels = -1", &["device.channels", "must be a whole number from 0 to 4294967295, not -1"]),
        ("channels = 8.5", &["device.channels", "must be a whole number from 0 to 4294967295, not 8.5"]),
        ("channels = \"eight\"", &["device.channels", "\"eight\": not a number"]),
        ("spare = \"10\"", &["device.spare = 10", "above 0 and below 1"]),
        ("channels = 5000000000", &["device.channels", "5000000000", "4294967295"]),
        ("page_size = \"1000B\"", &["page_size", "1000", "multiple of 512"]),
        ("page_size = \"8GiB\"", &["device.page_size", "8589934592", "1 MiB"]),
        ("page_size = \"4KB!\"", &["device.page_size", "KB!", "KiB"]),
        ("spare = 0", &["device.spare = 0", "above 0 and below 1"]),
        ("spare = 1.0", &["device.spare = 1", "above 0 and below 1"]),
        ("spare = -0.5", &["device.spare = -0.5"]),
        ("spare = nan", &["device.spare", "must be a share", "nan"]),
        ("spare = \"much\"", &["device.spare", "much"]),
        ("preset = \"slc-small\"\nspare = 0.999999", &["device.spare", "not one is left"]),
        ("bad_blocks = 0.5", &["device.bad_blocks = 0.5", "below spare (0.1)"]),
        ("endurance = 0", &["device.endurance = 0", "at least one erase"]),
        ("read_latency = \"25\"", &["device.read_latency", "a duration needs its unit"]),
        ("read_latency = \"-1us\"", &["device.read_latency", "negative"]),
        ("erase_latency = \"2h\"", &["device.erase_latency", "microseconds to milliseconds"]),
        ("capacity = 0", &["device.capacity = 0", "at least one page"]),
        ("capacity = \"all\"", &["device.capacity", "all", "auto"]),
        ("capacity = \"400TiB\"", &["device.capacity", "32 bits", "larger pages"]),
        (
            "capacity = \"2GiB\"\nblocks_per_plane = 64",
            &["device.capacity = 2147483648", "utilisation of 32", "leave blocks_per_plane out"],
        ),
        (
            "capacity = \"60MiB\"\nblocks_per_plane = 64\nspare = 0.1",
            &["device.capacity", "14745 logical pages", "Lower capacity or spare"],
        ),
        ("pricing = \"free\"", &["device.pricing", "free", "parallel"]),
        ("program_order = \"down\"", &["device.program_order", "down", "ascending"]),
        ("blocks = 5", &["device.blocks", "there is no key", "blocks_per_plane"]),
    ] {
        refused(&text(device, WORKLOAD, FTL), parts);
    }
}

#[test]
fn buffers_planes_and_capacitors() {
    for (device, parts) in [
        (
            "mapping_unit = \"512B\"\nprogram_buffer = \"4KiB\"",
            &["device.program_buffer = 4KiB", "dies that program 4KiB at once need", "set it to"] as &[_],
        ),
        (
            "pricing = \"serial\"\nprogram_buffer = \"1MiB\"",
            &["device.program_buffer = 1MiB", "leave program_buffer out"],
        ),
        (
            "page_size = \"1MiB\"\nmapping_unit = \"512B\"\nplanes_per_die = 64\nmulti_plane = true\nsuperblock = \"die\"",
            &["device.mapping_unit = 512B", "131072 units", "at most 65535", "set it to \"2KiB\""],
        ),
        ("program_buffers = 2", &["no key `program_buffers`", "program_buffer"]),
        ("aligned_planes = true", &["device.aligned_planes", "multi_plane = true"]),
        ("power_loss_protection = false", &["device.power_loss_protection", "each page is safe", "device.cell"]),
        (
            "power_loss_protection = false\ncell = \"mlc\"\nprogram_order = \"any\"",
            &["device.power_loss_protection", "strict order", "leave program_order out"],
        ),
        (
            "power_loss_protection = false\ncell = \"tlc\"\nmapping_unit = \"8KiB\"",
            &["device.power_loss_protection", "shares word lines of TLC", "one_shot"],
        ),
        (
            "power_loss_protection = false\nmapping_unit = \"1KiB\"\nprogram_buffer = \"1MiB\"",
            &["device.power_loss_protection", "with program_buffer = 1MiB", "leave program_buffer out"],
        ),
    ] {
        refused(&text(device, WORKLOAD, FTL), parts);
    }
}

#[test]
fn units_and_word_lines() {
    for (device, parts) in [
        (
            "mapping_unit = \"3KiB\"",
            &["device.mapping_unit = 3072", "divide device.page_size = 4096", "leave it out"] as &[_],
        ),
        ("mapping_unit = \"12KiB\"", &["device.mapping_unit = 12288", "2, 4, 8"]),
        ("mapping_unit = \"1000B\"", &["device.mapping_unit = 1000", "multiple of 512"]),
        ("mapping_unit = \"2MiB\"", &["device.mapping_unit = 2097152", "1 MiB"]),
        ("mapping_unit = \"8GiB\"", &["device.mapping_unit = 8589934592", "1 MiB"]),
        (
            "mapping_unit = \"16KiB\"\npages_per_block = 66",
            &["4 flash pages", "pages_per_block = 66 is no multiple", "set pages_per_block to 68"],
        ),
        ("mapping_unit = \"1KiB\"\ncopy_back = true", &["device.copy_back", "4 units are programmed at once"]),
        ("mapping_unit = \"1KiB\"\nprogram_order = \"any\"", &["device.program_order", "4 units", "\"strict\""]),
        ("programming = \"two_shot\"", &["device.programming", "two_shot", "one_shot"]),
        ("programming = \"one_shot\"", &["one_shot", "SLC has one page", "device.cell"]),
        ("programming = \"one_shot\"\ncell = \"tlc\"", &["TLC have 3 pages", "= 64 is no", "pages_per_block to 66"]),
        (
            "preset = \"femu-tlc\"\nprogramming = \"one_shot\"",
            &["one_shot", "device.program_latency has 3", "the time that a word line takes"],
        ),
        (
            "programming = \"one_shot\"\ncell = \"tlc\"\npages_per_block = 66\nmapping_unit = \"8KiB\"",
            &["a unit takes 2 flash pages", "a word line of TLC has 3"],
        ),
    ] {
        refused(&text(device, WORKLOAD, FTL), parts);
    }
    let refused_ftl = |device: &str, ftl: &str, parts: &[&str]| {
        refused(&text(device, WORKLOAD, &format!("[[ftl]]\nname = \"{ftl}\"")), parts);
    };
    for ftl in ["block", "fast", "waftl"] {
        let why = &[ftl, "leaves gaps in blocks", "a page-mapped scheme", "several units are programmed at once"];
        refused_ftl("mapping_unit = \"1KiB\"", ftl, why);
    }
    let small = "[device]\nchannels = 1\ndies_per_channel = 1\nblocks_per_plane = 4\nmapping_unit = \"1KiB\"\n[workload]\npreset = \"fin1\"\n[[ftl]]\nname = \"page\"";
    assert!(!error(small).to_string().contains("several units"), "{}", error(small));
    let trace = "[run]\nflash_trace = \"0ms..1ms\"\n[[ftl]]\nname = \"page\"";
    refused(
        &text("mapping_unit = \"1KiB\"", WORKLOAD, trace),
        &["run.flash_trace", "device.programming and device.superblock out"],
    );
    refused(
        &text("power_loss_protection = false\ncell = \"mlc\"", WORKLOAD, trace),
        &["run.flash_trace", "padding", "leave power_loss_protection out"],
    );
}

#[test]
fn cells_and_times_by_type_of_page() {
    for (device, parts) in [
        (
            "cell = \"tlc\"\nread_latency = [\"56.5us\", \"77.5us\"]",
            &[
                "device.read_latency = 56500ns/77500ns",
                "2 times",
                "TLC has 3 types of page (lower, centre, upper)",
                "give 3 times, or one for all",
                "cell = \"mlc\"",
            ] as &[_],
        ),
        (
            "program_latency = \"820.5us/2225us/5734us\"",
            &["device.program_latency", "3 times", "1 type of page", "give one time", "cell = \"tlc\""],
        ),
        (
            "cell = \"mlc\"\nread_latency = [\"1us\", \"2us\", \"3us\", \"4us\", \"5us\"]",
            &["5 times", "MLC has 2 types of page (lower, upper)", "give 2 times, or one for all"],
        ),
        ("cell = \"tlc\"\nread_latency = []", &["device.read_latency", "0 times", "give 3 times"]),
        ("cell = \"plc\"", &["device.cell", "plc", "qlc"]),
        ("cell = \"mlc\"\nread_latency = [\"48us\", 64]", &["device.read_latency", "a duration with its unit"]),
        ("cell = \"mlc\"\nread_latency = \"48us/64\"", &["device.read_latency", "a duration needs its unit"]),
        ("cell = \"mlc\"\nprogram_latency = [\"850us\", \"2h\"]", &["device.program_latency", "at most"]),
        (
            "preset = \"femu-tlc\"\ncell = \"qlc\"",
            &["device.read_latency = 56500ns/77500ns/106000ns, which the preset says", "give 4 times, or one for all"],
        ),
    ] {
        refused(&text(device, WORKLOAD, FTL), parts);
    }
}

#[test]
fn links_and_controllers() {
    for (device, parts) in [
        ("link_bandwidth = \"0B/s\"", &["device.link_bandwidth = 0 B/s", "1000 B/s or more", "leave it out"] as &[_]),
        ("link_bandwidth = \"999B/s\"", &["device.link_bandwidth = 999 B/s", "1000 B/s or more"]),
        (
            "controller_latency = \"5us\"\ncontroller_cores = 0",
            &["device.controller_cores = 0", "1 to 1024", "leave it out"],
        ),
        (
            "controller_latency = \"5us\"\ncontroller_cores = 4294967295",
            &["device.controller_cores = 4294967295", "1 to 1024"],
        ),
        ("controller_cores = 2", &["device.controller_cores", "set controller_latency"]),
    ] {
        refused(&text(device, WORKLOAD, FTL), parts);
    }
}

#[test]
fn workloads() {
    let generated = |extra: &str| format!("{WORKLOAD}\n{extra}");
    for (workload, parts) in [
        (String::new(), &["exactly one of trace", "preset", "generator"] as &[_]),
        (generated("preset = \"fin1\""), &["exactly one of trace"]),
        ("preset = \"fin3\"".into(), &["fin3", "did you mean"]),
        ("trace = \"no/such/file.csv\"".into(), &["no/such/file.csv", "cannot be opened"]),
        (generated("format = \"msr\""), &["workload.format", "generated"]),
        (generated("skip_bad = true"), &["workload.skip_bad"]),
        (generated("where = \"type=D\""), &["workload.where", "generated"]),
        (generated("where = \"type\""), &["workload.where", "COLUMN=VALUE"]),
        (generated("format = \"excel\""), &["workload.format", "excel", "msr"]),
        (generated("requests = 0"), &["workload.requests = 0", "at least 1"]),
        (generated("requests = -5"), &["workload.requests", "-5"]),
        (generated("repeat = 2"), &["workload.repeat", "generated", "workload.requests"]),
        ("trace = \"x.csv\"\nrepeat = -1".into(), &["workload.repeat", "-1"]),
        (generated("speedup = 0"), &["workload.speedup = 0", "above 0"]),
        (generated("speedup = inf"), &["workload.speedup"]),
        (generated("speedup = 1e-300"), &["workload.speedup", "73 years"]),
        (generated("addresses = \"fold\""), &["workload.addresses", "fold", "refuse"]),
        (generated("align_offset = \"16EiB\""), &["workload.align_offset", "EiB"]),
        (generated("align_offset = 18446744073709551615"), &["align_offset"]),
        (
            WORKLOAD.replace("8MiB", "8GiB"),
            &["reaches byte", "14745 logical pages", "capacity = \"auto\"", "dense", "wrap"],
        ),
        (WORKLOAD.replace("requests = 100", "requests = 0"), &["workload: requests = 0"]),
        (WORKLOAD.replace("write_share = 0.5", "write_share = 2"), &["write_share"]),
        (WORKLOAD.replace("write_share", "writes"), &["workload.generator", "writes", "there is no key"]),
    ] {
        refused(&text(DEVICE, &workload, FTL), parts);
    }
    let wide = WORKLOAD.replace("requests = 100, span = \"8MiB\"", "requests = 20000, span = \"8GiB\"");
    refused(
        &text(DEVICE, &format!("{wide}\naddresses = \"dense\""), FTL),
        &["dense", "different pages", "device.capacity larger"],
    );
    let long =
        WORKLOAD.replace("write_share", "sizes = \"80MiB\", write_share").replace("8MiB\", sizes", "160MiB\", sizes");
    refused(&text(DEVICE, &format!("{long}\naddresses = \"wrap\""), FTL), &["wrap", "20480 pages", "overtake itself"]);
    refused(
        &text("capacity = \"auto\"", &format!("{WORKLOAD}\naddresses = \"wrap\""), FTL),
        &["capacity = \"auto\"", "wrap"],
    );
}

#[test]
fn a_memory_limit_that_studies_share_refuses_their_sum() {
    let study = text(DEVICE, WORKLOAD, &format!("[run]\nmemory_limit = \"200KiB\"\n{FTL}"));
    let study = parse_toml(&study, "study.toml").expect("a study");
    let control = Control::new();
    assert!(check_study(&study, &control).is_ok());
    control.share_memory(4);
    let error = check_study(&study, &control).expect_err("four take more").to_string();
    for part in ["4 runs at once", "run.memory_limit allows 200.0 KiB", "run fewer at once (threads)"] {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn hosts_and_runs() {
    for (workload, rest, parts) in [
        (WORKLOAD, "[host]\nqueue_depth = 4", &["host.queue_depth = 4", "open loop", "loop = \"closed\""] as &[_]),
        (WORKLOAD, "[host]\nloop = \"closed\"\nqueue_depth = 0", &["host.queue_depth = 0", "1 to 65536"]),
        (WORKLOAD, "[host]\nloop = \"closed\"\nqueue_depth = 70000", &["host.queue_depth = 70000"]),
        (WORKLOAD, "[host]\nloop = \"round\"", &["host.loop", "round", "closed"]),
        (AT_ONCE, "", &["arrives at time 0", "poisson", "loop = \"closed\""]),
        (
            WORKLOAD,
            "[run]\nmemory_limit = \"32KiB\"",
            &["physical pages would take about", "run.memory_limit", "dense"],
        ),
        ("preset = \"fin1\"\nspan = \"5KiB\"", "", &["span = 5KiB", "multiple of `unit`"]),
        (
            "generator = { span = \"8MiB\", arrivals = { constant = { gap = \"1ms\" } } }\nspan = \"4MiB\"",
            "",
            &["workload.span", "a generator has a span of its own"],
        ),
        (WORKLOAD, "[run]\nsamples = 0", &["run.samples = 0", "1 to 100000"]),
        (WORKLOAD, "[run]\nwarranty_years = 0", &["run.warranty_years = 0", "from 0.01 to 100"]),
        (WORKLOAD, "[run]\nwarranty_years = 1e-320", &["run.warranty_years = 0.0000", "from 0.01 to 100"]),
        (WORKLOAD, "[run]\nwarranty_years = nan", &["run.warranty_years", "must be a number", "nan"]),
        (WORKLOAD, "[run]\nsamples = 100001", &["run.samples = 100001"]),
        (WORKLOAD, "[run]\nprecondition = \"warm\"", &["run.precondition", "warm", "steady", "workload"]),
        (WORKLOAD, "[run]\nverify = 1", &["run.verify", "must be true or false, not 1"]),
        (WORKLOAD, "[run]\nclasses = 1", &["run.classes"]),
        (WORKLOAD, "[run]\ntimeline = \"10ms\"", &["run.timeline", "\"10ms\"", "10ms..12ms"]),
        (WORKLOAD, "[run]\ntimeline = \"3ms..2ms\"", &["run.timeline", "3ms..2ms", "earlier time first"]),
        (WORKLOAD, "[run]\nflash_trace = \"3ms..2ms\"", &["run.flash_trace", "earlier time first"]),
        (WORKLOAD, "[walk]\n", &["walk", "there is no key"]),
    ] {
        refused(&text(DEVICE, workload, &format!("{rest}\n{FTL}")), parts);
    }
    let fast = format!("{WORKLOAD}\nspeedup = 2.0");
    refused(&text(DEVICE, &fast, &format!("[host]\nloop = \"closed\"\n{FTL}")), &["workload.speedup", "closed loop"]);
}

#[test]
fn translation_layers() {
    for (ftls, parts) in [
        ("", &["ftl: none is given", "page, block, bast, fast"] as &[_]),
        ("[[ftl]]\nname = \"best\"", &["ftl.name", "best", "page, block, bast, fast"]),
        ("[[ftl]]\nlabel = \"x\"", &["ftl", "the key `name` is missing"]),
        (
            "[[ftl]]\nname = \"dftl\"\ncmtt = \"64KiB\"",
            &["dftl.cmtt", "dftl has no parameter cmtt", "did you mean cmt?"],
        ),
        ("[[ftl]]\nname = \"dftl\"\ncmt = \"64KB\"", &["cmt = 64KB", "KiB"]),
        ("[[ftl]]\nname = \"dftl\"\ncmt = \"1B\"", &["cmt", "1B"]),
        ("[[ftl]]\nname = \"dftl\"\ncmt = [1]", &["ftl[0].cmt", "text, a number, true or false"]),
        ("[[ftl]]\nname = \"fast\"\nlog_space = 0.5", &["\"fast\"", "116 log blocks", "reduce the log space"]),
        ("[[ftl]]\nname = \"page\"\n[[ftl]]\nname = \"page\"", &["\"page\"", "two runs have this label"]),
        (
            "[[ftl]]\nname = \"page\"\nlabel = \"a\"\n[[ftl]]\nname = \"dftl\"\nlabel = \"a\"",
            &["\"a\"", "two runs have this label"],
        ),
    ] {
        refused(&text(DEVICE, WORKLOAD, ftls), parts);
    }
}

#[test]
fn runs_of_one_scheme_are_labelled_by_their_settings() {
    let two = "[[ftl]]\nname = \"page\"\n[[ftl]]\nname = \"dftl\"\ncmt = \"16KiB\"\n[[ftl]]\nname = \"dftl\"\ncmt = \"32KiB\"";
    let results = super::results(&text(DEVICE, WORKLOAD, two));
    let labels: Vec<_> = results.runs.iter().map(|run| run.label.as_str()).collect();
    assert_eq!(labels, ["page", "dftl:cmt=16KiB", "dftl:cmt=32KiB"]);
}

#[test]
fn text_that_is_no_study() {
    let broken = parse_toml("[device\nspare = 0.1", "broken.toml").expect_err("not TOML").to_string();
    assert!(broken.starts_with("broken.toml:") && broken.contains("line 1, column 8"), "{broken}");
    let typed = parse_toml("\n\nname = 5", "typed.toml").expect_err("a number").to_string();
    assert!(typed.contains("typed.toml, name") && typed.contains("line 3, column 8"), "{typed}");
    let json = parse_json(r#"{"device": {"spare": 0.1, "plane": 2}}"#).expect_err("unknown key").to_string();
    assert!(json.contains("device.plane") && json.contains("there is no key"), "{json}");
    assert!(parse_json("{").is_err() && parse_json("").is_err() && parse_toml("\u{0}", "").is_err());
}

#[test]
fn a_device_that_wears_out_before_it_is_measured_is_no_bug() {
    let text = text(
        "blocks_per_plane = 32\nendurance = 2\nspare = 0.25",
        r#"generator = { requests = 100000, span = "20MiB" }"#,
        "[host]\nloop = \"closed\"\n[run]\nprecondition = \"steady\"\n[[ftl]]\nname = \"page\"",
    );
    let error = error(&text);
    assert!(matches!(error, SimError::WornOut(_)), "{error}");
    let message = error.to_string();
    let parts = ["wore out in preconditioning", "device is read-only", "device.endurance"];
    assert!(parts.iter().all(|part| message.contains(part)), "{message}");
}

#[test]
fn a_value_in_place_of_a_name_is_answered_with_the_names() {
    for (key, names) in [
        (r#""device": {"bit_errors""#, "tlc-72l"),
        (r#""device": {"pricing""#, "parallel"),
        (r#""host": {"loop""#, "closed"),
        (r#""run": {"precondition""#, "steady"),
    ] {
        for value in ["1e-5", "5", "-1", "1.5", "true"] {
            let said = parse_json(&format!("{{{key}: {value}}}}}")).expect_err(key).to_string();
            assert!(said.contains("there is no `") && said.contains(names), "{key}: {value}: {said}");
        }
    }
}
