//! # bdb: demand-paged mapping behind a buffer that tells sequential from random pages
//!
//! ## Idea
//! Pages wait in registers until enough have come to be written well. A page whose neighbour comes
//! next is sequential, and a full buffer of these goes page after page into one block, which later
//! becomes invalid as a whole. Any other is random, and as many of these as there are valid
//! channels go to all of these channels at once.
//!
//! ```text
//!            next − previous = 1 ┌▶ [7 sequential pages] ─▶ one block
//!   page ─▶ previous ────────────┤
//!                    otherwise   └▶ [8 random pages] ─▶ channel 0, 1, … of those that are valid
//! ```
//!
//! ## Source
//! BDB 3-6, tab. 1; on top of dftl.
//!
//! ## Departures
//! - B looks the old page up when a new one comes, to invalidate it. Here that is done when the new
//!   one is programmed: until then the old one is what a power cut leaves.
//! - BDB does not say when a register is free again: here when the pages of its buffer have been
//!   written. Until then the next page for that buffer waits.
//! - BDB does not say what becomes of a page that comes again while it waits: the older version is
//!   dropped; nor when a buffer is written down besides when it is full: a flush does it, idle time
//!   does not.
//! - BDB does not say what "the most worn blocks" are (`schemes/bdb/channel_status.rs`), nor what
//!   happens when no channel is valid: then collections are overlooked. When a channel has no place
//!   left, the page goes to another.
//! - In a random write B takes any block with an empty page. Here a channel has one open block a
//!   die, as in dftl.
//! - The delay of the bus (BDB tab. 1) is the device's transfer time; those of RAM are 0 unless
//!   asked for, as dftl's are.
//!
//! ## State
//! RAM: CMT and GTD as in dftl; the buffers and two registers, a page and 4 B for its LPN each.
//! Flash: as in dftl; sequential pages have blocks of their own.
//!
//! ## Read
//! 1. From the buffers if the page waits there: one register access.
//! 2. Otherwise as in dftl.
//!
//! ## Write
//! 1. The page waiting in Pre-Register is `sort_previous`ed into a buffer, by the address of the
//!    one that comes.
//! 2. `write_down`: a buffer that is full, of `sequential_buffer` pages or of one for each valid
//!    channel, is written, and the request waits for it.
//! 3. `accept`: only then the page that comes replaces any version that waits. So one that is
//!    refused changes nothing.
//!
//! A flush writes both buffers down, then trims as dftl does. A trim takes the page out of the
//! buffer and out of the map.
//!
//! ## Reclaim
//! As in dftl.
//!
//! ## Recover
//! As in dftl; the buffers are gone. What waited there is as old as its last version on flash.
//!
//! ## Invariants
//! - I1: an LPN that is mapped (by its cached entry, else by its translation page) points to a
//!   valid page that carries it.
//! - I2: there are as many valid pages as mapped LPNs, written translation pages and needed trim
//!   pages together.
//! - I3: free blocks are erased and hold nothing valid; summaries are true.
//! - I4: each written translation page lies where the GTD says; unwritten ones map nothing, unless
//!   the device is read-only and so they cannot be written.
//! - I5: an entry that is newer than its translation page is in RAM.
//! - I6: each LPN waits at most once, no buffer holds more than it has room for, and RAM holds
//!   nothing else.
//!
//! ## Costs
//! A random page costs an eighth of a program's time, with eight channels; a sequential one all of
//! it, since a block lies on one die. Up to 16 acknowledged pages are lost in a power cut if no
//! flush came after them. On a device that has become read-only what waits can be read until the
//! power goes, and a flush says that it cannot be made to last.

mod channel_status;
pub(crate) mod write_buffer;

use flash::{Lpn, Pbn};
use host::Hint;

use crate::api::entry::{Capabilities, Entry, Memory};
use crate::api::layout::Layout;
use crate::api::mapping::{Mapping, Scheme, WearQuery};
use crate::api::parameter::{AccessDelays, Values, joined};
use crate::api::report::{Buffered, Footprint, Gauge, Spares};
use crate::api::request::Request;
use crate::api::wear::{Purpose, RelocateOutcome};
use crate::engines::demand::machine::{self, DemandPaged, OWN};
use crate::engines::demand::mapping_cache::{self, MappingCache};
use crate::engines::demand::policy::{DemandScheme, RAM_DELAYS, Ram};
use crate::engines::page_map::mapped::{HOST, PageMapped};
use crate::engines::page_map::placement::Placement;
use crate::engines::page_map::space::Stream;
use crate::port::device::Device;
use crate::port::error::{BrokenInvariant, ConfigError, FtlError, RecoverError};
use crate::port::flash_port::{FlashPort, PendingEnd};
use crate::port::tally::Note;
use crate::prefetch::PrefetchStage;
use crate::schemes::bdb::channel_status::list_valid;
use crate::schemes::bdb::write_buffer::{Locality, Waiting, WriteBuffer};

const SEQUENTIAL: Stream = OWN;

