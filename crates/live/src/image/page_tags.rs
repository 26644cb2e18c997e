//! The out-of-band slot of a page: 64 bytes that say what the page holds, since which erase, and
//! whether to believe it.
//!
//! Two checks, because they answer different questions. The slot's own CRC tells whether the slot
//! can be believed; recovery needs nothing else, so it does not read the data. The CRC of the data
//! lies in the slot and is compared at every read.
//!
//! A slot names its page and its block's *epoch*, the number of erases by then. One of an earlier
//! epoch speaks of what the block held before its last erase, so an erase need not touch slots.
//! `docs/format.md` has the table.

use flash::{Lbn, Role, Tag};

/// Bytes of a slot; divides a sector, so that a slot is on the disk whole or not at all.
pub(crate) const SLOT_BYTES: usize = 64;
/// No device lives longer: a higher sequence number is damage, and leaves room for all programs to
/// come.
pub(crate) const LAST_SEQ: u64 = (1 << 47) - 1;

/// The value of the layout byte.
const LAYOUT: u8 = 2;
/// Where the hint lies.
const HINT_AT: usize = 22;
/// Where the slot's own CRC lies, over all bytes before it.
const CRC_AT: usize = 60;

/// What the data area of a programmed page holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// Nothing: it reads as zeros.
    None,
    /// A page of host data.
    Data {
        /// CRC-32C of the page's data.
        crc: u32,
    },
    /// Bytes of the translation layer's own.
    Own {
        /// CRC-32C of the bytes.
        crc: u32,
        /// How many bytes there are.
        length: u32,
    },
}

/// What was done to a page since its block's last erase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    /// Nothing was done to it.
    Erased,
    /// A program: a tag, and what the data area holds.
    Programmed(Tag, Body),
    /// Reads as erased but must not be programmed.
    Unstable,
    /// A program or an erase was cut off or failed here.
    Torn,
}

/// What a copy of a slot says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// All bytes are zero: nothing was ever written, or it was lost.
    Blank,
    /// A slot that can be believed, and the epoch that it speaks of.
    Slot(u32, Slot),
    /// Not to be believed.
    Damaged,
}

/// The bytes of a slot.
///
/// # Panics
/// When a tag cannot be written down: a role that the flash does not list, or more programs than
/// six bytes count. Each would be a bug of the translation layer or of the list of roles. An erased
/// page has no slot of its own to write.
pub(crate) fn encode(page: usize, epoch: u32, slot: Slot) -> [u8; SLOT_BYTES] {
    let mut bytes = [0; SLOT_BYTES];
    bytes[21] = match slot {
        Slot::Erased => unreachable!("an erase writes the block's entry, not slots"),
        Slot::Programmed(_, Body::None) => 1,
        Slot::Programmed(_, Body::Data { .. }) => 2,
        Slot::Programmed(_, Body::Own { .. }) => 3,
        Slot::Torn => 4,
        Slot::Unstable => 5,
    };
    if let Slot::Programmed(tag, body) = slot {
        encode_tag(&mut bytes, &tag, body);
    }
    bytes[23] = LAYOUT;
    put(&mut bytes, 36, epoch);
    put(&mut bytes, 40, page as u32);
    let crc = crc32c::crc32c(&bytes[..CRC_AT]);
    put(&mut bytes, CRC_AT, crc);
    bytes
}

fn encode_tag(bytes: &mut [u8; SLOT_BYTES], tag: &Tag, body: Body) {
    assert_eq!(Role::from_code(tag.role as u8), Some(tag.role), "{:?} is missing from Role::ALL", tag.role);
    assert!(tag.seq < 1 << 48 && tag.version < 1 << 48, "{tag:?} does not fit six bytes");
    bytes[..Tag::HEAD_BYTES].copy_from_slice(&tag.head());
    bytes[HINT_AT] = tag.hint;
    put(bytes, 24, tag.owner.map_or(0, |owner| owner.get() + 1));
    if let Body::Data { crc } | Body::Own { crc, .. } = body {
        put(bytes, 28, crc);
    }
    if let Body::Own { length, .. } = body {
        put(bytes, 32, length);
    }
}

/// What the bytes of a page's slot say.
pub(crate) fn decode(page: usize, bytes: &[u8; SLOT_BYTES]) -> Written {
    if bytes.iter().all(|&byte| byte == 0) {
        return Written::Blank;
    }
    let is_whole = word(bytes, CRC_AT) == crc32c::crc32c(&bytes[..CRC_AT]);
    if !is_whole || bytes[23] != LAYOUT || word(bytes, 40) != page as u32 {
        return Written::Damaged;
    }
    let slot = match bytes[21] {
        4 => Some(Slot::Torn),
        5 => Some(Slot::Unstable),
        _ => decode_tag(bytes),
    };
    slot.map_or(Written::Damaged, |slot| Written::Slot(word(bytes, 36), slot))
}

