//! Bytes, durations, counts and shares in studies: values with a unit, as text or as numbers.
//!
//! How text is read is [`quantity`]'s. A number of bytes may be bare, since a byte is the only unit
//! it can mean; a duration may not, because a bare `5` has been taken for milliseconds by one tool
//! and nanoseconds by the next.

use std::fmt;
use std::marker::PhantomData;

pub use quantity::{choose_from, nearest};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// Bytes of a sector.
pub(crate) const SECTOR: u64 = 512;

/// A number of bytes. In TOML and JSON: an integer (bytes), or text such as `"4KiB"`, `"4k"`,
/// `"8GiB"`, `"512B"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// A duration in nanoseconds. In TOML and JSON: text with a unit, such as `"25us"`, `"1.5ms"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanoseconds(pub u64);

/// Bytes per second. In TOML and JSON: text with a unit, such as `"550MB/s"`, `"3.5GB/s"`.
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

/// Reads a number of bytes: `4096`, `"4k"`, `"1.5 GiB"`. `key` is what the error calls it; empty
/// when it is not known.
pub fn parse_bytes(key: &str, text: &str) -> Result<Bytes, UnitError> {
    quantity::size(text).map(Bytes).map_err(|problem| UnitError::new(key, text, problem))
}

/// Reads a rate: `"550MB/s"`, `"3.5 GB/s"`. `key` is what the error calls it; empty when it is not
/// known.
pub fn parse_rate(key: &str, text: &str) -> Result<BytesPerSecond, UnitError> {
    let size = text
        .trim()
        .strip_suffix("/s")
        .map(str::trim_end)
        .filter(|size| size.ends_with(|c: char| c.is_ascii_alphabetic()));
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
    quantity::duration(text).map(Nanoseconds).map_err(|problem| UnitError::new(key, text, problem))
}

impl fmt::Display for Bytes {
    /// In the largest power of 1024 that divides it: `4KiB`, `1536B`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&quantity::size_text(self.0))
    }
}

impl Nanoseconds {
    /// In the largest unit of at most a second that divides it: `100ms`.
    pub fn largest_unit(self) -> String {
        let divides = |(_, factor): &&(&str, u64)| *factor <= 1_000_000_000 && self.0.is_multiple_of(*factor);
        let (unit, factor) =
            quantity::DURATIONS.iter().filter(divides).max_by_key(|(_, factor)| factor).unwrap_or(&("ns", 1));
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

/// A type that TOML and JSON have as its text, and never as a bare number.
macro_rules! written_as_text {
    ($type:ident, $parse:expr, $expected:literal) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any($crate::units::TextVisitor { expected: $expected, parse: $parse })
            }
        }
    };
}
pub(crate) use written_as_text;

written_as_text!(
    BytesPerSecond,
    |text| parse_rate("", text),
    "bytes per second, as text such as \"550MB/s\" or \"3.5GB/s\""
);
written_as_text!(
    Nanoseconds,
    |text| parse_duration("", text),
    "a duration with its unit, as text such as \"25us\" or \"1.5ms\""
);

pub(crate) struct TextVisitor<T, E> {
    pub(crate) expected: &'static str,
    pub(crate) parse: fn(&str) -> Result<T, E>,
}

impl<T, P: fmt::Display> Visitor<'_> for TextVisitor<T, P> {
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

/// Bytes as text, read by a function of [`quantity`].
struct BytesVisitor(fn(&str) -> Result<u64, String>);

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

    fn visit_f64<E: de::Error>(self, bytes: f64) -> Result<Bytes, E> {
        whole(bytes).map(Bytes).ok_or_else(|| E::invalid_value(de::Unexpected::Float(bytes), &self))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Bytes, E> {
        (self.0)(text).map(Bytes).map_err(|problem| E::custom(UnitError::new("", text, problem)))
    }
}

/// Reads bytes per day that may be absent: a size, or a rate such as `"12MB/s"`.
pub fn optional_bytes_per_day<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Bytes>, D::Error> {
    struct Daily(Bytes);
    impl<'de> Deserialize<'de> for Daily {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_any(BytesVisitor(quantity::bytes_per_day)).map(Daily)
        }
    }
    Ok(Option::<Daily>::deserialize(deserializer)?.map(|daily| daily.0))
}

