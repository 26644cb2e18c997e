//! Drives of today: what is published of them, and what had to be assumed.
//!
//! Makers publish capacity, channels and cell type of a drive, hardly ever its timing. So latencies
//! come from emulators that were fitted to measured drives and from measurements of flash parts,
//! each named. Where planes or several pages of a cell are programmed at once, a page's program
//! latency is its share, so that a die programs as many bytes a second as measured.
//!
//! `femu-tlc` and `femu-qlc` price each type of page, after the emulator FEMU.
//!
//! The presets whose names end in `-like` map units. All of them but `970-pro-like` program whole
//! word lines. Where a die has several planes they stand for one, with pages as large as theirs
//! together, since such drives write to all planes at once. They buffer two program units of a
//! die, as the 970 PRO of `NVMeVirt` does: who completes one waits for the program before it.
//!
//! What no preset has: a write buffer that pages are read and rewritten in, and the size of a pSLC
//! cache, which is a matter of the translation layer. Those of drives that have one say what pages
//! in pSLC mode take. Presets without a mapping unit map whole pages: requests smaller than a page
//! are read-modify-write there, and dear.

use flash::{CellType, ProgramOrder, Shape};

use super::keys::{Keys, Preset, keys, shape, typed};
use crate::setup::study::PricingText;
use crate::{FrontEnd, Latencies, Programming, PslcTimes};

const fn planes(planes_per_die: u32, shape: Shape) -> Shape {
    Shape { planes_per_die, ..shape }
}

/// A drive behind a link of so many bytes a second.
const fn behind(link_bytes_per_s: u64, keys: &Keys) -> Keys {
    Keys { front_end: FrontEnd { link_bytes_per_s: Some(link_bytes_per_s), ..FrontEnd::NONE }, ..*keys }
}

