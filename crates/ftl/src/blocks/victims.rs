//! Which closed block to collect next.
//!
//! Candidates are kept die by die, because a die collects its own blocks. Every policy sees the
//! same events (a block closes, loses a valid page, is taken) and keeps only what it needs to
//! choose:
//!
//! | policy | keeps | a choice costs |
//! |---|---|---|
//! | greedy | a list per number of valid pages | O(1) amortised |
//! | fifo | one list in closing order | O(1) |
//! | windowed-greedy | the same list | O(window) |
//! | second-chance | the same list and where to go on | O(blocks passed over) |
//! | random, d-choices | an array | O(1), O(d) |
//! | cost-benefit, cat | the same array and the time of each block's last change | O(candidates of the die) |
//! | from outside | the same, and when each block was closed | its scores of the candidates of the die |
//!
//! Sources: greedy and FIFO Menon 1995; cost-benefit Kawaguchi 1995 (age · (1 − u) / 2u); windowed
//! greedy Hu 2009; d-choices (k-greedy) Van Houdt 2013; CAT Chiang 1999 (age · (1 − u) / u, divided
//! by the erases, with the age since the last change as in cost-benefit); FIFO with second chance
//! Haas 2025 (its *2R-FIFO*). A policy may well choose a block without a single invalid page
//! (random often does), but only while some candidate of its die has one: so collecting again and
//! again ends.

use std::sync::Arc;

use flash::{Geometry, Pbn};
use random::SeededRng;

use crate::api::named::PolicyKind;
use crate::api::parameter::{Kind, Parameter, Values};
use crate::api::victim::{self, Candidate, VictimPolicy};
use crate::blocks::ledger::Ledger;
use crate::linked_lists::LinkedLists;
use crate::port::error::{ConfigError, FtlError};

/// How victims are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Fewest valid pages.
    Greedy,
    /// Highest age · (1 − u) / 2u.
    CostBenefit,
    /// Fewest valid pages among `d` drawn with replacement.
    DChoices(u32),
    /// Closed longest ago.
    Fifo,
    /// Fewest valid pages among the `w` closed longest ago.
    WindowedGreedy(u32),
    /// Closed longest ago of those that a scan has not passed over as too full.
    SecondChance,
    /// Highest age · (1 − u) / (u · erases).
    Cat,
    /// A block chosen at random.
    Random,
    /// Highest score of the policy that was registered under this name.
    Registered(&'static str),
}

/// The parameters by which page-mapped schemes choose a policy.
pub const PARAMETERS: [Parameter; 3] = [
    Parameter {
        name: "victim",
        kind: Kind::Policy {
            of: &["greedy", "cost-benefit", "cat", "d-choices", "fifo", "second-chance", "windowed-greedy", "random"],
            from: PolicyKind::Victims,
        },
        default: "greedy",
        meaning: "Which block garbage collection takes: greedy copies least for uniform writes, random most.",
        source: "RFTL tab. 6 (greedy)",
    },
    Parameter {
        name: "d",
        kind: Kind::Integer { min: 1, max: 1000 },
        default: "10",
        meaning: "Blocks drawn by d-choices; 1 is random, large values approach greedy.",
        source: "Van Houdt 2013",
    },
    Parameter {
        name: "window",
        kind: Kind::Integer { min: 1, max: 1 << 20 },
        default: "32",
        meaning: "Blocks that windowed-greedy looks at; 1 is fifo, the whole die is greedy.",
        source: "Hu 2009",
    },
];

impl Policy {
    /// The policy that [`PARAMETERS`] ask for.
    pub fn from_values(values: &Values) -> Self {
        match values.word("victim") {
            "greedy" => Self::Greedy,
            "cost-benefit" => Self::CostBenefit,
            "d-choices" => Self::DChoices(values.integer("d") as u32),
            "fifo" => Self::Fifo,
            "second-chance" => Self::SecondChance,
            "cat" => Self::Cat,
            "windowed-greedy" => Self::WindowedGreedy(values.integer("window") as u32),
            "random" => Self::Random,
            name => Self::Registered(name),
        }
    }

    fn keeps_array(self) -> bool {
        matches!(self, Self::Random | Self::DChoices(_) | Self::CostBenefit | Self::Cat | Self::Registered(_))
    }

    fn keeps_times(self) -> bool {
        matches!(self, Self::CostBenefit | Self::Cat | Self::Registered(_))
    }
}

