//! # leaftl: a learned map of short lines instead of a page map
//!
//! ## Idea
//! Pages that are written together in the order of their logical numbers lie on a line: eight bytes
//! that give its slope and its begin map all of them. So writes wait in RAM, are sorted, and each
//! run of them is learned by greedy linear regression. A line may miss a page by up to γ pages; the
//! tag of each page names its neighbours, so a wrong prediction costs one read more. New lines are
//! laid over old ones, as in a log-structured table, until a compaction drops what is superseded.
//!
//! ```text
//!   buffer  9 2 4 7 3 ─sort─▶ 2 3 4 7 9 ─program─▶ pages 50 51 52 53 54
//!                              └─┬─┘ └┬┘
//!   group   level 0    [2..4 ⇒ 48 + x] [7, 9 ⇒ 49 + ⌈x/2⌉]   newest
//!           level 1    [0 ──────── older ──────── 31]
//! ```
//!
//! ## Source
//! Sun 2023.
//!
//! ## Departures
//! - The paper's text was not at hand: built from accounts of it. What they leave open is chosen
//!   here, and said below.
//! - γ is 0 by default, as in the program of the authors: beyond it, figures below gain little.
//! - The map is in RAM as a whole, and never paged to flash. RAM that it saves caches no data.
//! - A run of `run_pages` goes to one die before the next takes its turn. Else a buffer of a few
//!   blocks would keep a few dies busy.
//! - A segment is accurate if its members are neighbours on flash at a constant stride of logical
//!   pages, and as long as any other; else it is approximate. The intercept is a whole number.
//! - Predictions stay between the first and the last page of their segment, whose tags are sure to
//!   name each other.
//! - An overwritten or trimmed page has to be released, and so found: if its segment is
//!   approximate, the predicted page is read first for its tag, right or wrong (`mapping`).
//! - Compaction takes a group at once: from the newest segment on, each loses the members that
//!   newer ones have, and rises to the highest level where no newer one overlaps it. It costs no
//!   time. Beside the paper's rule, by written pages, a group is compacted when it takes more than
//!   8 B × its pages: else random writes to a small device pile up segments.
//! - A trim cuts the page out of all segments, in halves if need be.
//! - Victims are chosen as by `page`; what is moved is sorted run by run.
//! - Which pages were written together recovery does not know. It learns lines that miss a page
//!   only towards later ones, whose tags name all before them.
//!
//! ## State
//! RAM: 8 B × segments; 1 B × members of approximate segments, and 1 B × such segments; 8 B ×
//! groups of 256 pages, 1 B × levels; `ram`, with 8 B × pages beside it; `run_pages` pages that
//! are being moved. Flash: each page's tag has its LPN and those of γ neighbours to each side.
//!
//! ## Read
//! 1. A page that waits is read from RAM.
//! 2. `find`: the first level with a segment that has the page. Unmapped pages cost nothing.
//! 3. Read the predicted page. If it is another one, its tag says where the page lies: read that.
//!    Both are counted, as `right_predictions` and `wrong_predictions`.
//!
//! ## Write
//! 1. Wait in the buffer, in place of an older version.
//! 2. A full buffer is written as a whole (`write_down`), by a flush, too: sorted, in runs, each to
//!    the next die in turn, which collects first when it is short of free blocks.
//! 3. `write_run`: find the pages that are replaced; program; release those; learn the run.
//! 4. After each `compact_every` pages, compact all groups; one that takes more than 2 KiB, at
//!    once.
//!
//! ## Reclaim
//! 1. A die collects until more than `gc_threshold` blocks are free there.
//! 2. `move_run`: read `run_pages` pages of the victim, sort them, program them, learn them; then
//!    the next ones; at last erase the block.
//!
//! ## Recover
//! 1. Of each LPN the highest version among all tags of data and trim pages wins.
//! 2. Learn the pages of each block in their order, and compact. What waited in the buffer is as
//!    old as its last version on flash.
//! 3. Trims are pending until a flush, as in `page`.
//!
//! ## Invariants
//! - I1: a mapped LPN has exactly one valid page no further than γ from where its segment says, and
//!   on it if the segment is accurate.
//! - I2: there are as many valid pages as mapped LPNs and needed trim pages together.
//! - I3: free blocks are erased and hold nothing valid; summaries are true.
//! - I4: spans within a level never overlap; each approximate segment has one list of members, no
//!   offset is listed twice in a group, and RAM is counted to the byte.
//! - I5: RAM holds the pages that wait and no others; they and those on their way have room.
//!
//! ## Costs
//! A page in order takes 8 B / 256, a random one up to 8 B with what it supersedes. All that was
//! written since the last flush and waits is lost in a power cut.
//!
//! Measured on 256 MiB of 4 KiB pages with 20 % spare, blocks of 256 pages and `ram=2MiB`: filled,
//! overwritten at random with 3 × the physical pages, then 2 × the logical pages written. Mean RAM
//! of the map over that, against 8 B for each of 52,424 pages (410 KiB); the paper has 2.9 × less.
//!
//! | γ | random | like fin1 | in order | wrong, like fin1 | tags read per page written |
//! |---|---|---|---|---|---|
//! | 0 | 1.16 × less | 1.22 × | 1.24 × | 0 | 0 |
//! | 1 | 1.22 × | 1.26 × | 1.28 × | 19 % | 0.71 |
//! | 4 | 1.23 × | 1.27 × | 1.30 × | 32 % | 0.99 |
//! | 16 | 1.23 × | 1.27 × | 1.31 × | 39 % | 1.13 |
//! | 0, unsorted | – | 1.09 × | 2.26 × | 0 | 0 |
//! | 4, unsorted | – | 1.08 × | 2.03 × | 3.6 % | 0.13 |
//!
//! Filled in order instead of at random, the same fin1-like writes have 2.31 × less at γ = 0 and
//! 2.33 × at γ = 4. So a plain map of 4 B per page is smaller after random writes.
//!
//! Gauges: `map_bytes`, RAM of the map without the buffer; `segments`, `approximate_segments`,
//! `levels`; `buffered_pages`.

