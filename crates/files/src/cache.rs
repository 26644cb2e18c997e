//! The page cache: dirty pages wait, and leave as requests in the order of their addresses.

use std::collections::{BTreeMap, VecDeque};

use trace::{Hint, HostOp, Record};

/// Bytes of a page of the cache, of a sector and of a cluster: nothing of the volume lies across
/// pages.
pub(crate) const PAGE_BYTES: u64 = fat::PAGE_BYTES as u64;

/// Pages of a request, at most: Linux' usual limit of 512 KiB.
const MOST_PAGES: u64 = 128;

/// Whose page it is: a file's number, or the file system's own tables.
pub(crate) type Owner = Option<u32>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Dirty {
    owner: Owner,
    hint: Hint,
}

/// Dirty pages, and the requests that have left.
#[derive(Debug)]
pub(crate) struct Cache {
    dirty: BTreeMap<u64, Dirty>,
    most: usize,
    requests: VecDeque<Record>,
    now_ns: u64,
}

impl Cache {
    /// Has room for this many dirty bytes.
    pub(crate) fn new(bytes: u64) -> Self {
        Self { dirty: BTreeMap::new(), most: (bytes / PAGE_BYTES) as usize, requests: VecDeque::new(), now_ns: 0 }
    }

    /// Requests arrive at this time from now on.
    pub(crate) fn set_time(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
    }

    /// The next request that has left.
    pub(crate) fn next(&mut self) -> Option<Record> {
        self.requests.pop_front()
    }

    /// A page has been written.
    pub(crate) fn wrote(&mut self, page: u64, owner: Owner, hint: Hint) {
        self.dirty.insert(page, Dirty { owner, hint });
        if self.dirty.len() > self.most {
            self.write_back();
        }
    }

    /// A page is read, from the drive unless it is dirty.
    pub(crate) fn read(&mut self, page: u64, hint: Hint) {
        if self.dirty.contains_key(&page) {
            return;
        }
        let is_next = |last: &&mut Record| {
            let joins = last.op == HostOp::Read && last.end() == page * PAGE_BYTES && last.hint == hint;
            joins && last.time_ns == self.now_ns && u64::from(last.length) < MOST_PAGES * PAGE_BYTES
        };
        match self.requests.back_mut().filter(is_next) {
            Some(last) => last.length += PAGE_BYTES as u32,
            None => self.ask(HostOp::Read, page, 1, hint),
        }
    }

    /// Pages, in order, hold nothing any more: what waits of them never leaves, and they are
    /// trimmed if that is wanted.
    pub(crate) fn freed(&mut self, pages: &[u64], trims: bool) {
        for page in pages {
            self.dirty.remove(page);
        }
        if trims {
            for run in pages.chunk_by(|one, next| one + 1 == *next) {
                for part in run.chunks(MOST_PAGES as usize) {
                    self.ask(HostOp::Trim, part[0], part.len() as u64, Hint::NONE);
                }
            }
        }
    }

    /// Writes all that waits.
    pub(crate) fn write_back(&mut self) {
        let all = std::mem::take(&mut self.dirty);
        self.write(all.into_iter());
    }

    /// Writes what waits of a file and of the file system's tables, and has it made durable.
    pub(crate) fn sync(&mut self, owner: u32) {
        let leaves = |dirty: &Dirty| dirty.owner.is_none_or(|other| other == owner);
        let leaving: Vec<_> =
            self.dirty.iter().filter(|(_, dirty)| leaves(dirty)).map(|(&page, &dirty)| (page, dirty)).collect();
        self.dirty.retain(|_, dirty| !leaves(dirty));
        self.write(leaving.into_iter());
        self.flush();
    }

    /// Has all that was written made durable.
    pub(crate) fn flush(&mut self) {
        let (time_ns, hint) = (self.now_ns, Hint::NONE);
        self.requests.push_back(Record { time_ns, op: HostOp::Flush, offset: 0, length: 0, device: 0, hint });
    }

    /// Neighbours of one hint leave together.
    fn write(&mut self, pages: impl Iterator<Item = (u64, Dirty)>) {
        let mut run: Option<(u64, u64, Hint)> = None;
        for (page, Dirty { hint, .. }) in pages {
            run = match run {
                Some((first, count, of)) if first + count == page && of == hint && count < MOST_PAGES => {
                    Some((first, count + 1, of))
                }
                _ => {
                    self.write_run(run);
                    Some((page, 1, hint))
                }
            };
        }
        self.write_run(run);
    }

    fn write_run(&mut self, run: Option<(u64, u64, Hint)>) {
        if let Some((first, count, hint)) = run {
            self.ask(HostOp::Write, first, count, hint);
        }
    }

