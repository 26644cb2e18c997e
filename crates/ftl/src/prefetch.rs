//! Asking for memory before it is needed.
//!
//! A map of a large device is far larger than any cache, and nearly every host write and every
//! collected page touches a random entry of it. The addresses are known some time before; asking
//! early lets the misses overlap. On processors without a prefetch instruction this does nothing.

pub use flash::prefetch;

/// How near a request is that the shell announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrefetchStage {
    /// For the first time: ask for what is found by the logical address alone.
    Far,
    /// For the second time: that has arrived, so ask for what it points to.
    Near,
    /// For the third time: that has arrived too.
    Next,
}

/// How far ahead the items of a list are announced: so far that a miss is over, and so near that
/// the line is still there.
const ANNOUNCED: [(usize, PrefetchStage); 3] =
    [(24, PrefetchStage::Far), (16, PrefetchStage::Near), (8, PrefetchStage::Next)];

/// Announces those items of a list that are due when the one at a position is about to be dealt
/// with. Called for one position after another, it announces every item three times.
#[inline]
pub fn announce<T>(items: &[T], at: usize, mut to: impl FnMut(&T, PrefetchStage)) {
    for (ahead, stage) in ANNOUNCED {
        if at == 0 {
            items.iter().take(ahead).for_each(|item| to(item, stage));
        }
        if let Some(item) = items.get(at + ahead) {
            to(item, stage);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_announced_thrice_ever_nearer_and_before_its_turn() {
        for len in [0, 1, 8, 9, 24, 25, 60] {
            let items: Vec<usize> = (0..len).collect();
            let mut heard = vec![Vec::new(); len];
            for at in 0..len {
                announce(&items, at, |&item, stage| {
                    assert!(item >= at, "item {item} of {len} has had its turn");
                    heard[item].push(stage);
                });
                assert_eq!(
                    heard[at],
                    [PrefetchStage::Far, PrefetchStage::Near, PrefetchStage::Next],
                    "item {at} of {len}"
                );
            }
        }
    }
}
