//! Placement, garbage collection and failure handling shared by page-mapped schemes.
//!
//! A scheme knows what a page means and how to move it ([`PageMapped::collect`]). Everything else
//! is the same whether the map lies in RAM or on flash: reserves that failures took are restored
//! first, then failing blocks emptied, then a die is chosen; trims are written down in runs; after
//! a power cut the newest pages are taken over.

use flash::{Flash, Lpn, Page, PageCopy, Pbn, Ppn, Role, Tag};
use host::Hint;

use crate::api::layout::Layout;
use crate::api::wear::{BlockUse, Deferred, RelocateOutcome};
use crate::blocks::manager::BlockManager;
use crate::engines::page_map::classes::Classes;
use crate::engines::page_map::pslc::PslcCache;
use crate::engines::page_map::space::{PageSpace, Stream};
use crate::port::cause::Cause;
use crate::port::device::Device;
use crate::port::error::{FtlError, RecoverError};
use crate::port::flash_port::FlashPort;
use crate::port::flash_port::copying::CopyEnd;
use crate::port::label::{Content, Label};
use crate::port::tally::Note;
use crate::prefetch::PrefetchStage;
use crate::recovery::trims::Trims;

pub use crate::engines::page_map::space::{COLLECTED, HOST};

/// Pages that are moved in one run at most: as many requests for memory as a processor's first
/// cache takes without dropping what it will need soon.
const RUN: usize = 64;
/// How the pages of a run are announced, all of them before the next stage.
const ANNOUNCED: [PrefetchStage; 3] = [PrefetchStage::Far, PrefetchStage::Near, PrefetchStage::Next];

/// A scheme whose pages lie in a [`PageSpace`].
pub trait PageMapped {
    /// The space, to place pages, release them and choose victims.
    #[inline]
    fn space(&mut self) -> &mut PageSpace {
        self.parts().0
    }

    /// The block manager: free blocks, spares, and what failures have cost.
    #[inline]
    fn blocks(&mut self) -> &mut BlockManager {
        self.parts().1
    }

    /// The space, the owner of its blocks, and the trims whose pages lie in it.
    fn parts(&mut self) -> (&mut PageSpace, &mut BlockManager, &mut Trims);

    /// The pSLC cache, the space and the owner of its blocks; none for a scheme without a cache.
    fn cache_parts(&mut self) -> Option<(&mut PslcCache, &mut PageSpace, &mut BlockManager)> {
        None
    }

    /// Whether a die should collect before it opens another block.
    #[inline]
    fn is_short(&mut self, die: u32) -> bool {
        let (space, blocks, _) = self.parts();
        space.is_short(blocks, die)
    }

    /// Whether a die has less than this many free blocks more than those at which it should
    /// collect.
    fn is_short_of(&mut self, die: u32, more: usize) -> bool {
        let (space, blocks, _) = self.parts();
        space.is_short_of(blocks, die, more)
    }

    /// Whether nothing has failed that has yet to be made good, so that a block may be collected in
    /// idle time.
    fn is_whole(&mut self) -> bool {
        let (space, blocks, _) = self.parts();
        blocks.spares().admit().is_ok() && !blocks.has_lost_reserve() && !space.has_failing()
    }

    /// Takes the next block to collect on a die, if collecting gains anything there.
    #[inline]
    fn take_victim(&mut self, die: u32) -> Result<Option<Pbn>, FtlError> {
        let (space, blocks, _) = self.parts();
        space.take_victim(blocks, die)
    }

    /// The stream of collected pages: of those of the block in hand, where streams are collected
    /// apart or wear is levelled.
    fn collected_stream(&self) -> Stream;

    /// The stream of the pages in the block in hand that say what was trimmed, and of those that
    /// take the place of last copies there.
    fn collected_trim_stream(&self) -> Stream {
        self.collected_stream()
    }

    /// The classifier that chooses streams, if there is one.
    #[inline]
    fn classes(&mut self) -> Option<(&mut Classes, &PageSpace)> {
        None
    }

    /// Notifies the classifier of a block that is collected, or is taken in hand for that.
    #[inline]
    fn notify_reclaimed(&mut self, victim: Pbn, why: Cause, in_hand: bool) {
        if let Some((classes, space)) = self.classes() {
            classes.on_reclaimed(space, victim, why, in_hand);
        }
    }