fn decode_tag(bytes: &[u8; SLOT_BYTES]) -> Option<Slot> {
    let (crc, length) = (word(bytes, 28), word(bytes, 32));
    let body = match bytes[21] {
        1 => Body::None,
        2 => Body::Data { crc },
        3 => Body::Own { crc, length },
        _ => return None,
    };
    let tag = Tag::of_head(bytes.first_chunk()?)?;
    let tag = Tag { owner: word(bytes, 24).checked_sub(1).map(Lbn::new), hint: bytes[HINT_AT], ..tag };
    // The largest address is one below the largest number (`crates/flash/src/address.rs`).
    let is_possible = tag.logical < u32::MAX && tag.extent > 0 && tag.seq <= LAST_SEQ && tag.version <= tag.seq;
    is_possible.then_some(Slot::Programmed(tag, body))
}

fn put(bytes: &mut [u8; SLOT_BYTES], at: usize, word: u32) {
    bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
}

fn word(bytes: &[u8; SLOT_BYTES], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(role: Role, extent: u32, owner: Option<Lbn>) -> Tag {
        Tag { logical: 0xFFFF_FFFE, extent, role, owner, seq: LAST_SEQ, version: 0x0102_0304_0506, hint: 0xA5 }
    }

    #[test]
    fn every_role_reads_back_with_and_without_data() {
        for role in Role::ALL {
            for slot in [
                Slot::Programmed(tag(role, 1, None), Body::Data { crc: 0xDEAD_BEEF }),
                Slot::Programmed(tag(role, 1, None), Body::Own { crc: 0xDEAD_BEEF, length: 4095 }),
                Slot::Programmed(tag(role, 77, Some(Lbn::new(0))), Body::None),
                Slot::Programmed(tag(role, 1, Some(Lbn::new(u32::MAX - 1))), Body::Data { crc: 0 }),
            ] {
                assert_eq!(decode(9, &encode(9, u32::MAX, slot)), Written::Slot(u32::MAX, slot));
            }
        }
        for slot in [Slot::Unstable, Slot::Torn] {
            assert_eq!(decode(9, &encode(9, 3, slot)), Written::Slot(3, slot));
        }
    }

    #[test]
    fn the_table_in_the_docs_is_what_is_written() {
        let owner = Some(Lbn::new(4));
        let written = Tag {
            logical: 0x0102_0304,
            extent: 1,
            role: Role::RandomLog,
            owner,
            seq: 0x0A0B,
            version: 0x0A0A,
            hint: 9,
        };
        let bytes = encode(0x51, 7, Slot::Programmed(written, Body::Data { crc: 0x1122_3344 }));
        let mut expected = [0; CRC_AT];
        expected[..4].copy_from_slice(&[4, 3, 2, 1]);
        expected[4] = 1;
        expected[8..10].copy_from_slice(&[0x0B, 0x0A]);
        expected[14..16].copy_from_slice(&[0x0A, 0x0A]);
        expected[20..24].copy_from_slice(&[3, 2, 9, 2]);
        expected[24] = 5;
        expected[28..32].copy_from_slice(&[0x44, 0x33, 0x22, 0x11]);
        expected[36] = 7;
        expected[40] = 0x51;
        assert_eq!(bytes[..CRC_AT], expected);
        assert_eq!(bytes[CRC_AT..], crc32c::crc32c(&expected).to_le_bytes());
    }

    #[test]
    fn any_flipped_bit_makes_a_slot_unbelievable_and_so_does_another_place() {
        let slots = [Slot::Programmed(tag(Role::Data, 1, None), Body::Data { crc: 7 }), Slot::Torn, Slot::Unstable];
        for whole in slots.map(|slot| encode(5, 2, slot)) {
            for bit in 0..SLOT_BYTES * 8 {
                let mut flipped = whole;
                flipped[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(decode(5, &flipped), Written::Damaged, "bit {bit}");
            }
            assert_eq!(decode(6, &whole), Written::Damaged);
        }
        assert_eq!(decode(0, &[0; SLOT_BYTES]), Written::Blank);
        assert_eq!(decode(0, &[0xFF; SLOT_BYTES]), Written::Damaged);
    }

    #[test]
    fn what_no_translation_layer_writes_is_no_tag_even_with_a_true_crc() {
        let whole = encode(0, 0, Slot::Programmed(tag(Role::Data, 1, None), Body::None));
        let forged = |change: &dyn Fn(&mut [u8; SLOT_BYTES])| {
            let mut bytes = whole;
            change(&mut bytes);
            let crc = crc32c::crc32c(&bytes[..CRC_AT]);
            put(&mut bytes, CRC_AT, crc);
            decode(0, &bytes)
        };
        assert_ne!(forged(&|_| {}), Written::Damaged);
        assert_eq!(forged(&|bytes| bytes[20] = 200), Written::Damaged, "role");
        assert_eq!(forged(&|bytes| bytes[8..14].fill(0xFF)), Written::Damaged, "the end of all sequence numbers");
        assert_eq!(forged(&|bytes| bytes[14..20].fill(0xFF)), Written::Damaged, "a version after its program");
        assert_eq!(forged(&|bytes| bytes[4..8].fill(0)), Written::Damaged, "no logical page");
        assert_eq!(forged(&|bytes| bytes[21] = 6), Written::Damaged, "kind");
    }
}
