//! The chip: a strict referee in front of a store.
//!
//! It knows the rules of NAND and each block's state (next programmable page, erase count, bad or not) and nothing of time
//! or of translation layers. An illegal operation is refused in every build with the page, the block and the rule, so an FTL
//! bug is found at the operation that commits it. A refused operation changes nothing.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Blank, FlashError, Frail, Geometry, MediaEvent, Pbn, Ppn, Rule, Spoilt, Store, Tag, Violation};

/// In which order the pages of a block may be programmed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProgramOrder {
    /// Upwards, gaps allowed: what large-block NAND asks for.
    #[default]
    Ascending,
    /// Upwards without gaps: what MLC and TLC parts ask for.
    Strict,
    /// Any order: small-block SLC of the first papers.
    Any,
}

/// A page as the chip returns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page<D> {
    /// The logical number of its tag.
    pub logical: u32,
    /// The version of its tag; 0 where the store does not keep it.
    pub version: u64,
    /// The hint of its tag.
    pub hint: u8,
    /// Its data.
    pub data: D,
}

/// What a page's out-of-band area says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scan {
    /// All bits are erased.
    Erased,
    /// A tag that passes its CRC.
    Programmed(Tag),
    /// Neither.
    Unreadable,
}

/// Something that behaves like flash.
pub trait Flash {
    /// What a page's data area holds.
    type Data: Clone + Default;

    /// The shape of the device.
    fn geometry(&self) -> &Geometry;
    /// Reads a programmed page.
    fn read(&mut self, ppn: Ppn) -> Result<Page<Self::Data>, FlashError>;
    /// Programs an erased page.
    fn program(&mut self, ppn: Ppn, tag: &Tag, data: Self::Data) -> Result<(), FlashError>;
    /// Erases a block.
    fn erase(&mut self, pbn: Pbn) -> Result<(), FlashError>;
    /// Reads a page's out-of-band area alone, whatever state the page is in: what recovery works from. Costs a read.
    fn scan(&mut self, ppn: Ppn) -> Result<Scan, FlashError>;
    /// Marks a block bad for good: it is not programmed or erased again, but what it holds can still be read.
    fn mark_bad(&mut self, pbn: Pbn);

    /// The logical number in a programmed page's tag, without a flash operation: for checks and for reverse maps whose
    /// content equals the tags. As such a map lies in RAM, it still knows a page that has decayed since.
    fn peek(&self, ppn: Ppn) -> Option<u32>;

    /// The tag of a readable programmed page, without a flash operation: for checks, and for what a scheme remembers in RAM of
    /// the pages of a block that it is filling.
    fn tag(&self, ppn: Ppn) -> Option<Tag>;

    /// Readies bytes of the scheme's own, at most a page of them, for the data area of the page that it programs next. They become
    /// readable with that program or not at all. A device that keeps no content drops them.
    fn load(&mut self, ppn: Ppn, bytes: &[u8]);

    /// The bytes of the scheme's own in the data area of a page that has just been read or scanned; none if it holds none.
    fn loaded(&self, ppn: Ppn) -> Option<Arc<[u8]>>;
    /// The lowest page offset of a block that its program order still allows.
    fn next_page(&self, pbn: Pbn) -> u32;
    /// Erases of a block so far.
    fn erase_count(&self, pbn: Pbn) -> u32;
    /// Whether a block is bad.
    fn is_bad(&self, pbn: Pbn) -> bool;
    /// The order in which pages of a block may be programmed.
    fn program_order(&self) -> ProgramOrder;
    /// Operations done so far.
    fn operations(&self) -> Operations;
}

/// Operations that a chip has done: the other end of every total.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Operations {
    /// Page reads.
    pub reads: u64,
    /// Page programs.
    pub programs: u64,
    /// Block erases.
    pub erases: u64,
}

/// What becomes of an erase past a block's endurance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PastEndurance {
    /// The referee refuses it: only a scheme that erases without end gets so far.
    #[default]
    Refused,
    /// It fails, as the erase of a worn-out block does.
    Fails,
}

/// What a chip is built from besides its geometry.
#[derive(Clone, Debug, Default)]
pub struct ChipOptions {
    /// Order of programs within a block.
    pub program_order: ProgramOrder,
    /// Erases that a block survives; none for no limit.
    pub endurance: Option<u32>,
    /// What an erase beyond these does.
    pub past_endurance: PastEndurance,
    /// Blocks that are bad from the factory.
    pub bad_blocks: Vec<Pbn>,
}

