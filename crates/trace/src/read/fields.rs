//! A line, field by field: between commas, or between blanks.

use super::fault::Fault;
use super::number;
use crate::format::TimeUnit;

/// Walks a comma-separated line. Blanks around a field do not belong to it.
pub(super) struct Commas<'a> {
    rest: Option<&'a [u8]>,
}

impl<'a> Commas<'a> {
    /// The fields of `line`.
    pub(super) fn new(line: &'a [u8]) -> Self {
        Self { rest: Some(line) }
    }

    /// The next field, for which errors call it `name`.
    #[inline]
    pub(super) fn next(&mut self, name: &str) -> Result<&'a [u8], Fault> {
        let rest = self.rest.ok_or_else(|| Fault::missing(name))?;
        // Fields are a few bytes long: a plain loop beats a vectorised search here.
        let end = rest.iter().position(|&byte| byte == b',');
        let field = if let Some(end) = end {
            self.rest = Some(&rest[end + 1..]);
            &rest[..end]
        } else {
            self.rest = None;
            rest
        };
        Ok(trim(field))
    }

    /// The next field as a whole number.
    #[inline]
    pub(super) fn whole(&mut self, name: &str) -> Result<u64, Fault> {
        // Digits straight up to the comma, which is nearly always, are read in the one pass.
        if let Some(rest) = self.rest
            && let Some((value, count)) = number::digits(rest)
            && rest.get(count) == Some(&b',')
        {
            self.rest = Some(&rest[count + 1..]);
            return Ok(value);
        }
        let field = self.next(name)?;
        number::whole(field).map_err(|expected| Fault::field(name, field, expected))
    }

    /// The next two fields as they stand, comma included, neither of them empty.
    #[inline]
    pub(super) fn pair(&mut self, first: &str, second: &str) -> Result<&'a [u8], Fault> {
        let rest = self.rest.unwrap_or_default();
        let parts = [self.next(first)?, self.next(second)?];
        for (name, part) in [first, second].into_iter().zip(parts) {
            if part.is_empty() {
                return Err(Fault::field(name, part, "a name or number"));
            }
        }
        let left = self.rest.map_or(0, |rest| rest.len() + 1);
        Ok(&rest[..rest.len() - left])
    }

    /// All that is left, commas included.
    #[inline]
    pub(super) fn rest(&mut self, name: &str) -> Result<&'a [u8], Fault> {
        self.rest.take().ok_or_else(|| Fault::missing(name))
    }

    /// The next field as a hexadecimal number.
    pub(super) fn hex(&mut self, name: &str) -> Result<u64, Fault> {
        let field = self.next(name)?;
        number::hex(field).map_err(|expected| Fault::field(name, field, expected))
    }

    /// The next field as a time, in nanoseconds.
    #[inline]
    pub(super) fn time(&mut self, name: &str, unit: TimeUnit) -> Result<u64, Fault> {
        let field = self.next(name)?;
        number::time(field, unit).map_err(|expected| Fault::field(name, field, expected))
    }

    /// Refuses a line with more than `count` fields.
    #[inline]
    pub(super) fn end(&self, count: usize) -> Result<(), Fault> {
        match self.rest {
            None => Ok(()),
            Some(rest) => Err(Fault::new(format!(
                "the line goes on after its {count} fields with {}",
                crate::error::excerpt(rest)
            ))),
        }
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

    /// The next field; none at the end of the line.
    #[inline]
    pub(super) fn next_if_any(&mut self) -> Option<&'a [u8]> {
        self.skip();
        let end = self.rest.iter().position(|&byte| is_blank(byte)).unwrap_or(self.rest.len());
        let (field, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!field.is_empty()).then_some(field)
    }

    /// The next field, for which errors call it `name`.
    #[inline]
    pub(super) fn next(&mut self, name: &str) -> Result<&'a [u8], Fault> {
        self.next_if_any().ok_or_else(|| Fault::missing(name))
    }

    /// The next field as a whole number.
    #[inline]
    pub(super) fn whole(&mut self, name: &str) -> Result<u64, Fault> {
        self.skip();
        if let Some((value, count)) = number::digits(self.rest)
            && self.rest.get(count).is_none_or(|&byte| is_blank(byte))
        {
            self.rest = &self.rest[count..];
            return Ok(value);
        }
        let field = self.next(name)?;
        number::whole(field).map_err(|expected| Fault::field(name, field, expected))
    }

    /// The next field as a hexadecimal number.
    #[inline]
    pub(super) fn hex(&mut self, name: &str) -> Result<u64, Fault> {
        let field = self.next(name)?;
        number::hex(field).map_err(|expected| Fault::field(name, field, expected))
    }

    /// The next field as a time, in nanoseconds.
    #[inline]
    pub(super) fn time(&mut self, name: &str, unit: TimeUnit) -> Result<u64, Fault> {
        let field = self.next(name)?;
        number::time(field, unit).map_err(|expected| Fault::field(name, field, expected))
    }

    /// Refuses a line with more than `count` fields.
    #[inline]
    pub(super) fn end(&mut self, count: usize) -> Result<(), Fault> {
        match self.next_if_any() {
            None => Ok(()),
            Some(field) => Err(Fault::new(format!(
                "the line goes on after its {count} fields with {}",
                crate::error::excerpt(field)
            ))),
        }
    }
}

/// `field` without the blanks around it.
#[inline]
pub(super) fn trim(mut field: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = field
        && is_blank(*first)
    {
        field = rest;
    }
    while let [rest @ .., last] = field
        && is_blank(*last)
    {
        field = rest;
    }
    field
}

#[inline]
fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// 512-byte sectors in bytes, for `field`.
#[inline]
pub(super) fn sectors(field: &str, count: u64) -> Result<u64, Fault> {
    count
        .checked_mul(512)
        .ok_or_else(|| Fault::new(format!("{field} is {count} sectors of 512 bytes, which is beyond 2^64-1 bytes")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_split_trim_and_say_what_is_missing() {
        let mut fields = Commas::new(b"12, 34 ,,x");
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
}
