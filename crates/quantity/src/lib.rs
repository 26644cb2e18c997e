//! Sizes, counts, durations and shares as people write them: `4KiB`, `4k`, `10k`, `1e6`, `1.5ms`,
//! `28%`. Studies, parameters of schemes, options and Python read them here, so each text means the
//! same everywhere.
//!
//! A bare letter is 1024, 1024² and so on of bytes, as in fio, and 1000, 1000² of anything else.
//! `KB`, `Mb` and `gb` are refused: they may be powers of 1024 or of 1000. So is a duration without
//! a unit.
//! Numbers may have a fraction, an exponent and `_` between digits. The arithmetic is exact: what
//! is no whole number of bytes, things or nanoseconds is an error, not a rounding.
//!
//! It knows no keys and no limits: those are the caller's. Of the caller's names it finds the one
//! that was meant ([`choose_from`]).

/// Units of size and the bytes of each.
pub const SIZES: [(&str, u64); 11] = [
    ("B", 1),
    ("kB", 1_000),
    ("KiB", 1 << 10),
    ("MB", 1_000_000),
    ("MiB", 1 << 20),
    ("GB", 1_000_000_000),
    ("GiB", 1 << 30),
    ("TB", 1_000_000_000_000),
    ("TiB", 1 << 40),
    ("PB", 1_000_000_000_000_000),
    ("PiB", 1 << 50),
];

/// Units of time and the nanoseconds of each. The micro sign has two code points.
pub const DURATIONS: [(&str, u64); 9] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];

const LETTERS: &str = "kmgt";

const NOT_WHOLE: &str = "not a whole number";
const A_SIZE: &str = "write a number of bytes, or one with k, M, G, T (powers of 1024), KiB to PiB (the same) or B, kB, MB, GB, TB, PB (powers of 1000)";
const A_COUNT: &str = "write a whole number such as 10000, 10k or 1e4";
const A_DURATION: &str = "write a number with one of ns, us, ms, s, min, h, d";

/// Bytes: `4096`, `4k`, `4KiB`, `1.5 GiB`, `960GB`.
pub fn size(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text);
    let factor = match named(&SIZES, unit) {
        Some(factor) => Ok(factor),
        None if unit.is_empty() => Ok(1),
        None => match folded(unit) {
            Some((name, factor)) if name.len() != 2 => Ok(factor),
            Some((name, _)) => Err(in_both_readings(number, unit, name)),
            None => letter(unit, 1024).ok_or_else(|| format!("{}; {A_SIZE}", unknown(number, unit))),
        },
    };
    let factor = factor?;
    exact(number, factor).map_err(|problem| {
        let meant = (problem == NOT_WHOLE).then(|| in_smaller_units(number, factor)).flatten();
        let meant = meant.map_or(String::new(), |size| format!(" of bytes; did you mean {size}"));
        format!("{problem}{meant}; {A_SIZE}")
    })
}

/// Bytes per day: a size, or a size per unit of time: `1TB`, `12MB/s`, `1TB/day`.
pub fn bytes_per_day(text: &str) -> Result<u64, String> {
    let Some((bytes, unit)) = text.rsplit_once('/') else { return size(text) };
    let unit = if unit.trim() == "day" { "d" } else { unit.trim() };
    let day = DURATIONS[DURATIONS.len() - 1].1;
    let times = named(&DURATIONS, unit).map(|unit| day / unit);
    let times =
        times.ok_or_else(|| format!("unknown unit of time \"{unit}\"; write a rate such as 12MB/s or 1TB/day"))?;
    size(bytes)?.checked_mul(times).ok_or_else(|| "too large (more than 64 bits of bytes per day)".to_owned())
}

/// A size that is no whole number of bytes, rounded to the next smaller unit: `12.9GiB` is
/// `13210MiB`.
fn in_smaller_units(number: &str, factor: u64) -> Option<String> {
    let step = if factor.is_power_of_two() { 1024 } else { 1000 };
    let (name, _) = SIZES.iter().find(|(_, size)| size * step == factor)?;
    let number: f64 = number.parse().ok()?;
    Some(format!("{}{name}", (number * step as f64).round()))
}

