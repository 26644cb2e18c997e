//! The cases of the steady-state bench, and how one is measured.

use sim::{Control, RunResult, run_study, study};

use crate::bare::Bare;

/// A scheme on a device under a workload.
pub struct Case {
    /// Name of the row.
    pub name: &'static str,
    /// The `[[ftl]]` table.
    pub ftl: &'static str,
    /// The same on [`SMALL`], with a share of the map in RAM that is about the same.
    pub small_ftl: &'static str,
    /// Requests there after which collections and merges go on at their pace.
    pub small_requests: u64,
    /// Generator's pattern, as TOML.
    pub pattern: &'static str,
    /// The `[host]` table.
    pub host: &'static str,
    /// Blocks per plane, of 8 channels × 4 dies × 256 pages.
    pub blocks_per_plane: u32,
    /// Measured requests.
    pub requests: u64,
    /// How the device is prepared before the measurement.
    pub precondition: &'static str,
}

/// The size of a device.
#[derive(Clone, Copy)]
pub struct Size {
    channels: u32,
    dies_per_channel: u32,
    blocks_per_plane: u32,
    pages_per_block: u32,
    /// Share of the physical pages that the host does not see.
    spare: f64,
}

impl Size {
    fn pages(&self) -> f64 {
        f64::from(self.channels * self.dies_per_channel * self.blocks_per_plane * self.pages_per_block)
    }
}

/// The device on which instructions are counted.
pub const SMALL: Size =
    Size { channels: 4, dies_per_channel: 2, blocks_per_plane: 32, pages_per_block: 64, spare: 0.25 };

/// Share of the physical pages that the host does not see.
const SPARE: f64 = 0.1;
const PAGES_PER_BLOCK: u32 = 256;
const CHANNELS: u32 = 8;
const DIES: u32 = 32;

const CLOSED: &str = "[host]\nloop = \"closed\"\nqueue_depth = 32";
const UNIFORM: &str = "\"uniform\"";
/// With a request each microsecond, more than the device serves.
const UNIFORM_SOON: &str = "\"uniform\", arrivals = { poisson = { mean_gap = \"1us\" } }";
const ZIPF: &str = "{ zipf = { theta = 0.99 } }";

/// The cases, from the floor of what people simulate to the largest device.
pub const CASES: &[Case] = &[
    page_mapped("page, 32 GiB, uniform", "name = \"page\"", "name = \"page\"", UNIFORM, 6_000_000),
    page_mapped("page, 32 GiB, zipf 0.99", "name = \"page\"", "name = \"page\"", ZIPF, 6_000_000),
    page_mapped(
        "page, 32 GiB, zipf 0.99, paced",
        "name = \"page\"\ngc = \"paced\"",
        "name = \"page\"\ngc = \"paced\"",
        ZIPF,
        6_000_000,
    ),
    page_mapped(
        "dftl, 32 GiB, 10 % CMT, zipf 0.99",
        "name = \"dftl\"\ncmt = \"5898KiB\"",
        "name = \"dftl\"\ncmt = \"11KiB\"",
        ZIPF,
        3_000_000,
    ),
    page_mapped(
        "dftl, 32 GiB, 65 % CMT, zipf 0.99",
        "name = \"dftl\"\ncmt = \"38338KiB\"",
        "name = \"dftl\"\ncmt = \"74KiB\"",
        ZIPF,
        3_000_000,
    ),
    page_mapped(
        "rftl, 32 GiB, 65 % CMT, zipf 0.99",
        "name = \"rftl\"\ncmt = \"38338KiB\"",
        "name = \"rftl\"\ncmt = \"74KiB\"",
        ZIPF,
        3_000_000,
    ),
    page_mapped(
        "s-ftl, 32 GiB, 8 MiB RAM, zipf 0.99",
        "name = \"s-ftl\"\ncmt = \"8MiB\"",
        "name = \"s-ftl\"\ncmt = \"16KiB\"",
        ZIPF,
        3_000_000,
    ),
    page_mapped(
        "treeftl, 32 GiB, 256 MiB RAM, zipf 0.99",
        "name = \"treeftl\"\nram = \"256MiB\"",
        "name = \"treeftl\"\nram = \"512KiB\"",
        ZIPF,
        3_000_000,
    ),
    page_mapped(
        "treeftl, 32 GiB, 64 MiB RAM, zipf 0.99",
        "name = \"treeftl\"\nram = \"64MiB\"",
        "name = \"treeftl\"\nram = \"128KiB\"",
        ZIPF,
        3_000_000,
    ),
    page_mapped(
        "aps, 32 GiB, 64 MiB RAM, zipf 0.99",
        "name = \"aps\"\nram = \"64MiB\"",
        "name = \"aps\"\nram = \"128KiB\"",
        ZIPF,
        3_000_000,
    ),
    page_mapped(
        "jtl, 32 GiB, 64 MiB RAM, zipf 0.99",
        "name = \"jtl\"\nram = \"64MiB\"",
        "name = \"jtl\"\nram = \"128KiB\"",
        ZIPF,
        3_000_000,
    ),
    page_mapped(
        "leaftl, 32 GiB, 8 MiB buffer, zipf 0.99",
        "name = \"leaftl\"",
        "name = \"leaftl\"\nram = \"64KiB\"",
        ZIPF,
        3_000_000,
    ),
    log_buffer("fast, 4 GiB, 3 % log, zipf 0.99", "name = \"fast\""),
    log_buffer("bast, 4 GiB, 3 % log, zipf 0.99", "name = \"bast\""),
    log_buffer("faster, 4 GiB, 3 % log, zipf 0.99", "name = \"faster\""),
    log_buffer("last, 4 GiB, 3 % log, zipf 0.99", "name = \"last\""),
    log_buffer("kast, 4 GiB, 3 % log, zipf 0.99", "name = \"kast\""),
    log_buffer("superblock, 4 GiB, 3 % log, zipf 0.99", "name = \"superblock\""),
    log_buffer("sast, 4 GiB, 3 % log, zipf 0.99", "name = \"sast\""),
    log_buffer("a-sast, 4 GiB, 3 % log, zipf 0.99", "name = \"a-sast\""),
    log_buffer("waftl, 4 GiB, 3 % zone, zipf 0.99", "name = \"waftl\"\nzone = \"3%\""),
    log_buffer("adapt, 4 GiB, 3 % log, zipf 0.99", "name = \"adapt\""),
    log_buffer("fast+bplru 8 MiB, 4 GiB, 3 % log, zipf 0.99", "name = \"fast+bplru\""),
    log_buffer("fast+fab 8 MiB, 4 GiB, 3 % log, zipf 0.99", "name = \"fast+fab\""),
    page_mapped(
        "page+lru 64 MiB, 32 GiB, zipf 0.99",
        "name = \"page+lru:ram=64MiB\"",
        "name = \"page+lru:ram=128KiB\"",
        ZIPF,
        6_000_000,
    ),
    Case {
        name: "block, 4 GiB, uniform",
        ftl: "name = \"block\"",
        small_ftl: "name = \"block\"",
        small_requests: 100,
        pattern: UNIFORM,
        blocks_per_plane: 128,
        host: CLOSED,
        requests: 100_000,
        precondition: "fill",
    },
    Case {
        host: "[host]\nloop = \"open\"",
        ..page_mapped(
            "page, 32 GiB, uniform, overloaded",
            "name = \"page\"",
            "name = \"page\"",
            UNIFORM_SOON,
            1_000_000,
        )
    },
];

