//! The NBD protocol, as far as a server needs it: fixed newstyle negotiation, structured replies, block status.
//!
//! Nothing here knows sockets, threads or devices: the negotiation reads from any reader and writes to any writer, requests are
//! parsed and checked against an [`Export`], replies are encoded into buffers. Whatever a client sends is answered or ends the
//! connection; nothing that it says decides how much memory is taken beyond [`MAX_PAYLOAD_BYTES`].
//!
//! Source: the protocol's own document, `doc/proto.md` of the NBD project.

mod export_name;
mod handshake;
mod reply;
mod request;

pub use handshake::{Agreed, Ended, Outcome, Refusal, Security, greet, negotiate};
pub use reply::{Errno, Extent, Reply, encode};
pub use request::{Command, Header, Refused, check};

/// The most bytes that one request carries or asks for: what clients assume when nobody told them.
pub const MAX_PAYLOAD_BYTES: u32 = 32 << 20;

/// The id of the one metadata context, `base:allocation`.
pub const BASE_ALLOCATION: u32 = 1;

/// What is offered: one device, under the empty name or one that says a hint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// Bytes.
    pub bytes: u64,
    /// Bytes of a page: requests of whole pages are served best.
    pub page_bytes: u32,
    /// Whether writes are refused.
    pub is_read_only: bool,
    /// For people.
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
        // One thread serves all connections in one order, so a flush on one covers what was acknowledged on any.
        const CAN_MULTI_CONN: u16 = 1 << 8;
        const SEND_CACHE: u16 = 1 << 10;
        let common = HAS_FLAGS | SEND_FLUSH | SEND_FUA | SEND_DF | CAN_MULTI_CONN | SEND_CACHE;
        common | if self.is_read_only { READ_ONLY } else { SEND_TRIM | SEND_WRITE_ZEROES }
    }
}
