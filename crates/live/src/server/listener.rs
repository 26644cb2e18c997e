//! Where a server listens, and the files of its Unix sockets.
//!
//! A socket's file is replaced only if nobody answers there, and removed at the end only if it is
//! still the one that was made. Both happen under a lock on the folder, so of two servers that
//! start at once only one finds the file unused. Nobody but the owner may connect, whatever the
//! umask: the file's mode is set before the socket listens.

use std::fmt;
use std::fs::{File, TryLockError};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use super::socket::{Socket, Stream};
use crate::LiveError;

/// The longest path that a Unix socket can have on Linux, without its end.
const MAX_SOCKET_PATH: usize = 107;
/// Connections that wait to be accepted; the kernel holds less where `net.core.somaxconn` is lower.
const BACKLOG: i32 = 4096;
/// How long to wait for another server that replaces or removes a socket in the same folder.
const FOLDER_PATIENCE: Duration = Duration::from_secs(2);

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// The path of a Unix socket.
    Unix(PathBuf),
    /// An address and TCP port.
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

    /// Whether other hosts can connect.
    pub fn is_remote(&self) -> bool {
        match self {
            Self::Unix(_) => false,
            Self::Tcp(address) => !address.ip().to_canonical().is_loopback(),
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

/// Something that others connect to.
#[derive(Debug)]
pub(crate) enum Listener {
    Unix(UnixSocket),
    Tcp(TcpListener),
}

impl Listener {
    /// Listens; also says where, for a port may have been left open. `options` are what could name
    /// another place.
    pub(crate) fn bind(address: &Address, options: &str) -> Result<(Self, Address), LiveError> {
        match address {
            Address::Unix(path) => Ok((Self::bind_unix(path, options)?, address.clone())),
            Address::Tcp(at) => Self::bind_tcp(*at).map_err(|error| {
                LiveError::user(format!("cannot listen on {address}: {error}; choose another address with {options}"))
            }),
        }
    }

    fn bind_tcp(at: SocketAddr) -> io::Result<(Self, Address)> {
        let listener = TcpListener::bind(at)?;
        listener.set_nonblocking(true)?;
        let at = listener.local_addr()?;
        Ok((Self::Tcp(listener), Address::Tcp(at)))
    }

    fn bind_unix(path: &Path, options: &str) -> Result<Self, LiveError> {
        let length = path.as_os_str().len();
        if length > MAX_SOCKET_PATH {
            return Err(LiveError::user(format!(
                "the path of the socket {} has {length} bytes, but at most {MAX_SOCKET_PATH} are possible; serve from a folder nearer to \
                 the root, or with a relative path, or choose a path with {options}",
                path.display()
            )));
        }
        let failed = |error: io::Error| {
            LiveError::user(format!("cannot listen on {}: {error}; choose another path with {options}", path.display()))
        };
        let _folder = lock_folder(path).map_err(failed)?;
        if let Ok(found) = path.symlink_metadata() {
            if !found.file_type().is_socket() {
                return Err(LiveError::user(format!(
                    "cannot listen on {}: something else has this name, and stays as it is; move it, or \
                     choose another path with {options}",
                    path.display()
                )));
            }
            if somebody_answers(path).map_err(failed)? {
                return Err(LiveError::user(format!(
                    "another program listens on {}; stop it first, or choose another path with {options}",
                    path.display()
                )));
            }
            std::fs::remove_file(path).map_err(|error| LiveError::file("remove the socket", path, &error))?;
        }
        listen_on(path).map(Self::Unix).map_err(failed)
    }

    /// Takes somebody who waits to be let in; an error of kind *would block* if there is nobody.
    pub(crate) fn accept(&self) -> io::Result<Socket> {
        Socket::new(match self {
            Self::Unix(socket) => Stream::Unix(socket.listener.accept()?.0),
            Self::Tcp(listener) => Stream::Tcp(listener.accept()?.0),
        })
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(socket) => socket.listener.as_fd(),
            Self::Tcp(listener) => listener.as_fd(),
        }
    }
}

/// A Unix socket that listens. Its file goes when it does, if it is still the one that was made.
#[derive(Debug)]
pub(crate) struct UnixSocket {
    /// Open for as long as the file is to be known: while it is, no other file gets its inode.
    listener: UnixListener,
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl Drop for UnixSocket {
    fn drop(&mut self) {
        // Without the lock there is a moment in which another server's file could be taken for
        // ours; it is short.
        let _folder = lock_folder(&self.path);
        let is_ours = |found: std::fs::Metadata| (found.dev(), found.ino()) == (self.device, self.inode);
        if self.path.symlink_metadata().is_ok_and(is_ours) {
            // What is left behind is found unused by the next server.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Makes the file for its owner alone, then listens.
fn listen_on(path: &Path) -> io::Result<UnixSocket> {
    let address = SocketAddrUnix::new(path)?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::bind(&socket, &address)?;
    let made = path.symlink_metadata()?;
    let socket = UnixSocket { listener: socket.into(), path: path.to_owned(), device: made.dev(), inode: made.ino() };
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    rustix::net::listen(&socket.listener, BACKLOG)?;
    Ok(socket)
}

/// Whether somebody listens on a Unix socket.
fn somebody_answers(path: &Path) -> io::Result<bool> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    match rustix::net::connect(&socket, &SocketAddrUnix::new(path)?) {
        // One whose queue is full lives as well.
        Ok(()) | Err(Errno::AGAIN) => Ok(true),
        Err(Errno::CONNREFUSED | Errno::NOENT) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Keeps other servers from replacing or removing sockets in the folder of a path; none where
/// folders cannot be locked.
fn lock_folder(path: &Path) -> io::Result<Option<File>> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let file = File::open(folder)?;
    let until = Instant::now() + FOLDER_PATIENCE;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::Error(_)) => return Ok(None),
            Err(TryLockError::WouldBlock) if Instant::now() >= until => {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    format!("another program keeps the folder {} locked", folder.display()),
                ));
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_that_somebody_listens_on_is_left_alone_and_one_left_behind_is_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("s");
        let address = Address::Unix(path.clone());
        drop(UnixListener::bind(&path).expect("left behind"));
        let (first, _) = Listener::bind(&address, "--socket").expect("replaced");
        let refused = Listener::bind(&address, "--socket").expect_err("in use").to_string();
        assert!(refused.contains("another program") && refused.contains("--socket"), "{refused}");
        // Replaced behind our back: not ours any more.
        std::fs::remove_file(&path).expect("removed");
        let other = UnixListener::bind(&path).expect("another program");
        drop(first);
        assert!(path.exists());
        drop(other);
        let (second, _) = Listener::bind(&address, "--socket").expect("replaced");
        drop(second);
        assert!(!path.exists());
        std::fs::write(&path, "a file").expect("written");
        assert!(Listener::bind(&address, "--socket").is_err());
        assert_eq!(std::fs::read(&path).expect("still there"), b"a file");
    }

    #[test]
    fn hundreds_of_clients_may_wait_to_be_accepted() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("s");
        let (_listener, _) = Listener::bind(&Address::Unix(path.clone()), "--socket").expect("a socket");
        let held = std::fs::read_to_string("/proc/sys/net/core/somaxconn").ok();
        let held: usize = held.and_then(|text| text.trim().parse().ok()).unwrap_or(128);
        let connect = |_| {
            let socket = rustix::net::socket_with(
                AddressFamily::UNIX,
                SocketType::STREAM,
                SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
                None,
            )?;
            rustix::net::connect(&socket, &SocketAddrUnix::new(&path)?).map(|()| socket)
        };
        let clients: Result<Vec<_>, _> = (0..held.min(400)).map(connect).collect();
        clients.expect("all of them wait");
    }

    #[test]
    fn loopback_is_not_remote_in_any_spelling() {
        for (text, expected) in [
            ("127.0.0.1:1", false),
            ("[::1]:1", false),
            ("[::ffff:127.0.0.1]:1", false),
            ("0.0.0.0:1", true),
            ("[::]:1", true),
        ] {
            assert_eq!(Address::Tcp(text.parse().expect(text)).is_remote(), expected, "{text}");
        }
    }
}
