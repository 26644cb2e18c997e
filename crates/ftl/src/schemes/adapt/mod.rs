//! # adapt: a log buffer that divides itself by its workload
//!
//! ## Idea
//! As in faster, log blocks are shared by all data blocks and leave in the order they came; beside
//! them is a sequential area of several blocks, one for each logical block, for requests above a
//! threshold. How many blocks it has is decided while running: after each interval one block
//! changes sides, by how many sequential blocks became data blocks and how many pages shared blocks
//! had merged. A newest page of a leaving block moves to the end of the log only if a recent
//! request wrote it, and a block that is nearly all newest pages changes places with the end as a
//! whole.
//!
//! ```text
//!   sequential   [0'][1'][ ][ ]   [8'][9'][10'][ ]           one block for each logical block
//!                  ▲ │  after 4000 requests: δ > Δ ▲, else φ ≥ Φ ▼
//!   random log   [6'][2'][9'][6"] ─▶ [1"][5'][ ][ ]
//!                 │    └ not in the table: full merge of its logical block
//!                 └ a recent request wrote it (HAT): moves to the end
//! ```
//!
//! ## Source
//! Wang 2013 5.2-5.5: eqs. 5.1-5.2, algorithms 2 and 3, figs. 5.1-5.2. `partition=fast` is ADAPT-sw
//! of fig. 5.7; `threshold_high=4KiB` is ADAPT-2 and `threshold_low=64KiB` ADAPT-32 of fig. 5.8.
//!
//! ## Departures
//! - A first write goes in place into the data block when the program order still allows it (Wang
//!   2013 3.2.2).
//! - ERL, which Wang 2013 5.4 counts among ADAPT's modules, is described nowhere in it. It is left
//!   out.
//! - Wang 2013 5.2 does not say what becomes of a request above the threshold that begins inside a
//!   logical block. Sequential blocks are block-mapped (5.2), so here the area takes what stands in
//!   its place there: a first page of a logical block, and what continues its block. The rest goes
//!   to the random log. `admits = any_page` takes all, as last does. A request is above the
//!   threshold if it has more pages than that (5.1: one of 4 KB is small).
//! - Which block of a full sequential area leaves is not said: the one that has not been written
//!   for the longest time, as in last.
//! - δ and φ of an interval in which nothing is divided by are 0; δ is at most 1. A full merge of φ
//!   is that of a shared block that leaves, and its merged pages are the newest ones in it, since 0
//!   is among the values that φ may have.
//! - Where δ asks for a block more than the sequential area may have, nothing changes (algorithm 2
//!   does not look at φ then).
//! - The size at the beginning is not said: one block, as in fast.
//! - A page is in the table if a recorded request wrote it (Wang 2013 5.3). Its newest copy is then
//!   as young as that request. So a table that remembers fewer requests than the log goes round in
//!   finds no page of the block that leaves: `docs/log-buffers.md` has the counts, for this and for
//!   `hat_covers = logical_blocks`, by which a request speaks for all pages of its logical blocks.
//! - Its order on a coming write request (Wang 2013 5.3) is not said. A request is recorded when it
//!   has been served: recorded at once, it would have the older copies of its own pages moved,
//!   which it replaces then.
//! - When the random area loses a block, its first block leaves, whatever τ says (Wang 2013 5.2
//!   names the head; algorithm 3 is asked where the area is full).
//! - Requests that prepare the device count for intervals like others.
//! - Pages move in a row, without one being written by the host, only as many as a block has:
//!   the table can cover more pages than the log holds, and then moving would never make room.
//! - No block changes places with the end while a page of the log says what was trimmed: such a
//!   page must not leave before older blocks.
//! - τ is a share of a block's pages, and reached when a block has so many (algorithm 3; Wang 2013
//!   5.4 says "exceeds").
//!
//! ## State
//! RAM: block map, 4 B × logical blocks; log map, 4 B × log pages; `hat` bytes of records of 6 B;
//! newest pages, 1 B × log blocks (2 B from 256 pages per block on). Flash: as fast.
//!
//! ## Read
//! 1. The log page that holds the newest copy, else the page in the data block if it is current.
//!
//! ## Write
//! 1. `History::on_write`: the request is recorded. `Partition::request`: at the end of an interval
//!    the areas get other shares, and a block leaves the one that lost.
//! 2. In place if possible;
//! 3. a request above the threshold: to the log block of its logical block in the sequential area
//!    (`SequentialArea::place`);
//! 4. else to the end of the random log.
//!
//! ## Reclaim
//! 1. `Adaptive::victim`: when the random area is full, its first block leaves; if that has τ
//!    newest pages and the second has not, the second leaves and the first goes to the end.
//! 2. `Adaptive::moves`, page by page: a newest page that a recent request wrote is copied to the
//!    end; for another the logical block is merged, with its later pages.
//! 3. Sequential area: the least recently written block, or a full one of the same logical block,
//!    is switched, completed or fully merged.
//! 4. `SequentialArea::cheapest`: an area that lost its share gives up a block that can be
//!    switched, else one that can be completed; the random area its first.
//!
//! ## Recover
//! 1. As fast. Sequential blocks in place claim their logical block; all other log blocks are
//!    shared ones, in the order in which they were opened.
//! 2. The table is empty, and the areas have their first sizes, since tags tell what blocks hold
//!    and not what was measured. To have n sequential blocks again takes n − 1 intervals at least.
//!
//! ## Invariants
//! - I1: a current data page carries its LPN in its place, and then no log page is the newest copy
//!   of it.
//! - I2: no block is mapped twice, or mapped and free; free blocks are erased.
//! - I3: a log page that is the newest copy carries its LPN.
//! - I4: every good block is a data block, a log block or free, until the device is read-only.
//!
//! ## Costs
//! A newest page of a leaving block costs one copy if it is in the table and no page before it had
//! its logical block merged, which takes it along; else b copies and an erase for its logical
//! block. A sequential block costs one erase, and as many copies as it lacks pages, if it is in
//! place; otherwise b copies and two erases.

