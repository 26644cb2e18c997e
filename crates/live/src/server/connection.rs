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
use super::queue::{ClientRequest, Task};
use super::shared::{ClientReservation, Shared};
use super::socket::{Socket, precise_timers};
use super::stream::Line;
use crate::nbd::{self, Agreed, Command, Ended, Errno, Header, MAX_PAYLOAD_BYTES, Outcome, Reply, Security};

/// Bytes read from a socket at once: several requests, or a few with their data.
const READ_AHEAD_BYTES: usize = 256 << 10;
/// Buffers that the operating system takes at once.
const MOST_SLICES: usize = 1024;

/// Serves a client to its end. Runs in a thread of its own.
pub(crate) fn serve(socket: &Arc<Socket>, shared: &Arc<Shared>) {
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
        let _ = read_requests(&connection, agreed, shared);
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

fn read_requests(connection: &Arc<Connection>, agreed: Agreed, shared: &Shared) -> io::Result<()> {
    let mut reader = Requests { reader: BufReader::with_capacity(READ_AHEAD_BYTES, &connection.line), shared };
    while let Some(header) = reader.header()? {
        let arrived = shared.clock();
        let checked = nbd::check(&header, &shared.export, agreed);
        if checked == Ok(Command::Disconnect) {
            return Ok(());
        }
        let weight = match checked {
            Ok(Command::Read { .. } | Command::Write { .. }) => header.length as usize,
            _ => 0,
        };
        if !connection.outbox.admit(weight) {
            return Ok(());
        }
        let data = match checked {
            Ok(_) => reader.payload(&header),
            Err(_) => reader.skip_payload(&header).map(|()| Bytes::new()),
        };
        // Nobody will ever reply to half a request.
        let data = data.inspect_err(|_| connection.outbox.withdraw(weight))?;
        match checked {
            Ok(command) => {
                let connection = Arc::clone(connection);
                let request = ClientRequest::new(connection, agreed, command, &header, data, arrived, weight);
                shared.queue.push(Task::Serve(Box::new(request)));
            }
            Err(refused) => {
                connection.answer(Reply::Error(refused.errno, refused.why.into()), &header, weight, agreed);
            }
        }
    }
    Ok(())
}

/// What a client sends. Between two requests it may be silent for as long as it likes; once one has
/// begun, it must come whole within its time.
struct Requests<'a> {
    reader: BufReader<&'a Line>,
    shared: &'a Shared,
}

impl Requests<'_> {
    /// The next request; none when the client has left between two.
    fn header(&mut self) -> io::Result<Option<Header>> {
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
        let mut data = BytesMut::zeroed(length as usize);
        self.within(length.into(), |reader| reader.read_exact(&mut data))?;
        Ok(data.freeze())
    }

    fn skip_payload(&mut self, header: &Header) -> io::Result<()> {
        let length = header.payload_bytes().into();
        let skipped = self.within(length, |reader| io::copy(&mut reader.take(length), &mut io::sink()))?;
        if skipped == length { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }

    /// Reads so many bytes. If they have not come yet, the client has only so long to send them.
    fn within<T>(&mut self, bytes: u64, read: impl FnOnce(&mut BufReader<&Line>) -> io::Result<T>) -> io::Result<T> {
        if self.reader.buffer().len() as u64 >= bytes {
            return read(&mut self.reader);
        }
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

/// What a client is told of a device that is shut down.
pub(crate) fn shut_down() -> Reply {
    Reply::Error(Errno::Shutdown, "the device has no power".into())
}
