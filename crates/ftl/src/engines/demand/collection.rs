//! Collection in the demand-paged machine: data blocks, whose moved pages change the map, and
//! translation blocks, whose moved pages change the directory.
//!
//! Moved pages whose entries are cached change only there, if RAM has room for that. The others are
//! sorted by translation page, and each translation page concerned is rewritten once, in all its
//! copies. Where blocks are emptied step by step, a step takes along the pages of the block that
//! the same translation pages map, so that each of those is still written once.
//!
//! Limit: emptying a block so would mean knowing whose pages lie in it before it reads them.
//! A list at its end would tell, as with `checkpoint = summaries`. That list is taken for known,
//! and reading it costs nothing here.
//!
//! **Why that always finds room.** Besides each die's reserve, one block a copy is set aside for
//! translation pages that a collection has to write when no die can lend one. It is opened when all
//! other translation blocks are full, and each page that is written to it makes one of theirs
//! invalid. So its room and those invalid pages are a block's worth together. Collecting
//! translation blocks needs no mapping updates, and what is valid in them fills whatever room there
//! is, on any die, before another block is opened; so one block is free in the end, and is set
//! aside before the next data block is collected.
//!
//! After a power cut there are no other translation blocks, so the block aside cannot answer for
//! the first pages. Hence room for the whole table is made before its first page is written: until
//! then a collection writes no translation pages, and gains room each time.

use flash::{Flash, Lpn, Pbn, Ppn, Role, Tag};
use host::Hint;

use crate::api::wear::{AllocRequest, BlockUse, Purpose};
use crate::blocks::manager::BlockManager;
use crate::engines::demand::foreign_pages::ForeignPages;
use crate::engines::demand::machine::{DemandPaged, TRANSLATION};
use crate::engines::demand::policy::{DemandScheme, MapCache};
use crate::engines::page_map::classes::Classes;
use crate::engines::page_map::mapped::{COLLECTED, HOST, PageMapped};
use crate::engines::page_map::space::{PageSpace, Stream};
use crate::port::cause::Cause;
use crate::port::device::Device;
use crate::port::error::FtlError;
use crate::port::flash_port::FlashPort;
use crate::port::label::{Content, Label};
use crate::port::tally::Note;
use crate::prefetch::{PrefetchStage, announce};
use crate::recovery::trims::Trims;

impl<S: DemandScheme> PageMapped for DemandPaged<S> {
    #[inline]
    fn parts(&mut self) -> (&mut PageSpace, &mut BlockManager, &mut Trims) {
        (&mut self.space, &mut self.blocks, &mut self.trims)
    }

    #[inline]
    fn collected_stream(&self) -> Stream {
        self.moving_to
    }

    #[inline]
    fn classes(&mut self) -> Option<(&mut Classes, &PageSpace)> {
        Some((self.classes.as_deref_mut()?, &self.space))
    }

    fn collected_trim_stream(&self) -> Stream {
        if Some(self.moving_to) == S::ForeignPages::STREAM { COLLECTED } else { self.moving_to }
    }

    fn destination(&self, from: Stream) -> Stream {
        debug_assert!(from < self.space.streams(), "there is no stream {from} of {}", self.space.streams());
        self.destination_of(from, Cause::Collection)
    }

    /// The scheme's own pages stay in their stream, and the last copies of trimmed pages beside
    /// them do not.
    fn blocks_to_empty(&self, pbn: Pbn) -> usize {
        let stream = self.space.stream_of(pbn);
        debug_assert!(stream < self.space.streams(), "{pbn} is of stream {stream}, which there is not");
        if Some(stream) != S::ForeignPages::STREAM {
            return 1;
        }
        let vanishing = self.trims.about_to_vanish(self.space.page_indices(pbn)).len() as u32;
        let parts = [(stream, self.space.valid_in(pbn)), (COLLECTED, vanishing)];
        parts.into_iter().filter(|&(stream, pages)| self.space.opens_a_block(pbn, stream, pages)).count().max(1)
    }

