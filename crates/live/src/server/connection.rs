//! One client: a thread that reads its requests and one that writes its replies.
//!
//! The reader negotiates, parses and checks requests, takes their payloads and hands them to the
//! engine. It touches no device. It may stand still at any byte, because the client does or because
//! the client's share is used up; nobody waits for it, and if the client is to blame its time is
//! limited.

use std::io::{self, BufRead, BufReader, IoSlice, Read, Write};
use std::sync::Arc;

use bytes::{Bytes, BytesMut};

use super::client::Connection;
use super::engine_lock::EngineLock;
use super::queue::{ClientRequest, Of, Task};
use super::shared::{ClientReservation, Shared};
use super::socket::{Socket, precise_timers};
use super::stream::Line;
use crate::nbd::{self, Agreed, Command, Ended, Header, MAX_PAYLOAD_BYTES, Outcome, Reply, Security};

/// Bytes read from a socket at once: several requests, or a few with their data.
const READ_AHEAD_BYTES: usize = 256 << 10;
/// Buffers that the operating system takes at once.
const MOST_SLICES: usize = 1024;

/// Serves a client to its end. Runs in a thread of its own.
pub(crate) fn serve(socket: &Arc<Socket>, engine: &EngineLock) {
    let shared = engine.shared();
    socket.read_within(Some(shared.limits.handshake));
    // A client that leaves while it negotiates, or says nonsense, costs nobody anything.
    let Ok((line, agreed, place)) = negotiate(socket, shared) else { return };
    socket.read_within(None);
    socket.becomes_client();
    let connection = Arc::new(Connection::new(line));
    if !shared.enter(&connection, place) {
        return;
    }
    let writer = {
        let (connection, shared) = (Arc::clone(&connection), Arc::clone(shared));
        std::thread::Builder::new().name("nbd writer".into()).spawn(move || write_replies(&connection, &shared))
    };
    if let Ok(writer) = writer {
        // Its end, good or bad, is the end of the client.
        let _ = read_requests(&connection, agreed, engine);
        connection.outbox.end();
        // A panic there has ended this connection, which is all that could be done about it.
        let _ = writer.join();
    }
    connection.close();
    shared.leave(&connection);
}

fn negotiate<'a>(socket: &Arc<Socket>, shared: &'a Shared) -> Result<(Line, Agreed, ClientReservation<'a>), Ended> {
    let mut place = None;
    let mut admit = || shared.reserve(socket).map(|reserved| place = Some(reserved));
    let plain = &mut &**socket;
    let no_zeroes = nbd::greet(&mut &**socket, plain)?;
    let security = if shared.tls.is_some() { Security::TlsRequired } else { Security::Plain };
    let outcome = nbd::negotiate(&mut &**socket, plain, &shared.export, security, no_zeroes, &mut admit)?;
    let (line, outcome) = match (outcome, &shared.tls) {
        (Outcome::StartTls, Some(tls)) => {
            let line = Line::encrypted(Arc::clone(socket), tls, &shared.limits)?;
            let security = Security::Encrypted;
            let outcome = nbd::negotiate(&mut &line, &mut &line, &shared.export, security, no_zeroes, &mut admit)?;
            (line, outcome)
        }
        (outcome, _) => (Line::plain(Arc::clone(socket)), outcome),
    };
    match (outcome, place) {
        (Outcome::Transmission(agreed), Some(place)) => Ok((line, agreed, place)),
        (Outcome::Transmission(_) | Outcome::StartTls, _) => Err(Ended::Confused("it wanted TLS where there is none")),
    }
}

fn read_requests(connection: &Arc<Connection>, agreed: Agreed, engine: &EngineLock) -> io::Result<()> {
    let reader = BufReader::with_capacity(READ_AHEAD_BYTES, &connection.line);
    let mut requests = Requests { reader, connection, engine, shared: engine.shared(), is_unserved: false };
    let result = requests.take_all(agreed);
    requests.serve();
    result
}

/// What a client sends. Between two requests it may be silent for as long as it likes; once one has
/// begun, it must come whole within its time.
///
/// Before it waits for the client, what has come is served.
struct Requests<'a> {
    reader: BufReader<&'a Line>,
    connection: &'a Arc<Connection>,
    engine: &'a EngineLock,
    shared: &'a Shared,
    /// Whether this thread has requests to serve.
    is_unserved: bool,
}

