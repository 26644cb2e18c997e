//! Workloads: endless streams of operations, each meant to hurt a certain kind of scheme, or a
//! script written out.
//!
//! A generator knows the logical space (pages, and pages per block, since schemes think in blocks)
//! and draws from one seeded stream. It never looks at the scheme. Its first n operations do not
//! depend on how many are asked for, so a failing case stays failing when it is cut off after the
//! request that failed.

use std::fmt;
use std::str::FromStr;

use random::SeededRng;

use crate::case::named::{list, name_of, named, names, value_of};
use crate::case::operation::{Extent, Operation, Space};
use crate::case::swarm::Swarm;

named! {
    /// How the host behaves.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Pattern {
        /// Everything at random: writes, reads, trims, flushes and idle time of all sizes.
        Mixed = "mixed",
        /// Single pages anywhere: garbage collection's worst friend.
        Uniform = "uniform",
        /// Page after page around the device.
        Sequential = "sequential",
        /// Runs of random length, each where the last one ended.
        Runs = "runs",
        /// The same page for ever.
        Hammer = "hammer",
        /// Nine writes of ten to a tenth of the space.
        HotCold = "hot-cold",
        /// Two blocks in turn, at the same offset: log blocks thrash.
        PingPong = "ping-pong",
        /// A stride of one block: consecutive writes never share a block.
        Stride = "stride",
        /// Page by page downwards: the wrong way round for every in-place block.
        Reverse = "reverse",
        /// First pages of random blocks: what sequential log blocks begin with.
        OffsetZero = "offset-zero",
        /// From a block's first page upwards, broken off at random.
        InterruptedRuns = "interrupted-runs",
        /// Three sequential streams at once.
        Interleaved = "interleaved",
        /// Fills the device, forgets all at once, fills it, forgets block by block, and again.
        TrimRefill = "trim-refill",
        /// Forgets, writes and reads single pages.
        TrimHoles = "trim-holes",
        /// Forgets runs, writes some of them again, and flushes often: what was forgotten for good,
        /// and what not yet?
        TrimFlush = "trim-flush",
        /// Rewrites one half of a block, then the other half of another.
        PartialBlock = "partial-block",
        /// Requests that begin at a block's end and go on over several.
        CrossBlock = "cross-block",
        /// Whole aligned blocks, page by page.
        BlockRewrite = "block-rewrite",
        /// Whole aligned blocks, page by page from the last to the first.
        BlockReverse = "block-reverse",
        /// Requests of the whole device between single pages.
        WholeDevice = "whole-device",
        /// Mostly reads: caches turn over while little changes.
        ReadMostly = "read-mostly",
        /// Writes, trims and flushes while blocks of the flash are to be emptied, whatever they
        /// hold.
        BlockRelocations = "block-relocations",
    }
}

/// What a case does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Workload {
    /// A generated stream.
    Generated(Pattern),
    /// A generated stream of some of the operations.
    Swarm(Swarm),
    /// These operations.
    Script(Vec<Operation>),
}

impl Workload {
    /// The operations of a device with this logical space; endless unless it is a script.
    pub fn operations(&self, space: Space, seed: u64) -> Box<dyn Iterator<Item = Operation> + '_> {
        match self {
            Self::Generated(pattern) => Box::new(Generator::new(*pattern, space, seed)),
            Self::Swarm(swarm) => Box::new(swarm.operations(space, seed)),
            Self::Script(operations) => Box::new(operations.iter().copied()),
        }
    }
}

struct Generator {
    pattern: Pattern,
    space: Space,
    rng: SeededRng,
    step: u32,
    cursors: [u32; 3],
}

impl Iterator for Generator {
    type Item = Operation;

    fn next(&mut self) -> Option<Operation> {
        let operation = self.operation();
        self.step = self.step.wrapping_add(1);
        Some(operation)
    }
}

impl Generator {
    fn new(pattern: Pattern, space: Space, seed: u64) -> Self {
        let third = space.logical_pages / 3;
        Self { pattern, space, rng: SeededRng::named(seed, "workload"), step: 0, cursors: [0, third, 2 * third] }
    }

    fn operation(&mut self) -> Operation {
        let Space { logical_pages, pages_per_block, .. } = self.space;
        match self.pattern {
            Pattern::Mixed => self.mixed(),
            Pattern::Uniform => self.write_anywhere(),
            Pattern::Sequential => self.write(self.step % logical_pages, 1),
            Pattern::Runs => self.advance(0, 2 * pages_per_block),
            Pattern::Hammer => self.write(logical_pages / 2, 1),
            Pattern::HotCold => self.hot_cold(),
            Pattern::PingPong => self.ping_pong(),
            Pattern::Stride => self.stride(),
            Pattern::Reverse => self.write(logical_pages - 1 - self.step % logical_pages, 1),
            Pattern::OffsetZero => self.offset_zero(),
            Pattern::InterruptedRuns => self.interrupted_runs(),
            Pattern::Interleaved => self.advance(self.step as usize % 3, 3),
            Pattern::TrimRefill => self.trim_refill(),
            Pattern::TrimHoles => self.trim_holes(),
            Pattern::TrimFlush => self.trim_flush(),
            Pattern::PartialBlock => self.partial_block(),
            Pattern::CrossBlock => self.cross_block(),
            Pattern::BlockRewrite => self.within_blocks(|offset, _| offset),
            Pattern::BlockReverse => self.within_blocks(|offset, pages_per_block| pages_per_block - 1 - offset),
            Pattern::WholeDevice => self.whole_device(),
            Pattern::ReadMostly => self.read_mostly(),
            Pattern::BlockRelocations => self.block_relocations(),
        }
    }

