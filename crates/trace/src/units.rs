//! Bytes, durations and shares as people write them: `"4KiB"`, `"1.5ms"`, `"28%"`.
//!
//! A number of bytes may be bare, since a byte is the only unit it can mean; a duration may not,
//! because a bare `5` has been taken for milliseconds by one tool and nanoseconds by the next.
//! `KB`, `K`, `M` and `G` are refused for the same reason: the papers use them for 1024, disk
//! vendors for 1000. The arithmetic is exact: a value that is not a whole number of bytes or
//! nanoseconds is an error, not a rounding.
//!
//! It does not know which key a value belongs to unless it is told, and it sets no limits: those
//! are the caller's.

use std::fmt;

use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// Bytes of a sector.
pub(crate) const SECTOR: u64 = 512;

/// Units of size and how many bytes each is.
const SIZES: [(&str, u64); 9] = [
    ("B", 1),
    ("kB", 1_000),
    ("KiB", 1 << 10),
    ("MB", 1_000_000),
    ("MiB", 1 << 20),
    ("GB", 1_000_000_000),
    ("GiB", 1 << 30),
    ("TB", 1_000_000_000_000),
    ("TiB", 1 << 40),
];

/// Units of time and how many nanoseconds each is. The micro sign has two code points in the wild;
/// both are meant.
const DURATIONS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// A number of bytes. In TOML and JSON: an integer (bytes), or text with a unit such as `"4KiB"`,
/// `"8GiB"`, `"512B"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// A duration in nanoseconds. In TOML and JSON: text with a unit, such as `"25us"`, `"1.5ms"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanoseconds(pub u64);

/// Bytes a second. In TOML and JSON: text with a unit, such as `"550MB/s"`, `"3.5GB/s"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BytesPerSecond(pub u64);

/// A size, a duration or a rate that cannot be understood. The sentence names the key (where
/// known), the value, what is wrong and the units that are allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitError {
    key: String,
    value: String,
    problem: String,
}

impl UnitError {
    fn new(key: &str, value: &str, problem: impl Into<String>) -> Self {
        Self { key: key.to_owned(), value: value.to_owned(), problem: problem.into() }
    }
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.key.is_empty() {
            write!(f, "{} = ", self.key)?;
        }
        write!(f, "\"{}\": {}", self.value, self.problem)
    }
}

impl std::error::Error for UnitError {}

/// Reads a number of bytes: `4096`, `"4KiB"`, `"1.5 GiB"`. `key` is what the error calls it; empty
/// when it is not known.
pub fn parse_bytes(key: &str, text: &str) -> Result<Bytes, UnitError> {
    let allowed = "write a whole number of bytes, or a number with one of B, kB, MB, GB, TB (powers of 1000), KiB, MiB, GiB, TiB (powers of 1024)";
    scaled(text, &SIZES, Ok(1)).map(Bytes).map_err(|problem| UnitError::new(key, text, format!("{problem}; {allowed}")))
}

/// Reads a rate: `"550MB/s"`, `"3.5 GB/s"`. `key` is what the error calls it; empty when it is not
/// known.
pub fn parse_rate(key: &str, text: &str) -> Result<BytesPerSecond, UnitError> {
    let size = text.trim().strip_suffix("/s").map(str::trim_end).filter(|size| !split(size).1.is_empty());
    let size = size.ok_or_else(|| {
        UnitError::new(
            key,
            text,
            "a rate is bytes per second; write a number with one of B/s, kB/s, MB/s, GB/s, MiB/s, GiB/s",
        )
    })?;
    parse_bytes(key, size)
        .map(|bytes| BytesPerSecond(bytes.0))
        .map_err(|error| UnitError::new(key, text, error.problem))
}

/// Reads a duration: `"25us"`, `"1.5ms"`, `"2 h"`. `key` is what the error calls it; empty when it
/// is not known.
pub fn parse_duration(key: &str, text: &str) -> Result<Nanoseconds, UnitError> {
    let allowed = "write a number with one of ns, us, ms, s, min, h";
    scaled(text, &DURATIONS, Err("a duration needs its unit"))
        .map(Nanoseconds)
        .map_err(|problem| UnitError::new(key, text, format!("{problem}; {allowed}")))
}

/// A number with one of these units, or bare.
fn scaled(text: &str, units: &[(&str, u64)], bare: Result<u64, &str>) -> Result<u64, String> {
    let (number, unit) = split(text);
    let factor = match units.iter().find(|(name, _)| *name == unit) {
        Some((_, factor)) => *factor,
        None if unit.is_empty() => bare?,
        None => return Err(format!("unknown unit `{unit}`")),
    };
    exact(number, factor)
}

/// The number and the unit, trimmed.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '-' && c != '+').unwrap_or(text.len());
    (&text[..end], text[end..].trim_start())
}