/// The demand-paged map below the buffer.
struct Map;

impl DemandScheme for Map {
    const ENTRY: Entry = Entry {
        name: "bdb",
        family: "demand-paged",
        capabilities: Capabilities {
            fills_blocks_up: true,
            ..Capabilities::write_buffer(write_buffer::PARAMETERS[0].name)
        },
        memory: Memory { page_bytes: 15.0, ..Memory::PAGE_MAP },
        source: "BDB 3-6, tab. 1",
        parameters: &joined::<19>(&[
            &write_buffer::PARAMETERS,
            &channel_status::PARAMETERS,
            &RAM_DELAYS,
            &mapping_cache::PARAMETERS,
            &machine::PARAMETERS,
        ]),
        header: include_str!("mod.rs"),
    };

    const STREAMS: &'static [Purpose] = &[Purpose::Data, Purpose::Collected, Purpose::Translation, Purpose::Data];

    type Cache = MappingCache;

    type ForeignPages = ();

    fn placement(_values: &Values) -> Placement {
        Placement::single(&[SEQUENTIAL])
    }

    fn delays(values: &Values) -> AccessDelays {
        AccessDelays::from_values(values, RAM_DELAYS.map(|parameter| parameter.name))
    }

    fn cache(layout: &Layout, values: &Values) -> Result<(MappingCache, Ram), ConfigError> {
        MappingCache::from_values(layout, values)
    }
}

/// The buffer-detector scheme.
pub struct Bdb {
    paged: DemandPaged<Map>,
    buffer: WriteBuffer,
    buffer_bytes: u64,
    wear_gap: u32,
    /// When each buffer was written down last, or will have been.
    written: [PendingEnd; 2],
    /// The channel that took the last random page.
    channel: u32,
    valid_channels: Vec<u32>,
}

impl Bdb {
    fn around(paged: DemandPaged<Map>, layout: &Layout, values: &Values) -> Self {
        let channels = layout.geometry.channels();
        let random_room = values.integer("max_valid_channels").min(channels.into());
        let buffer = WriteBuffer::from_values(values, random_room as usize);
        let register_bytes = u64::from(layout.geometry.page_size_bytes()) + 4;
        Self {
            paged,
            buffer_bytes: (buffer.capacity_pages() as u64 + 1) * register_bytes,
            buffer,
            wear_gap: values.integer("wear_gap") as u32,
            written: [PendingEnd::NOTHING; 2],
            channel: channels - 1,
            valid_channels: Vec::new(),
        }
    }

    /// Whether a buffer is to be written down: it has no room, or a random page for each valid
    /// channel.
    fn is_full<D: Device>(&mut self, flash: &FlashPort<D>, locality: Locality) -> bool {
        let waiting = self.buffer.of(locality).len();
        self.list_valid_channels(flash);
        waiting >= self.buffer.room(locality) || locality == Locality::Random && waiting >= self.valid_channels.len()
    }

    /// The channels that a random write may go to now.
    fn list_valid_channels<D: Device>(&mut self, flash: &FlashPort<D>) {
        let most_erases = self.paged.blocks().most_erases();
        list_valid(most_erases, |channel| flash.is_collecting(channel), self.wear_gap, &mut self.valid_channels);
    }

    /// A page that comes replaces the version that waits.
    fn accept<D: Device>(&mut self, flash: &mut FlashPort<D>, lpn: Lpn, data: D::Data) {
        flash.note_buffer_write(lpn, self.buffer.find(lpn).is_some());
        self.forget(flash, lpn);
        self.buffer.hold(Waiting { lpn, page: flash.ram_mut().put(data) });
        flash.spend(self.buffer.delays().write);
    }

    fn forget<D: Device>(&mut self, flash: &mut FlashPort<D>, lpn: Lpn) {
        if let Some(page) = self.buffer.remove(lpn) {
            flash.ram_mut().take(page);
            flash.note(Note::AbsorbedPage);
        }
    }

    /// Writes everything in a buffer to flash. What could not be written stays.
    fn write_down<D: Device>(&mut self, flash: &mut FlashPort<D>, locality: Locality) -> Result<(), FtlError> {
        if self.buffer.of(locality).is_empty() {
            return Ok(());
        }
        self.list_valid_channels(flash);
        flash.in_parallel(self.buffer.of(locality).to_vec(), |flash, Waiting { lpn, page }| {
            flash.spend(self.buffer.delays().read);
            let data = flash.ram().get(page).clone();
            match locality {
                Locality::Sequential => {
                    self.paged.write_page(flash, SEQUENTIAL, (lpn, Hint::NONE), &data, |paged, flash| {
                        paged.next_die(flash, SEQUENTIAL)
                    })?;
                }
                Locality::Random => self.write_random(flash, lpn, &data)?,
            }
            flash.note(if locality == Locality::Random { Note::RandomPage } else { Note::SequentialPage });
            self.buffer.remove(lpn);
            flash.ram_mut().take(page);
            Ok(())
        })?;
        self.written[locality as usize] = flash.awaited();
        Ok(())
    }

