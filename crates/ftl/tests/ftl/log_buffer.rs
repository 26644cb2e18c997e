//! The log-buffer schemes on a few blocks of four pages: the papers' figures, operation by
//! operation.

use crate::kit::{empty, untimed};
use flash::Lpn;
use ftl::{AnyDevice, Cause, Drive, FlashOp, FlashPort, Layout, Note, Request, Stack, registry};
use testkit::TestFlash;

/// A scheme on one die with blocks of four pages.
struct Scenario {
    flash: FlashPort<AnyDevice>,
    ftl: Drive<AnyDevice>,
}

impl Scenario {
    /// This many logical blocks, filled in order, and `spare` blocks beside them.
    fn filled(scheme: &str, settings: &[(&str, &str)], logical_blocks: u32, spare: u32) -> Self {
        let chip = TestFlash::new(logical_blocks + spare, 4).chip();
        let layout = Layout::of(&chip, 4 * logical_blocks, 7);
        let ftl = registry::create(&Stack::with(scheme, settings.iter().copied()), &layout).expect("a valid scheme");
        let mut scenario = Self { flash: FlashPort::new(untimed(chip)), ftl };
        for lpn in 0..4 * logical_blocks {
            scenario.write(&[lpn]);
        }
        scenario
    }

    /// One request for each page.
    fn write(&mut self, pages: &[u32]) {
        for &page in pages {
            self.ftl.write(&mut self.flash, &Request::new(Lpn::new(page), 1), &empty(1)).expect("legal");
            self.ftl.check(&self.flash).expect("invariants");
        }
    }

    /// Switch, partial and full merges.
    fn merges(&self) -> [u64; 3] {
        [Note::SwitchMerge, Note::PartialMerge, Note::FullMerge].map(|note| self.flash.tally().note(note))
    }

    /// Copies by merges, and erases.
    fn cost(&self) -> (u64, u64) {
        (self.flash.tally().count(Cause::Merge, FlashOp::Program), self.flash.tally().total(FlashOp::Erase))
    }

    fn gauge(&self, name: &str) -> f64 {
        let gauges = self.ftl.gauges();
        gauges.iter().find(|gauge| gauge.name == name).unwrap_or_else(|| panic!("no gauge {name}")).value
    }
}

/// Two logical blocks, one sequential and one shared log block.
fn fast() -> Scenario {
    Scenario::filled("fast", &[("log_blocks", "2")], 2, 4)
}

/// Wang 2013 fig. 3.1 (a): pages 0 to 3 in order, then another stream: the log block becomes the
/// data block, one erase.
#[test]
fn a_complete_sequential_block_is_switched() {
    let mut fast = fast();
    fast.write(&[0, 1, 2, 3, 4]);
    assert_eq!((fast.merges(), fast.cost()), ([1, 0, 0], (0, 1)));
}

/// Wang 2013 fig. 3.1 (b): pages 0 and 1, then another stream: pages 2 and 3 are copied, one erase.
#[test]
fn an_incomplete_sequential_block_is_completed() {
    let mut fast = fast();
    fast.write(&[0, 1, 4]);
    assert_eq!((fast.merges(), fast.cost()), ([0, 1, 0], (2, 1)));
}

/// Wang 2013 fig. 3.1 (c): updates of both logical blocks share a log block; when it leaves, both
/// are merged: 2 b copies and 2 + 1 erases (A-SAST eq. 1 with A(L) = 2).
#[test]
fn a_shared_log_block_costs_a_full_merge_for_each_logical_block() {
    let mut fast = fast();
    fast.write(&[1, 5, 2, 6, 7]);
    assert_eq!((fast.merges(), fast.cost()), ([0, 0, 2], (8, 3)));
}

/// A page of the sequential block is overwritten in the random log, whose block then leaves: the
/// full merge empties the sequential block, which must not come back as a data block.
#[test]
fn a_sequential_block_emptied_by_a_full_merge_is_erased() {
    let mut fast = fast();
    fast.write(&[0, 1, 1, 1, 1, 1, 5]);
    assert_eq!(fast.merges(), [0, 0, 1]);
    assert!((fast.gauge("log_blocks") - 1.0).abs() < f64::EPSILON, "only the shared block is left");
}

