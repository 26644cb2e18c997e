//! Delimited text in columns that the user names: between commas, semicolons, or blanks, as the
//! first line has it.
//!
//! Reads and writes are known by their usual words (`R`, `W`, `read`, `write`, and the like) and by
//! those that the user names. A digit alone is never taken for one or the other.

use host::HostOp;

use super::fields::{Blanks, Separated, Walk, goes_on, is_blank, trim};
use super::layout::{Layout, Parsed};
use super::request::{Numbers, Request};
use super::source::{Fault, Raw};
use crate::columns::{Column, Columns};
use crate::devices::Devices;
use crate::format::TimeUnit;

pub(super) struct Named {
    columns: Columns,
    numbers: Numbers,
    /// What stands between fields, a blank for any of them. Known from the first line on.
    separator: Option<u8>,
    /// Whether a line with a request was seen; before it, a line of names may stand.
    begun: bool,
    /// Rows that were read, by which requests without a time are spaced.
    requests: u64,
    /// Of the words that say what a request does, which a row has had, by their places.
    used_words: Vec<bool>,
}

impl Named {
    pub(super) fn new(columns: Columns, unit: TimeUnit) -> Self {
        let used_words = vec![false; words(&columns).len()];
        let numbers = Numbers { unit, is_exact: false, decimal_comma: columns.notation.decimal_comma };
        Self { columns, numbers, separator: None, begun: false, requests: 0, used_words }
    }

    #[inline]
    fn request<'a>(&mut self, mut fields: impl Walk<'a>, devices: &mut Devices) -> Result<Parsed, Fault> {
        let constants = self.columns.constants;
        let arrival_ns = constants.gap_ns.unwrap_or(0).saturating_mul(self.requests);
        let op = constants.op.unwrap_or(HostOp::Read);
        let mut request = Request::new(Raw::new(arrival_ns, op, 0, constants.size_bytes.unwrap_or(0), 0));
        let list = &self.columns.list;
        for column in list {
            request.take(column.title(), column, &mut fields, self.numbers)?;
        }
        if let Some(word) = request.word {
            self.used_words[word] = true;
        }
        if !self.columns.is_open
            && let Some(further) = fields.next_if_any()
        {
            let problem = goes_on(list.len(), further).problem;
            let advice = "name it too, as - if it does not matter, or end the columns with ...";
            return Err(Fault::new(format!("{problem}; {advice}")));
        }
        request.finish(devices)
    }

    fn separator(&self, line: &[u8]) -> u8 {
        self.columns.notation.separator.or(self.separator).unwrap_or_else(|| separator(line))
    }
}

impl Layout for Named {
    fn read(&mut self, line: &[u8], devices: &mut Devices) -> Result<Parsed, Fault> {
        if line.trim_ascii_start().starts_with(b"#") {
            return Ok(Parsed::Other("comment"));
        }
        let separator = self.separator(line);
        self.separator = Some(separator);
        let request = if memchr::memchr(b'"', line).is_some() {
            self.request(Quoted { rest: Some(line), sign: separator }, devices)
        } else if separator == b' ' {
            self.request(Blanks::new(line), devices)
        } else {
            self.request(Separated::new(line, separator), devices)
        };
        if !self.begun && request.is_err() && names_columns(&fields(line, separator)) {
            return Ok(Parsed::Other("header line"));
        }
        self.begun |= request.is_ok();
        self.requests += u64::from(request.is_ok());
        request
    }

    fn names(&self) -> Option<Vec<String>> {
        Some(self.columns.names())
    }

    fn heading(&self, line: &[u8]) -> Option<Vec<String>> {
        if line.trim_ascii_start().starts_with(b"#") {
            return Some(Vec::new());
        }
        let fields = fields(line, self.separator(line));
        let name = |field: &&[u8]| String::from_utf8_lossy(field).into_owned();
        (!self.begun && names_columns(&fields)).then(|| fields.iter().map(name).collect())
    }

    fn fields<'a>(&self, line: &'a [u8]) -> Option<Vec<&'a [u8]>> {
        Some(fields(line, self.separator(line)))
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
    columns.list.iter().find_map(of_op).unwrap_or_default()
}

/// What stands between the fields of a line: not between quotes, if these come in pairs.
fn separator(line: &[u8]) -> u8 {
    let are_pairs = memchr::memchr_iter(b'"', line).count().is_multiple_of(2);
    let mut is_inside = false;
    let is_outside = |&byte: &u8| {
        is_inside ^= are_pairs && byte == b'"';
        !is_inside
    };
    let outside: Vec<u8> = line.iter().copied().filter(is_outside).collect();
    [b',', b';'].into_iter().find(|sign| outside.contains(sign)).unwrap_or(b' ')
}

/// The fields of a line, without blanks and quotes around them.
fn fields(line: &[u8], separator: u8) -> Vec<&[u8]> {
    let mut quoted = Quoted { rest: Some(line), sign: separator };
    std::iter::from_fn(|| quoted.next_if_any()).collect()
}