    /// To the next valid channel.
    fn write_random<D: Device>(&mut self, flash: &mut FlashPort<D>, lpn: Lpn, data: &D::Data) -> Result<(), FtlError> {
        let next = self.valid_channels.iter().copied().find(|&channel| channel > self.channel);
        let channel = next.or(self.valid_channels.first().copied()).unwrap_or(self.channel);
        self.channel = channel;
        self.paged.write_page(flash, HOST, (lpn, Hint::NONE), data, |paged, flash| {
            match paged.next_die_on(flash, HOST, channel)? {
                Some(die) => Ok(die),
                None => paged.next_die(flash, HOST),
            }
        })
    }
}

impl Scheme for Bdb {
    const ENTRY: Entry = Map::ENTRY;

    fn format(layout: &Layout, values: &Values) -> Result<Self, ConfigError> {
        Ok(Self::around(DemandPaged::format(layout, values)?, layout, values))
    }

    fn recover<D: Device>(layout: &Layout, values: &Values, flash: &mut FlashPort<D>) -> Result<Self, RecoverError> {
        Ok(Self::around(DemandPaged::recover(layout, values, flash)?, layout, values))
    }
}

impl<D: Device> Mapping<D> for Bdb {
    fn decides_by_time(&self) -> bool {
        true
    }

    fn read(&mut self, flash: &mut FlashPort<D>, request: &Request, out: &mut [D::Data]) -> Result<(), FtlError> {
        flash.in_parallel(request.lpns(), |flash, (i, lpn)| {
            let Some(page) = self.buffer.find(lpn) else {
                out[i] = self.paged.read_page(flash, lpn)?;
                return Ok(());
            };
            flash.spend(self.buffer.delays().read);
            flash.note_buffer_read(lpn, None);
            out[i] = flash.ram().get(page).clone();
            Ok(())
        })
    }

    fn write(&mut self, flash: &mut FlashPort<D>, request: &Request, data: &[D::Data]) -> Result<(), FtlError> {
        for (i, lpn) in request.lpns() {
            self.paged.blocks().spares().admit()?;
            if let Some(locality) = self.buffer.sort_previous(lpn) {
                flash.wait_for(self.written[locality as usize]);
                flash.spend(self.buffer.delays().read + self.buffer.delays().write);
                if self.is_full(flash, locality) {
                    self.write_down(flash, locality)?;
                }
            }
            self.accept(flash, lpn, data[i].clone());
        }
        self.paged.repair_after_write(flash)
    }

    fn trim(&mut self, flash: &mut FlashPort<D>, request: &Request) -> Result<(), FtlError> {
        flash.in_parallel(request.lpns(), |flash, (_, lpn)| {
            self.paged.trim_page(flash, lpn)?;
            self.forget(flash, lpn);
            Ok(())
        })
    }

    fn flush(&mut self, flash: &mut FlashPort<D>) -> Result<(), FtlError> {
        self.buffer.end_run();
        flash.in_parallel([Locality::Sequential, Locality::Random], |flash, locality| {
            self.write_down(flash, locality)
        })?;
        self.paged.repair_after_write(flash)?;
        self.paged.flush(flash)
    }

    fn prefetch(&self, flash: &FlashPort<D>, request: &Request, stage: PrefetchStage) {
        self.paged.prefetch(flash, request, stage);
    }

    fn relocate_block(&mut self, flash: &mut FlashPort<D>, pbn: Pbn) -> Result<RelocateOutcome, FtlError> {
        self.paged.relocate_block(flash, pbn)
    }

    fn with_wear_policy(&mut self, query: WearQuery<'_>) {
        self.paged.blocks().with_wear_policy(None, query);
    }

    fn check(&self, flash: &FlashPort<D>) -> Result<(), BrokenInvariant> {
        self.paged.check(flash)?;
        let (fault, in_ram) = (self.buffer.fault(), flash.ram().pages());
        BrokenInvariant::unless(fault.is_none() && in_ram == self.buffer.pages(), "I6", || {
            format!("RAM holds {in_ram} pages, and the buffer {}: {fault:?}", self.buffer.pages())
        })
    }

    fn footprint(&self) -> Footprint {
        Mapping::<D>::footprint(&self.paged).with("write buffer", self.buffer_bytes, 0)
    }

    fn spares(&self) -> Spares {
        Mapping::<D>::spares(&self.paged)
    }

    fn exposed_pages(&self) -> u32 {
        Mapping::<D>::exposed_pages(&self.paged)
    }

    fn buffered(&self) -> Buffered {
        Buffered {
            capacity_pages: self.buffer.capacity_pages() as u32,
            pages: self.buffer.pages() as u32,
            clean_pages: 0,
        }
    }

    fn gauges(&self) -> Vec<Gauge> {
        vec![Gauge { name: "buffered_pages", value: self.buffer.pages() as f64 }]
    }
}
