//! Which pages a power cut would take, and which block may not be erased before they are safe.
//!
//! Some devices [expose](flash::Exposure) pages until others of their block are programmed. The
//! port knows of each such page what it replaces: the page that was programmed last for the same
//! logical page, in this life of the device. Of what lies on flash since an earlier life it knows
//! nothing, so a page that replaces such a one may replace anything. So may a page that says what
//! was trimmed.
//!
//! A block may be erased when no exposed page of another block replaces anything in it. So for each
//! logical page, what was safe once stays on flash, or something newer that is safe does: whatever
//! an erase takes is replaced by a page that no cut takes, or by nothing.
//!
//! Pages of the translation layer's own are none of the host's. Recovery can do without them.

use std::collections::BTreeMap;

use flash::{Exposure, Pbn, Ppn, Role};

use crate::port::label::Label;
use crate::port::timing::Moment;

/// What an exposed page replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Replaced {
    Nothing,
    In(Pbn),
    /// What lies in any block.
    Anything,
}

#[derive(Clone, Copy, Debug)]
struct ExposedPage {
    /// Pages of its block that must be programmed until it is safe.
    safe_at: u32,
    replaced: Replaced,
}

/// A block and the page offset up to which it has to be programmed.
pub type FillUp = (Pbn, u32);

/// The exposed pages of a device.
pub(super) struct ExposedPages {
    exposure: Exposure,
    /// Where each logical page was programmed last; what is not listed is `unlisted`.
    newest: Vec<NewestPpn>,
    unlisted: NewestPpn,
    blocks: BTreeMap<Pbn, Vec<ExposedPage>>,
    /// By block, the end of the last program since a flush that made pages safe, which may be under
    /// way.
    completed: BTreeMap<Pbn, Moment>,
}

/// A physical page, or [`NOTHING`](NewestPpn::NOTHING), or [`UNKNOWN`](NewestPpn::UNKNOWN).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NewestPpn(u32);

impl NewestPpn {
    const NOTHING: Self = Self(u32::MAX);
    const UNKNOWN: Self = Self(u32::MAX - 1);
}

impl ExposedPages {
    /// None yet, of a device that is erased.
    pub(super) fn new(exposure: Exposure) -> Self {
        Self {
            exposure,
            newest: Vec::new(),
            unlisted: NewestPpn::NOTHING,
            blocks: BTreeMap::new(),
            completed: BTreeMap::new(),
        }
    }

    /// The device holds something from an earlier life.
    pub(super) fn on_used_device(&mut self) {
        if self.unlisted != NewestPpn::UNKNOWN {
            self.unlisted = NewestPpn::UNKNOWN;
            self.newest.fill(NewestPpn::UNKNOWN);
        }
    }

    /// The page at an offset of a block was programmed; its program ends at a moment.
    pub(super) fn on_programmed(
        &mut self,
        (ppn, pbn, offset): (Ppn, Pbn, u32),
        label: Label,
        (copies, end): (bool, Moment),
        block_of: impl Fn(Ppn) -> Pbn,
    ) {
        self.on_filled(pbn, offset, end);
        let programmed = offset + 1;
        if label.role.is_of_host() {
            let replaced = self.replace(ppn, label, copies, block_of);
            let safe_at = self.exposure.safe_at(offset);
            if safe_at > programmed {
                self.blocks.entry(pbn).or_default().push(ExposedPage { safe_at, replaced });
            }
        }
    }

    /// The page at an offset of a block takes nothing more: it was programmed, or has failed, which
    /// ends at a moment.
    pub(super) fn on_filled(&mut self, pbn: Pbn, offset: u32, end: Moment) {
        if let Some(pages) = self.blocks.get_mut(&pbn) {
            let before = pages.len();
            pages.retain(|page| page.safe_at > offset + 1);
            if pages.len() < before {
                self.completed.insert(pbn, end);
            }
            if pages.is_empty() {
                self.blocks.remove(&pbn);
            }
        }
    }

    fn replace(&mut self, ppn: Ppn, label: Label, copies: bool, block_of: impl Fn(Ppn) -> Pbn) -> Replaced {
        let (first, end) = (label.logical as usize, (label.logical + label.extent) as usize);
        if self.newest.len() < end {
            self.newest.resize(end, self.unlisted);
        }
        if label.role == Role::Trimmed {
            // A copy may speak of logical pages that have been written since.
            self.newest[first..end].fill(if copies { NewestPpn::UNKNOWN } else { NewestPpn(ppn.get()) });
            return Replaced::Anything;
        }
        match std::mem::replace(&mut self.newest[first], NewestPpn(ppn.get())) {
            NewestPpn::NOTHING => Replaced::Nothing,
            NewestPpn::UNKNOWN => Replaced::Anything,
            NewestPpn(old) => Replaced::In(block_of(Ppn::new(old))),
        }
    }

