//! How long a client may keep the server waiting, and how many may knock at once.

use std::time::Duration;

/// The slowest line that is served, in bytes a second: time for a transfer grows with its length.
const SLOWEST_BYTES_PER_S: u64 = 256 << 10;

/// How long a client may keep the server waiting, and how many may knock at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// For the whole handshake, TLS included.
    pub handshake: Duration,
    /// Connections that are still shaking hands; one more and the oldest of them is closed. Apart
    /// from the limit on clients.
    pub handshakes: usize,
    /// For a request from its first byte to its last, and for replies from the moment at which they
    /// are ready until the client has taken them; a second more for each 256 KiB.
    pub transfer: Duration,
    /// For a caller of the control socket or of the metrics to ask, and again to take the answer.
    pub caller: Duration,
    /// Such callers at once; one more and the oldest is closed.
    pub callers: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(10),
            handshakes: 64,
            transfer: Duration::from_secs(30),
            caller: Duration::from_secs(2),
            callers: 16,
        }
    }
}

impl Limits {
    /// For so many bytes to arrive, or to be taken.
    pub(crate) fn transfer_of(&self, bytes: u64) -> Duration {
        self.transfer + Duration::from_millis(bytes.saturating_mul(1000) / SLOWEST_BYTES_PER_S)
    }
}
