//! A case: everything that decides how a run goes, and the one line that says it all.
//!
//! ```text
//! check::replay stack=page:victim=fifo geometry=1x1x1x8x4x512 pages=20 seed=7 workload=hot-cold
//! requests=200
//! ```
//!
//! Lines of before there were stacks say `scheme=page set.victim=fifo`, which means the same. Power
//! cuts follow as `cut=12:torn` and faults of the flash as `faults=12:program-fails`, idle time
//! after each request as `idle=random` (`schedule.rs`); then `readback` and `check` have no
//! meaning. Four more keys may be left out: `prefill` (what the device holds when the requests
//! begin), `hints` (what the host says of its data: `none` or `random`), `readback` and `check`
//! (after how many requests content is read back and invariants are checked). Reading back after
//! each request finds a loss at once, but it also keeps the scheme's caches warm; a scheme must
//! pass with it and without.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use ftl::{ConfigError, Stack};

use crate::case::device_spec::DeviceSpec;
use crate::case::operation::{Extent, Operation, Space};
use crate::case::schedule::FaultSchedule;
use crate::case::workload::Workload;

/// What the device holds when the requests begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Prefill {
    /// No page is written before.
    #[default]
    Empty,
    /// Every page, written in one request a block.
    Full,
}

/// One run of one stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// What is tried, with the settings that differ from defaults; its mapping is one of the
    /// registry's, or `canary`.
    pub stack: Stack,
    /// The device that the stack runs on.
    pub device: DeviceSpec,
    /// Logical pages that the scheme promises to the host.
    pub logical_pages: u32,
    /// Seed of everything drawn at random.
    pub seed: u64,
    /// What the host does.
    pub workload: Workload,
    /// Operations of the workload to do; a shorter script simply ends.
    pub requests: u32,
    /// What the device holds before.
    pub prefill: Prefill,
    /// Whether the host hints at random about what it writes.
    pub hints: bool,
    /// Content is read back after every so many requests; 0 for only at the end.
    pub readback_every: u32,
    /// Invariants are checked after every so many requests; 0 for only at the end.
    pub check_every: u32,
    /// The faults, which select the driver.
    pub schedule: FaultSchedule,
}

/// The first word of a replay line.
pub const REPLAY: &str = "check::replay";

const EXAMPLE: &str = "check::replay stack=page geometry=1x1x1x8x4x512 pages=20 seed=7 workload=hot-cold requests=200";

/// Pages of the largest device: 40 bytes per page are kept, and a slip in a replay line should not
/// cost gigabytes.
const MOST_PAGES: u32 = 1 << 24;

impl Case {
    /// A case of 300 requests on a full device, without hints and faults, and nothing looked at on
    /// the way: the beginning of others.
    pub fn new(stack: &Stack, device: &DeviceSpec, logical_pages: u32, workload: Workload) -> Self {
        Self {
            stack: stack.clone(),
            device: device.clone(),
            logical_pages,
            seed: 1,
            workload,
            requests: 300,
            prefill: Prefill::Full,
            hints: false,
            readback_every: 0,
            check_every: 0,
            schedule: FaultSchedule::None,
        }
    }

    /// The space that the workload writes to.
    pub fn space(&self) -> Space {
        let pages_per_block = self.device.shape.pages_per_block;
        let physical_blocks = self.device.geometry().map_or(1, |geometry| geometry.blocks());
        Space { logical_pages: self.logical_pages, pages_per_block, physical_blocks }
    }