    fn extent(&self, first: u32, pages: u32) -> Extent {
        Extent::within(self.space.logical_pages, first, pages)
    }

    fn write(&self, first: u32, pages: u32) -> Operation {
        Operation::Write(self.extent(first, pages))
    }

    fn write_anywhere(&mut self) -> Operation {
        let lpn = self.rng.below_u32(self.space.logical_pages);
        self.write(lpn, 1)
    }

    fn any_block(&mut self) -> u32 {
        self.rng.below_u32(self.space.blocks()) * self.space.pages_per_block
    }

    fn any_extent(&mut self, most: u32) -> Extent {
        let (first, pages) = (self.rng.below_u32(self.space.logical_pages), self.rng.up_to(most));
        self.extent(first, pages)
    }

    fn mixed(&mut self) -> Operation {
        let most = if self.rng.percent(70) { 2 } else { 2 * self.space.pages_per_block };
        match self.rng.below_u32(100) {
            0..=59 => Operation::Write(self.any_extent(most)),
            60..=79 => Operation::Read(self.any_extent(most)),
            80..=91 => Operation::Trim(self.any_extent(most)),
            92..=95 => Operation::Flush,
            _ => Operation::Idle,
        }
    }

    /// Writes up to `most` pages where the cursor stands and moves it behind them.
    fn advance(&mut self, cursor: usize, most: u32) -> Operation {
        let pages = self.rng.up_to(most);
        let extent = self.extent(self.cursors[cursor], pages);
        self.cursors[cursor] = (extent.first + extent.pages) % self.space.logical_pages;
        Operation::Write(extent)
    }

    fn hot_cold(&mut self) -> Operation {
        let hot = (self.space.logical_pages / 10).max(1);
        let limit = if self.rng.percent(90) { hot } else { self.space.logical_pages };
        let lpn = self.rng.below_u32(limit);
        self.write(lpn, 1)
    }

    fn ping_pong(&mut self) -> Operation {
        let offset = (self.step / 2) % self.space.pages_per_block;
        let last = (self.space.blocks() - 1) * self.space.pages_per_block;
        self.write(if self.step.is_multiple_of(2) { offset } else { last + offset }, 1)
    }

    fn stride(&mut self) -> Operation {
        let position = u64::from(self.step) * u64::from(self.space.pages_per_block);
        let turn = position / u64::from(self.space.logical_pages);
        self.write(((position + turn) % u64::from(self.space.logical_pages)) as u32, 1)
    }

    fn offset_zero(&mut self) -> Operation {
        let block = self.any_block();
        let pages = if self.rng.percent(70) { 1 } else { self.rng.up_to(3) };
        self.write(block, pages)
    }

    fn interrupted_runs(&mut self) -> Operation {
        if self.rng.percent(20) {
            self.cursors[0] = self.any_block();
        }
        self.advance(0, 1)
    }

    fn trim_refill(&mut self) -> Operation {
        let (blocks, size) = (self.space.blocks(), self.space.pages_per_block);
        let step = self.step % (3 * blocks + 1);
        let block = |number: u32| Extent::within(self.space.logical_pages, number * size, size);
        match step {
            step if step < blocks => Operation::Write(block(step)),
            step if step == blocks => Operation::Trim(Extent::whole(self.space.logical_pages)),
            step if step <= 2 * blocks => Operation::Write(block(2 * blocks - step)),
            step => Operation::Trim(block(step - 2 * blocks - 1)),
        }
    }

    fn trim_holes(&mut self) -> Operation {
        let extent = self.any_extent(1);
        match self.step % 3 {
            0 => Operation::Trim(extent),
            1 => Operation::Write(extent),
            _ => Operation::Read(extent),
        }
    }

    fn trim_flush(&mut self) -> Operation {
        let most = self.space.pages_per_block;
        match self.rng.below_u32(10) {
            0..=4 => Operation::Write(self.any_extent(most)),
            5..=7 => Operation::Trim(self.any_extent(most)),
            _ => Operation::Flush,
        }
    }

