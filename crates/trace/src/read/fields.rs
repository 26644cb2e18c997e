//! A line, field by field, and the numbers in its fields.
//!
//! Numbers come out of bytes without going through text: whole, hexadecimal, and decimal times in
//! whole nanoseconds. A sign is never accepted: nothing in a trace is negative, and a negative
//! number read as a large one is how addresses come to be folded. Overflow is an error, not a wrap.

use super::source::Fault;
use crate::format::TimeUnit;
use crate::units::SECTOR;

/// The fields of a line, one after the other. No walk over them allocates.
pub(super) trait Walk<'a> {
    /// The next field; none at the end of the line.
    fn next_if_any(&mut self) -> Option<&'a [u8]>;

    /// The rest of the line; none behind the last field.
    fn left(&self) -> Option<&'a [u8]>;

    /// The next field if it is digits straight up to its end, which is nearly always: they are read
    /// in the one pass.
    fn digits(&mut self) -> Option<u64>;

    /// The next field, for which errors call it `name`.
    #[inline]
    fn next(&mut self, name: &str) -> Result<&'a [u8], Fault> {
        self.next_if_any().ok_or_else(|| Fault::missing(name))
    }

    /// The next field as a whole number.
    #[inline]
    fn whole(&mut self, name: &str) -> Result<u64, Fault> {
        match self.digits() {
            Some(value) => Ok(value),
            None => self.read(name, whole),
        }
    }

    /// The next field as a hexadecimal number.
    #[inline]
    fn hex(&mut self, name: &str) -> Result<u64, Fault> {
        self.read(name, hex)
    }

    /// The next field as a time, in nanoseconds.
    #[inline]
    fn time(&mut self, name: &str, unit: TimeUnit) -> Result<u64, Fault> {
        self.read(name, |field| time(field, unit))
    }

    /// The next field as it is written, which must be a whole number.
    #[inline]
    fn numeral(&mut self, name: &str) -> Result<&'a [u8], Fault> {
        let field = self.next(name)?;
        whole(field).map_err(|expected| Fault::field(name, field, expected))?;
        Ok(field)
    }

    /// The next field as `read` understands it.
    #[inline]
    fn read<T>(&mut self, name: &str, read: impl Fn(&[u8]) -> Result<T, Expected>) -> Result<T, Fault> {
        let field = self.next(name)?;
        read(field).map_err(|expected| Fault::field(name, field, expected))
    }

    /// Refuses a line with more than `count` fields.
    #[inline]
    fn end(&mut self, count: usize) -> Result<(), Fault> {
        match self.left() {
            None => Ok(()),
            Some(left) => Err(goes_on(count, left)),
        }
    }
}

/// What is wrong with a line that has more than `count` fields.
#[cold]
pub(super) fn goes_on(count: usize, left: &[u8]) -> Fault {
    Fault::new(format!("the line goes on after its {count} fields with {}", crate::error::excerpt(left)))
}

/// Walks a line whose fields a sign separates. Blanks around a field do not belong to it.
pub(super) struct Separated<'a> {
    rest: Option<&'a [u8]>,
    sign: u8,
}

impl<'a> Separated<'a> {
    /// The fields of `line` between signs.
    pub(super) fn new(line: &'a [u8], sign: u8) -> Self {
        Self { rest: Some(line), sign }
    }

    /// The fields of `line` between commas.
    pub(super) fn by_commas(line: &'a [u8]) -> Self {
        Self::new(line, b',')
    }

    /// All that is left, signs included.
    #[inline]
    pub(super) fn rest(&mut self, name: &str) -> Result<&'a [u8], Fault> {
        self.rest.take().ok_or_else(|| Fault::missing(name))
    }
}

impl<'a> Walk<'a> for Separated<'a> {
    #[inline]
    fn next_if_any(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest?;
        // Fields are a few bytes long: a plain loop beats a vectorised search here.
        let end = rest.iter().position(|&byte| byte == self.sign);
        self.rest = end.map(|end| &rest[end + 1..]);
        Some(trim(&rest[..end.unwrap_or(rest.len())]))
    }

    #[inline]
    fn left(&self) -> Option<&'a [u8]> {
        self.rest
    }

    #[inline]
    fn digits(&mut self) -> Option<u64> {
        let rest = self.rest?;
        let (value, count) = digits(rest)?;
        (*rest.get(count)? == self.sign).then(|| {
            self.rest = Some(&rest[count + 1..]);
            value
        })
    }
}