/// Kim 2002: one log block for two data blocks that are written in turn is merged at every change,
/// however empty it is.
#[test]
fn bast_thrashes_where_fast_fills_a_block() {
    let turns = [1, 5, 1, 5];
    let mut bast = Scenario::filled("bast", &[("log_blocks", "1")], 2, 3);
    bast.write(&turns);
    assert_eq!((bast.merges(), bast.cost()), ([0, 0, 3], (12, 6)));
    let mut fast = fast();
    fast.write(&turns);
    assert_eq!(fast.merges(), [0, 0, 0]);
}

/// A-SAST I: a log block written in place is switched (one erase), or completed with copies.
#[test]
fn bast_switches_and_completes_log_blocks_in_place() {
    for (pages, merges, cost) in [(4, [1, 0, 0], (0, 1)), (3, [0, 1, 0], (1, 1))] {
        let mut bast = Scenario::filled("bast", &[("log_blocks", "1")], 2, 3);
        bast.write(&[0, 1, 2, 3][..pages]);
        bast.write(&[4]);
        assert_eq!((bast.merges(), bast.cost()), (merges, cost));
    }
}

/// Wang 2013 3.2.2: a page that is overwritten before its log block comes around again costs a copy
/// instead of a merge.
#[test]
fn faster_moves_a_page_once_and_merges_it_the_second_time() {
    let mut faster = Scenario::filled("faster", &[("log_blocks", "2")], 2, 5);
    faster.write(&[1, 1, 1, 1, 5]);
    assert_eq!((faster.merges(), faster.cost()), ([0, 0, 0], (1, 1)));
    // Pages 1 (had its chance), 5, 6 and 7: the last three move, then 1 is merged.
    faster.write(&[6, 7, 5]);
    assert_eq!((faster.merges(), faster.cost()), ([0, 0, 1], (1 + 3 + 4, 1 + 2)));
}

/// A-SAST II: with K = 2, a block that serves two data blocks takes no third; the merge of any
/// block is at most two full merges.
#[test]
fn kast_ties_no_log_block_to_more_than_k_data_blocks() {
    let mut kast = Scenario::filled("kast", &[("log_blocks", "3"), ("k", "2")], 4, 5);
    kast.write(&[1, 5, 9]);
    assert!((kast.gauge("log_blocks") - 2.0).abs() < f64::EPSILON && (kast.gauge("ties") - 1.5).abs() < f64::EPSILON);
    // The first block serves 0 and 1, the second 2 and 3. Both are full after these; the next
    // update merges 0 and 1.
    kast.write(&[13, 2, 6, 10, 14]);
    assert_eq!(kast.merges(), [0, 0, 0]);
    kast.write(&[3]);
    assert_eq!((kast.merges(), kast.cost()), ([0, 0, 2], (8, 3)));
}

/// Wang 2013 5.2: pages that are written again and again share blocks that are erased without a
/// merge.
#[test]
fn last_lets_hot_blocks_die() {
    let mut last = Scenario::filled("last", &[("log_blocks", "4"), ("threshold", "512")], 4, 6);
    last.write(&[1, 5]);
    last.write(&[1, 5].repeat(20));
    assert_eq!(last.merges(), [0, 0, 0]);
    assert!(last.cost().1 > 5, "hot blocks were erased");
}

/// Wang 2013 5.2: large requests go to log blocks of their own data block, which end in switch
/// merges, whatever comes between.
#[test]
fn last_keeps_streams_apart() {
    let settings = [("log_blocks", "6"), ("threshold", "512"), ("sequential_share", "0.34")];
    let mut last = Scenario::filled("last", &settings, 4, 8);
    for first in [0, 4, 2, 6, 8, 12] {
        last.ftl.write(&mut last.flash, &Request::new(Lpn::new(first), 2), &empty(2)).expect("legal");
    }
    assert_eq!(last.merges(), [2, 0, 0]);
}