/// Closed blocks, ready to be chosen.
#[derive(Clone, Debug)]
pub struct Victims {
    policy: Policy,
    geometry: Geometry,
    /// Valid pages of a block from which nothing can be gained.
    full: u32,
    /// Candidates of each die with an invalid page.
    gainful: Vec<u32>,
    /// List policies: one list per die, or one per die and valid count for greedy.
    lists: LinkedLists,
    lists_per_die: u32,
    /// Greedy: no list of the die below this count has a block.
    fewest: Vec<u32>,
    /// Drawing policies: the candidates of each die, and each block's position there.
    arrays: Vec<Vec<u32>>,
    positions: Vec<Option<u32>>,
    /// Cost-benefit and policies from outside: the time of each block's last change, counted in
    /// changes.
    changed: Vec<u64>,
    clock: u64,
    rng: SeededRng,
    /// Second chance: where the scan of each die goes on.
    scans: Vec<Scan>,
    outside: Option<ExternalVictims>,
}

/// Facts about a block that may be collected.
#[derive(Clone, Copy, Debug, Default)]
pub struct CandidateFacts {
    /// How often it was erased.
    pub erases: u32,
    /// Its class.
    pub class: Option<usize>,
    /// When it was opened, in pages that the host had written.
    pub opened_at: u64,
    /// Pages that the host has written.
    pub clock: u64,
}

/// How far a die has been scanned.
#[derive(Clone, Copy, Debug, Default)]
struct Scan {
    /// The next block; none for the first.
    next: Option<u32>,
    /// Blocks that were seen since the scan began.
    steps: u32,
    /// Blocks of the die that may be collected.
    blocks: u32,
}

/// Valid share below which a scan collects a block.
const MOST_VALID: f64 = 0.7;
/// What is added to that when a scan begins anew without having found a block.
const MORE_VALID: f64 = 0.05;
/// Share of the blocks of a die, the oldest, that a scan sees.
const SCANNED: f64 = 0.7;

/// A policy from outside, and what is kept for it alone.
#[derive(Clone, Debug)]
struct ExternalVictims {
    policy: Arc<dyn VictimPolicy>,
    /// When each block was closed, counted in changes.
    closed: Vec<u64>,
    /// Blocks that it chose one after another although nothing can be gained from them.
    fruitless: u32,
}

impl Victims {
    /// No candidates yet, of blocks that hold at most `full` valid pages. `seed` feeds the policies
    /// that draw. A registered policy may refuse to be built.
    pub fn new(geometry: Geometry, full: u32, policy: Policy, seed: u64) -> Result<Self, ConfigError> {
        let (blocks, dies) = (geometry.blocks() as usize, geometry.dies() as usize);
        let pages = geometry.pages_per_block();
        debug_assert!((1..=pages).contains(&full), "blocks of {pages} pages hold at most {full} valid ones");
        let lists_per_die = if policy == Policy::Greedy { geometry.pages_per_block() + 1 } else { 1 };
        let outside = match policy {
            Policy::Registered(name) => {
                Some(ExternalVictims { policy: victim::build(name)?, closed: vec![0; blocks], fruitless: 0 })
            }
            _ => None,
        };
        Ok(Self {
            policy,
            geometry,
            full,
            gainful: vec![0; dies],
            lists: LinkedLists::new(if policy.keeps_array() { 0 } else { blocks }, dies * lists_per_die as usize),
            lists_per_die,
            fewest: vec![lists_per_die; dies],
            arrays: vec![Vec::new(); if policy.keeps_array() { dies } else { 0 }],
            positions: vec![None; if policy.keeps_array() { blocks } else { 0 }],
            changed: vec![0; if policy.keeps_times() { blocks } else { 0 }],
            clock: 0,
            rng: SeededRng::new(seed),
            scans: vec![Scan::default(); if policy == Policy::SecondChance { dies } else { 0 }],
            outside,
        })
    }

    /// Whether a block is closed and may be collected.
    #[inline]
    pub fn contains(&self, pbn: Pbn) -> bool {
        match self.positions.get(pbn.index()) {
            Some(position) => position.is_some(),
            None => self.lists.chain_of(pbn.get()).is_some(),
        }
    }

