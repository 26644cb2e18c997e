//! Whose turn it is: clients take turns, and the requests of each keep their order.

use std::collections::VecDeque;

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
}
