//! Which combinations of choices have been tried, and a draw that favours those that have not.
//!
//! A trial is a *choice* for each of several *questions*: which program order, which value of a
//! setting, which workload. Faults mostly need two or three particular choices together, whatever
//! the others are, so what counts is which pairs and which triples of choices have been tried (Kuhn
//! et al., "Software Fault Interactions and Implications for Software Testing", IEEE TSE 2004). Of
//! several candidates drawn at random the one with the most new pairs is taken, of equal ones the
//! one with the most new triples.
//!
//! A scheme may refuse candidates. A pair of which only refused ones were drawn, again and again,
//! is taken for impossible.

use std::collections::BTreeSet;

use random::SeededRng;
use serde::Serialize;

/// Candidates per trial; the best is taken.
const CANDIDATES: usize = 12;

/// Times that candidates are drawn until one is accepted.
const ROUNDS: usize = 20;

/// Refusals after which a pair that was never accepted counts as refused.
const REFUSALS: u8 = 20;

/// The share of settings that keep their default: mostly, half and half, or none but by chance.
const DEFAULTS: [u32; 3] = [90, 50, 0];

/// Something to choose.
#[derive(Clone, Debug)]
pub(super) struct Question {
    pub(super) name: String,
    pub(super) choices: Vec<String>,
    /// Whether the first choice is what a user gets who does not ask.
    pub(super) has_default: bool,
}

/// One choice for each question, by number.
pub(super) type Answers = Vec<usize>;

/// What has been tried, of how much.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Covered {
    /// Different combinations of choices.
    pub combinations: u64,
    /// Pairs of choices tried.
    pub pairs: u64,
    /// Pairs of choices that the scheme always refused.
    pub pairs_refused: u64,
    /// All pairs of choices.
    pub pairs_of: u64,
    /// Triples of choices tried.
    pub triples: u64,
    /// All triples of choices, those that the scheme refuses among them.
    pub triples_of: u64,
}

impl std::ops::AddAssign for Covered {
    fn add_assign(&mut self, other: Self) {
        self.combinations += other.combinations;
        self.pairs += other.pairs;
        self.pairs_refused += other.pairs_refused;
        self.pairs_of += other.pairs_of;
        self.triples += other.triples;
        self.triples_of += other.triples_of;
    }
}

/// Bookkeeping over the trials of one scheme and kind.
#[derive(Debug)]
pub(super) struct Coverage {
    questions: Vec<Question>,
    /// The number of each question's first choice, when the choices of all are numbered through.
    first: Vec<usize>,
    choices: usize,
    pairs: Vec<bool>,
    refusals: Vec<u8>,
    triples: Vec<u64>,
    seen: BTreeSet<Answers>,
    covered: Covered,
}

impl Coverage {
    pub(super) fn of(questions: Vec<Question>) -> Self {
        let mut choices = 0;
        let first = questions
            .iter()
            .map(|question| {
                choices += question.choices.len();
                choices - question.choices.len()
            })
            .collect();
        // Sums of products over all subsets of two and of three questions.
        let (mut ones, mut twos, mut threes) = (0, 0, 0);
        for count in questions.iter().map(|question| question.choices.len() as u64) {
            threes += twos * count;
            twos += ones * count;
            ones += count;
        }
        Self {
            questions,
            first,
            choices,
            pairs: vec![false; choices * choices],
            refusals: vec![0; choices * choices],
            triples: vec![0; (choices * choices * choices).div_ceil(64)],
            seen: BTreeSet::new(),
            covered: Covered { pairs_of: twos, triples_of: threes, ..Covered::default() },
        }
    }

    pub(super) fn covered(&self) -> Covered {
        self.covered
    }

    /// Draws the next combination that is accepted, and counts it as tried.
    pub(super) fn next<T>(
        &mut self,
        rng: &mut SeededRng,
        accept: impl Fn(&[Question], &Answers, &mut SeededRng) -> Option<T>,
    ) -> Option<T> {
        for _ in 0..ROUNDS {
            let mut candidates: Vec<_> = (0..CANDIDATES)
                .map(|_| {
                    let answers = self.random(rng);
                    (self.gain(&answers), answers)
                })
                .collect();
            candidates.sort_by_key(|&(gain, _)| std::cmp::Reverse(gain));
            for (_, answers) in candidates {
                if let Some(accepted) = accept(&self.questions, &answers, rng) {
                    self.tried(answers);
                    return Some(accepted);
                }
                self.refused(&answers);
            }
        }
        None
    }

    fn random(&self, rng: &mut SeededRng) -> Answers {
        let defaults = DEFAULTS[rng.below_u32(DEFAULTS.len() as u32) as usize];
        let choose = |question: &Question| {
            let keeps = question.has_default && rng.percent(defaults);
            if keeps { 0 } else { rng.below_u32(question.choices.len() as u32) as usize }
        };
        self.questions.iter().map(choose).collect()
    }