mod group;
mod moving;
mod offsets;
mod regression;
mod segment;
mod sorted_buffer;
mod table;

use flash::{Flash, Lpn, Pbn, Ppn, Role};

use crate::api::entry::{Capabilities, Entry, Memory};
use crate::api::layout::Layout;
use crate::api::mapping::{Mapping, Scheme, WearQuery};
use crate::api::parameter::{Kind, Parameter, Values, joined};
use crate::api::report::{Buffered, Footprint, Gauge, Spares};
use crate::api::request::Request;
use crate::api::wear::{Purpose, RelocateOutcome};
use crate::blocks::manager::BlockManager;
use crate::blocks::victims::{self, Policy};
use crate::engines::page_map::mapped::{COLLECTED, HOST, PageMapped};
use crate::engines::page_map::space::{ClassNeeds, GC_THRESHOLD, PageSpace, SpaceNeeds, Stream};
use crate::port::cause::Cause;
use crate::port::device::Device;
use crate::port::error::{BrokenInvariant, ConfigError, FtlError, RecoverError};
use crate::port::flash_port::FlashPort;
use crate::port::label::{Content, Label};
use crate::port::tally::Note;
use crate::recovery::summary::{self, Summaries};
use crate::recovery::trims::Trims;
use crate::schemes::leaftl::sorted_buffer::{SortedBuffer, WaitingPage};
use crate::schemes::leaftl::table::{LearnedTable, Prediction};

const SOURCE: &str = "Sun 2023";

const OWN_PARAMETERS: [Parameter; 3] = [
    Parameter {
        name: "error_bound",
        kind: Kind::Integer { min: 0, max: 31 },
        default: "0",
        meaning: "Pages by which a prediction may be off, γ; more makes fewer segments and more wrong predictions, and a \
                  tag has 4 B for each neighbour that may be meant. 0 learns accurate segments alone.",
        source: "Sun 2023 (0 to 16)",
    },
    Parameter {
        name: "run_pages",
        kind: Kind::Integer { min: 1, max: 1 << 16 },
        default: "256",
        meaning: "Pages that are written to one die in a row, and moved at once; fewer keep more dies busy, and end \
                  segments sooner.",
        source: "Sun 2023 (a block of 256 pages)",
    },
    Parameter {
        name: "compact_every",
        kind: Kind::Integer { min: 1, max: 1 << 40 },
        default: "1000000",
        meaning: "Pages written by the host from one compaction of the map to the next.",
        source: "Sun 2023",
    },
];

/// The learned map with its write buffer.
pub struct Leaftl {
    table: LearnedTable,
    buffer: SortedBuffer,
    trims: Trims,
    space: PageSpace,
    blocks: BlockManager,
    run_pages: usize,
    page_bytes: u64,
    compact_every: u64,
    /// Pages written since the last compaction.
    written: u64,
    /// The stream to which the pages of the block go that is being collected, or was last.
    moving_to: Stream,
}