/// Wang 2013 fig. 5.1: of the leaving block's newest pages the one that a recent request wrote
/// moves to the end, the others have their logical blocks merged.
#[test]
fn adapt_moves_pages_of_recent_requests_and_merges_the_others() {
    let moved_and_merges = |hat| {
        let areas = [("log_blocks", "2"), ("partition", "fixed"), ("sequential_blocks", "0")];
        let settings = [areas[0], areas[1], areas[2], ("aggregate", "false"), ("hat", hat)];
        let mut adapt = Scenario::filled("adapt", &settings, 4, 5);
        // The last two different requests served are those of pages 13 and 6 when the block of 1,
        // 5, 9 and 13 leaves.
        adapt.write(&[1, 5, 9, 13, 6, 6, 6, 6, 7]);
        (adapt.flash.tally().note(Note::MovedLogPage), adapt.merges()[2], adapt.cost())
    };
    assert_eq!(moved_and_merges("12"), (1, 3, (1 + 3 * 4, 3 + 1)));
    assert_eq!(moved_and_merges("6"), (0, 4, (4 * 4, 4 + 1)), "one record does not reach back to 13");
}

/// A table of this many bytes, and no sequential block.
fn predicting(hat: &str) -> Scenario {
    let areas = [("log_blocks", "2"), ("partition", "fixed"), ("sequential_blocks", "0")];
    Scenario::filled("adapt", &[areas[0], areas[1], areas[2], ("aggregate", "false"), ("hat", hat)], 8, 5)
}

/// Wang 2013 algorithm 3, lines 14 to 28: of the leaving block 1, 4, 8, 0 page 1 is looked at
/// first, and the merge of its logical block takes page 0 along, which a recent request wrote; page
/// 8 moves.
#[test]
fn adapt_moves_or_merges_one_page_after_the_other() {
    let mut adapt = predicting("36");
    adapt.write(&[1, 4, 8, 0, 12, 16, 20, 24, 28]);
    assert_eq!(adapt.flash.tally().note(Note::MovedLogPage), 1);
    assert_eq!((adapt.merges()[2], adapt.cost()), (2, (2 * 4 + 1, 2 + 1)));
}

/// A page that moved and is written while it is in the log was rightly predicted, one whose logical
/// block was merged before was not, whenever it is written. Page 8 moves when block 1, 4, 8, 0
/// leaves; 12, 16 and 20 when the next one does, whose page 9 takes page 8 along.
#[test]
fn adapt_counts_a_prediction_as_right_only_while_the_page_is_in_the_log() {
    let mut adapt = predicting("36");
    adapt.write(&[1, 4, 8, 0, 9, 12, 16, 20, 28, 24, 25]);
    let hits_and_misses =
        |adapt: &Scenario| ["prediction_hits", "prediction_misses"].map(|name| adapt.gauge(name) as u32);
    assert_eq!((adapt.flash.tally().note(Note::MovedLogPage), hits_and_misses(&adapt)), (1, [0, 0]));
    adapt.write(&[29]);
    assert_eq!((adapt.flash.tally().note(Note::MovedLogPage), hits_and_misses(&adapt)), (4, [0, 1]));
    adapt.write(&[12]);
    assert_eq!(hits_and_misses(&adapt), [1, 1]);
    adapt.write(&[8]);
    assert_eq!(hits_and_misses(&adapt), [1, 3], "16 and 20 come around again unwritten, and 8 has left the log");
}

/// A request does not speak for itself: page 0, written once before and once more by the request
/// that makes the block leave, is replaced and not moved.
#[test]
fn adapt_does_not_move_what_the_request_replaces() {
    let mut adapt = predicting("6");
    adapt.write(&[0, 4, 8, 12, 16, 17, 20, 21, 0]);
    assert_eq!(adapt.flash.tally().note(Note::MovedLogPage), 0, "only page 21 is on record");
}

