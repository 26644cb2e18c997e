//! Collection in the demand-paged machine: data blocks, whose moved pages change the map, and translation blocks, whose moved
//! pages change the directory.
//!
//! Moved pages whose entries are cached change only there. The others are sorted by translation page, and each translation
//! page concerned is rewritten once, in all its copies.
//!
//! **Why that always finds room.** Besides each die's reserve, one block a copy is set aside for translation pages that a collection has to
//! write when no die can lend one. When it has been used, as many translation pages have become invalid elsewhere, and
//! collecting translation blocks needs no mapping updates; so it is restored before the next data block is collected.

use flash::{Lpn, Pbn, Ppn, Role};

use crate::parts::demand::{COLLECTED, DemandPaged, TRANSLATION};
use crate::parts::demand_policy::{DemandScheme, MapCache};
use crate::parts::page_space::Stream;
use crate::parts::page_trims::{move_trim_page, replace_vanishing};
use crate::{Cause, Content, Device, FtlError, Label, Media, Note};

impl<S: DemandScheme> DemandPaged<S> {
    /// The next die in turn that has a place for a page of a stream, perhaps after collecting there.
    pub(super) fn next_die<D: Device>(&mut self, media: &mut Media<D>, stream: Stream) -> Result<u32, FtlError> {
        self.space.spares().admit()?;
        if self.space.has_lost_reserve() {
            self.restore_reserves(media)?;
        }
        if self.space.has_failing() {
            self.empty_failing(media)?;
        }
        for _ in 0..self.space.dies() {
            let die = self.space.take_turn(stream);
            if self.has_place(media, die, stream)? {
                return Ok(die);
            }
        }
        // Collecting may have taken turns of this stream, and so have passed over a die.
        for die in 0..self.space.dies() {
            if self.has_place(media, die, stream)? {
                return Ok(die);
            }
        }
        Err(self.space.out_of_space("a page"))
    }

    /// The same for a copy of a translation page, on none of these channels if that is possible.
    pub(super) fn next_translation_die<D: Device>(
        &mut self,
        media: &mut Media<D>,
        channels: &[u32],
    ) -> Result<u32, FtlError> {
        if !channels.is_empty() {
            self.space.spares().admit()?;
            for _ in 0..self.space.dies() {
                let die = self.space.take_turn(TRANSLATION);
                if !channels.contains(&self.space.channel_of_die(die)) && self.has_place(media, die, TRANSLATION)? {
                    return Ok(die);
                }
            }
        }
        self.next_die(media, TRANSLATION)
    }

    /// Whether a die has a place for a page of a stream, perhaps after collecting there.
    #[inline]
    fn has_place<D: Device>(&mut self, media: &mut Media<D>, die: u32, stream: Stream) -> Result<bool, FtlError> {
        if self.space.has_room(die, stream) {
            return Ok(true);
        }
        self.reclaim(media, die)?;
        Ok(self.space.has_room(die, stream) || !self.space.is_short(die))
    }

    /// Collects where failures have cost a die its last free block.
    #[cold]
    pub(super) fn restore_reserves<D: Device>(&mut self, media: &mut Media<D>) -> Result<(), FtlError> {
        // The page itself, and its translation page.
        let cost = 1 + self.table.copies();
        while self.space.has_lost_reserve()
            && let Some((die, victim)) = self.space.take_victim_for_reserve(COLLECTED, cost)
        {
            media.detached(|media| self.collect(media, die, victim, false))?;
        }
        Ok(())
    }

    /// Empties blocks in which a page could not be programmed, and marks them bad; but first collects, so that the reserve of
    /// their die stays whole. A block for which there is no room yet waits.
    #[cold]
    fn empty_failing<D: Device>(&mut self, media: &mut Media<D>) -> Result<(), FtlError> {
        for die in self.space.failing_dies() {
            self.reclaim(media, die)?;
            if !self.space.is_short(die)
                && let Some(block) = self.space.take_failing(die)
            {
                media.detached(|media| {
                    media.because(Cause::Relocation, |media| self.collect(media, die, block, true))
                })?;
            }
        }
        Ok(())
    }

