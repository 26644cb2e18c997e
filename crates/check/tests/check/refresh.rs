//! Blocks that are refreshed because they were read, over a mapping of each family: reads move
//! blocks, and no promise breaks, on sound flash, at power cuts and on failing flash.

use check::inject::failing_flash::{self, Rates};
use check::torture::campaign::Campaign;
use check::{
    Case, DeviceSpec, Effort, FaultRun, Pattern, case::variants::Subject, explore, power_cuts, run_case,
    run_with_faults,
};
use ftl::{Cause, FlashOp, Stack};

use crate::common::by_form;

const MAPPINGS: [&str; 7] = ["page", "block", "fast", "superblock", "dftl", "waftl", "page+static+lru"];
const SEED: u64 = 20_261;

fn stacks() -> impl Iterator<Item = Stack> {
    MAPPINGS.into_iter().map(|stack| stack.parse().expect("a stack"))
}

/// A case whose blocks are refreshed when their pages have been read once or twice.
fn refreshed(number: usize, case: Case) -> Case {
    let device: DeviceSpec = case.device.refreshed_after(1 + number as u32 % 2);
    Case { device, ..case }
}

#[test]
fn reads_that_move_blocks_break_no_promise() {
    for stack in stacks() {
        let cases = Campaign::of(Subject::keeping(stack.clone()).expect("parts"), SEED).defaults().cases;
        let mut erases = 0;
        for (i, case) in cases.into_iter().step_by(by_form(5, 40)).enumerate() {
            let outcome = run_case(&refreshed(i, case)).unwrap_or_else(|failure| panic!("{failure}"));
            erases += outcome.tally.count(Cause::Refresh, FlashOp::Erase);
        }
        assert!(erases > 10, "{stack}: {erases} erases");
    }
}

#[test]
fn power_cuts_while_blocks_are_refreshed_lose_nothing() {
    let seldom = Effort { first: 5, during_recovery: 200, after_recovery: 400 };
    for stack in stacks() {
        let cases = power_cuts::cases(&stack, SEED).into_iter().map(|(case, _)| case);
        for (i, case) in cases.step_by(by_form(3, 11)).enumerate() {
            let case = refreshed(i, Case { requests: 40, ..case });
            explore(&case, seldom).unwrap_or_else(|failure| panic!("{failure}"));
        }
    }
}

#[test]
fn failing_flash_that_is_refreshed_keeps_what_it_can() {
    let rates = Rates { program: 100, erase: 40, cut: 300, ..Rates::default() };
    for stack in stacks() {
        let cases = failing_flash::cases(&stack, &[Pattern::Mixed], 150, SEED);
        for (i, case) in cases.into_iter().enumerate() {
            let fault_run = FaultRun { plan: rates.plan(i as u64), ..FaultRun::default() };
            run_with_faults(&refreshed(i, case), &fault_run).unwrap_or_else(|failure| panic!("{failure}"));
        }
    }
}
