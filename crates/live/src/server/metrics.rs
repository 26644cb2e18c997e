//! `GET /metrics` over HTTP, for Prometheus. Each caller has a thread of its own and a short while.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use super::commands::ControlRequest;
use super::shared::Shared;
use super::socket::Socket;
use super::task::Task;

/// How long the engine may take.
const ENGINE_PATIENCE: Duration = Duration::from_secs(2);
/// The longest request with its headers.
const MOST_BYTES: u64 = 16_384;

/// Answers a caller.
pub(crate) fn answer(socket: &Socket, shared: &Shared) {
    // A caller that hangs up has no further effect.
    let _ = converse(socket, shared);
}

fn converse(mut socket: &Socket, shared: &Shared) -> io::Result<()> {
    socket.read_within(Some(shared.limits.caller));
    let mut reader = BufReader::new(socket.take(MOST_BYTES));
    let mut request = String::new();
    reader.read_line(&mut request)?;
    // Headers say nothing that matters here, but must be read before the answer.
    let mut header = String::new();
    while reader.read_line(&mut header)? > 0 && !header.trim_end().is_empty() {
        header.clear();
    }
    socket.read_within(None);
    let mut words = request.split(' ');
    let (status, body) = match (words.next(), words.next()) {
        (Some("GET"), Some("/metrics")) => match report(shared) {
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

fn report(shared: &Shared) -> Option<String> {
    let (sender, receiver) = sync_channel(1);
    shared.queue.push(Task::Control(ControlRequest::Metrics, sender));
    receiver.recv_timeout(ENGINE_PATIENCE).ok()
}
