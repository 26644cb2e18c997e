//! pSLC: blocks of cells with several bits that are used with one bit a cell.
//!
//! Such a block has as many pages as the part has word lines: the pages of a block by the bits of a
//! cell. They are read and programmed faster and survive more erases. The mode of a block is chosen
//! while it is erased and holds until its next erase, so that a cycle of programs and an erase
//! wears the cells in one mode. A block that was in both modes has used up a share of its life in
//! each.
//!
//! It knows no times. Which blocks are in pSLC mode is a fact of the cells that a power cut does
//! not change; a controller finds it out by reading, since a page that is read in the wrong mode
//! passes no check.

use crate::Pbn;

/// How many of the bits of its cells a block uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CellMode {
    /// All of them.
    #[default]
    Native,
    /// One.
    Pslc,
}

/// A block's share in the pSLC mode.
#[derive(Clone, Copy, Default)]
struct Block {
    is_pslc: bool,
    erases: u32,
}

/// The blocks of a chip that are in pSLC mode, and how often each was erased out of it.
#[derive(Clone)]
pub(crate) struct PslcBlocks {
    /// Empty until a block is first put into the mode: flash that never is pays nothing.
    blocks: Vec<Block>,
    /// Pages of a block in the mode; 0 for a chip without it.
    pages: u32,
    /// Erases out of the mode that a block survives.
    endurance: u32,
}

impl PslcBlocks {
    /// None yet, of blocks that have this many pages in the mode.
    pub(crate) fn new(pages: u32, endurance: Option<u32>) -> Self {
        Self { blocks: Vec::new(), pages, endurance: endurance.unwrap_or(u32::MAX) }
    }

    /// Pages of a block in the mode.
    pub(crate) fn pages(&self) -> u32 {
        self.pages
    }

    /// The mode of a block.
    #[inline]
    pub(crate) fn mode(&self, pbn: Pbn) -> CellMode {
        let is_pslc = self.blocks.get(pbn.index()).is_some_and(|block| block.is_pslc);
        if is_pslc { CellMode::Pslc } else { CellMode::Native }
    }

    /// Whether a block is in the mode and so has no page at this offset.
    #[inline]
    pub(crate) fn lacks(&self, pbn: Pbn, offset: u32) -> bool {
        self.blocks.get(pbn.index()).is_some_and(|block| block.is_pslc && offset >= self.pages)
    }

    /// Puts one in this many blocks into a mode.
    pub(crate) fn set(&mut self, pbn: Pbn, mode: CellMode, blocks: usize) {
        if self.blocks.is_empty() {
            self.blocks.resize(blocks, Block::default());
        }
        self.blocks[pbn.index()].is_pslc = mode == CellMode::Pslc;
    }

    /// A block was erased, which leaves it native.
    #[inline]
    pub(crate) fn on_erased(&mut self, pbn: Pbn) {
        if let Some(block) = self.blocks.get_mut(pbn.index()) {
            block.erases += u32::from(block.is_pslc);
            block.is_pslc = false;
        }
    }

    /// How often a block was erased out of the mode.
    #[inline]
    pub(crate) fn erases(&self, pbn: Pbn) -> u32 {
        self.blocks.get(pbn.index()).map_or(0, |block| block.erases)
    }

    /// Whether a block that was erased so often in all has used up its life, if it survives
    /// `endurance` erases out of the native mode: the shares of both modes make one together.
    #[inline]
    pub(crate) fn is_worn(&self, pbn: Pbn, erases: u32, endurance: u32) -> bool {
        let pslc = self.erases(pbn);
        if pslc == 0 {
            return erases >= endurance;
        }
        let [native, pslc, of_native, of_pslc] = [erases - pslc, pslc, endurance, self.endurance].map(u128::from);
        native * of_pslc + pslc * of_native >= of_native * of_pslc
    }
}
