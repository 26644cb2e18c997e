//! Drives of today: what is published of them, and what had to be assumed.
//!
//! Makers publish capacity, channels and cell type of a drive, hardly ever its timing. So latencies
//! come from emulators that were fitted to measured drives and from measurements of flash parts,
//! each named. Where planes or several pages of a cell are programmed at once, a page's program
//! latency is its share, so that a die programs as many bytes a second as measured.
//!
//! `femu-tlc` and `femu-qlc` price each type of page, after the emulator FEMU. All others have one
//! time for all pages of a block.
//!
//! What no preset has: a write buffer, a pseudo-SLC cache, what a command takes of the link and of
//! the controller, and mapping units smaller than a page. Requests smaller than a page are
//! read-modify-write here, and dear.

use flash::{CellType, Shape};

use super::keys::{Keys, Preset, keys, shape, typed};
use crate::FrontEnd;
use crate::study::PricingText;

const fn planes(planes_per_die: u32, shape: Shape) -> Shape {
    Shape { planes_per_die, ..shape }
}

/// A drive behind a link of so many bytes a second.
const fn behind(link_bytes_per_s: u64, keys: Keys) -> Keys {
    Keys { front_end: FrontEnd { link_bytes_per_s: Some(link_bytes_per_s), ..FrontEnd::NONE }, ..keys }
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
        parallel(shape((8, 4), 972, 1077, 32_768), 0.07, [58_000, 187_000, 3_500_000, 72_800], 3_000),
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
        parallel(planes(2, shape((4, 4), 1888, 1152, 16_384)), 0.10, [58_000, 93_500, 3_500_000, 41_000], 3_000),
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
        parallel(planes(2, shape((1, 2), 911, 1152, 16_384)), 0.07, [58_000, 93_500, 3_500_000, 41_000], 3_000),
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
        parallel(FEMU_SHAPE, 0.07, [0, 0, 3_000_000, 52_433], 3_000),
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
        parallel(FEMU_SHAPE, 0.07, [0, 0, 3_000_000, 52_433], 1_000),
    ),
};