    /// Nobody needs the pages of a block any more: it is erased or marked bad.
    pub(super) fn forget(&mut self, pbn: Pbn) {
        self.blocks.remove(&pbn);
    }

    /// What has to be programmed before a block may be erased.
    pub(super) fn before_erase(&self, pbn: Pbn) -> Vec<FillUp> {
        self.fill_ups(|other, replaced| {
            other != pbn && (replaced == Replaced::Anything || replaced == Replaced::In(pbn))
        })
    }

    /// When the programs end that have made pages safe since this was asked last.
    pub(super) fn take_completed(&mut self) -> Vec<Moment> {
        std::mem::take(&mut self.completed).into_values().collect()
    }

    /// What has to be programmed until no page is exposed.
    pub(super) fn all(&self) -> Vec<FillUp> {
        self.fill_ups(|_, _| true)
    }

    fn fill_ups(&self, concerns: impl Fn(Pbn, Replaced) -> bool) -> Vec<FillUp> {
        let end_of = |(&pbn, pages): (&Pbn, &Vec<ExposedPage>)| {
            let concerned = pages.iter().filter(|page| concerns(pbn, page.replaced));
            concerned.map(|page| page.safe_at).max().map(|end| (pbn, end))
        };
        self.blocks.iter().filter_map(end_of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks of eight pages that are programmed four at a time.
    struct Model(ExposedPages);

    impl Model {
        fn new() -> Self {
            Self(ExposedPages::new(Exposure::gathered(4, 8).expect("pages wait")))
        }

        fn program(&mut self, page: u32, label: Label, copies: bool) {
            let block_of = |ppn: Ppn| Pbn::new(ppn.get() / 8);
            let ppn = Ppn::new(page);
            self.0.on_programmed((ppn, block_of(ppn), page % 8), label, (copies, Moment::ZERO), block_of);
        }

        fn write(&mut self, page: u32, lpn: u32) {
            self.program(page, Label::new(lpn, Role::Data), false);
        }

        fn before_erase(&self, block: u32) -> Vec<(u32, u32)> {
            self.0.before_erase(Pbn::new(block)).into_iter().map(|(pbn, end)| (pbn.get(), end)).collect()
        }
    }

    #[test]
    fn a_block_waits_for_what_replaces_its_pages_and_for_nothing_else() {
        let mut model = Model::new();
        (0..8).for_each(|page| model.write(page, page));
        model.write(8, 3);
        model.write(16, 8);
        assert_eq!(model.before_erase(0), [(1, 4)]);
        assert!(model.before_erase(1).is_empty() && model.before_erase(2).is_empty());
        model.write(9, 4);
        model.write(10, 3);
        assert!(model.before_erase(1).is_empty(), "it replaces itself");
        model.write(11, 8);
        assert!(model.before_erase(0).is_empty(), "the fourth page makes all safe");
        assert_eq!(model.0.all(), [(Pbn::new(2), 4)]);
        assert_eq!(
            [model.0.take_completed().len(), model.0.take_completed().len()],
            [2, 0],
            "a flush waits for two blocks"
        );
    }

    #[test]
    fn pages_of_trims_and_after_a_recovery_may_replace_anything() {
        let mut model = Model::new();
        let trim = Label { extent: 3, ..Label::new(0, Role::Trimmed) };
        model.program(0, trim, false);
        assert_eq!(model.before_erase(5), [(0, 4)]);
        (1..4).for_each(|page| model.program(page, Label::new(0, Role::Padding), false));
        assert!(model.before_erase(5).is_empty());
        model.write(8, 2);
        assert_eq!((model.before_erase(0), model.before_erase(5)), (vec![(1, 4)], vec![]));
        (9..12).for_each(|page| model.write(page, 50 + page));
        // The trim page moves. It says nothing new of page 2.
        model.program(16, trim, true);
        (17..20).for_each(|page| model.program(page, Label::new(0, Role::Padding), false));
        model.write(24, 2);
        assert_eq!(model.before_erase(1), [(3, 4)]);
        model.0.forget(Pbn::new(3));
        model.0.on_used_device();
        model.write(24, 2);
        assert_eq!(model.before_erase(7), [(3, 4)], "an older copy may lie anywhere");
    }

    #[test]
    fn pages_that_are_not_the_hosts_are_not_waited_for() {
        let mut model = Model::new();
        for role in [Role::Translation, Role::Summary, Role::Padding] {
            model.program(0, Label::new(0, role), false);
            assert!(model.0.all().is_empty(), "{role:?}");
        }
    }
}
