//! Which format a trace has, from its content.
//!
//! Every text format's own reader is tried on the first lines, and those that understand them are
//! candidates. One candidate is the format. Several are looked at more closely: if they read the
//! sample alike and count time in the same unit, it does not matter which is named; if they differ,
//! the file's name may settle it (`fin1.ssdsim.gz`), and otherwise the guess is refused and the
//! user is shown how each would read the trace. A trace read with another unit or another sense of
//! "1" gives plausible numbers that are wrong, so that choice is never made here.

use std::path::Path;

use crate::devices::Devices;
use crate::error::{TraceError, excerpt};
use crate::fio_log;
use crate::format::Format;
use crate::input::{self, Origin};
use crate::near_header;
use crate::options::OpenOptions;
use crate::read::{Parsed, layout, text::is_header, vscsi};
use crate::record::Record;
use crate::sanity_checks::{Doubt, Other, doubt, doubt_times, extent, unlikely};

/// Shown in place of the first line of a file that has none.
const NO_TEXT: &str = "bytes that are not text";

/// Bytes looked at. Enough for the header of an ETW trace, which has some 100 lines.
const SAMPLE_BYTES: usize = 64 << 10;

/// Lines looked at.
const SAMPLE_LINES: usize = 400;

/// The least share of lines that a format must understand. A trace with some bad lines is still
/// that trace, and the reader will name the line; below a half it is more likely something else.
const LEAST_SHARE: f64 = 0.5;

/// How much less than the best a format may understand and still be a candidate. If this were 1,
/// one damaged line could turn an ambiguous trace into a sure one.
const CLOSE: f64 = 0.9;

/// The beginning of a trace, decompressed.
pub(crate) struct Sample {
    bytes: Vec<u8>,
    is_whole: bool,
}

impl Sample {
    /// The beginning of `origin`; an error if it is empty.
    pub(crate) fn of(origin: &Origin) -> Result<Self, TraceError> {
        let mut input = origin.open()?;
        let mut bytes = vec![0; SAMPLE_BYTES];
        let mut end = 0;
        let mut is_whole = false;
        while end < bytes.len() && !is_whole {
            match input.read(&mut bytes[end..]) {
                Ok(0) => is_whole = true,
                Ok(count) => end += count,
                // What was read so far is enough to guess from, and the reader will come to the
                // damage itself.
                Err(_) if end > 0 => break,
                Err(error) => return Err(input.error(crate::error::TracePosition::Byte(0), error)),
            }
        }
        if end == 0 {
            return Err(TraceError::Empty {
                path: origin.path().to_owned(),
                compressed: input.compression().is_some(),
            });
        }
        bytes.truncate(end);
        Ok(Self { bytes, is_whole })
    }

    /// Whether it is that of a Parquet file.
    pub(crate) fn is_parquet(&self) -> bool {
        self.bytes.starts_with(b"PAR1")
    }

    /// The lines that are surely whole, without their ends, blank ones left out.
    fn lines(&self) -> Vec<&[u8]> {
        let text = self.bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&self.bytes);
        let mut lines: Vec<&[u8]> = text.split(|&byte| byte == b'\n').collect();
        if !self.is_whole && lines.len() > 1 {
            lines.pop();
        }
        lines.retain(|line| !line.iter().all(u8::is_ascii_whitespace));
        lines.truncate(SAMPLE_LINES);
        lines.into_iter().map(|line| line.strip_suffix(b"\r").unwrap_or(line)).collect()
    }
}

/// How one format reads the sample.
struct Reading {
    format: Format,
    /// Lines understood, 0 to 1.
    share: f64,
    /// Whether the first line names columns, and not those of the format.
    has_other_header: bool,
    requests: Vec<Record>,
    devices: Devices,
}

impl Reading {
    fn of(format: Format, lines: &[&[u8]], options: &OpenOptions) -> Option<Self> {
        let mut layout = layout(format, options)?;
        let mut devices = Devices::default();
        let mut requests = Vec::new();
        let (mut understood, mut has_other_header) = (0, false);
        for (index, line) in lines.iter().enumerate() {
            match layout.read(line, &mut devices) {
                Ok(Parsed::Request(raw)) => {
                    understood += 1;
                    requests.extend(raw.check(options.shift_bytes));
                }
                Ok(Parsed::Requests(raws)) => {
                    understood += 1;
                    requests.extend(raws.into_iter().flatten().filter_map(|raw| raw.check(options.shift_bytes).ok()));
                }
                Ok(Parsed::Other(_)) => understood += 1,
                Err(_) if is_header(layout.as_ref(), index as u64 + 1, line) => understood += 1,
                Err(_) => has_other_header |= index == 0 && near_header::names_columns(format, line),
            }
        }
        let share = f64::from(understood) / lines.len().max(1) as f64;
        Some(Self { format, share, has_other_header, requests, devices })
    }