    fn programs_per_move(&self) -> u32 {
        1 + self.table.copies()
    }

    fn is_whole(&mut self) -> bool {
        let is_sound =
            self.blocks.spares().admit().is_ok() && !self.blocks.has_lost_reserve() && !self.space.has_failing();
        // Without a block aside, a collection may have to collect others first, and with no die to
        // lend one it would use that.
        is_sound
            && self.aside.len() >= self.table.copies() as usize
            && (0..self.space.dies()).any(|die| self.can_lend(die))
    }

    fn owner_of<D: Device>(&self, _flash: &FlashPort<D>, ppn: Ppn) -> Option<Lpn> {
        let mapped = || (0..self.table.logical_pages()).map(Lpn::new).find(|&lpn| self.table.entry(lpn) == Some(ppn));
        self.foreign_pages.owner_of(ppn).or_else(mapped)
    }

    #[inline]
    fn prefetch_move(&self, lpn: Lpn, stage: PrefetchStage) {
        match stage {
            PrefetchStage::Far => self.cache.prefetch_slot(lpn),
            PrefetchStage::Near => self.prefetch_change(lpn),
            PrefetchStage::Next => {}
        }
    }

    #[inline]
    fn moved_role(&self) -> Role {
        if Some(self.moving_to) == S::ForeignPages::STREAM { S::ForeignPages::ROLE } else { Role::Collected }
    }

    fn recovered_stream(&self, tag: &Tag) -> Stream {
        match tag.role {
            Role::Collected => COLLECTED,
            role => S::ForeignPages::STREAM.filter(|_| role == S::ForeignPages::ROLE).unwrap_or(HOST),
        }
    }

    fn drop_duplicate(&mut self, from: Ppn) -> bool {
        self.foreign_pages.drop_duplicate(from)
    }

    #[inline]
    fn on_moved(&mut self, lpn: Lpn, from: Ppn, to: Ppn) {
        debug_assert!(self.space.is_valid(to), "{lpn} was moved from {from} to {to}, which is not valid");
        if self.foreign_pages.on_moved(lpn, from, to) {
            return;
        }
        debug_assert_eq!(self.table.entry(lpn), Some(from), "{lpn} was moved from where it does not lie");
        match self.cache.find(lpn) {
            Some(slot) if self.cache.has_room_to_change(slot) => {
                self.change_entry(lpn, Some(to));
                self.cache.mark_newer(slot);
            }
            None if self.rebuilding => {
                self.change_entry(lpn, Some(to));
            }
            _ => self.updates.push((self.table.page_of(lpn), lpn, to)),
        }
    }

    fn next_die<D: Device>(&mut self, flash: &mut FlashPort<D>, stream: Stream) -> Result<u32, FtlError> {
        self.repair_before_write(flash)?;
        if let Some(die) = self.die_in_use(stream) {
            return Ok(die);
        }
        if let Some(die) = self.space.die_of_page_begun(stream) {
            self.placement.set_die(stream, die);
            return Ok(die);
        }
        for _ in 0..self.space.dies() {
            let die = self.space.take_turn(stream);
            if self.has_place(flash, die, stream)? {
                self.placement.set_die(stream, die);
                return Ok(die);
            }
        }
        // Collecting may have taken turns of this stream, and so have passed over a die.
        for die in 0..self.space.dies() {
            if self.has_place(flash, die, stream)? {
                return Ok(die);
            }
        }
        Err(self.blocks.out_of_space("a page"))
    }

    /// Data pages of the block that the same translation pages map are moved together, so that each
    /// of those is written once for the block.
    fn list_step<D: Device>(&mut self, flash: &FlashPort<D>, victim: Pbn, moves: u32, into: &mut Vec<Ppn>) {
        self.space.list_first(victim, moves, into);
        if self.space.stream_of(victim) == TRANSLATION {
            return;
        }
        let page_of = |ppn: Ppn| flash.chip().peek(ppn).map(|logical| self.table.page_of(Lpn::new(logical)));
        let begun: Vec<_> = into.iter().map(|&ppn| page_of(ppn)).collect();
        let mut all = std::mem::take(&mut self.moving);
        self.space.list_valid(victim, &mut all);
        into.extend(all.iter().skip(begun.len()).filter(|&&ppn| begun.contains(&page_of(ppn))));
        self.moving = all;
    }

