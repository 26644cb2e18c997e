//! Asking for memory before it is needed.
//!
//! A map of a large device is far larger than any cache, and nearly every host write and every collected page touches a
//! random entry of it. The addresses are known some time before; asking early lets the misses overlap. On processors
//! without a prefetch instruction this does nothing.

use crate::Foresight;

pub use flash::prefetch;

/// How far ahead the items of a list are announced: so far that a miss is over, and so near that the line is still there.
const ANNOUNCED: [(usize, Foresight); 3] = [(24, Foresight::Far), (16, Foresight::Near), (8, Foresight::Next)];

/// Announces those items of a list that are due when the one at a position is about to be dealt with. Called for one position after
/// another, it announces every item three times.
#[inline]
pub fn announce<T>(items: &[T], at: usize, mut to: impl FnMut(&T, Foresight)) {
    for (ahead, foresight) in ANNOUNCED {
        if at == 0 {
            items.iter().take(ahead).for_each(|item| to(item, foresight));
        }
        if let Some(item) = items.get(at + ahead) {
            to(item, foresight);
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
                announce(&items, at, |&item, foresight| {
                    assert!(item >= at, "item {item} of {len} has had its turn");
                    heard[item].push(foresight);
                });
                assert_eq!(heard[at], [Foresight::Far, Foresight::Near, Foresight::Next], "item {at} of {len}");
            }
        }
    }
}