    /// For recovery: the clock of the host's pages goes on after this many programs.
    fn continue_clock(&mut self, programs: u64) {
        self.space().continue_clock(programs);
        if let Some((classes, _)) = self.classes() {
            classes.on_recovered(programs);
        }
    }

    /// What went wrong in the classifier since this was last asked.
    #[inline]
    fn check_classes(&mut self) -> Result<(), FtlError> {
        self.classes().map_or(Ok(()), |(classes, _)| classes.take_failure())
    }

    /// The classifier, if it chooses among streams for what is moved out of the block in hand.
    #[inline]
    fn relocating(&mut self) -> Option<(&mut Classes, &PageSpace)> {
        let usual = self.collected_stream();
        self.classes().filter(|(classes, _)| classes.relocates() && usual == COLLECTED)
    }

    /// The stream of pages collected out of a block of this stream.
    fn destination(&self, _from: Stream) -> Stream {
        self.collected_stream()
    }

    /// Free blocks of its die that emptying a block may open before it gives back its own: one,
    /// unless what it holds goes to several streams.
    fn blocks_to_empty(&self, _pbn: Pbn) -> usize {
        1
    }

    /// Moves what a block holds off its die, if it is one whose erase gives its die no room back;
    /// without that, the die may not have the room. It stays in use.
    fn scatter<D: Device>(&mut self, _flash: &mut FlashPort<D>, _pbn: Pbn) -> Result<(), FtlError> {
        Ok(())
    }

    /// The stream of a block in which recovery finds a page with this tag.
    fn recovered_stream(&self, tag: &Tag) -> Stream {
        if tag.role == Role::Collected { self.collected_stream() } else { HOST }
    }

    /// What the host said of a page, as far as its tag keeps it.
    #[inline]
    fn hint_of(&mut self, stored: u8) -> Hint {
        self.blocks().hint_of(stored)
    }

    /// The most programs that moving a page takes: one, and those of the map on flash.
    fn programs_per_move(&self) -> u32 {
        1
    }

    /// The LPN whose page this is, found in the map, for a page that cannot be read and so does not
    /// tell.
    fn owner_of<D: Device>(&self, flash: &FlashPort<D>, ppn: Ppn) -> Option<Lpn>;

    /// Announces a data page of a run, so that the scheme can ask for the memory of its entry.
    fn prefetch_move(&self, lpn: Lpn, stage: PrefetchStage);

    /// The role that a data page of the block in hand has where it is moved to.
    #[inline]
    fn moved_role(&self) -> Role {
        Role::Collected
    }

    /// A data page that has to be moved cannot be read: tells whether that is no loss, since the
    /// same lies elsewhere, and then forgets this one.
    fn drop_duplicate(&mut self, _from: Ppn) -> bool {
        false
    }

    /// A data page was moved: changes the map.
    fn on_moved(&mut self, lpn: Lpn, from: Ppn, to: Ppn);

