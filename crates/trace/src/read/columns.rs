//! Delimited text in columns that the user names: between commas, semicolons, or blanks, as the
//! first line has it.
//!
//! Reads and writes are known by their usual words (`R`, `W`, `read`, `write`, and the like) and by
//! those that the user names. A digit alone is never taken for one or the other.

use host::HostOp;

use super::fields::{time, trim, whole};
use super::filter::blanks;
use super::layout::{Layout, Parsed, device, read_or_write};
use super::source::{Fault, Raw};
use crate::columns::{Column, Columns};
use crate::devices::Devices;
use crate::format::TimeUnit;

pub(super) struct Named {
    columns: Columns,
    unit: TimeUnit,
    /// What stands between fields, a blank for any of them. Known from the first line on.
    separator: Option<u8>,
    /// Whether a line with a request was seen; before it, a line of names may stand.
    begun: bool,
    /// Of the words that say what a request does, which a row has had, by their places.
    used_words: Vec<bool>,
}

impl Named {
    pub(super) fn new(columns: Columns, unit: TimeUnit) -> Self {
        let used_words = vec![false; words(&columns).len()];
        Self { columns, unit, separator: None, begun: false, used_words }
    }

    fn request(&mut self, fields: &[&[u8]], devices: &mut Devices) -> Result<Raw, Fault> {
        let mut raw = Raw::new(0, HostOp::Read, 0, 0, 0);
        let (mut has_device, list) = (false, self.columns.list());
        for (index, column) in list.iter().enumerate() {
            let field = fields.get(index).copied();
            match column {
                Column::Time(_) => {
                    let field = field.ok_or_else(|| Fault::missing("the time"))?;
                    let expected = |expected| Fault::field("the time", field, expected);
                    raw.time_ns = time(field, self.unit).map_err(expected)?;
                }
                Column::Device => {
                    raw.device = device(devices, field.ok_or_else(|| Fault::missing("the device"))?)?;
                    has_device = true;
                }
                Column::Offset(unit) => raw.offset = scaled("the offset", field, *unit)?,
                Column::Size(unit) => raw.length = scaled("the size", field, *unit)?,
                Column::Op(words) => {
                    let (op, word) = op(words, field.ok_or_else(|| Fault::missing("the operation"))?)?;
                    raw.op = op;
                    if let Some(word) = word {
                        self.used_words[word] = true;
                    }
                }
                Column::Other(_) => {}
            }
        }
        if fields.len() > list.len() && !self.columns.is_open() {
            return Err(Fault::new(format!(
                "the line goes on after its {} fields with {}; name it too, as - if it does not matter, or end the columns with ...",
                list.len(),
                crate::error::excerpt(fields[list.len()])
            )));
        }
        if !has_device {
            raw.device = device(devices, b"0")?;
        }
        Ok(if raw.op == HostOp::Flush { Raw::flush(raw.time_ns, raw.device) } else { raw })
    }
}

impl Layout for Named {
    fn read(&mut self, line: &[u8], devices: &mut Devices) -> Result<Parsed, Fault> {
        if line.trim_ascii_start().starts_with(b"#") {
            return Ok(Parsed::Other("comment"));
        }
        let separator = *self.separator.get_or_insert_with(|| separator(line));
        let fields = fields(line, separator);
        let request = self.request(&fields, devices);
        if !self.begun && request.is_err() && names_columns(&fields) {
            return Ok(Parsed::Other("header line"));
        }
        self.begun |= request.is_ok();
        request.map(Parsed::Request)
    }

    fn names(&self) -> Option<Vec<String>> {
        Some(self.columns.names())
    }

    fn heading(&self, line: &[u8]) -> Option<Vec<String>> {
        if line.trim_ascii_start().starts_with(b"#") {
            return Some(Vec::new());
        }
        let fields = fields(line, separator(line));
        let name = |field: &&[u8]| String::from_utf8_lossy(field).into_owned();
        (!self.begun && names_columns(&fields)).then(|| fields.iter().map(name).collect())
    }

