//! One client: a thread that reads its requests and one that writes its replies.
//!
//! The reader negotiates, parses and checks requests, takes their payloads and hands them to the engine. It touches no device.
//! It may stand still at any byte, because the client does or because the client's share is used up; nobody waits for it.

use std::io::{self, BufReader, IoSlice, Read, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::{Bytes, BytesMut};

use super::engine::{Request, Task};
use super::line::Line;
use super::outbox::{Outbox, Outgoing};
use super::shared::Shared;
use super::socket::Socket;
use crate::nbd::{self, Agreed, Command, Ended, Errno, Header, MAX_PAYLOAD_BYTES, Outcome, Reply, Security};

/// How long a client may take to negotiate.
const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes read from a socket at once: several requests, or a few with their data.
const READ_AHEAD_BYTES: usize = 256 << 10;
/// Buffers that the operating system takes at once.
const MOST_SLICES: usize = 1024;

/// What the engine and the server know of a connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) outbox: Outbox,
    is_gone: AtomicBool,
    line: Line,
}

impl Connection {
    /// Sends the client away, whatever is under way.
    pub(crate) fn close(&self) {
        self.is_gone.store(true, Ordering::SeqCst);
        self.outbox.close();
        self.line.shutdown(Shutdown::Both);
    }

    /// Whether the client is gone or was sent away. What it asked for before is not to be done any more: after a power cut it
    /// would come as from nowhere.
    pub(crate) fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::SeqCst)
    }

    /// Takes no more requests; replies still leave.
    pub(crate) fn stop_reading(&self) {
        self.line.shutdown(Shutdown::Read);
    }

    /// Replies are ready: they are sent at once, if that takes no time, or left to the writer.
    pub(crate) fn deliver(&self, replies: Vec<Outgoing>) {
        let Some(mut parcel) = self.outbox.deliver(replies) else { return };
        let slices: Vec<_> = parcel.buffers.iter().map(|buffer| IoSlice::new(buffer)).collect();
        // An error is the writer's to find again.
        let sent = self.line.send_at_once(&slices).unwrap_or(0);
        parcel.advance(sent);
        if parcel.buffers.is_empty() {
            self.outbox.sent(&parcel);
        } else {
            self.outbox.leave(parcel);
        }
    }

    fn answer(&self, reply: Reply, header: &Header, weight: usize, agreed: Agreed) {
        let mut buffers = Vec::with_capacity(1);
        nbd::encode(reply, header.cookie, agreed, &mut buffers);
        self.deliver(vec![Outgoing { due: None, buffers, weight }]);
    }
}

/// Serves a client to its end. Runs in a thread of its own.
pub(crate) fn serve(socket: Socket, shared: &Arc<Shared>) {
    if socket.set_timeout(Some(PATIENCE)).is_err() {
        return;
    }
    // A client that leaves while it negotiates, or says nonsense, costs nobody anything.
    let Ok((line, agreed)) = negotiate(socket, shared) else { return };
    if line.set_timeout(None).is_err() {
        return;
    }
    let connection = Arc::new(Connection { outbox: Outbox::default(), is_gone: AtomicBool::new(false), line });
    if !shared.enter(&connection) {
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

fn negotiate(socket: Socket, shared: &Shared) -> Result<(Line, Agreed), Ended> {
    let no_zeroes = nbd::greet(&mut &socket, &mut &socket)?;
    let security = if shared.tls.is_some() { Security::TlsRequired } else { Security::Plain };
    let outcome = nbd::negotiate(&mut &socket, &mut &socket, &shared.export, security, no_zeroes)?;
    match (outcome, &shared.tls) {
        (Outcome::Transmission(agreed), _) => Ok((Line::plain(socket), agreed)),
        (Outcome::StartTls, None) => Err(Ended::Confused("it wanted TLS without certificates")),
        (Outcome::StartTls, Some(tls)) => {
            let line = Line::encrypted(socket, tls)?;
            let outcome = nbd::negotiate(&mut &line, &mut &line, &shared.export, Security::Encrypted, no_zeroes)?;
            match outcome {
                Outcome::Transmission(agreed) => Ok((line, agreed)),
                Outcome::StartTls => Err(Ended::Confused("it wanted TLS twice")),
            }
        }
    }
}

fn read_requests(connection: &Arc<Connection>, agreed: Agreed, shared: &Shared) -> io::Result<()> {
    let mut reader = BufReader::with_capacity(READ_AHEAD_BYTES, &connection.line);
    while let Some(header) = Header::read(&mut reader)? {
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
        match checked {
            Ok(command) => {
                let data = payload(&mut reader, &header)?;
                let request = Request {
                    connection: Arc::clone(connection),
                    agreed,
                    command,
                    offset: header.offset,
                    length: header.length,
                    cookie: header.cookie,
                    data,
                    arrived,
                    weight,
                };
                shared.queue.push(Task::Serve(Box::new(request)));
            }
            Err(refused) => {
                io::copy(&mut (&mut reader).take(header.payload_bytes().into()), &mut io::sink())?;
                connection.answer(Reply::Error(refused.errno, refused.why.into()), &header, weight, agreed);
            }
        }
    }
    Ok(())
}

fn payload(reader: &mut impl Read, header: &Header) -> io::Result<Bytes> {
    let length = header.payload_bytes();
    debug_assert!(length <= MAX_PAYLOAD_BYTES, "checked requests are bounded");
    let mut data = BytesMut::zeroed(length as usize);
    reader.read_exact(&mut data)?;
    Ok(data.freeze())
}

fn write_replies(connection: &Connection, shared: &Shared) {
    super::precise_timers();
    while let Some(mut parcel) = connection.outbox.take() {
        if write_all(&connection.line, parcel.buffers.make_contiguous()).is_err() {
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
