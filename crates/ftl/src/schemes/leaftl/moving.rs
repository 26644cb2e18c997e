//! Collections of the learned map: what is moved is sorted and learned again.

use flash::{Flash, Lpn, Pbn, Ppn, Role};
use host::Hint;

use crate::blocks::manager::BlockManager;
use crate::engines::page_map::mapped::{COLLECTED, PageMapped};
use crate::engines::page_map::space::{PageSpace, Stream};
use crate::port::cause::Cause;
use crate::port::device::Device;
use crate::port::error::FtlError;
use crate::port::flash_port::FlashPort;
use crate::port::label::{Content, Label};
use crate::port::tally::Note;
use crate::prefetch::PrefetchStage;
use crate::recovery::trims::Trims;
use crate::schemes::leaftl::Leaftl;

/// A page that has been read in order to be moved.
struct MovingPage<T> {
    from: Ppn,
    lpn: Lpn,
    role: Role,
    hint: Hint,
    content: Content<T>,
}

impl PageMapped for Leaftl {
    #[inline]
    fn parts(&mut self) -> (&mut PageSpace, &mut BlockManager, &mut Trims) {
        (&mut self.space, &mut self.blocks, &mut self.trims)
    }

    #[inline]
    fn collected_stream(&self) -> Stream {
        self.moving_to
    }

    fn destination(&self, from: Stream) -> Stream {
        self.space.destination(from, Cause::Collection, COLLECTED)
    }

    /// Tags of its neighbours name it.
    fn owner_of<D: Device>(&self, flash: &FlashPort<D>, ppn: Ppn) -> Option<Lpn> {
        self.space.logical_at(flash, ppn).map(Lpn::new)
    }

    fn prefetch_move(&self, _lpn: Lpn, _stage: PrefetchStage) {}

    fn on_moved(&mut self, lpn: Lpn, _from: Ppn, to: Ppn) {
        self.table.learn(&[(lpn, to)]);
    }

    fn next_die<D: Device>(&mut self, flash: &mut FlashPort<D>, stream: Stream) -> Result<u32, FtlError> {
        self.repair_before_write(flash)?;
        if let Some(die) = self.space.die_of_page_begun(stream) {
            return Ok(die);
        }
        for _ in 0..self.space.dies() {
            let die = self.space.take_turn(stream);
            if self.space.has_room(die, stream) {
                return Ok(die);
            }
            self.refill(flash, die)?;
            if !self.space.is_short(&self.blocks, die) {
                return Ok(die);
            }
        }
        Err(self.blocks.out_of_space("a host write"))
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
        self.moving_to = self.space.destination(self.space.stream_of(victim), why, COLLECTED);
        flash.with_cause(why, |flash| {
            self.empty_victim(flash, (die, victim), |scheme, flash, pages| scheme.move_in_runs(flash, die, &pages))
        })
    }

    fn move_some<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        die: u32,
        victim: Pbn,
        pages: &[Ppn],
    ) -> Result<(), FtlError> {
        self.moving_to = self.destination(self.space.stream_of(victim));
        flash.with_cause(Cause::Collection, |flash| {
            let (moved, result) = self.move_in_runs(flash, die, pages);
            self.space.is_moved(&moved);
            result
        })
    }
}

impl Leaftl {
    /// Moves pages off a die, run by run, up to the first error; returns the pages moved, and how
    /// it ended.
    fn move_in_runs<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        die: u32,
        pages: &[Ppn],
    ) -> (Vec<Ppn>, Result<(), FtlError>) {
        let mut moved = Vec::with_capacity(pages.len());
        flash.device_mut().chip_mut().expect_reads(pages);
        let result = pages.chunks(self.run_pages).try_for_each(|run| self.move_run(flash, die, run, &mut moved));
        (moved, result)
    }

    /// Reads pages, sorts them, programs them on a die and learns where they are.
    fn move_run<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        die: u32,
        run: &[Ppn],
        moved: &mut Vec<Ppn>,
    ) -> Result<(), FtlError> {
        let mut pages = Vec::with_capacity(run.len());
        flash.in_parallel(run, |flash, &from| {
            if self.move_trim_page(flash, die, from)? {
                moved.push(from);
                return Ok(());
            }
            let page = flash.read_to_move(from)?;
            pages.push(match page {
                Some(page) => MovingPage {
                    from,
                    lpn: Lpn::new(page.logical),
                    role: Role::Collected,
                    hint: self.hint_of(page.hint),
                    content: Content::Copy(page),
                },
                None => MovingPage {
                    from,
                    lpn: self.lose(flash, from),
                    role: Role::Lost,
                    hint: Hint::NONE,
                    content: Content::New(D::Data::default()),
                },
            });
            Ok::<_, FtlError>(())
        })?;
        if self.buffer.sorts() {
            pages.sort_unstable_by_key(|page| page.lpn);
        }
        let (stream, mut learned) = (self.collected_stream(), Vec::with_capacity(pages.len()));
        let programmed = flash.in_parallel(&pages, |flash, page| {
            let (space, blocks, trims) = self.parts();
            let label = Label::new(page.lpn.get(), page.role);
            let to = space.program_moved(flash, blocks, die, (stream, page.hint), (label, &page.content), trims)?;
            moved.push(page.from);
            learned.push((page.lpn, to));
            Ok(())
        });
        self.table.learn(&learned);
        programmed
    }
}
