//! The block table: erases and state of each block, 64 bytes an entry, in two copies far apart.
//!
//! The number of erases is the block's *epoch*. An erase is nothing but a new entry: slots of
//! earlier epochs no longer count. Entries are written when the image is made, so zeros are damage
//! and never a block without wear.
//!
//! An entry says which life of the image was the last one when it was written. Once a later life is
//! on the disk, both copies of the entry are, too: from then on a copy that is behind is damage,
//! and no trace of a stop.

/// Bytes of an entry; divides a sector, so that an entry is on the disk whole or not at all.
pub(crate) const ENTRY_BYTES: usize = 64;

const MAGIC: [u8; 4] = *b"BLCK";
const SINCE_AT: usize = 16;
const CRC_AT: usize = 60;

/// Whether a block can be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Condition {
    #[default]
    Good = 0,
    Bad = 1,
}

/// A block's entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) erases: u32,
    pub(crate) condition: Condition,
    /// Generation of the image's life when the entry was written; 0 if nobody knows.
    pub(crate) since: u64,
}

impl Block {
    pub(crate) fn encode(self, block: usize) -> [u8; ENTRY_BYTES] {
        let mut bytes = [0; ENTRY_BYTES];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4..8].copy_from_slice(&(block as u32).to_le_bytes());
        bytes[8..12].copy_from_slice(&self.erases.to_le_bytes());
        bytes[12] = self.condition as u8;
        bytes[SINCE_AT..SINCE_AT + 8].copy_from_slice(&self.since.to_le_bytes());
        let crc = crc32c::crc32c(&bytes[..CRC_AT]);
        bytes[CRC_AT..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// None for an entry that cannot be believed.
    pub(crate) fn decode(block: usize, bytes: &[u8; ENTRY_BYTES]) -> Option<Self> {
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let condition = match bytes[12] {
            0 => Condition::Good,
            1 => Condition::Bad,
            _ => return None,
        };
        let since = u64::from_le_bytes(*bytes[SINCE_AT..].first_chunk()?);
        let is_whole = bytes[..4] == MAGIC && word(CRC_AT) == crc32c::crc32c(&bytes[..CRC_AT]);
        (is_whole && word(4) == block as u32).then_some(Self { erases: word(8), condition, since })
    }

    /// Of two copies that can be believed the one that was written later: erases are only counted
    /// up, and a block that is bad stays so.
    pub(crate) fn later(self, other: Self) -> Self {
        let order = |block: Self| (block.condition == Condition::Bad, block.erases);
        if order(other) > order(self) { other } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_read_back_and_flipped_ones_do_not() {
        for condition in [Condition::Good, Condition::Bad] {
            for erases in [0, 1, u32::MAX] {
                let block = Block { erases, condition, since: 0x0102_0304_0506 };
                let bytes = block.encode(77);
                assert_eq!(Block::decode(77, &bytes), Some(block));
                assert_eq!(Block::decode(78, &bytes), None, "another block's");
                for bit in 0..ENTRY_BYTES * 8 {
                    let mut flipped = bytes;
                    flipped[bit / 8] ^= 1 << (bit % 8);
                    assert_eq!(Block::decode(77, &flipped), None, "{block:?}, bit {bit}");
                }
            }
        }
        assert_eq!(Block::decode(0, &[0; ENTRY_BYTES]), None);
    }

    #[test]
    fn the_copy_with_more_erases_is_the_later_one_and_bad_is_for_good() {
        let of = |erases, condition| Block { erases, condition, since: 0 };
        let (old, new, bad) = (of(3, Condition::Good), of(4, Condition::Good), of(3, Condition::Bad));
        for (one, other, later) in [(old, new, new), (new, bad, bad), (old, old, old)] {
            assert_eq!((one.later(other), other.later(one)), (later, later));
        }
    }
}
