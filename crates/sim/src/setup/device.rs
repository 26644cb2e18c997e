//! How a study's `[device]` table becomes a geometry with a logical capacity.
//!
//! Three keys are tied together: `blocks_per_plane` gives the physical pages, `spare` the share of
//! them that the host does not see (`op` says the same as a share of what it sees), `capacity` what
//! it sees. With `capacity` alone the blocks are scaled to it; with `blocks_per_plane` alone the
//! capacity follows; with both, both hold, and a `spare` beside them is a lower bound. The
//! utilisation ρ of theory is logical pages ÷ physical pages. Bad blocks come out of the spare.
//!
//! Resolving takes two steps because `capacity = "auto"` asks for the workload's span, and the span
//! is counted in pages of this device: a [`Draft`] knows the page size, the [`Device`] everything.

use flash::{CellMode, Chip, ChipOptions, Exposure, Geometry, Lean, PastEndurance, Pbn, ProgramOrder, Shape};
use ftl::{Layout, Reliability, Timed, Untimed};
use random::SeededRng;

use super::keys::{DeviceKeys, DeviceText, Group, Table, names_of};
use super::presets::{DEFAULT_PRESET, preset};
use super::values::{Capacity, SliceText, Whole};
use trace::units::{Bytes, Nanoseconds};

use crate::error::SimError;
use crate::latencies::Latencies;
use crate::timing::abilities::Abilities;
use crate::timing::engine::{EventTiming, Model};
use crate::timing::front_end::FrontEnd;
use crate::timing::superblocks::{Superblock, Superblocks};
use crate::timing::units::{Programming, Units};

/// The most dies whose timelines one run keeps: 256 times those of today's largest drives.
const MAX_DIES: u64 = 65_536;

/// What studies run on: a chip of which as little as can be is kept, and the event engine.
pub type SimulatedDevice = Timed<Chip<Lean>, EventTiming>;

/// The same, whose operations take no time.
pub type ClocklessDevice = Timed<Chip<Lean>, Untimed>;

/// A device as a study asks for it, checked, with everything that a run builds it from.
#[derive(Clone, Debug)]
pub struct Device {
    /// Shape of the flash, in units: its pages are what translation layers map.
    pub geometry: Geometry,
    /// What such a unit is of a flash page, and what is programmed at once.
    pub units: Units,
    /// Units that the program buffer holds; none where writes wait for their programs.
    pub buffered_units: Option<u64>,
    /// Pages that the host sees.
    pub logical_pages: u32,
    /// What operations take.
    pub latencies: Latencies,
    /// Whether dies and channels work side by side, or all is one resource.
    pub model: Model,
    /// What the device can do beyond the plain model.
    pub abilities: Abilities,
    /// What the link to the host and the controller take.
    pub front_end: FrontEnd,
    /// The rest of what a chip is built from; its blocks survive the rest of their endurance.
    pub chip: ChipOptions,
    /// How bits decay, and what is done about it; none for not at all.
    pub reliability: Option<Reliability>,
    /// Seed of the translation layers' own randomness.
    pub seed: u64,
    /// Every key with its value, those of the whole where this is a slice.
    pub keys: DeviceText,
    /// What it is a slice of, if it is one.
    pub(crate) whole: Option<Whole>,
    /// Of a slice, one about twice as large, or the whole.
    pub(crate) larger: Option<Box<Device>>,
}

impl Device {
    /// Checks a `[device]` table that stands alone: its capacity cannot be `auto`, as there is no
    /// workload to ask.
    pub fn resolve(text: &DeviceText, seed: u64) -> Result<Self, SimError> {
        let draft = Draft::of(text)?;
        if text.capacity == Some(Capacity::Auto) {
            return Err(SimError::study(
                "device.capacity = \"auto\" takes a workload's span, and here is no workload: give a size, for example \"1GiB\"",
            ));
        }
        if text.slice.is_some_and(|slice| slice != SliceText::All) {
            return Err(SimError::study(
                "device.slice: an image holds the whole device; leave slice out, or give a smaller capacity",
            ));
        }
        draft.resolve(None, seed)
    }

