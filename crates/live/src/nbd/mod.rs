//! The NBD protocol, as far as a server needs it: fixed newstyle negotiation, structured replies,
//! block status.
//!
//! Nothing here knows sockets, threads or devices: the negotiation reads from any reader and writes
//! to any writer, requests are parsed and checked against an [`Export`], replies are encoded into
//! buffers. Whatever a client sends is answered or ends the connection; nothing that it says
//! decides how much memory is taken beyond [`MAX_PAYLOAD_BYTES`].
//!
//! Source: the protocol's own document, `doc/proto.md` of the NBD project.

mod handshake;
mod reply;
mod request;

pub use handshake::{
    Agreed, BASE_ALLOCATION, Ended, Export, MAX_PAYLOAD_BYTES, Outcome, Refusal, Security, greet, negotiate,
};
pub use reply::{Errno, Extent, Reply, encode};
pub use request::{Command, Header, Refused, check};