    fn move_some<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        die: u32,
        victim: Pbn,
        pages: &[Ppn],
    ) -> Result<(), FtlError> {
        let from = self.space.stream_of(victim);
        if from == TRANSLATION {
            return flash.with_cause(Cause::MappingCollection, |flash| {
                let (moved, result) = up_to_error(pages, |from| self.move_translation(flash, die, from));
                self.space.is_moved(moved);
                result
            });
        }
        self.moving_to = self.destination(from);
        flash.with_cause(Cause::Collection, |flash| self.move_data(flash, die, pages))
    }

    fn refill<D: Device>(&mut self, flash: &mut FlashPort<D>, die: u32) -> Result<(), FtlError> {
        // Moving a data block also writes translation pages, so a policy that keeps choosing full
        // blocks (fifo does) may spend as much as it gains for ever. So a block without an invalid
        // page is passed over; and after a turn of the whole die the policy has had its chance, and
        // the best block goes.
        let mut choices = self.space.blocks_per_die();
        while self.space.is_short(&self.blocks, die) {
            debug_assert!(self.updates.is_empty(), "die {die} is refilled in the middle of a collection");
            let is_choice = choices > 0;
            let victim = if is_choice { self.take_victim(die)? } else { self.space.take_fewest_valid_on(die) };
            let Some(victim) = victim else { break };
            choices = choices.saturating_sub(1);
            if is_choice && self.space.is_dense(victim) {
                self.space.leave(victim);
                continue;
            }
            self.collect_apart(flash, die, victim, Cause::Collection)?;
        }
        Ok(())
    }

    fn collect<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        die: u32,
        victim: Pbn,
        why: Cause,
    ) -> Result<(), FtlError> {
        debug_assert_eq!(self.space.die_of(victim), die, "{victim} is collected on another die");
        flash.note(if why == Cause::WearLevelling { Note::RelocatedBlock } else { Note::Collection });
        // What a collection for its own sake does to the map has a cause of its own.
        let of_the_map = if why == Cause::WearLevelling { why } else { Cause::MappingCollection };
        if self.space.stream_of(victim) == TRANSLATION {
            let cause = if why == Cause::Collection { of_the_map } else { why };
            return flash.with_cause(cause, |flash| self.collect_translation(flash, victim, |_| die));
        }
        self.moving_to = self.destination_of(self.space.stream_of(victim), why);
        self.notify_reclaimed(victim, why, false);
        debug_assert_ne!(self.moving_to, TRANSLATION, "the data pages of {victim} are moved among translation pages");
        flash.with_cause(why, |flash| self.collect_data(flash, die, victim, of_the_map))?;
        flash.with_cause(of_the_map, |flash| self.restore_aside(flash))
    }
}

impl<S: DemandScheme> DemandPaged<S> {
    /// Where pages of a stream go when their block is emptied. Translation pages and
    /// foreign pages stay in streams of their own.
    fn destination_of(&self, from: Stream, why: Cause) -> Stream {
        debug_assert!(from < self.space.streams(), "there is no stream {from} of {}", self.space.streams());
        let stays = from == TRANSLATION || Some(from) == S::ForeignPages::STREAM;
        if stays { from } else { self.space.destination(from, why, COLLECTED) }
    }

    /// The die of the block that a stream fills one at a time, while that has room.
    #[inline]
    fn die_in_use(&self, stream: Stream) -> Option<u32> {
        self.placement.die(stream).filter(|&die| self.space.has_room(die, stream))
    }