impl Requests<'_> {
    fn take_all(&mut self, agreed: Agreed) -> io::Result<()> {
        while let Some(header) = self.header()? {
            let arrived = self.shared.clock();
            let checked = nbd::check(&header, &self.shared.export, agreed);
            if checked == Ok(Command::Disconnect) {
                return Ok(());
            }
            let weight = match checked {
                Ok(Command::Read { .. } | Command::Write { .. }) => header.length as usize,
                _ => 0,
            };
            if !self.admit(weight) {
                return Ok(());
            }
            let data = match checked {
                Ok(_) => self.payload(&header),
                Err(_) => self.skip_payload(&header).map(|()| Bytes::new()),
            };
            // Nobody will ever reply to half a request.
            let data = data.inspect_err(|_| self.connection.outbox.withdraw(weight))?;
            match checked {
                Ok(command) => {
                    let connection = Arc::clone(self.connection);
                    let request = ClientRequest::new(connection, agreed, command, &header, data, arrived, weight);
                    self.is_unserved |= self.engine.hand_over(Task::Serve(Box::new(request)));
                }
                Err(refused) => {
                    self.connection.answer(Reply::Error(refused.errno, refused.why.into()), &header, weight, agreed);
                }
            }
        }
        Ok(())
    }

    /// Serves what has come.
    fn serve(&mut self) {
        if std::mem::take(&mut self.is_unserved) {
            let client = Of(Arc::clone(self.connection));
            self.engine.run_here(|turns| turns.has(&client));
        }
    }

    /// Waits until a request of this many bytes may begin; false when the connection is closed.
    fn admit(&mut self, bytes: usize) -> bool {
        let outbox = &self.connection.outbox;
        // Waiting for replies to what nobody serves would never end.
        outbox.admit_at_once(bytes) || {
            self.serve();
            outbox.admit(bytes)
        }
    }

    /// The next request; none when the client has left between two.
    fn header(&mut self) -> io::Result<Option<Header>> {
        if self.reader.buffer().len() < Header::BYTES {
            self.serve();
        }
        while self.reader.buffer().is_empty() {
            match self.reader.fill_buf() {
                Ok([]) => return Ok(None),
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
        }
        self.within(Header::BYTES as u64, |reader| Header::read(reader))
    }

    fn payload(&mut self, header: &Header) -> io::Result<Bytes> {
        let length = header.payload_bytes();
        debug_assert!(length <= MAX_PAYLOAD_BYTES, "checked requests are bounded");
        if let Some(here) = self.reader.buffer().get(..length as usize) {
            let data = Bytes::copy_from_slice(here);
            self.reader.consume(length as usize);
            return Ok(data);
        }
        let mut data = BytesMut::zeroed(length as usize);
        self.within(length.into(), |reader| reader.read_exact(&mut data))?;
        Ok(data.freeze())
    }

    fn skip_payload(&mut self, header: &Header) -> io::Result<()> {
        let length = header.payload_bytes().into();
        let skipped = self.within(length, |reader| io::copy(&mut reader.take(length), &mut io::sink()))?;
        if skipped == length { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }

    /// Reads this many bytes. If they have not come yet, the client has only so long to send them.
    fn within<T>(&mut self, bytes: u64, read: impl FnOnce(&mut BufReader<&Line>) -> io::Result<T>) -> io::Result<T> {
        if self.reader.buffer().len() as u64 >= bytes {
            return read(&mut self.reader);
        }
        self.serve();
        let socket = self.reader.get_ref().socket();
        socket.read_within(Some(self.shared.limits.transfer_of(bytes)));
        let result = read(&mut self.reader);
        socket.read_within(None);
        result
    }
}

fn write_replies(connection: &Connection, shared: &Shared) {
    precise_timers();
    let socket = connection.line.socket();
    while let Some(mut parcel) = connection.outbox.take() {
        socket.write_within(Some(shared.limits.transfer_of(parcel.bytes())));
        let written = write_all(&connection.line, parcel.buffers.make_contiguous());
        socket.write_within(None);
        if written.is_err() {
            return connection.close();
        }
        shared.left(&parcel.due);
        connection.outbox.sent(&parcel);
    }
}

fn write_all(mut line: &Line, buffers: &[Bytes]) -> io::Result<()> {
    for some in buffers.chunks(MOST_SLICES) {
        let mut slices: Vec<_> = some.iter().map(|buffer| IoSlice::new(buffer)).collect();
        let mut slices = &mut slices[..];
        IoSlice::advance_slices(&mut slices, 0);
        while !slices.is_empty() {
            match line.write_vectored(slices) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => IoSlice::advance_slices(&mut slices, written),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
    line.flush()
}