impl Scheme for Leaftl {
    const ENTRY: Entry = Entry {
        name: "leaftl",
        family: "page",
        capabilities: Capabilities {
            fills_blocks_up: true,
            ..Capabilities::write_buffer(sorted_buffer::PARAMETERS[0].name)
        },
        memory: Memory { page_bytes: 20.0, block_bytes: 92.0, ram: &["ram"], data_bytes: 60.0, ..Memory::NONE },
        source: SOURCE,
        parameters: &joined::<11>(&[
            &OWN_PARAMETERS,
            &sorted_buffer::PARAMETERS,
            &victims::PARAMETERS,
            &[GC_THRESHOLD, summary::PARAMETER],
        ]),
        header: include_str!("mod.rs"),
    };

    fn format(layout: &Layout, values: &Values) -> Result<Self, ConfigError> {
        let buffer = SortedBuffer::from_values(Self::ENTRY.name, layout, values)?;
        let needs = SpaceNeeds {
            streams: &[Purpose::Data, Purpose::Collected],
            classes: ClassNeeds::default(),
            policy: Policy::from_values(values),
            threshold: values.integer(GC_THRESHOLD.name) as usize,
            valid: u64::from(layout.logical_pages),
            summaries: Summaries::from_values(values, layout, Self::ENTRY.name)?,
            pslc: None,
            least_step: None,
        };
        let (space, blocks) = PageSpace::format(layout, Self::ENTRY.name, needs)?;
        let (error_bound, pages_per_block) = (values.integer("error_bound") as u32, layout.geometry.pages_per_block());
        Ok(Self {
            table: LearnedTable::new(layout.logical_pages, pages_per_block, error_bound),
            buffer,
            trims: Trims::default(),
            space,
            blocks,
            run_pages: values.integer("run_pages").min(pages_per_block.into()) as usize,
            page_bytes: layout.geometry.page_size_bytes().into(),
            compact_every: values.integer("compact_every"),
            written: 0,
            moving_to: COLLECTED,
        })
    }

    fn recover<D: Device>(layout: &Layout, values: &Values, flash: &mut FlashPort<D>) -> Result<Self, RecoverError> {
        let mut scheme = Self::format(&layout.in_use(), values)?;
        let mut found = Vec::new();
        let outdated = scheme.take_over(layout, flash, |_, tag, ppn| found.push((Lpn::new(tag.logical), ppn)))?;
        scheme.continue_clock(flash.last_version());
        found.sort_unstable_by_key(|&(_, ppn)| ppn);
        scheme.table.learn_found(&found);
        scheme.table.compact();
        for lpn in outdated {
            scheme.trims.guard(lpn);
        }
        Ok(scheme)
    }
}

impl<D: Device> Mapping<D> for Leaftl {
    fn read(&mut self, flash: &mut FlashPort<D>, request: &Request, out: &mut [D::Data]) -> Result<(), FtlError> {
        flash.in_parallel(request.lpns(), |flash, (i, lpn)| {
            out[i] = self.read_page(flash, lpn)?;
            Ok(())
        })
    }

    fn write(&mut self, flash: &mut FlashPort<D>, request: &Request, data: &[D::Data]) -> Result<(), FtlError> {
        for (i, lpn) in request.lpns() {
            self.blocks.spares().admit()?;
            if self.buffer.is_full() && self.buffer.find(lpn).is_none() {
                flash.note(Note::BufferEviction);
                let begun = flash.awaited();
                self.write_down(flash)?;
                flash.go_on_from(begun);
            }
            self.buffer.accept(flash, (lpn, request.hint), data[i].clone());
        }
        self.repair_after_write(flash)
    }

    fn trim(&mut self, flash: &mut FlashPort<D>, request: &Request) -> Result<(), FtlError> {
        flash.in_parallel(request.lpns(), |flash, (_, lpn)| {
            self.buffer.forget(flash, lpn);
            if let Some(old) = self.locate(flash, lpn)? {
                self.space.release(old);
                self.trims.on_trimmed_at(lpn, old);
                self.table.forget(lpn);
            }
            Ok(())
        })
    }

    fn flush(&mut self, flash: &mut FlashPort<D>) -> Result<(), FtlError> {
        self.write_down(flash)?;
        self.repair_after_write(flash)?;
        flash.with_cause(Cause::Mapping, |flash| self.make_durable(flash))
    }

    fn relocate_block(&mut self, flash: &mut FlashPort<D>, pbn: Pbn) -> Result<RelocateOutcome, FtlError> {
        self.empty(flash, pbn)
    }