/// A number of things: `10000`, `10_000`, `10k`, `1e4`.
pub fn count(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text);
    let factor = if unit.is_empty() { Some(1) } else { letter(unit, 1000) };
    let factor = factor.ok_or_else(|| format!("{}; {A_COUNT}", unknown(number, unit)))?;
    exact(number, factor).map_err(|problem| format!("{problem}; {A_COUNT}"))
}

/// Nanoseconds: `25us`, `1.5ms`, `2 h`.
pub fn duration(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text);
    let factor = match named(&DURATIONS, unit) {
        Some(factor) => Ok(factor),
        None if unit.is_empty() => Err("a duration needs its unit".to_owned()),
        None => {
            // `m` may be either, and of longer words the beginning says enough.
            let meant = match unit.to_ascii_lowercase().as_str() {
                "m" => format!("; did you mean {number}min or {number}ms"),
                word => ["ms", "min", "s", "h", "d"]
                    .iter()
                    .find(|known| word.starts_with(**known))
                    .map_or(String::new(), |known| format!("; did you mean {number}{known}")),
            };
            Err(unknown(number, unit) + &meant)
        }
    };
    factor.and_then(|factor| exact(number, factor)).map_err(|problem| format!("{problem}; {A_DURATION}"))
}

fn unknown(number: &str, unit: &str) -> String {
    if number.is_empty() { "not a number".to_owned() } else { format!("unknown unit `{unit}`") }
}

/// A share of a whole: `0.28`, `28%`.
pub fn share(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let share: Option<f64> = match text.strip_suffix('%').map(str::trim_end) {
        // 80.1 ÷ 100 is not the number nearest to 0.801.
        Some(percent) => {
            format!("{percent}e-2").parse().or_else(|_| percent.parse().map(|part: f64| part / 100.0)).ok()
        }
        None => text.parse().ok(),
    };
    share.filter(|share| share.is_finite()).ok_or_else(|| "not a number; write a share such as 0.28 or 28%".to_owned())
}

/// Bytes in the largest power of 1024 that divides them: `4KiB`, `1536B`.
pub fn size_text(bytes: u64) -> String {
    let divides = |(name, size): &&(&str, u64)| name.ends_with("iB") && bytes != 0 && bytes.is_multiple_of(*size);
    let (name, size) = SIZES.iter().rev().find(divides).unwrap_or(&SIZES[0]);
    format!("{}{name}", bytes / size)
}

/// The number and the unit, trimmed.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = |from: &str, of: &str| from.find(|c: char| !c.is_ascii_digit() && !of.contains(c)).unwrap_or(from.len());
    let mut number = end(text, ".-+_");
    if let Some(rest) = text[number..].strip_prefix(['e', 'E'])
        && rest.trim_start_matches(['-', '+']).starts_with(|c: char| c.is_ascii_digit())
    {
        number += 1 + end(rest, "-+");
    }
    (&text[..number], text[number..].trim_start())
}

fn named(units: &[(&str, u64)], unit: &str) -> Option<u64> {
    units.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor)
}

/// What a bare letter stands for: a power of the base.
fn letter(unit: &str, base: u64) -> Option<u64> {
    let power = LETTERS.find(&unit.to_ascii_lowercase()).filter(|_| unit.len() == 1)?;
    Some(base.pow(power as u32 + 1))
}

/// The unit of sizes that is spelled so in other capitals.
fn folded(unit: &str) -> Option<(&'static str, u64)> {
    SIZES.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)).copied()
}

/// That a decimal unit in other capitals, such as `KB` for `kB`, may be the binary one.
fn in_both_readings(number: &str, unit: &str, name: &str) -> String {
    let letter = name[..1].to_ascii_uppercase();
    format!(
        "{unit} is a power of 1024 to some and of 1000 to others; did you mean {number}{letter}iB or {number}{name}"
    )
}

