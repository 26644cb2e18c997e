//! Callers that are no clients: of the socket beside the image, where a line of JSON asks and a
//! line of JSON answers, and of `GET /metrics` over HTTP, for Prometheus.
//!
//! The socket is how `ftlkit stat` and `ftlkit fault` reach a server. Each caller has a thread of
//! its own and a short while.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use super::commands::ControlRequest;
use super::queue::Task;
use super::shared::Shared;
use super::socket::Socket;
use crate::LiveError;

/// How long the engine may take: a recovery of a large image takes seconds.
const ENGINE_PATIENCE: Duration = Duration::from_secs(120);
/// The longest request.
const MOST_BYTES: u64 = 4096;
/// How long the engine may take for the metrics.
const METRICS_PATIENCE: Duration = Duration::from_secs(2);
/// The longest request over HTTP, with its headers.
const MOST_HTTP_BYTES: u64 = 16_384;

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
    let mut line = Vec::new();
    BufReader::new(socket.take(MOST_BYTES)).read_until(b'\n', &mut line)?;
    socket.read_within(None);
    let reply = match understood(&line) {
        Ok(request) => ask(shared, request),
        Err(why) => refusal(&LiveError::user(format!("the server does not understand the request: {why}"))),
    };
    socket.write_within(Some(shared.limits.caller));
    socket.write_all(format!("{reply}\n").as_bytes())
}

/// What a line asks for, or why it asks for nothing.
fn understood(line: &[u8]) -> Result<ControlRequest, String> {
    let is_cut = line.len() as u64 == MOST_BYTES && line.last() != Some(&b'\n');
    if is_cut {
        return Err(format!("it has more than {MOST_BYTES} bytes, the most that are read; write one line of JSON"));
    }
    let text =
        std::str::from_utf8(line).map_err(|error| format!("it is not UTF-8: {error}; write one line of JSON"))?;
    serde_json::from_str(text).map_err(|error| error.to_string())
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
    if image.metadata().is_ok_and(|found| found.file_type().is_socket()) {
        let image = image.display().to_string();
        let served = [".sock", ".control"]
            .iter()
            .find_map(|end| image.strip_suffix(end))
            .filter(|image| Path::new(image).exists());
        return Err(LiveError::user(format!(
            "{image} is a socket; give the image that is served there{}",
            served.map(|served| format!(": {served}")).unwrap_or_default()
        )));
    }
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

/// Answers a caller of the metrics.
pub(crate) fn answer_metrics(socket: &Socket, shared: &Shared) {
    // A caller that hangs up has no further effect.
    let _ = converse_over_http(socket, shared);
}

fn converse_over_http(mut socket: &Socket, shared: &Shared) -> io::Result<()> {
    socket.read_within(Some(shared.limits.caller));
    let mut reader = BufReader::new(socket.take(MOST_HTTP_BYTES));
    let mut request = Vec::new();
    reader.read_until(b'\n', &mut request)?;
    // Headers say nothing that matters here, but must be read before the answer.
    let mut header = Vec::new();
    while reader.read_until(b'\n', &mut header)? > 0 && !header.trim_ascii_end().is_empty() {
        header.clear();
    }
    socket.read_within(None);
    let request = String::from_utf8_lossy(&request);
    let mut words = request.split(' ');
    let (status, body) = match (words.next(), words.next()) {
        (Some("GET"), Some("/metrics")) => match metrics(shared) {
            Some(text) => ("200 OK", text),
            None => ("503 Service Unavailable", "the server is stopping\n".into()),
        },
        (Some("GET"), _) => ("404 Not Found", "only /metrics is here\n".into()),
        _ => ("405 Method Not Allowed", "only GET is answered\n".into()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    socket.write_within(Some(shared.limits.caller));
    socket.write_all(format!("{head}{body}").as_bytes())
}

fn metrics(shared: &Shared) -> Option<String> {
    let (sender, receiver) = sync_channel(1);
    shared.queue.push(Task::Control(ControlRequest::Metrics, sender));
    receiver.recv_timeout(METRICS_PATIENCE).ok()
}