    /// Logical pages ÷ physical pages: ρ.
    pub(crate) fn utilisation(&self) -> f64 {
        f64::from(self.logical_pages) / f64::from(self.geometry.pages())
    }

    /// Why the device asks for strict order, behind a sentence that refuses a translation layer for
    /// that; empty where the study alone says it, or the refusal has another reason.
    pub fn strict_order_reason(&self, refusal: &str) -> &'static str {
        if refusal.contains("program_order") && self.programmed_at_once() > 1 {
            ". No other order is possible here, since several units are programmed at once (device.mapping_unit, device.programming, device.superblock)"
        } else {
            ""
        }
    }

    /// Units of a native block that are programmed at once.
    pub(crate) fn programmed_at_once(&self) -> u32 {
        self.abilities.programmed_at_once(self.units, self.latencies.cell, CellMode::Native)
    }

    /// Bytes that the host sees.
    pub(crate) fn logical_bytes(&self) -> u64 {
        u64::from(self.logical_pages) * u64::from(self.geometry.page_size_bytes())
    }

    /// What a translation layer may know of the device.
    pub fn layout(&self) -> Layout {
        let mut bad = self.chip.bad_blocks.iter().peekable();
        let mut good_blocks = Vec::with_capacity(self.geometry.blocks() as usize - self.chip.bad_blocks.len());
        for pbn in (0..self.geometry.blocks()).map(Pbn::new) {
            if bad.next_if(|&&next| next == pbn).is_none() {
                good_blocks.push(pbn);
            }
        }
        Layout {
            geometry: self.geometry,
            logical_pages: self.logical_pages,
            good_blocks,
            program_order: self.chip.program_order,
            pslc_pages: self.chip.pslc_pages,
            programmed_at_once: self.programmed_at_once(),
            units_per_page: self.units.per_page(),
            exposure: self.chip.exposure.clone(),
            in_use: false,
            seed: self.seed,
            wear: None,
        }
    }

    /// The device's clock and queues at time zero, with nothing under way.
    pub(crate) fn timing(&self) -> EventTiming {
        let Self { geometry, units, latencies, model, abilities, .. } = self;
        let timing = EventTiming::of_units(geometry, *units, *latencies, *model, *abilities);
        let timing = timing.reading_ahead(self.chip.exposure.is_none());
        timing.buffering(geometry, self.buffered_units).behind(self.front_end)
    }
}

/// A device of which all but the capacity is known.
pub(crate) struct Draft {
    /// What the study itself said.
    pub(super) asked: DeviceText,
    /// The same over its preset's keys.
    pub(super) keys: DeviceKeys,
    latencies: Latencies,
    pub(super) abilities: Abilities,
    pub(super) units: Units,
    /// Shape of the flash, in units.
    pub(super) shape: Shape,
    /// Units per write of the workload; 1 where it is not known.
    pub(crate) units_per_write: f64,
}

impl Draft {
    /// Lays a study's keys over its preset's and checks what can be checked without a capacity.
    pub(crate) fn of(asked: &DeviceText) -> Result<Self, SimError> {
        asked.check()?;
        let asked = asked.with_spare()?;
        let preset = preset(asked.preset.as_deref().unwrap_or(DEFAULT_PRESET))?;
        let mut keys = asked.over_preset(&preset.device);
        asked.check_groups(&keys)?;
        geometry(keys.shape())?;
        let is_unprotected = asked.power_loss_protection == Some(false);
        let latencies = keys.latencies(&asked)?;
        let units = Units::checked(keys.shape(), keys.unit_bytes(), keys.programming, &latencies)?;
        let abilities = keys.abilities();
        let is_gathered = abilities.programmed_at_once(units, keys.cell, CellMode::Native) > 1;
        if (is_gathered || is_unprotected) && asked.program_order.is_none() {
            keys.program_order = ProgramOrder::Strict;
        }
        let shape = abilities.superblocks.mapped(units.mapped(keys.shape()));
        let draft = Self { asked, keys, latencies, abilities, units, shape, units_per_write: 1.0 };
        draft.check_shares()?;
        draft.check_abilities()?;
        draft.check_program_units()?;
        geometry(shape)?;
        Ok(draft)
    }

