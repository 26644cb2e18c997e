//! Negotiation: what a client is offered (the one device, and the names under which it may be
//! opened), and what it asks for before it may send requests.
//!
//! A client names options until it picks the export. Every option that is not known is answered as
//! such. Bounds: so many options a connection, so many bytes an option; a client that exceeds them
//! loses the connection.
//!
//! The name of an export says what a client's data are: NBD has no field for hints, so a client
//! that has some opens a connection for each, under a name such as `stream=2` or
//! `stream=2,temperature=7,file_type=1`. The empty name says nothing.

#[cfg(test)]
mod tests;

use std::io::{self, Read, Write};

use ftl::Hint;

const NBD_MAGIC: u64 = 0x4e42_444d_4147_4943;
const OPTION_MAGIC: u64 = 0x4948_4156_454F_5054;
const REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;

/// Fixed newstyle, and no padding after `EXPORT_NAME` if the client agrees.
const FIXED_NEWSTYLE: u16 = 1;
const NO_ZEROES: u16 = 2;

/// Options after which a client has had its chance; a thorough one needs a dozen.
const MAX_OPTIONS: u32 = 256;
/// The longest option that is looked at; export names end at 4096 bytes.
const MAX_OPTION_BYTES: u32 = 64 << 10;
/// The longest one that is read over.
const MAX_SKIPPED_BYTES: u32 = 1 << 20;

mod option {
    pub(super) const EXPORT_NAME: u32 = 1;
    pub(super) const ABORT: u32 = 2;
    pub(super) const LIST: u32 = 3;
    pub(super) const STARTTLS: u32 = 5;
    pub(super) const INFO: u32 = 6;
    pub(super) const GO: u32 = 7;
    pub(super) const STRUCTURED_REPLY: u32 = 8;
    pub(super) const LIST_META_CONTEXT: u32 = 9;
    pub(super) const SET_META_CONTEXT: u32 = 10;
}

mod answer {
    pub(super) const ACK: u32 = 1;
    pub(super) const SERVER: u32 = 2;
    pub(super) const INFO: u32 = 3;
    pub(super) const META_CONTEXT: u32 = 4;
    const ERROR: u32 = 1 << 31;
    pub(super) const UNSUPPORTED: u32 = ERROR + 1;
    pub(super) const POLICY: u32 = ERROR + 2;
    pub(super) const INVALID: u32 = ERROR + 3;
    pub(super) const TLS_REQUIRED: u32 = ERROR + 5;
    pub(super) const UNKNOWN: u32 = ERROR + 6;
    pub(super) const SHUTDOWN: u32 = ERROR + 7;
    pub(super) const TOO_BIG: u32 = ERROR + 9;
}

mod info {
    pub(super) const EXPORT: u16 = 0;
    pub(super) const DESCRIPTION: u16 = 2;
    pub(super) const BLOCK_SIZE: u16 = 3;
}

const CONTEXT: &[u8] = b"base:allocation";

/// Whether the line is, or may become, encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Security {
    /// There are no certificates.
    Plain,
    /// There are, so nothing but the switch to TLS is answered.
    TlsRequired,
    /// The line is encrypted.
    Encrypted,
}

/// What the client agreed to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreed {
    /// Replies are structured.
    pub structured: bool,
    /// Block status is asked under `base:allocation`.
    pub base_allocation: bool,
    /// What the client says of all data that it writes, by the name of the export that it picked.
    pub hint: Hint,
}

/// Why a client that asks rightly is not served. It is told so, and may ask again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A rule of this server.
    Policy(String),
    /// The server or the device is shut down.
    ShutDown(String),
}

/// How a negotiation went on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Requests follow.
    Transmission(Agreed),
    /// The client's next bytes are TLS; on the encrypted line the negotiation begins anew.
    StartTls,
}

/// Why there are no requests.
#[derive(Debug)]
pub enum Ended {
    /// The client left, in good order or not.
    Left,
    /// The client said something that cannot be answered.
    Confused(&'static str),
    /// The client is not served, and asked in a way in which it cannot be told.
    Refused(Refusal),
    /// The line broke.
    Broken(io::Error),
}

impl From<io::Error> for Ended {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::UnexpectedEof { Self::Left } else { Self::Broken(error) }
    }
}

/// Greets a client on a fresh line; returns whether it wants no padding. On an encrypted line there
/// is no second greeting.
pub fn greet(reader: &mut impl Read, writer: &mut impl Write) -> Result<bool, Ended> {
    let mut hello = Vec::with_capacity(18);
    hello.extend(NBD_MAGIC.to_be_bytes());
    hello.extend(OPTION_MAGIC.to_be_bytes());
    hello.extend((FIXED_NEWSTYLE | NO_ZEROES).to_be_bytes());
    writer.write_all(&hello)?;
    let flags = read_u32(reader)?;
    if flags & !u32::from(FIXED_NEWSTYLE | NO_ZEROES) != 0 {
        return Err(Ended::Confused("it set handshake flags that were not offered"));
    }
    Ok(flags & u32::from(NO_ZEROES) != 0)
}

