//! Requests: 28 bytes each, a payload behind those of writes.

use std::io::{self, Read};

use ftl::HostOp;

use super::handshake::{Agreed, Export, MAX_PAYLOAD_BYTES};
use super::reply::Errno;

const MAGIC: u32 = 0x2560_9513;

mod flag {
    pub(super) const FUA: u16 = 1;
    pub(super) const NO_HOLE: u16 = 2;
    pub(super) const DF: u16 = 4;
    pub(super) const REQ_ONE: u16 = 8;
}

mod kind {
    pub(super) const READ: u16 = 0;
    pub(super) const WRITE: u16 = 1;
    pub(super) const DISC: u16 = 2;
    pub(super) const FLUSH: u16 = 3;
    pub(super) const TRIM: u16 = 4;
    pub(super) const CACHE: u16 = 5;
    pub(super) const WRITE_ZEROES: u16 = 6;
    pub(super) const BLOCK_STATUS: u16 = 7;
}

/// A request as it came, unchecked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    flags: u16,
    kind: u16,
    /// What the reply is known by.
    pub cookie: u64,
    /// The first byte on the device.
    pub offset: u64,
    /// How many bytes.
    pub length: u32,
}

/// A request that can be served: it lies on the device and asks for nothing that was not offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Read; in one piece if asked.
    Read {
        /// Whether the reply must be one chunk.
        in_one_piece: bool,
    },
    /// Write; with FUA, what was written is on the disk before the reply.
    Write {
        /// Force unit access.
        fua: bool,
    },
    /// The client leaves.
    Disconnect,
    /// Everything acknowledged reaches the disk.
    Flush,
    /// Forgets bytes.
    Trim {
        /// Force unit access.
        fua: bool,
    },
    /// A read whose data nobody wants.
    Cache,
    /// Make it read as zeros.
    WriteZeroes {
        /// Force unit access.
        fua: bool,
        /// Whether trims will do.
        may_leave_holes: bool,
    },
    /// What reads as zeros.
    BlockStatus {
        /// Whether one run is enough.
        one_run: bool,
    },
}

impl Command {
    /// What it asks of the drive; nothing for a command that a drive has no part in. Zeros are a
    /// trim where trims will do, and else a write.
    pub fn host_op(self) -> Option<HostOp> {
        match self {
            Self::Read { .. } => Some(HostOp::Read),
            Self::Write { .. } | Self::WriteZeroes { may_leave_holes: false, .. } => Some(HostOp::Write),
            Self::Trim { .. } | Self::WriteZeroes { .. } => Some(HostOp::Trim),
            Self::Flush => Some(HostOp::Flush),
            Self::Cache | Self::BlockStatus { .. } | Self::Disconnect => None,
        }
    }

    /// Data that come with a request of this many bytes.
    pub(crate) fn bytes_brought(self, length: u32) -> u32 {
        if matches!(self, Self::Write { .. }) { length } else { 0 }
    }

    /// Data that go back for a request of this many bytes.
    pub(crate) fn bytes_returned(self, length: u32) -> u32 {
        if matches!(self, Self::Read { .. }) { length } else { 0 }
    }
}

/// A request that cannot be served, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// What the client is told.
    pub errno: Errno,
    /// The reason, for the client's log.
    pub why: &'static str,
}

impl Header {
    /// Bytes of a request without its payload.
    pub const BYTES: usize = 28;

