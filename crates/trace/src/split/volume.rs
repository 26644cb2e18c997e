//! Volumes: all requests of each from the runs, as Parquet in a folder of its own; of many volumes,
//! the small ones together.
//!
//! Folders are called as tools for partitioned Parquet expect it, `volume=NAME` with `%2F` for a
//! slash. A folder takes its name when its files are whole, and a line of the journal says that.
//!
//! To make a folder and to wait for the disk takes some 5 ms, so of more volumes than
//! [`SplitLimits::folders`] those with few requests share files: traces of several devices in order
//! of time, small enough that one volume is read out of them at once. Which volumes are together
//! follows from the runs alone, so that a split that goes on makes the same files.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::limits::SplitLimits;
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

const SHARED: &str = "shared";

/// A volume with fewer requests shares a file, which is full with four times as many, or with so
/// many volumes: the requests are read in milliseconds, and so are the names.
const FEW_REQUESTS: u64 = 1 << 12;
const FULL_REQUESTS: u64 = 4 * FEW_REQUESTS;
const FULL_VOLUMES: usize = 1 << 10;

/// A volume's line in the journal.
#[derive(Serialize)]
struct VolumeFacts {
    name: String,
    /// Inside the folder of the split; of a shared file, its path.
    folder: String,
    files: u64,
    /// Its number in a shared file.
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<usize>,
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

/// Writes the volumes that the journal has not, and says how many there are; none if stopped.
pub(super) fn write_all(
    folder: &Path,
    work: &Path,
    runs: &[Run],
    limits: SplitLimits,
    watch: &mut impl FnMut(&'static str, u64, u64) -> bool,
) -> Result<Option<u64>, TraceError> {
    let journal = work.join(JOURNAL);
    let failed = |error| TraceError::write(&journal, error);
    let done = finished(&journal).map_err(failed)?;
    let mut lines = OpenOptions::new().create(true).append(true).open(&journal).map_err(failed)?;
    let volumes = by_volume(runs);
    let (total, mut written) = (volumes.len() as u64, 0);
    let (mut taken, mut shared) = (HashSet::new(), 0);
    for group in groups(&volumes, limits.folders) {
        let mine: Vec<_> = group.iter().map(|&number| &volumes[number]).collect();
        let place = if mine.len() > 1 {
            shared += 1;
            format!("{SHARED}/{:05}.parquet", shared - 1)
        } else {
            format!("{VOLUMES}/{}", folder_name(mine[0].0, group[0], &mut taken))
        };
        let mut go_on = || watch("volumes", written, total);
        if !mine.iter().all(|(name, _)| done.contains(*name)) {
            let facts = if mine.len() > 1 {
                write_shared(&folder.join(&place), &mine, &mut go_on)?
            } else {
                let draft = Building::new(work.join("volume"))?;
                let facts = draft.fill(mine[0].0, &mine[0].1, limits.part_requests, &mut go_on)?;
                if facts.is_some() {
                    draft.finish(&folder.join(&place))?;
                }
                facts.map(|facts| vec![facts])
            };
            let Some(facts) = facts else { return Ok(None) };
            let new = facts.into_iter().filter(|facts| !done.contains(&facts.name));
            append(&mut lines, new.map(|facts| VolumeFacts { folder: place.clone(), ..facts })).map_err(failed)?;
        }
        written += mine.len() as u64;
    }
    Ok(Some(total))
}

/// The numbers of volumes that are together; those alone have a folder.
fn groups(volumes: &[Volume<'_>], folders: usize) -> Vec<Vec<usize>> {
    let (mut groups, mut open, mut requests) = (Vec::new(), Vec::new(), 0);
    // A file's name, which may be a volume's, has characters that readers of traces escape.
    for (number, (name, segments)) in volumes.iter().enumerate() {
        let mine: u64 = segments.iter().map(|(_, segment)| segment.requests).sum();
        if volumes.len() <= folders || mine >= FEW_REQUESTS || name.contains(char::is_control) {
            groups.push(vec![number]);
            continue;
        }
        open.push(number);
        requests += mine;
        if requests >= FULL_REQUESTS || open.len() == FULL_VOLUMES {
            groups.push(std::mem::take(&mut open));
            requests = 0;
        }
    }
    groups.extend(Some(open).filter(|open| !open.is_empty()));
    groups
}

/// Writes volumes into one file, in order of time; none if stopped.
fn write_shared(
    path: &Path,
    volumes: &[&Volume<'_>],
    go_on: &mut impl FnMut() -> bool,
) -> Result<Option<Vec<VolumeFacts>>, TraceError> {
    if !go_on() {
        return Ok(None);
    }
    let (mut records, mut facts) = (Vec::new(), Vec::new());
    for (number, (name, segments)) in volumes.iter().enumerate() {
        let mut found = Gathered::default();
        for (run, segment) in segments {
            for record in run.records(segment)? {
                found.observe(&record);
                records.push(Record { device: number as u32, ..record });
            }
        }
        facts.push(VolumeFacts { number: Some(number), ..found.facts(name, 1) });
    }
    // Those of one time stay in order of their volumes, and each volume's in its own.
    records.sort_by_key(|record| record.time_ns);
    let names: Vec<String> = volumes.iter().map(|(name, _)| (*name).to_owned()).collect();
    let failed = |error: io::Error| TraceError::write(path, error);
    fs::create_dir_all(path.parent().unwrap_or(path)).map_err(failed)?;
    let draft = Draft::new(path)?;
    let mut sink = Target::Parquet.sink(draft.writer()?).map_err(failed)?;
    for record in &records {
        sink.write(record, &names).map_err(failed)?;
    }
    let writer = sink.finish(&names).map_err(failed)?;
    draft.finish(writer)?;
    Ok(Some(facts))
}

/// Facts of a volume, request by request.
#[derive(Default)]
struct Gathered {
    tally: Tally,
    times_ns: Option<(u64, u64)>,
}

impl Gathered {
    #[inline]
    fn observe(&mut self, record: &Record) {
        self.tally.observe(record);
        self.times_ns = Some((self.times_ns.map_or(record.time_ns, |(first, _)| first), record.time_ns));
    }

    fn facts(self, name: &str, files: u64) -> VolumeFacts {
        let (first_ns, last_ns) = self.times_ns.unwrap_or_default();
        let profile = self.tally.profile(name.to_owned());
        let (name, folder) = (name.to_owned(), String::new());
        VolumeFacts { name, folder, files, number: None, first_ns, last_ns, profile }
    }
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

fn append(journal: &mut File, facts: impl Iterator<Item = VolumeFacts>) -> io::Result<()> {
    let mut lines = Vec::new();
    for one in facts {
        serde_json::to_writer(&mut lines, &one)?;
        lines.push(b'\n');
    }
    journal.write_all(&lines)
}

/// A volume's name, and the places of its requests.
type Volume<'a> = (&'a str, Vec<(&'a Run, &'a Segment)>);

/// All volumes, in order of first appearance.
fn by_volume(runs: &[Run]) -> Vec<Volume<'_>> {
    let mut numbers = HashMap::new();
    let mut volumes: Vec<Volume<'_>> = Vec::new();
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
fn folder_name(name: &str, number: usize, taken: &mut HashSet<String>) -> String {
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
        go_on: &mut impl FnMut() -> bool,
    ) -> Result<Option<VolumeFacts>, TraceError> {
        let mut found = Gathered::default();
        let mut parts = Parts { folder: &self.folder, name: [name.to_owned()], open: None, begun: 0, requests: 0 };
        let mut told = 0_u64;
        for (run, segment) in segments {
            let mut requests = 0;
            for record in run.records(segment)? {
                if told.is_multiple_of(StackedDevices::TOLD_EVERY) && !go_on() {
                    return Ok(None);
                }
                told += 1;
                requests += 1;
                found.observe(&record);
                parts.write(&record, part_requests)?;
            }
            debug_assert_eq!(requests, segment.requests, "a run has the requests that its index says");
        }
        parts.close()?;
        Ok(Some(found.facts(name, parts.begun)))
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
