//! Rows of a text taken by the values of their columns, alike for every text format.
//!
//! A column is called as the format or the user's `--columns` calls it, or as the file's own first
//! line does, in any case. It is known only when that line was seen, so an unknown one is refused
//! at the first row.

use std::path::Path;

use super::fields::trim;
use super::layout::Layout;
use crate::conditions::Conditions;
use crate::devices::Devices;
use crate::error::{TraceError, printable};
use crate::format::Format;

/// Values of a column that are named where no row meets the conditions.
const NAMED_VALUES: usize = 8;

/// Which rows of a text are taken.
pub(super) struct Filter {
    conditions: Conditions,
    format: Format,
    /// Names that the file's first line gives to the columns.
    header: Vec<String>,
    /// The column of each condition, by number; none before the first row.
    places: Option<Vec<usize>>,
    /// Values seen in the first condition's column.
    seen: Vec<String>,
    /// Of each condition the values that no row has had so far.
    unseen: Vec<Vec<String>>,
    /// Devices of rows that are left out, which are no devices of the trace.
    pub(super) other_devices: Devices,
}

impl Filter {
    /// The filter of these conditions; none where there are none.
    pub(super) fn of(conditions: &Conditions, format: Format) -> Option<Self> {
        (!conditions.is_empty()).then(|| Self {
            conditions: conditions.clone(),
            format,
            header: Vec::new(),
            places: None,
            seen: Vec::new(),
            unseen: conditions.as_slice().iter().map(|condition| condition.values.clone()).collect(),
            other_devices: Devices::default(),
        })
    }

    /// Whether a line is taken. One that is no row is left to its layout.
    pub(super) fn takes(&mut self, layout: &dyn Layout, line: &[u8], path: &Path) -> Result<bool, TraceError> {
        if self.places.is_none() {
            if let Some(names) = layout.heading(line) {
                self.header.extend(names);
                return Ok(true);
            }
            self.places = Some(self.find(&self.names(layout), path)?);
        }
        let fields = layout.fields(line).unwrap_or_else(|| split(self.format, line));
        let places = self.places.iter().flatten().copied();
        let first = places.clone().next().and_then(|place| fields.get(place));
        remember(&mut self.seen, first.copied().unwrap_or_default());
        for (unseen, place) in self.unseen.iter_mut().zip(places.clone()) {
            if let Some(field) = fields.get(place).filter(|_| !unseen.is_empty()) {
                unseen.retain(|value| value.as_bytes() != *field);
            }
        }
        let mut conditions = self.conditions.as_slice().iter().zip(places);
        Ok(conditions.all(|(condition, place)| fields.get(place).is_some_and(|field| condition.is_met_by(field))))
    }

    /// Each name of a column and which one it is; the user's own names and the format's before the
    /// file's.
    fn names(&self, layout: &dyn Layout) -> Vec<(usize, String)> {
        let own = layout.names().unwrap_or_else(|| names(self.format));
        let all = own.into_iter().enumerate().chain(self.header.iter().cloned().enumerate());
        all.filter(|(_, name)| name.contains(char::is_alphanumeric)).collect()
    }

    /// Where each condition's column is.
    fn find(&self, names: &[(usize, String)], path: &Path) -> Result<Vec<usize>, TraceError> {
        let place = |column: &str| names.iter().find(|(_, name)| name.eq_ignore_ascii_case(column));
        let found = self.conditions.as_slice().iter().map(|condition| match place(&condition.column) {
            Some((place, _)) => Ok(*place),
            None => Err(TraceError::Option(format!(
                "--where \"{condition}\": {}, read as {}, has no column called {}; its columns are {}. Write one of these, or name \
                 the columns with --columns",
                path.display(),
                self.format,
                condition.column,
                listed(names)
            ))),
        });
        found.collect()
    }

    /// Values of the conditions that no row has had: a clause for each condition.
    pub(super) fn unmatched(&self) -> impl Iterator<Item = String> {
        let conditions = self.conditions.as_slice().iter().zip(&self.unseen).filter(|(_, unseen)| !unseen.is_empty());
        conditions.map(|(condition, unseen)| {
            let (column, values) = (&condition.column, unseen.join(" or "));
            format!("no row has {values} as its {column}, of which --where \"{condition}\" speaks")
        })
    }

    /// Why no row may have been taken: a clause.
    pub(super) fn remark(&self, unmet: u64) -> String {
        let first = self.conditions.as_slice().iter().next().map_or("", |condition| condition.column.as_str());
        format!(
            "of its rows {unmet} do not meet --where \"{}\"; the column {first} holds {}. Write a condition that some rows meet",
            self.conditions,
            self.seen.join(", ")
        )
    }
}

/// Adds a value to those seen, up to [`NAMED_VALUES`] of them.
fn remember(seen: &mut Vec<String>, value: &[u8]) {
    if seen.len() > NAMED_VALUES || seen.iter().any(|known| known.as_bytes() == value) {
        return;
    }
    if seen.len() == NAMED_VALUES {
        seen.push("and others".to_owned());
    } else {
        seen.push(printable(&String::from_utf8_lossy(value)));
    }
}

/// The names, each once.
fn listed(names: &[(usize, String)]) -> String {
    let mut list: Vec<&str> = Vec::new();
    for (_, name) in names {
        if !list.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            list.push(name);
        }
    }
    printable(&list.join(", "))
}

/// Whether the fields of a format's lines stand between commas.
fn has_commas(format: Format) -> bool {
    let columns = format.columns();
    !columns.contains(' ') || columns.contains(", ")
}

/// The columns of a format, by name: without units, and without what may be missing.
fn names(format: Format) -> Vec<String> {
    let sign = |character: char| if has_commas(format) { character == ',' } else { character == ' ' };
    let plain = |name: &str| {
        let name = name.trim().trim_start_matches('[');
        name.split(['[', '(', ']']).next().unwrap_or_default().trim().to_owned()
    };
    format.columns().split(sign).map(plain).collect()
}

/// The fields of a line of a format.
fn split(format: Format, line: &[u8]) -> Vec<&[u8]> {
    if has_commas(format) { line.split(|&byte| byte == b',').map(trim).collect() } else { blanks(line) }
}

/// Fields between blanks.
pub(super) fn blanks(line: &[u8]) -> Vec<&[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_formats_are_called_as_the_documentation_calls_them() {
        for (format, expected) in [
            (Format::Spc, "ASU LBA Size Opcode Timestamp"),
            (Format::Blkparse, "maj,min cpu seq time pid action rwbs sector + sectors process"),
            (Format::Biosnoop, "TIME COMM PID DISK T SECTOR BYTES LAT"),
            (Format::Etw, "DiskRead|DiskWrite TimeStamp Process TID Irp ByteOffset IOSize ElapsedTime DiskNum"),
        ] {
            let found: Vec<String> = names(format).into_iter().filter(|name| !matches!(&**name, "…" | "")).collect();
            assert_eq!(found.join(" "), expected, "{format}");
        }
    }

    #[test]
    fn values_seen_are_few_and_each_is_named_once() {
        let mut seen = Vec::new();
        for value in 0..100 {
            remember(&mut seen, format!("{}", value % 20).as_bytes());
        }
        assert_eq!(seen.len(), NAMED_VALUES + 1);
        assert_eq!(seen.last().map(String::as_str), Some("and others"));
    }
}