    /// Reads a request; none when the client has left between two. A wrong magic number is an error
    /// of kind *invalid data*, as nobody knows where the next request would begin.
    pub fn read(reader: &mut impl Read) -> io::Result<Option<Self>> {
        let mut bytes = [0; Self::BYTES];
        let mut length = 0;
        while length < bytes.len() {
            match reader.read(&mut bytes[length..]) {
                Ok(0) if length == 0 => return Ok(None),
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(more) => length += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Self::parse(&bytes).map(Some).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    fn parse(bytes: &[u8; Self::BYTES]) -> Option<Self> {
        let half = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        let word = |at: usize| u32::from(half(at)) << 16 | u32::from(half(at + 2));
        let double = |at: usize| u64::from(word(at)) << 32 | u64::from(word(at + 4));
        (word(0) == MAGIC).then(|| Self {
            flags: half(4),
            kind: half(6),
            cookie: double(8),
            offset: double(16),
            length: word(24),
        })
    }

    /// Bytes that follow the request, whether it can be served or not.
    pub fn payload_bytes(&self) -> u32 {
        if self.kind == kind::WRITE { self.length } else { 0 }
    }
}

/// Checks a request against what is offered and was agreed.
pub fn check(header: &Header, export: &Export, agreed: Agreed) -> Result<Command, Refused> {
    let has = |flag| header.flags & flag != 0;
    let fua = has(flag::FUA);
    let (command, allowed) = match header.kind {
        kind::READ => (Command::Read { in_one_piece: has(flag::DF) || !agreed.structured }, flag::FUA | flag::DF),
        kind::WRITE => (Command::Write { fua }, flag::FUA),
        kind::DISC => return Ok(Command::Disconnect),
        kind::FLUSH => (Command::Flush, flag::FUA),
        kind::TRIM => (Command::Trim { fua }, flag::FUA),
        kind::CACHE => (Command::Cache, flag::FUA),
        kind::WRITE_ZEROES => {
            (Command::WriteZeroes { fua, may_leave_holes: !has(flag::NO_HOLE) }, flag::FUA | flag::NO_HOLE)
        }
        kind::BLOCK_STATUS => (Command::BlockStatus { one_run: has(flag::REQ_ONE) }, flag::FUA | flag::REQ_ONE),
        _ => return refuse(Errno::Invalid, "there is no such command"),
    };
    if header.flags & !allowed != 0 {
        return refuse(Errno::Invalid, "the command has no such flag");
    }
    if command == Command::Flush {
        return Ok(command);
    }
    check_range(header, command, export)?;
    match command {
        Command::Write { .. } | Command::Trim { .. } | Command::WriteZeroes { .. } if export.is_read_only => {
            refuse(Errno::NotPermitted, "the device is read-only")
        }
        Command::BlockStatus { .. } if !agreed.base_allocation => {
            refuse(Errno::Invalid, "block status needs a context, and none was agreed on")
        }
        Command::BlockStatus { .. } if header.length == 0 => refuse(Errno::Invalid, "block status of no bytes"),
        Command::Read { in_one_piece: true } if has(flag::DF) && !agreed.structured => {
            refuse(Errno::Invalid, "DF needs structured replies, and they were not agreed on")
        }
        _ => Ok(command),
    }
}

fn check_range(header: &Header, command: Command, export: &Export) -> Result<(), Refused> {
    let writes = matches!(command, Command::Write { .. } | Command::WriteZeroes { .. });
    let end = header.offset.checked_add(header.length.into());
    if end.is_none_or(|end| end > export.bytes) {
        let errno = if writes { Errno::NoSpace } else { Errno::Invalid };
        return Err(Refused { errno, why: "the range does not lie on the device" });
    }
    let carries = matches!(command, Command::Write { .. } | Command::Read { .. });
    if carries && header.length > MAX_PAYLOAD_BYTES {
        return Err(Refused { errno: Errno::Invalid, why: "more bytes than a request may have" });
    }
    Ok(())
}

fn refuse<T>(errno: Errno, why: &'static str) -> Result<T, Refused> {
    Err(Refused { errno, why })
}

#[cfg(test)]
mod tests {
    use ftl::Hint;

    use super::*;

    const ALL: Agreed = Agreed { structured: true, base_allocation: true, hint: Hint::NONE };

    fn export() -> Export {
        Export { bytes: 64 << 20, page_bytes: 4096, is_read_only: false, description: String::new() }
    }

    fn header(flags: u16, kind: u16, offset: u64, length: u32) -> Header {
        Header { flags, kind, cookie: 7, offset, length }
    }

    fn errno(header: Header, export: &Export, agreed: Agreed) -> Errno {
        check(&header, export, agreed).expect_err("refused").errno
    }

    #[test]
    fn a_request_is_read_from_its_bytes() {
        let bytes = [0x25, 0x60, 0x95, 0x13, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0x20, 0];
        let expected = Header { flags: 1, kind: 6, cookie: 0x0102_0304_0506_0708, offset: 65_536, length: 8192 };
        assert_eq!(Header::read(&mut &bytes[..]).expect("whole"), Some(expected));
        assert_eq!(Header::read(&mut &[][..]).expect("left"), None);
        assert_eq!(Header::read(&mut &bytes[..27]).expect_err("half").kind(), io::ErrorKind::UnexpectedEof);
        assert_eq!(Header::read(&mut &[1; 28][..]).expect_err("nonsense").kind(), io::ErrorKind::InvalidData);
        let command = check(&expected, &export(), ALL).expect("fine");
        assert_eq!(command, Command::WriteZeroes { fua: true, may_leave_holes: true });
    }

    #[test]
    fn what_cannot_be_served_is_refused_with_its_reason() {
        let (device, read_only) = (export(), Export { is_read_only: true, ..export() });
        for (request, expected) in [
            (header(0, 0, u64::MAX, 1), Errno::Invalid),
            (header(0, 0, u64::MAX - 3, 4096), Errno::Invalid),
            (header(0, 0, 64 << 20, 1), Errno::Invalid),
            (header(0, 1, 64 << 20, 1), Errno::NoSpace),
            (header(0, 6, (64 << 20) - 1, 2), Errno::NoSpace),
            (header(0, 0, 0, MAX_PAYLOAD_BYTES + 1), Errno::Invalid),
            (header(0, 99, 0, 1), Errno::Invalid),
            (header(0x8000, 0, 0, 1), Errno::Invalid),
            (header(flag::NO_HOLE, 1, 0, 1), Errno::Invalid),
            (header(0, 7, 0, 0), Errno::Invalid),
        ] {
            assert_eq!(errno(request, &device, ALL), expected, "{request:?}");
        }
        assert_eq!(errno(header(0, 7, 0, 1), &device, Agreed::default()), Errno::Invalid);
        assert_eq!(errno(header(flag::DF, 0, 0, 1), &device, Agreed::default()), Errno::Invalid);
        for kind in [1, 4, 6] {
            assert_eq!(errno(header(0, kind, 0, 1), &read_only, ALL), Errno::NotPermitted);
        }
    }

    #[test]
    fn long_trims_and_the_end_of_the_device_are_fine() {
        let large = Export { bytes: 1 << 40, ..export() };
        assert!(check(&header(0, 4, 0, u32::MAX), &large, ALL).is_ok());
        assert!(check(&header(0, 0, (64 << 20) - 1, 1), &export(), ALL).is_ok());
        assert!(check(&header(0, 3, u64::MAX, u32::MAX), &export(), ALL).is_ok(), "a flush has no range");
    }
}
