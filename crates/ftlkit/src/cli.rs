//! The program around an FTL of your own: `main` of a crate outside registers it and calls
//! [`main`].
//!
//! ```text
//! my-ftl list                              what there is
//! my-ftl compare fin1 --requests 20000     yours beside page: a preset, a trace or a study file
//! my-ftl check                             conformance: fixed cases, every promise watched
//! my-ftl torture --minutes 1               power cuts, failing flash and all else, for a while
//! my-ftl replay 'check::replay …'          one case again, explained
//! my-ftl shrink 'check::replay …'          the same, made as small as it gets
//! ```
//!
//! `--ftl` names stacks by commas. Without it all commands but `list` take what was registered, and
//! `compare` takes `page` as well.
//!
//! It prints tables and no more: reports, sweeps and advice need Python, which reads what `compare
//! --json` writes. Exit code 0 when all went well, 1 when a promise was broken, 2 when the request
//! is at fault, 3 when a translation layer broke a rule in a study.

mod arguments;

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use check::drivers::variants::Subject;
use check::torture::campaign::{Campaign, Sweep};
use check::torture::{Finding, Options, SchemeReport, Torture};
use check::{Case, Failure, explain, run_case, smallest};
use ftl::{ConfigError, Entry, Stack, registry};
use serde_json::json;
use sim::{Control, Results, SimError, aligned};

use self::arguments::Arguments;
use crate::trials::{self, Limits};

/// The seed of conformance cases; it has no meaning.
const CONFORMANCE_SEED: u64 = 20_261;

/// What a command came to.
enum Stop {
    /// A promise was broken, or a case failed; the text says which.
    Found(String),
    /// The request is at fault.
    Refused(String),
    /// A translation layer broke a rule in a study.
    Bug(String),
}

impl From<String> for Stop {
    fn from(message: String) -> Self {
        Self::Refused(message)
    }
}

impl From<ConfigError> for Stop {
    fn from(error: ConfigError) -> Self {
        Self::Refused(error.to_string())
    }
}

impl From<SimError> for Stop {
    fn from(error: SimError) -> Self {
        if error.is_bug() { Self::Bug(error.to_string()) } else { Self::Refused(error.to_string()) }
    }
}

/// Registers your parts and runs the command that the program was called with.
pub fn main(register: impl FnOnce() -> Result<(), ConfigError>) -> ExitCode {
    let words: Vec<_> = std::env::args().skip(1).collect();
    let (text, code) = match run(&words, register) {
        Ok(text) => return show(&text),
        Err(Stop::Found(text)) => {
            show(&text);
            return ExitCode::from(1);
        }
        Err(Stop::Refused(text)) => (text, 2),
        Err(Stop::Bug(text)) => (text, 3),
    };
    eprintln!("{text}");
    ExitCode::from(code)
}

fn show(text: &str) -> ExitCode {
    println!("{text}");
    ExitCode::SUCCESS
}

fn run(words: &[String], register: impl FnOnce() -> Result<(), ConfigError>) -> Result<String, Stop> {
    let built_in = names();
    register()?;
    let own: Vec<_> = names().into_iter().filter(|name| !built_in.contains(name)).collect();
    let (command, words) = words.split_first().ok_or_else(usage)?;
    match command.as_str() {
        "list" => {
            Arguments::parse("list", words, &[])?.none()?;
            Ok(list(&own))
        }
        "compare" => compare(&Arguments::parse("compare", words, COMPARE)?, &own),
        "check" => conformance(&Arguments::parse("check", words, &["ftl"])?, &own),
        "torture" => torture(&Arguments::parse("torture", words, TORTURE)?, &own),
        "replay" => replayed(&case(&Arguments::parse("replay", words, &[])?)?, |failure| failure),
        "shrink" => replayed(&case(&Arguments::parse("shrink", words, &[])?)?, smallest),
        other => Err(format!("{other}: no such command. {}", usage()).into()),
    }
}

const COMPARE: &[&str] = &["ftl", "requests", "capacity", "addresses", "seed", "json"];
const TORTURE: &[&str] = &["ftl", "minutes", "seed", "threads"];

fn usage() -> String {
    "Usage: list | compare PRESET, TRACE or STUDY.toml [--ftl A,B] [--requests N] [--capacity 64MiB] \
     [--addresses wrap] [--seed N] [--json FILE] | check [--ftl A,B] | torture [--ftl A,B] [--minutes N] [--seed N] \
     [--threads N] | replay LINE | shrink LINE"
        .to_owned()
}

fn names() -> Vec<&'static str> {
    registry::mappings().into_iter().map(|entry| entry.name).collect()
}

/// The stacks that `--ftl` names, or those that were registered.
fn stacks(arguments: &Arguments, own: &[&str]) -> Result<Vec<Stack>, Stop> {
    let Some(text) = arguments.text("ftl") else {
        if own.is_empty() {
            return Err("no FTL was registered: register one in main, or name some with --ftl.".to_owned().into());
        }
        return Ok(own.iter().map(|name| Stack::of(name)).collect());
    };
    text.split(',').map(|stack| stack.parse::<Stack>().map_err(Stop::from)).collect()
}

fn list(own: &[&str]) -> String {
    let head = ["", "name", "family", "source"].map(str::to_owned);
    let row = |entry: &&Entry| {
        let mark = if own.contains(&entry.name) { "yours" } else { "" };
        [mark, entry.name, entry.family, entry.source].map(str::to_owned)
    };
    let rows: Vec<_> = std::iter::once(head).chain(registry::mappings().iter().map(row)).collect();
    aligned(&rows)
}

