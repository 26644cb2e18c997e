//! The out-of-band slot of a page: 32 bytes that say what the page holds, and whether to believe it.
//!
//! Two checks, because they answer different questions. The slot's own CRC tells whether the slot can be believed; recovery
//! needs nothing else, so it does not read the data. The CRC of the data lies in the slot and is compared at every read. It
//! takes the place of the extent, which only pages without data have. Bytes of the translation layer's own have a length, which
//! takes the place of the owner, as such pages have none.
//!
//! A file begins as zeros, so zeros mean erased. `docs/format.md` has the table.

use flash::{Lbn, Role, Tag};

/// Bytes of a slot; divides a memory page, so that a slot is written whole or not at all by a process that is killed.
pub(crate) const SLOT_BYTES: usize = 32;

/// The value of the layout byte for a tag.
const TAG_LAYOUT: u8 = 1;
/// The value of the layout byte for a page that must not be programmed; all else is zero.
const UNSTABLE_LAYOUT: u8 = 254;
/// Sequence numbers and versions take six bytes.
const MAX_48: u64 = (1 << 48) - 1;

/// What the data area of a programmed page holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// Nothing: it reads as zeros.
    None,
    /// A page of host data.
    Data {
        /// Its CRC-32C.
        crc: u32,
    },
    /// Bytes of the translation layer's own.
    Own {
        /// Their CRC-32C.
        crc: u32,
        /// How many.
        length: u32,
    },
}

/// What a slot says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    /// Nothing was programmed since the last erase.
    Erased,
    /// A tag, and what the data area holds.
    Programmed(Tag, Body),
    /// Reads as erased but must not be programmed.
    Unstable,
    /// A program or an erase was cut off or failed here: all bits are set.
    Torn,
    /// Not to be believed, and nothing that this crate writes.
    Damaged,
}

/// The bytes of a slot.
///
/// # Panics
/// When a tag cannot be written down: a role that the flash does not list, a page that has both data and an extent, bytes of the
/// translation layer's own and an owner, or more programs than six bytes count. Each would be a bug of the translation layer or of the list of roles.
pub(crate) fn encode(slot: Slot) -> [u8; SLOT_BYTES] {
    match slot {
        Slot::Erased => [0; SLOT_BYTES],
        Slot::Torn | Slot::Damaged => [0xFF; SLOT_BYTES],
        Slot::Unstable => {
            let mut bytes = [0; SLOT_BYTES];
            bytes[21] = UNSTABLE_LAYOUT;
            bytes
        }
        Slot::Programmed(tag, body) => encode_tag(&tag, body),
    }
}

fn encode_tag(tag: &Tag, body: Body) -> [u8; SLOT_BYTES] {
    let owner = tag.owner.map_or(0, |owner| owner.get() + 1);
    let (second, sixth, content) = match body {
        Body::None => (tag.extent, owner, 0),
        Body::Data { crc } => (crc, owner, 1),
        Body::Own { crc, length } => (crc, length, 2),
    };
    assert_eq!(Role::from_code(tag.role as u8), Some(tag.role), "{:?} is missing from Role::ALL", tag.role);
    assert!(
        body == Body::None || tag.extent == 1,
        "a page with data speaks of one logical page, not of {}",
        tag.extent
    );
    assert!(!matches!(body, Body::Own { .. }) || owner == 0, "{tag:?} has an owner and bytes of its own");
    assert!(tag.seq <= MAX_48 && tag.version <= MAX_48, "{tag:?} does not fit six bytes");
    let mut bytes = [0; SLOT_BYTES];
    bytes[0..4].copy_from_slice(&tag.logical.to_le_bytes());
    bytes[4..8].copy_from_slice(&second.to_le_bytes());
    bytes[8..14].copy_from_slice(&tag.seq.to_le_bytes()[..6]);
    bytes[14..20].copy_from_slice(&tag.version.to_le_bytes()[..6]);
    bytes[20] = tag.role as u8;
    bytes[21] = TAG_LAYOUT;
    bytes[22..26].copy_from_slice(&sixth.to_le_bytes());
    bytes[26] = content;
    let crc = crc32c::crc32c(&bytes[..28]);
    bytes[28..].copy_from_slice(&crc.to_le_bytes());
    bytes
}

