//! A write buffer that tells sequential pages from random ones (BDB 3-4, figs. 1-2).
//!
//! A page that comes waits in a register until the next one comes. The difference of the two
//! addresses then tells what the first one was: 1 means that it is followed by its neighbour, and
//! it joins the *sequential* pages; anything else, and it joins the *random* ones. Pages are judged
//! one by one, so small requests that follow each other are found sequential, which a threshold on
//! the size of requests cannot see.
//!
//! ```text
//!   10 11 12 50 51 7 ──▶ previous ──▶ next − previous = 1 ?  yes: sequential 10 11 50
//!                                                            no:  random     12 51    (7 waits)
//! ```
//!
//! It knows which pages wait, in which order, and for how many there is room; what they hold lies
//! in [`RamPages`](crate::port::ram_pages::RamPages), and when and where they go is the scheme's.
//! Of each logical page at most one version waits.

use flash::Lpn;

use crate::api::parameter::{AccessDelays, Kind, Parameter, Values};
use crate::port::ram_pages::RamPage;

/// The size of the sequential buffer, and what its registers take.
pub(crate) const PARAMETERS: [Parameter; 3] = [
    Parameter {
        name: "sequential_buffer",
        kind: Kind::Integer { min: 1, max: 1024 },
        default: "7",
        meaning: "Pages of the sequential buffer; more are written in a row, and lost in a power cut.",
        source: "BDB tab. 1",
    },
    Parameter {
        name: "register_read_delay",
        kind: Kind::Duration { min: 0, max: 1_000_000 },
        default: "1us",
        meaning: "Time to read a page from a register of the buffer.",
        source: "BDB tab. 1",
    },
    Parameter {
        name: "register_write_delay",
        kind: Kind::Duration { min: 0, max: 1_000_000 },
        default: "1us",
        meaning: "Time to write a page to a register of the buffer.",
        source: "BDB tab. 1",
    },
];

/// A page that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    /// Its logical page.
    pub lpn: Lpn,
    /// The handle of its content.
    pub page: RamPage,
}

/// What the address subtractor says of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Locality {
    /// The page after it came next.
    Sequential,
    /// Another page did.
    Random,
}

/// The register of the previous page, and the two buffers.
#[derive(Clone, Debug)]
pub(crate) struct WriteBuffer {
    previous: Option<Waiting>,
    sequential: Vec<Waiting>,
    random: Vec<Waiting>,
    sequential_room: usize,
    random_room: usize,
    delays: AccessDelays,
}

impl WriteBuffer {
    /// The empty buffer that [`PARAMETERS`] ask for, with room for this many random pages.
    pub(crate) fn from_values(values: &Values, random_room: usize) -> Self {
        Self {
            previous: None,
            sequential: Vec::new(),
            random: Vec::new(),
            sequential_room: values.integer("sequential_buffer") as usize,
            random_room,
            delays: AccessDelays::from_values(values, ["register_read_delay", "register_write_delay"]),
        }
    }

    /// What an access to a register takes.
    pub(crate) fn delays(&self) -> AccessDelays {
        self.delays
    }

    /// Pages for which a buffer has room.
    pub(crate) fn room(&self, locality: Locality) -> usize {
        match locality {
            Locality::Sequential => self.sequential_room,
            Locality::Random => self.random_room,
        }
    }

    /// Pages that can wait, in the buffers and in the register.
    pub(crate) fn capacity_pages(&self) -> usize {
        self.sequential_room + self.random_room + 1
    }

    /// What is wrong with the buffer, if anything is: a page that waits twice, or one more than
    /// there is room for.
    pub(crate) fn fault(&self) -> Option<String> {
        let mut lpns: Vec<_> = self.iter().map(|waiting| waiting.lpn).collect();
        lpns.sort_unstable();
        let is_single = lpns.windows(2).all(|pair| pair[0] != pair[1]);
        let fits = self.sequential.len() <= self.sequential_room && self.random.len() <= self.random_room;
        (!is_single || !fits).then(|| format!("{self:?}"))
    }

    /// The version of a logical page that waits, wherever it does.
    pub(crate) fn find(&self, lpn: Lpn) -> Option<RamPage> {
        self.iter().find(|waiting| waiting.lpn == lpn).map(|waiting| waiting.page)
    }

