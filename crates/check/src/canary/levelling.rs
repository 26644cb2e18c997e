//! The canary levels wear, and the bugs that a leveller can have.
//!
//! At every so many writes (`level=2`) the most worn and the least worn closed block are emptied,
//! one after the other. It tells how worn its blocks are by what it has counted itself.

use flash::Pbn;
use ftl::api::wear::{BlockFacts, BlockUse, Purpose};
use ftl::wear::none::NoLevelling;
use ftl::{AnyDevice, Cause, FlashPort, FtlError, WearQuery};

use super::{Bug, Canary};

impl Canary {
    /// Levels wear if it is time for that.
    pub(super) fn level(&mut self, flash: &mut FlashPort<AnyDevice>) -> Result<(), FtlError> {
        self.writes += 1;
        if self.level_every == 0 || !self.writes.is_multiple_of(self.level_every) {
            return Ok(());
        }
        self.is_levelling = true;
        let result = flash.with_cause(Cause::WearLevelling, |flash| self.move_blocks(flash));
        self.is_levelling = false;
        result
    }

    fn move_blocks(&mut self, flash: &mut FlashPort<AnyDevice>) -> Result<(), FtlError> {
        if let Some((open, next)) = self.open.filter(|_| self.bug == Bug::LevellerMovesOpenBlock) {
            self.empty(flash, open)?;
            self.open = Some((open, next));
            return Ok(());
        }
        let wear = |pbn: &&Pbn| (self.erases[pbn.index()], **pbn);
        let (worn, young) = (self.closed.iter().max_by_key(wear), self.closed.iter().min_by_key(wear));
        let pair = [worn.copied(), young.copied().filter(|young| worn != Some(young))];
        pair.into_iter().flatten().try_for_each(|pbn| self.empty(flash, pbn).map(drop))
    }

    /// Erases a block, and counts it.
    pub(super) fn erase(&mut self, flash: &mut FlashPort<AnyDevice>, pbn: Pbn) -> Result<(), FtlError> {
        flash.erase(pbn)?;
        self.erases[pbn.index()] += u32::from(!self.has(Bug::LevellerForgetsErase));
        Ok(())
    }

    /// Whether a bug of the leveller does harm now.
    pub(super) fn has(&self, bug: Bug) -> bool {
        self.is_levelling && self.bug == bug
    }

    /// Tells what it knows of its blocks, to a policy that is nobody's.
    pub(super) fn tell(&self, query: WearQuery<'_>) {
        query(&mut NoLevelling, self);
    }
}

impl BlockFacts for Canary {
    fn blocks(&self) -> u32 {
        self.geometry.blocks()
    }

    fn use_of(&self, pbn: Pbn) -> BlockUse {
        if self.free.contains(&pbn) { BlockUse::Free } else { BlockUse::InUse(Purpose::Data) }
    }

    fn erases(&self, pbn: Pbn) -> u32 {
        self.erases[pbn.index()]
    }
}
