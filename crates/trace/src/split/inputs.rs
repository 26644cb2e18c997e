//! The traces of a split: of one format, in order of their first requests, with names for volumes
//! of traces that name none.

use std::path::{Path, PathBuf};

use crate::columns::Column;
use crate::error::TraceError;
use crate::format::Format;
use crate::options::OpenOptions;
use crate::trace::{Trace, open};

/// What a reader calls the device of a trace that names none.
const NAMELESS: &str = "0";

/// Endings that say how a file is packed, which are no part of a volume's name.
const PACKED: [&str; 5] = [".gz", ".zst", ".xz", ".bz2", ".zstd"];

/// A trace with requests.
pub(super) struct Input {
    pub(super) path: PathBuf,
    start_ns: u64,
    /// What a volume that the trace does not name is called.
    own_name: String,
}

/// All traces of a split.
pub(super) struct Inputs {
    pub(super) format: Format,
    pub(super) traces: Vec<Input>,
    pub(super) without_requests: Vec<PathBuf>,
    options: OpenOptions,
}

impl Inputs {
    /// Looks at the first request of each trace. Refuses traces of several formats, and none.
    pub(super) fn of(paths: &[PathBuf], options: &OpenOptions) -> Result<Self, TraceError> {
        let mut traces: Vec<Input> = Vec::new();
        let mut first: Option<(&PathBuf, Format)> = None;
        let mut without_requests = Vec::new();
        let mut reason = None;
        for path in paths {
            let mut trace = match open(path, options) {
                Err(error @ TraceError::Empty { .. }) => {
                    without_requests.push(path.clone());
                    reason.get_or_insert(error);
                    continue;
                }
                opened => opened?,
            };
            match first {
                Some((other, format)) if format != trace.format => {
                    return Err(mixed((other, format), (path, trace.format)));
                }
                _ => first = first.or(Some((path, trace.format))),
            }
            match trace.next() {
                Some(Ok(_)) => {
                    let (path, start_ns) = (path.clone(), trace.start_ns());
                    traces.push(Input { own_name: stem(&path), path, start_ns });
                }
                Some(Err(error @ TraceError::NoRequests { .. })) => {
                    without_requests.push(path.clone());
                    reason.get_or_insert(error);
                }
                Some(Err(error)) => return Err(error),
                None => {}
            }
        }
        let Some((_, format)) = first.filter(|_| !traces.is_empty()) else {
            return Err(reason.unwrap_or_else(|| TraceError::Option("no trace was named: give at least one".into())));
        };
        traces.sort_by_key(|input| input.start_ns);
        tell_apart(&mut traces);
        let options = OpenOptions { format: options.columns.is_none().then_some(format), ..options.clone() };
        Ok(Self { format, traces, without_requests, options })
    }

    /// Opens a trace from its beginning.
    pub(super) fn open(&self, number: usize) -> Result<Trace, TraceError> {
        Ok(open(&self.traces[number].path, &self.options)?.by_device())
    }

    /// What a device of a trace is called among all volumes.
    pub(super) fn volume(&self, number: usize, device: &str) -> String {
        let is_nameless = device == NAMELESS
            && match self.format {
                Format::Vscsi | Format::LibcachesimCsv | Format::Csv | Format::Parquet => true,
                Format::Columns => {
                    self.options.columns.as_ref().is_some_and(|columns| !columns.list.contains(&Column::Device))
                }
                _ => false,
            };
        if is_nameless { self.traces[number].own_name.clone() } else { device.to_owned() }
    }

    /// Why a trace cannot follow an earlier one that has the same volume.
    #[cold]
    pub(super) fn overlap(&self, number: usize, volume: &str) -> TraceError {
        TraceError::Option(format!(
            "{}: has requests of volume {volume:?} from before the last ones of another trace, so these may be of one volume or of two. If all \
             files are parts of one trace, name them by one pattern (\"DIR/*.csv\"), which is merged by time; if they are of different machines, \
             split each into a folder of its own",
            self.traces[number].path.display()
        ))
    }
}

#[cold]
fn mixed((path, format): (&Path, Format), (other, another): (&Path, Format)) -> TraceError {
    TraceError::Option(format!(
        "{} is read as {format} and {} as {another}: a split takes traces of one format. Split them into two folders, or say the format of all \
         (--format)",
        path.display(),
        other.display()
    ))
}

/// A file's name without its endings.
fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let name = PACKED.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(&name);
    match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem.to_owned(),
        _ => name.to_owned(),
    }
}

/// Gives traces whose files have the same name their whole paths.
fn tell_apart(traces: &mut [Input]) {
    let mut names: Vec<String> = traces.iter().map(|input| input.own_name.clone()).collect();
    names.sort();
    let is_shared = |name: &str| {
        let first = names.partition_point(|other| other.as_str() < name);
        names.get(first + 1).is_some_and(|next| next == name)
    };
    for input in traces.iter_mut().filter(|input| is_shared(&input.own_name)) {
        input.own_name = input.path.with_file_name(&input.own_name).to_string_lossy().into_owned();
    }
}
