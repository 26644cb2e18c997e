//! Sockets of either family behind one type, and where a server listens.

use std::fmt;
use std::io::{self, IoSlice, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::net::{SendAncillaryBuffer, SendFlags};

use crate::LiveError;

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A Unix socket.
    Unix(PathBuf),
    /// A TCP port.
    Tcp(SocketAddr),
}

impl Address {
    /// As a client's URI.
    pub fn uri(&self, is_encrypted: bool) -> String {
        let s = if is_encrypted { "s" } else { "" };
        match self {
            Self::Unix(path) => format!("nbd{s}+unix:///?socket={}", path.display()),
            Self::Tcp(address) => format!("nbd{s}://{address}"),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "{}", path.display()),
            Self::Tcp(address) => address.fmt(f),
        }
    }
}

/// The longest path that a Unix socket can have on Linux, without its end.
const MAX_SOCKET_PATH: usize = 107;

/// Something that clients connect to.
#[derive(Debug)]
pub(crate) enum Listener {
    Unix(UnixListener),
    Tcp(TcpListener),
}

impl Listener {
    /// Listens; a socket that an earlier server left behind is replaced, which the lock on the image allows.
    pub(crate) fn bind(address: &Address) -> Result<(Self, Address), LiveError> {
        let failed = |error: io::Error| {
            LiveError::user(format!(
                "cannot listen on {address}: {error}; choose another address with --socket or --listen"
            ))
        };
        match address {
            Address::Unix(path) => Ok((Self::Unix(bind_unix(path, "--socket")?), address.clone())),
            Address::Tcp(at) => {
                let listener = TcpListener::bind(at).map_err(failed)?;
                // The port that was given out, if any would do.
                let at = listener.local_addr().map_err(failed)?;
                Ok((Self::Tcp(listener), Address::Tcp(at)))
            }
        }
    }

    pub(crate) fn accept(&self) -> io::Result<Socket> {
        match self {
            Self::Unix(listener) => listener.accept().map(|(stream, _)| Socket::Unix(stream)),
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nodelay(true)?;
                Ok(Socket::Tcp(stream))
            }
        }
    }
}

/// Listens on a Unix socket; `option` is what could name another.
pub(crate) fn bind_unix(path: &Path, option: &str) -> Result<UnixListener, LiveError> {
    let length = path.as_os_str().len();
    if length > MAX_SOCKET_PATH {
        return Err(LiveError::user(format!(
            "the path of the socket {} has {length} bytes, but at most {MAX_SOCKET_PATH} are possible; serve from a folder nearer to the \
             root, or with a relative path, or choose a path with {option}",
            path.display()
        )));
    }
    if path.symlink_metadata().is_ok_and(|found| found.file_type().is_socket()) {
        std::fs::remove_file(path).map_err(|error| LiveError::file("remove the socket", path, &error))?;
    }
    UnixListener::bind(path).map_err(|error| {
        LiveError::user(format!("cannot listen on {}: {error}; choose another path with {option}", path.display()))
    })
}

/// Wakes a thread that waits in `accept`.
pub(crate) fn knock(address: &Address) {
    // Whoever cannot be reached does not wait.
    let _ = match address {
        Address::Unix(path) => UnixStream::connect(path).map(drop),
        Address::Tcp(at) => TcpStream::connect_timeout(at, Duration::from_secs(1)).map(drop),
    };
}

/// A connection.
#[derive(Debug)]
pub(crate) enum Socket {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Socket {
    pub(crate) fn shutdown(&self, how: Shutdown) {
        // A client may have gone already.
        let _ = match self {
            Self::Unix(stream) => stream.shutdown(how),
            Self::Tcp(stream) => stream.shutdown(how),
        };
    }

    pub(crate) fn set_timeout(&self, limit: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.set_read_timeout(limit).and_then(|()| stream.set_write_timeout(limit)),
            Self::Tcp(stream) => stream.set_read_timeout(limit).and_then(|()| stream.set_write_timeout(limit)),
        }
    }
}

impl Socket {
    /// Sends what the operating system takes without waiting.
    pub(crate) fn send_at_once(&self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        let socket = match self {
            Self::Unix(stream) => stream.as_fd(),
            Self::Tcp(stream) => stream.as_fd(),
        };
        let how = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        Ok(rustix::net::sendmsg(socket, buffers, &mut SendAncillaryBuffer::default(), how)?)
    }
}

impl Read for &Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Unix(stream) => (&*stream).read(buffer),
            Socket::Tcp(stream) => (&*stream).read(buffer),
        }
    }
}

impl Write for &Socket {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Unix(stream) => (&*stream).write(buffer),
            Socket::Tcp(stream) => (&*stream).write(buffer),
        }
    }

    fn write_vectored(&mut self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Socket::Unix(stream) => (&*stream).write_vectored(buffers),
            Socket::Tcp(stream) => (&*stream).write_vectored(buffers),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