/// Walks a line whose fields are separated by spaces and tabs.
pub(super) struct Blanks<'a> {
    rest: &'a [u8],
}

impl<'a> Blanks<'a> {
    /// The fields of `line`.
    pub(super) fn new(line: &'a [u8]) -> Self {
        Self { rest: line }
    }

    #[inline]
    fn skip(&mut self) {
        let start = self.rest.iter().position(|&byte| !is_blank(byte)).unwrap_or(self.rest.len());
        self.rest = &self.rest[start..];
    }

    /// The last fields of the line, and how many there are: of more than fit the last of them.
    pub(super) fn last<const MOST: usize>(mut self) -> ([&'a [u8]; MOST], usize) {
        let (mut last, mut count) = ([&b""[..]; MOST], 0);
        while let Some(field) = self.next_if_any() {
            last.rotate_left(1);
            last[MOST - 1] = field;
            count += 1;
        }
        (last, count)
    }

    /// All that is left.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

impl<'a> Walk<'a> for Blanks<'a> {
    #[inline]
    fn next_if_any(&mut self) -> Option<&'a [u8]> {
        self.skip();
        let end = self.rest.iter().position(|&byte| is_blank(byte)).unwrap_or(self.rest.len());
        let (field, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!field.is_empty()).then_some(field)
    }

    /// The next field alone.
    #[inline]
    fn left(&self) -> Option<&'a [u8]> {
        Self::new(self.rest).next_if_any()
    }

    #[inline]
    fn digits(&mut self) -> Option<u64> {
        self.skip();
        let (value, count) = digits(self.rest)?;
        self.rest.get(count).is_none_or(|&byte| is_blank(byte)).then(|| {
            self.rest = &self.rest[count..];
            value
        })
    }
}

/// `field` without the blanks around it.
#[inline]
pub(super) fn trim(field: &[u8]) -> &[u8] {
    let start = field.iter().position(|&byte| !is_blank(byte)).unwrap_or(field.len());
    let end = field.iter().rposition(|&byte| !is_blank(byte)).map_or(start, |last| last + 1);
    &field[start..end]
}

#[inline]
pub(super) fn is_blank(byte: u8) -> bool {
    byte.is_ascii_whitespace()
}

/// 512-byte sectors in bytes, for `field`.
#[inline]
pub(super) fn sectors(field: &str, count: u64) -> Result<u64, Fault> {
    scaled(field, count, SECTOR)
}

/// Offset and length in bytes of a range of sectors; none if it is empty, wherever it begins.
pub(super) fn extent(sector: u64, count: u64) -> Result<Option<(u64, u64)>, Fault> {
    if count == 0 {
        return Ok(None);
    }
    Ok(Some((sectors("the sector", sector)?, sectors("the size", count)?)))
}

/// This many units of bytes in bytes, for `field`.
#[inline]
pub(super) fn scaled(field: &str, count: u64, unit: u64) -> Result<u64, Fault> {
    count.checked_mul(unit).ok_or_else(|| {
        let units = if unit == SECTOR { "sectors" } else { "units" };
        Fault::new(format!("{field} is {count} {units} of {unit} bytes, which is beyond 2^64-1 bytes"))
    })
}

/// This many units of time in nanoseconds, for `field`.
#[inline]
pub(super) fn ticks(field: &str, count: u64, unit: TimeUnit) -> Result<u64, Fault> {
    let beyond = || Fault::new(format!("{field} is {count} {unit}, which is beyond 2^64-1 nanoseconds"));
    count.checked_mul(unit.ns()).ok_or_else(beyond)
}

const WHOLE: &str = "a whole number from 0 to 18446744073709551615";
const HEX: &str = "a hexadecimal number from 0 to ffffffffffffffff";
const DECIMAL: &str = "a decimal number from 0 to 2^64-1 nanoseconds";

const CLOCK: &str = "a number: times of a clock and dates are not read, so write them as seconds first";

const BELOW_NS: &str = "whole nanoseconds; name the unit of the times (--time-unit s, or time:s in --columns)";

/// What was expected where something else was found.
pub(super) type Expected = &'static str;

/// How many digits cannot overflow.
const SAFE_DIGITS: usize = 19;