    /// A block has been filled and may be collected from now on. On a damaged device it may hold
    /// more than `full` valid pages: nothing can be gained from such a block either.
    pub fn close(&mut self, pbn: Pbn, valid_pages: u32) {
        debug_assert!(!self.contains(pbn), "{pbn} is closed already");
        debug_assert!(valid_pages <= self.geometry.pages_per_block(), "{pbn} has {valid_pages} valid pages");
        let die = self.geometry.die_of(pbn);
        self.gainful[die as usize] += u32::from(valid_pages < self.full);
        if self.policy.keeps_array() {
            let array = &mut self.arrays[die as usize];
            self.positions[pbn.index()] = Some(array.len() as u32);
            array.push(pbn.get());
            self.touch(pbn);
            if let Some(outside) = &mut self.outside {
                outside.closed[pbn.index()] = self.clock;
            }
        } else if self.policy == Policy::Greedy {
            self.lists.push_back(die * self.lists_per_die + valid_pages, pbn.get());
            self.fewest[die as usize] = self.fewest[die as usize].min(valid_pages);
        } else {
            self.lists.push_back(die, pbn.get());
            self.scans.get_mut(die as usize).into_iter().for_each(|scan| scan.blocks += 1);
        }
    }

    /// Asks for the memory that a page of a block becoming invalid touches.
    #[inline]
    pub fn prefetch(&self, pbn: Pbn) {
        self.lists.prefetch(pbn.get());
    }

    /// A page of a block has become invalid, which leaves `valid_pages` there. Open blocks are
    /// ignored.
    #[inline]
    pub fn on_page_invalidated(&mut self, pbn: Pbn, valid_pages: u32) {
        debug_assert!(valid_pages < self.geometry.pages_per_block(), "{pbn} has lost no page");
        if valid_pages + 1 == self.full && self.contains(pbn) {
            self.gainful[self.geometry.die_of(pbn) as usize] += 1;
        }
        match self.policy {
            Policy::Greedy => {
                if let Some(list) = self.lists.chain_of(pbn.get()) {
                    debug_assert!(
                        self.listed_count(pbn) == Some(valid_pages + 1),
                        "{pbn} is left with {valid_pages} valid pages, but was listed with {:?}",
                        self.listed_count(pbn)
                    );
                    self.lists.move_back(list - 1, pbn.get());
                    let die = self.geometry.die_of(pbn) as usize;
                    self.fewest[die] = self.fewest[die].min(valid_pages);
                }
            }
            Policy::CostBenefit | Policy::Cat | Policy::Registered(_) => self.touch(pbn),
            _ => {}
        }
    }

    /// Takes the next victim of a die, or none if no candidate there has an invalid page. `facts`
    /// tells of a block. Only a policy from outside fails.
    pub fn take(
        &mut self,
        die: u32,
        ledger: &Ledger,
        facts: impl Fn(Pbn) -> CandidateFacts,
    ) -> Result<Option<Pbn>, FtlError> {
        debug_assert!((die as usize) < self.gainful.len(), "there is no die {die} of {}", self.gainful.len());
        if self.gainful[die as usize] == 0 {
            return Ok(None);
        }
        let Some(choice) = self.choose(die, ledger, facts)? else { return Ok(None) };
        debug_assert_eq!(self.geometry.die_of(choice), die, "{choice} is chosen for another die");
        self.remove(choice, ledger.valid_pages(choice));
        Ok(Some(choice))
    }

    /// A choice that gains nothing was passed over, and no room is waited for: it does not count
    /// among those that would go on for ever.
    pub fn is_passed_over(&mut self) {
        if let Some(outside) = &mut self.outside {
            outside.fruitless = 0;
        }
    }

    /// Takes one certain candidate.
    pub fn remove(&mut self, pbn: Pbn, valid_pages: u32) {
        debug_assert!(self.contains(pbn), "{pbn} is no candidate");
        debug_assert!(
            self.listed_count(pbn).is_none_or(|listed| listed == valid_pages),
            "{pbn} has {valid_pages} valid pages, but is listed with {:?}",
            self.listed_count(pbn)
        );
        if valid_pages < self.full {
            let gainful = &mut self.gainful[self.geometry.die_of(pbn) as usize];
            debug_assert!(*gainful > 0, "{pbn} has {valid_pages} valid pages, but no block of its die gains anything");
            *gainful -= 1;
        }
        if let Some(scan) = self.scans.get_mut(self.geometry.die_of(pbn) as usize) {
            scan.blocks -= 1;
            scan.next = if scan.next == Some(pbn.get()) { self.lists.after(pbn.get()) } else { scan.next };
        }
        let Some(position) = self.positions.get_mut(pbn.index()).and_then(Option::take) else {
            return self.lists.remove(pbn.get());
        };
        let array = &mut self.arrays[self.geometry.die_of(pbn) as usize];
        debug_assert_eq!(array.get(position as usize), Some(&pbn.get()), "{pbn} is not at its position {position}");
        array.swap_remove(position as usize);
        if let Some(&moved) = array.get(position as usize) {
            self.positions[moved as usize] = Some(position);
        }
    }

