//! `GET /metrics` over HTTP, for Prometheus. One caller at a time, each for a short while.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use super::control::ControlRequest;
use super::engine::Task;
use super::shared::Shared;

const PATIENCE: Duration = Duration::from_secs(2);
/// The longest request with its headers.
const MOST_BYTES: u64 = 16_384;

/// Answers callers until the server stops.
pub(crate) fn answer_callers(listener: &TcpListener, shared: &Arc<Shared>) {
    for caller in listener.incoming() {
        if shared.is_stopping.load(Ordering::SeqCst) {
            return;
        }
        if let Ok(caller) = caller {
            // A caller that hangs up has no further effect.
            let _ = answer(&caller, shared);
        }
    }
}

fn answer(caller: &TcpStream, shared: &Shared) -> std::io::Result<()> {
    caller.set_read_timeout(Some(PATIENCE))?;
    caller.set_write_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::new(caller.take(MOST_BYTES));
    let mut request = String::new();
    reader.read_line(&mut request)?;
    // Headers say nothing that matters here, but must be read before the answer.
    let mut header = String::new();
    while reader.read_line(&mut header)? > 0 && !header.trim_end().is_empty() {
        header.clear();
    }
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
    (&mut &*caller).write_all(format!("{head}{body}").as_bytes())
}

fn report(shared: &Shared) -> Option<String> {
    let (sender, receiver) = sync_channel(1);
    shared.queue.push(Task::Control(ControlRequest::Metrics, sender));
    receiver.recv_timeout(PATIENCE).ok()
}
