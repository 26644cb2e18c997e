//! The chip: a strict referee in front of a store.
//!
//! It knows the rules of NAND and each block's state (next programmable page, erase count, bad or
//! not) and nothing of time or of translation layers. An illegal operation is refused in every
//! build with the page, the block and the rule, so an FTL bug is found at the operation that
//! commits it. A refused operation changes nothing.

use std::sync::Arc;

use crate::device::{Flash, Operations, Page, PageCopy, ProgramOrder, Scan};
use crate::pslc::PslcBlocks;
use crate::{
    Blank, CellMode, Exposure, FaultableStore, FlashError, Geometry, Lpn, MediaEvent, Pbn, Ppn, Role, Rule, Spoilt,
    Store, Tag, Violation,
};

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
    /// Pages of a block in pSLC mode; 0 for flash without that mode.
    pub pslc_pages: u32,
    /// Erases out of pSLC mode that a block survives; none for no limit.
    pub pslc_endurance: Option<u32>,
    /// Which pages a power cut takes although their programs have ended; none where a capacitor
    /// guards them all. It asks for strict order.
    pub exposure: Option<Exposure>,
}

/// A block of a chip that was used before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsedBlock {
    /// The lowest page offset that has not been touched since the last erase.
    pub next_page: u32,
    /// How often it has been erased.
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
    pslc: PslcBlocks,
    exposure: Option<Exposure>,
    store: S,
    done: Operations,
}

/// `next_page` of a bad block: past every page, so that the order check that a program makes anyway
/// refuses it too.
const BAD: u32 = u32::MAX;

impl<S: Blank> Chip<S> {
    /// An erased chip. Bad blocks beyond the device are ignored.
    pub fn new(geometry: Geometry, options: &ChipOptions) -> Self {
        let store = S::erased(geometry.pages() as usize);
        Self::resume(geometry, options, store, (0..geometry.blocks()).map(|_| UsedBlock::default()))
    }
}

impl<S: Store> Chip<S> {
    /// A chip over a store that was used before, with what is known of each of the geometry's
    /// blocks, in address order. Blocks that the options call bad are bad, whatever is known of
    /// them.
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
            pslc: PslcBlocks::new(options.pslc_pages, options.pslc_endurance),
            exposure: options.exposure.clone(),
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
            let (erases, pslc) = (block.erases, self.pslc.erases(pbn));
            return match operation {
                "mode change" if self.pslc.pages() == 0 => (Rule::HasPslcMode, "it has none".into()),
                "mode change" => (Rule::ChooseModeErased, format!("page {} is due", block.next_page)),
                _ if pslc > 0 => {
                    (Rule::WithinEndurance, format!("{pbn} has been erased {erases} times, {pslc} in pSLC"))
                }
                _ => (Rule::WithinEndurance, format!("{pbn} has been erased {erases} times of {}", self.endurance)),
            };
        };
        match (operation, self.store.logical(page.index())) {
            ("read", _) => (Rule::ReadProgrammedOnly, "the page is erased".into()),
            _ if self.pslc.lacks(pbn, self.geometry.split(page).1) => {
                (Rule::WithinPslcPages, format!("{pbn} has {} pages in pSLC mode", self.pslc.pages()))
            }
            (_, Some(logical)) => {
                let what = match self.store.tag(page.index()) {
                    Some(Tag { role: Role::Translation, .. }) => "translation page",
                    // A store that keeps no versions keeps no roles.
                    Some(Tag { version: 1.., .. }) => "LPN",
                    _ => "logical number",
                };
                (Rule::ProgramErasedOnly, format!("the page holds {what} {logical}"))
            }
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
        let is_worn = |block: &BlockState| self.pslc.is_worn(pbn, block.erases, self.endurance);
        self.blocks.get(pbn.index()).is_some_and(|block| block.next_page != BAD && is_worn(block))
    }
}

