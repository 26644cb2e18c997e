//! Which power cuts are tried: those that a replay line names, or one in this many, drawn from the
//! seed.
//!
//! Whether a cut is drawn depends on the seed and on the cuts before it alone, so it can be asked
//! before the operation is done; the recorder asks, and copies the chip for nothing else.

use flash::Tear;
use random::{derive, mix};

use crate::case::cut::Cut;
use crate::case::named::list;

/// The choice among the cuts on top of certain others.
#[derive(Clone, Debug)]
pub struct CutSampler {
    rule: Rule,
}

#[derive(Clone, Debug)]
enum Rule {
    /// No other than this one.
    This(Option<Cut>),
    /// Drawn with this seed.
    Drawn(u64),
}

impl CutSampler {
    /// Only the next of the cuts that a case names, if those before it are the ones made so far.
    pub fn named(cuts: &[Cut], so_far: &[Cut]) -> Self {
        Self { rule: Rule::This(cuts.strip_prefix(so_far).and_then(|rest| rest.first().copied())) }
    }

    /// A sample that depends on the seed and on the cuts made so far.
    pub fn drawn(seed: u64, so_far: &[Cut]) -> Self {
        Self { rule: Rule::Drawn(derive(seed, &list(so_far))) }
    }

    /// Whether a cut is tried where one in this many is: 1 for all, 0 for none.
    pub fn takes(&self, cut: Cut, one_in: u32) -> bool {
        match self.rule {
            Rule::This(this) => this == Some(cut),
            Rule::Drawn(seed) => {
                let number = u64::from(cut.operation) << 2 | cut.tear as u64;
                one_in == 1 || one_in > 1 && mix(seed ^ number).is_multiple_of(u64::from(one_in))
            }
        }
    }

    /// The cuts at an operation that are tried.
    pub fn at(&self, operation: u32, one_in: u32) -> impl Iterator<Item = Cut> + use<'_> {
        let cuts = Tear::ALL.into_iter().map(move |tear| Cut { operation, tear });
        cuts.filter(move |&cut| self.takes(cut, one_in))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::named::parse_list;

    #[test]
    fn samples_have_their_size_and_replays_take_one_cut() {
        let drawn = CutSampler::drawn(7, &[Cut { operation: 3, tear: Tear::Torn }]);
        let count = |one_in| (0..1000).map(|operation| drawn.at(operation, one_in).count()).sum::<usize>();
        assert_eq!((count(0), count(1)), (0, 4000));
        assert!((300..500).contains(&count(10)), "{}", count(10));
        let cuts = parse_list::<Cut>("5:torn,2:after").expect("cuts");
        let first = CutSampler::named(&cuts, &[]);
        let taken: Vec<_> = (0..9).flat_map(|operation| first.at(operation, 1).collect::<Vec<_>>()).collect();
        assert_eq!(taken, cuts[..1]);
        assert!(CutSampler::named(&cuts, &cuts[..1]).takes(cuts[1], 0));
        assert!(!CutSampler::named(&cuts, &cuts[1..]).takes(cuts[1], 1));
    }
}
