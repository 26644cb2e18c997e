//! A first line that names the columns of a format, but not all of them, or others as well: what is
//! missing or too many, and the columns that read the file.

use crate::columns::Columns;
use crate::format::{Format, Template};

/// Least names of a format that a first line must have.
const LEAST_NAMES: usize = 3;

/// Most lines in front of the requests among which names of columns are looked for.
const MOST_LINES: usize = 4;

/// Whether a line names columns that a format has not: three or more fields between commas, none of
/// which begins with a digit. Of a format that no line tells, they may stand between blanks.
pub(crate) fn names_columns(format: Format, line: &[u8]) -> bool {
    let by_blanks = !line.contains(&b',') && matches!(format.template(), Template::Guessed(_));
    let is_sign = |byte: &u8| if by_blanks { byte.is_ascii_whitespace() } else { *byte == b',' };
    let names = line.split(is_sign).map(<[u8]>::trim_ascii).filter(|name| !(by_blanks && name.is_empty()));
    let names: Vec<&[u8]> = names.collect();
    names.len() >= LEAST_NAMES && !names.iter().any(|name| name.first().is_some_and(u8::is_ascii_digit))
}

/// What the first lines say of the columns, as sentences ending in a space; empty where they name
/// none.
pub(crate) fn hint(lines: &[&[u8]]) -> String {
    let texts = lines.iter().take(MOST_LINES).filter_map(|line| std::str::from_utf8(line).ok());
    let mut hints = texts.map(|text| text.trim_start_matches('#')).map(|text| {
        let names: Vec<&str> = if text.contains(',') {
            text.split(',').map(|name| name.trim().trim_matches('"')).collect()
        } else {
            text.split_ascii_whitespace().collect()
        };
        let is_row = names.iter().any(|name| name.starts_with(|first: char| first.is_ascii_digit()));
        let separator = if text.contains(',') { "" } else { ", separator=blank" };
        if is_row { String::new() } else { of_names(&names, separator) }
    });
    let hint = hints.find(|hint| !hint.is_empty()).unwrap_or_default();
    let clock = lines.iter().skip(1).take(MOST_LINES).find_map(|line| clock(line));
    match clock.filter(|_| !hint.is_empty()) {
        Some(clock) => format!("{hint}Times of a clock, such as {clock}, are not read: write them as seconds first. "),
        None => hint,
    }
}

/// The first field of a line that is the time of a clock, such as `17:58:57.814`.
fn clock(line: &[u8]) -> Option<&str> {
    let is_clock = |field: &&str| {
        let is_part = |byte: u8| byte.is_ascii_digit() || byte == b':' || byte == b'.';
        field.split(':').count() == 3 && field.bytes().all(is_part)
    };
    std::str::from_utf8(line).ok()?.split([' ', ',', '\t']).find(is_clock)
}

/// What names of columns say: how they differ from those of a format, or what they may be.
fn of_names(names: &[&str], separator: &str) -> String {
    let known = |format: Format, name: &str| {
        !name.is_empty() && columns_of(format).iter().any(|known| known.eq_ignore_ascii_case(name))
    };
    let common = |format: &Format| names.iter().filter(|name| known(*format, name)).count();
    let formats = Format::ALL.iter().copied().filter(|&format| !template(format).is_empty());
    // Of formats with as many names in common, the one that lacks fewest.
    let likeness = |format: &Format| (common(format), std::cmp::Reverse(columns_of(*format).len()));
    let Some(format) = formats.max_by_key(likeness).filter(|format| common(format) >= LEAST_NAMES) else {
        return by_words(names, separator).map_or_else(String::new, |text| {
            format!("Its first lines name columns, which may be --columns \"{text}\": check each, and its unit. ")
        });
    };
    let columns = columns_of(format);
    let is_there = |name: &&&str| names.iter().any(|there| there.eq_ignore_ascii_case(name));
    let missing: Vec<&str> = columns.iter().filter(|name| !is_there(name)).copied().collect();
    let others: Vec<&str> = names
        .iter()
        .filter(|name| !known(format, name))
        .map(|name| if name.is_empty() { "(no name)" } else { name })
        .collect();
    let mut says = Vec::new();
    if !missing.is_empty() {
        says.push(format!("lacks {}", missing.join(", ")));
    }
    if !others.is_empty() {
        says.push(format!("also has {}", crate::error::printable(&others.join(", "))));
    }
    if says.is_empty() {
        let is_same = names.iter().zip(&columns).all(|(name, known)| name.eq_ignore_ascii_case(known));
        says.push(if is_same { "a line behind it does not fit" } else { "has them in another order" }.to_owned());
    }
    let way = match (described(format, &columns, names), by_words(names, separator)) {
        (Some(text), _) => format!("Read it with --columns \"{text}{separator}\". "),
        (None, Some(text)) => format!("It may be --columns \"{text}\": check each, and its unit. "),
        (None, None) => String::new(),
    };
    format!("Its first line has the names of {format} ({}), but {}. {way}", format.columns(), says.join(" and "))
}

