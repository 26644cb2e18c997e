//! Replies: simple ones, and structured ones for clients that agreed to them.

use bytes::{Bytes, BytesMut};

use super::handshake::{Agreed, BASE_ALLOCATION};

const SIMPLE_MAGIC: u32 = 0x6744_6698;
const STRUCTURED_MAGIC: u32 = 0x668e_33ef;
const DONE: u16 = 1;

mod chunk {
    pub(super) const NONE: u16 = 0;
    pub(super) const DATA: u16 = 1;
    pub(super) const HOLE: u16 = 2;
    pub(super) const BLOCK_STATUS: u16 = 5;
    pub(super) const ERROR: u16 = 1 << 15 | 1;
}

/// A run that reads as zeros is a hole.
const HOLE_AND_ZERO: u32 = 3;

/// What zeros are sent from, in pieces.
static ZEROS: [u8; 65_536] = [0; 65_536];

/// An error as clients know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Errno {
    /// EPERM: the device is read-only.
    NotPermitted = 1,
    /// EIO: the device failed.
    Io = 5,
    /// EINVAL: the request is malformed or out of range.
    Invalid = 22,
    /// ENOSPC: a write goes past the end of the device.
    NoSpace = 28,
    /// ESHUTDOWN: the device has no power.
    Shutdown = 108,
}

/// Neighbouring bytes of a read's reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Data, in pieces.
    Data(Vec<Bytes>),
    /// This many bytes that read as zeros.
    Hole(u32),
}

impl Extent {
    fn len(&self) -> usize {
        match self {
            Self::Data(pieces) => pieces.iter().map(Bytes::len).sum(),
            Self::Hole(length) => *length as usize,
        }
    }

    fn append_to(self, out: &mut Vec<Bytes>) {
        match self {
            Self::Data(pieces) => out.extend(pieces),
            Self::Hole(length) => {
                let mut left = length as usize;
                while left > 0 {
                    let piece = left.min(ZEROS.len());
                    out.push(Bytes::from_static(&ZEROS[..piece]));
                    left -= piece;
                }
            }
        }
    }
}

/// What a client is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The request was done; there is no payload.
    Done,
    /// What was read, from this offset on.
    Read {
        /// The first byte that was read.
        offset: u64,
        /// In order, without gaps.
        extents: Vec<Extent>,
        /// Whether one chunk is to hold it all.
        in_one_piece: bool,
    },
    /// Runs of (bytes, whether they read as zeros).
    Status(Vec<(u32, bool)>),
    /// It was not done.
    Error(Errno, String),
}

/// The bytes of a reply, as buffers to be sent one after the other.
pub fn encode(reply: Reply, cookie: u64, agreed: Agreed, out: &mut Vec<Bytes>) {
    match reply {
        Reply::Read { offset, extents, in_one_piece } if agreed.structured => {
            encode_read(offset, extents, in_one_piece, cookie, out);
        }
        Reply::Read { extents, .. } => {
            out.push(simple(0, cookie));
            for extent in extents {
                extent.append_to(out);
            }
        }
        Reply::Status(runs) => {
            let mut payload = BytesMut::with_capacity(4 + 8 * runs.len());
            payload.extend(BASE_ALLOCATION.to_be_bytes());
            for (length, is_hole) in runs {
                payload.extend(length.to_be_bytes());
                payload.extend(if is_hole { HOLE_AND_ZERO } else { 0 }.to_be_bytes());
            }
            out.push(structured(DONE, chunk::BLOCK_STATUS, cookie, &payload, 0));
        }
        Reply::Error(errno, why) if agreed.structured => {
            let mut payload = BytesMut::with_capacity(6 + why.len());
            payload.extend((errno as u32).to_be_bytes());
            // The protocol's strings end at 4096 bytes; ours are sentences.
            let why = &why.as_bytes()[..why.len().min(1024)];
            payload.extend((why.len() as u16).to_be_bytes());
            payload.extend(why);
            out.push(structured(DONE, chunk::ERROR, cookie, &payload, 0));
        }
        Reply::Error(errno, _) => out.push(simple(errno as u32, cookie)),
        Reply::Done => out.push(simple(0, cookie)),
    }
}

