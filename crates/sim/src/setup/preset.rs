//! The devices that studies can name: those of the papers, two simple ones, and drives of today.
//!
//! Papers say little of their devices beyond latencies; what had to be assumed is said in each
//! description, so that nobody takes it for the paper's word.

pub(crate) mod bit_errors;
mod current;
mod keys;
pub(crate) mod pslc;

use crate::SimError;
use crate::setup::study::{PricingText, choose_from};
use keys::{keys, shape};

pub use keys::Preset;
pub(crate) use keys::{Keys, spare_of_op};

/// All presets, in the order in which tables show them.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "slc-small",
        source: "ftlkit, after data sheets of current SLC parts",
        description: "A small SLC device: 1 GiB on four channels of one die. 4 KiB pages move over an 8-bit bus at about 200 MB/s.",
        keys: keys(
            shape((4, 1), 1024, 64, 4096),
            0.10,
            [25_000, 200_000, 1_500_000, 20_000],
            PricingText::Parallel,
            100_000,
        ),
    },
    Preset {
        name: "tlc-nvme",
        source: "ftlkit, after conference papers on current 3D TLC parts",
        description: "An NVMe drive of the TLC class: 128 GiB on eight channels of four dies, 16 KiB pages, blocks of 1152 pages (18 MiB). \
                      Latencies are averages over the three kinds of page of a cell, without pseudo-SLC cache; the bus moves 1.2 GB/s. \
                      Parts of this class ask for strict program order; the default, ascending, is kept so that block-mapped schemes \
                      can be compared.",
        keys: keys(
            shape((8, 4), 228, 1152, 16_384),
            0.07,
            [60_000, 700_000, 5_000_000, 14_000],
            PricingText::Parallel,
            3_000,
        ),
    },
    current::NVME_TLC,
    current::NVME_QLC,
    current::SATA_TLC,
    current::SD_CARD,
    current::EMMC,
    current::FEMU_TLC,
    current::FEMU_QLC,
    current::PRO_970,
    current::ZN540,
    current::MICRON_7450,
    current::P5520,
    current::QLC_16K,
    current::CLIENT,
    current::UFS,
    Preset {
        name: "waftl",
        source: "WAFTL tab. II",
        description: "32 GiB of 2 GiB dies, 4 KiB pages, 256 KiB blocks. Assumed: every die on a channel of its own; service times without \
                      overlap, as in the FlashSim that the paper modified; 7 % spare.",
        keys: keys(
            shape((16, 1), 8192, 64, 4096),
            0.07,
            [25_000, 200_000, 1_500_000, 100_000],
            PricingText::Serial,
            100_000,
        ),
    },
    Preset {
        name: "thesis",
        source: "Wang 2013 ch. 4-5, tab. 5.2",
        description: "2 KiB pages, 128 KiB blocks. The paper's capacity differs by trace (2.06 to 6.18 GB): here 4 GiB of flash, set \
                      capacity to change it. Latencies include the transfer. Assumed: one die, no overlap (FlashSim); 6 % spare, of which \
                      the paper gives 3 % to the log space.",
        keys: keys(
            shape((1, 1), 32_768, 64, 2048),
            0.06,
            [130_900, 405_900, 2_000_000, 0],
            PricingText::Serial,
            100_000,
        ),
    },
    Preset {
        name: "treeftl",
        source: "Wang 2013 ch. 6, tab. 6.1",
        description: "32 GiB, 2 KiB pages, 128 KiB blocks. Latencies include the transfer. Assumed: one die, no overlap (FlashSim); 6 % spare. \
                      The 2 µs of a RAM access belong to the buffers and are not priced here.",
        keys: keys(shape((1, 1), 262_144, 64, 2048), 0.06, [25_000, 200_000, 700_000, 0], PricingText::Serial, 100_000),
    },
    Preset {
        name: "saw",
        source: "Wang 2013 ch. 7",
        description: "1 GiB. Assumed: pages of 2 KiB and blocks of 128 KiB as in chapter 6, one die, no overlap (FlashSim), 6 % spare.",
        keys: keys(shape((1, 1), 8192, 64, 2048), 0.06, [25_000, 200_000, 700_000, 0], PricingText::Serial, 100_000),
    },
    Preset {
        name: "bdb",
        source: "BDB tab. 1",
        description: "Eight channels; a transfer is bus control (20 µs) plus bus data (10 µs). Assumed: one die a channel, 4 KiB pages, 64 a \
                      block, 2 GiB of flash, 10 % spare. Delays of RAM and registers are parameters of bdb (and dftl).",
        keys: keys(
            shape((8, 1), 1024, 64, 4096),
            0.10,
            [25_000, 200_000, 1_500_000, 30_000],
            PricingText::Parallel,
            100_000,
        ),
    },
    Preset {
        name: "a-sast",
        source: "A-SAST IV, and the data sheet it cites (SLC large block)",
        description: "2 KiB pages, 64 a block. Assumed: 2 GiB on one die, no overlap, typical times of the SLC large-block family with the \
                      transfer of 2 KiB at 25 ns a byte; 6 % spare, enough for the paper's 256 log blocks.",
        keys: keys(
            shape((1, 1), 16_384, 64, 2048),
            0.06,
            [25_000, 200_000, 1_500_000, 51_200],
            PricingText::Serial,
            100_000,
        ),
    },
    Preset {
        name: "rftl",
        source: "RFTL 5 and tab. 5",
        description: "4 GiB: four channels of one chip with two dies, 1024 blocks of 128 pages of 4 KiB each, 30 % spare. For the \
                      paper's limit of two channels that collect at once set gc_channels = 2.",
        keys: keys(
            shape((4, 2), 1024, 128, 4096),
            0.30,
            [25_000, 200_000, 1_500_000, 100_000],
            PricingText::Parallel,
            100_000,
        ),
    },
];

/// The preset that a study without one starts from.
pub const DEFAULT_PRESET: &str = "slc-small";

/// The preset of a name; an unknown one is an error that lists the known ones.
pub(crate) fn preset(name: &str) -> Result<&'static Preset, SimError> {
    PRESETS.iter().find(|preset| preset.name == name).ok_or_else(|| {
        let known: Vec<_> = PRESETS.iter().map(|preset| preset.name).collect();
        let choice = choose_from(name, &known.join(", "));
        SimError::study(format!("device.preset = {name:?}: unknown device; {choice}"))
    })
}