    /// Bytes of a unit, a valid size.
    pub(crate) fn page_size_bytes(&self) -> u32 {
        self.shape.page_size_bytes
    }

    /// The whole device, for a workload that spans this many pages; none where there is none, or it
    /// is folded into the device.
    pub(crate) fn resolve(&self, span_pages: Option<u64>, seed: u64) -> Result<Device, SimError> {
        let asked_pages = match self.asked.asked_capacity() {
            Some(Capacity::Bytes(0)) => {
                return Err(SimError::study(
                    "device.capacity = 0: the host must see at least one page; give for example \"8GiB\", or \"auto\"",
                ));
            }
            Some(Capacity::Bytes(bytes)) => Some(bytes.div_ceil(u64::from(self.shape.page_size_bytes))),
            Some(Capacity::Auto) => span_pages.map(|pages| pages.max(self.smallest_auto())),
            None => None,
        };
        let mut shape = self.shape;
        if let (Some(pages), None) = (asked_pages, self.asked.blocks_per_plane) {
            shape.pages_per_block = self.scaled_block(pages);
            shape.blocks_per_plane = self.scale(shape, pages)?;
        }
        let geometry = geometry(shape)?;
        let limit = exported(u64::from(geometry.pages()), self.keys.spare);
        let logical_pages = asked_pages.unwrap_or(limit);
        self.check_capacity(&geometry, logical_pages, limit)?;
        let whole = self.finish(geometry, logical_pages as u32, seed)?;
        self.sliced(whole, span_pages, seed)
    }

    pub(super) fn finish(&self, geometry: Geometry, logical_pages: u32, seed: u64) -> Result<Device, SimError> {
        let share = self.keys.bad_blocks;
        let bad_blocks = bad_blocks(geometry.blocks(), (f64::from(geometry.blocks()) * share).round() as u32, seed);
        let good_pages = u64::from(geometry.pages()) - bad_blocks.len() as u64 * u64::from(geometry.pages_per_block());
        if u64::from(logical_pages) >= good_pages {
            return Err(SimError::study(format!(
                "device.bad_blocks = {share}: leaves {good_pages} good pages for {logical_pages} logical ones. Bad blocks come out of the \
                 spare: lower bad_blocks or raise spare"
            )));
        }
        let exposure = self.exposure(geometry.pages_per_block());
        let mut latencies = self.latencies;
        let part = f64::from(geometry.pages_per_block()) / f64::from(self.shape.pages_per_block);
        latencies.erase_ns = (latencies.erase_ns as f64 * part).round() as u64;
        let mut keys = self.keys.that_apply();
        if exposure.is_some() {
            keys.power_loss_protection = Some(false);
        }
        let buffered_units = self.buffered_units(&geometry)?;
        keys.program_buffer = buffered_units.map(|units| Bytes(units * u64::from(geometry.page_size_bytes())));
        keys.preset = Some(self.asked.preset.clone().unwrap_or_else(|| DEFAULT_PRESET.into()));
        keys.capacity = Some(Capacity::Bytes(u64::from(logical_pages) * u64::from(geometry.page_size_bytes())));
        keys.erase_latency = Some(Nanoseconds(latencies.erase_ns));
        keys.blocks_per_plane = Some(geometry.shape().blocks_per_plane);
        keys.pages_per_block = Some(self.pages_of_a_block(&geometry));
        if self.spare_follows() {
            keys.spare = Some(1.0 - f64::from(logical_pages) / f64::from(geometry.pages()));
        }
        Ok(Device {
            geometry,
            units: self.units,
            buffered_units,
            logical_pages,
            latencies,
            model: self.keys.pricing,
            abilities: self.abilities,
            front_end: self.keys.front_end(),
            chip: ChipOptions {
                program_order: self.keys.program_order,
                endurance: Some(self.keys.endurance - self.keys.initial_erases),
                past_endurance: PastEndurance::Fails,
                bad_blocks,
                pslc_pages: self.pslc_pages(geometry.pages_per_block()),
                pslc_endurance: Some(self.pslc_endurance_left()),
                exposure,
            },
            reliability: self.keys.reliability(self.units.per_page()),
            seed: random::derive(seed, "ftl"),
            keys,
            whole: None,
            larger: None,
        })
    }