fn encode_read(offset: u64, extents: Vec<Extent>, in_one_piece: bool, cookie: u64, out: &mut Vec<Bytes>) {
    if extents.is_empty() {
        return out.push(structured(DONE, chunk::NONE, cookie, &[], 0));
    }
    if in_one_piece {
        let length: usize = extents.iter().map(Extent::len).sum();
        out.push(structured(DONE, chunk::DATA, cookie, &offset.to_be_bytes(), length));
        for extent in extents {
            extent.append_to(out);
        }
        return;
    }
    let last = extents.len() - 1;
    let mut at = offset;
    for (i, extent) in extents.into_iter().enumerate() {
        let (flags, length) = (if i == last { DONE } else { 0 }, extent.len());
        if let Extent::Hole(bytes) = extent {
            let payload = [&at.to_be_bytes()[..], &bytes.to_be_bytes()].concat();
            out.push(structured(flags, chunk::HOLE, cookie, &payload, 0));
        } else {
            out.push(structured(flags, chunk::DATA, cookie, &at.to_be_bytes(), length));
            extent.append_to(out);
        }
        at += length as u64;
    }
}

fn simple(errno: u32, cookie: u64) -> Bytes {
    let mut bytes = BytesMut::with_capacity(16);
    bytes.extend(SIMPLE_MAGIC.to_be_bytes());
    bytes.extend(errno.to_be_bytes());
    bytes.extend(cookie.to_be_bytes());
    bytes.freeze()
}

/// A chunk whose payload goes on for this many bytes after `payload`.
fn structured(flags: u16, kind: u16, cookie: u64, payload: &[u8], more: usize) -> Bytes {
    let mut bytes = BytesMut::with_capacity(20 + payload.len());
    bytes.extend(STRUCTURED_MAGIC.to_be_bytes());
    bytes.extend(flags.to_be_bytes());
    bytes.extend(kind.to_be_bytes());
    bytes.extend(cookie.to_be_bytes());
    bytes.extend(((payload.len() + more) as u32).to_be_bytes());
    bytes.extend(payload);
    bytes.freeze()
}

#[cfg(test)]
mod tests {
    use ftl::Hint;

    use super::*;

    const STRUCTURED: Agreed = Agreed { structured: true, base_allocation: true, hint: Hint::NONE };

    fn encoded(reply: Reply, agreed: Agreed) -> Vec<u8> {
        let mut out = Vec::new();
        encode(reply, 0x0102, agreed, &mut out);
        out.concat()
    }

    fn read(in_one_piece: bool) -> Reply {
        let data = |text: &'static [u8]| Extent::Data(vec![Bytes::from_static(text)]);
        Reply::Read { offset: 16, extents: vec![data(b"ab"), Extent::Hole(3), data(b"c")], in_one_piece }
    }

    #[test]
    fn a_simple_read_is_sixteen_bytes_and_the_data() {
        let bytes = encoded(read(true), Agreed::default());
        assert_eq!(bytes[..16], [0x67, 0x44, 0x66, 0x98, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2]);
        assert_eq!(bytes[16..], *b"ab\0\0\0c");
        assert_eq!(encoded(Reply::Error(Errno::NoSpace, "full".into()), Agreed::default())[4..8], 28_u32.to_be_bytes());
    }

    #[test]
    fn a_structured_read_tells_data_from_holes_and_ends_with_done() {
        let bytes = encoded(read(false), STRUCTURED);
        let (first, rest) = bytes.split_at(20 + 8 + 2);
        assert_eq!(first[..8], [0x66, 0x8e, 0x33, 0xef, 0, 0, 0, 1]);
        assert_eq!(
            (&first[16..20], &first[20..28], &first[28..]),
            (&[0, 0, 0, 10][..], &16_u64.to_be_bytes()[..], &b"ab"[..])
        );
        let (hole, last) = rest.split_at(20 + 12);
        assert_eq!((hole[7], &hole[20..28], &hole[28..]), (2, &18_u64.to_be_bytes()[..], &3_u32.to_be_bytes()[..]));
        assert_eq!((last[5], last[7], &last[20..28], last[28]), (1, 1, &21_u64.to_be_bytes()[..], b'c'));
        let whole = encoded(read(true), STRUCTURED);
        assert_eq!((whole[5], &whole[16..20], &whole[28..]), (1, &[0, 0, 0, 14][..], &b"ab\0\0\0c"[..]));
    }

    #[test]
    fn errors_and_status_are_single_chunks() {
        let error = encoded(Reply::Error(Errno::Io, "lost".into()), STRUCTURED);
        assert_eq!(
            (&error[4..8], &error[20..24], &error[26..]),
            (&[0, 1, 0x80, 1][..], &5_u32.to_be_bytes()[..], &b"lost"[..])
        );
        let status = encoded(Reply::Status(vec![(4096, true), (8192, false)]), STRUCTURED);
        assert_eq!(status[20..], [1_u32, 4096, 3, 8192, 0].map(u32::to_be_bytes).concat());
    }
}
