//! Blocks in pSLC mode: their pages take times of their own, whatever their type would be else.

use flash::{CellMode, CellType, Chip, ChipOptions, Full, Geometry, Pbn, Ppn, Role, Shape};
use ftl::{FlashOp, FlashPort, Label, Timed};
use sim::{Abilities, EventTiming, Latencies, Model, PageTimes, PslcTimes};

const READS: [u64; 3] = [56_500, 77_500, 106_000];
const PROGRAMS: [u64; 3] = [820_500, 2_225_000, 5_734_000];

/// What a page of a block in pSLC mode takes to be programmed and read: its sixth and seventh.
fn took(pslc: Option<PslcTimes>, model: Model) -> Vec<[u64; 2]> {
    let (channels, dies_per_channel, planes_per_die, blocks_per_plane) = (1, 1, 1, 2);
    let (pages_per_block, page_size_bytes) = (24, 512);
    let shape =
        Shape { channels, dies_per_channel, planes_per_die, blocks_per_plane, pages_per_block, page_size_bytes };
    let geometry = Geometry::new(shape).expect("a shape");
    let [read_ns, program_ns] = [READS, PROGRAMS].map(|times| PageTimes::by_type(&times).expect("three times"));
    let plain = Latencies::of_slc([0, 0, 3_000_000, 1_000]);
    let latencies = Latencies { cell: CellType::Tlc, read_ns, program_ns, pslc, ..plain };
    let timing = EventTiming::new(&geometry, latencies, model, Abilities::default());
    let chip = Chip::<Full<u32>>::new(geometry, &ChipOptions { pslc_pages: 8, ..ChipOptions::default() });
    let mut flash = FlashPort::new(Timed { chip, timing });
    flash.set_cell_mode(Pbn::new(1), CellMode::Pslc).expect("erased");
    let mut took = |work: &mut dyn FnMut(&mut FlashPort<_>)| {
        let begin = flash.wait();
        work(&mut flash);
        flash.wait().0 - begin.0
    };
    let pages = [5, 6].map(|page| {
        let (ppn, label) = (Ppn::new(24 + page), Label::new(page, Role::Cached));
        let program = took(&mut |flash| flash.program(ppn, label, 7).expect("erased"));
        [program, took(&mut |flash| _ = flash.read(ppn).expect("programmed"))]
    });
    let mut estimates = [0; 2];
    took(&mut |flash| estimates = [FlashOp::Program, FlashOp::Read].map(|op| flash.estimate(op, Pbn::new(1)).0));
    let native = took(&mut |flash| flash.program(Ppn::new(0), Label::new(0, Role::Data), 7).expect("erased"));
    assert_eq!(native, PROGRAMS[0] + 1_000, "a native block goes by the types of its pages");
    // What moves out of the block is programmed in a native one.
    assert_eq!(estimates, [PROGRAMS[2] + 1_000, pages[0][1]]);
    pages.into()
}

#[test]
fn pages_in_pslc_mode_take_times_of_their_own_or_those_of_lower_pages() {
    for model in [Model::Parallel, Model::Serial] {
        let own = PslcTimes { read_ns: 20_000, program_ns: 150_000 };
        assert_eq!(took(Some(own), model), [[151_000, 21_000]; 2]);
        assert_eq!(took(None, model), [[PROGRAMS[0] + 1_000, READS[0] + 1_000]; 2]);
    }
}