/// `number` × `factor`, where `number` may have decimals but the product must be a whole number
/// that fits 64 bits.
fn exact(number: &str, factor: u64) -> Result<u64, String> {
    if number.starts_with('-') {
        return Err("must not be negative".to_owned());
    }
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = format!("{whole}{fraction}");
    if whole.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err("not a number".to_owned());
    }
    // 20 digits hold every 64-bit number, and their product with an hour in nanoseconds still fits
    // 128 bits.
    if digits.trim_start_matches('0').len() > 20 || fraction.len() > 20 {
        return Err("too many digits (at most 20)".to_owned());
    }
    let digits: u128 = digits.parse().map_err(|_| "not a number".to_owned())?;
    let product = digits * u128::from(factor);
    let divisor = 10u128.pow(fraction.len() as u32);
    if !product.is_multiple_of(divisor) {
        return Err("not a whole number of bytes or nanoseconds".to_owned());
    }
    u64::try_from(product / divisor).map_err(|_| "too large (more than 64 bits)".to_owned())
}

impl fmt::Display for Bytes {
    /// In the largest power of 1024 that divides it: `4KiB`, `1536B`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let binary =
            SIZES.iter().rev().find(|(name, size)| name.ends_with("iB") && self.0 != 0 && self.0.is_multiple_of(*size));
        match binary {
            Some((name, size)) => write!(f, "{}{name}", self.0 / size),
            None => write!(f, "{}B", self.0),
        }
    }
}

impl Nanoseconds {
    /// In the largest unit of at most a second that divides it: `100ms`.
    pub fn largest_unit(self) -> String {
        let divides = |(_, factor): &&(&str, u64)| *factor <= 1_000_000_000 && self.0.is_multiple_of(*factor);
        let (unit, factor) = DURATIONS.iter().filter(divides).max_by_key(|(_, factor)| factor).unwrap_or(&("ns", 1));
        format!("{}{unit}", self.0 / factor)
    }
}

impl fmt::Display for Nanoseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}ns", self.0)
    }
}

impl fmt::Display for BytesPerSecond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}B/s", self.0)
    }
}

/// A quantity that is written as text with its unit, never as a bare number.
macro_rules! written_as_text {
    ($quantity:ident, $parse:ident, $expected:literal) => {
        impl Serialize for $quantity {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $quantity {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(TextVisitor { expected: $expected, parse: |text| $parse("", text) })
            }
        }
    };
}

written_as_text!(BytesPerSecond, parse_rate, "bytes per second, as text such as \"550MB/s\" or \"3.5GB/s\"");
written_as_text!(Nanoseconds, parse_duration, "a duration with its unit, as text such as \"25us\" or \"1.5ms\"");

struct TextVisitor<T> {
    expected: &'static str,
    parse: fn(&str) -> Result<T, UnitError>,
}

impl<T> Visitor<'_> for TextVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        (self.parse)(text).map_err(E::custom)
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0)
    }
}

struct BytesVisitor;

impl Visitor<'_> for BytesVisitor {
    type Value = Bytes;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number of bytes: an integer, or text such as \"4KiB\" or \"8GiB\"")
    }

    fn visit_u64<E: de::Error>(self, bytes: u64) -> Result<Bytes, E> {
        Ok(Bytes(bytes))
    }

    fn visit_i64<E: de::Error>(self, bytes: i64) -> Result<Bytes, E> {
        u64::try_from(bytes).map(Bytes).map_err(|_| E::invalid_value(de::Unexpected::Signed(bytes), &self))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Bytes, E> {
        parse_bytes("", text).map_err(E::custom)
    }
}

/// Reads a share of a whole: a number, or text that is one or a percentage.
pub fn share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    deserializer.deserialize_any(ShareVisitor)
}

/// Reads a share that may be absent.
pub fn optional_share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    #[derive(Deserialize)]
    struct Share(#[serde(deserialize_with = "share")] f64);
    Ok(Option::<Share>::deserialize(deserializer)?.map(|share| share.0))
}

struct ShareVisitor;

impl Visitor<'_> for ShareVisitor {
    type Value = f64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a share such as 0.28 or \"28%\"")
    }

    fn visit_f64<E: de::Error>(self, share: f64) -> Result<f64, E> {
        Ok(share)
    }

    fn visit_u64<E: de::Error>(self, share: u64) -> Result<f64, E> {
        Ok(share as f64)
    }

    fn visit_i64<E: de::Error>(self, share: i64) -> Result<f64, E> {
        Ok(share as f64)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<f64, E> {
        let (number, whole) = text.strip_suffix('%').map_or((text, 1.0), |percent| (percent, 100.0));
        let share = number.trim().parse().map(|number: f64| number / whole);
        share.map_err(|_| E::invalid_value(de::Unexpected::Str(text), &self))
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(BytesVisitor)
    }
}

