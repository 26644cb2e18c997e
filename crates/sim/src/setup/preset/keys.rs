//! A preset, and the keys of `[device]` that it fills in.

use flash::{CellType, ProgramOrder, Shape};
use trace::units::{Bytes, BytesPerSecond, Nanoseconds};

use super::pslc;
use crate::setup::study::{Count, DeviceText, PageDurations, PricingText};
use crate::{Abilities, FrontEnd, Latencies, PageTimes, Programming, SimError};

/// A device that studies can name.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// The name that studies use.
    pub name: &'static str,
    /// Where the figures come from.
    pub source: &'static str,
    /// What it is, with what had to be assumed.
    pub description: &'static str,
    /// The values that a study may override.
    pub(crate) keys: Keys,
}

/// A value for every key of a `[device]` table but the capacity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keys {
    /// Of the flash.
    pub(crate) shape: Shape,
    /// What is mapped; none for flash pages.
    pub(crate) mapping_unit_bytes: Option<u32>,
    pub(crate) programming: Programming,
    /// Program units of a die that are buffered.
    pub(crate) program_buffers: u32,
    pub(crate) spare: f64,
    pub(crate) latencies: Latencies,
    pub(crate) pricing: PricingText,
    pub(crate) abilities: Abilities,
    pub(crate) front_end: FrontEnd,
    pub(crate) program_order: ProgramOrder,
    pub(crate) endurance: u32,
    pub(crate) bad_blocks: f64,
    /// Left out where it follows from `endurance`.
    pub(crate) pslc_endurance: Option<u32>,
}

impl Preset {
    /// Every key of the preset, as a study would write it.
    pub fn text(&self) -> DeviceText {
        DeviceText { preset: Some(self.name.into()), ..self.keys.text() }
    }
}