    fn fields<'a>(&self, line: &'a [u8]) -> Option<Vec<&'a [u8]>> {
        Some(fields(line, self.separator.unwrap_or_else(|| separator(line))))
    }

    fn unmatched(&self) -> Vec<String> {
        let (words, is_used) = (words(&self.columns), |word: &str| self.is_used(word));
        // One of the digits 0 and 1 says what the other one means.
        let is_digit = |word: &str| matches!(word, "0" | "1");
        let has_digit = ["0", "1"].into_iter().any(is_used);
        let unused: Vec<_> = words
            .iter()
            .map(|(word, _)| word.as_str())
            .filter(|word| !(is_used(word) || (is_digit(word) && has_digit)))
            .collect();
        if unused.is_empty() {
            return Vec::new();
        }
        vec![format!("no row has {} as its op, of which --columns \"{}\" speaks", unused.join(" or "), self.columns)]
    }
}

impl Named {
    /// Whether a row has had this word for its operation.
    fn is_used(&self, word: &str) -> bool {
        words(&self.columns)
            .iter()
            .zip(&self.used_words)
            .any(|((known, _), &is_used)| is_used && known.eq_ignore_ascii_case(word))
    }
}

/// The words that a user has given for operations.
fn words<'a>(columns: &'a Columns) -> &'a [(String, HostOp)] {
    let of_op = |column: &'a Column| if let Column::Op(words) = column { Some(words.as_slice()) } else { None };
    columns.list().iter().find_map(of_op).unwrap_or_default()
}

/// What stands between the fields of a line.
fn separator(line: &[u8]) -> u8 {
    [b',', b';'].into_iter().find(|sign| line.contains(sign)).unwrap_or(b' ')
}

fn fields(line: &[u8], separator: u8) -> Vec<&[u8]> {
    match separator {
        b' ' => blanks(line),
        sign => line.split(|&byte| byte == sign).map(trim).collect(),
    }
}

/// Whether no field of a line begins with a digit: then it names columns.
fn names_columns(fields: &[&[u8]]) -> bool {
    fields.iter().all(|field| !field.first().is_some_and(u8::is_ascii_digit))
}

fn scaled(name: &str, field: Option<&[u8]>, unit: u64) -> Result<u64, Fault> {
    let field = field.ok_or_else(|| Fault::missing(name))?;
    let value = whole(field).map_err(|expected| Fault::field(name, field, expected))?;
    value
        .checked_mul(unit)
        .ok_or_else(|| Fault::new(format!("{name} is {value} units of {unit} bytes, which is beyond 2^64-1 bytes")))
}

/// What a field says of an operation, and which of the user's words it is, if one.
fn op(words: &[(String, HostOp)], field: &[u8]) -> Result<(HostOp, Option<usize>), Fault> {
    if let Some(place) = words.iter().position(|(word, _)| field.eq_ignore_ascii_case(word.as_bytes())) {
        return Ok((words[place].1, Some(place)));
    }
    if matches!(field, b"0" | b"1") {
        return Err(Fault::new(format!(
            "the operation is {}, and nothing says whether that is a read; write op:1=read or op:0=read in the columns",
            field[0] as char
        )));
    }
    let others = [(&b"trim"[..], HostOp::Trim), (b"discard", HostOp::Trim), (b"flush", HostOp::Flush)];
    let op = match others.iter().find(|(word, _)| field.eq_ignore_ascii_case(word)) {
        Some((_, op)) => *op,
        None => read_or_write("the operation", field)?,
    };
    Ok((op, None))
}

#[cfg(test)]
mod tests {
    use host::{Hint, HostOp};

    use crate::options::OpenOptions;
    use crate::record::Record;
    use crate::trace::open_bytes;

    fn read(columns: &str, text: &str) -> Result<(Vec<Record>, Vec<String>), String> {
        let options = OpenOptions { columns: Some(columns.parse().unwrap()), ..OpenOptions::default() };
        let mut trace = open_bytes("t", text.as_bytes(), &options).map_err(|error| error.to_string())?;
        let records = trace.by_ref().collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
        Ok((records, trace.devices().to_vec()))
    }