/// Wang 2013 fig. 5.2: the first block has τ newest pages and the second has not, so the second
/// leaves and the first goes to the end.
#[test]
fn adapt_moves_a_block_of_newest_pages_whole() {
    let moves_and_merges = |aggregate| {
        let settings = [
            ("log_blocks", "4"),
            ("partition", "fixed"),
            ("sequential_blocks", "0"),
            ("transfer", "never"),
            ("tau", "0.75"),
            ("aggregate", aggregate),
        ];
        let mut adapt = Scenario::filled("adapt", &settings, 4, 6);
        adapt.write(&[1, 5, 9, 13, 6, 6, 6, 2, 10, 10, 10, 10, 14, 14, 14, 14, 11]);
        (adapt.gauge("aggregated_moves") as u32, adapt.merges()[2], adapt.cost())
    };
    assert_eq!(moves_and_merges("false"), (0, 4, (4 * 4, 4 + 1)));
    assert_eq!(moves_and_merges("true"), (1, 2, (2 * 4, 2 + 1)), "data blocks 0 and 1 only, of pages 2 and 6");
}

/// Wang 2013 5.2: long requests go to log blocks of their own logical block, which end in switch
/// merges, whatever comes between.
#[test]
fn adapt_keeps_streams_apart() {
    let merges = |blocks| {
        let settings =
            [("log_blocks", "6"), ("threshold_low", "512"), ("partition", "fixed"), ("sequential_blocks", blocks)];
        let mut adapt = Scenario::filled("adapt", &settings, 4, 9);
        for first in [0, 4, 2, 6, 8, 12] {
            adapt.ftl.write(&mut adapt.flash, &Request::new(Lpn::new(first), 2), &empty(2)).expect("legal");
            adapt.write(&[first]);
        }
        adapt.merges()
    };
    assert_eq!(merges("2")[0], 2);
    assert_eq!(merges("1")[0], 1, "of one block, pages 0 and 1 are completed when page 4 comes");
}

/// The write order of A-SAST III.A. Pages 32 to 47 are data blocks 8 to 11, group 2 of four; log
/// blocks 300 to 304 hold `32 36 40 44`, `2 3 4 5`, `6 7`, `20 21` and `33 37 41 45`.
const A_FIG_1: [u32; 16] = [32, 36, 40, 44, 2, 3, 4, 5, 6, 7, 20, 21, 33, 37, 41, 45];

/// The data blocks that were merged after A-SAST's writes and one more, to a group without a log
/// block. With sixteen data blocks there is a gauge for each.
fn merged_after_fig_1(scheme: &str, settings: &[(&str, &str)]) -> Vec<u32> {
    let shared = [("log_blocks", "5"), ("group_blocks", "4"), ("group_log_blocks", "2")];
    let mut scenario = Scenario::filled(scheme, &[&shared, settings].concat(), 16, 8);
    scenario.write(&A_FIG_1);
    assert_eq!(scenario.merges(), [0, 0, 0]);
    scenario.write(&[50]);
    (0..16).filter(|lbn| scenario.gauge(&format!("full_merges_in_{:02}", lbn + 1)) > 0.0).collect()
}

/// A-SAST III.A: "the log block at PBN 300 is the oldest one. However, the log block at PBN 301 is
/// selected" by group-level LRU.
#[test]
fn sast_takes_the_oldest_block_of_the_least_recent_group() {
    assert_eq!(merged_after_fig_1("sast", &[]), [0, 1]);
}

/// A-SAST III.A and fig. 2: "the PBN 300 is the LRU log block, but PBN 302 is selected", as
/// A(300) = 4 and A(302) = 1.
#[test]
fn a_sast_takes_the_cheapest_block_of_the_region() {
    let by_block = |region| merged_after_fig_1("a-sast", &[("regroup", "false"), ("region", region)]);
    assert_eq!(by_block("1"), [8, 9, 10, 11], "plain block-level LRU takes 300");
    assert_eq!(by_block("2"), [0, 1], "301 has A = 2");
    assert_eq!(by_block("16"), [1], "302 has A = 1, and is older than 303");
}

