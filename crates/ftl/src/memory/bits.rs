//! Bitmaps, a word at a time.

/// The positions of the ones in a bitmap, ascending.
pub fn ones(words: &[u64]) -> impl Iterator<Item = usize> + '_ {
    words.iter().enumerate().flat_map(|(index, &word)| {
        let without_lowest = |&rest: &u64| Some(rest & (rest - 1)).filter(|&rest| rest != 0);
        std::iter::successors(Some(word).filter(|&word| word != 0), without_lowest)
            .map(move |rest| index * 64 + rest.trailing_zeros() as usize)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ones_are_found_at_both_ends_of_words_and_in_none_that_is_zero() {
        let words = [0, 1 | 1 << 63, 0, 0b1010];
        assert_eq!(ones(&words).collect::<Vec<_>>(), [64, 127, 193, 195]);
        assert_eq!(ones(&[]).count(), 0);
    }
}
