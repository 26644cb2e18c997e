//! The socket beside the image: a line of JSON asks, a line of JSON answers.
//!
//! It is how `ftlkit stat` and `ftlkit fault` reach a server. Each caller has a thread of its own and a short while.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use flash::{Fault, Tear};
use serde::{Deserialize, Serialize};

use super::shared::Shared;
use super::socket::Socket;
use super::task::Task;
use crate::LiveError;

/// How long the engine may take: a recovery of a large image takes seconds.
const ENGINE_PATIENCE: Duration = Duration::from_secs(120);
/// The longest request.
const MOST_BYTES: u64 = 4096;

/// What can be asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ControlRequest {
    /// How the device is.
    Stat,
    /// The same, for Prometheus.
    Metrics,
    /// Something is to go wrong.
    Fault(FaultRequest),
}

/// What is to go wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum FaultRequest {
    /// The power is cut: between two operations, or at one, which then ends as the tear says.
    Cut {
        /// How far the operation gets.
        #[serde(default)]
        tear: Option<TearName>,
        /// Flash operations before it.
        #[serde(default)]
        after: u64,
        /// Whether the power stays off until it is restored.
        #[serde(default)]
        stay_off: bool,
    },
    /// A flash operation fails.
    At {
        /// Which kind.
        kind: FailureName,
        /// Flash operations before it.
        #[serde(default)]
        after: u64,
    },
    /// The power comes back.
    Restore,
}

/// How far an operation gets that a power cut meets; see `flash::Tear`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TearName {
    /// Not begun.
    Before,
    /// Hardly begun.
    Unseen,
    /// Half done.
    Torn,
    /// Done.
    After,
}

impl From<TearName> for Tear {
    fn from(name: TearName) -> Self {
        match name {
            TearName::Before => Self::Before,
            TearName::Unseen => Self::Unseen,
            TearName::Torn => Self::Torn,
            TearName::After => Self::After,
        }
    }
}

/// How an operation fails; see `flash::Fault`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureName {
    /// A program fails.
    ProgramFails,
    /// An erase fails.
    EraseFails,
    /// A page has decayed.
    ReadFails,
    /// A page needed correction.
    ReadCorrected,
}

impl FaultRequest {
    /// The fault and when it is due. Restoring the power is none, and is not asked for here.
    pub(crate) fn planned(&self) -> (u64, Fault) {
        match *self {
            Self::Cut { tear, after, .. } => (after, Fault::Cut(tear.map_or(Tear::Torn, Tear::from))),
            Self::At { kind, after } => (after, kind.into()),
            Self::Restore => (0, Fault::Cut(Tear::Before)),
        }
    }
}

impl From<FailureName> for Fault {
    fn from(name: FailureName) -> Self {
        match name {
            FailureName::ProgramFails => Self::ProgramFails,
            FailureName::EraseFails => Self::EraseFails,
            FailureName::ReadFails => Self::ReadFails,
            FailureName::ReadCorrected => Self::ReadCorrected,
        }
    }
}

/// An answer that nothing came of.
pub(crate) fn refusal(error: &LiveError) -> String {
    serde_json::json!({ "error": error.to_string() }).to_string()
}

/// An answer that something was done.
pub(crate) fn done(what: &str) -> String {
    serde_json::json!({ "done": what }).to_string()
}

/// Where the socket of an image is.
pub fn control_path(image: &Path) -> PathBuf {
    let mut name = image.as_os_str().to_owned();
    name.push(".control");
    name.into()
}

/// Answers a caller.
pub(crate) fn answer(socket: &Socket, shared: &Shared) {
    // A caller that hangs up or says nonsense has no further effect.
    let _ = converse(socket, shared);
}

fn converse(mut socket: &Socket, shared: &Shared) -> io::Result<()> {
    socket.read_within(Some(shared.limits.caller));
    let mut line = String::new();
    BufReader::new(socket.take(MOST_BYTES)).read_line(&mut line)?;
    socket.read_within(None);
    let reply = match serde_json::from_str(&line) {
        Ok(request) => ask(shared, request),
        Err(error) => refusal(&LiveError::user(format!("the server does not understand the request: {error}"))),
    };
    socket.write_within(Some(shared.limits.caller));
    socket.write_all(format!("{reply}\n").as_bytes())
}

/// Asks the engine.
fn ask(shared: &Shared, request: ControlRequest) -> String {
    let (sender, receiver) = sync_channel(1);
    shared.queue.push(Task::Control(request, sender));
    receiver.recv_timeout(ENGINE_PATIENCE).unwrap_or_else(|_| {
        refusal(&LiveError::user("the server is stopping, or busy for longer than anyone should wait"))
    })
}

/// Asks the server of an image; returns its answer, JSON.
pub fn call(image: &Path, request: &ControlRequest) -> Result<String, LiveError> {
    let path = control_path(image);
    let caller = UnixStream::connect(&path).map_err(|error| {
        LiveError::user(format!(
            "nobody serves {image}: cannot reach {}: {error}. Start a server: ftlkit serve {image}",
            path.display(),
            image = image.display()
        ))
    })?;
    let exchange = || -> io::Result<String> {
        caller.set_read_timeout(Some(2 * ENGINE_PATIENCE))?;
        caller.set_write_timeout(Some(ENGINE_PATIENCE))?;
        let text = serde_json::to_string(request)?;
        (&mut &caller).write_all(format!("{text}\n").as_bytes())?;
        let mut reply = String::new();
        (&caller).read_to_string(&mut reply)?;
        Ok(reply)
    };
    let reply = exchange().map_err(|error| LiveError::file("talk through", &path, &error))?;
    let value: serde_json::Value = serde_json::from_str(&reply)
        .map_err(|_| LiveError::user(format!("the server of {} went away before it answered", image.display())))?;
    match value.get("error").and_then(|error| error.as_str()) {
        Some(error) => Err(LiveError::user(error)),
        None => Ok(reply.trim_end().to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_read_back_from_their_text() {
        for (text, expected) in [
            ("\"stat\"", ControlRequest::Stat),
            (
                r#"{"fault":{"cut":{"tear":"torn","after":3}}}"#,
                ControlRequest::Fault(FaultRequest::Cut { tear: Some(TearName::Torn), after: 3, stay_off: false }),
            ),
            (
                r#"{"fault":{"at":{"kind":"erase_fails"}}}"#,
                ControlRequest::Fault(FaultRequest::At { kind: FailureName::EraseFails, after: 0 }),
            ),
            (r#"{"fault":"restore"}"#, ControlRequest::Fault(FaultRequest::Restore)),
        ] {
            assert_eq!(serde_json::from_str::<ControlRequest>(text).expect(text), expected);
        }
        assert!(serde_json::from_str::<ControlRequest>(r#"{"fault":{"cut":{"when":1}}}"#).is_err());
    }
}