/// Digits up to the first other byte: their value and how many there are. None if there is none or
/// they overflow.
#[inline]
pub(super) fn digits(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0_u64;
    let mut count = 0;
    for &byte in bytes.iter().take(SAFE_DIGITS) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = value * 10 + u64::from(digit);
        count += 1;
    }
    match count {
        0 => None,
        SAFE_DIGITS => more_digits(bytes, value),
        _ => Some((value, count)),
    }
}

/// The digits behind the first [`SAFE_DIGITS`], checked for overflow.
#[cold]
fn more_digits(bytes: &[u8], mut value: u64) -> Option<(u64, usize)> {
    let mut count = SAFE_DIGITS;
    while let Some(digit) = bytes.get(count).map(|byte| byte.wrapping_sub(b'0')).filter(|&digit| digit <= 9) {
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
        count += 1;
    }
    Some((value, count))
}

/// All of `bytes` as a whole number.
#[inline]
pub(super) fn whole(bytes: &[u8]) -> Result<u64, Expected> {
    match digits(bytes) {
        Some((value, count)) if count == bytes.len() => Ok(value),
        _ => Err(WHOLE),
    }
}

/// All of `bytes` as a hexadecimal number, with or without `0x`.
#[inline]
pub(super) fn hex(bytes: &[u8]) -> Result<u64, Expected> {
    let digits = bytes.strip_prefix(b"0x").or_else(|| bytes.strip_prefix(b"0X")).unwrap_or(bytes);
    if digits.is_empty() {
        return Err(HEX);
    }
    let mut value = 0_u64;
    for &byte in digits {
        let digit = (byte as char).to_digit(16).ok_or(HEX)?;
        value = value.checked_mul(16).ok_or(HEX)? | u64::from(digit);
    }
    Ok(value)
}

/// All of `bytes` as a time counted in `unit`, in nanoseconds. A fraction finer than a nanosecond
/// is rounded; one of a nanosecond tells that the unit is another.
#[inline]
pub(super) fn time(bytes: &[u8], unit: TimeUnit) -> Result<u64, Expected> {
    let (value, count) = digits(bytes).ok_or(DECIMAL)?;
    if matches!(bytes.get(count), Some(b':' | b'-')) {
        return Err(CLOCK);
    }
    let whole_ns = value.checked_mul(unit.ns());
    match bytes.get(count) {
        None => whole_ns.ok_or(DECIMAL),
        Some(b'.') => {
            let fraction = &bytes[count + 1..];
            if fraction.iter().all(u8::is_ascii_digit) {
                let is_finer =
                    |time_ns| (time_ns == 0 || unit == TimeUnit::Ns) && fraction.iter().any(|&digit| digit != b'0');
                let time_ns = whole_ns.and_then(|ns| ns.checked_add(fraction_ns(fraction, unit))).ok_or(DECIMAL)?;
                if is_finer(time_ns) { Err(BELOW_NS) } else { Ok(time_ns) }
            } else {
                scientific(bytes, unit)
            }
        }
        Some(_) => scientific(bytes, unit),
    }
}

/// The digits after the point, in nanoseconds. Digits beyond the eighteenth are below a nanosecond
/// in every unit.
fn fraction_ns(fraction: &[u8], unit: TimeUnit) -> u64 {
    let significant = &fraction[..fraction.len().min(18)];
    let Some((value, count)) = digits(significant) else { return 0 };
    let scale = 10_u128.pow(count as u32);
    let ns = (u128::from(value) * u128::from(unit.ns()) + scale / 2) / scale;
    ns as u64 // at most one unit, which is 10⁹ ns at most
}

