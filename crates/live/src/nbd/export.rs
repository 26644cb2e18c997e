//! What a client is offered: the one device, and the names under which it may be opened.
//!
//! The name of an export says what a client's data are: NBD has no field for hints, so a client
//! that has some opens a connection for each, under a name such as `stream=2` or
//! `stream=2,temperature=7,file_type=1`. The empty name says nothing.

use ftl::Hint;

/// The most bytes that one request carries or asks for: what clients assume when nobody told them.
pub const MAX_PAYLOAD_BYTES: u32 = 32 << 20;

/// The id of the one metadata context, `base:allocation`.
pub const BASE_ALLOCATION: u32 = 1;

/// What is offered: one device, under the empty name or one that says a hint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// Size of the device.
    pub bytes: u64,
    /// Bytes of a page: requests of whole pages are served best.
    pub page_bytes: u32,
    /// Whether writes are refused.
    pub is_read_only: bool,
    /// Text that clients show to people.
    pub description: String,
}

impl Export {
    /// What it can do, as transmission flags.
    pub fn flags(&self) -> u16 {
        const HAS_FLAGS: u16 = 1;
        const READ_ONLY: u16 = 1 << 1;
        const SEND_FLUSH: u16 = 1 << 2;
        const SEND_FUA: u16 = 1 << 3;
        const SEND_TRIM: u16 = 1 << 5;
        const SEND_WRITE_ZEROES: u16 = 1 << 6;
        const SEND_DF: u16 = 1 << 7;
        // One thread serves all connections in one order, so a flush on one covers what was
        // acknowledged on any.
        const CAN_MULTI_CONN: u16 = 1 << 8;
        const SEND_CACHE: u16 = 1 << 10;
        let common = HAS_FLAGS | SEND_FLUSH | SEND_FUA | SEND_DF | CAN_MULTI_CONN | SEND_CACHE;
        common | if self.is_read_only { READ_ONLY } else { SEND_TRIM | SEND_WRITE_ZEROES }
    }
}

/// What every refusal of a name says.
pub(super) const KNOWN: &[u8] =
    b"there is one export: without a name, or named by hints from 0 to 255, for example stream=2 or stream=2,temperature=7,file_type=1";

/// The hint that an export's name says; none for a name that is not one.
pub(super) fn hint(name: &[u8]) -> Option<Hint> {
    if name.is_empty() {
        return Some(Hint::NONE);
    }
    let (mut stream, mut temperature, mut file_type) = (0, 0, 0);
    let mut seen = Vec::new();
    for word in std::str::from_utf8(name).ok()?.split(',') {
        let (key, value) = word.split_once('=')?;
        let field = match key {
            "stream" => &mut stream,
            "temperature" => &mut temperature,
            "file_type" => &mut file_type,
            _ => return None,
        };
        *field = value.parse().ok()?;
        if seen.contains(&key) {
            return None;
        }
        seen.push(key);
    }
    Some(Hint::new(stream, temperature, file_type))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_a_hint_or_is_unknown() {
        assert_eq!(hint(b""), Some(Hint::NONE));
        assert_eq!(hint(b"stream=2"), Some(Hint::of_stream(2)));
        let all = Hint::new(255, 7, 1);
        assert_eq!(hint(b"file_type=1,stream=255,temperature=7"), Some(all));
        for wrong in [
            &b"hot"[..],
            b"stream",
            b"stream=",
            b"stream=256",
            b"stream=-1",
            b"stream=1,stream=2",
            b"stream=1,",
            b"\xFF",
        ] {
            assert_eq!(hint(wrong), None, "{wrong:?}");
        }
    }
}