    fn numbers(&self, answers: &Answers) -> Vec<usize> {
        self.first.iter().zip(answers).map(|(first, answer)| first + answer).collect()
    }

    /// New pairs, then new triples; pairs that are always refused are no gain.
    fn gain(&self, answers: &Answers) -> (u32, u32) {
        let (mut pairs, mut triples) = (0, 0);
        let numbers = self.numbers(answers);
        for (i, &a) in numbers.iter().enumerate() {
            for (j, &b) in numbers.iter().enumerate().skip(i + 1) {
                let pair = a * self.choices + b;
                pairs += u32::from(!self.pairs[pair] && self.refusals[pair] < REFUSALS);
                for &c in &numbers[j + 1..] {
                    let triple = pair * self.choices + c;
                    triples += u32::from(self.triples[triple / 64] >> (triple % 64) & 1 == 0);
                }
            }
        }
        (pairs, triples)
    }

    fn tried(&mut self, answers: Answers) {
        let numbers = self.numbers(&answers);
        for (i, &a) in numbers.iter().enumerate() {
            for (j, &b) in numbers.iter().enumerate().skip(i + 1) {
                let pair = a * self.choices + b;
                let is_new = !std::mem::replace(&mut self.pairs[pair], true);
                self.covered.pairs += u64::from(is_new);
                self.covered.pairs_refused -= u64::from(is_new && self.refusals[pair] >= REFUSALS);
                for &c in &numbers[j + 1..] {
                    let triple = pair * self.choices + c;
                    let (word, bit) = (&mut self.triples[triple / 64], 1 << (triple % 64));
                    self.covered.triples += u64::from(*word & bit == 0);
                    *word |= bit;
                }
            }
        }
        self.covered.combinations += u64::from(self.seen.insert(answers));
    }

    fn refused(&mut self, answers: &Answers) {
        let numbers = self.numbers(answers);
        for (i, &a) in numbers.iter().enumerate() {
            for &b in &numbers[i + 1..] {
                let pair = a * self.choices + b;
                self.refusals[pair] = self.refusals[pair].saturating_add(1);
                self.covered.pairs_refused += u64::from(self.refusals[pair] == REFUSALS && !self.pairs[pair]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn questions(choices: &[usize]) -> Vec<Question> {
        let question = |(i, &count): (usize, &usize)| Question {
            name: format!("q{i}"),
            choices: (0..count).map(|choice| choice.to_string()).collect(),
            has_default: i % 2 == 0,
        };
        choices.iter().enumerate().map(question).collect()
    }

    #[test]
    fn pairs_are_covered_soon_and_triples_after_them() {
        let mut coverage = Coverage::of(questions(&[5, 4, 4, 3, 3, 2, 2, 6]));
        let mut rng = SeededRng::named(3, "coverage");
        let mut draws = 0;
        while coverage.covered().pairs < coverage.covered().pairs_of {
            coverage.next(&mut rng, |_, _, _| Some(())).expect("nothing is refused");
            draws += 1;
        }
        // No fewer than 30, the most choices of two questions; at random it takes some 250.
        assert!((30..150).contains(&draws), "{draws}");
        let covered = coverage.covered();
        assert!(covered.combinations == draws && covered.triples < covered.triples_of, "{covered:?}");
        for _ in 0..600 {
            coverage.next(&mut rng, |_, _, _| Some(())).expect("nothing is refused");
        }
        assert!(coverage.covered().triples * 10 > covered.triples_of * 9, "{:?}", coverage.covered());
    }

    #[test]
    fn all_pairs_and_triples_are_counted() {
        let covered = Coverage::of(questions(&[2, 3, 4])).covered();
        assert_eq!((covered.pairs_of, covered.triples_of), (2 * 3 + 2 * 4 + 3 * 4, 2 * 3 * 4));
    }

    #[test]
    fn pairs_that_are_always_refused_are_told_and_not_chased() {
        let mut coverage = Coverage::of(questions(&[3, 3, 3]));
        let mut rng = SeededRng::named(3, "coverage");
        for _ in 0..200 {
            coverage.next(&mut rng, |_, answers, _| (answers[0] != 1 || answers[1] != 2).then_some(()));
        }
        let covered = coverage.covered();
        assert_eq!((covered.pairs, covered.pairs_refused, covered.pairs_of), (26, 1, 27));
    }

    #[test]
    fn when_everything_is_refused_there_is_no_draw() {
        let mut coverage = Coverage::of(questions(&[2, 2]));
        assert_eq!(coverage.next(&mut SeededRng::named(1, "coverage"), |_, _, _| None::<()>), None);
    }
}