    /// How the trace would read, in a line.
    fn describe(&self, options: &OpenOptions) -> String {
        let unit = options.unit(self.format);
        let times = || self.requests.iter().map(|record| record.time_ns);
        let span_s = (times().max().unwrap_or(0) - times().min().unwrap_or(0)) as f64 / 1e9;
        let first = self.requests.first().map_or_else(String::new, |record| {
            let device = self.devices.names().get(record.device as usize).map_or("", String::as_str);
            let op = record.op.name();
            format!("; the first is a {op} of {} bytes at byte {} of device {device}", record.length, record.offset)
        });
        let (count, extent) = (self.requests.len(), extent(&self.requests));
        format!("times in {unit}, the first {count} requests span {span_s} s{first}; {extent}")
    }

    /// The same behind the option that chooses it.
    fn describe_format(&self, options: &OpenOptions) -> String {
        format!("  --format {}: {}", self.format, self.describe(options))
    }

    /// Why the columns can hardly be those of the format, as a sentence ending in a space.
    fn why_unlikely(&self) -> Option<String> {
        let format = self.format;
        if self.has_other_header {
            return Some(format!("Its lines fit {format}, but its first line is not the header of {format}. "));
        }
        let why = unlikely(format, &self.requests)?;
        Some(format!("Its lines fit {format}, but then {why}; if it is {format}, say so with --format {format}. "))
    }

    /// Refuses a reading whose units are doubted, and shows the other one.
    fn doubted(&self, path: &Path, lines: &[&[u8]], options: &OpenOptions) -> Result<(), TraceError> {
        let unit = options.unit(self.format);
        let doubt = doubt(self.format, unit, &self.requests, options.shift_bytes).or_else(|| {
            if options.time_unit.is_none() { doubt_times(self.format, unit, &self.requests) } else { None }
        });
        let Some(Doubt { why, other }) = doubt else {
            return Ok(());
        };
        let (option, format, named) = match other {
            Other::Columns(text) => {
                let columns = text.parse().ok();
                let named = OpenOptions { columns, time_unit: None, format: None, ..options.clone() };
                (format!("--columns \"{text}\""), Format::Columns, named)
            }
            Other::TimeUnit(unit) => {
                (format!("--time-unit {unit}"), self.format, OpenOptions { time_unit: Some(unit), ..options.clone() })
            }
        };
        let other = Self::of(format, lines, &named).filter(|other| !other.requests.is_empty());
        let other = other.map_or_else(String::new, |other| format!("\n  {option}: {}", other.describe(&named)));
        let readings = format!("{}{other}", self.describe_format(options));
        Err(TraceError::Doubtful { path: path.to_owned(), format: self.format, why, readings })
    }

    /// Whether two formats mean the same by this trace.
    fn agrees_with(&self, other: &Self, options: &OpenOptions) -> bool {
        options.unit(self.format) == options.unit(other.format)
            && self.requests == other.requests
            && self.devices.names() == other.devices.names()
    }
}

/// The format of `origin`, whose beginning is `sample`.
pub(crate) fn format(origin: &Origin, sample: &Sample, options: &OpenOptions) -> Result<Format, TraceError> {
    if sample.is_parquet() {
        return Ok(Format::Parquet);
    }
    if vscsi::fits(&sample.bytes) {
        return Ok(Format::Vscsi);
    }
    let lines = sample.lines();
    let mut readings: Vec<Reading> = Vec::new();
    let is_text = !sample.bytes.contains(&0);
    let log = fio_log::hint(&origin.name(), &lines);
    if is_text && log.is_none() {
        readings = Format::ALL.iter().copied().filter_map(|format| Reading::of(format, &lines, options)).collect();
    }
    let best = readings.iter().map(|reading| reading.share).fold(0.0, f64::max);
    readings.retain(|reading| reading.share >= LEAST_SHARE && reading.share >= CLOSE * best);
    let unlikely: Vec<String> = readings.iter().filter_map(Reading::why_unlikely).collect();
    readings.retain(|reading| reading.why_unlikely().is_none());
    let chosen = choose(origin, &readings, options)?;
    if let Some(reading) = readings.iter().find(|reading| Some(reading.format) == chosen) {
        reading.doubted(origin.path(), &lines, options)?;
    }
    chosen.ok_or_else(|| TraceError::Unrecognised {
        path: origin.path().to_owned(),
        start: if is_text { excerpt(lines.first().copied().unwrap_or(&sample.bytes)) } else { NO_TEXT.to_owned() },
        hint: match input::hint(&sample.bytes) {
            "" => log.unwrap_or_else(|| {
                [unlikely.concat(), near_header::hint(&lines), fio_log::numbers_hint(&lines)].concat()
            }),
            hint => hint.to_owned(),
        },
    })
}

