//! TLS by rustls, on a line that one thread reads and another writes.
//!
//! Certificates are a folder, named as other NBD programs name them: `server-cert.pem`,
//! `server-key.pem`, and `ca-cert.pem` if clients must show certificates signed by it.
//!
//! The state of the connection is one, for both directions; it is locked only while bytes are
//! turned into records or back, never while the socket is waited for. Records must leave in the
//! order in which they were made, so writing has a lock of its own.

use std::fs::File;
use std::io::{self, BufReader, IoSlice, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection};

use super::socket::{Limits, Socket};
use crate::LiveError;

/// Bytes read from the socket at once: the largest record and its frame.
const RECORD_BYTES: usize = 17 << 10;
/// Plaintext that is turned into records at once.
const MOST_AT_ONCE: usize = 64 << 10;

/// What a server shows its clients.
#[derive(Clone, Debug)]
pub(crate) struct Certificates {
    config: Arc<ServerConfig>,
    asks_clients: bool,
}

impl Certificates {
    /// Reads the folder. A key that everybody on this host can read is none, unless insecurity is
    /// asked for.
    pub(crate) fn read(folder: &Path, is_insecure: bool) -> Result<Self, LiveError> {
        let chain: Vec<_> = certificates(&folder.join("server-cert.pem"))?;
        let key_path = folder.join("server-key.pem");
        if !is_insecure && key_path.metadata().is_ok_and(|found| found.permissions().mode() & 0o007 != 0) {
            return Err(LiveError::user(format!(
                "everybody on this host may read or change the key {path}: make it yours alone (chmod 600 {path}), or use it as it is \
                 with --insecure",
                path = key_path.display()
            )));
        }
        let key = PrivateKeyDer::from_pem_file(&key_path)
            .map_err(|error| LiveError::user(format!("cannot read the key {}: {error}", key_path.display())))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| LiveError::Bug(format!("TLS offers no version: {error}")))?;
        let authority = folder.join("ca-cert.pem");
        let asks_clients = authority.exists();
        let builder = if asks_clients {
            let mut roots = RootCertStore::empty();
            for certificate in certificates(&authority)? {
                roots.add(certificate).map_err(|error| refused(&authority, &error))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider)
                .build()
                .map_err(|error| LiveError::user(format!("{}: {error}", authority.display())))?;
            builder.with_client_cert_verifier(verifier)
        } else {
            builder.with_no_client_auth()
        };
        let config = builder.with_single_cert(chain, key).map_err(|error| refused(folder, &error))?;
        Ok(Self { config: Arc::new(config), asks_clients })
    }

    /// Whether clients must show a certificate, too.
    pub(crate) fn asks_clients(&self) -> bool {
        self.asks_clients
    }
}

fn refused(path: &Path, error: &rustls::Error) -> LiveError {
    LiveError::user(format!("the certificates in {} cannot be used: {error}", path.display()))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, LiveError> {
    let file = File::open(path).map_err(|error| {
        LiveError::user(format!(
            "--tls: cannot open the certificate {}: {error}; the folder must have server-cert.pem and server-key.pem",
            path.display()
        ))
    })?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_reader_iter(BufReader::new(file)).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) => Err(LiveError::user(format!("{} holds no certificate; it must be in PEM form", path.display()))),
        Err(error) => Err(LiveError::user(format!("cannot read the certificate {}: {error}", path.display()))),
    }
}

/// An encrypted line.
#[derive(Debug)]
pub(crate) struct Encrypted {
    socket: Arc<Socket>,
    /// How long a client may take to take what it has to be told while it is read from.
    patience: Duration,
    connection: Mutex<ServerConnection>,
    /// What was read from the socket and not yet taken for records; the reader's alone.
    pending: Mutex<Vec<u8>>,
    writing: Mutex<()>,
}

impl Encrypted {
    /// Does the TLS handshake on a connection.
    pub(crate) fn accept(socket: Arc<Socket>, certificates: &Certificates, limits: &Limits) -> io::Result<Self> {
        let mut connection = ServerConnection::new(Arc::clone(&certificates.config)).map_err(io::Error::other)?;
        while connection.is_handshaking() {
            connection.complete_io(&mut SocketIo(&socket))?;
        }
        Ok(Self {
            socket,
            patience: limits.transfer,
            connection: Mutex::new(connection),
            pending: Mutex::default(),
            writing: Mutex::default(),
        })
    }

    pub(crate) fn socket(&self) -> &Arc<Socket> {
        &self.socket
    }

    fn lock(&self) -> MutexGuard<'_, ServerConnection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match self.lock().reader().read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => return result,
            }
            if pending.is_empty() {
                pending.resize(RECORD_BYTES, 0);
                let length = (&*self.socket).read(&mut pending)?;
                pending.truncate(length);
            }
            let mut connection = self.lock();
            // Nothing at all is the end of the line, which rustls must hear of as well.
            let taken = connection.read_tls(&mut &pending[..])?;
            connection.process_new_packets().map_err(io::Error::other)?;
            let wants_write = connection.wants_write();
            drop(connection);
            pending.drain(..taken);
            if wants_write {
                let until = self.socket.read_no_later_than(self.patience);
                self.send(&[])?;
                self.socket.read_until(until);
            }
        }
    }

    pub(crate) fn write(&self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        self.send(buffers)
    }

    /// Turns some of the buffers into records and sends all that there are.
    fn send(&self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut records = Vec::new();
        let mut connection = self.lock();
        let mut taken = 0;
        for buffer in buffers {
            let some = &buffer[..buffer.len().min(MOST_AT_ONCE - taken)];
            taken += connection.writer().write(some)?;
            if taken >= MOST_AT_ONCE || some.len() < buffer.len() {
                break;
            }
            // Records are handed over as they fill, for rustls keeps only so many.
            while connection.wants_write() {
                connection.write_tls(&mut records)?;
            }
        }
        while connection.wants_write() {
            connection.write_tls(&mut records)?;
        }
        drop(connection);
        (&*self.socket).write_all(&records)?;
        Ok(taken)
    }
}

/// A socket as one thing that is read and written, for the handshake.
struct SocketIo<'a>(&'a Socket);

impl Read for SocketIo<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&mut &*self.0).read(buffer)
    }
}

impl Write for SocketIo<'_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        (&mut &*self.0).write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