/// `5.2e-05` and the like, which scripts print for small times.
#[cold]
fn scientific(bytes: &[u8], unit: TimeUnit) -> Result<u64, Expected> {
    let is_number = bytes.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
    let value: f64 =
        std::str::from_utf8(bytes).ok().filter(|_| is_number).and_then(|text| text.parse().ok()).ok_or(DECIMAL)?;
    let ns = (value * unit.ns() as f64).round();
    // 2^64 is exact in an f64, so this admits precisely what the cast keeps.
    if (0.0..18_446_744_073_709_551_616.0).contains(&ns) { Ok(ns as u64) } else { Err(DECIMAL) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_split_trim_and_say_what_is_missing() {
        let mut fields = Separated::by_commas(b"12, 34 ,,x");
        assert_eq!(fields.whole("a"), Ok(12));
        assert_eq!(fields.whole("b"), Ok(34));
        assert_eq!(fields.next("c"), Ok(&b""[..]));
        assert_eq!(fields.end(3).unwrap_err().problem, "the line goes on after its 3 fields with `x`");
        assert_eq!(fields.whole("the size").unwrap_err().problem.split(';').next(), Some("the size is `x`"));
        assert_eq!(fields.end(4), Ok(()));
        assert_eq!(fields.next("the type").unwrap_err().problem, "the record ends before the type");
    }

    #[test]
    fn blanks_split_on_any_run_of_spaces_and_tabs() {
        let mut fields = Blanks::new(b"  7\t\t8  0x1f 1.5 ");
        assert_eq!((fields.whole("a"), fields.whole("b"), fields.hex("c")), (Ok(7), Ok(8), Ok(31)));
        assert_eq!(fields.time("d", TimeUnit::Us), Ok(1500));
        assert_eq!(fields.end(4), Ok(()));
        assert!(fields.next("e").is_err());
        assert!(Blanks::new(b"12a").whole("a").is_err());
    }

    #[test]
    fn sectors_do_not_overflow() {
        assert_eq!(sectors("the block", 8), Ok(4096));
        assert!(sectors("the block", u64::MAX / 512 + 1).unwrap_err().problem.contains("2^64-1"));
    }

    #[test]
    fn whole_numbers_reach_the_limit_and_stop_there() {
        assert_eq!(whole(b"0"), Ok(0));
        assert_eq!(whole(b"00012"), Ok(12));
        assert_eq!(whole(b"18446744073709551615"), Ok(u64::MAX));
        for bad in ["", "-1", "+1", "18446744073709551616", "99999999999999999999999", "1.5", "0x10", "1 ", "abc"] {
            assert_eq!(whole(bad.as_bytes()), Err(WHOLE), "{bad}");
        }
    }

    #[test]
    fn hexadecimal_numbers_with_and_without_prefix() {
        assert_eq!(hex(b"2a"), Ok(0x2a));
        assert_eq!(hex(b"0x00000001fE"), Ok(0x1fe));
        assert_eq!(hex(b"ffffffffffffffff"), Ok(u64::MAX));
        for bad in ["", "0x", "10000000000000000", "-1", "g"] {
            assert_eq!(hex(bad.as_bytes()), Err(HEX), "{bad}");
        }
    }

    #[test]
    fn decimal_times_are_exact() {
        assert_eq!(time(b"13.191135", TimeUnit::Ms), Ok(13_191_135));
        assert_eq!(time(b"0.000011950", TimeUnit::S), Ok(11_950));
        assert_eq!(time(b"1455592511.002033000", TimeUnit::S), Ok(1_455_592_511_002_033_000));
        assert_eq!(time(b"128166385295514663", TimeUnit::HundredNs), Ok(12_816_638_529_551_466_300));
        assert_eq!(time(b"5.", TimeUnit::Us), Ok(5000));
        assert_eq!(time(b"0.99999999999999999999999", TimeUnit::S), Ok(1_000_000_000));
        assert_eq!(time(b"1.2344", TimeUnit::Us), Ok(1234));
        assert_eq!(time(b"1.2345", TimeUnit::Us), Ok(1235));
    }

    #[test]
    fn times_in_scientific_notation_are_understood() {
        assert_eq!(time(b"5.2e-05", TimeUnit::S), Ok(52_000));
        assert_eq!(time(b"1e3", TimeUnit::Us), Ok(1_000_000));
    }

    #[test]
    fn times_below_a_nanosecond_are_refused_and_those_of_printed_fractions_are_not() {
        for (text, unit) in [("0.0001", TimeUnit::Ns), ("938513000.5", TimeUnit::Ns), ("0.0000000001", TimeUnit::S)] {
            assert_eq!(time(text.as_bytes(), unit), Err(BELOW_NS), "{text}");
        }
        for (text, unit, ns) in
            [("938513000.0", TimeUnit::Ns, 938_513_000), ("0.026214000000000003", TimeUnit::S, 26_214_000)]
        {
            assert_eq!(time(text.as_bytes(), unit), Ok(ns), "{text}");
        }
    }

    #[test]
    fn impossible_times_are_refused() {
        for bad in ["", ".5", "-0.5", "1.2.3", "1e30", "1e-", "inf", "nan", "1,5", "18446744074", "1x", "1e3e3", "1 2"]
        {
            assert_eq!(time(bad.as_bytes(), TimeUnit::S), Err(DECIMAL), "{bad}");
        }
    }
}
