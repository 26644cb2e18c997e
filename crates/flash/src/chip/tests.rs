use super::*;
use crate::{Cell, Full, Lean, Role, Shape};

fn geometry() -> Geometry {
    Geometry::new(Shape {
        channels: 1,
        dies_per_channel: 1,
        planes_per_die: 1,
        blocks_per_plane: 4,
        pages_per_block: 4,
        page_size_bytes: 512,
    })
    .expect("valid")
}

fn chip(options: &ChipOptions) -> Chip<Lean> {
    Chip::new(geometry(), options)
}

fn tag(logical: u32) -> Tag {
    Tag { logical, extent: 1, role: Role::Data, owner: None, seq: 1, version: 1, hint: 0 }
}

fn rule<T: std::fmt::Debug>(result: Result<T, FlashError>) -> Rule {
    match result.expect_err("refused") {
        FlashError::Violation(violation) => violation.rule,
        FlashError::Media(event) => panic!("{event}"),
    }
}

#[test]
fn the_referee_names_each_broken_rule_and_changes_nothing() {
    let mut chip = chip(&ChipOptions { bad_blocks: vec![Pbn::new(3)], endurance: Some(2), ..Default::default() });
    assert_eq!(rule(chip.read(Ppn::new(0))), Rule::ReadProgrammedOnly);
    chip.program(Ppn::new(1), &tag(9), ()).expect("gaps are allowed");
    assert_eq!(rule(chip.program(Ppn::new(0), &tag(8), ())), Rule::ProgramInOrder);
    assert_eq!(rule(chip.program(Ppn::new(1), &tag(8), ())), Rule::ProgramErasedOnly);
    assert_eq!(rule(chip.program(Ppn::new(12), &tag(8), ())), Rule::LeaveBadBlocks);
    assert_eq!(rule(chip.erase(Pbn::new(3))), Rule::LeaveBadBlocks);
    assert_eq!(rule(chip.read(Ppn::new(99))), Rule::OnDevice);
    assert_eq!(rule(chip.program(Ppn::new(99), &tag(1), ())), Rule::OnDevice);
    assert_eq!(chip.read(Ppn::new(1)).expect("programmed").logical, 9);
    chip.erase(Pbn::new(0)).expect("first");
    chip.erase(Pbn::new(0)).expect("second");
    assert_eq!(rule(chip.erase(Pbn::new(0))), Rule::WithinEndurance);
    assert_eq!(chip.operations(), Operations { reads: 1, programs: 1, erases: 2 });
}

#[test]
fn a_worn_block_fails_where_that_is_asked_for_and_takes_nothing_more() {
    let mut chip = chip(&ChipOptions {
        endurance: Some(1),
        past_endurance: PastEndurance::Fails,
        bad_blocks: vec![Pbn::new(3)],
        ..Default::default()
    });
    chip.erase(Pbn::new(0)).expect("first");
    assert_eq!(chip.erase(Pbn::new(0)), Err(FlashError::Media(MediaEvent::EraseFailed(Pbn::new(0)))));
    assert_eq!(chip.operations().erases, 2);
    assert_eq!(rule(chip.program(Ppn::new(0), &tag(1), ())), Rule::ProgramInOrder);
    chip.mark_bad(Pbn::new(0));
    assert_eq!(rule(chip.erase(Pbn::new(0))), Rule::LeaveBadBlocks);
    assert_eq!(rule(chip.erase(Pbn::new(3))), Rule::LeaveBadBlocks);
}

#[test]
fn strict_order_refuses_gaps_and_any_order_allows_going_back() {
    let mut strict = chip(&ChipOptions { program_order: ProgramOrder::Strict, ..Default::default() });
    assert_eq!(rule(strict.program(Ppn::new(1), &tag(0), ())), Rule::ProgramInOrder);
    strict.program(Ppn::new(0), &tag(0), ()).expect("in order");
    let mut any =
        chip(&ChipOptions { program_order: ProgramOrder::Any, bad_blocks: vec![Pbn::new(1)], ..Default::default() });
    any.program(Ppn::new(3), &tag(0), ()).expect("any order");
    any.program(Ppn::new(0), &tag(1), ()).expect("any order");
    assert_eq!(rule(any.program(Ppn::new(3), &tag(2), ())), Rule::ProgramErasedOnly);
    assert_eq!(rule(any.program(Ppn::new(4), &tag(2), ())), Rule::LeaveBadBlocks);
}

#[test]
fn a_full_store_returns_tag_and_data_until_the_erase() {
    let mut chip: Chip<Full<u64>> = Chip::new(geometry(), &ChipOptions::default());
    chip.program(Ppn::new(2), &tag(5), 77).expect("legal");
    assert_eq!(*chip.store().cell(2), Cell::Programmed(tag(5), 77));
    assert_eq!(chip.scan(Ppn::new(2)), Ok(Scan::Programmed(tag(5))));
    assert_eq!(chip.read(Ppn::new(2)).expect("programmed").data, 77);
    chip.erase(Pbn::new(0)).expect("legal");
    assert_eq!(
        (chip.scan(Ppn::new(2)), chip.peek(Ppn::new(2)), chip.erase_count(Pbn::new(0))),
        (Ok(Scan::Erased), None, 1)
    );
}

