//! A line to a client, encrypted or not, that one thread reads and another writes.

use std::io::{self, IoSlice, Read, Write};
use std::net::Shutdown;
use std::time::Duration;

use super::socket::Socket;
use super::tls::{Certificates, Encrypted};

/// A line to a client.
#[derive(Debug)]
pub(crate) enum Line {
    Plain(Socket),
    Encrypted(Box<Encrypted>),
}

impl Line {
    pub(crate) fn plain(socket: Socket) -> Self {
        Self::Plain(socket)
    }

    /// Shakes hands.
    pub(crate) fn encrypted(socket: Socket, certificates: &Certificates) -> io::Result<Self> {
        Encrypted::accept(socket, certificates).map(|line| Self::Encrypted(Box::new(line)))
    }

    fn socket(&self) -> &Socket {
        match self {
            Self::Plain(socket) => socket,
            Self::Encrypted(line) => line.socket(),
        }
    }

    /// Sends what can be sent without waiting, for anybody or for a cipher.
    pub(crate) fn send_at_once(&self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.send_at_once(buffers),
            Self::Encrypted(_) => Ok(0),
        }
    }

    pub(crate) fn shutdown(&self, how: Shutdown) {
        self.socket().shutdown(how);
    }

    pub(crate) fn set_timeout(&self, limit: Option<Duration>) -> io::Result<()> {
        self.socket().set_timeout(limit)
    }
}

impl Read for &Line {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Line::Plain(socket) => (&*socket).read(buffer),
            Line::Encrypted(line) => line.read(buffer),
        }
    }
}

impl Write for &Line {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(buffer)])
    }

    fn write_vectored(&mut self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Line::Plain(socket) => (&*socket).write_vectored(buffers),
            Line::Encrypted(line) => line.write(buffers),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
