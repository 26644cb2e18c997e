//! Maps whose RAM depends on what they say, with so little of it that they reach flash at almost
//! every request: alone, under a wear policy that moves blocks, cut and failing.

use check::drivers::failing_flash::{self, Rates};
use check::torture::Tears;
use check::{Case, Effort, Pattern, power_cuts};
use ftl::Note;

use crate::common::{FAILS_AND_CUTS, by_form, cases, passes, stacks, survive_cuts, survive_faults};

const SEED: u64 = 20_265;

const STACKS: [&str; 13] = [
    "leaftl:ram=1KiB:error_bound=0",
    "leaftl:ram=2KiB:error_bound=1:run_pages=3",
    "leaftl:ram=4KiB:error_bound=4:compact_every=7",
    "leaftl:ram=2KiB:error_bound=16:sort=false",
    "leaftl:ram=2KiB:error_bound=16:gc_threshold=3",
    "leaftl:ram=2KiB:error_bound=4:checkpoint=summaries",
    "leaftl:ram=2KiB:error_bound=4+static:threshold=2",
    "s-ftl:cmt=1KiB:dirty_buffer=0.49",
    "s-ftl:cmt=1KiB:dirty_buffer=0",
    "s-ftl:cmt=1KiB:dirty_buffer=0.4:sparse_entries=3",
    "s-ftl:cmt=1KiB:placement=striped:write_misses=background:gc_threshold=3",
    "s-ftl:cmt=1100:dirty_buffer=0.5:checkpoint=summaries",
    "s-ftl:cmt=1KiB:dirty_buffer=0.4:mapping_bytes=8+static:threshold=2",
];

#[test]
fn maps_that_vary_break_no_promise() {
    for stack in stacks(&STACKS) {
        let cases = cases(&stack, SEED, by_form(2, 19));
        assert!(cases.len() > 10, "{stack}: {} cases", cases.len());
        let notes = |note| cases.iter().map(|case| passes(case).tally.note(note)).sum::<u64>();
        let [wrong, dirty, collections] = [Note::WrongPrediction, Note::DirtyEviction, Note::Collection].map(notes);
        println!("{stack}: {wrong} wrong predictions, {dirty} dirty evictions, {collections} collections");
        let (is_exact, is_cached) = (stack.to_string().contains("error_bound=0"), stack.to_string().contains("s-ftl"));
        assert!(collections > 100 && (wrong > 20) == (!is_exact && !is_cached), "{stack}: {wrong} wrong");
        assert_eq!(dirty > 100, is_cached, "{stack}: {dirty} dirty evictions");
    }
}

#[test]
fn maps_that_vary_survive_every_power_cut() {
    let effort = Effort { first: 1, during_recovery: 200, after_recovery: 400 };
    let (step, requests) = by_form((3, 120), (9, 60));
    for stack in stacks(&STACKS) {
        let cases = power_cuts::cases(&stack, SEED).into_iter().step_by(step);
        let explored = survive_cuts(cases.map(|(case, _)| Case { requests, ..case }), effort);
        let Tears { before, unseen, torn, after } = explored.cuts;
        println!("{stack}: {} cut points, {:?}", explored.cut_points, explored.cuts);
        let every = [before, unseen, torn, after].iter().all(|&cuts| cuts >= explored.cut_points / 2);
        assert!(every && explored.cut_points > 100, "{stack}: {explored:?}");
    }
}

#[test]
fn maps_that_vary_survive_failing_flash() {
    for stack in stacks(&STACKS) {
        for rates in [FAILS_AND_CUTS, Rates { program: 60, erase: 30, read: 300, ..Rates::default() }] {
            survive_faults(failing_flash::cases(&stack, &[Pattern::Mixed, Pattern::Uniform], 200, SEED), rates);
        }
    }
}
