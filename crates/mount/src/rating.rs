//! What the drive is told of files: the analyzer watches them, and its degrees go along with their
//! data.

use analyzer::{Analyzer, Event, File, Label};
use ftl::Hint;
use live::{FilesStat, TypeStat};

/// The analyzer of a mounted volume.
#[derive(Debug)]
pub(crate) struct Rating {
    analyzer: Analyzer,
    /// Streams for the data of files, by their degrees; tables and folders have stream 0.
    streams: u8,
    intervals: u64,
    /// Whether an interval has ended that nobody was told of.
    is_news: bool,
}

impl Rating {
    pub(crate) fn new(analyzer: Analyzer, streams: u8) -> Self {
        Self { analyzer, streams, intervals: 0, is_news: true }
    }

    /// The extensions that have a number, in the order of these.
    pub(crate) fn extensions(&self) -> impl Iterator<Item = &str> {
        self.analyzer.extensions()
    }

    /// Something happens to a file.
    pub(crate) fn tell(&mut self, event: Event, id: u64, name: &str, read_only: bool) {
        if self.analyzer.tell(event, &File { id, name, read_only }).is_some() {
            self.intervals += 1;
            self.is_news = true;
        }
    }

    /// What goes to the drive with data of a file: the degree plus one, since 0 says nothing, the
    /// type, and a stream for each range of degrees.
    pub(crate) fn hint(&self, name: &str, read_only: bool) -> Hint {
        let label = self.analyzer.label(&File { id: 0, name, read_only });
        label.map_or(Hint::NONE, |label| said(label, self.analyzer.parameters().degrees, self.streams))
    }

    /// What holds of each type of file from now on; nothing before the first interval has ended.
    pub(crate) fn hints(&self) -> Vec<Hint> {
        let degrees = self.analyzer.parameters().degrees;
        let labels = self.analyzer.labels().filter(|_| self.intervals > 0);
        labels.map(|label| said(label, degrees, self.streams)).collect()
    }

    /// What is known, if that is news.
    pub(crate) fn news(&mut self, mounted_at: &str) -> Option<FilesStat> {
        if !std::mem::take(&mut self.is_news) {
            return None;
        }
        let mut types: Vec<TypeStat> = self.analyzer.last().map_or_else(Vec::new, |last| {
            let stat = |found: &analyzer::TypeReport| TypeStat {
                file_type: found.file_type.to_string(),
                degree: found.degree,
                active: found.active_next,
                f: found.f_next,
            };
            last.types.iter().map(stat).collect()
        });
        types.sort_by(|one, other| (other.degree, &one.file_type).cmp(&(one.degree, &other.file_type)));
        let degrees = self.analyzer.parameters().degrees;
        Some(FilesStat { mounted_at: mounted_at.into(), intervals: self.intervals, degrees, types })
    }
}

/// The hint of a label.
fn said(label: Label, degrees: u8, streams: u8) -> Hint {
    let stream = match streams {
        0 => 0,
        streams => 1 + (u32::from(label.degree) * u32::from(streams) / (u32::from(degrees) + 1)) as u8,
    };
    Hint::new(stream, label.degree + 1, label.file_type)
}
