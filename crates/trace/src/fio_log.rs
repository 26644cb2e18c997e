//! The logs that fio writes beside a job (`write_lat_log`, `write_bw_log` and the like): what they
//! are, and the columns that read them.
//!
//! A line is `time, value, direction, block size, offset, priority`, in milliseconds of the
//! completion, nanoseconds of latency (or another value, which the file's name tells), 0 to 2, and
//! bytes. Older versions have no priority, and without `log_offset` there is no offset: the oldest
//! lines end with the size. Such lines of numbers look like those of other formats, so they are
//! named before any is guessed.
//! Numbers that can be no log are called numbers, and nothing is said of their meanings.

use crate::units::SECTOR;

/// Fields of a line: up to the size; the offset, or the priority in its place; a priority, and a
/// time of issue.
const FIELDS: std::ops::RangeInclusive<usize> = 4..=7;

/// Words of a log's name that tell its values.
const WORDS: [&str; 5] = ["bw", "iops", "slat", "clat", "lat"];

/// What a log is and how it is read, as sentences ending in a space; none if these are no lines of
/// one.
pub(crate) fn hint(name: &str, lines: &[&[u8]]) -> Option<String> {
    let rows: Option<Vec<Vec<&str>>> = lines.iter().map(|line| row(line)).collect();
    let rows = rows.filter(|rows| !rows.is_empty() && rows.is_sorted_by_key(|row| row[0].parse::<u64>().ok()))?;
    // No format that is known has four numbers, but others' lines may.
    let is_short = rows[0].len() == *FIELDS.start();
    if is_short && !WORDS.iter().any(|word| has_word(name, word)) {
        return Some(numbers_hint(lines));
    }
    let (what, value) = value(name);
    let has_offset = |row: &[&str]| row[3] != "0" && !is_short && (row.len() > 5 || !row[4].starts_with("0x"));
    if !rows.iter().any(|row| has_offset(row)) {
        return Some(format!(
            "It is a {what} log of fio without sizes or offsets, so it is no block trace: log them (log_offset=1 without log_avg_msec), or the \
             requests (write_iolog). "
        ));
    }
    let op = if rows.iter().any(|row| row[2] == "2") { "op:0=read|1=write|2=trim" } else { "op:1=write" };
    let behind = if rows[0].len() > 5 { ", ..." } else { "" };
    let columns = format!("time:ms, {value}, {op}, size:B, offset:B{behind}");
    let zeros = if rows.iter().all(|row| row[4] == "0") {
        "Every offset is 0: log offsets (log_offset=1), or the requests (write_iolog). "
    } else {
        ""
    };
    Some(format!(
        "It is a {what} log of fio, whose times are completions: read it with --columns \"{columns}\" --tick 1ms. {zeros}"
    ))
}

/// What is said of lines of as many numbers as a log's that are none, ending in a space; nothing of
/// other lines.
pub(crate) fn numbers_hint(lines: &[&[u8]]) -> String {
    let count = |line: &&[u8]| line.split(|&byte| byte == b',').count();
    let is_number = |field: &[u8]| !field.is_empty() && field.iter().all(u8::is_ascii_digit);
    let are_numbers = |line: &&[u8]| line.split(|&byte| byte == b',').all(|field| is_number(field.trim_ascii()));
    let Some(fields) = lines.first().map(count).filter(|fields| FIELDS.contains(fields)) else {
        return String::new();
    };
    if lines.iter().any(|line| count(line) != fields || !are_numbers(line)) {
        return String::new();
    }
    let others = ", -".repeat(fields - 4);
    format!(
        "Each line is {fields} numbers without names: say which is which, as in --columns \"time:ms, op:1=write, size:B, offset:B{others}\". "
    )
}

/// The fields of a line, if it can be one of a log.
fn row(line: &[u8]) -> Option<Vec<&str>> {
    let row: Vec<&str> = std::str::from_utf8(line).ok()?.split(',').map(str::trim).collect();
    let is_hex = |field: &str| field.strip_prefix("0x").is_some_and(|digits| u64::from_str_radix(digits, 16).is_ok());
    let is_number = |field: &&str| field.parse::<u64>().is_ok() || is_hex(field);
    let fits = FIELDS.contains(&row.len())
        && row[..3].iter().all(|field| field.parse::<u64>().is_ok())
        && matches!(row[2], "0" | "1" | "2")
        && row[3].parse::<u64>().is_ok_and(|bytes| bytes.is_multiple_of(SECTOR))
        && row[4..].iter().all(is_number)
        // Means of a stretch have neither size nor offset.
        && (row[3] != "0" || row.get(4).is_none_or(|offset| *offset == "0" || is_hex(offset)));
    fits.then_some(row)
}