    fn ask(&mut self, op: HostOp, page: u64, pages: u64, hint: Hint) {
        let (offset, length) = (page * PAGE_BYTES, (pages * PAGE_BYTES) as u32);
        self.requests.push_back(Record { time_ns: self.now_ns, op, offset, length, device: 0, hint });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOT: Hint = Hint::new(1, 9, 3);

    fn left(cache: &mut Cache) -> Vec<(HostOp, u64, u64, Hint)> {
        let pages = |record: Record| {
            (record.op, record.offset / PAGE_BYTES, u64::from(record.length) / PAGE_BYTES, record.hint)
        };
        std::iter::from_fn(|| cache.next()).map(pages).collect()
    }

    #[test]
    fn what_waits_leaves_in_order_and_neighbours_of_one_hint_leave_together() {
        let mut cache = Cache::new(4 * PAGE_BYTES);
        for (page, hint) in [(9, HOT), (3, Hint::NONE), (8, HOT), (3, Hint::NONE)] {
            cache.wrote(page, Some(1), hint);
        }
        assert_eq!(left(&mut cache), []);
        cache.wrote(4, Some(1), HOT);
        assert_eq!(left(&mut cache), [], "four pages have room");
        cache.wrote(20, Some(1), HOT);
        let expected = [(3, 1, Hint::NONE), (4, 1, HOT), (8, 2, HOT), (20, 1, HOT)];
        assert_eq!(left(&mut cache), expected.map(|(page, pages, hint)| (HostOp::Write, page, pages, hint)));
    }

    #[test]
    fn a_file_that_is_made_safe_takes_the_tables_along_and_no_other_file() {
        let mut cache = Cache::new(64 * PAGE_BYTES);
        cache.wrote(1, None, Hint::NONE);
        cache.wrote(5, Some(7), HOT);
        cache.wrote(6, Some(8), HOT);
        cache.sync(7);
        let table = (HostOp::Write, 1, 1, Hint::NONE);
        assert_eq!(left(&mut cache), [table, (HostOp::Write, 5, 1, HOT), (HostOp::Flush, 0, 0, Hint::NONE)]);
        cache.write_back();
        assert_eq!(left(&mut cache), [(HostOp::Write, 6, 1, HOT)]);
    }

    #[test]
    fn pages_that_are_freed_never_leave_and_are_trimmed_in_runs() {
        let mut cache = Cache::new(64 * PAGE_BYTES);
        (5..9).for_each(|page| cache.wrote(page, Some(7), HOT));
        cache.freed(&[5, 6, 7, 12], true);
        cache.write_back();
        let trimmed = |page, pages| (HostOp::Trim, page, pages, Hint::NONE);
        assert_eq!(left(&mut cache), [trimmed(5, 3), trimmed(12, 1), (HostOp::Write, 8, 1, HOT)]);
    }

    #[test]
    fn reads_of_neighbours_are_one_request_and_dirty_pages_are_not_read() {
        let mut cache = Cache::new(64 * PAGE_BYTES);
        cache.wrote(6, Some(7), HOT);
        (4..8).for_each(|page| cache.read(page, HOT));
        assert_eq!(left(&mut cache), [(HostOp::Read, 4, 2, HOT), (HostOp::Read, 7, 1, HOT)]);
    }

    /// The same with a list: pages wait in any order, and what leaves at once is joined page by
    /// page.
    #[derive(Default)]
    struct Plain {
        waiting: Vec<(u64, Option<u32>, Hint)>,
        left: Vec<(HostOp, u64, u64, Hint)>,
    }

    impl Plain {
        fn ask(&mut self, op: HostOp, page: u64, hint: Hint, may_join: bool) {
            match self.left.last_mut() {
                Some((last, first, pages, of))
                    if may_join && *last == op && *first + *pages == page && *of == hint && *pages < MOST_PAGES =>
                {
                    *pages += 1;
                }
                _ => self.left.push((op, page, 1, hint)),
            }
        }

        fn leave(&mut self, leaves: impl Fn(Option<u32>) -> bool) {
            let (mut leaving, staying): (Vec<_>, Vec<_>) = self.waiting.drain(..).partition(|each| leaves(each.1));
            self.waiting = staying;
            leaving.sort_by_key(|each| each.0);
            for (i, (page, _, hint)) in leaving.into_iter().enumerate() {
                self.ask(HostOp::Write, page, hint, i > 0);
            }
        }

        fn wrote(&mut self, page: u64, owner: Option<u32>, hint: Hint, most: u64) {
            self.waiting.retain(|each| each.0 != page);
            self.waiting.push((page, owner, hint));
            if self.waiting.len() as u64 > most {
                self.leave(|_| true);
            }
        }

        fn freed(&mut self, pages: &[u64], trims: bool) {
            self.waiting.retain(|each| !pages.contains(&each.0));
            for (i, &page) in pages.iter().enumerate().filter(|_| trims) {
                self.ask(HostOp::Trim, page, Hint::NONE, i > 0);
            }
        }

        fn read(&mut self, page: u64, hint: Hint) {
            if self.waiting.iter().all(|each| each.0 != page) {
                self.ask(HostOp::Read, page, hint, true);
            }
        }
    }

    #[test]
    fn requests_are_those_of_a_plain_list_of_pages() {
        let mut rng = random::SeededRng::named(1, "cache");
        for round in 0..200 {
            let (most, trims) = (1 + rng.below(300), round % 2 == 0);
            let (mut cache, mut plain) = (Cache::new(most * PAGE_BYTES), Plain::default());
            for _ in 0..300 {
                let (first, owner) = (rng.below(500), rng.below(4) as u32);
                let hint = Hint::new(0, rng.below(3) as u8, 0);
                let pages = first..first + rng.below(200);
                match rng.below(8) {
                    0 => {
                        cache.sync(owner);
                        plain.leave(|other| other.is_none_or(|other| other == owner));
                        plain.left.push((HostOp::Flush, 0, 0, Hint::NONE));
                    }
                    1 => {
                        let pages: Vec<u64> = pages.step_by(1 + rng.below(2) as usize).collect();
                        cache.freed(&pages, trims);
                        plain.freed(&pages, trims);
                    }
                    2 => pages.for_each(|page| {
                        cache.read(page, hint);
                        plain.read(page, hint);
                    }),
                    3 => pages.for_each(|page| {
                        cache.wrote(page, Some(owner), hint);
                        plain.wrote(page, Some(owner), hint, most);
                    }),
                    _ => {
                        cache.wrote(first, None, Hint::NONE);
                        plain.wrote(first, None, Hint::NONE, most);
                    }
                }
            }
            cache.write_back();
            plain.leave(|_| true);
            assert_eq!(left(&mut cache), plain.left, "round {round}");
        }
    }
}
