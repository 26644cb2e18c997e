//! What a reader hands on, and the checks that every record passes whatever its format.

use std::collections::BTreeMap;

use host::{Hint, HostOp};

use crate::error::{TraceError, TracePosition, excerpt};
use crate::record::Record;

/// The longest latency that is subtracted from the time of a completion.
const LONGEST_LATENCY_NS: u64 = 3_600_000_000_000;

/// A request as a trace states it, not yet checked. Its time is absolute, and that of its arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Raw {
    pub(crate) time_ns: u64,
    pub(crate) op: HostOp,
    pub(crate) offset: u64,
    pub(crate) length: u64,
    pub(crate) device: u32,
    pub(crate) hint: Hint,
    /// What was subtracted from the time of a completion.
    pub(crate) latency_ns: u64,
}

impl Raw {
    /// A request without a hint.
    #[inline]
    pub(crate) const fn new(time_ns: u64, op: HostOp, offset: u64, length: u64, device: u32) -> Self {
        Self { time_ns, op, offset, length, device, hint: Hint::NONE, latency_ns: 0 }
    }

    /// The request with its arrival, where its time is that of its completion. All arrivals move on
    /// by the longest latency, so that none lies before time 0.
    pub(crate) fn arriving(self, latency_ns: u64) -> Result<Self, Fault> {
        let early_ns = LONGEST_LATENCY_NS.checked_sub(latency_ns).ok_or_else(|| {
            Fault::new(format!(
                "the latency is {} s, but one request takes an hour at most",
                latency_ns / 1_000_000_000
            ))
        })?;
        Ok(Self { time_ns: self.time_ns.saturating_add(early_ns), latency_ns, ..self })
    }

    /// A flush, which has no address.
    pub(crate) const fn flush(time_ns: u64, device: u32) -> Self {
        Self::new(time_ns, HostOp::Flush, 0, 0, device)
    }

    /// A flush in the place of the request.
    pub(crate) const fn as_flush(self) -> Self {
        Self { op: HostOp::Flush, offset: 0, length: 0, ..self }
    }

    /// The record, its address moved up by `shift` bytes, if it is one that can be.
    #[inline]
    pub(crate) fn check(self, shift: u64) -> Result<Record, Fault> {
        let Self { time_ns, op, device, hint, .. } = self;
        if op == HostOp::Flush {
            return Ok(Record { time_ns, op, offset: 0, length: 0, device, hint });
        }
        if self.length == 0 {
            return Err(Fault::new("the size is 0, but a read, write or trim has at least one byte"));
        }
        let Ok(length) = u32::try_from(self.length) else {
            return Err(Fault::new(format!(
                "the size is {} bytes, but one request has at most {} bytes",
                self.length,
                u32::MAX
            )));
        };
        match self.offset.checked_add(shift).filter(|offset| offset.checked_add(self.length).is_some()) {
            Some(offset) => Ok(Record { time_ns, op, offset, length, device, hint }),
            None => Err(Fault::new(format!(
                "the request ends beyond 2^64-1 bytes (offset {} + size {length}{})",
                self.offset,
                if shift > 0 { format!(" + shift {shift}") } else { String::new() }
            ))),
        }
    }
}

/// Records skipped while reading.
#[derive(Clone, Debug, Default)]
pub(crate) struct LeftOut {
    /// Records that could not be used and were skipped because the user said so.
    pub(crate) bad: u64,
    /// Rows that do not meet the user's conditions.
    pub(crate) unmet: u64,
    /// Lines or records that the format provides for and that are no requests, by kind: the name
    /// of one, to which an `s` is added for several.
    other: Vec<(&'static str, u64)>,
}

impl LeftOut {
    /// Counts one more of `kind`.
    #[inline]
    pub(crate) fn count(&mut self, kind: &'static str) {
        match self.other.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, count)) => *count += 1,
            None => self.other.push((kind, 1)),
        }
    }

    /// Adds what another reader left out.
    pub(crate) fn add(&mut self, other: &Self) {
        self.bad += other.bad;
        self.unmet += other.unmet;
        for &(kind, count) in &other.other {
            match self.other.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, sum)) => *sum += count,
                None => self.other.push((kind, count)),
            }
        }
    }

    /// The counts by kind.
    pub(crate) fn other(&self) -> BTreeMap<String, u64> {
        self.other.iter().map(|&(kind, count)| (kind.to_owned(), count)).collect()
    }
}

/// An opened trace of any format, in the order of the file, times absolute.
pub(crate) trait Source: Send {
    /// The next request; none after the last.
    fn next(&mut self) -> Result<Option<Record>, TraceError>;

    /// What was subtracted from the completion of the request last handed out, nanoseconds.
    fn latency_ns(&self) -> u64 {
        0
    }

    /// The devices named so far.
    fn devices(&self) -> &[String];

    /// Records skipped so far.
    fn left_out(&self) -> LeftOut;

    /// What the user says of values that no row has had so far: clauses.
    fn unmatched(&self) -> Vec<String> {
        Vec::new()
    }

    /// Where the request last handed out is, and how it reads.
    fn place(&self) -> (TracePosition, String);

    /// Why there may have been no request, starting with punctuation.
    fn remark(&self) -> Option<String> {
        None
    }
}

/// What is wrong with a record, in the words of an error sentence, before it is known which record
/// it was. Made only when something is wrong, so that a good record costs no
/// allocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// "the offset is `abc`, but …": a clause without a full stop.
    pub(crate) problem: String,
}

impl Fault {
    /// `field` reads `found`, which is not what was `expected`.
    #[cold]
    pub(crate) fn field(field: &str, found: &[u8], expected: &str) -> Self {
        if found.is_empty() {
            Self { problem: format!("{field} is empty; expected {expected}") }
        } else {
            Self { problem: format!("{field} is {}; expected {expected}", excerpt(found)) }
        }
    }

    /// The record ends before `field`.
    #[cold]
    pub(crate) fn missing(field: &str) -> Self {
        Self { problem: format!("the record ends before {field}") }
    }

    /// Any other clause.
    #[cold]
    pub(crate) fn new(problem: impl Into<String>) -> Self {
        Self { problem: problem.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(offset: u64, length: u64, shift: u64) -> Result<Record, String> {
        Raw::new(0, HostOp::Write, offset, length, 0).check(shift).map_err(|fault| fault.problem)
    }

    #[test]
    fn the_end_of_a_request_is_at_most_the_end_of_the_address_space() {
        assert!(check(u64::MAX - 512, 512, 0).is_ok());
        assert!(check(u64::MAX - 511, 512, 0).unwrap_err().contains("beyond 2^64-1"));
        assert!(check(u64::MAX - 512, 512, 1).unwrap_err().contains("shift 1"));
        assert_eq!(check(4096, 512, 512).unwrap().offset, 4608);
    }

    #[test]
    fn sizes_are_neither_zero_nor_beyond_32_bits() {
        assert!(check(0, 0, 0).unwrap_err().contains("size is 0"));
        assert!(check(0, 1 << 32, 0).unwrap_err().contains("at most 4294967295"));
        assert!(check(0, u64::from(u32::MAX), 0).is_ok());
        assert!(Raw::flush(5, 0).check(512).is_ok());
    }
}
