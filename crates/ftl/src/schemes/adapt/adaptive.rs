//! What adapt decides about shared log blocks: which leaves, which of its pages move on, and how
//! the log is divided.

use std::collections::VecDeque;

use flash::Lpn;

use super::history::History;
use super::merge_decisions::MergeDecisions;
use super::partition::Partition;
use crate::api::report::Gauge;
use crate::api::request::Request;
use crate::engines::log_buffer::areas::SecondChanceBits;
use crate::engines::log_buffer::areas::{Area, LogSharing};
use crate::engines::log_buffer::policy::{LogBlockMerge, LogPage};
use crate::engines::log_buffer::sequential::SequentialArea;
use crate::engines::log_buffer::space::{LogCounting, LogSpace, Slot};

/// Which newest pages of a leaving block move on.
pub enum Transfer {
    /// Those that a recent request wrote.
    Predicted(History),
    /// Those that have not had their chance, as in faster.
    SecondChance,
    /// None, as in fast.
    Never,
}

/// The three parts of adapt.
pub struct Adaptive {
    /// None if the areas stay as they are.
    pub partition: Option<Partition>,
    /// Predictive transfer, or what is in its place.
    pub transfer: Transfer,
    /// τ in pages; none if no block is moved whole.
    pub tau_pages: Option<u32>,
    pages_per_block: u32,
    /// The request being served, which has yet to be recorded.
    served: Option<Request>,
    /// Pages moved since the host wrote one to the log.
    moved_in_a_row: u32,
    /// Pages of the log that were moved and not written since.
    chances: SecondChanceBits,
    /// Of these, how many the host wrote while they were in the log.
    hits: u64,
    /// And how many it did not, before their block left or they were merged.
    misses: u64,
    merges: MergeDecisions,
    aggregated_moves: u64,
}

impl Adaptive {
    /// For a device with this many pages in all and in each block.
    pub fn new(partition: Option<Partition>, transfer: Transfer, tau_pages: Option<u32>, pages: [u32; 2]) -> Self {
        let [logical_pages, pages_per_block] = pages;
        Self {
            partition,
            transfer,
            tau_pages,
            pages_per_block,
            served: None,
            moved_in_a_row: 0,
            chances: SecondChanceBits::new(logical_pages),
            hits: 0,
            misses: 0,
            merges: MergeDecisions::none(logical_pages),
            aggregated_moves: 0,
        }
    }
}

impl LogSharing for Adaptive {
    const TRACKS: LogCounting = LogCounting::NewestPages;

    #[inline]
    fn request(&mut self, request: &Request, sequential: &mut SequentialArea) {
        // A request that were recorded at once would have its own pages moved, only to replace the
        // copies.
        if let Transfer::Predicted(history) = &mut self.transfer
            && let Some(served) = self.served.replace(*request)
        {
            history.on_write(&served);
        }
        if let Some(partition) = &mut self.partition {
            partition.request(sequential);
        }
    }

    /// Algorithm 3: the second block in place of the first, if the first has many newest pages and
    /// the second has not. The first is then the last.
    fn victim(&mut self, log: &LogSpace, queue: &mut VecDeque<Slot>) -> Option<Slot> {
        let (first, second) = (queue.front().copied()?, queue.get(1).copied());
        let is_dear = |slot| self.tau_pages.is_some_and(|tau| log.newest_pages(slot) >= tau);
        // A page that says what was trimmed must not leave before an older block.
        let cheaper = second.filter(|&second| is_dear(first) && !is_dear(second) && !log.holds_trims());
        if cheaper.is_some() {
            queue.rotate_left(1);
            self.aggregated_moves += 1;
        }
        cheaper.or(Some(first))
    }

    fn moves(&mut self, area: Area, lpn: Lpn) -> bool {
        let had = self.chances.renew(lpn);
        self.misses += u64::from(had);
        let moves = match &self.transfer {
            // The table may cover more than the log has pages, and then moves alone would never
            // make room.
            Transfer::Predicted(history) => {
                area == Area::Shared && self.moved_in_a_row < self.pages_per_block && history.covers(lpn)
            }
            Transfer::SecondChance => !had,
            Transfer::Never => false,
        };
        if !moves && area == Area::Shared {
            self.merges.on_merged(lpn);
        }
        moves
    }

    fn goes_page_by_page(&self) -> bool {
        matches!(self.transfer, Transfer::Predicted(_))
    }

    #[inline]
    fn on_page(&mut self, log: &LogSpace, page: LogPage) {
        // A copy that was trimmed, or replaced in place, is in the log no more.
        if !page.moved && log.newest(page.lpn).is_none() {
            self.chances.renew(page.lpn);
        }
    }

    fn on_settled(&mut self, lpn: Lpn) {
        self.misses += u64::from(self.chances.renew(lpn));
    }

    fn on_allocated(&mut self) {
        if let Some(partition) = &mut self.partition {
            partition.on_allocated();
        }
    }

    #[inline]
    fn on_appended(&mut self, log: &LogSpace, _slot: Slot, page: LogPage) {
        self.merges.on_appended(page.lpn, !page.moved, log.len() as u32 * self.pages_per_block);
        if page.moved {
            self.moved_in_a_row += 1;
            self.chances.on_moved(page.lpn);
        } else {
            self.moved_in_a_row = 0;
            self.hits += u64::from(self.chances.renew(page.lpn));
        }
    }

    fn on_merged(&mut self, area: Area, how: LogBlockMerge) {
        if let Some(partition) = &mut self.partition {
            partition.on_merged(area, how);
        }
    }

    fn gauges(&self, sequential: &SequentialArea, shared: usize) -> Vec<Gauge> {
        let gauge = |name, value| Gauge { name, value };
        let mut gauges = vec![
            gauge("sequential_log_blocks", f64::from(sequential.len())),
            gauge("sequential_log_share", f64::from(sequential.limit())),
            gauge("random_log_blocks", shared as f64),
            gauge("sequential_threshold_pages", f64::from(sequential.threshold_pages())),
            gauge("prediction_hits", self.hits as f64),
            gauge("prediction_misses", self.misses as f64),
            gauge("merge_decisions", self.merges.decisions() as f64),
            gauge("merged_and_rewritten", self.merges.rewritten() as f64),
            gauge("aggregated_moves", self.aggregated_moves as f64),
        ];
        if let Some(Partition { delta, phi, .. }) = &self.partition {
            gauges.push(gauge("delta", delta.value));
            gauges.push(gauge("delta_threshold", delta.threshold));
            gauges.push(gauge("phi", phi.value));
            gauges.push(gauge("phi_threshold", phi.threshold));
        }
        gauges
    }
}