/// A block of a chip that was used before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsedBlock {
    /// The lowest page offset that has not been touched since the last erase.
    pub next_page: u32,
    /// Erases so far.
    pub erases: u32,
    /// Whether it is bad.
    pub is_bad: bool,
}

#[derive(Clone, Copy, Default)]
struct BlockState {
    next_page: u32,
    erases: u32,
}

impl From<UsedBlock> for BlockState {
    fn from(UsedBlock { next_page, erases, is_bad }: UsedBlock) -> Self {
        Self { next_page: if is_bad { BAD } else { next_page }, erases }
    }
}

/// A flash device of erase blocks over a [`Store`].
#[derive(Clone)]
pub struct Chip<S> {
    geometry: Geometry,
    order: ProgramOrder,
    endurance: u32,
    past_endurance: PastEndurance,
    blocks: Vec<BlockState>,
    store: S,
    done: Operations,
}

/// `next_page` of a bad block: past every page, so that the order check that a program makes anyway refuses it too.
const BAD: u32 = u32::MAX;

impl<S: Blank> Chip<S> {
    /// An erased chip. Bad blocks beyond the device are ignored.
    pub fn new(geometry: Geometry, options: &ChipOptions) -> Self {
        let store = S::erased(geometry.pages() as usize);
        Self::resume(geometry, options, store, (0..geometry.blocks()).map(|_| UsedBlock::default()))
    }
}

impl<S: Store> Chip<S> {
    /// A chip over a store that was used before, with what is known of each of the geometry's blocks, in address order. Blocks
    /// that the options call bad are bad, whatever is known of them.
    pub fn resume(
        geometry: Geometry,
        options: &ChipOptions,
        store: S,
        blocks: impl IntoIterator<Item = UsedBlock>,
    ) -> Self {
        let mut blocks: Vec<BlockState> = blocks.into_iter().map(BlockState::from).collect();
        blocks.resize(geometry.blocks() as usize, BlockState::default());
        for bad in &options.bad_blocks {
            if let Some(block) = blocks.get_mut(bad.index()) {
                block.next_page = BAD;
            }
        }
        Self {
            geometry,
            order: options.program_order,
            endurance: options.endurance.unwrap_or(u32::MAX),
            past_endurance: options.past_endurance,
            blocks,
            store,
            done: Operations::default(),
        }
    }

    /// The store, to look at.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// The store, for what is its own business, such as reaching the disk.
    pub fn store_mut(&mut self) -> &mut S {
        &mut self.store
    }

    #[cold]
    #[inline(never)]
    fn refuse(&self, operation: &'static str, pbn: Pbn, page: Option<Ppn>) -> FlashError {
        let (rule, state) = self.explain(operation, pbn, page);
        FlashError::Violation(Box::new(Violation { rule, operation, block: pbn, page, state }))
    }

    fn explain(&self, operation: &'static str, pbn: Pbn, page: Option<Ppn>) -> (Rule, String) {
        let Some(block) = self.blocks.get(pbn.index()) else {
            return (Rule::OnDevice, format!("the device has {} blocks", self.blocks.len()));
        };
        if block.next_page == BAD {
            return (Rule::LeaveBadBlocks, format!("{pbn} is marked bad"));
        }
        let Some(page) = page else {
            let state = format!("{pbn} has been erased {} times of {}", block.erases, self.endurance);
            return (Rule::WithinEndurance, state);
        };
        match (operation, self.store.logical(page.index())) {
            ("read", _) => (Rule::ReadProgrammedOnly, "the page is erased".into()),
            (_, Some(logical)) => (Rule::ProgramErasedOnly, format!("the page holds logical number {logical}")),
            _ => (
                Rule::ProgramInOrder,
                format!(
                    "page {} comes after page {} was due ({:?} order)",
                    self.geometry.split(page).1,
                    block.next_page,
                    self.order
                ),
            ),
        }
    }

