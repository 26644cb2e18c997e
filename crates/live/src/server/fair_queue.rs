//! Whose turn it is: clients take turns, and the requests of each keep their order. A turn is a
//! piece of a request, so that others need not wait for the end of a long one.

use std::collections::VecDeque;

use bytes::Bytes;
use ftl::Hint;

use crate::drive::{DriveError, LiveDrive, Piece};
use crate::nbd::Command;

/// What each client has to do. A turn is one piece of its first request.
#[derive(Debug)]
pub(crate) struct Turns<K, W> {
    /// Clients that have something to do, the next one first.
    clients: VecDeque<Client<K, W>>,
    taken: u64,
    most_waited: u64,
}

#[derive(Debug)]
struct Client<K, W> {
    key: K,
    work: VecDeque<W>,
    /// Turns that had been taken when its first request came to be the first.
    since: u64,
}

impl<K: PartialEq + Clone, W> Turns<K, W> {
    pub(crate) fn new() -> Self {
        Self { clients: VecDeque::new(), taken: 0, most_waited: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.clients.is_empty()
    }

    /// Whether a client has something to do.
    pub(crate) fn has(&self, key: &K) -> bool {
        self.clients.iter().any(|client| client.key == *key)
    }

    /// Turns that have been taken.
    pub(crate) fn taken(&self) -> u64 {
        self.taken
    }

    /// The most turns of others that any turn was waited for.
    pub(crate) fn most_waited(&self) -> u64 {
        self.most_waited
    }

    fn of(&mut self, key: &K) -> &mut VecDeque<W> {
        let position = self.clients.iter().position(|client| client.key == *key).unwrap_or_else(|| {
            self.clients.push_back(Client { key: key.clone(), work: VecDeque::new(), since: self.taken });
            self.clients.len() - 1
        });
        &mut self.clients[position].work
    }

    /// A client has more to do.
    pub(crate) fn push(&mut self, key: &K, work: W) {
        self.of(key).push_back(work);
    }

    /// The rest of what was taken: it stays before what the client asked later, and waits for its
    /// next turn.
    pub(crate) fn put_back(&mut self, key: &K, work: W) {
        self.of(key).push_front(work);
    }

    /// What is next; its client goes behind the others.
    pub(crate) fn take(&mut self) -> Option<W> {
        let mut client = self.clients.pop_front()?;
        self.most_waited = self.most_waited.max(self.taken - client.since);
        self.taken += 1;
        let work = client.work.pop_front();
        if !client.work.is_empty() {
            client.since = self.taken;
            self.clients.push_back(client);
        }
        work
    }
}

/// Bytes that are read or written at once, if pages are not larger.
const DATA_BYTES: u64 = 256 << 10;
/// Pages that are trimmed at once: a trim moves no data.
const TRIMMED_PAGES: u64 = 4096;

/// Bytes of a request's next piece, from a byte of the device on, when this many are left. Pieces
/// end where pages do.
pub(crate) fn piece_bytes(command: Command, at: u64, left: u32, page_bytes: usize) -> u32 {
    let page_bytes = page_bytes as u64;
    let most = match command {
        Command::Read { .. } | Command::Write { .. } | Command::WriteZeroes { may_leave_holes: false, .. } => {
            DATA_BYTES.max(page_bytes)
        }
        Command::Trim { .. } | Command::WriteZeroes { .. } => TRIMMED_PAGES * page_bytes,
        Command::Flush | Command::Cache | Command::BlockStatus { .. } | Command::Disconnect => return left,
    };
    if u64::from(left) <= most {
        return left;
    }
    // No longer than what is left, which is more than `most`.
    ((at + most) / page_bytes * page_bytes - at) as u32
}

/// Does a piece of what is asked, this many bytes from one of the device on; what is read is added
/// to `read`.
pub(crate) fn perform_piece(
    drive: &mut LiveDrive,
    command: Command,
    (at, length): (u64, u32),
    (data, hint): (&Bytes, Hint),
    read: &mut Vec<Piece>,
) -> Result<(), DriveError> {
    match command {
        Command::Read { .. } => read.extend(drive.read(at, length)?),
        Command::Write { .. } => drive.write_hinted(at, data, hint)?,
        Command::Trim { .. } => drive.trim(at, length)?,
        Command::WriteZeroes { may_leave_holes, .. } => drive.write_zeroes(at, length, may_leave_holes)?,
        Command::Flush => drive.flush()?,
        // Nothing would be read any faster for a cache; and a status is told in one go, when it is
        // due.
        Command::Cache | Command::BlockStatus { .. } | Command::Disconnect => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_waits_for_one_turn_of_each_other_client_however_much_they_ask() {
        let mut turns = Turns::new();
        for i in 0..100 {
            turns.push(&"a", ("a", i));
            turns.push(&"b", ("b", i));
        }
        assert_eq!((turns.take(), turns.take()), (Some(("a", 0)), Some(("b", 0))));
        turns.push(&"c", ("c", 0));
        assert_eq!((0..3).filter_map(|_| turns.take()).collect::<Vec<_>>(), [("a", 1), ("b", 1), ("c", 0)]);
        while turns.take().is_some() {}
        assert!(turns.is_empty());
        assert_eq!(turns.most_waited(), 2);
    }

    #[test]
    fn what_is_left_of_a_request_comes_before_what_the_client_asked_later() {
        let mut turns = Turns::new();
        turns.push(&'a', "long");
        turns.push(&'a', "later");
        turns.push(&'b', "short");
        assert_eq!(turns.take(), Some("long"));
        turns.put_back(&'a', "rest");
        assert_eq!((turns.take(), turns.take(), turns.take()), (Some("short"), Some("rest"), Some("later")));
        turns.put_back(&'a', "rest");
        assert_eq!((turns.take(), turns.take()), (Some("rest"), None));
    }

    const READ: Command = Command::Read { in_one_piece: true };

    #[test]
    fn pieces_are_bounded_and_end_where_pages_do() {
        let mut at = 100;
        let mut left = 1_000_000_u32;
        let mut lengths = Vec::new();
        while left > 0 {
            let length = piece_bytes(READ, at, left, 4096);
            (at, left) = (at + u64::from(length), left - length);
            assert!(left == 0 || at.is_multiple_of(4096));
            lengths.push(length);
        }
        assert_eq!(lengths, [262_044, 262_144, 262_144, 213_668]);
        assert_eq!(piece_bytes(Command::Trim { fua: true }, 0, u32::MAX, 4096), 16 << 20);
        assert_eq!(piece_bytes(Command::Trim { fua: false }, 5, 9, 4096), 9);
        assert_eq!(piece_bytes(Command::Flush, u64::MAX, u32::MAX, 4096), u32::MAX);
        assert_eq!(piece_bytes(Command::BlockStatus { one_run: false }, 0, u32::MAX, 4096), u32::MAX);
        // A page is never cut.
        assert_eq!(piece_bytes(READ, 1 << 20, 4 << 20, 1 << 20), 1 << 20);
    }
}