impl Keys {
    /// These keys, with a study's own laid over them. The sizes and latencies that do not fit their
    /// type are named.
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
        let unit = text.mapping_unit.map(|size| unit_bytes(size.0)).transpose()?;
        self.mapping_unit_bytes = unit.or(self.mapping_unit_bytes);
        self.programming = text.programming.unwrap_or(self.programming);
        self.program_buffers = text.program_buffers.map_or(self.program_buffers, |count| count.0);
        let cell = text.cell.unwrap_or(self.latencies.cell);
        self.latencies = Latencies {
            cell,
            read_ns: page_times("read_latency", cell, text.read_latency.as_ref(), self.latencies.read_ns)?,
            program_ns: page_times("program_latency", cell, text.program_latency.as_ref(), self.latencies.program_ns)?,
            erase_ns: latency("erase_latency", text.erase_latency, self.latencies.erase_ns)?,
            transfer_ns: latency("transfer_latency", text.transfer_latency, self.latencies.transfer_ns)?,
            pslc: self.latencies.pslc,
        };
        pslc::check(text, cell)?;
        let pslc_time = |key: &str, said: Option<Nanoseconds>| said.map(|_| latency(key, said, 0)).transpose();
        let said = [
            pslc_time("pslc_read_latency", text.pslc_read_latency)?,
            pslc_time("pslc_program_latency", text.pslc_program_latency)?,
        ];
        self.latencies.pslc = pslc::times(said, &self.latencies, self.programming);
        self.pslc_endurance = text.pslc_endurance.map_or(self.pslc_endurance, |count| Some(count.0));
        self.abilities = abilities(text, self.abilities)?;
        self.front_end = front_end(text, self.front_end)?;
        self.spare = text.spare.unwrap_or(self.spare);
        self.pricing = text.pricing.unwrap_or(self.pricing);
        self.program_order = text.program_order.unwrap_or(self.program_order);
        self.endurance = text.endurance.map_or(self.endurance, |count| count.0);
        self.bad_blocks = text.bad_blocks.unwrap_or(self.bad_blocks);
        Ok(self)
    }

    /// Bytes of what is mapped.
    pub(crate) fn unit_bytes(&self) -> u32 {
        self.mapping_unit_bytes.unwrap_or(self.shape.page_size_bytes)
    }

    /// Whether units wait for others that are programmed with them.
    fn gathers(&self) -> bool {
        let pages = if self.programming == Programming::OneShot { self.latencies.cell.bits() as u64 } else { 1 };
        u64::from(self.unit_bytes()) < pages * u64::from(self.shape.page_size_bytes)
    }

    /// Erases in pSLC mode that a block survives.
    pub(crate) fn pslc_endurance(&self) -> u32 {
        pslc::endurance(self.pslc_endurance, self.endurance)
    }

    /// The keys as a study would write them.
    pub(crate) fn text(&self) -> DeviceText {
        DeviceText {
            preset: None,
            capacity: None,
            spare: Some(self.spare),
            op: None,
            channels: Some(Count(self.shape.channels)),
            dies_per_channel: Some(Count(self.shape.dies_per_channel)),
            planes_per_die: Some(Count(self.shape.planes_per_die)),
            blocks_per_plane: Some(Count(self.shape.blocks_per_plane)),
            pages_per_block: Some(Count(self.shape.pages_per_block)),
            page_size: Some(Bytes(u64::from(self.shape.page_size_bytes))),
            // Also as large as a page, and with it shadow programming: the preset may differ.
            mapping_unit: self.mapping_unit_bytes.map(|bytes| Bytes(u64::from(bytes))),
            programming: (self.mapping_unit_bytes.is_some() || self.programming != Programming::Shadow)
                .then_some(self.programming),
            power_loss_protection: self.gathers().then_some(true),
            program_buffers: self.gathers().then_some(Count(self.program_buffers)),
            cell: Some(self.latencies.cell),
            read_latency: Some(durations(self.latencies.read_ns)),
            program_latency: Some(durations(self.latencies.program_ns)),
            erase_latency: Some(Nanoseconds(self.latencies.erase_ns)),
            transfer_latency: Some(Nanoseconds(self.latencies.transfer_ns)),
            pricing: Some(self.pricing),
            copy_back: Some(self.abilities.copy_back),
            multi_plane: Some(self.abilities.multi_plane),
            aligned_planes: Some(self.abilities.aligned_planes),
            cache_read: Some(self.abilities.cache_read),
            cache_program: Some(self.abilities.cache_program),
            suspend: Some(self.abilities.suspend),
            suspend_latency: Some(Nanoseconds(self.abilities.suspend_ns)),
            resume_latency: Some(Nanoseconds(self.abilities.resume_ns)),
            gc_channels: self.abilities.gc_channels.map(Count),
            gc_yields: Some(self.abilities.gc_yields),
            reads_first: Some(self.abilities.reads_first),
            link_bandwidth: self.front_end.link_bytes_per_s.map(BytesPerSecond),
            link_latency: Some(Nanoseconds(self.front_end.link_ns)),
            controller_cores: self.front_end.cores.map(Count),
            controller_latency: Some(Nanoseconds(self.front_end.core_ns)),
            program_order: Some(self.program_order),
            endurance: Some(Count(self.endurance)),
            bad_blocks: Some(self.bad_blocks),
            ..pslc::text(&self.latencies, self.programming, self.pslc_endurance())
        }
    }
}

/// A table whose over-provisioning, if it has one, is given as its spare.
pub(crate) fn spare_of_op(asked: &DeviceText) -> Result<DeviceText, SimError> {
    let Some(op) = asked.op else { return Ok(asked.clone()) };
    let as_spare = op / (1.0 + op);
    if let Some(spare) = asked.spare {
        return Err(SimError::study(format!(
            "device.op = {op} and device.spare = {spare}: both say how much flash the host does not see, op as a share of what it sees, spare of \
             all flash (spare = op ÷ (1 + op)). Leave one out; op = {op} is spare = {as_spare:.4}"
        )));
    }
    if !(op > 0.0 && op.is_finite()) {
        return Err(SimError::study(format!(
            "device.op = {op}: must be above 0. It is the flash that the host does not see ÷ what it sees; 0.07 is usual, and 0.28 for many writes"
        )));
    }
    Ok(DeviceText { spare: Some(as_spare), op: None, ..asked.clone() })
}

/// What a study says that the device can do, over what the preset says.
fn abilities(text: &DeviceText, preset: Abilities) -> Result<Abilities, SimError> {
    Ok(Abilities {
        copy_back: text.copy_back.unwrap_or(preset.copy_back),
        multi_plane: text.multi_plane.unwrap_or(preset.multi_plane),
        aligned_planes: text.aligned_planes.unwrap_or(preset.aligned_planes),
        cache_read: text.cache_read.unwrap_or(preset.cache_read),
        cache_program: text.cache_program.unwrap_or(preset.cache_program),
        suspend: text.suspend.unwrap_or(preset.suspend),
        suspend_ns: latency("suspend_latency", text.suspend_latency, preset.suspend_ns)?,
        resume_ns: latency("resume_latency", text.resume_latency, preset.resume_ns)?,
        gc_channels: text.gc_channels.map(|count| count.0).or(preset.gc_channels),
        gc_yields: text.gc_yields.unwrap_or(preset.gc_yields),
        reads_first: text.reads_first.unwrap_or(preset.reads_first),
    })
}