#[test]
fn a_violation_reads_as_a_sentence_with_coordinates() {
    let message = chip(&ChipOptions::default()).read(Ppn::new(6)).expect_err("erased").to_string();
    assert_eq!(message, "illegal read of PBN 1, PPN 6: only programmed pages are read, but the page is erased");
}

/// A chip of three-bit cells with blocks of four pages, of which one is left in pSLC mode.
fn tlc(endurance: u32, pslc_endurance: u32) -> Chip<Lean> {
    let [endurance, pslc_endurance] = [endurance, pslc_endurance].map(Some);
    chip(&ChipOptions { pslc_pages: 1, endurance, pslc_endurance, ..Default::default() })
}

#[test]
fn a_block_in_pslc_mode_takes_its_first_pages_alone() {
    let mut chip = tlc(100, 100);
    let block = Pbn::new(1);
    assert_eq!((chip.pslc_pages(), chip.cell_mode(block)), (1, CellMode::Native));
    chip.set_cell_mode(block, CellMode::Pslc).expect("erased");
    assert_eq!(rule(chip.program(Ppn::new(5), &tag(1), ())), Rule::WithinPslcPages);
    chip.program(Ppn::new(4), &tag(1), ()).expect("the first page");
    assert_eq!(rule(chip.program(Ppn::new(5), &tag(1), ())), Rule::WithinPslcPages);
    assert_eq!(rule(chip.set_cell_mode(block, CellMode::Native)), Rule::ChooseModeErased);
    assert_eq!((chip.cell_mode(block), chip.cell_mode(Pbn::new(0))), (CellMode::Pslc, CellMode::Native));
    chip.erase(block).expect("erased");
    assert_eq!((chip.cell_mode(block), chip.pslc_erase_count(block)), (CellMode::Native, 1));
    (4..8).for_each(|page| chip.program(Ppn::new(page), &tag(page), ()).expect("a native block has all pages"));
    chip.erase(block).expect("erased");
    assert_eq!((chip.erase_count(block), chip.pslc_erase_count(block)), (2, 1));
}

#[test]
fn cells_of_one_bit_and_bad_blocks_have_no_pslc_mode() {
    let mut slc = chip(&ChipOptions::default());
    assert_eq!(slc.pslc_pages(), 0);
    assert_eq!(rule(slc.set_cell_mode(Pbn::new(0), CellMode::Pslc)), Rule::HasPslcMode);
    let mut chip = tlc(9, 9);
    chip.mark_bad(Pbn::new(2));
    assert_eq!(rule(chip.set_cell_mode(Pbn::new(2), CellMode::Pslc)), Rule::LeaveBadBlocks);
    assert_eq!(rule(chip.set_cell_mode(Pbn::new(9), CellMode::Pslc)), Rule::OnDevice);
}

#[test]
fn a_block_is_worn_when_the_shares_of_both_modes_make_a_life() {
    // Four erases are a life, and so are ten in pSLC mode: one and seven are 0.95, two and five 1.
    for (native, pslc, last) in [(4, 0, false), (0, 10, true), (2, 5, true), (1, 8, true), (3, 3, true)] {
        let mut chip = tlc(4, 10);
        let block = Pbn::new(0);
        let in_modes = std::iter::repeat_n(CellMode::Pslc, pslc).chain(std::iter::repeat_n(CellMode::Native, native));
        for mode in in_modes {
            chip.set_cell_mode(block, mode).expect("erased");
            chip.erase(block).expect("it survives");
        }
        let refused = chip.erase(block).expect_err("its life is over").to_string();
        assert_eq!(refused.contains("in pSLC"), last, "{native} and {pslc}: {refused}");
    }
}

#[test]
fn a_run_goes_only_where_each_of_its_pages_could_be_programmed() {
    let copies = [0, 1].map(|offset| PageCopy { from: Ppn::new(offset), offset });
    let pslc = ChipOptions { pslc_pages: 2, bad_blocks: vec![Pbn::new(3)], ..Default::default() };
    let any = ChipOptions { program_order: ProgramOrder::Any, ..Default::default() };
    for (options, to, copied) in [(&pslc, 1, 2), (&pslc, 2, 0), (&pslc, 3, 0), (&pslc, 4, 0), (&any, 1, 0)] {
        let mut chip = chip(options);
        (0..2).for_each(|ppn| chip.program(Ppn::new(ppn), &tag(ppn + 7), ()).expect("erased"));
        if options.pslc_pages > 0 {
            chip.set_cell_mode(Pbn::new(2), CellMode::Pslc).expect("erased");
        }
        assert_eq!(chip.copy_run(&copies, Pbn::new(to), &mut [0; 2]), copied, "to block {to}");
        assert_eq!(chip.operations(), Operations { reads: copied as u64, programs: 2 + copied as u64, erases: 0 });
        assert_eq!(chip.copy_run(&copies, Pbn::new(to), &mut [0; 2]), 0, "block {to} holds what was copied");
    }
}