/// A scheme that maps pages, on a device of 32 GiB in a steady state.
const fn page_mapped(
    name: &'static str,
    ftl: &'static str,
    small_ftl: &'static str,
    pattern: &'static str,
    requests: u64,
) -> Case {
    Case {
        name,
        ftl,
        small_ftl,
        small_requests: 3000,
        pattern,
        host: CLOSED,
        blocks_per_plane: 1024,
        requests,
        precondition: "steady",
    }
}

/// A log-buffer scheme; they are compared with each other by the flash operation.
const fn log_buffer(name: &'static str, ftl: &'static str) -> Case {
    Case {
        name,
        ftl,
        small_ftl: ftl,
        small_requests: 1000,
        pattern: ZIPF,
        host: CLOSED,
        blocks_per_plane: 128,
        requests: 200_000,
        precondition: "fill",
    }
}

/// The keys of `[run]` for each run of a case: every default, no breakdown of waiting, no clock.
pub const RUNS: [&str; 3] = ["", "waiting = false", "clock = \"auto\""];

/// What a run gave.
pub struct Measured {
    /// Flash operations of the measured part, per second of wall clock.
    pub operations_per_second: f64,
    /// The run's event hash.
    pub event_hash: String,
    /// RAM that the whole run took at its peak, over physical pages; none if an earlier run of this
    /// process took more.
    pub bytes_per_page: Option<f64>,
}

impl Case {
    fn blocks(&self, quick: bool) -> u32 {
        if quick { 16 } else { self.blocks_per_plane }
    }

    /// The bare loop on a device of the same shape.
    pub fn bare(&self, quick: bool) -> Bare {
        let blocks = self.blocks(quick) * DIES;
        let pages = (f64::from(blocks * PAGES_PER_BLOCK) * (1.0 - SPARE)) as u32;
        let mut bare = Bare::filled(blocks, PAGES_PER_BLOCK, pages, 1);
        bare.run(u64::from(pages));
        bare
    }

    /// Host writes of the bare loop in one turn.
    pub fn bare_writes(&self, quick: bool) -> u64 {
        if quick { 10_000 } else { 4_000_000 }
    }

    fn size(&self, quick: bool) -> Size {
        let (blocks_per_plane, spare) = (self.blocks(quick), if quick { 0.5 } else { SPARE });
        let (channels, dies_per_channel) = (CHANNELS, DIES / CHANNELS);
        Size { channels, dies_per_channel, blocks_per_plane, pages_per_block: PAGES_PER_BLOCK, spare }
    }