mod adaptive;
mod history;
mod merge_decisions;
mod partition;

use self::adaptive::{Adaptive, Transfer};
use self::history::History;
use self::partition::{Partition, PartitionRules};
use crate::api::entry::{Capabilities, Entry, Memory};
use crate::api::layout::Layout;
use crate::api::parameter::{Kind, Parameter, Values};
use crate::engines::log_buffer::areas::LogAreas;
use crate::engines::log_buffer::policy::{LOG_BLOCKS, LOG_SPACE, LogNeeds, LogScheme, log_blocks};
use crate::engines::log_buffer::sequential::{AdmissionRule, SequentialArea};
use crate::port::error::ConfigError;

/// A log buffer with aggregated data movement, predictive transfer and online partitioning.
pub struct Adapt;

const fn choice(name: &'static str, of: &'static [&'static str], meaning: &'static str) -> Parameter {
    Parameter { name, kind: Kind::Choice { of }, default: of[0], meaning, source: "Wang 2013 5.2, 5.3" }
}

const fn integer(name: &'static str, default: &'static str, meaning: &'static str, source: &'static str) -> Parameter {
    Parameter { name, kind: Kind::Integer { min: 0, max: u32::MAX as u64 }, default, meaning, source }
}

const fn bytes(name: &'static str, max: u64, default: &'static str, meaning: &'static str) -> Parameter {
    Parameter {
        name,
        kind: Kind::Bytes { min: 0, max, scales: false },
        default,
        meaning,
        source: "Wang 2013 5.2, 5.6.1",
    }
}

const fn ratio(name: &'static str, default: &'static str, meaning: &'static str) -> Parameter {
    Parameter { name, kind: Kind::Ratio { min: 0.0, max: 1.0 }, default, meaning, source: "Wang 2013 5.2, 5.6.1" }
}

impl LogScheme for Adapt {
    const ENTRY: Entry = Entry {
        name: "adapt",
        family: "log-buffer",
        capabilities: Capabilities::LOGICAL_BLOCKS,
        memory: Memory { page_bytes: 10.0, ..Memory::LOG_MAP },
        source: "Wang 2013 5",
        parameters: &[
            LOG_SPACE,
            LOG_BLOCKS,
            choice(
                "partition",
                &["online", "fixed", "fast"],
                "How the log is divided: online, again after each interval; fixed, as at the beginning; fast, one sequential block for requests of any length, as in fast.",
            ),
            integer(
                "sequential_blocks",
                "1",
                "Blocks of the sequential area at the beginning, with partition = fixed for good; 0 sends no page there if fixed, and is 1 if online; one block at least stays random, so log_blocks, if given, must be more.",
                "ftlkit (fast's one block)",
            ),
            ratio(
                "sequential_share",
                "0.0625",
                "Share of the log blocks that the sequential area may grow to, at least sequential_blocks; 0 keeps it at no more than those.",
            ),
            integer(
                "interval",
                "4000",
                "Write requests between divisions of the log; fewer follow the workload faster and measure less; 0 for never.",
                "Wang 2013 5.6.1",
            ),
            ratio(
                "kappa",
                "0.9",
                "Weight of the last interval in the thresholds of delta and phi; 1 compares with it alone, 0 with nothing.",
            ),
            ratio("flip_below", "0.1", "With a delta below this the threshold for requests changes; 0 keeps it."),
            bytes(
                "threshold_low",
                1 << 30,
                "4KiB",
                "Larger requests go to the sequential area; 0 sends all there. Used first, on a device that has just been formatted: requests that prepare it count.",
            ),
            bytes("threshold_high", 1 << 30, "64KiB", "The threshold that takes turns with threshold_low."),
            choice(
                "admits",
                &["in_place", "any_page"],
                "Which pages of these requests the sequential area takes: in_place, those that fast would take; any_page, all, as in last.",
            ),
            choice(
                "transfer",
                &["predicted", "second_chance", "never"],
                "Which newest pages of a leaving block move to the end: predicted, those of recent requests; second_chance, those that have not moved before, as in faster; never, none, as in fast.",
            ),
            Parameter {
                name: "hat",
                kind: Kind::Bytes { min: 0, max: 256 << 10, scales: true },
                default: "1KiB",
                meaning: "RAM for recent requests, 6 bytes each; more remembers longer, 0 predicts nothing.",
                source: "Wang 2013 5.2, 5.6.1",
            },
            choice(
                "hat_covers",
                &["pages", "logical_blocks"],
                "What a recent request speaks for: the pages that it wrote, or all pages of their logical blocks.",
            ),
            Parameter {
                name: "aggregate",
                kind: Kind::Switch,
                default: "true",
                meaning: "Whether a block of many newest pages is moved to the end whole, and the next one leaves.",
                source: "Wang 2013 5.4",
            },
            ratio(
                "tau",
                "0.875",
                "Share of newest pages from which a block is moved whole; with 1 only a block without an old page is.",
            ),
        ],
        header: include_str!("mod.rs"),
    };

    type Policy = LogAreas<Adaptive>;

    fn needs(layout: &Layout, values: &Values) -> Result<LogNeeds, ConfigError> {
        let log_blocks = log_blocks("adapt", layout, values, LEAST)?;
        require_random_block(values)?;
        let uses = |word: &str| u32::from(values.word("transfer") == word);
        let log_pages = u64::from(log_blocks) * u64::from(layout.geometry.pages_per_block());
        let count_bytes = if layout.geometry.pages_per_block() < 256 { 1 } else { 2 };
        let tables = vec![
            ("HAT", values.integer("hat") * u64::from(uses("predicted"))),
            ("second chances", log_pages.div_ceil(8) * u64::from(uses("second_chance"))),
            ("newest pages of log blocks", count_bytes * u64::from(log_blocks) * u64::from(values.switch("aggregate"))),
        ];
        let tables = tables.into_iter().filter(|(_, bytes)| *bytes > 0).collect();
        Ok(LogNeeds { log_blocks, ahead: 1 - uses("never"), tables })
    }

    fn policy(layout: &Layout, values: &Values, log_blocks: u32) -> Self::Policy {
        let rules = rules(layout, values, log_blocks);
        let (logical_pages, pages_per_block) = (layout.logical_pages, layout.geometry.pages_per_block());
        let unit_pages = if values.word("hat_covers") == "pages" { 1 } else { pages_per_block };
        let transfer = match values.word("transfer") {
            "predicted" => Transfer::Predicted(History::new(values.integer("hat"), logical_pages, unit_pages)),
            "second_chance" => Transfer::SecondChance,
            _ => Transfer::Never,
        };
        let tau = (f64::from(pages_per_block) * values.ratio("tau") - ROUNDING).ceil() as u32;
        let tau_pages = values.switch("aggregate").then_some(tau.max(1));
        let partition = (values.word("partition") == "online").then(|| Partition::new(rules));
        let adaptive = Adaptive::new(partition, transfer, tau_pages, [logical_pages, pages_per_block]);
        LogAreas::new(layout, sequential_area(layout, values, log_blocks, rules), log_blocks, adaptive)
    }
}

/// How far a share of whole blocks or pages may be off by the arithmetic of floating point:
/// 0.55 × 100 is a little more than 55.
const ROUNDING: f64 = 1e-6;

/// One block of each area.
const LEAST: u32 = 2;

fn rules(layout: &Layout, values: &Values, log_blocks: u32) -> PartitionRules {
    let share = (f64::from(log_blocks) * values.ratio("sequential_share") + ROUNDING) as u32;
    let pages = |name| (values.integer(name) / u64::from(layout.geometry.page_size_bytes())) as u32;
    PartitionRules {
        interval: values.integer("interval"),
        kappa: values.ratio("kappa"),
        flip_below: values.ratio("flip_below"),
        thresholds_pages: ["threshold_low", "threshold_high"].map(pages),
        most: share.clamp(1, log_blocks - 1).max(first_blocks(values, log_blocks)),
    }
}

/// Refuses a sequential area that leaves none of the log blocks that were asked for random. Of a
/// log that follows the capacity it takes what it may, so that a check that accepts a capacity
/// accepts smaller ones.
fn require_random_block(values: &Values) -> Result<(), ConfigError> {
    let (given, log_blocks) = (values.integer("sequential_blocks"), values.integer("log_blocks"));
    if log_blocks == 0 || given < log_blocks {
        return Ok(());
    }
    let most = log_blocks - 1;
    Err(ConfigError(format!(
        "adapt.sequential_blocks = {given}: the log has {log_blocks} blocks, and one at least stays random; give {most} or less, or raise log_blocks"
    )))
}

/// Blocks of the sequential area at the beginning; one block stays random.
fn first_blocks(values: &Values, log_blocks: u32) -> u32 {
    (values.integer("sequential_blocks") as u32).min(log_blocks - 1)
}

fn sequential_area(layout: &Layout, values: &Values, log_blocks: u32, rules: PartitionRules) -> SequentialArea {
    let admits = if values.word("admits") == "in_place" { AdmissionRule::InPlace } else { AdmissionRule::AnyPage };
    let blocks = first_blocks(values, log_blocks);
    let [low, _] = rules.thresholds_pages;
    match values.word("partition") {
        "fast" => SequentialArea::new(layout, AdmissionRule::InPlace, 1, 0),
        "fixed" => SequentialArea::new(layout, admits, blocks, low),
        _ => SequentialArea::new(layout, admits, blocks.max(1), low),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::parameter::Settings;
    use crate::testing::layout;

    #[test]
    fn a_sequential_area_beyond_the_log_is_refused_with_the_limit() {
        let needs = |blocks: &str| {
            let settings = [("log_blocks", "3"), ("sequential_blocks", blocks)];
            let settings: Settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
            let values = Values::check("adapt", Adapt::ENTRY.parameters, &settings).expect("in range");
            Adapt::needs(&layout(16, 4, 23), &values)
        };
        assert!(needs("2").is_ok());
        for blocks in ["3", "4000000000"] {
            let refused = needs(blocks).expect_err("refused").to_string();
            let words = format!("sequential_blocks = {blocks}: the log has 3 blocks");
            assert!(refused.contains(&words) && refused.contains("give 2 or less"), "{refused}");
        }
    }
}
