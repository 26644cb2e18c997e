//! Volumes: all requests of each from the runs, as Parquet in a folder of its own.
//!
//! Folders are called as tools for partitioned Parquet expect it, `volume=NAME` with `%2F` for a
//! slash. A folder takes its name when its files are whole, and a line of the journal says that.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::run::{Run, Segment};
use crate::error::TraceError;
use crate::record::Record;
use crate::stacked_devices::StackedDevices;
use crate::statistics::{Profile, Tally};
use crate::write::sink::Sink;
use crate::write::{Draft, Target};

/// Where the facts of volumes are, a line of JSON each.
const JOURNAL: &str = "volumes.jsonl";
const VOLUMES: &str = "volumes";

/// Most bytes of a folder's name, of the 255 that file systems take.
const LONGEST_NAME: usize = 200;

/// A volume's line in the journal.
#[derive(Serialize)]
struct VolumeFacts {
    name: String,
    /// Inside the folder of the split.
    folder: String,
    files: u64,
    first_ns: u64,
    last_ns: u64,
    #[serde(flatten)]
    profile: Profile,
}

/// What is read again of a line.
#[derive(Deserialize)]
struct Done {
    name: String,
}

/// Writes the volumes that the journal has not, in files of at most `part_requests`, and says how
/// many there are; none if it was told to stop.
pub(super) fn write_all(
    folder: &Path,
    work: &Path,
    runs: &[Run],
    part_requests: u64,
    watch: &mut impl FnMut(&'static str, u64, u64) -> bool,
) -> Result<Option<u64>, TraceError> {
    let journal = work.join(JOURNAL);
    let done = finished(&journal).map_err(|error| TraceError::write(&journal, error))?;
    let mut lines = OpenOptions::new()
        .create(true)
        .append(true)
        .open(&journal)
        .map_err(|error| TraceError::write(&journal, error))?;
    let volumes = by_volume(runs);
    let total = volumes.len() as u64;
    let mut taken = HashSet::new();
    for (number, (name, segments)) in (0..).zip(volumes) {
        let place = format!("{VOLUMES}/{}", folder_name(name, number, &mut taken));
        if done.contains(name) {
            continue;
        }
        let draft = Building::new(work.join("volume"))?;
        let Some(facts) = draft.fill(name, &segments, part_requests, || watch("volumes", number, total))? else {
            return Ok(None);
        };
        draft.finish(&folder.join(&place))?;
        append(&mut lines, &VolumeFacts { folder: place, ..facts })
            .map_err(|error| TraceError::write(&journal, error))?;
    }
    Ok(Some(total))
}

/// The names of the volumes in the journal, of which a line that was cut short is removed.
fn finished(journal: &Path) -> io::Result<HashSet<String>> {
    let Ok(text) = fs::read(journal) else { return Ok(HashSet::new()) };
    let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
    if whole < text.len() {
        OpenOptions::new().write(true).open(journal)?.set_len(whole as u64)?;
    }
    let lines = text[..whole].split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| Ok(serde_json::from_slice::<Done>(line)?.name)).collect()
}

fn append(journal: &mut File, facts: &VolumeFacts) -> io::Result<()> {
    let mut line = serde_json::to_vec(facts)?;
    line.push(b'\n');
    journal.write_all(&line)
}

/// The places of each volume's requests, in order of first appearance.
fn by_volume(runs: &[Run]) -> Vec<(&str, Vec<(&Run, &Segment)>)> {
    let mut numbers = HashMap::new();
    let mut volumes: Vec<(&str, Vec<_>)> = Vec::new();
    for run in runs {
        for segment in &run.index.segments {
            let name = segment.volume.as_str();
            let number = *numbers.entry(name).or_insert(volumes.len());
            if number == volumes.len() {
                volumes.push((name, Vec::new()));
            }
            volumes[number].1.push((run, segment));
        }
    }
    volumes
}