    /// Greedy: the number of valid pages under which a candidate is listed.
    fn listed_count(&self, pbn: Pbn) -> Option<u32> {
        if self.policy != Policy::Greedy {
            return None;
        }
        let list = self.lists.chain_of(pbn.get())?;
        Some(list - self.geometry.die_of(pbn) * self.lists_per_die)
    }

    fn choose(
        &mut self,
        die: u32,
        ledger: &Ledger,
        facts: impl Fn(Pbn) -> CandidateFacts,
    ) -> Result<Option<Pbn>, FtlError> {
        Ok(match self.policy {
            Policy::Greedy => self.least(die),
            Policy::Fifo => self.candidates(die).next(),
            Policy::WindowedGreedy(window) => self.fewest_valid(die, window, ledger),
            Policy::SecondChance => self.scan(die, ledger),
            Policy::Random => self.draw(die),
            Policy::DChoices(d) => {
                let mut best = self.draw(die);
                for _ in 1..d {
                    let other = self.draw(die);
                    if other.map(|pbn| ledger.valid_pages(pbn)) < best.map(|pbn| ledger.valid_pages(pbn)) {
                        best = other;
                    }
                }
                best
            }
            Policy::CostBenefit | Policy::Cat => {
                let is_cat = self.policy == Policy::Cat;
                let score = |pbn: Pbn| {
                    let valid = f64::from(ledger.valid_pages(pbn));
                    let age = (self.clock - self.changed[pbn.index()] + 1) as f64;
                    // Empty blocks differ by age and erases, too.
                    let cost = if is_cat { valid.max(1e-9) * f64::from(facts(pbn).erases.max(1)) } else { 2.0 * valid };
                    age * (f64::from(self.full) - valid) / cost
                };
                self.candidates(die).max_by(|&a, &b| score(a).total_cmp(&score(b)))
            }
            Policy::Registered(name) => self.highest_score(name, die, ledger, facts)?,
        })
    }

    /// The choice of a policy from outside; its failure is one of the whole scheme, and so is a
    /// choice that gains nothing as many times in a row as there are blocks: a collection that
    /// waits for room would go on for ever.
    #[inline(never)]
    fn highest_score(
        &mut self,
        name: &str,
        die: u32,
        ledger: &Ledger,
        facts: impl Fn(Pbn) -> CandidateFacts,
    ) -> Result<Option<Pbn>, FtlError> {
        let Some(ExternalVictims { policy, closed, .. }) = &self.outside else { return Ok(None) };
        let candidate = |pbn: Pbn| {
            let CandidateFacts { erases, class, opened_at, clock } = facts(pbn);
            Candidate {
                pbn,
                valid_pages: ledger.valid_pages(pbn),
                pages: self.full,
                erases,
                class,
                opened_at,
                age: clock - opened_at,
                since_filled: self.clock - closed[pbn.index()],
                since_changed: self.clock - self.changed[pbn.index()],
            }
        };
        let candidates: Vec<_> = self.candidates(die).map(candidate).collect();
        let choice = victim::best(policy.as_ref(), &candidates).map_err(|message| FtlError::Failed { message })?;
        let valid_pages = choice.map_or(0, |pbn| ledger.valid_pages(pbn));
        let (full, blocks) = (self.full, self.geometry.blocks());
        let Some(outside) = &mut self.outside else { return Ok(choice) };
        outside.fruitless = if valid_pages < full { 0 } else { outside.fruitless + 1 };
        match choice {
            Some(pbn) if outside.fruitless >= blocks => Err(FtlError::Failed {
                message: format!(
                    "victim={name}, {:?}, chose {blocks} blocks in a row from which nothing can be gained, \
                     the last one {pbn} with {valid_pages} valid pages of {full}, although others have fewer: \
                     collection would never end. Give a higher score to blocks with fewer valid pages",
                    outside.policy
                ),
            }),
            _ => Ok(choice),
        }
    }

