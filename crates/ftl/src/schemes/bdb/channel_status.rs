//! Which channels take part in writes that go to several at once (BDB 6, figs. 5-6).
//!
//! A channel is left out while it collects garbage, or when it holds the most worn blocks. BDB says
//! no more than that. Here a channel holds the most worn blocks if one of its blocks was erased
//! `gap` times more often than every block of the least worn channel. So one channel is never left
//! out for its wear; and when all that are not worn are collecting, that is overlooked, lest a
//! write wait for a channel that it need not use.
//!
//! How worn channels are is the block manager's to know (`blocks/manager.rs`), and which collect is
//! [`FlashPort`](crate::port::flash_port::FlashPort)'s.

use crate::api::parameter::{Kind, Parameter};

/// How many channels a random write goes to, and which are left out for their wear.
pub(super) const PARAMETERS: [Parameter; 2] = [
    Parameter {
        name: "max_valid_channels",
        kind: Kind::Integer { min: 1, max: 1024 },
        default: "8",
        meaning: "Most channels that a random write goes to at once, and so pages of the random buffer; 1 writes each page alone.",
        source: "BDB tab. 1",
    },
    Parameter {
        name: "wear_gap",
        kind: Kind::Integer { min: 1, max: 1 << 30 },
        default: "16",
        meaning: "Erases by which a block must exceed all of the least worn channel for random writes to leave its channel out.",
        source: "ftlkit (BDB 6 gives no number)",
    },
];

/// The valid channels, in order; at least one. `most_erases` is the highest erase count of a block
/// on each channel.
pub(super) fn list_valid(most_erases: &[u32], is_collecting: impl Fn(u32) -> bool, gap: u32, into: &mut Vec<u32>) {
    into.clear();
    let least = most_erases.iter().copied().min().unwrap_or(0);
    let unworn = || (0..).zip(most_erases).filter(|(_, most)| *most - least < gap).map(|(channel, _)| channel);
    into.extend(unworn().filter(|&channel| !is_collecting(channel)));
    if into.is_empty() {
        into.extend(unworn());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn valid(most_erases: &[u32], collecting: &[u32], gap: u32) -> Vec<u32> {
        let mut channels = Vec::new();
        list_valid(most_erases, |channel| collecting.contains(&channel), gap, &mut channels);
        channels
    }

    #[test]
    fn a_channel_that_collects_is_invalid() {
        assert_eq!(valid(&[0, 0, 0, 0], &[], 8), [0, 1, 2, 3]);
        assert_eq!(valid(&[0, 0, 0, 0], &[2], 8), [0, 1, 3]);
    }

    #[test]
    fn the_channel_of_the_most_worn_blocks_is_invalid_and_the_least_worn_never_is() {
        assert_eq!(valid(&[5, 12, 13], &[], 8), [0, 1]);
        assert_eq!(valid(&[5, 12, 13], &[], 1), [0]);
        assert_eq!(valid(&[6, 12, 13], &[], 8), [0, 1, 2]);
    }

    #[test]
    fn when_all_that_are_not_worn_collect_they_are_valid_all_the_same() {
        assert_eq!(valid(&[1, 1, 20], &[0, 1], 8), [0, 1]);
    }
}