    /// The study of this case in TOML, run in one of [`RUNS`]; `quick` makes it shorter.
    fn study(&self, quick: bool, run: &str) -> String {
        let requests = if quick { 10_000 } else { self.requests };
        self.study_of(self.size(quick), requests, run, [self.ftl, self.precondition])
    }

    fn study_of(&self, size: Size, requests: u64, run: &str, [ftl, precondition]: [&str; 2]) -> String {
        let Size { channels, dies_per_channel, blocks_per_plane, pages_per_block, spare } = size;
        let (pattern, pages) = (self.pattern, (size.pages() * (1.0 - spare)) as u64);
        format!(
            "seed = 1\n[device]\npreset = \"slc-small\"\nchannels = {channels}\ndies_per_channel = {dies_per_channel}\nplanes_per_die = 1\n\
             blocks_per_plane = {blocks_per_plane}\npages_per_block = {pages_per_block}\npage_size = \"4KiB\"\nspare = {spare}\n\
             [workload]\ngenerator = {{ requests = {requests}, span = {}, pattern = {pattern}, write_share = 1.0, sizes = \"4KiB\" }}\n\
             {}\n[run]\n{run}\nprecondition = \"{precondition}\"\n[[ftl]]\n{ftl}\n",
            pages * 4096,
            self.host
        )
    }

    fn run(&self, study: &str) -> Result<RunResult, String> {
        let study = study::parse_toml(study, self.name).map_err(|error| error.to_string())?;
        let results = run_study(&study, &Control::new()).map_err(|error| error.to_string())?;
        results.runs.into_iter().next().ok_or_else(|| "one run was expected".into())
    }

    /// Runs the case on [`SMALL`], with this many times the requests that it takes there; returns
    /// how many flash operations that were.
    #[inline(never)]
    pub fn run_small(&self, times: u64, run: &str) -> Result<u64, String> {
        let requests = times * self.small_requests;
        let run = self.run(&self.study_of(SMALL, requests, run, [self.small_ftl, "fill"]))?;
        Ok(operations(&run))
    }
}

fn operations(run: &RunResult) -> u64 {
    run.operations.iter().map(|operation| operation.count).sum()
}

/// Runs a case once, in one of [`RUNS`]; returns its rate, its event hash and its memory.
pub fn measure(case: &Case, quick: bool, run: &str) -> Result<Measured, String> {
    let (before, earlier_peak) = (resident_bytes(), peak_bytes());
    let run = case.run(&case.study(quick, run))?;
    let pages = case.size(quick).pages();
    Ok(Measured {
        operations_per_second: operations(&run) as f64 / run.measured_wall_s,
        event_hash: run.event_hash.clone(),
        bytes_per_page: (peak_bytes() > earlier_peak).then(|| (peak_bytes() - before) / pages),
    })
}

/// Resident memory of this process in bytes; 0 where the system does not tell.
fn resident_bytes() -> f64 {
    status("VmRSS:")
}

/// The most memory that this process has had, in bytes; 0 where the system does not tell.
fn peak_bytes() -> f64 {
    status("VmHWM:")
}

fn status(field: &str) -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(field)).unwrap_or_default();
    1024.0 * line.trim().trim_end_matches(" kB").parse::<f64>().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every second case from one on: two tests run side by side.
    fn repeats_its_hash(first: usize) {
        for case in CASES.iter().skip(first).step_by(2) {
            let [first, second, clockless] = RUNS.map(|run| measure(case, true, run).expect(case.name));
            assert_eq!(first.event_hash, second.event_hash, "{}", case.name);
            assert_eq!(first.event_hash, clockless.event_hash, "{}", case.name);
        }
    }

    /// What `benches/instructions.py` counts: it runs this test alone, since the program of the
    /// tests has every scheme in it, and one more would take minutes to compile. Each case is run
    /// with its requests and with twice as many, and it prints how many flash operations these
    /// were. With `FTLKIT_CASES`, only cases run that have one of its lines in their names. Three
    /// run without the breakdown of waiting and without a clock, too.
    #[test]
    #[ignore = "benches/instructions.py runs it"]
    fn count_operations() {
        let asked = std::env::var("FTLKIT_CASES").unwrap_or_default();
        let is_asked = |name: &str| asked.is_empty() || asked.lines().any(|part| name.contains(part));
        let without =
            ["page, 32 GiB, zipf 0.99", "dftl, 32 GiB, 10 % CMT, zipf 0.99", "fast, 4 GiB, 3 % log, zipf 0.99"];
        for case in CASES.iter().filter(|case| is_asked(case.name)) {
            let runs = RUNS.into_iter().zip(["", ", without waiting", ", without a clock"]);
            for (run, words) in runs.take(if without.contains(&case.name) { 3 } else { 1 }) {
                let [few, many] = [1, 2].map(|times| case.run_small(times, run).expect(case.name));
                println!("operations {few} {many} {}{words}", case.name);
            }
        }
    }

    #[test]
    fn every_case_of_an_even_number_runs_on_a_tiny_device_and_repeats_its_hash() {
        repeats_its_hash(0);
    }

    #[test]
    fn every_case_of_an_odd_number_runs_on_a_tiny_device_and_repeats_its_hash() {
        repeats_its_hash(1);
    }
}