/// Walks a line some of whose fields stand in quotes; a blank as the sign is any run of blanks.
struct Quoted<'a> {
    rest: Option<&'a [u8]>,
    sign: u8,
}

impl Quoted<'_> {
    fn is_end(&self, byte: u8) -> bool {
        if self.sign == b' ' { is_blank(byte) } else { byte == self.sign }
    }

    fn is_padding(&self, byte: u8) -> bool {
        is_blank(byte) && (self.sign == b' ' || byte != self.sign)
    }
}

impl<'a> Walk<'a> for Quoted<'a> {
    fn next_if_any(&mut self) -> Option<&'a [u8]> {
        let line = self.rest?;
        let start = line.iter().position(|&byte| !self.is_padding(byte));
        if self.sign == b' ' && start.is_none() {
            self.rest = None;
            return None;
        }
        let (field, after) = first_field(&line[start.unwrap_or(line.len())..], |&byte| self.is_end(byte));
        self.rest = after;
        Some(field)
    }

    fn left(&self) -> Option<&'a [u8]> {
        self.rest
    }

    fn digits(&mut self) -> Option<u64> {
        None
    }
}

/// The field with which a text begins, and what follows the separator after it, if there is one. A
/// field in quotes goes on to the quote before a separator or the end, whatever it holds.
fn first_field(text: &[u8], is_end: impl Fn(&u8) -> bool) -> (&[u8], Option<&[u8]>) {
    let end_of = |text: &[u8]| text.iter().position(&is_end).unwrap_or(text.len());
    let quoted = text.strip_prefix(b"\"").and_then(|inner| {
        let (field, after) = inner.split_at(closing_quote(inner)?);
        let end = end_of(&after[1..]);
        trim(&after[1..=end]).is_empty().then_some((field, after.get(end + 2..)))
    });
    quoted.unwrap_or_else(|| {
        let end = end_of(text);
        (trim(&text[..end]), text.get(end + 1..))
    })
}

/// Where the quote is that ends a field, in what follows the one that begins it; two are one of the
/// field's own.
fn closing_quote(inner: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += inner.get(at..)?.iter().position(|&byte| byte == b'"')?;
        if inner.get(at + 1) != Some(&b'"') {
            return Some(at);
        }
        at += 2;
    }
}