fn compare(arguments: &Arguments, own: &[&str]) -> Result<String, Stop> {
    let workload = arguments.one("a workload preset, a trace or a study file")?;
    let study = if Path::new(workload).extension().is_some_and(|extension| extension == "toml") {
        let text = fs::read_to_string(workload).map_err(|error| format!("{workload}: cannot be read: {error}"))?;
        sim::parse_toml(&text, workload)?
    } else {
        sim::parse_json(&request(workload, arguments, own)?.to_string())?
    };
    let results = sim::run_study(&study, &Control::new())?;
    if let Some(path) = arguments.text("json") {
        save(path, &results)?;
    }
    Ok(results.table())
}

/// The study of a workload with the options given.
fn request(workload: &str, arguments: &Arguments, own: &[&str]) -> Result<serde_json::Value, Stop> {
    let mut stacks = stacks(arguments, own)?;
    if arguments.text("ftl").is_none() {
        stacks.insert(0, Stack::of("page"));
    }
    let ftl: Vec<_> = stacks.iter().map(|stack| json!({ "name": stack, "label": stack })).collect();
    let source = if Path::new(workload).exists() { "trace" } else { "preset" };
    let mut study = json!({ "workload": { source: workload }, "ftl": ftl });
    for (key, table) in [("requests", "workload"), ("addresses", "workload"), ("capacity", "device")] {
        if let Some(text) = arguments.text(key) {
            study[table][key] = text.parse::<u64>().map_or_else(|_| json!(text), |number| json!(number));
        }
    }
    if let Some(seed) = arguments.number::<u64>("seed")? {
        study["seed"] = json!(seed);
    }
    Ok(study)
}

fn save(path: &str, results: &Results) -> Result<(), Stop> {
    let text = serde_json::to_string_pretty(results).map_err(|error| format!("{path}: {error}"))?;
    fs::write(path, text + "\n").map_err(|error| format!("{path}: cannot be written: {error}").into())
}

/// Every workload on every device, then every value of every parameter.
fn conformance(arguments: &Arguments, own: &[&str]) -> Result<String, Stop> {
    arguments.none()?;
    let (mut lines, mut failed) = (Vec::new(), false);
    for stack in stacks(arguments, own)? {
        let campaign = Campaign::of(Subject::keeping(stack.clone())?, CONFORMANCE_SEED);
        let mut sweep = Sweep::default();
        sweep.extend([campaign.defaults(), campaign.settings()]);
        if sweep.cases.is_empty() {
            return Err(format!("{stack} accepts none of the devices, so nothing was tried").into());
        }
        let summary = sweep.run();
        failed |= !summary.failures.is_empty();
        lines.push(format!("{stack}: {summary}"));
    }
    let text = lines.join("\n");
    if failed { Err(Stop::Found(text)) } else { Ok(text) }
}

fn torture(arguments: &Arguments, own: &[&str]) -> Result<String, Stop> {
    arguments.none()?;
    let minutes = arguments.number("minutes")?.unwrap_or(1.0);
    let budget = Duration::try_from_secs_f64(60.0 * minutes)
        .map_err(|error| format!("--minutes {minutes}: {error}; 1 is a good start"))?;
    let limits = Limits { budget, threads: arguments.number("threads")? };
    let seed = arguments.number("seed")?.unwrap_or(1);
    let torture = Torture::new(Options { stacks: stacks(arguments, own)?, seed, ..Options::default() })?;
    let done = trials::run(torture, limits, |_, _| true);
    let reports = done.torture.reports();
    let findings: Vec<_> = reports.iter().flat_map(|report| &report.findings).map(finding).collect();
    let text = [tried(reports)].into_iter().chain(findings.iter().cloned()).collect::<Vec<_>>().join("\n\n");
    if findings.is_empty() { Ok(text) } else { Err(Stop::Found(text)) }
}

/// A row a scheme: what torture tried.
fn tried(reports: &[SchemeReport]) -> String {
    let head = ["scheme", "trials", "flash operations", "power cuts", "recoveries", "states", "findings"];
    let row = |report: &SchemeReport| {
        let trials = report.trials;
        let trials = trials.conformance + trials.power_cuts + trials.failing_flash + trials.combined;
        let numbers = [trials, report.tried.flash_operations, report.tried.cuts.total(), report.tried.recoveries];
        let [trials, operations, cuts, recoveries] = numbers.map(|number| number.to_string());
        let states = format!("{} of {}", report.states, report.states_of);
        [report.stack.to_string(), trials, operations, cuts, recoveries, states, report.findings.len().to_string()]
    };
    let rows: Vec<_> = std::iter::once(head.map(str::to_owned)).chain(reports.iter().map(row)).collect();
    aligned(&rows)
}

fn finding(finding: &Finding) -> String {
    let doubt = if finding.reproduced { "" } else { "\nRun again at once, this line did not fail." };
    let lines: Vec<_> = finding.explanation.iter().map(|line| format!("  {line}\n")).collect();
    format!("{}\n{}replay '{}'{doubt}", finding.message, lines.concat(), finding.replay)
}

/// The case of the replay line that a command is given.
fn case(arguments: &Arguments) -> Result<Case, Stop> {
    Ok(arguments.one("a replay line, in quotation marks")?.parse()?)
}

/// Runs a case; a failure is explained as what `make` makes of it.
fn replayed(case: &Case, make: impl Fn(Failure) -> Failure) -> Result<String, Stop> {
    match run_case(case) {
        Ok(outcome) => Ok(format!("passes: {} flash operations", outcome.flash_operations())),
        Err(failure) if failure.promise().is_none() => Err(failure.fault.to_string().into()),
        Err(failure) => {
            let failure = make(failure);
            let explained = explain(&failure.case).err().map_or_else(String::new, |explained| explained.1.to_string());
            Err(Stop::Found(format!("{failure}\n{explained}")))
        }
    }
}