/// What the bytes of a slot say.
pub(crate) fn decode(bytes: &[u8; SLOT_BYTES]) -> Slot {
    if bytes.iter().all(|&byte| byte == 0) {
        return Slot::Erased;
    }
    if *bytes == encode(Slot::Unstable) {
        return Slot::Unstable;
    }
    if bytes.iter().all(|&byte| byte == 0xFF) {
        return Slot::Torn;
    }
    decode_tag(bytes).unwrap_or(Slot::Damaged)
}

fn decode_tag(bytes: &[u8; SLOT_BYTES]) -> Option<Slot> {
    if bytes[21] != TAG_LAYOUT || word(bytes, 28) != crc32c::crc32c(&bytes[..28]) {
        return None;
    }
    let (second, sixth) = (word(bytes, 4), word(bytes, 22));
    let (extent, owner, body) = match bytes[26] {
        0 => (second, sixth, Body::None),
        1 => (1, sixth, Body::Data { crc: second }),
        2 => (1, 0, Body::Own { crc: second, length: sixth }),
        _ => return None,
    };
    let tag = Tag {
        logical: word(bytes, 0),
        extent,
        role: Role::from_code(bytes[20])?,
        owner: owner.checked_sub(1).map(Lbn::new),
        seq: six(bytes, 8),
        version: six(bytes, 14),
    };
    // The largest address is one below the largest number (flash/address.rs).
    (tag.logical < u32::MAX && bytes[27] == 0).then_some(Slot::Programmed(tag, body))
}

fn word(bytes: &[u8; SLOT_BYTES], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn six(bytes: &[u8; SLOT_BYTES], at: usize) -> u64 {
    let mut wide = [0; 8];
    wide[..6].copy_from_slice(&bytes[at..at + 6]);
    u64::from_le_bytes(wide)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(role: Role, extent: u32, owner: Option<Lbn>) -> Tag {
        Tag { logical: 0xFFFF_FFFE, extent, role, owner, seq: MAX_48, version: 0x0102_0304_0506 }
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
                assert_eq!(decode(&encode(slot)), slot);
            }
        }
        for slot in [Slot::Erased, Slot::Unstable, Slot::Torn] {
            assert_eq!(decode(&encode(slot)), slot);
        }
    }

    #[test]
    fn the_table_in_the_docs_is_what_is_written() {
        let owner = Some(Lbn::new(4));
        let written =
            Tag { logical: 0x0102_0304, extent: 1, role: Role::RandomLog, owner, seq: 0x0A0B, version: 0x0C0D };
        let bytes = encode(Slot::Programmed(written, Body::Data { crc: 0x1122_3344 }));
        let expected = [
            4, 3, 2, 1, 0x44, 0x33, 0x22, 0x11, 0x0B, 0x0A, 0, 0, 0, 0, 0x0D, 0x0C, 0, 0, 0, 0, 3, 1, 5, 0, 0, 0, 1, 0,
        ];
        assert_eq!(bytes[..28], expected);
        assert_eq!(bytes[28..], crc32c::crc32c(&expected).to_le_bytes());
    }

    #[test]
    fn any_flipped_bit_makes_a_tag_unbelievable() {
        let whole = encode(Slot::Programmed(tag(Role::Data, 1, None), Body::Data { crc: 7 }));
        for bit in 0..SLOT_BYTES * 8 {
            let mut flipped = whole;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(decode(&flipped), Slot::Damaged, "bit {bit}");
        }
    }

    #[test]
    fn an_unknown_role_with_a_true_crc_is_no_tag() {
        let mut bytes = encode(Slot::Programmed(tag(Role::Data, 1, None), Body::None));
        bytes[20] = 200;
        let crc = crc32c::crc32c(&bytes[..28]);
        bytes[28..].copy_from_slice(&crc.to_le_bytes());
        assert_eq!(decode(&bytes), Slot::Damaged);
    }
}