/// A folder name for a volume that no other has, also where case does not count.
fn folder_name(name: &str, number: u64, taken: &mut HashSet<String>) -> String {
    let mut made = String::from("volume=");
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"_.-".contains(&byte) {
            made.push(byte.into());
        } else {
            write!(made, "%{byte:02X}").expect("a string takes all text");
        }
    }
    if made.len() > LONGEST_NAME {
        made.truncate(LONGEST_NAME);
        write!(made, "~{number}").expect("a string takes all text");
    }
    if !taken.insert(made.to_ascii_lowercase()) {
        write!(made, "~{number}").expect("a string takes all text");
        taken.insert(made.to_ascii_lowercase());
    }
    made
}

/// A volume's folder in the making.
struct Building {
    folder: PathBuf,
}

impl Building {
    fn new(folder: PathBuf) -> Result<Self, TraceError> {
        let failed = |error: io::Error| TraceError::write(&folder, error);
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(failed)?;
        }
        fs::create_dir_all(&folder).map_err(failed)?;
        Ok(Self { folder })
    }

    /// Writes the requests of a volume; none if it was told to stop.
    fn fill(
        &self,
        name: &str,
        segments: &[(&Run, &Segment)],
        part_requests: u64,
        mut go_on: impl FnMut() -> bool,
    ) -> Result<Option<VolumeFacts>, TraceError> {
        let mut tally = Tally::default();
        let mut parts = Parts { folder: &self.folder, name: [name.to_owned()], open: None, begun: 0, requests: 0 };
        let (mut times, mut told) = (None, 0_u64);
        for (run, segment) in segments {
            let mut requests = 0;
            for record in run.records(segment)? {
                if told.is_multiple_of(StackedDevices::TOLD_EVERY) && !go_on() {
                    return Ok(None);
                }
                told += 1;
                requests += 1;
                tally.observe(&record);
                parts.write(&record, part_requests)?;
                times = Some((times.map_or(record.time_ns, |(first, _)| first), record.time_ns));
            }
            debug_assert_eq!(requests, segment.requests, "a run has the requests that its index says");
        }
        parts.close()?;
        let (first_ns, last_ns) = times.unwrap_or_default();
        let profile = tally.profile(name.to_owned());
        Ok(Some(VolumeFacts {
            name: name.to_owned(),
            folder: String::new(),
            files: parts.begun,
            first_ns,
            last_ns,
            profile,
        }))
    }

    /// Gives it its name.
    fn finish(self, place: &Path) -> Result<(), TraceError> {
        let failed = |error: io::Error| TraceError::write(place, error);
        fs::create_dir_all(place.parent().unwrap_or(place)).map_err(failed)?;
        if place.exists() {
            fs::remove_dir_all(place).map_err(failed)?;
        }
        fs::rename(&self.folder, place).map_err(failed)
    }
}

impl Drop for Building {
    /// A full disk has no room for half a volume; one that is finished is elsewhere.
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A volume's files, one after the other in time.
struct Parts<'a> {
    folder: &'a Path,
    name: [String; 1],
    open: Option<(PathBuf, Draft, Box<dyn Sink>)>,
    begun: u64,
    /// Of the open file.
    requests: u64,
}

impl Parts<'_> {
    fn write(&mut self, record: &Record, most: u64) -> Result<(), TraceError> {
        if self.open.is_some() && self.requests == most {
            self.close()?;
        }
        if self.open.is_none() {
            let path = self.folder.join(format!("{:05}.parquet", self.begun));
            let draft = Draft::new(&path)?;
            let sink = Target::Parquet.sink(draft.writer()?).map_err(|error| TraceError::write(&path, error))?;
            self.open = Some((path, draft, sink));
            (self.begun, self.requests) = (self.begun + 1, 0);
        }
        self.requests += 1;
        let Some((path, _, sink)) = &mut self.open else { return Ok(()) };
        sink.write(record, &self.name).map_err(|error| TraceError::write(path, error))
    }

    fn close(&mut self) -> Result<(), TraceError> {
        let Some((path, draft, sink)) = self.open.take() else { return Ok(()) };
        let writer = sink.finish(&self.name).map_err(|error| TraceError::write(&path, error))?;
        draft.finish(writer)
    }
}
