//! The devices that studies can name: those of the papers, two simple ones, and drives of today.
//!
//! Papers say little of their devices beyond latencies; what had to be assumed is said in each description, so that nobody
//! takes it for the paper's word.

mod current;

use flash::{ProgramOrder, Shape};
use trace::units::{Bytes, Nanoseconds};

use crate::study::{Count, DeviceText, PricingText};
use crate::{Abilities, Latencies, SimError};

/// A device that studies can name.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// The name.
    pub name: &'static str,
    /// Where the figures come from.
    pub source: &'static str,
    /// What it is, with what had to be assumed.
    pub description: &'static str,
    /// Its keys.
    pub(crate) keys: Keys,
}

/// A value for every key of a `[device]` table but the capacity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keys {
    pub(crate) shape: Shape,
    pub(crate) spare: f64,
    pub(crate) latencies: Latencies,
    pub(crate) pricing: PricingText,
    pub(crate) abilities: Abilities,
    pub(crate) program_order: ProgramOrder,
    pub(crate) endurance: u32,
    pub(crate) bad_blocks: f64,
}

impl Preset {
    /// Every key of the preset, as a study would write it.
    pub fn text(&self) -> DeviceText {
        DeviceText { preset: Some(self.name.into()), ..self.keys.text() }
    }
}

impl Keys {
    /// These keys, with a study's own laid over them. The sizes and latencies that do not fit their type are named.
    pub(crate) fn under(mut self, text: &DeviceText) -> Result<Self, SimError> {
        let size = text.page_size.map_or(u64::from(self.shape.page_size_bytes), |size| size.0);
        self.shape = Shape {
            channels: text.channels.map_or(self.shape.channels, |count| count.0),
            dies_per_channel: text.dies_per_channel.map_or(self.shape.dies_per_channel, |count| count.0),
            planes_per_die: text.planes_per_die.map_or(self.shape.planes_per_die, |count| count.0),
            blocks_per_plane: text.blocks_per_plane.map_or(self.shape.blocks_per_plane, |count| count.0),
            pages_per_block: text.pages_per_block.map_or(self.shape.pages_per_block, |count| count.0),
            page_size_bytes: u32::try_from(size).map_err(|_| {
                SimError::study(format!(
                    "device.page_size = {size}: at most 1 MiB is possible; 4KiB and 16KiB are usual"
                ))
            })?,
        };
        self.latencies = Latencies {
            read_ns: latency("read_latency", text.read_latency, self.latencies.read_ns)?,
            program_ns: latency("program_latency", text.program_latency, self.latencies.program_ns)?,
            erase_ns: latency("erase_latency", text.erase_latency, self.latencies.erase_ns)?,
            transfer_ns: latency("transfer_latency", text.transfer_latency, self.latencies.transfer_ns)?,
        };
        self.abilities = abilities(text, self.abilities)?;
        self.spare = text.spare.unwrap_or(self.spare);
        self.pricing = text.pricing.unwrap_or(self.pricing);
        self.program_order = text.program_order.unwrap_or(self.program_order);
        self.endurance = text.endurance.map_or(self.endurance, |count| count.0);
        self.bad_blocks = text.bad_blocks.unwrap_or(self.bad_blocks);
        Ok(self)
    }

    /// The keys as a study would write them.
    pub(crate) fn text(&self) -> DeviceText {
        DeviceText {
            preset: None,
            capacity: None,
            spare: Some(self.spare),
            channels: Some(Count(self.shape.channels)),
            dies_per_channel: Some(Count(self.shape.dies_per_channel)),
            planes_per_die: Some(Count(self.shape.planes_per_die)),
            blocks_per_plane: Some(Count(self.shape.blocks_per_plane)),
            pages_per_block: Some(Count(self.shape.pages_per_block)),
            page_size: Some(Bytes(u64::from(self.shape.page_size_bytes))),
            read_latency: Some(Nanoseconds(self.latencies.read_ns)),
            program_latency: Some(Nanoseconds(self.latencies.program_ns)),
            erase_latency: Some(Nanoseconds(self.latencies.erase_ns)),
            transfer_latency: Some(Nanoseconds(self.latencies.transfer_ns)),
            pricing: Some(self.pricing),
            copy_back: Some(self.abilities.copy_back),
            multi_plane: Some(self.abilities.multi_plane),
            suspend: Some(self.abilities.suspend),
            suspend_latency: Some(Nanoseconds(self.abilities.suspend_ns)),
            resume_latency: Some(Nanoseconds(self.abilities.resume_ns)),
            gc_channels: self.abilities.gc_channels.map(Count),
            gc_yields: Some(self.abilities.gc_yields),
            program_order: Some(self.program_order),
            endurance: Some(Count(self.endurance)),
            bad_blocks: Some(self.bad_blocks),
        }
    }
}

/// What a study says that the device can do, over what the preset says.
fn abilities(text: &DeviceText, preset: Abilities) -> Result<Abilities, SimError> {
    Ok(Abilities {
        copy_back: text.copy_back.unwrap_or(preset.copy_back),
        multi_plane: text.multi_plane.unwrap_or(preset.multi_plane),
        suspend: text.suspend.unwrap_or(preset.suspend),
        suspend_ns: latency("suspend_latency", text.suspend_latency, preset.suspend_ns)?,
        resume_ns: latency("resume_latency", text.resume_latency, preset.resume_ns)?,
        gc_channels: text.gc_channels.map(|count| count.0).or(preset.gc_channels),
        gc_yields: text.gc_yields.unwrap_or(preset.gc_yields),
    })
}

fn latency(key: &str, text: Option<Nanoseconds>, preset_ns: u64) -> Result<u64, SimError> {
    let ns = text.map_or(preset_ns, |value| value.0);
    if ns > Latencies::MAX_NS {
        return Err(SimError::study(format!(
            "device.{key} = {}: at most {} is possible; flash takes microseconds to milliseconds",
            Nanoseconds(ns),
            Nanoseconds(Latencies::MAX_NS)
        )));
    }
    Ok(ns)
}

const fn shape(
    (channels, dies_per_channel): (u32, u32),
    blocks_per_plane: u32,
    pages_per_block: u32,
    page_size_bytes: u32,
) -> Shape {
    Shape { channels, dies_per_channel, planes_per_die: 1, blocks_per_plane, pages_per_block, page_size_bytes }
}

const fn keys(
    shape: Shape,
    spare: f64,
    [read_ns, program_ns, erase_ns, transfer_ns]: [u64; 4],
    pricing: PricingText,
    endurance: u32,
) -> Keys {
    Keys {
        shape,
        spare,
        latencies: Latencies { read_ns, program_ns, erase_ns, transfer_ns },
        pricing,
        abilities: Abilities::NONE,
        program_order: ProgramOrder::Ascending,
        endurance,
        bad_blocks: 0.0,
    }
}

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
        SimError::study(format!("device.preset = {name:?}: unknown device; choose from {}", known.join(", ")))
    })
}