    #[cold]
    #[inline(never)]
    fn refuse_read(&mut self, ppn: Ppn) -> FlashError {
        if self.store.has_failed() {
            return FlashError::Media(MediaEvent::PowerCut);
        }
        let on_device = ppn.get() < self.geometry.pages();
        if on_device && (self.store.is_torn(ppn.index()) || self.store.logical(ppn.index()).is_some()) {
            // It was tried, and that takes as long.
            self.done.reads += 1;
            return FlashError::Media(MediaEvent::Uncorrectable(ppn));
        }
        self.refuse("read", self.geometry.block_of(ppn), Some(ppn))
    }

    /// What an operation comes to that was handed to the store.
    #[inline]
    fn unless_store_failed(&self) -> Result<(), FlashError> {
        if self.store.has_failed() { Err(FlashError::Media(MediaEvent::PowerCut)) } else { Ok(()) }
    }

    #[cold]
    #[inline(never)]
    fn cannot_erase(&mut self, pbn: Pbn) -> FlashError {
        if self.past_endurance == PastEndurance::Refused || !self.is_worn(pbn) {
            return self.refuse("erase", pbn, None);
        }
        self.done.erases += 1;
        self.blocks[pbn.index()].next_page = self.geometry.pages_per_block();
        self.store.spoil(self.geometry.page_indices(pbn));
        FlashError::Media(MediaEvent::EraseFailed(pbn))
    }

    /// Whether a block has been erased as often as it survives.
    pub(crate) fn is_worn(&self, pbn: Pbn) -> bool {
        self.blocks.get(pbn.index()).is_some_and(|block| block.next_page != BAD && block.erases >= self.endurance)
    }

    #[inline]
    fn may_program(&self, next_page: u32, offset: u32, ppn: Ppn) -> bool {
        match self.order {
            ProgramOrder::Ascending => offset >= next_page,
            ProgramOrder::Strict => offset == next_page,
            ProgramOrder::Any => next_page != BAD && self.store.is_clean(ppn.index()),
        }
    }
}

impl<S: Store> Flash for Chip<S> {
    type Data = S::Data;

    #[inline]
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    #[inline]
    fn read(&mut self, ppn: Ppn) -> Result<Page<S::Data>, FlashError> {
        if ppn.get() < self.geometry.pages()
            && let Some(logical) = self.store.logical(ppn.index())
            && !self.store.is_torn(ppn.index())
            && let Some((version, data)) = self.store.content(ppn.index())
        {
            self.done.reads += 1;
            return Ok(Page { logical, version, hint: self.store.hint(ppn.index()), data });
        }
        Err(self.refuse_read(ppn))
    }

    #[inline]
    fn program(&mut self, ppn: Ppn, tag: &Tag, data: S::Data) -> Result<(), FlashError> {
        let (pbn, offset) = self.geometry.split(ppn);
        let next_page = self.blocks.get(pbn.index()).map_or(BAD, |block| block.next_page);
        if !self.may_program(next_page, offset, ppn) {
            return Err(self.refuse("program", pbn, Some(ppn)));
        }
        self.blocks[pbn.index()].next_page = next_page.max(offset + 1);
        self.store.program(ppn.index(), tag, data);
        self.done.programs += 1;
        self.unless_store_failed()
    }

    #[inline]
    fn erase(&mut self, pbn: Pbn) -> Result<(), FlashError> {
        match self.blocks.get_mut(pbn.index()) {
            Some(block) if block.next_page != BAD && block.erases < self.endurance => {
                *block = BlockState { next_page: 0, erases: block.erases + 1 };
                self.store.erase(self.geometry.page_indices(pbn));
                self.done.erases += 1;
                self.unless_store_failed()
            }
            _ => Err(self.cannot_erase(pbn)),
        }
    }

    fn scan(&mut self, ppn: Ppn) -> Result<Scan, FlashError> {
        if ppn.get() >= self.geometry.pages() {
            return Err(self.refuse("read", self.geometry.block_of(ppn), Some(ppn)));
        }
        self.done.reads += 1;
        let tag = self.store.tag(ppn.index());
        self.unless_store_failed()?;
        Ok(match tag {
            Some(tag) => Scan::Programmed(tag),
            None if self.store.is_torn(ppn.index()) => Scan::Unreadable,
            None => Scan::Erased,
        })
    }

    fn mark_bad(&mut self, pbn: Pbn) {
        if let Some(block) = self.blocks.get_mut(pbn.index()) {
            block.next_page = BAD;
            self.store.retire(self.geometry.page_indices(pbn));
        }
    }