    fn with_wear_policy(&mut self, query: WearQuery<'_>) {
        self.blocks.with_wear_policy(None, query);
    }

    fn check(&self, flash: &FlashPort<D>) -> Result<(), BrokenInvariant> {
        let mut mapped = 0;
        for lpn in (0..self.table.logical_pages()).map(Lpn::new) {
            let Some(predicted) = self.table.find(lpn) else { continue };
            let pages: Vec<_> = self.near(predicted).filter(|&ppn| self.has(flash, ppn, lpn)).collect();
            BrokenInvariant::unless(pages.len() == 1, "I1", || format!("{lpn} is at {pages:?}, by {predicted:?}"))?;
            mapped += 1;
        }
        let (valid, trims) = (self.space.valid_pages(), self.trims.pages().count() as u64);
        BrokenInvariant::unless(mapped + trims == valid, "I2", || {
            format!("{mapped} LPNs are mapped and {trims} trim pages are needed, but {valid} pages are valid")
        })?;
        self.space.check(flash, &self.blocks, "I3")?;
        let fault = self.table.fault();
        BrokenInvariant::unless(fault.is_none(), "I4", || fault.unwrap_or_default())?;
        let fault = self.buffer.fault(flash.ram().pages());
        BrokenInvariant::unless(fault.is_none(), "I5", || fault.unwrap_or_default())
    }

    fn footprint(&self) -> Footprint {
        // Beside each page that waits its number, and where it lies.
        let buffer = u64::from(self.buffer.room()) * (self.page_bytes + 8);
        let footprint = Footprint::default()
            .with_varying("learned segments", self.table.segment_bytes())
            .with_varying("conflict-resolution buffers", self.table.size().buffer_bytes)
            .with_varying("group directory", self.table.directory_bytes())
            .with("write buffer", buffer, 0)
            .with("pages being moved", self.run_pages as u64 * self.page_bytes, 0);
        self.space.add_summaries(footprint)
    }

    fn spares(&self) -> Spares {
        self.blocks.spares()
    }

    fn buffered(&self) -> Buffered {
        Buffered { capacity_pages: self.buffer.room(), pages: self.buffer.pages() as u32, clean_pages: 0 }
    }

    fn exposed_pages(&self) -> u32 {
        self.space.exposed_pages()
    }

    fn gauges(&self) -> Vec<Gauge> {
        let size = self.table.size();
        vec![
            Gauge { name: "map_bytes", value: self.table.ram_bytes() as f64 },
            Gauge { name: "segments", value: size.segments as f64 },
            Gauge { name: "approximate_segments", value: size.approximate as f64 },
            Gauge { name: "levels", value: size.levels as f64 },
            Gauge { name: "buffered_pages", value: self.buffer.pages() as f64 },
        ]
    }
}

impl Leaftl {
    /// What RAM or flash holds of a logical page.
    fn read_page<D: Device>(&mut self, flash: &mut FlashPort<D>, lpn: Lpn) -> Result<D::Data, FtlError> {
        if let Some(page) = self.buffer.find(lpn) {
            flash.spend(self.buffer.delay());
            flash.note_buffer_read(lpn, None);
            return Ok(flash.ram().get(page).clone());
        }
        let Some(predicted) = self.table.find(lpn) else { return Ok(D::Data::default()) };
        let ppn = self.exact(flash, lpn, predicted);
        if ppn == predicted.page {
            flash.note(Note::RightPrediction);
        } else {
            flash.note(Note::WrongPrediction);
            self.read_tag(flash, predicted, ppn)?;
        }
        Ok(flash.read(ppn)?.data)
    }

    /// The pages that may be meant by a prediction, nearest first.
    fn near(&self, predicted: Prediction) -> impl Iterator<Item = Ppn> + use<> {
        let (page, block) = (predicted.page, self.space.page_indices(self.space.block_of(predicted.page)));
        let bound = if predicted.is_accurate { 0 } else { self.table.error_bound() as usize };
        let sides = move |distance: usize| {
            let before = page.index().checked_sub(distance).filter(|_| distance > 0);
            [Some(page.index() + distance), before].into_iter().flatten()
        };
        (0..=bound).flat_map(sides).filter(move |page| block.contains(page)).map(Ppn::at)
    }

    /// Whether a page is the valid one of a logical page, by what tags around it say.
    fn has<D: Device>(&self, flash: &FlashPort<D>, ppn: Ppn, lpn: Lpn) -> bool {
        self.space.is_valid(ppn) && self.trims.at(ppn).is_none() && self.space.logical_at(flash, ppn) == Some(lpn.get())
    }