/// `number` × `factor`, which must be a whole number of at most 64 bits.
fn exact(number: &str, factor: u64) -> Result<u64, String> {
    let wrong = || "not a number".to_owned();
    if number.starts_with('-') {
        return Err("must not be negative".to_owned());
    }
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let exponent: i32 = exponent.parse().map_err(|_| wrong())?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_plain = |part: &str| {
        part.split('_').all(|digits| !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit()))
    };
    if !is_plain(whole) || !(fraction.is_empty() || is_plain(fraction)) {
        return Err(wrong());
    }
    let fraction = fraction.replace('_', "");
    let digits = format!("{}{fraction}", whole.replace('_', ""));
    // 20 digits hold every 64-bit number, and their product with a day in nanoseconds still fits
    // 128 bits.
    if digits.trim_start_matches('0').len() > 20 || fraction.len() > 20 || exponent.unsigned_abs() > 20 {
        return Err("too many digits (at most 20)".to_owned());
    }
    let product = digits.parse::<u128>().map_err(|_| wrong())? * u128::from(factor);
    let power = exponent - i32::try_from(fraction.len()).map_err(|_| wrong())?;
    let scale = 10_u128.pow(power.unsigned_abs());
    let large = "too large (more than 64 bits)";
    if power >= 0 {
        return product.checked_mul(scale).and_then(|value| value.try_into().ok()).ok_or_else(|| large.to_owned());
    }
    if !product.is_multiple_of(scale) {
        return Err(NOT_WHOLE.to_owned());
    }
    u64::try_from(product / scale).map_err(|_| large.to_owned())
}

/// How near the nearest of the known names must be to be taken for what was meant.
const NEAR: f64 = 0.6;

/// Of names the one that is most like `name`, the first of several, and how like it is, 0 to 1.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<(&'a str, f64)> {
    let likeness = known.into_iter().map(|known| (known, strsim::normalized_damerau_levenshtein(name, known)));
    likeness.reduce(|best, next| if next.1 > best.1 { next } else { best })
}