    fn reclaim<D: Device>(&mut self, media: &mut Media<D>, die: u32) -> Result<(), FtlError> {
        // Moving a data block also writes translation pages, so a policy that keeps choosing full blocks (fifo does) may
        // spend as much as it gains for ever. After a turn of the whole die it has had its chance, and the best block goes.
        let mut choices = self.space.blocks_per_die();
        while self.space.is_short(die) {
            let victim = if choices > 0 { self.space.take_victim(die) } else { self.space.take_fewest_valid_on(die) };
            let Some(victim) = victim else { break };
            choices = choices.saturating_sub(1);
            media.detached(|media| self.collect(media, die, victim, false))?;
        }
        Ok(())
    }

    fn collect<D: Device>(&mut self, media: &mut Media<D>, die: u32, victim: Pbn, fails: bool) -> Result<(), FtlError> {
        media.note(Note::Collection);
        if self.space.stream_of(victim) == TRANSLATION {
            return media
                .because(Cause::MappingCollection, |media| self.collect_translation(media, die, victim, fails));
        }
        media.because(Cause::Collection, |media| self.collect_data(media, die, victim, fails))?;
        media.because(Cause::MappingCollection, |media| self.restore_aside(media))
    }

    fn collect_data<D: Device>(
        &mut self,
        media: &mut Media<D>,
        die: u32,
        victim: Pbn,
        fails: bool,
    ) -> Result<(), FtlError> {
        let mut moving = std::mem::take(&mut self.moving);
        self.space.list_valid(victim, &mut moving);
        let lpns = || moving.iter().filter_map(|&from| media.device().peek(from)).map(Lpn::new);
        lpns().for_each(|lpn| self.cache.prefetch_slot(lpn));
        lpns().for_each(|lpn| self.prefetch_change(lpn));
        let mut done = 0;
        let moved = moving.iter().try_for_each(|&from| {
            self.move_page(media, die, from)?;
            done += 1;
            Ok(())
        });
        // What was moved is mapped there even if something failed on the way; unless its translation page could not be written.
        let updated = media.because(Cause::MappingCollection, |media| self.update_translations(media));
        let unmoved = self.take_back_updates();
        let Self { trims, space, .. } = self;
        let moved = moved.and(updated).and_then(|()| replace_vanishing(trims, space, media, (die, COLLECTED), victim));
        if moved.is_err() {
            moving.truncate(done);
            moving.retain(|from| !unmoved.contains(from));
            self.space.put_back(victim, &moving, fails);
        }
        self.moving = moving;
        moved?;
        self.space.reclaim(media, victim, fails)
    }

    #[inline]
    fn move_page<D: Device>(&mut self, media: &mut Media<D>, die: u32, from: Ppn) -> Result<(), FtlError> {
        if move_trim_page(&mut self.trims, &mut self.space, media, (die, COLLECTED), from)? {
            return Ok(());
        }
        let (logical, role, content) = match media.read_to_move(from)? {
            Some(page) => (page.logical, Role::Collected, Content::Copy(page)),
            None => (self.lose(media, from), Role::Lost, Content::New(D::Data::default())),
        };
        let to = self.space.program_moved(media, die, COLLECTED, Label::new(logical, role), &content)?;
        let lpn = Lpn::new(logical);
        match self.cache.find(lpn) {
            Some(slot) => self.cache.set(slot, Some(to)),
            None => self.updates.push((self.table.page_of(lpn), lpn, to)),
        }
        Ok(())
    }

    /// The logical page that an unreadable page held: the whole map must be searched, since the tag is gone.
    #[cold]
    fn lose<D: Device>(&self, media: &mut Media<D>, ppn: Ppn) -> u32 {
        media.note(Note::LostPage);
        let lpn = (0..self.table.logical_pages()).find(|&lpn| self.entry(Lpn::new(lpn)) == Some(ppn));
        lpn.unwrap_or_else(|| unreachable!("I2: {ppn} is valid, so a logical page maps to it"))
    }