/// Whether no field of a line begins with a digit or is `key=value`: then it names columns.
fn names_columns(fields: &[&[u8]]) -> bool {
    fields.iter().all(|field| !field.first().is_some_and(u8::is_ascii_digit) && !field.contains(&b'='))
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

    /// The same two writes and a read as every notation has them.
    #[test]
    fn requests_in_every_notation_are_alike() {
        let expected = vec![
            record(0, HostOp::Write, 4_096_000, 4096),
            record(900_000, HostOp::Write, 4_608_000, 16_384),
            record(1_900_000, HostOp::Read, 8192, 512),
        ];
        for (columns, text) in [
            (
                "op, time:s, size:B, offset:B, separator=;, decimal=comma",
                "Type;Start;Bytes;Offset\nWrite;0,000100;4.096;4096000\nWrite;0,001000;16.384;4608000\nRead;0,002000;512;8192\n",
            ),
            (
                "time:us, op, offset:B, size:B",
                "100,\"W\",\"4096000\",\"4096\"\n1000,w,4608000,16384\n\"2000\",R,8192,512\n",
            ),
            ("time:us, op, offset:B, size:B", "100 W 0x3e8000 0x1000\n1000 w 0x465000 0x4000\n2000 R 0x2000 0x200\n"),
            (
                "time:s, -, op:rwbs, offset:sector, -, size:sector, separator=blank",
                "0.0001 8,0 WS 8000 + 8\n0.001 8,0 WM 9000 + 32\n0.002 8,0 RA 16 + 1\n",
            ),
            (
                "time:s, latency:ms, op, offset:B, size:B",
                "0.0101 10 W 4096000 4096\n0.0110 10 W 4608000 16384\n0.003 1 R 8192 512\n",
            ),
        ] {
            assert_eq!(read(columns, text).map(|(records, _)| records), Ok(expected.clone()), "{columns}");
        }
    }

    #[test]
    fn quoted_fields_are_whole_whatever_they_hold() {
        let expected = [record(0, HostOp::Write, 4_096_000, 4096), record(900_000, HostOp::Read, 8192, 512)];
        for (sign, options) in [(",", ""), (";", ""), (" ", ""), ("\t", ", separator=tab"), (",", ", separator=comma")]
        {
            for note in ["", "disk 1, left; old", "a \"\"b\"\", c", "100,7,W", ";", "x\ty", " , "] {
                let row = |time: u32, op: &str, offset: u32, size: u32| {
                    format!("\"{note}\"{sign}{time}{sign}\"{op}\"{sign}{offset}{sign}\"{size}\"\r\n")
                };
                let text = row(100, "W", 4_096_000, 4096) + &row(1000, "R", 8192, 512);
                let found = read(&format!("-, time:us, op, offset:B, size:B{options}"), &text);
                assert_eq!(found.map(|(records, _)| records), Ok(expected.to_vec()), "{text}");
            }
        }
        let devices = |text: &str| read("time:us, device, offset:B, size:B, op", text).map(|(_, devices)| devices);
        assert_eq!(devices("1,\"a,b\",0,512,W\n2, \"a\" ,0,512,W\n"), Ok(vec!["a,b".into(), "a".into()]));
        assert_eq!(
            read("device, time:us, offset:B, size:B, op", "disk,time,offset,size,op\na,1,0,512,W\n")
                .map(|(_, devices)| devices),
            Ok(vec!["a".into()]),
            "a line of names has no device"
        );
        // A quote that nothing ends is a sign like any other.
        assert_eq!(devices("1,\"a,0,512,W\n2,b\"c,0,512,W\n"), Ok(vec!["\"a".into(), "b\"c".into()]));
    }

    #[test]
    fn points_that_are_not_between_thousands_are_refused() {
        for (text, refused) in [
            ("0.5;8;512;W", "time is `0.5`"),
            ("0;8;1.234.56;W", "size is `1.234.56`"),
            ("0,000.001;8;512;W", "time is `0,000.001`"),
        ] {
            let error = read("time:s, offset:B, size:B, op, separator=;, decimal=comma", text).unwrap_err();
            assert!(error.contains(refused) && error.contains("decimal=comma"), "{error}");
        }
    }

    #[test]
    fn missing_columns_are_constants() {
        let (records, _) = read("op, offset:sector, size:sector, time=1ms", "W 8000 8\nR 16 32\n").unwrap();
        let expected = [record(0, HostOp::Write, 8000 * 512, 4096), record(1_000_000, HostOp::Read, 8192, 16_384)];
        assert_eq!(records, expected);
        let (records, _) = read("offset:sector, size=4KiB, op=write, time=10us", "8000\n9000\n").unwrap();
        let expected = [8000, 9000].map(|sector| record((sector - 8000) * 10, HostOp::Write, sector * 512, 4096));
        assert_eq!(records, expected);
    }

    #[test]
    fn kernel_words_in_a_column_are_flushes_and_data() {
        let (records, _) = read("time:s, op:rwbs, offset:sector, size:sector", "0 FF 0 0\n1 FWFSM 8 8\n").unwrap();
        let ops: Vec<HostOp> = records.iter().map(|record| record.op).collect();
        assert_eq!(ops, [HostOp::Flush, HostOp::Flush, HostOp::Write, HostOp::Flush]);
    }

    /// The address of a request without data is nothing that the kernel sets.
    #[test]
    fn requests_without_data_have_no_address_in_any_order_of_columns() {
        let row = |order: [usize; 4], fields: [&str; 4]| order.map(|at| fields[at]).join(" ") + "\n";
        for order in [[0, 1, 2, 3], [0, 2, 3, 1], [3, 2, 1, 0], [2, 0, 3, 1]] {
            for op in ["op:rwbs", "op:FF=flush|FWS=flush"] {
                let columns = row(order, ["time:s,", &format!("{op},"), "offset:sector,", "size:sector,"]);
                for (word, sector, count) in
                    [("FF", "18446744073709551615", "0"), ("FF", "-", "-"), ("FWS", "18446744073709551615", "0")]
                {
                    let text = row(order, ["0", "W", "8", "8"]) + &row(order, ["1", word, sector, count]);
                    let (records, _) = read(columns.trim().trim_end_matches(','), &text).unwrap();
                    assert_eq!(records[1..], [record(1_000_000_000, HostOp::Flush, 0, 0)], "{columns}: {text}");
                }
                let text = row(order, ["1", "W", "18446744073709551615", "8"]);
                let error = read(columns.trim().trim_end_matches(','), &text).unwrap_err();
                assert!(error.contains("beyond 2^64-1"), "{error}");
            }
        }
    }

    #[test]
    fn every_word_for_an_operation_is_known_and_a_bare_digit_is_not() {
        let text = "0 0 512 R\n1 0 512 Write\n2 0 512 discard\n3 0 0 flush\n4 0 512 17\n";
        let (records, _) = read("time:s, offset:B, size:B, op:17=read", text).unwrap();
        let ops: Vec<HostOp> = records.iter().map(|record| record.op).collect();
        assert_eq!(ops, [HostOp::Read, HostOp::Write, HostOp::Trim, HostOp::Flush, HostOp::Read]);
        for (word, advice) in [("1", "op:1=read"), ("WS", "op:rwbs")] {
            let error = read("time:s, offset:B, size:B, op", &format!("0 0 512 {word}\n")).unwrap_err();
            assert!(error.contains(advice), "{error}");
        }
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
            ("time=0 offset=5 size=512 op=r\n", "the time is `time=0`"),
            ("time=0, offset=5, size=512, op=r\n", "the time is `time=0`"),
        ] {
            let error = read("time:s, offset:B, size:B, op", text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
        let error = read("time:s, offset:TiB, size:B, op", "0 99999999 512 r\n").unwrap_err();
        assert!(error.contains("beyond 2^64-1"), "{error}");
    }
}