/// One of the candidates; none if there is none.
fn choose(origin: &Origin, readings: &[Reading], options: &OpenOptions) -> Result<Option<Format>, TraceError> {
    let named: Vec<Format> =
        readings.iter().map(|reading| reading.format).filter(|&format| names(&origin.name(), format)).collect();
    match (readings, named.as_slice()) {
        ([], _) => Ok(None),
        (_, [format]) => Ok(Some(*format)),
        ([first, others @ ..], _) if others.iter().all(|other| first.agrees_with(other, options)) => {
            Ok(Some(first.format))
        }
        _ => Err(TraceError::Ambiguous {
            path: origin.path().to_owned(),
            candidates: readings.iter().map(|reading| reading.format).collect(),
            readings: readings.iter().map(|reading| reading.describe_format(options)).collect::<Vec<_>>().join("\n"),
        }),
    }
}

/// Whether a word of the file's name is the format's.
fn names(file: &str, format: Format) -> bool {
    file.to_ascii_lowercase()
        .split(|character: char| !character.is_ascii_alphanumeric())
        .any(|word| word == format.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::TimeUnit;
    use crate::trace::open_bytes;

    fn guess(name: &str, text: &[u8], options: &OpenOptions) -> Result<Format, TraceError> {
        open_bytes(name, text, options).map(|trace| trace.format)
    }

    fn guessed(text: &str) -> Format {
        guess("trace", text.as_bytes(), &OpenOptions::default()).unwrap()
    }

    #[test]
    fn every_text_format_is_known_by_its_content() {
        assert_eq!(guessed("128166385295514663,hm,0,Write,9056014336,2048,2833\n"), Format::Msr);
        assert_eq!(guessed("0,303567,3584,w,0.000000\n1,55590,3072,w,0.026214,3\n"), Format::Spc);
        assert_eq!(
            guessed("1455592511.002,0.0004,W,2,25770000384,4096\n1455592511.003,,,2,0,4096\n"),
            Format::Systor17
        );
        assert_eq!(guessed("419,W,8792731648,16384,1577808000000046\n"), Format::Alibaba);
        assert_eq!(guessed("1538323200,12910952,128,0,1063\n"), Format::Tencent);
        assert_eq!(guessed("89966899082916 4892 syslogd 904265560 8 W 6 0 0fe9e2a1b9d6ae0d\n"), Format::Fiu);
        assert_eq!(guessed("BeginHeader\n DiskRead, TimeStamp\nEndHeader\nDiskFlushInit, 1, x ( 4)\n"), Format::Etw);
        assert_eq!(guessed("DiskRead, 5, System (4), 0, 0x1, 0x0, 0x200, 1, 0\n"), Format::Etw);
        assert_eq!(
            guessed("  8,0    1        1     0.000000000   697  G   W 223490 + 8 [kjournald]\n"),
            Format::Blkparse
        );
        assert_eq!(guessed("fio version 2 iolog\n/dev/sda add\n/dev/sda write 0 4096\n"), Format::Fio);
        assert_eq!(
            guessed("TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n0.1 p 1 sda W 8 512 0.7\n"),
            Format::Biosnoop
        );
        assert_eq!(guessed("13.191135\t30\t0\t5\t1\n17.829285\t20\t576560\t6\t1\n"), Format::Disksim);
        assert_eq!(guessed("version,time,op,size,lbn\n1,500,2a,512,1000\n"), Format::LibcachesimCsv);
        assert_eq!(guessed("time_ns,op,offset,length,stream,device\n5,write,0,4096,0,a\n"), Format::Csv);
    }

    const FIVE_NUMBERS: &str = "938513000 4 264719034 16 0\n938828000 3 197570570 16 1\n";

    #[test]
    fn five_whole_numbers_are_refused_and_each_reading_is_shown() {
        let error = guess("tpcc.trace", FIVE_NUMBERS.as_bytes(), &OpenOptions::default()).unwrap_err();
        let TraceError::Ambiguous { candidates, .. } = &error else { panic!("{error}") };
        assert_eq!(*candidates, [Format::Disksim, Format::Ssdsim, Format::Mqsim]);
        let text = error.to_string();
        for part in [
            "--format disksim: times in ms, the first 2 requests span 315 s",
            "--format ssdsim: times in ns, the first 2 requests span 0.000315 s",
            "the first is a write of 8192 bytes at byte 135536145408 of device 4",
            "--time-unit",
        ] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn the_files_name_may_settle_it() {
        let options = OpenOptions::default();
        assert_eq!(guess("fin1.ssdsim.gz", FIVE_NUMBERS.as_bytes(), &options).unwrap(), Format::Ssdsim);
        assert_eq!(guess("MQSim-tpcc.trace", FIVE_NUMBERS.as_bytes(), &options).unwrap(), Format::Mqsim);
        assert!(guess("ssdsim-or-mqsim.trace", FIVE_NUMBERS.as_bytes(), &options).is_err());
        // A name never overrules the content.
        assert_eq!(guess("x.ssdsim", b"1,h,0,Read,0,512,1\n", &options).unwrap(), Format::Msr);
    }

    #[test]
    fn a_unit_settles_what_only_the_unit_leaves_open() {
        let options = OpenOptions { time_unit: Some(TimeUnit::Us), ..OpenOptions::default() };
        assert_eq!(guess("trace", FIVE_NUMBERS.as_bytes(), &options).unwrap(), Format::Disksim);
        let flags = OpenOptions { time_unit: Some(TimeUnit::Us), ..OpenOptions::default() };
        assert!(guess("trace", b"1 0 8 8 0\n2 0 8 8 1\n", &flags).is_ok());
    }

    #[test]
    fn a_damaged_line_does_not_make_an_ambiguous_trace_sure() {
        let lines = (0..40).map(|n| format!("{} 4 264719034 16 0\n", 938_513_000 + 1000 * n));
        // disksim alone understands the last one.
        let text = lines.chain(["1.5 0 8 8 0\n".to_owned()]).collect::<Vec<_>>().concat();
        assert!(matches!(guess("t", text.as_bytes(), &OpenOptions::default()), Err(TraceError::Ambiguous { .. })));
    }

    #[test]
    fn a_bad_line_among_good_ones_does_not_hide_the_format() {
        let text = "1,h,0,Read,0,512,1\ngarbage\n2,h,0,Read,0,512,1\n";
        assert_eq!(guessed(text), Format::Msr);
    }

    /// Whatever positional format the lines fit, a first line of other names drops the guess.
    #[test]
    fn header_of_other_columns_drops_the_guess_of_every_format() {
        for (format, line) in [
            (Format::Msr, "128166385295514663,hm,0,Write,9056014336,2048,2833"),
            (Format::Spc, "0,303567,3584,w,0.000000"),
            (Format::Systor17, "1455592511.002,0.0004,W,2,25770000384,4096"),
            (Format::Alibaba, "419,W,8792731648,16384,1577808000000046"),
            (Format::Tencent, "1538323200,12910952,128,0,1063"),
            (Format::LibcachesimCsv, "1,500,2a,512,1000"),
            (Format::Csv, "5,write,0,4096,0,a"),
            (Format::Etw, "sda,8,4096,read,0,5"),
            (Format::Disksim, "13.191135 30 0 5 1"),
            (Format::Fiu, "89966899082916 4892 syslogd 904265560 8 W 6 0 0fe9e2a1b9d6ae0d"),
        ] {
            let sign = if line.contains(',') { "," } else { " " };
            let names: Vec<String> = line.split(sign).zip('a'..).map(|(_, name)| format!("column_{name}")).collect();
            let text = format!("{}\n{}", names.join(sign), format!("{line}\n").repeat(9));
            for skip_bad in [false, true] {
                let options = OpenOptions { skip_bad, ..OpenOptions::default() };
                let error = guess("x", text.as_bytes(), &options).unwrap_err().to_string();
                assert!(error.contains("fits no format") && error.contains("--columns"), "{format}: {error}");
            }
            let named = OpenOptions { skip_bad: true, ..OpenOptions::with_format(format) };
            assert_eq!(guess("x", text.as_bytes(), &named).unwrap(), format);
        }
    }

    /// A time that is none goes back in every other line; a size that is none is tiny.
    #[test]
    fn columns_that_can_hardly_be_those_of_a_format_are_refused_with_the_reason() {
        for (line, why) in [
            ("PLACE,4096,1,write,TIME", "sizes would be of 1 bytes"),
            ("TIME,4096,4096,write,PLACE", "times would go back"),
            ("TIME,READ,PLACE,4096,STREAM", "times would go back"),
            ("TIME,WRITE,PLACE,4096,0", "a device of its own at one time"),
        ] {
            let lines = (0..40_u64).map(|n| {
                let line = line.replace("TIME", &(n * 977).to_string()).replace("STREAM", &(n * 7 % 4).to_string());
                line.replace("PLACE", &(n * 600 % 977 * 8).to_string()) + "\n"
            });
            let text: String = lines.collect();
            let error = guess("x", text.as_bytes(), &OpenOptions::default()).unwrap_err().to_string();
            assert!(error.contains(why) && error.contains("--columns"), "{line}: {error}");
        }
    }

    #[test]
    fn dates_in_another_unit_are_refused_with_both_readings_unless_the_unit_is_said() {
        let text = "419,W,8192,4096,1577808000046\n725,R,8192,4096,1577808000056\n";
        let error = guess("x", text.as_bytes(), &OpenOptions::default()).unwrap_err().to_string();
        for part in [
            "of the year 1970, and with times in ms of 2019",
            "--format alibaba: times in us",
            "--time-unit ms: times in ms",
        ] {
            assert!(error.contains(part), "{part}: {error}");
        }
        let options = OpenOptions { time_unit: Some(TimeUnit::Us), ..OpenOptions::default() };
        assert_eq!(guess("x", text.as_bytes(), &options).unwrap(), Format::Alibaba);
    }

    #[test]
    fn fractions_in_times_of_whole_units_are_refused_with_both_readings() {
        let text = "128166372.5,h,0,Read,0,512,1\n128166373.25,h,0,Write,0,512,1\n";
        let error = guess("x", text.as_bytes(), &OpenOptions::default()).unwrap_err().to_string();
        for part in ["--time-unit s: times in s", "--format msr: times in 100ns"] {
            assert!(error.contains(part), "{part}: {error}");
        }
    }

    #[test]
    fn binary_traces_that_are_not_read_are_named_with_a_way_out() {
        let error = |bytes: Vec<u8>| guess("x", &bytes, &OpenOptions::default()).unwrap_err().to_string();
        let event = |magic: u32| [&magic.to_le_bytes()[..], &[0; 44]].concat().repeat(5);
        assert!(error(event(0x6561_7407)).contains("`blkparse -i NAME -o trace.txt`"));
        let record = |place: i64, next: i64| {
            let (time, size) = (place as u32 / 7, 4096_u32);
            [&time.to_le_bytes()[..], &(place * 4096).to_le_bytes(), &size.to_le_bytes(), &next.to_le_bytes()].concat()
        };
        let general: Vec<u8> =
            (0..3000).flat_map(|place| record(place, if place % 3 == 0 { -1 } else { place + 5 })).collect();
        let text = error(general);
        assert!(text.contains("oracleGeneral") && text.contains("op=read"), "{text}");
        let backwards: Vec<u8> = (0..3000).flat_map(|place| record(place, 1)).collect();
        assert!(!error(backwards).contains("oracleGeneral"));
    }

    #[test]
    fn what_is_no_trace_is_refused_with_its_beginning_and_the_known_formats() {
        let error = |bytes: &[u8]| guess("x", bytes, &OpenOptions::default()).unwrap_err().to_string();
        let prose = error(b"Dear reader, this is a letter.\n");
        assert!(prose.contains("starts with: `Dear reader") && prose.contains("msr, spc, systor17"), "{prose}");
        assert!(prose.contains("--columns \"time:us, op, offset:B, size:B\""), "{prose}");
        assert!(error(b"PK\x03\x04\0\0\0\0").contains("zip archive"));
        assert!(error(b"\xff\xfet\0i\0m\0e\0\n\0").contains("UTF-16"));
        let binary = error(&[0, 1, 2, 3, 255, 254]);
        assert!(binary.contains("starts with: bytes that are not text. It is binary"), "{binary}");
        assert!(error(b"").contains("the file is empty"));
    }
}
