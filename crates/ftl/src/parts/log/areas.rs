//! A sequential block, and shared log blocks that leave in the order in which they came.
//!
//! The sequential block takes writes at offset 0 of a logical block, and those that continue it exactly; the next stream merges it. All
//! else goes to shared blocks. Which of them takes a page, and which pages of a leaving one are merged, is [`Sharing`].

use std::collections::VecDeque;

use flash::{Lbn, Lpn};

use crate::parts::log::policy::{LogNeeds, LogPage, LogPolicy, Place, log_blocks};
use crate::parts::log::space::{LogSpace, Slot};
use crate::{ConfigError, Gauge, Kind, Layout, Parameter, Values};

/// Whether there is a sequential block.
pub const SEQUENTIAL: Parameter = Parameter {
    name: "sequential",
    kind: Kind::Switch,
    default: "true",
    meaning: "Whether one of the log blocks takes sequential streams; without it offset-0 writes go to the random log.",
    source: "Wang 2013 3.2.2",
};

const STREAM: u32 = 0;
const SHARED: u32 = 1;

/// How shared log blocks are shared.
pub trait Sharing {
    /// A shared block with room that takes this page; none if one has to be opened. `youngest` was opened last.
    #[inline]
    fn place(&mut self, log: &LogSpace, youngest: Option<Slot>, _page: LogPage) -> Option<Slot> {
        youngest.filter(|&slot| log.has_room(slot))
    }

    /// Whether a newest page of a leaving block is moved on instead of being merged.
    fn moves(&mut self, _lpn: Lpn) -> bool {
        false
    }

    /// A shared block was opened.
    fn opened(&mut self, _log: &LogSpace, _slot: Slot) {}

    /// A page was appended to some block.
    fn appended(&mut self, _log: &LogSpace, _slot: Slot, _page: LogPage) {}

    /// A shared block left.
    fn left(&mut self, _slot: Slot) {}

    /// Numbers of its own.
    fn gauges(&self) -> Vec<Gauge> {
        Vec::new()
    }
}

/// All data blocks share each block: the youngest takes every page.
pub struct InOrder;

impl Sharing for InOrder {}

/// The policy of a log with these two areas.
pub struct LogAreas<S> {
    /// The sequential block with the logical block that it serves, once it holds a page.
    stream: Option<(Slot, Option<Lbn>)>,
    takes_streams: bool,
    /// Shared blocks, the first to leave first.
    queue: VecDeque<Slot>,
    limit: usize,
    sharing: S,
}

impl<S: Sharing> LogAreas<S> {
    /// What these areas need of the device.
    pub fn needs(scheme: &str, layout: &Layout, values: &Values) -> Result<LogNeeds, ConfigError> {
        let log_blocks = log_blocks(scheme, layout, values, 1 + u32::from(values.switch("sequential")))?;
        Ok(LogNeeds { log_blocks, ..LogNeeds::default() })
    }

    /// The areas of a log of so many blocks.
    pub fn new(values: &Values, log_blocks: u32, sharing: S) -> Self {
        let takes_streams = values.switch("sequential");
        let limit = (log_blocks - u32::from(takes_streams)) as usize;
        Self { stream: None, takes_streams, queue: VecDeque::new(), limit, sharing }
    }

    /// Where a page goes, if it is for the sequential block.
    #[inline]
    fn place_in_stream(&self, log: &LogSpace, page: LogPage) -> Option<Place> {
        let block = self.stream.and_then(|(slot, _)| log.block(slot).map(|block| (slot, block)));
        match block {
            Some((slot, block)) if block.filled == page.offset => {
                (page.offset == 0 || block.in_place == Some(page.lbn)).then_some(Place::In(slot))
            }
            _ => (self.takes_streams && page.offset == 0).then_some(Place::New(STREAM)),
        }
    }

    fn is_stream(&self, slot: Slot) -> bool {
        self.stream.is_some_and(|(stream, _)| stream == slot)
    }
}

impl<S: Sharing> LogPolicy for LogAreas<S> {
    fn place(&mut self, log: &mut LogSpace, page: LogPage) -> Place {
        let stream = if page.moved { None } else { self.place_in_stream(log, page) };
        let youngest = self.queue.back().copied();
        stream.unwrap_or_else(|| self.sharing.place(log, youngest, page).map_or(Place::New(SHARED), Place::In))
    }

    fn victim(&mut self, _log: &mut LogSpace, group: u32) -> Option<Slot> {
        if group == STREAM {
            return self.stream.map(|(slot, _)| slot);
        }
        self.queue.front().copied().filter(|_| self.queue.len() >= self.limit)
    }

    fn opened(&mut self, log: &LogSpace, slot: Slot) {
        if log.block(slot).is_some_and(|block| block.group == STREAM) {
            self.stream = Some((slot, None));
        } else {
            self.queue.push_back(slot);
            self.sharing.opened(log, slot);
        }
    }

    fn appended(&mut self, log: &LogSpace, slot: Slot, page: LogPage) {
        if self.is_stream(slot) {
            self.stream = Some((slot, Some(page.lbn)));
        }
        self.sharing.appended(log, slot, page);
    }

    fn left(&mut self, _log: &LogSpace, slot: Slot) {
        if self.is_stream(slot) {
            self.stream = None;
        } else {
            self.queue.retain(|&other| other != slot);
            self.sharing.left(slot);
        }
    }

    fn dedicated(&self, lbn: Lbn, except: Option<Slot>) -> Option<Slot> {
        let (slot, serves) = self.stream?;
        (serves == Some(lbn) && except != Some(slot)).then_some(slot)
    }

    fn moves(&mut self, lpn: Lpn) -> bool {
        self.sharing.moves(lpn)
    }

    fn recovered_group(&self, _lbn: Option<Lbn>) -> u32 {
        SHARED
    }

    fn place_of_trims(&self, log: &LogSpace) -> Option<Place> {
        let youngest = self.queue.back().copied().filter(|&slot| log.has_room(slot));
        Some(youngest.map_or(Place::New(SHARED), Place::In))
    }

    fn gauges(&self, _log: &LogSpace) -> Vec<Gauge> {
        self.sharing.gauges()
    }
}