/// A number with an exponent, `1e6`, which TOML and JSON take for no integer.
fn whole(number: f64) -> Option<u64> {
    (number.fract() == 0.0 && (0.0..9e15).contains(&number)).then_some(number as u64)
}

/// Reads a number of things: an integer, or text such as `"10k"`, `"1e6"`.
pub fn count<'de, D: Deserializer<'de>, T: Count>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_any(CountVisitor(PhantomData))
}

/// Reads a number of things that may be absent.
pub fn optional_count<'de, D: Deserializer<'de>, T: Count>(deserializer: D) -> Result<Option<T>, D::Error> {
    #[derive(Deserialize)]
    struct Counted<T: Count>(#[serde(deserialize_with = "count")] T);
    Ok(Option::<Counted<T>>::deserialize(deserializer)?.map(|counted| counted.0))
}

/// A type of numbers of things.
pub trait Count: TryFrom<u64> {
    /// What errors call it: `u32`.
    const NAME: &str;
}

impl Count for u32 {
    const NAME: &str = "u32";
}

impl Count for u64 {
    const NAME: &str = "u64";
}

struct CountVisitor<T>(PhantomData<T>);

impl<T: Count> Visitor<'_> for CountVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::NAME)
    }

    fn visit_u64<E: de::Error>(self, count: u64) -> Result<T, E> {
        T::try_from(count).map_err(|_| E::invalid_value(de::Unexpected::Unsigned(count), &self))
    }

    fn visit_i64<E: de::Error>(self, count: i64) -> Result<T, E> {
        let counted = u64::try_from(count).ok().and_then(|count| T::try_from(count).ok());
        counted.ok_or_else(|| E::invalid_value(de::Unexpected::Signed(count), &self))
    }

    fn visit_f64<E: de::Error>(self, count: f64) -> Result<T, E> {
        let counted = whole(count).and_then(|count| T::try_from(count).ok());
        counted.ok_or_else(|| E::invalid_type(de::Unexpected::Float(count), &self))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        let counted = quantity::count(text).map_err(|problem| E::custom(format!("\"{text}\": {problem}")))?;
        self.visit_u64(counted)
    }
}

/// Reads a share of a whole: a number, or text that is one or a percentage.
pub fn share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    deserializer.deserialize_any(ShareVisitor)
}

/// A share of a whole, from text.
pub fn parse_share(text: &str) -> Result<f64, String> {
    quantity::share(text)
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
        quantity::share(text).map_err(|_| E::invalid_value(de::Unexpected::Str(text), &self))
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(BytesVisitor(quantity::size))
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

/// A number of things, in words: `1 header line`, `3 header lines`.
pub fn several(count: u64, kind: &str) -> String {
    format!("{count} {kind}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn an_error_names_the_key_and_the_value() {
        let error = parse_bytes("span", "4KB").expect_err("KB").to_string();
        assert!(error.starts_with("span = \"4KB\": KB is a power of 1024 to some"), "{error}");
        let error = parse_duration("gap", "5").expect_err("no unit").to_string();
        assert!(error.starts_with("gap = \"5\": a duration needs its unit"), "{error}");
    }

    #[test]
    fn a_count_may_be_text_or_have_an_exponent() {
        #[derive(Debug, Deserialize)]
        struct Counts {
            #[serde(default, deserialize_with = "optional_count")]
            count: Option<u32>,
        }
        let read = |text: &str| serde_json::from_str::<Counts>(&format!("{{{text}}}")).map(|counts| counts.count);
        for (text, count) in [("", None), (r#""count": "10k""#, Some(10_000)), (r#""count": 1e6"#, Some(1_000_000))] {
            assert_eq!(read(text).expect(text), count);
        }
        for (text, part) in [
            (r#""count": 1.5"#, "expected u32"),
            (r#""count": -1"#, "expected u32"),
            (r#""count": 5000000000"#, "expected u32"),
            (r#""count": "10KiB""#, "10k"),
            (r#""count": "5G""#, "expected u32"),
        ] {
            let error = read(text).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
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