/// A number of bytes for people, in the largest unit of which there is one: `1.5 GiB`.
pub fn rounded(bytes: u64) -> String {
    let units = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
    match units.iter().find(|(power, _)| bytes >> power > 0) {
        Some((power, unit)) => format!("{:.1} {unit}", bytes as f64 / (1_u64 << power) as f64),
        None => format!("{bytes} B"),
    }
}

/// Of names the one that is most like `name`, the first of several, and how like it is, 0 to 1.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<(&'a str, f64)> {
    let likeness = known.into_iter().map(|known| (known, strsim::normalized_damerau_levenshtein(name, known)));
    likeness.reduce(|best, next| if next.1 > best.1 { next } else { best })
}

/// A number of things, in words: `1 header line`, `3 header lines`.
pub fn several(count: u64, kind: &str) -> String {
    format!("{count} {kind}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_exact() {
        for (text, bytes) in [
            ("0", 0),
            ("4096", 4096),
            ("4KiB", 4096),
            ("4 KiB", 4096),
            ("1.5KiB", 1536),
            ("2.06GB", 2_060_000_000),
            ("8GiB", 8 << 30),
            ("512B", 512),
            (" 3TiB ", 3 << 40),
            ("4kB", 4000),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(parse_bytes("span", text), Ok(Bytes(bytes)), "{text}");
        }
    }

    #[test]
    fn durations_are_exact() {
        for (text, ns) in
            [("25us", 25_000), ("25µs", 25_000), ("1.5ms", 1_500_000), ("0.0499ms", 49_900), ("1h", 3_600_000_000_000)]
        {
            assert_eq!(parse_duration("gap", text), Ok(Nanoseconds(ns)), "{text}");
        }
    }

    #[test]
    fn rates_are_bytes_a_second() {
        for (text, rate) in [("550MB/s", 550_000_000), ("3.05 GB/s", 3_050_000_000), ("1B/s", 1), ("4KiB /s", 4096)] {
            assert_eq!(parse_rate("link", text), Ok(BytesPerSecond(rate)), "{text}");
            let json = serde_json::to_string(&BytesPerSecond(rate)).unwrap();
            assert_eq!(serde_json::from_str::<BytesPerSecond>(&json).unwrap(), BytesPerSecond(rate));
        }
        for text in ["550", "550MB", "550/s", "-1MB/s", "5GB/h", "", "/s"] {
            let error = parse_rate("link", text).expect_err(text).to_string();
            assert!(error.starts_with(&format!("link = \"{text}\": ")), "{error}");
            assert!(error.contains("MB"), "{error}");
        }
    }

    #[test]
    fn what_is_not_clear_is_refused_with_the_key_the_value_and_the_units() {
        let cases = [
            "4KB",
            "4K",
            "4kib",
            "",
            "KiB",
            "-1KiB",
            "1.2.3B",
            "0.3B",
            "1e3",
            "20000000000000000000",
            "20000000TiB",
            "+4KiB",
        ];
        for text in cases {
            let error = parse_bytes("span", text).expect_err(text).to_string();
            assert!(error.starts_with(&format!("span = \"{text}\": ")), "{error}");
            assert!(error.contains("KiB, MiB, GiB, TiB"), "{error}");
        }
        for text in ["5", "5 sec", "0.5ns", "-3us", "", "us", "nan"] {
            let error = parse_duration("gap", text).expect_err(text).to_string();
            assert!(error.starts_with(&format!("gap = \"{text}\": ")), "{error}");
            assert!(error.contains("ns, us, ms, s, min, h"), "{error}");
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        for bytes in [0, 1, 512, 1536, 4096, 3 << 30, u64::MAX] {
            assert_eq!(parse_bytes("", &Bytes(bytes).to_string()), Ok(Bytes(bytes)));
            let json = serde_json::to_string(&Bytes(bytes)).unwrap();
            assert_eq!(serde_json::from_str::<Bytes>(&json).unwrap(), Bytes(bytes));
            let json = serde_json::to_string(&Nanoseconds(bytes)).unwrap();
            assert_eq!(serde_json::from_str::<Nanoseconds>(&json).unwrap(), Nanoseconds(bytes));
        }
        assert_eq!(Bytes(4096).to_string(), "4KiB");
    }

    #[test]
    fn a_bare_number_is_no_duration() {
        let error = serde_json::from_str::<Nanoseconds>("5").unwrap_err().to_string();
        assert!(error.contains("a duration with its unit"), "{error}");
        let error = serde_json::from_str::<Bytes>("-5").unwrap_err().to_string();
        assert!(error.contains("a number of bytes"), "{error}");
    }
}
