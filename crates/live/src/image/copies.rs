//! What counts, of two copies of a page's slot.
//!
//! Both are written together, so they differ where the world stopped in between, or where one was
//! damaged. A copy of the block's present epoch counts wherever it lies. `docs/format.md` says why
//! each combination is read rightly.

use flash::{Geometry, Role, Tag};

use super::page_tags::{Body, Slot, Written};

/// What two copies come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Judged {
    /// What counts. Of a page that is lost: torn.
    pub(crate) slot: Slot,
    pub(crate) state: Copies,
    /// Which copy has to be written again for both to be the same.
    pub(crate) behind: [bool; 2],
}

/// How two copies are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Copies {
    /// As a device leaves them that was stopped at any moment.
    Sound,
    /// One was damaged, and the other is there.
    OneDamaged,
    /// Neither tells what the page holds.
    Lost,
}

/// Judges the copies of a page in a block of an epoch; pages up to a sequence number are on the
/// disk by what the image promises.
pub(crate) fn judge(epoch: u32, synced_seq: u64, copies: [Written; 2]) -> Judged {
    let current = copies.map(|copy| match copy {
        Written::Slot(of, slot) if of == epoch => Some(slot),
        _ => None,
    });
    let is_damage = |copy| match copy {
        Written::Damaged => true,
        // An epoch is on the disk before anything of it is.
        Written::Slot(of, _) => of > epoch,
        Written::Blank => false,
    };
    match current {
        [Some(one), Some(other)] => {
            let slot = if order(other) > order(one) { other } else { one };
            Judged { slot, state: Copies::Sound, behind: [one != slot, other != slot] }
        }
        [Some(slot), None] | [None, Some(slot)] => {
            let missing = usize::from(current[0].is_some());
            let is_promised = matches!(slot, Slot::Programmed(tag, _) if tag.seq <= synced_seq);
            let is_damaged = is_promised || is_damage(copies[missing]);
            let state = if is_damaged { Copies::OneDamaged } else { Copies::Sound };
            Judged { slot, state, behind: [missing == 0, missing == 1] }
        }
        [None, None] => {
            let damaged = copies.map(is_damage);
            let is_ahead = copies.iter().any(|copy| matches!(copy, Written::Slot(of, _) if *of > epoch));
            if damaged == [true, true] || is_ahead {
                return Judged { slot: Slot::Torn, state: Copies::Lost, behind: [false; 2] };
            }
            let state = if damaged == [false, false] { Copies::Sound } else { Copies::OneDamaged };
            Judged { slot: Slot::Erased, state, behind: damaged }
        }
    }
}

/// Of two slots of one epoch the one that was written later has more: a page is spoiled after it
/// was programmed.
fn order(slot: Slot) -> (u8, u64) {
    match slot {
        Slot::Erased => (0, 0),
        Slot::Programmed(tag, _) => (1, tag.seq),
        Slot::Unstable => (2, 0),
        Slot::Torn => (3, 0),
    }
}

/// Whether a tag can be of this device and this block: a translation layer is not asked about pages
/// that do not exist.
pub(crate) fn is_of(tag: &Tag, body: Body, block: u32, geometry: &Geometry, logical_pages: u32) -> bool {
    let is_summary = tag.role == Role::Summary;
    let end = tag.logical.checked_add(tag.extent);
    let is_on_device = if is_summary { tag.logical == block } else { end.is_some_and(|end| end <= logical_pages) };
    let logical_blocks = logical_pages.div_ceil(geometry.pages_per_block());
    let is_owner = tag.owner.is_none_or(|owner| owner.get() < logical_blocks);
    let fits = !matches!(body, Body::Own { length, .. } if length > geometry.page_size_bytes());
    is_on_device && is_owner && fits && (tag.extent == 1 || tag.role == Role::Trimmed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYNCED: u64 = 100;

    fn programmed(seq: u64) -> Slot {
        let tag = Tag { logical: 1, extent: 1, role: Role::Data, owner: None, seq, version: seq, hint: 0 };
        Slot::Programmed(tag, Body::None)
    }

    #[test]
    fn every_pair_of_copies_is_read_the_same_in_either_order() {
        use Copies::{Lost, OneDamaged, Sound};
        use Slot::{Erased, Torn};
        use Written::{Blank, Damaged};
        let (flushed, fresh) = (programmed(90), programmed(110));
        let now = |slot| Written::Slot(7, slot);
        let (before, after) = (Written::Slot(6, programmed(80)), Written::Slot(8, programmed(120)));
        for (one, other, slot, state) in [
            (now(flushed), now(flushed), flushed, Sound),
            (now(flushed), now(Torn), Torn, Sound),
            (now(flushed), Blank, flushed, OneDamaged),
            (now(flushed), before, flushed, OneDamaged),
            (now(flushed), Damaged, flushed, OneDamaged),
            (now(fresh), Blank, fresh, Sound),
            (now(fresh), before, fresh, Sound),
            (now(fresh), Damaged, fresh, OneDamaged),
            (now(fresh), after, fresh, OneDamaged),
            (now(Torn), before, Torn, Sound),
            (Blank, Blank, Erased, Sound),
            (before, Blank, Erased, Sound),
            (before, before, Erased, Sound),
            (before, Damaged, Erased, OneDamaged),
            (Blank, Damaged, Erased, OneDamaged),
            (Damaged, Damaged, Torn, Lost),
            (after, Blank, Torn, Lost),
            (after, Damaged, Torn, Lost),
            (after, after, Torn, Lost),
        ] {
            let straight = judge(7, SYNCED, [one, other]);
            let [first, second] = judge(7, SYNCED, [other, one]).behind;
            assert_eq!((straight.slot, straight.state), (slot, state), "{one:?}, {other:?}");
            assert_eq!(judge(7, SYNCED, [other, one]), Judged { behind: [first, second], ..straight });
            assert_eq!(straight.behind, [second, first], "{one:?}, {other:?}");
        }
    }
}