    /// The operations of the workload, as many as the case does.
    pub fn operations(&self) -> impl Iterator<Item = Operation> + '_ {
        self.workload.operations(self.space(), self.seed).take(self.requests as usize)
    }

    /// The operations that fill the device beforehand.
    pub fn prefill_operations(&self) -> Vec<Operation> {
        match self.prefill {
            Prefill::Empty => Vec::new(),
            Prefill::Full => {
                let size = self.device.shape.pages_per_block;
                let block = |first| Operation::Write(Extent::within(self.logical_pages, first, size));
                (0..self.logical_pages).step_by(size as usize).map(block).collect()
            }
        }
    }

    /// The same case cut off after this many requests; a script loses those that are not served.
    #[must_use]
    pub fn cut_off(&self, requests: u32) -> Self {
        let mut case = Self { requests, ..self.clone() };
        if let Workload::Script(script) = &mut case.workload {
            script.truncate(requests as usize);
        }
        case
    }

    /// What makes the case impossible whatever the scheme does, in words.
    pub fn validate(&self) -> Result<(), String> {
        if self.logical_pages == 0 {
            return Err("pages=0: a device without logical pages cannot be tried; give it at least 1".into());
        }
        let pages = self.device.geometry()?.pages();
        if pages > MOST_PAGES {
            return Err(format!(
                "geometry {}: {pages} pages, but cases are small (at most {MOST_PAGES} pages)",
                self.device
            ));
        }
        if self.logical_pages > pages {
            return Err(format!("pages={}: the device has only {pages} pages; give it fewer", self.logical_pages));
        }
        let beyond = match &self.workload {
            Workload::Script(script) => script.iter().find(|operation| !operation.fits(&self.space())),
            Workload::Generated(_) | Workload::Swarm(_) => None,
        };
        match beyond {
            Some(operation) => {
                let Space { logical_pages, physical_blocks, .. } = self.space();
                Err(format!(
                    "operation {operation} leaves the {logical_pages} logical pages or the {physical_blocks} erase blocks; keep within them"
                ))
            }
            None => Ok(()),
        }
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{REPLAY} stack={}", self.stack)?;
        write!(f, " geometry={} pages={} seed={}", self.device, self.logical_pages, self.seed)?;
        if self.prefill == Prefill::Full {
            write!(f, " prefill=full")?;
        }
        if self.hints {
            write!(f, " hints=random")?;
        }
        write!(f, " workload={} requests={}", self.workload, self.requests)?;
        write!(f, " readback={} check={}{}", self.readback_every, self.check_every, self.schedule)
    }
}

impl FromStr for Case {
    type Err = String;

    /// Reads a replay line; whatever stands before `check::replay` is ignored, so that a line can
    /// be pasted as printed.
    fn from_str(text: &str) -> Result<Self, String> {
        let start = text.find(REPLAY).ok_or_else(|| format!("not a replay line; one looks like: {EXAMPLE}"))?;
        let mut fields = Fields::parse(&text[start + REPLAY.len()..])?;
        let case = Self {
            stack: fields.stack()?,
            device: fields.required("geometry")?.parse()?,
            logical_pages: fields.number("pages", None)?,
            seed: fields.number("seed", None)?,
            workload: fields.required("workload")?.parse()?,
            requests: fields.number("requests", None)?,
            prefill: fields.prefill()?,
            hints: fields.hints()?,
            readback_every: fields.number("readback", Some(1))?,
            check_every: fields.number("check", Some(1))?,
            schedule: fields.schedule()?,
        };
        fields.finish()?;
        case.validate().map(|()| case)
    }
}

/// The keys and values of a line, taken one by one.
struct Fields(BTreeMap<String, String>);

impl Fields {
    fn parse(text: &str) -> Result<Self, String> {
        let mut fields = BTreeMap::new();
        for word in text.split_whitespace() {
            let (key, value) =
                word.split_once('=').ok_or_else(|| format!("{word}: every word is key=value, as in: {EXAMPLE}"))?;
            if fields.insert(key.to_owned(), value.to_owned()).is_some() {
                return Err(format!("{key} is given twice; keep one"));
            }
        }
        Ok(Self(fields))
    }

    /// The stack, or what lines of before there were stacks say in its place.
    fn stack(&mut self) -> Result<Stack, String> {
        let Some(scheme) = self.0.remove("scheme") else {
            return self.required("stack")?.parse().map_err(|error: ConfigError| error.to_string());
        };
        let is_setting = |key: &String| key.starts_with("set.");
        let keys: Vec<_> = self.0.keys().filter(|key| is_setting(key)).cloned().collect();
        let settings = keys.into_iter().filter_map(|key| Some((key["set.".len()..].to_owned(), self.0.remove(&key)?)));
        Ok(Stack::with(&scheme, settings))
    }

    fn required(&mut self, key: &str) -> Result<String, String> {
        self.0.remove(key).ok_or_else(|| format!("{key}= is missing; a whole line looks like: {EXAMPLE}"))
    }

    fn number<T: FromStr>(&mut self, key: &str, default: Option<T>) -> Result<T, String> {
        match (self.0.remove(key), default) {
            (None, Some(default)) => Ok(default),
            (None, None) => Err(format!("{key}= is missing; a whole line looks like: {EXAMPLE}")),
            (Some(text), _) => text
                .parse()
                .map_err(|_| format!("{key}={text}: not a whole number that fits; write for example {key}=200")),
        }
    }

    fn prefill(&mut self) -> Result<Prefill, String> {
        match self.0.remove("prefill").as_deref() {
            None | Some("empty") => Ok(Prefill::Empty),
            Some("full") => Ok(Prefill::Full),
            Some(other) => Err(format!("prefill={other}: must be empty or full")),
        }
    }

    fn hints(&mut self) -> Result<bool, String> {
        match self.0.remove("hints").as_deref() {
            None | Some("none") => Ok(false),
            Some("random") => Ok(true),
            Some(other) => Err(format!("hints={other}: must be none or random")),
        }
    }

