//! Any text format over a file: lines through its layout, blank lines and a header left out, bad
//! lines refused or counted.

use super::filter::Filter;
use super::layout::{Layout, Parsed};
use super::source::{Fault, LeftOut, Source};
use crate::devices::Devices;
use crate::error::{BadRecord, TraceError, TracePosition, excerpt};
use crate::format::Format;
use crate::input::Origin;
use crate::line_reader::Lines;
use crate::options::OpenOptions;
use crate::record::Record;
use std::path::PathBuf;

/// A trace in text.
pub(crate) struct TextSource {
    format: Format,
    layout: Box<dyn Layout>,
    filter: Option<Filter>,
    lines: Lines,
    devices: Devices,
    left_out: LeftOut,
    path: PathBuf,
    skip_bad: bool,
    shift_bytes: u64,
}

impl TextSource {
    /// Opens `origin` from its beginning.
    pub(crate) fn new(
        format: Format,
        layout: Box<dyn Layout>,
        origin: &Origin,
        options: &OpenOptions,
    ) -> Result<Self, TraceError> {
        Ok(Self {
            format,
            layout,
            filter: Filter::of(&options.conditions, format),
            lines: Lines::new(origin.open()?),
            devices: Devices::default(),
            left_out: LeftOut::default(),
            path: origin.path().to_owned(),
            skip_bad: options.skip_bad,
            shift_bytes: options.shift_bytes,
        })
    }

    /// Counts a line that does not meet the conditions: as a row, if it is one.
    fn leave_out(&mut self) {
        let (number, line) = (self.lines.number(), self.lines.line());
        let Some(filter) = &mut self.filter else { return };
        match self.layout.read(line, &mut filter.other_devices) {
            Ok(Parsed::Other(kind)) => self.left_out.count(kind),
            Err(_) if is_header(self.layout.as_ref(), number, line) => self.left_out.count("header line"),
            Ok(Parsed::Request(_)) | Err(_) => self.left_out.unmet += 1,
        }
    }

    /// What to do about a line that cannot be used.
    #[cold]
    fn refuse(&mut self, fault: Fault) -> Result<(), TraceError> {
        if is_header(self.layout.as_ref(), self.lines.number(), self.lines.line()) {
            self.left_out.count("header line");
            return Ok(());
        }
        if self.skip_bad {
            self.left_out.bad += 1;
            return Ok(());
        }
        let (place, excerpt) = self.place();
        let bad = BadRecord { path: self.path.clone(), place, format: self.format, problem: fault.problem, excerpt };
        Err(TraceError::Bad(Box::new(bad)))
    }
}

impl Source for TextSource {
    fn next(&mut self) -> Result<Option<Record>, TraceError> {
        while let Some(line) = self.lines.next()? {
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            if let Some(filter) = &mut self.filter
                && !filter.takes(self.layout.as_ref(), line, &self.path)?
            {
                self.leave_out();
                continue;
            }
            let outcome = match self.layout.read(line, &mut self.devices) {
                Ok(Parsed::Request(raw)) => raw.check(self.shift_bytes).map(Some),
                Ok(Parsed::Other(kind)) => {
                    self.left_out.count(kind);
                    Ok(None)
                }
                Err(fault) => Err(fault),
            };
            match outcome {
                Ok(Some(record)) => return Ok(Some(record)),
                Ok(None) => {}
                Err(fault) => self.refuse(fault)?,
            }
        }
        Ok(None)
    }

    fn devices(&self) -> &[String] {
        self.devices.names()
    }

    fn left_out(&self) -> &LeftOut {
        &self.left_out
    }

    fn place(&self) -> (TracePosition, String) {
        (TracePosition::Line(self.lines.number()), excerpt(self.lines.line()))
    }

    fn remark(&self) -> Option<String> {
        match &self.filter {
            Some(filter) if self.left_out.unmet > 0 => {
                let others = self.layout.remark().map_or_else(|| ":".to_owned(), |remark| format!("{remark};"));
                Some(format!("{others} {}", filter.remark(self.left_out.unmet)))
            }
            _ => self.layout.remark(),
        }
    }
}

/// Whether `line`, which the layout could not read, is the header that the format may start with.
pub(crate) fn is_header(layout: &dyn Layout, number: u64, line: &[u8]) -> bool {
    let names = |text: &[u8]| -> Vec<Vec<u8>> {
        text.split(|&byte| byte == b',')
            .map(|name| name.iter().filter(|byte| !byte.is_ascii_whitespace()).map(u8::to_ascii_lowercase).collect())
            .collect()
    };
    number == 1 && layout.header().is_some_and(|header| names(header.as_bytes()) == names(line))
}