/// What to choose from instead of a name that is none of the known ones: `a, b` or `a or b`.
pub fn choose_from(name: &str, known: &str) -> String {
    let plain = name.trim_matches('`').to_ascii_lowercase();
    let all = known.split(", ").flat_map(|names| names.split(" or "));
    match nearest(&plain, all).filter(|(_, likeness)| *likeness >= NEAR) {
        Some((nearest, _)) => format!("did you mean {nearest}? Choose from {known}"),
        None => format!("choose from {known}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_per_day_are_sizes_or_rates() {
        for (text, bytes) in [
            ("200GB", 200_000_000_000),
            ("12MB/s", 1_036_800_000_000),
            ("1TB/day", 1_000_000_000_000),
            ("1TB/d", 1_000_000_000_000),
            ("1 GiB / h", 24 << 30),
        ] {
            assert_eq!(bytes_per_day(text), Ok(bytes), "{text}");
        }
        for (text, problem) in
            [("12MB/week", "unit of time \"week\""), ("12/MB", "\"MB\""), ("9e18/s", "too large"), ("/s", "")]
        {
            assert!(bytes_per_day(text).expect_err(text).contains(problem), "{text}");
        }
    }

    #[test]
    fn everyday_sizes_are_read_exactly() {
        for (text, bytes) in [
            ("0", 0),
            ("4096", 4096),
            ("4k", 4096),
            ("4K", 4096),
            ("10g", 10 << 30),
            ("0.5T", 1 << 39),
            ("1e6", 1_000_000),
            ("1_000", 1000),
            ("4KiB", 4096),
            ("4 KiB", 4096),
            ("4kib", 4096),
            ("1.5KiB", 1536),
            ("2.06GB", 2_060_000_000),
            ("512B", 512),
            (" 3TiB ", 3 << 40),
            ("40PB", 40_000_000_000_000_000),
            ("4kB", 4000),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(size(text), Ok(bytes), "{text}");
            assert_eq!(size(&size_text(bytes)), Ok(bytes));
        }
        assert_eq!((size_text(4096), size_text(1536), size_text(0)), ("4KiB".into(), "1536B".into(), "0B".into()));
    }

    #[test]
    fn counts_durations_and_shares_are_read_exactly() {
        for (text, number) in [("1e6", 1_000_000), ("10k", 10_000), ("1.5M", 1_500_000), ("2_000", 2000), ("20e-1", 2)]
        {
            assert_eq!(count(text), Ok(number), "{text}");
        }
        for (text, ns) in [
            ("25us", 25_000),
            ("25µs", 25_000),
            ("1.5ms", 1_500_000),
            ("0.0499ms", 49_900),
            ("2min", 120_000_000_000),
            ("1e3s", 1_000_000_000_000),
            ("1d", 86_400_000_000_000),
        ] {
            assert_eq!(duration(text), Ok(ns), "{text}");
        }
        for (text, part) in [("80%", 0.8), ("80 %", 0.8), ("0.25", 0.25), ("1e-3", 0.001)] {
            assert!((share(text).expect(text) - part).abs() < f64::EPSILON, "{text}");
        }
    }

    /// A unit in other capitals is read where it has one meaning, and refused with both where not.
    #[test]
    fn capitals_matter_to_every_decimal_unit_alike() {
        for (name, bytes) in SIZES {
            let others =
                [name.to_ascii_lowercase(), name.to_ascii_uppercase(), format!("{}b", &name[..name.len() - 1])];
            for other in others.iter().filter(|other| *other != name) {
                let read = size(&format!("3{other}"));
                if name.len() == 2 {
                    let binary =
                        SIZES.iter().find(|(unit, _)| unit.len() == 3 && unit[..1].eq_ignore_ascii_case(&name[..1]));
                    let binary = binary.expect("of each letter").0;
                    let meant = format!("did you mean 3{binary} or 3{name}");
                    assert!(read.as_ref().is_err_and(|error| error.ends_with(&meant)), "3{other}: {read:?}");
                } else {
                    assert_eq!(read, Ok(3 * bytes), "3{other}");
                }
            }
        }
    }

    #[test]
    fn a_percentage_is_the_share_that_it_says() {
        for tenths in 1..=1000_u32 {
            let share_of = |text: String| share(&text).expect("a share");
            let (percent, part) = (f64::from(tenths) / 10.0, f64::from(tenths) / 1000.0);
            assert!((share_of(format!("{percent}%")) - share_of(format!("{part}"))).abs() == 0.0, "{percent}%");
        }
        assert_eq!(share("5e1%"), Ok(0.5));
    }

    #[test]
    fn unclear_text_is_refused_with_its_correction() {
        let cases = [
            "4KB",
            "4kb",
            "",
            "KiB",
            "-1KiB",
            "1.2.3B",
            "0.3B",
            "1e",
            "1e99",
            "0e-2147483648",
            "20000000TiB",
            "+4KiB",
            "1__0",
        ];
        for text in cases {
            let error = size(text).expect_err(text);
            assert!(error.contains("KiB"), "{text}: {error}");
        }
        for (text, part) in [
            ("5", "a duration needs its unit"),
            ("5 sec", "did you mean 5s;"),
            ("2m", "did you mean 2min or 2ms;"),
            ("2 minutes", "did you mean 2min;"),
            ("0.5ns", "not a whole number"),
            ("-3us", "must not be negative"),
            ("", "ns, us, ms, s, min, h"),
            ("nan", "ns, us, ms, s, min, h"),
        ] {
            let error = duration(text).expect_err(text);
            assert!(error.contains(part) && error.contains("write a number"), "{text}: {error}");
        }
        for (text, meant) in [
            ("12.9GiB", " of bytes; did you mean 13210MiB;"),
            ("12.9g", " of bytes; did you mean 13210MiB;"),
            ("1.0000000001GB", " of bytes; did you mean 1000MB;"),
            ("0.3B", ";"),
        ] {
            let error = size(text).expect_err(text);
            assert!(error.starts_with(&format!("not a whole number{meant} write a number")), "{text}: {error}");
        }
        assert_eq!(
            size("4KB"),
            Err("KB is a power of 1024 to some and of 1000 to others; did you mean 4KiB or 4kB".into())
        );
        for text in ["10KiB", "1.5", "k", "-1", "20000000T"] {
            assert!(count(text).expect_err(text).contains("10k"), "{text}");
        }
        for text in ["nan", "inf", "%", "x", "80 percent"] {
            assert!(share(text).expect_err(text).contains("28%"), "{text}");
        }
    }
}