    fn schedule(&mut self) -> Result<FaultSchedule, String> {
        let [cuts, faults, idle] = ["cut", "faults", "idle"].map(|key| self.0.remove(key));
        FaultSchedule::parse(cuts.as_deref(), faults.as_deref(), idle.as_deref())
    }

    fn finish(&self) -> Result<(), String> {
        match self.0.keys().next() {
            None => Ok(()),
            Some(key) => Err(format!("{key}= is unknown; a whole line looks like: {EXAMPLE}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_reads_back_from_its_line() {
        for line in [
            "check::replay stack=page geometry=1x1x1x8x4x512 pages=20 seed=7 workload=hot-cold requests=200 readback=1 check=16",
            "check::replay stack=page:d=3:victim=d-choices geometry=3x1x1x5x5x512,strict,bad:0:7 pages=1 \
             seed=18446744073709551615 prefill=full hints=random workload=script:w0+1,t0+1,f requests=3 readback=0 check=0",
            "check::replay stack=fast+owl:bat=256 geometry=1x1x1x8x4x512 pages=20 seed=7 workload=mixed requests=9 readback=1 \
             check=1 cut=12:torn,0:after",
            "check::replay stack=fast geometry=1x1x1x8x4x512 pages=20 seed=7 workload=mixed requests=9 readback=1 check=1 \
             faults=12:program-fails,30:erase-fails",
            "check::replay stack=fast geometry=1x1x1x8x4x512 pages=20 seed=7 workload=mixed requests=9 readback=1 check=1 cut=none",
            "check::replay stack=fast geometry=1x1x1x8x4x512 pages=20 seed=7 workload=mixed requests=9 readback=1 check=1 \
             faults=none",
            "check::replay stack=fast geometry=1x1x1x8x4x512 pages=20 seed=7 workload=mixed requests=9 readback=1 check=1 \
             idle=random",
        ] {
            let case: Case = line.parse().expect(line);
            assert_eq!(case.to_string(), line);
            assert_eq!(format!("thread panicked: {case}").parse(), Ok(case));
        }
        assert_eq!(EXAMPLE.parse::<Case>().expect("valid").check_every, 1);
    }

    #[test]
    fn a_line_of_before_there_were_stacks_means_what_it_meant() {
        let rest = "geometry=1x1x1x8x4x512 pages=20 seed=7 workload=mixed requests=9 readback=1 check=1";
        let old: Case =
            format!("check::replay scheme=page set.d=3 set.victim=d-choices {rest}").parse().expect("valid");
        assert_eq!(old.to_string(), format!("check::replay stack=page:d=3:victim=d-choices {rest}"));
    }

    #[test]
    fn every_wrong_line_says_what_is_wrong() {
        for (from, to, words) in [
            (REPLAY, "replay", "not a replay line"),
            ("stack=page ", "", "stack= is missing"),
            ("stack=page", "stack=page+", "behind + there must be"),
            ("stack=page", "stack=page set.d=3", "set.d= is unknown"),
            ("stack=page", "stack=page scheme=page", "stack= is unknown"),
            ("seed=7", "seed=x", "seed=x: not a whole number"),
            ("seed=7", "seed=7 seed=8", "seed is given twice"),
            ("seed=7", "seed", "key=value"),
            ("seed=7", "seed=7 speed=1", "speed= is unknown"),
            ("seed=7", "seed=7 cut=5", "for example cut=12:torn"),
            ("seed=7", "seed=7 faults=5", "for example faults=12:program-fails"),
            ("seed=7", "seed=7 faults=5:read-fails cut=5:torn", "give cuts as faults"),
            ("seed=7", "seed=7 idle=long", "idle=long: must be random"),
            ("seed=7", "seed=7 idle=random cut=none", "idle= is for flash that never fails"),
            ("seed=7", "seed=7 prefill=half", "must be empty or full"),
            ("seed=7", "seed=7 hints=hot", "must be none or random"),
            ("pages=20", "pages=0", "at least 1"),
            ("pages=20", "pages=33", "only 32 pages"),
            ("1x1x1x8x4x512", "1x1x1x0x4x512", "blocks_per_plane is 0"),
            ("1x1x1x8x4x512", "1x1x1x8x4x512,bad:8", "bad block 8"),
            ("1x1x1x8x4x512", "1x1x1x16777217x1x512", "cases are small"),
            ("hot-cold", "script:w19+2", "leaves the 20 logical pages"),
            ("hot-cold", "script:e8", "or the 8 erase blocks"),
        ] {
            let line = EXAMPLE.replace(from, to);
            let error = line.parse::<Case>().expect_err(&line);
            assert!(error.contains(words), "{line}: {error}");
        }
    }
}