/// Answers options until the client picks the export, switches to TLS, or leaves. `admit` is asked
/// when the client wants to go on to requests.
pub fn negotiate(
    reader: &mut impl Read,
    writer: &mut impl Write,
    export: &Export,
    security: Security,
    no_zeroes: bool,
    admit: &mut dyn FnMut() -> Result<(), Refusal>,
) -> Result<Outcome, Ended> {
    let mut session = Session { export, security, no_zeroes, agreed: Agreed::default(), admit };
    for _ in 0..MAX_OPTIONS {
        if read_u64(reader)? != OPTION_MAGIC {
            return Err(Ended::Confused("it sent no option where one was due"));
        }
        let option = read_u32(reader)?;
        let length = read_u32(reader)?;
        if length > MAX_OPTION_BYTES {
            if length > MAX_SKIPPED_BYTES || option == option::EXPORT_NAME {
                return Err(Ended::Confused("it sent an option of absurd length"));
            }
            io::copy(&mut reader.take(length.into()), &mut io::sink())?;
            send(writer, option, answer::TOO_BIG, &[])?;
            continue;
        }
        let mut data = vec![0; length as usize];
        reader.read_exact(&mut data)?;
        if let Some(outcome) = session.answer(writer, option, &data)? {
            return Ok(outcome);
        }
    }
    Err(Ended::Confused("it sent options without end"))
}

struct Session<'a> {
    export: &'a Export,
    security: Security,
    no_zeroes: bool,
    agreed: Agreed,
    admit: &'a mut dyn FnMut() -> Result<(), Refusal>,
}

impl Session<'_> {
    fn answer(&mut self, writer: &mut impl Write, option: u32, data: &[u8]) -> Result<Option<Outcome>, Ended> {
        if self.security == Security::TlsRequired && !matches!(option, option::STARTTLS | option::ABORT) {
            if option == option::EXPORT_NAME {
                return Err(Ended::Confused("it wanted the export without TLS, which is required"));
            }
            send(writer, option, answer::TLS_REQUIRED, b"TLS is required")?;
            return Ok(None);
        }
        match option {
            option::EXPORT_NAME => return self.export_name(writer, data),
            option::ABORT => {
                // The client may have gone already.
                let _ = send(writer, option, answer::ACK, &[]);
                return Err(Ended::Left);
            }
            option::LIST => Self::list(writer, data)?,
            option::STARTTLS => return self.start_tls(writer, data),
            option::INFO | option::GO => return self.info(writer, option, data),
            option::STRUCTURED_REPLY if data.is_empty() => {
                self.agreed.structured = true;
                send(writer, option, answer::ACK, &[])?;
            }
            option::STRUCTURED_REPLY => send(writer, option, answer::INVALID, b"this option has no data")?,
            option::LIST_META_CONTEXT | option::SET_META_CONTEXT => self.contexts(writer, option, data)?,
            _ => send(writer, option, answer::UNSUPPORTED, &[])?,
        }
        Ok(None)
    }

    fn export_name(&mut self, writer: &mut impl Write, name: &[u8]) -> Result<Option<Outcome>, Ended> {
        let Some(hint) = named_hint(name) else {
            return Err(Ended::Confused(
                "it asked for an export that does not exist; there is one, without a name or named by hints",
            ));
        };
        self.agreed.hint = hint;
        // This option knows no reply but the export.
        (self.admit)().map_err(Ended::Refused)?;
        let mut reply = Vec::with_capacity(134);
        reply.extend(self.export.bytes.to_be_bytes());
        reply.extend(self.export.flags().to_be_bytes());
        if !self.no_zeroes {
            reply.extend([0; 124]);
        }
        writer.write_all(&reply)?;
        Ok(Some(Outcome::Transmission(self.agreed)))
    }

    fn list(writer: &mut impl Write, data: &[u8]) -> io::Result<()> {
        if !data.is_empty() {
            return send(writer, option::LIST, answer::INVALID, b"this option has no data");
        }
        send(writer, option::LIST, answer::SERVER, &0_u32.to_be_bytes())?;
        send(writer, option::LIST, answer::ACK, &[])
    }

    fn start_tls(&self, writer: &mut impl Write, data: &[u8]) -> Result<Option<Outcome>, Ended> {
        let refusal: Option<(u32, &[u8])> = match self.security {
            _ if !data.is_empty() => Some((answer::INVALID, b"this option has no data")),
            Security::Plain => Some((answer::POLICY, b"the server has no certificates")),
            Security::Encrypted => Some((answer::INVALID, b"the line is encrypted already")),
            Security::TlsRequired => None,
        };
        if let Some((code, why)) = refusal {
            send(writer, option::STARTTLS, code, why)?;
            return Ok(None);
        }
        send(writer, option::STARTTLS, answer::ACK, &[])?;
        Ok(Some(Outcome::StartTls))
    }

    fn info(&mut self, writer: &mut impl Write, option: u32, data: &[u8]) -> Result<Option<Outcome>, Ended> {
        let Some((name, wanted)) = parse_info(data) else {
            send(writer, option, answer::INVALID, b"the lengths do not add up")?;
            return Ok(None);
        };
        let Some(hint) = named_hint(name) else {
            send(writer, option, answer::UNKNOWN, KNOWN_EXPORTS)?;
            return Ok(None);
        };
        self.agreed.hint = hint;
        if option == option::GO
            && let Err(refusal) = (self.admit)()
        {
            let (code, why) = match refusal {
                Refusal::Policy(why) => (answer::POLICY, why),
                Refusal::ShutDown(why) => (answer::SHUTDOWN, why),
            };
            send(writer, option, code, why.as_bytes())?;
            return Ok(None);
        }
        let mut item = Vec::with_capacity(14);
        item.extend(info::EXPORT.to_be_bytes());
        item.extend(self.export.bytes.to_be_bytes());
        item.extend(self.export.flags().to_be_bytes());
        send(writer, option, answer::INFO, &item)?;
        item.clear();
        item.extend(info::BLOCK_SIZE.to_be_bytes());
        for bytes in [1, self.export.page_bytes.next_power_of_two(), MAX_PAYLOAD_BYTES] {
            item.extend(bytes.to_be_bytes());
        }
        send(writer, option, answer::INFO, &item)?;
        if wanted.contains(&info::DESCRIPTION) {
            item.clear();
            item.extend(info::DESCRIPTION.to_be_bytes());
            item.extend(self.export.description.as_bytes());
            send(writer, option, answer::INFO, &item)?;
        }
        send(writer, option, answer::ACK, &[])?;
        Ok((option == option::GO).then_some(Outcome::Transmission(self.agreed)))
    }

    fn contexts(&mut self, writer: &mut impl Write, option: u32, data: &[u8]) -> io::Result<()> {
        let is_set = option == option::SET_META_CONTEXT;
        if is_set {
            self.agreed.base_allocation = false;
        }
        let Some((name, queries)) = parse_queries(data) else {
            return send(writer, option, answer::INVALID, b"the lengths do not add up");
        };
        if !self.agreed.structured {
            return send(writer, option, answer::INVALID, b"structured replies must be agreed on first");
        }
        if named_hint(name).is_none() {
            return send(writer, option, answer::UNKNOWN, KNOWN_EXPORTS);
        }
        let asks_for_all = !is_set && (queries.is_empty() || queries.contains(&&b"base:"[..]));
        if asks_for_all || queries.contains(&CONTEXT) {
            let id = if is_set { BASE_ALLOCATION } else { 0 };
            send(writer, option, answer::META_CONTEXT, &[&id.to_be_bytes(), CONTEXT].concat())?;
            self.agreed.base_allocation |= is_set;
        }
        send(writer, option, answer::ACK, &[])
    }
}

