//! What the engine is given to do.

use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use bytes::Bytes;
use ftl::{Moment, Nanos};

use super::client::Connection;
use super::commands::ControlRequest;
use super::local_request::LocalRequest;
use crate::drive::Piece;
use crate::nbd::{Agreed, Command, Header};

/// Something for the engine to do.
#[derive(Debug)]
pub(crate) enum Task {
    Serve(Box<ClientRequest>),
    /// A request of the local client.
    LocalRequest(Box<LocalRequest>),
    Control(ControlRequest, SyncSender<String>),
    Stop,
}

/// A client's request, checked, and how much of it is done.
#[derive(Debug)]
pub(crate) struct ClientRequest {
    pub(super) connection: Arc<Connection>,
    pub(super) agreed: Agreed,
    pub(super) command: Command,
    pub(super) offset: u64,
    pub(super) length: u32,
    pub(super) cookie: u64,
    pub(super) data: Bytes,
    pub(super) arrived: Nanos,
    pub(super) weight: usize,
    /// Bytes that are done.
    pub(super) done: u32,
    /// What they held, of a read.
    pub(super) read: Vec<Piece>,
    /// When the modelled device is done with them.
    pub(super) end: Moment,
}

impl ClientRequest {
    pub(crate) fn new(
        connection: Arc<Connection>,
        agreed: Agreed,
        command: Command,
        header: &Header,
        data: Bytes,
        arrived: Nanos,
        weight: usize,
    ) -> Self {
        Self {
            connection,
            agreed,
            command,
            offset: header.offset,
            length: header.length,
            cookie: header.cookie,
            data,
            arrived,
            weight,
            done: 0,
            read: Vec::new(),
            end: Moment::ZERO,
        }
    }
}

/// Whose request it is: a connection, by identity.
#[derive(Clone, Debug)]
pub(super) struct Of(pub(super) Arc<Connection>);

impl PartialEq for Of {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