/// Whether the order of programs allows a page at an offset of a block.
#[inline]
fn may_program<S: Store>(order: ProgramOrder, store: &S, next_page: u32, offset: u32, ppn: Ppn) -> bool {
    match order {
        ProgramOrder::Ascending => offset >= next_page,
        ProgramOrder::Strict => offset == next_page,
        ProgramOrder::Any => next_page != BAD && store.is_clean(ppn.index()),
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

    #[expect(clippy::inline_always, reason = "one more call, with the whole tag, for every page that is programmed")]
    #[inline(always)]
    fn program(&mut self, ppn: Ppn, tag: &Tag, data: S::Data) -> Result<(), FlashError> {
        let (pbn, offset) = self.geometry.split(ppn);
        match self.blocks.get_mut(pbn.index()) {
            Some(block)
                if may_program(self.order, &self.store, block.next_page, offset, ppn)
                    && !self.pslc.lacks(pbn, offset) =>
            {
                block.next_page = block.next_page.max(offset + 1);
                self.store.program(ppn.index(), tag, data);
                self.done.programs += 1;
                self.unless_store_failed()
            }
            _ => Err(self.refuse("program", pbn, Some(ppn))),
        }
    }

    fn copy_run(&mut self, copies: &[PageCopy], to: Pbn, logical: &mut [u32]) -> usize {
        let Some(&PageCopy { offset, .. }) = copies.first() else { return 0 };
        let first = self.geometry.page(to, offset);
        let Some(block) = self.blocks.get_mut(to.index()) else { return 0 };
        let is_due = may_program(self.order, &self.store, block.next_page, offset, first);
        if !is_due || self.order == ProgramOrder::Any || self.pslc.mode(to) == CellMode::Pslc {
            return 0;
        }
        let (pages, places) = (self.geometry.pages(), offset..self.geometry.pages_per_block());
        let is_next = |&(copy, at): &(&PageCopy, u32)| copy.offset == at && copy.from.get() < pages;
        let length = copies.iter().zip(places).take(logical.len()).take_while(is_next).count();
        let copied = self.store.copy_run(&copies[..length], first.index(), logical);
        if copied > 0 {
            block.next_page = offset + copied as u32;
            self.done.reads += copied as u64;
            self.done.programs += copied as u64;
        }
        copied
    }

    fn program_run(&mut self, pages: &[Ppn], logical: &[Lpn]) -> usize {
        let mut done = 0;
        for (&ppn, &lpn) in pages.iter().zip(logical) {
            let (pbn, offset) = self.geometry.split(ppn);
            let Some(block) = self.blocks.get_mut(pbn.index()) else { break };
            let is_legal =
                may_program(self.order, &self.store, block.next_page, offset, ppn) && !self.pslc.lacks(pbn, offset);
            if !is_legal || !self.store.program_number(ppn.index(), lpn.get()) {
                break;
            }
            block.next_page = block.next_page.max(offset + 1);
            done += 1;
        }
        self.done.programs += done as u64;
        done
    }

    #[inline]
    fn erase(&mut self, pbn: Pbn) -> Result<(), FlashError> {
        match self.blocks.get_mut(pbn.index()) {
            Some(block) if block.next_page != BAD && !self.pslc.is_worn(pbn, block.erases, self.endurance) => {
                *block = BlockState { next_page: 0, erases: block.erases + 1 };
                self.pslc.on_erased(pbn);
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

    #[inline]
    fn prefetch(&self, ppn: Ppn) {
        self.store.prefetch(ppn.index());
    }

    #[inline]
    fn expect_reads(&mut self, ppns: &[Ppn]) {
        self.store.expect_reads(ppns.iter().map(|ppn| ppn.index()));
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

    #[inline]
    fn pslc_erase_count(&self, pbn: Pbn) -> u32 {
        self.pslc.erases(pbn)
    }

    fn pslc_pages(&self) -> u32 {
        self.pslc.pages()
    }

    #[inline]
    fn cell_mode(&self, pbn: Pbn) -> CellMode {
        self.pslc.mode(pbn)
    }

    fn set_cell_mode(&mut self, pbn: Pbn, mode: CellMode) -> Result<(), FlashError> {
        let is_erased = self.blocks.get(pbn.index()).is_some_and(|block| block.next_page == 0);
        if !is_erased || self.pslc.pages() == 0 && mode == CellMode::Pslc {
            return Err(self.refuse("mode change", pbn, None));
        }
        self.pslc.set(pbn, mode, self.blocks.len());
        Ok(())
    }

    fn is_bad(&self, pbn: Pbn) -> bool {
        self.blocks[pbn.index()].next_page == BAD
    }

    fn program_order(&self) -> ProgramOrder {
        self.order
    }

    fn exposure(&self) -> Option<&Exposure> {
        self.exposure.as_ref()
    }

    fn operations(&self) -> Operations {
        self.done
    }
}

/// What faults do to a chip. The referee's own rules are not asked: physics is not.
impl<S: FaultableStore> Chip<S> {
    /// A program did not complete: the page is left so and cannot be programmed before the next
    /// erase.
    pub(crate) fn spoil_page(&mut self, ppn: Ppn, how: Spoilt) {
        let (pbn, offset) = self.geometry.split(ppn);
        let block = &mut self.blocks[pbn.index()];
        block.next_page = block.next_page.max(offset + 1);
        self.store.spoil_page(ppn.index(), how);
    }

    /// The program of a page was broken off. It leaves all pages so that are programmed with it. If
    /// it got far, the earlier pages of their word lines cannot be read any more.
    pub(crate) fn tear_program(&mut self, ppn: Ppn, how: Spoilt) {
        let (pbn, offset) = self.geometry.split(ppn);
        let Some(exposure) = self.exposure.clone() else { return self.spoil_page(ppn, how) };
        for page in exposure.programmed_with(offset) {
            self.spoil_page(self.geometry.page(pbn, page), how);
            let paired = exposure.paired_with(page).filter(|_| how == Spoilt::Torn);
            paired.for_each(|page| self.spoil_page(self.geometry.page(pbn, page), how));
        }
    }

    /// The power is cut: of pages that wait for others nothing comes to the flash.
    pub(crate) fn drop_waiting_pages(&mut self) {
        let Some(exposure) = &self.exposure else { return };
        for (pbn, block) in (0..).map(Pbn::new).zip(&mut self.blocks).filter(|(_, block)| block.next_page != BAD) {
            let waiting = exposure.waiting(block.next_page);
            if !waiting.is_empty() {
                let first = self.geometry.page_indices(pbn).start;
                self.store.erase(first + waiting.start as usize..first + waiting.end as usize);
                block.next_page = waiting.start;
            }
        }
    }

    /// A programmed page's content decays beyond correction.
    pub(crate) fn lose_page(&mut self, ppn: Ppn) {
        if self.store.logical(ppn.index()).is_some() {
            self.store.spoil_page(ppn.index(), Spoilt::Decayed);
        }
    }

    /// An erase fails: it counts, as it was done, and leaves nothing that could be read or
    /// programmed.
    pub(crate) fn fail_erase(&mut self, pbn: Pbn) -> Result<(), FlashError> {
        let next_page = self.blocks.get(pbn.index()).map_or(BAD, |block| block.next_page);
        if next_page == BAD {
            return Err(self.refuse("erase", pbn, None));
        }
        self.done.erases += 1;
        self.spoil_block(pbn, false);
        Ok(())
    }

    /// An erase did not complete: the block cannot be programmed before it is erased again, and its
    /// pages read as errors unless the erase had hardly begun.
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
mod tests;
