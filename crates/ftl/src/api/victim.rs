//! Victim policies from outside: which closed block garbage collection takes next, by a score.
//!
//! The built-in policies (`blocks/victims.rs`) keep lists from which a choice costs next to
//! nothing. A policy from outside is asked about all candidates of a die at each choice, through a
//! table of functions, and keeps no lists: it costs what its scores cost. It is registered under a
//! name, and then stands behind `victim=` of every scheme that has this parameter.

use std::fmt;
use std::sync::Arc;

use flash::Pbn;

use crate::api::named::{Named, PolicyKind};
use crate::port::error::ConfigError;

/// A closed block that may be collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its number.
    pub pbn: Pbn,
    /// Pages that collecting it has to move.
    pub valid_pages: u32,
    /// Pages of content that a block has.
    pub pages: u32,
    /// How often it was erased.
    pub erases: u32,
    /// The class of its pages (`api/classifier.rs`): without a classifier 0, and 1 for collected
    /// pages that have blocks of their own; none for a part of the map.
    pub class: Option<usize>,
    /// When it was opened, in pages that the host had written.
    pub opened_at: u64,
    /// Pages that the host has written since.
    pub age: u64,
    /// Changes of any block since it was filled: closed blocks and pages that became invalid.
    pub since_filled: u64,
    /// The same since it last lost a valid page, or was filled.
    pub since_changed: u64,
}

/// A way of choosing what is collected.
///
/// # Example
///
/// The block with the fewest valid pages, of those the least worn one:
///
/// ```
/// # use ftlkit_ftl as ftl;
/// use std::sync::Arc;
/// use ftl::{Candidate, VictimPolicy, registry};
///
/// #[derive(Debug)]
/// struct CheapAndYoung;
///
/// impl VictimPolicy for CheapAndYoung {
///     fn scores(&self, candidates: &[Candidate]) -> Result<Vec<f64>, String> {
///         let cost = |it: &Candidate| f64::from(it.valid_pages) + f64::from(it.erases) / 1e9;
///         Ok(candidates.iter().map(|it| -cost(it)).collect())
///     }
/// }
///
/// registry::replace_victim_policy("cheap-and-young", Arc::new(|| Ok(Arc::new(CheapAndYoung))))?;
/// registry::resolve(&"dftl:victim=cheap-and-young".parse()?)?;
/// # Ok::<(), ftl::ConfigError>(())
/// ```
pub trait VictimPolicy: fmt::Debug + Send + Sync {
    /// The score of each candidate, in their order. The highest is collected, and of equal ones
    /// that which was filled first. An error, or a score that is no finite number, ends the run.
    fn scores(&self, candidates: &[Candidate]) -> Result<Vec<f64>, String>;
}

/// A policy and its score of a candidate, in words.
pub(crate) fn best(policy: &dyn VictimPolicy, candidates: &[Candidate]) -> Result<Option<Pbn>, String> {
    let scores = policy.scores(candidates)?;
    if scores.len() != candidates.len() {
        return Err(format!("{policy:?} gave {} scores for {} blocks", scores.len(), candidates.len()));
    }
    if let Some((candidate, score)) = candidates.iter().zip(&scores).find(|(_, score)| !score.is_finite()) {
        return Err(format!("{policy:?}: the score of block {} is {score}, no finite number", candidate.pbn.get()));
    }
    let first = candidates
        .iter()
        .zip(scores)
        .max_by(|(a, a_score), (b, b_score)| a_score.total_cmp(b_score).then(a.since_filled.cmp(&b.since_filled)));
    Ok(first.map(|(candidate, _)| candidate.pbn))
}

/// Makes a policy for a device that is formatted or recovered.
pub type BuildVictims = Arc<dyn Fn() -> Result<Arc<dyn VictimPolicy>, ConfigError> + Send + Sync>;

/// The registered policies.
pub(crate) static REGISTERED: Named<BuildVictims> = Named::new(PolicyKind::Victims);

/// Makes a registered policy.
pub(crate) fn build(name: &str) -> Result<Arc<dyn VictimPolicy>, ConfigError> {
    let build = REGISTERED.find(name);
    build.ok_or_else(|| ConfigError(format!("victim = {name}: this policy is not registered any more")))?()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Given(Vec<f64>);

    impl VictimPolicy for Given {
        fn scores(&self, _: &[Candidate]) -> Result<Vec<f64>, String> {
            Ok(self.0.clone())
        }
    }

    fn choose(scores: &[f64]) -> Result<Option<Pbn>, String> {
        let candidate = |i: u32| Candidate {
            pbn: Pbn::new(i),
            valid_pages: 1,
            pages: 4,
            erases: 0,
            class: Some(0),
            opened_at: 0,
            age: 0,
            since_filled: [5, 9, 7][i as usize],
            since_changed: 0,
        };
        best(&Given(scores.to_vec()), &[0, 1, 2].map(candidate))
    }

    #[test]
    fn the_highest_score_wins_and_of_equals_the_block_filled_first() {
        assert_eq!(choose(&[1.0, 2.0, 3.0]), Ok(Some(Pbn::new(2))));
        assert_eq!(choose(&[1.0, 1.0, 1.0]), Ok(Some(Pbn::new(1))));
        assert_eq!(choose(&[-0.5, -3.0, -1.0]), Ok(Some(Pbn::new(0))));
    }

    #[test]
    fn scores_that_are_none_are_refused_with_the_block() {
        assert!(choose(&[1.0, f64::NAN, 0.0]).expect_err("not a number").contains("score of block 1 is NaN"));
        assert!(choose(&[f64::INFINITY, 1.0, 0.0]).expect_err("no end").contains("block 0 is inf"));
        assert!(choose(&[1.0]).expect_err("too few").contains("1 scores for 3 blocks"));
    }
}
