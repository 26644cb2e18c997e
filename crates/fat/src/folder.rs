//! Folders: slot after slot, what is found and where there is room.

use std::io;
use std::ops::ControlFlow;

use crate::code_page::CodePage;
use crate::disk::{self, Disk, PAGE_BYTES};
use crate::names::{self, Fit, Wanted};
use crate::shape::{Kind, SLOT_BYTES};
use crate::slots::{self, Entry, Folder, Is, LongName, Short, Slot, SlotRange};

/// Slots of a folder at most: DOS counts them with 16 bits.
pub(crate) const MOST_SLOTS: u32 = 1 << 16;

/// Where the slots of a folder lie: pieces of equal length.
#[derive(Clone, Debug)]
pub(crate) struct Pieces {
    pub(crate) starts: Vec<u64>,
    pub(crate) bytes: u64,
}

impl Pieces {
    pub(crate) fn slots(&self) -> u32 {
        (self.starts.len() as u64 * self.bytes / SLOT_BYTES) as u32
    }

    /// The offset of a slot on the disk.
    pub(crate) fn offset(&self, slot: u32) -> u64 {
        let at = u64::from(slot) * SLOT_BYTES;
        self.starts[(at / self.bytes) as usize] + at % self.bytes
    }
}

/// A folder, where it lies, and how its slots are read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look<'a> {
    pub(crate) folder: Folder,
    pub(crate) pieces: &'a Pieces,
    pub(crate) kind: Kind,
    pub(crate) code_page: CodePage,
}

/// A slot that is being looked at.
pub(crate) struct Seen<'a> {
    pub(crate) at: u32,
    pub(crate) offset: u64,
    pub(crate) slot: &'a Slot,
    /// Of an entry: its long name, and the slot in which that begins.
    pub(crate) long: Option<(&'a [u16], u32)>,
}

/// Looks at slots from the first one to the first behind which there is none, or until told to
/// stop.
pub(crate) fn scan(
    disk: &mut impl Disk,
    pieces: &Pieces,
    mut visit: impl FnMut(&Is, Seen<'_>) -> ControlFlow<()>,
) -> io::Result<()> {
    let mut long = LongName::default();
    let mut at = 0;
    for &start in &pieces.starts {
        let mut offset = start;
        while offset < start + pieces.bytes {
            let (page, from) = disk::place(offset);
            let length = (PAGE_BYTES - from).min((start + pieces.bytes - offset) as usize);
            let (found, _) = disk.page(page)?[from..from + length].as_chunks::<{ SLOT_BYTES as usize }>();
            for slot in found {
                let is = slots::is(slot);
                let name = match is {
                    Is::PartOfName => {
                        long.take(slot, at);
                        None
                    }
                    Is::Entry => long.end(slot),
                    Is::End | Is::Gone | Is::Label => {
                        long.clear();
                        None
                    }
                };
                let flow = visit(&is, Seen { at, offset, slot, long: name });
                if flow.is_break() || matches!(is, Is::End) {
                    return Ok(());
                }
                at += 1;
                offset += SLOT_BYTES;
            }
        }
    }
    Ok(())
}

impl Seen<'_> {
    /// The entry whose last slot this is.
    pub(crate) fn entry(&self, look: &Look<'_>) -> Entry {
        let first = self.long.map_or(self.at, |(_, first)| first);
        let place = SlotRange { folder: look.folder, first, count: self.at - first + 1, offset: self.offset };
        let name = match self.long {
            Some((units, _)) => names::long_letters(units).collect(),
            None => slots::short_letters(self.slot, look.code_page).collect(),
        };
        Entry::decode(self.slot, look.kind, name, place)
    }

    /// Whether this is the first or second entry of a folder, which are itself and the folder
    /// above.
    pub(crate) fn is_dots(&self) -> bool {
        self.slot[0] == b'.' && self.long.is_none()
    }

    /// How well it has a name that is looked for.
    fn fit(&self, name: &Wanted, look: &Look<'_>) -> Option<Fit> {
        if self.is_dots() {
            return None;
        }
        let short = slots::short_letters(self.slot, look.code_page);
        name.fit(self.long.map(|(units, _)| units), &short, self.at)
    }
}

/// What a folder says of a name that is looked for, or is to be added.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    pub(crate) is_there: bool,
    /// Short names of others.
    pub(crate) shorts: Vec<Short>,
    /// The first of enough slots in a row that are free; they may begin where the folder ends.
    pub(crate) room: u32,
}

/// Looks for a name, which may be that of the entry at the offset `own`, and for this many slots in
/// a row.
pub(crate) fn survey(
    disk: &mut impl Disk,
    look: &Look<'_>,
    name: &Wanted,
    slots: u32,
    own: Option<u64>,
) -> io::Result<Survey> {
    let mut survey = Survey { room: look.pieces.slots(), ..Survey::default() };
    // The first slot of the row of free ones that ends here, and whether such a row is long enough
    // already.
    let (mut run, mut is_enough) = (None, false);
    scan(disk, look.pieces, |is, seen| {
        let is_free = matches!(is, Is::End | Is::Gone);
        if !is_enough {
            run = if is_free { run.or(Some(seen.at)) } else { None };
            is_enough = run.is_some_and(|first| seen.at - first + 1 >= slots) || matches!(is, Is::End);
            if let (true, Some(first)) = (is_enough, run) {
                survey.room = first;
            }
        }
        if matches!(is, Is::Entry) {
            if own != Some(seen.offset) && seen.fit(name, look).is_some() {
                survey.is_there = true;
                return ControlFlow::Break(());
            }
            survey.shorts.push(std::array::from_fn(|i| seen.slot[i]));
        }
        ControlFlow::Continue(())
    })?;
    if let (false, Some(first)) = (is_enough, run) {
        survey.room = first;
    }
    Ok(survey)
}

/// Looks for a name: the entry that fits it best, and of those the first one.
pub(crate) fn find(disk: &mut impl Disk, look: &Look<'_>, name: &Wanted) -> io::Result<Option<Entry>> {
    let mut best: Option<(Fit, Entry)> = None;
    scan(disk, look.pieces, |is, seen| {
        let fit = if matches!(is, Is::Entry) { seen.fit(name, look) } else { None };
        if let Some(fit) = fit.filter(|fit| best.as_ref().is_none_or(|(other, _)| fit < other)) {
            best = Some((fit, seen.entry(look)));
        }
        if fit == Some(Fit::Name) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(best.map(|(_, entry)| entry))
}

/// All entries but the first two, each with a name of its own.
pub(crate) fn list(disk: &mut impl Disk, look: &Look<'_>) -> io::Result<Vec<Entry>> {
    let mut all = Vec::new();
    scan(disk, look.pieces, |is, seen| {
        if matches!(is, Is::Entry) && !seen.is_dots() {
            all.push(seen.entry(look));
        }
        ControlFlow::Continue(())
    })?;
    names::tell_apart(all.iter_mut().map(|Entry { name, place, .. }| (name, place.first + place.count - 1)));
    Ok(all)
}
