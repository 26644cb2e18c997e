//! A first line that names the columns of a format, but not all of them, or others as well: what is
//! missing or too many, and the columns that read the file.

use crate::columns::Columns;
use crate::format::{Addresses, Format};

/// Least names of a format that a first line must have.
const LEAST_NAMES: usize = 3;

/// What a first line says of a format that it nearly has, as sentences ending in a space; empty
/// where it has none.
pub(crate) fn hint(line: &[u8]) -> String {
    let Ok(text) = std::str::from_utf8(line) else { return String::new() };
    let names: Vec<&str> = text.split(',').map(|name| name.trim().trim_matches('"')).collect();
    let known = |format: Format, name: &str| {
        let mut columns = format.columns().split(',');
        !name.is_empty() && columns.any(|known| known.trim().eq_ignore_ascii_case(name))
    };
    let common = |format: &Format| names.iter().filter(|name| known(*format, name)).count();
    let formats = Format::ALL.iter().copied().filter(|&format| !template(format).is_empty());
    // Of formats with as many names in common, the one that lacks fewest.
    let likeness = |format: &Format| (common(format), std::cmp::Reverse(format.columns().split(',').count()));
    let Some(format) = formats.max_by_key(likeness).filter(|format| common(format) >= LEAST_NAMES) else {
        return String::new();
    };
    let columns: Vec<&str> = format.columns().split(',').collect();
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
        says.push("has them in another order".to_owned());
    }
    let way = described(format, &columns, &names)
        .map_or_else(String::new, |text| format!("Read it with --columns \"{text}\". "));
    format!("Its first line has the names of {format} ({}), but {}. {way}", format.columns(), says.join(" and "))
}

/// The columns of a file with these names, where they say all that a request has.
fn described(format: Format, columns: &[&str], names: &[&str]) -> Option<String> {
    let parts: Vec<&str> = template(format).split(", ").collect();
    let part = |name: &&str| {
        let place = columns.iter().position(|known| known.eq_ignore_ascii_case(name));
        place.and_then(|place| parts.get(place)).copied().filter(|&part| part != "...").unwrap_or("-")
    };
    let text = names.iter().map(part).collect::<Vec<_>>().join(", ");
    let address = if matches!(format.addresses(), Addresses::InSectors(..)) { "sector" } else { "B" };
    let text = text.replace("UNIT", address).replace("TIME", format.time_unit().name());
    text.parse::<Columns>().is_ok().then_some(text)
}

/// What the columns of a format with commas are, in order; empty for the others.
fn template(format: Format) -> &'static str {
    match (format, format.addresses()) {
        (Format::Csv, _) => "time:ns, op, offset:B, size:B, -, device",
        (Format::LibcachesimCsv, _) => "-, time:s, op:28=read|2a=write, size:B, offset:sector",
        (_, Addresses::InBytes(columns) | Addresses::InSectors(columns, _)) if format.columns().contains(',') => {
            columns
        }
        _ => "",
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
            let names: Vec<&str> = format.columns().split(',').collect();
            let extra = [&names[..], &["Latency"]].concat().join(",");
            let index = format!(",{}", names.join(","));
            for (line, says) in [(extra, "also has Latency"), (index, "also has (no name)")] {
                let hint = hint(line.as_bytes());
                assert!(hint.contains(&format!("the names of {format} ")) && hint.contains(says), "{line}: {hint}");
                assert!(hint.contains("Read it with --columns"), "{line}: {hint}");
            }
            for gone in 0..names.len() {
                let mut fewer = names.clone();
                let name = fewer.remove(gone);
                let hint = hint(fewer.join(",").as_bytes());
                assert!(hint.contains(&format!("lacks {name}")), "{fewer:?}: {hint}");
            }
        }
        assert!(hint(b"Size,Offset,Type,Timestamp,Hostname,DiskNumber,ResponseTime").contains("in another order"));
    }

    #[test]
    fn header_of_nothing_known_has_no_hint() {
        for line in [&b"time,lba,len,rw"[..], b"Dear reader, this is a letter.", b"1,h,0,Read,0,512,1", b"\xff\xfe"] {
            assert_eq!(hint(line), "", "{}", String::from_utf8_lossy(line));
        }
    }
}
