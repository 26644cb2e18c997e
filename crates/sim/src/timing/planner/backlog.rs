//! The backlog of a planned device: operations that nobody waits for and that are not over, in the
//! order in which they were first planned, and what follows what.

use std::collections::VecDeque;

/// An operation that nobody waits for.
#[derive(Clone, Copy)]
pub(crate) struct Job {
    pub(crate) chain: u32,
    pub(crate) channel: u32,
    pub(crate) after: After,
    /// Whether it follows another job of its chain, and so is ready when that is done.
    pub(crate) is_inner: bool,
    /// As it is planned.
    pub(crate) end: u64,
    /// Where its promise is.
    pub(crate) place: u32,
    is_over: bool,
    /// The last of the jobs of other channels that follow this one, and the one before among those
    /// that follow the same job; 0 for none.
    follower: u64,
    sibling: u64,
}

/// What an operation follows.
#[derive(Clone, Copy)]
pub(crate) enum After {
    /// A moment of virtual time.
    Moment(u64),
    /// The end of another job.
    Job(u64),
}

/// Jobs are numbered from 1 in the order in which they are first planned.
pub(crate) struct Backlog {
    /// Those from `first` on, some of which may be over.
    jobs: VecDeque<Job>,
    first: u64,
    /// Numbers of those of each channel, ascending; those that are over are taken out late.
    channels: Vec<VecDeque<u64>>,
    /// How many are not over.
    open: usize,
}

impl Backlog {
    pub(crate) fn new(channels: u32) -> Self {
        Self { jobs: VecDeque::new(), first: 1, channels: vec![VecDeque::new(); channels as usize], open: 0 }
    }

    pub(crate) fn clear(&mut self) {
        self.jobs.clear();
        self.channels.iter_mut().for_each(VecDeque::clear);
        (self.first, self.open) = (1, 0);
    }

    /// How many are not over.
    pub(crate) fn len(&self) -> usize {
        self.open
    }

    /// The number of the next job.
    pub(crate) fn next(&self) -> u64 {
        self.first + self.jobs.len() as u64
    }

    fn index(&self, job: u64) -> Option<usize> {
        job.checked_sub(self.first).map(|index| index as usize).filter(|&index| index < self.jobs.len())
    }

    fn is_over(&self, job: u64) -> bool {
        self.get(job).is_none_or(|job| job.is_over)
    }

    /// A job; none if it is over for long.
    pub(crate) fn get(&self, job: u64) -> Option<&Job> {
        self.index(job).map(|index| &self.jobs[index])
    }

    pub(crate) fn get_mut(&mut self, job: u64) -> Option<&mut Job> {
        self.index(job).map(|index| &mut self.jobs[index])
    }

    /// When what is followed is done; none if it is over for long.
    pub(crate) fn resolve(&self, after: After) -> Option<u64> {
        match after {
            After::Moment(moment) => Some(moment),
            After::Job(job) => self.get(job).map(|job| job.end),
        }
    }

    /// The last of the jobs that were planned last that is of a chain and ends at a moment.
    pub(crate) fn of_chain_ending(&self, chain: u32, at: u64) -> Option<u64> {
        let last = self.jobs.iter().rev().take_while(|job| job.chain == chain);
        last.zip(1..).find(|(job, _)| job.end == at).map(|(_, back)| self.next() - back)
    }

    /// Adds a job, which gets the next number.
    pub(crate) fn push(&mut self, chain: u32, channel: u32, after: After, end: u64, place: u32) {
        let number = self.next();
        let (is_inner, is_over, follower, sibling) = (false, false, 0, 0);
        let mut job = Job { chain, channel, after, is_inner, end, place, is_over, follower, sibling };
        if let After::Job(followed) = after
            && let Some(followed) = self.get_mut(followed)
        {
            job.is_inner = followed.chain == chain;
            if followed.channel != channel {
                job.sibling = std::mem::replace(&mut followed.follower, number);
            }
        }
        self.jobs.push_back(job);
        while self.at(channel, 0).is_some_and(|oldest| self.is_over(oldest)) {
            self.channels[channel as usize].pop_front();
        }
        self.channels[channel as usize].push_back(number);
        self.open += 1;
    }

    pub(crate) fn close(&mut self, job: u64) {
        if let Some(job) = self.get_mut(job) {
            job.is_over = true;
            self.open -= 1;
        }
    }

    /// Forgets what is over at `now` and stands before everything that is not.
    pub(crate) fn forget(&mut self, now: u64) {
        while self.jobs.front().is_some_and(|job| job.is_over && job.end <= now) {
            self.jobs.pop_front();
            self.first += 1;
        }
    }

    /// The channels of the jobs of other channels that follow a job.
    pub(crate) fn following(&self, job: u64) -> impl Iterator<Item = u32> {
        let follower = |number: u64| self.get(number).map(|job| (number, job));
        let first = self.get(job).and_then(|job| follower(job.follower));
        std::iter::successors(first, move |(_, job)| follower(job.sibling)).map(|(_, job)| job.channel)
    }

    /// The jobs of a channel that are not over, ascending.
    pub(crate) fn of_channel(&mut self, channel: u32) -> &VecDeque<u64> {
        let (jobs, first) = (&self.jobs, self.first);
        let is_open = |&number: &u64| number >= first && !jobs[(number - first) as usize].is_over;
        let numbers = &mut self.channels[channel as usize];
        numbers.retain(is_open);
        numbers
    }

    /// The jobs of a channel, ascending, from a position on.
    pub(crate) fn at(&self, channel: u32, position: usize) -> Option<u64> {
        self.channels[channel as usize].get(position).copied()
    }
}