/// The names of a format's columns, without those that may follow.
fn columns_of(format: Format) -> Vec<&'static str> {
    let columns = format.columns().split('[').next().unwrap_or_default();
    columns.split(if columns.contains(',') { ',' } else { ' ' }).collect()
}

/// Words that a name of a column may begin with or hold, and the column that it then is. `UNIT` is
/// that of the name, or of addresses the one that is meant most often.
const WORDS: [(&[&str], &str); 8] = [
    (&["start", "arriv"], "time:UNIT"),
    (&["nblk", "nrsector", "numsector"], "size:sector"),
    (&["size", "bytes", "iosize", "iodatalength", "datalength", "length", "len"], "size:B"),
    (&["time", "ts"], "time:UNIT"),
    (&["op", "opc", "oper", "rw", "rwbs", "type", "iotype", "commandtype", "cmdtype", "t"], "op"),
    (&["lba", "lbn", "sector", "block", "blk"], "offset:sector"),
    (&["offset", "address"], "offset:B"),
    (&["device", "dev", "disk", "lun", "volume"], "device"),
];

/// What columns with these names may be; none where they do not say all that a request has.
fn by_words(names: &[&str], separator: &str) -> Option<String> {
    let mut parts: Vec<String> = vec!["-".to_owned(); names.len()];
    let letters = |name: &str| name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
    for (words, column) in WORDS {
        let role = column.split(':').next().unwrap_or_default();
        let is_taken = parts.iter().any(|part| part.split(':').next() == Some(role));
        let fits = |name: &&str| {
            let name = letters(name);
            words.iter().any(|word| if word.len() < 3 { name == *word } else { name.starts_with(word) })
        };
        let place = names.iter().position(fits);
        if let Some(place) = place.filter(|&place| !is_taken && parts[place] == "-") {
            let name = names[place];
            parts[place] = match column.split_once(':') {
                Some(("time", _)) => format!("time:{}", unit_in(name)),
                Some((role, usual)) => format!("{role}:{}", address_unit(name).unwrap_or(usual)),
                // The kernel's words are read as well as read and write where tools print them.
                None if column == "op" && (!separator.is_empty() || letters(name) == "rwbs") => "op:rwbs".to_owned(),
                None => column.to_owned(),
            };
        }
    }
    let text = format!("{}{separator}", parts.join(", "));
    text.parse::<Columns>().is_ok().then_some(text)
}

/// The unit that the name of a column of sizes or addresses says, such as `size_kb` or `Offset
/// (sectors)`.
fn address_unit(name: &str) -> Option<&'static str> {
    let name = name.to_lowercase();
    name.split(|letter: char| !letter.is_ascii_alphanumeric()).find_map(|word| match word {
        "b" | "byte" | "bytes" => Some("B"),
        "sector" | "sectors" => Some("sector"),
        "kb" | "kib" | "k" => Some("KiB"),
        "mb" | "mib" => Some("MiB"),
        _ => None,
    })
}

/// The unit that the name of a column of times ends with, or has in parentheses.
fn unit_in(name: &str) -> &'static str {
    let name = name.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    if has(&["_ns", "(ns", "nano"]) {
        "ns"
    } else if has(&["_us", "(us", "micro", "usec"]) {
        "us"
    } else if has(&["_ms", "(ms", "milli", "msec"]) {
        "ms"
    } else {
        "s"
    }
}

