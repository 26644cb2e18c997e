//! Words of the kernel for a request: `[F] operation [F] A S M …`, as in `FWFSM`.
//!
//! An F in front asks for a flush before the data, one behind the operation for data that are safe
//! when the request ends (FUA). Operations are R, W, D (discard), DE (secure erase), F (flush), Z
//! and a second letter (zones; an append has no address before it ends), N (none of these). A, S, M
//! and all other letters behind the operation are hints; zeroes (WZ) are written like data. A write
//! with a flush in front may have no data: it is the flush alone. (Linux, `blk_fill_rwbs`.)

use host::HostOp;

use super::layout::Parsed;
use super::source::{Fault, Raw};

/// A word, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rwbs {
    /// A flush comes first.
    before: bool,
    op: Operation,
    /// The data are safe when the request ends.
    behind: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    /// Moves or trims data.
    Data(HostOp),
    /// A flush alone.
    Flush,
    /// Nothing that a device without zones does.
    None(&'static str),
}

impl Rwbs {
    pub(super) fn of(word: &[u8]) -> Result<Self, Fault> {
        use Operation::{Data, Flush, None};
        let (before, rest) = match word {
            [b'F', rest @ ..] if rest.first().is_some_and(|letter| b"RWDNZF".contains(letter)) => (true, rest),
            all => (false, all),
        };
        let (op, hints) = match rest {
            [b'R', hints @ ..] => (Data(HostOp::Read), hints),
            [b'W', hints @ ..] => (Data(HostOp::Write), hints),
            [b'D' | b'E', hints @ ..] => (Data(HostOp::Trim), hints),
            [b'F', hints @ ..] => (Flush, hints),
            [b'Z', hints @ ..] => (None("zone command"), hints),
            [b'N', hints @ ..] => (if before { Flush } else { None("empty request") }, hints),
            _ => return Err(Fault::field("the rwbs", word, "letters that start with R, W, D, E, F, Z or N")),
        };
        Ok(Self { before, op, behind: hints.first() == Some(&b'F') })
    }

    /// A write whose data are safe when it ends.
    pub(super) const FUA_WRITE: Self = Self { before: false, op: Operation::Data(HostOp::Write), behind: true };

    /// The requests of a word, at the time of `flush` and of its device; `place` tells offset and
    /// length, and is asked where there are data.
    pub(super) fn requests(
        self,
        flush: Raw,
        place: impl FnOnce() -> Result<Option<(u64, u64)>, Fault>,
    ) -> Result<Parsed, Fault> {
        let op = match self.op {
            Operation::None(kind) => return Ok(Parsed::Other(kind)),
            Operation::Flush => return Ok(Parsed::Request(flush)),
            Operation::Data(op) => op,
        };
        let Some((offset, length)) = place()? else {
            // Without data there is the flush, or the second half of one that has ended.
            return Ok(if self.before { Parsed::Request(flush) } else { Parsed::Other("empty request") });
        };
        let raw = Raw { op, offset, length, ..flush };
        Ok(match (self.before, self.behind && op == HostOp::Write) {
            (false, false) => Parsed::Request(raw),
            (before, behind) => Parsed::Requests([before.then_some(flush), Some(raw), behind.then_some(flush)]),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the kernel writes for each operation, with every set of flags.
    #[test]
    fn word_of_any_flags_gives_flushes_around_its_operation() {
        let operations = [("R", HostOp::Read), ("W", HostOp::Write), ("D", HostOp::Trim), ("DE", HostOp::Trim)];
        for (letter, op) in operations {
            for flags in 0..32_u8 {
                let has = |bit: u8| flags & (1 << bit) != 0;
                let mut word = String::new();
                for (is_set, text) in
                    [(has(0), "F"), (true, letter), (has(1), "F"), (has(2), "A"), (has(3), "S"), (has(4), "M")]
                {
                    word.push_str(if is_set { text } else { "" });
                }
                let found =
                    Rwbs::of(word.as_bytes()).and_then(|rwbs| rwbs.requests(Raw::flush(7, 0), || Ok(Some((512, 512)))));
                let ops: Vec<HostOp> = match found.expect("a word of the kernel") {
                    Parsed::Request(raw) => vec![raw.op],
                    Parsed::Requests(raws) => raws.into_iter().flatten().map(|raw| raw.op).collect(),
                    Parsed::Other(kind) => panic!("{word}: {kind}"),
                };
                let mut expected = vec![op];
                if has(0) {
                    expected.insert(0, HostOp::Flush);
                }
                if has(1) && op == HostOp::Write {
                    expected.push(HostOp::Flush);
                }
                assert_eq!(ops, expected, "{word}");
            }
        }
    }

    #[test]
    fn words_without_data_are_flushes_or_nothing() {
        for (word, expected) in [
            ("FWS", Some(HostOp::Flush)),
            ("FN", Some(HostOp::Flush)),
            ("FF", Some(HostOp::Flush)),
            ("F", Some(HostOp::Flush)),
            ("WS", None),
            ("N", None),
            ("ZRS", None),
            ("ZAS", None),
        ] {
            let found = Rwbs::of(word.as_bytes()).and_then(|rwbs| rwbs.requests(Raw::flush(7, 0), || Ok(None)));
            let op = if let Ok(Parsed::Request(raw)) = found { Some(raw.op) } else { None };
            assert_eq!(op, expected, "{word}");
        }
        assert!(Rwbs::of(b"X").is_err() && Rwbs::of(b"").is_err());
    }
}