    /// Flash pages of a block of the chip.
    fn pages_of_a_block(&self, geometry: &Geometry) -> u32 {
        let units = geometry.pages_per_block() / self.abilities.superblocks.blocks();
        (u64::from(units) * u64::from(self.shape.page_size_bytes) / self.keys.page_size.0) as u32
    }

    /// Units of a superblock in pSLC mode, of so many that it has otherwise.
    fn pslc_pages(&self, units: u32) -> u32 {
        let blocks = self.abilities.superblocks.blocks();
        self.units.in_pslc(self.keys.cell, units / blocks) * blocks
    }

    /// Erases in pSLC mode that a block survives: the same share of its life is left as natively.
    fn pslc_endurance_left(&self) -> u32 {
        let endurance = u64::from(self.keys.endurance);
        let left = endurance - u64::from(self.keys.initial_erases);
        (u64::from(self.keys.pslc_endurance()) * left / endurance).max(1) as u32
    }

    /// Whether the study gives both ends, capacity and blocks, and leaves the spare to what is
    /// between them.
    fn spare_follows(&self) -> bool {
        self.asked.spare.is_none() && self.asked.blocks_per_plane.is_some() && self.asked.capacity.is_some()
    }

    fn check_shares(&self) -> Result<(), SimError> {
        let DeviceKeys { spare, bad_blocks, endurance, initial_erases, .. } = self.keys;
        if !(0.0..spare).contains(&bad_blocks) {
            return Err(SimError::study(format!(
                "device.bad_blocks = {bad_blocks}: must be 0 or more and below spare ({spare}), out of which bad blocks come; lower it or raise spare"
            )));
        }
        if initial_erases >= endurance {
            return Err(SimError::study(format!(
                "device.initial_erases = {initial_erases}: must be below endurance ({endurance}), or the device is worn out before it \
                 begins; lower initial_erases or raise endurance"
            )));
        }
        Ok(())
    }

    /// Whether what the device is said to do beyond the plain model can be.
    fn check_abilities(&self) -> Result<(), SimError> {
        let (DeviceKeys { channels, planes_per_die, pricing, .. }, abilities) = (&self.keys, self.abilities);
        let refuse = |sentence: &str| Err(SimError::study(sentence));
        if *pricing == Model::Serial && abilities != Abilities::NONE {
            return refuse(&format!(
                "device.pricing = \"serial\": one resource does one thing at a time, so {} mean nothing there. Leave them out, or set \
                 pricing = \"parallel\"",
                names_of(Group::Ability)
            ));
        }
        if let Some(most) = abilities.gc_channels
            && !(1..=*channels).contains(&most)
        {
            return refuse(&format!(
                "device.gc_channels = {most}: must be from 1 to the device's {channels} channels; leave it out to let all collect at once"
            ));
        }
        if abilities.multi_plane && *planes_per_die == 1 {
            return refuse(
                "device.multi_plane = true: the dies have one plane each; set planes_per_die to 2 or more, or leave multi_plane out",
            );
        }
        if abilities.aligned_planes && !abilities.multi_plane {
            return refuse(
                "device.aligned_planes = true: the planes do not work side by side; set multi_plane = true, or leave aligned_planes out",
            );
        }
        self.check_superblocks()?;
        self.keys.check_scheduling()?;
        let FrontEnd { cores, core_ns, .. } = self.keys.front_end();
        if cores.is_some() && core_ns == 0 {
            return refuse(
                "device.controller_cores: no command takes them any time; set controller_latency to what one \
                 takes, for example \"5us\", or leave controller_cores out",
            );
        }
        Ok(())
    }