/// The columns of a file with these names, where they say all that a request has.
fn described(format: Format, columns: &[&str], names: &[&str]) -> Option<String> {
    let parts: Vec<&str> = template(format).split(", ").collect();
    let part = |name: &&str| {
        let place = columns.iter().position(|known| known.eq_ignore_ascii_case(name));
        place.and_then(|place| parts.get(place)).copied().filter(|&part| part != "...").unwrap_or("-")
    };
    let text = names.iter().map(part).collect::<Vec<_>>().join(", ");
    let text = text.replace("TIME", format.time_unit().name());
    text.parse::<Columns>().is_ok().then_some(text)
}

/// What the columns of a format with a header are, in order; empty for the others.
fn template(format: Format) -> &'static str {
    match format.template() {
        Template::Sure(columns) => columns,
        Template::Guessed(columns) if format.columns().contains(',') => columns,
        Template::Guessed(_) => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_of_any_format_with_a_column_more_less_or_moved_gives_columns_that_read_it() {
        for format in
            Format::ALL.iter().copied().filter(|&format| !template(format).is_empty() && format != Format::Spc)
        {
            let names = columns_of(format);
            let sign = if format.columns().contains(',') { "," } else { "   " };
            let extra = [&names[..], &["Latency"]].concat().join(sign);
            let index = format!("{}{sign}{}", if sign == "," { "" } else { "P" }, names.join(sign));
            for (line, says) in
                [(extra, "also has Latency"), (index, if sign == "," { "also has (no name)" } else { "also has P" })]
            {
                let hint = hint(&[line.as_bytes()]);
                assert!(hint.contains(&format!("the names of {format} ")) && hint.contains(says), "{line}: {hint}");
                assert!(hint.contains("Read it with --columns"), "{line}: {hint}");
            }
            for gone in 0..names.len() {
                let mut fewer = names.clone();
                let name = fewer.remove(gone);
                let hint = hint(&[fewer.join(sign).as_bytes()]);
                assert!(hint.contains(&format!("lacks {name}")), "{fewer:?}: {hint}");
            }
        }
        let moved = b"Size,Offset,Type,Timestamp,Hostname,DiskNumber,ResponseTime";
        assert!(hint(&[moved]).contains("in another order"));
        let same = b"TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)";
        assert!(hint(&[same]).contains("but a line behind it does not fit"), "{}", hint(&[same]));
    }

    /// Names of no format: what they may be, behind lines that name none.
    #[test]
    fn header_of_no_format_is_answered_with_columns_by_its_words() {
        for (lines, columns) in [
            (&["arrival_us,op,lba,size_bytes,who"][..], "time:us, op, offset:sector, size:B, -"),
            (&["Time (ms),Type,Offset (sectors),Size (KB)"], "time:ms, op, offset:sector, size:KiB"),
            (&["time_s,rwbs,offset_kib,size_mib"], "time:s, op:rwbs, offset:KiB, size:MiB"),
            (&["disk,sector,size,op,offset,timestamp"], "device, offset:sector, size:B, op, -, time:s"),
            (
                &["# a trace", "#id,IO Data Length,Command Type,LBN,Time Stamp (microseconds)"],
                "-, size:B, op, offset:sector, time:us",
            ),
            (
                &["Tracing. Stop to end.", "STARTs ENDs COMM PID TYPE DEV BLOCK BYTES LATms"],
                "time:s, -, -, -, op:rwbs, device, offset:sector, size:B, -, separator=blank",
            ),
        ] {
            let lines: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
            let hint = hint(&lines);
            assert!(hint.contains(&format!("--columns \"{columns}\"")), "{hint}");
        }
    }

    #[test]
    fn times_of_a_clock_are_said_to_be_unread() {
        let header = b"TIMESTAMP COMM PID DISK T SECTOR BYTES LAT(ms)";
        let hint = hint(&[header, b"17:58:57.814 worker 311 sde WSM 41944043 4096 1.4"]);
        assert!(hint.contains("such as 17:58:57.814, are not read"), "{hint}");
    }

    #[test]
    fn header_of_nothing_known_has_no_hint() {
        for line in [&b"when,where,much,how"[..], b"Dear reader, this is a letter.", b"1,h,0,Read,0,512,1", b"\xff\xfe"]
        {
            assert_eq!(hint(&[line]), "", "{}", String::from_utf8_lossy(line));
        }
    }
}