    /// Rewrites each translation page that the pending updates concern, once.
    fn update_translations<D: Device>(&mut self, media: &mut Media<D>) -> Result<(), FtlError> {
        let mut updates = std::mem::take(&mut self.updates);
        updates.sort_unstable_by_key(|&(page, lpn, _)| (page, lpn));
        let written = updates.chunk_by(|a, b| a.0 == b.0).try_for_each(|group| {
            self.write_translation(media, group[0].0, group, |scheme, _, channels| scheme.die_for_translation(channels))
        });
        if written.is_ok() {
            updates.clear();
        }
        self.updates = updates;
        written
    }

    /// Forgets the updates that could not be written: their pages stay where the map says. Returns those places.
    fn take_back_updates(&mut self) -> Vec<Ppn> {
        let mut unmoved = Vec::new();
        for (_, lpn, to) in self.updates.drain(..) {
            let mapped = self.table.entry(lpn);
            if mapped != Some(to) {
                self.space.release(to);
                unmoved.extend(mapped);
            }
        }
        unmoved
    }

    /// A die for a translation page in the middle of a collection, when nothing else may be collected; on none of these channels
    /// if that is possible.
    fn die_for_translation(&mut self, channels: &[u32]) -> Result<u32, FtlError> {
        for avoided in [channels, &[]] {
            for _ in 0..self.space.dies() {
                let die = self.space.take_turn(TRANSLATION);
                let has_place = self.space.has_room(die, TRANSLATION) || self.space.can_lend(die);
                if has_place && !avoided.contains(&self.space.channel_of_die(die)) {
                    return Ok(die);
                }
            }
            if channels.is_empty() {
                break;
            }
        }
        let opened = self.aside.pop().map(|block| self.space.open_block(block, TRANSLATION));
        opened.ok_or_else(|| self.space.out_of_space("translation pages"))
    }

    fn collect_translation<D: Device>(
        &mut self,
        media: &mut Media<D>,
        die: u32,
        victim: Pbn,
        fails: bool,
    ) -> Result<(), FtlError> {
        let mut moving = std::mem::take(&mut self.moving);
        self.space.list_valid(victim, &mut moving);
        let mut done = 0;
        let moved = moving.iter().try_for_each(|&from| {
            self.move_translation(media, die, from)?;
            done += 1;
            Ok(())
        });
        if moved.is_err() {
            self.space.put_back(victim, &moving[..done], fails);
        }
        self.moving = moving;
        moved?;
        self.space.reclaim(media, victim, fails)
    }

    fn move_translation<D: Device>(&mut self, media: &mut Media<D>, die: u32, from: Ppn) -> Result<(), FtlError> {
        let (page, content) = match media.read_to_move(from)? {
            Some(page) => (page.logical, Content::Copy(page)),
            None => (self.table.page_at(from), Content::New(D::Data::default())),
        };
        let label = Label::new(page, Role::Translation);
        let to = self.space.program_moved(media, die, TRANSLATION, label, &content)?;
        self.table.relocate(page, self.table.copy_at(page, from), to);
        Ok(())
    }

    /// Puts blocks aside again, collecting translation blocks if no die can lend one.
    pub(super) fn restore_aside<D: Device>(&mut self, media: &mut Media<D>) -> Result<(), FtlError> {
        while self.aside.len() < self.table.copies() as usize {
            if let Some(die) = (0..self.space.dies()).find(|&die| self.space.can_lend(die)) {
                self.aside.extend(self.space.set_aside(die));
                continue;
            }
            let Some(victim) = self.space.take_fewest_valid(TRANSLATION) else { break };
            let die = self.space.die_of(victim);
            self.collect_translation(media, die, victim, false)?;
        }
        Ok(())
    }
}