    /// Whether the device can have its superblocks.
    fn check_superblocks(&self) -> Result<(), SimError> {
        let (DeviceKeys { superblock, cell, programming, .. }, abilities) = (&self.keys, self.abilities);
        let refuse =
            |sentence: &str| Err(SimError::study(format!("device.superblock = \"{}\": {sentence}", superblock.name())));
        if abilities.superblocks.blocks() == 1 {
            return if *superblock == Superblock::Plane {
                Ok(())
            } else {
                refuse("it has one block of one plane here; set planes_per_die to 2 or more, or leave superblock out")
            };
        }
        let Superblocks { planes, dies } = abilities.superblocks;
        if planes.max(dies) > Superblocks::MOST {
            return refuse(&format!(
                "it has {planes} planes of {dies} dies, and at most {} of each are possible; lower planes_per_die or channels, or leave \
                 superblock out",
                Superblocks::MOST
            ));
        }
        if abilities.copy_back {
            return refuse(
                "which plane a copy is in follows from its place in the superblock, so it cannot stay there; leave copy_back out",
            );
        }
        if abilities.superblocks.dies > 1 && abilities.gc_channels.is_some() {
            return refuse("a collection is at work on all channels; leave gc_channels out");
        }
        let is_unprotected = self.asked.power_loss_protection == Some(false);
        if is_unprotected && !abilities.multi_plane && *programming == Programming::Shadow && cell.bits() > 1 {
            return refuse(
                "without a capacitor its planes have to be programmed together; set multi_plane, or leave power_loss_protection out",
            );
        }
        Ok(())
    }

    /// Units of a native block that are programmed at once.
    fn programmed_at_once(&self) -> u32 {
        self.abilities.programmed_at_once(self.units, self.keys.cell, CellMode::Native)
    }

    /// Which pages a power cut takes although their programs have ended, in blocks of this many
    /// units; none where a capacitor guards them all.
    fn exposure(&self, units_per_block: u32) -> Option<Exposure> {
        let cell = self.keys.cell;
        let at_once = self.programmed_at_once();
        match (self.asked.power_loss_protection, self.keys.programming) {
            (Some(false), Programming::OneShot) => Exposure::gathered(at_once, units_per_block),
            (Some(false), Programming::Shadow) => Exposure::paired(cell, at_once, units_per_block),
            _ => None,
        }
    }

    /// Units that the program buffer holds: of the host's data that have been answered and not been
    /// programmed; none where writes wait for their programs.
    fn buffered_units(&self, geometry: &Geometry) -> Result<Option<u64>, SimError> {
        let (at_once, dies) = (self.programmed_at_once(), geometry.dies() * self.abilities.superblocks.dies);
        let (least, unit) = (u64::from(dies * at_once), u64::from(geometry.page_size_bytes()));
        let Some(Bytes(asked)) = self.keys.program_buffer else {
            let has_one = at_once > 1
                && self.keys.pricing == Model::Parallel
                && self.exposure(geometry.pages_per_block()).is_none();
            return Ok(has_one.then_some(2 * least));
        };
        let refuse = |why: String| Err(SimError::study(format!("device.program_buffer = {}: {why}", Bytes(asked))));
        if self.keys.pricing == Model::Serial {
            return refuse(
                "with pricing = \"serial\" a request ends with its operations; leave program_buffer out".into(),
            );
        }
        if asked / unit < least {
            let [of_die, of_all] = [u64::from(at_once), least].map(|units| Bytes(units * unit));
            return refuse(format!(
                "{dies} dies that program {of_die} at once need {of_all} at least; set it to \"{of_all}\""
            ));
        }
        Ok(Some(asked / unit))
    }

    /// Whether a device without a capacitor can be, and differs from one that has it.
    fn check_unprotected(&self) -> Result<(), SimError> {
        let DeviceKeys { program_order, program_buffer, cell, programming, page_size, .. } = self.keys;
        let refuse =
            |sentence: String| Err(SimError::study(format!("device.power_loss_protection = false: {sentence}")));
        if programming == Programming::Shadow && u64::from(self.shape.page_size_bytes) > page_size.0 && cell.bits() > 1
        {
            return refuse(format!(
                "a unit of several pages (device.mapping_unit) shares word lines of {} with others, which is not modelled; leave mapping_unit or \
                 power_loss_protection out, or set programming to \"one_shot\"",
                cell.name()
            ));
        }
        if self.exposure(self.shape.pages_per_block).is_none() {
            return refuse(
                "each page is safe when its program has ended here, so there is nothing to protect; leave it out, or set device.cell, programming \
                 or mapping_unit to what has pages wait for others"
                    .into(),
            );
        }
        if let Some(buffer) = program_buffer {
            return refuse(format!(
                "with program_buffer = {buffer} writes are answered before their program, so a flush would not wait for it; leave program_buffer out"
            ));
        }
        if program_order != ProgramOrder::Strict {
            return refuse(
                "blocks are filled up with padding in strict order; leave program_order out, or set it to \"strict\""
                    .into(),
            );
        }
        Ok(())
    }