    fn least(&mut self, die: u32) -> Option<Pbn> {
        let first = die * self.lists_per_die;
        let fewest = &mut self.fewest[die as usize];
        while *fewest < self.lists_per_die {
            if let Some(block) = self.lists.front(first + *fewest) {
                return Some(Pbn::new(block));
            }
            *fewest += 1;
        }
        None
    }

    fn draw(&mut self, die: u32) -> Option<Pbn> {
        let array = &self.arrays[die as usize];
        if array.is_empty() {
            return None;
        }
        let position = self.rng.below_u32(array.len() as u32);
        Some(Pbn::new(array[position as usize]))
    }

    /// The next block of a scan with few valid pages; each scan that ends meanwhile allows a few
    /// more.
    fn scan(&mut self, die: u32, ledger: &Ledger) -> Option<Pbn> {
        let mut most_valid = MOST_VALID;
        loop {
            let scan = &mut self.scans[die as usize];
            let block = scan.next.or_else(|| self.lists.front(die))?;
            (scan.next, scan.steps) = (self.lists.after(block), scan.steps + 1);
            let ends = scan.next.is_none() || f64::from(scan.steps + 1) > SCANNED * f64::from(scan.blocks);
            if ends {
                (scan.next, scan.steps) = (None, 0);
            }
            let valid = f64::from(ledger.valid_pages(Pbn::new(block))) / f64::from(self.full);
            if valid < most_valid {
                return Some(Pbn::new(block));
            }
            most_valid += if ends { MORE_VALID } else { 0.0 };
        }
    }

    fn fewest_valid(&self, die: u32, window: u32, ledger: &Ledger) -> Option<Pbn> {
        self.candidates(die).take(window as usize).min_by_key(|&pbn| ledger.valid_pages(pbn))
    }

    /// The candidates of a die: in closing order for the list policies, otherwise in no particular
    /// but a definite order.
    fn candidates(&self, die: u32) -> impl Iterator<Item = Pbn> + '_ {
        let array = self.arrays.get(die as usize).map_or(&[][..], Vec::as_slice);
        let first = die * self.lists_per_die;
        let lists = if self.policy.keeps_array() { first..first } else { first..first + self.lists_per_die };
        let linked = lists.flat_map(|list| self.lists.iter(list));
        array.iter().copied().chain(linked).map(Pbn::new)
    }

    fn touch(&mut self, pbn: Pbn) {
        if let Some(changed) = self.changed.get_mut(pbn.index()) {
            self.clock += 1;
            *changed = self.clock;
        }
    }
}

#[cfg(test)]
mod tests {
    use flash::Ppn;
    use testkit::TestFlash;

    use super::*;

    const BLOCKS: u32 = 8;
    const PAGES: u32 = 4;

    /// Blocks 0 to 7 of one die close in order; block `i` then has `valid[i]` valid pages.
    fn closed(policy: Policy, valid: [u32; BLOCKS as usize]) -> (Victims, Ledger) {
        let geometry = TestFlash::new(BLOCKS, PAGES).geometry();
        let (mut victims, mut ledger) =
            (Victims::new(geometry, PAGES, policy, 1).expect("a policy"), Ledger::new(geometry));
        for block in (0..BLOCKS).map(Pbn::new) {
            for offset in 0..PAGES {
                ledger.validate(geometry.page(block, offset), block);
            }
            victims.close(block, PAGES);
        }
        for (block, &count) in valid.iter().enumerate() {
            for offset in count..PAGES {
                let pbn = ledger.invalidate(Ppn::at(block * PAGES as usize + offset as usize));
                victims.on_page_invalidated(pbn, ledger.valid_pages(pbn));
            }
        }
        (victims, ledger)
    }

    fn order(policy: Policy, valid: [u32; BLOCKS as usize]) -> Vec<u32> {
        let (mut victims, ledger) = closed(policy, valid);
        std::iter::from_fn(|| victims.take(0, &ledger, facts).expect("a choice")).map(Pbn::get).collect()
    }

    #[test]
    fn greedy_takes_fewest_valid_first_and_leaves_full_blocks() {
        assert_eq!(order(Policy::Greedy, [3, 1, 4, 0, 2, 4, 3, 1]), [3, 1, 7, 4, 0, 6]);
    }