    /// Moves what is valid in a block, then gives the block back to the owner. `why` is
    /// [`Cause::Collection`], [`Cause::Fold`], [`Cause::Relocation`] for a block that fails, or
    /// [`Cause::WearLevelling`].
    fn collect<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        die: u32,
        victim: Pbn,
        why: Cause,
    ) -> Result<(), FtlError>;

    /// Lists what a step moves out of a block in hand when this many moves are due: valid pages, as
    /// many or, if some are better moved together, more. If it is too short to wait for all of its
    /// memory at once, asks for that of the step after it.
    fn list_step<D: Device>(&mut self, flash: &FlashPort<D>, victim: Pbn, moves: u32, into: &mut Vec<Ppn>) {
        let listed = if moves < RUN as u32 / 8 { 2 * moves } else { moves };
        self.space().list_first(victim, listed, into);
        for &next in into.iter().skip(moves as usize) {
            if let Some(logical) = flash.chip().peek(next) {
                self.prefetch_move(Lpn::new(logical), PrefetchStage::Far);
            }
        }
        into.truncate(moves as usize);
    }

    /// Moves some pages of a block in hand, which keeps the others: they are not valid there any
    /// more then.
    fn move_some<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        die: u32,
        victim: Pbn,
        pages: &[Ppn],
    ) -> Result<(), FtlError>;

    /// Collects on a die while that is short of free blocks and there is something to gain.
    fn refill<D: Device>(&mut self, flash: &mut FlashPort<D>, die: u32) -> Result<(), FtlError> {
        while self.is_short(die)
            && let Some(victim) = self.take_victim(die)?
        {
            self.collect_apart(flash, die, victim, Cause::Collection)?;
        }
        Ok(())
    }

    /// The next die in turn that has a place for a page of a stream, perhaps after collecting
    /// there.
    fn next_die<D: Device>(&mut self, flash: &mut FlashPort<D>, stream: Stream) -> Result<u32, FtlError>;

    /// Collects a block; the host does not wait for that.
    fn collect_apart<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        die: u32,
        victim: Pbn,
        why: Cause,
    ) -> Result<(), FtlError> {
        flash.in_background(|flash| self.collect(flash, die, victim, why))
    }

    /// Empties a block as a collection does, whatever it holds.
    fn empty<D: Device>(&mut self, flash: &mut FlashPort<D>, pbn: Pbn) -> Result<RelocateOutcome, FtlError> {
        if let Some(known) = self.blocks().needs_no_emptying(pbn) {
            return Ok(known);
        }
        let die = self.space().die_of(pbn);
        flash.with_cause(Cause::WearLevelling, |flash| {
            self.repair_before_write(flash)?;
            // What a collection wrote beside the pages that it moved may have taken the die's last
            // free block. One that failures took can only come back by `repair_before_write`.
            let free = self.blocks().free_on(die);
            if free < self.blocks_to_empty(pbn) && (free > 0 || !self.blocks().may_have_failed()) {
                self.refill(flash, die)?;
            }
            if self.blocks().free_on(die) < self.blocks_to_empty(pbn) {
                flash.in_background(|flash| self.scatter(flash, pbn))?;
            }
            Ok::<_, FtlError>(())
        })?;
        match self.blocks().use_of(pbn) {
            BlockUse::InUse(_) => {}
            BlockUse::Free => return Ok(RelocateOutcome::Done),
            BlockUse::Bad => return Ok(RelocateOutcome::Retired),
        }
        if self.blocks().free_on(die) < self.blocks_to_empty(pbn) {
            return Ok(RelocateOutcome::Deferred(Deferred::NoRoom));
        }
        let (space, blocks, _) = self.parts();
        match space.withdraw(flash, blocks, pbn) {
            None => return Ok(RelocateOutcome::Deferred(Deferred::NoRoom)),
            Some(false) => return Ok(RelocateOutcome::Done),
            Some(true) => self.collect_apart(flash, die, pbn, Cause::WearLevelling)?,
        }
        self.check_classes()?;
        Ok(self.blocks().fate_of(pbn))
    }

    /// What comes before a page is placed: refuses on a read-only device, and makes good what
    /// failures have done.
    #[inline]
    fn repair_before_write<D: Device>(&mut self, flash: &mut FlashPort<D>) -> Result<(), FtlError> {
        self.blocks().spares().admit()?;
        if self.blocks().has_lost_reserve() {
            self.restore_reserves(flash)?;
        }
        if self.space().has_failing() {
            self.empty_failing(flash)?;
        }
        Ok(())
    }

    /// What comes after a host write, and not with the next one, since the power may be cut before.
    #[inline]
    fn repair_after_write<D: Device>(&mut self, flash: &mut FlashPort<D>) -> Result<(), FtlError> {
        if self.blocks().has_lost_reserve() {
            FtlError::unless_read_only(self.restore_reserves(flash))?;
        }
        Ok(())
    }

    /// Collects where failures have cost a die its last free block.
    #[cold]
    fn restore_reserves<D: Device>(&mut self, flash: &mut FlashPort<D>) -> Result<(), FtlError> {
        let cost = self.programs_per_move();
        while self.blocks().has_lost_reserve() {
            let destinations: Vec<_> = (0..self.space().streams()).map(|stream| self.destination(stream)).collect();
            let (space, blocks, trims) = self.parts();
            let Some((die, victim)) = space.take_victim_for_reserve(blocks, &destinations, cost, trims) else { break };
            debug_assert_eq!(
                blocks.free_on(die),
                0,
                "{victim} is collected for the reserve of die {die}, which has one"
            );
            self.collect_apart(flash, die, victim, Cause::Collection)?;
        }
        Ok(())
    }

    /// Empties blocks in which a page could not be programmed, and marks them bad; but first
    /// collects, so that the reserve of their die stays whole. A block for which there is no room
    /// yet waits.
    #[cold]
    fn empty_failing<D: Device>(&mut self, flash: &mut FlashPort<D>) -> Result<(), FtlError> {
        for pbn in self.space().failing() {
            let die = self.space().die_of(pbn);
            self.refill(flash, die)?;
            debug_assert!(self.blocks().is_failed(pbn), "{pbn} waits to be emptied, but has not failed");
            let opened = self.blocks_to_empty(pbn);
            if !self.is_short_of(die, opened) && self.space().take_failing(pbn) {
                self.collect_apart(flash, die, pbn, Cause::Relocation)?;
            }
        }
        Ok(())
    }

    /// Programs a page of the host's on the next die in turn that has a place for it; one that
    /// fails is tried again elsewhere.
    #[inline]
    fn append<D: Device>(&mut self, flash: &mut FlashPort<D>, label: Label, data: &D::Data) -> Result<Ppn, FtlError> {
        self.append_on(flash, (HOST, Hint::NONE), (label, 0), data, |scheme, flash| scheme.next_die(flash, HOST))
    }

    /// Programs a page of a stream with this hint on a die that `next_die` finds,
    /// with what is kept of the host's hint, 0 for nothing; one that fails is tried again on the
    /// die that it finds then.
    #[inline]
    fn append_on<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        to: (Stream, Hint),
        (label, stored_hint): (Label, u8),
        data: &D::Data,
        mut next_die: impl FnMut(&mut Self, &mut FlashPort<D>) -> Result<u32, FtlError>,
    ) -> Result<Ppn, FtlError> {
        self.space().on_host_write(label, to.0);
        loop {
            let die = next_die(self, flash)?;
            let (space, blocks, _) = self.parts();
            debug_assert!(
                space.has_room(die, to.0) || blocks.free_on(die) > 0,
                "die {die} was found for stream {}, and has neither room nor a free block",
                to.0
            );
            let content = Content::Hinted(data.clone(), stored_hint);
            if let Some(to) = space.program(flash, blocks, die, to, label, content)? {
                return Ok(to);
            }
        }
    }

    /// Moves pages off a die up to the first error; returns the pages moved, and how it ended.
    #[inline]
    fn move_pages<'a, D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        die: u32,
        pages: &'a [Ppn],
    ) -> (&'a [Ppn], Result<(), FtlError>) {
        debug_assert!(die < self.space().dies(), "pages are moved off die {die} of {}", self.space().dies());
        flash.device_mut().chip_mut().expect_reads(pages);
        let mut moved = 0;
        while let Some(&next) = pages.get(moved) {
            let (more, result) = match self.move_run(flash, die, &pages[moved..]) {
                (0, Ok(())) => self.move_page(flash, die, next).map_or_else(|error| (0, Err(error)), |()| (1, Ok(()))),
                run => run,
            };
            moved += more;
            if result.is_err() {
                return (&pages[..moved], result);
            }
        }
        (pages, Ok(()))
    }

    /// Moves data pages off a die run by run: each step over an array, while flash sees the same
    /// operations in the same order as when they are moved one by one. A run ends with the open
    /// block, or where a page fails. Returns how many pages were moved, none where they might be
    /// trim pages or there is no room, and how it ended.
    fn move_run<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        die: u32,
        pages: &[Ppn],
    ) -> (usize, Result<(), FtlError>) {
        let (stream, role) = (self.collected_stream(), self.moved_role());
        let by_page = self.relocating().is_some();
        let (space, _, trims) = self.parts();
        let room = if by_page || trims.has_pages() { 0 } else { space.open_pages(die, stream) as usize };
        let pages = &pages[..pages.len().min(RUN).min(room)];
        if pages.is_empty() {
            return (0, Ok(()));
        }
        let target = space.next_page(die, stream);
        let geometry = *flash.geometry();
        let (to, first) = geometry.split(target);
        let mut copies = [PageCopy { from: target, offset: first }; RUN];
        for ((copy, &from), offset) in copies.iter_mut().zip(pages).zip(first..) {
            *copy = PageCopy { from, offset };
        }
        let mut lpns = [Lpn::new(0); RUN];
        let mut slots = lpns.iter_mut();
        let (done, copied) = flash.copy_pages(&copies[..pages.len()], (to, None), |_, page| {
            if let Some(lpn) = slots.next() {
                *lpn = Lpn::new(page.logical);
            }
            Label::new(page.logical, role)
        });
        let lpns = &lpns[..done];
        for stage in ANNOUNCED {
            for &lpn in lpns {
                self.prefetch_move(lpn, stage);
            }
        }
        self.space().take_run(die, stream, done as u32);
        self.space().count_moved(lpns);
        for ((&lpn, &from), offset) in lpns.iter().zip(pages).zip(first..) {
            self.on_moved(lpn, from, geometry.page(to, offset));
        }
        let (space, blocks, _) = self.parts();
        let result = match copied {
            Ok(()) => return (done, space.close_if_full(flash, blocks, (die, stream), to)),
            Err(CopyEnd::Error(error)) => Err(error),
            Err(CopyEnd::Unreadable) => self.put_moved(flash, die, pages[done], None),
            Err(CopyEnd::NotProgrammed(page)) => {
                space.take_run(die, stream, 1);
                space.on_program_failed(blocks, geometry.page(to, first + done as u32));
                self.put_moved(flash, die, pages[done], Some(page))
            }
        };
        (done + usize::from(result.is_ok()), result)
    }

    /// Moves a data page or a trim page off a die. One that cannot be read becomes a lost page.
    fn move_page<D: Device>(&mut self, flash: &mut FlashPort<D>, die: u32, from: Ppn) -> Result<(), FtlError> {
        debug_assert!(self.space().is_valid(from), "{from} is moved, but is not valid");
        if self.move_trim_page(flash, die, from)? {
            return Ok(());
        }
        let page = flash.read_to_move(from)?;
        self.put_moved(flash, die, from, page)
    }

    /// Programs what a data page held that has been read, none if it could not be, in order to move
    /// it off a die.
    fn put_moved<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        die: u32,
        from: Ppn,
        page: Option<Page<D::Data>>,
    ) -> Result<(), FtlError> {
        let (lpn, role, hint, content) = match page {
            Some(page) => (Lpn::new(page.logical), self.moved_role(), self.hint_of(page.hint), Content::Copy(page)),
            None if self.drop_duplicate(from) => return Ok(()),
            None => (self.lose(flash, from), Role::Lost, Hint::NONE, Content::New(D::Data::default())),
        };
        let label = Label::new(lpn.get(), role);
        let usual = self.collected_stream();
        let stream = self.relocating().map_or(usual, |(classes, space)| {
            let left = space.stream_of(space.block_of(from));
            classes.relocated_stream(lpn, left, space)
        });
        let (space, blocks, trims) = self.parts();
        let to = space.program_moved(flash, blocks, die, (stream, hint), (label, &content), trims)?;
        debug_assert_ne!(from, to, "{lpn} is moved to where it lies");
        space.count_moved(&[lpn]);
        self.on_moved(lpn, from, to);
        Ok(())
    }

    /// The logical page that an unreadable page held.
    #[cold]
    fn lose<D: Device>(&self, flash: &mut FlashPort<D>, ppn: Ppn) -> Lpn {
        flash.note(Note::LostPage);
        self.owner_of(flash, ppn).unwrap_or_else(|| unreachable!("I2: {ppn} is valid, so a logical page maps to it"))
    }

    /// Moves a page off a die if it is a trim page; tells whether it was.
    #[inline]
    fn move_trim_page<D: Device>(&mut self, flash: &mut FlashPort<D>, die: u32, from: Ppn) -> Result<bool, FtlError> {
        let stream = self.collected_trim_stream();
        let (space, blocks, trims) = self.parts();
        let Some((label, version)) = trims.at(from) else { return Ok(false) };
        let content = Content::empty(label.logical, version);
        let to = space.program_moved(flash, blocks, die, (stream, Hint::NONE), (label, &content), trims)?;
        debug_assert_ne!(from, to, "the trim page of {} is moved to where it lies", label.logical);
        trims.on_moved(from, to);
        Ok(true)
    }

    /// Empties a victim and gives it back to the owner: `move_all` moves what is valid in it, and
    /// returns what it has moved and how it ended. The last copies of trimmed pages are replaced,
    /// lest older copies come back.
    fn empty_victim<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        (die, victim): (u32, Pbn),
        move_all: impl FnOnce(&mut Self, &mut FlashPort<D>, Vec<Ppn>) -> (Vec<Ppn>, Result<(), FtlError>),
    ) -> Result<(), FtlError> {
        debug_assert!(!self.space().is_collectable(victim), "{victim} is collected, but was not taken as a victim");
        let mut pages = Vec::with_capacity(self.space().content_pages() as usize);
        self.space().list_valid(victim, &mut pages);
        let (moved, result) = move_all(self, flash, pages);
        let (space, _, trims) = self.parts();
        let mut vanishing = trims.about_to_vanish(space.page_indices(victim)).into_iter();
        let result = result.and_then(|()| vanishing.try_for_each(|last| self.replace_last_copy(flash, die, last)));
        let (space, blocks, _) = self.parts();
        space.finish(flash, blocks, victim, moved, result)
    }

    /// Replaces the last copy of a trimmed page by a page that says so.
    fn replace_last_copy<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        die: u32,
        (copy, lpn): (Ppn, Lpn),
    ) -> Result<(), FtlError> {
        let to = (self.collected_trim_stream(), Hint::NONE);
        let (space, blocks, trims) = self.parts();
        let version = flash.read_to_move(copy)?.map(|page| page.version);
        let content = version.map_or_else(|| Content::New(D::Data::default()), |old| Content::empty(lpn.get(), old));
        let to = space.program_moved(flash, blocks, die, to, (Trims::label(lpn.get(), 1), &content), trims)?;
        trims.on_replaced(lpn, to, version.unwrap_or(flash.last_version()));
        Ok(())
    }

    /// Makes everything survive a power cut: what was programmed, and pending trims.
    fn make_durable<D: Device>(&mut self, flash: &mut FlashPort<D>) -> Result<(), FtlError> {
        self.write_trims_down(flash)?;
        self.check_classes()?;
        let (space, blocks, _) = self.parts();
        space.fill_for_flush(flash, blocks)
    }

    /// Makes pending trims survive a power cut: a page for each run of trimmed pages, all at the
    /// same time.
    fn write_trims_down<D: Device>(&mut self, flash: &mut FlashPort<D>) -> Result<(), FtlError> {
        let runs = self.parts().2.pending_runs();
        flash.in_parallel(runs, |flash, (first, extent)| {
            debug_assert!(extent > 0, "a run of no pages from logical page {first} on was trimmed");
            let to = self.append(flash, Trims::label(first, extent), &D::Data::default())?;
            let (space, _, trims) = self.parts();
            for page in trims.on_write(first, extent, to, flash.last_version()) {
                space.release(page);
            }
            Ok(())
        })
    }

    /// Takes over what a used device holds: finds the newest page of each LPN and of each trim, has
    /// the former mapped, and returns the LPNs of which an outdated page may come back, which have
    /// to be guarded when pages can be programmed again.
    fn take_over<D: Device>(
        &mut self,
        layout: &Layout,
        flash: &mut FlashPort<D>,
        mut map: impl FnMut(&mut Self, Tag, Ppn),
    ) -> Result<Vec<Lpn>, RecoverError> {
        debug_assert_eq!(self.space().valid_pages(), 0, "a device is taken over by a space that is in use");
        let scanned = self.space().scan(flash, layout)?;
        let newest = scanned.newest(layout.logical_pages);
        let kept = scanned.keep_one_copy(layout, &newest);
        let valid: Vec<_> = kept.pages.iter().map(|(ppn, tag)| (*ppn, self.recovered_stream(tag))).collect();
        let (space, blocks, _) = self.parts();
        space.take_over(flash, blocks, layout, valid)?;
        for &(ppn, tag) in &kept.pages {
            if tag.role == Role::Trimmed {
                self.parts().2.on_found(&tag, ppn, &newest);
            } else {
                debug_assert!(tag.logical < layout.logical_pages, "{ppn} holds logical page {}", tag.logical);
                map(self, tag, ppn);
            }
        }
        Ok(kept.outdated)
    }
}