    /// Whether the device can have what it programs at once.
    fn check_program_units(&self) -> Result<(), SimError> {
        let DeviceKeys { copy_back, program_order, .. } = self.keys;
        let at_once = self.programmed_at_once();
        let refuse = |sentence: String| Err(SimError::study(sentence));
        if self.asked.power_loss_protection == Some(false) {
            self.check_unprotected()?;
        }
        if at_once == 1 {
            return Ok(());
        }
        Units::check_at_once(at_once, self.shape.page_size_bytes.into(), self.keys.page_size.0)?;
        if program_order != ProgramOrder::Strict {
            return refuse(format!(
                "device.program_order: {at_once} units are programmed at once here (device.mapping_unit, device.programming, device.superblock), so a gap would be \
                 programmed with its neighbours; leave program_order out, or set it to \"strict\""
            ));
        }
        if copy_back {
            return refuse(format!(
                "device.copy_back = true: {at_once} units are programmed at once here (device.mapping_unit, device.programming, device.superblock), and are gathered in \
                 the controller, so no copy stays in its plane; leave copy_back out"
            ));
        }
        Ok(())
    }

    fn check_capacity(&self, geometry: &Geometry, logical_pages: u64, limit: u64) -> Result<(), SimError> {
        let (pages, page_bytes) = (u64::from(geometry.pages()), u64::from(self.shape.page_size_bytes));
        if logical_pages == 0 {
            return Err(SimError::study(format!(
                "device.spare = {}: of {pages} physical pages not one is left for the host; lower spare or give the device more blocks",
                self.keys.spare
            )));
        }
        let limit = if self.spare_follows() { pages - 1 } else { limit };
        if logical_pages > limit {
            return Err(SimError::study(format!(
                "device.capacity = {} bytes: {logical_pages} logical pages on {pages} physical ones are a utilisation of {:.3}, but at most {limit} \
                 logical pages ({} bytes) are possible here. Lower capacity or spare, raise blocks_per_plane, or leave blocks_per_plane out \
                 so that it is scaled",
                logical_pages * page_bytes,
                logical_pages as f64 / pages as f64,
                limit * page_bytes
            )));
        }
        Ok(())
    }
}

pub(super) fn geometry(shape: Shape) -> Result<Geometry, SimError> {
    let dies = u64::from(shape.channels) * u64::from(shape.dies_per_channel);
    if dies > MAX_DIES {
        return Err(SimError::study(format!(
            "device.channels × device.dies_per_channel = {dies}: at most {MAX_DIES} dies are simulated; use fewer, with more blocks each"
        )));
    }
    Geometry::new(shape).map_err(|error| SimError::study(format!("device: {error}")))
}

/// This many different blocks, drawn by the seed called `bad blocks`, in address order.
fn bad_blocks(blocks: u32, count: u32, seed: u64) -> Vec<Pbn> {
    if count == 0 {
        return Vec::new();
    }
    let mut random = SeededRng::named(seed, "bad blocks");
    let mut numbers: Vec<u32> = (0..blocks).collect();
    for drawn in 0..count {
        let left = u64::from(blocks - drawn);
        let other = drawn + random.below(left) as u32;
        numbers.swap(drawn as usize, other as usize);
    }
    let mut drawn: Vec<_> = numbers[..count as usize].iter().copied().map(Pbn::new).collect();
    drawn.sort_unstable();
    drawn
}

/// Pages that the host sees of this many physical ones. The small addend undoes the rounding of,
/// say, 100 × (1 − 0.1).
pub(super) fn exported(pages: u64, spare: f64) -> u64 {
    (pages as f64 * (1.0 - spare) + 1e-3).floor() as u64
}