/// What a study says of the link and the controller, over what the preset says.
fn front_end(text: &DeviceText, preset: FrontEnd) -> Result<FrontEnd, SimError> {
    Ok(FrontEnd {
        link_bytes_per_s: text.link_bandwidth.map(|rate| rate.0).or(preset.link_bytes_per_s),
        link_ns: latency("link_latency", text.link_latency, preset.link_ns)?,
        cores: text.controller_cores.map(|count| count.0).or(preset.cores),
        core_ns: latency("controller_latency", text.controller_latency, preset.core_ns)?,
    })
}

fn unit_bytes(size: u64) -> Result<u32, SimError> {
    u32::try_from(size).map_err(|_| {
        SimError::study(format!("device.mapping_unit = {size}: at most 1 MiB is possible; 4KiB and 16KiB are usual"))
    })
}

fn durations(times: PageTimes) -> PageDurations {
    PageDurations(times.given().iter().copied().map(Nanoseconds).collect())
}

/// What a study says that something takes on a page, over what the preset says: one time, or one
/// for each type of page of the cell.
fn page_times(
    key: &str,
    cell: CellType,
    text: Option<&PageDurations>,
    preset: PageTimes,
) -> Result<PageTimes, SimError> {
    let asked = text.map_or_else(|| durations(preset), PageDurations::clone);
    let count = asked.0.len();
    if count != 1 && count != cell.bits() {
        let whose = if text.is_some() { "" } else { ", which the preset says" };
        let types = match cell {
            CellType::Slc => "1 type of page (device.cell = \"slc\")".into(),
            _ => format!("{} types of page ({})", cell.bits(), cell.page_types().join(", ")),
        };
        let other = CellType::ALL.get(count.wrapping_sub(1)).filter(|_| text.is_some());
        let other = other.map_or(String::new(), |other| {
            format!(", or set cell = \"{}\", whose cells have {count}", other.name().to_lowercase())
        });
        let wanted =
            if cell == CellType::Slc { "one time".into() } else { format!("{} times, or one for all", cell.bits()) };
        return Err(SimError::study(format!(
            "device.{key} = {asked}{whose}: {count} times, but {} has {types}; give {wanted}{other}",
            cell.name()
        )));
    }
    let times = asked.0.into_iter().map(|time| latency(key, Some(time), 0)).collect::<Result<Vec<_>, _>>()?;
    Ok(PageTimes::by_type(&times).expect("as many as a cell has bits"))
}

pub(super) fn latency(key: &str, text: Option<Nanoseconds>, preset_ns: u64) -> Result<u64, SimError> {
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

/// The same flash with cells of several bits, whose pages take what is said by type.
pub(super) const fn typed(cell: CellType, read_ns: &[u64], program_ns: &[u64], keys: &Keys) -> Keys {
    let (Some(read_ns), Some(program_ns)) = (PageTimes::by_type(read_ns), PageTimes::by_type(program_ns)) else {
        panic!("a preset has a time for each type of page");
    };
    Keys { latencies: Latencies { cell, read_ns, program_ns, ..keys.latencies }, ..*keys }
}

pub(super) const fn shape(
    (channels, dies_per_channel): (u32, u32),
    blocks_per_plane: u32,
    pages_per_block: u32,
    page_size_bytes: u32,
) -> Shape {
    Shape { channels, dies_per_channel, planes_per_die: 1, blocks_per_plane, pages_per_block, page_size_bytes }
}

pub(super) const fn keys(
    shape: Shape,
    spare: f64,
    latencies_ns: [u64; 4],
    pricing: PricingText,
    endurance: u32,
) -> Keys {
    Keys {
        shape,
        mapping_unit_bytes: None,
        programming: Programming::Shadow,
        program_buffers: 1,
        spare,
        latencies: Latencies::of_slc(latencies_ns),
        pricing,
        abilities: Abilities::NONE,
        front_end: FrontEnd::NONE,
        program_order: ProgramOrder::Ascending,
        endurance,
        bad_blocks: 0.0,
        pslc_endurance: None,
    }
}