    /// Where a logical page lies that is predicted to lie somewhere.
    fn exact<D: Device>(&self, flash: &FlashPort<D>, lpn: Lpn, predicted: Prediction) -> Ppn {
        if predicted.is_accurate {
            return predicted.page;
        }
        let found = self.near(predicted).find(|&ppn| self.has(flash, ppn, lpn));
        found.unwrap_or_else(|| unreachable!("I1: {lpn} is mapped, so it lies near {predicted:?}"))
    }

    /// Reads the page that was predicted, whose tag says that a logical page lies at `ppn`; if it
    /// cannot be read, the next one whose tag does.
    fn read_tag<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        predicted: Prediction,
        ppn: Ppn,
    ) -> Result<(), FtlError> {
        let bound = self.table.error_bound();
        let names = |near: &Ppn| near.get().abs_diff(ppn.get()) <= bound;
        let is_written = |near: &Ppn| *near == predicted.page || flash.chip().peek(*near).is_some();
        let near: Vec<_> = self.near(predicted).filter(names).filter(is_written).collect();
        flash.with_cause(Cause::Mapping, |flash| {
            for near in near {
                match flash.read(near) {
                    Err(error) if error.is_uncorrectable() => {}
                    result => return result.map(|_| ()),
                }
            }
            // Tags of the whole block tell it then, and this is rare.
            Ok(())
        })
    }

    /// Where the page lies that flash has of a logical page, if it has one. If that is not known
    /// for sure, a tag is read.
    fn locate<D: Device>(&mut self, flash: &mut FlashPort<D>, lpn: Lpn) -> Result<Option<Ppn>, FtlError> {
        let Some(predicted) = self.table.find(lpn) else { return Ok(None) };
        let ppn = self.exact(flash, lpn, predicted);
        if !predicted.is_accurate {
            self.read_tag(flash, predicted, ppn)?;
        }
        Ok(Some(ppn))
    }

    /// Writes all that waits, in runs that all begin at the same moment. What could not be written
    /// stays.
    fn write_down<D: Device>(&mut self, flash: &mut FlashPort<D>) -> Result<(), FtlError> {
        let pages = self.buffer.in_order();
        let result = flash.in_parallel(pages.chunks(self.run_pages), |flash, mut run| {
            while !run.is_empty() {
                let die = self.next_die(flash, HOST)?;
                let room = match self.space.open_pages(die, HOST) {
                    0 => self.space.content_pages(),
                    pages => pages,
                };
                let written = self.write_run(flash, die, &run[..run.len().min(room as usize)])?;
                run = &run[written..];
            }
            Ok(())
        });
        if self.written >= self.compact_every {
            self.written = 0;
            self.table.compact();
        }
        result
    }

    /// Programs pages in a row on a die that has room for them in one block, up to the first that
    /// fails, and learns where they are; returns how many they are.
    fn write_run<D: Device>(
        &mut self,
        flash: &mut FlashPort<D>,
        die: u32,
        run: &[WaitingPage],
    ) -> Result<usize, FtlError> {
        let mut replaced = Vec::with_capacity(run.len());
        // Nobody waits for tags: nothing is found by them before the run is programmed.
        flash.in_background(|flash| {
            flash.in_parallel(run, |flash, page| {
                replaced.push(self.locate(flash, page.lpn)?);
                Ok::<_, FtlError>(())
            })
        })?;
        let (mut learned, mut has_failed) = (Vec::with_capacity(run.len()), false);
        let programmed = flash.in_parallel(run, |flash, page| {
            if has_failed {
                return Ok(());
            }
            let label = Label::new(page.lpn.get(), Role::Data);
            let content = Content::Hinted(flash.ram().get(page.page).clone(), self.blocks.stored_hint(page.hint));
            flash.spend(self.buffer.delay());
            match self.space.program(flash, &mut self.blocks, die, (HOST, page.hint), label, content)? {
                Some(ppn) => {
                    self.space.on_host_page();
                    learned.push((page.lpn, ppn));
                    self.buffer.on_written(flash, page.lpn);
                }
                None => has_failed = true,
            }
            Ok(())
        });
        for (&(lpn, _), replaced) in learned.iter().zip(replaced) {
            match replaced {
                Some(old) => self.space.release(old),
                None => self.trims.on_overwritten(lpn).into_iter().for_each(|page| self.space.release(page)),
            }
        }
        self.table.learn(&learned);
        self.written += learned.len() as u64;
        programmed.map(|()| learned.len())
    }
}