    #[inline]
    fn peek(&self, ppn: Ppn) -> Option<u32> {
        self.store.logical(ppn.index())
    }

    fn tag(&self, ppn: Ppn) -> Option<Tag> {
        self.store.tag(ppn.index())
    }

    fn load(&mut self, ppn: Ppn, bytes: &[u8]) {
        if ppn.get() < self.geometry.pages() && self.store.is_clean(ppn.index()) {
            self.store.load(ppn.index(), bytes);
        }
    }

    fn loaded(&self, ppn: Ppn) -> Option<Arc<[u8]>> {
        self.store.loaded(ppn.index())
    }

    #[inline]
    fn next_page(&self, pbn: Pbn) -> u32 {
        self.blocks[pbn.index()].next_page.min(self.geometry.pages_per_block())
    }

    #[inline]
    fn erase_count(&self, pbn: Pbn) -> u32 {
        self.blocks[pbn.index()].erases
    }

    fn is_bad(&self, pbn: Pbn) -> bool {
        self.blocks[pbn.index()].next_page == BAD
    }

    fn program_order(&self) -> ProgramOrder {
        self.order
    }

    fn operations(&self) -> Operations {
        self.done
    }
}

/// What faults do to a chip. The referee's own rules are not asked: physics is not.
impl<S: Frail> Chip<S> {
    /// A program did not complete: the page is left so and cannot be programmed before the next erase.
    pub(crate) fn spoil_page(&mut self, ppn: Ppn, how: Spoilt) {
        let (pbn, offset) = self.geometry.split(ppn);
        let block = &mut self.blocks[pbn.index()];
        block.next_page = block.next_page.max(offset + 1);
        self.store.spoil_page(ppn.index(), how);
    }

    /// A programmed page's content decays beyond correction.
    pub(crate) fn lose_page(&mut self, ppn: Ppn) {
        if self.store.logical(ppn.index()).is_some() {
            self.store.spoil_page(ppn.index(), Spoilt::Decayed);
        }
    }

    /// An erase fails: it counts, as it was done, and leaves nothing that could be read or programmed.
    pub(crate) fn fail_erase(&mut self, pbn: Pbn) -> Result<(), FlashError> {
        let next_page = self.blocks.get(pbn.index()).map_or(BAD, |block| block.next_page);
        if next_page == BAD {
            return Err(self.refuse("erase", pbn, None));
        }
        self.done.erases += 1;
        self.spoil_block(pbn, false);
        Ok(())
    }