    #[test]
    fn fifo_takes_closing_order_and_a_window_sorts_within_itself() {
        assert_eq!(order(Policy::Fifo, [3, 1, 2, 0, 2, 3, 3, 1]), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(order(Policy::WindowedGreedy(2), [3, 1, 2, 0, 2, 3, 3, 1]), [1, 2, 3, 4, 0, 5, 7, 6]);
        assert_eq!(order(Policy::WindowedGreedy(1), [3, 1, 2, 0, 2, 3, 3, 1]), order(Policy::Fifo, [3; 8]));
    }

    /// Blocks were erased as often as their number says.
    fn facts(pbn: Pbn) -> CandidateFacts {
        CandidateFacts { erases: pbn.get(), ..CandidateFacts::default() }
    }

    #[test]
    fn cat_divides_what_cost_benefit_says_by_the_erases() {
        assert_eq!(order(Policy::CostBenefit, [1, 1, 2, 1, 1, 4, 4, 4])[..2], [0, 1]);
        // Ages of 9, 7, 4 and 1 changes: 9 · 3, 7 · 2 / (2 · 2), 4 · 3 / 3 and 3 / 4.
        assert_eq!(order(Policy::Cat, [4, 1, 2, 1, 1, 4, 4, 4])[..4], [1, 3, 2, 4]);
    }

    #[test]
    fn a_second_chance_passes_over_full_blocks_until_none_else_is_left() {
        // Of four pages 70 % are fewer than three. Five of eight blocks are scanned.
        assert_eq!(order(Policy::SecondChance, [3, 2, 3, 0, 2, 2, 3, 3])[..3], [1, 3, 4]);
        assert_eq!(order(Policy::SecondChance, [3, 3, 4, 3, 3, 3, 3, 3])[..2], [0, 1]);
    }

    /// Scores with the wrong sign.
    #[derive(Debug)]
    struct FullFirst;

    impl VictimPolicy for FullFirst {
        fn scores(&self, candidates: &[Candidate]) -> Result<Vec<f64>, String> {
            Ok(candidates.iter().map(|candidate| f64::from(candidate.valid_pages)).collect())
        }
    }

    #[test]
    fn choices_that_never_gain_end_with_an_error() {
        // Of the policies that keep times, one that need not be in the list of the whole process.
        let (mut victims, ledger) = closed(Policy::CostBenefit, [4, 4, 3, 4, 4, 4, 4, 4]);
        victims.policy = Policy::Registered("full-first");
        victims.outside =
            Some(ExternalVictims { policy: Arc::new(FullFirst), closed: vec![0; BLOCKS as usize], fruitless: 0 });
        for _ in 1..BLOCKS {
            let taken = victims.take(0, &ledger, facts).expect("a choice").expect("a block");
            assert_eq!(ledger.valid_pages(taken), PAGES, "{taken}");
            victims.close(taken, PAGES);
        }
        let error = victims.take(0, &ledger, facts).expect_err("it would never end").to_string();
        for words in ["victim=full-first, FullFirst, chose 8 blocks in a row", "PBN ", "4 valid pages of 4"] {
            assert!(error.contains(words), "{words}: {error}");
        }
    }

    #[test]
    fn every_policy_takes_each_block_that_gains_and_then_stops() {
        let drawing = [Policy::Random, Policy::DChoices(3), Policy::SecondChance, Policy::WindowedGreedy(2)];
        for policy in drawing.into_iter().chain([Policy::CostBenefit, Policy::Cat, Policy::Greedy, Policy::Fifo]) {
            let taken = order(policy, [4, 1, 2, 0, 4, 3, 3, 1]);
            let mut gaining: Vec<_> = taken.iter().copied().filter(|block| ![0, 4].contains(block)).collect();
            assert_eq!(taken.last(), gaining.last(), "{policy:?} goes on although nothing can be gained");
            gaining.sort_unstable();
            assert_eq!(gaining, [1, 2, 3, 5, 6, 7], "{policy:?}");
        }
    }

    #[test]
    fn cost_benefit_prefers_the_old_among_equals_and_the_empty_above_all() {
        assert_eq!(order(Policy::CostBenefit, [2, 2, 2, 0, 2, 2, 2, 2])[..3], [3, 0, 1]);
    }

    #[test]
    fn many_choices_are_greedy() {
        assert_eq!(order(Policy::DChoices(500), [3, 1, 4, 0, 2, 4, 3, 4])[..3], [3, 1, 4]);
    }
}