    /// The waiting pages.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Waiting> {
        self.previous.iter().chain(&self.sequential).chain(&self.random)
    }

    /// Pages that wait.
    pub(crate) fn pages(&self) -> usize {
        self.iter().count()
    }

    /// Sorts the previous page in, now that the address of the next one is known, and tells where.
    /// It stays where it is if the next one is a new version of it.
    pub(crate) fn sort_previous(&mut self, next: Lpn) -> Option<Locality> {
        let previous = self.previous.take_if(|previous| previous.lpn != next)?;
        let locality = match next.get().checked_sub(previous.lpn.get()) {
            Some(1) => Locality::Sequential,
            _ => Locality::Random,
        };
        self.of_mut(locality).push(previous);
        Some(locality)
    }

    /// Sorts the previous page in without waiting for another: nothing has followed it.
    pub(crate) fn end_run(&mut self) {
        self.random.extend(self.previous.take());
    }

    /// A page has come, and waits in the register, where nothing waits; no version of it waits
    /// anywhere else.
    pub(crate) fn hold(&mut self, waiting: Waiting) {
        self.previous = Some(waiting);
    }

    /// A logical page does not wait any more: it is superseded, trimmed or written down. Returns
    /// what it held.
    pub(crate) fn remove(&mut self, lpn: Lpn) -> Option<RamPage> {
        if let Some(previous) = self.previous.take_if(|previous| previous.lpn == lpn) {
            return Some(previous.page);
        }
        [&mut self.sequential, &mut self.random].into_iter().find_map(|buffer| {
            let at = buffer.iter().position(|waiting| waiting.lpn == lpn)?;
            Some(buffer.remove(at).page)
        })
    }

    /// The pages in a buffer, in the order in which they came.
    pub(crate) fn of(&self, locality: Locality) -> &[Waiting] {
        match locality {
            Locality::Sequential => &self.sequential,
            Locality::Random => &self.random,
        }
    }

    fn of_mut(&mut self, locality: Locality) -> &mut Vec<Waiting> {
        match locality {
            Locality::Sequential => &mut self.sequential,
            Locality::Random => &mut self.random,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::port::ram_pages::RamPages;

    fn empty() -> WriteBuffer {
        let values = Values::check("bdb", &PARAMETERS, &[].into()).expect("defaults");
        WriteBuffer::from_values(&values, 8)
    }

    /// Pages come one after another; each holds its own number.
    fn after(pages: &[u32]) -> (WriteBuffer, RamPages<u32>) {
        let (mut buffer, mut ram) = (empty(), RamPages::default());
        for &page in pages {
            let lpn = Lpn::new(page);
            buffer.sort_previous(lpn);
            if let Some(old) = buffer.remove(lpn) {
                ram.take(old);
            }
            buffer.hold(Waiting { lpn, page: ram.put(page) });
        }
        (buffer, ram)
    }

    fn sorted(pages: &[u32]) -> (Vec<u32>, Vec<u32>) {
        let (buffer, _) = after(pages);
        let lpns = |locality| buffer.of(locality).iter().map(|waiting| waiting.lpn.get()).collect();
        (lpns(Locality::Sequential), lpns(Locality::Random))
    }

    #[test]
    fn a_page_followed_by_its_neighbour_is_sequential_and_the_last_one_waits() {
        assert_eq!(sorted(&[10, 11, 12, 13]), (vec![10, 11, 12], vec![]));
        assert_eq!(sorted(&[5, 90, 3, 44]), (vec![], vec![5, 90, 3]));
        assert_eq!(sorted(&[7]), (vec![], vec![]));
    }

    #[test]
    fn the_last_page_of_a_run_is_random_for_nothing_follows_it() {
        assert_eq!(sorted(&[10, 11, 12, 50, 51, 7]), (vec![10, 11, 50], vec![12, 51]));
        let (mut buffer, _) = after(&[10, 11]);
        buffer.end_run();
        assert_eq!((buffer.of(Locality::Sequential).len(), buffer.of(Locality::Random).len()), (1, 1));
    }

    #[test]
    fn a_difference_of_one_the_other_way_or_of_two_is_random() {
        assert_eq!(sorted(&[12, 11, 10]), (vec![], vec![12, 11]));
        assert_eq!(sorted(&[10, 12, 14]), (vec![], vec![10, 12]));
        assert_eq!(sorted(&[900, 0, 1]), (vec![0], vec![900]));
    }

    #[test]
    fn of_each_page_one_version_waits_the_newest() {
        assert_eq!(sorted(&[4, 4, 4, 5]), (vec![4], vec![]));
        assert_eq!(sorted(&[4, 9, 4, 20]), (vec![], vec![9, 4]));
        let (buffer, ram) = after(&[4, 9, 4, 5, 4, 9]);
        assert_eq!((buffer.pages(), ram.pages()), (3, 3));
    }

    #[test]
    fn pages_are_found_and_removed_wherever_they_wait() {
        let (mut buffer, ram) = after(&[10, 11, 50, 7]);
        for lpn in [10, 11, 50, 7] {
            let page = buffer.find(Lpn::new(lpn)).expect("it waits");
            assert_eq!(*ram.get(page), lpn);
            assert_eq!(buffer.remove(Lpn::new(lpn)), Some(page));
            assert_eq!((buffer.find(Lpn::new(lpn)), buffer.remove(Lpn::new(lpn))), (None, None));
        }
        assert_eq!(buffer.pages(), 0);
    }
}
