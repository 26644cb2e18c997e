//! Which channels take part in writes that go to several at once (BDB 6, figs. 5-6).
//!
//! A channel is left out while it collects garbage, or when it holds the most worn blocks. BDB says no more than that. Here a channel
//! holds the most worn blocks if one of its blocks was erased `gap` times more often than every block of the least worn channel. So
//! one channel is never left out for its wear; and when all that are not worn are collecting, that is overlooked, lest a
//! write wait for a channel that it need not use.
//!
//! It learns of wear from erases; which channels collect is [`Media`](crate::Media)'s to know.

use crate::{Kind, Parameter};

/// How many channels a random write goes to, and which are left out for their wear.
pub const PARAMETERS: [Parameter; 2] = [
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

/// How worn each channel is.
#[derive(Clone, Debug)]
pub struct ChannelWear {
    /// The highest erase count of a block seen on each channel.
    most_erases: Vec<u32>,
}

impl ChannelWear {
    /// Channels of which no block has been seen.
    pub fn new(channels: u32) -> Self {
        Self { most_erases: vec![0; channels as usize] }
    }

    /// A block of a channel has been erased so often.
    #[inline]
    pub fn saw(&mut self, channel: u32, erases: u32) {
        let most = &mut self.most_erases[channel as usize];
        *most = erases.max(*most);
    }

    /// The valid channels, in order; at least one.
    pub fn list_valid(&self, is_collecting: impl Fn(u32) -> bool, gap: u32, into: &mut Vec<u32>) {
        into.clear();
        let least = self.most_erases.iter().copied().min().unwrap_or(0);
        let unworn =
            || (0..).zip(&self.most_erases).filter(|(_, most)| *most - least < gap).map(|(channel, _)| channel);
        into.extend(unworn().filter(|&channel| !is_collecting(channel)));
        if into.is_empty() {
            into.extend(unworn());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn valid(wear: &ChannelWear, collecting: &[u32], gap: u32) -> Vec<u32> {
        let mut channels = Vec::new();
        wear.list_valid(|channel| collecting.contains(&channel), gap, &mut channels);
        channels
    }

    fn worn(erases: &[u32]) -> ChannelWear {
        let mut wear = ChannelWear::new(erases.len() as u32);
        (0..).zip(erases).for_each(|(channel, &erases)| wear.saw(channel, erases));
        wear
    }

    #[test]
    fn a_channel_that_collects_is_invalid() {
        assert_eq!(valid(&worn(&[0, 0, 0, 0]), &[], 8), [0, 1, 2, 3]);
        assert_eq!(valid(&worn(&[0, 0, 0, 0]), &[2], 8), [0, 1, 3]);
    }

    #[test]
    fn the_channel_of_the_most_worn_blocks_is_invalid_and_the_least_worn_never_is() {
        let mut wear = worn(&[5, 12, 13]);
        assert_eq!(valid(&wear, &[], 8), [0, 1]);
        assert_eq!(valid(&wear, &[], 1), [0]);
        wear.saw(0, 6);
        wear.saw(2, 3);
        assert_eq!(valid(&wear, &[], 8), [0, 1, 2]);
    }

    #[test]
    fn when_all_that_are_not_worn_collect_they_are_valid_all_the_same() {
        assert_eq!(valid(&worn(&[1, 1, 20]), &[0, 1], 8), [0, 1]);
    }
}