    /// The next die in turn of one channel that has a place for a page of a stream, perhaps after
    /// collecting there; none if no die of that channel has.
    pub fn next_die_on<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        stream: Stream,
        channel: u32,
    ) -> Result<Option<u32>, FtlError> {
        self.repair_before_write(flash)?;
        for _ in 0..self.space.dies() {
            let die = self.space.take_turn(stream);
            if self.space.channel_of_die(die) == channel && self.has_place(flash, die, stream)? {
                return Ok(Some(die));
            }
        }
        Ok(None)
    }

    /// The next die in turn that has a place for a copy of a translation page, on none of these
    /// channels if that is possible.
    pub(super) fn next_translation_die<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        channels: &[u32],
    ) -> Result<u32, FtlError> {
        if !channels.is_empty() {
            self.blocks.spares().admit()?;
            for _ in 0..self.space.dies() {
                let die = self.space.take_turn(TRANSLATION);
                if !channels.contains(&self.space.channel_of_die(die)) && self.has_place(flash, die, TRANSLATION)? {
                    return Ok(die);
                }
            }
        }
        self.next_die(flash, TRANSLATION)
    }

    /// Whether a die has a place for a page of a stream, perhaps after collecting there.
    #[inline]
    fn has_place<D: Device>(&mut self, flash: &mut FlashPort<D>, die: u32, stream: Stream) -> Result<bool, FtlError> {
        debug_assert!(die < self.space.dies(), "there is no die {die} of {}", self.space.dies());
        if self.space.has_room(die, stream) {
            return Ok(true);
        }
        self.refill(flash, die)?;
        Ok(self.space.has_room(die, stream) || !self.space.is_short(&self.blocks, die))
    }

    fn collect_data<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        die: u32,
        victim: Pbn,
        of_the_map: Cause,
    ) -> Result<(), FtlError> {
        debug_assert!(self.updates.is_empty(), "a collection begins in the middle of another");
        self.empty_victim(flash, (die, victim), |scheme, flash, mut pages| {
            let (moved, unmoved, result) = scheme.move_and_map(flash, die, &pages, of_the_map);
            let moved = moved.len();
            pages.truncate(moved);
            pages.retain(|from| !unmoved.contains(from));
            (pages, result)
        })
    }

    /// Moves data pages and writes the translation pages that say so. Returns the pages that were
    /// moved, those of them that count where they were, and how it ended.
    fn move_and_map<'a, D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        die: u32,
        pages: &'a [Ppn],
        of_the_map: Cause,
    ) -> (&'a [Ppn], Vec<Ppn>, Result<(), FtlError>) {
        let (moved, result) = self.move_pages(flash, die, pages);
        // What was moved is mapped there even if something failed on the way; unless its
        // translation page could not be written.
        let updated = flash.with_cause(of_the_map, |flash| self.update_translations(flash));
        (moved, self.take_back_updates(), result.and(updated))
    }

    /// Moves data pages of a block in hand.
    fn move_data<D: Device>(&mut self, flash: &mut FlashPort<D>, die: u32, pages: &[Ppn]) -> Result<(), FtlError> {
        let (moved, unmoved, result) = self.move_and_map(flash, die, pages, Cause::MappingCollection);
        self.space.is_moved(moved.iter().filter(|from| !unmoved.contains(from)));
        let restored = flash.with_cause(Cause::MappingCollection, |flash| self.restore_aside(flash));
        result.and(restored)
    }

    /// Rewrites each translation page that the pending updates concern, once.
    fn update_translations<D: Device>(&mut self, flash: &mut FlashPort<D>) -> Result<(), FtlError> {
        let mut updates = std::mem::take(&mut self.updates);
        sort(&mut updates);
        let groups: Vec<_> = updates.chunk_by(|a, b| a.0 == b.0).collect();
        let written = groups.iter().enumerate().try_for_each(|(at, group)| {
            announce(&groups, at, |group, stage| {
                if stage == PrefetchStage::Far {
                    self.prefetch_writing(flash, group[0].0);
                }
            });
            self.write_translation(flash, group[0].0, group, Self::die_for_translation)
        });
        if written.is_ok() {
            let written = |&(_, lpn, to): &(u32, Lpn, Ppn)| self.table.entry(lpn) == Some(to);
            debug_assert!(updates.iter().all(written), "a collection moved pages that the map has not: {updates:?}");
            updates.clear();
        }
        self.updates = updates;
        written
    }

    /// Forgets the updates that could not be written: their pages stay where the map says. Returns
    /// those places.
    fn take_back_updates(&mut self) -> Vec<Ppn> {
        let mut unmoved = Vec::new();
        for (_, lpn, to) in self.updates.drain(..) {
            let mapped = self.table.entry(lpn);
            debug_assert!(self.space.is_valid(to), "{lpn} was moved to {to}, which is not valid");
            if mapped != Some(to) {
                self.space.release(to);
                unmoved.extend(mapped);
            }
        }
        unmoved
    }

    /// A die for a translation page in the middle of a collection, when nothing else may be
    /// collected; on none of these channels if that is possible.
    pub(super) fn die_for_translation<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        channels: &[u32],
    ) -> Result<u32, FtlError> {
        if let Some(die) = self.die_in_use(TRANSLATION) {
            return Ok(die);
        }
        for avoided in [channels, &[]] {
            for _ in 0..self.space.dies() {
                let die = self.space.take_turn(TRANSLATION);
                let has_place = self.space.has_room(die, TRANSLATION) || self.can_lend(die);
                if has_place && !avoided.contains(&self.space.channel_of_die(die)) {
                    return Ok(die);
                }
            }
            if channels.is_empty() {
                break;
            }
        }
        debug_assert!(self.aside.len() <= self.table.copies() as usize, "too many blocks are set aside");
        let opened = self.aside.pop().map(|block| {
            let used = self.blocks.use_of(block);
            debug_assert_eq!(used, BlockUse::InUse(Purpose::Reserve), "{block} was set aside, and is {used:?}");
            self.blocks.is_for(block, AllocRequest::new(Purpose::Translation));
            self.space.open_block(block, TRANSLATION)
        });
        let die = match opened.or_else(|| self.refuge()) {
            Some(die) => Some(die),
            None => self.space.reclaim_empty(flash, &mut self.blocks, &self.trims)?,
        };
        die.ok_or_else(|| self.blocks.out_of_space("translation pages"))
    }

    /// Whether a die has free blocks beyond the one that its collection needs.
    fn can_lend(&self, die: u32) -> bool {
        self.blocks.free_on(die) > 1
    }

    /// A die that gives its last free block for translation pages, because the block set aside for
    /// them has failed. What the collection moves is placed by then, and the die gets its reserve
    /// back as after any failure.
    #[cold]
    fn refuge(&self) -> Option<u32> {
        (0..self.space.dies()).find(|&die| self.space.has_failing() && self.blocks.free_on(die) > 0)
    }

    /// Moves each translation page of a block to the die that `to` names.
    fn collect_translation<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        victim: Pbn,
        to: impl Fn(&PageSpace) -> u32,
    ) -> Result<(), FtlError> {
        debug_assert_eq!(self.space.stream_of(victim), TRANSLATION, "{victim} is collected as a translation block");
        debug_assert!(!self.space.is_collectable(victim), "{victim} is collected, but was not taken as a victim");
        let mut moving = std::mem::take(&mut self.moving);
        self.space.list_valid(victim, &mut moving);
        let (moved, result) = up_to_error(&moving, |from| self.move_translation(flash, to(&self.space), from));
        self.space.finish(flash, &mut self.blocks, victim, moved.iter().copied(), result)?;
        self.moving = moving;
        Ok(())
    }

    fn move_translation<D: Device>(&mut self, flash: &mut FlashPort<D>, die: u32, from: Ppn) -> Result<(), FtlError> {
        debug_assert!(self.space.is_valid(from), "{from} is moved, but is not valid");
        let (page, content) = match flash.read_to_move(from)? {
            Some(page) => (page.logical, Content::Copy(page)),
            None => (self.table.page_at(from), Content::New(D::Data::default())),
        };
        let label = Label::new(page, Role::Translation);
        let (stream, moved) = ((TRANSLATION, Hint::NONE), (label, &content));
        let to = self.space.program_moved(flash, &mut self.blocks, die, stream, moved, &self.trims)?;
        debug_assert!(page < self.table.pages_of_table(), "{from} holds translation page {page}, which there is not");
        self.table.relocate(page, self.table.copy_at(page, from), to);
        Ok(())
    }

    /// Puts another free block of the same die aside instead of one that was, if there is one, so
    /// that each takes part in the erases.
    pub(super) fn exchange_aside(&mut self, pbn: Pbn) {
        let at = self.aside.iter().position(|&aside| aside == pbn);
        let other = at.and_then(|_| self.blocks.take_on(self.space.die_of(pbn), AllocRequest::new(Purpose::Reserve)));
        if let (Some(at), Some(other)) = (at, other) {
            debug_assert_ne!(other, pbn, "{pbn} is exchanged for itself");
            self.blocks.put(std::mem::replace(&mut self.aside[at], other));
        }
    }

    /// Makes room for this many translation pages after a power cut, and for the blocks aside,
    /// before any of the table is written.
    pub(super) fn make_room_for_table<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        pages: u32,
    ) -> Result<(), FtlError> {
        let wanted = (pages.div_ceil(self.space.content_pages()) + self.table.copies()) as usize;
        debug_assert!(!self.rebuilding, "the table is rebuilt twice");
        self.rebuilding = true;
        let mut made = Ok(());
        while made.is_ok() && self.blocks_to_lend() < wanted {
            let Some(victim) = self.space.take_fewest_valid_of_all() else { break };
            flash.note(Note::Collection);
            made = self.collect_data(flash, self.space.die_of(victim), victim, Cause::MappingCollection);
        }
        self.rebuilding = false;
        made.and_then(|()| self.restore_aside(flash))
    }

    /// Free blocks beyond those that the dies' collections need.
    fn blocks_to_lend(&self) -> usize {
        let lent = (0..self.space.dies()).map(|die| self.blocks.free_on(die).saturating_sub(1)).sum();
        debug_assert!(lent <= self.blocks.free(), "{lent} of {} free blocks can be lent", self.blocks.free());
        lent
    }

    /// Puts blocks aside again, collecting translation blocks if no die can lend one.
    pub(super) fn restore_aside<D: Device>(&mut self, flash: &mut FlashPort<D>) -> Result<(), FtlError> {
        debug_assert!(self.updates.is_empty(), "blocks are set aside with {} updates pending", self.updates.len());
        while self.aside.len() < self.table.copies() as usize {
            if let Some(die) = (0..self.space.dies()).find(|&die| self.can_lend(die)) {
                self.aside.extend(self.blocks.take_on(die, AllocRequest::new(Purpose::Reserve)));
                continue;
            }
            let Some(victim) = self.space.take_fewest_valid(TRANSLATION) else { break };
            let die = self.space.die_of(victim);
            let with_room = |space: &PageSpace| {
                let mut dies = std::iter::once(die).chain(0..space.dies());
                dies.find(|&die| space.has_room(die, TRANSLATION)).unwrap_or(die)
            };
            self.collect_translation(flash, victim, with_room)?;
        }
        Ok(())
    }
}

/// Does something for each page up to the first error; returns the pages done, and how it ended.
#[inline]
fn up_to_error(pages: &[Ppn], mut each: impl FnMut(Ppn) -> Result<(), FtlError>) -> (&[Ppn], Result<(), FtlError>) {
    for (done, &ppn) in pages.iter().enumerate() {
        if let Err(error) = each(ppn) {
            return (&pages[..done], Err(error));
        }
    }
    (pages, Ok(()))
}

/// Sorts pending updates by translation page and logical page. Compiled once, not for each scheme
/// and device.
#[inline(never)]
fn sort(updates: &mut [(u32, Lpn, Ppn)]) {
    updates.sort_unstable_by_key(|&(page, lpn, _)| (page, lpn));
}

#[cfg(test)]
mod tests;