    /// An erase did not complete: the block cannot be programmed before it is erased again, and its pages read as errors
    /// unless the erase had hardly begun.
    pub(crate) fn spoil_block(&mut self, pbn: Pbn, readable: bool) {
        let block = &mut self.blocks[pbn.index()];
        block.next_page = block.next_page.max(self.geometry.pages_per_block());
        for page in self.geometry.page_indices(pbn) {
            if !readable {
                self.store.spoil_page(page, Spoilt::Torn);
            } else if self.store.is_clean(page) {
                self.store.spoil_page(page, Spoilt::Unstable);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cell, Full, Lean, Role, Shape};

    fn geometry() -> Geometry {
        Geometry::new(Shape {
            channels: 1,
            dies_per_channel: 1,
            planes_per_die: 1,
            blocks_per_plane: 4,
            pages_per_block: 4,
            page_size_bytes: 512,
        })
        .expect("valid")
    }

    fn chip(options: &ChipOptions) -> Chip<Lean> {
        Chip::new(geometry(), options)
    }

    fn tag(logical: u32) -> Tag {
        Tag { logical, extent: 1, role: Role::Data, owner: None, seq: 1, version: 1, hint: 0 }
    }

    fn rule<T: std::fmt::Debug>(result: Result<T, FlashError>) -> Rule {
        match result.expect_err("refused") {
            FlashError::Violation(violation) => violation.rule,
            FlashError::Media(event) => panic!("{event}"),
        }
    }

    #[test]
    fn the_referee_names_each_broken_rule_and_changes_nothing() {
        let mut chip = chip(&ChipOptions { bad_blocks: vec![Pbn::new(3)], endurance: Some(2), ..Default::default() });
        assert_eq!(rule(chip.read(Ppn::new(0))), Rule::ReadProgrammedOnly);
        chip.program(Ppn::new(1), &tag(9), ()).expect("gaps are allowed");
        assert_eq!(rule(chip.program(Ppn::new(0), &tag(8), ())), Rule::ProgramInOrder);
        assert_eq!(rule(chip.program(Ppn::new(1), &tag(8), ())), Rule::ProgramErasedOnly);
        assert_eq!(rule(chip.program(Ppn::new(12), &tag(8), ())), Rule::LeaveBadBlocks);
        assert_eq!(rule(chip.erase(Pbn::new(3))), Rule::LeaveBadBlocks);
        assert_eq!(rule(chip.read(Ppn::new(99))), Rule::OnDevice);
        assert_eq!(rule(chip.program(Ppn::new(99), &tag(1), ())), Rule::OnDevice);
        assert_eq!(chip.read(Ppn::new(1)).expect("programmed").logical, 9);
        chip.erase(Pbn::new(0)).expect("first");
        chip.erase(Pbn::new(0)).expect("second");
        assert_eq!(rule(chip.erase(Pbn::new(0))), Rule::WithinEndurance);
        assert_eq!(chip.operations(), Operations { reads: 1, programs: 1, erases: 2 });
    }

    #[test]
    fn a_worn_block_fails_where_that_is_asked_for_and_takes_nothing_more() {
        let mut chip = chip(&ChipOptions {
            endurance: Some(1),
            past_endurance: PastEndurance::Fails,
            bad_blocks: vec![Pbn::new(3)],
            ..Default::default()
        });
        chip.erase(Pbn::new(0)).expect("first");
        assert_eq!(chip.erase(Pbn::new(0)), Err(FlashError::Media(MediaEvent::EraseFailed(Pbn::new(0)))));
        assert_eq!(chip.operations().erases, 2);
        assert_eq!(rule(chip.program(Ppn::new(0), &tag(1), ())), Rule::ProgramInOrder);
        chip.mark_bad(Pbn::new(0));
        assert_eq!(rule(chip.erase(Pbn::new(0))), Rule::LeaveBadBlocks);
        assert_eq!(rule(chip.erase(Pbn::new(3))), Rule::LeaveBadBlocks);
    }

    #[test]
    fn strict_order_refuses_gaps_and_any_order_allows_going_back() {
        let mut strict = chip(&ChipOptions { program_order: ProgramOrder::Strict, ..Default::default() });
        assert_eq!(rule(strict.program(Ppn::new(1), &tag(0), ())), Rule::ProgramInOrder);
        strict.program(Ppn::new(0), &tag(0), ()).expect("in order");
        let mut any = chip(&ChipOptions {
            program_order: ProgramOrder::Any,
            bad_blocks: vec![Pbn::new(1)],
            ..Default::default()
        });
        any.program(Ppn::new(3), &tag(0), ()).expect("any order");
        any.program(Ppn::new(0), &tag(1), ()).expect("any order");
        assert_eq!(rule(any.program(Ppn::new(3), &tag(2), ())), Rule::ProgramErasedOnly);
        assert_eq!(rule(any.program(Ppn::new(4), &tag(2), ())), Rule::LeaveBadBlocks);
    }

    #[test]
    fn a_full_store_returns_tag_and_data_until_the_erase() {
        let mut chip: Chip<Full<u64>> = Chip::new(geometry(), &ChipOptions::default());
        chip.program(Ppn::new(2), &tag(5), 77).expect("legal");
        assert_eq!(*chip.store().cell(2), Cell::Programmed(tag(5), 77));
        assert_eq!(chip.scan(Ppn::new(2)), Ok(Scan::Programmed(tag(5))));
        assert_eq!(chip.read(Ppn::new(2)).expect("programmed").data, 77);
        chip.erase(Pbn::new(0)).expect("legal");
        assert_eq!(
            (chip.scan(Ppn::new(2)), chip.peek(Ppn::new(2)), chip.erase_count(Pbn::new(0))),
            (Ok(Scan::Erased), None, 1)
        );
    }

    #[test]
    fn a_violation_reads_as_a_sentence_with_coordinates() {
        let message = chip(&ChipOptions::default()).read(Ppn::new(6)).expect_err("erased").to_string();
        assert_eq!(message, "illegal read of PBN 1, PPN 6: only programmed pages are read, but the page is erased");
    }
}