/// What the values of a log are, by the word of its name (`job_clat.1.log`), and their column.
fn value(name: &str) -> (&'static str, &'static str) {
    match ["bw", "iops", "slat"].map(|word| has_word(name, word)) {
        [true, ..] => ("bandwidth", "-"),
        [_, true, _] => ("IOPS", "-"),
        [.., true] => ("submission latency", "-"),
        _ => ("latency", "latency:ns"),
    }
}

/// Whether a word stands in a log's name.
fn has_word(name: &str, word: &str) -> bool {
    name.split(|letter: char| !letter.is_ascii_alphanumeric()).any(|part| part == word)
}

#[cfg(test)]
mod tests {
    use crate::options::OpenOptions;
    use crate::trace::open_bytes;

    /// Writes at growing offsets, with a sign for every further column.
    fn log(first_ms: u32, behind: &str, direction: u32) -> String {
        let line = |n: u32| format!("{}, {}, {direction}, 4096, {}{behind}\n", first_ms + n, 220_000 + n, 4096 * n);
        (0..9).map(line).collect()
    }

    #[test]
    fn logs_of_fio_are_named_with_columns_that_read_them() {
        for (name, value) in [("j_clat.1.log", "latency"), ("j_lat.log", "latency"), ("j_bw.2.log", "bandwidth")] {
            for behind in ["", ", 0", ", 0x0004", ", 0, 1234567"] {
                for (first_ms, direction) in [(0, 0), (0, 1), (1, 1), (2, 2)] {
                    let text = log(first_ms, behind, direction);
                    let error = open_bytes(name, text.as_bytes(), &OpenOptions::default()).unwrap_err().to_string();
                    assert!(
                        error.contains(&format!("It is a {value} log of fio")) && error.contains("\" --tick 1ms."),
                        "{text}: {error}"
                    );
                    let columns = error.split('"').nth(1).unwrap();
                    let options = OpenOptions { columns: Some(columns.parse().unwrap()), ..OpenOptions::default() };
                    let records: Vec<_> =
                        open_bytes(name, text.as_bytes(), &options).unwrap().map(|record| record.unwrap()).collect();
                    assert_eq!(records.len(), 9, "{columns}");
                    assert!((0..).zip(&records).all(|(n, record)| record.offset == 4096 * n));
                    assert!(records.iter().all(|record| record.op as u32 == direction), "{columns}");
                }
            }
        }
    }

    #[test]
    fn numbers_that_can_be_no_log_are_called_numbers() {
        let row = |time: u32, direction: u32, size: u32| format!("{time},5000,{direction},{size},{}", 4096 * time);
        for lines in [
            // Times fall, a direction is 3, sizes are no multiples of 512, and there are no sizes.
            [row(15, 0, 4096), row(13, 1, 4096), row(14, 0, 4096)],
            [row(11, 0, 4096), row(12, 3, 4096), row(13, 0, 4096)],
            [row(11, 0, 100), row(12, 1, 8), row(13, 0, 100)],
            [row(11, 0, 0), row(12, 1, 4096), row(13, 0, 4096)],
        ] {
            for (behind, fields) in [("", 5), (",1", 6), (", 0,7", 7)] {
                let text: String = lines.iter().flat_map(|line| [line.as_str(), behind, "\n"]).collect();
                let error = open_bytes("t.csv", text.as_bytes(), &OpenOptions::default()).unwrap_err().to_string();
                assert!(!error.contains("log of fio"), "{text}: {error}");
                assert!(error.contains(&format!("Each line is {fields} numbers")), "{text}: {error}");
                let columns = error.split('"').nth(1).unwrap().parse::<crate::columns::Columns>().unwrap();
                assert_eq!(columns.list.len(), fields, "{columns}");
            }
        }
    }

    #[test]
    fn logs_without_offsets_are_said_to_be_no_traces() {
        for (behind, says) in [
            ("4096, 0x0000", "no block trace"),
            ("0, 0, 0", "no block trace"),
            ("4096, 0", "Every offset is 0"),
            ("4096", "no block trace"),
            ("0", "no block trace"),
        ] {
            for name in ["j_lat.log", "j_bw.1.log", "j_clat.2.log"] {
                let text = format!("0, 220, 1, {behind}\n1, 220, 1, {behind}\n");
                let error = open_bytes(name, text.as_bytes(), &OpenOptions::default()).unwrap_err().to_string();
                assert!(error.contains(says) && error.contains("log_offset=1"), "{error}");
            }
        }
    }

    #[test]
    fn four_numbers_are_no_format_and_no_log_unless_the_name_says() {
        let text = "0, 220, 1, 4096\n1, 230, 1, 4096\n2, 240, 0, 8192\n";
        let error = open_bytes("x.csv", text.as_bytes(), &OpenOptions::default()).unwrap_err().to_string();
        assert!(error.contains("Each line is 4 numbers") && !error.contains("log of fio"), "{error}");
    }
}
