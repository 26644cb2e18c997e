//! The learned map with so small a buffer that pages reach flash at almost every request, at every
//! kind of error bound: alone, under a wear policy that moves blocks, cut and failing.

use check::drivers::failing_flash::{self, Rates};
use check::torture::Tears;
use check::{Case, Effort, Pattern, power_cuts};
use ftl::Note;

use crate::common::{FAILS_AND_CUTS, by_form, cases, passes, stacks, survive_cuts, survive_faults};

const SEED: u64 = 20_265;

const STACKS: [&str; 7] = [
    "leaftl:ram=1KiB:error_bound=0",
    "leaftl:ram=2KiB:error_bound=1:run_pages=3",
    "leaftl:ram=4KiB:error_bound=4:compact_every=7",
    "leaftl:ram=2KiB:error_bound=16:sort=false",
    "leaftl:ram=2KiB:error_bound=16:gc_threshold=3",
    "leaftl:ram=2KiB:checkpoint=summaries",
    "leaftl:ram=2KiB+static:threshold=2",
];

#[test]
fn learned_maps_break_no_promise() {
    for stack in stacks(&STACKS) {
        let cases = cases(&stack, SEED, by_form(2, 19));
        assert!(cases.len() > 10, "{stack}: {} cases", cases.len());
        let notes = |note| cases.iter().map(|case| passes(case).tally.note(note)).sum::<u64>();
        let (wrong, collections) = (notes(Note::WrongPrediction), notes(Note::Collection));
        println!("{stack}: {wrong} wrong predictions, {collections} collections in {} cases", cases.len());
        let is_exact = stack.to_string().contains("error_bound=0");
        assert!(collections > 100 && (wrong > 20) != is_exact, "{stack}: {wrong} wrong, {collections} collections");
    }
}

#[test]
fn learned_maps_survive_every_power_cut() {
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
fn learned_maps_survive_failing_flash() {
    for stack in stacks(&STACKS) {
        for rates in [FAILS_AND_CUTS, Rates { program: 60, erase: 30, read: 300, ..Rates::default() }] {
            survive_faults(failing_flash::cases(&stack, &[Pattern::Mixed, Pattern::Uniform], 200, SEED), rates);
        }
    }
}