/// What the flash of a drive of today takes: its cell, what reads take, what a program takes.
type Cells = (CellType, &'static [u64], u64);

/// A drive that maps units of so many bytes and programs word lines, behind a link of so many bytes
/// a second and a controller that takes so long for each command.
const fn like((link_bytes_per_s, core_ns): (u64, u64), unit_bytes: u32, cells: Cells, keys: &Keys) -> Keys {
    let (cell, read_ns, program_ns) = cells;
    let keys = behind(link_bytes_per_s, &typed(cell, read_ns, &[program_ns], keys));
    Keys {
        mapping_unit_bytes: Some(unit_bytes),
        programming: Programming::OneShot,
        program_buffers: 2,
        program_order: ProgramOrder::Strict,
        front_end: FrontEnd { core_ns, ..keys.front_end },
        ..keys
    }
}

/// A drive with a pSLC cache: pages are read in 20 µs and programmed in 150 µs in that mode, on all
/// planes at once (`MQSim-Next`, 2026), and blocks survive what is the low end of what is published
/// for one bit a cell.
const fn with_pslc(keys: &Keys) -> Keys {
    let pslc = Some(PslcTimes { read_ns: 20_000, program_ns: 150_000 });
    Keys { latencies: Latencies { pslc, ..keys.latencies }, pslc_endurance: Some(30_000), ..*keys }
}

const fn parallel(shape: Shape, spare: f64, latencies_ns: [u64; 4], endurance: u32) -> Keys {
    keys(shape, spare, latencies_ns, PricingText::Parallel, endurance)
}

pub(super) const NVME_TLC: Preset = Preset {
    name: "nvme-tlc-1t",
    source: "NVMeVirt (FAST '23), its configuration fitted to a WD ZN540; the zones of that drive as gczns reports them",
    description: "An NVMe drive of 1 TB with 96-layer TLC. From NVMeVirt: 8 channels of 4 dies, pages of 32 KiB (both planes), read 58 µs, \
                  561 µs for the three pages that a cell line is programmed with, here 187 µs each, channels of 450 MB/s (72.8 µs a page), a link of \
                  3050 MB/s, a zone over all 32 dies. Reported of a ZN540 (github.com/johnramsden/gczns): 904 zones that hold 1.0518 GiB each, which is 1077 MiB, so 1077 pages on \
                  each die. Assumed: that those are one block, erase 3.5 ms, 3000 cycles, 7 % spare.",
    keys: behind(
        3_050_000_000,
        &parallel(shape((8, 4), 972, 1077, 32_768), 0.07, [58_000, 187_000, 3_500_000, 72_800], 3_000),
    ),
};

pub(super) const NVME_QLC: Preset = Preset {
    name: "nvme-qlc-1t",
    source: "Intel's announcement of the 670p; FEMU (QLC reads, measured); ISSCC 2020, 13.2 (QLC program throughput)",
    description: "An NVMe drive of 1 TB with QLC. Announced of the 670p: 8 channels, 1 Tb dies, 144 layers; of Intel's QLC: 4 planes. From FEMU: pages of \
                  16 KiB, reads of the four pages of a cell measured at 47.9, 76.2, 134.6 and 228.1 µs, here their mean of 121.7 µs; transfer 52.4 µs, \
                  erase 3 ms. From ISSCC 2020: a 96-layer die programs 30 MB/s, so a page 546 µs. Assumed: that the 144-layer die does as well, blocks of \
                  2304 pages, 1000 cycles, 7 % spare.",
    keys: parallel(planes(4, shape((8, 1), 910, 2304, 16_384)), 0.07, [121_700, 546_000, 3_000_000, 52_433], 1_000),
};

pub(super) const SATA_TLC: Preset = Preset {
    name: "sata-tlc-1t",
    source: "TechPowerUp's SSD database, Crucial MX500 1 TB (96-layer Micron flash); timing as nvme-tlc-1t",
    description: "A SATA drive of 1 TB with 96-layer TLC. Published: 4 channels, 10 % spare. Assumed: four dies of 512 Gb a channel with two planes \
                  each, pages of 16 KiB, blocks of 1152 pages, flash as fast as that of nvme-tlc-1t, which is of the same generation (read 58 µs; \
                  program a sixth of 561 µs, since six such pages are programmed at once: 93.5 µs), channels of 400 MB/s (41 µs a page), erase 3.5 ms, \
                  3000 cycles, and that the SATA link moves 550 MB/s.",
    keys: behind(
        550_000_000,
        &parallel(planes(2, shape((4, 4), 1888, 1152, 16_384)), 0.10, [58_000, 93_500, 3_500_000, 41_000], 3_000),
    ),
};

pub(super) const SD_CARD: Preset = Preset {
    name: "sd-card-32g",
    source: "Linaro's flash card survey (structure); FEMU, profiled from Micron L95B MLC flash (timing)",
    description: "An SD card of 32 GB with MLC. From the survey: one flash chip, effective pages of up to 16 KiB, erase units of 4 MiB, here blocks of 256 \
                  pages. From FEMU: reads of the two pages of a cell take 48 and 64 µs, here 56 µs, programs 850 and 2300 µs, here 1575 µs, transfer \
                  52.4 µs, erase 3 ms. Assumed: one channel, one die, one plane, 3000 cycles, 7 % spare. The card's bus is not priced.",
    keys: parallel(shape((1, 1), 8192, 256, 16_384), 0.07, [56_000, 1_575_000, 3_000_000, 52_433], 3_000),
};

pub(super) const EMMC: Preset = Preset {
    name: "emmc-64g",
    source: "JESD84-B51 (the bus of e.MMC 5.1); timing as nvme-tlc-1t; the structure is assumed",
    description: "An e.MMC 5.1 of 64 GB with 3D TLC. Makers publish no structure. Assumed: one channel of two dies with two planes each, pages of 16 KiB, \
                  blocks of 1152 pages, flash as fast as that of nvme-tlc-1t (read 58 µs; program a sixth of 561 µs: 93.5 µs), a channel and a link as fast as \
                  the bus in HS400, 400 MB/s (41 µs a page), erase 3.5 ms, 3000 cycles, 7 % spare.",
    keys: behind(
        400_000_000,
        &parallel(planes(2, shape((1, 2), 911, 1152, 16_384)), 0.07, [58_000, 93_500, 3_500_000, 41_000], 3_000),
    ),
};

const FEMU_SHAPE: Shape = shape((8, 4), 256, 512, 16_384);

pub(super) const FEMU_TLC: Preset = Preset {
    name: "femu-tlc",
    source: "FEMU, hw/femu/nand/nand.h (August 2026), which has the times from SimpleSSD (CAL 2018), and nand.c (the order of pages)",
    description: "64 GiB of planar TLC whose pages take the times of their types. From FEMU: lower, centre and upper pages are read in 56.5, 77.5 and 106 µs \
                  and programmed in 820.5, 2225 and 5734 µs one after the other (shadow programming), erase 3 ms, transfer 52.4 µs a page, blocks of 512 \
                  pages. Assumed: 8 channels of 4 dies with one plane, 256 blocks each, pages of 16 KiB, 3000 cycles, 7 % spare. 3D TLC programs \
                  the pages of a word line at once, which is far faster.",
    keys: typed(
        CellType::Tlc,
        &[56_500, 77_500, 106_000],
        &[820_500, 2_225_000, 5_734_000],
        &parallel(FEMU_SHAPE, 0.07, [0, 0, 3_000_000, 52_433], 3_000),
    ),
};

pub(super) const FEMU_QLC: Preset = Preset {
    name: "femu-qlc",
    source: "FEMU, hw/femu/nand/nand.h (August 2026): reads as measured for PACA (ICCD 2022) on Intel's 96-layer QLC; programs extrapolated from TLC",
    description: "64 GiB of QLC whose pages take the times of their types. From FEMU: the four pages of a word line are read in 47.9, 76.2, 134.6 and \
                  228.1 µs, as measured at 16 KiB; programmed in 861.525, 2447.5, 6880.8 and 9174.4 µs, which FEMU extrapolates from TLC and calls \
                  not measured; erase 3 ms, transfer 52.4 µs a page, blocks of 512 pages. Assumed: 8 channels of 4 dies with one plane, 256 blocks each, \
                  1000 cycles, 7 % spare.",
    keys: typed(
        CellType::Qlc,
        &[47_900, 76_200, 134_600, 228_100],
        &[861_525, 2_447_500, 6_880_800, 9_174_400],
        &parallel(FEMU_SHAPE, 0.07, [0, 0, 3_000_000, 52_433], 1_000),
    ),
};

pub(super) const PRO_970: Preset = Preset {
    name: "970-pro-like",
    source: "NVMeVirt (FAST '23), ssd_config.h: its configuration fitted to a Samsung 970 PRO",
    description: "An NVMe drive of 512 GB with MLC. From NVMeVirt: 8 channels of 2 dies, flash pages of 32 KiB that are programmed one by one in 185 µs, \
                  8192 blocks a die, 4 KiB read in 29.76 µs from lower pages and 41.76 µs from upper ones, channels of 800 MB/s (41 µs a page), a \
                  link of 3360 MB/s, 21.5 µs of firmware for a read of 4 KiB, here for every command, a buffer of two pages a die, 7 % spare. Assumed: blocks of 128 pages, \
                  which makes 512 GiB, erase 3.5 ms (NVMeVirt has 0), 3000 cycles.",
    keys: Keys {
        programming: Programming::Shadow,
        ..like(
            (3_360_000_000, 21_500),
            4096,
            (CellType::Mlc, &[29_760, 41_760], 185_000),
            &parallel(shape((8, 2), 8192, 128, 32_768), 0.07, [0, 0, 3_500_000, 40_960], 3_000),
        )
    },
};

pub(super) const ZN540: Preset = Preset {
    name: "zn540-like",
    source: "NVMeVirt (FAST '23), ssd_config.h: its configuration fitted to a WD ZN540; that drive's zones as gczns reports them",
    description: "The flash of nvme-tlc-1t as it is programmed: an NVMe drive of 1 TB with 96-layer TLC, under a map of 4 KiB instead of zones. From \
                  NVMeVirt: 8 channels of 4 dies, flash pages of 32 KiB, word lines of 96 KiB programmed in 561 µs, 4 KiB read in 50 µs, channels \
                  of 450 MB/s (72.8 µs a page), a link of 3050 MB/s, 20 µs of firmware for a read of 4 KiB, here for every command. From gczns: \
                  1077 pages on each die. Assumed: that those are one block, 972 of them a die, two word lines of a die buffered, erase 3.5 ms (NVMeVirt has 0), 3000 cycles, 7 % spare.",
    keys: like(
        (3_050_000_000, 20_000),
        4096,
        (CellType::Tlc, &[50_000], 561_000),
        &parallel(shape((8, 4), 972, 1077, 32_768), 0.07, [0, 0, 3_500_000, 72_800], 3_000),
    ),
};

pub(super) const MICRON_7450: Preset = Preset {
    name: "7450-like",
    source: "SSD-iq (VLDB 2025), its counters of a Micron 7450 of the 960 GB class; ISSCC 2021 (die with more than 176 layers)",
    description: "An NVMe drive of the 960 GB class with 176-layer TLC. Fitted to the write amplification that SSD-iq measured over seven utilisations: \
                  1080 GiB of flash, so 17.2 % spare at 960 GB. From ISSCC 2021: tR 40 µs, and 184 MB/s a die, so 1069 µs for a word line of 192 KiB. \
                  Assumed: that 176 layers do as well, 8 channels of 2 dies, whose four planes are one with pages of 64 KiB, blocks of 2112 pages, channels of 1600 MB/s (41 µs a \
                  page), a link of 6800 MB/s, 5 µs of controller a command, two word lines of a die buffered, erase 3.5 ms, 3000 cycles. Its random reads are bounded by 16 dies; \
                  the planes of such parts can read by themselves.",
    keys: like(
        (6_800_000_000, 5_000),
        4096,
        (CellType::Tlc, &[40_000], 1_069_000),
        &parallel(shape((8, 2), 524, 2112, 65_536), 0.172, [0, 0, 3_500_000, 40_960], 3_000),
    ),
};

pub(super) const P5520: Preset = Preset {
    name: "p5520-like",
    source: "write amplification of a Solidigm P5520 by its own counters; ISSCC 2021 (parts of 128 layers)",
    description: "An NVMe drive of the 1.92 TB class with 144-layer TLC. From the counters of a P5520: write amplification 3.52 under uniform writes, \
                  which greedy collection has with 15 % spare. From ISSCC 2021: tR 50 µs. Assumed: 8 channels of 4 dies, whose four planes are one \
                  with pages of 64 KiB, blocks of 2304 pages, 100 MB/s a die, so 1966 µs for a word line of 192 KiB, channels of 1200 MB/s (54.6 µs a page), a \
                  link of 6800 MB/s, 5 µs of controller a command, two word lines of a die buffered, erase 3.5 ms, 3000 cycles.",
    keys: like(
        (6_800_000_000, 5_000),
        4096,
        (CellType::Tlc, &[50_000], 1_966_000),
        &parallel(shape((8, 4), 468, 2304, 65_536), 0.15, [0, 0, 3_500_000, 54_613], 3_000),
    ),
};

pub(super) const QLC_16K: Preset = Preset {
    name: "qlc-16k-like",
    source: "FEMU, hw/femu/nand/nand.h (QLC reads, measured); ISSCC 2020, 13.2 (QLC program throughput); the unit as QLC drives have it",
    description: "An NVMe drive of 2 TB with QLC that maps 16 KiB at a time, so its map takes a quarter of the RAM and smaller writes are \
                  read-modify-write. From FEMU: the four pages of a word line are read in 47.9, 76.2, 134.6 and 228.1 µs. From ISSCC 2020: 30 MB/s a die, so \
                  8738 µs for a word line of 256 KiB. Assumed: 8 channels of 2 dies, whose four planes are one with pages of 64 KiB, blocks of 2304 \
                  pages, channels of 1200 MB/s (54.6 µs a page), a link of 3500 MB/s, 10 µs of controller a command, two word lines of a die buffered, erase 5 ms, 1000 cycles, 7 % spare. In pSLC mode, \
                  from MQSim-Next: pages read in 20 µs and programmed in 150 µs; assumed: 30 000 cycles.",
    keys: with_pslc(&like(
        (3_500_000_000, 10_000),
        16_384,
        (CellType::Qlc, &[47_900, 76_200, 134_600, 228_100], 8_738_000),
        &parallel(shape((8, 2), 911, 2304, 65_536), 0.07, [0, 0, 5_000_000, 54_613], 1_000),
    )),
};

pub(super) const CLIENT: Preset = Preset {
    name: "client-like",
    source: "assumed as a whole; flash as in zn540-like, link of PCIe 3.0 x4",
    description: "A client drive of 512 GB without DRAM, with TLC: give it a mapping that keeps a part of its map in RAM, such as dftl with a small cmt. Assumed: \
                  4 channels of 2 dies, flash pages of 32 KiB, word lines of 96 KiB programmed in 561 µs and 4 KiB read in 50 µs as in zn540-like, blocks of \
                  1077 pages, channels of 1200 MB/s (27.3 µs a page), a link of 3500 MB/s, 10 µs of controller a command, two word lines of a die buffered, erase 3.5 ms, 1500 cycles, 7 % spare. In pSLC mode, \
                  from MQSim-Next: pages read in 20 µs and programmed in 150 µs; assumed: 30 000 cycles.",
    keys: with_pslc(&like(
        (3_500_000_000, 10_000),
        4096,
        (CellType::Tlc, &[50_000], 561_000),
        &parallel(shape((4, 2), 1947, 1077, 32_768), 0.07, [0, 0, 3_500_000, 27_307], 1_500),
    )),
};

pub(super) const UFS: Preset = Preset {
    name: "ufs-like",
    source: "JESD220E (the link of UFS 3.1, two lanes of HS-G4); flash as in zn540-like; the structure is assumed",
    description: "A UFS 3.1 device of 128 GB with TLC. Assumed: two channels of one die, flash pages of 32 KiB, word lines of 96 KiB programmed in 561 µs and \
                  4 KiB read in 50 µs as in zn540-like, blocks of 1077 pages, channels of 1200 MB/s (27.3 µs a page), a link of 2900 MB/s before its \
                  protocol, 20 µs of controller a command, two word lines of a die buffered, erase 3.5 ms, 3000 cycles, 7 % spare. In pSLC mode, \
                  from MQSim-Next: pages read in 20 µs and programmed in 150 µs; assumed: 30 000 cycles.",
    keys: with_pslc(&like(
        (2_900_000_000, 20_000),
        4096,
        (CellType::Tlc, &[50_000], 561_000),
        &parallel(shape((2, 1), 1947, 1077, 32_768), 0.07, [0, 0, 3_500_000, 27_307], 3_000),
    )),
};