/// A-SAST III.A: a log block that stayed in the region too long is taken although it is dear.
#[test]
fn a_sast_does_not_pass_over_a_block_for_ever() {
    let settings = [("log_blocks", "2"), ("group_blocks", "8"), ("regroup", "false"), ("region", "2")];
    let mut scenario = Scenario::filled("a-sast", &settings, 16, 5);
    // The first log block serves four data blocks of one group; blocks of the other group come and
    // go.
    scenario.write(&[1, 5, 9, 13]);
    scenario.write(&[33, 34, 35, 33]);
    for round in 1..=2 {
        scenario.write(&[34, 35, 33, 34]);
        assert!(scenario.gauge("full_merges_in_01") < 1.0, "passed over {round} times");
    }
    scenario.write(&[33]);
    assert!(scenario.gauge("full_merges_in_01") > 0.0, "taken after two");
}

/// A-SAST III.C and fig. 3 with A-SAST's own alpha: groups 0 and 1 become one when block 302 is the
/// victim, since 6 and 2 log pages are used for 16 data pages each. Of their log blocks' own pages
/// it would be 6 of 8 and 2 of 4.
#[test]
fn a_sast_joins_idle_neighbours() {
    let joined = |utilisation: &[(&str, &str)]| {
        let settings = [("log_blocks", "5"), ("group_blocks", "4"), ("region", "16"), ("alpha", "0.4")];
        let mut scenario = Scenario::filled("a-sast", &[&settings, utilisation].concat(), 16, 8);
        scenario.write(&A_FIG_1);
        scenario.write(&[50]);
        ["groups", "groups_of_8", "group_joins"].map(|name| scenario.gauge(name) as u32)
    };
    assert_eq!(joined(&[]), [3, 1, 1]);
    assert_eq!(joined(&[("utilisation", "log")]), [4, 0, 0]);
}

/// A group that asks for a log block and gets room by a join instead has had its answer: the next
/// group that asks is looked at.
#[test]
fn a_sast_looks_at_the_next_group_after_a_join_made_room() {
    let settings =
        [("log_blocks", "3"), ("group_blocks", "2"), ("region", "1"), ("alpha", "1"), ("beta", "64"), ("gamma", "1")];
    let mut scenario = Scenario::filled("a-sast", &settings, 16, 8);
    // Group 2 has a full log block and one with room, group 6 a full one with pages of two data
    // blocks.
    scenario.write(&[9, 10, 11, 9, 10, 25, 29, 26, 30]);
    // Group 4 asks for a fourth; the oldest leaves, and its group 2 and group 4 become one, which
    // has room.
    scenario.write(&[17]);
    assert_eq!(["group_joins", "group_splits", "log_blocks"].map(|name| scenario.gauge(name) as u32), [1, 0, 2]);
    scenario.write(&[27]);
    assert_eq!(scenario.gauge("group_splits") as u32, 1);
}

/// A-SAST III.C and fig. 3: group 2 is written at random; once it is split, each log block serves
/// two data blocks, not four.
#[test]
fn a_sast_splits_a_random_group() {
    let settings = [("log_blocks", "6"), ("group_blocks", "4"), ("alpha", "0"), ("gamma", "3")];
    let mut scenario = Scenario::filled("a-sast", &settings, 16, 9);
    scenario.write(&[32, 36, 40, 44]);
    assert!((scenario.gauge("group_splits")).abs() < f64::EPSILON);
    scenario.write(&[33, 37, 41, 45]);
    assert_eq!(
        (scenario.gauge("group_splits"), scenario.gauge("groups_of_2"), scenario.gauge("log_blocks")),
        (1.0, 2.0, 3.0)
    );
}

/// Kang 2006: a superblock that is overwritten in order needs no copies, whatever its block
/// borders; what is overwritten at random is collected inside it.
#[test]
fn a_superblock_reclaims_inside_itself() {
    let mut superblock = Scenario::filled("superblock", &[("n", "2"), ("k", "1"), ("log_blocks", "1")], 4, 3);
    let collected = |scenario: &Scenario| scenario.flash.tally().count(Cause::Collection, FlashOp::Program);
    for _ in 0..3 {
        superblock.write(&[0, 1, 2, 3, 4, 5, 6, 7]);
    }
    assert_eq!(collected(&superblock), 0);
    superblock.write(&[0, 2, 4, 6, 0, 2, 4, 6]);
    assert!(collected(&superblock) > 0);
    assert!((superblock.gauge("log_blocks") - 1.0).abs() < f64::EPSILON);
}