    fn partial_block(&mut self) -> Operation {
        let half = self.space.pages_per_block.div_ceil(2);
        let (visit, offset) = (self.step / half, self.step % half);
        if offset == 0 {
            self.cursors[0] = self.any_block() + (visit % 2) * (self.space.pages_per_block / 2);
        }
        self.write(self.cursors[0] + offset, 1)
    }

    fn cross_block(&mut self) -> Operation {
        let size = self.space.pages_per_block;
        let first = self.any_block() + size - self.rng.up_to(size.min(2));
        let pages = 1 + self.rng.up_to(3 * size);
        if self.rng.percent(20) { Operation::Read(self.extent(first, pages)) } else { self.write(first, pages) }
    }

    fn within_blocks(&mut self, order: impl Fn(u32, u32) -> u32) -> Operation {
        let offset = self.step % self.space.pages_per_block;
        if offset == 0 {
            self.cursors[0] = self.any_block();
        }
        self.write(self.cursors[0] + order(offset, self.space.pages_per_block), 1)
    }

    fn whole_device(&mut self) -> Operation {
        match self.step % 8 {
            0 => Operation::Write(Extent::whole(self.space.logical_pages)),
            4 => Operation::Read(Extent::whole(self.space.logical_pages)),
            _ => self.write_anywhere(),
        }
    }

    fn block_relocations(&mut self) -> Operation {
        let most = if self.rng.percent(70) { 2 } else { 2 * self.space.pages_per_block };
        match self.rng.below_u32(10) {
            0..=4 => Operation::Write(self.any_extent(most)),
            5 => Operation::Trim(self.any_extent(most)),
            6 => Operation::Flush,
            _ => Operation::RelocateBlock(self.rng.below_u32(self.space.physical_blocks)),
        }
    }

    fn read_mostly(&mut self) -> Operation {
        let extent = self.any_extent(4);
        if self.rng.percent(20) { Operation::Write(extent) } else { Operation::Read(extent) }
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Generated(pattern) => f.write_str(name_of(&Pattern::ALL, pattern)),
            Self::Swarm(swarm) => swarm.fmt(f),
            Self::Script(operations) => write!(f, "script:{}", list(operations)),
        }
    }
}

impl FromStr for Workload {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(script) = text.strip_prefix("script:") {
            let operations = script.split(',').filter(|part| !part.is_empty()).map(str::parse);
            return operations.collect::<Result<_, _>>().map(Self::Script);
        }
        if let Some(swarm) = text.strip_prefix("swarm:") {
            return Swarm::parse(swarm).map(Self::Swarm);
        }
        let known = || names(&Pattern::ALL);
        value_of(&Pattern::ALL, text).map(Self::Generated).ok_or_else(|| {
            format!("workload {text} is unknown: choose from {}, or write out script:w0+1,r0+1", known())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPACES: [Space; 5] = [
        Space { logical_pages: 1, pages_per_block: 1, physical_blocks: 4 },
        Space { logical_pages: 1, pages_per_block: 8, physical_blocks: 4 },
        Space { logical_pages: 7, pages_per_block: 1, physical_blocks: 9 },
        Space { logical_pages: 13, pages_per_block: 5, physical_blocks: 5 },
        Space { logical_pages: 96, pages_per_block: 16, physical_blocks: 9 },
    ];

    #[test]
    fn every_pattern_stays_on_the_device_and_repeats_itself() {
        for (pattern, name) in Pattern::ALL {
            for space in SPACES {
                let stream = |count| Generator::new(pattern, space, 9).take(count).collect::<Vec<_>>();
                let operations = stream(500);
                assert!(operations.iter().all(|operation| operation.fits(&space)), "{name} on {space:?}");
                assert_eq!(stream(50), operations[..50], "{name} on {space:?}");
            }
        }
    }

    #[test]
    fn patterns_that_mean_to_fill_the_device_do() {
        for (pattern, name) in Pattern::ALL {
            let space = SPACES[3];
            let mut written = vec![false; space.logical_pages as usize];
            for operation in Generator::new(pattern, space, 9).take(400) {
                if let Operation::Write(extent) = operation {
                    written[extent.first as usize..][..extent.pages as usize].fill(true);
                }
            }
            let partial = matches!(pattern, Pattern::Hammer | Pattern::PingPong | Pattern::OffsetZero);
            assert_eq!(written.iter().all(|&page| page), !partial, "{name}");
        }
    }

    #[test]
    fn every_workload_reads_back_from_its_text() {
        for (pattern, name) in Pattern::ALL {
            assert_eq!(name.parse(), Ok(Workload::Generated(pattern)));
            assert_eq!(Workload::Generated(pattern).to_string(), name);
        }
        let script = "script:w0+3,t1+1,r0+3,f,i,e2";
        assert_eq!(script.parse::<Workload>().expect("valid").to_string(), script);
        assert_eq!("script:".parse(), Ok(Workload::Script(Vec::new())));
        assert!("zipf".parse::<Workload>().expect_err("unknown").contains("mixed, uniform"));
    }
}