/// Export name and wanted information types of `INFO` and `GO`.
fn parse_info(data: &[u8]) -> Option<(&[u8], Vec<u16>)> {
    let (name, rest) = counted(data)?;
    let (count, rest) = rest.split_first_chunk::<2>()?;
    let (types, left) = rest.as_chunks::<2>();
    (left.is_empty() && types.len() == usize::from(u16::from_be_bytes(*count)))
        .then(|| (name, types.iter().map(|kind| u16::from_be_bytes(*kind)).collect()))
}

/// Export name and queries of the context options.
fn parse_queries(data: &[u8]) -> Option<(&[u8], Vec<&[u8]>)> {
    let (name, rest) = counted(data)?;
    let (count, mut rest) = rest.split_first_chunk::<4>()?;
    let mut queries = Vec::new();
    for _ in 0..u32::from_be_bytes(*count) {
        let (query, after) = counted(rest)?;
        queries.push(query);
        rest = after;
    }
    rest.is_empty().then_some((name, queries))
}

/// A text behind its length, and what follows.
fn counted(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = data.split_first_chunk::<4>()?;
    rest.split_at_checked(u32::from_be_bytes(*length) as usize)
}

fn send(writer: &mut impl Write, option: u32, kind: u32, data: &[u8]) -> io::Result<()> {
    let mut reply = Vec::with_capacity(20 + data.len());
    reply.extend(REPLY_MAGIC.to_be_bytes());
    reply.extend(option.to_be_bytes());
    reply.extend(kind.to_be_bytes());
    reply.extend((data.len() as u32).to_be_bytes());
    reply.extend(data);
    writer.write_all(&reply)
}

fn read_u32(reader: &mut impl Read) -> io::Result<u32> {
    let mut bytes = [0; 4];
    reader.read_exact(&mut bytes)?;
    Ok(u32::from_be_bytes(bytes))
}

fn read_u64(reader: &mut impl Read) -> io::Result<u64> {
    let mut bytes = [0; 8];
    reader.read_exact(&mut bytes)?;
    Ok(u64::from_be_bytes(bytes))
}

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
const KNOWN_EXPORTS: &[u8] =
    b"there is one export: without a name, or named by hints from 0 to 255, for example stream=2 or stream=2,temperature=7,file_type=1";

/// The hint that an export's name says; none for a name that is not one.
fn named_hint(name: &[u8]) -> Option<Hint> {
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