    fn record(time_ns: u64, op: HostOp, offset: u64, length: u32) -> Record {
        Record { time_ns, op, offset, length, device: 0, hint: Hint::NONE }
    }

    #[test]
    fn bytes_and_sectors_between_blanks_commas_and_semicolons() {
        let expected = vec![record(0, HostOp::Read, 8192, 4096), record(1_500_000, HostOp::Write, 4096, 512)];
        let bytes = "time:ms, device, offset:B, size:B, op:1=read";
        for text in [
            "10 d 8192 4096 1\n11.5 d 4096 512 0\n",
            "10\td  8192\t4096 1\r\n11.5 d 4096 512 0\n",
            "10,d, 8192,4096,1\n11.5,d,4096,512,0\n",
        ] {
            assert_eq!(read(bytes, text), Ok((expected.clone(), vec!["d".to_owned()])), "{text}");
        }
        let sectors = "op, -, offset:sector, size:sector, time:us, ...";
        let text = "# made by hand\nop;x;lba;n;t\nREAD;?;16;8;7\nw;?;8;1;1507;and more\n";
        assert_eq!(read(sectors, text), Ok((expected, vec!["0".to_owned()])));
    }

    #[test]
    fn every_word_for_an_operation_is_known_and_a_bare_digit_is_not() {
        let text = "0 0 512 R\n1 0 512 Write\n2 0 512 discard\n3 0 0 flush\n4 0 512 17\n";
        let (records, _) = read("time:s, offset:B, size:B, op:17=read", text).unwrap();
        let ops: Vec<HostOp> = records.iter().map(|record| record.op).collect();
        assert_eq!(ops, [HostOp::Read, HostOp::Write, HostOp::Trim, HostOp::Flush, HostOp::Read]);
        let error = read("time:s, offset:B, size:B, op", "0 0 512 1\n").unwrap_err();
        assert!(error.contains("op:1=read"), "{error}");
    }

    #[test]
    fn words_and_conditions_that_no_row_meets_are_told() {
        for (op, conditions, told) in [
            ("op:1=read", "[]", vec!["no row has 1 or 0 as its op"]),
            ("op:get=read|R=read", "[]", vec!["no row has get as its op"]),
            ("op", r#"["op!=X", "kind=a|q", "device=0"]"#, vec!["no row has X as its op", "no row has q as its kind"]),
            ("op:W=write", r#""kind=a|b""#, vec![]),
        ] {
            let columns = format!("time:s, device, offset:B, size:B, {op}, -:kind");
            let options = OpenOptions {
                columns: Some(columns.parse().unwrap()),
                conditions: serde_json::from_str(conditions).unwrap(),
                ..OpenOptions::default()
            };
            let text = "0 0 0 512 R a\n1 0 0 512 W b\n";
            let mut trace = open_bytes("t", text.as_bytes(), &options).unwrap();
            assert!(trace.by_ref().all(|record| record.is_ok()));
            let unmatched = trace.unmatched();
            assert_eq!(unmatched.len(), told.len(), "{unmatched:?}");
            assert!(unmatched.iter().zip(told).all(|(clause, told)| clause.starts_with(told)), "{unmatched:?}");
        }
        // A trace that only writes has one of the two digits.
        let options = OpenOptions {
            columns: Some("time:s, offset:B, size:B, op:1=read".parse().unwrap()),
            ..OpenOptions::default()
        };
        let mut trace = open_bytes("t", &b"0 0 512 0\n"[..], &options).unwrap();
        assert_eq!((trace.by_ref().count(), trace.unmatched()), (1, vec![]));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, part) in [
            ("0 5 512 r more\n", "goes on after its 4 fields with `more`"),
            ("0 5 512\n", "ends before the operation"),
            ("0 5 x r\n", "the size is `x`"),
            ("0 5 512 r\ntime offset size op\n", "the time is `time`"),
        ] {
            let error = read("time:s, offset:B, size:B, op", text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
        let error = read("time:s, offset:TiB, size:B, op", "0 99999999 512 r\n").unwrap_err();
        assert!(error.contains("beyond 2^64-1"), "{error}");
    }
}
