//! The floor to compare with: the least that any page-mapped simulation has to do.
//!
//! Two arrays, L2P and P2L, one open block, greedy victims from lists by valid count, uniform
//! random one-page writes. No referee, no time, no causes, no requests, no latency histogram. What
//! ftlkit adds is paid on top of this.

use random::SeededRng;

const NONE: u32 = u32::MAX;

/// The bare loop and its counts.
pub struct Bare {
    pages_per_block: u32,
    l2p: Vec<u32>,
    p2l: Vec<u32>,
    valid: Vec<u32>,
    previous: Vec<u32>,
    next: Vec<u32>,
    heads: Vec<u32>,
    fewest: u32,
    free: Vec<u32>,
    open: u32,
    offset: u32,
    rng: SeededRng,
    /// Page reads, page programs and block erases so far.
    pub operations: [u64; 3],
}

impl Bare {
    /// A device of this many blocks whose logical pages have all been written once, in order.
    pub fn filled(blocks: u32, pages_per_block: u32, logical_pages: u32, seed: u64) -> Self {
        let pages = (blocks * pages_per_block) as usize;
        let mut bare = Self {
            pages_per_block,
            l2p: vec![NONE; logical_pages as usize],
            p2l: vec![NONE; pages],
            valid: vec![0; blocks as usize],
            previous: vec![NONE; blocks as usize],
            next: vec![NONE; blocks as usize],
            heads: vec![NONE; pages_per_block as usize + 1],
            fewest: 0,
            free: (1..blocks).rev().collect(),
            open: 0,
            offset: 0,
            rng: SeededRng::new(seed),
            operations: [0; 3],
        };
        for lpn in 0..logical_pages {
            bare.write(lpn);
        }
        bare
    }

    /// Uniform random one-page writes.
    pub fn run(&mut self, writes: u64) {
        let pages = self.l2p.len() as u32;
        for _ in 0..writes {
            let lpn = self.rng.below_u32(pages);
            self.write(lpn);
        }
    }

    /// A number that depends on everything that was done.
    pub fn hash(&self) -> u64 {
        self.l2p
            .iter()
            .fold(0, |hash: u64, &ppn| (hash.rotate_left(5) ^ u64::from(ppn)).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    fn write(&mut self, lpn: u32) {
        if self.offset == self.pages_per_block {
            self.close_and_open();
        }
        let old = self.l2p[lpn as usize];
        if old != NONE {
            self.p2l[old as usize] = NONE;
            self.lose_page(old / self.pages_per_block);
        }
        self.place(lpn);
    }

    fn place(&mut self, lpn: u32) {
        let ppn = self.open * self.pages_per_block + self.offset;
        self.p2l[ppn as usize] = lpn;
        self.l2p[lpn as usize] = ppn;
        self.valid[self.open as usize] += 1;
        self.offset += 1;
        self.operations[1] += 1;
    }

    fn lose_page(&mut self, block: u32) {
        let valid = self.valid[block as usize];
        self.valid[block as usize] = valid - 1;
        if block != self.open {
            self.unlink(block, valid);
            self.link(block, valid - 1);
        }
    }

    /// Closes the full open block; with no free block left, a victim's valid pages go to the front
    /// of the next one.
    fn close_and_open(&mut self) {
        self.link(self.open, self.valid[self.open as usize]);
        if let Some(block) = self.free.pop() {
            (self.open, self.offset) = (block, 0);
            if !self.free.is_empty() {
                return;
            }
        }
        while self.heads[self.fewest as usize] == NONE {
            self.fewest += 1;
        }
        let victim = self.heads[self.fewest as usize];
        self.unlink(victim, self.fewest);
        for ppn in victim * self.pages_per_block..(victim + 1) * self.pages_per_block {
            let lpn = std::mem::replace(&mut self.p2l[ppn as usize], NONE);
            if lpn != NONE {
                self.operations[0] += 1;
                self.place(lpn);
            }
        }
        self.valid[victim as usize] = 0;
        self.operations[2] += 1;
        self.free.push(victim);
    }

    fn link(&mut self, block: u32, valid: u32) {
        let head = std::mem::replace(&mut self.heads[valid as usize], block);
        self.previous[block as usize] = NONE;
        self.next[block as usize] = head;
        if head != NONE {
            self.previous[head as usize] = block;
        }
        self.fewest = self.fewest.min(valid);
    }

    fn unlink(&mut self, block: u32, valid: u32) {
        let (previous, next) = (self.previous[block as usize], self.next[block as usize]);
        if previous == NONE {
            self.heads[valid as usize] = next;
        } else {
            self.next[previous as usize] = next;
        }
        if next != NONE {
            self.previous[next as usize] = previous;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bare_loop_reaches_the_closed_form_of_greedy() {
        let (blocks, pages_per_block) = (1024, 64);
        let logical_pages = (f64::from((blocks - 1) * pages_per_block) * 0.8) as u32;
        let mut bare = Bare::filled(blocks, pages_per_block, logical_pages, 1);
        bare.run(400_000);
        let before = bare.operations[1];
        bare.run(800_000);
        let amplification = (bare.operations[1] - before) as f64 / 800_000.0;
        assert!((amplification / 2.5993 - 1.0).abs() < 0.01, "{amplification}");
    }
}
