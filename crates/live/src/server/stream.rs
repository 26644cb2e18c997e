//! A line to a client, encrypted or not, that one thread reads and another writes.

use std::io::{self, IoSlice, Read, Write};
use std::net::Shutdown;
use std::sync::Arc;

use super::socket::{Limits, Socket};
use super::tls::{Certificates, Encrypted};

/// A line to a client.
#[derive(Debug)]
pub(crate) enum Line {
    Plain(Arc<Socket>),
    Encrypted(Box<Encrypted>),
}

impl Line {
    pub(crate) fn plain(socket: Arc<Socket>) -> Self {
        Self::Plain(socket)
    }

    /// Does the TLS handshake on a connection.
    pub(crate) fn encrypted(socket: Arc<Socket>, certificates: &Certificates, limits: &Limits) -> io::Result<Self> {
        Encrypted::accept(socket, certificates, limits).map(|line| Self::Encrypted(Box::new(line)))
    }

    pub(crate) fn socket(&self) -> &Arc<Socket> {
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
}

impl Read for &Line {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Line::Plain(socket) => (&**socket).read(buffer),
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
            Line::Plain(socket) => (&**socket).write_vectored(buffers),
            Line::Encrypted(line) => line.write(buffers),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
