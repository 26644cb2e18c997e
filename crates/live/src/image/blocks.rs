//! The block table: erases and state of each block, 16 bytes an entry.
//!
//! An entry is written whole or not at all by a process that is killed. An erase writes *erasing*, clears the slots, and writes
//! the new count; a block that is found *erasing* is one whose erase was cut off, and asks for another.

/// Bytes of an entry; divides a memory page.
pub(crate) const ENTRY_BYTES: usize = 16;

/// Whether a block can be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Condition {
    #[default]
    Good = 0,
    Bad = 1,
    /// An erase has begun.
    Erasing = 2,
}

/// A block's entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) erases: u32,
    pub(crate) condition: Condition,
}

impl Block {
    pub(crate) fn encode(self) -> [u8; ENTRY_BYTES] {
        let mut bytes = [0; ENTRY_BYTES];
        if self == Self::default() {
            return bytes;
        }
        bytes[0..4].copy_from_slice(&self.erases.to_le_bytes());
        bytes[4] = self.condition as u8;
        let crc = crc32c::crc32c(&bytes[..12]);
        bytes[12..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// None for an entry that cannot be believed.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        if bytes.iter().all(|&byte| byte == 0) {
            return Some(Self::default());
        }
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let condition = match bytes[4] {
            0 => Condition::Good,
            1 => Condition::Bad,
            2 => Condition::Erasing,
            _ => return None,
        };
        (word(12) == crc32c::crc32c(&bytes[..12])).then_some(Self { erases: word(0), condition })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_read_back_and_flipped_ones_do_not() {
        for condition in [Condition::Good, Condition::Bad, Condition::Erasing] {
            for erases in [0, 1, u32::MAX] {
                let block = Block { erases, condition };
                let bytes = block.encode();
                assert_eq!(Block::decode(&bytes), Some(block));
                let mut flipped = bytes;
                flipped[2] ^= 8;
                assert_eq!(Block::decode(&flipped), None, "{block:?}");
            }
        }
        assert_eq!(Block::decode(&[0; ENTRY_BYTES]), Some(Block::default()));
    }
}
